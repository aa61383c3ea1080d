"""Who could make room for a unit, most precious first."""

from __future__ import annotations

from collections.abc import Iterable

from muster.cluster.cluster import Cluster
from muster.cluster.gangs import GangState
from muster.cluster.pods import PodState
from muster.cluster.victims import Victim
from muster.framework.contract import VictimRule
from muster.gangs.model import DisruptionMode

_NEVER = float("inf")


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

    def everywhere(self, *, unit: str, priority: int) -> list[Victim]:
        """All that could go for a unit of this priority; never its own members."""
        pods = (pod for there in self._cluster.on_node.values() for pod in there.values())
        return self._of(pods, unit=unit, priority=priority)

    def on(self, node: str, *, unit: str, priority: int) -> list[Victim]:
        """The same for one node; gangs that go whole take their members elsewhere with them."""
        return self._of(self._cluster.on_node.get(node, {}).values(), unit=unit, priority=priority)

    def spared_first(self, victims: list[Victim]) -> tuple[list[Victim], int]:
        """Most precious first: whose eviction a budget forbids, then by importance; and how many those are.

        What budgets allow is given to the least important first, since they are the first to go.
        """
        ordered = sorted(victims, key=self._rank)
        account = self._cluster.budgets.account()
        forbidden = {id(v) for v in reversed(ordered) if not v.kept and account.overdraws(v.pods)}
        ordered.sort(key=lambda victim: id(victim) not in forbidden)
        return ordered, len(forbidden)

    def _rank(self, victim: Victim) -> tuple[tuple[float, ...], str]:
        importance = max((rule.importance(victim) for rule in self._rules), default=(0, 0, 0, 0.0))
        return tuple(-part for part in importance), victim.key

    def _of(self, pods: Iterable[PodState], *, unit: str, priority: int) -> list[Victim]:
        found: dict[str, Victim] = {}
        gangs: dict[str, GangState | None] = {}
        for pod in pods:
            if pod.leaving or pod.gang == unit:
                continue
            key = pod.key
            gang: GangState | None = None
            if pod.gang is not None:
                if pod.gang not in gangs:
                    gangs[pod.gang] = self._declared(pod.gang)
                gang = gangs[pod.gang]
            if gang is None:
                found[key] = _victim(key, [pod], priority=pod.priority, in_gang=False)
            elif not self._goes_whole(gang):
                # pods of one gang are told apart last, so that few gangs are hurt rather than many
                key = f"{gang.key}/{key}"
                found[key] = _victim(key, [pod], priority=gang.priority, in_gang=True)
            elif gang.key not in found:
                members = [p for p in gang.members.values() if p.takes_room and not p.leaving]
                found[gang.key] = _victim(gang.key, members, priority=gang.priority, in_gang=True)
        return [v for v in found.values() if self._may_go(v, priority)]

    def _may_go(self, victim: Victim, priority: int) -> bool:
        return bool(self._rules) and all(rule.may_evict(victim, priority=priority) for rule in self._rules)

    def _declared(self, key: str) -> GangState | None:
        gang = self._cluster.gangs.get(key)
        return gang if gang is not None and gang.declared is not None and self._whole_gangs else None

    def _goes_whole(self, gang: GangState) -> bool:
        """As it declares; one that has not started is of no use to anybody in parts."""
        assert gang.declared is not None
        return gang.declared.disruption is DisruptionMode.ALL or not gang.started


def _victim(key: str, pods: list[PodState], *, priority: int, in_gang: bool) -> Victim:
    started = min(_started(pod) for pod in pods)
    return Victim(key=key, pods=pods, priority=priority, in_gang=in_gang, started=started)


def _started(pod: PodState) -> float:
    """When it started; whoever has not yet is the last."""
    at = pod.started_at if pod.started_at is not None else pod.bound_at
    return _NEVER if at is None else at
