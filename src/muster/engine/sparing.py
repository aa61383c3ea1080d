"""Whom of many victims a unit can do without: they are put back, most precious first, while it still has a place.

A scale tells whether it has.  There is one that counts, for members that depend on resources alone; one that does the
same sum for a single node; and one that tries, for all others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from operator import floordiv, sub
from typing import Protocol

import numpy as np

from muster.cluster.classes import PodClass
from muster.cluster.usage import Ints, Usage
from muster.framework.contract import Bools

Occupied = list[tuple[int, PodClass]]
"""Rows that a victim takes room on, and for what; a row may stand several times."""


# with arrays, many cost no more than so many one by one
_AT_ONCE = 64


class Scale(Protocol):
    """Weighs a unit against its victims, who are numbered, most precious first."""

    enough: bool
    """The unit has a place if all of them go."""
    spared: list[bool]
    few: int
    """So many victims are better looked at one by one."""

    def spare(self, first: int, end: int) -> bool:
        """Puts these victims back, unless the unit then has no place; whether it did."""

    def spare_each(self, first: int, end: int) -> None:
        """Puts back each of these victims that it can, one after another."""


def sparing(scale: Scale) -> Iterator[int]:
    """Puts back whom it can; of those who are left none could be spared.  Yields how many it has looked at each time.

    Exactly as if one after another were put back: if all of a stretch can be, each of them can.
    """
    stretches = [(0, len(scale.spared))]
    while stretches:
        first, end = stretches.pop()
        if end - first <= scale.few:
            scale.spare_each(first, end)
        elif not scale.spare(first, end):
            middle = (first + end) // 2
            stretches += [(middle, end), (first, middle)]
        yield min(end - first, _AT_ONCE)


class Counting:
    """For members of one class that depend on resources alone: it is enough to count the copies that nodes take."""

    # so many are put back faster with plain numbers than with arrays
    few = 64

    def __init__(
        self,
        pod_class: PodClass,
        free: Ints,
        usable: Bools,
        victims: Sequence[Occupied],
        *,
        needed: int | None,
        most: int,
    ) -> None:
        """`needed` members must have a place; None for as many of `most` as can have one if all victims go."""
        resources = pod_class.line.need_rows.tolist()
        self._need = pod_class.line.need[:, 0]
        self._usable = usable & (not pod_class.unknown)
        self._ends = list(accumulate(map(len, victims), initial=0))
        self._rows = [row for occupied in victims for row, _ in occupied]
        self._kinds = [kind for occupied in victims for _, kind in occupied]
        self._amounts = {kind: _amounts(kind, resources) for kind in dict.fromkeys(self._kinds)}
        """What a pod of each of the victims' classes takes of the resources that count."""
        numbers = {kind: number for number, kind in enumerate(self._amounts)}
        amounts = np.array(list(self._amounts.values()), np.int64).reshape(len(numbers), len(resources))
        self._takes: Ints = amounts[[numbers[kind] for kind in self._kinds]]
        self._free: Ints = free[resources]
        np.add.at(self._free.T, self._rows, self._takes)
        self._copies = self._count(self._free, self._usable)
        self._total = int(self._copies.sum())
        self._needed = min(most, self._total) if needed is None else needed
        self.enough = 0 < self._needed <= self._total
        self.spared = [False] * len(victims)

    def spare(self, first: int, end: int) -> bool:
        part = slice(self._ends[first], self._ends[end])
        rows, places = np.unique(np.array(self._rows[part], np.intp), return_inverse=True)
        free = self._free[:, rows]
        np.subtract.at(free.T, places, self._takes[part])
        copies = self._count(free, self._usable[rows])
        total = self._total - int(self._copies[rows].sum()) + int(copies.sum())
        if total < self._needed:
            return False
        self._free[:, rows] = free
        self._copies[rows] = copies
        self._total = total
        self.spared[first:end] = [True] * (end - first)
        return True

    def spare_each(self, first: int, end: int) -> None:
        rows = list(dict.fromkeys(self._rows[self._ends[first] : self._ends[end]]))
        free = dict(zip(rows, self._free[:, rows].T.tolist(), strict=True))
        copies = dict(zip(rows, self._copies[rows].tolist(), strict=True))
        usable = dict(zip(rows, self._usable[rows].tolist(), strict=True))
        need = self._need[:, 0].tolist()
        for number in range(first, end):
            left: dict[int, list[int]] = {}
            for place in range(self._ends[number], self._ends[number + 1]):
                row, takes = self._rows[place], self._amounts[self._kinds[place]]
                left[row] = list(map(sub, left.get(row) or free[row], takes))
            total, after = self._total, {}
            for row, room in left.items():
                after[row] = max(0, min(map(floordiv, room, need))) if usable[row] else 0
                total += after[row] - copies[row]
            if total >= self._needed:
                free.update(left)
                copies.update(after)
                self._total = total
                self.spared[number] = True
        self._free[:, rows] = np.array(list(free.values()), np.int64).reshape(len(rows), len(need)).T
        self._copies[rows] = list(copies.values())

    def _count(self, free: Ints, usable: Bools) -> Ints:
        copies: Ints = np.minimum.reduce(free // self._need)
        np.maximum(copies, 0, out=copies)
        copies *= usable
        return copies


class _OneByOne:
    """Scales that look at one victim as fast as at many."""

    few = 1

    def spare(self, first: int, end: int) -> bool:
        raise NotImplementedError

    def spare_each(self, first: int, end: int) -> None:
        for number in range(first, end):
            self.spare(number, number + 1)


class OneNode(_OneByOne):
    """The same for one pod on one node: a handful of numbers."""

    few = 1_000

    def __init__(self, pod_class: PodClass, row: int, free: Ints, victims: Sequence[Occupied]) -> None:
        need = self._need = dict(pod_class.room)
        self._parts = [_part_on(occupied, row) for occupied in victims]
        self._free = {r: int(free[r, row]) + sum(part.get(r, 0) for part in self._parts) for r in need}
        self.enough = not pod_class.unknown and all(self._free[r] >= amount for r, amount in need.items())
        self.spared = [False] * len(victims)

    def spare(self, first: int, end: int) -> bool:
        left = {r: free - sum(part.get(r, 0) for part in self._parts[first:end]) for r, free in self._free.items()}
        if any(left[resource] < amount for resource, amount in self._need.items()):
            return False
        self._free = left
        self.spared[first:end] = [True] * (end - first)
        return True


class Trying(_OneByOne):
    """For all others: a search, each time."""

    def __init__(self, fits: Callable[[Usage], bool], usage: Usage, victims: Sequence[Occupied]) -> None:
        """`usage` has none of the victims on it."""
        self._fits = fits
        self._usage = usage
        self._victims = victims
        self.enough = fits(usage)
        self.spared = [False] * len(victims)

    def spare(self, first: int, end: int) -> bool:
        usage = self._usage.copy()
        for occupied in self._victims[first:end]:
            for row, pod_class in occupied:
                usage.add(row, pod_class)
        if not self._fits(usage):
            return False
        self._usage = usage
        self.spared[first:end] = [True] * (end - first)
        return True


def count_copies(pod_class: PodClass, free: Ints, usable: Bools) -> Ints:
    """How many copies of the class rows with so much free room take, as far as resources go."""
    if pod_class.unknown:
        return np.zeros(free.shape[1], np.int64)
    line = pod_class.line
    copies: Ints = np.minimum.reduce(free[line.need_rows] // line.need[:, 0])
    np.maximum(copies, 0, out=copies)
    copies *= usable
    return copies


def _amounts(pod_class: PodClass, resources: list[int]) -> list[int]:
    asked = dict(pod_class.room)
    return [asked.get(resource, 0) for resource in resources]


def _part_on(occupied: Occupied, row: int) -> dict[int, int]:
    """What a victim takes on one row, by resource."""
    part: dict[int, int] = {}
    for at, pod_class in occupied:
        if at == row:
            for resource, amount in pod_class.room:
                part[resource] = part.get(resource, 0) + amount
    return part
