"""Who could make room for a unit, most precious first."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from operator import attrgetter

from muster.cluster.budgets import Ruling
from muster.cluster.cluster import Cluster
from muster.cluster.gangs import GangState
from muster.cluster.pods import PodState
from muster.cluster.victims import Victim
from muster.framework.contract import VictimRule

_NEVER = float("inf")
_KEY, _GANG = attrgetter("key"), attrgetter("gang")

# about 5 ms
_PODS_AT_ONCE = 2_000

Standing = tuple[int, int]
"""What a gang is as a victim: its priority, and for one that goes whole the state of its members."""

_Gangs = dict[str, tuple[int, bool] | None]
"""At which priority each gang that was met can be evicted, at least, and whether whole; None if it is done with."""


class Candidates:
    """Gathers victims; whom the profile's rules let go, in the order in which they are spared."""

    def __init__(self, cluster: Cluster, rules: list[VictimRule], *, whole_gangs: bool) -> None:
        self._cluster = cluster
        self._rules = rules
        self._whole_gangs = whole_gangs

    @property
    def any_rule(self) -> bool:
        """Whether the profile has anybody evicted at all."""
        return bool(self._rules)

    def everywhere(self, *, unit: str, priority: int) -> Generator[int, None, list[Victim]]:
        """All that could go for a unit of this priority, never its own members; yields how many pods it has seen."""
        found: list[Victim] = []
        gangs: _Gangs = {unit: None}
        seen: list[PodState] = []
        for there in self._cluster.on_node.values():
            seen.extend(there.values())
            if len(seen) >= _PODS_AT_ONCE:
                found += self._of(seen, gangs, priority)
                yield len(seen)
                seen.clear()
        return found + self._of(seen, gangs, priority)

    def on(self, node: str, *, unit: str, priority: int) -> list[Victim]:
        """The same for one node; gangs that go whole take their members elsewhere with them."""
        return self._of(self._cluster.on_node.get(node, {}).values(), {unit: None}, priority)

    def gangs_on(self, node: str) -> list[GangState]:
        """Gangs that the victims on this node depend on."""
        if not self._whole_gangs:
            return []
        there = self._cluster.on_node.get(node, {}).values()
        keys = dict.fromkeys(pod.gang for pod in there if pod.gang is not None)
        return [self._cluster.gangs[key] for key in keys]

    def standing(self, gang: GangState) -> Standing:
        """Changes whenever the gang's pods become other victims than they were; their own facts aside."""
        return gang.level, gang.version if gang.goes_whole else -1

    def precious_first(
        self, victims: list[Victim], *, as_upstream: bool = False
    ) -> Generator[int, None, tuple[list[Victim], int]]:
        """Most precious first: whose eviction a budget forbids, then by importance; and how many those are.

        What budgets allow is given to the least important first, since they are the first to go; upstream gives it to
        the most important first, and may then evict them instead of others.  Yields how many it has seen.
        """
        # pods of one gang are told apart last, so that few gangs are hurt rather than many
        ordered = sorted(victims, key=_KEY)
        ordered.sort(key=_GANG)
        if self._rules:
            ordered.sort(key=self._rules[0].importance, reverse=True)
        yield len(ordered)
        if not self._cluster.budgets:
            return ordered, 0
        account = self._cluster.budgets.account()
        spend = ordered if as_upstream else ordered[::-1]
        rulings: dict[int, int] = {}
        for first in range(0, len(spend), _PODS_AT_ONCE):
            some = spend[first : first + _PODS_AT_ONCE]
            rulings.update((id(v), account.disrupts(v.pods)) for v in some if not v.reservation)
            yield len(some)
        forbidden = {key: bool(ruling) if as_upstream else ruling for key, ruling in rulings.items() if ruling}
        ordered.sort(key=lambda victim: -forbidden.get(id(victim), 0))
        return ordered, len(forbidden)

    def broken_budgets(self, victims: Iterable[Victim]) -> tuple[int, int]:
        """Of how many of these no budget allows the eviction at all; and of how many not that of all of them."""
        if not self._cluster.budgets:
            return 0, 0
        account = self._cluster.budgets.account()
        rulings = [account.disrupts(victim.pods) for victim in victims if not victim.reservation]
        return rulings.count(Ruling.FORBIDDEN), len(rulings) - rulings.count(Ruling.ALLOWED)

    def _of(self, pods: Iterable[PodState], gangs: _Gangs, priority: int) -> list[Victim]:
        found: list[Victim] = []
        whole_gangs = self._whole_gangs
        for pod in pods:
            gang = pod.gang
            if pod.leaving:
                continue
            if gang is None:
                found.append(Victim(key=pod.key, pods=(pod,), priority=pod.priority, started=_started(pod)))
                continue
            if gang not in gangs:
                state = self._cluster.gangs[gang]
                gangs[gang] = state.level, whole_gangs and state.goes_whole
            met = gangs[gang]
            if met is None:
                continue
            level, whole = met
            if whole:
                found.append(_whole(self._cluster.gangs[gang], priority=level))
                gangs[gang] = None
                continue
            level = max(level, pod.priority)
            of = gang if whole_gangs else ""
            found.append(Victim(key=pod.key, pods=(pod,), priority=level, gang=of, started=_started(pod)))
        return [victim for victim in found if self._may_go(victim, priority)]

    def _may_go(self, victim: Victim, priority: int) -> bool:
        rules = self._rules
        if len(rules) == 1:
            return rules[0].may_evict(victim, priority=priority)
        return bool(rules) and all(rule.may_evict(victim, priority=priority) for rule in rules)


def _whole(gang: GangState, *, priority: int) -> Victim:
    pods = [pod for pod in gang.members.values() if pod.takes_room and not pod.leaving]
    started = min(map(_started, pods))
    return Victim(key=gang.key, pods=pods, priority=priority, gang=gang.key, whole=True, started=started)


def _started(pod: PodState) -> float:
    """When it started; whoever has not yet is the last."""
    at = pod.started_at if pod.started_at is not None else pod.bound_at
    return _NEVER if at is None else at
