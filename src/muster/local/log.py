"""The store's log on disk: a row for every change, in one SQLite file.

A change is in the file's write-ahead log before it is acknowledged, so that the death of the process loses nothing.
The machine's death may cost the last moments: the disk is not waited for.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import msgspec

from muster.base.errors import LocalError
from muster.local.store import Stored

_TABLE = """
CREATE TABLE IF NOT EXISTS log (
    version INTEGER PRIMARY KEY,
    storage TEXT NOT NULL,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    uid TEXT NOT NULL,
    labels TEXT NOT NULL,
    fields TEXT NOT NULL,
    deleted INTEGER NOT NULL,
    data BLOB NOT NULL
)
"""
_ALL = "SELECT storage, namespace, name, uid, version, data, labels, fields, deleted FROM log ORDER BY version"
_SUPERSEDED = """
DELETE FROM log WHERE version < (SELECT max(version) FROM log) AND (deleted OR version NOT IN
    (SELECT max(version) FROM log GROUP BY storage, namespace, name))
"""
# so many changes make a file of about 100 MB that has little in it
_TIDY_AFTER = 20_000

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(dict[str, str]).decode


class SqliteLog:
    """Owns its file: a second process that wants it is refused."""

    def __init__(self, path: Path) -> None:
        try:
            self._database = sqlite3.connect(path, isolation_level=None, timeout=0)
            self._database.execute("PRAGMA locking_mode=EXCLUSIVE")
            self._database.execute("PRAGMA journal_mode=WAL")
            self._database.execute("PRAGMA synchronous=NORMAL")
            self._database.execute(_TABLE)
            self._database.execute(_SUPERSEDED)
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise LocalError("another process uses this cluster's folder", folder=str(path.parent)) from error
            raise LocalError(f"the cluster's data cannot be opened: {error}", file=str(path)) from error
        except sqlite3.DatabaseError as error:
            raise LocalError(
                f"the cluster's data cannot be read: {error}", file=str(path), hint="move it away to start afresh"
            ) from error
        self._appended = 0

    def append(self, storage: str, stored: Stored, *, deleted: bool) -> None:
        self._database.execute(
            "INSERT INTO log VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                stored.version,
                storage,
                stored.namespace,
                stored.name,
                stored.uid,
                _encode(stored.labels).decode(),
                _encode(stored.fields).decode(),
                deleted,
                stored.data,
            ),
        )
        self._appended += 1
        if self._appended >= _TIDY_AFTER:
            self._appended = 0
            self._database.execute(_SUPERSEDED)

    def read(self) -> Iterator[tuple[str, Stored, bool]]:
        for storage, namespace, name, uid, version, data, labels, fields, deleted in self._database.execute(_ALL):
            stored = Stored(namespace, name, uid, version, data, _decode(labels), _decode(fields))
            yield storage, stored, bool(deleted)

    def close(self) -> None:
        self._database.close()
