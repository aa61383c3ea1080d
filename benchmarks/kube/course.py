"""One run: gangs are created as fast as the server takes them, and every bind is timed as a watcher sees it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence

import msgspec

from benchmarks.kube.cluster import Cluster, in_turn, pod
from benchmarks.kube.contestants import Contestant
from muster.engine.decisions import Placement


class Shape(msgspec.Struct, frozen=True):
    gangs: int
    size: int

    def __str__(self) -> str:
        return f"{self.gangs}×{self.size}"

    @property
    def pods(self) -> int:
        return self.gangs * self.size


class Run(msgspec.Struct, frozen=True):
    """Times in seconds; None where there was nothing to measure."""

    from_last: float
    """From the last pod's creation to the last bind."""
    from_first: float
    """From the first pod's creation to the last bind."""
    first_bind: float
    """From the first pod's creation to the first bind."""
    calls_per_pod: float
    """All API calls but those that create, until it is quiet; watches and probes are not counted."""
    cpu_seconds: float | None
    peak_mb: float | None


class Course:
    """Gangs on nodes that have room for all of them."""

    def __init__(self, cluster: Cluster, nodes: Sequence[str]) -> None:
        self._cluster = cluster
        self._nodes = nodes
        self._runs = 0

    async def run(self, contestant: Contestant, shape: Shape) -> Run:
        """Leaves the cluster as it found it."""
        cluster = self._cluster
        self._runs += 1
        before, used = await cluster.calls(), contestant.used()
        first = time.monotonic()
        places = await self._create(shape, contestant.scheduler_name)
        last = time.monotonic()
        await contestant.all_created(places)
        await cluster.until(lambda: len(cluster.bound) >= shape.pods)
        began, end = min(cluster.bound.values()), max(cluster.bound.values())
        await cluster.quiet()
        after, spent = await cluster.calls(), contestant.used()
        ours = Counter({"POST pods": shape.pods, "POST podgroups": shape.gangs})
        await cluster.clear()
        return Run(
            from_last=end - last,
            from_first=end - first,
            first_bind=began - first,
            calls_per_pod=sum((after - before - ours).values()) / shape.pods,
            cpu_seconds=None if spent is None or used is None else spent.cpu_seconds - used.cpu_seconds,
            peak_mb=None if spent is None else spent.peak_mb,
        )

    async def _create(self, shape: Shape, scheduler: str) -> list[Placement]:
        """Also says where a bare loop should bind them: to nodes in turn."""
        groups = [f"g{self._runs}-{gang}" for gang in range(shape.gangs)]
        for group in groups:
            await self._cluster.create_group(group, shape.size)
        created = await self._cluster.create_pods(
            pod(f"{group}-{member}", scheduler, cpu="100m", group=group)
            for group in groups
            for member in range(shape.size)
        )
        return in_turn(created, self._nodes)
