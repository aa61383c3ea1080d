"""What plugins by users see: all nodes as columns, or one of them at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from muster.api.wire import Node, Taint
from muster.cluster.census import Showing
from muster.cluster.nodes import NodeTable, Rows
from muster.cluster.traits import Trait, Unread
from muster.cluster.usage import Ints, Usage
from muster.framework.contract import Bools

__all__ = ["NodeInfo", "Nodes"]

_BLIND = "which pods are where, and what is free, is seen only with `watches_pods = True`"


class Nodes:
    """All nodes, one row each; a few rows may be vacant.  Arrays are not to be changed."""

    def __init__(self, table: NodeTable, usage: Usage | None, *, plugin: str, rows: Rows | None = None) -> None:
        """Only `rows` are seen; all if that is None.  Without a usage nothing is known of pods."""
        self._table = table
        self._usage = usage
        self._plugin = plugin
        self._rows: Rows = np.arange(table.capacity, dtype=np.intp) if rows is None else rows
        self._in_domain: dict[tuple[str, Trait], Mapping[int, int]] = {}
        self._anywhere: Counter[Trait] | None = None

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self._rows)

    @property
    def names(self) -> list[str]:
        """By row; "" for vacant ones."""
        return [self._table.names[row] for row in self._rows]

    @property
    def are_there(self) -> Bools:
        """Rows that are not vacant."""
        found: Bools = self._table.precedence[self._rows] > 0
        return found

    def label(self, key: str) -> tuple[NDArray[np.int32], Mapping[str, int]]:
        """By row the number of the label's value, 0 where there is none; and the number of each value."""
        column = self._table.labels.column(key)
        return column.ids[self._rows], MappingProxyType(column.values)

    def has_label(self, key: str, value: str) -> Bools:
        """Rows whose label has that value."""
        column = self._table.labels.column(key)
        found: Bools = column.ids[self._rows] == column.values.get(value, -1)
        return found

    def allocatable(self, resource: str) -> Ints:
        """By row: cpu in thousandths, everything else in its own unit."""
        return self._amounts(self._table.allocatable, resource)

    def free(self, resource: str) -> Ints:
        """By row: what is not taken or reserved; less than 0 where too much is."""
        return self._amounts(self._seen.free, resource)

    @property
    def traits(self) -> list[Trait]:
        """What the plugin read of pods that are anywhere."""
        return sorted(self._shown(), key=repr)

    def pods(self, trait: Trait) -> Ints:
        """By row: pods with the trait, those that leave and those for whom room is reserved included."""
        return self._seen.census.count(Showing(self._plugin, trait))[self._rows]

    def pods_in(self, key: str, trait: Trait) -> Ints:
        """By row: pods with the trait on all nodes with the same value of the label; 0 where the label is missing."""
        column = self._table.labels.column(key)
        counts = self._seen.census.count(Showing(self._plugin, trait))
        by_domain = np.bincount(column.ids, weights=counts, minlength=len(column.values) + 1).astype(np.int64)
        by_domain[0] = 0
        found: Ints = by_domain[column.ids[self._rows]]
        return found

    def each(self) -> list[tuple[int, NodeInfo]]:
        """Every node that is there, with its row."""
        table = self._table
        there = ((place, int(row), table.nodes[row]) for place, row in enumerate(self._rows))
        return [(place, NodeInfo(node, row, self)) for place, row, node in there if node is not None]

    def _shown(self) -> list[Trait]:
        return [trait for trait in self._seen.census.traits(self._plugin) if not isinstance(trait, Unread)]

    @property
    def _seen(self) -> Usage:
        if self._usage is None:
            raise RuntimeError(_BLIND)
        return self._usage

    def _amounts(self, table: Ints, resource: str) -> Ints:
        row = self._table.resources.find(resource)
        return np.zeros(len(self._rows), np.int64) if row is None else table[row, self._rows]

    # --- for one node ---

    def amounts_on(self, row: int, *, free: bool) -> dict[str, int]:
        table = self._seen.free if free else self._table.allocatable
        names = self._table.resources.names()
        return {name: int(amount) for name, amount in zip(names, table[:, row], strict=False)}

    def counts(self, row: int, key: str | None) -> Counter[Trait]:
        """Pods by trait on the row, or on all with the same value of a label."""
        found: Counter[Trait] = Counter()
        for trait in self._shown():
            if count := self._count(row, key, trait):
                found[trait] = count
        return found

    def counts_anywhere(self) -> Counter[Trait]:
        """Pods by trait on all rows."""
        if self._anywhere is None:
            count = self._seen.census.count
            self._anywhere = Counter({trait: int(count(Showing(self._plugin, trait)).sum()) for trait in self._shown()})
        return self._anywhere

    def _count(self, row: int, key: str | None, trait: Trait) -> int:
        if key is None:
            return int(self._seen.census.count(Showing(self._plugin, trait))[row])
        ids = self._table.labels.column(key).ids
        by_domain = self._in_domain.get((key, trait))
        if by_domain is None:
            counts = np.bincount(ids, weights=self._seen.census.count(Showing(self._plugin, trait)))
            by_domain = self._in_domain[key, trait] = dict(enumerate(counts.astype(np.int64).tolist()))
        return by_domain.get(int(ids[row]), 0) if ids[row] else 0


class NodeInfo:
    """One node, and what is on it."""

    __slots__ = ("_node", "_nodes", "_row")

    def __init__(self, node: Node, row: int, nodes: Nodes) -> None:
        self._node = node
        self._row = row
        self._nodes = nodes

    @property
    def name(self) -> str:
        return self._node.metadata.name

    @property
    def labels(self) -> Mapping[str, str]:
        return self._node.metadata.labels

    @property
    def annotations(self) -> Mapping[str, str]:
        return self._node.metadata.annotations

    @property
    def taints(self) -> tuple[Taint, ...]:
        return self._node.spec.taints

    @property
    def unschedulable(self) -> bool:
        return self._node.spec.unschedulable

    @property
    def allocatable(self) -> Mapping[str, int]:
        """By resource: cpu in thousandths, everything else in its own unit."""
        return self._nodes.amounts_on(self._row, free=False)

    @property
    def free(self) -> Mapping[str, int]:
        """The same: what is not taken or reserved; less than 0 where too much is."""
        return self._nodes.amounts_on(self._row, free=True)

    @property
    def pods(self) -> Counter[Trait]:
        """How many pods of each trait are there, those that leave and those for whom room is reserved included."""
        return self._nodes.counts(self._row, None)

    def pods_in(self, key: str) -> Counter[Trait]:
        """The same for all nodes with this one's value of the label; none where it is missing."""
        return self._nodes.counts(self._row, key)

    @property
    def pods_anywhere(self) -> Counter[Trait]:
        """The same for all nodes."""
        return self._nodes.counts_anywhere()
