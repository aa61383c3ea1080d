"""Binds what a line on standard input names, says so when it is done, and waits for the next line."""

from __future__ import annotations

import asyncio
import sys

import msgspec

from muster.engine.decisions import Placement
from muster.kube import writes
from muster.kube.client import Client
from muster.kube.connection import load
from muster.kube.limits import MOST


async def main() -> None:
    async with Client(load(kubeconfig=sys.argv[1]), user_agent="bare-loop") as client:
        while line := await asyncio.to_thread(sys.stdin.buffer.readline):
            await bind(client, msgspec.json.decode(line, type=list[Placement]))
            print("done", flush=True)


async def bind(client: Client, pods: list[Placement]) -> None:
    # as many in flight as Muster has at most
    async def work() -> None:
        while pods:
            await writes.bind(client, pods.pop(), at=0.0)

    await asyncio.gather(*(work() for _ in range(MOST)))


if __name__ == "__main__":
    asyncio.run(main())
