"""An API server of a few lines, reached through a client: for drivers on an event loop with virtual time."""

import asyncio
from contextlib import asynccontextmanager, suppress

import msgspec

from muster.api.calls import Create, Delete, Look, Patch, Refused, Replace
from muster.base.errors import ApiError
from muster.controllers.driver import Driver
from tests.controllers.world import START, World


class Server(World):
    """A World that is reached through a client, as a driver wants it."""

    def __init__(self):
        super().__init__()
        self.lag = 0.0
        """Seconds by which watches are late."""
        self.mute = False
        """Watches tell nothing."""
        self.before = self.after = lambda method, path: None
        """May give an error to be raised before a request is carried out, or after."""
        self.requests = []
        self._watches = {}
        self._origin = asyncio.get_running_loop().time()

    def clock(self):
        return START + asyncio.get_running_loop().time() - self._origin

    async def request(self, method, path, *, query=None, body=None, content_type="application/json", seconds=30):
        self.now = self.clock()
        self.requests.append((method, path))
        await asyncio.sleep(0.001)
        if (error := self.before(method, path)) is not None:
            raise error
        answer = self._answer(method, path, body, content_type)
        if (error := self.after(method, path)) is not None:
            raise error
        if isinstance(answer, Refused):
            raise ApiError(answer.message, code=answer.code, reason=answer.reason)
        if query is not None and "limit" in query:
            listed = msgspec.json.decode(answer.data)
            listed["metadata"] = {"resourceVersion": str(self._version or 1)}
            return msgspec.json.encode(listed)
        return answer.data

    def _answer(self, method, path, body, content_type):
        document = msgspec.json.decode(body) if body else {}
        match method:
            case "GET":
                return self._do(Look(path=path))
            case "POST":
                return self._do(Create(path=path, body=document))
            case "PUT":
                return self._do(Replace(path=path, body=document))
            case "PATCH":
                return self._do(Patch(path=path, body=document, strategic="strategic" in content_type))
            case "DELETE":
                conditions = document.get("preconditions", {})
                return self._do(
                    Delete(
                        path=path,
                        uid=conditions.get("uid", ""),
                        version=conditions.get("resourceVersion", ""),
                        grace_seconds=document.get("gracePeriodSeconds"),
                        propagation=document.get("propagationPolicy", ""),
                    )
                )

    @asynccontextmanager
    async def stream(self, path, *, query, seconds):
        queue = asyncio.Queue()
        self._watches.setdefault(path, []).append(queue)

        async def pieces():
            while (event := await queue.get()) is not None:
                at, line = event
                await asyncio.sleep(max(0.0, at - asyncio.get_running_loop().time()))
                yield line

        try:
            yield pieces()
        finally:
            self._watches[path].remove(queue)

    def cut(self, path):
        """Ends all watches of a kind."""
        for queue in self._watches.get(path, ()):
            queue.put_nowait(None)

    def _show(self, where, document):
        new = "resourceVersion" not in document["metadata"]
        super()._show(where, document)
        self._send(where, "ADDED" if new else "MODIFIED", document)

    def _remove(self, where, key):
        document = self.objects[where][key]
        self._version += 1
        super()._remove(where, key)
        last = {**document, "metadata": {**document["metadata"], "resourceVersion": str(self._version)}}
        self._send(where, "DELETED", last)

    def _send(self, where, kind, document):
        at = asyncio.get_running_loop().time() + self.lag
        line = msgspec.json.encode({"type": kind, "object": document}) + b"\n"
        for queue in self._watches.get(where, ()) if not self.mute else ():
            queue.put_nowait((at, line))


@asynccontextmanager
async def running(server, *cores, attach=lambda driver: None):
    """A driver at work on the server, with these cores and what each of them reads, and what `attach` adds."""
    driver = Driver(server, clock=server.clock)
    attach(driver)
    for core, kinds in cores:
        driver.attach(core, kinds)
    task = asyncio.create_task(driver.run())
    await asyncio.wait_for(driver.ready.wait(), 60)
    try:
        yield driver
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
