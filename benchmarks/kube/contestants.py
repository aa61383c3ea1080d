"""Who binds the pods: one at a time, each in a process of its own but the bare loop."""

from __future__ import annotations

import asyncio
import http.client
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Protocol

import msgspec

from benchmarks.kube.loop import TELLS, Orders
from controlplane.plane import ControlPlane
from muster.engine.decisions import Placement, PodRef

_TICKS = os.sysconf("SC_CLK_TCK")


class Used(msgspec.Struct, frozen=True):
    """What a process has used so far."""

    cpu_seconds: float
    peak_mb: float


class Contestant(Protocol):
    """Something that binds pods which name its scheduler."""

    name: str
    scheduler_name: str

    def alive(self, plane: ControlPlane) -> AbstractAsyncContextManager[None]:
        """It runs inside."""

    async def all_created(self, bind: Sequence[Placement], evict: Sequence[PodRef] = ()) -> None:
        """Told when the last pod is created, and what is to be done; schedulers need not be told."""

    async def created(self, bind: Sequence[Placement]) -> None:
        """Told of pods as soon as they are created, where all are not awaited."""

    def used(self) -> Used | None: ...

    async def decides(self) -> Counter[float]:
        """How many calls of its engine took up to so many seconds, if it tells."""


class Loop:
    """No scheduler: it is told whom to evict and where to bind, and does it as fast as the server takes the calls."""

    scheduler_name = "nobody"

    def __init__(self, *, tells: bool = False) -> None:
        self.name = "loop and events" if tells else "bare loop"
        self._tells = tells
        self._process: subprocess.Popen[bytes] | None = None

    @asynccontextmanager
    async def alive(self, plane: ControlPlane) -> AsyncIterator[None]:
        command = [sys.executable, "-m", "benchmarks.kube.loop", str(plane.kubeconfig())]
        command += [TELLS] if self._tells else []
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            self._process = process
            assert process.stdin is not None
            try:
                yield
            finally:
                process.stdin.close()
                process.wait(30)

    async def all_created(self, bind: Sequence[Placement], evict: Sequence[PodRef] = ()) -> None:
        assert self._process is not None
        answers = self._process.stdout
        assert answers is not None
        self._order(Orders(tuple(evict), tuple(bind), waits=True))
        await asyncio.to_thread(answers.readline)

    async def created(self, bind: Sequence[Placement]) -> None:
        self._order(Orders((), tuple(bind)))

    def _order(self, orders: Orders) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(msgspec.json.encode(orders) + b"\n")
        self._process.stdin.flush()

    def used(self) -> Used | None:
        return None if self._process is None else _used(self._process.pid)

    async def decides(self) -> Counter[float]:
        return Counter()


class Muster:
    name = "Muster"
    scheduler_name = "muster"

    def __init__(self, *arguments: str) -> None:
        self._arguments = arguments
        self._pid: int | None = None
        self._port = 0

    @asynccontextmanager
    async def alive(self, plane: ControlPlane) -> AsyncIterator[None]:
        log = Path(plane.folder) / "muster.log"
        command = [sys.executable, "-m", "muster", "run", "--kubeconfig", str(plane.kubeconfig())]
        command += ["--no-leader-elect", "--listen", "127.0.0.1:0", *self._arguments]
        with log.open("ab") as output:
            begin = output.tell()
            process = subprocess.Popen(command, stdout=output, stderr=output)
        self._pid = process.pid
        try:
            await _until(lambda: b"leading" in log.read_bytes()[begin:] or process.poll() is not None)
            if process.poll() is not None:
                raise RuntimeError(log.read_text()[-2000:])
            self._port = _health_port(log.read_text()[begin:])
            yield
        finally:
            process.terminate()
            process.wait(30)
            self._pid = None

    async def all_created(self, bind: Sequence[Placement], evict: Sequence[PodRef] = ()) -> None:
        pass

    async def created(self, bind: Sequence[Placement]) -> None:
        pass

    def used(self) -> Used | None:
        return _used(self._pid)

    async def decides(self) -> Counter[float]:
        text = await asyncio.to_thread(_get, self._port, "/metrics")
        pattern = r'muster_decide_duration_seconds_bucket\{le="([0-9.e+-]+|\+Inf)"\} ([0-9.e+]+)'
        up_to = [(float(bound), int(float(count))) for bound, count in re.findall(pattern, text)]
        below = [0, *(count for _, count in up_to)]
        return Counter({bound: count - less for (bound, count), less in zip(up_to, below, strict=False)})


class KubeScheduler:
    name = "kube-scheduler"
    scheduler_name = "default-scheduler"

    def __init__(self) -> None:
        self._pid: int | None = None

    @asynccontextmanager
    async def alive(self, plane: ControlPlane) -> AsyncIterator[None]:
        self._pid = (await asyncio.to_thread(plane.start_scheduler)).pid
        try:
            yield
        finally:
            await asyncio.to_thread(plane.stop_scheduler)
            self._pid = None

    async def all_created(self, bind: Sequence[Placement], evict: Sequence[PodRef] = ()) -> None:
        pass

    async def created(self, bind: Sequence[Placement]) -> None:
        pass

    def used(self) -> Used | None:
        return _used(self._pid)

    async def decides(self) -> Counter[float]:
        return Counter()


def _health_port(log: str) -> int:
    """Where the newest process that wrote this log answers."""
    return int(re.findall(r"health_port\D+(\d+)", log)[-1])


def _get(port: int, path: str) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path)
        return connection.getresponse().read().decode()
    finally:
        connection.close()


def _used(pid: int | None) -> Used | None:
    if pid is None:
        return None
    # the command's name may have blanks; what follows its last parenthesis has not
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    peak = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM"))
    return Used((int(fields[11]) + int(fields[12])) / _TICKS, int(peak.split()[1]) / 1024)


async def _until(true: Callable[[], bool]) -> None:
    while not true():
        await asyncio.sleep(0.02)
