"""Whom of many victims a unit can do without: they are put back, most precious first, while it still has a place.

A scale tells whether it has.  There is one that counts, for members of one shape that depend on resources alone; one
that does the same sum for a single node; one that packs, for members of several shapes; and one that tries, for all
others.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from operator import add, floordiv, sub
from typing import Protocol

import numpy as np

from muster.cluster.census import Aside
from muster.cluster.classes import PodClass
from muster.cluster.nodes import Rows
from muster.cluster.usage import Ints, Usage
from muster.engine.packing import Load, pack
from muster.framework.contract import Bools

_WORK_PER_LOAD = 20
_NODES_PER_WORK = 30
_WORK_PER_COPY = 100


class Scale(Protocol):
    """Weighs a unit against its victims, who are numbered, most precious first."""

    enough: bool
    """The unit has a place if all of them go."""
    reprieved: list[bool]
    few: int
    """So many victims are better looked at one by one."""

    @property
    def work(self) -> int:
        """Microseconds that looking at one takes, or at a stretch as at so many."""

    def put_back(self, first: int, end: int) -> bool:
        """Puts these victims back, unless the unit then has no place; whether it did."""

    def put_back_each(self, first: int, end: int) -> None:
        """Puts back each of these victims that it can, one after another."""


def reprieve(scale: Scale) -> Iterator[int]:
    """Puts back whom it can; of those who are left none could be spared.  Yields how many it has looked at each time.

    Exactly as if one after another were put back: if all of a stretch can be, each of them can.
    """
    stretches = [(0, len(scale.reprieved))]
    while stretches:
        first, end = stretches.pop()
        if end - first <= scale.few:
            scale.put_back_each(first, end)
        elif not scale.put_back(first, end):
            middle = (first + end) // 2
            stretches += [(middle, end), (first, middle)]
        yield min(end - first, max(1, scale.few))


class Occupied:
    """The room that victims take, in columns: one place for each of their pods, one victim after another."""

    __slots__ = ("asides", "ends", "kinds", "rows")

    def __init__(self) -> None:
        self.rows: list[int] = []
        self.kinds: list[PodClass] = []
        self.asides: list[Aside | None] = []
        """How a place counts that is only reserved."""
        self.ends = [0]
        """Where each victim's places begin, and those of the last one end."""

    def __len__(self) -> int:
        """How many victims there are."""
        return len(self.ends) - 1

    def joined(self, counts: Iterable[int]) -> Occupied:
        """The same places, with so many victims each time as if they were one."""
        joined = Occupied()
        joined.rows, joined.kinds, joined.asides = self.rows, self.kinds, self.asides
        joined.ends = [self.ends[number] for number in accumulate(counts, initial=0)]
        return joined

    def places(self) -> Iterator[tuple[int, PodClass, Aside | None]]:
        """All of them; a row may stand several times."""
        return zip(self.rows, self.kinds, self.asides, strict=True)

    def of(self, first: int, end: int) -> Iterator[tuple[int, PodClass, Aside | None]]:
        """Those of these victims."""
        part = slice(self.ends[first], self.ends[end])
        return zip(self.rows[part], self.kinds[part], self.asides[part], strict=True)


class _Pods:
    """What the pods at all places take, in columns."""

    def __init__(self, victims: Occupied, resources: list[int]) -> None:
        self.ends, self.rows, self.kinds = victims.ends, victims.rows, victims.kinds
        self.amounts = {kind: _amounts(kind, resources) for kind in dict.fromkeys(self.kinds)}
        """What a pod of each class takes of the resources that count."""
        numbers = {kind: number for number, kind in enumerate(self.amounts)}
        amounts = np.array(list(self.amounts.values()), np.int64).reshape(len(numbers), len(resources))
        self.takes: Ints = amounts[np.array([numbers[kind] for kind in self.kinds], np.intp)]

    def take_off(self, free: Ints) -> None:
        """Gives all that they take to `free`, (resources × rows)."""
        np.add.at(free.T, self.rows, self.takes)

    def of(self, first: int, end: int) -> tuple[Rows, Ints]:
        """The distinct rows of these victims, and what they take there: (resources × rows)."""
        part = slice(self.ends[first], self.ends[end])
        rows, places = np.unique(np.array(self.rows[part], np.intp), return_inverse=True)
        takes = np.zeros((len(rows), self.takes.shape[1]), np.int64)
        np.add.at(takes, places, self.takes[part])
        return rows, takes.T


