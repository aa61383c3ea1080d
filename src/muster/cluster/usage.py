"""What placements change: the room left on every node.  A trial is a copy of this and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from muster.base.arrays import grown
from muster.cluster.census import Aside, Census
from muster.cluster.changelog import ChangeLog
from muster.cluster.classes import PodClass
from muster.cluster.ties import Namespaces

Ints = NDArray[np.int64]

# so many rows are changed faster one by one than with arrays
_FEW = 16


class RowState(Protocol):
    """State of a plugin's own that placements change (ports, counters, claims); copied with every trial."""

    def add(self, row: int, pod_class: PodClass) -> None:
        """One copy of the class was placed on the row."""

    def remove(self, row: int, pod_class: PodClass) -> None:
        """One copy of the class left the row."""

    def clear(self, row: int) -> None:
        """The row is empty: its node came, went or is counted anew."""

    def copy(self) -> Self:
        """A state that changes on its own."""

    def settle(self) -> None:
        """Whatever those had who are gone has been given back; on trials only."""


class Usage:
    """Room on every node: `free` as filters count it, `scored` as scores count it.

    Both are (resources × rows), halves of one `block`, so that one gathering serves both.  Absent rows have no
    room at all, so no filter needs to ask whether a row is in use.  `log` names changed rows.  `freed` holds rows
    whose room has grown since somebody last took notice (`take_freed`), with the room that was there before it
    first did: what whoever was refused has seen.  `census` has where pods stand that others look at.

    Room that is reserved for pods which are awaited is not free; to scores, as upstream has it, it is.
    """

    __slots__ = ("awaited", "block", "census", "failures", "free", "freed", "is_trial", "log", "scored", "states")

    def __init__(self, block: Ints, *, states: Mapping[str, RowState], census: Census) -> None:
        self.block = block
        self.free, self.scored = block[: len(block) // 2], block[len(block) // 2 :]
        self.awaited: Ints | None = None
        """What is reserved, of what is not free, (resources × rows); None if nothing is."""
        self.states = dict(states)
        self.census = census
        self.log = ChangeLog()
        self.is_trial = False
        """A copy: its log, from the start, has the rows that differ from the cluster's."""
        self.freed: dict[int, Ints] = {}
        self.failures = 0
        """How often a plugin's state raised instead of taking in what is so; to be set back."""

    def copy(self) -> Usage:
        """A trial: placements on it change nothing else."""
        states = {name: state.copy() for name, state in self.states.items()}
        twin = Usage(self.block.copy(), states=states, census=self.census.copy())
        twin.is_trial = True
        twin.awaited = None if self.awaited is None else self.awaited.copy()
        if self.is_trial:
            twin.log = self.log.copy()
        return twin

    @classmethod
    def of_empty_nodes(
        cls, allocatable: Ints, *, states: Mapping[str, RowState], namespaces: Namespaces | None = None
    ) -> Usage:
        """The room there is if nothing runs."""
        census = Census(namespaces or Namespaces(), capacity=allocatable.shape[1])
        return cls(np.concatenate((allocatable, allocatable)), states=states, census=census)

    def add(self, row: int, pod_class: PodClass, *, aside: Aside | None = None) -> None:
        """One copy of the class takes its room on the row."""
        self._change(row, pod_class, -1, aside)
        if pod_class.ties is not None:
            self.census.move(row, pod_class.ties, aside, 1)
        for state in self.states.values():
            try:
                state.add(row, pod_class)
            except Exception as error:
                self._failed(error)

    def remove(self, row: int, pod_class: PodClass, *, aside: Aside | None = None) -> None:
        """One copy of the class gives its room back."""
        if row not in self.freed:
            self.freed[row] = self.free[:, row].copy()
        self._change(row, pod_class, 1, aside)
        self._uncount(row, pod_class, aside)
        for state in self.states.values():
            try:
                state.remove(row, pod_class)
            except Exception as error:
                self._failed(error)

    def _uncount(self, row: int, pod_class: PodClass, aside: Aside | None) -> None:
        if pod_class.ties is not None:
            self.census.move(row, pod_class.ties, aside, -1)

    def leave(self, row: int, pod_class: PodClass, count: int = 1) -> None:
        """One copy of the class on the row is on its way out, or after all is not (-1)."""
        if pod_class.ties is not None:
            self.census.set_aside(row, pod_class.ties, Aside.LEAVING, count)

    def _failed(self, error: Exception) -> None:
        """A plugin's state raised.  On a trial that costs whoever tries; else what is so is so, whoever raises."""
        if self.is_trial:
            raise error
        self.failures += 1

    def _change(self, row: int, pod_class: PodClass, sign: int, aside: Aside | None) -> None:
        if aside is Aside.AWAITED:
            self._reserve(row, pod_class, sign)
            return
        free, scored = self.free, self.scored
        for resource, amount in pod_class.takes:
            free[resource, row] += sign * amount
            scored[resource, row] += sign * amount
        # where containers name no request, scores count more than filters do
        for resource, amount in pod_class.extra:
            scored[resource, row] += sign * amount
        self.log.mark(row)

    def _reserve(self, row: int, pod_class: PodClass, sign: int) -> None:
        if self.awaited is None:
            self.awaited = np.zeros_like(self.free)
        for resource, amount in pod_class.takes:
            self.free[resource, row] += sign * amount
            self.awaited[resource, row] -= sign * amount
        if not self.awaited.any():
            self.awaited = None
        self.log.mark(row)

    def add_copies(self, rows: NDArray[np.intp], pod_class: PodClass) -> None:
        """One copy of the class on each of `rows`, in which a row may stand several times."""
        if len(rows) <= _FEW:
            for row in rows.tolist():
                self.add(row, pod_class)
            return
        self._change_copies(rows, pod_class, -1)
        if pod_class.ties is not None:
            for row in rows.tolist():
                self.census.add(row, pod_class.ties)
        for state in self.states.values():
            for row in rows.tolist():
                try:
                    state.add(row, pod_class)
                except Exception as error:
                    self._failed(error)

    def remove_copies(self, rows: NDArray[np.intp], pod_class: PodClass, *, leaving: bool) -> None:
        """One copy of the class leaves each of `rows`, in which a row may stand several times; on trials only.

        `leaving` if they were on their way out.
        """
        assert self.is_trial, "whoever waits for room reads off `freed` where it grew"
        self._change_copies(rows, pod_class, 1)
        for row in rows.tolist():
            self._uncount(row, pod_class, Aside.LEAVING if leaving else None)
            for state in self.states.values():
                state.remove(row, pod_class)

    def settle(self, rows: Iterable[int]) -> None:
        """Whatever those had who are gone has been given back, to these rows; on trials only."""
        assert self.is_trial
        for state in self.states.values():
            state.settle()
        self.log.mark_all(list(rows))

    def _change_copies(self, rows: NDArray[np.intp], pod_class: PodClass, sign: int) -> None:
        distinct, copies = np.unique(rows, return_counts=True)
        copies *= sign
        for resource, amount in pod_class.takes:
            self.free[resource, distinct] += amount * copies
            self.scored[resource, distinct] += amount * copies
        for resource, extra in pod_class.extra:
            self.scored[resource, distinct] += extra * copies
        self.log.mark_all(distinct.tolist())

    def add_each(self, rows: list[int], takes: Ints) -> None:
        """A pod on each of these distinct rows, which takes so much of the block (rows × block).

        For pods of classes that no plugin's state concerns; who has ties is counted by the caller.
        """
        self.block[:, rows] -= takes.T
        self.log.mark_all(rows)

    def touch(self, row: int, *, more: bool) -> None:
        """What a plugin keeps of the row has changed, though nobody came or went; perhaps there is `more` to be had."""
        if more and row not in self.freed:
            self.freed[row] = self.free[:, row].copy()
        self.log.mark(row)

    def open_up(self, rows: Iterable[int]) -> None:
        """Rows that were closed to somebody are not any more: whoever waits has seen no room there."""
        nothing = np.zeros(len(self.free), np.int64)
        for row in rows:
            self.freed[row] = nothing

    def reset(self, row: int, allocatable: Ints) -> None:
        """The row is an empty node with this much room, or no node at all (zeros)."""
        if row not in self.freed:
            self.freed[row] = self.free[:, row].copy()
        self.free[:, row] = allocatable
        self.scored[:, row] = allocatable
        if self.awaited is not None:
            self.awaited[:, row] = 0
        self.census.clear(row)
        for state in self.states.values():
            try:
                state.clear(row)
            except Exception as error:
                self._failed(error)
        self.log.mark(row)

    def grow(self, resources: int, rows: int) -> None:
        """More resources or more rows, all without room."""
        more = resources - self.free.shape[0], rows - self.free.shape[1]
        self.block = np.concatenate((grown(self.free, *more), grown(self.scored, *more)))
        self.free, self.scored = self.block[:resources], self.block[resources:]
        if self.awaited is not None:
            self.awaited = grown(self.awaited, *more)
        self.census.grow(rows)
        if more[0]:
            self.freed = {row: grown(free, more[0]) for row, free in self.freed.items()}

    def take_freed(self) -> dict[int, Ints]:
        """Rows whose room may have grown since the last call, with the room they had before."""
        freed, self.freed = self.freed, {}
        return freed
