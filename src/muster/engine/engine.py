"""The engine: changes in, decisions out.

    engine.apply(changes)         cheap; nothing is decided
    engine.decide(now, budget)    decides unit by unit, best first, until none is ready or the budget is spent
    engine.next_decide_at         when there is something to decide even if nothing changes

No sockets, no clock, no chance: the same changes and the same times give the same decisions, in any process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, ValuesView
from typing import TypeVarTuple

from muster.api.asks import Ask
from muster.base.backoff import backoff_seconds
from muster.cluster.cluster import Cluster
from muster.cluster.efforts import Efforts
from muster.cluster.gangs import UNREAD, GangState
from muster.cluster.pods import PodState, Stage
from muster.engine.attending import Attending
from muster.engine.audit import Attempt, Audit, Tally
from muster.engine.binding import Binding
from muster.engine.changes import Change
from muster.engine.deciding import Decider, Tried
from muster.engine.decisions import Decision, Loss, Reread, TellBound
from muster.engine.intake import Intake
from muster.engine.life import Cause, Phase
from muster.engine.noted import Noted
from muster.engine.preparing import Preparing
from muster.engine.queue import SchedulingQueue
from muster.engine.reasons import SCHEDULER_ERROR, TIMEOUT
from muster.engine.start_timeouts import StartTimeouts
from muster.engine.status import Status
from muster.engine.supplies import Supplies
from muster.engine.timers import Purpose, Timer, Timers
from muster.engine.troubles import Troubles
from muster.engine.unit import GangUnit, Order, PodUnit, Unit
from muster.engine.verdicts import Outcome, Verdict, failure, stepped_back
from muster.engine.waiting import Parked
from muster.framework.profile import Profile, Profiles
from muster.framework.views import Views

# about 20 ms; see deciding.py for what counts as work
WORK = 20_000
_CHANGES_PER_DECIDE = 3_000
# a plugin that is asked node by node takes 1 to 3 µs for each
_WORK_PER_CALL = 2
# looking at a gang takes as long as looking at so many pods
_CHANGES_PER_GANG = 5

# longer than anything has waited
_ALWAYS = 4e9
# members of a gang arrive in bursts: people are told of missing ones once it has been quiet for so long
_QUIET_SECONDS = 2.0
# a gate whose answer may change with time is asked again after so long
_GATE_SECONDS = 5.0

# every pod passes these: `Phase.GONE` takes 70 ns in Python 3.11, this name 5
_GONE, _ASSEMBLING, _BACKING_OFF = Phase.GONE, Phase.ASSEMBLING, Phase.BACKING_OFF
_TRIED_AND_PLACED, _PLACED, _THINKING = Cause.PLACED, Outcome.PLACED, Outcome.THINKING

_What = TypeVarTuple("_What")


class Engine:
    """One scheduler for one cluster; pods of several scheduler names may be placed by a profile each."""

    def __init__(self, profile: Profile, *others: Profile) -> None:
        profiles = Profiles(profile, others)
        self.cluster = Cluster(
            states=profiles.new_states(),
            readers=profiles.readers,
            profiles=profiles.numbers,
            ignores=profiles.ignores,
        )
        self.audit = Audit()
        self.tally = Tally()
        self.troubles = Troubles()
        self._profile = profile
        self.profiles = profiles
        self._views = Views(profiles, self.cluster.nodes)
        self._supplies = Supplies(profiles, self.cluster.facts, self.cluster.nodes)
        self._attending = Attending(profiles)
        self._intake = Intake(self.cluster, profiles, self._supplies, self._attending)
        self._units: dict[str, Unit] = {}
        """Every unit that has something to decide or waits for it: by the gang's key or the lone pod's UID."""
        self._timers = Timers()
        self._unprepared: set[str] = set()
        """Units of which a member was placed just now and could not be given what it needs there."""
        self._looks: set[tuple[Purpose, str]] = set()
        """Timers that are set since a plugin failed with a unit or a pod: for what, and its key."""
        self._queue = SchedulingQueue(profile, self._views, self.cluster.nodes, self._timers)
        self._decisions: list[Decision] = []
        self._status = Status(self._decisions)
        self._preparing = Preparing(
            self.cluster,
            self._intake,
            self._supplies,
            self._attending,
            timers=self._timers,
            status=self._status,
            decisions=self._decisions,
            profiles=profiles,
            failed=self._not_prepared,
        )
        self._decider = Decider(
            self.cluster,
            profiles,
            self._views,
            intake=self._intake,
            status=self._status,
            audit=self.audit,
            tally=self.tally,
            troubles=self.troubles,
            decisions=self._decisions,
            unreserve=self._unreserve,
            preparing=self._preparing,
        )
        self._queue.ask_about_holds(self._decider.held_for_others, self._decider.starvation.is_held)
        self._binding = Binding(
            self.cluster, self._intake, timers=self._timers, status=self._status, decisions=self._decisions
        )
        self._start_timeouts = StartTimeouts(self._timers)
        self._now = 0.0
        self._unbooked = 0
        self._settled = True
        self._new = True
        """What was there when this scheduler came has not been looked at in full."""

    def apply(self, changes: Iterable[Change]) -> None:
        """Takes changes in; `decide` acts on them."""
        self._intake.take(changes)

    def decide(self, now: float, budget: int = WORK) -> list[Decision]:
        """Decides what can be decided, best unit first; `budget` bounds the work, never cutting a unit short.

        `now` is in seconds since the epoch, by the clock that the API's timestamps come from.
        """
        self._now = self._queue.now = now
        self.troubles.told.clear()
        if self._new:
            self._decider.starvation.begin()
        self._settled = self._settle()
        self._new = self._new and not self._settled
        self._unbooked = self._queue.notice()
        self._queue.offer_room()
        if self.cluster.eased:
            self.cluster.eased = False
            self._queue.ask_again()
        self._queue.wake_preemptors(self._could_make_room)
        # while some units are not where they belong, or may still wake, a worse one might be decided before them
        work = budget if self._settled and not self._unbooked else 0
        calls = self.profiles.calls
        while work > 0:
            unit = self._queue.pop()
            if unit is None:
                if not self._queue.offer_room():
                    break
                continue
            tried, untried = self._decider.decide(unit, self._queue.pop_along, now)
            done = sum(one.work for one in tried) + (self.profiles.calls - calls) * _WORK_PER_CALL
            calls = self.profiles.calls
            for one in tried:
                self._guard(one.unit.key, self._file, one)
            self._queue.spend(done)
            work -= done
            for left in untried:
                self._queue.push(left, Cause.PUT_BACK)
            if self.cluster.stirred:
                self._stir()
            if self._decider.eviction.gave_way:
                # who waits again goes before those of less priority
                self._decider.eviction.gave_way = False
                self._settled = self._settle()
                work = work if self._settled else 0
            if self.cluster.nodes.usage.freed or self._queue.company_changed:
                # deciding freed room, and it belongs to the best who waits for it
                self._unbooked = self._queue.notice()
                work = 0 if self._unbooked else work
                self._queue.offer_room()
            elif tried[-1].outcome is not _PLACED:
                self._queue.offer_room()
            self._tell_starving()
        self._queue.end_turn()
        self._decider.eviction.settle()
        self._take_back()
        usage = self.cluster.nodes.usage
        if usage.failures:
            self.troubles.counts[""] += usage.failures
            usage.failures = 0
        decisions = self._decisions.copy()
        self._decisions.clear()
        return decisions

    @property
    def next_decide_at(self) -> float | None:
        """When to call `decide` again if nothing changes: at once if work is left; None for not at all."""
        if self._queue.ready or self._queue.asking or self._unbooked or not self._settled or self.cluster.stirred:
            return self._now
        if self._queue.waiting and (self.cluster.nodes.usage.freed or self._queue.company_changed):
            # deciding freed room: a hold ended, or room was no longer reserved; or it placed those whom others look for
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
        self._hear(noted)
        self._decider.starvation.look_again()
        for timer in self._timers.due(self._now, most=_CHANGES_PER_DECIDE // _CHANGES_PER_GANG):
            known = self.cluster.pods.get(timer.key)
            key = timer.key if known is None else known.gang or known.uid
            self._guard(key, self._ring, timer)
        left = _CHANGES_PER_DECIDE
        while left > 0:
            left -= 1
            if noted.bound:
                self._bound(*noted.bound.popleft())
            elif noted.pods:
                pod, cause = noted.pods.popleft()
                self._guard(pod.uid, self._consider_pod, pod, cause)
            elif noted.gangs:
                left -= _CHANGES_PER_GANG
                key, cause = noted.gangs.popitem(last=False)
                self._guard(key, self._consider_gang, key, cause)
            elif self.cluster.stirred:
                self._stir()
            else:
                self._tell_newcomers(noted)
                self._unreserve()
                return True
        return False

    def _hear(self, noted: Noted) -> None:
        """What became of what was decided: known before a deadline or a retry looks at it.  Mostly there is nothing."""
        if noted.unreadable or noted.overruled:
            self._tell_who_wrote(noted)
        if noted.spared:
            self._handle_spared(noted)
        if noted.failed:
            self._handle_failures(noted)
        if noted.troubles or noted.asking:
            self._note_troubles(noted)
        self._unreserve()
        if noted.supplied or noted.ungranted:
            self._look_at_supplies(noted)

    def _unreserve(self) -> None:
        """Plugins that reserve or supply learn who is not bound after all, before they are asked about anybody else."""
        if self._intake.noted.unbound:
            unbound, self._intake.noted.unbound = self._intake.noted.unbound, []
            for pod, node in unbound:
                self._guard(pod.gang or pod.uid, self._decider.reserving.unreserve, pod, node)
        self._take_back()

    def _look_at_supplies(self, noted: Noted) -> None:
        """What pods bring was made ready, or failed."""
        supplied, noted.supplied = noted.supplied, []
        # who is bound elsewhere, or gone, is made ready for nothing any more
        self._take_back()
        self._preparing.look_at(supplied, self._now)
        self._take_back()

    def _not_prepared(self, key: str, failures: int) -> None:
        """What a member brings cannot be made ready where it was to go: tried again at once only for the first time."""
        # if it is a lone pod's turn, its next unit has to be made
        self._settled = False
        unit = self._units.get(key)
        if unit is not None:
            unit.failures += failures
            unit.tried_at = self._now
            unit.efforts.is_rejected(self._now, times=failures)
            if unit.phase is Phase.TRYING:
                self._unprepared.add(key)

    def _take_back(self) -> None:
        """Pods that are not bound after all give back what they were granted."""
        if not self._intake.noted.ungranted:
            return
        ungranted, self._intake.noted.ungranted = self._intake.noted.ungranted, []
        self._preparing.unbound(ungranted)
        self._intake.classing.supplied_anew()

    def _tell_who_wrote(self, noted: Noted) -> None:
        self._status.unreadable(noted.unreadable)
        noted.unreadable.clear()
        self._status.overruled(noted.overruled)
        noted.overruled.clear()

    def _note_troubles(self, noted: Noted) -> None:
        for key, error in noted.troubles:
            self.troubles.note(key, error)
        noted.troubles.clear()
        for pod in noted.asking:
            failed = pod.gated_as == SCHEDULER_ERROR
            self._look_again(self._profile.backoff.initial if failed else _GATE_SECONDS, Purpose.GATES, pod.uid)
        noted.asking.clear()

    def _guard(self, key: str, work: Callable[[*_What], None], *what: *_What) -> None:
        """Does some work for one unit: a plugin that raises costs that unit a while, and nobody else anything."""
        try:
            work(*what)
        except Exception as error:
            self._troubled(key, error)

    def _troubled(self, key: str, error: Exception) -> None:
        """The unit is looked at again after a while; it is not decided before that."""
        gang, pod, unit = self.cluster.gangs.get(key), self.cluster.pods.get(key), self._units.get(key)
        self.troubles.note(key if pod is None else pod.key, error)
        self._decider.give_up_lost(key, self._now)
        if gang is None or not gang.foreign:
            lone = [pod] if pod is not None and pod.candidate else []
            self._status.failed(gang, lone if gang is None else gang.candidates.values(), failure(error))
        failures = 1
        if unit is not None:
            unit.failures = failures = unit.failures + 1
            unit.tried_at = self._now
            self._queue.rest(unit, Phase.ASSEMBLING, Cause.FAILED)
        wait = self._profile.backoff
        delay = backoff_seconds(failures, initial=wait.initial, maximum=wait.maximum)
        self._look_again(delay, Purpose.LOOK, key)

    def _look_again(self, delay: float, purpose: Purpose, key: str) -> None:
        """One timer is set however often something of whom a plugin fails with changes: each would set itself anew."""
        if (purpose, key) not in self._looks:
            self._looks.add((purpose, key))
            self._timers.set(self._now + delay, purpose, key=key)

    def _bound(self, pod: PodState, node: str) -> None:
        self._status.bound(pod, node)
        if pod.pod_class.rules.needs:
            self._supplies.bound(pod.uid)
        if self._attending and (self._attending.bound(pod.uid) or self._attending.tells(pod.pod_class)):
            self._decisions.append(TellBound(pod.uid, pod.key, node))
        if self._decider.reserving:
            self._decider.reserving.bound(pod)
        if pod.asks and (passed_over := self.profiles.of(pod.pod_class).unhonoured(pod.asks, hard=False)):
            self._status.asks_passed_over(pod, passed_over)
        gang = self.cluster.gangs.get(pod.gang) if pod.gang else None
        if pod.remark and (gang is None or (gang.declared is not None and gang.declared.gives_way)):
            self._status.remark(pod)
        unit = self._units.get(gang.key) if gang is not None else None
        if gang is None or unit is None or not (unit.failures or gang.efforts.rounds or gang.efforts.rejections):
            return
        if gang.started:
            unit.failures = 0
            gang.efforts.succeed()
            if unit.is_parked or unit.phase is Phase.BACKING_OFF:
                # it need not wait any longer, and others may be evicted for the rest of it again
                self._wake(unit, Cause.BOUND)

    def _stir(self) -> None:
        """Units for which room is reserved look again when something changed there."""
        stirred, self.cluster.stirred = self.cluster.stirred, {}
        for key in stirred:
            unit = self._units.get(key)
            if unit is None:
                continue
            if unit.is_parked:
                self._wake(unit, Cause.RESERVED_CHANGED)
            if unit.phase in (Phase.BACKING_OFF, Phase.ASSEMBLING):
                self._decider.give_up_lost(key, self._now)
                self._status.unnominate(pod for pod in unit.candidates if not pod.reserved)

    def _handle_spared(self, noted: Noted) -> None:
        uids, noted.spared = noted.spared, []
        spared = [pod for pod in map(self.cluster.pods.get, uids) if pod is not None]
        for pod in spared:
            if self._decider.eviction.spared(pod):
                self._binding.spared(pod, self._now)
        for key in dict.fromkeys(pod.gang for pod in spared if pod.gang):
            if (gang := self.cluster.gangs.get(key)) is not None:
                self._binding.runs_on(gang)

    def _handle_failures(self, noted: Noted) -> None:
        failed, noted.failed = noted.failed, []
        rejected: dict[str, list[tuple[PodState, str]]] = {}
        for pod, why in failed:
            if self._binding.failed(pod, why, self._now):
                rejected.setdefault(pod.gang or pod.uid, []).append((pod, why.node))
            elif pod.gang in self.cluster.gangs and self.cluster.gangs[pod.gang].denied:
                # it may be the last whose answer a gang waited for that is to be undone
                noted.gangs.setdefault(pod.gang, Cause.BIND_REJECTED)
        for key, refused in rejected.items():
            unit = self._units.get(key)
            # tried again at once for the first time, however many of a unit's binds were refused
            failures = refused[0][0].setbacks.failures if unit is None else unit.failures + 1
            gang = self.cluster.gangs.get(key) if unit is not None else None
            self._status.binds_rejected(gang, refused, waits=failures > 1)
            # a node that is gone says nothing about the unit
            by_somebody = [pod for pod, node in refused if node in self.cluster.nodes.rows]
            if unit is None:
                for pod in by_somebody:
                    if pod.efforts is not None:
                        pod.efforts.is_rejected(self._now)
                continue
            unit.failures += 1
            unit.tried_at = self._now
            if by_somebody:
                unit.rejected(max(pod.attempt for pod in by_somebody), self._now)
            if unit.phase is Phase.READY:
                self._wake(unit, Cause.BIND_REJECTED)

    def _consider_pod(self, pod: PodState, cause: Cause) -> None:
        unit = self._units.get(pod.uid)
        if not pod.candidate:
            self._drop(pod.uid, cause)
            return
        if unit is None:
            order = self._profile.place_in_queue(priority=pod.priority, created=pod.created, uid=pod.uid, name=pod.key)
            failures = pod.setbacks.failures
            pod.efforts = pod.efforts or Efforts()
            unit = PodUnit(
                key=pod.uid, pod=pod, order=order, efforts=pod.efforts, failures=failures, tried_at=self._now
            )
            self._units[pod.uid] = unit
            if self._new:
                self._reserve_again(unit, [pod])
        if pod.gated_by is not None:
            self._assemble(unit, cause)
            self._status.pods_gated([pod])
        elif unit.phase is _GONE or unit.phase is _ASSEMBLING:
            self._wake(unit, cause)
        elif unit.is_parked:
            parked = self._queue.parked(unit)
            if parked is not None and pod.pod_class not in parked.wants:
                self._wake(unit, cause)

    def _consider_gang(self, key: str, cause: Cause) -> None:
        gang = self.cluster.gangs.get(key)
        if gang is not None and not gang.foreign:
            if self._new:
                gang.recall()
            self._binding.look_at(gang, self._now)
        if gang is not None and gang.uneven:
            self.cluster.relevel(gang)
        if gang is None or gang.foreign:
            self._drop(key, cause)
            self._binding.forget(key)
            return
        unit, order = self._units.get(key), self._order(gang)
        if not isinstance(unit, GangUnit) or unit.gang is not gang:
            # new, or deleted and made again under its name
            self._drop(key, cause)
            unit = self._units[key] = GangUnit(key=key, gang=gang, order=order, efforts=gang.efforts)
            if self._new:
                self._reserve_again(unit, list(gang.candidates.values()))
        unit.changes += 1
        self._start_timeouts.look_at(gang, self._now)
        self._status.gang_remark(gang)
        if number := self._intake.gates.gate_unread(gang):
            self._decisions.append(Reread(key, number))
            self._tell_when_quiet(unit, cause)
        if not gang.candidates and not gang.binding:
            unit.failures = 0
        elif gang.denied:
            self._look_at_denied(unit, gang)
        gated = gang.gated and not gang.started
        if self._profile.gang_rule.waits_for(gang) or gated or self._unhonoured(gang):
            self._assemble(unit, cause)
            self._tell_when_quiet(unit, cause)
        elif not gang.classes:
            self._decider.starvation.leaves(key)
            self._lose(unit, "nothing of it is left to place")
            self._queue.rest(unit, Phase.SETTLED, cause)
        else:
            self._reconsider(unit, gang, order, cause)

    def _unhonoured(self, gang: GangState) -> tuple[Ask, ...]:
        """What the gang's object asks for in vain; of no matter while the gang has nobody to place."""
        if gang.declared is None or not gang.candidates:
            return ()
        return self._profile.unhonoured(gang.declared.asks)

    def _tell_when_quiet(self, unit: Unit, cause: Cause) -> None:
        """One timer is set however often the unit changes; it is set again if it rings too early.

        That it was looked at once more is no change: a gate that fails again and again would keep its gang silent.
        """
        if cause is not Cause.TIME_PASSED or not unit.to_be_told:
            unit.changed_at = self._now
        if not unit.to_be_told:
            unit.to_be_told = True
            self._timers.set(self._now + _QUIET_SECONDS, Purpose.TELL, key=unit.key)

    def _reconsider(self, unit: Unit, gang: GangState, order: Order, cause: Cause) -> None:
        """The gang may be decided: it is ready, unless it waits for something that has not changed."""
        if unit.is_parked:
            parked = self._queue.parked(unit)
            assert parked is not None
            needed = sum(self._profile.gang_rule.shortfall(gang, {}).values()) or 1
            reserved = self._decider.reservations.of(unit.key) is not None
            same = needed == unit.needed if reserved else needed >= unit.needed
            same = same and unit.order == order and unit.had_started == gang.has_started
            same = same and unit.was_on_its_way == gang.on_its_way
            same = same and self._decider.starvation.is_up_to_date(unit, needed)
            same = same and unit.hopeful >= self._decider.preemption.may_evict(unit, self._now)
            if same and not _more_to_choose_from(gang, parked):
                return
        elif unit.phase is Phase.BACKING_OFF or (unit.phase is Phase.READY and unit.order == order):
            self._reorder(unit, order)
            return
        self._reorder(unit, order)
        self._wake(unit, cause)

    def _reorder(self, unit: Unit, order: Order) -> None:
        unit.order = order
        # it may be long before it is tried: what is held for it is held from those behind it now
        self._decider.starvation.moves(unit)

    def _tell_newcomers(self, noted: Noted) -> None:
        """Members that joined a gang that waits, and do not change that, learn why it does."""
        if not noted.members:
            return
        members, noted.members = [pod for pod in noted.members if pod.candidate], []
        self._status.pods_gated(members)
        by_gang: dict[str, list[PodState]] = {}
        for pod in members:
            news = pod.said is None or (pod.nominated and not pod.reserved)
            if news and pod.gang is not None and not pod.gated_as and pod.gated_by != UNREAD:
                by_gang.setdefault(pod.gang, []).append(pod)
        for key, pods in by_gang.items():
            gang, unit = self.cluster.gangs.get(key), self._units.get(key)
            if gang is None or unit is None or not (unit.is_parked or unit.phase is Phase.BACKING_OFF):
                continue
            if unit.phase is Phase.BACKING_OFF:
                self._status.joined_in_backoff(pods, unit.bind_error)
            elif gang.has_started or gang.said is None:
                # what the group says, if anything, is no reason for them: they get one of their own
                self._wake(unit, Cause.MEMBER_CAME)
            else:
                self._status.joined_waiting(gang, pods)

    def _order(self, gang: GangState) -> Order:
        """Among equals what is half bound is completed first, then, by right of return, what was lost of what runs."""
        created, uid = gang.age
        if gang.partial:
            created -= 2 * _ALWAYS
        elif gang.below_minimum:
            created -= _ALWAYS
        return self._profile.place_in_queue(priority=gang.priority, created=created, uid=uid, name=gang.key)

    # --- moving units ---

    def _wake(self, unit: Unit, cause: Cause) -> None:
        """The unit is ready, or will be when its backoff is over; members that say nothing then say why they wait."""
        self._queue.wake(unit, cause)
        if unit.phase is _BACKING_OFF:
            self._intake.noted.members += [pod for pod in unit.candidates if pod.said is None]

    def _assemble(self, unit: Unit, cause: Cause) -> None:
        self._decider.starvation.leaves(unit.key)
        self._lose(unit, "it may not be decided any more")
        self._preparing.give_up(unit.key)
        self._queue.rest(unit, Phase.ASSEMBLING, cause)

    def _reserve_again(self, unit: Unit, pods: list[PodState]) -> None:
        """What a scheduler before us reserved for the unit stands on its pods."""
        rows = self.cluster.nodes.rows
        places = [(pod, pod.nominated) for pod in pods if pod.candidate and pod.nominated in rows]
        if places:
            reservations = self._decider.reservations
            evicted = reservations.makes_way(places)
            reservations.make(unit.key, places, priority=unit.priority, evicted=evicted, now=self._now, restored=True)
            if isinstance(unit, GangUnit) and unit.gang.first_bound is not None:
                # nobody knows for how long it has waited: perhaps all the time
                unit.gang.waited = max(0.0, self._now - unit.gang.first_bound)

    def _lose(self, unit: Unit, why: str) -> None:
        """Nothing is reserved for the unit any more."""
        reservation = self._decider.eviction.lose(unit.key, Loss.PREEMPTOR, why, self._now)
        if reservation is not None:
            self._status.unnominate(pod for pod in reservation.pods if pod.candidate)

    def _drop(self, key: str, cause: Cause) -> None:
        unit = self._units.pop(key, None)
        if unit is not None:
            self._decider.starvation.leaves(key)
            self._lose(unit, "it is gone")
            self._queue.rest(unit, Phase.GONE, cause)

    def _tell_starving(self) -> None:
        """Gangs for which nodes are held from now on say so."""
        for unit in self._decider.starvation.reached():
            if unit.is_parked:
                self._wake(unit, Cause.STARVES)

    def _could_make_room(self, unit: Unit) -> bool:
        try:
            return self._decider.preemption.could_help(unit, self._decider.excluded, self._now)
        except Exception:  # a plugin's bug shows when the unit is tried
            return True

    def _ring(self, timer: Timer) -> None:
        """A timer that was overtaken by events rings in vain."""
        unit, pod = self._units.get(timer.key), self.cluster.pods.get(timer.key)
        self._looks.discard((timer.purpose, timer.key))
        match timer.purpose:
            case Purpose.TRY if unit is not None and unit.ticket == timer.ticket:
                if unit.efforts.forget(self._now, after=self._profile.preemption.lapse_seconds):
                    unit.failures = 0
                    self._decider.starvation.prove_again()
                self._queue.push(unit, Cause.TIME_PASSED)
            case Purpose.TELL if isinstance(unit, GangUnit) and unit.to_be_told:
                self._tell(unit)
            case Purpose.LOOK if timer.key in self.cluster.gangs:
                self._intake.noted.gangs[timer.key] = Cause.TIME_PASSED
            case Purpose.LOOK if pod is not None and pod.gang is None:
                # else it has joined a gang meanwhile, and is looked at with that
                self._intake.noted.pods.append((pod, Cause.TIME_PASSED))
            case Purpose.GATES if pod is not None and pod.candidate:
                self._intake.gates.look_at(pod)
            case Purpose.RETRY if pod is not None and pod.setbacks.await_retry(timer.ticket):
                if pod.stage is Stage.BINDING:
                    self._binding.retry(pod)
            case _:
                self._time_is_over(timer, unit)

    def _time_is_over(self, timer: Timer, unit: Unit | None) -> None:
        """What was to happen within some time may not have."""
        match timer.purpose:
            case Purpose.DENIAL:
                self._denied(timer.key)
            case Purpose.DEADLINE:
                self._deadline(timer.key)
            case Purpose.PREPARING if self._preparing.ring(timer.key, timer.ticket) and unit is not None:
                self._back_off(unit, Cause.DEADLINE_OVER, refused=True)
            case Purpose.START_TIMEOUT:
                self._step_back(timer.key)
            case Purpose.BELOW | Purpose.TAKE_DOWN:
                self._below(timer)

    def _tell(self, unit: GangUnit) -> None:
        """The gang, or a member, is still held and has been quiet: people are told why."""
        unit.to_be_told = False
        if unit.changed_at + _QUIET_SECONDS > self._now:
            unit.to_be_told = True
            self._timers.set(unit.changed_at + _QUIET_SECONDS, Purpose.TELL, key=unit.key)
        elif unit.phase is not Phase.ASSEMBLING:
            self._status.members_unread(unit.gang)
        else:
            why = self._profile.gang_rule.waits_for(unit.gang)
            self._status.gang_assembles(unit.gang, why, self._unhonoured(unit.gang))

    def _deadline(self, key: str) -> None:
        gang = self.cluster.gangs.get(key)
        unit = self._units.get(key)
        # whoever looks at the gang next sets the timer again if it is still needed
        self._binding.forget(key)
        if unit is None or gang is None or gang.declared is None or not gang.partial:
            return
        if self._binding.deadline(gang, self._now) > self._now:
            self._intake.noted.gangs[key] = Cause.TIME_PASSED
            return
        placed = gang.bound
        if self._decider.preemption.waits_for_victims(key, self._now):
            # that has a limit of its own
            self._timers.set(self._now + _QUIET_SECONDS, Purpose.DEADLINE, key=key)
            return
        if self._binding.time_out(gang, self._now):
            refused = any(pod.setbacks.error for pod in gang.candidates.values())
            self._back_off(unit, Cause.DEADLINE_OVER, refused=refused)
        verdict = Verdict(unit=key, outcome=Outcome.TIMED_OUT, placed=placed, needed=gang.declared.minimum)
        self.audit.record(Attempt(self._now, verdict, Cause.DEADLINE_OVER))

    def _step_back(self, key: str) -> None:
        """A gang that holds nothing has waited for its start as long as it likes: nothing is held for it any more."""
        gang, unit = self.cluster.gangs.get(key), self._units.get(key)
        is_over = self._start_timeouts.is_over(key, gang, self._now)
        if gang is None or gang.declared is None or not isinstance(unit, GangUnit):
            return
        if is_over and self._decider.reservations.of(key) is not None:
            # others left for it, and shall not have left in vain
            self._start_timeouts.look_again(gang, self._now + _QUIET_SECONDS)
            return
        self._start_timeouts.look_at(gang, self._now)
        if not is_over or unit.phase is Phase.ASSEMBLING:
            # what is missing of it has been said
            return
        self._decider.starvation.leaves(key)
        gang.passed = 0
        self._status.gang_says(gang, TIMEOUT, stepped_back(gang.declared.start_timeout_seconds or 0.0))
        if unit.is_parked:
            # else it is tried in its turn, or when its backoff is over: put off once more, it might never be
            self._queue.step_back(unit, Cause.DEADLINE_OVER)
        verdict = Verdict(unit=key, outcome=Outcome.TIMED_OUT, placed=0, needed=gang.declared.minimum)
        self.audit.record(Attempt(self._now, verdict, Cause.DEADLINE_OVER))

    def _denied(self, uid: str) -> None:
        """Some time ago the pod was denied for the first time."""
        pod = self.cluster.pods.get(uid)
        gang = self.cluster.gangs.get(pod.gang) if pod is not None and pod.gang else None
        unit = self._units.get(gang.key) if gang is not None else None
        if gang is not None and unit is not None:
            gang.denied = True
            self._look_at_denied(unit, gang)

    def _look_at_denied(self, unit: Unit, gang: GangState) -> None:
        """A gang is undone if it lacks members that are denied for good."""
        if self._binding.denied(gang, self._now):
            self._back_off(unit, Cause.DENIED, refused=True)

    def _below(self, timer: Timer) -> None:
        """Some time ago a gang that has started fell below its minimum."""
        gang, unit = self.cluster.gangs.get(timer.key), self._units.get(timer.key)
        if gang is None or gang.declared is None:
            return
        if timer.purpose is Purpose.BELOW:
            self._binding.still_below(gang, self._now)
        elif self._binding.take_down(gang, self._now) and unit is not None:
            self._back_off(unit, Cause.TAKEN_DOWN)

    def _back_off(self, unit: Unit, cause: Cause, *, refused: bool = False) -> None:
        """The unit was undone: it waits before it is tried again, each time longer."""
        unit.failures += 2
        unit.tried_at = self._now
        if refused:
            unit.efforts.is_rejected(self._now, times=2)
        if unit.phase is Phase.READY or unit.phase is Phase.TRYING or unit.is_parked:
            self._wake(unit, cause)

    # --- deciding ---

    def _file(self, tried: Tried) -> None:
        """Puts a unit that was tried where it belongs."""
        unit, outcome = tried.unit, tried.outcome
        if outcome is _THINKING:
            # it is the first of those that are ready, and stays that
            self._queue.push(unit, Cause.PUT_BACK)
            return
        unit.tried_at, unit.needed = self._now, tried.needed
        if outcome is _PLACED:
            self._file_placed(unit)
            return
        if unit.failures > 1:
            self._queue.spend_in_vain(tried.work)
        if outcome in (Outcome.ERROR, Outcome.NOT_RESERVED):
            if outcome is Outcome.NOT_RESERVED:
                self.tally.pods_refused += len(unit.candidates)
                self.tally.gangs_refused += unit.is_gang
            self._back_off(unit, Cause.FAILED)
        else:
            self._file_refused(unit, tried)

    def _file_placed(self, unit: Unit) -> None:
        unprepared = unit.key in self._unprepared
        self._unprepared.discard(unit.key)
        if not unit.is_gang:
            del self._units[unit.key]
            self._queue.rest(unit, _GONE, _TRIED_AND_PLACED)
            return
        self.tally.gangs_placed += 1
        if unprepared:
            # what it was to be given could not be: at once it would be the same again
            self._back_off(unit, Cause.FAILED)
        elif unit.classes:
            # members that found no place are told why, in an attempt of their own
            self._queue.push(unit, _TRIED_AND_PLACED)
        else:
            self._queue.rest(unit, Phase.SETTLED, _TRIED_AND_PLACED)

    def _file_refused(self, unit: Unit, tried: Tried) -> None:
        if self._preparing.give_up(unit.key):
            # one of it has no place any more: nobody goes, and what was made ready is given back
            self._back_off(unit, Cause.REFUSED)
            return
        unit.had_started, unit.was_on_its_way = unit.has_started, unit.on_its_way
        waits = tried.outcome is Outcome.PREEMPTING
        if self._preparing and not waits:
            self._preparing.let_go(unit)
        self.tally.pods_refused += sum(tried.wants.values())
        self.tally.gangs_waiting += waits and unit.is_gang
        self.tally.gangs_refused += not waits and unit.is_gang
        unit.failures += tried.outcome is Outcome.NOT_FOUND
        unit.hopeful = self._decider.preemption.may_evict(unit, self._now)
        may_evict = not waits and unit.hopeful
        # nothing but time may let others be evicted for it again
        lapses_at = unit.efforts.forgotten_at(after=self._profile.preemption.lapse_seconds)
        rests_until = unit.efforts.rests_until if unit.hopeful else lapses_at
        self._queue.park(
            unit, tried.wants, tried.room_for, reserved=waits, may_evict=may_evict, rests_until=rests_until
        )


def _more_to_choose_from(gang: GangState, parked: Parked) -> bool:
    """Whether members came that may fit although those tried before did not: others, or more of a mix."""
    if len(gang.classes) == len(parked.wants) == 1 and gang.classes.keys() == parked.wants.keys():
        (wanted,) = parked.wants.values()
        return wanted < parked.needed and sum(gang.classes.values()) > wanted
    return any(count > parked.wants.get(pod_class, 0) for pod_class, count in gang.classes.items())
