"""How a unit could start if others left: a place for all of it, and the fewest and least precious to go.

Nothing is disturbed here.  All who could go are taken off a trial; if the unit has no place even then, nobody goes.
Otherwise they are put back, most precious first, as long as the unit still has some place: not the same one, any.
Who cannot be put back is a victim, and none of them could be spared.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol
from zlib import crc32

import numpy as np

from muster.cluster.classes import PodClass
from muster.cluster.cluster import Cluster
from muster.cluster.gangs import GangState
from muster.cluster.nodes import Rows
from muster.cluster.pods import PodState
from muster.cluster.usage import Ints, Usage
from muster.cluster.victims import Victim
from muster.engine.cycle import GangCycle, Ground, Trial
from muster.engine.fences import Fences, overdue
from muster.engine.search import Search
from muster.engine.victims import Candidates
from muster.framework.contract import Bools
from muster.framework.profile import Profile
from muster.framework.views import Views


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
        self._candidates = Candidates(cluster, profile.victims, whole_gangs=profile.preemption.delayed)

    # --- gangs ---

    def for_gang(self, gang: GangState, *, blocked: Bools | None, now: float) -> Plan | None:
        """A plan for what the gang must have; for one that has started, for as many more as can be.

        None if nobody's leaving would help, or nobody may be made to leave.
        """
        ground = self._when_the_leaving_have_left(gang.key, blocked, now)
        trial = self._search.find(gang, ground)
        if not trial.lacking:
            return Plan(self._required(gang, trial), [])
        victims = self._fences.lower_than(gang.priority)
        if self.may_evict(gang) and self._cluster.levels.any_below(gang.priority):
            victims += self._candidates.everywhere(unit=gang.key, priority=gang.priority)
        if not victims or not self.could_help(trial.wants(), trial.needed, gang.priority, ground):
            return None
        ordered, _ = self._candidates.spared_first(victims)
        scale = self._scale(gang, trial, ground, ordered)
        if not scale.enough:
            return None
        _spare(scale, 0, len(ordered))
        chosen = [victim for victim, spared in zip(ordered, scale.spared, strict=True) if not spared]
        usage = ground.usage.copy()
        for victim in chosen:
            self._take_off(usage, victim)
        return Plan(self._required(gang, self._search.find(gang, Ground(usage, blocked))), chosen)

    def may_evict(self, gang: GangState) -> bool:
        declared, settings = gang.declared, self._settings
        if declared is None or not declared.preempts or not (settings.gangs and settings.delayed):
            return False
        return all(pod.preempts for pod in gang.candidates.values())

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

    def _scale(self, gang: GangState, trial: Trial, ground: Ground, victims: list[Victim]) -> _Scale:
        (first, *others) = trial.batches
        if not others and not first.avoid and self._views.needs_resources_only(first.pod_class):
            needed = sum(self._rule.shortfall(gang, {}).values())
            return _Counting(self, first.pod_class, ground, victims, needed=needed, most=len(first.pods))
        return _Trying(self, gang, ground, victims)

    # --- lone pods ---

    def for_pod(self, pod: PodState, *, blocked: Bools | None, now: float) -> Plan | None:
        """A plan for one node, as the default scheduler would choose it."""
        ground = self._when_the_leaving_have_left(pod.uid, blocked, now)
        row = self._cycle.best_row(pod.pod_class, ground)
        if row is not None:
            return Plan([(pod, self._cluster.nodes.names[row])], [])
        if not self._fences.lower_than(pod.priority) and not self._cluster.levels.any_below(pod.priority):
            return None
        best: tuple[tuple[float, ...], str] | None = None
        chosen: list[Victim] = []
        looked = 0
        most = max(self._settings.least_nodes, len(self._cluster.nodes) * self._settings.least_percent // 100)
        for name in self._in_turn(pod, ground):
            found = self._on_node(pod, name, ground)
            if found is None:
                continue
            victims, forbidden = found
            cost = (*_cost(victims, forbidden), looked)
            if best is None or cost < best[0]:
                best, chosen = (cost, name), victims
            looked += 1
            if looked >= most:
                break
        return None if best is None else Plan([(pod, best[1])], chosen)

    def _in_turn(self, pod: PodState, ground: Ground) -> list[str]:
        """Nodes that the pod may use, from one that depends on the pod: upstream starts somewhere by chance."""
        copies = self._hoped_for(pod.pod_class, pod.priority, ground)
        names = sorted(self._cluster.nodes.names[row] for row in np.flatnonzero(copies).tolist())
        start = crc32(pod.uid.encode()) % max(1, len(names))
        return names[start:] + names[:start]

    def _on_node(self, pod: PodState, node: str, ground: Ground) -> tuple[list[Victim], int] | None:
        """Who must go from this node, and how many of them a budget protects; None if that would not help."""
        row = self._cluster.nodes.rows[node]
        victims = [v for v in self._fences.lower_than(pod.priority) if any(p.kept == node for p in v.pods)]
        if pod.preempts:
            victims += self._candidates.on(node, unit=pod.uid, priority=pod.priority)
        if not victims:
            return None
        ordered, forbidden = self._candidates.spared_first(victims)
        free = ground.usage.free[:, row].copy()
        parts = [_part_on(victim, node, len(free)) for victim in ordered]
        need = np.zeros(len(free), np.int64)
        for resource, amount in pod.pod_class.room:
            need[resource] = amount
        free += sum(parts, np.zeros(len(free), np.int64))
        asked = need > 0
        if pod.pod_class.unknown or (free < need)[asked].any():
            return None
        chosen: list[Victim] = []
        violations = 0
        for number, (victim, part) in enumerate(zip(ordered, parts, strict=True)):
            if (free - part >= need)[asked].all():
                free -= part
            else:
                chosen.append(victim)
                violations += number < forbidden
        if not self._views.needs_resources_only(pod.pod_class):
            usage = ground.usage.copy()
            for victim in chosen:
                self._take_off(usage, victim)
            if self._cycle.best_row(pod.pod_class, Ground(usage, _all_but(row, self._cluster.nodes.capacity))) is None:
                return None
        return chosen, violations

    # --- quick answers ---

    def could_help(self, wants: dict[PodClass, int], needed: int, priority: int, ground: Ground) -> bool:
        """Whether there would be room enough if all below this priority left, each class counted alone."""
        if not self._cluster.levels.any_below(priority) and not self._fences.lower_than(priority):
            return False
        hoped = sum(min(count, int(self._hoped_for(c, priority, ground).sum())) for c, count in wants.items())
        return hoped >= needed

    def _hoped_for(self, pod_class: PodClass, priority: int, ground: Ground) -> Ints:
        """At most so many copies each node takes if all below this priority leave; resources are counted, no more."""
        free = self._cluster.levels.below(priority, ground.usage.free)
        for victim in self._fences.lower_than(priority):
            for row, kept in self.occupies(victim):
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

    def _take_off(self, usage: Usage, victim: Victim) -> None:
        for row, pod_class in self.occupies(victim):
            usage.remove(row, pod_class)

    def occupies(self, victim: Victim) -> list[tuple[int, PodClass]]:
        """The rows that a victim's pods take room on, or that room is kept on."""
        rows = self._cluster.nodes.rows
        found = [(rows.get(pod.kept if victim.kept else pod.node), pod.pod_class) for pod in victim.pods]
        return [(row, pod_class) for row, pod_class in found if row is not None]


