"""Connects controllers without I/O to a cluster: what is watched goes in, what they want is carried out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple, Protocol

import msgspec
import structlog

from muster.api.calls import (
    Answer,
    Asked,
    Call,
    Create,
    Delete,
    Done,
    Look,
    Lost,
    Patch,
    Refused,
    Replace,
    Say,
    is_fine,
)
from muster.api.resources import Resource
from muster.api.wire import Wire
from muster.base.backoff import backoff_seconds
from muster.base.errors import ApiError, KubeError
from muster.controllers.events import EventBook
from muster.controllers.shelf import Shelf
from muster.kube.client import JSON, MERGE_PATCH, STRATEGIC_PATCH, Client
from muster.kube.reflector import Gone, Reflector

_log = structlog.get_logger()

_IN_FLIGHT = 64
# events give way to everything else; what piles up beyond this is not said
_EVENTS_IN_FLIGHT = 4
_MOST_EVENTS = 2_000
_BUSY_TRIES = 20
_BUSY_SECONDS = 1.0
_LOST_TRIES = 6
_BUG_SECONDS = 0.1

_encode = msgspec.json.Encoder().encode


class Core(Protocol):
    """A controller without I/O."""

    def seen(self, where: str, thing: Any, /) -> None:
        """An object is as it is now; `where` is the path of all objects of its kind."""

    def gone(self, where: str, thing: Any, /) -> None:
        """An object, last seen like this, is no more."""

    def work(self, now: float, /) -> list[Asked]:
        """What is to be done now, in seconds since the epoch.  Calls may be made in any order, and all at once."""

    def answered(self, call: Asked, answer: Answer, now: float, /) -> None:
        """What came of a call; events have no answer."""

    @property
    def next_at(self) -> float | None:
        """When there is something to do although nothing happens."""


class Kind(NamedTuple):
    """What a core wants to read."""

    resource: Resource
    type: type[Wire]
    optional: bool = False
    """It need not be served."""


class _Feed:
    """One kind as one type, for all cores that read it so."""

    def __init__(self, client: Client, kind: Kind, *, wake: Callable[[], None]) -> None:
        self.where = kind.resource.path()
        self.resource = kind.resource
        self.cores: list[Core] = []
        self.shelf = Shelf(seen=self._seen, gone=self._gone)
        lacking = (404,) if kind.optional else ()
        self.reflector = Reflector(client, [kind.resource], kind.type, deliver=self._deliver, lacking=lacking)
        self._wake = wake
        self._decoder = msgspec.json.Decoder(kind.type)

    def attach(self, core: Core) -> None:
        if core not in self.cores:
            self.cores.append(core)
            for thing in list(self.shelf.objects.values()):
                core.seen(self.where, thing)

    def answered(self, data: bytes, *, now: float) -> None:
        """Takes in the object that an answer holds, if it does."""
        with suppress(msgspec.DecodeError):
            self.shelf.answered(self._decoder.decode(data), now=now)

    def _deliver(self, news: list[Any]) -> None:
        for thing in news:
            self.shelf.watched(thing)
        self._wake()

    def _seen(self, thing: Any) -> None:
        for core in self.cores:
            core.seen(self.where, thing)

    def _gone(self, thing: Any) -> None:
        for core in self.cores:
            core.gone(self.where, thing)


class Driver:
    """Runs controllers until it is cancelled.

        driver = Driver(client, clock=time.time)
        driver.attach(Jobs(...), [Kind(JOBS, Job), Kind(PODS, Pod)])
        await driver.run()

    `clock` gives seconds since the epoch; all waiting is the event loop's.  No core is asked to work before all that
    was attached before `run`, and all that the core itself reads, has been read once: whoever knows only some of the
    objects takes the others for gone.
    """

    def __init__(self, client: Client, *, clock: Callable[[], float]) -> None:
        self.ready = asyncio.Event()
        """Everything was read once, and the cores are at work."""
        self._client = client
        self._clock = clock
        self._cores: list[Core] = []
        self._feeds: dict[tuple[Resource, type[Wire]], _Feed] = {}
        self._reflecting: dict[tuple[Resource, type[Wire]], asyncio.Task[None]] = {}
        self._group: asyncio.TaskGroup | None = None
        self._calls: asyncio.Queue[tuple[Core, Call]] = asyncio.Queue()
        self._events: asyncio.Queue[Say] = asyncio.Queue()
        self._book = EventBook()
        self._woken = asyncio.Event()

    def attach(self, core: Core, kinds: Iterable[Kind]) -> None:
        """Lets a core read these kinds; while the driver runs, too."""
        if core not in self._cores:
            self._cores.append(core)
        for kind in kinds:
            key = (kind.resource, kind.type)
            feed = self._feeds.get(key)
            if feed is None:
                feed = self._feeds[key] = _Feed(self._client, kind, wake=self._woken.set)
                self._start(key, feed)
            feed.attach(core)
        self._woken.set()

    def detach(self, core: Core, kinds: Iterable[Kind]) -> None:
        """A core reads these kinds no more; that says nothing about their objects, and it is told nothing."""
        for kind in kinds:
            key = (kind.resource, kind.type)
            feed = self._feeds.get(key)
            if feed is None or core not in feed.cores:
                continue
            feed.cores.remove(core)
            if not feed.cores:
                del self._feeds[key]
                if (task := self._reflecting.pop(key, None)) is not None:
                    task.cancel()

    def wake(self) -> None:
        """Has all cores asked for work, although nothing was seen."""
        self._woken.set()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as self._group:
            for key, feed in self._feeds.items():
                self._start(key, feed)
            await asyncio.gather(*(feed.reflector.synced.wait() for feed in self._feeds.values()))
            for _ in range(_IN_FLIGHT):
                self._group.create_task(self._carry_out())
            for _ in range(_EVENTS_IN_FLIGHT):
                self._group.create_task(self._speak())
            self.ready.set()
            while True:
                if not self._turn():
                    # a core that fails each time must not take all the time there is
                    await asyncio.sleep(_BUG_SECONDS)
                await self._something_to_do()

    def _start(self, key: tuple[Resource, type[Wire]], feed: _Feed) -> None:
        if self._group is not None:
            # cancelling one does not end the others
            self._reflecting[key] = self._group.create_task(self._reflect(feed))

    async def _reflect(self, feed: _Feed) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(feed.reflector.run())
            await feed.reflector.synced.wait()
            # cores may have waited for this
            self._woken.set()

    def _informed(self) -> list[Core]:
        """Those that have read once all that they are to know."""
        unread = [feed for feed in self._feeds.values() if not feed.reflector.synced.is_set()]
        return [core for core in self._cores if not any(core in feed.cores for feed in unread)]

    # --- turns ---

    def _turn(self) -> bool:
        """Asks all cores for work; returns whether none of them failed."""
        self._woken.clear()
        fine = True
        for core in self._informed():
            try:
                asked = core.work(self._clock())
            except Exception:
                # the core has put it off; what else it wants, it says next time
                _log.exception("a bug: a controller failed", controller=type(core).__name__)
                self._woken.set()
                fine = False
                continue
            for call in asked:
                if not isinstance(call, Say):
                    self._calls.put_nowait((core, call))
                elif self._events.qsize() < _MOST_EVENTS:
                    self._events.put_nowait(call)
        for feed in self._feeds.values():
            for thing in feed.shelf.doubtful(self._clock()):
                assert self._group is not None
                self._group.create_task(self._ask_after(feed, thing))
        return fine

    async def _something_to_do(self) -> None:
        times = [core.next_at for core in self._informed()] + [feed.shelf.doubts_at for feed in self._feeds.values()]
        at = min((time for time in times if time is not None), default=None)
        # others get their turn in any case
        wait = None if at is None else max(0.0, at - self._clock())
        if wait == 0.0 or self._woken.is_set():
            await asyncio.sleep(0)
            return
        with suppress(TimeoutError):
            # not wait_for: on Python 3.11 that one may swallow a cancellation
            async with asyncio.timeout(wait):
                await self._woken.wait()

    # --- calls ---

    async def _carry_out(self) -> None:
        while True:
            core, call = await self._calls.get()
            answer = await self._answer(call)
            if isinstance(answer, Refused | Lost) and not is_fine(call, answer):
                # whoever wants to be told reckons with it
                log = _log.debug if call.told else _log.info
                log("not done", call=type(call).__name__, path=call.path, why=answer.message)
            try:
                if isinstance(answer, Done) and not isinstance(call, Look):
                    self._take_in(call.path, answer.data)
                core.answered(call, answer, self._clock())
            except Exception:
                _log.exception("a bug: a controller failed at an answer", controller=type(core).__name__)
            self._woken.set()

    def _take_in(self, path: str, data: bytes) -> None:
        where = _collection(path)
        for feed in self._feeds.values():
            if feed.where == where:
                feed.answered(data, now=self._clock())

    async def _ask_after(self, feed: _Feed, thing: Any) -> None:
        """Finds out whether an object is there of which no watch told."""
        meta = thing.metadata
        answer = await self._answer(Look(path=feed.resource.path(meta.namespace, meta.name)))
        if isinstance(answer, Done):
            feed.answered(answer.data, now=self._clock())
        elif isinstance(answer, Refused) and answer.code == 404:
            feed.shelf.watched(Gone(f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name, meta.uid))
        self._woken.set()

    async def _answer(self, call: Call) -> Answer:
        """Sends a call until there is an answer, as far as that is safe.

        A server that is busy is asked again.  When no answer comes, an object with a name of our making is sent again:
        if it is there then, it was made by the first try.
        """
        name = call.body["metadata"].get("name") if isinstance(call, Create) else None
        busy = lost = 0
        while True:
            try:
                return Done(await self._request(call))
            except ApiError as error:
                if error.code == 429 and busy < _BUSY_TRIES:
                    busy += 1
                    await asyncio.sleep(error.retry_after or _BUSY_SECONDS)
                    continue
                if name and lost and error.reason == "AlreadyExists":
                    return await self._answer(Look(path=f"{call.path}/{name}"))
                return Refused(code=error.code, reason=error.reason, message=error.message)
            except KubeError as error:
                lost += 1
                if not name or lost > _LOST_TRIES:
                    return Lost(str(error))
                await asyncio.sleep(backoff_seconds(lost, initial=0.1, maximum=5.0))

    async def _request(self, call: Call) -> bytes:
        match call:
            case Create():
                return await self._client.request("POST", call.path, body=_encode(call.body))
            case Patch():
                kind = STRATEGIC_PATCH if call.strategic else MERGE_PATCH
                return await self._client.request("PATCH", call.path, body=_encode(call.body), content_type=kind)
            case Replace():
                return await self._client.request("PUT", call.path, body=_encode(call.body))
            case Delete():
                body = _encode(_delete_options(call))
                return await self._client.request("DELETE", call.path, body=body, content_type=JSON)
            case Look():
                return await self._client.request("GET", call.path)

    async def _speak(self) -> None:
        while True:
            said = await self._events.get()
            call = self._book.call(said, self._clock())
            # an event that cannot be written is lost: nothing depends on it
            answer = await self._answer(call) if call is not None else Done()
            if isinstance(call, Patch) and isinstance(answer, Refused) and answer.code == 404:
                # events live for an hour; this one is said anew
                await self._answer(self._book.anew(said, self._clock()))


def _delete_options(call: Delete) -> Mapping[str, object]:
    options: dict[str, object] = {"apiVersion": "v1", "kind": "DeleteOptions"}
    preconditions = {"uid": call.uid, "resourceVersion": call.version}
    if given := {name: value for name, value in preconditions.items() if value}:
        options["preconditions"] = given
    if call.grace_seconds is not None:
        options["gracePeriodSeconds"] = call.grace_seconds
    if call.propagation:
        options["propagationPolicy"] = call.propagation
    return options


def _collection(path: str) -> str:
    """The path of all objects of the kind of which `path` names one, or one's subresource."""
    _, *parts = path.split("/")
    root, rest = (parts[:2], parts[2:]) if parts[0] == "api" else (parts[:3], parts[3:])
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in ("status", "finalize"):
        rest = rest[2:]
    return "/" + "/".join((*root, rest[0]))
