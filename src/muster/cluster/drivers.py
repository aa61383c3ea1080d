"""Drivers of volumes on nodes: how many volumes each of them takes there, and what is attached already."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from muster.api.kinds import ATTACHMENTS, CSI_DRIVERS, CSI_NODES, VOLUMES
from muster.api.volumes import CSIDriver, CSINode, PersistentVolume, VolumeAttachment
from muster.base.arrays import grown
from muster.cluster.facts import Facts
from muster.volumes.limits import attached, is_awaited, places

NO_LIMIT = -1
_NOTHING: frozenset[str] = frozenset()


class DriverColumns:
    """What nodes say of drivers, by row.  A column is made when somebody first asks about its driver."""

    def __init__(self) -> None:
        self.csi_nodes: list[CSINode | None] = []
        """None where there is none, or no node."""
        self._places: dict[str, NDArray[np.int64]] = {}
        self._awaited: dict[str, NDArray[np.bool_]] = {}
        self._drivers: dict[str, CSIDriver] = {}
        self._attached: dict[int, dict[str, frozenset[str]]] = {}

    def places(self, driver: str) -> NDArray[np.int64]:
        """How many volumes of the driver each row takes; NO_LIMIT for any number.  Not to be changed."""
        found = self._places.get(driver)
        if found is None:
            listed = [places(node).get(driver, NO_LIMIT) for node in self.csi_nodes]
            found = self._places[driver] = np.array(listed, np.int64)
        return found

    def awaits(self, driver: str) -> NDArray[np.bool_]:
        """Rows where the driver must be, and is not yet.  Not to be changed."""
        found = self._awaited.get(driver)
        if found is None:
            told = self._drivers.get(driver)
            found = self._awaited[driver] = np.array([is_awaited(told, node) for node in self.csi_nodes], np.bool_)
        return found

    def attached(self, row: int, driver: str) -> frozenset[str]:
        """Handles of the driver's volumes that are attached to the row, whoever uses them."""
        there = self._attached.get(row)
        return _NOTHING if there is None else there.get(driver, _NOTHING)

    def has_attached(self, driver: str) -> list[int]:
        """Rows where a volume of the driver is attached."""
        return [row for row, there in self._attached.items() if driver in there]

    def put(self, row: int, node: CSINode | None) -> None:
        self.csi_nodes[row] = node
        limits = places(node)
        for driver, column in self._places.items():
            column[row] = limits.get(driver, NO_LIMIT)
        for driver, awaited in self._awaited.items():
            awaited[row] = is_awaited(self._drivers.get(driver), node)

    def put_driver(self, name: str, driver: CSIDriver | None) -> None:
        self._drivers.pop(name, None)
        if driver is not None:
            self._drivers[name] = driver
        self._awaited.pop(name, None)

    def attach(self, row: int, handles: dict[str, frozenset[str]]) -> None:
        """From now on these, by driver, are attached to the row."""
        self._attached.pop(row, None)
        if handles:
            self._attached[row] = handles

    def clear(self, row: int) -> None:
        """There is no node any more."""
        self.put(row, None)
        self.attach(row, {})

    def grow(self, capacity: int) -> None:
        more = capacity - len(self.csi_nodes)
        self.csi_nodes.extend([None] * more)
        self._places = {name: grown(each, more, fill=NO_LIMIT) for name, each in self._places.items()}
        self._awaited.clear()

    def copy(self) -> DriverColumns:
        twin = DriverColumns()
        twin.csi_nodes, twin._drivers = self.csi_nodes.copy(), self._drivers.copy()
        twin._attached = self._attached.copy()
        return twin


class DriverFacts:
    """Keeps the columns in step with the facts, in whatever order these and the nodes come."""

    def __init__(
        self, facts: Facts, rows: dict[str, int], columns: DriverColumns, changed: Callable[[Iterable[int]], None]
    ) -> None:
        """`rows` are the nodes' by name; `changed` is told of those whose answers may be others now."""
        self._facts = facts
        self._rows = rows
        self._columns = columns
        self._changed = changed
        self._attachments: dict[str, dict[str, VolumeAttachment]] = {}
        """By node and key..."""
        self._by_volume: dict[str, dict[str, VolumeAttachment]] = {}
        """...and by the name of the volume."""
        facts.tell(CSI_NODES, self._node_changed)
        facts.tell(CSI_DRIVERS, self._driver_changed)
        facts.tell(ATTACHMENTS, self._attachment_changed)
        facts.tell(VOLUMES, self._volume_changed)

    def came(self, name: str) -> None:
        """A node has come, of which something may be known already."""
        row = self._rows[name]
        self._columns.put(row, self._facts.get(CSI_NODES, name))
        self._attach(name, row)

    def _node_changed(self, name: str, _: CSINode | None, now: CSINode | None) -> None:
        if (row := self._rows.get(name)) is not None:
            self._columns.put(row, now)
            self._changed([row])

    def _driver_changed(self, name: str, _: CSIDriver | None, now: CSIDriver | None) -> None:
        self._columns.put_driver(name, now)
        self._changed(self._rows.values())

    def _attachment_changed(self, key: str, before: VolumeAttachment | None, now: VolumeAttachment | None) -> None:
        if before is not None:
            _drop(self._attachments, before.spec.node_name, key)
            _drop(self._by_volume, before.spec.source.persistent_volume_name or "", key)
        if now is not None:
            self._attachments.setdefault(now.spec.node_name, {})[key] = now
            self._by_volume.setdefault(now.spec.source.persistent_volume_name or "", {})[key] = now
        for node in dict.fromkeys(each.spec.node_name for each in (before, now) if each is not None):
            self._attach_anew(node)

    def _volume_changed(self, name: str, before: PersistentVolume | None, now: PersistentVolume | None) -> None:
        """Whose handle is part of what is attached: it may be known only now."""
        if before is None or now is None or before.spec.csi != now.spec.csi:
            for each in self._by_volume.get(name, {}).values():
                self._attach_anew(each.spec.node_name)

    def _attach_anew(self, node: str) -> None:
        if (row := self._rows.get(node)) is not None:
            self._attach(node, row)
            self._changed([row])

    def _attach(self, node: str, row: int) -> None:
        there = attached(self._attachments.get(node, {}).values(), self._facts.all(VOLUMES)).get(node, ())
        handles: dict[str, set[str]] = {}
        for each in there:
            handles.setdefault(each.driver, set()).add(each.handle)
        self._columns.attach(row, {driver: frozenset(known) for driver, known in handles.items()})


def _drop(shelves: dict[str, dict[str, VolumeAttachment]], shelf: str, key: str) -> None:
    del shelves[shelf][key]
    if not shelves[shelf]:
        del shelves[shelf]
