"""What a scenario needs of the place where it is played."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from muster.sim.world import Happened


class Stage(Protocol):
    """A cluster with a scheduler, and its time.  The simulated world is one; a real API server can be another.

    Time is in seconds since the epoch.  It passes only in `run` and `run_until_quiet`, and only when everything that
    an instant brings has been done: by users, by the scheduler, by kubelets.
    """

    @property
    def now(self) -> float: ...

    @property
    def history(self) -> Sequence[Happened]:
        """What the API has shown so far, in order; of an instant at least what it was like when it was over."""

    @property
    def next_event(self) -> float | None:
        """When the next thing happens that is not the scheduler's own idea; None if nothing is planned."""

    def at(self, time: float, action: Callable[[], None]) -> None:
        """Does `action` at `time`; those of one instant in the order of these calls, and seen together."""

    def run(self, until: float) -> None:
        """Lets time pass until `until`, everything that happens at that instant included."""

    def run_until_quiet(self, limit: float) -> None:
        """Lets time pass until nothing is left to happen, or until `limit`."""
