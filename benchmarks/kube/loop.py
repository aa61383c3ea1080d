"""Does what lines on standard input order; where somebody waits for it, says so when it is done."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Iterable

import msgspec

from muster.api.resources import PODS
from muster.engine.decisions import Placement, PodRef
from muster.kube import writes
from muster.kube.client import Client
from muster.kube.connection import load
from muster.kube.limits import MOST

TELLS = "--events"
"""Every bind is followed by the event that a scheduler makes of it."""
_LONGEST_LINE = 2**26


class Orders(msgspec.Struct):
    evict: tuple[PodRef, ...]
    """First these..."""
    bind: tuple[Placement, ...]
    """...then those."""
    waits: bool = False
    """Somebody waits until it is done."""


class Loop:
    def __init__(self, client: Client, *, tells: bool) -> None:
        self._client = client
        self._tells = tells
        # as many in flight as Muster has at most
        self._places = asyncio.Semaphore(MOST)
        self._tasks: set[asyncio.Task[None]] = set()

    def follow(self, orders: Orders) -> None:
        task = asyncio.create_task(self._follow(orders))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _follow(self, orders: Orders) -> None:
        await self._all(
            writes.delete_pod(self._client, pod, reason="Evicted", message="", at=0.0) for pod in orders.evict
        )
        await self._all(map(self._bind, orders.bind))
        if orders.waits:
            print("done", flush=True)

    async def _bind(self, place: Placement) -> None:
        await writes.bind(self._client, place, at=0.0)
        if self._tells:
            await writes.write_event(
                self._client,
                writes.regarding(PODS, place.pod, place.uid),
                reason="Scheduled",
                note=f"Successfully assigned {place.pod} to {place.node}",
                action="Binding",
                warning=False,
                reporter="bare-loop",
                instance="bare-loop",
                name=f"{place.uid}.{place.node}",
                at=time.time(),
            )

    async def _all(self, calls: Iterable[Awaitable[object]]) -> None:
        await asyncio.gather(*map(self._one, calls))

    async def _one(self, call: Awaitable[object]) -> None:
        async with self._places:
            await call


async def main() -> None:
    lines = asyncio.StreamReader(limit=_LONGEST_LINE)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    async with Client(load(kubeconfig=sys.argv[1]), user_agent="bare-loop") as client:
        loop = Loop(client, tells=TELLS in sys.argv)
        while line := await lines.readline():
            loop.follow(msgspec.json.decode(line, type=Orders))


if __name__ == "__main__":
    asyncio.run(main())
