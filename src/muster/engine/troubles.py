"""What failed in a way that nobody foresaw, plugins by users included; for whoever drives the engine to tell."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from muster.base.errors import PluginError

__all__ = ["Trouble", "Troubles"]

# a plugin that fails with ten thousand pods fails with all of them in the same way
_MOST_TOLD = 100


class Trouble(NamedTuple):
    unit: str
    """namespace/name of the group or the pod."""
    plugin: str
    """The plugin by users that failed; "" if the scheduler itself did."""
    error: Exception


class Troubles:
    """`counts` since the engine was made, by plugin; `told` are the first of the last `decide`."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.told: list[Trouble] = []

    def note(self, unit: str, error: Exception) -> None:
        plugin = error.plugin if isinstance(error, PluginError) else ""
        self.counts[plugin] += 1
        if len(self.told) < _MOST_TOLD:
            self.told.append(Trouble(unit, plugin, error))
