"""NodeResourcesBalancedAllocation: prefers nodes whose resources the pod would bring closer together.

Kubernetes 1.36's form: 75 where the balance stays as it is, more where the pod improves it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from muster.base.errors import ConfigError
from muster.cluster.classes import Lines
from muster.cluster.resources import CPU, MEMORY
from muster.cluster.room import Room
from muster.cluster.usage import Ints
from muster.framework.contract import MAX_SCORE, Bools, RoomScore
from muster.plugins.resource_names import is_counted, is_scalar

_CPU_AND_MEMORY = slice(CPU, MEMORY + 1)
_PLAIN = ("cpu", "memory")
Floats = NDArray[np.float64]


class NodeResourcesBalancedAllocation(RoomScore):
    name = "NodeResourcesBalancedAllocation"

    def __init__(self, *, resources: Sequence[str] = _PLAIN) -> None:
        if not resources or len(set(resources)) < len(resources):
            raise ConfigError("NodeResourcesBalancedAllocation needs resources, each once", resources=list(resources))
        self._resources = tuple(resources)
        self._plain = frozenset(resources) == frozenset(_PLAIN)

    def score(self, lines: Lines, room: Room) -> Ints | int:
        asked = self._asked(lines, room)
        if not any(resource in lines.used_rows for resource in asked):
            # upstream asks this plugin nothing of such pods, or they would all land on one node
            return 0
        if not self._plain or room.nodes.some_lack_cpu_or_memory:
            balance = _any_balance([self._fractions(resource, lines, room) for resource in asked])
            gain: Ints = balance[1] - balance[0]
        else:
            gain = self._gain(lines, room)
        # 50 + (50 + gain) / 2
        gain += 150
        gain >>= 1
        return gain

    def _asked(self, lines: Lines, room: Room) -> list[int]:
        """Rows of the resources that count; what not every pod asks for counts only for those that do."""
        rows = ((name, room.nodes.resources.find(name)) for name in self._resources if is_counted(name))
        return [row for name, row in rows if row is not None and (row in lines.used_rows or not is_scalar(name))]

    def _gain(self, lines: Lines, room: Room) -> Ints:
        """cpu and memory, which all nodes have, together in one array: the common case, and a hot one."""
        used, divisor = room.used(_CPU_AND_MEMORY), room.divisor[_CPU_AND_MEMORY]
        # a pod is rated by the balance with it against the balance before it
        if lines.many_first_copies:
            # ...which is the same for all lines
            before, after = _balance(used[None] / divisor), _balance((used + lines.used[1:]) / divisor)
        else:
            before, after = _balance((used + lines.used) / divisor)[:, None]
        gain: Ints = after[0] - before[0]
        return gain

    def _fractions(self, resource: int, lines: Lines, room: Room) -> tuple[Floats, Bools]:
        """Shares that are used before and with the pod (2 × lines × rows), and which rows have any to use."""
        used = room.used(slice(resource, resource + 1))[0] + lines.used_of(resource)
        return np.minimum(used / room.divisor[resource], 1.0), room.allocatable[resource] > 0


def _balance(fractions: Floats) -> Ints:
    """100 where cpu and memory are used alike; floats in upstream's order, so that they round alike."""
    np.minimum(fractions, 1.0, out=fractions)
    apart: Floats = fractions[:, 0] - fractions[:, 1]
    apart *= 0.5
    np.abs(apart, out=apart)
    np.subtract(1.0, apart, out=apart)
    apart *= 100.0
    return apart.astype(np.int64)


def _any_balance(listed: Sequence[tuple[Floats, Bools]]) -> Ints:
    """The same for any number of resources, of which nodes may lack some: these do not count there."""
    shape = np.broadcast_shapes(*(fractions.shape for fractions, _ in listed))
    count, total = np.zeros(shape, np.int64), np.zeros(shape)
    apart_of_two = np.zeros(shape)
    for fractions, has in listed:
        # of two resources the difference: the first less the second
        apart_of_two += np.where(has, np.where(count == 0, fractions, -fractions), 0.0)
        total += np.where(has, fractions, 0.0)
        count += has
    mean = total / np.maximum(count, 1)
    squares = np.zeros(shape)
    for fractions, has in listed:
        squares += np.where(has, (fractions - mean) * (fractions - mean), 0.0)
    deviation = np.sqrt(squares / np.maximum(count, 1))
    deviation = np.where(count == 2, np.abs(apart_of_two / 2), np.where(count > 2, deviation, 0.0))
    return ((1.0 - deviation) * float(MAX_SCORE)).astype(np.int64)
