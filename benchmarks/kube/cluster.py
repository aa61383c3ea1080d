"""The cluster that contestants share: what is created in it, what a watcher sees of it, what it is asked."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress

import msgspec

from muster.api.resources import NATIVE_POD_GROUPS, PODS, PRIORITY_CLASSES, Resource
from muster.api.wire import Pod
from muster.base.errors import ApiError
from muster.engine.decisions import Placement, PodRef
from muster.kube.client import MERGE_PATCH, Client
from muster.kube.reflector import Gone, Reflector

NAMESPACE = "default"
_CREATING = 16
"""Pods are created with so many calls in flight, as a busy Job controller would."""
_MOST_SECONDS = 300.0
_QUIET_SECONDS = 1.0
_GROUPS = NATIVE_POD_GROUPS[0]
_encode = msgspec.json.Encoder().encode

Document = Mapping[str, object]


class Cluster:
    """Pods and groups in one namespace.  There are no kubelets: who is deleted with a grace leaves when that is over
    only if `stop_seconds` is given, that long after."""

    def __init__(self, client: Client, *, stop_seconds: float | None = None) -> None:
        self._client = client
        self._stop_seconds = stop_seconds
        self.there: set[str] = set()
        """UIDs of all pods."""
        self.bound: dict[str, float] = {}
        """When pods were first seen on a node, by UID."""
        self.gone: dict[str, float] = {}
        """When pods were seen to be gone, by UID."""
        self.stopped = 0
        """Pods for which this played the kubelet."""
        self._stopping: dict[str, asyncio.TimerHandle] = {}
        self._stops: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()
        self._pods = Reflector(client, [PODS], Pod, deliver=self._seen)

    async def watch(self) -> None:
        await self._pods.run()

    def _seen(self, batch: Sequence[Pod | Gone]) -> None:
        now = time.monotonic()
        for one in batch:
            if isinstance(one, Gone):
                self.there.discard(one.uid)
                self.gone[one.uid] = now
                continue
            uid = one.metadata.uid
            self.there.add(uid)
            if one.spec.node_name:
                self.bound.setdefault(uid, now)
            if one.metadata.deletion_timestamp and self._stop_seconds is not None and uid not in self._stopping:
                loop = asyncio.get_running_loop()
                self._stopping[uid] = loop.call_later(self._stop_seconds, self._stop, one)
        self._changed.set()

    def _stop(self, pod: Pod) -> None:
        task = asyncio.ensure_future(self._remove(pod))
        self._stops.add(task)
        task.add_done_callback(self._stops.discard)

    async def _remove(self, pod: Pod) -> None:
        self.stopped += 1
        body = _encode({"gracePeriodSeconds": 0, "preconditions": {"uid": pod.metadata.uid}})
        with suppress(ApiError):  # gone already
            await self._client.request("DELETE", PODS.path(NAMESPACE, pod.metadata.name), body=body)

    # --- what is in it ---

    async def create_class(self, name: str, priority: int) -> None:
        await self._create(PRIORITY_CLASSES, {"metadata": {"name": name}, "value": priority})

    async def create_group(self, name: str, minimum: int, *, priority_class: str = "") -> None:
        spec: dict[str, object] = {"schedulingPolicy": {"gang": {"minCount": minimum}}}
        if priority_class:
            spec["priorityClassName"] = priority_class
        await self._create(_GROUPS, {"metadata": {"name": name}, "spec": spec})

    async def create_pods(
        self, pods: Iterable[Document], *, then: Callable[[Pod], Awaitable[None]] | None = None
    ) -> list[Pod]:
        """As fast as the server takes them, in the order of their answers; `then` is told of each."""
        waiting = iter(pods)
        created: list[Pod] = []

        async def work() -> None:
            for pod in waiting:
                created.append(one := msgspec.json.decode(await self._create(PODS, pod), type=Pod))
                if then is not None:
                    await then(one)

        await asyncio.gather(*(work() for _ in range(_CREATING)))
        return created

    async def _create(self, resource: Resource, document: Document) -> bytes:
        body = _encode({"apiVersion": resource.api_version, "kind": resource.kind, **document})
        return await self._client.request("POST", resource.path(NAMESPACE), body=body)

    async def clear(self) -> None:
        """Takes all pods and groups away."""
        everything = _encode({"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0})
        # a group is protected while its pods are there; here nobody else would take the finalizer off
        await self._client.request("DELETE", PODS.path(NAMESPACE), body=everything, seconds=120)
        await self.until(lambda: not self.there)
        await self._client.request("DELETE", _GROUPS.path(NAMESPACE), body=everything, seconds=120)

        class Names(msgspec.Struct):
            items: list[Pod]

        left = msgspec.json.decode(await self._client.request("GET", _GROUPS.path(NAMESPACE)), type=Names).items
        for group in left:
            patch = _encode({"metadata": {"finalizers": None}})
            path = _GROUPS.path(NAMESPACE, group.metadata.name)
            await self._client.request("PATCH", path, body=patch, content_type=MERGE_PATCH)
        for timer in self._stopping.values():
            timer.cancel()
        self._stopping.clear()
        self.forget_times()

    def forget_times(self) -> None:
        self.bound.clear()
        self.gone.clear()

    # --- what happens in it ---

    async def until(self, true: Callable[[], bool]) -> None:
        """Until something that the watcher sees makes it true."""
        async with asyncio.timeout(_MOST_SECONDS):
            while not true():
                self._changed.clear()
                await self._changed.wait()

    async def quiet(self) -> None:
        """Until nobody has called for a while: events and conditions follow the binds."""
        before = await self.calls()
        while True:
            await asyncio.sleep(_QUIET_SECONDS)
            now = await self.calls()
            if sum((now - before).values()) < 5:
                return
            before = now

    async def calls(self) -> Counter[str]:
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


def pod(
    name: str,
    scheduler: str,
    *,
    cpu: str,
    group: str = "",
    node: str = "",
    priority_class: str = "",
    host_port: int = 0,
    grace_seconds: int | None = None,
) -> Document:
    """A pod; on its node already if there is one."""
    container: dict[str, object] = {
        "name": "main",
        "image": "none",
        "resources": {"requests": {"cpu": cpu, "memory": "100Mi"}},
    }
    if host_port:
        container["ports"] = [{"containerPort": host_port, "hostPort": host_port}]
    spec: dict[str, object] = {"schedulerName": scheduler, "containers": [container]}
    if group:
        spec["schedulingGroup"] = {"podGroupName": group}
    if node:
        spec["nodeName"] = node
    if priority_class:
        spec["priorityClassName"] = priority_class
    if grace_seconds is not None:
        spec["terminationGracePeriodSeconds"] = grace_seconds
    return {"metadata": {"name": name, "labels": {"app": group or "lone"}}, "spec": spec}


def in_turn(pods: Iterable[Pod], nodes: Sequence[str]) -> list[Placement]:
    """A node for each of the pods."""
    return [Placement(ref(one).uid, ref(one).pod, nodes[number % len(nodes)]) for number, one in enumerate(pods)]


def ref(pod: Pod) -> PodRef:
    return PodRef(pod.metadata.uid, f"{pod.metadata.namespace}/{pod.metadata.name}")
