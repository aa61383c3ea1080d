"""One run: gangs are created as fast as the server takes them, and every bind is timed as a watcher sees it."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence

import msgspec

from benchmarks.kube.contestants import Contestant
from controlplane.plane import ControlPlane
from muster.api.wire import Pod
from muster.engine.decisions import Placement
from muster.kube.client import Client
from muster.kube.reflector import Gone, Reflector
from muster.kube.resources import NATIVE_POD_GROUPS, PODS

NAMESPACE = "default"
_CREATING = 16
"""Pods are created with so many calls in flight, as a busy Job controller would."""
_MOST_SECONDS = 300.0
_QUIET_SECONDS = 1.0
_GROUPS = NATIVE_POD_GROUPS[0]
_encode = msgspec.json.Encoder().encode


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
    """A control plane with nodes, and a watcher of all pods."""

    def __init__(self, plane: ControlPlane, client: Client, nodes: Sequence[str]) -> None:
        self._plane = plane
        self._client = client
        self._nodes = nodes
        self._bound: dict[str, float] = {}
        self._there: set[str] = set()
        self._changed = asyncio.Event()
        self._pods = Reflector(client, [PODS], Pod, deliver=self._seen)
        self._runs = 0

    async def watch(self) -> None:
        await self._pods.run()

    def _seen(self, batch: list[Pod | Gone]) -> None:
        now = time.monotonic()
        for one in batch:
            if isinstance(one, Gone):
                self._there.discard(one.uid)
            else:
                self._there.add(one.metadata.uid)
                if one.spec.node_name:
                    self._bound.setdefault(one.metadata.uid, now)
        self._changed.set()

    async def run(self, contestant: Contestant, shape: Shape) -> Run:
        """Leaves the cluster as it found it."""
        self._runs += 1
        self._bound.clear()
        before, used = await self._calls(), contestant.used()
        first = time.monotonic()
        pods = await self._create(shape, contestant.scheduler_name)
        last = time.monotonic()
        await contestant.all_created(self._client, pods)
        await self._until(lambda: len(self._bound) >= shape.pods)
        end = max(self._bound.values())
        await self._quiet()
        after, spent = await self._calls(), contestant.used()
        ours = Counter({"POST pods": shape.pods, "POST podgroups": shape.gangs})
        await self._clear()
        return Run(
            from_last=end - last,
            from_first=end - first,
            first_bind=min(self._bound.values()) - first,
            calls_per_pod=sum((after - before - ours).values()) / shape.pods,
            cpu_seconds=None if spent is None or used is None else spent.cpu_seconds - used.cpu_seconds,
            peak_mb=None if spent is None else spent.peak_mb,
        )

    async def _create(self, shape: Shape, scheduler: str) -> list[Placement]:
        todo: list[tuple[str, str]] = []
        for gang in range(shape.gangs):
            group = f"g{self._runs}-{gang}"
            spec = {"schedulingPolicy": {"gang": {"minCount": shape.size}}}
            document = {
                "apiVersion": _GROUPS.api_version,
                "kind": "PodGroup",
                "metadata": {"name": group},
                "spec": spec,
            }
            await self._client.request("POST", _GROUPS.path(NAMESPACE), body=_encode(document))
            todo += [(group, f"{group}-{member}") for member in range(shape.size)]
        todo.reverse()
        created: list[Placement] = []

        async def work() -> None:
            while todo:
                group, name = todo.pop()
                answer = await self._client.request("POST", PODS.path(NAMESPACE), body=_pod(group, name, scheduler))
                uid = msgspec.json.decode(answer, type=Pod).metadata.uid
                created.append(Placement(uid, f"{NAMESPACE}/{name}", self._nodes[len(created) % len(self._nodes)]))

        await asyncio.gather(*(work() for _ in range(_CREATING)))
        return created

    async def _clear(self) -> None:
        everything = _encode({"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0})
        # a group is protected while its pods are there; here nobody else would take the finalizer off
        await self._client.request("DELETE", PODS.path(NAMESPACE), body=everything, seconds=120)
        await self._until(lambda: not self._there)
        await self._client.request("DELETE", _GROUPS.path(NAMESPACE), body=everything, seconds=120)

        class Names(msgspec.Struct):
            items: list[Pod]

        left = msgspec.json.decode(await self._client.request("GET", _GROUPS.path(NAMESPACE)), type=Names).items
        for group in left:
            patch = _encode({"metadata": {"finalizers": None}})
            path = _GROUPS.path(NAMESPACE, group.metadata.name)
            await self._client.request("PATCH", path, body=patch, content_type="application/merge-patch+json")

    async def _until(self, true: Callable[[], bool]) -> None:
        async with asyncio.timeout(_MOST_SECONDS):
            while not true():
                self._changed.clear()
                await self._changed.wait()

    async def _quiet(self) -> None:
        """Until nobody has called for a while: events and conditions follow the binds."""
        before = await self._calls()
        while True:
            await asyncio.sleep(_QUIET_SECONDS)
            now = await self._calls()
            if sum((now - before).values()) < 5:
                return
            before = now

    async def _calls(self) -> Counter[str]:
        """API calls by verb and resource, as the server counts them."""
        text = (await self._client.request("GET", "/metrics")).decode()
        calls: Counter[str] = Counter()
        for line in text.splitlines():
            if line.startswith("apiserver_request_total{"):
                labels = dict(part.split("=", 1) for part in line[line.index("{") + 1 : line.rindex("}")].split(","))
                verb, resource = labels["verb"].strip('"'), labels["resource"].strip('"')
                if verb not in ("WATCH", "LIST", "GET") and resource not in ("leases", ""):
                    calls[f"{verb} {resource}"] += int(float(line.rsplit(" ", 1)[1]))
        return calls


def _pod(group: str, name: str, scheduler: str) -> bytes:
    return _encode(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "labels": {"app": group}},
            "spec": {
                "schedulerName": scheduler,
                "schedulingGroup": {"podGroupName": group},
                "containers": [
                    {"name": "main", "image": "none", "resources": {"requests": {"cpu": "100m", "memory": "100Mi"}}}
                ],
            },
        }
    )
