"""Room that is kept for units whose victims are still leaving.

A member's place counts as taken from the moment its unit has one, even while the victims are still there: whoever
comes later, of equal or lower priority, does not see it.  What is kept for whom stands on the pods themselves
(nominatedNodeName), so that a new scheduler keeps it too.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from muster.cluster.cluster import Cluster
from muster.cluster.pods import PodState
from muster.cluster.usage import Usage
from muster.cluster.victims import Victim
from muster.engine.decisions import Loss

Why = tuple[Loss | None, str]
"""What became of the room that was kept; no loss if the work was not done yet."""


class Fence(msgspec.Struct, gc=False, eq=False):
    """What is kept for one unit.  Its members know where (`PodState.kept`)."""

    unit: str
    priority: int
    pods: list[PodState]
    evicted: bool
    """Somebody was evicted for it, as far as is known."""
    restored: bool
    """It was found on the pods, and nobody knows yet whether all who were to go have been told to."""
    since: float
    waits_for: int
    """How many were on their way out of its nodes when it was put up: told once, not counted down."""
    neighbours: frozenset[str]
    """Pods on its nodes when it was put up: whoever else comes is a stranger."""


class Fences:
    """All that is kept, by unit."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.by_unit: dict[str, Fence] = {}

    def __len__(self) -> int:
        return len(self.by_unit)

    def of(self, unit: str) -> Fence | None:
        return self.by_unit.get(unit)

    def put_up(
        self,
        unit: str,
        places: Iterable[tuple[PodState, str]],
        *,
        priority: int,
        evicted: bool,
        now: float,
        restored: bool = False,
    ) -> Fence:
        """Keeps these places for the unit, in place of what was kept before."""
        before = self.take_down(unit, now)
        kept: list[PodState] = []
        for pod, node in places:
            self._cluster.keep(pod, node)
            kept.append(pod)
        nodes = dict.fromkeys(pod.kept for pod in kept)
        there = [pod for node in nodes for pod in self._cluster.on_node.get(node, {}).values()]
        fence = Fence(
            unit=unit,
            priority=priority,
            pods=kept,
            evicted=evicted or (before is not None and before.evicted),
            restored=restored,
            since=now,
            waits_for=sum(pod.leaving for pod in there),
            neighbours=frozenset(pod.uid for pod in there),
        )
        self.by_unit[unit] = fence
        return fence

    def take_down(self, unit: str, now: float) -> Fence | None:
        """Nothing is kept for the unit any more."""
        fence = self.by_unit.pop(unit, None)
        if fence is not None:
            for pod in fence.pods:
                self._cluster.give_up(pod)
            gang = self._cluster.gangs.get(unit)
            if gang is not None and gang.first_bound is not None:
                gang.waited += now - max(fence.since, gang.first_bound)
        return fence

    def makes_way(self, places: Iterable[tuple[PodState, str]]) -> bool:
        """Whether somebody was evicted who still leaves these nodes; else nobody went for these places."""
        nodes = dict.fromkeys(node for _, node in places)
        return any(pod.evicted for node in nodes for pod in self._cluster.on_node.get(node, {}).values())

    def lift(self, unit: str, usage: Usage) -> None:
        """Gives a trial the room that is kept for the unit."""
        fence = self.by_unit.get(unit)
        for pod in fence.pods if fence else ():
            row = self._cluster.nodes.rows.get(pod.kept)
            if row is not None:
                usage.remove(row, pod.pod_class)

    def lower_than(self, priority: int) -> list[Victim]:
        """Room that a unit of this priority may take although it is kept for others."""
        return [
            Victim(
                key=fence.unit,
                pods=[pod for pod in fence.pods if pod.kept],
                priority=fence.priority,
                started=float("-inf"),
                kept=fence.unit,
            )
            for fence in self.by_unit.values()
            if fence.priority < priority
        ]

    # --- whether it still holds what it promises ---

    def loss(self, fence: Fence, now: float, *, patience: float) -> Why | None:
        """Why the kept places will not serve the unit; None if they will."""
        if any(not pod.kept or not pod.candidate for pod in fence.pods):
            return Loss.PREEMPTOR, "its members have changed"
        for pod in fence.pods:
            if pod.kept not in self._cluster.nodes.rows:
                return Loss.NODE, f"node {pod.kept} is gone"
        nodes = list(dict.fromkeys(pod.kept for pod in fence.pods))
        for node in nodes:
            if not self._has_room(fence, node, now, patience):
                return self._who_took(fence, [node], now, patience)
        return None

    def waited_in_vain(self, fence: Fence, now: float, *, patience: float) -> Why | None:
        """Why a unit has no place although nobody is in its way any more: others took ports, say."""
        nodes = list(dict.fromkeys(pod.kept for pod in fence.pods))
        if any(self._leaving(node, now, patience) for node in nodes):
            return None
        return self._who_took(fence, nodes, now, patience)

    def _has_room(self, fence: Fence, node: str, now: float, patience: float) -> bool:
        """Whether the node holds all that is on it, or kept on it against the unit, once the leaving have left."""
        row = self._cluster.nodes.rows[node]
        free = self._cluster.nodes.usage.free[:, row].copy()
        for pod in self._leaving(node, now, patience):
            for resource, amount in pod.pod_class.room:
                free[resource] += amount
        for pod in self._cluster.kept_on[node].values():
            other = self.by_unit.get(pod.gang or pod.uid)
            if other is not None and other.priority < fence.priority:
                for resource, amount in pod.pod_class.room:
                    free[resource] += amount
        asked = {resource for pod in self._cluster.kept_on[node].values() for resource, _ in pod.pod_class.room}
        return all(free[resource] >= 0 for resource in asked)

    def _leaving(self, node: str, now: float, patience: float) -> list[PodState]:
        """Pods on the node that can still be expected to leave."""
        there = self._cluster.on_node.get(node, {}).values()
        return [pod for pod in there if pod.leaving and not overdue(pod, now, patience=patience)]

    def _who_took(self, fence: Fence, nodes: list[str], now: float, patience: float) -> Why:
        there = [pod for node in nodes for pod in self._cluster.on_node.get(node, {}).values()]
        for pod in there:
            if pod.uid not in fence.neighbours and not pod.leaving:
                if pod.ours:
                    return Loss.PRIORITY, f"{pod.key} took room on node {pod.node}"
                return Loss.FOREIGN, f"another scheduler put {pod.key} on node {pod.node}"
        for pod in there:
            if pod.leaving and overdue(pod, now, patience=patience):
                return Loss.VICTIMS, f"{pod.key} was to leave node {pod.node} and is still there"
        if fence.restored:
            return None, "not all who were to go have been told to"
        return Loss.NODE, f"node {nodes[0]} has less room than before"


def overdue(pod: PodState, now: float, *, patience: float) -> bool:
    """Whether nobody should count any longer on the pod's leaving."""
    return pod.leaving_until is not None and now > pod.leaving_until + patience
