"""How much room pods of each priority take: what a unit could hope for if all below it left."""

from __future__ import annotations

import numpy as np

from muster.cluster.pods import PodState
from muster.cluster.usage import Ints


class Levels:
    """For each priority the room that its pods take, (resources × rows); kept up to date pod by pod."""

    def __init__(self) -> None:
        self._taken: dict[int, Ints] = {}
        self._pods: dict[int, int] = {}

    def add(self, pod: PodState, row: int, by: int) -> None:
        """The pod, at its `level`, takes its room on the row (by 1) or gives it back (by -1)."""
        level = pod.level
        taken = self._taken.get(level)
        most = pod.pod_class.room[-1][0]
        if taken is None or taken.shape[0] <= most or taken.shape[1] <= row:
            taken = self._grow(level, most + 1, row + 1)
        for resource, amount in pod.pod_class.room:
            taken[resource, row] += by * amount
        self._pods[level] = self._pods.get(level, 0) + by
        if not self._pods[level]:
            del self._pods[level], self._taken[level]

    def _grow(self, level: int, resources: int, rows: int) -> Ints:
        before = self._taken.get(level)
        if before is None:
            before = np.zeros((0, 0), np.int64)
        more = max(0, resources - before.shape[0]), max(0, rows * 5 // 4 - before.shape[1])
        grown = self._taken[level] = np.pad(before, ((0, more[0]), (0, more[1])))
        return grown

    def any_below(self, priority: int) -> bool:
        return any(level < priority for level in self._taken)

    def below(self, priority: int, free: Ints) -> Ints:
        """`free`, and what pods below this priority take of it."""
        found = free.copy()
        for level, taken in self._taken.items():
            if level < priority:
                resources, rows = min(len(taken), len(found)), min(taken.shape[1], found.shape[1])
                found[:resources, :rows] += taken[:resources, :rows]
        return found
