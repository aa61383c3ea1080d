"""What a search answers: a placement, a proof that there is none, or neither."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from muster.cluster.classes import PodClass
from muster.engine.cycle import Trial


class Proof(NamedTuple):
    """Why no placement can exist: even with each class counted alone, too few members have room."""

    fits: dict[PodClass, int]
    """How many copies of each class the ground takes."""
    at_most: int
    """So many members have a place at best..."""
    needed: int
    """...of so many that must have one."""


class Placed(NamedTuple):
    """All that must have a place have one."""

    trial: Trial


class Impossible(NamedTuple):
    """On this ground nobody finds a place for all that must have one."""

    trial: Trial
    """The attempt that came closest."""
    proof: Proof


class NotFound(NamedTuple):
    """No place for all that must have one, which is no proof: members of different shapes compete for the nodes."""

    trial: Trial
    """The attempt that came closest."""
    tried: int
    """In so many ways."""


Answer = Placed | Impossible | NotFound


class Budget:
    """Work that a search may spend, in steps of about a microsecond.

    A search always makes the first, greedy attempt, and nothing more once the budget is spent.
    """

    __slots__ = ("_most", "_told", "spent")

    def __init__(self, most: int | None = None) -> None:
        self._most = most
        self._told = 0
        self.spent = 0

    @property
    def is_spent(self) -> bool:
        return self._most is not None and self.spent >= self._most

    def news(self) -> int:
        """What was spent since this was last asked."""
        before, self._told = self._told, self.spent
        return self.spent - before


def count_bound(wants: Mapping[PodClass, int], fits: dict[PodClass, int], needed: int) -> Proof | None:
    """The proof that so many have no place where so many copies of each class fit; None if counting proves nothing."""
    at_most = sum(min(count, fits[pod_class]) for pod_class, count in wants.items())
    return Proof(fits, at_most, needed) if at_most < needed else None
