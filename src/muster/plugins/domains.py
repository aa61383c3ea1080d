"""Topology domains: nodes with the same value of a label, and counts of pods in them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from muster.cluster.nodes import NodeTable
from muster.cluster.usage import Ints
from muster.framework.contract import Bools


class Domains:
    """How many pods are in each domain of one label; row by row, those in the domain of the row."""

    __slots__ = ("_column", "_ids", "counts", "label")

    def __init__(self, nodes: NodeTable, key: str, pods: Ints) -> None:
        """`pods` by row."""
        column = nodes.labels.column(key)
        self.label = key
        self._column = column
        self._ids: NDArray[np.int32] = column.ids
        self.counts: Ints = np.bincount(self._ids, weights=pods, minlength=len(column.values) + 1).astype(np.int64)
        """By domain; rows without the label are no domain."""
        self.counts[0] = 0

    @property
    def named(self) -> Bools:
        """Rows that have the label."""
        found: Bools = self._ids > 0
        return found

    @property
    def by_row(self) -> Ints:
        return self.counts[self._ids]

    def add(self, row: int, count: int = 1) -> None:
        """So many pods came to the row's domain."""
        if domain := int(self._ids[row]):
            self.counts[domain] += count

    def names(self, rows: Bools) -> tuple[str, ...]:
        """The domains that any of the rows is in, sorted."""
        present = self.present(rows)
        return tuple(sorted(name for name, domain in self._column.values.items() if present[domain]))

    def present(self, rows: Bools) -> Bools:
        """By domain: whether any of the rows is in it."""
        found = np.zeros(len(self.counts), np.bool_)
        found[self._ids[rows]] = True
        found[0] = False
        return found


def short(label: str) -> str:
    """A label as people call it: the zone, not topology.kubernetes.io/zone."""
    return label.rpartition("/")[2]
