"""A cluster in virtual time: its objects, and the driver that carries a scheduler's decisions out.

The world owns the truth.  The engine sees it only through changes, and acts on it only through decisions
that the world carries out, at once or as late and as badly as `Faults` say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any, NamedTuple, Protocol

from msgspec.structs import replace

from muster.api.times import stamp
from muster.api.wire import Condition, Pod, condition
from muster.engine.changes import (
    Answered,
    BindFailed,
    Bound,
    Change,
    Failure,
    GrantFailed,
    GroupRead,
    GroupSeen,
    Spared,
)
from muster.engine.decisions import (
    Bind,
    CallOff,
    Consult,
    Decision,
    Event,
    Evict,
    GangCondition,
    Lost,
    MarkStarted,
    Placement,
    PodCondition,
    Prepare,
    Release,
    Reread,
    TakeBack,
    TellBound,
    Withdraw,
)
from muster.engine.engine import Engine
from muster.framework.grants import Allocate
from muster.gangs.dialects.v1beta1 import keeps_its_time, says
from muster.gangs.record import STARTED
from muster.sim.devices import Devices
from muster.sim.faults import BindFate, Faults
from muster.sim.objects import Objects, with_condition
from muster.sim.plain import ENDED
from muster.sim.volumes import Volumes

_Answer = Bound | BindFailed | GrantFailed | Answered | Spared | GroupRead

# Far more than the largest benchmark takes; a scheduler that is still not done goes round in circles.
_MOST_ROUNDS = 20_000


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


class World(Objects):
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
        super().__init__(start=start, faults=faults or Faults())
        self._make_engine = engine
        self._through = through
        self.engine = engine()
        self._seats = [Seat(through(self.engine), [])]
        """The scheduler, then those beside it."""
        self._acting = self._seats[0]
        """Whose decisions are carried out."""
        self.history: list[Happened] = []
        self.in_flight: dict[str, Placement] = {}
        """Binds sent and not yet answered, by pod UID."""
        self._asked: dict[str, Seat] = {}
        """Who sent them, by pod UID."""
        self._volumes = Volumes(self)
        self._devices = Devices(self)
        self._hands: dict[type[Decision], Callable[[Any], None]] = {
            Bind: self._bind,
            Prepare: self._prepare,
            TakeBack: self._take_back,
            Consult: self._consult,
            Release: self._release,
            Evict: self._evict,
            CallOff: self._call_off,
            PodCondition: self._say,
            GangCondition: self._write_gang_condition,
            MarkStarted: self._mark_started,
            Reread: self._reread,
        }

    # --- time ---

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

    def _next(self) -> float | None:
        times = [] if self.next_event is None else [self.next_event]
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

    # --- carrying decisions out ---

    def _carry_out(self, decision: Decision) -> None:
        hand = self._hands.get(type(decision))
        if hand is not None:
            hand(decision)
        else:
            assert isinstance(decision, Event | Lost | Withdraw | TellBound)

    def _bind(self, decision: Bind) -> None:
        for placement in decision.pods:
            self._send(placement)

    def _prepare(self, decision: Prepare) -> None:
        for grant in decision.grants:
            if why := self._devices.grant(grant) if isinstance(grant, Allocate) else self._volumes.grant(grant):
                self._acting.unseen.append(GrantFailed(grant, why))

    def _consult(self, decision: Consult) -> None:
        """Nobody outside is asked: everybody is permitted and prepared at once."""
        self._acting.unseen += [Answered(question) for question in decision.questions]

    def _take_back(self, decision: TakeBack) -> None:
        for grant in decision.grants:
            if isinstance(grant, Allocate):
                self._devices.take_back(grant)
            else:
                self._volumes.take_back(grant)

    def _release(self, decision: Release) -> None:
        for ref in decision.pods:
            self._disrupt(ref.uid, decision)

    def _say(self, decision: PodCondition) -> None:
        for ref, node in zip(decision.pods, decision.nominated or repeat(""), strict=False):
            self._write_pod_condition(ref.uid, decision, nominated=node)

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
            self._put_pod(with_condition(pod, _target(decision, self.now)))
            self.delete_pod(uid)

    def _write_pod_condition(self, uid: str, decision: PodCondition, *, nominated: str) -> None:
        pod = self.pods.get(uid)
        if pod is None or pod.spec.node_name:
            return
        said = Condition(type="PodScheduled", status="False", reason=decision.reason, message=decision.message)
        before = condition(pod.status.conditions, said.type)
        since = before.last_transition_time if before is not None and not decision.transition else stamp(self.now)
        pod = with_condition(pod, replace(said, last_transition_time=since))
        self._put_pod(replace(pod, status=replace(pod.status, nominated_node_name=nominated)))

    def _mark_started(self, decision: MarkStarted) -> None:
        for pod in [self.pods[ref.uid] for ref in decision.pods if ref.uid in self.pods]:
            meta = replace(pod.metadata, annotations={**pod.metadata.annotations, STARTED: decision.gang})
            self._put_pod(replace(pod, metadata=meta))

    def _write_gang_condition(self, decision: GangCondition) -> None:
        group = self.groups.get(decision.gang)
        if group is not None and decision.uid in ("", group.metadata.uid):
            written = says(decision.aspect, holds=decision.holds, reason=decision.reason, message=decision.message)
            before = condition(group.status.conditions, written.type)
            same = before is not None and keeps_its_time(before, written)
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

    def _put_pod(self, pod: Pod) -> None:
        super()._put_pod(pod)
        if pod.spec.resource_claims and pod.status.phase in ENDED:
            self._devices.pod_ended(pod.metadata.uid)

    def _remove_pod(self, uid: str) -> None:
        pod = self.pods.get(uid)
        super()._remove_pod(uid)
        if pod is not None and pod.spec.resource_claims:
            self._devices.pod_ended(uid)

    def _tell(self, change: Change) -> None:
        told = [self._asked.pop(change.uid)] if isinstance(change, Bound | BindFailed) else self._seats
        for seat in told:
            seat.unseen.append(change)


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
