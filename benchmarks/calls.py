"""Calls of an engine, each of them timed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from time import perf_counter

from muster.engine.changes import Change
from muster.engine.decisions import Bind, Decision, Placement
from muster.engine.engine import Engine


class Calls:
    """What one engine was asked, and how long each `decide` took."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.seconds: list[float] = []
        """Of each call of `decide`."""
        self.spent = 0.0
        """In all, taking in included."""

    def apply(self, changes: Sequence[Change]) -> None:
        start = perf_counter()
        self._engine.apply(changes)
        self.spent += perf_counter() - start

    def decide(self, now: float) -> list[Decision]:
        """Calls until nothing is left to do."""
        decisions: list[Decision] = []
        while True:
            start = perf_counter()
            decisions += self._engine.decide(now)
            self.seconds.append(perf_counter() - start)
            self.spent += self.seconds[-1]
            due = self._engine.next_decide_at
            if due is None or due > now:
                return decisions

    @property
    def longest(self) -> float:
        return max(self.seconds)


def placements(decisions: Iterable[Decision]) -> list[Placement]:
    """Every placement that was decided."""
    return [placed for decision in decisions if isinstance(decision, Bind) for placed in decision.pods]
