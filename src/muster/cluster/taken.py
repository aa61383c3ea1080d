"""State of a plugin about things that pods take on their node: ports, disks, places for volumes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Generic, Self, TypeVar

from muster.cluster.classes import PodClass

_Thing = TypeVar("_Thing")
_How = TypeVar("_How")


class TakenState(ABC, Generic[_Thing, _How]):
    """For each thing, the rows where it is taken, and how: once for every pod that takes it.

    Copies share what they do not change: a cluster has thousands of taken things, a trial takes a few.
    """

    def __init__(self) -> None:
        self.taken: dict[_Thing, dict[int, tuple[_How, ...]]] = {}
        self._own: set[_Thing] = set()
        """Things whose rows no copy shares."""

    @abstractmethod
    def things(self, pod_class: PodClass) -> Iterable[tuple[_Thing, _How]]:
        """What a pod of the class takes, and how."""

    def add(self, row: int, pod_class: PodClass) -> None:
        for thing, how in self.things(pod_class):
            rows = self._rows(thing)
            rows[row] = (*rows.get(row, ()), how)

    def remove(self, row: int, pod_class: PodClass) -> None:
        for thing, how in self.things(pod_class):
            rows = self._rows(thing)
            left = list(rows[row])
            left.remove(how)
            rows[row] = tuple(left)
            if not left:
                del rows[row]

    def clear(self, row: int) -> None:
        for thing, rows in list(self.taken.items()):
            if row in rows:
                del self._rows(thing)[row]

    def copy(self) -> Self:
        twin = type(self)()
        twin.taken = self.taken.copy()
        self._own.clear()
        return twin

    def settle(self) -> None:
        """A thing is free as soon as its pod is gone."""

    def _rows(self, thing: _Thing) -> dict[int, tuple[_How, ...]]:
        if thing not in self._own:
            self.taken[thing] = self.taken.get(thing, {}).copy()
            self._own.add(thing)
        return self.taken[thing]
