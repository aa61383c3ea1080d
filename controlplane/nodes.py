"""Nodes that exist only in the API.

    make_nodes(plane, 100, gpu=8)

`controlplane.kubelet` has stand-ins for their kubelets.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import msgspec

from controlplane.plane import ControlPlane
from muster.api.resources import NODES
from muster.api.times import stamp
from muster.base.errors import ApiError
from muster.kube.client import Client
from muster.kube.connection import load

__all__ = ["delete_nodes", "make_nodes"]

_IN_FLIGHT = 64

Item = TypeVar("Item")


def make_nodes(
    plane: ControlPlane,
    count: int,
    *,
    cpu: str = "8",
    memory: str = "32Gi",
    pods: int = 110,
    gpu: int = 0,
    labels: Mapping[str, str] | Callable[[int], Mapping[str, str]] | None = None,
    prefix: str = "n",
) -> list[str]:
    """Create ready nodes n0, n1, ... and give their names.  `labels` are for all, or by number: racks, zones."""
    room = {"cpu": cpu, "memory": memory, "pods": str(pods)} | ({"nvidia.com/gpu": str(gpu)} if gpu else {})
    names = [f"{prefix}{number}" for number in range(count)]
    nodes = [_node(name, room, labels(n) if callable(labels) else labels or {}) for n, name in enumerate(names)]

    async def make(client: Client, node: object) -> None:
        await client.request("POST", NODES.path(), body=msgspec.json.encode(node))

    _for_each(plane, nodes, make)
    return names


def delete_nodes(plane: ControlPlane, names: Sequence[str]) -> None:
    """No harm if some are gone already."""

    async def delete(client: Client, name: str) -> None:
        try:
            await client.request("DELETE", NODES.path(name=name))
        except ApiError as error:
            if error.code != 404:
                raise

    _for_each(plane, names, delete)


def _node(name: str, room: Mapping[str, str], labels: Mapping[str, str]) -> object:
    # an API server takes the status of a new node as it comes: one request, not two
    now = stamp(time.time())
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "KubeletReady",
        "lastHeartbeatTime": now,
        "lastTransitionTime": now,
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}},
        "status": {"capacity": room, "allocatable": room, "conditions": [ready]},
    }


def _for_each(plane: ControlPlane, items: Iterable[Item], call: Callable[[Client, Item], Awaitable[None]]) -> None:
    """Call it for all, many at a time; the first failure ends it and is raised."""
    waiting = iter(items)

    async def work(client: Client) -> None:
        for item in waiting:
            await call(client, item)

    async def main() -> None:
        connection = load(kubeconfig=str(plane.kubeconfig()))
        async with Client(connection, user_agent="nodes") as client, asyncio.TaskGroup() as group:
            for _ in range(_IN_FLIGHT):
                group.create_task(work(client))

    # in a thread: the caller may have a loop running in its own
    with ThreadPoolExecutor(1) as thread:
        try:
            thread.submit(asyncio.run, main()).result()
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from None
