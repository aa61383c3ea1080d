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


def fault(rule, *needs):
    def file(plant):
        assert plant.__name__ not in FAULTS
        FAULTS[plant.__name__] = Fault(rule, frozenset(needs), plant)
        return plant

    return file
