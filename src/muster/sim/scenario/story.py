"""The timeline: what happened, in words, a gang at a time."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from muster.api.wire import Pod
from muster.engine.decisions import Lost
from muster.sim.kubelets import is_refusal
from muster.sim.scenario.actions import short
from muster.sim.scenario.record import State, Unit, disruption

# beyond so many, nodes are counted instead of named
_NODES_NAMED = 6


class Line(msgspec.Struct, frozen=True):
    at: float
    """Seconds since the scenario's start."""
    kind: str
    """"step" for what the file does, else what came of it: "starts", "grows", "waits", "partial", "loses",
    "is out of time", "ends", "fails", "refused", "evicted", "released", "gone", "kept", "lost", "below", "whole"."""
    text: str


class _Told:
    """What was last said of a unit."""

    def __init__(self) -> None:
        self.bound: dict[str, str] = {}
        """Node by pod UID."""
        self.failed: set[str] = set()
        self.evicted: set[str] = set()
        self.stopping: set[str] = set()
        """Those that stop and were not evicted."""
        self.nominated: dict[str, str] = {}
        """Node by pod UID."""
        self.below = False
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

    def lost(self, lost: Lost, at: float) -> None:
        """What the scheduler says when others were evicted in vain."""
        self._say(at, "lost", f"{short(lost.unit)}: {lost.message} ({lost.why})")

    def changed(self, unit: Unit, at: float) -> None:
        """What became of a unit in an instant."""
        told = self._told.setdefault(unit.key, _Told())
        bound = {uid: pod.spec.node_name for uid, pod in unit.pods.items() if pod.spec.node_name}
        # of what came with a node the step has told
        fresh = [unit.pods[uid] for uid in bound if uid not in told.bound and uid not in unit.placed]
        new = [pod for pod in fresh if pod.status.phase != "Failed"]
        self._departures(unit, told, at)
        self._failures(unit, told, at)
        if unit.started == at and new:
            self._say(at, "starts", f"{unit.name} starts: {_on(unit.bound)}")
        elif new and unit.started is not None and all(pod.status.phase == "Running" for pod in new):
            self._say(at, "grows", f"{unit.name} gets {_on(new, more=True)}")
        elif new and unit.started is None:
            self._say(at, "partial", f"{unit.name} is partly bound: {_of(len(unit.bound), unit)}")
        self._minimum(unit, told, at)
        self._ends(unit, told, at)
        self._room(unit, told, at)
        self._waits(unit, told, at)
        told.bound, told.state = bound, unit.state

    def _departures(self, unit: Unit, told: _Told, at: float) -> None:
        evicted = [pod for uid, pod in unit.evicted.items() if uid not in told.evicted]
        if evicted:
            self._say(at, "evicted", f"{_part(evicted, unit)} evicted: {_why(evicted[0])}")
        stopping = {pod.metadata.uid: pod for pod in unit.stopping if pod.metadata.uid not in unit.evicted}
        # a step has told of those that users delete
        released = [pod for uid, pod in stopping.items() if uid not in told.stopping and _why(pod)]
        if released:
            self._say(at, "released", f"{_part(released, unit)} released: {_why(released[0])}")
        gone = {uid: node for uid, node in told.bound.items() if uid not in unit.pods}
        # who goes in the instant of its eviction has been told of
        stopped = [unit.evicted[uid] for uid in gone if uid in told.evicted and uid in unit.evicted]
        if stopped:
            self._say(at, "gone", f"{_part(stopped, unit)} gone")
        lost = sorted(node for uid, node in gone.items() if uid not in unit.evicted)
        if lost and told.state is not State.ENDED and unit.state is not State.ABSENT:
            nodes = _names(sorted(set(lost)))
            self._say(at, "loses", f"{unit.name} loses {_pods(len(lost))} on {nodes}")
        told.evicted |= unit.evicted.keys()
        told.stopping = set(stopping)

    def _failures(self, unit: Unit, told: _Told, at: float) -> None:
        """Whoever a kubelet does not take in, and members that fail while others live."""
        failed = unit.phase("Failed")
        new = [pod for pod in failed if pod.metadata.uid not in told.failed]
        for reason in sorted({pod.status.reason for pod in new}):
            pods = [pod for pod in new if pod.status.reason == reason]
            if is_refusal(reason):
                self._say(at, "refused", f"{_part(pods, unit)} refused by the kubelet: {reason}")
            elif unit.state is not State.ENDED:
                self._say(
                    at, "fails", f"{_part(pods, unit, verb='has', verbs='have')} failed{reason and f': {reason}'}"
                )
        told.failed = {pod.metadata.uid for pod in failed}

    def _minimum(self, unit: Unit, told: _Told, at: float) -> None:
        if unit.is_below and not told.below and unit.below is not None:
            self._say(at, "below", f"{unit.name} is below its minimum: {unit.below.message}")
        elif told.below and not unit.is_below and unit.group is not None:
            self._say(at, "whole", f"{unit.name} is no longer below its minimum")
        told.below = unit.is_below

    def _room(self, unit: Unit, told: _Told, at: float) -> None:
        """Where room is kept for pods that wait; that who was bound needs none is no news."""
        waiting = {pod.metadata.uid for pod in unit.pending}
        before = {uid: node for uid, node in told.nominated.items() if uid in waiting}
        if unit.nominated != before:
            nodes = sorted(set(unit.nominated.values()))
            text = f"room is kept for {_pods(len(unit.nominated))} of {unit.name} on {_names(nodes)}"
            self._say(at, "kept", text if nodes else f"no room is kept for {unit.name} any more")
        told.nominated = unit.nominated

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
            self._say(at, "is out of time", f"{unit.name} is out of time: {message}")
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


def _why(pod: Pod) -> str:
    """Why a scheduler deletes it; "" if none does."""
    said = disruption(pod)
    return said.message if said else ""


def _part(pods: list[Pod], unit: Unit, *, verb: str = "is", verbs: str = "are") -> str:
    """ "2 pods of train on n-1, n-2 are" """
    nodes = _names(sorted({pod.spec.node_name for pod in pods} - {""}))
    where = f" on {nodes}" if nodes else ""
    return f"{_pods(len(pods))} of {unit.name}{where} {verb if len(pods) == 1 else verbs}"


def _names(nodes: list[str]) -> str:
    return ", ".join(nodes) if len(nodes) <= _NODES_NAMED else f"{len(nodes)} nodes"


def _pods(count: int) -> str:
    return "1 pod" if count == 1 else f"{count} pods"


def _of(count: int, unit: Unit) -> str:
    needed = unit.minimum
    return f"{_pods(count)} of {len(unit.pods) if needed is None else f'at least {needed}'}"