class _Scale(Protocol):
    """Tells whether a unit still has a place while victims are put back."""

    enough: bool
    """It has one if all of them go."""
    spared: list[bool]

    def spare(self, first: int, end: int) -> bool:
        """Puts these victims back, unless the unit then has no place; whether it did."""


def _spare(scale: _Scale, first: int, end: int) -> None:
    """Spares whom it can, exactly as if one after another were tried: if all of a stretch can be, each of them can."""
    if first == end or scale.spare(first, end) or end - first == 1:
        return
    middle = (first + end) // 2
    _spare(scale, first, middle)
    _spare(scale, middle, end)


class _Counting:
    """For members of one class that depend on resources alone: it is enough to count the copies that nodes take."""

    def __init__(
        self,
        planner: Planner,
        pod_class: PodClass,
        ground: Ground,
        victims: list[Victim],
        *,
        needed: int,
        most: int,
    ) -> None:
        self._pod_class = pod_class
        self._usable = planner._usable(pod_class, ground)
        occupied = [planner.occupies(victim) for victim in victims]
        self._ends = np.cumsum([0, *map(len, occupied)])
        self._rows: Rows = np.array([row for one in occupied for row, _ in one], np.intp)
        kinds = list(dict.fromkeys(c for one in occupied for _, c in one))
        numbers = {kind: number for number, kind in enumerate(kinds)}
        amounts = np.zeros((len(kinds), len(ground.usage.free)), np.int64)
        for number, kind in enumerate(kinds):
            for resource, amount in kind.room:
                amounts[number, resource] = amount
        self._takes: Ints = amounts[[numbers[c] for one in occupied for _, c in one]]
        self._free: Ints = ground.usage.free.copy()
        np.add.at(self._free.T, self._rows, self._takes)
        self._copies = count_copies(pod_class, self._free, self._usable)
        self._total = int(self._copies.sum())
        self._needed = needed or min(most, self._total)
        self.enough = 0 < self._needed <= self._total
        self.spared = [False] * len(victims)

    def spare(self, first: int, end: int) -> bool:
        part = slice(int(self._ends[first]), int(self._ends[end]))
        rows, places = np.unique(self._rows[part], return_inverse=True)
        free = self._free[:, rows]
        np.subtract.at(free.T, places, self._takes[part])
        copies = count_copies(self._pod_class, free, self._usable[rows])
        total = self._total - int(self._copies[rows].sum()) + int(copies.sum())
        if total < self._needed:
            return False
        self._free[:, rows] = free
        self._copies[rows] = copies
        self._total = total
        self.spared[first:end] = [True] * (end - first)
        return True


