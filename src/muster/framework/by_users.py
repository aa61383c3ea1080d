"""Plugins by users, brought into the roles that the engine knows."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from muster.api.wire import Pod
from muster.cluster.census import Census
from muster.cluster.classes import NodeRules, PodClass
from muster.cluster.nodes import NodeTable, Rows
from muster.cluster.pods import PodState
from muster.cluster.traits import Trait, Unread
from muster.cluster.usage import Ints, Usage
from muster.cluster.victims import Victim
from muster.framework.asking import Asked, has, told
from muster.framework.attending import Attends, undoes_outside
from muster.framework.contract import (
    Bools,
    Outlook,
    PodGate,
    PodReader,
    QueueOrder,
    Reserver,
    RuleFilter,
    RuleScore,
    VictimRule,
    Wide,
)
from muster.framework.plugin import Plugin, PodInfo, UnitInfo, VictimInfo
from muster.framework.questions import Step
from muster.framework.sight import Nodes

__all__ = ["Role", "points", "roles"]

Role = PodReader | RuleFilter | RuleScore | Wide | PodGate | QueueOrder | VictimRule | Reserver | Attends

_POINTS = {
    "preEnqueue": ("pre_enqueue",),
    "queueSort": ("queue_sort",),
    "preFilter": ("pre_filter",),
    "filter": ("filter", "filter_nodes"),
    "postFilter": ("may_evict",),
    "preScore": ("pre_score",),
    "score": ("score", "score_nodes"),
    "reserve": ("reserve", "unreserve"),
    "permit": ("permit",),
    "preBind": ("pre_bind",),
    "bind": ("bind",),
    "postBind": ("post_bind",),
}
_STEPS = {"permit": Step.PERMIT, "preBind": Step.PRE_BIND, "bind": Step.BIND, "postBind": Step.POST_BIND}


def points(kind: type[Plugin]) -> frozenset[str]:
    """Upstream's extension points that the plugin takes part in."""
    return frozenset(point for point, methods in _POINTS.items() if any(has(kind, method) for method in methods))


def roles(plugin: Plugin, at: frozenset[str]) -> list[Role]:
    """The plugin in the roles that it plays at these points."""
    asked = Asked(plugin)
    filters, scores = "filter" in at, "score" in at
    found: list[Role] = []
    if filters or scores or has(type(plugin), "pre_filter"):
        found.append(_Reader(asked))
    if _watches(plugin) and (filters or scores):
        found.append(_Watcher(asked, filters=filters, scores=scores))
    else:
        found += [_NodeFilter(asked)] if filters else []
        found += [_NodeScore(asked)] if scores else []
    found += [_Gate(asked)] if "preEnqueue" in at else []
    found += [_Order(asked)] if "queueSort" in at else []
    found += [_Evictions(asked)] if "postFilter" in at else []
    kind = type(plugin)
    told_here = has(kind, "unreserve") and not undoes_outside(kind)
    found += [_Reserves(asked)] if "reserve" in at and (has(kind, "reserve") or told_here) else []
    steps = frozenset(step for point, step in _STEPS.items() if point in at)
    found += [Attends(asked, steps, undoes="reserve" in at and undoes_outside(kind))] if steps else []
    return found


def _watches(plugin: Plugin) -> bool:
    """Its answers are not kept: they depend on pods, or on which nodes could take the pod."""
    return plugin.watches_pods or has(type(plugin), "pre_score")


class _Reader(PodReader):
    def __init__(self, asked: Asked) -> None:
        self.name = asked.name
        self.is_shown = _watches(asked.plugin)
        self.source = type(asked.plugin)
        self._asked = asked

    @property
    def calls(self) -> int:
        return self._asked.calls

    def read(self, pod: Pod) -> object:
        try:
            return self._asked.plugin.pre_filter(pod)
        except (Exception, SystemExit) as error:
            return Unread(told(error))


# --- by the node's own facts ---


class _NodeFilter(RuleFilter):
    reason = ""

    def __init__(self, asked: Asked) -> None:
        self.name = asked.name
        self._asked = asked

    def admits(self, rules: NodeRules, nodes: NodeTable, rows: Rows | None) -> Bools:
        admitted = np.ones(nodes.capacity if rows is None else len(rows), np.bool_)
        for _, refused in self.refusals(rules, nodes, rows):
            admitted &= ~refused
        return admitted

    def refusals(self, rules: NodeRules, nodes: NodeTable, rows: Rows | None) -> list[tuple[str, Bools]]:
        trait = self._asked.trait(rules.traits)
        if trait is None:
            return []
        return self._asked.refusals(trait, Nodes(nodes, None, plugin=self.name, rows=rows))


