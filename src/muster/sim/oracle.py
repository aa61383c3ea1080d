"""Brute force: how many pods fit together, by trying everything.  For small worlds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from math import prod

from muster.sim.plain import Needs, Place, fits, take

# beyond this a search is not worth its time; small worlds stay far below
_MOST_STATES = 20_000


def most_placed(wanted: Mapping[Needs, int], places: Iterable[tuple[Place, Iterable[Needs]]]) -> int | None:
    """The most pods of `wanted` that go on `places` together; None if the search would take too long.

    Each place comes with the needs that its node admits.  A complete search: for every place, every
    combination of pods that it takes; what is left after a place is all that the next one has to know.
    """
    kinds = list(wanted)
    if len(kinds) == 1:
        only, most = kinds[0], wanted[kinds[0]]
        return min(most, sum(copies(only, place, most) for place, ok in places if only in ok))
    best = {tuple(wanted.values()): 0}
    for place, ok in places:
        admitted = set(ok)
        limits = [copies(kind, place, wanted[kind]) if kind in admitted else 0 for kind in kinds]
        if prod(limit + 1 for limit in limits) * len(best) > _MOST_STATES:
            return None
        choices = [c for c in product(*(range(limit + 1) for limit in limits)) if _together(kinds, c, place)]
        after: dict[tuple[int, ...], int] = {}
        for left, placed in best.items():
            for choice in choices:
                rest = tuple(have - used for have, used in zip(left, choice, strict=True))
                if min(rest) >= 0:
                    after[rest] = max(after.get(rest, 0), placed + sum(choice))
        best = after
    return max(best.values())


def _together(kinds: list[Needs], counts: tuple[int, ...], place: Place) -> bool:
    trial = Place(dict(place.room), list(place.ports))
    for kind, count in zip(kinds, counts, strict=True):
        for _ in range(count):
            if not fits(kind, trial):
                return False
            take(kind, trial)
    return True


def copies(needs: Needs, place: Place, most: int) -> int:
    """How many pods with these needs the place takes, at most `most`."""
    if not fits(needs, place):
        return 0
    if needs.ports:
        return min(1, most)
    return min([most, *(place.room.get(name, 0) // count for name, count in needs.requests)])
