"""NodeResourcesBalancedAllocation: prefers nodes whose cpu and memory the pod would bring closer together.

Kubernetes 1.36's form: 75 where the balance stays as it is, more where the pod improves it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from muster.cluster.classes import PodClass
from muster.cluster.nodes import NodeTable, Rows
from muster.cluster.resources import CPU, MEMORY
from muster.cluster.usage import Ints, Usage
from muster.framework.contract import RoomScore

_CPU_AND_MEMORY = slice(CPU, MEMORY + 1)


class NodeResourcesBalancedAllocation(RoomScore):
    name = "NodeResourcesBalancedAllocation"

    def score(
        self, pod_class: PodClass, nodes: NodeTable, usage: Usage, *, rows: Rows | None, copies: Ints | int
    ) -> Ints | int:
        if pod_class.best_effort:
            return 0
        room = nodes.allocatable[_CPU_AND_MEMORY]
        free = usage.free[_CPU_AND_MEMORY]
        divisor = nodes.divisor[_CPU_AND_MEMORY]
        if rows is not None:
            room, free = room.take(rows, axis=1), free.take(rows, axis=1)
            divisor = divisor.take(rows, axis=1)
        used, amounts = room - free, pod_class.used
        if not isinstance(copies, int):
            used, divisor, amounts = used[:, None], divisor[:, None], amounts[:, None]
        lacking = (room == 0).any(axis=0) if nodes.some_lack_cpu_or_memory else None
        before = used + amounts * copies if not isinstance(copies, int) or copies else used
        gain = _balance((before + amounts) / divisor, lacking)
        gain -= _balance(before / divisor, lacking)
        gain += 50
        gain >>= 1
        gain += 50
        return gain


def _balance(fractions: NDArray[np.float64], lacking: NDArray[np.bool_] | None) -> Ints:
    """100 where cpu and memory are used alike; floats in upstream's order, so that they round alike."""
    np.minimum(fractions, 1.0, out=fractions)
    apart: NDArray[np.float64] = fractions[0] - fractions[1]
    apart *= 0.5
    np.abs(apart, out=apart)
    if lacking is not None:
        apart[..., lacking] = 0.0
    np.subtract(1.0, apart, out=apart)
    apart *= 100.0
    return apart.astype(np.int64)
