"""The timeline: what happened, in words, a gang at a time."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from muster.api.wire import Pod
from muster.sim.scenario.record import State, Unit

# beyond so many, nodes are counted instead of named
_NODES_NAMED = 6


class Line(msgspec.Struct, frozen=True):
    at: float
    """Seconds since the scenario's start."""
    kind: str
    """"step" for what the file does, else what came of it: "starts", "grows", "waits", "partial", "loses",
    "gives up", "ends", "fails"."""
    text: str


class _Told:
    """What was last said of a unit."""

    def __init__(self) -> None:
        self.bound: dict[str, str] = {}
        """Node by pod UID."""
        self.state = State.ABSENT
        self.why = ""


class Story:
    """Turns what units go through into lines; says nothing twice."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self._told: dict[str, _Told] = {}

    def step(self, at: float, text: str) -> None:
        """What the scenario file did."""
        if text:
            self._say(at, "step", text)

    def changed(self, unit: Unit, at: float) -> None:
        """What became of a unit in an instant."""
        told = self._told.setdefault(unit.key, _Told())
        bound = {uid: pod.spec.node_name for uid, pod in unit.pods.items() if pod.spec.node_name}
        # of what came with a node the step has told
        new = [unit.pods[uid] for uid in bound if uid not in told.bound and uid not in unit.placed]
        self._losses(unit, told, at)
        if unit.started == at and new:
            self._say(at, "starts", f"{unit.name} starts: {_on(unit.bound)}")
        elif new and unit.started is not None and all(pod.status.phase == "Running" for pod in new):
            self._say(at, "grows", f"{unit.name} gets {_on(new, more=True)}")
        elif new and unit.started is None:
            self._say(at, "partial", f"{unit.name} is partly bound: {_of(len(unit.bound), unit)}")
        self._ends(unit, told, at)
        self._waits(unit, told, at)
        told.bound, told.state = bound, unit.state

    def _losses(self, unit: Unit, told: _Told, at: float) -> None:
        lost = sorted(node for uid, node in told.bound.items() if uid not in unit.pods)
        if lost and told.state is not State.ENDED and unit.state is not State.ABSENT:
            nodes = _names(sorted(set(lost)))
            self._say(at, "loses", f"{unit.name} loses {_pods(len(lost))} on {nodes}")

    def _ends(self, unit: Unit, told: _Told, at: float) -> None:
        if unit.state is not State.ENDED or told.state is State.ENDED or not unit.pods:
            return
        failed = len(unit.phase("Failed"))
        if failed:
            self._say(at, "fails", f"{unit.name} fails: {failed} of {_pods(len(unit.pods))} failed")
        else:
            self._say(at, "ends", f"{unit.name} ends")

    def _waits(self, unit: Unit, told: _Told, at: float) -> None:
        """Why it waits, when that is something else than before; counts alone are no news."""
        reason, message = unit.why
        gist = _gist(message)
        if not message or gist == told.why:
            told.why = gist or told.why
            return
        told.why = gist
        if reason == "Timeout":
            self._say(at, "gives up", f"{unit.name} gives up: {message}")
        elif unit.started is None:
            self._say(at, "waits", f"{unit.name} waits: {message}")
        else:
            verb = "waits" if len(unit.pending) == 1 else "wait"
            self._say(
                at,
                "waits",
                f"{len(unit.pending)} of {_pods(len(unit.pods))} of {unit.name} {verb}: {message}",
            )

    def _say(self, at: float, kind: str, text: str) -> None:
        self.lines.append(Line(at, kind, text))


def _gist(message: str) -> str:
    """The message without its numbers, what goes with one or many, and what stands in brackets."""
    return re.sub(r" \([^)]*\)|\d+|\bnone\b|\b(?:is|are|has|have)\b|s\b", "", message)


def _on(pods: Iterable[Pod], *, more: bool = False) -> str:
    """ "4 pods on n-1, n-2" """
    nodes = [pod.spec.node_name for pod in pods]
    many = f"{len(nodes)} more {'pod' if len(nodes) == 1 else 'pods'}" if more else _pods(len(nodes))
    return f"{many} on {_names(sorted(set(nodes)))}"


def _names(nodes: list[str]) -> str:
    return ", ".join(nodes) if len(nodes) <= _NODES_NAMED else f"{len(nodes)} nodes"


def _pods(count: int) -> str:
    return "1 pod" if count == 1 else f"{count} pods"


def _of(count: int, unit: Unit) -> str:
    needed = unit.minimum
    return f"{_pods(count)} of {len(unit.pods) if needed is None else f'at least {needed}'}"
