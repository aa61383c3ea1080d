"""Members of several shapes packed tightly, without regard to scores: finds room that spreading them does not.

For shapes that depend on resources alone.  The largest first, each on the nodes that take the fewest of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from muster.cluster.classes import PodClass
from muster.cluster.nodes import Rows
from muster.cluster.usage import Ints
from muster.framework.contract import Bools


class Load(NamedTuple):
    """So many pods of one class, and the rows that may take them."""

    pod_class: PodClass
    pods: int
    usable: Bools


class Packed(NamedTuple):
    rows: list[Rows]
    """For each load a row for each of its pods."""
    left: Ints
    """(resources × rows): what is free with all of them in place."""


def pack(loads: Sequence[Load], free: Ints, precedence: Ints) -> Packed | None:
    """A place for every pod of the loads, which come largest first; None if it finds none."""
    left = free.copy()
    chosen: list[Rows] = []
    # by name, so that row numbers decide nothing
    in_order: Rows = np.argsort(-precedence, kind="stable")
    for pod_class, pods, usable in loads:
        if pod_class.unknown:
            return None
        line = pod_class.line
        copies = np.minimum.reduce(left[line.need_rows] // line.need[:, 0])
        copies = np.maximum(copies, 0) * usable
        rows = in_order[copies[in_order] > 0]
        rows = rows[np.argsort(copies[rows], kind="stable")]
        places = np.repeat(rows, copies[rows])[:pods]
        if len(places) < pods:
            return None
        distinct, times = np.unique(places, return_counts=True)
        for resource, amount in pod_class.takes:
            left[resource, distinct] -= amount * times
        chosen.append(places)
    return Packed(chosen, left)
