"""`muster run`: everything put together, from the connection to the last bind."""

from __future__ import annotations

import asyncio
import gc
import secrets
import socket
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack, suppress
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import structlog
from prometheus_client import CollectorRegistry

from muster import __version__
from muster.app import health
from muster.app.inbox import Inbox, Warm
from muster.app.informers import Informers
from muster.app.journal import Journal
from muster.app.metrics import Metrics
from muster.app.preflight import check_rights, check_server, without_rights
from muster.app.scheduler import Deciding, Scheduler
from muster.app.settings import Settings, to_journal
from muster.base.errors import ApiError
from muster.engine.engine import Engine
from muster.framework.profile import Profiles
from muster.gangs.dialects import DIALECTS
from muster.kube.client import Client
from muster.kube.connection import Connection, load
from muster.kube.lease import Lease, Timing, since_boot
from muster.kube.limits import MOST, Rate
from muster.kube.outbox import Outbox, Urgency

_log = structlog.get_logger()

# a stop finishes what was decided: binds of a gang that is half sent are worth waiting for, events are not
_STOP_SECONDS = 15.0
_LAST_EVENTS_SECONDS = 1.0


def never_back(clock: Callable[[], float], *, ticking: Callable[[], float] = since_boot) -> Callable[[], float]:
    """The clock, but where that one is set back it goes on as the other one does."""
    latest, at = 0.0, ticking()

    def now() -> float:
        nonlocal latest, at
        since, at = at, ticking()
        latest = max(clock(), latest + (at - since) if latest else 0.0)
        return latest

    return now


def _spare_the_collector() -> None:
    """What was read so far stays; the collector need not look at it again and again."""
    gc.collect()
    gc.freeze()