class _Trying:
    """For all others: the whole search, each time."""

    def __init__(self, planner: Planner, gang: GangState, ground: Ground, victims: list[Victim]) -> None:
        self._planner = planner
        self._gang = gang
        self._blocked = ground.blocked
        self._victims = victims
        self._usage = ground.usage.copy()
        for victim in victims:
            planner._take_off(self._usage, victim)
        trial = planner._search.find(gang, Ground(self._usage, self._blocked))
        self._needed = 0 if planner._rule.shortfall(gang, {}) else trial.placed
        self.enough = not trial.lacking
        self.spared = [False] * len(victims)

    def spare(self, first: int, end: int) -> bool:
        usage = self._usage.copy()
        for victim in self._victims[first:end]:
            for row, pod_class in self._planner.occupies(victim):
                usage.add(row, pod_class)
        trial = self._planner._search.find(self._gang, Ground(usage, self._blocked))
        if trial.lacking or trial.placed < self._needed:
            return False
        self._usage = usage
        self.spared[first:end] = [True] * (end - first)
        return True


def count_copies(pod_class: PodClass, free: Ints, usable: Bools) -> Ints:
    """How many copies of the class rows with so much free room take, as far as resources go."""
    if pod_class.unknown:
        return np.zeros(free.shape[1], np.int64)
    line = pod_class.line
    copies: Ints = np.minimum.reduce(free[line.need_rows] // line.need[:, 0])
    np.maximum(copies, 0, out=copies)
    copies *= usable
    return copies


def _part_on(victim: Victim, node: str, resources: int) -> Ints:
    """What the victim's pods take on the node."""
    part = np.zeros(resources, np.int64)
    for pod in victim.pods:
        if (pod.kept if victim.kept else pod.node) == node:
            for resource, amount in pod.pod_class.room:
                part[resource] += amount
    return part


def _all_but(row: int, capacity: int) -> Bools:
    blocked = np.ones(capacity, np.bool_)
    blocked[row] = False
    return blocked


# upstream adds this to every priority, so that the sum of many is more than that of few
_LIFT = 2**31


def _cost(victims: list[Victim], violations: int) -> tuple[float, ...]:
    """Upstream's choice among nodes: smaller is better."""
    pods = [pod for victim in victims for pod in victim.pods]
    highest = max((victim.priority for victim in victims), default=-_LIFT)
    total = sum((victim.priority + _LIFT) * len(victim.pods) for victim in victims)
    latest = min((victim.started for victim in victims if victim.priority == highest), default=0.0)
    return violations, highest, total, len(pods), -latest
