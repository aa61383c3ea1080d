"""Controllers on the embedded API server's core, without sockets and in virtual time."""

import asyncio
import json
from contextlib import asynccontextmanager
from urllib.parse import urlencode

from muster.base.errors import ApiError
from muster.controllers.manager import attach_all, suffixes
from tests.controllers.server import running
from tests.local.serving import Served


class Embedded(Served):
    """The server, and a client of it as a driver wants one."""

    def __init__(self, store=None):
        super().__init__(store)
        self._began, self._origin = self.chance.time, asyncio.get_running_loop().time()

    def clock(self):
        self.chance.time = self._began + asyncio.get_running_loop().time() - self._origin
        return self.chance.time

    async def request(self, method, path, *, query=None, body=None, content_type="application/json", seconds=30):
        await asyncio.sleep(0.001)
        self.clock()
        where = f"{path}?{urlencode(query)}" if query else path
        answer = self.answer(method, where, body, content_type=content_type)
        if answer.code >= 400:
            said = json.loads(answer.body) if answer.body.startswith(b"{") else {"message": answer.body.decode()}
            raise ApiError(said["message"], code=answer.code, reason=said.get("reason", ""))
        return answer.body

    @asynccontextmanager
    async def stream(self, path, *, query, seconds):
        watch = self.answer("GET", f"{path}?{urlencode(query)}")
        if not hasattr(watch, "take"):
            raise ApiError(watch.body.decode(), code=watch.code)
        ready = asyncio.Event()
        watch.on_ready = ready.set

        async def pieces():
            while True:
                if frames := watch.take():
                    yield frames
                if watch.ended:
                    return
                await ready.wait()
                ready.clear()

        try:
            yield pieces()
        finally:
            watch.close()


@asynccontextmanager
async def controlled(*, store=None, rng):
    """An embedded server with all controllers but those of nodes at work."""
    server = Embedded(store)
    async with running(server, attach=lambda driver: attach_all(driver, names=suffixes(rng), nodes=False)) as driver:
        await asyncio.sleep(1)
        yield server, driver
