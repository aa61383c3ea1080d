"""The scheduling queue: which phase every unit is in, and how it gets into another (life.py).

Whoever moves a unit does it here, for a cause, so that a unit is in one place only and in nobody's books when it has
left.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right, insort
from collections import Counter
from collections.abc import Callable
from itertools import chain, islice
from zlib import crc32

from muster.base.backoff import backoff_seconds
from muster.cluster.classes import PodClass
from muster.cluster.nodes import NodeTable
from muster.engine.life import WAYS, Cause, Phase, State
from muster.engine.timers import Purpose, Timers
from muster.engine.unit import Order, Unit
from muster.engine.waiting import Parked, WaitingRoom
from muster.framework.contract import Bools
from muster.framework.profile import Profile
from muster.framework.views import Views

_BOOKINGS_PER_DECIDE = 300_000
# looking at one takes about 50 µs with 5,000 nodes
_HOPEFUL_AT_ONCE = 8
_HOPEFUL_IN_A_ROW = 56
# some seconds of deciding
_REMEMBERED_WORK = 5_000_000

# every pod passes these: `Phase.READY` takes 70 ns in Python 3.11, this name 5
_READY, _TRYING, _TURN, _PUT_BACK = Phase.READY, Phase.TRYING, Cause.TURN, Cause.PUT_BACK
_WAITING, _RESERVING = Phase.WAITING, Phase.RESERVING

_Entry = tuple[Order, int, Unit]
"""A unit with the order and the ticket that it had when it came: void if it has another ticket now."""


class SchedulingQueue:
    """All units.  `now` is set by whoever decides."""

    def __init__(self, profile: Profile, views: Views, nodes: NodeTable, timers: Timers) -> None:
        self._backoff = profile.backoff
        self._timers = timers
        self._heap: list[_Entry] = []
        """The ready units, best first."""
        self._waiting = WaitingRoom(views, nodes)
        self._share = Share(profile.fairness.failing_share)
        self._hopeful: list[_Entry] = []
        """Units that wait and may have others evicted, in order."""
        self._asking: list[_Entry] = []
        """Those of them who are asked in the next turns whether freed room would do if others left."""
        self._asked_last: tuple[Order, int] | None = None
        self._aside: list[Unit] = []
        """Units that keep failing and let others go first, this turn."""
        self._moves = 0
        self.now = 0.0
        self.ready = 0
        """How many units are to be decided."""
        self.unforeseen: Counter[tuple[State, Cause, State]] = Counter()
        """Ways that units went although the table of transitions does not have them."""

    def ask_about_holds(self, held_from: Callable[[Unit], Bools | None], is_held: Callable[[int], bool]) -> None:
        """Sets who says which rows a unit may not use, since they are held for others, and whether one is held."""
        self._waiting.held_from, self._waiting.is_held = held_from, is_held

    @property
    def asking(self) -> bool:
        """Whether somebody is still to be asked if freed room would do."""
        return bool(self._asking)

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def parked(self, unit: Unit) -> Parked | None:
        return self._waiting.parked(unit.key)

    # --- one unit ---

    def _move(self, unit: Unit, phase: Phase, cause: Cause) -> None:
        before = unit.phase
        if before is not phase:
            if (before, cause, phase) not in WAYS:
                # a gap in the table is no reason to let anybody wait; simulated worlds do not pass it over
                self.unforeseen[before, cause, phase] += 1
            self.ready += (phase is _READY) - (before is _READY)
            unit.phase = phase
        if before is _WAITING or before is _RESERVING:
            self._waiting.leave(unit.key)
        self._moves += 1
        unit.ticket = self._moves

    def push(self, unit: Unit, cause: Cause) -> None:
        """Ready now."""
        self._move(unit, _READY, cause)
        if cause is not _PUT_BACK:
            unit.woken_by = cause
        heapq.heappush(self._heap, (unit.order, unit.ticket, unit))

    def wake(self, unit: Unit, cause: Cause) -> None:
        """Ready now, or when its backoff is over."""
        if unit.failures > 1:
            wait = self._backoff
            ready_at = unit.tried_at + backoff_seconds(
                unit.failures - 1, size=len(unit.candidates), initial=wait.initial, maximum=wait.maximum
            )
            if ready_at > self.now:
                self._back_off(unit, cause, ready_at)
                return
        self.push(unit, cause)

    def step_back(self, unit: Unit, cause: Cause) -> None:
        """Ready after a moment, though nothing of it has failed."""
        self._back_off(unit, cause, self.now + self._backoff.initial)

    def _back_off(self, unit: Unit, cause: Cause, ready_at: float) -> None:
        self._move(unit, Phase.BACKING_OFF, cause)
        self._timers.set(ready_at, Purpose.TRY, key=unit.key, ticket=unit.ticket)

    def rest(self, unit: Unit, phase: Phase, cause: Cause) -> None:
        """The queue does nothing with the unit: it is assembling, settled, or gone."""
        self._move(unit, phase, cause)

    def park(
        self,
        unit: Unit,
        wants: dict[PodClass, int],
        room_for: int,
        *,
        reserved: bool,
        may_evict: bool,
        rests_until: float,
    ) -> None:
        """The unit waits until there is room for so many of its members; or, if it may evict, until that would help."""
        if reserved:
            self._move(unit, Phase.RESERVING, Cause.RESERVED)
        else:
            self._move(unit, Phase.WAITING, Cause.REFUSED)
        self._waiting.park(unit, wants, room_for)
        # spread by name, so that units refused together do not come back together
        spread = crc32(unit.name.encode()) / 2**32
        again_at = self.now + self._backoff.flush * (1 + spread)
        if rests_until > self.now:
            again_at = min(again_at, rests_until)
        self._timers.set(again_at, Purpose.TRY, key=unit.key, ticket=unit.ticket)
        if may_evict:
            if len(self._hopeful) > 2 * len(self._waiting) + _HOPEFUL_AT_ONCE:
                self._hopeful = list(filter(_still_there, self._hopeful))
            insort(self._hopeful, (unit.order, unit.ticket, unit), key=_place)

    # --- whose turn it is ---

    def pop(self) -> Unit | None:
        """The best ready unit; those that keep failing stand aside while others are ready and they had their share."""
        while (unit := self._pop()) is not None:
            if unit.failures <= 1 or self._share.left or not self.ready:
                return unit
            self._aside.append(unit)
            # the room that it was woken for is offered to the next
            self.offer_room()
        return self._aside.pop(0) if self._aside else None

    def pop_along(self, last: PodClass) -> Unit | None:
        """The best ready unit, to be decided together with the last, of that class.

        None if its turn depends on what they spend, or on whether the last lets somebody have a place who goes first:
        passed by the unit, that one would have it evicted.
        """
        unit = self._best()
        if unit is None or unit.failures > 1 or self._waiting.matters(last, unit.priority):
            return None
        return self._take(unit)

    def _pop(self) -> Unit | None:
        unit = self._best()
        return None if unit is None else self._take(unit)

    def _take(self, best: Unit) -> Unit:
        heapq.heappop(self._heap)
        self._move(best, _TRYING, _TURN)
        return best

    def _best(self) -> Unit | None:
        while self._heap:
            if _still_there(self._heap[0]):
                return self._heap[0][2]
            heapq.heappop(self._heap)
        return None

    def end_turn(self) -> None:
        """Nobody is decided any more, for now: who stood aside is ready again."""
        for unit in self._aside:
            self.push(unit, Cause.PUT_BACK)
        self._aside.clear()

    def spend(self, work: int) -> None:
        """So much work went into units."""
        self._share.spend(work)

    def spend_in_vain(self, work: int) -> None:
        """So much of it went into one that keeps failing."""
        self._share.spend_in_vain(work)

    # --- those who wait ---

    @property
    def company_changed(self) -> bool:
        """Pods came or went, and somebody waits to whom that may matter."""
        return self._waiting.company_changed

    def notice(self) -> int:
        """Books nodes whose room or facts changed; returns how many are left to book."""
        return self._waiting.notice(1 + _BOOKINGS_PER_DECIDE // (1 + len(self._waiting)))

    def offer_room(self) -> bool:
        """Wakes the units that freed room can help; whether there were any."""
        found = False
        while woken := self._waiting.offer():
            found = True
            for unit in woken:
                self.wake(unit, Cause.ROOM_GREW)
            if all(unit.phase is Phase.READY for unit in woken):
                break
            # a unit that must still back off leaves the room to the next
        return found

    def ask_again(self) -> None:
        """Somebody has become less important: others may be evicted for more units than before."""
        self._waiting.grew = True

    def wake_preemptors(self, could_help: Callable[[Unit], bool]) -> None:
        """Wakes the first units that would have a place if, beside the room that was freed, others left.

        What pods below a unit take does not count: whether they come or go, they are in nobody's way.
        """
        if self._waiting.grew:
            self._waiting.grew = False
            self._asking = self._whom_to_ask()
        for entry in self._asking[:_HOPEFUL_AT_ONCE]:
            if _still_there(entry) and could_help(entry[2]):
                self.wake(entry[2], Cause.MAY_EVICT)
        del self._asking[:_HOPEFUL_AT_ONCE]

    def _whom_to_ask(self) -> list[_Entry]:
        """The best of them, and some others: with thousands of them, other ones each time."""
        hopeful = self._hopeful
        best = list(islice(filter(_still_there, hopeful), _HOPEFUL_AT_ONCE))
        if not best:
            hopeful.clear()
        begin = bisect_right(hopeful, _place(best[-1]), key=_place) if best else 0
        first = bisect_right(hopeful, self._asked_last, begin, key=_place) if self._asked_last else begin
        others = map(hopeful.__getitem__, chain(range(first, len(hopeful)), range(begin, first)))
        chosen = list(islice(filter(_still_there, others), _HOPEFUL_IN_A_ROW))
        self._asked_last = _place(chosen[-1]) if chosen else None
        return best + chosen


class Share:
    """How much of the work went into units that keep failing; what is long past counts less and less."""

    def __init__(self, most: float) -> None:
        self._most = most
        self._all = self._failing = 0.0

    def spend_in_vain(self, work: int) -> None:
        self._failing += work

    def spend(self, work: int) -> None:
        """All of it, what was in vain too."""
        self._all += work
        if self._all > _REMEMBERED_WORK:
            self._all /= 2
            self._failing /= 2

    @property
    def left(self) -> bool:
        """Whether units that keep failing may be tried although others are ready."""
        return self._failing <= self._most * self._all


def _place(entry: _Entry) -> tuple[Order, int]:
    return entry[:2]


def _still_there(entry: _Entry) -> bool:
    _, ticket, unit = entry
    return unit.ticket == ticket
