"""How a unit could start if others left: a place for all of it, and the fewest and least precious to go.

Nothing is disturbed here.  All who could go are taken off a trial; if the unit has no place even then, nobody goes.
Otherwise they are put back, most precious first, as long as the unit still has some place: not the same one, any.
Who cannot be put back is a victim, and none of them could be spared.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import NamedTuple, TypeVar
from zlib import crc32

import numpy as np

from muster.cluster.classes import PodClass
from muster.cluster.cluster import Cluster
from muster.cluster.gangs import GangState
from muster.cluster.pods import PodState
from muster.cluster.usage import Ints, Usage
from muster.cluster.victims import Victim
from muster.engine.cycle import GangCycle, Ground, Trial
from muster.engine.fences import Fences, overdue
from muster.engine.few_gangs import one_gang
from muster.engine.queue import Unit
from muster.engine.search import Search
from muster.engine.sparing import (
    Counting,
    Occupied,
    OneNode,
    Packing,
    Scale,
    Trying,
    copies_without_each,
    count_copies,
    sparing,
)
from muster.engine.victims import Candidates
from muster.framework.contract import Bools
from muster.framework.profile import Profile
from muster.framework.views import Views

# upstream adds this to every priority, so that the sum of many is more than that of few
_LIFT = 2**31


# microseconds, for each of the steps in which a gang's victims are found
_WORK_PER_VICTIM = 4
# so many victims of a packed gang are looked at once more
_FEW = 32
_WORK_PER_NODE = 50


class Plan(NamedTuple):
    """Where a unit goes once the victims have left."""

    places: list[tuple[PodState, str]]
    """Members that must have a place, and the node of each."""
    victims: list[Victim]
    """Who must go; none if it is enough that those leave who are leaving anyway."""

    @property
    def pods(self) -> list[PodState]:
        """Pods to evict."""
        return [pod for victim in self.victims if not victim.kept for pod in victim.pods]


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
        cycle: GangCycle,
        search: Search,
        fences: Fences,
    ) -> None:
        self._cluster = cluster
        self._rule = profile.gang_rule
        self._settings = profile.preemption
        self._views = views
        self._cycle = cycle
        self._search = search
        self._fences = fences
        self._searched = 0
        self._candidates = Candidates(cluster, profile.victims, whole_gangs=profile.preemption.delayed)

    def plan(self, unit: Unit, *, blocked: Bools | None, now: float) -> Thinking:
        """How the unit could start if others left; None if nobody's leaving would help, or nobody may be made to.

        It yields the work that it has done so far: with thousands of candidates it takes a while, and may be gone on
        with later if nothing has changed.
        """
        if unit.gang is not None:
            return (yield from self._for_gang(unit.gang, blocked=blocked, now=now))
        assert unit.pod is not None
        return (yield from self._for_pod(unit.pod, blocked=blocked, now=now))

    # --- gangs ---

    def _for_gang(self, gang: GangState, *, blocked: Bools | None, now: float) -> Thinking:
        """A plan for what the gang must have; for one that has started, for as many more as can be."""
        ground = self._when_the_leaving_have_left(gang.key, blocked, now)
        self._searching()
        # if nobody leaves, the search has failed on this ground already
        find = self._search.find if self._cluster.leaving else self._cycle.try_gang
        trial = find(gang, ground)
        yield self._searching()
        if not trial.lacking:
            return Plan(self._required(gang, trial), [])
        if not self.could_help(trial.wants(), trial.needed, gang.priority, ground):
            return None
        victims = self._fences.lower_than(gang.priority)
        if self.may_evict(gang):
            looking = self._candidates.everywhere(unit=gang.key, priority=gang.priority)
            victims += yield from _as_work(looking)
        work = _WORK_PER_VICTIM * len(victims)
        ordered, _ = yield from _as_work(self._candidates.spared_first(victims))
        scale = self._scale(gang, trial, ground, ordered)
        yield work + self._searching()
        if not scale.enough:
            return None
        for looked in sparing(scale):
            yield looked * scale.work
        chosen = [victim for victim, spared in zip(ordered, scale.spared, strict=True) if not spared]
        if isinstance(scale, Packing) and len(chosen) <= _FEW:
            # what packing cannot spare a search may
            scale = self._trying(gang, ground, chosen)
            for looked in sparing(scale):
                yield looked * scale.work
            chosen = [victim for victim, spared in zip(chosen, scale.spared, strict=True) if not spared]
        proof = self._search.find(gang, Ground(self._without(ground.usage, chosen), blocked))
        # nobody goes without a proof, whatever a scale has said
        if proof.lacking:
            return None

        # one that has started needs nobody in particular: no fewer of its members may get a place
        at_least = 0 if self._rule.shortfall(gang, {}) else proof.placed
        fewer = yield from one_gang(
            ordered,
            chosen,
            self._candidates.broken_budgets,
            enough=lambda some: self._scale(gang, trial, ground, some, at_least=at_least),
            hopeful=lambda beside, crowds: self._hopeful(trial, at_least, ground, beside, crowds),
        )
        if fewer is not None:
            again = self._search.find(gang, Ground(self._without(ground.usage, fewer), blocked))
            if not again.lacking and again.placed >= at_least:
                return Plan(self._required(gang, again), fewer)
        return Plan(self._required(gang, proof), chosen)

    def _hopeful(
        self, trial: Trial, at_least: int, ground: Ground, beside: list[Victim], crowds: list[list[Victim]]
    ) -> list[bool]:
        """Whether there would be room enough if each of the crowds alone left beside some, each class counted alone."""
        free = self._without(ground.usage, beside).free
        occupied = [[place for victim in crowd for place in self._occupied(victim)] for crowd in crowds]
        hoped: Ints = np.zeros(len(crowds), np.int64)
        for pod_class, count in trial.wants().items():
            if not pod_class.unknown:
                usable = self._usable(pod_class, ground)
                hoped += np.minimum(count, copies_without_each(pod_class, free, usable, occupied))
        return [copies >= (at_least or trial.needed) for copies in hoped.tolist()]

    def may_evict(self, gang: GangState) -> bool:
        """Whether others may be evicted for the gang at all."""
        declared, settings = gang.declared, self._settings
        if declared is None or not declared.preempts or not (settings.gangs and settings.delayed):
            return False
        if not gang.has_started and not self._rule.shortfall(gang, {}):
            # its minimum is on its way: for more than that nobody goes before it has started
            return False
        return self._candidates.any_rule and all(pod.preempts for pod in gang.candidates.values() if pod.held is None)

    def _required(self, gang: GangState, trial: Trial) -> list[tuple[PodState, str]]:
        """Members that must be placed; all that were if the gang needs none in particular."""
        names = self._cluster.nodes.names
        must = self._rule.shortfall(gang, {})
        places: list[tuple[PodState, str]] = []
        for pod, row in trial.places:
            if must and not must.get(pod.subset):
                continue
            if must:
                must[pod.subset] -= 1
            places.append((pod, names[row]))
        return places

    def _scale(
        self, gang: GangState, trial: Trial, ground: Ground, victims: list[Victim], *, at_least: int = 0
    ) -> Scale:
        """Weighs what the gang must have; else so many of its members, or as many as can be."""
        must = sum(self._rule.shortfall(gang, {}).values())
        occupied = [self._occupied(victim) for victim in victims]
        (first, *others) = trial.batches
        if not others and not first.avoid and self._views.needs_resources_only(first.pod_class):
            usable = self._usable(first.pod_class, ground)
            needed, most = must or at_least or None, len(first.pods)
            return Counting(first.pod_class, ground.usage.free, usable, occupied, needed=needed, most=most)
        loads = self._search.loads(gang, trial, ground.blocked)
        if loads is not None:
            packing = Packing(loads, ground.usage.free, self._views.precedence, occupied)
            if packing.enough:
                return packing
        return self._trying(gang, ground, victims, at_least=at_least)

    def _trying(self, gang: GangState, ground: Ground, victims: list[Victim], *, at_least: int = 0) -> Scale:
        usage = self._without(ground.usage, victims)
        # one that has started needs nobody in particular: as many as could have a place if all victims went
        must = self._rule.shortfall(gang, {})
        most = 0 if must else at_least or self._search.find(gang, Ground(usage, ground.blocked)).placed

        def fits(usage: Usage) -> bool:
            trial = self._search.find(gang, Ground(usage, ground.blocked))
            return not trial.lacking and trial.placed >= most

        return Trying(fits, usage, [self._occupied(victim) for victim in victims], work=self._searching)

    def _searching(self) -> int:
        """What searching took since this was last asked."""
        before, self._searched = self._searched, self._search.work
        return self._searched - before

    # --- lone pods ---

    def _for_pod(self, pod: PodState, *, blocked: Bools | None, now: float) -> Thinking:
        """A plan for one node, as the default scheduler would choose it."""
        ground = self._when_the_leaving_have_left(pod.uid, blocked, now)
        row = self._cycle.best_row(pod.pod_class, ground)
        if row is not None:
            return Plan([(pod, self._cluster.nodes.names[row])], [])
        if not self._anybody_below(pod.priority):
            return None
        best: tuple[tuple[float, ...], str] | None = None
        chosen: list[Victim] = []
        looked = 0
        most = max(self._settings.least_nodes, len(self._cluster.nodes) * self._settings.least_percent // 100)
        kept: dict[str, list[Victim]] = {}
        for victim in self._fences.lower_than(pod.priority):
            for node in dict.fromkeys(p.kept for p in victim.pods):
                kept.setdefault(node, []).append(victim)
        for name in self._in_turn(pod, ground):
            found = self._on_node(pod, name, ground, kept.get(name, []))
            yield _WORK_PER_NODE
            if found is None:
                continue
            victims, forbidden = found
            cost = (*_cost(victims, forbidden), looked)
            if best is None or cost < best[0]:
                best, chosen = (cost, name), victims
            looked += 1
            if looked >= most:
                break
        if best is None:
            return None
        fewer = yield from self._fewer_on_node(pod, best[1], ground, kept.get(best[1], []), chosen)
        return Plan([(pod, best[1])], fewer or chosen)

    def _in_turn(self, pod: PodState, ground: Ground) -> list[str]:
        """Nodes that may do, from one that depends on the pod: upstream starts somewhere by chance."""
        copies = self._hoped_for(pod.pod_class, pod.priority, ground)
        rows = np.flatnonzero(copies)
        rows = rows[np.argsort(-self._views.precedence[rows])]
        names = [self._cluster.nodes.names[row] for row in rows.tolist()]
        start = crc32(pod.key.encode()) % max(1, len(names))
        return names[start:] + names[:start]

    def _on_node(self, pod: PodState, node: str, ground: Ground, kept: list[Victim]) -> tuple[list[Victim], int] | None:
        """Who must go from this node, and how many of them a budget protects; None if that would not help.

        Room there that is `kept` for less important units may be taken, too.
        """
        ordered, forbidden = self._in_order_on(node, pod, kept)
        scale = self._scale_on(node, pod, ground, ordered)
        if not scale.enough:
            return None
        for _ in sparing(scale):
            pass
        chosen = [number for number, spared in enumerate(scale.spared) if not spared]
        return [ordered[number] for number in chosen], sum(number < forbidden for number in chosen)

    def _in_order_on(self, node: str, pod: PodState, kept: list[Victim]) -> tuple[list[Victim], int]:
        """Who could go from the node, most precious first, and how many of them a budget protects."""
        victims = kept
        if pod.preempts:
            victims = kept + self._candidates.on(node, unit=pod.uid, priority=pod.priority)
        return _at_once(self._candidates.spared_first(victims, as_upstream=True))

    def _scale_on(self, node: str, pod: PodState, ground: Ground, victims: list[Victim]) -> Scale:
        row, occupied = self._cluster.nodes.rows[node], [self._occupied(victim) for victim in victims]
        if self._views.needs_resources_only(pod.pod_class):
            return OneNode(pod.pod_class, row, ground.usage.free, occupied)
        others = np.ones(self._cluster.nodes.capacity, np.bool_)
        others[row] = False

        def fits(usage: Usage) -> bool:
            return self._cycle.best_row(pod.pod_class, Ground(usage, others)) is not None

        return Trying(fits, self._without(ground.usage, victims), occupied, work=self._searching)

    def _fewer_on_node(
        self, pod: PodState, node: str, ground: Ground, kept: list[Victim], chosen: list[Victim]
    ) -> Generator[int, None, list[Victim] | None]:
        """Victims of one gang instead of the chosen, on the node that was chosen; None if there are none."""
        if len(chosen) < 2:
            return None
        ordered, _ = self._in_order_on(node, pod, kept)
        return (
            yield from one_gang(
                ordered,
                chosen,
                self._candidates.broken_budgets,
                enough=lambda some: self._scale_on(node, pod, ground, some),
                hopeful=lambda beside, crowds: [True] * len(crowds),
            )
        )

    # --- quick answers ---

    def could_help(self, wants: dict[PodClass, int], needed: int, priority: int, ground: Ground) -> bool:
        """Whether there would be room enough if all below this priority left, each class counted alone."""
        if not self._anybody_below(priority):
            return False
        hoped = sum(min(count, int(self._hoped_for(c, priority, ground).sum())) for c, count in wants.items())
        return hoped >= needed

    def _anybody_below(self, priority: int) -> bool:
        return self._cluster.levels.any_below(priority) or bool(self._fences.lower_than(priority))

    def _hoped_for(self, pod_class: PodClass, priority: int, ground: Ground) -> Ints:
        """At most so many copies each node takes if all below this priority leave; resources are counted, no more."""
        free = self._cluster.levels.below(priority, ground.usage.free)
        for victim in self._fences.lower_than(priority):
            for row, kept in self._occupied(victim):
                for resource, amount in kept.room:
                    free[resource, row] += amount
        return count_copies(pod_class, free, self._usable(pod_class, ground))

    def _usable(self, pod_class: PodClass, ground: Ground) -> Bools:
        admitted = self._views.rules(pod_class.rules).admitted
        return admitted if ground.blocked is None else admitted & ~ground.blocked

    # --- the ground ---

    def _when_the_leaving_have_left(self, unit: str, blocked: Bools | None, now: float) -> Ground:
        """The room there will be without evicting anybody, with what is kept for the unit given back to it."""
        usage = self._cluster.nodes.usage.copy()
        self._fences.lift(unit, usage)
        for pod in self._cluster.leaving.values():
            row = self._cluster.nodes.rows.get(pod.node)
            if row is not None and not overdue(pod, now, patience=self._settings.patience_seconds):
                usage.remove(row, pod.pod_class)
        return Ground(usage, blocked)

    def _without(self, usage: Usage, victims: Iterable[Victim]) -> Usage:
        """A copy from which the victims have gone."""
        usage = usage.copy()
        for victim in victims:
            for row, pod_class in self._occupied(victim):
                usage.remove(row, pod_class)
        return usage

    def _occupied(self, victim: Victim) -> Occupied:
        """The rows that a victim's pods take room on, or that room is kept on."""
        rows, occupied = self._cluster.nodes.rows, []
        for pod in victim.pods:
            row = rows.get(pod.kept if victim.kept else pod.node)
            if row is not None:
                occupied.append((row, pod.pod_class))
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


def _cost(victims: list[Victim], violations: int) -> tuple[float, ...]:
    """Upstream's choice among nodes: smaller is better."""
    pods = [pod for victim in victims for pod in victim.pods]
    highest = max((victim.priority for victim in victims), default=-_LIFT)
    total = sum((victim.priority + _LIFT) * len(victim.pods) for victim in victims)
    latest = min((victim.started for victim in victims if victim.priority == highest), default=0.0)
    return violations, highest, total, len(pods), -latest
