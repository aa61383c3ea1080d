"""Keeps a reader in step with all objects of one kind: list, watch, resume, list again."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import suppress
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec
import structlog

from muster.api.resources import Resource
from muster.api.wire import Metadata, Wire
from muster.base.backoff import backoff_seconds
from muster.base.errors import ApiError, KubeError, Unreachable
from muster.kube.client import Client, Status
from muster.kube.nesting import shallow

_log = structlog.get_logger()

PAGE = 500
# at random: watches that end together would all start again together
_WATCH_SECONDS = (300, 600)
# kube-apiserver 1.37 sends the first bookmark of a quiet watch after two minutes, and then one a minute, give or take
# a second; a stream without anything for so long is taken for dead
_SILENCE_SECONDS = 180.0
_SILENCE_AFTER_BOOKMARK_SECONDS = 90.0
_FIRST_BACKOFF_SECONDS = 0.25
_LAST_BACKOFF_SECONDS = 10.0
_LONGEST_ASKED_SECONDS = 60.0
# a watch that lived so long shows that the server is well, even if it said nothing
_HEALTHY_SECONDS = 10.0
# a watch that ends sooner than this has failed, whatever its status; so many may, if they said anything
_TOO_SHORT_SECONDS = 1.0
_MOST_SHORT = 3
# so many refusals in a row to watch from one version, and the version is given up
_MOST_REFUSALS = 5
# how often to look whether a kind that is not served has come
_ABSENT_SECONDS = 10.0
_PAUSE_AT = 32
"""Let others run after so many pieces of a stream that never runs dry."""


Kind = TypeVar("Kind", bound=Wire)


class Gone(NamedTuple):
    """An object that is no more."""

    key: str
    """namespace/name, or the name of an object without a namespace"""
    uid: str


class _ListMetadata(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class _Page(msgspec.Struct, Generic[Kind], frozen=True):
    metadata: _ListMetadata = _ListMetadata()
    items: tuple[Kind, ...] | None = None


class _RawPage(msgspec.Struct, frozen=True):
    metadata: _ListMetadata = _ListMetadata()
    items: tuple[msgspec.Raw, ...] | None = None


class _Bare(msgspec.Struct, frozen=True):
    """What is left of an object that cannot be read: that it is there."""

    metadata: Metadata


class _Event(msgspec.Struct, frozen=True):
    type: str
    object: msgspec.Raw


class _Mark(msgspec.Struct, frozen=True):
    """A bookmark: an object of which only this is filled in."""

    metadata: _ListMetadata


class _Known(NamedTuple):
    uid: str
    version: str


class Reflector(Generic[Kind]):
    """Delivers every object as it is, every change in order and every deletion, whatever happens on the way.

        listing → watching → (watching: resumed where it ended | listing: history was lost)

    `deliver` takes a batch of objects and `Gone`s.  Deletions that a gap hid are found by comparing what is listed
    with what was known.  If the list is refused with one of the codes in `lacking`, it is done without and asked for
    again from time to time: what is not served (404) is not there, and of what is not for us to read (403) stands what
    was known.  Any other refusal is an error, and tried again until it is over.
    """

    def __init__(
        self,
        client: Client,
        resources: Sequence[Resource],
        kind: type[Kind],
        *,
        deliver: Callable[[list[Kind | Gone]], None],
        lacking: Collection[int] = (),
    ) -> None:
        self.resource: Resource | None = None
        """The first of `resources` that is served; None before the first list and if none is."""
        self.synced = asyncio.Event()
        """Set once everything was delivered for the first time."""
        self.trouble: KubeError | None = None
        """Why it is not in step at the moment."""
        self.known: dict[str, _Known] = {}
        self._client = client
        self._candidates = tuple(resources)
        self._deliver = deliver
        self._lacking = frozenset(lacking)
        self._lacks = 0
        """The code of the last refusal that was told."""
        self._version = ""
        """Where to go on watching; empty: a list is needed."""
        self._failures = 0
        """Since a watch last said anything."""
        self._refusals = 0
        """Of these, how many the server itself gave, without one of another kind in between."""
        self._short = 0
        """Watches in a row that ended too soon."""
        self._bookmarked = False
        """The watch that is open has sent a bookmark: the next is a minute away."""
        self._watching: asyncio.Task[None] | None = None
        self._refreshed: list[asyncio.Future[None]] = []
        """Who waits for a list that has not begun yet."""
        self._wanted = asyncio.Event()
        self._page = msgspec.json.Decoder(_Page[kind])  # type: ignore[valid-type]
        self._raw_page = msgspec.json.Decoder(_RawPage)
        self._event = msgspec.json.Decoder(_Event)
        self._object = msgspec.json.Decoder(kind)
        self._mark = msgspec.json.Decoder(_Mark)
        self._bare = msgspec.json.Decoder(_Bare)

    async def run(self) -> None:
        """Works until it is cancelled."""
        while True:
            try:
                if not self._version or self._refreshed:
                    await self._list()
                self.trouble = None
                if self._refreshed:
                    # asked for while the list was under way
                    continue
                if self.resource is None:
                    await self._rest(_ABSENT_SECONDS * random.uniform(1, 1.5))
                else:
                    await self._watch()
            except KubeError as error:
                self.trouble = error
                await self._recover(error)

    async def refresh(self) -> None:
        """Returns once a list that begins after this call has been delivered, however it is called for."""
        waiting = asyncio.get_running_loop().create_future()
        self._refreshed.append(waiting)
        self._version = ""
        self._wanted.set()
        if self._watching is not None:
            self._watching.cancel()
        await waiting

    async def _recover(self, error: KubeError) -> None:
        """Waits for better times, the longer the more often it went wrong, and decides where to go on."""
        refused = isinstance(error, ApiError)
        self._failures += 1
        self._refusals = self._refusals + 1 if refused else 0
        if self._version and isinstance(error, ApiError) and _is_useless(error, self._refusals):
            _log.info("listing again", kind=self.name, because=error.message)
            self._version = ""
            if self._refusals == 1:
                # the server is there and has said what is wrong
                return
        seconds = backoff_seconds(self._failures, initial=_FIRST_BACKOFF_SECONDS, maximum=_LAST_BACKOFF_SECONDS)
        asked = min(_LONGEST_ASKED_SECONDS, getattr(error, "retry_after", None) or 0)
        seconds = max(seconds * random.uniform(1, 2), asked)
        _log.warning("out of step, trying again", kind=self.name, error=str(error), seconds=round(seconds, 1))
        await self._rest(seconds)

    async def _rest(self, seconds: float) -> None:
        """Waits, unless somebody wants a list."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wanted.wait()

    # --- listing ---

    async def _list(self) -> None:
        self._wanted.clear()
        waiting, self._refreshed = self._refreshed, []
        before = self.resource
        refused: ApiError | None = None
        try:
            for resource in self._candidates:
                try:
                    version = await self._list_all(resource)
                except ApiError as error:
                    if error.code not in self._lacking:
                        raise
                    refused = error
                    continue
                if before != resource:
                    _log.info("reading", kind=resource.name, version=resource.version, objects=len(self.known))
                self._version, self._lacks = version, 0
                break
            else:
                assert refused is not None
                self._do_without(refused)
        except BaseException:
            # whoever waits is served by the next list
            self._refreshed += waiting
            raise
        self.synced.set()
        for one in waiting:
            if not one.done():
                one.set_result(None)

    async def _list_all(self, resource: Resource) -> str:
        """Delivers what is new, page by page, then what is gone; returns the version of the list.

        Without a resourceVersion in the request the server answers from the latest state, never from an old cache.
        """
        listed: set[str] = set()
        following = ""
        while True:
            query = {"limit": str(PAGE)} | ({"continue": following} if following else {})
            page = self._read_page(await self._client.request("GET", resource.path(), query=query))
            if not page.metadata.resource_version:
                # a proxy's greeting must not pass for an empty cluster
                raise self._no_list("it has no resourceVersion")
            # whoever hears of an object may have something to write on it, though the list goes on
            self.resource = resource
            news: list[Kind | Gone] = []
            for item in page.items or ():
                listed.add(self._take(item, news))
            if news:
                self._deliver(news)
            following = page.metadata.continue_
            if not following:
                break
        if missing := [Gone(key, known.uid) for key, known in self.known.items() if key not in listed]:
            for gone in missing:
                del self.known[gone.key]
            self._deliver(list(missing))
        return page.metadata.resource_version

    def _do_without(self, refused: ApiError) -> None:
        """There is nothing to read: what is not served is not there; of what is not for us, what was known stands."""
        before, self.resource = self.resource, None
        if refused.code != 404:
            if refused.code != self._lacks:
                _log.warning("not for us to read, going on without", kind=self.name, because=refused.message)
            self._lacks = refused.code
            return
        if before is not None:
            _log.warning("no longer served", kind=before.name)
        if gone := [Gone(key, known.uid) for key, known in self.known.items()]:
            self.known.clear()
            self._deliver(list(gone))

    def _read_page(self, data: bytes) -> _Page[Any]:
        """A page of objects; in the place of one that cannot be read, what can."""
        try:
            try:
                return self._page.decode(data)
            except RecursionError:
                return self._read_page(shallow(data))
            except msgspec.ValidationError:
                # one object that cannot be read must not hide the others
                raw = self._raw_page.decode(data)
                return _Page(raw.metadata, tuple(self._read(one) for one in raw.items or ()))
        except msgspec.DecodeError as error:
            raise self._no_list(str(error)) from error

    def _no_list(self, why: str) -> KubeError:
        return KubeError(f"the server sent something that is no list: {why}", kind=self.name)

    # --- watching ---

    async def _watch(self) -> None:
        self._watching = watching = asyncio.create_task(self._follow())
        try:
            await asyncio.wait([watching])
        finally:
            watching.cancel()
            self._watching = None
        # cancelled, it was ended for a list that someone waits for
        if not watching.cancelled():
            watching.result()

    async def _follow(self) -> None:
        assert self.resource is not None
        query = {
            "watch": "true",
            "resourceVersion": self._version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(random.randint(*_WATCH_SECONDS)),
        }
        async with self._client.stream(self.resource.path(), query=query, seconds=_SILENCE_SECONDS) as pieces:
            # from here: a server that lets a watch wait for its answer is not well
            began, said = _now(), False
            self._bookmarked = False
            try:
                async with asyncio.timeout(None) as silence:
                    async for lines in _lines(pieces):
                        self._take_events(lines)
                        said = True
                        if self._bookmarked:
                            silence.reschedule(_now() + _SILENCE_AFTER_BOOKMARK_SECONDS)
            except TimeoutError as error:
                raise Unreachable("a watch went silent, and its bookmark is overdue", kind=self.name) from error
            finally:
                if said or _now() - began > _HEALTHY_SECONDS:
                    self._failures = self._refusals = 0
        self._short = self._short + 1 if _now() - began < _TOO_SHORT_SECONDS else 0
        if self._short and (not said or self._short > _MOST_SHORT):
            raise KubeError("a watch ended at once", kind=self.name)

    def _take_events(self, lines: list[bytes]) -> None:
        """Delivers a batch of events in their order; what came before an error in the stream is not lost."""
        news: list[Kind | Gone] = []
        try:
            for line in lines:
                event = self._read_event(line)
                match event.type:
                    case "ADDED" | "MODIFIED":
                        item = self._read(event.object)
                        self._take(item, news)
                        self._version = _metadata(item).resource_version
                    case "DELETED":
                        meta = self._bare.decode(event.object).metadata
                        if (known := self.known.pop(_key(meta), None)) is not None:
                            news.append(Gone(_key(meta), known.uid))
                        self._version = meta.resource_version
                    case "BOOKMARK":
                        self._version = self._mark.decode(event.object).metadata.resource_version
                        self._bookmarked = True
                    case "ERROR":
                        status = msgspec.json.decode(event.object, type=Status)
                        raise ApiError(status.message, code=status.code, reason=status.reason)
        except msgspec.DecodeError as error:
            raise KubeError(f"a watch sent something that is no event: {error}", kind=self.name) from error
        finally:
            if news:
                self._deliver(news)

    # --- objects ---

    def _take(self, item: Kind | _Bare, news: list[Kind | Gone]) -> str:
        meta = _metadata(item)
        key = _key(meta)
        known = self.known.get(key)
        if known is not None and known.uid != meta.uid:
            # deleted and made again while nobody looked
            news.append(Gone(key, known.uid))
            del self.known[key]
        if not isinstance(item, _Bare) and known != (meta.uid, meta.resource_version):
            self.known[key] = _Known(meta.uid, meta.resource_version)
            news.append(item)
        return key

    def _read_event(self, line: bytes) -> _Event:
        try:
            return self._event.decode(line)
        except RecursionError:
            return self._event.decode(shallow(line))

    def _read(self, data: msgspec.Raw) -> Kind | _Bare:
        try:
            return self._object.decode(data)
        except msgspec.ValidationError as error:
            bare = self._bare.decode(data)
            key = _key(bare.metadata)
            _log.warning(
                "an object cannot be read, what was known of it stands", kind=self.name, key=key, error=str(error)
            )
            return bare

    @property
    def name(self) -> str:
        return (self.resource or self._candidates[0]).name


def _now() -> float:
    return asyncio.get_running_loop().time()


def _is_useless(error: ApiError, refusals: int) -> bool:
    """Whether there is no point in watching from the same version again."""
    if error.code in (401, 403, 429):
        return False
    return 400 <= error.code < 500 or refusals >= _MOST_REFUSALS


def _key(meta: Metadata) -> str:
    return f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name


def _metadata(item: Wire | _Bare) -> Metadata:
    found: Metadata = item.metadata  # type: ignore[union-attr]
    return found


async def _lines(pieces: AsyncIterator[bytes]) -> AsyncIterator[list[bytes]]:
    """Whole lines, as many at a time as have come."""
    rest = b""
    count = 0
    async for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        if whole:
            yield whole
        count += 1
        if count % _PAUSE_AT == 0:
            await asyncio.sleep(0)
