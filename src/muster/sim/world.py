"""A cluster in virtual time: the objects an API server would keep, kubelets, and the scheduler's driver.

The world owns the truth.  The engine sees it only through changes, and acts on it only through decisions
that the world carries out, at once or as late and as badly as `Faults` say.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import repeat
from typing import NamedTuple, Protocol, TypeVar

from msgspec.structs import replace

from muster.api.times import stamp
from muster.api.wire import (
    Condition,
    Metadata,
    Node,
    Pod,
    PodDisruptionBudget,
    PodGroup,
    PodGroupSpec,
    PodSpec,
    PriorityClass,
    condition,
)
from muster.base.errors import ObjectError
from muster.engine.changes import (
    BindFailed,
    Bound,
    BudgetGone,
    BudgetSeen,
    Change,
    Failure,
    GroupGone,
    GroupRead,
    GroupSeen,
    NodeGone,
    NodeSeen,
    PodGone,
    PodSeen,
    Spared,
)
from muster.engine.decisions import (
    Bind,
    CallOff,
    Decision,
    Event,
    Evict,
    GangCondition,
    Lost,
    MarkStarted,
    Placement,
    PodCondition,
    Release,
    Reread,
)
from muster.engine.engine import Engine
from muster.gangs.dialects import dialect_of
from muster.gangs.record import BOUND_FOR, STARTED, BoundFor
from muster.sim.kubelets import Kubelets
from muster.sim.plain import ENDED, unit_of

RUN_SECONDS = "muster.dev/run-seconds"
EXIT_CODE = "muster.dev/exit-code"
STOP_SECONDS = "muster.dev/stop-seconds"

# The pod garbage collector takes 40 s or more to take a pod that was bound to a node that is not there; long enough
# for it to be seen bound is all that matters here
ORPHAN_SECONDS = 1.0

# what the API server itself says of such a pod
_GATED = Condition(
    type="PodScheduled",
    status="False",
    reason="SchedulingGated",
    message="Scheduling is blocked due to non-empty scheduling gates",
)
_DEFAULT_GRACE_SECONDS = 30

_Answer = Bound | BindFailed | Spared | GroupRead
_Spec = TypeVar("_Spec", PodSpec, PodGroupSpec)

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

    def evict(self, decision: Evict) -> float:
        """For how many seconds an eviction waits until it is written for whom it is."""
        return 0.0

    def calls_off(self, decision: CallOff) -> bool:
        """Whether evictions can be called off that have not arrived; else they are on their way."""
        return True

    def group_lag(self, key: str) -> float:
        """For how many seconds nobody is told of a change of a group that is made now."""
        return 0.0

    def reread(self, decision: Reread) -> float:
        """How many seconds it takes to read a group again."""
        return 0.0

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


class Seat:
    """A scheduler at work, and what it has not been told yet."""

    def __init__(self, scheduler: Scheduler, unseen: list[Change]) -> None:
        self.scheduler = scheduler
        self.unseen = unseen
        self.evicting: dict[str, Evict] = {}
        """By UID: evictions of its that wait."""

    def rests(self, now: float) -> bool:
        due = self.scheduler.next_decide_at
        return not self.unseen and (due is None or due > now)


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
        self._seats = [Seat(through(self.engine), [])]
        """The scheduler, then those beside it."""
        self._acting = self._seats[0]
        """Whose decisions are carried out."""
        self.now = start
        self.faults = faults or Faults()
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, Pod] = {}
        """By UID."""
        self._uids: dict[str, str] = {}
        """By namespace/name."""
        self.groups: dict[str, PodGroup] = {}
        """By namespace/name."""
        self.groups_told: dict[str, PodGroup] = {}
        """As schedulers know them: without changes that they have not been told of, but with what is said on them."""
        self.group_versions: Counter[str] = Counter()
        """By namespace/name: how often the group came, changed or went..."""
        self.versions_told: Counter[str] = Counter()
        """...and how much of that the schedulers know."""
        self.born_under: dict[str, tuple[int, PodGroup | None]] = {}
        """By UID of a pod: its group, and that one's version, when it was created."""
        self.budgets: dict[str, PodDisruptionBudget] = {}
        """By namespace/name."""
        self.priority_classes: dict[str, PriorityClass] = {}
        self.history: list[Happened] = []
        self.in_flight: dict[str, Placement] = {}
        """Binds sent and not yet answered, by pod UID."""
        self._asked: dict[str, Seat] = {}
        """Who sent them, by pod UID."""
        self._leaving: set[str] = set()
        """UIDs of pods that kubelets are stopping."""
        self._kubelets = Kubelets()
        self._agenda: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = 0

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
            for action in self._due():
                action()
        self.now = max(self.now, until)

    def run_until_quiet(self, limit: float) -> None:
        """Lets time pass until nothing is left to happen, or until `limit`."""
        self._schedule()
        while (upcoming := self._next()) is not None and upcoming <= limit:
            self.run(upcoming)

    def _due(self) -> list[Callable[[], None]]:
        """What is to be done now; what that leads to at once comes after the scheduler has looked."""
        due = []
        while self._agenda and self._agenda[0][0] <= self.now:
            due.append(heapq.heappop(self._agenda)[2])
        return due

    @property
    def next_event(self) -> float | None:
        """When the next thing happens that is not the scheduler's own idea; None if nothing is planned."""
        return self._agenda[0][0] if self._agenda else None

    def _next(self) -> float | None:
        times = [self._agenda[0][0]] if self._agenda else []
        times += [due for seat in self._seats if (due := seat.scheduler.next_decide_at) is not None]
        return min(times, default=None)

    def _schedule(self) -> None:
        """The drivers: schedulers take turns until none of them has anything to say."""
        for number in range(_MOST_ROUNDS):
            for seat in self._seats:
                if number == 0 or not seat.rests(self.now):
                    self._turn(seat)
            if all(seat.rests(self.now) for seat in self._seats):
                return
        raise RuntimeError(f"the scheduler does not come to rest at {stamp(self.now)}: {self.history[-1].what}")

    def _turn(self, seat: Seat) -> None:
        """Tells one scheduler what changed and carries its decisions out."""
        unseen, seat.unseen = seat.unseen, []
        first = seat is self._seats[0]
        # what all of them are told happened once; an answer is told to one alone
        self.history += [Happened(self.now, change) for change in unseen if first or isinstance(change, _Answer)]
        seat.scheduler.apply(unseen)
        self._acting = seat
        for decision in seat.scheduler.decide(self.now):
            self.history.append(Happened(self.now, decision))
            self._carry_out(decision)

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
            self._remove_pod(uid)

    def put_priority_class(self, priority_class: PriorityClass) -> None:
        self.priority_classes[priority_class.metadata.name] = priority_class

    def put_budget(self, budget: PodDisruptionBudget) -> str:
        """Stores a budget, new or changed, and returns its key; nobody but the caller counts its disruptions."""
        key = _key(replace(budget.metadata, namespace=budget.metadata.namespace or "default"))
        known = self.budgets.get(key)
        metadata = self._admitted(budget.metadata) if known is None else known.metadata
        self.budgets[key] = replace(budget, metadata=metadata)
        self._tell(BudgetSeen(self.budgets[key]))
        return key

    def delete_budget(self, key: str) -> None:
        if self.budgets.pop(key, None) is not None:
            self._tell(BudgetGone(key))

    def create_group(self, group: PodGroup, *, custom: bool = False) -> str:
        """Stores a new group as the API server would; returns its key.

        A custom one has no priority if it names none: Kubernetes fills in that of its own groups alone.
        """
        spec = group.spec if custom else self._prioritised(group.spec)
        group = replace(group, metadata=self._admitted(group.metadata), spec=spec)
        key = _key(group.metadata)
        if key in self.groups:
            raise ObjectError(f'podgroups "{group.metadata.name}" already exists')
        self.groups[key] = group
        self._tell_group(key)
        return key

    def change_group(self, group: PodGroup) -> None:
        """Replaces an existing group's spec or metadata; its status stays."""
        key = _key(group.metadata)
        self.groups[key] = replace(group, status=self.groups[key].status)
        self._tell_group(key, late=self.faults.group_lag(key))

    def delete_group(self, key: str) -> None:
        if self.groups.pop(key, None) is not None:
            self._tell_group(key)

    def _tell_group(self, key: str, *, late: float = 0.0) -> None:
        """What became of the group now; who has been told something newer by then is not told any more."""
        self.group_versions[key] += 1
        version, group = self.group_versions[key], self.groups.get(key)

        def tell() -> None:
            if self.versions_told[key] >= version:
                return
            self.versions_told[key] = version
            if group is None:
                self.groups_told.pop(key, None)
                self._tell(GroupGone(key))
            else:
                # what schedulers write themselves they know
                self.groups_told[key] = replace(group, status=self.groups[key].status)
                self._tell(GroupSeen(self.groups_told[key]))

        if late > 0:
            self.at(self.now + late, tell)
        else:
            tell()

    def create_pod(self, pod: Pod) -> str:
        """Stores a new pod as the API server would; returns its UID."""
        pod = replace(pod, metadata=self._admitted(pod.metadata), spec=self._prioritised(pod.spec))
        if _key(pod.metadata) in self._uids:
            raise ObjectError(f'pods "{pod.metadata.name}" already exists')
        if pod.spec.scheduling_gates:
            pod = _with_condition(pod, replace(_GATED, last_transition_time=stamp(self.now)))
        unit = unit_of(pod)
        self.born_under[pod.metadata.uid] = self.group_versions[unit], self.groups.get(unit)
        self._put_pod(pod)
        if pod.spec.node_name:
            self._arrive(pod)
        return pod.metadata.uid

    def change_pod(self, pod: Pod) -> None:
        self._put_pod(pod)

    def delete_pod(self, uid: str) -> None:
        """A pod that runs is told to stop, and goes when it has; others go at once.  Once is enough."""
        pod = self.pods.get(uid)
        if pod is None or uid in self._leaving:
            return
        meta, grace = pod.metadata, grace_seconds(pod)
        stops = pod.spec.node_name and pod.status.phase not in ENDED and meta.deletion_timestamp is None
        if not stops or not grace:
            self._remove_pod(uid)
            return
        self._leaving.add(uid)
        self._put_pod(replace(pod, metadata=replace(meta, deletion_timestamp=stamp(self.now + grace))))
        if seconds := stop_seconds(pod):
            self.at(self.now + seconds, lambda: self._remove_pod(uid))
        else:
            self._remove_pod(uid)

    def end_pod(self, uid: str, *, failed: bool, reason: str = "") -> None:
        """A pod that runs comes to its end; nothing happens to others."""
        pod = self.pods.get(uid)
        if pod is None or pod.status.phase != "Running":
            return
        self._put_pod(replace(pod, status=replace(pod.status, phase=ENDED[failed], reason=reason)))
        if uid in self._leaving:
            self._remove_pod(uid)

    def find_pod(self, key: str) -> Pod | None:
        """The pod of that namespace/name."""
        uid = self._uids.get(key)
        return None if uid is None else self.pods[uid]

    # --- the scheduler's life ---

    def beside(self, engine: Callable[[], Engine]) -> Engine:
        """Puts another scheduler on the same nodes, for good; returns it.  It is told what all are told."""
        made = engine()
        self._seats.append(Seat(made, self.objects()))
        return made

    def restart(self) -> None:
        """The scheduler dies between two instants; a new one knows only what the objects say.

        Its binds in flight have reached the API server or never will, before the new one reads.  Those beside it
        live on.
        """
        before = self._seats[0]
        for uid in [uid for uid, seat in self._asked.items() if seat is before]:
            placement = self.in_flight.pop(uid)
            del self._asked[uid]
            if self.faults.survives_restart(placement):
                self._land(placement.uid, placement.node, placement.bound_for)
        self.history += [Happened(self.now, change) for change in before.unseen]
        for key in [key for key, version in self.group_versions.items() if version > self.versions_told[key]]:
            # the new one lists them
            self._catch_up(key)
        self.engine = self._make_engine()
        self._seats[0] = Seat(self._through(self.engine), self.faults.relist(self.objects()))

    def objects(self) -> list[Change]:
        """What a scheduler reads first."""
        objects: list[Change] = [NodeSeen(node) for node in self.nodes.values()]
        objects += [GroupSeen(group) for group in self.groups.values()]
        objects += [BudgetSeen(budget) for budget in self.budgets.values()]
        objects += [PodSeen(pod) for pod in self.pods.values()]
        return objects

    # --- carrying decisions out ---

    def _carry_out(self, decision: Decision) -> None:
        if isinstance(decision, Bind):
            for placement in decision.pods:
                self._send(placement)
        elif isinstance(decision, Release):
            for ref in decision.pods:
                self._disrupt(ref.uid, decision)
        elif isinstance(decision, Evict):
            self._evict(decision)
        elif isinstance(decision, CallOff):
            self._call_off(decision)
        elif isinstance(decision, PodCondition):
            for ref, node in zip(decision.pods, decision.nominated or repeat(""), strict=False):
                self._write_pod_condition(ref.uid, decision, nominated=node)
        elif isinstance(decision, GangCondition):
            self._write_gang_condition(decision)
        elif isinstance(decision, MarkStarted):
            self._mark_started(decision)
        elif isinstance(decision, Reread):
            self._reread(decision)
        else:
            assert isinstance(decision, Event | Lost)

    def _send(self, placement: Placement) -> None:
        fate = self.faults.bind(placement, self.now)
        self.in_flight[placement.uid] = placement
        self._asked[placement.uid] = seat = self._acting

        def answer() -> None:
            if seat not in self._seats:
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
            self._land(placement.uid, placement.node, placement.bound_for)
        if not first:
            self._tell(answer)

    def _land(self, uid: str, node: str, record: BoundFor | None) -> None:
        """The API server stores the bind, whether or not the node still exists, and what comes with it."""
        pod = self.pods.get(uid)
        if pod is None or pod.spec.node_name:
            return
        scheduled = Condition(type="PodScheduled", status="True", last_transition_time=stamp(self.now))
        pod = _with_condition(pod, scheduled)
        status = replace(pod.status, nominated_node_name="")
        noted = {} if record is None else {BOUND_FOR: record.text}
        meta = replace(pod.metadata, annotations={**pod.metadata.annotations, **noted})
        pod = replace(pod, metadata=meta, spec=replace(pod.spec, node_name=node), status=status)
        self._put_pod(pod)
        self._arrive(pod)

    def _evict(self, decision: Evict) -> None:
        seat, delay = self._acting, self.faults.evict(decision)
        for ref in decision.pods:
            seat.evicting[ref.uid] = decision
        if delay > 0:
            self.at(self.now + delay, lambda: self._nominations_stand(seat, decision))
        else:
            self._let_go(seat, decision)

    def _nominations_stand(self, seat: Seat, decision: Evict) -> None:
        if seat in self._seats and seat.unseen:
            # who is told of this instant first may still call it off
            self.at(self.now, lambda: self._nominations_stand(seat, decision))
        elif seat in self._seats:
            self._let_go(seat, decision)

    def _let_go(self, seat: Seat, decision: Evict) -> None:
        """Deletes those who still wait for this eviction, and not for one that took its place."""
        for ref in decision.pods:
            if seat.evicting.get(ref.uid) is decision:
                del seat.evicting[ref.uid]
                self._disrupt(ref.uid, decision)

    def _call_off(self, decision: CallOff) -> None:
        """All of the pods are spared, or none."""
        seat, uids = self._acting, tuple(ref.uid for ref in decision.pods)
        if all(uid in seat.evicting for uid in uids) and self.faults.calls_off(decision):
            for uid in uids:
                del seat.evicting[uid]
            self._spare(seat, Spared(uids))

    def _spare(self, seat: Seat, change: Spared) -> None:
        seat.unseen.append(change)

    def _disrupt(self, uid: str, decision: Release | Evict) -> None:
        """Says on the pod why it goes, then deletes it."""
        pod = self.pods.get(uid)
        if pod is not None:
            self._put_pod(_with_condition(pod, _target(decision, self.now)))
            self.delete_pod(uid)

    def _write_pod_condition(self, uid: str, decision: PodCondition, *, nominated: str) -> None:
        pod = self.pods.get(uid)
        if pod is None or pod.spec.node_name:
            return
        said = Condition(type="PodScheduled", status="False", reason=decision.reason, message=decision.message)
        before = condition(pod.status.conditions, said.type)
        since = before.last_transition_time if before is not None and not decision.transition else stamp(self.now)
        pod = _with_condition(pod, replace(said, last_transition_time=since))
        self._put_pod(replace(pod, status=replace(pod.status, nominated_node_name=nominated)))

    def _mark_started(self, decision: MarkStarted) -> None:
        for pod in [self.pods[ref.uid] for ref in decision.pods if ref.uid in self.pods]:
            meta = replace(pod.metadata, annotations={**pod.metadata.annotations, STARTED: decision.gang})
            self._put_pod(replace(pod, metadata=meta))

    def _write_gang_condition(self, decision: GangCondition) -> None:
        group = self.groups.get(decision.gang)
        if group is not None and decision.uid in ("", group.metadata.uid):
            written = dialect_of(group).condition(
                decision.aspect, holds=decision.holds, reason=decision.reason, message=decision.message
            )
            before = condition(group.status.conditions, written.type)
            same = before is not None and before.status == written.status
            since = before.last_transition_time if before is not None and same else stamp(self.now)
            written = replace(written, last_transition_time=since)
            kept = tuple(c for c in group.status.conditions if c.type != written.type)
            status = replace(group.status, conditions=(*kept, written))
            self.groups[decision.gang] = replace(group, status=status)
            if (told := self.groups_told.get(decision.gang)) is not None:
                self.groups_told[decision.gang] = replace(told, status=status)
                self._tell(GroupSeen(self.groups_told[decision.gang]))

    def _reread(self, decision: Reread) -> None:
        seat, delay = self._acting, self.faults.reread(decision)

        def answer() -> None:
            if seat in self._seats:
                self._catch_up(decision.gang)
                self._read(seat, GroupRead(decision.gang, decision.number, self.groups.get(decision.gang)))

        if delay > 0:
            self.at(self.now + delay, answer)
        else:
            answer()

    def _read(self, seat: Seat, change: GroupRead) -> None:
        seat.unseen.append(change)

    def _catch_up(self, key: str) -> None:
        """All are told what there is to know of the group; one of them has read it, and knows it ahead of the watch."""
        if self.versions_told[key] < self.group_versions[key]:
            self._tell_group(key)

    # --- kubelets ---

    def _arrive(self, pod: Pod) -> None:
        """The pod has a node: its kubelet takes it in, or if there is none the garbage collector does."""
        if pod.spec.node_name in self.nodes:
            self._start(pod)
        else:
            self.at(self.now + ORPHAN_SECONDS, lambda: self._collect(pod.metadata.uid))

    def _collect(self, uid: str) -> None:
        pod = self.pods.get(uid)
        if pod is not None and pod.spec.node_name not in self.nodes:
            self._remove_pod(uid)
        elif pod is not None and pod.status.phase == "Pending":
            self._start(pod)

    def _start(self, pod: Pod) -> None:
        """The pod runs, and ends by itself if it says after how many seconds; unless the kubelet refuses it."""
        uid = pod.metadata.uid
        refusal = self._kubelets.take_in(pod, self.nodes[pod.spec.node_name])
        if refusal:
            # everybody has seen it bound by then
            self.at(self.now, lambda: self._report(uid, "Failed", reason=refusal))
            return
        self._report(uid, "Running")
        seconds = pod.metadata.annotations.get(RUN_SECONDS)
        if seconds is not None:
            self.at(self.now + float(seconds), lambda: self._end(uid))

    def _report(self, uid: str, phase: str, *, reason: str = "") -> None:
        pod = self.pods.get(uid)
        if pod is not None:
            status = replace(pod.status, phase=phase, reason=reason, start_time=stamp(self.now))
            self._put_pod(replace(pod, status=status))

    def _end(self, uid: str) -> None:
        pod = self.pods.get(uid)
        if pod is not None:
            self.end_pod(uid, failed=pod.metadata.annotations.get(EXIT_CODE, "0") != "0")

    # --- storing ---

    def _put_pod(self, pod: Pod) -> None:
        self.pods[pod.metadata.uid] = pod
        self._uids[_key(pod.metadata)] = pod.metadata.uid
        if pod.status.phase in ENDED:
            self._kubelets.let_go(pod.metadata.uid)
        else:
            self._kubelets.changed(pod)
        self._tell(PodSeen(pod))

    def _remove_pod(self, uid: str) -> None:
        pod = self.pods.pop(uid, None)
        if pod is not None:
            del self._uids[_key(pod.metadata)]
            self._leaving.discard(uid)
            self._kubelets.let_go(uid)
            self._tell(PodGone(uid))

    def _tell(self, change: Change) -> None:
        told = [self._asked.pop(change.uid)] if isinstance(change, Bound | BindFailed) else self._seats
        for seat in told:
            seat.unseen.append(change)

    def _admitted(self, meta: Metadata) -> Metadata:
        """Metadata as the API server completes it; UIDs follow the order of creation."""
        number = self._number()
        return replace(
            meta,
            namespace=meta.namespace or "default",
            uid=meta.uid or f"{number:08d}-{meta.name}",
            creation_timestamp=meta.creation_timestamp or stamp(self.now),
        )

    def _prioritised(self, spec: _Spec) -> _Spec:
        """What the Priority admission plugin makes of it."""
        classes, name = self.priority_classes, spec.priority_class_name
        if name and name not in classes:
            raise ObjectError(f"no PriorityClass with name {name} was found")
        if not name and spec.priority is not None:
            return spec
        found = classes.get(name) or next((c for c in classes.values() if c.global_default), None)
        if found is None:
            return replace(spec, priority=0)
        return replace(spec, priority=found.value, preemption_policy=found.preemption_policy or spec.preemption_policy)

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers


def _key(meta: Metadata) -> str:
    return f"{meta.namespace}/{meta.name}"


def _failed(placement: Placement, failure: Failure) -> BindFailed:
    return BindFailed(placement.uid, placement.node, failure, f"bind failed: {failure}")


def _target(decision: Release | Evict, now: float) -> Condition:
    return Condition(
        type="DisruptionTarget",
        status="True",
        reason=decision.reason,
        message=decision.message,
        last_transition_time=stamp(now),
    )


def grace_seconds(pod: Pod) -> int:
    """How long a pod may take to stop."""
    asked = pod.spec.termination_grace_period_seconds
    return _DEFAULT_GRACE_SECONDS if asked is None else asked


def stop_seconds(pod: Pod) -> float:
    """How long a pod takes to stop when it is told to; 0 if it has nothing to stop."""
    if not pod.spec.node_name or pod.status.phase in ENDED:
        return 0.0
    return min(float(pod.metadata.annotations.get(STOP_SECONDS, "0")), grace_seconds(pod))


def _with_condition(pod: Pod, condition: Condition) -> Pod:
    kept = tuple(c for c in pod.status.conditions if c.type != condition.type)
    return replace(pod, status=replace(pod.status, conditions=(*kept, condition)))
