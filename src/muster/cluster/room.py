"""Some rows of the tables, gathered once for all plugins that look at them."""

from __future__ import annotations

from muster.cluster.nodes import NodeTable, Rows
from muster.cluster.usage import Ints, Usage


class Room:
    """What nodes have and have left; every array is (resources × 1 × rows asked), to stand against `Lines`."""

    __slots__ = ("_awaited", "allocatable", "divisor", "free", "nodes", "rows", "scored", "usage")

    def __init__(self, nodes: NodeTable, usage: Usage, rows: Rows | None) -> None:
        """Of `rows`, or of all rows if that is None; arrays are then the tables' own, not to be changed."""
        self.nodes = nodes
        self.usage = usage
        self.rows = rows
        facts, left = nodes.facts, usage.block
        if rows is not None:
            facts, left = facts.take(rows, axis=1), left.take(rows, axis=1)
        facts, left = facts[:, None], left[:, None]
        resources = len(left) // 2
        self.allocatable: Ints = facts[:resources]
        self.divisor: Ints = facts[resources:]
        """allocatable, at least 1."""
        self.free: Ints = left[:resources]
        self.scored: Ints = left[resources:]
        awaited = usage.awaited
        if awaited is not None:
            awaited = (awaited if rows is None else awaited.take(rows, axis=1))[:, None]
        self._awaited = awaited

    def used(self, resources: slice) -> Ints:
        """What pods on the nodes take, as filters count it; without what is reserved for others."""
        used: Ints = self.allocatable[resources] - self.free[resources]
        return used if self._awaited is None else used - self._awaited[resources]

    def __len__(self) -> int:
        return int(self.free.shape[-1])
