"""How much room pods of each priority take: what a unit could hope for if all below it left."""

from __future__ import annotations

import numpy as np

from muster.base.arrays import grown
from muster.cluster.classes import PodClass
from muster.cluster.pods import PodState
from muster.cluster.usage import Ints

# so many changes wait to be counted at most
_MOST_WAITING = 20_000


class Levels:
    """For each priority the room that its pods take, (resources × rows).

    Most of what comes and goes is never asked for: changes are noted, and counted when somebody asks.
    """

    def __init__(self) -> None:
        self._taken: dict[int, Ints] = {}
        self._pods: dict[int, int] = {}
        self._noted: dict[tuple[int, PodClass], list[int]] = {}
        """By priority and class: rows where a pod came, and ~row where one went."""
        self._waiting = 0

    def add(self, pod: PodState, row: int, by: int) -> None:
        """The pod, at its `level`, takes its room on the row (by 1) or gives it back (by -1)."""
        level = pod.level
        key = level, pod.pod_class
        noted = self._noted.get(key)
        if noted is None:
            noted = self._noted[key] = []
        noted.append(row if by > 0 else ~row)
        self._pods[level] = self._pods.get(level, 0) + by
        self._waiting += 1
        if self._waiting >= _MOST_WAITING:
            self._count()

    def _count(self) -> None:
        noted, self._noted, self._waiting = self._noted, {}, 0
        for (level, pod_class), changes in noted.items():
            signed = np.array(changes, np.intp)
            came = signed >= 0
            rows = np.where(came, signed, ~signed)
            sign = np.where(came, 1, -1)
            taken = self._reach(level, pod_class.takes[-1][0] + 1, int(rows.max()) + 1)
            for resource, amount in pod_class.takes:
                np.add.at(taken[resource], rows, sign * amount)
        for level in [level for level, pods in self._pods.items() if not pods]:
            del self._pods[level]
            self._taken.pop(level, None)

    def _reach(self, level: int, resources: int, rows: int) -> Ints:
        before = self._taken.get(level)
        if before is None:
            before = np.zeros((0, 0), np.int64)
        if before.shape[0] < resources or before.shape[1] < rows:
            more = max(0, resources - before.shape[0]), max(0, rows * 5 // 4 - before.shape[1])
            before = grown(before, *more)
        self._taken[level] = before
        return before

    def any_below(self, priority: int) -> bool:
        return any(pods and level < priority for level, pods in self._pods.items())

    def below(self, priority: int, free: Ints) -> Ints:
        """`free`, and what pods below this priority take of it."""
        if self._noted:
            self._count()
        found = free.copy()
        for level, taken in self._taken.items():
            if level < priority:
                resources, rows = min(len(taken), len(found)), min(taken.shape[1], found.shape[1])
                found[:resources, :rows] += taken[:resources, :rows]
        return found
