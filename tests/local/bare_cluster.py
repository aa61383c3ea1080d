"""An embedded cluster for scenarios: the API server, and of the controllers only the one that protects groups.

Scenarios have their own time, and the disruption controller takes back what is said in times that are long past; real
clusters that they are played on do without it, too.  Ends when its standard input does.
"""

import asyncio
import sys
import time
from contextlib import AsyncExitStack
from pathlib import Path

from muster.api.resources import PODS
from muster.app import logs
from muster.app.up import Wanted, serve
from muster.controllers.driver import Driver, Kind
from muster.controllers.group_protection import GroupProtection
from muster.controllers.objects import POD_GROUPS, Pod, PodGroup
from muster.kube.client import Client
from muster.kube.connection import load


async def main():
    async with AsyncExitStack() as stack:
        wanted = Wanted(folder=Path(sys.argv[1]), port=0, ephemeral=True)
        kubeconfig, _ = await stack.enter_async_context(serve(wanted))
        client = Client(load(kubeconfig=str(kubeconfig)), user_agent="bare-cluster")
        driver = Driver(await stack.enter_async_context(client), clock=time.time)
        driver.attach(GroupProtection(), [Kind(POD_GROUPS, PodGroup), Kind(PODS, Pod)])
        running = asyncio.create_task(driver.run())
        await driver.ready.wait()
        print("up", flush=True)
        await asyncio.to_thread(sys.stdin.read)
        running.cancel()


if __name__ == "__main__":
    logs.configure(level="error")
    asyncio.run(main())
