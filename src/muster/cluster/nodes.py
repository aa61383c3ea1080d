"""The nodes: one row each, one numpy column per fact."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from muster.api.requests import MOST
from muster.api.wire import Node, Taint
from muster.base.arrays import grown
from muster.base.quantity import amount
from muster.cluster.changelog import ChangeLog
from muster.cluster.drivers import DriverColumns
from muster.cluster.images import ImageColumns
from muster.cluster.labels import LabelColumns
from muster.cluster.resources import CPU, MEMORY, ResourceNames
from muster.cluster.ties import Namespaces
from muster.cluster.usage import Ints, RowState, Usage
from muster.cluster.values import ValueColumn

Rows = NDArray[np.intp]
"""Row numbers; functions over rows also take None, which means all of them."""


class NodeTable:
    """Facts of every node in columns, and in `usage` the room that placements leave.

    A change to one node touches one row.  Row numbers are reused and mean nothing: order among nodes is by
    name (`precedence`).  `described` logs rows whose own facts changed; their usage log has them too.
    """

    def __init__(
        self, names: ResourceNames, *, states: Mapping[str, RowState], namespaces: Namespaces | None = None
    ) -> None:
        self.resources = names
        self.rows: dict[str, int] = {}
        self.nodes: list[Node | None] = []
        self.names: list[str] = []
        """By row; "" for vacant ones."""
        self.facts: Ints = np.zeros((2 * len(names), 0), np.int64)
        """`allocatable` and `divisor`, one below the other."""
        self._name_facts()
        self.unschedulable: NDArray[np.bool_] = np.zeros(0, np.bool_)
        self.taints: ValueColumn[tuple[Taint, ...]] = ValueColumn()
        """Missing where there are none."""
        self.features: ValueColumn[tuple[str, ...]] = ValueColumn()
        """What kubelets say that they can do."""
        self.images = ImageColumns()
        self.labels = LabelColumns()
        self.drivers = DriverColumns()
        self.usage = Usage.of_empty_nodes(self.allocatable, states=states, namespaces=namespaces)
        self.described = ChangeLog()
        self._vacant: list[int] = []
        self._lacking: set[int] = set()
        self._precedence: Ints | None = None
        self.order_epoch = 0
        """Changes when the set of names, and with it everybody's precedence, does."""

    def copy(self) -> NodeTable:
        """A table that changes on its own, for those who wonder about other nodes."""
        twin = NodeTable(self.resources, states={})
        twin.rows, twin.nodes, twin.names = self.rows.copy(), self.nodes.copy(), self.names.copy()
        twin.facts = self.facts.copy()
        twin._name_facts()
        twin.unschedulable, twin.taints = self.unschedulable.copy(), self.taints.copy()
        twin.features, twin.images, twin.labels = self.features.copy(), self.images.copy(), self.labels.copy()
        twin.drivers = self.drivers.copy()
        twin.usage = self.usage.copy()
        twin.usage.is_trial = False
        twin._vacant, twin._lacking = self._vacant.copy(), self._lacking.copy()
        return twin

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def capacity(self) -> int:
        """Length of every column; some rows may be vacant."""
        return len(self.nodes)

    def put(self, node: Node) -> int:
        """Adds or changes one node; its room is then as if it were empty, so the caller counts its pods again."""
        name = node.metadata.name
        amounts = {resource: amount(resource, text) for resource, text in node.status.allocatable.items()}
        row = self.rows.get(name)
        if row is None:
            if not self._vacant:
                self._grow()
            row = self.rows[name] = self._vacant.pop()
            self._names_changed()
        before = self.nodes[row]
        self.nodes[row], self.names[row] = node, name
        by_row = {self.resources.row(resource): count for resource, count in amounts.items()}
        self.fit_resources()
        room = np.zeros(len(self.resources), np.int64)
        for resource, count in by_row.items():
            room[resource] = min(max(0, count), MOST)
        self.allocatable[:, row] = room
        self.divisor[:, row] = np.maximum(room, 1)
        self._lacking.discard(row)
        if not (room[CPU] and room[MEMORY]):
            self._lacking.add(row)
        self.unschedulable[row] = node.spec.unschedulable
        self.taints.put(row, node.spec.taints or None)
        self.features.put(row, node.status.declared_features or None)
        if node.status.images != (() if before is None else before.status.images):
            self.images.put(row, node.status.images)
        self.labels.put(row, node.metadata.labels)
        self.usage.reset(row, room)
        self.described.mark(row)
        return row

    def remove(self, name: str) -> None:
        row = self.rows.pop(name)
        node = self.nodes[row]
        if node is not None and node.status.images:
            self.images.put(row, ())
        self.nodes[row], self.names[row] = None, ""
        self.allocatable[:, row] = 0
        self.divisor[:, row] = 1
        self._lacking.discard(row)
        self.unschedulable[row] = False
        self.taints.put(row, None)
        self.features.put(row, None)
        self.labels.remove(row)
        self.drivers.clear(row)
        self.usage.reset(row, np.zeros(len(self.allocatable), np.int64))
        self.described.mark(row)
        self._vacant.append(row)
        self._names_changed()

    def drivers_changed(self, rows: Iterable[int]) -> None:
        """What these rows say of drivers of volumes is new: whoever waits may find room there."""
        listed = list(rows)
        self.described.mark_all(listed)
        self.usage.log.mark_all(listed)
        self.usage.open_up(listed)

    def fit_resources(self) -> None:
        """Makes room for resource names that were added since; nodes have none of them."""
        missing = len(self.resources) - self.allocatable.shape[0]
        if missing:
            self._grow_facts(missing, 0)
            self.usage.grow(len(self.resources), self.capacity)

    @property
    def precedence(self) -> Ints:
        """By which equal scores are told apart: unique, larger for names that sort first; 0 on vacant rows."""
        if self._precedence is None:
            self._precedence = np.zeros(self.capacity, np.int64)
            ordered = [self.rows[name] for name in sorted(self.rows)]
            self._precedence[ordered] = np.arange(len(ordered), 0, -1)
        return self._precedence

    @property
    def some_lack_cpu_or_memory(self) -> bool:
        """Some node has no cpu, or no memory, to give: scores then leave that resource out."""
        return bool(self._lacking)

    def _grow_facts(self, resources: int, rows: int) -> None:
        more = resources, rows
        self.facts = np.concatenate((grown(self.allocatable, *more), grown(self.divisor, *more, fill=1)))
        self._name_facts()

    def _name_facts(self) -> None:
        half = len(self.facts) // 2
        self.allocatable: Ints = self.facts[:half]
        self.divisor: Ints = self.facts[half:]
        """allocatable, at least 1."""

    def _names_changed(self) -> None:
        self._precedence = None
        self.order_epoch += 1

    def _grow(self) -> None:
        # by a quarter, in steps of 64: vacant rows cost as much to score as real ones
        before, after = self.capacity, -(-(self.capacity * 5 // 4 + 64) // 64) * 64
        more = after - before
        self.nodes.extend([None] * more)
        self.names.extend([""] * more)
        self._grow_facts(0, more)
        self.unschedulable = grown(self.unschedulable, more)
        self.taints.grow(after)
        self.features.grow(after)
        self.images.grow(after)
        self.labels.grow(after)
        self.drivers.grow(after)
        self.usage.grow(len(self.resources), after)
        self._vacant.extend(range(after - 1, before - 1, -1))
