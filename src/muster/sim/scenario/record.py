"""What can be seen of a run: objects as a watch shows them, and what became of each gang when.

Only objects are read, and what the scheduler's log says of evictions in vain, never its state: the same record can be
made from the watches of a real API server.  An instant is looked at when it is over, so that binds sent together
count as one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum

from muster.api.kinds import Address, address_of
from muster.api.wire import Condition, Fact, Node, Pod, PodGroup, condition
from muster.engine.changes import FactGone, FactSeen, GroupGone, GroupSeen, NodeGone, NodeSeen, PodGone, PodSeen
from muster.engine.decisions import Loss, Lost
from muster.gangs.dialects import declare, gang_of
from muster.gangs.dialects.v1beta1 import BELOW_MINIMUM, DISRUPTION_TARGET, INITIALLY_SCHEDULED
from muster.sim.scenario.actions import short
from muster.sim.world import Happened

# why the DisruptionTarget condition says that a pod goes, if it makes room for others
_PREEMPTED = "PreemptionByScheduler"


class State(StrEnum):
    """How a gang is, or lone pods that were created together."""

    ABSENT = "absent"
    """Neither its PodGroup nor a pod of it exists."""
    WAITING = "waiting"
    """Not started, and no pod is bound."""
    PARTIAL = "partial"
    """Not started, but some pods are bound."""
    RUNNING = "running"
    """Started; at least its minimum is bound or has succeeded."""
    SHORT = "short"
    """Started, but fewer than its minimum are left."""
    ENDED = "ended"
    """All its pods have ended."""


class Unit:
    """A gang, or lone pods that were created together."""

    def __init__(self, key: str, *, gang: bool, arrived: float) -> None:
        self.key = key
        self.gang = gang
        self.group: PodGroup | None = None
        self.pods: dict[str, Pod] = {}
        """By UID; those that exist."""
        self.placed: set[str] = set()
        """UIDs of pods that came with a node, past every scheduler."""
        self.evicted: dict[str, Pod] = {}
        """By UID; pods that made room for others, as they were last seen."""
        self.arrived = arrived
        self.started: float | None = None
        self.ended: float | None = None
        self.seen: set[State] = set()
        """Every state in which an instant left it."""
        self.life: tuple[object, ...] = ()
        """What it looked like after the last instant, in short."""

    @property
    def name(self) -> str:
        return short(self.key)

    @property
    def minimum(self) -> int | None:
        """None where there is none: lone pods, basic groups, groups not yet declared."""
        if self.group is None:
            return None
        gang = self.group.spec.scheduling_policy.gang
        return gang.min_count if gang else None

    @property
    def live(self) -> list[Pod]:
        return [pod for pod in self.pods.values() if pod.status.phase not in ("Succeeded", "Failed")]

    @property
    def bound(self) -> list[Pod]:
        """Pods that have a node, have not ended and are not told to stop."""
        return [pod for pod in self.live if pod.spec.node_name and pod.metadata.deletion_timestamp is None]

    @property
    def stopping(self) -> list[Pod]:
        return [pod for pod in self.live if pod.spec.node_name and pod.metadata.deletion_timestamp is not None]

    @property
    def pending(self) -> list[Pod]:
        return [pod for pod in self.live if not pod.spec.node_name]

    def phase(self, phase: str) -> list[Pod]:
        return [pod for pod in self.pods.values() if pod.status.phase == phase]

    @property
    def nominated(self) -> dict[str, str]:
        """By UID: the node on which room is kept for a pending pod."""
        pods = {pod.metadata.uid: pod.status.nominated_node_name for pod in self.pending}
        return {uid: node for uid, node in pods.items() if node}

    @property
    def nodes(self) -> list[str]:
        """The nodes that its running pods are on."""
        return sorted({pod.spec.node_name for pod in self.bound})

    @property
    def state(self) -> State:
        if self.group is None and not self.pods:
            return State.ABSENT
        if (self.pods or self.ended is not None) and not self.live:
            return State.ENDED
        if self.started is None:
            return State.PARTIAL if self.bound else State.WAITING
        enough = 1 if self.minimum is None else self.minimum
        return State.RUNNING if len(self.bound) + len(self.phase("Succeeded")) >= enough else State.SHORT

    @property
    def condition(self) -> Condition | None:
        """What its object says of its start; lone pods have none."""
        return None if self.group is None else condition(self.group.status.conditions, INITIALLY_SCHEDULED)

    @property
    def below(self) -> Condition | None:
        """What its object says of its minimum, if it ever fell below it."""
        return None if self.group is None else condition(self.group.status.conditions, BELOW_MINIMUM)

    @property
    def is_below(self) -> bool:
        return self.below is not None and self.below.status == "True"

    @property
    def is_disrupted(self) -> bool:
        """Whether its object says that it was evicted whole."""
        said = None if self.group is None else condition(self.group.status.conditions, DISRUPTION_TARGET)
        return said is not None and said.status == "True"

    @property
    def why(self) -> tuple[str, str]:
        """Reason and message of what it, or of what some of its pods, wait for; empty if for nothing."""
        told = self.condition
        if self.started is None and told is not None and told.status == "False":
            return told.reason, told.message
        for pod in sorted(self.pending, key=lambda pod: pod.metadata.name):
            if (said := scheduled_condition(pod)) is not None and said.status == "False":
                return said.reason, said.message
        return "", ""

    def has_started(self) -> bool:
        told = self.condition
        if told is not None:
            return told.status == "True"
        return not self.gang and bool(self.bound or (self.pods and not self.live))


class Record:
    """Units, pods and nodes as they are; `on_change` hears of every unit that an instant touched."""

    def __init__(
        self,
        *,
        start: float,
        together: Mapping[str, str],
        on_change: Callable[[Unit, float], None] = lambda unit, at: None,
        on_loss: Callable[[Lost, float], None] = lambda lost, at: None,
    ) -> None:
        self._start = start
        self._together = together
        """Lone pods that belong together: the pod's key to the name of all of them."""
        self._on_change = on_change
        self._on_loss = on_loss
        self.units: dict[str, Unit] = {}
        """By the gang's key, or by what lone pods are called together."""
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, Pod] = {}
        """By UID."""
        self.facts: dict[Address, Fact] = {}
        """Objects of the kinds that plugins read."""
        self.evicted: dict[str, Pod] = {}
        """By UID; all pods that ever made room for others."""
        self.losses: dict[str, list[Loss]] = {}
        """By unit: why it did not get the room that it had others evicted for."""
        self.last_change = 0.0
        """When a unit last came, went, or got on with its life; what is said of it does not count."""
        self._groups: dict[str, PodGroup] = {}
        """By the gang's key."""
        self._touched: dict[str, None] = {}

    def take(self, happened: Iterable[Happened]) -> None:
        """Takes history in, whole instants of it."""
        now: float | None = None
        for at, what in happened:
            if now is not None and at > now:
                self._settle(now - self._start)
            now = at
            self._notice(what, at - self._start)
        if now is not None:
            self._settle(now - self._start)

    def find_pod(self, key: str) -> Pod | None:
        return next((pod for pod in self.pods.values() if pod_key(pod) == key), None)

    def gang(self, key: str) -> Unit | None:
        unit = self.units.get(key)
        return unit if unit is not None and unit.gang else None

    def gang_of(self, pod: Pod) -> str | None:
        """Key of the pod's gang; None for a lone pod."""
        return gang_of(pod, self._groups)

    def pods_on(self, node: str) -> list[Pod]:
        """Pods that take room on the node."""
        ended = ("Succeeded", "Failed")
        pods = [p for p in self.pods.values() if p.spec.node_name == node and p.status.phase not in ended]
        return sorted(pods, key=pod_key)

    # --- watching ---

    def _notice(self, what: object, at: float) -> None:
        if isinstance(what, PodSeen):
            self._pod(what.pod, at)
        elif isinstance(what, PodGone):
            self._pod_gone(what.uid)
        elif isinstance(what, GroupSeen):
            self._group(what.group, at)
        elif isinstance(what, GroupGone):
            self._groups.pop(what.key, None)
            if (unit := self.units.get(what.key)) is not None:
                unit.group = None
                self._touched[what.key] = None
        elif isinstance(what, NodeSeen):
            self.nodes[what.node.metadata.name] = what.node
        elif isinstance(what, NodeGone):
            self.nodes.pop(what.name, None)
        elif isinstance(what, FactSeen):
            self.facts[address_of(what.fact)] = what.fact
        elif isinstance(what, FactGone):
            self.facts.pop(Address(what.kind, what.key), None)
        elif isinstance(what, Lost):
            self.losses.setdefault(what.unit, []).append(what.why)
            self._on_loss(what, at)

    def _pod(self, pod: Pod, at: float) -> None:
        uid = pod.metadata.uid
        if self.pods.get(uid) == pod:
            return
        unit = self._unit_of(pod, at)
        if uid not in self.pods and pod.spec.node_name:
            unit.placed.add(uid)
        self.pods[uid] = pod
        unit.pods[uid] = pod
        if is_evicted(pod):
            self.evicted[uid] = unit.evicted[uid] = pod
        self._touched[unit.key] = None

    def _pod_gone(self, uid: str) -> None:
        pod = self.pods.pop(uid, None)
        if pod is not None:
            unit = self._unit_of(pod, 0.0)
            unit.pods.pop(uid, None)
            self._touched[unit.key] = None

    def _group(self, group: PodGroup, at: float) -> None:
        key = declare(group).key
        unit = self._unit(key, gang=True, at=at)
        if unit.group == group:
            return
        unit.group = self._groups[key] = group
        self._touched[key] = None
        for uid, pod in list(unit.pods.items()):
            # pods that name two gangs belong to this one only as long as nobody knows better
            if (other := self._unit_of(pod, at)) is not unit:
                other.pods[uid] = unit.pods.pop(uid)
                self._touched[other.key] = None

    def _unit_of(self, pod: Pod, at: float) -> Unit:
        gang = self.gang_of(pod)
        if gang is not None:
            return self._unit(gang, gang=True, at=at)
        key = pod_key(pod)
        return self._unit(self._together.get(key, key), gang=False, at=at)

    def _unit(self, key: str, *, gang: bool, at: float) -> Unit:
        unit = self.units.get(key)
        if unit is None or (unit.group is None and not unit.pods and unit.seen):
            # one that went for good makes way for a new one of its name
            unit = self.units[key] = Unit(key, gang=gang, arrived=at)
        return unit

    def _settle(self, at: float) -> None:
        touched, self._touched = self._touched, {}
        for key in touched:
            unit = self.units[key]
            if unit.started is None and unit.has_started():
                unit.started = at
            if unit.pods and not unit.live and unit.ended is None:
                unit.ended = at
            elif unit.live:
                unit.ended = None
            unit.seen.add(unit.state)
            if (life := (unit.state, *sorted(pod.metadata.uid for pod in unit.bound), len(unit.pods))) != unit.life:
                unit.life = life
                self.last_change = at
            self._on_change(unit, at)


def scheduled_condition(pod: Pod) -> Condition | None:
    return condition(pod.status.conditions, "PodScheduled")


def disruption(pod: Pod) -> Condition | None:
    """Why a scheduler deletes the pod."""
    return condition(pod.status.conditions, "DisruptionTarget")


def is_evicted(pod: Pod) -> bool:
    said = disruption(pod)
    return said is not None and said.status == "True" and said.reason == _PREEMPTED


def pod_key(pod: Pod) -> str:
    return f"{pod.metadata.namespace}/{pod.metadata.name}"
