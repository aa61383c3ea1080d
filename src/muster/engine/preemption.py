"""Makes room for units that have no place: plans whom to evict, keeps what is freed, and notices when it is lost.

    no place → plan (planning.py) → evict (eviction.py), reserve (reservations.py) → place, or lost → plan again

A plan with thousands of candidates takes several turns; it is begun anew if anything changes meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from muster.cluster.cluster import Cluster
from muster.engine.audit import Tally
from muster.engine.decisions import Loss
from muster.engine.eviction import Eviction
from muster.engine.ground import Exclusion, Ground
from muster.engine.planning import Plan, Planner, Thinking
from muster.engine.reservations import Reservation, Reservations, Why
from muster.engine.unit import Unit
from muster.framework.profile import Profile
from muster.framework.views import Views

WORK_AT_ONCE = 20_000
"""A turn may take about so many microseconds."""
# a plan that is disturbed more often than this is made in one go: in a cluster that never rests it would not be done
_MOST_STARTS = 3


class MakingRoom(Enum):
    """What came of looking for room."""

    AS_BEFORE = 0
    RESERVED = 1
    """What is reserved for the unit will serve it when others have left."""
    MADE = 2
    """Something changed that may help the unit, at once or later."""
    THINKING = 3
    """Not known yet: the unit's next turn goes on with it."""


class _Thought:
    """A plan that is being made."""

    __slots__ = ("again", "plan", "ready", "thinking", "version")

    def __init__(self, version: tuple[str, int, int], thinking: Thinking | None, again: int) -> None:
        self.version = version
        """For which unit, and on which state of the cluster and of the unit."""
        self.thinking = thinking
        self.again = again
        """How often it was begun anew because something had changed."""
        self.ready = False
        self.plan: Plan | None = None


_NO_THOUGHT = _Thought(("", 0, 0), None, 0)


