"""Objects by kind, namespace and name, with a version for every change and a history for those who watch.

An object is kept as the bytes that clients get.  Nothing that is stored is ever changed: a write puts a new object in
the place of the old one, so a list is a snapshot for as long as somebody holds it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from typing import Protocol

import msgspec

from muster.base.errors import LocalError

HISTORY = 20_000
"""So many changes of all kinds are remembered, if they are small; a watch from before them is too old."""
HISTORY_BYTES = 24 << 20
"""So much of what was superseded is remembered."""


class Stored(msgspec.Struct, frozen=True):
    """One version of one object."""

    namespace: str
    name: str
    uid: str
    version: int
    data: bytes
    """JSON with its version in it, but without apiVersion and kind, which are those of the one who asks."""
    labels: dict[str, str]
    fields: dict[str, str]
    """What field selectors may ask for."""

    @property
    def key(self) -> tuple[str, str]:
        return self.namespace, self.name


def order(key: tuple[str, str]) -> str:
    """Of namespaces and names in lists, as Kubernetes has it: "a-b/c" comes before "a/c"."""
    return "/".join(key)


class What(Enum):
    """What became of an object."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


class Happened(msgspec.Struct):
    """One change.  Of a deletion, `now` is the object as it was, with the version of the deletion."""

    what: What
    storage: str
    now: Stored
    before: Stored | None
    frames: dict[str, bytes] = {}
    """The event as it is sent, by its kind; made once for all who watch when it happens."""


class NotWritten(LocalError):
    """A change that the log could not take: it has not happened."""


class Log(Protocol):
    """Keeps changes beyond the life of the process."""

    def append(self, storage: str, stored: Stored, *, deleted: bool) -> None:
        """Returns when the change survives the death of the process; raises NotWritten if it does not."""

    def read(self) -> Iterable[tuple[str, Stored, bool]]:
        """All that was appended and is not superseded beyond the history, oldest first."""

    def close(self) -> None: ...


class Store:
    """All objects of a cluster.  `storage` names where a kind's objects are kept, one place for all its versions."""

    def __init__(
        self, log: Log | None = None, *, history: int = HISTORY, history_bytes: int = HISTORY_BYTES, first: int = 0
    ) -> None:
        self.version = first
        """Of the last change."""
        self._log = log
        self._objects: dict[str, dict[tuple[str, str], Stored]] = {}
        self._ordered: dict[str, list[tuple[str, str]]] = {}
        """Keys in the order in which they are listed, for storages that have not changed since."""
        self._history: deque[Happened] = deque()
        self._most, self._most_bytes = history, history_bytes
        self._bytes = 0
        """Of what was superseded or deleted, and is kept for the history alone."""
        self._forgotten = first
        """Changes up to this version are not in the history."""
        self._watchers: dict[str, list[Callable[[Happened], None]]] = {}
        for storage, stored, deleted in log.read() if log is not None else ():
            self._take(storage, stored, deleted=deleted)
        self._recover()

    # --- reading ---

    def get(self, storage: str, namespace: str, name: str) -> Stored | None:
        return self._objects.get(storage, {}).get((namespace, name))

    def list(self, storage: str, namespace: str = "") -> list[Stored]:
        """In order; all namespaces if none is given."""
        objects = self._objects.get(storage, {})
        ordered = self._ordered.get(storage)
        if ordered is None:
            ordered = self._ordered[storage] = sorted(objects, key=order)
        if namespace:
            return [objects[key] for key in ordered if key[0] == namespace]
        return [objects[key] for key in ordered]

    def count(self, storage: str) -> int:
        return len(self._objects.get(storage, {}))

    # --- writing ---

    def put(self, storage: str, stored: Stored) -> Happened:
        """Stores a new version; its version is `self.version + 1`."""
        assert stored.version == self.version + 1
        if self._log is not None:
            self._log.append(storage, stored, deleted=False)
        return self._publish(self._take(storage, stored, deleted=False))

    def delete(self, storage: str, last: Stored) -> Happened:
        """Removes an object; `last` is what it was, with the version of its deletion."""
        assert last.version == self.version + 1
        if self._log is not None:
            self._log.append(storage, last, deleted=True)
        return self._publish(self._take(storage, last, deleted=True))

    def _take(self, storage: str, stored: Stored, *, deleted: bool) -> Happened:
        objects = self._objects.setdefault(storage, {})
        before = objects.get(stored.key)
        if deleted:
            objects.pop(stored.key, None)
            what = What.DELETED
        else:
            objects[stored.key] = stored
            what = What.ADDED if before is None else What.MODIFIED
        if before is None or deleted:
            self._ordered.pop(storage, None)
        happened = Happened(what, storage, stored, before, {})
        self._history.append(happened)
        self._bytes += _kept(happened)
        while len(self._history) > self._most or self._bytes > self._most_bytes:
            oldest = self._history.popleft()
            self._bytes -= _kept(oldest)
            self._forgotten = oldest.now.version
        self.version = stored.version
        return happened

    def _recover(self) -> None:
        """What was superseded before the process began is not in the log: the history begins where it is whole."""
        if self._history:
            self.compact()

    def derive(self, storage: str, selectable: Callable[[bytes], dict[str, str]]) -> None:
        """Sets what field selectors may ask for, of all objects in a storage."""
        objects = self._objects.get(storage, {})
        for key, stored in objects.items():
            try:
                objects[key] = msgspec.structs.replace(stored, fields=selectable(stored.data))
            except ValueError as error:
                raise LocalError(f"the cluster's data cannot be read: {error} in {storage} {'/'.join(key)}") from error

    # --- watching ---

    def since(self, storage: str, version: int) -> Iterator[Happened] | None:
        """What happened after a version; None if that is not remembered any more."""
        if version < self._forgotten:
            return None
        return (one for one in self._history if one.now.version > version and one.storage == storage)

    @property
    def oldest(self) -> int:
        """Watches from before this version are too old."""
        return self._forgotten

    def compact(self) -> None:
        """Forgets all history."""
        self._forgotten, self._bytes = self.version, 0
        self._history.clear()

    def watch(self, storage: str, listener: Callable[[Happened], None]) -> None:
        self._watchers.setdefault(storage, []).append(listener)

    def unwatch(self, storage: str, listener: Callable[[Happened], None]) -> None:
        self._watchers[storage].remove(listener)

    def _publish(self, happened: Happened) -> Happened:
        for listener in tuple(self._watchers.get(happened.storage, ())):
            listener(happened)
        # those who come later are few: to keep all events ready for them would double what the history takes
        happened.frames.clear()
        return happened


def _kept(happened: Happened) -> int:
    deleted = len(happened.now.data) if happened.what is What.DELETED else 0
    return deleted + (len(happened.before.data) if happened.before is not None else 0)
