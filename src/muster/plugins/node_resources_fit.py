"""NodeResourcesFit: what a pod requests must be free; scores prefer empty nodes, or full ones.

LeastAllocated spreads, MostAllocated packs.  Integer arithmetic throughout, as upstream has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import numpy as np

from muster.base.errors import ConfigError
from muster.cluster.classes import PodClass
from muster.cluster.nodes import NodeTable, Rows
from muster.cluster.resources import CPU, MEMORY
from muster.cluster.usage import Ints, Usage
from muster.framework.contract import MAX_SCORE, Bools, RoomFilter, RoomScore

_CPU_AND_MEMORY = slice(CPU, MEMORY + 1)


class Strategy(StrEnum):
    LEAST_ALLOCATED = "LeastAllocated"
    MOST_ALLOCATED = "MostAllocated"


class NodeResourcesFit(RoomFilter, RoomScore):
    name = "NodeResourcesFit"

    def __init__(
        self,
        *,
        strategy: Strategy = Strategy.LEAST_ALLOCATED,
        weights: Mapping[str, int] | None = None,
    ) -> None:
        self._most = strategy is Strategy.MOST_ALLOCATED
        self._weights = dict(weights or {"cpu": 1, "memory": 1})
        if not self._weights or min(self._weights.values()) < 1:
            raise ConfigError("NodeResourcesFit needs weights of at least 1", weights=self._weights)
        self._plain = self._weights == {"cpu": 1, "memory": 1}

    # --- filter ---

    def copies(self, pod_class: PodClass, nodes: NodeTable, usage: Usage, rows: Rows | None) -> Ints | None:
        free = usage.free if rows is None else usage.free.take(rows, axis=1)
        if len(pod_class.need) != len(free):
            free = free.take(pod_class.need_rows, axis=0)
        copies: Ints = np.minimum.reduce(free // pod_class.need)
        return np.maximum(copies, 0)

    def refusals(
        self, pod_class: PodClass, nodes: NodeTable, usage: Usage, rows: Rows
    ) -> list[tuple[str, Bools]]:
        names = nodes.resources.names()
        return [
            (_message(names[resource]), usage.free[resource, rows] < amount)
            for resource, amount in pod_class.room
        ]

    def empty_copies(self, pod_class: PodClass, allocatable: Ints) -> int | None:
        return int(np.minimum.reduce(allocatable[pod_class.need_rows] // pod_class.need[:, 0]))

    # --- score ---

    def score(
        self, pod_class: PodClass, nodes: NodeTable, usage: Usage, *, rows: Rows | None, copies: Ints | int
    ) -> Ints | int:
        if self._plain and not nodes.some_lack_cpu_or_memory:
            return self._even_score(pod_class, nodes, usage, rows, copies)
        total: Ints | int = 0
        weight_sum: Ints | int = 0
        for resource, amount, weight in self._counted(pod_class, nodes):
            room = _asked(nodes.allocatable[resource], rows)
            left = _asked(usage.scored[resource], rows) - amount * (copies + 1)
            # a node without the resource is rated by the others alone
            counted = weight * (room > 0)
            total = total + counted * self._part(left, room, np.maximum(room, 1))
            weight_sum = weight_sum + counted
        return total // np.maximum(weight_sum, 1)

    def _even_score(
        self, pod_class: PodClass, nodes: NodeTable, usage: Usage, rows: Rows | None, copies: Ints | int
    ) -> Ints:
        """cpu and memory with equal weight, as two lines of one array: the common case, and a hot one."""
        left = _asked(usage.scored[_CPU_AND_MEMORY], rows)
        room = _asked(nodes.allocatable[_CPU_AND_MEMORY], rows)
        divisor = _asked(nodes.divisor[_CPU_AND_MEMORY], rows)
        amounts = pod_class.scored
        if not isinstance(copies, int):
            left, room, divisor = left[:, None], room[:, None], divisor[:, None]
            amounts = amounts[:, None]
        parts = self._part(left - amounts * (copies + 1), room, divisor)
        both: Ints = parts[0] + parts[1]
        both >>= 1
        return both

    def _part(self, left: Ints, room: Ints, divisor: Ints) -> Ints:
        """0 to 100 for one resource, by what is left of it."""
        left = np.maximum(left, 0)
        if self._most:
            left = room - left
        left *= MAX_SCORE
        left //= divisor
        return left

    def _counted(self, pod_class: PodClass, nodes: NodeTable) -> list[tuple[int, int, int]]:
        """(resource, amount, weight); extended resources count only where the pod asks for them."""
        room = dict(pod_class.room)
        room[CPU], room[MEMORY] = int(pod_class.scored[0, 0]), int(pod_class.scored[1, 0])
        listed = [(nodes.resources.row(name), weight) for name, weight in self._weights.items()]
        return [(resource, room[resource], weight) for resource, weight in listed if resource in room]


def _asked(column: Ints, rows: Rows | None) -> Ints:
    return column if rows is None else column.take(rows, axis=-1)


def _message(resource: str) -> str:
    return "Too many pods" if resource == "pods" else f"Insufficient {resource}"
