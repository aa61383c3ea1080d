"""An API server that answers as a test tells it to, over HTTP or in the client's own place.

    api = Api()
    api.on("LIST", "/api/v1/pods", page(pod("a"), version=7))
    api.on("WATCH", "/api/v1/pods", Stream(), refusal(410))
    async with serving(api) as address: ...           # real sockets, for what the wire can do
    client = Direct(api)                              # none, so that time can be virtual

Answers are given in their order, the last one again and again; a watch without a script stays open and is found in
`api.streams`.  Nothing here sleeps: what is to come later waits for an event.
"""

import asyncio
import json
import ssl
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from muster.base.errors import ApiError, Unreachable
from muster.kube.client import JSON, STREAM_BEGINS_SECONDS
from muster.kube.connection import Connection
from muster.kube.credentials import Fixed

PODS = "/api/v1/pods"


# --- objects ----------------------------------------------------------------------------------------


def pod(name, version=1, *, uid=None, namespace="team", **spec):
    """A pod as the wire has it; its UID is "uid-" and its name."""
    meta = {"name": name, "namespace": namespace, "uid": uid or f"uid-{name}", "resourceVersion": str(version)}
    return {"metadata": meta, "spec": {"containers": [{}]} | spec}


def page(*items, version=1, following=""):
    return Reply({"metadata": {"resourceVersion": str(version), "continue": following}, "items": list(items)})


def added(thing):
    return {"type": "ADDED", "object": thing}


def modified(thing):
    return {"type": "MODIFIED", "object": thing}


def deleted(thing):
    return {"type": "DELETED", "object": thing}


def bookmark(version):
    """As servers send it: an object of which nothing but the version means anything."""
    meta = {"resourceVersion": str(version), "creationTimestamp": None}
    return {"type": "BOOKMARK", "object": {"kind": "Pod", "metadata": meta, "spec": {"containers": None}, "status": {}}}


def failed(code, message="something is wrong", reason="InternalError"):
    status = {"kind": "Status", "status": "Failure", "code": code, "message": message, "reason": reason}
    return {"type": "ERROR", "object": status}


# --- answers ----------------------------------------------------------------------------------------


@dataclass
class Reply:
    document: Any = None
    code: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def body(self) -> bytes:
        return self.document if isinstance(self.document, bytes) else json.dumps(self.document).encode()


def refusal(code, message="no", *, reason="", headers=None, **details):
    """A JSON Status, as API servers refuse."""
    status = {"kind": "Status", "status": "Failure", "code": code, "message": message, "reason": reason}
    return Reply(status | ({"details": details} if details else {}), code, headers or {})


@dataclass
class Cut:
    """The connection is closed without an answer, or after these bytes of one."""

    after: bytes = b""


@dataclass
class Held:
    """An answer that waits until the test opens the gate."""

    answer: Any
    gate: asyncio.Event = field(default_factory=asyncio.Event)


class Stream:
    """A watch; the test sends what is to come."""

    def __init__(self, *events):
        self.opened = asyncio.Event()
        self.closed = asyncio.Event()
        """The client has gone, or the stream has ended."""
        self._pieces: asyncio.Queue[bytes | Cut | None] = asyncio.Queue()
        if events:
            self.send(*events)

    def send(self, *events):
        """These in one piece."""
        self.write(b"".join(json.dumps(event).encode() + b"\n" for event in events))

    def write(self, piece):
        self._pieces.put_nowait(piece)

    def end(self):
        """As a server ends a watch whose time is over."""
        self._pieces.put_nowait(None)
        return self

    def cut(self):
        """As a lost connection ends it."""
        self._pieces.put_nowait(Cut())
        return self

    async def next(self):
        return await self._pieces.get()


Answer = Reply | Cut | Held | Stream


# --- the server -------------------------------------------------------------------------------------


@dataclass
class Call:
    method: str
    """As HTTP has it, but LIST and WATCH for what is read."""
    path: str
    """As it was sent, quoted."""
    query: Mapping[str, str]
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    at: float = 0.0
    raw_query: str = ""

    @property
    def document(self):
        return json.loads(self.body)


class Api:
    """What was asked, and what to answer.  What no script knows is not found."""

    def __init__(self):
        self.calls: list[Call] = []
        self.streams: list[Stream] = []
        """All watches that were opened, in their order."""
        self._scripts: dict[tuple[str, str], deque[Answer | Callable[[Call], Answer]]] = defaultdict(deque)

    def on(self, method, path, *answers):
        """Answers to requests of a kind, in place of those that were to come."""
        self._scripts[method, path] = deque(answers)

    def asked(self, method, path=None):
        return [call for call in self.calls if call.method == method and path in (None, call.path)]

    async def answer(self, call: Call) -> Reply | Cut | Stream:
        call.at = asyncio.get_running_loop().time()
        self.calls.append(call)
        found = self._find(call)
        if callable(found):
            found = found(call)
        if isinstance(found, Held):
            await found.gate.wait()
            found = found.answer
        if isinstance(found, Stream):
            self.streams.append(found)
            found.opened.set()
        return found

    def _find(self, call: Call) -> Any:
        script = self._scripts.get((call.method, call.path))
        if script is None and call.method == "WATCH" and ("LIST", call.path) in self._scripts:
            return Stream()
        if not script:
            return Stream() if script is not None else refusal(404, "the server could not find it", reason="NotFound")
        # a stream ends once; all else may be said again
        again = len(script) == 1 and not isinstance(script[0], Stream | Held)
        return script[0] if again else script.popleft()


