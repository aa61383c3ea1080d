"""The engine: changes in, decisions out.

    engine.apply(changes)         cheap; nothing is decided
    engine.decide(now, budget)    decides unit by unit, best first, until none is ready or the budget is spent
    engine.next_decide_at         when there is something to decide even if nothing changes

No sockets, no clock, no chance: the same changes and the same times give the same decisions, in any process.
"""

from __future__ import annotations

from collections.abc import Iterable, ValuesView
from zlib import crc32

from muster.base.backoff import backoff_seconds
from muster.cluster.cluster import Cluster
from muster.cluster.gangs import GangState
from muster.cluster.pods import PodState, Stage
from muster.engine.audit import Attempt, Audit, Tally
from muster.engine.binding import DEADLINE, RETRY, Binding
from muster.engine.changes import Change
from muster.engine.deciding import Decider, Tried
from muster.engine.decisions import Decision
from muster.engine.intake import Intake, Noted
from muster.engine.queue import Order, Queue, Timer, Timers, Unit, Where
from muster.engine.status import Status
from muster.engine.verdicts import Outcome, Verdict
from muster.engine.waiting import Parked, WaitingRoom
from muster.framework.profile import Profile
from muster.framework.views import Views

# about 20 ms; see deciding.py for what counts as work
WORK = 20_000
_CHANGES_PER_DECIDE = 3_000
# looking at a gang takes as long as looking at so many pods
_CHANGES_PER_GANG = 5
_BOOKINGS_PER_DECIDE = 300_000

# a unit that waits is tried again after so long, to twice as long, even if nothing seems to help it: a safety net,
# and what it says of the room there is gets no older than this.  10,000 of them cost 5 % of the time
_FLUSH_SECONDS = 60.0
# members of a gang arrive in bursts: people are told of missing ones once it has been quiet for so long
_QUIET_SECONDS = 2.0

_UNIT = "unit"
_TELL = "tell"


