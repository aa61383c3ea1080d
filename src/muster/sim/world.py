"""A cluster in virtual time: the objects an API server would keep, kubelets, and the scheduler's driver.

The world owns the truth.  The engine sees it only through changes, and acts on it only through decisions
that the world carries out, at once or as late and as badly as `Faults` say.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

from msgspec.structs import replace

from muster.api.times import stamp
from muster.api.wire import Condition, Metadata, Node, Pod, PodGroup, PriorityClass
from muster.base.errors import ObjectError
from muster.engine.changes import (
    BindFailed,
    Bound,
    Change,
    Failure,
    GroupGone,
    GroupSeen,
    NodeGone,
    NodeSeen,
    PodGone,
    PodSeen,
)
from muster.engine.decisions import (
    Bind,
    Decision,
    Event,
    Evict,
    GangCondition,
    Lost,
    Placement,
    PodCondition,
    Release,
)
from muster.engine.engine import Engine
from muster.gangs.dialects import dialect_of

RUN_SECONDS = "muster.dev/run-seconds"
EXIT_CODE = "muster.dev/exit-code"

_ENDED = ("Succeeded", "Failed")

# Far more than the largest benchmark takes; a scheduler that is still not done goes round in circles.
_MOST_ROUNDS = 20_000


class BindFate(NamedTuple):
    """What becomes of one bind call."""

    delay_seconds: float = 0.0
    failure: Failure | None = None
    landed: bool = False
    """The API server stored it although the answer says that it failed: an answer that got lost."""


class Faults:
    """What goes wrong.  This one lets everything succeed at once; tests override it."""

    def bind(self, placement: Placement, now: float) -> BindFate:
        """What becomes of a bind that is sent now."""
        return BindFate()

    def answers_first(self, placement: Placement) -> bool:
        """Whether the answer to a bind overtakes the watch."""
        return False

    def survives_restart(self, placement: Placement) -> bool:
        """Whether a bind that was in flight when the scheduler died reached the API server."""
        return True

    def relist(self, changes: list[Change]) -> list[Change]:
        """In which order a new scheduler reads the objects that are there."""
        return changes


class Happened(NamedTuple):
    """One line of history."""

    at: float
    what: Decision | Change


class Scheduler(Protocol):
    """What the driver needs of an engine; a journal's recorder is one too."""

    def apply(self, changes: Iterable[Change]) -> None: ...

    def decide(self, now: float) -> list[Decision]: ...

    @property
    def next_decide_at(self) -> float | None: ...


