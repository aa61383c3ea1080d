"""Pods without groups, bound while others are still being created.

The shapes are upstream's (scheduler_perf, with 500 nodes each): so many pods are on the nodes, so many come.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping

import msgspec

from benchmarks.kube.cluster import Cluster, Document, in_turn, pod
from benchmarks.kube.contestants import Contestant
from benchmarks.kube.table import against, median, print_table, show
from muster.api.wire import Pod

NODES = 500
_HOST, _ZONE, _REGION = (
    "kubernetes.io/hostname",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
)
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_BLUE = {"matchLabels": {"color": "blue"}}


def labels(number: int) -> Mapping[str, str]:
    """Of the nodes: three zones of one region."""
    return {_ZONE: f"moon-{number % 3}", _REGION: "moon"}


class Shape(msgspec.Struct, frozen=True):
    name: str
    there: int
    coming: int
    asks: Mapping[str, object] = {}
    """Fields of the pods' spec."""
    all_ask: bool = True
    """Those that are there, too."""

    def __str__(self) -> str:
        return f"{self.name}: {self.coming} pods, {self.there} there, {NODES} nodes"


def _company(which: str, key: str) -> Mapping[str, object]:
    return {"affinity": {which: {_REQUIRED: [{"labelSelector": _BLUE, "topologyKey": key}]}}}


def _in_region() -> Mapping[str, object]:
    here = {"key": _REGION, "operator": "In", "values": ["moon", "mars"]}
    return {"affinity": {"nodeAffinity": {_REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [here]}]}}}}


def _spread(what: str) -> Mapping[str, object]:
    constraint = {"maxSkew": 5, "topologyKey": _ZONE, "whenUnsatisfiable": what, "labelSelector": _BLUE}
    return {"topologySpreadConstraints": [constraint]}


SHAPES = (
    Shape("SchedulingBasic", 500, 1000),
    Shape("SchedulingNodeAffinity", 500, 1000, _in_region()),
    Shape("SchedulingPodAffinity", 500, 1000, _company("podAffinity", _REGION)),
    Shape("SchedulingPodAntiAffinity", 100, 400, _company("podAntiAffinity", _HOST)),
    Shape("TopologySpreading", 1000, 1000, _spread("DoNotSchedule"), all_ask=False),
    Shape("PreferredTopologySpreading", 1000, 1000, _spread("ScheduleAnyway"), all_ask=False),
)
WARM_UP = Shape("warm-up", 0, 50)


class Run(msgspec.Struct, frozen=True):
    """Times in seconds; None where there was nothing to measure."""

    from_first: float
    """From the first pod's creation to the last bind."""
    from_last: float
    """From the last pod's creation to the last bind."""
    calls_per_pod: float
    """All API calls but those that create, until it is quiet; watches and probes are not counted."""
    longest_decide: float | None
    cpu_seconds: float | None
    peak_mb: float | None


class Course:
    """Nodes with room for all."""

    def __init__(self, cluster: Cluster, nodes: list[str]) -> None:
        self._cluster = cluster
        self._nodes = nodes
        self._runs = 0

    async def run(self, contestant: Contestant, shape: Shape) -> Run:
        """Leaves the cluster as it found it."""
        cluster = self._cluster
        self._runs += 1
        await self._fill(shape, contestant.scheduler_name)
        before, used, decides = await cluster.calls(), contestant.used(), await contestant.decides()
        first = time.monotonic()
        await self._create(shape, contestant)
        last = time.monotonic()
        await cluster.until(lambda: len(cluster.bound) >= shape.coming)
        end = max(cluster.bound.values())
        await cluster.quiet()
        after, spent = await cluster.calls(), contestant.used()
        longest = max((await contestant.decides() - decides), default=None)
        await cluster.clear()
        return Run(
            from_first=end - first,
            from_last=end - last,
            calls_per_pod=sum((after - before - Counter({"POST pods": shape.coming})).values()) / shape.coming,
            longest_decide=longest,
            cpu_seconds=None if spent is None or used is None else spent.cpu_seconds - used.cpu_seconds,
            peak_mb=None if spent is None else spent.peak_mb,
        )

    async def _fill(self, shape: Shape, scheduler: str) -> None:
        """One after another on every node, in turn."""
        asks = shape.asks if shape.all_ask else {}
        names = [(f"old{self._runs}-{number}", self._nodes[number % len(self._nodes)]) for number in range(shape.there)]
        made = await self._cluster.create_pods(_pod(name, scheduler, asks, node=node) for name, node in names)
        there = {one.metadata.uid for one in made}
        await self._cluster.until(lambda: self._cluster.there >= there)
        await self._cluster.quiet()
        self._cluster.forget_times()

    async def _create(self, shape: Shape, contestant: Contestant) -> None:
        """Also says where a bare loop should bind them: to nodes in turn, each as soon as it is there."""
        made = 0

        async def place(one: Pod) -> None:
            nonlocal made
            await contestant.created(in_turn([one], self._nodes[made % len(self._nodes) :]))
            made += 1

        names = [f"new{self._runs}-{number}" for number in range(shape.coming)]
        pods = (_pod(name, contestant.scheduler_name, shape.asks) for name in names)
        await self._cluster.create_pods(pods, then=place)


def _pod(name: str, scheduler: str, asks: Mapping[str, object], *, node: str = "") -> Document:
    made = pod(name, scheduler, cpu="100m", node=node)
    metadata, spec = made["metadata"], made["spec"]
    assert isinstance(metadata, dict)
    assert isinstance(spec, dict)
    color = {"color": "blue"} if asks else {}
    return {"metadata": {**metadata, "labels": color}, "spec": {**spec, **asks}}


def print_runs(shape: Shape, runs: dict[str, list[Run]]) -> None:
    columns = (
        "first created → last bind",
        "last created → last bind",
        "calls/pod",
        "longest decide",
        "cpu s",
        "peak MB",
    )
    bare = median(runs.get("bare loop", []), "from_first")
    print_table(str(shape), columns, {name: _cells(measured, bare) for name, measured in runs.items()})


def _cells(runs: list[Run], bare: float) -> list[str]:
    decide = median(runs, "longest_decide")
    return [
        against(median(runs, "from_first"), bare),
        show(median(runs, "from_last"), "s"),
        show(median(runs, "calls_per_pod")),
        f"≤ {decide * 1000:.0f} ms" if decide else "-",
        show(median(runs, "cpu_seconds")),
        show(median(runs, "peak_mb")),
    ]
