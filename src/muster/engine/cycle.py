"""The gang cycle: one unit, tried whole on a trial copy; nothing of the cluster changes here.

Members are handled in batches of one class: higher priority first, then larger pods, within a batch by name.
A lone pod is a gang of one.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from muster.cluster.classes import PodClass
from muster.cluster.gangs import GangState
from muster.cluster.nodes import NodeTable, Rows
from muster.cluster.pods import PodState
from muster.cluster.usage import Usage
from muster.engine.placement import choose
from muster.framework.contract import GangRule
from muster.framework.views import Views


class Batch:
    """Members of one class, subset and priority, in the order in which they get places."""

    __slots__ = ("pod_class", "pods", "rows", "subset")

    def __init__(self, pod_class: PodClass, subset: str, pods: list[PodState]) -> None:
        self.pod_class = pod_class
        self.subset = subset
        self.pods = pods
        self.rows: list[int] = []
        """Places for the first of them, as far as found."""

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

    __slots__ = ("_unbooked", "_usage", "batches", "lacking", "needed")

    def __init__(self, batches: list[Batch], *, needed: int, usage: Usage) -> None:
        self.batches = batches
        self.needed = needed
        """Members that must be placed for the unit to start, or to go on."""
        self.lacking = 0
        """Members that it is short of; 0 means that the unit may be bound."""
        self._usage = usage
        self._unbooked: list[tuple[Rows, PodClass]] = []

    def add(self, batch: Batch, rows: Rows) -> None:
        batch.rows.extend(rows.tolist())
        if len(rows):
            self._unbooked.append((rows, batch.pod_class))

    @property
    def usage(self) -> Usage:
        """The room with everything placed so far; copied only when it is asked for after a placement."""
        if self._unbooked and not self._usage.is_trial:
            self._usage = self._usage.copy()
        for rows, pod_class in self._unbooked:
            self._usage.add_copies(rows, pod_class)
        self._unbooked.clear()
        return self._usage

    @property
    def placed(self) -> int:
        return sum(len(batch.rows) for batch in self.batches)

    def wants(self) -> dict[PodClass, int]:
        """How many members of each class were to be placed."""
        wants: dict[PodClass, int] = {}
        for batch in self.batches:
            wants[batch.pod_class] = wants.get(batch.pod_class, 0) + len(batch.pods)
        return wants


class GangCycle:
    """Tries units on nodes as they are: the cluster's, or others that somebody wonders about."""

    def __init__(self, nodes: NodeTable, rule: GangRule, views: Views) -> None:
        self._nodes = nodes
        self._rule = rule
        self._views = views

    def best_row(self, pod_class: PodClass) -> int | None:
        """Where one pod of the class goes; None if nowhere."""
        key = self._views.of(pod_class).key
        if not len(key):
            return None
        row = int(key.argmax())
        return row if key[row] else None

    def try_pod(self, pod: PodState) -> Trial:
        batch = Batch(pod.pod_class, pod.subset, [pod])
        trial = Trial([batch], needed=1, usage=self._nodes.usage)
        trial.lacking = 1 - self._place(trial, batch, 1)
        return trial

    def try_gang(self, gang: GangState) -> Trial:
        """Places the gang's candidates: first what each subset must have, then as many more as fit."""
        rule = self._rule
        must = rule.shortfall(gang, {})
        batches = _batches(pod for pod in gang.candidates.values() if pod.held is None)
        # a gang that has started still needs at least one place to be worth an attempt
        needed = sum(must.values()) or 1
        trial = Trial(batches, needed=needed, usage=self._nodes.usage)
        if len({batch.subset for batch in batches}) > 1:
            # else the spare members of one subset would take the room that another one must have
            for batch in batches:
                placed = self._place(trial, batch, must.get(batch.subset, 0))
                must[batch.subset] = must.get(batch.subset, 0) - placed
        for batch in batches:
            self._place(trial, batch, len(batch.pods))
        found: dict[str, int] = {}
        for batch in batches:
            found[batch.subset] = found.get(batch.subset, 0) + len(batch.rows)
        lacking = sum(rule.shortfall(gang, found).values())
        trial.lacking = lacking if trial.placed else max(1, lacking)
        return trial

    def _place(self, trial: Trial, batch: Batch, most: int) -> int:
        """Finds places for up to `most` more of the batch; returns for how many."""
        count = min(most, len(batch.pods) - len(batch.rows))
        if not count:
            return 0
        usage = trial.usage
        if usage.is_trial:
            view = self._views.on_trial(batch.pod_class, usage)
        else:
            view = self._views.of(batch.pod_class)
        rows = choose(self._views, view, usage, count)
        trial.add(batch, rows)
        return len(rows)


def in_order_of_choice(pods: Iterable[PodState]) -> list[PodState]:
    """Members of one class: who gets a place first if not all do."""
    return sorted(pods, key=_rank)


def _rank(pod: PodState) -> tuple[int, str]:
    return (-pod.priority, pod.key)


def _batches(pods: Iterable[PodState]) -> list[Batch]:
    groups: dict[tuple[str, int, PodClass], list[PodState]] = {}
    for pod in pods:
        group = pod.subset, pod.priority, pod.pod_class
        found = groups.get(group)
        if found is None:
            groups[group] = [pod]
        else:
            found.append(pod)
    for members in groups.values():
        members.sort(key=_name)
    ordered = sorted(groups, key=lambda group: (-group[1], group[2].order, group[0]))
    return [Batch(group[2], group[0], groups[group]) for group in ordered]


def _name(pod: PodState) -> str:
    return pod.key