class World:
    """Objects, time and a scheduler; `history` has every decision and every change in order.

    Virtual time starts at `start`, in seconds since the epoch, so that creation timestamps are real ones.
    """

    def __init__(
        self,
        engine: Callable[[], Engine],
        *,
        start: float = 0.0,
        faults: Faults | None = None,
        through: Callable[[Engine], Scheduler] = lambda engine: engine,
    ) -> None:
        """Every engine that `engine` makes is driven `through` what stands around it: a journal, say."""
        self._make_engine = engine
        self._through = through
        self.engine = engine()
        self._scheduler = through(self.engine)
        self.now = start
        self.faults = faults or Faults()
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, Pod] = {}
        """By UID."""
        self._uids: dict[str, str] = {}
        """By namespace/name."""
        self.groups: dict[str, PodGroup] = {}
        """By namespace/name."""
        self.priority_classes: dict[str, PriorityClass] = {}
        self.history: list[Happened] = []
        self.in_flight: dict[str, Placement] = {}
        """Binds sent and not yet answered, by pod UID."""
        self._agenda: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = 0
        self._unseen: list[Change] = []
        """Changes that the engine has not been told yet."""
        self._life = 0

    # --- time ---

    def at(self, time: float, action: Callable[[], None]) -> None:
        """Does `action` at `time`; actions of the same instant happen in the order of these calls."""
        heapq.heappush(self._agenda, (time, self._number(), action))

    def run(self, until: float) -> None:
        """Lets time pass until `until`, everything that happens at that instant included."""
        while True:
            self._schedule()
            upcoming = self._next()
            if upcoming is None or upcoming > until:
                break
            self.now = max(self.now, upcoming)
            while self._agenda and self._agenda[0][0] <= self.now:
                heapq.heappop(self._agenda)[2]()
        self.now = max(self.now, until)

    def run_until_quiet(self, limit: float) -> None:
        """Lets time pass until nothing is left to happen, or until `limit`."""
        self._schedule()
        while (upcoming := self._next()) is not None and upcoming <= limit:
            self.run(upcoming)

    @property
    def next_event(self) -> float | None:
        """When the next thing happens that is not the scheduler's own idea; None if nothing is planned."""
        return self._agenda[0][0] if self._agenda else None

    def _next(self) -> float | None:
        times = [self._agenda[0][0]] if self._agenda else []
        if (due := self._scheduler.next_decide_at) is not None:
            times.append(due)
        return min(times, default=None)

    def _schedule(self) -> None:
        """The driver: tells the engine what changed and carries its decisions out, until it has nothing to say."""
        for _ in range(_MOST_ROUNDS):
            unseen, self._unseen = self._unseen, []
            self.history.extend(Happened(self.now, change) for change in unseen)
            self._scheduler.apply(unseen)
            for decision in self._scheduler.decide(self.now):
                self.history.append(Happened(self.now, decision))
                self._carry_out(decision)
            due = self._scheduler.next_decide_at
            if not self._unseen and (due is None or due > self.now):
                return
        raise RuntimeError(f"the scheduler does not come to rest at {stamp(self.now)}: {self.history[-1].what}")

    # --- what users and controllers do ---

    def put_node(self, node: Node) -> None:
        self.nodes[node.metadata.name] = node
        self._tell(NodeSeen(node))

    def remove_node(self, name: str) -> None:
        """The node goes, and with it, as the pod garbage collector sees to it, the pods bound to it."""
        if self.nodes.pop(name, None) is None:
            raise ObjectError(f'nodes "{name}" not found')
        self._tell(NodeGone(name))
        for uid in [uid for uid, pod in self.pods.items() if pod.spec.node_name == name]:
            self.delete_pod(uid)

    def put_priority_class(self, priority_class: PriorityClass) -> None:
        self.priority_classes[priority_class.metadata.name] = priority_class

    def create_group(self, group: PodGroup) -> str:
        """Stores a new group as the API server would; returns its key."""
        spec = group.spec
        priority = self._priority(spec.priority, spec.priority_class_name)
        group = replace(group, metadata=self._admitted(group.metadata), spec=replace(spec, priority=priority))
        key = _key(group.metadata)
        if key in self.groups:
            raise ObjectError(f'podgroups "{group.metadata.name}" already exists')
        self.groups[key] = group
        self._tell(GroupSeen(group))
        return key

    def change_group(self, group: PodGroup) -> None:
        """Replaces an existing group's spec or status."""
        self.groups[_key(group.metadata)] = group
        self._tell(GroupSeen(group))

    def delete_group(self, key: str) -> None:
        if self.groups.pop(key, None) is not None:
            self._tell(GroupGone(key))

    def create_pod(self, pod: Pod) -> str:
        """Stores a new pod as the API server would; returns its UID."""
        spec = pod.spec
        priority = self._priority(spec.priority, spec.priority_class_name)
        pod = replace(pod, metadata=self._admitted(pod.metadata), spec=replace(spec, priority=priority))
        if _key(pod.metadata) in self._uids:
            raise ObjectError(f'pods "{pod.metadata.name}" already exists')
        self._put_pod(pod)
        if pod.spec.node_name:
            self._start(pod)
        return pod.metadata.uid

    def change_pod(self, pod: Pod) -> None:
        self._put_pod(pod)

    def delete_pod(self, uid: str) -> None:
        pod = self.pods.pop(uid, None)
        if pod is not None:
            del self._uids[_key(pod.metadata)]
            self._tell(PodGone(uid))

    def find_pod(self, key: str) -> Pod | None:
        """The pod of that namespace/name."""
        uid = self._uids.get(key)
        return None if uid is None else self.pods[uid]

    # --- the scheduler's life ---

    def restart(self) -> None:
        """The scheduler dies between two instants; a new one knows only what the objects say.

        Binds in flight have reached the API server or never will, before the new one reads.
        """
        for placement in list(self.in_flight.values()):
            if self.faults.survives_restart(placement):
                self._land(placement)
        self.in_flight.clear()
        self._life += 1
        self.history.extend(Happened(self.now, change) for change in self._unseen)
        objects: list[Change] = [NodeSeen(node) for node in self.nodes.values()]
        objects += [GroupSeen(group) for group in self.groups.values()]
        objects += [PodSeen(pod) for pod in self.pods.values()]
        self._unseen = self.faults.relist(objects)
        self.engine = self._make_engine()
        self._scheduler = self._through(self.engine)

    # --- carrying decisions out ---

    def _carry_out(self, decision: Decision) -> None:
        if isinstance(decision, Bind):
            for placement in decision.pods:
                self._send(placement)
        elif isinstance(decision, Release | Evict):
            for ref in decision.pods:
                self.delete_pod(ref.uid)
        elif isinstance(decision, PodCondition):
            for ref in decision.pods:
                self._write_pod_condition(ref.uid, decision)
        elif isinstance(decision, GangCondition):
            self._write_gang_condition(decision)
        else:
            assert isinstance(decision, Event | Lost)

    def _send(self, placement: Placement) -> None:
        fate = self.faults.bind(placement, self.now)
        self.in_flight[placement.uid] = placement
        life = self._life

        def answer() -> None:
            if life != self._life:
                return  # asked by a scheduler that is dead; `restart` has settled it
            del self.in_flight[placement.uid]
            if placement.uid not in self.pods:
                self._tell(_failed(placement, Failure.POD_GONE))
            else:
                self._answer(placement, fate)

        if fate.delay_seconds > 0:
            self.at(self.now + fate.delay_seconds, answer)
        else:
            answer()

    def _answer(self, placement: Placement, fate: BindFate) -> None:
        answer: Change
        if fate.failure is not None:
            answer = _failed(placement, fate.failure)
        else:
            answer = Bound(placement.uid, placement.node, self.now)
        first = self.faults.answers_first(placement)
        if first:
            self._tell(answer)
        if fate.failure is None or fate.landed:
            self._land(placement)
        if not first:
            self._tell(answer)

    def _land(self, placement: Placement) -> None:
        """The API server stores the bind, whether or not the node still exists."""
        pod = self.pods.get(placement.uid)
        if pod is None or pod.spec.node_name:
            return
        scheduled = Condition(type="PodScheduled", status="True", last_transition_time=stamp(self.now))
        pod = _with_condition(pod, scheduled)
        pod = replace(pod, spec=replace(pod.spec, node_name=placement.node))
        self._put_pod(pod)
        if placement.node in self.nodes:
            self._start(pod)
        else:
            self.delete_pod(placement.uid)

    def _write_pod_condition(self, uid: str, decision: PodCondition) -> None:
        pod = self.pods.get(uid)
        if pod is not None and not pod.spec.node_name:
            self._put_pod(
                _with_condition(
                    pod,
                    Condition(
                        type="PodScheduled",
                        status="False",
                        reason=decision.reason,
                        message=decision.message,
                        last_transition_time=stamp(self.now),
                    ),
                )
            )

    def _write_gang_condition(self, decision: GangCondition) -> None:
        group = self.groups.get(decision.gang)
        if group is not None:
            written = dialect_of(group).condition(
                decision.aspect, holds=decision.holds, reason=decision.reason, message=decision.message
            )
            written = replace(written, last_transition_time=stamp(self.now))
            kept = tuple(c for c in group.status.conditions if c.type != written.type)
            self.change_group(replace(group, status=replace(group.status, conditions=(*kept, written))))

    # --- kubelets ---

    def _start(self, pod: Pod) -> None:
        """The pod runs, and ends by itself if it says after how many seconds."""
        self._put_pod(replace(pod, status=replace(pod.status, phase="Running")))
        seconds = pod.metadata.annotations.get(RUN_SECONDS)
        if seconds is not None:
            self.at(self.now + float(seconds), lambda: self._end(pod.metadata.uid))

    def _end(self, uid: str) -> None:
        pod = self.pods.get(uid)
        if pod is not None and pod.status.phase == "Running":
            failed = pod.metadata.annotations.get(EXIT_CODE, "0") != "0"
            self._put_pod(replace(pod, status=replace(pod.status, phase=_ENDED[failed])))

    # --- storing ---

    def _put_pod(self, pod: Pod) -> None:
        self.pods[pod.metadata.uid] = pod
        self._uids[_key(pod.metadata)] = pod.metadata.uid
        self._tell(PodSeen(pod))

    def _tell(self, change: Change) -> None:
        self._unseen.append(change)

    def _admitted(self, meta: Metadata) -> Metadata:
        """Metadata as the API server completes it; UIDs follow the order of creation."""
        number = self._number()
        return replace(
            meta,
            namespace=meta.namespace or "default",
            uid=meta.uid or f"{number:08d}-{meta.name}",
            creation_timestamp=meta.creation_timestamp or stamp(self.now),
        )

    def _priority(self, priority: int | None, class_name: str) -> int:
        """What the Priority admission plugin resolves."""
        if class_name:
            if class_name not in self.priority_classes:
                raise ObjectError(f"no PriorityClass with name {class_name} was found")
            return self.priority_classes[class_name].value
        if priority is not None:
            return priority
        return next((c.value for c in self.priority_classes.values() if c.global_default), 0)

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers


def _key(meta: Metadata) -> str:
    return f"{meta.namespace}/{meta.name}"


def _failed(placement: Placement, failure: Failure) -> BindFailed:
    return BindFailed(placement.uid, placement.node, failure, f"bind failed: {failure}")


def _with_condition(pod: Pod, condition: Condition) -> Pod:
    kept = tuple(c for c in pod.status.conditions if c.type != condition.type)
    return replace(pod, status=replace(pod.status, conditions=(*kept, condition)))
