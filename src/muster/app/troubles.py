"""Attempts that failed in a way that nobody foresaw, in the log."""

from __future__ import annotations

import math
from collections.abc import Iterable

import structlog

from muster.engine.troubles import Trouble

__all__ = ["TroubleLog"]

_AGAIN_SECONDS = 600.0
# messages that name pods are many, and seldom come again
_MOST_REMEMBERED = 1_000

_log = structlog.get_logger()


class TroubleLog:
    """Tells each trouble once with its traceback; and after ten minutes once more, if it still comes.

    A unit with which something fails is tried again and again, and a plugin that fails with one pod fails with others.
    """

    def __init__(self) -> None:
        self._told: dict[tuple[str, str], float] = {}
        """When; by plugin and message, oldest first."""

    def tell(self, troubles: Iterable[Trouble], now: float) -> None:
        for trouble in troubles:
            key = trouble.plugin, str(trouble.error)
            if now < self._told.get(key, -math.inf) + _AGAIN_SECONDS:
                continue
            self._told.pop(key, None)
            self._told[key] = now
            if len(self._told) > _MOST_REMEMBERED:
                del self._told[next(iter(self._told))]
            self._write(trouble)

    def _write(self, trouble: Trouble) -> None:
        unit, plugin, error = trouble
        if plugin:
            # who wrote the plugin wants to see it, not how it is asked
            cause = error.__cause__
            _log.error("a plugin failed", plugin=plugin, unit=unit, error=str(error), exc_info=cause)
        else:
            _log.error("a bug: an attempt failed", unit=unit, exc_info=error)
