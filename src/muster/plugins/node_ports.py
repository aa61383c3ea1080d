"""NodePorts: a host port is taken once per node, address and protocol; 0.0.0.0 stands for all addresses."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from muster.cluster.classes import HostPort, Lines, PodClass
from muster.cluster.room import Room
from muster.cluster.taken import TakenState
from muster.cluster.usage import Ints
from muster.framework.contract import Bools, RoomFilter, Stateful

_ANY = "0.0.0.0"


class PortState(TakenState[tuple[str, int], str]):
    """By which addresses ports are taken."""

    def things(self, pod_class: PodClass) -> Iterable[tuple[tuple[str, int], str]]:
        return (((port.protocol, port.port), port.ip) for port in pod_class.ports)

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
