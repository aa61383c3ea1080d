"""Why a unit was placed or refused: computed once, kept as data, told in one sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

import msgspec

from muster.api.asks import Ask
from muster.base.errors import PluginError
from muster.base.quantity import show
from muster.framework.contract import Obstacle

_EXAMPLES = 3


class Outcome(StrEnum):
    """What came of an attempt.  Whoever was refused waits until something changes that can help."""

    PLACED = "placed"
    """Bound, or as much of it as fits; nothing to decide until something changes."""
    WAITING = "waiting"
    """Does not fit now, and would if running pods ended."""
    IMPOSSIBLE = "impossible"
    """Proven: even empty, the nodes do not hold it."""
    NOT_FOUND = "not found"
    """No placement found, which is no proof: members of different shapes compete for the same nodes, or rules between
    pods make one's place depend on another's."""
    PREEMPTING = "preempting"
    """Has a place once those have left who make room for it; it is reserved until then."""
    THINKING = "thinking"
    """Not decided yet: whom to evict takes longer than one turn."""
    NOT_RESERVED = "not reserved"
    """Has a place, and a plugin that keeps books of its own does not let it have that."""
    ERROR = "error"
    """The attempt failed for a reason that is nobody's but the scheduler's."""
    TIMED_OUT = "timed out"
    """Bound below its minimum for too long; the bound members were released."""


class Refusal(msgspec.Struct, frozen=True, gc=False):
    """One of upstream's reasons, and how many nodes gave it."""

    nodes: int
    reason: str
    by_rule: bool = False
    """The nodes' own facts (labels, taints, name) refuse, however much room they have."""


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
    barred: tuple[Refusal, ...] = ()
    """Why the others do not."""
    refusals: tuple[Refusal, ...] = ()
    """Why no node takes one more, with the members placed that fit."""
    host_ports: tuple[int, ...] = ()
    fragmented: bool = False
    """Enough is free in all, but in pieces too small to hold the members."""
    obstacles: tuple[Obstacle, ...] = ()
    """Rules between pods that keep the next member from nodes with room, with the members placed that fit."""

    def times(self, count: int) -> str:
        """So many of them: "3 × 2 cpu + 4Gi memory"."""
        shape = " + ".join(show(name, amount) for name, amount in self.request)
        ports = f" with host port {', '.join(map(str, self.host_ports))}" if self.host_ports else ""
        if shape:
            return f"{count} × {shape}{ports}"
        return _count(count, "pod") + (ports or " without requests")


class Shortage(NamedTuple):
    """A resource of which all members together need more than the nodes can give them, though each alone has room."""

    resource: str
    at_most: int
    needed: int