class Counting:
    """For members of one class that depend on resources alone: it is enough to count the copies that nodes take."""

    # so many are put back faster with plain numbers than with arrays
    few = 64
    work = 4

    def __init__(
        self,
        pod_class: PodClass,
        free: Ints,
        usable: Bools,
        victims: Occupied,
        *,
        needed: Callable[[int], int],
    ) -> None:
        """`needed` tells how many members must have a place, if so many can have one when all victims go."""
        resources = pod_class.line.need_rows.tolist()
        self._need = pod_class.line.need[:, 0]
        self._usable = usable & (not pod_class.unknown)
        self._pods = _Pods(victims, resources)
        self._free: Ints = free[resources]
        self._pods.take_off(self._free)
        self._copies = self._count(self._free, self._usable)
        self._total = int(self._copies.sum())
        self._needed = needed(self._total)
        self.enough = 0 < self._needed <= self._total
        self.reprieved = [False] * len(victims)

    def put_back(self, first: int, end: int) -> bool:
        rows, takes = self._pods.of(first, end)
        free = self._free[:, rows] - takes
        copies = self._count(free, self._usable[rows])
        total = self._total - int(self._copies[rows].sum()) + int(copies.sum())
        if total < self._needed:
            return False
        self._free[:, rows] = free
        self._copies[rows] = copies
        self._total = total
        self.reprieved[first:end] = [True] * (end - first)
        return True

    def put_back_each(self, first: int, end: int) -> None:
        pods = self._pods
        rows = list(dict.fromkeys(pods.rows[pods.ends[first] : pods.ends[end]]))
        free = dict(zip(rows, self._free[:, rows].T.tolist(), strict=True))
        copies = dict(zip(rows, self._copies[rows].tolist(), strict=True))
        usable = dict(zip(rows, self._usable[rows].tolist(), strict=True))
        need = self._need[:, 0].tolist()
        for number in range(first, end):
            left: dict[int, list[int]] = {}
            for place in range(pods.ends[number], pods.ends[number + 1]):
                row, takes = pods.rows[place], pods.amounts[pods.kinds[place]]
                left[row] = list(map(sub, left.get(row) or free[row], takes))
            total, after = self._total, {}
            for row, room in left.items():
                after[row] = max(0, min(map(floordiv, room, need))) if usable[row] else 0
                total += after[row] - copies[row]
            if total >= self._needed:
                free.update(left)
                copies.update(after)
                self._total = total
                self.reprieved[number] = True
        self._free[:, rows] = np.array(list(free.values()), np.int64).reshape(len(rows), len(need)).T
        self._copies[rows] = list(copies.values())

    def _count(self, free: Ints, usable: Bools) -> Ints:
        copies: Ints = np.minimum.reduce(free // self._need)
        np.maximum(copies, 0, out=copies)
        copies *= usable
        return copies


class _OneByOne(ABC):
    """Scales that look at one victim as fast as at many."""

    few = 1

    @abstractmethod
    def put_back(self, first: int, end: int) -> bool: ...

    def put_back_each(self, first: int, end: int) -> None:
        for number in range(first, end):
            self.put_back(number, number + 1)


class OneNode(_OneByOne):
    """The same for one pod on one node: a handful of numbers."""

    few = 1_000
    work = 4

    def __init__(self, pod_class: PodClass, row: int, free: Ints, victims: Occupied) -> None:
        resources = [resource for resource, _ in pod_class.room]
        amounts = {kind: _amounts(kind, resources) for kind in dict.fromkeys(victims.kinds)}
        nothing = [0] * len(resources)
        self._ends = victims.ends
        self._takes = [amounts[kind] if at == row else nothing for at, kind, _ in victims.places()]
        """What the pod at each place takes here of the resources that count."""
        spare = [int(free[resource, row]) - need for resource, need in pod_class.room]
        for takes in self._takes:
            spare = list(map(add, spare, takes))
        self._spare = spare
        """What is left of these beside the pod; negative where it does not fit."""
        self.enough = not pod_class.unknown and min(spare, default=0) >= 0
        self.reprieved = [False] * len(victims)

    def put_back(self, first: int, end: int) -> bool:
        spare = self._spare
        for takes in self._takes[self._ends[first] : self._ends[end]]:
            spare = list(map(sub, spare, takes))
        if min(spare, default=0) < 0:
            return False
        self._spare = spare
        self.reprieved[first:end] = [True] * (end - first)
        return True


class Packing(_OneByOne):
    """For members of several classes, all needed, that depend on resources alone: packed anew where it must be."""

    def __init__(self, loads: Sequence[Load], free: Ints, precedence: Ints, victims: Occupied) -> None:
        self._loads = loads
        self._precedence = precedence
        self._pods = _Pods(victims, list(range(len(free))))
        self._free = free.copy()
        self._pods.take_off(self._free)
        packed = pack(loads, self._free, precedence)
        self._left = self._free if packed is None else packed.left
        self.enough = packed is not None
        self.reprieved = [False] * len(victims)
        self.work = 200 + len(loads) * (_WORK_PER_LOAD + free.shape[1] // _NODES_PER_WORK)

    def put_back(self, first: int, end: int) -> bool:
        rows, takes = self._pods.of(first, end)
        left = self._left[:, rows] - takes
        if (left >= 0).all():
            self._left[:, rows] = left
        else:
            # they would be in the way of where the members are now; perhaps the members can go elsewhere
            free = self._free.copy()
            free[:, rows] -= takes
            packed = pack(self._loads, free, self._precedence)
            if packed is None:
                return False
            self._left = packed.left
        self._free[:, rows] -= takes
        self.reprieved[first:end] = [True] * (end - first)
        return True


class Trying(_OneByOne):
    """For all others: a search, each time."""

    def __init__(
        self, fits: Callable[[Usage], bool], usage: Usage, victims: Occupied, *, work: Callable[[], int]
    ) -> None:
        """`usage` has none of the victims on it; `work` is what searching took since it was last asked."""
        self._work = work
        self._fits = fits
        self._usage = usage
        self._victims = victims
        self.enough = fits(usage)
        self.reprieved = [False] * len(victims)

    @property
    def work(self) -> int:
        return _WORK_PER_COPY + self._work()

    def put_back(self, first: int, end: int) -> bool:
        usage = self._usage.copy()
        for row, pod_class, aside in self._victims.of(first, end):
            usage.add(row, pod_class, aside=aside)
        if not self._fits(usage):
            return False
        self._usage = usage
        self.reprieved[first:end] = [True] * (end - first)
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


def copies_without_each(pod_class: PodClass, free: Ints, usable: Bools, crowds: Occupied) -> Ints:
    """For each of the crowds: how many copies all rows take, as far as resources go, if it alone leaves."""
    before = count_copies(pod_class, free, usable)
    resources = pod_class.line.need_rows.tolist()
    pods = _Pods(crowds, resources)
    owners = np.repeat(np.arange(len(crowds)), np.diff(pods.ends))
    # one cell for each row that a crowd has pods on
    cells, places = np.unique(owners * free.shape[1] + np.array(pods.rows, np.intp), return_inverse=True)
    owner, row = np.divmod(cells, free.shape[1])
    after = np.zeros((free.shape[0], len(cells)), np.int64)
    after[:] = free[:, row]
    for place, resource in enumerate(resources):
        np.add.at(after[resource], places, pods.takes[:, place])
    gained = count_copies(pod_class, after, usable[row]) - before[row]
    totals = np.full(len(crowds), before.sum())
    np.add.at(totals, owner, gained)
    return totals


def _amounts(pod_class: PodClass, resources: list[int]) -> list[int]:
    taken = dict(pod_class.takes)
    return [taken.get(resource, 0) for resource in resources]
