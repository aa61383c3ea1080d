"""How a unit could start if others left: a place for all of it, and the fewest and least precious to go.

Nothing is disturbed here.  All who could go are taken off a trial; if the unit has no place even then, nobody goes.
Otherwise they are put back, most precious first, as long as the unit still has some place: not the same one, any.
Who cannot be put back is a victim, and none of them could be spared.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from itertools import chain
from typing import NamedTuple, TypeVar
from zlib import crc32

import numpy as np

from muster.cluster.census import Aside
from muster.cluster.classes import PodClass
from muster.cluster.cluster import Cluster
from muster.cluster.pods import PodState
from muster.cluster.usage import Ints, Usage
from muster.cluster.victims import Victim
from muster.engine.answers import Budget, Placed, count_bound
from muster.engine.cycle import Trial
from muster.engine.few_gangs import one_gang
from muster.engine.ground import Exclusion, Ground
from muster.engine.offers import Offer, Offers
from muster.engine.reprieve import (
    Counting,
    Occupied,
    OneNode,
    Packing,
    Scale,
    Trying,
    copies_without_each,
    count_copies,
    reprieve,
)
from muster.engine.requirement import Requirement
from muster.engine.reservations import Reservations, overdue
from muster.engine.search import Search
from muster.engine.unit import PodUnit, Unit
from muster.engine.victims import Candidates
from muster.framework.contract import Bools, Capacity
from muster.framework.profile import Profile
from muster.framework.views import Views

# microseconds, for each of the steps in which a gang's victims are found
_WORK_PER_VICTIM = 4
# so many victims of a packed gang are looked at once more
_FEW = 32
_WORK_PER_NODE = 50
_WORK_PER_OFFER = 1
# for a lone pod, to find out what there will be on which nodes
_NODES_PER_WORK = 10
_LEAVING_PER_WORK = 2


class Plan(NamedTuple):
    """Where a unit goes once the victims have left."""

    places: list[tuple[PodState, str]]
    """Members that must have a place, and the node of each."""
    victims: list[Victim]
    """Who must go; none if it is enough that those leave who are leaving anyway."""

    @property
    def pods(self) -> list[PodState]:
        """Pods to evict."""
        return [pod for victim in self.victims if not victim.reservation for pod in victim.pods]


_Found = TypeVar("_Found")

Thinking = Generator[int, None, Plan | None]
"""A plan that is being made: yields work done, returns the plan."""


class Planner:
    """Makes plans for units on the cluster as it is."""

    def __init__(
        self,
        cluster: Cluster,
        profile: Profile,
        views: Views,
        *,
        search: Search,
        reservations: Reservations,
    ) -> None:
        self._cluster = cluster
        self._rule = profile.gang_rule
        self._settings = profile.preemption
        self._views = views
        self._search = search
        self._reservations = reservations
        self._budget = Budget()
        """What searching took for the plan that is being made."""
        self._candidates = Candidates(cluster, profile.victims, whole_gangs=profile.preemption.delayed)
        self._offers = Offers(cluster, self._candidates)

    def plan(self, unit: Unit, *, excluded: tuple[Exclusion, ...], now: float) -> Thinking:
        """How the unit could start if others left; None if nobody's leaving would help, or nobody may be made to.

        It yields the work that it has done so far: with thousands of candidates it takes a while, and may be gone on
        with later if nothing has changed.
        """
        self._budget = Budget()
        ground = Ground(self._when_the_leaving_have_left(unit.key, now), excluded)
        if isinstance(unit, PodUnit):
            return (yield from self._for_pod(unit.pod, ground))
        return (yield from self._together(unit, ground))

    # --- gangs ---

    def _together(self, unit: Unit, ground: Ground) -> Thinking:
        """A plan for what the gang must have; for one that has started, for as many more as can be."""
        requirement = unit.requirement(self._rule)
        # if nobody leaves, the search has failed on this ground already
        if self._cluster.leaving or self._cluster.returning_to:
            answer = self._search.find(requirement, ground, self._budget)
            yield self._budget.news()
            if isinstance(answer, Placed):
                return Plan(self._required(requirement, answer.trial), [])
        if not self.could_help(requirement.wants, requirement.needed, unit.priority, ground):
            return None
        victims = self._reservations.lower_than(unit.priority)
        if self.may_evict(unit):
            looking = self._candidates.everywhere(unit=unit.key, priority=unit.priority)
            victims += yield from _as_work(looking)
        work = _WORK_PER_VICTIM * len(victims)
        ordered, _ = yield from _as_work(self._candidates.precious_first(victims))
        scale = self._scale(requirement, ground, ordered)
        yield work + self._budget.news()
        if not scale.enough:
            return None
        for looked in reprieve(scale):
            yield looked * scale.work
        chosen = [victim for victim, spared in zip(ordered, scale.reprieved, strict=True) if not spared]
        if isinstance(scale, Packing) and len(chosen) <= _FEW:
            # what packing cannot spare a search may
            scale = self._trying(requirement, ground, chosen)
            for looked in reprieve(scale):
                yield looked * scale.work
            chosen = [victim for victim, spared in zip(chosen, scale.reprieved, strict=True) if not spared]
        found = self._search.find(requirement, self._without(ground, chosen), self._budget)
        # nobody goes before there is a place, whatever a scale has said
        if not isinstance(found, Placed):
            return None

        # one that has started needs nobody in particular: no fewer of its members may get a place
        at_least = 0 if requirement.must else found.trial.placed
        fewer = yield from one_gang(
            ordered,
            chosen,
            self._candidates.broken_budgets,
            enough=lambda some: self._scale(requirement, ground, some, at_least=at_least),
            hopeful=lambda beside, crowds: self._hopeful(requirement, at_least, ground, beside, crowds),
        )
        if fewer is not None:
            again = self._search.find(requirement, self._without(ground, fewer), self._budget)
            if isinstance(again, Placed) and again.trial.placed >= at_least:
                return Plan(self._required(requirement, again.trial), fewer)
        return Plan(self._required(requirement, found.trial), chosen)

    def _hopeful(
        self,
        requirement: Requirement,
        at_least: int,
        ground: Ground,
        beside: list[Victim],
        crowds: list[list[Victim]],
    ) -> list[bool]:
        """Whether there would be room enough if each of the crowds alone left beside some, each class counted alone."""
        free = self._without(ground, beside).usage.free
        occupied = self._occupied(chain.from_iterable(crowds)).joined(map(len, crowds))
        hoped: Ints = np.zeros(len(crowds), np.int64)
        for pod_class, count in requirement.wants.items():
            if not pod_class.unknown:
                usable = self._usable(pod_class, ground)
                hoped += np.minimum(count, copies_without_each(pod_class, free, usable, occupied))
        return [copies >= (at_least or requirement.needed) for copies in hoped.tolist()]

    def may_evict(self, unit: Unit) -> bool:
        """Whether others may be evicted for the unit at all."""
        if unit.is_gang and not (self._settings.gangs and self._settings.delayed):
            return False
        return self._candidates.any_rule and unit.preempts(self._rule)

    def _required(self, requirement: Requirement, trial: Trial) -> list[tuple[PodState, str]]:
        """Members that must be placed; all that were if none is needed in particular."""
        names = self._cluster.nodes.names
        must = dict(requirement.must)
        places: list[tuple[PodState, str]] = []
        for pod, row in trial.places:
            if must and not must.get(pod.subset):
                continue
            if must:
                must[pod.subset] -= 1
            places.append((pod, names[row]))
        return places

    def _scale(self, requirement: Requirement, ground: Ground, victims: list[Victim], *, at_least: int = 0) -> Scale:
        """Weighs what a gang must have; else so many of its members, or as many as can be."""
        must = sum(requirement.must.values())
        occupied = self._occupied(victims)
        (first, *others) = requirement.batches
        if not others and not first.avoid and self._views.capacity(first.pod_class) is Capacity.EXACT:
            usable = self._usable(first.pod_class, ground)

            def needed(placeable: int) -> int:
                # with places for all of them only some may be of use
                placed = {first.subset: min(placeable, len(first.pods))}
                return must or at_least or sum(requirement.usable(placed).values())

            return Counting(first.pod_class, ground.usage.free, usable, occupied, needed=needed)
        loads = self._search.loads(requirement, ground, self._budget)
        if loads is not None:
            packing = Packing(loads, ground.usage.free, self._views.precedence, occupied)
            if packing.enough:
                return packing
        return self._trying(requirement, ground, victims, at_least=at_least)

    def _trying(self, requirement: Requirement, ground: Ground, victims: list[Victim], *, at_least: int = 0) -> Scale:
        without = self._without(ground, victims)
        # one that has started needs nobody in particular: as many as could have a place if all victims went
        most = 0
        if not requirement.must:
            most = at_least or self._search.find(requirement, without, self._budget).trial.placed

        def fits(usage: Usage) -> bool:
            answer = self._search.find(requirement, ground.with_usage(usage), self._budget)
            return isinstance(answer, Placed) and answer.trial.placed >= most

        return Trying(fits, without.usage, self._occupied(victims), work=self._budget.news)

    # --- lone pods ---

    def _for_pod(self, pod: PodState, ground: Ground) -> Thinking:
        """A plan for one node, as the default scheduler would choose it."""
        requirement = Requirement.of_pod(pod)
        answer = self._search.find(requirement, ground, self._budget)
        if isinstance(answer, Placed):
            return Plan(self._required(requirement, answer.trial), [])
        if not self.anybody_below(pod.priority):
            return None
        most = max(self._settings.least_nodes, len(self._cluster.nodes) * self._settings.least_percent // 100)
        reserved = self._reserved_by_row(pod.priority)
        shelf = None
        if self._views.capacity(pod.pod_class) is Capacity.EXACT:
            shelf = self._offers.for_pod(pod, ground.usage.free)
        best: tuple[tuple[float, ...], int, Offer] | None = None
        work = len(self._cluster.nodes) // _NODES_PER_WORK + len(self._cluster.leaving) // _LEAVING_PER_WORK
        looked = 0
        for row in self._in_turn(pod, ground):
            known = shelf.get(row) if shelf is not None and row not in reserved else None
            if known is not None:
                offer = known.offer
                work += _WORK_PER_OFFER * (1 + len(known.gangs))
            else:
                offer, others = self._on_node(pod, row, ground, reserved.get(row, []))
                if shelf is not None and row not in reserved:
                    shelf.put(row, self._cluster.nodes.names[row], offer)
                yield work + _WORK_PER_NODE + _WORK_PER_VICTIM * others
                work = 0
                self._offers.take_notice()
            if offer is None:
                continue
            cost = (*offer.cost, looked)
            if best is None or cost < best[0]:
                best = cost, row, offer
            looked += 1
            if looked >= most:
                break
        yield work
        if best is None:
            return None
        _, row, offer = best
        fewer = yield from self._fewer_on_node(pod, row, ground, reserved.get(row, []), offer.victims)
        return Plan([(pod, self._cluster.nodes.names[row])], fewer or offer.victims)

    def _reserved_by_row(self, priority: int) -> dict[int, list[Victim]]:
        """Room that is reserved for units of lower priority, by row."""
        reserved: dict[int, list[Victim]] = {}
        for victim in self._reservations.lower_than(priority):
            for row in dict.fromkeys(self._occupied([victim]).rows):
                reserved.setdefault(row, []).append(victim)
        return reserved

    def _in_turn(self, pod: PodState, ground: Ground) -> Iterator[int]:
        """Rows of nodes that may do, from one that depends on the pod: upstream starts somewhere by chance."""
        rows = np.flatnonzero(self._hoped_for(pod.pod_class, pod.priority, ground))
        rows = rows[np.argsort(-self._views.precedence[rows])]
        start = crc32(pod.key.encode()) % max(1, len(rows))
        return chain(rows[start:].tolist(), rows[:start].tolist())

    def _on_node(self, pod: PodState, row: int, ground: Ground, reserved: list[Victim]) -> tuple[Offer | None, int]:
        """Who must go from this node, None if that would not help; and how many pods gangs would take with them.

        Room there that is `reserved` for less important units may be taken, too.
        """
        ordered, forbidden = self._in_order_on(row, pod, reserved)
        others = sum(len(victim.pods) for victim in ordered) - len(ordered)
        scale = self._scale_on(row, pod, ground, ordered)
        if not scale.enough:
            return None, others
        for _ in reprieve(scale):
            pass
        chosen = [number for number, spared in enumerate(scale.reprieved) if not spared]
        violations = sum(number < forbidden for number in chosen)
        return Offer.of([ordered[number] for number in chosen], violations=violations), others

    def _in_order_on(self, row: int, pod: PodState, reserved: list[Victim]) -> tuple[list[Victim], int]:
        """Who could go from the node, most precious first, and how many of them a budget protects."""
        victims = reserved
        if pod.preempts:
            node = self._cluster.nodes.names[row]
            victims = reserved + self._candidates.on(node, unit=pod.uid, priority=pod.priority)
        return _at_once(self._candidates.precious_first(victims, as_upstream=True))

    def _scale_on(self, row: int, pod: PodState, ground: Ground, victims: list[Victim]) -> Scale:
        occupied = self._occupied(victims)
        if self._views.capacity(pod.pod_class) is Capacity.EXACT:
            return OneNode(pod.pod_class, row, ground.usage.free, occupied)
        others = np.ones(self._cluster.nodes.capacity, np.bool_)
        others[row] = False
        elsewhere = Exclusion(others, "node(s) were not the one in question")

        def fits(usage: Usage) -> bool:
            answer = self._search.find(Requirement.of_pod(pod), Ground(usage, (elsewhere,)), self._budget)
            return isinstance(answer, Placed)

        return Trying(fits, self._without(ground, victims).usage, occupied, work=self._budget.news)

    def _fewer_on_node(
        self, pod: PodState, row: int, ground: Ground, reserved: list[Victim], chosen: list[Victim]
    ) -> Generator[int, None, list[Victim] | None]:
        """Victims of one gang instead of the chosen, on the node that was chosen; None if there are none."""
        if len(chosen) < 2:
            return None
        ordered, _ = self._in_order_on(row, pod, reserved)
        return (
            yield from one_gang(
                ordered,
                chosen,
                self._candidates.broken_budgets,
                enough=lambda some: self._scale_on(row, pod, ground, some),
                hopeful=lambda beside, crowds: [True] * len(crowds),
            )
        )

    # --- quick answers ---

    def could_help(self, wants: dict[PodClass, int], needed: int, priority: int, ground: Ground) -> bool:
        """Whether there would be room enough if all below this priority left, each class counted alone."""
        if not self.anybody_below(priority):
            return False
        fits = {pod_class: int(self._hoped_for(pod_class, priority, ground).sum()) for pod_class in wants}
        return count_bound(wants, fits, needed) is None

    def anybody_below(self, priority: int) -> bool:
        """Whether anybody could make room for a unit of this priority."""
        return self._cluster.levels.any_below(priority) or bool(self._reservations.lower_than(priority))

    def _hoped_for(self, pod_class: PodClass, priority: int, ground: Ground) -> Ints:
        """At most so many copies each node takes if all below this priority leave; resources are counted, no more."""
        free = self._cluster.levels.below(priority, ground.usage.free)
        for row, reserved, _ in self._occupied(self._reservations.lower_than(priority)).places():
            for resource, amount in reserved.takes:
                free[resource, row] += amount
        return count_copies(pod_class, free, self._usable(pod_class, ground))

    def _usable(self, pod_class: PodClass, ground: Ground) -> Bools:
        admitted = self._views.rules(pod_class.rules).admitted
        return admitted if ground.blocked is None else admitted & ~ground.blocked

    # --- the ground ---

    def _when_the_leaving_have_left(self, unit: str, now: float) -> Usage:
        """The room there will be without evicting anybody, with what is reserved for the unit given back to it."""
        usage = self._cluster.nodes.usage.copy()
        self._reservations.give_back(unit, usage)
        rows, patience = self._cluster.nodes.rows, self._settings.patience_seconds
        gone: dict[tuple[PodClass, bool], list[int]] = {}
        for pod in self._cluster.leaving.values():
            row = rows.get(pod.node)
            if row is not None and not overdue(pod, now, patience=patience):
                gone.setdefault((pod.pod_class, pod.uid in self._cluster.departing), []).append(row)
        for (pod_class, departing), where in gone.items():
            usage.remove_copies(np.array(where, np.intp), pod_class, leaving=departing)
        if self._cluster.returning_to:
            usage.settle(rows[name] for name in self._cluster.returning_to if name in rows)
        return usage

    def _without(self, ground: Ground, victims: Iterable[Victim]) -> Ground:
        """The ground when the victims have gone."""
        usage = ground.usage.copy()
        for row, pod_class, aside in self._occupied(victims).places():
            usage.remove(row, pod_class, aside=aside)
        return ground.with_usage(usage)

    def _occupied(self, victims: Iterable[Victim]) -> Occupied:
        """The room that the victims' pods take, or that is reserved for them."""
        row_of = self._cluster.nodes.rows
        occupied = Occupied()
        rows, kinds, asides, ends = occupied.rows, occupied.kinds, occupied.asides, occupied.ends
        for victim in victims:
            reserved = victim.reservation
            aside = Aside.AWAITED if reserved else None
            for pod in victim.pods:
                row = row_of.get(pod.reserved if reserved else pod.node)
                if row is not None:
                    rows.append(row)
                    kinds.append(pod.pod_class)
                    asides.append(aside)
            ends.append(len(rows))
        return occupied


def _as_work(looking: Generator[int, None, _Found]) -> Generator[int, None, _Found]:
    """The same, with the work it takes for what it has looked at."""
    while True:
        try:
            yield _WORK_PER_VICTIM * next(looking)
        except StopIteration as done:
            found: _Found = done.value
            return found


def _at_once(looking: Generator[int, None, _Found]) -> _Found:
    while True:
        try:
            next(looking)
        except StopIteration as done:
            found: _Found = done.value
            return found
