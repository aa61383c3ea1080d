"""The server's shell: HTTP over TLS on a socket, nothing else."""

from __future__ import annotations

import asyncio
import logging
import os
import ssl
import unicodedata
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from muster.base.errors import LocalError
from muster.local.kinds import status
from muster.local.serve.server import LARGEST_BODY, Server
from muster.local.serve.wire import JSON, Answer, Request, Stream

_BOOKMARK_SECONDS = 60.0
# as Kubernetes: a watch that sets no time ends within an hour
_LONGEST_WATCH_SECONDS = 3600.0
# changes of so short a while go out together: to wake many watchers for each would cost more than the change
_GATHER_SECONDS = 0.002
_GOODBYE_SECONDS = 1.0
# later than the last goodbye: aiohttp trips over requests that end just when it gives up on them
_END_SECONDS = _GOODBYE_SECONDS + 1.0
# as Kubernetes: whoever connects and asks nothing need not be known, and each connection costs 280 KB and a file
_IDLE_SECONDS = 90.0
# as Kubernetes: selectors may be long
_LONGEST_HEAD = 1 << 20
# as Kubernetes: when all warnings together are longer than this, each is cut
_LONGEST_WARNINGS = 4096
_CUT_WARNING = 256


@asynccontextmanager
async def serve(
    server: Server, *, host: str, port: int, tls: ssl.SSLContext, idle_seconds: float = _IDLE_SECONDS
) -> AsyncIterator[int]:
    """Serves until left; gives the port.  A connection on which nothing is asked for `idle_seconds` is ended."""
    logger = _logger()
    shell = _Shell(server, logger)
    # a watch ends with its client; all else is done at once, and cannot be cancelled half-way
    handler = web.Server(
        shell.handle,
        handler_cancellation=True,
        access_log=None,
        logger=logger,
        keepalive_timeout=idle_seconds,
        # as Kubernetes: to unpack a body, even only to be rid of it, may take a thousand times its size
        auto_decompress=False,
        max_line_size=_LONGEST_HEAD,
        max_field_size=_LONGEST_HEAD,
    )
    runner = web.ServerRunner(handler, handle_signals=False, shutdown_timeout=_END_SECONDS)
    await runner.setup()
    site = web.TCPSite(runner, host, port, ssl_context=tls, backlog=1024)
    ticking = asyncio.create_task(shell.tick())
    try:
        try:
            await site.start()
        except OSError as error:
            words = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
            raise LocalError(f"cannot listen on {host}:{port}: {words}", hint="choose another with --port") from error
        yield runner.addresses[0][1]
    finally:
        ticking.cancel()
        server.watches.close()
        await runner.cleanup()


def _logger() -> logging.Logger:
    """For what goes wrong in here; clients that speak no HTTP have been told, and fill no log."""
    logger = logging.getLogger(__name__)
    logger.addFilter(lambda record: not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError)))
    return logger


class _Shell:
    """Carries requests to the server and its answers back."""

    def __init__(self, server: Server, log: logging.Logger) -> None:
        self._server = server
        self._log = log

    async def tick(self) -> None:
        while True:
            await asyncio.sleep(_BOOKMARK_SECONDS)
            try:
                self._server.pass_time()
            except Exception:
                self._log.exception("a bug: time cannot pass")

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        token = _token(request.headers.get("Authorization", ""))
        known = self._server.knows(token)
        # nobody sends megabytes to a server that does not know him
        body = await _read(request) if known or not request.can_read_body else None
        if body is None:
            refusal = status.too_large(LARGEST_BODY) if known else status.unauthorized()
            response = _response(Answer(code=refusal.code, body=status.encoded(refusal.status)))
            # the rest of what is being sent is not read
            response.force_close()
            return response
        answer = self._server.handle(
            Request(
                method=request.method,
                path=request.rel_url.raw_path,
                query=tuple(request.query.items()),
                body=body,
                content_type=_text(request.content_type) if request.headers.get("Content-Type") else "",
                accept=_text(request.headers.get("Accept", "")),
                host=_text(request.host),
                user_agent=_text(request.headers.get("User-Agent", "")),
                acts_as=_acts_as(request),
                token=token,
            )
        )
        if isinstance(answer, Answer):
            return _response(answer)
        return await _stream(request, answer)