def _kind_of(method: str, query: Mapping[str, str], path: str) -> str:
    if method != "GET":
        return method
    if query.get("watch") == "true":
        return "WATCH"
    return "LIST" if "limit" in query else "GET"


# --- over HTTP --------------------------------------------------------------------------------------


@asynccontextmanager
async def serving(api: Api, *, tls: ssl.SSLContext | None = None, port: int = 0) -> AsyncIterator[str]:
    """The address under which it is served."""

    async def handle(request: web.Request) -> web.StreamResponse:
        path, _, query = request.raw_path.partition("?")
        call = Call(
            _kind_of(request.method, request.query, path),
            path,
            dict(request.query),
            await request.read(),
            dict(request.headers),
            raw_query=query,
        )
        return await _over_http(request, await api.answer(call))

    app = web.Application(client_max_size=1 << 30)
    app.router.add_route("*", "/{rest:.*}", handle)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0, access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", port, ssl_context=tls)
        await site.start()
        yield f"{'https' if tls else 'http'}://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def _over_http(request: web.Request, answer: Reply | Cut | Stream) -> web.StreamResponse:
    if isinstance(answer, Reply):
        kind = {} if "Content-Type" in answer.headers else {"Content-Type": JSON}
        return web.Response(status=answer.code, body=answer.body, headers=dict(answer.headers) | kind)
    response = web.StreamResponse(headers={"Content-Type": JSON})
    if isinstance(answer, Cut):
        if answer.after:
            response.content_length = len(answer.after) + 100
            await response.prepare(request)
            await response.write(answer.after)
        _hang_up(request)
        return response
    await response.prepare(request)
    try:
        while isinstance(piece := await answer.next(), bytes):
            await response.write(piece)
        if isinstance(piece, Cut):
            _hang_up(request)
    finally:
        answer.closed.set()
    return response


def _hang_up(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.close()


def connection(server: str, *, tls: ssl.SSLContext | None = None, credentials: Any = None) -> Connection:
    return Connection(
        server=server,
        ssl=tls,
        server_name=None,
        proxy=None,
        credentials=credentials or Fixed(),
        namespace="team",
        source="a test",
    )


# --- without sockets --------------------------------------------------------------------------------


class Direct:
    """Stands in for `kube.client.Client`: the same answers and errors, after one turn of the loop and no time."""

    def __init__(self, api: Api):
        self.api = api

    async def request(self, method, path, *, query=None, body=None, content_type=JSON, seconds=30.0) -> bytes:
        query = query or {}
        call = Call(_kind_of(method, query, path), path, query, body or b"", {"Content-Type": content_type})
        try:
            async with asyncio.timeout(seconds):
                await asyncio.sleep(0)
                return _or_error(await self.api.answer(call)).body
        except TimeoutError as error:
            raise Unreachable("no answer in time") from error

    @asynccontextmanager
    async def stream(self, path, *, query, seconds, begins_seconds=STREAM_BEGINS_SECONDS):
        await asyncio.sleep(0)
        try:
            async with asyncio.timeout(begins_seconds):
                answer = await self.api.answer(Call("WATCH", path, query))
        except TimeoutError as error:
            raise Unreachable("no answer in time") from error
        stream = answer if isinstance(answer, Stream) else None
        if stream is None:
            _or_error(answer)
            stream = Stream()
            stream.write(answer.body)
            stream.end()
        try:
            yield self._pieces(stream, seconds)
        finally:
            stream.closed.set()

    async def _pieces(self, stream, seconds):
        while True:
            try:
                async with asyncio.timeout(seconds):
                    piece = await stream.next()
            except TimeoutError as error:
                raise Unreachable("silent for too long") from error
            if isinstance(piece, Cut):
                raise Unreachable("the connection broke")
            if piece is None:
                return
            yield piece


def _or_error(answer: Reply | Cut | Stream) -> Reply:
    if not isinstance(answer, Reply):
        raise Unreachable("the connection broke")
    if answer.code >= 400:
        status = answer.document if isinstance(answer.document, dict) else {}
        wait = answer.headers.get("Retry-After")
        raise ApiError(
            status.get("message", ""),
            code=answer.code,
            reason=status.get("reason", ""),
            retry_after=float(wait) if wait else None,
        )
    return answer


# --- waiting ----------------------------------------------------------------------------------------


async def until(condition: Callable[[], Any], *, turns: int = 2_000) -> None:
    """Lets the others run until it is so; no time passes."""
    for _ in range(turns):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("it does not come to that")


async def settled(turns: int = 50) -> None:
    """Lets all others run as far as they can without time passing."""
    for _ in range(turns):
        await asyncio.sleep(0)


def in_time(seconds: float = 3_600.0) -> asyncio.Timeout:
    """What hangs fails: at once where time is virtual, for all of it passes when nothing is left to do."""
    return asyncio.timeout(seconds)


@asynccontextmanager
async def running(work) -> AsyncIterator[asyncio.Task]:
    """The work as a task, and nothing left of it at the end."""
    before = asyncio.all_tasks()
    task = asyncio.create_task(work)
    try:
        async with in_time():
            yield task
    finally:
        task.cancel()
        await asyncio.wait([task], timeout=5)
        # asynchronous generators are closed by tasks of the loop's own
        await settled(5)
        assert not asyncio.all_tasks() - before
