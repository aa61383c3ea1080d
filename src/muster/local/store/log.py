"""The store's log on disk: a row for every change, in one SQLite file.

A change is in the file's write-ahead log before it is acknowledged, so that the death of the process loses nothing.
The machine's death may cost the last moments: the disk is not waited for.

Nothing is written that follows from the object itself: what selectors ask for is found out anew at each start.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import msgspec
import structlog

from muster.base.errors import LocalError
from muster.local.store.store import NotWritten, Stored

_log = structlog.get_logger()

FORMAT = 2
"""Of the file, in its `user_version`; 0 is that of the first releases, which kept labels and fields too."""

_TABLE = """
CREATE TABLE IF NOT EXISTS log (
    version INTEGER PRIMARY KEY,
    storage TEXT NOT NULL,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    deleted INTEGER NOT NULL,
    data BLOB NOT NULL
)
"""
# what a first, failed write of this version may have left is not what was acknowledged
_APPEND = "INSERT OR REPLACE INTO log VALUES (?, ?, ?, ?, ?, ?)"
_ALL = "SELECT version, storage, namespace, name, deleted, data FROM log ORDER BY version"
_NOTHING = b"{}"
_SUPERSEDED = """
DELETE FROM log WHERE version < (SELECT max(version) FROM log) AND (deleted OR version NOT IN
    (SELECT max(version) FROM log GROUP BY storage, namespace, name))
"""
# whichever comes first
_TIDY_AFTER = 20_000
_TIDY_AFTER_BYTES = 64 << 20
# what is free is written to again: to give it back each time would cost as much as to write it
_MOST_FREE_BYTES = 2 * _TIDY_AFTER_BYTES
# the disk is waited for then: with SQLite's own 1000 pages that is two fifths of what a write takes
_CHECKPOINT_PAGES = 4096


class _Meta(msgspec.Struct, frozen=True):
    uid: str = ""
    labels: dict[str, str] = {}


class _Document(msgspec.Struct, frozen=True):
    metadata: _Meta = _Meta()


_decode = msgspec.json.Decoder(_Document).decode


class SqliteLog:
    """Owns its file: a second process that wants it is refused."""

    def __init__(self, path: Path) -> None:
        try:
            # before SQLite makes it, and its write-ahead log after its likeness: secrets are in it
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            for file in (path, path.with_name(f"{path.name}-wal")):
                if file.exists():
                    file.chmod(0o600)
            self._database = sqlite3.connect(path, isolation_level=None, timeout=0)
            self._open(path)
        except OSError as error:
            raise LocalError(f"the cluster's data cannot be opened: {error.strerror}", file=str(path)) from error
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise LocalError("another process uses this cluster's folder", folder=str(path.parent)) from error
            raise LocalError(f"the cluster's data cannot be opened: {error}", file=str(path)) from error
        except sqlite3.DatabaseError as error:
            raise _unreadable(str(error), path) from error
        self._path = path
        self._rows = self._bytes = 0
        """Appended, or superseded by a deletion, since the file was last tidied."""

    def _open(self, path: Path) -> None:
        execute = self._database.execute
        execute("PRAGMA locking_mode=EXCLUSIVE")
        # what was freed goes back to the disk; it must be said before the first page is written
        execute("PRAGMA auto_vacuum=INCREMENTAL")
        execute("PRAGMA journal_mode=WAL")
        execute("PRAGMA synchronous=NORMAL")
        execute(f"PRAGMA journal_size_limit={_TIDY_AFTER_BYTES}")
        execute(f"PRAGMA wal_autocheckpoint={_CHECKPOINT_PAGES}")
        (form,) = execute("PRAGMA user_version").fetchone()
        if form > FORMAT:
            raise LocalError(
                f"the cluster's data are of format {form}, of a newer muster",
                file=str(path),
                hint=f"this one reads formats up to {FORMAT}: update it, or move the file away to start afresh",
            )
        if form < FORMAT:
            self._take_over()
        try:
            execute(_SUPERSEDED)
            self._shrink()
        except sqlite3.OperationalError as error:
            # all is there to be read, and what is deleted then makes room
            if "locked" in str(error):
                raise
            _not_tidied(error)

    def _take_over(self) -> None:
        """A new file, or one of an older format: whole in the new one, or left as it was."""
        execute = self._database.execute
        execute("BEGIN IMMEDIATE")
        try:
            older = execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'log'").fetchone()
            if older:
                execute("ALTER TABLE log RENAME TO older")
            execute(_TABLE)
            if older:
                execute("INSERT INTO log SELECT version, storage, namespace, name, deleted, data FROM older")
                execute("DROP TABLE older")
            execute(f"PRAGMA user_version={FORMAT}")
            execute("COMMIT")
        except BaseException:
            if self._database.in_transaction:
                execute("ROLLBACK")
            raise
        if older:
            # a file that was made without auto_vacuum learns it so
            execute("VACUUM")

    def append(self, storage: str, stored: Stored, *, deleted: bool) -> None:
        # of what is gone nothing is read again: it goes although the disk has no room for another copy of it
        data = _NOTHING if deleted else stored.data
        row = (stored.version, storage, stored.namespace, stored.name, deleted, data)
        try:
            self._database.execute(_APPEND, row)
        except sqlite3.Error as error:
            raise NotWritten(f"the cluster's file cannot be written: {error}") from error
        self._rows += 1
        self._bytes += len(stored.data)
        if self._rows >= _TIDY_AFTER or self._bytes >= _TIDY_AFTER_BYTES:
            self._rows = self._bytes = 0
            self._tidy()

    def _tidy(self) -> None:
        """The change is written, whatever becomes of this; it is tried again when as much has been appended."""
        try:
            self._database.execute(_SUPERSEDED)
            if self._free_bytes() > _MOST_FREE_BYTES:
                self._shrink()
        except sqlite3.Error as error:
            _not_tidied(error)

    def _free_bytes(self) -> int:
        (pages,), (size,) = (
            self._database.execute(f"PRAGMA {what}").fetchone() for what in ("freelist_count", "page_size")
        )
        return int(pages) * int(size)

    def _shrink(self) -> None:
        # `execute` would take one step of it, which is one page
        self._database.executescript("PRAGMA incremental_vacuum")
        self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def read(self) -> Iterator[tuple[str, Stored, bool]]:
        where = ""
        try:
            for version, storage, namespace, name, deleted, data in self._database.execute(_ALL):
                where = f" in {storage} {namespace}/{name}"
                meta = _decode(data).metadata
                yield storage, Stored(namespace, name, meta.uid, version, data, meta.labels, {}), bool(deleted)
        except sqlite3.Error as error:
            raise _unreadable(str(error), self._path) from error
        except ValueError as error:
            raise _unreadable(f"{error}{where}", self._path) from error

    def close(self) -> None:
        self._database.close()


def _not_tidied(error: sqlite3.Error) -> None:
    _log.warning("the cluster's file cannot be tidied", error=str(error))


def _unreadable(why: str, path: Path) -> LocalError:
    return LocalError(f"the cluster's data cannot be read: {why}", file=str(path), hint="move it away to start afresh")
