"""The gang cycle: one unit, tried whole on a trial copy; nothing of the cluster changes here.

Members are handled in batches of one class: higher priority first, then larger pods, within a batch by name.
A lone pod is a gang of one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from muster.cluster.classes import PodClass
from muster.cluster.gangs import GangState
from muster.cluster.nodes import NodeTable, Rows
from muster.cluster.pods import PodState
from muster.cluster.usage import Usage
from muster.engine.placement import choose
from muster.framework.contract import Bools, GangRule
from muster.framework.views import Views


class Ground(NamedTuple):
    """What a unit is tried on."""

    usage: Usage
    """The room there is, or a copy in which some of it is given back; not changed by a trial."""
    blocked: Bools | None = None
    """Rows that it may not use."""


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
        """Places for the first of them, as far as found."""

    def anew(self) -> Batch:
        """The same members, none of whom has a place."""
        return Batch(self.pod_class, self.pods, subset=self.subset, priority=self.priority, avoid=self.avoid)

    @property
    def row_array(self) -> Rows:
        return np.array(self.rows, np.intp)

    @property
    def placed(self) -> list[PodState]:
        return self.pods[: len(self.rows)]

    @property
    def unplaced(self) -> list[PodState]:
        return self.pods[len(self.rows) :]


class Trial:
    """What one attempt would place, and the room that leaves; the cluster does not change."""

    __slots__ = ("_own", "_unbooked", "_usage", "batches", "lacking", "needed")

    def __init__(self, batches: list[Batch], *, needed: int, usage: Usage) -> None:
        self.batches = batches
        self.needed = needed
        """Members that must be placed for the unit to start, or to go on."""
        self.lacking = 0
        """Members that it is short of; 0 means that the unit may be bound."""
        self._usage = usage
        self._own = False
        self._unbooked: list[tuple[Rows, PodClass]] = []

    def add(self, batch: Batch, rows: Rows) -> None:
        batch.rows.extend(rows.tolist())
        if len(rows):
            self._unbooked.append((rows, batch.pod_class))

    def cut(self, most: dict[str, int]) -> None:
        """Takes places back from the last members of each subset that have more of them than `most` says."""
        left = dict(most)
        for batch in self.batches:
            kept = min(len(batch.rows), left.get(batch.subset, 0))
            left[batch.subset] = left.get(batch.subset, 0) - kept
            # whoever may not be bound takes no room; `usage` still counts them, and nobody asks for it after a success
            del batch.rows[kept:]

    @property
    def usage(self) -> Usage:
        """The room with everything placed so far; copied only when it is asked for after a placement."""
        if self._unbooked and not self._own:
            self._usage = self._usage.copy()
            self._own = True
        for rows, pod_class in self._unbooked:
            self._usage.add_copies(rows, pod_class)
        self._unbooked.clear()
        return self._usage

    @property
    def placed(self) -> int:
        return sum(len(batch.rows) for batch in self.batches)

    @property
    def places(self) -> list[tuple[PodState, int]]:
        """Members that have a place, each with its row."""
        return [found for batch in self.batches for found in zip(batch.pods, batch.rows, strict=False)]

    def wants(self) -> dict[PodClass, int]:
        """How many members of each class were to be placed."""
        wants: dict[PodClass, int] = {}
        for batch in self.batches:
            wants[batch.pod_class] = wants.get(batch.pod_class, 0) + len(batch.pods)
        return wants


class GangCycle:
    """Tries units on nodes as they are: the cluster's, or others that somebody wonders about."""

    def __init__(self, nodes: NodeTable, rule: GangRule, views: Views) -> None:
        self.nodes = nodes
        self._rule = rule
        self._views = views

    def best_row(self, pod_class: PodClass, ground: Ground | None = None) -> int | None:
        """Where one pod of the class goes; None if nowhere."""
        if ground is None:
            key = self._views.of(pod_class).key
        else:
            key = self._views.on_trial(pod_class, ground.usage, blocked=ground.blocked).key
        if not len(key):
            return None
        row = int(key.argmax())
        return row if key[row] else None

    def try_pod(self, pod: PodState, ground: Ground | None = None) -> Trial:
        ground = ground or Ground(self.nodes.usage)
        batch = Batch(pod.pod_class, [pod], avoid=pod.denied_on)
        trial = Trial([batch], needed=1, usage=ground.usage)
        trial.lacking = 1 - self._place(trial, batch, 1, ground.blocked)
        return trial

    def batches(self, gang: GangState) -> list[Batch]:
        """The gang's candidates that may be placed, in the order in which they are."""
        return _batches(pod for pod in gang.candidates.values() if pod.held is None)

    def try_gang(
        self, gang: GangState, ground: Ground | None = None, *, batches: Sequence[Batch] | None = None
    ) -> Trial:
        """Places the gang's candidates: first what each subset must have, then as many more as fit.

        `batches` gives them in another order than their own.
        """
        ground = ground or Ground(self.nodes.usage)
        rule = self._rule
        must = rule.shortfall(gang, {})
        ordered = self.batches(gang) if batches is None else list(batches)
        # a gang that has started still needs at least one place to be worth an attempt
        needed = sum(must.values()) or 1
        trial = Trial(ordered, needed=needed, usage=ground.usage)
        if len({batch.subset for batch in ordered}) > 1:
            # else the spare members of one subset would take the room that another one must have
            for batch in ordered:
                placed = self._place(trial, batch, must.get(batch.subset, 0), ground.blocked)
                must[batch.subset] = must.get(batch.subset, 0) - placed
        for batch in ordered:
            self._place(trial, batch, len(batch.pods), ground.blocked)
        found: dict[str, int] = {}
        for batch in ordered:
            found[batch.subset] = found.get(batch.subset, 0) + len(batch.rows)
        usable = rule.usable(gang, found)
        if usable != found:
            trial.cut(usable)
            found = usable
        lacking = sum(rule.shortfall(gang, found).values())
        trial.lacking = lacking if trial.placed else max(1, lacking)
        return trial

    def _place(self, trial: Trial, batch: Batch, most: int, blocked: Bools | None) -> int:
        """Finds places for up to `most` more of the batch; returns for how many."""
        count = min(most, len(batch.pods) - len(batch.rows))
        if not count:
            return 0
        found = self._choose(trial, batch, count, self._without(batch.avoid, blocked))
        if batch.avoid and found < count:
            # nowhere else: perhaps they are let in by now
            found += self._choose(trial, batch, count - found, blocked)
        return found

    def _choose(self, trial: Trial, batch: Batch, count: int, blocked: Bools | None) -> int:
        usage = trial.usage
        if usage.is_trial or blocked is not None:
            view = self._views.on_trial(batch.pod_class, usage, blocked=blocked)
        else:
            view = self._views.of(batch.pod_class)
        rows = choose(self._views, view, usage, count)
        trial.add(batch, rows)
        return len(rows)

    def _without(self, avoid: frozenset[str], blocked: Bools | None) -> Bools | None:
        """The rows that may not be used, and those of these nodes."""
        rows = [self.nodes.rows[name] for name in avoid if name in self.nodes.rows]
        if not rows:
            return blocked
        both = np.zeros(self.nodes.capacity, np.bool_) if blocked is None else blocked.copy()
        both[rows] = True
        return both


def in_order_of_choice(pods: Iterable[PodState]) -> list[PodState]:
    """Members of one class: who gets a place first if not all do."""
    return sorted(pods, key=_rank)


def _rank(pod: PodState) -> tuple[int, str]:
    return (-pod.priority, pod.key)


_Group = tuple[str, int, PodClass, frozenset[str]]


def _batches(pods: Iterable[PodState]) -> list[Batch]:
    groups: dict[_Group, list[PodState]] = {}
    for pod in pods:
        group = pod.subset, pod.priority, pod.pod_class, pod.denied_on
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
