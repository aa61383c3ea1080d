"""What probes and Prometheus read: /healthz, /livez, /readyz and /metrics over plain HTTP."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from muster.app.settings import host_and_port
from muster.base.errors import ConfigError

Check = Callable[[], str | None]
"""Says what is wrong, or nothing."""


def _words(error: OSError) -> str:
    # asyncio has words of its own, which name the address again; look-ups of names have negative numbers
    return os.strerror(error.errno) if error.errno and error.errno > 0 else str(error.strerror)


@asynccontextmanager
async def serve(listen: str, *, healthy: Check, ready: Check, registry: CollectorRegistry) -> AsyncIterator[int]:
    """Serves until left; gives the port."""

    def answer(check: Check) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def handler(_: web.Request) -> web.Response:
            wrong = check()
            return web.Response(text=wrong or "ok", status=503 if wrong else 200)

        return handler

    async def metrics(_: web.Request) -> web.Response:
        return web.Response(body=generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_LATEST})

    app = web.Application()
    for path, check in (("/healthz", healthy), ("/livez", healthy), ("/readyz", ready)):
        app.router.add_get(path, answer(check))
    app.router.add_get("/metrics", metrics)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    host, port = host_and_port(listen)
    site = web.TCPSite(runner, host or None, port)
    try:
        try:
            await site.start()
        except OSError as error:
            raise ConfigError(
                f"cannot listen on {listen}: {_words(error)}", hint="choose another with --listen"
            ) from error
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()