class Preemption:
    """Looks after units that others make way for."""

    def __init__(
        self,
        cluster: Cluster,
        profile: Profile,
        views: Views,
        *,
        planner: Planner,
        reservations: Reservations,
        eviction: Eviction,
        tally: Tally,
    ) -> None:
        self._cluster = cluster
        self._views = views
        self._rule = profile.gang_rule
        self._settings = profile.preemption
        self._planner = planner
        self._reservations = reservations
        self._eviction = eviction
        self._tally = tally
        self._thought = _NO_THOUGHT
        self.work = 0
        """What the last look for room took, in microseconds."""

    # --- what others ask ---

    def may_evict(self, unit: Unit, now: float) -> bool:
        """Whether others may be evicted for the unit, if there are any."""
        return self._planner.may_evict(unit) and not self.no_evictions(unit, now)

    def no_evictions(self, unit: Unit, now: float) -> str:
        """Why nobody may be evicted for the unit any more, although that would make room; "" if they may."""
        efforts = unit.efforts
        efforts.forget(now, after=self._settings.lapse_seconds)
        if efforts.rounds >= self._settings.rounds:
            times = "once" if efforts.rounds == 1 else f"{efforts.rounds} times"
            return f"others were evicted for it {times} in vain" if efforts.rounds else "that is switched off"
        if efforts.unbindable:
            return f"it could not be bound: {unit.bind_error or 'its time was over'}"
        return ""

    def could_help(self, unit: Unit, excluded: Callable[[Unit], tuple[Exclusion, ...]], now: float) -> bool:
        """Whether the unit might find a place if others left: no more than a guess, but a quick one.

        `excluded` says where the unit may not go.
        """
        if not self._planner.anybody_below(unit.priority) or not self.may_evict(unit, now):
            return False
        ground = Ground(self._cluster.nodes.usage, excluded(unit))
        return self._planner.could_help(unit.classes, unit.needed, unit.priority, ground)

    def waits_for_victims(self, key: str, now: float) -> bool:
        """Whether room is reserved for the unit that others are still leaving."""
        return self._reservations.of(key) is not None and self.loss(key, now) is None

    def loss(self, key: str, now: float) -> Why | None:
        """Why the places that are reserved for the unit will not serve it; None if they will, or none are."""
        reservation = self._reservations.of(key)
        patience = self._settings.patience_seconds
        return None if reservation is None else self._reservations.loss(reservation, now, patience=patience)

    # --- making room ---

    def make_room(self, unit: Unit, excluded: tuple[Exclusion, ...], now: float) -> MakingRoom:
        """Sees to it that a unit that has no place gets one if others leave."""
        self.work = 0
        reservation = self._reservations.of(unit.key)
        if reservation is not None:
            loss = self._why_lost(unit, reservation, now)
            if loss is None:
                reservation.restored = False
                return MakingRoom.RESERVED
            self._eviction.lose(unit.key, *loss, now)
        thought = self._think(unit, excluded, now)
        if not thought.ready:
            return MakingRoom.THINKING
        self._thought = _NO_THOUGHT
        self._tally.gangs_sought_victims += unit.is_gang
        self._tally.pods_sought_victims += not unit.is_gang
        plan = thought.plan
        if plan is None or (plan.pods and (self.no_evictions(unit, now) or now < unit.efforts.rests_until)):
            return MakingRoom.AS_BEFORE
        gave_way = False
        while plan is not None and self._eviction.give_up_binds(unit, plan.pods, now):
            # perhaps nobody need be evicted now
            gave_way = True
            plan = self._finish(self._planner.plan(unit, excluded=excluded, now=now))
        if plan is None:
            # who gave up their binds may be all who stood in the way
            return MakingRoom.MADE if gave_way else MakingRoom.AS_BEFORE
        self._eviction.carry_out(unit, plan, now, gave_way=gave_way)
        return MakingRoom.MADE

    def forget(self) -> None:
        """Whatever was being thought of is begun anew: it failed half-way."""
        self._thought = _NO_THOUGHT

    def _think(self, unit: Unit, excluded: tuple[Exclusion, ...], now: float) -> _Thought:
        """Goes on with the unit's plan, from the start if anything has changed, for one turn."""
        thought, version = self._thought, (unit.key, self._cluster.version, unit.changes)
        if thought.version != version:
            again = thought.again + 1 if thought.version[0] == unit.key else 0
            thought = self._thought = _Thought(version, self._planner.plan(unit, excluded=excluded, now=now), again)
        while not thought.ready and (self.work < WORK_AT_ONCE or thought.again > _MOST_STARTS):
            try:
                assert thought.thinking is not None
                self.work += next(thought.thinking)
            except StopIteration as done:
                thought.ready, thought.plan = True, done.value
        return thought

    def _finish(self, thinking: Thinking) -> Plan | None:
        """The plan, however long it takes."""
        while True:
            try:
                self.work += next(thinking)
            except StopIteration as done:
                plan: Plan | None = done.value
                return plan

    # --- what is reserved ---

    def _why_lost(self, unit: Unit, reservation: Reservation, now: float) -> Why | None:
        """Why what is reserved for the unit, which has no place now, will not serve it; None if it will."""
        patience = self._settings.patience_seconds
        return (
            self.loss(unit.key, now)
            or self._outgrown(unit, reservation)
            or self._reservations.waited_in_vain(reservation, now, patience=patience)
        )

    def _outgrown(self, unit: Unit, reservation: Reservation) -> Why | None:
        """The unit needs more than before, or the nodes no longer admit it."""
        reserved: dict[str, int] = {}
        for pod in reservation.pods:
            reserved[pod.subset] = reserved.get(pod.subset, 0) + 1
            if not self._views.rules(pod.pod_class.rules).admitted[self._cluster.nodes.rows[pod.reserved]]:
                return Loss.NODE, f"node {pod.reserved} no longer admits {pod.key}"
        if unit.lacking(self._rule, reserved):
            return Loss.PREEMPTOR, "it needs more members than before"
        return None
