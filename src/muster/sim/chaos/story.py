"""The story of one world, for people: what happened, what was decided, what became of it."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from muster.api.wire import Node, Pod, PodGroup
from muster.engine.changes import (
    BindFailed,
    Bound,
    Change,
    GroupGone,
    GroupSeen,
    NodeGone,
    NodeSeen,
    PodGone,
    PodSeen,
)
from muster.engine.decisions import (
    Bind,
    CallOff,
    Decision,
    Evict,
    GangCondition,
    Lost,
    PodCondition,
    PodRef,
    Release,
    Reread,
)
from muster.gangs.dialects.v1beta1 import (
    BELOW_MINIMUM_ANNOTATION,
    GRACE_ANNOTATION,
    ON_PARTIAL_ANNOTATION,
    TIMEOUT_ANNOTATION,
)
from muster.sim.chaos.recipe import recipe
from muster.sim.chaos.run import Outcome
from muster.sim.chaos.world import START
from muster.sim.plain import needs_of


def tell(outcome: Outcome) -> str:
    return "\n".join(_Story(outcome).lines())


class _Story:
    def __init__(self, outcome: Outcome) -> None:
        self._outcome = outcome
        self._shapes: dict[bytes, int] = {}
        self._pods: dict[str, str] = {}
        """What was last said of each pod, and by which name it goes."""
        self._names: dict[str, str] = {}
        self._groups: dict[str, str] = {}

    def lines(self) -> Iterator[str]:
        outcome = self._outcome
        yield f"world {outcome.seed}: {', '.join(sorted(recipe(outcome.seed).mood))}"
        happened = [(at, f"* {line}") for at, line in outcome.story]
        for at, what in outcome.world.history:
            while happened and happened[0][0] <= at:
                yield _at(*happened.pop(0))
            for line in self._line(what):
                yield _at(at, line)
        for at, line in happened:
            yield _at(at, line)
        if outcome.violation:
            yield _at(outcome.world.now, f"BROKEN: {outcome.violation}")
        else:
            yield "no rule was broken"

    def _line(self, what: Decision | Change) -> Iterator[str]:
        if isinstance(what, Decision):
            yield from (f"  => {line}" for line in _decided(what))
        elif isinstance(what, PodSeen):
            yield from self._pod(what.pod)
        elif isinstance(what, GroupSeen):
            yield from self._group(what.group)
        elif isinstance(what, NodeSeen):
            yield f"node {_node(what.node)}"
        elif isinstance(what, PodGone):
            yield f"{self._names.get(what.uid, what.uid)} is gone"
        elif isinstance(what, NodeGone):
            yield f"node {what.name} is gone"
        elif isinstance(what, GroupGone):
            yield f"group {what.key} is gone"
        elif isinstance(what, Bound):
            yield f"bound: {self._names.get(what.uid, what.uid)} to {what.node}"
        elif isinstance(what, BindFailed):
            yield f"bind failed: {self._names.get(what.uid, what.uid)} to {what.node}: {what.failure}"

    def _pod(self, pod: Pod) -> Iterator[str]:
        """Only what is new of it; conditions are told when they are decided."""
        uid, spec = pod.metadata.uid, pod.spec
        facts = [
            pod.status.phase,
            f"on {spec.node_name}" if spec.node_name else "",
            "gated" if spec.scheduling_gates else "",
            "being deleted" if pod.metadata.deletion_timestamp else "",
        ]
        said = " ".join(fact for fact in facts if fact)
        if uid not in self._names:
            self._names[uid] = pod.metadata.name
            yield f"pod {pod.metadata.name} ({uid[:4]}): {said}, priority {spec.priority}, {self._shape(pod)}"
        elif self._pods[uid] != said:
            yield f"{pod.metadata.name}: {said}"
        self._pods[uid] = said

    def _shape(self, pod: Pod) -> str:
        needs = needs_of(pod)
        number = self._shapes.get(needs.rules)
        amounts = ", ".join(f"{name} {count}" for name, count in needs.requests if name != "pods")
        ports = "".join(f", port {port}" for _, port, _ in needs.ports)
        known = number is not None
        number = self._shapes.setdefault(needs.rules, len(self._shapes))
        if pod.spec.node_selector or pod.spec.affinity or pod.spec.tolerations:
            rules = f", rules {number}"
            if not known:
                spec = pod.spec
                rules += f" = {msgspec.json.encode((spec.node_selector, spec.affinity, spec.tolerations)).decode()}"
        else:
            rules = ""
        return (amounts or "no requests") + ports + rules

    def _group(self, group: PodGroup) -> Iterator[str]:
        gang = group.spec.scheduling_policy.gang
        said = f"minimum {gang.min_count}" if gang else "basic"
        mode = group.spec.disruption_mode
        said += f", priority {group.spec.priority}, times out after "
        said += group.metadata.annotations.get(TIMEOUT_ANNOTATION, "the default")
        said += ", goes whole" if mode and mode.all else ""
        said += ", never evicts" if group.spec.preemption_policy == "Never" else ""
        wishes = {ON_PARTIAL_ANNOTATION, BELOW_MINIMUM_ANNOTATION, GRACE_ANNOTATION}
        said += "".join(f", {k}={v}" for k, v in group.metadata.annotations.items() if k in wishes)
        if self._groups.get(group.metadata.uid) != said:
            yield f"group {group.metadata.name}: {said}"
        self._groups[group.metadata.uid] = said


def _decided(what: Decision) -> Iterator[str]:
    if isinstance(what, Bind):
        yield f"bind {what.unit}: " + ", ".join(f"{_name(p.pod)} to {p.node}" for p in what.pods)
    elif isinstance(what, Release):
        yield f"release {what.unit}: {_refs(what.pods)} ({what.message})"
    elif isinstance(what, Evict):
        yield f"evict for {what.unit}: {_refs(what.pods)}"
    elif isinstance(what, CallOff):
        yield f"call off for {what.unit}: {_refs(what.pods)}"
    elif isinstance(what, Lost):
        yield f"lost by {what.unit}: {what.message}"
    elif isinstance(what, PodCondition):
        kept = f", kept on {', '.join(what.nominated)}" if what.nominated else ""
        yield f"say of {_refs(what.pods)}{kept}: {what.message}"
    elif isinstance(what, GangCondition):
        aspect = what.aspect if what.holds else f"not {what.aspect}"
        yield f"say of {what.gang}: {aspect} {what.reason} {what.message}"
    elif isinstance(what, Reread):
        yield f"read {what.gang} again"


def _at(at: float, line: str) -> str:
    return f"{at - START:8.2f}  {line}"


def _refs(refs: tuple[PodRef, ...]) -> str:
    return ", ".join(_name(ref.pod) for ref in refs)


def _name(key: str) -> str:
    return key.partition("/")[2]


def _node(node: Node) -> str:
    taints = " ".join(f"{t.key}={t.value}:{t.effect}" for t in node.spec.taints)
    room = " ".join(f"{name}={count}" for name, count in node.status.allocatable.items())
    cordoned = " cordoned" if node.spec.unschedulable else ""
    return f"{node.metadata.name} {room} {node.metadata.labels}{cordoned} {taints}"
