"""The gang cycle: one unit, tried whole on a trial copy; nothing of the cluster changes here.

Members are handled in batches of one class, each placed as if one after another went to the node that is best then.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from muster.cluster.classes import PodClass
from muster.cluster.nodes import NodeTable, Rows
from muster.cluster.pods import PodState
from muster.cluster.usage import Usage
from muster.engine.ground import Ground
from muster.engine.placement import choose
from muster.engine.requirement import Batch, Counts, Requirement, wants
from muster.engine.walk import walk
from muster.framework.contract import Bools
from muster.framework.views import ClassView, Views


class Trial:
    """What one attempt would place, and the room that leaves; the cluster does not change."""

    __slots__ = ("_own", "_unbooked", "_usage", "batches", "lacking", "needed", "walked")

    def __init__(self, batches: list[Batch], *, needed: int, usage: Usage) -> None:
        self.batches = batches
        self.needed = needed
        """Members that must be placed for the unit to start, or to go on."""
        self.lacking = 0
        """Members that it is short of; 0 means that the unit may be bound."""
        self.walked = 0
        """Pods that were placed one after another, and tries to."""
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
            kept = min(len(batch.rows), max(0, left.get(batch.subset, 0)))
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

    @property
    def found(self) -> Counts:
        """How many members of each subset have a place."""
        found: Counts = {}
        for batch in self.batches:
            found[batch.subset] = found.get(batch.subset, 0) + len(batch.rows)
        return found

    def wants(self) -> dict[PodClass, int]:
        """How many members of each class were to be placed."""
        return wants(self.batches)


class GangCycle:
    """Tries units on nodes as they are: the cluster's, or others that somebody wonders about."""

    def __init__(self, nodes: NodeTable, views: Views) -> None:
        self._nodes = nodes
        self._views = views

    def fill(self, requirement: Requirement, ground: Ground, batches: Iterable[Batch] | None = None) -> Trial:
        """Places members of a unit: first what each subset must have, then as many more as fit.

        `batches` gives the members in another order than their own.
        """
        must = dict(requirement.must)
        ordered = [batch.anew() for batch in batches or requirement.batches]
        trial = Trial(ordered, needed=requirement.needed, usage=ground.usage)
        if len({batch.subset for batch in ordered}) > 1:
            # else the spare members of one subset would take the room that another one must have
            for batch in ordered:
                placed = self._place(trial, batch, must.get(batch.subset, 0), ground.blocked)
                must[batch.subset] = must.get(batch.subset, 0) - placed
        for batch in ordered:
            self._place(trial, batch, len(batch.pods), ground.blocked)
        found = trial.found
        usable = requirement.usable(found)
        if usable != found:
            trial.cut(usable)
            # not what the rule says: it may have answered more than has a place
            found = trial.found
        lacking = sum(requirement.lacking(found).values())
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
        view = self.view(batch.pod_class, usage, blocked)
        if outlooks := self._views.outlooks(batch.pod_class, usage):
            rows = walk(self._views, view, usage, count, outlooks)
            trial.walked += len(rows) + 1
        else:
            rows = choose(self._views, view, usage, count)
        trial.add(batch, rows)
        return len(rows)

    def view(self, pod_class: PodClass, usage: Usage, blocked: Bools | None) -> ClassView:
        """How the nodes look to the class; not to be changed."""
        if usage.is_trial or blocked is not None:
            return self._views.on_trial(pod_class, usage, blocked=blocked)
        return self._views.of(pod_class)

    def _without(self, avoid: frozenset[str], blocked: Bools | None) -> Bools | None:
        """The rows that may not be used, and those of these nodes."""
        rows = [self._nodes.rows[name] for name in avoid if name in self._nodes.rows]
        if not rows:
            return blocked
        both = np.zeros(self._nodes.capacity, np.bool_) if blocked is None else blocked.copy()
        both[rows] = True
        return both
