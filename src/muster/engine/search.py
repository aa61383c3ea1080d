"""Finds a gang a place: the one door to every way of searching.

The gang cycle is greedy.  For members of one shape that is exact; for a mix it depends on who goes first, so several
orders are tried before a gang is refused, and last its members are packed without regard to scores.  What all of that
misses is no proof, and the verdict says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from muster.cluster.classes import PodClass
from muster.cluster.gangs import GangState
from muster.engine.cycle import Batch, GangCycle, Ground, Trial
from muster.engine.packing import Load, pack
from muster.framework.contract import Bools
from muster.framework.views import Views

Rank = Callable[[Batch], int]
"""Smaller for batches that go first."""


class Search:
    """Looks for places on any ground."""

    def __init__(self, cycle: GangCycle, views: Views) -> None:
        self._cycle = cycle
        self._views = views

    def find(self, gang: GangState, ground: Ground) -> Trial:
        """The first trial in which the gang has all that it needs; the best of those that fell short otherwise."""
        best = self._cycle.try_gang(gang, ground)
        if not best.lacking or len(best.wants()) < 2:
            return best
        members = [batch.anew() for batch in best.batches]
        # where some may stay behind, it is those of lower priority
        all_needed = best.needed == sum(len(batch.pods) for batch in members)
        for rank in self._ranks(best, ground):
            batches = _ordered([batch.anew() for batch in members], rank, by_priority=not all_needed)
            trial = self._cycle.try_gang(gang, ground, batches=batches)
            if trial.lacking < best.lacking:
                best = trial
            if not best.lacking:
                return best
        return self._packed(best, ground) or best

    def loads(self, trial: Trial, blocked: Bools | None) -> list[Load] | None:
        """What a trial had to place, as it can be packed; None if that cannot tell: not all are needed, say."""
        batches = trial.batches
        if trial.needed < sum(len(batch.pods) for batch in batches) or any(batch.avoid for batch in batches):
            return None
        if not all(self._views.needs_resources_only(batch.pod_class) for batch in batches):
            return None
        batches = sorted(batches, key=lambda batch: batch.pod_class.order)
        return [Load(b.pod_class, len(b.pods), self._usable(b.pod_class, blocked)) for b in batches]

    def _packed(self, best: Trial, ground: Ground) -> Trial | None:
        """The same members in a trial where all have a place, if packing them finds one."""
        loads = self.loads(best, ground.blocked)
        packed = None if loads is None else pack(loads, ground.usage.free, self._views.precedence)
        if packed is None:
            return None
        batches = sorted((batch.anew() for batch in best.batches), key=lambda batch: batch.pod_class.order)
        trial = Trial(batches, needed=best.needed, usage=ground.usage)
        for batch, rows in zip(batches, packed.rows, strict=True):
            trial.add(batch, rows)
        return trial

    def _usable(self, pod_class: PodClass, blocked: Bools | None) -> Bools:
        admitted = self._views.rules(pod_class.rules).admitted
        return admitted if blocked is None else admitted & ~blocked

    def _ranks(self, first: Trial, ground: Ground) -> Iterator[Rank]:
        """Orders that a person would try: the most constrained first, then the largest of every resource."""
        classes = first.wants()
        views = {c: self._views.on_trial(c, ground.usage, blocked=ground.blocked) for c in classes}
        places = {c: int(view.copies.sum()) for c, view in views.items()}
        nodes = {c: int((view.copies > 0).sum()) for c, view in views.items()}
        yield lambda batch: nodes[batch.pod_class]
        yield lambda batch: places[batch.pod_class]
        yield lambda batch: places[batch.pod_class] - classes[batch.pod_class]
        for resource in sorted({resource for c in classes for resource, _ in c.room}):
            yield partial(_smallest_last, resource)
        yield lambda batch: -len(batch.pods)


def _smallest_last(resource: int, batch: Batch) -> int:
    return -dict(batch.pod_class.room).get(resource, 0)


def _ordered(batches: list[Batch], rank: Rank, *, by_priority: bool) -> list[Batch]:
    """Equals stay in their own order."""
    return sorted(batches, key=lambda batch: (-batch.priority if by_priority else 0, rank(batch)))
