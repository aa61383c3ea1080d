"""Decides units: tries them, takes the room, asks for the binds, says why not.

Where a refused unit waits, and when it is tried again, is the queue's business (engine.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from msgspec.structs import replace

from muster.cluster.classes import PodClass
from muster.cluster.cluster import Cluster
from muster.cluster.pods import PodState
from muster.engine.answers import Budget, Placed
from muster.engine.audit import Attempt, Audit, Tally
from muster.engine.cycle import Trial
from muster.engine.decisions import Bind, Decision
from muster.engine.eviction import Eviction
from muster.engine.explain import Explainer
from muster.engine.ground import Exclusion, Ground
from muster.engine.intake import Intake
from muster.engine.planning import Planner
from muster.engine.preemption import WORK_AT_ONCE, MakingRoom, Preemption
from muster.engine.preparing import Preparing
from muster.engine.reasons import SCHEDULER_ERROR, UNSCHEDULABLE
from muster.engine.requirement import Requirement
from muster.engine.reservations import Reservations
from muster.engine.reserving import Reserving
from muster.engine.search import Search
from muster.engine.starvation import Starvation
from muster.engine.status import Status
from muster.engine.stream import LARGEST_GANG, Small, Stream
from muster.engine.troubles import Troubles
from muster.engine.unit import Unit
from muster.engine.verdicts import Outcome, Verdict, failure
from muster.framework.contract import Bools
from muster.framework.profile import Profiles
from muster.framework.views import CLASSES_AT_ONCE, Views

# Work is counted in steps of about a microsecond, so that a budget bounds a call without a clock
_WORK_PER_UNIT = 15
_WORK_PER_POD = 5
_WORK_PER_REFUSAL = 600
_NODES_PER_WORK = 50
_WORK_PER_CLASS = 100

# plugins that are asked node by node take milliseconds for a pod: others get their turn in between
_CALLS_AT_ONCE = 5_000
_SLOW_CLASSES_AT_ONCE = 8

_HELD = "node(s) were held for a pod group that comes first"


class Tried(NamedTuple):
    """What came of one unit."""

    unit: Unit
    outcome: Outcome
    work: int
    wants: dict[PodClass, int]
    """If it was refused: how many members of each class it has to place..."""
    needed: int
    """...how many of them it needs at least..."""
    room_for: int
    """...and for how many there must be room before it is worth trying again."""


_NOTHING: dict[PodClass, int] = {}
# every pod passes this: `Outcome.PLACED` takes 70 ns in Python 3.11, this name 5
_PLACED = Outcome.PLACED


class Decider:
    """Tries units on the cluster as it is, and changes it accordingly."""

    def __init__(
        self,
        cluster: Cluster,
        profiles: Profiles,
        views: Views,
        *,
        intake: Intake,
        status: Status,
        audit: Audit,
        tally: Tally,
        troubles: Troubles,
        decisions: list[Decision],
        unreserve: Callable[[], None],
        preparing: Preparing,
    ) -> None:
        """`unreserve` tells plugins that reserve who is not bound after all."""
        self._cluster = cluster
        self._profiles = profiles
        self._views = views
        profile = profiles.first
        self._rule = profile.gang_rule
        self.reserving = Reserving(profiles)
        self._intake = intake
        self._search = Search(cluster.nodes, views)
        self._stream = Stream(cluster, views)
        self._explainer = Explainer(cluster, profiles, views)
        self._status = status
        self._audit = audit
        self._troubles = troubles
        self._decisions = decisions
        self._unreserve = unreserve
        self._preparing = preparing
        self._now = 0.0
        self.reservations = Reservations(cluster)
        self.starvation = Starvation(cluster, profiles, views, search=self._search)
        self.eviction = Eviction(cluster, profile, intake=intake, reservations=self.reservations, decisions=decisions)
        planner = Planner(cluster, profile, views, search=self._search, reservations=self.reservations)
        self.preemption = Preemption(
            cluster,
            profile,
            views,
            planner=planner,
            reservations=self.reservations,
            eviction=self.eviction,
            tally=tally,
        )

    def decide(
        self, first: Unit, following: Callable[[PodClass], Unit | None], now: float
    ) -> tuple[list[Tried], list[Unit]]:
        """Tries the first unit, together with those that follow it if they are small too.

        Ends with a refusal, since room that was meant for the refused unit may wake another one first; returns
        what was tried, and the units that were taken from the queue in vain.
        """
        self._now = now
        small = self._small(first) if self._stream.window > 1 and not self.starvation else None
        if small is None:
            return [self._try(first)], []
        run, rest = self._collect(small, following)
        tried: list[Tried] = []
        calls = self._profiles.calls
        while run:
            rows = self._place(run) if self._stream.window > 1 and not self.starvation else []
            tried.extend(self._placed(*found) for found in zip(run, rows, strict=False))
            del run[: len(rows)]
            if not rows:
                tried.append(self._try(run.pop(0).unit))
                if tried[-1].outcome is not Outcome.PLACED or self._profiles.calls - calls > _CALLS_AT_ONCE:
                    break
        return tried, [small.unit for small in run] + ([rest] if rest is not None else [])

    def _place(self, run: list[Small]) -> list[list[int]]:
        try:
            return self._stream.place(run)
        except Exception:  # whoever is to blame shows when each is tried alone
            return []

    # --- small units, many at once ---

    def _collect(self, first: Small, following: Callable[[PodClass], Unit | None]) -> tuple[list[Small], Unit | None]:
        """Small units for one window, and the unit that ended the run because it is none."""
        run, pods, classes = [first], len(first.pods), {first.alike}
        most = self.starvation.slack
        most_classes = _SLOW_CLASSES_AT_ONCE if self._profiles.calls else CLASSES_AT_ONCE
        while pods < self._stream.window and len(classes) < most_classes and len(run) < most:
            unit = following(run[-1].pod_class)
            if unit is None:
                break
            small = self._small(unit)
            if small is None:
                return run, unit
            run.append(small)
            pods += len(small.pods)
            classes.add(small.alike)
        return run, None

    def _small(self, unit: Unit) -> Small | None:
        """The unit as the stream takes it: a pod, or a small gang of one class, whole."""
        if unit.key in self.reservations.by_unit or self.reserving:
            return None
        try:
            pods = unit.alike(self._rule, most=LARGEST_GANG)
            alike = self._views.alike(pods[0].pod_class) if pods else None
        except Exception:  # a plugin's bug shows when the unit is tried alone
            return None
        return None if alike is None else Small(unit, pods[0].pod_class, pods, alike)

    def _placed(self, small: Small, rows: list[int]) -> Tried:
        """The stream has taken the room."""
        name = small.unit.name
        self._bind(small.unit, name, list(zip(small.pods, rows, strict=True)))
        return self._success(small.unit, name, len(rows), len(rows))

    # --- one unit ---

    def _try(self, unit: Unit) -> Tried:
        self._stream.skip()
        try:
            return self._try_unit(unit, self.excluded(unit))
        except Exception as error:  # a plugin's bug, say: one unit's trouble must not stop all others
            return self._failed(unit, error)

    def held_for_others(self, unit: Unit) -> Bools | None:
        """Rows that the unit may not use; where room is reserved for it, it may."""
        blocked, reservation = self.starvation.blocked(unit), self.reservations.of(unit.key)
        if blocked is None or reservation is None:
            return blocked
        blocked = blocked.copy()
        rows = (self._cluster.nodes.rows.get(pod.reserved) for pod in reservation.pods)
        blocked[[row for row in rows if row is not None]] = False
        return blocked

    def excluded(self, unit: Unit) -> tuple[Exclusion, ...]:
        """Where the unit may not go, and why."""
        held = self.held_for_others(unit)
        return () if held is None else (Exclusion(held, _HELD),)

    def give_up_lost(self, key: str, now: float) -> None:
        """A unit that is not tried for a while gives up now what is reserved for it, if that will not serve it."""
        if (loss := self.preemption.loss(key, now)) is not None:
            self.eviction.lose(key, *loss, now)

    def _failed(self, unit: Unit, error: Exception) -> Tried:
        self._troubles.note(unit.name, error)
        return self._tried_in_vain(unit, Outcome.ERROR, failure(error), SCHEDULER_ERROR)

    def _tried_in_vain(self, unit: Unit, outcome: Outcome, message: str, reason: str) -> Tried:
        """Nothing that others do can help the unit: it is tried again after a while."""
        self.preemption.forget()
        self.give_up_lost(unit.key, self._now)
        verdict = Verdict(unit=unit.name, outcome=outcome, placed=0, needed=1, error=message)
        self._audit.record(Attempt(self._now, verdict, unit.woken_by))
        self._status.failed(self._cluster.gangs.get(unit.key), unit.candidates, message, reason)
        # who is to leave by then leaves, now that the unit's pods say where room is reserved for them
        self._decisions += self.eviction.take()
        return Tried(unit, outcome, _WORK_PER_REFUSAL, _NOTHING, 1, 1)

    def _ground(self, unit: Unit, excluded: tuple[Exclusion, ...]) -> Ground:
        """The room there is for the unit: what is reserved for it is its own."""
        usage = self._cluster.nodes.usage
        if self.reservations.of(unit.key) is not None:
            usage = usage.copy()
            self.reservations.give_back(unit.key, usage)
        return Ground(usage, excluded)

    def _try_unit(self, unit: Unit, excluded: tuple[Exclusion, ...]) -> Tried:
        """All that must be placed and as many more as fit, or nothing."""
        requirement = unit.requirement(self._rule)
        ground, budget = self._ground(unit, excluded), Budget()
        answer = self._search.find(requirement, ground, budget, reserved=self.reservations.of(unit.key) is not None)
        if isinstance(answer, Placed):
            return self._take(unit, answer.trial, budget.spent if answer.trial.walked else 0)
        if (trial := self._lands(unit, requirement, excluded)) is not None:
            return self._take(unit, trial, budget.spent)
        # one pod's attempt is part of what any refusal takes
        searched = budget.spent if unit.is_gang else 0
        room = self.preemption.make_room(unit, excluded, self._now)
        if (tried := self._still_waits(unit, answer.trial, room)) is not None:
            if room is MakingRoom.RESERVED:
                # it may have lost what it had when room was reserved for more
                self._counts_passes(unit, requirement)
            return tried
        if room is MakingRoom.MADE:
            ground = self._ground(unit, excluded)
            answer = self._search.find(requirement, ground, Budget())
            if isinstance(answer, Placed) and not self.eviction.pending:
                return self._take(unit, answer.trial, searched)
            if isinstance(answer, Placed):
                # what fits now is its own as soon as others have been told to leave for the rest
                self._cluster.stirred[unit.key] = None
        verdict = self._explainer.verdict(unit.name, requirement, answer, ground=ground, standing=unit.standing)
        self._counts_passes(unit, requirement)
        verdict = self._as_it_is(unit, verdict)
        self._status.refused(unit, answer.trial, verdict)
        return self._refusal(unit, verdict, answer.trial, searched)

    def _lands(self, unit: Unit, requirement: Requirement, excluded: tuple[Exclusion, ...]) -> Trial | None:
        """The unit where room is reserved for it, if only what is reserved for those after it stood in its way."""
        if self.reservations.of(unit.key) is None:
            return None
        usage = self._ground(unit, excluded).usage
        if not self.reservations.give_way(unit.key, usage):
            return None
        return next(self._search.as_reserved(requirement, Ground(usage, excluded)), None)

    def _counts_passes(self, unit: Unit, requirement: Requirement) -> None:
        """Who passes a gang that lacks members is counted; of what comes on top nothing is promised."""
        if lacking := sum(requirement.must.values()):
            # one that is impossible holds nothing, but nodes may come
            self.starvation.waits(unit, requirement.wants, lacking)
        else:
            self.starvation.leaves(unit.key)

    def _still_waits(self, unit: Unit, trial: Trial, room: MakingRoom) -> Tried | None:
        """Nothing is new: it is not known yet whom to evict, or who was evicted is still leaving."""
        if room is MakingRoom.THINKING:
            return Tried(unit, Outcome.THINKING, WORK_AT_ONCE, _NOTHING, 0, 0)
        if room is MakingRoom.RESERVED and unit.told_reserved and not _is_silent(unit):
            work = _WORK_PER_UNIT + _WORK_PER_POD * trial.placed
            return Tried(unit, Outcome.PREEMPTING, work, trial.wants(), unit.needed, trial.lacking)
        unit.told_reserved = room in (MakingRoom.RESERVED, MakingRoom.MADE)
        return None

    def _take(self, unit: Unit, trial: Trial, searched: int) -> Tried:
        """Everything that has a place is bound to it, together; to find it took so much work."""
        if self.reserving:
            # whoever made way a moment ago
            self._unreserve()
            names = self._cluster.nodes.names
            refused = self.reserving.reserve([(pod, names[row]) for pod, row in trial.places])
            if refused is not None:
                return self._tried_in_vain(unit, Outcome.NOT_RESERVED, refused, UNSCHEDULABLE)
        self.eviction.lands(unit.key, self._now)
        for batch in trial.batches:
            self._cluster.nodes.usage.add_copies(batch.row_array, batch.pod_class)
        name = unit.name
        self._bind(unit, name, trial.places)
        return self._success(unit, name, trial.placed, trial.needed, searched)

    # --- what is said ---

    def _as_it_is(self, unit: Unit, verdict: Verdict) -> Verdict:
        """The verdict with what is being done for the unit."""
        reservation, entry = self.reservations.of(unit.key), self.starvation.of(unit.key)
        if reservation is not None:
            needed = len(reservation.pods) if unit.has_started else verdict.needed
            return replace(
                verdict, outcome=Outcome.PREEMPTING, needed=needed, leaving=reservation.waits_for, suggestion=None
            )
        passed = entry.passed if entry is not None and entry.held else 0
        return replace(verdict, passed=passed, no_evictions=self.preemption.no_evictions(unit, self._now))

    # --- what follows ---

    def _bind(self, unit: Unit, name: str, binds: list[tuple[PodState, int]]) -> None:
        """The pods are on their way; their room is taken already, and no plugin is asked before that is said."""
        names = self._cluster.nodes.names
        # asked before its members count as being bound
        mends = bool(self.starvation.waiting) and unit.mends
        self._status.sets_out(unit)
        records, attempt = unit.set_out(binds)
        placements = self._intake.set_out([(pod, names[row]) for pod, row in binds], records, attempt)
        if not self._preparing or not self._preparing.begin(unit, [pod for pod, _ in binds], placements, self._now):
            self._decisions.append(Bind(name, placements, unit.binds_after))
        if self.starvation.waiting:
            self.starvation.leaves(unit.key)
            if not mends:
                demand = Counter(pod.pod_class for pod, _ in binds)
                self.starvation.passes(unit.order, tuple(demand.items()), [row for _, row in binds])

    def _success(self, unit: Unit, name: str, placed: int, needed: int, searched: int = 0) -> Tried:
        verdict = Verdict(unit=name, outcome=_PLACED, placed=placed, needed=needed)
        self._audit.record(Attempt(self._now, verdict, unit.woken_by))
        return Tried(unit, _PLACED, _WORK_PER_UNIT + _WORK_PER_POD * placed + searched, _NOTHING, 0, 0)

    def _refusal(self, unit: Unit, verdict: Verdict, trial: Trial, searched: int) -> Tried:
        self._audit.record(Attempt(self._now, verdict, unit.woken_by))
        # now that its pods say where room is reserved for them
        self._decisions += self.eviction.take()
        wants = trial.wants()
        work = searched + self.preemption.work + _WORK_PER_REFUSAL
        work += len(wants) * (_WORK_PER_CLASS + self._cluster.nodes.capacity // _NODES_PER_WORK)
        # room elsewhere may help sooner than its victims do, then it needs only what it still lacks
        room_for = max(1, trial.lacking) if verdict.outcome is Outcome.PREEMPTING else verdict.needed
        return Tried(unit, verdict.outcome, work, wants, verdict.needed, room_for)


def _is_silent(unit: Unit) -> bool:
    """Whether a member has said nothing yet: it joined a gang that waits for others to leave, or came back to it."""
    return any(pod.said is None and pod.gated_by is None for pod in unit.candidates)
