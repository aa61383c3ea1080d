"""Watches: what happens to objects of one kind, as a stream of events."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

import msgspec

from muster.local.codec.values import Object
from muster.local.kinds import status
from muster.local.kinds.registry import Registry, Served
from muster.local.serve.selectors import Selection
from muster.local.serve.views import View
from muster.local.serve.wire import JSON
from muster.local.store.store import Happened, Store, Stored, What

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode

# who lets so much gather does not read; fed on, it would cost the memory of the server
_MOST_BYTES = 64 << 20
# taken at once: what is on its way to a client is memory of the server, however slowly he reads
_PIECE_BYTES = 1 << 20

_INITIAL_END = {"k8s.io/initial-events-end": "true"}


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """From where on a client wants to hear."""

    version: int | None = None
    """After this version; None: from now on, beginning with what is there."""
    mark_initial: bool = False
    """A bookmark says where what was there has ended."""
    bookmarks: bool = False


class Watch:
    """One client's watch.

    open → (closed by the client | cut: too slow, or what it asks for is forgotten)
    """

    content_type = JSON

    def __init__(
        self, store: Store, served: Served, *, selection: Selection, view: View, start: Start, seconds: float | None
    ) -> None:
        self.on_ready: Callable[[], None] = _nobody
        self.seconds = seconds
        self._store = store
        self.served = served
        self._selection = selection
        self._view = view
        self._bookmarks = start.bookmarks
        self._first: Iterator[bytes] = iter(())
        """What was there, or was missed, when the watch began: made only when it is taken."""
        self._frames: deque[bytes] = deque()
        """What has come since."""
        self._gathered = 0
        self.ended = False
        self._begin(start)

    def take(self) -> bytes:
        """The next of what is to be sent, whole events; nothing if there is nothing more by now."""
        taken, size = [], 0
        while size < _PIECE_BYTES and (frame := self._next()):
            taken.append(frame)
            size += len(frame)
        return b"".join(taken)

    def _next(self) -> bytes:
        if frame := next(self._first, b""):
            return frame
        if not self._frames:
            return b""
        frame = self._frames.popleft()
        self._gathered -= len(frame)
        return frame

    def close(self) -> None:
        if not self.ended:
            self.ended = True
            self._store.unwatch(self.served.storage, self._hear)

    def bookmark(self) -> None:
        """Tells how far the watch has come, if the client wants to know."""
        if self._bookmarks and not self.ended:
            self._add(_frame("BOOKMARK", self._view.mark(self._store.version, None)))
            self.on_ready()

    def _begin(self, start: Start) -> None:
        if start.version is None:
            self._first = self._there(mark=start.mark_initial)
        else:
            missed = self._store.since(self.served.storage, start.version)
            if missed is None:
                self._too_old(start.version)
                return
            self._first = self._missed(list(missed))
        self._store.watch(self.served.storage, self._hear)

    def _there(self, *, mark: bool) -> Iterator[bytes]:
        there = self._store.list(self.served.storage, self._selection.namespace)
        version = self._store.version

        def frames() -> Iterator[bytes]:
            for stored in there:
                if self._selection.matches(stored):
                    yield _frame("ADDED", self._view.one(stored))
            if mark:
                yield _frame("BOOKMARK", self._view.mark(version, _INITIAL_END))

        return frames()

    def _missed(self, missed: list[Happened]) -> Iterator[bytes]:
        for happened in missed:
            if frame := self._told(happened):
                yield frame
            happened.frames.clear()

    def _too_old(self, version: int) -> None:
        refusal = status.expired(f"too old resource version: {version} ({self._store.oldest + 1})")
        self._add(_frame("ERROR", _encode(refusal.status)))
        self.ended = True

    def _hear(self, happened: Happened) -> None:
        if frame := self._told(happened):
            self._add(frame)
            if self._gathered > _MOST_BYTES:
                self.close()
            self.on_ready()

    def _told(self, happened: Happened) -> bytes:
        """What the client is told of a change; nothing if it does not concern him."""
        selection = self._selection
        before = happened.before is not None and selection.matches(happened.before)
        if happened.what is not What.DELETED and selection.matches(happened.now):
            return self._shared(What.MODIFIED if before else What.ADDED, happened)
        if not before:
            return b""
        if happened.what is What.DELETED:
            return self._shared(What.DELETED, happened)
        # to this client it is gone, as it was when it last was one of its own
        assert happened.before is not None
        return _frame("DELETED", self._view.one(_at(happened.before, happened.now.version)))

    def _shared(self, what: What, happened: Happened) -> bytes:
        key = f"{what.value} {self._view.key}"
        frame = happened.frames.get(key)
        if frame is None:
            frame = _frame(what.value, self._view.one(happened.now))
            if self._view.key:
                happened.frames[key] = frame
        return frame

    def _add(self, frame: bytes) -> None:
        self._frames.append(frame)
        self._gathered += len(frame)


class Watches:
    """All that are open, for what comes to them with time."""

    def __init__(self) -> None:
        self._open: dict[int, Watch] = {}

    def add(self, watch: Watch) -> None:
        self._open[id(watch)] = watch

    def __iter__(self) -> Iterator[Watch]:
        self._open = {key: watch for key, watch in self._open.items() if not watch.ended}
        return iter(list(self._open.values()))

    def end(self, registry: Registry) -> None:
        """Ends those on kinds that are served otherwise now, or no more: their clients look again."""
        for watch in self:
            if registry.find(*watch.served.key) is not watch.served:
                watch.close()
                watch.on_ready()

    def bookmark(self) -> None:
        for watch in self:
            watch.bookmark()

    def close(self) -> None:
        for watch in self:
            watch.close()
            watch.on_ready()


def _frame(what: str, data: bytes) -> bytes:
    return b'{"type":"%b","object":%b}\n' % (what.encode(), data)


def _at(stored: Stored, version: int) -> Stored:
    document: Object = _decode(stored.data)
    document["metadata"]["resourceVersion"] = str(version)
    return msgspec.structs.replace(stored, version=version, data=_encode(document))


def _nobody() -> None:
    pass
