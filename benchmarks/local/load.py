"""Load on one API server: does what a line on standard input orders, and says how long it took.

python -m benchmarks.local.load KUBECONFIG
{"do": "create", "count": 2000, "prefix": "a"}      →  1.234
{"do": "bind", "count": 2000, "prefix": "a"}
{"do": "watch", "count": 50}                        opens so many watches on all pods, and keeps them
{"do": "list", "count": 1}
{"do": "clear", "count": 0}
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Iterable

import msgspec

from benchmarks.kube.cluster import NAMESPACE, pod
from muster.api.resources import PODS
from muster.kube.client import Client
from muster.kube.connection import load

_IN_FLIGHT = 32
_encode = msgspec.json.Encoder().encode


class Order(msgspec.Struct):
    do: str
    count: int = 0
    prefix: str = ""


class Load:
    """Carries out orders."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._watches: list[asyncio.Task[None]] = []
        self.heard = 0
        """Bytes of events."""

    async def carry_out(self, order: Order) -> float:
        began = time.perf_counter()
        match order.do:
            case "create":
                await _all(self._create(f"{order.prefix}-{number}") for number in range(order.count))
            case "bind":
                await _all(self._bind(f"{order.prefix}-{number}", number) for number in range(order.count))
            case "list":
                for _ in range(order.count):
                    await self._client.request("GET", PODS.path())
            case "watch":
                await self._watch(order.count)
            case "clear":
                body = _encode({"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0})
                await self._client.request("DELETE", PODS.path(NAMESPACE), body=body, seconds=120)
        return time.perf_counter() - began

    async def _create(self, name: str) -> None:
        document = {"apiVersion": "v1", "kind": "Pod", **pod(name, "nobody", cpu="100m", group="gang")}
        await self._client.request("POST", PODS.path(NAMESPACE), body=_encode(document))

    async def _bind(self, name: str, number: int) -> None:
        target = {"apiVersion": "v1", "kind": "Node", "name": f"node-{number % 100}"}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
        await self._client.request("POST", PODS.path(NAMESPACE, name, "binding"), body=_encode(body))

    async def _watch(self, count: int) -> None:
        for task in self._watches:
            task.cancel()
        await asyncio.gather(*self._watches, return_exceptions=True)
        began = [asyncio.Event() for _ in range(count)]
        self._watches = [asyncio.create_task(self._follow(event)) for event in began]
        await asyncio.gather(*(event.wait() for event in began))

    async def _follow(self, began: asyncio.Event) -> None:
        query = {"watch": "true", "resourceVersion": "0", "timeoutSeconds": "600"}
        async with self._client.stream(PODS.path(), query=query, seconds=600) as pieces:
            began.set()
            async for piece in pieces:
                self.heard += len(piece)


async def _all(calls: Iterable[Awaitable[None]]) -> None:
    waiting = iter(calls)

    async def work() -> None:
        for call in waiting:
            await call

    await asyncio.gather(*(work() for _ in range(_IN_FLIGHT)))


async def main() -> None:
    async with Client(load(kubeconfig=sys.argv[1]), user_agent="muster-bench", connections=512) as client:
        load_on = Load(client)
        while line := await asyncio.to_thread(sys.stdin.buffer.readline):
            seconds = await load_on.carry_out(msgspec.json.decode(line, type=Order))
            print(f"{seconds:.6f}", flush=True)
        await load_on.carry_out(Order("watch", 0))


if __name__ == "__main__":
    asyncio.run(main())
