"""NodeResourcesFit: what a pod requests must be free; scores prefer empty nodes, or full ones.

LeastAllocated spreads, MostAllocated packs.  Integer arithmetic throughout, as upstream has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import numpy as np

from muster.base.errors import ConfigError
from muster.cluster.classes import Lines, PodClass
from muster.cluster.nodes import NodeTable
from muster.cluster.resources import CPU, MEMORY
from muster.cluster.room import Room
from muster.cluster.usage import Ints
from muster.framework.contract import MAX_SCORE, Bools, RoomFilter, RoomScore, RoomTieBreak

_CPU_AND_MEMORY = slice(CPU, MEMORY + 1)
_FINEST = 1023


class Strategy(StrEnum):
    LEAST_ALLOCATED = "LeastAllocated"
    MOST_ALLOCATED = "MostAllocated"


class NodeResourcesFit(RoomFilter, RoomScore, RoomTieBreak):
    name = "NodeResourcesFit"
    adds_up = True

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

    def copies(self, lines: Lines, room: Room) -> Ints | None:
        if lines.unplaceable:
            return np.zeros((lines.need.shape[1], len(room)), np.int64)
        free = room.free
        if len(lines.need) != len(free):
            free = free.take(lines.need_rows, axis=0)
        copies: Ints = np.minimum.reduce(free // lines.need)
        np.maximum(copies, 0, out=copies)
        return copies

    def refusals(self, pod_class: PodClass, room: Room) -> list[tuple[str, Bools]]:
        names = room.nodes.resources.names()
        short = [(_message(names[resource]), room.free[resource, 0] < amount) for resource, amount in pod_class.room]
        return short + [(_message(name), np.ones(len(room), np.bool_)) for name in pod_class.unknown]

    # --- score ---

    def score(self, lines: Lines, room: Room) -> Ints | int:
        if not self._plain or room.nodes.some_lack_cpu_or_memory:
            return self._weighted_score(lines, room)
        # cpu and memory with equal weight, together in one array: the common case, and a hot one
        left = room.scored[_CPU_AND_MEMORY] - lines.scored
        parts = self._part(left, room.allocatable[_CPU_AND_MEMORY], room.divisor[_CPU_AND_MEMORY])
        both: Ints = parts[0] + parts[1]
        both >>= 1
        return both

    def _weighted_score(self, lines: Lines, room: Room) -> Ints | int:
        total: Ints | int = 0
        weight_sum: Ints | int = 0
        for resource, amount, weight in self._counted(lines, room.nodes):
            have = room.allocatable[resource]
            # a node without the resource is rated by the others alone
            counted = weight * (have > 0)
            total = total + counted * self._part(room.scored[resource] - amount, have, room.divisor[resource])
            weight_sum = weight_sum + counted
        return total // np.maximum(weight_sum, 1)

    def _counted(self, lines: Lines, nodes: NodeTable) -> list[tuple[int, Ints, int]]:
        """(resource, amount by line, weight); extended resources count only where the pod asks for them."""
        needs = zip(lines.need_rows.tolist(), lines.need * (lines.copies + 1), strict=True)
        amounts = dict(needs) | {CPU: lines.scored[0], MEMORY: lines.scored[1]}
        listed = [(name, nodes.resources.find(name), weight) for name, weight in self._weights.items()]
        nothing = np.zeros_like(lines.scored[0])
        return [
            (resource, amounts.get(resource, nothing), weight)
            for name, resource, weight in listed
            if resource is not None and (resource in amounts or name == "ephemeral-storage")
        ]

    def _part(self, left: Ints, have: Ints, divisor: Ints) -> Ints:
        """0 to 100 for one resource, by what is left of it; `left` may be overwritten."""
        np.maximum(left, 0, out=left)
        if self._most:
            left = have - left
        left *= MAX_SCORE
        left //= divisor
        return left

    # --- tie-break ---

    def finer(self, lines: Lines, room: Room) -> Ints:
        """The share of cpu and memory that is left before the pod, in 1/1023; or that is used, when packing."""
        left = room.scored[_CPU_AND_MEMORY] - lines.scored_before
        np.maximum(left, 0, out=left)
        left *= _FINEST
        left //= room.divisor[_CPU_AND_MEMORY]
        both: Ints = left[0] + left[1]
        both >>= 1
        return _FINEST - both if self._most else both


def _message(resource: str) -> str:
    return "Too many pods" if resource == "pods" else f"Insufficient {resource}"
