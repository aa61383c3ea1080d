"""Why a unit was placed or refused: computed once, kept as data, told in one sentence."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from muster.base.quantity import show


class Outcome(StrEnum):
    """What came of an attempt, and what the queue does next."""

    PLACED = "placed"
    """Bound, or as much of it as fits; nothing to decide until something changes."""
    WAITING = "waiting"
    """Would fit if running pods ended; wakes when room is freed that helps."""
    IMPOSSIBLE = "impossible"
    """Proven: even empty, the nodes do not hold it; wakes when nodes change."""
    NOT_FOUND = "not found"
    """No placement found, which is no proof: members of different shapes compete for the same nodes."""
    TIMED_OUT = "timed out"
    """Bound below its minimum for too long; the bound members were released."""


class Refusal(msgspec.Struct, frozen=True, gc=False):
    """One of upstream's reasons, and how many nodes gave it."""

    nodes: int
    reason: str


class Need(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Members of one class that wait, and what the nodes have for them; each class counted alone."""

    members: int
    request: tuple[tuple[str, int], ...]
    """(resource, amount) of one member; cpu in milli."""
    fits: int
    """How many the nodes take now."""
    fits_empty: int
    """How many they would take if nothing ran."""
    nodes_admitted: int
    """Nodes whose own facts (labels, taints, name) let the class on."""
    refusals: tuple[Refusal, ...] = ()
    """Why no node takes one more, with the members placed that fit."""

    @property
    def shape(self) -> str:
        return ", ".join(show(name, amount) for name, amount in self.request) or "no requests"


class Suggestion(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Empty nodes that, added to the cluster as it is, let the unit start."""

    nodes: int
    allocatable: tuple[tuple[str, int], ...]
    """(resource, amount) that each of them must have; cpu in milli."""
    labels: tuple[tuple[str, str], ...] = ()
    taints: tuple[tuple[str, str, str], ...] = ()
    """(key, value, effect), as the node that served as the model has them."""
    like: str = ""
    """The node that served as the model, if one did."""


class Verdict(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The outcome of one attempt at one unit."""

    unit: str
    outcome: Outcome
    placed: int
    """Members placed by this attempt; where it was refused, members that would have fitted."""
    needed: int
    """Members it had to place, at least."""
    held: int = 0
    """Members that count for the minimum already: bound, being bound, or succeeded."""
    nodes: int = 0
    needs: tuple[Need, ...] = ()
    suggestion: Suggestion | None = None

    @property
    def missing(self) -> int:
        return max(0, self.needed - self.placed)


def fit_error(nodes: int, refusals: tuple[Refusal, ...]) -> str:
    """Upstream's text for a pod that fits nowhere."""
    if nodes == 0:
        return "no nodes available to schedule pods"
    parts = sorted(f"{refusal.nodes} {refusal.reason}" for refusal in refusals)
    return f"0/{nodes} nodes are available: {', '.join(parts)}."


def summary(verdict: Verdict) -> str:
    """One sentence for people: what is needed, what is there, what is missing, what would do."""
    parts = [_needs(verdict), _room(verdict)]
    if verdict.outcome is Outcome.IMPOSSIBLE:
        parts.append(_never(verdict))
    elif verdict.outcome is Outcome.NOT_FOUND:
        parts.append("no placement found for all of them together, which is no proof that there is none")
    if verdict.missing:
        parts.append(f"{verdict.missing} more {_are(verdict.missing)} missing")
    if verdict.suggestion is not None:
        parts.append(_would_do(verdict.suggestion, verdict.needs))
    return parts[0] + ", " + "; ".join(parts[1:])


def members_missing(there: int, missing: int) -> str:
    """Why a gang is not even tried: not enough of its pods exist."""
    return f"{there} of {there + missing} members exist, {missing} more {_are(missing)} missing"


def _needs(verdict: Verdict) -> str:
    shapes = [f"{need.members} × {need.shape}" for need in verdict.needs]
    total = sum(need.members for need in verdict.needs)
    if len(shapes) == 1:
        needs = f"needs {verdict.needed} × {verdict.needs[0].shape}"
    elif verdict.needed == total:
        needs = f"needs {_and(shapes)} together"
    else:
        needs = f"needs {verdict.needed} of {total} ({_and(shapes)}) together"
    return f"has {verdict.held} and {needs} more" if verdict.held else needs


def _room(verdict: Verdict) -> str:
    if verdict.nodes == 0:
        return "there are no nodes"
    room = _and([str(need.fits) for need in verdict.needs])
    admitted = {need.nodes_admitted for need in verdict.needs}
    if admitted == {verdict.nodes}:
        where = _count(verdict.nodes, "node")
        has = "has" if verdict.nodes == 1 else "have"
    elif len(admitted) == 1:
        where = f"{admitted.pop()} of {_count(verdict.nodes, 'node')} may be used and"
        has = "have"
    else:
        where, has = _count(verdict.nodes, "node"), "have"
    counted = ", each counted alone" if len(verdict.needs) > 1 else ""
    return f"{where} {has} room for {room}{counted}"


def _never(verdict: Verdict) -> str:
    empty = _and([str(need.fits_empty) for need in verdict.needs])
    return f"even with nothing else running they would hold only {empty}"


def _would_do(suggestion: Suggestion, needs: tuple[Need, ...]) -> str:
    asked = {name for need in needs for name, _ in need.request}
    shape = ", ".join(show(name, amount) for name, amount in suggestion.allocatable if name in asked)
    parts = [_count(suggestion.nodes, "node")]
    if shape:
        parts.append(f"of {shape}")
    if suggestion.labels and not suggestion.like:
        parts.append("with " + ", ".join(f"{key}={value}" for key, value in suggestion.labels))
    return " ".join(parts) + " would do"


def _and(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _are(number: int) -> str:
    return "is" if number == 1 else "are"
