"""What goes wrong in a simulated world between a scheduler and the objects."""

from __future__ import annotations

from typing import NamedTuple

from muster.engine.changes import Change, Failure
from muster.engine.decisions import CallOff, Evict, Placement, Reread


class BindFate(NamedTuple):
    """What becomes of one bind call."""

    delay_seconds: float = 0.0
    failure: Failure | None = None
    landed: bool = False
    """The API server stored it although the answer says that it failed: an answer that got lost."""


class Faults:
    """What goes wrong.  This one lets everything succeed at once; tests override it."""

    def bind(self, placement: Placement, now: float) -> BindFate:
        """What becomes of a bind that is sent now."""
        return BindFate()

    def answers_first(self, placement: Placement) -> bool:
        """Whether the answer to a bind overtakes the watch."""
        return False

    def survives_restart(self, placement: Placement) -> bool:
        """Whether a bind that was in flight when the scheduler died reached the API server."""
        return True

    def evict(self, decision: Evict) -> float:
        """For how many seconds an eviction waits until it is written for whom it is."""
        return 0.0

    def calls_off(self, decision: CallOff) -> bool:
        """Whether evictions can be called off that have not arrived; else they are on their way."""
        return True

    def group_lag(self, key: str) -> float:
        """For how many seconds nobody is told of a change of a group that is made now."""
        return 0.0

    def reread(self, decision: Reread) -> float:
        """How many seconds it takes to read a group again."""
        return 0.0

    def relist(self, changes: list[Change]) -> list[Change]:
        """In which order a new scheduler reads the objects that are there."""
        return changes