class Engine:
    """One profile's scheduler for one cluster."""

    def __init__(self, profile: Profile) -> None:
        self.cluster = Cluster(states={plugin.name: plugin.new_state() for plugin in profile.stateful})
        self.audit = Audit()
        self.tally = Tally()
        self._profile = profile
        self._views = Views(profile, self.cluster.nodes)
        self._intake = Intake(self.cluster, profile)
        self._units: dict[str, Unit] = {}
        """Every unit that has something to decide or waits for it: by the gang's key or the lone pod's UID."""
        self._queue = Queue()
        self._timers = Timers()
        self._waiting = WaitingRoom(self._views, self.cluster.nodes)
        self._decisions: list[Decision] = []
        self._status = Status(self._decisions)
        self._decider = Decider(
            self.cluster,
            profile,
            self._views,
            status=self._status,
            audit=self.audit,
            decisions=self._decisions,
        )
        self._binding = Binding(self._intake, timers=self._timers, status=self._status, decisions=self._decisions)
        self._now = 0.0
        self._unbooked = 0
        self._settled = True

    def apply(self, changes: Iterable[Change]) -> None:
        """Takes changes in; `decide` acts on them."""
        self._intake.take(changes)

    def decide(self, now: float, budget: int = WORK) -> list[Decision]:
        """Decides what can be decided, best unit first; `budget` bounds the work, never cutting a unit short.

        `now` is in seconds since the epoch, by the clock that the API's timestamps come from.
        """
        self._now = now
        self._settled = self._settle()
        self._unbooked = self._waiting.notice(1 + _BOOKINGS_PER_DECIDE // (1 + len(self._waiting)))
        self._wake()
        # while some units are not where they belong, or may still wake, a worse one might be decided before them
        work = budget if self._settled and not self._unbooked else 0
        while work > 0:
            unit = self._queue.pop()
            if unit is None:
                if not self._wake():
                    break
                continue
            tried, untried = self._decider.decide(unit, self._queue.pop, now)
            work -= sum(map(self._file, tried))
            for left in untried:
                self._queue.push(left)
            if tried[-1].outcome is not Outcome.PLACED:
                self._wake()
        decisions = self._decisions.copy()
        self._decisions.clear()
        return decisions

    @property
    def next_decide_at(self) -> float | None:
        """When to call `decide` again if nothing changes: at once if work is left; None for not at all."""
        if len(self._queue) or self._unbooked or not self._settled:
            return self._now
        return self._timers.next

    @property
    def units(self) -> ValuesView[Unit]:
        """Every unit that has something to decide or waits for it; to be read, and before anything else is asked."""
        return self._units.values()

    # --- what changed ---

    def _settle(self) -> bool:
        """Puts units of which something changed where they belong; whether that is done for all of them."""
        noted = self._intake.noted
        self._status.unreadable(noted.unreadable)
        noted.unreadable.clear()
        # what became of binds must be known before a deadline or a retry looks at them
        self._handle_failures(noted)
        for timer in self._timers.due(self._now, most=_CHANGES_PER_DECIDE // _CHANGES_PER_GANG):
            self._ring(timer)
        left = _CHANGES_PER_DECIDE
        while left > 0:
            left -= 1
            if noted.bound:
                self._status.bound(*noted.bound.popleft())
            elif noted.pods:
                self._consider_pod(noted.pods.popleft())
            elif noted.gangs:
                left -= _CHANGES_PER_GANG
                self._consider_gang(noted.gangs.popitem(last=False)[0])
            else:
                self._tell_newcomers(noted)
                return True
        return False

    def _handle_failures(self, noted: Noted) -> None:
        failed, noted.failed = noted.failed, []
        rejected = [pod for pod, why in failed if self._binding.failed(pod, why, self._now)]
        # tried again at once for the first time, however many of a unit's binds were refused
        for key in dict.fromkeys(pod.gang or pod.uid for pod in rejected):
            unit = self._units.get(key)
            if unit is not None:
                unit.failures += 1
                unit.tried_at = self._now
                if unit.where is Where.READY:
                    self._enqueue(unit)

    def _consider_pod(self, pod: PodState) -> None:
        unit = self._units.get(pod.uid)
        if not pod.candidate:
            self._drop(pod.uid)
            return
        if unit is None:
            order = self._profile.order.key(priority=pod.priority, created=pod.created, uid=pod.uid)
            unit = Unit(pod.uid, None, pod, (1, *order), failures=pod.bind_failures, tried_at=self._now)
            self._units[pod.uid] = unit
        if pod.held is not None:
            self._hold(unit)
        elif unit.where is Where.HELD or unit.where is Where.NOWHERE:
            self._enqueue(unit)
        elif unit.where is Where.WAITING:
            parked = self._waiting.parked(pod.uid)
            if parked is not None and pod.pod_class not in parked.wants:
                self._waiting.leave(pod.uid)
                self._enqueue(unit)

    def _consider_gang(self, key: str) -> None:
        gang = self.cluster.gangs.get(key)
        if gang is None:
            self._drop(key)
            self._binding.forget(key)
            return
        self._binding.look_at(gang, self._now)
        unit = self._units.get(key)
        if unit is None or unit.gang is not gang:
            # new, or deleted and made again under its name
            self._drop(key)
            unit = self._units[key] = Unit(key, gang, None, self._order(gang))
        if not gang.candidates and not gang.binding:
            unit.failures = 0
        if self._profile.gang_rule.waits_for(gang) or (gang.gated and not gang.started):
            self._hold(unit)
            self._tell_when_quiet(unit)
        elif not gang.classes:
            self._waiting.leave(key)
            self._queue.move(unit, Where.NOWHERE)
        else:
            self._reconsider(unit, gang)

    def _tell_when_quiet(self, unit: Unit) -> None:
        """One timer is set however often the unit changes; it is set again if it rings too early."""
        unit.changed_at = self._now
        if not unit.to_be_told:
            unit.to_be_told = True
            self._timers.set(self._now + _QUIET_SECONDS, _TELL, key=unit.key)

    def _reconsider(self, unit: Unit, gang: GangState) -> None:
        """The gang may be decided: it is ready, unless it waits for something that has not changed."""
        order = self._order(gang)
        if unit.where is Where.WAITING:
            parked = self._waiting.parked(unit.key)
            assert parked is not None
            needed = sum(self._profile.gang_rule.shortfall(gang, {}).values()) or 1
            if needed >= parked.needed and unit.order == order and not _more_to_choose_from(gang, parked):
                return
            self._waiting.leave(unit.key)
        elif unit.where is Where.BACKOFF or (unit.where is Where.READY and unit.order == order):
            unit.order = order
            return
        unit.order = order
        self._enqueue(unit)

    def _tell_newcomers(self, noted: Noted) -> None:
        """Members that joined a gang that waits, and do not change that, learn why it does."""
        members, noted.members = noted.members, []
        by_gang: dict[str, list[PodState]] = {}
        for pod in members:
            unit = self._units.get(pod.gang or "")
            if unit is not None and unit.where is Where.WAITING and pod.candidate and pod.said is None:
                by_gang.setdefault(unit.key, []).append(pod)
        for key, pods in by_gang.items():
            gang = self.cluster.gangs[key]
            if gang.has_started:
                # what the group says is no reason any more: they get one of their own
                self._waiting.leave(key)
                self._enqueue(self._units[key])
            else:
                self._status.joined_waiting(gang, pods)

    def _order(self, gang: GangState) -> Order:
        created, uid = gang.age
        key = self._profile.order.key(priority=gang.priority, created=created, uid=uid)
        return (0 if gang.partial else 1, *key)

    # --- moving units ---

    def _enqueue(self, unit: Unit) -> None:
        """Ready now, or when its backoff is over."""
        if unit.failures > 1:
            size = len(unit.gang.candidates) if unit.gang else 1
            wait = self._profile.backoff
            ready_at = unit.tried_at + backoff_seconds(
                unit.failures - 1, size=size, initial=wait.initial, maximum=wait.maximum
            )
            if ready_at > self._now:
                self._queue.move(unit, Where.BACKOFF)
                self._timers.set(ready_at, _UNIT, key=unit.key, ticket=unit.ticket)
                return
        self._queue.push(unit)

    def _hold(self, unit: Unit) -> None:
        self._waiting.leave(unit.key)
        self._queue.move(unit, Where.HELD)

    def _drop(self, key: str) -> None:
        unit = self._units.pop(key, None)
        if unit is not None:
            self._waiting.leave(key)
            self._queue.move(unit, Where.NOWHERE)

    def _wake(self) -> bool:
        """Readies the units that freed room can help; whether there were any."""
        found = False
        while woken := self._waiting.offer():
            found = True
            for unit in woken:
                self._enqueue(unit)
            if all(unit.where is Where.READY for unit in woken):
                break
            # a unit that must still back off leaves the room to the next
        return found

    def _ring(self, timer: Timer) -> None:
        unit = self._units.get(timer.key)
        valid = unit is not None and unit.ticket == timer.ticket
        if timer.purpose == _UNIT and unit is not None and valid:
            self._waiting.leave(unit.key)
            self._queue.push(unit)
        elif timer.purpose == _TELL and unit is not None and unit.to_be_told:
            self._tell(unit)
        elif timer.purpose == RETRY:
            pod = self.cluster.pods.get(timer.key)
            if pod is not None and pod.stage is Stage.BINDING and pod.bind_failures == timer.ticket:
                self._binding.retry(pod, self.cluster)
        elif timer.purpose == DEADLINE:
            self._deadline(timer.key)

    def _tell(self, unit: Unit) -> None:
        """The gang is still held and has been quiet: people are told why."""
        unit.to_be_told = False
        if unit.where is not Where.HELD or unit.gang is None:
            return
        if unit.changed_at + _QUIET_SECONDS > self._now:
            unit.to_be_told = True
            self._timers.set(unit.changed_at + _QUIET_SECONDS, _TELL, key=unit.key)
        else:
            self._status.gang_held(unit.gang, self._profile.gang_rule.waits_for(unit.gang))

    def _deadline(self, key: str) -> None:
        gang = self.cluster.gangs.get(key)
        unit = self._units.get(key)
        # whoever looks at the gang next sets the timer again if it is still needed
        self._binding.forget(key)
        if unit is None or gang is None or gang.declared is None or not gang.partial:
            return
        if self._binding.deadline(gang, self._now) > self._now:
            self._intake.noted.gangs[key] = None
            return
        placed = gang.bound
        self._binding.release(gang)
        unit.failures += 2
        unit.tried_at = self._now
        verdict = Verdict(unit=key, outcome=Outcome.TIMED_OUT, placed=placed, needed=gang.declared.minimum)
        self.audit.record(Attempt(self._now, verdict))

    # --- deciding ---

    def _file(self, tried: Tried) -> int:
        """Puts a unit that was tried where it belongs; returns the work the attempt took."""
        unit = tried.unit
        unit.tried_at = self._now
        if tried.outcome is not Outcome.PLACED:
            self.tally.pods_refused += sum(tried.wants.values())
            self.tally.gangs_refused += unit.gang is not None
            unit.failures += tried.outcome is Outcome.NOT_FOUND
            self._queue.move(unit, Where.WAITING)
            self._waiting.park(unit, tried.wants, tried.needed)
            # spread by name, so that units refused together do not come back together
            spread = crc32(unit.key.encode()) / 2**32
            self._timers.set(self._now + _FLUSH_SECONDS * (1 + spread), _UNIT, key=unit.key, ticket=unit.ticket)
        elif unit.gang is None:
            del self._units[unit.key]
        else:
            self.tally.gangs_placed += 1
            if unit.gang.classes:
                # members that found no place are told why, in an attempt of their own
                self._queue.push(unit)
        return tried.work


def _more_to_choose_from(gang: GangState, parked: Parked) -> bool:
    """Whether members came that may fit although those tried before did not: others, or more of a mix."""
    if len(gang.classes) == len(parked.wants) == 1 and gang.classes.keys() == parked.wants.keys():
        (wanted,) = parked.wants.values()
        return wanted < parked.needed and sum(gang.classes.values()) > wanted
    return any(count > parked.wants.get(pod_class, 0) for pod_class, count in gang.classes.items())
