"""The API server's process: `python -m muster.local FOLDER --port N [--ephemeral] [--no-workloads] [--no-pod-groups]`.

Prints its port when it serves.  Ends when its standard input does, so that it never outlives the one who started it.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import ctypes
import os
import resource
import secrets
import signal
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import TextIO, cast

import structlog

from muster.base.errors import MusterError
from muster.local.kinds import rows, switches
from muster.local.process import http
from muster.local.process.cluster import make_server
from muster.local.process.identity import Identity
from muster.local.store.log import SqliteLog
from muster.local.store.store import Store

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
"""Kubernetes' own: no vowels, no digits that look like letters."""


_CONNECTIONS = 10_000
# of glibc's malloc.h
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_TRIM_BYTES, _MMAP_BYTES = 8 << 20, 256 << 10


class Chance:
    """The real time, and names that nobody can foresee."""

    now = staticmethod(time.time)

    def uid(self) -> str:
        return str(uuid.uuid4())

    def suffix(self) -> str:
        return "".join(secrets.choice(_ALPHABET) for _ in range(5))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m muster.local", description="The API server of `muster up`.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--ephemeral", action="store_true", help="keep everything in memory")
    parser.add_argument("--no-workloads", action="store_true", help="with the feature gate GenericWorkload off")
    parser.add_argument("--no-pod-groups", action="store_true", help="with the feature gate PodGroup off")
    options = parser.parse_args()
    # whatever is written here may hold secrets
    os.umask(0o077)
    _log_to_stderr()
    try:
        asyncio.run(_serve(options))
    except MusterError as error:
        print(f"muster: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _log_to_stderr() -> None:
    """Standard output carries the port, and nobody reads on: whatever else went there would fill the pipe."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.dev.ConsoleRenderer(colors=False, pad_event_to=0, sort_keys=False),
        ],
        logger_factory=structlog.PrintLoggerFactory(file=cast(TextIO, _Log())),
    )


class _Log:
    """Standard error; what it cannot take is lost, since a disk that is full must fail no request that is answered."""

    def write(self, text: str) -> None:
        # not through sys.stderr, which would keep it, and fail with it when the process ends
        with contextlib.suppress(OSError):
            os.write(sys.stderr.fileno(), text.encode(errors="replace"))

    def flush(self) -> None:
        """Nothing is kept."""


async def _serve(options: argparse.Namespace) -> None:
    # before anybody knows that it serves, so that it ends cleanly however soon it is asked to
    over = await _asked_to_end()
    identity = Identity(options.folder)
    identity.claim()
    _allow_connections()
    _give_memory_back()
    log = None if options.ephemeral else SqliteLog(options.folder / "data.sqlite")
    with contextlib.closing(log) if log is not None else contextlib.nullcontext():
        kinds = switches.without_workloads(rows.ROWS) if options.no_workloads else rows.ROWS
        refused = switches.refused(workloads=not options.no_workloads, pod_groups=not options.no_pod_groups)
        store = Store(log, first=_first_version(log))
        server = make_server(store, Chance(), token=identity.token, kinds=kinds, refused=refused)
        async with http.serve(server, host=options.host, port=options.port, tls=identity.tls()) as port:
            print(port, flush=True)
            await over.wait()


def _first_version(log: SqliteLog | None) -> int:
    """Versions never go back, not even those of a cluster that forgets all: a client may outlive it."""
    return 0 if log is not None else int(time.time() * 1000)


def _allow_connections() -> None:
    """Each connection is an open file; shells allow as few as 256."""
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _CONNECTIONS if most == resource.RLIM_INFINITY else min(_CONNECTIONS, most)
    if now < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def _give_memory_back() -> None:
    """glibc learns to keep large blocks, and the next do not fit into the gaps: 300 objects of 1 MB held 540 MB on."""
    with contextlib.suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_MMAP_THRESHOLD, _MMAP_BYTES)
        mallopt(_TRIM_THRESHOLD, _TRIM_BYTES)


async def _asked_to_end() -> asyncio.Event:
    """Set when the process is asked to end, or whoever started it is gone."""
    loop, over = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, over.set)
    await loop.connect_read_pipe(lambda: _Input(over.set), sys.stdin)
    return over


class _Input(asyncio.Protocol):
    """Standard input, of which nothing matters but its end."""

    def __init__(self, ended: Callable[[], None]) -> None:
        self._ended = ended

    def connection_lost(self, _: Exception | None) -> None:
        self._ended()


if __name__ == "__main__":
    sys.exit(main())
