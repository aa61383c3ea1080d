"""Does what a line on standard input orders, says so when it is done, and waits for the next line."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Iterable

import msgspec

from muster.engine.decisions import Placement, PodRef
from muster.kube import writes
from muster.kube.client import Client
from muster.kube.connection import load
from muster.kube.limits import MOST


class Orders(msgspec.Struct):
    evict: tuple[PodRef, ...]
    """First these..."""
    bind: tuple[Placement, ...]
    """...then those."""


async def main() -> None:
    async with Client(load(kubeconfig=sys.argv[1]), user_agent="bare-loop") as client:
        while line := await asyncio.to_thread(sys.stdin.buffer.readline):
            orders = msgspec.json.decode(line, type=Orders)
            await _all(writes.delete_pod(client, pod, reason="Evicted", message="", at=0.0) for pod in orders.evict)
            await _all(writes.bind(client, placement, at=0.0) for placement in orders.bind)
            print("done", flush=True)


async def _all(calls: Iterable[Awaitable[object]]) -> None:
    # as many in flight as Muster has at most
    waiting = iter(calls)

    async def work() -> None:
        for call in waiting:
            await call

    await asyncio.gather(*(work() for _ in range(MOST)))


if __name__ == "__main__":
    asyncio.run(main())
