"""Phases and counts: what objects that declare gangs say of their members."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from muster.gangs.dialects.dialect import Dialect
from muster.gangs.tally import Tally

REST_SECONDS = 1.0
"""An object is written no more often than this, however many of its pods change."""

Write = Callable[[Dialect, str], None]
"""Asks for the status of an object to be written, given as dialect and namespace/name."""


class Statuses:
    """Keeps the status of objects in step with their members.

        stirred → looked at → (as it should be | write asked for → resting → looked at, if stirred meanwhile)

    `objects` finds those of a name, `tally` counts the members of the gang of that name, `is_ours` says whether an
    object is not for another scheduler to speak of.  What is to be written follows from these alone, and is asked for
    again when the write is sent: nothing is remembered that a leader who comes later would lack.
    """

    def __init__(
        self,
        objects: Callable[[str], Mapping[Dialect, Any]],
        *,
        is_ours: Callable[[Dialect, str], bool],
        tally: Callable[[str], Tally],
        write: Write,
    ) -> None:
        self._objects = objects
        self._is_ours = is_ours
        self._tally = tally
        self._write = write
        self._stirred: set[str] = set()
        """To be looked at; none of them rests."""
        self._resting: dict[str, float] = {}
        """Until when, the first to be over first: all rest equally long."""
        self._again: set[str] = set()
        """Those of them that were stirred meanwhile."""

    def stir(self, keys: Iterable[str]) -> None:
        """Objects of these names, or members of theirs, came, changed or went."""
        for key in keys:
            (self._again if key in self._resting else self._stirred).add(key)

    def look(self, now: float) -> None:
        """Asks for what is to be written of those that were stirred and do not rest."""
        while self._resting and (first := next(iter(self._resting.items())))[1] <= now:
            key = first[0]
            del self._resting[key]
            if key in self._again:
                self._again.discard(key)
                self._stirred.add(key)
        stirred, self._stirred = self._stirred, set()
        for key in sorted(stirred):
            news = [dialect for dialect in self._objects(key) if self.news(dialect, key)]
            for dialect in news:
                self._write(dialect, key)
            if news:
                self._resting[key] = now + REST_SECONDS

    @property
    def next_look_at(self) -> float | None:
        """When somebody who was stirred may have rested; None for nobody."""
        return next(iter(self._resting.values())) if self._again else None

    def news(self, dialect: Dialect, key: str) -> dict[str, Any]:
        """Fields of the object's status as they should be; {} if they are, or if there is no such object."""
        found = self._objects(key).get(dialect)
        if found is None or not self._is_ours(dialect, key):
            return {}
        wanted = dialect.status(found, self._tally(key))
        stands = msgspec.to_builtins(found.status)
        return {} if all(stands.get(field) == value for field, value in wanted.items()) else wanted
