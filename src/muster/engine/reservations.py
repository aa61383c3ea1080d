"""Room that is reserved for units whose victims are still leaving.

A member's place counts as taken from the moment its unit has one, even while the victims are still there: whoever
comes later, of equal or lower priority, does not see it; nodes are scored as if nobody were awaited.  What is reserved
for whom stands on the pods themselves (nominatedNodeName), so that a new scheduler keeps it too.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

import msgspec

from muster.cluster.census import Aside
from muster.cluster.cluster import Cluster
from muster.cluster.pods import PodState
from muster.cluster.usage import Usage
from muster.cluster.victims import Victim
from muster.engine.decisions import Loss

Why = tuple[Loss | None, str]
"""What became of the room that was reserved; no loss if the work was not done yet."""


class Reservation(msgspec.Struct, gc=False, eq=False):
    """What is reserved for one unit.  Its members know where (`PodState.reserved`)."""

    unit: str
    priority: int
    pods: list[PodState]
    evicted: bool
    """Somebody was evicted for it, as far as is known."""
    restored: bool
    """It was found on the pods, and nobody knows yet whether all who were to go have been told to."""
    since: float
    waits_for: int
    """How many were on their way out, of its nodes or whom it looks at elsewhere, when it was put up: told once, not
    counted down."""
    neighbours: frozenset[str]
    """Pods on its nodes when it was put up: whoever else comes is a stranger."""
    number: int
    """Larger than that of any before it."""

    def comes_before(self, other: Reservation) -> bool:
        """Whether room that both wait for on a node is the unit's first: the other was promised what is left of it."""
        return (-self.priority, self.number) < (-other.priority, other.number)


