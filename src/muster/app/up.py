"""`muster up`: a whole little cluster.

The API server runs in a process of its own; the kubelets, the controllers and the scheduler run here and reach it as
they would reach any cluster.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from random import SystemRandom
from typing import Any, NamedTuple

import msgspec

from muster import __version__
from muster.api.resources import NODES
from muster.app.gates import GENERIC_WORKLOAD, POD_GROUP, with_gates
from muster.app.install import apply, definitions
from muster.app.run import Muster
from muster.app.settings import LeaderElection, Settings, override
from muster.base.errors import ApiError, LocalError
from muster.controllers.manager import Manager, attach_devices, attach_kubelets, suffixes
from muster.kube.client import MERGE_PATCH, Client
from muster.kube.connection import load
from muster.local.kubelets import DOWN, node_document
from muster.local.process.identity import KUBECONFIG, Identity

_START_SECONDS = 30.0
_STOP_SECONDS = 10.0
USUAL_PORT = 7443

Progress = Callable[[str], None]


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What kind of cluster."""

    folder: Path
    port: int | None = None
    """None: the usual one, or any if that is taken."""
    nodes: int = 3
    node_cpu: str = "8"
    node_memory: str = "32Gi"
    node_gpu: int = 0
    node_labels: Mapping[str, str] = {}
    node_devices: Mapping[str, int] = {}
    """By driver, how many devices each node has."""
    dialects: tuple[str, ...] = ()
    """Whose kinds are served besides."""
    ephemeral: bool = False
    scheduler: bool = True
    kubelets: bool = True
    gates: Mapping[str, bool] = {}
    """Feature gates that are named, and what for."""
    settings: Settings = Settings()
    """Of the scheduler; where the cluster is, and that nobody else leads there, is known without them."""

    @property
    def groups(self) -> bool:
        """Kubernetes' own PodGroups and Workloads are served."""
        return self.gates.get(GENERIC_WORKLOAD, True)


class Cluster(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster that is up."""

    kubeconfig: Path
    port: int
    nodes: int
    failed: asyncio.Future[None]
    """Never done but with an error: a part of the cluster has ended."""


@asynccontextmanager
async def up(wanted: Wanted, *, say: Progress) -> AsyncIterator[Cluster]:
    """A cluster as long as the block lasts; nothing of it is left running afterwards."""
    async with contextlib.AsyncExitStack() as stack:
        say("starting the API server")
        server = await stack.enter_async_context(_server(wanted))
        kubeconfig = server.write_kubeconfig()
        client = await stack.enter_async_context(
            Client(load(kubeconfig=str(kubeconfig)), user_agent=f"muster-up/{__version__}")
        )
        if wanted.dialects:
            say(f"defining the kinds of {', '.join(wanted.dialects)}")
            await apply(client, definitions(wanted.dialects), tell=lambda line: None)
        parts = _Parts()
        stack.push_async_callback(parts.end)
        parts.start(server.watch())
        manager = Manager(
            client,
            clock=time.time,
            names=suffixes(SystemRandom()),
            groups=wanted.groups,
            nodes=wanted.kubelets,
        )
        driver = manager.driver
        if wanted.kubelets:
            say(f"registering {wanted.nodes} nodes")
            await _register(client, wanted)
            attach_kubelets(driver)
        if wanted.node_devices:
            attach_devices(driver, wanted.node_devices)
        parts.start(manager.run())
        await parts.until(driver.ready)
        if wanted.scheduler:
            say("starting the scheduler")
            scheduler = Muster(with_gates(_settings(kubeconfig, wanted), wanted.gates))
            parts.start(scheduler.run())
            stack.callback(scheduler.stop)
            await parts.until(scheduler.leads)
        yield Cluster(kubeconfig=kubeconfig, port=server.port, nodes=await _count(client), failed=parts.failed)


@asynccontextmanager
async def serve(wanted: Wanted) -> AsyncIterator[tuple[Path, int]]:
    """The API server alone; gives a kubeconfig, and its port."""
    async with _server(wanted) as server:
        yield server.write_kubeconfig(), server.port


def _settings(kubeconfig: Path, wanted: Wanted) -> Settings:
    return override(
        wanted.settings,
        kubeconfig=kubeconfig,
        # pods that name no scheduler are its, too
        scheduler_names=tuple(dict.fromkeys(("muster", "default-scheduler", *wanted.settings.scheduler_names))),
        leader_election=LeaderElection(enabled=False),
        listen="127.0.0.1:0",
        groups_are_stored=not wanted.groups,
    )


class _Parts:
    """Tasks that run as long as the cluster does."""

    def __init__(self) -> None:
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        task.add_done_callback(self._ended)
        self._tasks.append(task)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None and not self.failed.done():
            self.failed.set_exception(error)

    async def until(self, event: asyncio.Event) -> None:
        """Waits for an event, or raises what went wrong before it came."""
        waiting: asyncio.Future[Any] = asyncio.ensure_future(event.wait())
        await asyncio.wait([waiting, self.failed], return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if self.failed.done():
            self.failed.result()

    async def end(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.failed.cancel()


class _Server(NamedTuple):
    """The API server's process, once it serves."""

    process: asyncio.subprocess.Process
    identity: Identity
    port: int
    log: Path

    def write_kubeconfig(self) -> Path:
        return self.identity.write_kubeconfig(self.port)

    async def watch(self) -> None:
        """Nobody but us ends it."""
        await self.process.wait()
        raise LocalError("the API server has ended", log=str(self.log), hint="start again: muster up")


@asynccontextmanager
async def _server(wanted: Wanted) -> AsyncIterator[_Server]:
    identity, log = Identity(wanted.folder), wanted.folder / "server.log"
    ports = [wanted.port] if wanted.port is not None else [USUAL_PORT, 0]
    for port in ports:
        process, said = await _start(wanted, port, log)
        try:
            assert process.stdout is not None
            line = b""
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_START_SECONDS):
                    line = await process.stdout.readline()
            if line:
                yield _Server(process, identity, int(line), log)
                return
            message = _last_line(log, since=said)
            if port != ports[-1] and "cannot listen" in message:
                continue
            raise LocalError(message or "the API server did not start", log=str(log))
        finally:
            await _end(process)


