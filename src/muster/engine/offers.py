"""Whom each node would lose to a lone pod, kept for the next pod that asks alike.

A lone pod looks at hundreds of nodes before one of them loses anybody, and the next one of its kind at almost the
same nodes.  What a node offers depends on four things, and an offer is kept only while all of them are as they were:

- the room that the node has once the leaving have left: compared, for all nodes at once;
- the pods on the node: `Cluster.disturbed` tells where they changed;
- the gangs of these pods: what each is as a victim (`Candidates.standing`) is compared;
- disruption budgets: `Budgets.version`.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

import numpy as np

from muster.cluster.classes import PodClass
from muster.cluster.cluster import Cluster
from muster.cluster.gangs import GangState
from muster.cluster.pods import PodState
from muster.cluster.usage import Ints
from muster.cluster.victims import Victim
from muster.engine.victims import Candidates, Standing

# upstream adds this to every priority, so that the sum of many is more than that of few
_LIFT = 2**31
# kinds of pods whose offers are kept, each with an offer for every node it has looked at
_MOST_KINDS = 8

_Kind = tuple[PodClass, int, bool]
"""Class and priority of a pod, and whether others may be evicted for it."""


class Offer(NamedTuple):
    """Who goes from one node for the sake of a pod."""

    victims: list[Victim]
    cost: tuple[float, ...]
    """Upstream's choice among nodes: smaller is better."""

    @classmethod
    def of(cls, victims: list[Victim], *, violations: int) -> Offer:
        pods = sum(len(victim.pods) for victim in victims)
        highest = max((victim.priority for victim in victims), default=-_LIFT)
        total = sum((victim.priority + _LIFT) * len(victim.pods) for victim in victims)
        latest = min((victim.started for victim in victims if victim.priority == highest), default=0.0)
        return cls(victims, (violations, highest, total, pods, -latest))


class Kept(NamedTuple):
    """What a node offered."""

    offer: Offer | None
    """None if nobody's leaving the node would help."""
    gangs: list[tuple[GangState, Standing]]
    """Gangs with pods on the node, as they stood."""


class Shelf:
    """What nodes offer pods of one kind, by row."""

    __slots__ = ("_candidates", "by_row", "free")

    def __init__(self, candidates: Candidates, free: Ints) -> None:
        self._candidates = candidates
        self.free = free
        """The room on which the offers were made, (resources × rows)."""
        self.by_row: dict[int, Kept] = {}

    def get(self, row: int) -> Kept | None:
        """What the node offers, if that is known."""
        found = self.by_row.get(row)
        if found is not None:
            for gang, stood in found.gangs:
                if self._candidates.standing(gang) != stood:
                    return None
        return found

    def put(self, row: int, node: str, offer: Offer | None) -> None:
        """The node offers this, as of now."""
        standing = self._candidates.standing
        gangs = [(gang, standing(gang)) for gang in self._candidates.gangs_on(node)]
        self.by_row[row] = Kept(offer, gangs)


class Offers:
    """Keeps offers while they are true."""

    def __init__(self, cluster: Cluster, candidates: Candidates) -> None:
        self._cluster = cluster
        self._candidates = candidates
        self._shelves: OrderedDict[_Kind, Shelf] = OrderedDict()
        """Least recently used first."""
        self._budgets = 0

    def for_pod(self, pod: PodState, free: Ints) -> Shelf:
        """What nodes with so much room are known to offer a pod like this one; whoever plans over several turns calls
        `take_notice` in each.
        """
        self.take_notice()
        if self._budgets != self._cluster.budgets.version:
            self._budgets = self._cluster.budgets.version
            self._shelves.clear()
        kind = pod.pod_class, pod.priority, pod.preempts
        shelf = self._shelves.get(kind)
        if shelf is None or shelf.free.shape != free.shape:
            shelf = self._shelves[kind] = Shelf(self._candidates, free)
            if len(self._shelves) > _MOST_KINDS:
                self._shelves.popitem(last=False)
        elif shelf.by_row:
            for row in np.flatnonzero((shelf.free != free).any(axis=0)).tolist():
                shelf.by_row.pop(row, None)
        shelf.free = free
        self._shelves.move_to_end(kind)
        return shelf

    def take_notice(self) -> None:
        """Forgets what nodes offered on which pods have changed since this was last called."""
        disturbed = self._cluster.disturbed
        if not disturbed:
            return
        for shelf in self._shelves.values():
            for row in disturbed & shelf.by_row.keys():
                del shelf.by_row[row]
        disturbed.clear()
