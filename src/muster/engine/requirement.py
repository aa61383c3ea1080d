"""What a unit needs places for: its members in batches, and how many of each subset must have one.

A lone pod is a gang of one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

import numpy as np

from muster.cluster.classes import PodClass
from muster.cluster.gangs import GangState
from muster.cluster.nodes import Rows
from muster.cluster.pods import PodState
from muster.framework.contract import GangRule

Counts = dict[str, int]
"""Members by subset; a lone pod's subset has no name."""


class Batch:
    """Members of one class, subset and priority, in the order in which they get places."""

    __slots__ = ("avoid", "pod_class", "pods", "priority", "rows", "subset")

    def __init__(
        self,
        pod_class: PodClass,
        pods: list[PodState],
        *,
        subset: str = "",
        priority: int = 0,
        avoid: frozenset[str] = frozenset(),
    ) -> None:
        self.pod_class = pod_class
        self.subset = subset
        self.priority = priority
        self.avoid = avoid
        """Nodes where these were denied."""
        self.pods = pods
        self.rows: list[int] = []
        """Places for the first of the members, as far as found."""

    def anew(self) -> Batch:
        """The same members, none of whom has a place."""
        return Batch(self.pod_class, self.pods, subset=self.subset, priority=self.priority, avoid=self.avoid)

    def only(self, pod: PodState) -> Batch:
        """One of the members by itself."""
        return Batch(self.pod_class, [pod], subset=self.subset, priority=self.priority, avoid=self.avoid)

    @property
    def row_array(self) -> Rows:
        return np.array(self.rows, np.intp)

    @property
    def placed(self) -> list[PodState]:
        return self.pods[: len(self.rows)]

    @property
    def unplaced(self) -> list[PodState]:
        return self.pods[len(self.rows) :]


class Requirement:
    """What a search looks for; true as long as nothing of the unit changes."""

    __slots__ = ("batches", "lacking", "must", "needed", "usable", "wants")

    def __init__(
        self, batches: list[Batch], *, lacking: Callable[[Counts], Counts], usable: Callable[[Counts], Counts]
    ) -> None:
        self.batches = batches
        """All members that may be placed, in the order in which they are; a search gives places to copies of these."""
        self.lacking = lacking
        """How many members each subset lacks with so many placed; empty if that is enough."""
        self.usable = usable
        """How many of the members placed in each subset may be bound."""
        self.must = lacking({})
        """How many of each subset must have a place; empty if none in particular."""
        self.needed = sum(self.must.values()) or 1
        """How many members must be placed; a gang that has started still needs one place to be worth an attempt."""
        self.wants = wants(batches)
        """How many members of each class are to be placed."""

    @classmethod
    def of_gang(cls, gang: GangState, rule: GangRule) -> Requirement:
        free = (pod for pod in gang.candidates.values() if pod.gated_by is None)
        return cls(_batches(free), lacking=partial(rule.shortfall, gang), usable=partial(rule.usable, gang))

    @classmethod
    def of_pod(cls, pod: PodState) -> Requirement:
        return cls([Batch(pod.pod_class, [pod], avoid=pod.setbacks.denied_on)], lacking=_one, usable=_all)


def wants(batches: Iterable[Batch]) -> dict[PodClass, int]:
    """How many members of each class the batches have."""
    counted: dict[PodClass, int] = {}
    for batch in batches:
        counted[batch.pod_class] = counted.get(batch.pod_class, 0) + len(batch.pods)
    return counted


def in_order_of_choice(pods: Iterable[PodState]) -> list[PodState]:
    """Members of one class: who gets a place first if not all do."""
    return sorted(pods, key=_rank)


def _one(found: Counts) -> Counts:
    return {} if found.get("") else {"": 1}


def _all(found: Counts) -> Counts:
    return found


def _rank(pod: PodState) -> tuple[int, str]:
    return (-pod.priority, pod.key)


_Group = tuple[str, int, PodClass, frozenset[str]]


def _batches(pods: Iterable[PodState]) -> list[Batch]:
    """Higher priority first, then larger pods; within a batch by name."""
    groups: dict[_Group, list[PodState]] = {}
    for pod in pods:
        group = pod.subset, pod.priority, pod.pod_class, pod.setbacks.denied_on
        found = groups.get(group)
        if found is None:
            groups[group] = [pod]
        else:
            found.append(pod)
    for members in groups.values():
        members.sort(key=_name)
    # those who were denied somewhere have fewer nodes to go to
    ordered = sorted(groups, key=lambda group: (-group[1], group[2].order, group[0], -len(group[3]), sorted(group[3])))
    return [
        Batch(pod_class, groups[group], subset=subset, priority=priority, avoid=avoid)
        for group in ordered
        for subset, priority, pod_class, avoid in (group,)
    ]


def _name(pod: PodState) -> str:
    return pod.key
