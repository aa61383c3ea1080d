"""DynamicResources: claims that have devices keep a pod where these are; for others they are chosen with the node."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from muster.api.kinds import DEVICE_CLASSES, DEVICE_TAINT_RULES, RESOURCE_CLAIMS, RESOURCE_SLICES
from muster.cluster.census import Census
from muster.cluster.classes import Lines, PodClass
from muster.cluster.facts import Facts
from muster.cluster.nodes import NodeTable
from muster.cluster.room import Room
from muster.cluster.usage import Ints, RowState, Usage
from muster.framework.contract import Bools, Outlook, RoomFilter, Stateful, Supplier, Wide
from muster.plugins.device_book import NAME, DeviceNeed, need_in
from muster.plugins.device_state import DeviceState
from muster.plugins.device_supply import NO_DEVICES, NOT_HERE, DeviceSupply

HOSTNAME = "kubernetes.io/hostname"
WAIT_SECONDS = 600.0
"""Upstream's default bindingTimeout."""


class DynamicResources(RoomFilter, Stateful, Wide, Supplier):
    name = NAME
    by_needs = True
    # a server before Kubernetes 1.34 has none of them: who names a claim that nobody sees waits for that
    may_read = (RESOURCE_CLAIMS, RESOURCE_SLICES, DEVICE_CLASSES, DEVICE_TAINT_RULES)

    def __init__(self, *, wait_seconds: float = WAIT_SECONDS) -> None:
        self.wait_seconds = wait_seconds

    def supply(self, facts: Facts, nodes: NodeTable) -> DeviceSupply:
        return DeviceSupply(facts, nodes, _state(nodes.usage))

    def new_state(self) -> DeviceState:
        return DeviceState()

    def emptied(self, state: RowState) -> DeviceState:
        assert isinstance(state, DeviceState)
        return state.emptied()

    def concerns(self, pod_class: PodClass, census: Census | None = None) -> bool:
        """As one that keeps state: all that bring claims.  As one that looks around: for whom it matters what others
        get elsewhere."""
        need = need_in(pod_class.rules)
        return need is not None and (census is None or need.looks_around)

    # --- node by node ---

    def copies(self, lines: Lines, room: Room) -> Ints | None:
        need = next((need for plugin, need in lines.needs if plugin == NAME), None)
        if need is None:
            return None
        assert isinstance(need, DeviceNeed)
        return _state(room.usage).copies(need, room.nodes, _rows(room), exact=False)[None]

    def refusals(self, pod_class: PodClass, room: Room) -> list[tuple[str, Bools]]:
        need = need_in(pod_class.rules)
        if need is None:
            return []
        state, rows = _state(room.usage), _rows(room)
        refused = state.copies(need, room.nodes, rows, exact=True) == 0
        why = [""] * len(rows)
        for place in np.flatnonzero(refused).tolist():
            found = state.refusal(need, room.nodes, rows[place])
            why[place] = NOT_HERE if found is None else found.problem or NO_DEVICES
        return [(reason, np.array([one == reason for one in why])) for reason in sorted(set(why) - {""})]

    # --- where others of the trial share claims, or take devices that several nodes can use ---

    def gathers(self, pod_class: PodClass) -> Iterable[str]:
        """Devices are mostly one node's: who shares a claim is where the first of them goes."""
        need = need_in(pod_class.rules)
        return (HOSTNAME,) if need is not None and any(ask.shared for ask in need.asks) else ()

    def outlook(self, pod_class: PodClass, nodes: NodeTable, usage: Usage) -> Outlook:
        return _Choosing(pod_class, nodes, _state(usage).copy())


class _Choosing(Outlook):
    """Devices that are left, as pods of one class take them one after another."""

    def __init__(self, pod_class: PodClass, nodes: NodeTable, state: DeviceState) -> None:
        need = need_in(pod_class.rules)
        assert need is not None
        self._need = need
        self._pod_class = pod_class
        self._nodes = nodes
        self._state = state
        self._admits: Bools | None = None

    def place(self, row: int) -> None:
        self._state.add(row, self._pod_class)
        self._admits = None

    def admits(self) -> Bools:
        if self._admits is None:
            rows = list(range(self._nodes.capacity))
            self._admits = self._state.copies(self._need, self._nodes, rows, exact=True) > 0
        return self._admits

    def refusals(self) -> list[tuple[str, Bools]]:
        return [(NO_DEVICES, ~self.admits())]


def _state(usage: Usage) -> DeviceState:
    state = usage.states[NAME]
    assert isinstance(state, DeviceState)
    return state


def _rows(room: Room) -> list[int]:
    return list(range(room.nodes.capacity)) if room.rows is None else room.rows.tolist()
