"""Finds a unit a place: the one door to every way of searching.

The gang cycle is greedy.  For members of one shape that is exact; for a mix it depends on who goes first, so several
orders are tried before a gang is refused, and last its members are packed without regard to scores.  What all of that
misses is no proof unless counting gives one, and the answer says which.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice, zip_longest

import numpy as np

from muster.cluster.classes import PodClass
from muster.cluster.nodes import NodeTable, Rows
from muster.cluster.usage import Ints
from muster.engine.answers import Answer, Budget, Impossible, NotFound, Placed, Proof, prove
from muster.engine.cycle import GangCycle, Trial
from muster.engine.ground import Exclusion, Ground
from muster.engine.packing import Load, pack
from muster.engine.requirement import Batch, Requirement
from muster.engine.walk import admitted, holds_at
from muster.framework.contract import Bools, Capacity
from muster.framework.views import Views

Rank = Callable[[Batch], int]
"""Smaller for batches that go first."""

# of so many shapes only few orders are tried, after packing them
_MANY = 16
_MOST_DOMAINS = 8
_MOST_IN_TURNS = 64
_FEW_ORDERS = 2
_WORK_PER_BATCH = 40
_WORK_PER_LOAD = 20
_NODES_PER_WORK = 30
_WORK_PER_STEP = 60
_NODES_PER_STEP = 40


class Search:
    """Looks for places on any ground, on the cluster's nodes or on others that somebody wonders about."""

    def __init__(self, nodes: NodeTable, views: Views) -> None:
        self._nodes = nodes
        self._views = views
        self._cycle = GangCycle(nodes, views)

    def find(self, requirement: Requirement, ground: Ground, budget: Budget, *, reserved: bool = False) -> Answer:
        """A place for all that must have one, if there is one to be found.

        The first attempt that succeeds is the answer; where the first fails and none can succeed, there is no second.
        Where room is `reserved` for members, those places count, too.
        """
        best, tried = None, 0
        for trial in self._attempts(requirement, ground, budget, reserved=reserved):
            if not trial.lacking:
                return Placed(trial)
            if best is None and (proof := self._proof(requirement, ground)) is not None:
                return Impossible(trial, proof)
            tried += 1
            if best is None or trial.lacking < best.lacking:
                best = trial
            if budget.is_spent:
                break
        assert best is not None
        return NotFound(best, tried)

    def _proof(self, requirement: Requirement, ground: Ground) -> Proof | None:
        alone = sum(requirement.wants.values()) == 1
        copies = {c: self._at_most(c, ground, alone=alone) for c in requirement.wants}
        return prove(requirement.wants, requirement.needed, copies, ground.usage.free)

    def _at_most(self, pod_class: PodClass, ground: Ground, *, alone: bool) -> Ints:
        """No row takes more copies than this, however many others of the unit are placed elsewhere."""
        copies = self._cycle.view(pod_class, ground.usage, ground.blocked).copies
        outlooks = self._views.outlooks(pod_class, ground.usage)
        if alone:
            allowed = admitted(outlooks)
            return copies if allowed is None else copies * allowed
        limits = [most for outlook, _ in outlooks if (most := outlook.at_most()) is not None]
        return np.minimum.reduce([copies, *limits]) if limits else copies

    def _attempts(self, requirement: Requirement, ground: Ground, budget: Budget, *, reserved: bool) -> Iterator[Trial]:
        """Ways to place the members, each tried when the one before has failed."""
        alone = sum(requirement.wants.values()) == 1 and not requirement.batches[0].avoid
        if reserved and alone:
            # as upstream has it: where others left for it, even if another place is better by now
            yield from self.as_reserved(requirement, ground)
        yield self._try(requirement, ground, budget)
        if len(requirement.wants) > 1:
            many = len(requirement.batches) > _MANY
            if many:
                yield from self._packed(requirement, ground, budget)
            for rank, by_priority in islice(self._orders(requirement, ground), _FEW_ORDERS if many else None):
                yield self._try(requirement, ground, budget, _ordered(requirement.batches, rank, by_priority))
            if not many:
                yield from self._packed(requirement, ground, budget)
        if any(self._views.capacity(c) is Capacity.BY_OTHERS for c in requirement.wants):
            yield from self._in_company(requirement, ground, budget)
        if reserved:
            yield from self.as_reserved(requirement, ground)

    def _try(
        self, requirement: Requirement, ground: Ground, budget: Budget, batches: list[Batch] | None = None
    ) -> Trial:
        trial = self._cycle.fill(requirement, ground, batches)
        budget.spent += len(trial.batches) * (_WORK_PER_BATCH + self._per_class) + trial.placed
        budget.spent += trial.walked * (_WORK_PER_STEP + len(self._views.precedence) // _NODES_PER_STEP)
        return trial

    def _in_company(self, requirement: Requirement, ground: Ground, budget: Budget) -> Iterator[Trial]:
        """Trials for members that look at each other: who goes first may decide where the others can go."""
        batches = requirement.batches
        if len(batches) > 1:
            # whom others look for before those who look; and the other way round
            for rank in (_looks_for, _keeps_off):
                yield self._try(requirement, ground, budget, _ordered(batches, rank, by_priority=False))
            yield self._try(requirement, ground, budget, batches[::-1])
        yield from self._anchored(requirement, ground, budget)
        if len(batches) > 1 and sum(requirement.wants.values()) <= _MOST_IN_TURNS:
            for order in (batches, batches[::-1]):
                yield self._try(requirement, ground, budget, _in_turns(order))

    def _anchored(self, requirement: Requirement, ground: Ground, budget: Budget) -> Iterator[Trial]:
        """Trials in which all go to one domain, where the first would decide for the others: the roomiest first."""
        ordered = _ordered(requirement.batches, _looks_for, by_priority=False)
        for key in self._views.gathering(requirement.wants):
            column = self._nodes.labels.column(key)
            copies = [self._cycle.view(c, ground.usage, ground.blocked).copies for c in requirement.wants]
            room = np.bincount(column.ids, weights=np.add.reduce(copies), minlength=len(column.values) + 1)
            # by name, so that the order in which nodes came decides nothing
            domains = sorted(column.values.items(), key=lambda domain: (-room[domain[1]], domain[0]))
            for _, domain in domains[:_MOST_DOMAINS]:
                if room[domain] >= requirement.needed:
                    elsewhere = Exclusion(column.ids != domain, "node(s) were in another domain")
                    yield self._try(requirement, ground.without(elsewhere), budget, ordered)

    def as_reserved(self, requirement: Requirement, ground: Ground) -> Iterator[Trial]:
        """The trial in which members go where room is reserved for them, unless they cannot all.

        A search may miss the very places that it found when the plan was made, since other room is free now.
        """
        rows = self._nodes.rows
        batches = [batch.anew() for batch in requirement.batches]
        trial = Trial(batches, needed=requirement.needed, usage=ground.usage)
        for batch in batches:
            batch.pods = sorted(batch.pods, key=lambda pod: pod.reserved not in rows)
            places: Rows = np.array([rows[pod.reserved] for pod in batch.pods if pod.reserved in rows], np.intp)
            distinct, times = np.unique(places, return_counts=True)
            if (self._cycle.view(batch.pod_class, trial.usage, ground.blocked).copies[distinct] < times).any():
                return
            if not holds_at(places, self._views.outlooks(batch.pod_class, trial.usage)):
                return
            trial.add(batch, places)
        if trial.placed and not requirement.lacking(trial.found):
            yield trial

    def _fits(self, requirement: Requirement, ground: Ground) -> dict[PodClass, int]:
        """How many copies of each class the ground takes, each counted alone."""
        blocked = ground.blocked
        return {c: int(self._cycle.view(c, ground.usage, blocked).copies.sum()) for c in requirement.wants}

    @property
    def _per_class(self) -> int:
        return len(self._views.precedence) // _NODES_PER_WORK

    # --- packing ---

    def loads(self, requirement: Requirement, ground: Ground, budget: Budget) -> list[Load] | None:
        """What must be placed, as it can be packed; None if packing cannot tell.

        Where not all are needed it is the smallest: if they do not go together, no others do, for one resource.
        """
        must, batches = dict(requirement.must), _by_size(requirement.batches)
        if not must or any(batch.avoid for batch in batches):
            return None
        if any(self._views.capacity(batch.pod_class) is not Capacity.EXACT for batch in batches):
            return None
        loads: list[Load] = []
        for batch in reversed(batches):
            count = min(len(batch.pods), must.get(batch.subset, 0))
            must[batch.subset] = must.get(batch.subset, 0) - count
            loads.append(Load(batch.pod_class, count, self._usable(batch.pod_class, ground.blocked)))
        loads.reverse()
        budget.spent += len(loads) * (_WORK_PER_LOAD + self._per_class)
        return loads

    def _packed(self, requirement: Requirement, ground: Ground, budget: Budget) -> Iterator[Trial]:
        """The trial where all that must have a place have one, if packing finds it."""
        loads = self.loads(requirement, ground, budget)
        packed = None if loads is None else pack(loads, ground.usage.free, self._views.precedence)
        if packed is None:
            return
        batches = [batch.anew() for batch in _by_size(requirement.batches)]
        trial = Trial(batches, needed=requirement.needed, usage=ground.usage)
        for batch, rows in zip(batches, packed.rows, strict=True):
            trial.add(batch, rows)
        yield trial

    def _usable(self, pod_class: PodClass, blocked: Bools | None) -> Bools:
        admitted = self._views.rules(pod_class.rules).admitted
        return admitted if blocked is None else admitted & ~blocked

    # --- orders ---

    def _orders(self, requirement: Requirement, ground: Ground) -> Iterator[tuple[Rank, bool]]:
        """Orders that a person would try, and whether they hold among members of equal priority only.

        The most constrained first, then the largest of every resource.  Where some may stay behind it is those of
        lower priority, and of equals the largest; if nothing else helps, the largest whatever their priority.
        """
        classes, blocked = requirement.wants, ground.blocked
        spare = requirement.needed < sum(classes.values())
        resources = sorted({resource for c in classes for resource, _ in c.room})
        for by_priority in (True, False) if spare else ():
            for resource in resources:
                yield partial(_amount, resource), by_priority
        places = self._fits(requirement, ground)
        nodes = {c: int((self._cycle.view(c, ground.usage, blocked).copies > 0).sum()) for c in classes}
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


def _looks_for(batch: Batch) -> int:
    return 0 if batch.pod_class.ties is None else len(batch.pod_class.ties.rules.together)


def _keeps_off(batch: Batch) -> int:
    return 0 if batch.pod_class.ties is None else -len(batch.pod_class.ties.rules.apart)


def _in_turns(batches: list[Batch]) -> list[Batch]:
    """A member of each, then the next of each."""
    rounds = zip_longest(*([batch.only(pod) for pod in batch.pods] for batch in batches))
    return [one for turn in rounds for one in turn if one is not None]


def _by_size(batches: Iterable[Batch]) -> list[Batch]:
    """The largest first."""
    return sorted(batches, key=lambda batch: batch.pod_class.order)


def _ordered(batches: list[Batch], rank: Rank, by_priority: bool) -> list[Batch]:
    """Equals stay in their own order."""
    return sorted(batches, key=lambda batch: (-batch.priority if by_priority else 0, rank(batch)))
