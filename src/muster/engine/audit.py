"""The last attempts, as data: what was tried when, what came of it and why."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import msgspec

from muster.engine.life import Cause
from muster.engine.verdicts import Verdict


class Attempt(msgspec.Struct, frozen=True, gc=False):
    at: float
    verdict: Verdict
    cause: Cause
    """Why the unit was tried at that time."""


class Tally(msgspec.Struct, gc=False):
    """How many attempts there were since the engine was made."""

    gangs_placed: int = 0
    gangs_refused: int = 0
    pods_refused: int = 0
    """Lone pods and members of refused gangs, each once for every attempt."""
    gangs_waiting: int = 0
    """Gangs that have a place once others have left, each time they were looked at."""
    gangs_sought_victims: int = 0
    pods_sought_victims: int = 0
    """Units that looked for somebody who could make room for them, whatever came of it."""


class Audit:
    """A ring of attempts; the oldest are forgotten."""

    def __init__(self, size: int = 10_000) -> None:
        self._ring: deque[Attempt] = deque(maxlen=size)

    def record(self, attempt: Attempt) -> None:
        self._ring.append(attempt)

    def __iter__(self) -> Iterator[Attempt]:
        return iter(self._ring)

    def __reversed__(self) -> Iterator[Attempt]:
        return reversed(self._ring)

    def story(self, unit: str) -> list[Attempt]:
        """What happened to one unit, oldest first, as far as the ring reaches back."""
        return [attempt for attempt in self._ring if attempt.verdict.unit == unit]
