"""Units that wait for room, and which of them a change can help.

For every class that somebody waits with, a total says how many copies the cluster takes (ledger.py).  It is repaired
one node at a time, for all waiting classes at once, so thousands of waiting gangs cost little while other work comes
and goes.  A total is never too low, so nobody who fits is overlooked; before a unit is woken its classes are counted
exactly.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable
from itertools import islice

import numpy as np

from muster.cluster.census import concerns
from muster.cluster.classes import PodClass
from muster.cluster.nodes import NodeTable, Rows
from muster.cluster.ties import Ties
from muster.engine.answers import count_bound, weight_bound
from muster.engine.ledger import Ledger, WantColumns
from muster.engine.unit import Order, Unit
from muster.framework.contract import Bools, Capacity
from muster.framework.views import Views

_PLENTY = 2**40
# about 5 ms with 5,000 nodes
_CLASSES_AT_ONCE = 256
_TIES_AT_ONCE = 64


_Wants = tuple[tuple[PodClass, int], ...]


class Parked:
    """One unit that waits: how many members of each class it has, and how many of them all it needs."""

    __slots__ = ("needed", "order", "ticket", "tried", "unit", "wants")

    def __init__(self, unit: Unit, wants: dict[PodClass, int], needed: int) -> None:
        self.unit = unit
        self.order, self.ticket = unit.order, unit.ticket
        self.wants = wants
        self.needed = needed
        self.tried: dict[PodClass, int] = {}
        """For each class, how often its room had grown when the unit was refused."""

    @property
    def has_changed(self) -> bool:
        """It has other members now than it waits with, or waits with several classes."""
        return len(self.wants) != 1 or self.unit.classes != self.wants


class _Want:
    """A class that somebody waits with; its numbers stand in the columns at `slot`."""

    __slots__ = ("parked", "slot")

    def __init__(self, slot: int) -> None:
        self.slot = slot
        self.parked: list[tuple[Order, int, Parked]] = []


class WaitingRoom:
    """Units waiting for room, by the classes they wait with; best unit first."""

    def __init__(self, views: Views, nodes: NodeTable) -> None:
        self._views = views
        self._nodes = nodes
        self.held_from: Callable[[Unit], Bools | None] = lambda unit: None
        """The rows that a unit may not use, since they are held for others."""
        self.is_held: Callable[[int], bool] = lambda row: False
        """Whether a row is held from anybody."""
        self._units: dict[str, Parked] = {}
        self._wants: dict[PodClass, _Want] = {}
        self._limited: dict[PodClass, _Want] = {}
        """Those of the classes that may be kept from nodes by where others are."""
        self._hot: dict[PodClass, None] = {}
        """Classes whose room has grown so that it may help somebody; to be offered."""
        self._columns = WantColumns()
        self._vacant: list[int] = []
        self._by_slot: list[PodClass | None] = []
        self._ledger = Ledger(nodes, views)
        self._weighed: dict[tuple[_Wants, int, bytes], bool] = {}
        """Whether units of several classes need more than there is: asked once for all who are alike."""
        self.grew = False
        """Room has grown since this was last set back."""

    def __len__(self) -> int:
        return len(self._units)

    def parked(self, key: str) -> Parked | None:
        return self._units.get(key)

    # --- coming and going ---

    def park(self, unit: Unit, wants: dict[PodClass, int], needed: int) -> None:
        """The unit waits until the cluster takes `needed` of its members, `wants` by class."""
        if not self._wants:
            self._ledger.start_over()
        parked = self._units[unit.key] = Parked(unit, wants, needed)
        for pod_class in wants:
            want = self._wants.get(pod_class) or self._add_class(pod_class)
            parked.tried[pod_class] = int(self._columns.growth[want.slot])
            insort(want.parked, (parked.order, parked.ticket, parked), key=_place)
            self._columns.least[want.slot] = min(self._columns.least[want.slot], _least(parked))
            # beside each other members of several classes may use room in which no more of either alone would fit
            self._columns.touchy[want.slot] |= len(wants) > 1 or self._touchy(pod_class)
            # whom only what it brings keeps from nodes is helped by what its supply says
            if pod_class.ties is not None and self._is_limited(pod_class):
                self._limited[pod_class] = want

    def leave(self, key: str) -> None:
        parked = self._units.pop(key, None)
        if parked is None:
            return
        for pod_class in parked.wants:
            want = self._wants[pod_class]
            del want.parked[bisect_left(want.parked, (parked.order, parked.ticket), key=_place)]
            if not want.parked:
                self._remove_class(pod_class)

    # --- what changed, and whom it helps ---

    @property
    def company_changed(self) -> bool:
        """Pods came or went, and somebody waits to whom that may matter."""
        return bool(self._limited) and self._nodes.usage.census.is_stirred

    def matters(self, pod_class: PodClass, priority: int) -> bool:
        """Whether somebody of more than this priority waits who may have a place once pods of the class have theirs."""
        if pod_class.ties is None or not self._limited:
            return False
        namespaces = self._nodes.usage.census.namespaces
        before = (c.ties for c, want in self._limited.items() if want.parked[0][2].unit.priority > priority)
        return any(ties is not None and concerns(ties, pod_class.ties, namespaces) for ties in before)

    def notice(self, limit: int) -> int:
        """Books up to `limit` nodes whose room or facts changed; returns how many are left to book."""
        stirred = self._nodes.usage.census.take_stirred()
        if not self._wants:
            # the ledger starts over with the next who waits
            self._nodes.usage.take_freed()
            return 0
        self._offer_company(stirred)
        self._ledger.collect()
        left, held = limit, []
        while left and (grown := self._ledger.next_grown()) is not None:
            left -= 1
            self.grew = True
            if self.is_held(grown[0]):
                held.append(grown[0])
            for slot in self._ledger.book(self._columns, *grown).tolist():
                pod_class = self._by_slot[slot]
                if pod_class is not None:
                    self._hot[pod_class] = None
        while left and (row := self._ledger.next_shrunk()) is not None:
            left -= 1
            self._ledger.book(self._columns, row, None)
        if held:
            self._offer_held(held)
        return self._ledger.grown_left

    def _offer_company(self, stirred: list[Ties] | None) -> None:
        """Pods came or went: those who look at them, or at whom they look, may have a place elsewhere now."""
        if not self._limited or stirred == []:
            return
        namespaces = self._nodes.usage.census.namespaces
        for pod_class, want in self._limited.items():
            ties = pod_class.ties
            assert ties is not None
            if pod_class in self._hot:
                continue
            # of many somebody will matter
            many = stirred is None or len(stirred) > _TIES_AT_ONCE
            if many or any(concerns(ties, other, namespaces) for other in stirred or ()):
                self._columns.growth[want.slot] += 1
                self._hot[pod_class] = None
                self.grew = True

    def _offer_held(self, rows: list[int]) -> None:
        """Room that is held may be more than is needed now, even for those who had enough of it before."""
        there: Rows = np.array(rows, np.intp)
        for pod_class, want in islice(self._wants.items(), _CLASSES_AT_ONCE):
            if pod_class not in self._hot and self._fits_on(pod_class, there):
                self._columns.growth[want.slot] += 1
                self._hot[pod_class] = None

    def offer(self) -> list[Unit]:
        """Takes out the units that grown room can help, best first for each class, as many as it holds."""
        woken: dict[str, Parked] = {}
        self._weighed.clear()
        for pod_class in sorted(self._hot, key=lambda c: c.order):
            want = self._wants.get(pod_class)
            found = self._helped(pod_class, want) if want else []
            if not found:
                del self._hot[pod_class]
            woken.update((parked.unit.key, parked) for parked in found)
        for key in woken:
            self.leave(key)
        return [parked.unit for parked in woken.values()]

    def _helped(self, pod_class: PodClass, want: _Want) -> list[Parked]:
        growth = int(self._columns.growth[want.slot])
        least = self._columns.least[want.slot] = min(_least(entry[2]) for entry in want.parked)
        found: list[Parked] = []
        in_all = room = self._room(pod_class, None)
        taken, full_from = 0, _PLENTY
        held: Bools | None = None
        for _, _, parked in want.parked:
            if in_all - taken < least:
                break
            # the further behind and the larger, the more is held from a unit, unless it mends what runs
            large = len(parked.wants) == 1 and parked.wants[pod_class] >= full_from
            if parked.tried[pod_class] == growth or (large and not parked.unit.mends):
                continue
            held_before, held = held, self._held_from(parked.unit)
            if held is not held_before:
                room = in_all if held is None else self._room(pod_class, held)
            if room - taken < least and not parked.has_changed and not parked.unit.mends:
                full_from = min(full_from, parked.wants[pod_class])
            if len(parked.wants) > 1:
                if self._hope(parked, held):
                    found.append(parked)
            elif parked.needed <= room - taken:
                found.append(parked)
                taken += parked.needed
        return found

    # a plugin's bug is no reason to let anybody wait: whoever is woken finds out when it is tried

    def _hope(self, parked: Parked, held: Bools | None) -> bool:
        """Whether it is not proven that a unit of several classes has no place."""
        fits = {other: self._room(other, held) for other in parked.wants}
        if count_bound(parked.wants, fits, parked.needed) is not None:
            return False
        # by what is held, not by who says so: an array made for this unit alone gives its address to the next one
        alike = tuple(parked.wants.items()), parked.needed, b"" if held is None else held.tobytes()
        if alike not in self._weighed:
            self._weighed[alike] = self._outweighs(parked, held)
        return not self._weighed[alike]

    def _outweighs(self, parked: Parked, held: Bools | None) -> bool:
        """Whether the unit needs more of a resource than there is."""
        try:
            copies = {other: self._views.of(other).copies for other in parked.wants}
        except Exception:
            return False
        if held is not None:
            copies = {other: there * ~held for other, there in copies.items()}
        return weight_bound(parked.wants, parked.needed, copies, self._nodes.usage.free) is not None

    def _room(self, pod_class: PodClass, held: Bools | None) -> int:
        try:
            copies = self._views.of(pod_class).copies
        except Exception:
            return _PLENTY
        return int(copies.sum() if held is None else copies[~held].sum())

    def _fits_on(self, pod_class: PodClass, rows: Rows) -> bool:
        try:
            return bool(self._views.copies_on(pod_class, self._nodes.usage, rows).any())
        except Exception:
            return True

    def _held_from(self, unit: Unit) -> Bools | None:
        try:
            return self.held_from(unit)
        except Exception:
            return None

    def _touchy(self, pod_class: PodClass) -> bool:
        try:
            return self._views.capacity(pod_class) is not Capacity.EXACT
        except Exception:
            return True

    def _is_limited(self, pod_class: PodClass) -> bool:
        try:
            return self._views.capacity(pod_class) is Capacity.BY_OTHERS
        except Exception:
            return True

    # --- the columns ---

    def _add_class(self, pod_class: PodClass) -> _Want:
        if not self._vacant:
            first = len(self._by_slot)
            self._columns.grow(max(64, first * 2), len(self._nodes.resources))
            self._by_slot.extend([None] * (len(self._columns.total) - first))
            self._vacant.extend(range(len(self._by_slot) - 1, first - 1, -1))
        want = self._wants[pod_class] = _Want(self._vacant.pop())
        self._by_slot[want.slot] = pod_class
        self._columns.fit(len(self._nodes.resources))
        touchy = self._touchy(pod_class)
        self._columns.put(want.slot, pod_class, rules=self._ledger.take_rules(pod_class.rules), touchy=touchy)
        self._columns.total[want.slot] = self._ledger.count(pod_class)
        return want

    def _remove_class(self, pod_class: PodClass) -> None:
        slot = self._wants.pop(pod_class).slot
        self._limited.pop(pod_class, None)
        self._by_slot[slot] = None
        self._columns.least[slot] = np.inf
        self._columns.rules[slot] = 0
        self._ledger.leave_rules(pod_class.rules)
        self._vacant.append(slot)
        self._hot.pop(pod_class, None)


def _place(entry: tuple[Order, int, Parked]) -> tuple[Order, int]:
    return entry[:2]


def _least(parked: Parked) -> int:
    """The fewest copies of one class that could help the unit."""
    return parked.needed if len(parked.wants) == 1 else 1
