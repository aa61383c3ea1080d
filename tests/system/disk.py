"""The server's log on a disk that makes trouble: a write fails, there is no room, a death tears the file.

It is the production log, in a file of its own; what fails is the database's answer to one statement.
"""

import shutil
import sqlite3
import tempfile
from pathlib import Path

from muster.local.store.log import SqliteLog

_NAME = "data.sqlite"
# memory, where there is such a folder
_FOLDER = "/dev/shm" if Path("/dev/shm").is_dir() else None
_NO_LIMIT = 1 << 30


class Disk:
    """What goes wrong with writes; shared by the lives of one log."""

    def __init__(self, rng):
        self.rng = rng
        self.fails = 0
        """So many more writes fail."""
        self.full = False
        self.deadly = 0
        """At so many writes from now the server dies."""
        self.died = None
        """Told so."""


class _Database:
    """A connection whose writes may fail."""

    def __init__(self, database, disk):
        self._database = database
        self._disk = disk

    def execute(self, statement, *more):
        disk = self._disk
        if disk.deadly and statement.startswith("INSERT"):
            disk.deadly -= 1
            if not disk.deadly:
                disk.fails = 1
                disk.died()
        if disk.fails and statement.startswith(("INSERT", "DELETE", "\nDELETE")):
            disk.fails -= 1
            if disk.rng.random() < 0.4:
                # it is there, and nobody knows
                self._database.execute(statement, *more)
            raise sqlite3.OperationalError("disk I/O error")
        if statement.startswith("INSERT"):
            pages = 1 if disk.full else _NO_LIMIT
            # SQLite itself then says that there is no room: not for a page more than there are
            self._database.execute(f"PRAGMA max_page_count={pages}")
        return self._database.execute(statement, *more)

    def __getattr__(self, name):
        return getattr(self._database, name)


class DiskLog(SqliteLog):
    """One life of the log; `reopened` is the next one, after a death."""

    def __init__(self, disk, folder=None):
        self._folder = folder or tempfile.TemporaryDirectory(dir=_FOLDER, prefix="muster-world-")
        self._disk = disk
        self.doubtful = frozenset()
        """Objects of which a change may have been written that nobody was told of."""
        super().__init__(Path(self._folder.name) / _NAME)
        self._database = _Database(self._database, disk)

    def append(self, storage, stored, *, deleted):
        self.doubtful |= {(storage, *stored.key)}
        super().append(storage, stored, deleted=deleted)
        # what is written takes the place of what failed: both have the same version
        self.doubtful = frozenset()

    def reopened(self, *, ours=True):
        """What a process finds that starts after this one has died, as it was in the middle of a write or not."""
        folder = tempfile.TemporaryDirectory(dir=_FOLDER, prefix="muster-world-")
        for file in Path(self._folder.name).iterdir():
            shutil.copy(file, folder.name)
        wal, rng = Path(folder.name) / f"{_NAME}-wal", self._disk.rng
        if wal.exists() and rng.random() < 0.7:
            with wal.open("ab") as torn:
                torn.write(
                    rng.choice((b"\0" * 100, rng.randbytes(4120), wal.read_bytes()[-4120:-20], rng.randbytes(9)))
                )
        if ours:
            self.close()
        return DiskLog(Disk(rng) if not ours else self._disk, folder)

    def close(self):
        super().close()
        self._folder.cleanup()
