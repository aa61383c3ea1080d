"""NodePorts: a host port is taken once per node, address and protocol; 0.0.0.0 stands for all addresses."""

from __future__ import annotations

from typing import Self

import numpy as np

from muster.cluster.classes import HostPort, Lines, PodClass
from muster.cluster.room import Room
from muster.cluster.usage import Ints
from muster.framework.contract import Bools, RoomFilter, Stateful

_ANY = "0.0.0.0"


class PortState:
    """For each port, the rows where it is taken, and by which addresses.

    Copies share what they do not change: a cluster has thousands of taken ports, a trial takes a few.
    """

    def __init__(self) -> None:
        self.taken: dict[tuple[str, int], dict[int, tuple[str, ...]]] = {}
        self._own: set[tuple[str, int]] = set()
        """Ports whose rows no copy shares."""

    def add(self, row: int, pod_class: PodClass) -> None:
        for port in pod_class.ports:
            rows = self._rows((port.protocol, port.port))
            rows[row] = (*rows.get(row, ()), port.ip)

    def remove(self, row: int, pod_class: PodClass) -> None:
        for port in pod_class.ports:
            rows = self._rows((port.protocol, port.port))
            left = list(rows[row])
            left.remove(port.ip)
            rows[row] = tuple(left)
            if not left:
                del rows[row]

    def clear(self, row: int) -> None:
        for port, rows in list(self.taken.items()):
            if row in rows:
                del self._rows(port)[row]

    def copy(self) -> Self:
        twin = type(self)()
        twin.taken = self.taken.copy()
        self._own.clear()
        return twin

    def settle(self) -> None:
        """A port is free as soon as its pod is gone."""

    def _rows(self, port: tuple[str, int]) -> dict[int, tuple[str, ...]]:
        if port not in self._own:
            self.taken[port] = self.taken.get(port, {}).copy()
            self._own.add(port)
        return self.taken[port]

    def conflicts(self, wanted: HostPort) -> list[int]:
        """Rows where the port is taken for the wanted address."""
        rows = self.taken.get((wanted.protocol, wanted.port), {})
        return [
            row for row, addresses in rows.items() if wanted.ip == _ANY or wanted.ip in addresses or _ANY in addresses
        ]


class NodePorts(RoomFilter, Stateful):
    name = "NodePorts"
    reason = "node(s) didn't have free ports for the requested pod ports"

    def concerns(self, pod_class: PodClass) -> bool:
        return bool(pod_class.ports)

    def new_state(self) -> PortState:
        return PortState()

    def copies(self, lines: Lines, room: Room) -> Ints | None:
        if not lines.ports:
            return None
        state = room.usage.states[self.name]
        assert isinstance(state, PortState)
        # a second copy on the same node would collide with the first
        free = np.ones(room.nodes.capacity, np.int64)
        for port in lines.ports:
            free[state.conflicts(port)] = 0
        return (free if room.rows is None else free[room.rows])[None]

    def refusals(self, pod_class: PodClass, room: Room) -> list[tuple[str, Bools]]:
        free = self.copies(pod_class.line, room)
        return [] if free is None else [(self.reason, free[0] == 0)]
