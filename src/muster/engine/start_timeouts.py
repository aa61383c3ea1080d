"""Gangs that say how long they wait for their start: then they step back, and wait as long again."""

from __future__ import annotations

from typing import NamedTuple

from muster.cluster.gangs import GangState
from muster.engine.timers import Purpose, Timers

# each round is told of on the API, and tries the gang: people may write any time, and of thousands of gangs
_SHORTEST_ROUND_SECONDS = 30.0


class _Round(NamedTuple):
    since: float
    """When the gang's first member that waits was created."""
    seconds: float | None
    ends: float


class StartTimeouts:
    """Says when a gang that holds nothing has waited for its start as long as it likes to.

    The time is counted from the creation of the first member that waits, in rounds, so that a restart changes nothing.
    However short it is, only the first round is shorter than half a minute.
    """

    def __init__(self, timers: Timers) -> None:
        self._timers = timers
        self._rounds: dict[str, _Round] = {}
        """Of gangs for which a timer is set."""

    def look_at(self, gang: GangState, now: float) -> None:
        """Sets a timer for the end of the round, if there is to be one."""
        seconds = _limit(gang)
        known = self._rounds.get(gang.key)
        if seconds is None or (known is not None and known.seconds == seconds):
            return
        self.look_again(gang, _end_of_round(_waits_since(gang) + seconds, max(seconds, _SHORTEST_ROUND_SECONDS), now))

    def look_again(self, gang: GangState, at: float) -> None:
        self._rounds[gang.key] = _Round(_waits_since(gang), _limit(gang), at)
        self._timers.set(at, Purpose.START_TIMEOUT, key=gang.key)

    def is_over(self, key: str, gang: GangState | None, now: float) -> bool:
        """Whether the gang has waited for a round, now that a timer of it rings."""
        if key not in self._rounds or self._rounds[key].ends > now:
            return False
        over = self._rounds.pop(key)
        return gang is not None and _limit(gang) == over.seconds and _waits_since(gang) == over.since


def _limit(gang: GangState) -> float | None:
    """Seconds that the gang waits for its start, if it waits for that and holds nothing."""
    seconds = None if gang.declared is None else gang.declared.start_timeout_seconds
    if seconds is None or gang.has_started or gang.running or gang.binding or not gang.candidates:
        return None
    return seconds


def _waits_since(gang: GangState) -> float:
    return min(pod.created for pod in gang.candidates.values())


def _end_of_round(first: float, seconds: float, now: float) -> float:
    """When the round ends that goes on now, if the first ended then and the others take so long."""
    if now < first:
        return first
    ends = first + seconds * (1 + (now - first) // seconds)
    # where the sum is rounded down
    return ends if ends > now else ends + seconds
