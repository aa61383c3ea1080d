"""Where every unit stands: in the queue, in backoff, in the waiting room, or nowhere; and how it moves.

Whoever moves a unit calls here, so that it is in one place only and in nobody's books when it has left.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Callable
from zlib import crc32

from muster.base.backoff import backoff_seconds
from muster.cluster.classes import PodClass
from muster.cluster.nodes import NodeTable
from muster.engine.queue import Order, Queue, Share, Timers, Unit, Where
from muster.engine.waiting import Parked, WaitingRoom
from muster.framework.contract import Bools
from muster.framework.profile import Profile
from muster.framework.views import Views

UNIT = "unit"
"""The timer of a unit that comes back by itself."""

_BOOKINGS_PER_DECIDE = 300_000
# looking at one takes about 50 µs with 5,000 nodes
_HOPEFUL_AT_ONCE = 8
_HOPEFUL_IN_A_ROW = 56


_Hopeful = tuple[Order, int, Unit]


class Line:
    """All units that are not being decided.  `now` is set by whoever decides."""

    def __init__(self, profile: Profile, views: Views, nodes: NodeTable, timers: Timers) -> None:
        self._backoff = profile.backoff
        self._timers = timers
        self._queue = Queue()
        self._waiting = WaitingRoom(views, nodes)
        self._share = Share(profile.fairness.failing_share)
        self._hopeful: list[_Hopeful] = []
        """Units that wait and may have others evicted, in order, with the ticket that each had when it began to."""
        self._asking: list[_Hopeful] = []
        """Those of them who are asked in the next turns whether freed room would do if others left."""
        self._asked_last: tuple[Order, int] | None = None
        self._aside: list[Unit] = []
        """Units that keep failing and let others go first, this turn."""
        self.now = 0.0

    def ask_about_holds(self, held_from: Callable[[Unit], Bools | None], is_held: Callable[[int], bool]) -> None:
        """Sets who says which rows a unit may not use, since they are held for others, and whether one is held."""
        self._waiting.held_from, self._waiting.is_held = held_from, is_held

    @property
    def ready(self) -> int:
        """How many units are to be decided."""
        return len(self._queue)

    @property
    def asking(self) -> bool:
        """Whether somebody is still to be asked if freed room would do."""
        return bool(self._asking)

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def parked(self, unit: Unit) -> Parked | None:
        return self._waiting.parked(unit.key)

    # --- the queue ---

    def pop(self) -> Unit | None:
        """The best ready unit; those that keep failing stand aside while others are ready and they had their share."""
        while (unit := self._queue.pop()) is not None:
            if unit.failures <= 1 or self._share.left or not len(self._queue):
                return unit
            self._aside.append(unit)
            # the room that it was woken for is offered to the next
            self.wake()
        return self._aside.pop(0) if self._aside else None

    def pop_along(self) -> Unit | None:
        """The best ready unit, to be decided together with the last; None if its turn depends on what they spend."""
        unit = self._queue.best
        return None if unit is None or unit.failures > 1 else self._queue.pop()

    def end_turn(self) -> None:
        """Nobody is decided any more, for now: who stood aside is back in the queue."""
        for unit in self._aside:
            self._queue.push(unit)
        self._aside.clear()

    def spend(self, work: int) -> None:
        """So much work went into units."""
        self._share.spend(work)

    def spend_in_vain(self, work: int) -> None:
        """So much of it went into one that keeps failing."""
        self._share.spend_in_vain(work)

    # --- moving ---

    def push(self, unit: Unit) -> None:
        """Ready now."""
        if unit.where is Where.WAITING:
            self._waiting.leave(unit.key)
        self._queue.push(unit)

    def enqueue(self, unit: Unit) -> None:
        """Ready now, or when its backoff is over."""
        if unit.where is Where.WAITING:
            self._waiting.leave(unit.key)
        if unit.failures > 1:
            size = len(unit.gang.candidates) if unit.gang else 1
            wait = self._backoff
            ready_at = unit.tried_at + backoff_seconds(
                unit.failures - 1, size=size, initial=wait.initial, maximum=wait.maximum
            )
            if ready_at > self.now:
                self._queue.move(unit, Where.BACKOFF)
                self._timers.set(ready_at, UNIT, key=unit.key, ticket=unit.ticket)
                return
        self._queue.push(unit)

    def move(self, unit: Unit, where: Where) -> None:
        """Held, or nowhere."""
        if unit.where is Where.WAITING:
            self._waiting.leave(unit.key)
        self._queue.move(unit, where)

    def park(
        self, unit: Unit, wants: dict[PodClass, int], room_for: int, *, may_evict: bool, rests_until: float
    ) -> None:
        """The unit waits until there is room for so many of its members; or, if it may evict, until that would help."""
        self._queue.move(unit, Where.WAITING)
        self._waiting.park(unit, wants, room_for)
        # spread by name, so that units refused together do not come back together
        spread = crc32(unit.name.encode()) / 2**32
        again_at = self.now + self._backoff.flush * (1 + spread)
        if rests_until > self.now:
            again_at = min(again_at, rests_until)
        self._timers.set(again_at, UNIT, key=unit.key, ticket=unit.ticket)
        if may_evict:
            if len(self._hopeful) > 2 * len(self._waiting) + _HOPEFUL_AT_ONCE:
                self._hopeful = list(filter(_still_waits, self._hopeful))
            insort(self._hopeful, (unit.order, unit.ticket, unit), key=_place)

    # --- waking ---

    def notice(self) -> int:
        """Books nodes whose room or facts changed; returns how many are left to book."""
        return self._waiting.notice(1 + _BOOKINGS_PER_DECIDE // (1 + len(self._waiting)))

    def wake(self) -> bool:
        """Readies the units that freed room can help; whether there were any."""
        found = False
        while woken := self._waiting.offer():
            found = True
            for unit in woken:
                self.enqueue(unit)
            if all(unit.where is Where.READY for unit in woken):
                break
            # a unit that must still back off leaves the room to the next
        return found

    def ask_again(self) -> None:
        """Somebody has become less important: others may be evicted for more units than before."""
        self._waiting.grew = True

    def wake_preemptors(self, could_help: Callable[[Unit], bool]) -> None:
        """Readies the first units that would have a place if, beside the room that was freed, others left.

        What pods below a unit take does not count: whether they come or go, they are in nobody's way.
        """
        if self._waiting.grew:
            self._waiting.grew = False
            self._asking = self._whom_to_ask()
        for entry in self._asking[:_HOPEFUL_AT_ONCE]:
            if _still_waits(entry) and could_help(entry[2]):
                self.enqueue(entry[2])
        del self._asking[:_HOPEFUL_AT_ONCE]

    def _whom_to_ask(self) -> list[_Hopeful]:
        """The best of them, and some others: with thousands of them, other ones each time."""
        hopeful = self._hopeful = list(filter(_still_waits, self._hopeful))
        best, others = hopeful[:_HOPEFUL_AT_ONCE], hopeful[_HOPEFUL_AT_ONCE:]
        first = bisect_right(others, self._asked_last, key=_place) if self._asked_last else 0
        chosen = (others[first:] + others[:first])[:_HOPEFUL_IN_A_ROW]
        self._asked_last = _place(chosen[-1]) if chosen else None
        return best + chosen


def _place(entry: _Hopeful) -> tuple[Order, int]:
    return entry[:2]


def _still_waits(entry: _Hopeful) -> bool:
    _, ticket, unit = entry
    return unit.ticket == ticket