async def _read(request: web.BaseRequest) -> bytes | None:
    """The body; None if it is too large."""
    if not request.can_read_body:
        return b""
    if (request.content_length or 0) > LARGEST_BODY:
        return None
    pieces, size = [], 0
    async for piece in request.content.iter_any():
        size += len(piece)
        if size > LARGEST_BODY:
            return None
        pieces.append(piece)
    return b"".join(pieces)


def _response(answer: Answer) -> web.Response:
    headers = {"Content-Type": answer.content_type, "Cache-Control": "no-cache, private"}
    # people look at it in terminals, too
    body = answer.body + b"\n" if answer.content_type == JSON else answer.body
    response = web.Response(status=answer.code, body=body, headers=headers)
    for warning in _sayable(answer.warnings):
        escaped = warning.replace("\\", "\\\\").replace('"', '\\"')
        response.headers.add("Warning", f'299 - "{escaped}"')
    if answer.retry_after is not None:
        response.headers["Retry-After"] = str(answer.retry_after)
    return response


def _sayable(warnings: tuple[str, ...]) -> list[str]:
    """Those that fit into headers: without control characters, and not too long."""
    texts = [text for text in dict.fromkeys(warnings) if not any(unicodedata.category(one) == "Cc" for one in text)]
    if sum(map(len, texts)) <= _LONGEST_WARNINGS:
        return texts
    return [text[:_CUT_WARNING] for text in texts][: _LONGEST_WARNINGS // _CUT_WARNING]


async def _stream(request: web.BaseRequest, stream: Stream) -> web.StreamResponse:
    headers = {"Content-Type": stream.content_type, "Cache-Control": "no-cache, private"}
    response = web.StreamResponse(headers=headers)
    response.enable_chunked_encoding()
    try:
        await response.prepare(request)
        await _send(response, stream)
        async with asyncio.timeout(_GOODBYE_SECONDS):
            await response.write_eof()
    except (ConnectionError, TimeoutError):
        # the client has gone, or does not read
        if request.transport is not None:
            request.transport.abort()
    finally:
        stream.close()
    return response


async def _send(response: web.StreamResponse, stream: Stream) -> None:
    """Sends what comes until the stream ends or its time is over; raises if the client does not read by then."""
    ready, clock = asyncio.Event(), asyncio.get_running_loop().time
    writing = False

    def hear() -> None:
        ready.set()
        if stream.ended:
            # whoever is cut because he does not read is not waited for any longer
            limit.reschedule(clock() + _GOODBYE_SECONDS)

    seconds = min(stream.seconds or _LONGEST_WATCH_SECONDS, _LONGEST_WATCH_SECONDS)
    try:
        async with asyncio.timeout(seconds) as limit:
            stream.on_ready = hear
            while True:
                while frames := stream.take():
                    writing = True
                    await response.write(frames)
                    writing = False
                if stream.ended:
                    break
                await ready.wait()
                await asyncio.sleep(_GATHER_SECONDS)
                ready.clear()
    except TimeoutError:
        if writing:
            raise
    finally:
        stream.on_ready = _nobody


def _acts_as(request: web.BaseRequest) -> str:
    """Whom the client wants to be: a user, or whatever else it names of one."""
    named = [text for name, text in request.headers.items() if name.lower().startswith("impersonate-")]
    return _text(request.headers.get("Impersonate-User", "") or next(iter(named), ""))


def _text(header: str) -> str:
    """Of a header, which may be any bytes: whatever is told of it must be text."""
    return header.encode(errors="surrogateescape").decode(errors="replace")


def _token(authorization: str) -> str:
    scheme, _, token = authorization.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _nobody() -> None:
    pass
