"""The gang cycle: one unit, tried whole on a trial copy; nothing of the cluster changes here.

Members are handled in batches of one class: higher priority first, then larger pods, within a batch by name.
A lone pod is a gang of one.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from muster.cluster.classes import PodClass
from muster.cluster.cluster import Cluster
from muster.cluster.gangs import GangState
from muster.cluster.nodes import Rows
from muster.cluster.pods import PodState
from muster.cluster.usage import Usage
from muster.engine.placement import choose
from muster.framework.profile import Profile
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
    """What one attempt would place.  `usage` is the room with everything placed so far."""

    __slots__ = ("batches", "lacking", "needed", "usage")

    def __init__(self, batches: list[Batch], needed: int, usage: Usage) -> None:
        self.batches = batches
        self.needed = needed
        """Members that must be placed for the unit to start, or to go on."""
        self.usage = usage
        self.lacking = 0
        """Members that it is short of; 0 means that the unit may be bound."""

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
    """Tries units on the cluster as it is."""

    def __init__(self, cluster: Cluster, profile: Profile, views: Views) -> None:
        self._cluster = cluster
        self._profile = profile
        self._views = views

    def best_row(self, pod_class: PodClass) -> int | None:
        """Where one pod of the class goes; None if nowhere."""
        key = self._views.of(pod_class).key
        if not len(key):
            return None
        row = int(key.argmax())
        return row if key[row] else None

    def try_pod(self, pod: PodState) -> Trial:
        trial = Trial([Batch(pod.pod_class, pod.subset, [pod])], 1, self._cluster.nodes.usage)
        self._place(trial, {})
        trial.lacking = 1 - trial.placed
        return trial

    def try_gang(self, gang: GangState) -> Trial:
        """Places the gang's candidates: first what each subset must have, then as many more as fit."""
        rule = self._profile.gang_rule
        must = rule.shortfall(gang, {})
        batches = _batches(pod for pod in gang.candidates.values() if not pod.gates)
        # a gang that has started still needs at least one place to be worth an attempt
        trial = Trial(batches, sum(must.values()) or 1, self._cluster.nodes.usage)
        self._place(trial, must)
        placed: dict[str, int] = {}
        for batch in batches:
            placed[batch.subset] = placed.get(batch.subset, 0) + len(batch.rows)
        lacking = sum(rule.shortfall(gang, placed).values())
        trial.lacking = lacking if trial.placed else max(1, lacking)
        return trial

    def _place(self, trial: Trial, must: dict[str, int]) -> None:
        rounds = [(batch, len(batch.pods)) for batch in trial.batches]
        if len(must) > 1:
            # else the first subset's spare members would take the room that another one must have
            first = [(batch, must.get(batch.subset, 0)) for batch in trial.batches]
            rounds = first + rounds
        left = dict(must)
        base = trial.usage
        for number, (batch, limit) in enumerate(rounds):
            count = len(batch.pods) - len(batch.rows)
            if number < len(rounds) - len(trial.batches):
                count = min(count, left[batch.subset] if limit else 0)
            if not count:
                continue
            rows = self._choose(batch.pod_class, trial.usage, count)
            if number + 1 < len(rounds):
                if trial.usage is base:
                    trial.usage = base.copy()
                trial.usage.add_copies(rows, batch.pod_class)
            batch.rows.extend(rows.tolist())
            if batch.subset in left:
                left[batch.subset] -= len(rows)

    def _choose(self, pod_class: PodClass, usage: Usage, count: int) -> Rows:
        if usage is self._cluster.nodes.usage:
            view = self._views.of(pod_class)
        else:
            view = self._views.on_trial(pod_class, usage)
        return choose(self._views, view, usage, count)


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
