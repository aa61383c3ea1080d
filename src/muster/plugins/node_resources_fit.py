"""NodeResourcesFit: what a pod requests must be free; scores prefer empty nodes, or full ones, or what a line says.

LeastAllocated spreads, MostAllocated packs, RequestedToCapacityRatio rates nodes by a broken line over how much of them
is used.  Integer arithmetic throughout, as upstream has it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import pairwise

import numpy as np

from muster.base.errors import ConfigError
from muster.cluster.classes import Lines, PodClass
from muster.cluster.resources import CPU, MEMORY
from muster.cluster.room import Room
from muster.cluster.usage import Ints
from muster.framework.contract import MAX_SCORE, Bools, RoomFilter, RoomScore, RoomTieBreak
from muster.plugins.resource_names import is_counted, is_extended, is_scalar

_CPU_AND_MEMORY = slice(CPU, MEMORY + 1)
_FINEST = 1023
_PERCENT = 100
_HIGHEST_POINT = 10
Shape = Sequence[tuple[int, int]]
"""Points of a line: how much is used, 0 to 100, and the score for that, 0 to 10."""


class Strategy(StrEnum):
    LEAST_ALLOCATED = "LeastAllocated"
    MOST_ALLOCATED = "MostAllocated"
    REQUESTED_TO_CAPACITY_RATIO = "RequestedToCapacityRatio"


class NodeResourcesFit(RoomFilter, RoomScore, RoomTieBreak):
    name = "NodeResourcesFit"
    adds_up = True

    def __init__(
        self,
        *,
        strategy: Strategy = Strategy.LEAST_ALLOCATED,
        weights: Mapping[str, int] | None = None,
        shape: Shape = (),
        ignored: Collection[str] = (),
        ignored_groups: Collection[str] = (),
    ) -> None:
        """`ignored` are extended resources of which pods need not have what they request, or all of a group."""
        self._weights = dict(weights or {"cpu": 1, "memory": 1})
        if min(self._weights.values()) < 1:
            raise ConfigError("NodeResourcesFit needs weights of at least 1", weights=self._weights)
        if bool(shape) is not (strategy is Strategy.REQUESTED_TO_CAPACITY_RATIO):
            raise ConfigError(f"{Strategy.REQUESTED_TO_CAPACITY_RATIO}, and nothing else, needs a shape")
        self._most = strategy is Strategy.MOST_ALLOCATED
        self._packs = self._most or (bool(shape) and shape[-1][1] > shape[0][1])
        self._line = _line(shape) if shape else None
        """The score by how many percent are used."""
        self._plain = self._weights == {"cpu": 1, "memory": 1} and self._line is None
        # of others no pod can do without
        self.ignored = frozenset(filter(is_extended, (*ignored, *(f"{group}/" for group in ignored_groups))))

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
            return self._on_line(lines, room) if self._line is not None else self._weighted_score(lines, room)
        # cpu and memory with equal weight, together in one array: the common case, and a hot one
        left = room.scored[_CPU_AND_MEMORY] - lines.scored
        parts = self._part(left, room.allocatable[_CPU_AND_MEMORY], room.divisor[_CPU_AND_MEMORY])
        both: Ints = parts[0] + parts[1]
        both >>= 1
        return both

    def _weighted_score(self, lines: Lines, room: Room) -> Ints | int:
        total: Ints | int = 0
        weight_sum: Ints | int = 0
        for resource, left, counted in self._counted(lines, room):
            total = total + counted * self._part(left, room.allocatable[resource], room.divisor[resource])
            weight_sum = weight_sum + counted
        return total // np.maximum(weight_sum, 1)

    def _on_line(self, lines: Lines, room: Room) -> Ints | int:
        total: Ints | int = 0
        weight_sum: Ints | int = 0
        for resource, left, counted in self._counted(lines, room):
            np.maximum(left, 0, out=left)
            used = (room.allocatable[resource] - left) * _PERCENT // room.divisor[resource]
            assert self._line is not None
            part = self._line[used]
            # what is rated 0 is left out, with its weight
            total = total + counted * part
            weight_sum = weight_sum + counted * (part > 0)
        # rounded, halves up
        return (2 * total + weight_sum) // np.maximum(2 * weight_sum, 1)

    def _counted(self, lines: Lines, room: Room) -> Iterator[tuple[int, Ints, Ints]]:
        """(resource, what is left of it with the pod, weight), the latter two by line and row.

        A node without the resource is rated by the others alone; what not every pod asks for counts only for those
        that do.
        """
        for name, weight in self._weights.items():
            resource = room.nodes.resources.find(name)
            if resource is None or not is_counted(name):
                continue
            before, asked = lines.scored_of(resource)
            counted = weight * (room.allocatable[resource] > 0)
            if is_scalar(name):
                if not asked.any():
                    continue
                counted = counted * (asked > 0)
            yield resource, room.scored[resource] - (before + asked), counted

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
        return _FINEST - both if self._packs else both


def _message(resource: str) -> str:
    return "Too many pods" if resource == "pods" else f"Insufficient {resource}"


def _line(shape: Shape) -> Ints:
    """The line through the points, for every percent; level before the first and after the last."""
    used = [point for point, _ in shape]
    if any(left >= right for left, right in pairwise(used)) or not 0 <= used[0] <= used[-1] <= _PERCENT:
        raise ConfigError("a shape needs points from 0 to 100 in increasing order", points=used)
    if not all(0 <= score <= _HIGHEST_POINT for _, score in shape):
        raise ConfigError("scores of a shape must be from 0 to 10", points=list(shape))
    points = [(point, score * MAX_SCORE // _HIGHEST_POINT) for point, score in shape]
    line = np.full(_PERCENT + 1, points[-1][1], np.int64)
    line[: points[0][0] + 1] = points[0][1]
    for (left, low), (right, high) in pairwise(points):
        steps, rise = np.arange(1, right - left + 1), high - low
        # Go divides towards zero, also where the line falls
        line[left + 1 : right + 1] = low + np.sign(rise) * (abs(rise) * steps // (right - left))
    return line