class _NodeScore(RuleScore):
    reverse = False
    absolute = True

    def __init__(self, asked: Asked) -> None:
        self.name = asked.name
        self._asked = asked

    def raw(self, rules: NodeRules, nodes: NodeTable, rows: Rows | None) -> Ints | None:
        trait = self._asked.trait(rules.traits)
        if trait is None:
            return None
        seen = Nodes(nodes, None, plugin=self.name, rows=rows)
        return self._asked.scores(trait, seen, seen.are_there)


# --- by where pods are ---


class _Watcher(Wide):
    def __init__(self, asked: Asked, *, filters: bool, scores: bool) -> None:
        self.name = asked.name
        self.filters = filters
        self._scores = scores
        self._asked = asked

    def concerns(self, pod_class: PodClass, census: Census) -> bool:
        ties = pod_class.ties
        return ties is not None and any(plugin == self.name for plugin, _ in ties.look.traits)

    def gathers(self, pod_class: PodClass) -> Iterable[str]:
        return self._asked.plugin.gathers

    def outlook(self, pod_class: PodClass, nodes: NodeTable, usage: Usage) -> Outlook:
        trait = self._asked.trait(pod_class.traits)
        assert trait is not None
        return _Watch(self._asked, trait, pod_class, nodes, usage, filters=self.filters, scores=self._scores)


class _Watch(Outlook):
    """What the plugin says with every pod where it is, on a copy of its own as soon as one is placed."""

    def __init__(
        self,
        asked: Asked,
        trait: Trait,
        pod_class: PodClass,
        nodes: NodeTable,
        usage: Usage,
        *,
        filters: bool,
        scores: bool,
    ) -> None:
        self._asked = asked
        self._trait = trait
        self._pod_class = pod_class
        self._nodes = nodes
        self._usage = usage
        self._is_own = False
        self._filters = filters
        self._scores = scores
        self._refused: list[tuple[str, Bools]] | None = None

    def place(self, row: int) -> None:
        if not self._is_own:
            self._usage, self._is_own = self._usage.copy(), True
        self._usage.add(row, self._pod_class)
        self._refused = None

    def admits(self) -> Bools | None:
        refused = [rows for _, rows in self.refusals()]
        return ~np.logical_or.reduce(refused) if refused else None

    def refusals(self) -> list[tuple[str, Bools]]:
        if not self._filters:
            return []
        if self._refused is None:
            self._refused = self._asked.refusals(self._trait, self._seen())
        return self._refused

    def score(self, takes: Bools) -> Ints | None:
        return self._asked.scores(self._trait, self._seen(), takes) if self._scores else None

    def _seen(self) -> Nodes:
        return Nodes(self._nodes, self._usage, plugin=self._asked.name)


# --- pods and units ---


class _Gate(PodGate):
    asks_again = True

    def __init__(self, asked: Asked) -> None:
        self.name = asked.name
        self._asked = asked

    def holds(self, pod: PodState) -> str | None:
        why = self._asked.reason("pre_enqueue", self._asked.info(pod))
        return None if why is None else f"{self.name}: {why}"


class _Order(QueueOrder):
    def __init__(self, asked: Asked) -> None:
        self.name = asked.name
        self._asked = asked

    def key(self, *, priority: int, created: float, uid: str, name: str) -> tuple[int, float, str]:
        place = self._asked.ask("queue_sort", UnitInfo(name=name, priority=priority, created=created))
        match place:
            case (int() as first, int() | float() as second):
                return first, second, uid
        raise self._asked.wrong("queue_sort", place, "a whole number and a number")


class _Evictions(VictimRule):
    def __init__(self, asked: Asked) -> None:
        self.name = asked.name
        self._asked = asked

    def may_evict(self, victim: Victim, *, priority: int) -> bool:
        pods = [self._asked.info(pod) for pod in victim.pods]
        known = VictimInfo(name=victim.key, priority=victim.priority, gang=victim.gang, pods=pods)
        answer = self._asked.ask("may_evict", known, priority=priority)
        if not isinstance(answer, bool | np.bool_):
            raise self._asked.wrong("may_evict", answer, "True or False")
        return bool(answer)

    def importance(self, victim: Victim) -> tuple[int, int, int, float]:
        return 0, 0, 0, 0.0


class _Reserves(Reserver):
    def __init__(self, asked: Asked) -> None:
        self.name = asked.name
        self._asked = asked
        self._given: dict[str, PodInfo] = {}
        """By UID, pods that are being bound, as the plugin knows them: meanwhile they may change, or be unreadable."""

    def reserve(self, pod: PodState, node: str) -> str | None:
        info = self._asked.info(pod)
        why = self._asked.reason("reserve", info, node) if has(type(self._asked.plugin), "reserve") else None
        if why is None:
            self._given[pod.uid] = info
        return why

    def unreserve(self, pod: PodState, node: str) -> None:
        info = self._given.pop(pod.uid)
        kind = type(self._asked.plugin)
        if has(kind, "unreserve") and not undoes_outside(kind):
            self._asked.ask("unreserve", info, node)

    def bound(self, pod: PodState) -> None:
        self._given.pop(pod.uid, None)
