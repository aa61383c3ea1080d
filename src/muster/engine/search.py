"""Finds a unit a place: the one door to every way of searching.

The gang cycle is greedy.  For members of one shape that is exact; for a mix it depends on who goes first, so several
orders are tried before a gang is refused, and last its members are packed without regard to scores.  What all of that
misses is no proof, and the verdict says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice

import numpy as np

from muster.cluster.classes import PodClass
from muster.cluster.nodes import Rows
from muster.engine.cycle import GangCycle, Trial
from muster.engine.ground import Ground
from muster.engine.packing import Load, pack
from muster.engine.requirement import Batch, Requirement
from muster.framework.contract import Bools
from muster.framework.views import Views

Rank = Callable[[Batch], int]
"""Smaller for batches that go first."""

# of so many shapes only few orders are tried, after packing them
_MANY = 16
_FEW_ORDERS = 2
_WORK_PER_BATCH = 40
_WORK_PER_LOAD = 20
_NODES_PER_WORK = 30


class Search:
    """Looks for places on any ground."""

    def __init__(self, cycle: GangCycle, views: Views) -> None:
        self._cycle = cycle
        self._views = views
        self.work = 0
        """What all that was tried so far took, about, in microseconds."""

    def find(self, requirement: Requirement, ground: Ground) -> Trial:
        """The first trial in which the unit has all that it needs; the best of those that fell short otherwise."""
        best = self._try(requirement, ground)
        if not best.lacking or len(best.wants()) < 2:
            return best
        many = len(best.batches) > _MANY
        if many and (packed := self._packed(requirement, ground)) is not None:
            return packed
        for rank, by_priority in islice(self._orders(best, ground), _FEW_ORDERS if many else None):
            trial = self._try(requirement, ground, _ordered(requirement.batches, rank, by_priority))
            if trial.lacking < best.lacking:
                best = trial
            if not best.lacking:
                return best
        return (None if many else self._packed(requirement, ground)) or best

    def as_kept(self, requirement: Requirement, ground: Ground) -> Trial | None:
        """The trial in which members go where room is kept for them; None if they cannot all.

        A search may miss the very places that it found when the plan was made, since other room is free now.
        """
        rows = self._cycle.nodes.rows
        batches = [batch.anew() for batch in requirement.batches]
        trial = Trial(batches, needed=requirement.needed, usage=ground.usage)
        for batch in batches:
            batch.pods = sorted(batch.pods, key=lambda pod: pod.kept not in rows)
            places: Rows = np.array([rows[pod.kept] for pod in batch.pods if pod.kept in rows], np.intp)
            distinct, times = np.unique(places, return_counts=True)
            view = self._views.on_trial(batch.pod_class, trial.usage, blocked=ground.blocked)
            if (view.copies[distinct] < times).any():
                return None
            trial.add(batch, places)
        return trial if trial.placed and not requirement.lacking(trial.found) else None

    def _try(self, requirement: Requirement, ground: Ground, batches: list[Batch] | None = None) -> Trial:
        trial = self._cycle.fill(requirement, ground, batches)
        self.work += len(trial.batches) * (_WORK_PER_BATCH + self._per_class) + trial.placed
        return trial

    @property
    def _per_class(self) -> int:
        return len(self._views.precedence) // _NODES_PER_WORK

    # --- packing ---

    def loads(self, requirement: Requirement, ground: Ground) -> list[Load] | None:
        """What must be placed, as it can be packed; None if packing cannot tell.

        Where not all are needed it is the smallest: if they do not go together, no others do, for one resource.
        """
        must, batches = dict(requirement.must), _by_size(requirement.batches)
        if not must or any(batch.avoid for batch in batches):
            return None
        if not all(self._views.needs_resources_only(batch.pod_class) for batch in batches):
            return None
        loads: list[Load] = []
        for batch in reversed(batches):
            count = min(len(batch.pods), must.get(batch.subset, 0))
            must[batch.subset] = must.get(batch.subset, 0) - count
            loads.append(Load(batch.pod_class, count, self._usable(batch.pod_class, ground.blocked)))
        loads.reverse()
        self.work += len(loads) * (_WORK_PER_LOAD + self._per_class)
        return loads

    def _packed(self, requirement: Requirement, ground: Ground) -> Trial | None:
        """The trial where all that must have a place have one, if packing finds it."""
        loads = self.loads(requirement, ground)
        packed = None if loads is None else pack(loads, ground.usage.free, self._views.precedence)
        if packed is None:
            return None
        batches = [batch.anew() for batch in _by_size(requirement.batches)]
        trial = Trial(batches, needed=requirement.needed, usage=ground.usage)
        for batch, rows in zip(batches, packed.rows, strict=True):
            trial.add(batch, rows)
        return trial

    def _usable(self, pod_class: PodClass, blocked: Bools | None) -> Bools:
        admitted = self._views.rules(pod_class.rules).admitted
        return admitted if blocked is None else admitted & ~blocked

    # --- orders ---

    def _orders(self, first: Trial, ground: Ground) -> Iterator[tuple[Rank, bool]]:
        """Orders that a person would try, and whether they hold among members of equal priority only.

        The most constrained first, then the largest of every resource.  Where some may stay behind it is those of
        lower priority, and of equals the largest; if nothing else helps, the largest whatever their priority.
        """
        spare = first.needed < sum(len(batch.pods) for batch in first.batches)
        classes = first.wants()
        resources = sorted({resource for c in classes for resource, _ in c.room})
        for by_priority in (True, False) if spare else ():
            for resource in resources:
                yield partial(_amount, resource), by_priority
        views = {c: self._views.on_trial(c, ground.usage, blocked=ground.blocked) for c in classes}
        places = {c: int(view.copies.sum()) for c, view in views.items()}
        nodes = {c: int((view.copies > 0).sum()) for c, view in views.items()}
        yield lambda batch: nodes[batch.pod_class], spare
        yield lambda batch: places[batch.pod_class], spare
        yield lambda batch: places[batch.pod_class] - classes[batch.pod_class], spare
        for resource in resources:
            yield partial(_smallest_last, resource), spare
        yield lambda batch: -len(batch.pods), spare


def _amount(resource: int, batch: Batch) -> int:
    return dict(batch.pod_class.room).get(resource, 0)


def _smallest_last(resource: int, batch: Batch) -> int:
    return -_amount(resource, batch)


def _by_size(batches: Iterable[Batch]) -> list[Batch]:
    """The largest first."""
    return sorted(batches, key=lambda batch: batch.pod_class.order)


def _ordered(batches: list[Batch], rank: Rank, by_priority: bool) -> list[Batch]:
    """Equals stay in their own order."""
    return sorted(batches, key=lambda batch: (-batch.priority if by_priority else 0, rank(batch)))
