"""NodeResourcesBalancedAllocation: prefers nodes whose cpu and memory the pod would bring closer together.

Kubernetes 1.36's form: 75 where the balance stays as it is, more where the pod improves it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from muster.cluster.classes import Lines
from muster.cluster.resources import CPU, MEMORY
from muster.cluster.room import Room
from muster.cluster.usage import Ints
from muster.framework.contract import RoomScore

_CPU_AND_MEMORY = slice(CPU, MEMORY + 1)


class NodeResourcesBalancedAllocation(RoomScore):
    name = "NodeResourcesBalancedAllocation"

    def score(self, lines: Lines, room: Room) -> Ints | int:
        if lines.best_effort:
            return 0
        used, divisor = room.used(_CPU_AND_MEMORY), room.divisor[_CPU_AND_MEMORY]
        lacking = _lacking(room)
        # a pod is rated by the balance with it against the balance before it
        if lines.many_first_copies:
            # ...which is the same for all lines
            before, after = (
                _balance(used[None] / divisor, lacking),
                _balance((used + lines.used[1:]) / divisor, lacking),
            )
            gain: Ints = after[0] - before[0]
        else:
            balance = _balance((used + lines.used) / divisor, lacking)
            gain = balance[1] - balance[0]
        # 50 + (50 + gain) / 2
        gain += 150
        gain >>= 1
        return gain


def _balance(fractions: NDArray[np.float64], lacking: NDArray[np.bool_] | None) -> Ints:
    """100 where cpu and memory are used alike; floats in upstream's order, so that they round alike."""
    np.minimum(fractions, 1.0, out=fractions)
    apart: NDArray[np.float64] = fractions[:, 0] - fractions[:, 1]
    apart *= 0.5
    np.abs(apart, out=apart)
    if lacking is not None:
        apart[..., lacking] = 0.0
    np.subtract(1.0, apart, out=apart)
    apart *= 100.0
    return apart.astype(np.int64)


def _lacking(room: Room) -> NDArray[np.bool_] | None:
    """Nodes without any cpu or memory: with one resource there is nothing to balance."""
    if not room.nodes.some_lack_cpu_or_memory:
        return None
    lacking: NDArray[np.bool_] = (room.allocatable[_CPU_AND_MEMORY, 0] == 0).any(axis=0)
    return lacking
