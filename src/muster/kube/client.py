"""Requests to one API server: bytes out, bytes in, and what went wrong as typed errors."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from copy import copy
from types import TracebackType
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass
from weakref import WeakSet

import aiohttp
import msgspec
from yarl import URL

from muster.base.errors import ApiError, KubeError, LeaseLost, Unreachable
from muster.kube.connection import Connection

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"

REQUEST_SECONDS = 30.0
# an API server sends the headers of a watch as soon as it accepts it, long before there is anything to tell
STREAM_BEGINS_SECONDS = 10.0
_CONNECT_SECONDS = 10.0
# API servers close what is idle for 90 s
_KEEP_SECONDS = 60.0
# a server that is gone without a word is noticed after about a minute, not after the system's two hours
_KEEPALIVE = ((socket.TCP_KEEPINTVL, 10), (socket.TCP_KEEPCNT, 3))
_KEEPALIVE_IDLE_SECONDS = 30
_LONGEST_MESSAGE = 500
_GOODBYE_SECONDS = 2.0

Observe = Callable[[str, int, float], None]
"""Told of each request: method, or WATCH for a stream, status code (0 for none), seconds."""


class _Details(msgspec.Struct, rename="camel"):
    retry_after_seconds: float = 0


class Status(msgspec.Struct, frozen=True):
    """What the API server says when it says no."""

    kind: str = ""
    message: str = ""
    reason: str = ""
    code: int = 0
    details: _Details | None = None


class _Request(NamedTuple):
    method: str
    path: str
    query: Mapping[str, str] | None = None
    body: bytes | None = None
    content_type: str = JSON
    streamed: bool = False

    @property
    def verb(self) -> str:
        return "WATCH" if self.streamed else self.method


_asked_first: ContextVar[Callable[[], bool] | None] = ContextVar("asked_first", default=None)
"""Asked before the request of this task is sent."""


def ask_first() -> None:
    """Raises LeaseLost if the request of this task may not be sent any more.

    Whatever carries requests asks when the connection is there and the first byte is about to leave: making a
    connection may take long.
    """
    may_write = _asked_first.get()
    if may_write is not None and not may_write():
        raise LeaseLost("not sent: this replica does not lead any more")


class _AskingRequest(aiohttp.ClientRequest):
    async def send(self, conn: Any) -> Any:
        ask_first()
        return await super().send(conn)


class Client:
    """Talks to the server of a connection.  Use as a context manager.

    An answer of 401 makes the credentials be read again and the request be sent once more.  Nothing else is repeated
    here, but for what may be sent twice (not POST or PATCH) on a kept connection that turns out to be closed.
    """

    def __init__(
        self, connection: Connection, *, user_agent: str, connections: int = 128, observe: Observe | None = None
    ) -> None:
        self.connection = connection
        self._user_agent = user_agent
        self._connections = connections
        self._observe = observe
        self._may_write: Callable[[], bool] | None = None
        self._proxy = connection.proxy or _proxy_of_environment(connection.server)
        self._session: aiohttp.ClientSession | None = None
        self._sockets: WeakSet[socket.socket] = WeakSet()

    async def __aenter__(self) -> Self:
        self._session = self._open_session()
        return self

    def _open_session(self) -> aiohttp.ClientSession:
        """What carries requests; simulations have one of their own."""
        connector = aiohttp.TCPConnector(
            limit=self._connections,
            ssl=self.connection.ssl or False,
            keepalive_timeout=_KEEP_SECONDS,
            socket_factory=self._open_socket,
        )
        return aiohttp.ClientSession(
            connector=connector,
            request_class=_AskingRequest,
            timeout=aiohttp.ClientTimeout(total=REQUEST_SECONDS, sock_connect=_CONNECT_SECONDS),
            # a scheduler is near its server: packing lists would cost both of them more than it saves
            headers={"User-Agent": self._user_agent, "Accept": JSON, "Accept-Encoding": "identity"},
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._session is not None
        await self._session.close()
        # the session does not wait for connections that were left in mid-answer; a loop that is closed before TLS has
        # said goodbye on them leaks them
        deadline = _now() + _GOODBYE_SECONDS
        while any(each.fileno() != -1 for each in self._sockets) and _now() < deadline:
            await asyncio.sleep(0.001)

    def writing_while(self, may_write: Callable[[], bool]) -> Client:
        """The same client, but one that asks before it changes anything, at the last moment before it sends."""
        asking = copy(self)
        asking._may_write = may_write
        return asking

    async def open_ahead(self, count: int) -> None:
        """Opens connections for so many requests at once, before there are any; what the server says does not matter.

        64 handshakes take this side 0.1 s of CPU, of the 0.5 s that the binds of a gang of 1,000 take it.
        """

        async def ask() -> None:
            with suppress(KubeError):
                await self.request("GET", "/version")

        await asyncio.gather(*(ask() for _ in range(count)))

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
        seconds: float = REQUEST_SECONDS,
    ) -> bytes:
        """The body of the answer; ApiError if the server refused, Unreachable if it gave no answer in time."""
        timeout = aiohttp.ClientTimeout(total=seconds, sock_connect=min(seconds, _CONNECT_SECONDS))
        async with self._answer(_Request(method, path, query, body, content_type), timeout) as answer:
            return await answer.read()

    @asynccontextmanager
    async def stream(
        self,
        path: str,
        *,
        query: Mapping[str, str],
        seconds: float,
        begins_seconds: float = STREAM_BEGINS_SECONDS,
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """The body of an answer that takes long, in pieces; `seconds` bounds the wait for each.

        The answer must have begun, with its headers, within `begins_seconds`.
        """
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS, sock_read=seconds)
        request = _Request("GET", path, query, streamed=True)
        async with self._answer(request, timeout, begins_seconds=begins_seconds) as answer:
            yield answer.content.iter_any()

    @asynccontextmanager
    async def _answer(
        self, request: _Request, timeout: aiohttp.ClientTimeout, *, begins_seconds: float | None = None
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        for last in (False, True):
            headers = await self.connection.credentials.headers()
            if request.body is not None:
                headers["Content-Type"] = request.content_type
            _asked_first.set(None if request.method == "GET" else self._may_write)
            began, code = _now(), 0
            try:
                # aiohttp has no bound of its own for the headers: sock_read would bound every later piece as well
                async with (
                    asyncio.timeout(begins_seconds) as beginning,
                    self._send(request, headers, timeout) as answer,
                ):
                    beginning.reschedule(None)
                    code = answer.status
                    if code == 401 and not last:
                        self.connection.credentials.refused(headers)
                        continue
                    # a redirect, too: it leads to some log-in page
                    if not 200 <= code < 300:
                        raise _refusal(answer, await answer.read())
                    yield answer
                    return
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                raise self._no_answer(error) from error
            finally:
                if self._observe is not None:
                    self._observe(request.verb, code, _now() - began)

    def _send(self, request: _Request, headers: dict[str, str], timeout: aiohttp.ClientTimeout) -> Any:
        assert self._session is not None, "use the client as a context manager"
        url = URL(self.connection.server + request.path, encoded=True)
        return self._session.request(
            request.method,
            url.with_query(request.query) if request.query else url,
            data=request.body,
            headers=headers,
            timeout=timeout,
            proxy=self._proxy,
            server_hostname=self.connection.server_name,
            allow_redirects=False,
        )

    def _open_socket(self, address: Any) -> socket.socket:
        opened = _open_socket(address)
        self._sockets.add(opened)
        return opened

    def _no_answer(self, error: Exception) -> Unreachable:
        server = self.connection.server
        if isinstance(error, aiohttp.ClientConnectorCertificateError):
            reason = error.certificate_error
            why = getattr(reason, "verify_message", "") or str(reason)
            return Unreachable(
                f"the certificate of {server} cannot be trusted: {why}",
                hint="check certificate-authority and the address in the kubeconfig",
            )
        if isinstance(error, aiohttp.ClientConnectorSSLError | ssl.SSLError):
            reason = getattr(error, "os_error", error)
            why = (getattr(reason, "reason", None) or str(reason)).replace("_", " ").lower()
            return Unreachable(
                f"no TLS connection to {server}: {why}", hint="is it a Kubernetes API server, and is https right?"
            )
        if isinstance(error, TimeoutError):
            return Unreachable(f"{server} did not answer in time", hint="is it overloaded, or behind a firewall?")
        if isinstance(error, aiohttp.ClientConnectorError):
            number = error.os_error.errno or 0
            # asyncio has a text of its own for refused connections; look-ups of names have negative numbers
            cause = os.strerror(number) if number > 0 else error.os_error.strerror or str(error.os_error) or "reset"
            hint = "check the address in the kubeconfig" if number < 0 else "is the API server running?"
            return Unreachable(f"cannot connect to {server}: {cause}", hint=hint)
        if isinstance(error, aiohttp.ClientPayloadError):
            return Unreachable(f"the connection to {server} broke in the middle of an answer")
        return Unreachable(f"the connection to {server} broke: {str(error) or type(error).__name__}")


def _now() -> float:
    return asyncio.get_running_loop().time()


def _refusal(answer: aiohttp.ClientResponse, body: bytes) -> ApiError:
    try:
        status = msgspec.json.decode(body, type=Status)
    except msgspec.DecodeError:
        status = Status()
    asked = answer.headers.get("Retry-After", "")
    wait = float(asked) if asked.isdigit() else None
    if wait is None and status.details is not None and status.details.retry_after_seconds:
        wait = status.details.retry_after_seconds
    # a proxy in between answers with a page of its own
    message = status.message or body[:_LONGEST_MESSAGE].decode(errors="replace").strip() or (answer.reason or "")
    return ApiError(message, code=answer.status, reason=status.reason, retry_after=wait)


def _proxy_of_environment(server: str) -> str | None:
    """HTTPS_PROXY and NO_PROXY count, as for kubectl.

    Asked once: aiohttp's `trust_env` asks for every request, in a thread, at twice the cost of sending it.
    """
    address = urlsplit(server)
    host = address.hostname or ""
    if host in ("localhost", "::1") or host.startswith("127.") or proxy_bypass(host) or _in_no_proxy(host):
        return None
    return getproxies().get(address.scheme)


def _in_no_proxy(host: str) -> bool:
    """Whether NO_PROXY has a network that the host's address is in; Python itself knows names only."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    for network in getproxies().get("no", "").split(","):
        with suppress(ValueError):
            if address in ipaddress.ip_network(network.strip(), strict=False):
                return True
    return False


def _open_socket(address: Any) -> socket.socket:
    family, kind, protocol, *_ = address
    opened = socket.socket(family=family, type=kind, proto=protocol)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in _KEEPALIVE:
        opened.setsockopt(socket.IPPROTO_TCP, option, value)
    # macOS calls the idle time by another name
    idle = getattr(socket, "TCP_KEEPIDLE", None) or getattr(socket, "TCP_KEEPALIVE", None)
    if idle is not None:
        opened.setsockopt(socket.IPPROTO_TCP, idle, _KEEPALIVE_IDLE_SECONDS)
    return opened
