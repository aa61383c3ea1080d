"""What plugins by users see: all nodes as columns, or one of them at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from muster.api.wire import Node, Taint
from muster.cluster.census import Showing
from muster.cluster.nodes import NodeTable, Rows
from muster.cluster.traits import Trait, Unread
from muster.cluster.usage import Ints, Usage
from muster.framework.contract import Bools

__all__ = ["NodeInfo", "Nodes", "PodCounts"]

_BLIND = "which pods are where, and what is free, is seen only with watches_pods = True"


class _Where(Enum):
    """Where pods are counted, if not in the domain of a label."""

    HERE = 0
    ANYWHERE = 1


_Place = str | _Where
"""A label, or one of those."""


class Nodes:
    """All nodes, one row each; a few rows may be vacant.  Arrays are not to be changed."""

    def __init__(self, table: NodeTable, usage: Usage | None, *, plugin: str, rows: Rows | None = None) -> None:
        """Only `rows` are seen; all if that is None.  Without a usage nothing is known of pods."""
        self._table = table
        self._usage = usage
        self._plugin = plugin
        self._rows: Rows = np.arange(table.capacity, dtype=np.intp) if rows is None else rows
        self._counts: dict[tuple[_Place, Trait], list[int]] = {}
        """By place and trait: pods by row of the table, as Python has numbers."""

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
        return self._in_domain(key, trait)[self._rows]

    def each(self) -> list[tuple[int, NodeInfo]]:
        """Every node that is there, with its row."""
        nodes = self._table.nodes
        there = ((place, row, nodes[row]) for place, row in enumerate(self._rows.tolist()))
        return [(place, NodeInfo(node, row, self)) for place, row, node in there if node is not None]

    def _in_domain(self, key: str, trait: Trait) -> Ints:
        """By row of the table."""
        column = self._table.labels.column(key)
        counts = self._seen.census.count(Showing(self._plugin, trait))
        by_domain = np.bincount(column.ids, weights=counts, minlength=len(column.values) + 1).astype(np.int64)
        by_domain[0] = 0
        found: Ints = by_domain[column.ids]
        return found

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

    def count_on(self, row: int, place: _Place, trait: Trait) -> int:
        """Pods with the trait on the row, on all with the same value of a label, or on all there are."""
        counts = self._counts.get((place, trait))
        if counts is None:
            counts = self._counts[place, trait] = self._counted(place, trait).tolist()
        return counts[row]

    def _counted(self, place: _Place, trait: Trait) -> Ints:
        if isinstance(place, str):
            return self._in_domain(place, trait)
        counts = self._seen.census.count(Showing(self._plugin, trait))
        return counts if place is _Where.HERE else np.full_like(counts, counts.sum())


class PodCounts(Mapping[Trait, int]):
    """How many pods there are of each trait; 0 of those that nobody has."""

    __slots__ = ("_nodes", "_place", "_row")

    def __init__(self, nodes: Nodes, row: int, place: _Place) -> None:
        self._nodes = nodes
        self._row = row
        self._place = place

    def __getitem__(self, trait: Trait) -> int:
        return self._nodes.count_on(self._row, self._place, trait)

    def __contains__(self, trait: object) -> bool:
        return trait in list(self)

    def __iter__(self) -> Iterator[Trait]:
        """Traits that somebody has; there may be thousands, and each is counted."""
        return (trait for trait in self._nodes.traits if self[trait])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def total(self) -> int:
        """Pods of all traits."""
        return sum(self.values())

    def __repr__(self) -> str:
        return repr(dict(self))


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
    def pods(self) -> PodCounts:
        """How many pods of each trait are there, those that leave and those for whom room is reserved included."""
        return PodCounts(self._nodes, self._row, _Where.HERE)

    def pods_in(self, key: str) -> PodCounts:
        """The same for all nodes with this one's value of the label; none where it is missing."""
        return PodCounts(self._nodes, self._row, key)

    @property
    def pods_anywhere(self) -> PodCounts:
        """The same for all nodes."""
        return PodCounts(self._nodes, self._row, _Where.ANYWHERE)
