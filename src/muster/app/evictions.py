"""Evictions that wait until it is written for whom they are."""

from __future__ import annotations

from collections.abc import Callable

from muster.engine.decisions import Evict


class Evictions:
    """Lets an eviction go once the nominations that were decided with it stand on their pods.

    Should the scheduler die before that, nobody was disturbed; should it die after, the next one knows for whom.
    """

    def __init__(self, evict: Callable[[Evict], None]) -> None:
        self._evict = evict
        self._unwritten: set[str] = set()
        """UIDs of pods whose nominations were decided in this turn and are not written."""
        self._waiting: list[tuple[set[str], Evict]] = []
        """Evictions, with the pods whose nominations each still waits for."""

    def new_turn(self) -> None:
        self._unwritten = set()

    def nominates(self, uid: str) -> None:
        """The pod is to say where room is kept for it."""
        self._unwritten.add(uid)

    def decided(self, eviction: Evict) -> None:
        if self._unwritten:
            self._waiting.append((set(self._unwritten), eviction))
        else:
            self._evict(eviction)

    def settled(self, uid: str) -> None:
        """The pod says so, or will never say it: it is bound, gone, or no room is kept for it any more."""
        self._unwritten.discard(uid)
        if not self._waiting:
            return
        for awaited, _ in self._waiting:
            awaited.discard(uid)
        ready = [eviction for awaited, eviction in self._waiting if not awaited]
        self._waiting = [entry for entry in self._waiting if entry[0]]
        for eviction in ready:
            self._evict(eviction)
