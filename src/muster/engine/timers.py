"""What is to be looked at again later."""

from __future__ import annotations

import heapq
from enum import Enum
from typing import NamedTuple


class Purpose(Enum):
    """Why a timer was set, and so what its key is."""

    TRY = "try a unit that waits, or whose backoff is over"
    TELL = "tell why a gang is not even tried"
    LOOK = "look again at a unit that failed"
    GATES = "ask a pod's gates again"
    RETRY = "repeat a pod's bind"
    DENIAL = "a pod was denied long enough"
    DEADLINE = "a gang was bound in part for too long"
    PREPARING = "what a unit's pods bring was not ready in time"
    START_TIMEOUT = "a gang has waited for its start as long as it likes to"
    BELOW = "a gang is below its minimum, and people should know"
    TAKE_DOWN = "a gang was below its minimum for too long"


class Timer(NamedTuple):
    at: float
    number: int
    """Orders timers of the same instant as they were set."""
    purpose: Purpose
    key: str
    ticket: int


class Timers:
    """What is to be looked at again later, soonest first."""

    def __init__(self) -> None:
        self._heap: list[Timer] = []
        self._count = 0

    def set(self, at: float, purpose: Purpose, *, key: str, ticket: int = 0) -> None:
        self._count += 1
        heapq.heappush(self._heap, Timer(at, self._count, purpose, key, ticket))

    def due(self, now: float, *, most: int) -> list[Timer]:
        """Timers whose time has come, up to `most` of them."""
        found: list[Timer] = []
        while len(found) < most and self._heap and self._heap[0].at <= now:
            found.append(heapq.heappop(self._heap))
        return found

    @property
    def next(self) -> float | None:
        return self._heap[0].at if self._heap else None