class Suggestion(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Empty nodes that, added to the cluster as it is, let the unit start."""

    nodes: int
    allocatable: tuple[tuple[str, int], ...]
    """(resource, amount) that each of them must have; cpu in milli."""
    labels: tuple[tuple[str, str], ...] = ()
    taints: tuple[tuple[str, str, str], ...] = ()
    """(key, value, effect), as the node that served as the model has them."""
    asked_labels: tuple[tuple[str, str], ...] = ()
    """Those of the labels that the members ask for."""
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
    standing: int = 0
    """Members that count for the minimum already: bound, being bound, or succeeded."""
    nodes: int = 0
    same_nodes: bool = True
    """The nodes' own facts let the members of every class on the same of them."""
    needs: tuple[Need, ...] = ()
    shortage: Shortage | None = None
    suggestion: Suggestion | None = None
    leaving: int = 0
    """Pods that it waits for, since they make room."""
    passed: int = 0
    """Later units that started before it, where nodes are held for it because they were so many."""
    error: str = ""
    """What failed, if the scheduler did."""
    no_evictions: str = ""
    """Why nobody is evicted for it any more."""

    @property
    def missing(self) -> int:
        return max(0, self.needed - self.placed)


RESERVED = "node(s) are reserved for it until others are told to leave"


# plugins by users are asked again for their reasons, and should give the same answer every time
_OTHERWISE = "a plugin refused nodes and, asked for its reasons, does not"


def fit_error(nodes: int, refusals: tuple[Refusal, ...]) -> str:
    """Upstream's text for a pod that fits nowhere."""
    if nodes == 0:
        return "no nodes available to schedule pods"
    parts = sorted(f"{refusal.nodes} {refusal.reason}" for refusal in refusals) or [_OTHERWISE]
    return f"0/{nodes} nodes are available: {', '.join(parts)}."


def summary(verdict: Verdict) -> str:
    """One sentence for people: what is needed, what is there, what is missing, what would do."""
    there, hindered = _room(verdict), [_hinders(need) for need in verdict.needs if need.obstacles]
    if verdict.outcome is Outcome.NOT_FOUND and (len(verdict.needs) > 1 or not hindered):
        there += f", but no placement found {_of_what_kind(verdict)}"
    elif verdict.outcome is Outcome.NOT_FOUND:
        hindered[-1] += f" ({_UNPROVEN})"
    parts = [f"{_needs(verdict)}, {there}", *hindered]
    if verdict.outcome is Outcome.PREEMPTING:
        parts.append(f"has a place when {_count(verdict.leaving, 'pod')} {_have(verdict.leaving)} left")
        return "; ".join(parts)
    if verdict.passed:
        parts.append(f"{_count(verdict.passed, 'later unit')} went first, so nodes that it can use are held for it")
    if verdict.no_evictions:
        parts.append(f"nobody is evicted for it, since {verdict.no_evictions}")
    if verdict.missing:
        parts.append(f"{verdict.missing} more {_are(verdict.missing)} missing")
    if verdict.suggestion is not None:
        parts.append(_would_do(verdict.suggestion, verdict.needs))
    return "; ".join(parts)


def members_missing(minimum: int, lacking: Mapping[str, int], strangers: int = 0) -> str:
    """Why a gang is not even tried: not enough of its pods exist; `lacking` says of which subsets."""
    missing = sum(lacking.values())
    text = f"{minimum - missing} of {minimum} members exist, {missing} more must be created"
    if any(lacking):
        text += f" ({', '.join(f'{count} {subset}' for subset, count in lacking.items())})"
    return (
        f"{text}; {_count(strangers, 'other pod')} name{'s' if strangers == 1 else ''} another scheduler"
        if strangers
        else text
    )


def failure(error: Exception) -> str:
    """What is said of a unit with which the scheduler itself failed."""
    if isinstance(error, PluginError):
        return str(error)
    return f"the scheduler failed: {type(error).__name__}: {error}"


_UNPROVEN = "not proven impossible"
MEMBERS_MISSING = "not all of its members exist"
MEMBERS_GATED = "members may not be placed yet"
UNPROVEN = " No place was found for it beside the other members, which is no proof that there is none."


def left_bound(why: str, bound: int) -> str:
    """What becomes of pods that are bound below their minimum when their group is gone."""
    they = "pod is" if bound == 1 else "pods are"
    return f"pod group {why}: {bound} {they} bound below the minimum, and will be neither completed nor released"


def members_gated(held: int, there: int, why: str) -> str:
    """Why a gang is not even tried: some of its pods may not be decided yet."""
    return f"{held} of {there} members may not be placed yet ({why})"


def unsupported(asks: tuple[Ask, ...]) -> str:
    """Why what asks for this may not be placed, and what there is to do about it."""
    them = "it" if len(asks) == 1 else "them"
    return f"{_not_honoured(asks)}; remove {them}, or set GangScheduling's argument `unsupported: ignore`"


def passed_over(asks: tuple[Ask, ...]) -> str:
    """What a pod would have liked and was placed without."""
    return f"placed as if it had not asked: {_not_honoured(asks)}"


def _not_honoured(asks: tuple[Ask, ...]) -> str:
    return f"no plugin of this scheduler honours {_and([ask.field for ask in asks])}"


_RELEASED = "released"
_TAKEN_DOWN = "taken down"
UNDOING = (_RELEASED, _TAKEN_DOWN)
"""One of these is in every message that says that a gang was undone."""


def timed_out(bound: int, minimum: int, seconds: float, *, released: bool = True, stay: int = 0) -> str:
    """Why a gang was undone, or kept although it should have been; `stay` of the bound may not be released."""
    what = f"{_RELEASED}{_but_for(stay)}" if released else "kept, as the group asks"
    they = f"{'it is' if bound == 1 else 'they are'} {what}"
    return f"{bound} of {minimum} members {'was' if bound == 1 else 'were'} bound within {seconds:g} s; {they}"


MEMBERS_ARE_PREPARED = "has a place, and waits until all members of its pod group are ready to be bound"


def prepared(ready: int, members: int, waiting: Sequence[str]) -> str:
    """How far what the members of a unit bring is made ready."""
    of_all = f"{ready} of {members} members are" if members > 1 else "the pod is not"
    return f"{of_all} ready to be bound" + (f": {_some(waiting)}" if waiting else "")


def preparing_failed(node: str, why: str) -> str:
    """Why a member gets another place."""
    return f"what it brings cannot be made ready for {node}: {why}"


def preparing_took_too_long(seconds: float, waiting: Sequence[str]) -> str:
    """Why a unit that had its place gave it up."""
    return f"not ready to be bound within {seconds:g} s: {_some(waiting)}"


def _some(sentences: Sequence[str]) -> str:
    more = len(sentences) - _EXAMPLES
    return "; ".join(sentences[:_EXAMPLES]) + (f"; and {more} more" if more > 0 else "")


NOT_STARTED = "has not started within"


def stepped_back(seconds: float) -> str:
    """Why nothing is held for a gang any more that waits for its start."""
    return f"{NOT_STARTED} {seconds:g} s: others may go before, and it is tried again"


def evicted_for(unit: str) -> str:
    """Why nothing of a gang is left."""
    return f"its members were evicted for {unit}, of higher priority"


def left_of(bound: int, minimum: int, lost_to: str) -> str:
    """What is left of a gang that has started."""
    left = f"{bound} of {minimum} members are bound"
    return f"{left}; others were evicted for {lost_to}" if lost_to else left


def taken_down(bound: int, minimum: int, seconds: float, *, stay: int = 0) -> str:
    """Why a gang was undone that had started; `stay` of the bound may not be released."""
    it = f"it is {_TAKEN_DOWN} to start whole again{_but_for(stay)}"
    return f"{bound} of {minimum} members were left for {seconds:g} s; {it}"


def _but_for(stay: int) -> str:
    if not stay:
        return ""
    return f", but for {stay} that {'was' if stay == 1 else 'were'} not bound for the present PodGroup"


def _needs(verdict: Verdict) -> str:
    total = sum(need.members for need in verdict.needs)
    if len(verdict.needs) == 1:
        needs = f"needs {verdict.needs[0].times(verdict.needed)}"
    elif verdict.needed == total:
        needs = f"needs {_and([need.times(need.members) for need in verdict.needs])} together"
    else:
        listed = _and([need.times(need.members) for need in verdict.needs])
        needs = f"needs {verdict.needed} of {total} ({listed}) together"
    return f"has {_count(verdict.standing, 'member')} and {needs} more" if verdict.standing else needs


def _room(verdict: Verdict) -> str:
    if verdict.nodes == 0:
        return "there are no nodes"
    room = _and([str(need.fits) if need.fits else "none" for need in verdict.needs])
    proven = verdict.outcome is Outcome.IMPOSSIBLE
    if len(verdict.needs) > 1:
        room += ", each counted alone"
        if (short := verdict.shortage) is not None:
            room += f", but {_too_little(short)}"
        if proven:
            room += ", and too little even if nothing else ran"
    else:
        room += _details(verdict.needs[0], proven=proven)
    if verdict.needs[0].fragmented:
        room += ": enough is free in all, but in pieces that are too small"
    fewest = min(verdict.needs, key=lambda need: need.nodes_admitted)
    if fewest.nodes_admitted == verdict.nodes:
        return f"{_count(verdict.nodes, 'node')} {_have(verdict.nodes)} room for {room}"
    why = _and([_refused(refusal) for refusal in fewest.barred] or [_OTHERWISE])
    if not verdict.same_nodes:
        nodes = f"{_count(verdict.nodes, 'node')} {_have(verdict.nodes)}"
        return f"{nodes} room for {room} (not all members may use all nodes: {why})"
    if fewest.nodes_admitted == 0:
        return f"none of {_count(verdict.nodes, 'node')} may be used ({why})"
    usable = fewest.nodes_admitted
    return f"{usable} of {_count(verdict.nodes, 'node')} may be used ({why}) and {_have(usable)} room for {room}"


def _of_what_kind(verdict: Verdict) -> str:
    """Members of one shape always find their places, unless these depend on each other."""
    if len(verdict.needs) == 1:
        return f"that keeps the rules between pods ({_UNPROVEN})"
    return f"for all together (members of different shapes: {_UNPROVEN})"


def _too_little(short: Shortage) -> str:
    if short.resource == "pods":
        most, needed = _count(short.at_most, "pod"), str(short.needed)
    else:
        most, needed = show(short.resource, short.at_most), show(short.resource, short.needed)
    if most == needed:
        # told apart by less than is shown
        most, needed = f"{short.at_most} {short.resource}", f"{short.needed} {short.resource}"
    return f"no more than {most} for the {needed} that they need together"


def _details(need: Need, *, proven: bool) -> str:
    """What is short, unless nothing else could be; and what there would be without others."""
    obvious = f"Insufficient {need.request[0][0]}" if len(need.request) == 1 else ""
    details = [_refused(short) for short in need.refusals if not short.by_rule and short.reason != obvious]
    if need.fits_empty != need.fits:
        details.append(f"for {'no more than ' if proven else ''}{need.fits_empty} if nothing else ran")
    even = " even if nothing else ran" if proven and need.fits_empty == need.fits else ""
    return even + (f" ({', '.join(details)})" if details else "")


def _refused(refusal: Refusal) -> str:
    """Upstream's reason as part of a sentence: "3 had untolerated taint(s)"."""
    reason = refusal.reason.removeprefix("node(s) ")
    return f"{refusal.nodes} {reason.replace('were', 'was') if refusal.nodes == 1 else reason}"


_MOST_DOMAINS = 3


def _hinders(need: Need) -> str:
    """What a rule between pods asks for, and how many have a place before it does."""
    obstacle = need.obstacles[0]
    before = f"{need.fits} of {need.members} {_have(need.fits)} a place before " if need.fits else ""
    label = obstacle.label.rpartition("/")[2]
    if not obstacle.domains:
        return f"{before}{obstacle.rule} asks for {obstacle.wants}"
    if len(obstacle.domains) > _MOST_DOMAINS:
        return f"{before}{obstacle.rule} asks for one of {len(obstacle.domains)} values of {label}, which have no room"
    asked = _and(list(obstacle.domains), word="or")
    return f"{before}{obstacle.rule} asks for {label} {asked}, which {_have(len(obstacle.domains))} no room"


def _would_do(suggestion: Suggestion, needs: tuple[Need, ...]) -> str:
    asked = {name for need in needs for name, _ in need.request}
    shape = " + ".join(show(name, amount) for name, amount in suggestion.allocatable if name in asked)
    parts = [_count(suggestion.nodes, "node")]
    if shape:
        parts.append(f"of {shape}")
    if suggestion.asked_labels:
        parts.append("with " + ", ".join(f"{key}={value}" for key, value in suggestion.asked_labels))
    return " ".join(parts) + " would do"


def _and(words: list[str], word: str = "and") -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {word} {words[-1]}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _have(number: int) -> str:
    return "has" if number == 1 else "have"
