"""Decides units: tries them, takes the room, asks for the binds, says why not.

Where a refused unit waits, and when it is tried again, is the queue's business (engine.py).
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from msgspec.structs import replace

from muster.cluster.classes import PodClass
from muster.cluster.cluster import Cluster
from muster.cluster.gangs import GangState
from muster.cluster.pods import PodState, Stage
from muster.cluster.usage import Usage
from muster.engine.audit import Attempt, Audit, Tally
from muster.engine.bypass import Bypass
from muster.engine.cycle import GangCycle, Ground, Trial, in_order_of_choice
from muster.engine.decisions import Bind, Decision, Loss, Placement
from muster.engine.eviction import Eviction
from muster.engine.explain import Explainer
from muster.engine.fences import Fence, Fences
from muster.engine.intake import Intake
from muster.engine.preemption import Plan, Planner, Thinking
from muster.engine.queue import Unit
from muster.engine.search import Search
from muster.engine.status import Status
from muster.engine.stream import LARGEST_GANG, Small, Stream
from muster.engine.verdicts import Outcome, Verdict
from muster.framework.contract import Bools
from muster.framework.profile import Profile
from muster.framework.views import CLASSES_AT_ONCE, Views

# Work is counted in steps of about a microsecond, so that a budget bounds a call without a clock
_WORK_PER_UNIT = 15
_WORK_PER_POD = 5
_WORK_PER_REFUSAL = 600
_NODES_PER_WORK = 50


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
# a turn may take about 20 ms; a plan that is disturbed more often than this is made in one go
_WORK_AT_ONCE = 20_000
_MOST_STARTS = 3


class _Room(Enum):
    """What came of looking for room."""

    AS_BEFORE = 0
    MADE = 1
    """Something changed that may help the unit, at once or later."""
    THINKING = 2


class _Thought:
    """A plan that is being made."""

    __slots__ = ("again", "plan", "ready", "thinking", "version")

    def __init__(self, version: tuple[str, int, int], thinking: Thinking | None, again: int) -> None:
        self.version = version
        """For which unit, and on which state of the cluster and of the unit."""
        self.thinking = thinking
        self.again = again
        """How often it was started anew because something had changed."""
        self.ready = False
        self.plan: Plan | None = None


_NO_THOUGHT = _Thought(("", 0, 0), None, 0)


class Decider:
    """Tries units on the cluster as it is, and changes it accordingly."""

    def __init__(
        self,
        cluster: Cluster,
        profile: Profile,
        views: Views,
        *,
        intake: Intake,
        status: Status,
        audit: Audit,
        tally: Tally,
        decisions: list[Decision],
    ) -> None:
        self._cluster = cluster
        self._views = views
        self._rule = profile.gang_rule
        self._preemption = profile.preemption
        self._cycle = GangCycle(cluster.nodes, profile.gang_rule, views)
        self._search = Search(self._cycle, views)
        self._stream = Stream(cluster, views)
        self._explainer = Explainer(cluster, profile, views)
        self._status = status
        self._audit = audit
        self._tally = tally
        self._decisions = decisions
        self._now = 0.0
        self.fences = Fences(cluster)
        self.bypass = Bypass(cluster, profile, views, would_fit=self._would_fit)
        self.eviction = Eviction(cluster, profile, intake=intake, fences=self.fences, decisions=decisions)
        self._thought = _NO_THOUGHT
        self._planner = Planner(cluster, profile, views, cycle=self._cycle, search=self._search, fences=self.fences)

    def decide(self, first: Unit, following: Callable[[], Unit | None], now: float) -> tuple[list[Tried], list[Unit]]:
        """Tries the first unit, together with those that follow it if they are small too.

        Ends with a refusal, since room that was meant for the refused unit may wake another one first; returns
        what was tried, and the units that were taken from the queue in vain.
        """
        self._now = now
        small = self._small(first) if self._stream.window > 1 and not self.bypass else None
        if small is None:
            return [self._try(first)], []
        run, rest = self._collect(small, following)
        tried: list[Tried] = []
        while run:
            rows = self._place(run) if self._stream.window > 1 and not self.bypass else []
            tried.extend(self._placed(*found) for found in zip(run, rows, strict=False))
            del run[: len(rows)]
            if not rows:
                tried.append(self._try(run.pop(0).unit))
                if tried[-1].outcome is not Outcome.PLACED:
                    break
        return tried, [small.unit for small in run] + ([rest] if rest is not None else [])

    def _place(self, run: list[Small]) -> list[list[int]]:
        try:
            return self._stream.place(run)
        except Exception:  # whoever is to blame shows when each is tried alone
            return []

    # --- small units, many at once ---

    def _collect(self, first: Small, following: Callable[[], Unit | None]) -> tuple[list[Small], Unit | None]:
        """Small units for one window, and the unit that ended the run because it is none."""
        run, pods, classes = [first], len(first.pods), {first.pod_class}
        while pods < self._stream.window and len(classes) < CLASSES_AT_ONCE and (unit := following()) is not None:
            small = self._small(unit)
            if small is None:
                return run, unit
            run.append(small)
            pods += len(small.pods)
            classes.add(small.pod_class)
        return run, None

    def _small(self, unit: Unit) -> Small | None:
        """The unit as the stream takes it: a pod, or a small gang of one class, whole."""
        if self.fences.of(unit.key) is not None:
            return None
        if unit.pod is not None:
            return None if unit.pod.denied_on else Small(unit, unit.pod.pod_class, [unit.pod])
        gang = unit.gang
        assert gang is not None
        if len(gang.candidates) > LARGEST_GANG or len(gang.classes) != 1 or gang.gated:
            return None
        (pod_class,) = gang.classes
        pods = in_order_of_choice(gang.candidates.values())
        if self._rule.shortfall(gang, {pods[0].subset: len(pods)}) or any(pod.denied_on for pod in pods):
            return None
        return Small(unit, pod_class, pods)

    def _placed(self, small: Small, rows: list[int]) -> Tried:
        """The stream has taken the room."""
        self._bind(small.unit, list(zip(small.pods, rows, strict=True)))
        return self._success(small.unit, len(rows), len(rows))

    # --- one unit ---

    def _try(self, unit: Unit) -> Tried:
        self._stream.skip()
        blocked = self._held_for_others(unit)
        try:
            return self._try_pod(unit, unit.pod, blocked) if unit.pod else self._try_gang(unit, blocked)
        except Exception as error:  # a plugin's bug, say: one unit's trouble must not stop all others
            return self._failed(unit, error)

    def _held_for_others(self, unit: Unit) -> Bools | None:
        """Rows that the unit may not use; where room is kept for it, it may."""
        blocked, fence = self.bypass.blocked(unit.order), self.fences.of(unit.key)
        if blocked is None or fence is None:
            return blocked
        blocked = blocked.copy()
        rows = (self._cluster.nodes.rows.get(pod.kept) for pod in fence.pods)
        blocked[[row for row in rows if row is not None]] = False
        return blocked

    def _failed(self, unit: Unit, error: Exception) -> Tried:
        message = f"the scheduler failed: {type(error).__name__}: {error}"
        verdict = Verdict(unit=unit.name, outcome=Outcome.ERROR, placed=0, needed=1, error=message)
        self._audit.record(Attempt(self._now, verdict))
        self._status.failed(unit.gang, [unit.pod] if unit.pod else [], message)
        return Tried(unit, Outcome.ERROR, _WORK_PER_REFUSAL, _NOTHING, 1, 1)

    def _ground(self, unit: Unit, blocked: Bools | None) -> Ground:
        """The room there is for the unit: what is kept for it is its own."""
        usage = self._cluster.nodes.usage
        if self.fences.of(unit.key) is not None:
            usage = usage.copy()
            self.fences.lift(unit.key, usage)
        return Ground(usage, blocked)

    def _try_pod(self, unit: Unit, pod: PodState, blocked: Bools | None) -> Tried:
        trial = self._cycle.try_pod(pod, self._ground(unit, blocked))
        if not trial.lacking:
            return self._take(unit, trial)
        if self._makes_room(unit, lambda: self._planner.for_pod(pod, blocked=blocked, now=self._now)) is _Room.MADE:
            trial = self._cycle.try_pod(pod, self._ground(unit, blocked))
            if not trial.lacking:
                return self._take(unit, trial)
        verdict = self._explainer.verdict(pod.key, trial, again=lambda cycle: cycle.try_pod(pod), blocked=blocked)
        verdict = self._as_it_is(unit, verdict)
        self._status.pod_refused(pod, verdict)
        return self._refusal(unit, verdict, trial)

    def _try_gang(self, unit: Unit, blocked: Bools | None) -> Tried:
        """All that must be placed and as many more as fit, or nothing."""
        gang = unit.gang
        assert gang is not None
        trial = self._search.find(gang, self._ground(unit, blocked))
        if not trial.lacking:
            return self._take(unit, trial)
        room = self._makes_room(unit, lambda: self._planner.for_gang(gang, blocked=blocked, now=self._now))
        if room is _Room.THINKING:
            return Tried(unit, Outcome.THINKING, _WORK_AT_ONCE, _NOTHING, 0, 0)
        if room is _Room.MADE:
            trial = self._search.find(gang, self._ground(unit, blocked))
            if not trial.lacking:
                return self._take(unit, trial)
        held = gang.bound + gang.binding
        verdict = self._explainer.verdict(
            gang.key, trial, again=lambda cycle: cycle.try_gang(gang), held=held, blocked=blocked
        )
        if verdict.outcome is not Outcome.IMPOSSIBLE:
            self.bypass.waits(unit, trial.wants())
        else:
            self.bypass.leaves(unit.key)
        verdict = self._as_it_is(unit, verdict)
        self._status.gang_refused(gang, trial, verdict)
        return self._refusal(unit, verdict, trial)

    def _take(self, unit: Unit, trial: Trial) -> Tried:
        """Everything that has a place is bound to it, together."""
        self.fences.take_down(unit.key)
        for batch in trial.batches:
            self._cluster.nodes.usage.add_copies(batch.row_array, batch.pod_class)
        self._bind(unit, trial.places)
        return self._success(unit, trial.placed, trial.needed)

    def _would_fit(self, gang: GangState, usage: Usage) -> bool:
        return not self._search.find(gang, Ground(usage)).lacking

    # --- making room ---

    def waits_for_victims(self, key: str, now: float) -> bool:
        """Whether room is kept for the unit that others are still leaving."""
        fence = self.fences.of(key)
        patience = self._preemption.patience_seconds
        return fence is not None and self.fences.loss(fence, now, patience=patience) is None

    def may_evict(self, unit: Unit) -> bool:
        """Whether others may be evicted for the unit, if there are any."""
        may = (
            self._planner.may_evict(unit.gang) if unit.gang is not None else unit.pod is not None and unit.pod.preempts
        )
        return may and not self._no_evictions(unit)

    def could_make_room(self, unit: Unit) -> bool:
        """Whether the unit may find a place if others left: no more than a guess, but a quick one."""
        wants = dict(unit.gang.classes) if unit.gang is not None else {}
        if unit.pod is not None:
            wants[unit.pod.pod_class] = 1
        return self.may_evict(unit) and self._planner.could_help(
            wants, unit.needed, unit.priority, Ground(self._cluster.nodes.usage, self.bypass.blocked(unit.order))
        )

    def _makes_room(self, unit: Unit, plan: Callable[[], Thinking]) -> _Room:
        """Sees to it that the unit gets a place if others leave."""
        fence, patience = self.fences.of(unit.key), self._preemption.patience_seconds
        if fence is not None:
            loss = (
                self.fences.loss(fence, self._now, patience=patience)
                or self._outgrown(unit, fence)
                or self.fences.waited_in_vain(fence, self._now, patience=patience)
            )
            if loss is None:
                return _Room.AS_BEFORE
            self.eviction.lose(unit.key, *loss)
        thought = self._think(unit, plan)
        if not thought.ready:
            return _Room.THINKING
        self._thought = _NO_THOUGHT
        self._tally.gangs_sought_victims += unit.gang is not None
        self._tally.pods_sought_victims += unit.gang is None
        found = thought.plan
        if found is None or (found.pods and self._no_evictions(unit)):
            return _Room.AS_BEFORE if fence is None else _Room.MADE
        self.eviction.carry_out(unit, found, self._now)
        return _Room.MADE

    def _think(self, unit: Unit, plan: Callable[[], Thinking]) -> _Thought:
        """Goes on with the unit's plan, from the start if anything has changed, for one turn."""
        thought, version = self._thought, (unit.key, self._cluster.version, unit.changes)
        if thought.version != version:
            again = thought.again + 1 if thought.version[0] == unit.key and not thought.ready else 0
            thought = self._thought = _Thought(version, plan(), again)
        work = 0
        # in a cluster that never rests it would never be done
        while not thought.ready and (work < _WORK_AT_ONCE or thought.again > _MOST_STARTS):
            try:
                assert thought.thinking is not None
                work += next(thought.thinking)
            except StopIteration as done:
                thought.ready, thought.plan = True, done.value
        return thought

    def _no_evictions(self, unit: Unit) -> str:
        """Why nobody may be evicted for the unit any more, although that would make room; "" if they may."""
        if unit.rounds >= self._preemption.rounds:
            times = "once" if unit.rounds == 1 else f"{unit.rounds} times"
            return f"others were evicted for it {times} in vain" if unit.rounds else "that is switched off"
        if unit.refusals > 1:
            pods = unit.gang.candidates.values() if unit.gang is not None else [unit.pod] if unit.pod else []
            error = min((pod.bind_error for pod in pods if pod.bind_error), default="where it had a place")
            return f"it could not be bound: {error}"
        return ""

    def _outgrown(self, unit: Unit, fence: Fence) -> tuple[Loss, str] | None:
        """Whether what is kept no longer serves the unit, because it needs more, or its nodes have changed."""
        kept: dict[str, int] = {}
        for pod in fence.pods:
            kept[pod.subset] = kept.get(pod.subset, 0) + 1
            if not self._views.rules(pod.pod_class.rules).admitted[self._cluster.nodes.rows[pod.kept]]:
                return Loss.NODE, f"node {pod.kept} no longer admits {pod.key}"
        if unit.gang is not None and self._rule.shortfall(unit.gang, kept):
            return Loss.PREEMPTOR, "it needs more members than before"
        return None

    def _as_it_is(self, unit: Unit, verdict: Verdict) -> Verdict:
        """The verdict with what is being done for the unit."""
        fence, entry = self.fences.of(unit.key), self.bypass.of(unit.key)
        if fence is not None:
            needed = len(fence.pods) if unit.had_started else verdict.needed
            return replace(verdict, outcome=Outcome.PREEMPTING, needed=needed, leaving=fence.waits_for, suggestion=None)
        passed = entry.passed if entry is not None and entry.held else 0
        return replace(verdict, passed=passed, no_evictions=self._no_evictions(unit))

    # --- what follows ---

    def _bind(self, unit: Unit, binds: list[tuple[PodState, int]]) -> None:
        """The pods are on their way; their room is taken already."""
        gang, names = unit.gang, self._cluster.nodes.names
        if gang is not None and gang.fallen:
            self._status.gang_starts_again(gang)
        for pod, row in binds:
            if gang is not None:
                gang.uncount(pod)
            pod.stage = Stage.BINDING
            self._cluster.note(pod, names[row])
            if gang is not None:
                gang.count(pod)
        if self.bypass.any_wait:
            self.bypass.leaves(unit.key)
            self.bypass.passes(unit.order, [row for _, row in binds])
        self._decisions.append(Bind(unit.name, tuple([Placement(pod.uid, pod.key, names[row]) for pod, row in binds])))

    def _success(self, unit: Unit, placed: int, needed: int) -> Tried:
        verdict = Verdict(unit=unit.name, outcome=Outcome.PLACED, placed=placed, needed=needed)
        self._audit.record(Attempt(self._now, verdict))
        return Tried(unit, Outcome.PLACED, _WORK_PER_UNIT + _WORK_PER_POD * placed, _NOTHING, 0, 0)

    def _refusal(self, unit: Unit, verdict: Verdict, trial: Trial) -> Tried:
        self._audit.record(Attempt(self._now, verdict))
        wants = trial.wants()
        work = _WORK_PER_REFUSAL + len(wants) * (self._cluster.nodes.capacity // _NODES_PER_WORK)
        # room elsewhere may help sooner than its victims do, then it needs only what it still lacks
        room_for = trial.lacking if verdict.outcome is Outcome.PREEMPTING else verdict.needed
        return Tried(unit, verdict.outcome, work, wants, verdict.needed, room_for)