class Reservations:
    """All that is reserved, by unit."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.by_unit: dict[str, Reservation] = {}
        self._made = 0

    def __len__(self) -> int:
        return len(self.by_unit)

    def of(self, unit: str) -> Reservation | None:
        return self.by_unit.get(unit)

    def make(
        self,
        unit: str,
        places: Iterable[tuple[PodState, str]],
        *,
        priority: int,
        evicted: bool,
        now: float,
        restored: bool = False,
    ) -> Reservation:
        """Keeps these places for the unit, in place of what was reserved before."""
        before = self.end(unit, now)
        reserved: list[PodState] = []
        for pod, node in places:
            self._cluster.reserve(pod, node)
            reserved.append(pod)
        nodes = dict.fromkeys(pod.reserved for pod in reserved)
        there = [pod for node in nodes for pod in self._cluster.on_node.get(node, {}).values()]
        self._made += 1
        reservation = Reservation(
            unit=unit,
            priority=priority,
            pods=reserved,
            evicted=evicted or (before is not None and before.evicted),
            restored=restored,
            since=now,
            waits_for=sum(pod.leaving for pod in there) + len(self._leaving_elsewhere(reserved, nodes)),
            neighbours=frozenset(pod.uid for pod in there),
            number=self._made,
        )
        self.by_unit[unit] = reservation
        return reservation

    def end(self, unit: str, now: float) -> Reservation | None:
        """Nothing is reserved for the unit any more."""
        reservation = self.by_unit.pop(unit, None)
        if reservation is not None:
            for pod in reservation.pods:
                self._cluster.unreserve(pod)
            gang = self._cluster.gangs.get(unit)
            if gang is not None and gang.first_bound is not None:
                gang.waited += now - max(reservation.since, gang.first_bound)
        return reservation

    def makes_way(self, places: Iterable[tuple[PodState, str]]) -> bool:
        """Whether somebody was evicted who is still in the way there; else nobody went for these places."""
        places = list(places)
        nodes = dict.fromkeys(node for _, node in places)
        there = [pod for node in nodes for pod in self._cluster.on_node.get(node, {}).values()]
        return any(pod.evicted for pod in [*there, *self._leaving_elsewhere([pod for pod, _ in places], nodes)])

    def give_back(self, unit: str, usage: Usage) -> None:
        """Gives a trial the room that is reserved for the unit."""
        reservation = self.by_unit.get(unit)
        self._lift(reservation.pods if reservation else (), usage)

    def give_way(self, unit: str, usage: Usage) -> bool:
        """Gives a trial the room on the unit's nodes that is reserved for those who come after it; if there is any.

        Who leaves first need not be who was to leave for the unit: the room is its own all the same.
        """
        reservation = self.by_unit.get(unit)
        nodes = dict.fromkeys(pod.reserved for pod in reservation.pods) if reservation else ()
        there = [pod for node in nodes for pod in self._cluster.reserved_on.get(node, {}).values()]
        after = [pod for pod in there if self._is_after(pod, unit)]
        self._lift(after, usage)
        return bool(after)

    def _is_after(self, pod: PodState, unit: str) -> bool:
        other = self.by_unit.get(pod.gang or pod.uid)
        return other is not None and self.by_unit[unit].comes_before(other)

    def _lift(self, pods: Iterable[PodState], usage: Usage) -> None:
        for pod in pods:
            row = self._cluster.nodes.rows.get(pod.reserved)
            if row is not None:
                usage.remove(row, pod.pod_class, aside=Aside.AWAITED)

    def lower_than(self, priority: int) -> list[Victim]:
        """Room that a unit of this priority may take although it is reserved for others."""
        return [
            Victim(
                key=reservation.unit,
                pods=[pod for pod in reservation.pods if pod.reserved],
                priority=reservation.priority,
                started=float("-inf"),
                reservation=reservation.unit,
            )
            for reservation in self.by_unit.values()
            if reservation.priority < priority
        ]

    # --- whether it still holds what it promises ---

    def loss(self, reservation: Reservation, now: float, *, patience: float) -> Why | None:
        """Why the reserved places will not serve the unit; None if they will."""
        if any(not pod.reserved or not pod.candidate for pod in reservation.pods):
            return Loss.PREEMPTOR, "its members have changed"
        for pod in reservation.pods:
            if pod.reserved not in self._cluster.nodes.rows:
                return Loss.NODE, f"node {pod.reserved} is gone"
        nodes = list(dict.fromkeys(pod.reserved for pod in reservation.pods))
        for node in nodes:
            if not self._has_room(reservation, node, now, patience):
                return self._who_took(reservation, [node], now, patience)
        return None

    def waited_in_vain(self, reservation: Reservation, now: float, *, patience: float) -> Why | None:
        """Why a unit has no place although nobody is in its way any more: others took ports, say."""
        nodes = list(dict.fromkeys(pod.reserved for pod in reservation.pods))
        elsewhere = self._leaving_elsewhere(reservation.pods, nodes)
        if any(self._leaving(node, now, patience) for node in nodes):
            return None
        if any(not overdue(pod, now, patience=patience) for pod in elsewhere):
            return None
        if not self._cluster.returning_to.isdisjoint(nodes) and now <= reservation.since + patience:
            # what the victims had is not given back yet
            return None
        return self._who_took(reservation, nodes, now, patience)

    def _has_room(self, reservation: Reservation, node: str, now: float, patience: float) -> bool:
        """Whether the node has what the unit asks for there, beside what stays or is reserved against the unit."""
        row = self._cluster.nodes.rows[node]
        free = self._cluster.nodes.usage.free[:, row].copy()
        for pod in self._leaving(node, now, patience):
            for resource, amount in pod.pod_class.takes:
                free[resource] += amount
        # what others lack who have room reserved there is their loss
        asked: set[int] = set()
        for pod in self._cluster.reserved_on[node].values():
            other = self.by_unit.get(pod.gang or pod.uid)
            if other is reservation:
                asked.update(resource for resource, _ in pod.pod_class.room)
            elif other is not None and reservation.comes_before(other):
                for resource, amount in pod.pod_class.takes:
                    free[resource] += amount
        return all(free[resource] >= 0 for resource in asked)

    def _leaving(self, node: str, now: float, patience: float) -> list[PodState]:
        """Pods on the node that can still be expected to leave."""
        there = self._cluster.on_node.get(node, {}).values()
        return [pod for pod in there if pod.leaving and not overdue(pod, now, patience=patience)]

    def _leaving_elsewhere(self, pods: Iterable[PodState], nodes: Container[str]) -> list[PodState]:
        """Pods on their way out of other nodes that may be in the way of these, wherever they are."""
        leaving = [pod for pod in self._cluster.leaving.values() if pod.pod_class.ties is not None]
        if not leaving or not any(map(self._cluster.looks_around, pods)):
            return []
        return [pod for pod in leaving if pod.node not in nodes]

    def _who_took(self, reservation: Reservation, nodes: list[str], now: float, patience: float) -> Why:
        there = [pod for node in nodes for pod in self._cluster.on_node.get(node, {}).values()]
        for pod in there:
            if pod.uid not in reservation.neighbours and not pod.leaving:
                if pod.ours:
                    return Loss.PRIORITY, f"{pod.key} took room on node {pod.node}"
                return Loss.FOREIGN, f"another scheduler put {pod.key} on node {pod.node}"
        for pod in there:
            if pod.leaving and overdue(pod, now, patience=patience):
                return Loss.VICTIMS, f"{pod.key} was to leave node {pod.node} and is still there"
        if reservation.restored:
            return None, "not all who were to go have been told to"
        return Loss.NODE, f"node {nodes[0]} has less room than before"


def overdue(pod: PodState, now: float, *, patience: float) -> bool:
    """Whether nobody should count any longer on the pod's leaving."""
    return pod.leaving_until is not None and now > pod.leaving_until + patience
