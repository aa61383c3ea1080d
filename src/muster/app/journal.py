"""The file in which what the engine is told and decides is kept."""

from __future__ import annotations

from pathlib import Path

import structlog

from muster.base.errors import JournalError
from muster.engine.engine import Engine
from muster.engine.journal import Recorder

_log = structlog.get_logger()


class Journal:
    """Appends to a file.

    It is opened at once: a wrong path is told at the start, not on the day this replica must lead.  A disk that is full
    later ends the journal, not the scheduling.
    """

    def __init__(self, path: Path, *, settings: dict[str, str]) -> None:
        self._path = path
        self._settings = settings
        self._broken = False
        try:
            self._file = path.open("ab", buffering=0)
        except OSError as error:
            raise JournalError(f"{path} cannot be written: {error.strerror}") from error

    def of(self, engine: Engine) -> Recorder:
        """The engine, with all that it is told and decides written down."""
        return Recorder(engine, self._write, settings=self._settings)

    def close(self) -> None:
        self._file.close()

    def _write(self, line: bytes) -> None:
        if self._broken:
            return
        try:
            self._file.write(line)
        except OSError as error:
            self._broken = True
            _log.error("the journal ends here", file=str(self._path), error=error.strerror)