async def _start(wanted: Wanted, port: int, log: Path) -> tuple[asyncio.subprocess.Process, int]:
    """The process, and how much there was in the log before it."""
    command = [sys.executable, "-m", "muster.local", str(wanted.folder), "--port", str(port)]
    command += ["--ephemeral"] * wanted.ephemeral
    command += ["--no-workloads"] * (not wanted.groups)
    command += ["--no-pod-groups"] * (not wanted.gates.get(POD_GROUP, True))
    pipe = asyncio.subprocess.PIPE
    try:
        # not emptied: it may be the log of a server that runs, and refuses us its folder
        with open(os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600), "ab") as errors:
            os.fchmod(errors.fileno(), 0o600)
            said = errors.tell()
            # in a session of its own: Ctrl-C is for us, the server goes last
            process = await asyncio.create_subprocess_exec(
                *command, stdin=pipe, stdout=pipe, stderr=errors, start_new_session=True
            )
            return process, said
    except OSError as error:
        raise LocalError(f"the API server cannot be started: {error.strerror}", folder=str(wanted.folder)) from error


async def _end(process: asyncio.subprocess.Process) -> None:
    """It ends when its input does."""
    assert process.stdin is not None
    process.stdin.close()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_STOP_SECONDS):
            await process.wait()
    if process.returncode is None:
        process.kill()
        await process.wait()


def _last_line(log: Path, *, since: int) -> str:
    lines = log.read_bytes()[since:].decode(errors="replace").strip().splitlines()
    return lines[-1].removeprefix("muster: ") if lines else ""


async def _register(client: Client, wanted: Wanted) -> None:
    """Nodes that are there already stay as they are."""
    for number in range(wanted.nodes):
        document = node_document(
            f"node-{number + 1}",
            cpu=wanted.node_cpu,
            memory=wanted.node_memory,
            gpu=wanted.node_gpu,
            labels=wanted.node_labels,
            now=time.time(),
        )
        try:
            await client.request("POST", NODES.path(), body=msgspec.json.encode(document))
        except ApiError as error:
            if error.code != 409:
                raise


async def _count(client: Client) -> int:
    """Nodes that are there, those of earlier times included."""

    class Nodes(msgspec.Struct):
        items: list[msgspec.Raw]

    return len(msgspec.json.decode(await client.request("GET", NODES.path()), type=Nodes).items)


async def set_down(folder: Path, name: str, *, is_down: bool) -> None:
    """Says on a node that its kubelet is dead, or takes that back."""
    kubeconfig = folder / KUBECONFIG
    if not kubeconfig.exists():
        raise LocalError("there is no cluster here", folder=str(folder), hint="start one: muster up")
    patch = {"metadata": {"annotations": {DOWN: "true" if is_down else None}}}
    async with Client(load(kubeconfig=str(kubeconfig)), user_agent=f"muster/{__version__}") as client:
        await client.request("PATCH", NODES.path(name=name), body=msgspec.json.encode(patch), content_type=MERGE_PATCH)
