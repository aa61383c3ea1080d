"""How well a choice fits: of each class what is asked for against what is there, by a curve."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from muster.volumes.choice import Choice
from muster.volumes.needs import Ask

Shape = tuple[tuple[int, int], ...]
"""Points of a curve: per cent in use, and what that is worth from 0 to 10."""

DEFAULT_SHAPE: Shape = ((0, 10), (100, 0))
"""Room is worth more than a tight fit."""
_STEP = 10


def score(asks: Sequence[Ask], choice: Choice, shape: Shape = DEFAULT_SHAPE) -> int:
    """From 0 to 100, the mean over classes; 0 where nothing is told.  Volumes to be made count only where all are."""
    amounts = _existing(asks, choice) if choice.bound else _to_come(asks, choice)
    if not amounts:
        return 0
    worth = [_worth(asked, there, shape) for asked, there in amounts.values()]
    # half a point goes up, as Go rounds
    return (2 * sum(worth) + len(worth)) // (2 * len(worth))


def _existing(asks: Sequence[Ask], choice: Choice) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for each in choice.bound:
        asked, there = found.get(each.offer.storage_class, (0, 0))
        more = asks[each.ask].request_bytes or 0
        found[each.offer.storage_class] = asked + more, there + each.offer.capacity_bytes
    return found


def _to_come(asks: Sequence[Ask], choice: Choice) -> dict[str, tuple[int, int]]:
    """What a pool holds counts once, however many volumes come out of it."""
    found: dict[str, tuple[int, int]] = {}
    for each in choice.made:
        if each.pool is not None and each.pool.capacity_bytes is not None:
            ask = asks[each.ask]
            asked, _ = found.get(ask.storage_class, (0, 0))
            found[ask.storage_class] = asked + (ask.request_bytes or 0), each.pool.capacity_bytes
    return found


def _worth(asked: int, there: int, shape: Shape) -> int:
    used = 100 if there == 0 or asked > there else asked * 100 // there
    points = [(at, value * _STEP) for at, value in shape]
    if used < points[0][0]:
        return points[0][1]
    for (left, low), (right, high) in pairwise(points):
        if used <= right:
            # towards zero, as Go divides
            rise = (high - low) * (used - left)
            return low + (rise // (right - left) if rise >= 0 else -(-rise // (right - left)))
    return points[-1][1]
