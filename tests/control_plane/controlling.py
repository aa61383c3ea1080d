"""Muster's controllers and kubelets at work on a real control plane, in a thread of their own.

with controlling(plane, jobs=True):
    ...
"""

import asyncio
import contextlib
import random
import threading
import time

from controlplane.plane import ADMINS
from muster.controllers.driver import Driver
from muster.controllers.manager import suffixes
from muster.kube.client import Client
from muster.kube.connection import load

suffix = suffixes(random.Random())


@contextlib.contextmanager
def controlling(plane, *attach):
    """Runs a driver to which each of `attach` adds something, until the end of the block."""
    connection = load(kubeconfig=str(plane.kubeconfig("controllers", ADMINS)))
    ready, failure, hold = threading.Event(), [], {}

    async def main():
        async with Client(connection, user_agent="controllers") as client:
            driver = Driver(client, clock=time.time)
            for one in attach:
                one(driver)
            hold["loop"], hold["task"] = asyncio.get_running_loop(), asyncio.create_task(driver.run())
            started = asyncio.create_task(driver.ready.wait())
            await asyncio.wait([hold["task"], started], return_when=asyncio.FIRST_COMPLETED)
            ready.set()
            with contextlib.suppress(asyncio.CancelledError):
                await hold["task"]

    def run():
        try:
            asyncio.run(main())
        except BaseException as error:
            failure.append(error)
        finally:
            ready.set()

    thread = threading.Thread(target=run, name="controllers", daemon=True)
    thread.start()
    try:
        assert ready.wait(60)
        yield
    finally:
        with contextlib.suppress(RuntimeError, KeyError):
            hold["loop"].call_soon_threadsafe(hold["task"].cancel)
        thread.join(30)
    if failure:
        raise failure[0]
