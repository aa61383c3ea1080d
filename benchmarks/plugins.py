"""Plugins by users, on the engine alone: the same rule node by node and as columns."""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable

import numpy as np

from benchmarks.calls import placements
from benchmarks.report import line, title
from benchmarks.shapes import nodes, pod
from muster.api.wire import Pod
from muster.cluster.usage import Ints
from muster.engine.changes import PodSeen
from muster.engine.engine import Engine
from muster.framework.by_users import points, roles
from muster.framework.plugin import Bools, NodeInfo, Nodes, Plugin, Trait
from muster.framework.profile import Profile
from muster.plugins.defaults import default_plugins

_ZONE = "topology.kubernetes.io/zone"
_REPEATS = 3
_REASON = "node(s) were in another zone"


class _Zoned(Plugin):
    """By the node's own facts: pods of an app keep out of a zone, and like another."""

    def pre_filter(self, pod: Pod) -> Trait | None:
        return pod.metadata.labels["app"]


class ByNode(_Zoned):
    def filter(self, trait: Trait, node: NodeInfo) -> str | None:
        return _REASON if node.labels[_ZONE] == "zone-0" else None

    def score(self, trait: Trait, node: NodeInfo, prepared: object) -> int:
        return 100 if node.labels[_ZONE] == "zone-1" else 0


class ByNodeColumns(_Zoned):
    def filter_nodes(self, trait: Trait, nodes: Nodes) -> list[tuple[str, Bools]]:
        return [(_REASON, nodes.has_label(_ZONE, "zone-0"))]

    def score_nodes(self, trait: Trait, nodes: Nodes, takes: Bools) -> Ints:
        return np.where(nodes.has_label(_ZONE, "zone-1"), 100, 0)


class _Spreading(_Zoned):
    """By where pods are: not too many of an app in a zone, and where there are fewest first."""

    watches_pods = True


class ByPods(_Spreading):
    def filter(self, trait: Trait, node: NodeInfo) -> str | None:
        return _REASON if node.pods_in(_ZONE)[trait] >= 10_000 else None

    def score(self, trait: Trait, node: NodeInfo, prepared: object) -> int:
        return max(0, 100 - node.pods_in(_ZONE)[trait])


class ByPodsColumns(_Spreading):
    def filter_nodes(self, trait: Trait, nodes: Nodes) -> list[tuple[str, Bools]]:
        return [(_REASON, nodes.pods_in(_ZONE, trait) >= 10_000)]

    def score_nodes(self, trait: Trait, nodes: Nodes, takes: Bools) -> Ints:
        return np.maximum(0, 100 - nodes.pods_in(_ZONE, trait))


def plugins() -> None:
    title(
        "a plugin that filters and scores; 200 lone pods of one app, then one each of 20 other apps; CPU time of a pod"
    )
    for count in (1_000, 5_000):
        _measure("no plugin", None, count)
        _measure("by node, node by node", ByNode, count)
        _measure("by node, as columns", ByNodeColumns, count)
        _measure("by pods, node by node", ByPods, count)
        _measure("by pods, as columns", ByPodsColumns, count)


def _measure(name: str, kind: type[Plugin] | None, count: int) -> None:
    alike, different = [], []
    for _ in range(_REPEATS):
        mine = [] if kind is None else [(role, 1) for role in roles(kind({}), points(kind))]
        engine = Engine(Profile([*default_plugins(), *mine]))
        engine.apply(nodes(count, random.Random(1)))
        _seconds(engine, [_pod("warm", "warm")])
        _seconds(engine, [_pod("first", "one")])
        alike.append(_seconds(engine, [_pod(f"p{i:03}", "one") for i in range(200)]) / 200)
        different.append(_seconds(engine, [_pod(f"q{i:03}", f"app{i}") for i in range(20)]) / 20)
    figures = f"{min(alike) * 1e3:8.2f} ms of a known app", f"{min(different) * 1e3:8.2f} ms of a new one"
    line(f"{count:,} nodes, {name}", *figures)


def _pod(name: str, app: str) -> PodSeen:
    made = pod(name, cpu_milli=100, memory_gib=0.5, index=0).pod
    made.metadata.labels["app"] = app
    return PodSeen(made)


def _seconds(engine: Engine, pods: list[PodSeen]) -> float:
    """Of processor time, until all are placed."""
    gc.collect()
    began = time.process_time()
    engine.apply(pods)
    placed = len(placements(engine.decide(1.0)))
    while engine.next_decide_at == 1.0:
        placed += len(placements(engine.decide(1.0)))
    assert placed == len(pods), f"{placed} of {len(pods)} placed"
    return time.process_time() - began


BENCHMARKS: dict[str, Callable[[], None]] = {"plugins": plugins}