class Muster:
    """One replica: reads the cluster, stands by or leads, stops when asked.

    connecting → reading → standing by → leading → (stopped | lease lost)
    """

    def __init__(
        self,
        settings: Settings,
        *,
        clock: Callable[[], float] = time.time,
        ticking: Callable[[], float] = since_boot,
    ) -> None:
        """`clock` gives seconds since the epoch; `ticking` never jumps, and leases go by it."""
        self.settings = settings
        self.registry = CollectorRegistry()
        self._metrics: Metrics | None = None
        self.engine: Engine | None = None
        self._ticking = ticking
        self._clock = never_back(clock, ticking=ticking)
        self._stop = asyncio.Event()
        self.leads = asyncio.Event()
        """It has read the cluster, and decides."""
        self._settled: Callable[[], None] = lambda: None
        """Called when the cluster was read and the work begins."""
        self._ask_rights: Callable[[], Awaitable[None]] | None = None
        """Raises if a right is missing that reading once does not show; asked when the cluster was read."""
        self._tasks: list[asyncio.Task[Any]] = []
        self._informers: Informers | None = None
        self._outbox: Outbox | None = None
        self._scheduler: Scheduler | None = None
        self._lease: Lease | None = None

    def stop(self) -> None:
        """Asks for a graceful stop."""
        self._stop.set()

    async def run(self) -> None:
        """Works until it is stopped; raises what makes going on impossible."""
        settings = self.settings
        # what is wrong with them is said before anything else is done
        first, *others = settings.make_profiles()
        profiles = Profiles(first, others)
        journal = None if settings.journal is None else Journal(settings.journal, settings=to_journal(settings))
        connection = load(
            kubeconfig=None if settings.kubeconfig is None else str(settings.kubeconfig),
            context=settings.context,
            insecure=settings.insecure,
        )
        async with AsyncExitStack() as stack:
            if journal is not None:
                stack.callback(journal.close)
            port = await stack.enter_async_context(
                health.serve(settings.listen, healthy=self.unhealthy, ready=self.unready, registry=self.registry)
            )
            self._metrics = self._measure(connection)
            client = await stack.enter_async_context(
                Client(connection, user_agent=f"muster/{__version__}", observe=self._metrics.observe_request)
            )
            version = await check_server(client, connection)
            _log.info(
                "connected", server=connection.server, kubernetes=version, source=connection.source, health_port=port
            )
            self._ask_rights = partial(check_rights, client, must=profiles.reads, may=profiles.may_read)
            self._settled = partial(self._make_ready, client)
            await self.schedule(client, journal)

    def _make_ready(self, client: Client) -> None:
        _spare_the_collector()
        if self.settings.qps is None:
            self._spawn(client.open_ahead(MOST))

    async def schedule(self, client: Client, journal: Journal | None = None) -> None:
        """Schedules the cluster of a client until it is stopped."""
        engine = Engine(*self.settings.make_profiles())
        recorded = engine if journal is None else journal.of(engine)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self._end)
            await self._until_stopped(self._work(client, engine, recorded))

    # --- life ---

    async def _work(self, client: Client, engine: Engine, recorded: Deciding) -> None:
        # whoever has the lease before the first list need not read twice
        leading = not self.settings.leader_election.enabled or await self._take_lease(client)
        inbox, warm = Inbox(), Warm()
        self._informers = informers = Informers(
            client,
            inbox if leading else warm,
            must=engine.profiles.reads,
            may=engine.profiles.may_read,
            closed=self.settings.closed,
            groups_are_stored=self.settings.groups_are_stored,
        )
        for reflector in informers:
            self._spawn(reflector.run())
        self._spawn(informers.owners.run())
        await self._first_read(informers)
        if self._ask_rights is not None:
            await self._ask_rights()
        if not leading:
            await self._take_over(informers)
            informers.sink = inbox
            inbox.put(warm.take())
        _log.info("leading")
        self.engine = engine
        await self._lead(client, recorded, engine.profiles, informers=informers, inbox=inbox)

    async def _take_lease(self, client: Client) -> bool:
        """Whether the lease could be had at once."""
        self._lease = self._make_lease(client)
        if not await self._lease.try_once():
            return False
        self._spawn(self._lease.keep())
        return True

    async def _take_over(self, informers: Informers) -> None:
        """Returns when this replica leads and knows all that was done before."""
        assert self._lease is not None
        await self._lease.acquire()
        self._spawn(self._lease.keep())
        began = self._ticking()
        await informers.refresh()
        _log.info("read again what the last leader may have changed", seconds=round(self._ticking() - began, 2))

    async def _lead(
        self, client: Client, deciding: Deciding, profiles: Profiles, *, informers: Informers, inbox: Inbox
    ) -> None:
        settings = self.settings
        rate = None if settings.qps is None else Rate(settings.qps, settings.burst or round(settings.qps))
        held = (lambda: True) if self._lease is None else self._lease.held
        client = client.writing_while(held)
        self._outbox = outbox = Outbox(may_send=held, rate=rate)
        name = settings.scheduler_names[0]
        self._scheduler = scheduler = Scheduler(
            client,
            deciding,
            inbox=inbox,
            outbox=outbox,
            informers=informers,
            clock=self._clock,
            names=settings.scheduler_names,
            reporter=name,
            instance=f"{name}-{socket.gethostname()}",
            measure=self._metrics,
            profiles=profiles,
        )
        self._settled()
        self.leads.set()
        await scheduler.run()

    async def _first_read(self, informers: Informers) -> None:
        """Returns when everything was read; a refusal at this point is for a person to solve."""
        synced = asyncio.ensure_future(informers.synced())
        try:
            while not synced.done():
                for reflector in informers:
                    trouble = reflector.trouble
                    if isinstance(trouble, ApiError) and trouble.code in (401, 403):
                        raise without_rights(trouble)
                await asyncio.wait([synced], timeout=0.05)
        finally:
            synced.cancel()
        _log.info(
            "read",
            nodes=len(informers.nodes.known),
            pods=len(informers.pods.known),
            groups=sum(len(reflector.known) for reflector in informers.declaring.values()),
        )
        if self.settings.closed == DIALECTS:
            _log.info("gangs are switched off: pods go one by one")
        elif all(reflector.resource is None for reflector in informers.declaring.values()):
            _log.warning("no PodGroups are served here: gangs cannot be declared; `muster install --apply` brings them")

    async def _until_stopped(self, work: Coroutine[Any, Any, None]) -> None:
        self._failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """The first error of any task; tasks are added while we wait."""
        try:
            working = self._spawn(work)
            await self._first(working, self._spawn(self._stop.wait()))
            if not working.done():
                await self._first(self._spawn(self._finish(working)))
        finally:
            self._failed.cancel()

    async def _first(self, *tasks: asyncio.Task[Any]) -> None:
        """Returns when one of the tasks has ended; raises if any task at all has failed."""
        await asyncio.wait([*tasks, self._failed], return_when=asyncio.FIRST_COMPLETED)
        if self._failed.done():
            self._failed.result()

    async def _finish(self, working: asyncio.Task[None]) -> None:
        """What was decided is carried out."""
        _log.info("stopping")
        outbox = self._outbox
        if self._scheduler is not None and outbox is not None:
            self._scheduler.stop()
            try:
                async with asyncio.timeout(_STOP_SECONDS):
                    await working
                    await self._scheduler.finish()
            except TimeoutError:
                _log.warning("stopped before all was sent", waiting=outbox.waiting, under_way=outbox.under_way)
            with suppress(TimeoutError):
                async with asyncio.timeout(_LAST_EVENTS_SECONDS):
                    await outbox.done()

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(work)
        task.add_done_callback(self._ended)
        self._tasks.append(task)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None and not self._failed.done():
            self._failed.set_exception(error)

    async def _end(self) -> None:
        """Nothing more is sent, nothing is left running, and the lease, if it is still ours, is free for others."""
        cut_off = 0
        if self._scheduler is not None:
            await self._scheduler.close()
        if self._outbox is not None:
            # an event that arrives late harms nobody
            cut_off = self._outbox.under_way_of(Urgency.POD)
            await self._outbox.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._lease is not None and not cut_off:
            # what was cut off may still arrive: then the lease runs out by itself
            await self._lease.release()

    def _make_lease(self, client: Client) -> Lease:
        leader = self.settings.leader_election
        return Lease(
            client,
            namespace=leader.namespace,
            name=leader.name,
            identity=f"{socket.gethostname()}_{secrets.token_hex(4)}",
            timing=Timing(
                duration=leader.lease_seconds,
                renew_deadline=leader.renew_seconds,
                retry_period=leader.retry_seconds,
            ),
            clock=self._ticking,
            wall=self._clock,
        )

    def _measure(self, connection: Connection) -> Metrics:
        return Metrics(
            self.registry,
            profile=self.settings.scheduler_names[0],
            host=urlsplit(connection.server).netloc,
            lease_name=self.settings.leader_election.name,
            engine=lambda: self.engine,
            outbox=lambda: self._outbox,
            lease=lambda: self._lease,
        )

    # --- health ---

    def unhealthy(self) -> str | None:
        """A process that hangs does not even answer; one that has led and lost its lease should be gone."""
        led = self._scheduler is not None and self._lease is not None
        return "the lease is lost" if led and self._lease is not None and not self._lease.held() else None

    def unready(self) -> str | None:
        """A replica that stands by is ready too: it has read the cluster and may lead at any moment."""
        if self._informers is None:
            return "not connected"
        for reflector in self._informers:
            if not reflector.synced.is_set():
                return f"reading {reflector.name}"
        return self.unhealthy()
