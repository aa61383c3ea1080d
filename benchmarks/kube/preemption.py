"""Gangs of high priority on full nodes: who must go, and how long until the gangs are bound.

The shapes are upstream's (scheduler_perf, GangPreemptionBasic and GangPreemptionPodGroups).  What is to be evicted is
created on its node, evenly, so that all contestants find the same.
"""

from __future__ import annotations

import time
from collections import Counter

import msgspec

from benchmarks.kube.cluster import Cluster, Document, in_turn, pod, ref
from benchmarks.kube.contestants import Contestant
from benchmarks.kube.table import against, median, print_table, show
from muster.api.wire import Pod

NODES = 100
_CLASSES = {"low": 1_000, "high": 8_888_888, "highest": 9_999_999}
_FIRST_PORT = 8_000


class Low(msgspec.Struct, frozen=True):
    """What is there before; without groups, lone pods that have ports of their nodes."""

    pods: int
    cpu: str
    groups: int = 0


class Shape(msgspec.Struct, frozen=True):
    name: str
    low: Low
    gangs: int
    size: int
    cpu: str
    priority_class: str

    def __str__(self) -> str:
        low = f"{self.low.groups}×{self.low.pods // self.low.groups}" if self.low.groups else f"{self.low.pods} pods"
        return f"{self.name}: {self.gangs}×{self.size} ({self.cpu}) against {low} ({self.low.cpu}), {NODES} nodes"


_PODS = Low(pods=1_000, cpu="40m")
SHAPES = (
    Shape("basic", _PODS, gangs=1, size=100, cpu="3970m", priority_class="high"),
    Shape("basic", _PODS, gangs=10, size=10, cpu="3970m", priority_class="high"),
    Shape("groups", Low(500, "600m", groups=5), gangs=1, size=100, cpu="3500m", priority_class="highest"),
    Shape("groups", Low(500, "600m", groups=50), gangs=10, size=10, cpu="3500m", priority_class="highest"),
)
WARM_UP = Shape("warm-up", Low(10, "40m"), gangs=1, size=5, cpu="100m", priority_class="high")


class Run(msgspec.Struct, frozen=True):
    """Times in seconds; None where there was nothing to measure."""

    from_last: float
    """From the last pod's creation to the last bind."""
    from_first: float
    """From the first pod's creation to the last bind."""
    first_gone: float | None
    """From the first pod's creation until the first victim was gone."""
    victims: int
    calls: int
    """All API calls but those of the course itself, until it is quiet; watches and probes are not counted."""
    longest_decide: float | None
    cpu_seconds: float | None
    peak_mb: float | None


class Course:
    """Nodes that low pods fill, each run anew."""

    def __init__(self, cluster: Cluster, nodes: list[str], *, stop_seconds: float) -> None:
        self._cluster = cluster
        self._nodes = nodes
        self._grace = None if stop_seconds else 0
        self._runs = 0

    async def prepare(self) -> None:
        for name, priority in _CLASSES.items():
            await self._cluster.create_class(name, priority)

    async def run(self, contestant: Contestant, shape: Shape) -> Run:
        """Leaves the cluster as it found it."""
        cluster = self._cluster
        self._runs += 1
        filling = await self._fill(shape.low, contestant.scheduler_name)
        low = {one.metadata.uid for one in filling}
        await cluster.until(lambda: cluster.there >= low)
        await cluster.quiet()
        cluster.forget_times()
        before, used, decides = await cluster.calls(), contestant.used(), await contestant.decides()
        stopped = cluster.stopped
        first = time.monotonic()
        gangs = await self._create(shape, contestant.scheduler_name)
        high = {one.metadata.uid for one in gangs}
        last = time.monotonic()
        await contestant.all_created(in_turn(gangs, self._nodes), [ref(one) for one in filling])
        await cluster.until(lambda: cluster.bound.keys() >= high)
        end = max(cluster.bound[uid] for uid in high)
        gone = [at for uid, at in cluster.gone.items() if uid in low]
        await cluster.quiet()
        after, spent = await cluster.calls(), contestant.used()
        ours = Counter(
            {"POST pods": len(high), "POST podgroups": shape.gangs, "DELETE pods": cluster.stopped - stopped}
        )
        longest = max((await contestant.decides() - decides), default=None)
        victims = len(low & cluster.gone.keys())
        await cluster.clear()
        return Run(
            from_last=end - last,
            from_first=end - first,
            first_gone=min(gone) - first if gone else None,
            victims=victims,
            calls=sum((after - before - ours).values()),
            longest_decide=longest,
            cpu_seconds=None if spent is None or used is None else spent.cpu_seconds - used.cpu_seconds,
            peak_mb=None if spent is None else spent.peak_mb,
        )

    async def _fill(self, low: Low, scheduler: str) -> list[Pod]:
        """Evenly over the nodes."""
        groups = [f"low{self._runs}-{number}" for number in range(low.groups)]
        for group in groups:
            await self._cluster.create_group(group, low.pods // low.groups, priority_class="low")
        pods = [self._low(low, number, groups, scheduler) for number in range(low.pods)]
        return await self._cluster.create_pods(pods)

    def _low(self, low: Low, number: int, groups: list[str], scheduler: str) -> Document:
        turn, place = divmod(number, len(self._nodes))
        return pod(
            f"low{self._runs}-{number}",
            scheduler,
            cpu=low.cpu,
            group=groups[number * len(groups) // low.pods] if groups else "",
            node=self._nodes[place],
            priority_class="low" if groups else "",
            host_port=0 if groups else _FIRST_PORT + turn,
            grace_seconds=self._grace,
        )

    async def _create(self, shape: Shape, scheduler: str) -> list[Pod]:
        groups = [f"high{self._runs}-{number}" for number in range(shape.gangs)]
        for group in groups:
            await self._cluster.create_group(group, shape.size, priority_class=shape.priority_class)
        return await self._cluster.create_pods(
            pod(f"{group}-{member}", scheduler, cpu=shape.cpu, group=group, priority_class=shape.priority_class)
            for group in groups
            for member in range(shape.size)
        )


def print_runs(shape: Shape, runs: dict[str, list[Run]]) -> None:
    columns = (
        "last created → last bind",
        "first created → last bind",
        "first victim gone",
        "victims",
        "calls",
        "longest decide",
        "cpu s",
        "peak MB",
    )
    bare = median(runs.get("bare loop", []), "from_last")
    print_table(str(shape), columns, {name: _cells(measured, bare) for name, measured in runs.items()})


def _cells(runs: list[Run], bare: float) -> list[str]:
    decide = median(runs, "longest_decide")
    return [
        against(median(runs, "from_last"), bare),
        f"{median(runs, 'from_first'):.2f} s",
        show(median(runs, "first_gone"), "s"),
        f"{median(runs, 'victims'):.0f}",
        f"{median(runs, 'calls'):.0f}",
        f"≤ {decide * 1000:.0f} ms" if decide else "-",
        show(median(runs, "cpu_seconds")),
        show(median(runs, "peak_mb")),
    ]
