"""Where faults are filed."""

from collections.abc import Callable
from typing import NamedTuple

FAULTS = {}


class Fault(NamedTuple):
    rule: str
    """The rule that must catch it."""
    needs: frozenset[str]
    """Troubles without which a world cannot show it, or seldom does."""
    plant: Callable
    first: int
    """The world to begin with: few show the fault, and this one did."""


def fault(rule, *needs, first=0):
    def file(plant):
        assert plant.__name__ not in FAULTS
        FAULTS[plant.__name__] = Fault(rule, frozenset(needs), plant, first)
        return plant

    return file
