"""What a search answers: a placement, a proof that there is none, or neither."""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd
from typing import NamedTuple

import numpy as np

from muster.cluster.classes import PodClass
from muster.cluster.usage import Ints
from muster.engine.cycle import Trial


class TooFew(NamedTuple):
    """Why no placement can exist: even with each class counted alone, too few members have room."""

    fits: dict[PodClass, int]
    """How many copies of each class the ground takes."""
    at_most: int
    """So many members have a place at best..."""
    needed: int
    """...of so many that must have one."""


class TooLittle(NamedTuple):
    """Why no placement can exist: together the members need more of a resource than the nodes can give them."""

    resource: int
    at_most: int
    """So much of it..."""
    needed: int
    """...of so much that the smallest of them need."""


Proof = TooFew | TooLittle


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


def prove(wants: Mapping[PodClass, int], needed: int, copies: Mapping[PodClass, Ints], free: Ints) -> Proof | None:
    """The proof that `needed` of these members have no place; None if nothing is proven.

    `copies` says how many of each class every row takes alone, `free` what room there is: (resources × rows).
    """
    too_few = count_bound(wants, {pod_class: int(there.sum()) for pod_class, there in copies.items()}, needed)
    if too_few is not None or len(wants) < 2:
        return too_few
    return weight_bound(wants, needed, copies, free)


def count_bound(wants: Mapping[PodClass, int], fits: dict[PodClass, int], needed: int) -> TooFew | None:
    """Each class counted alone."""
    at_most = sum(min(count, fits[pod_class]) for pod_class, count in wants.items())
    return TooFew(fits, at_most, needed) if at_most < needed else None


def weight_bound(
    wants: Mapping[PodClass, int], needed: int, copies: Mapping[PodClass, Ints], free: Ints
) -> TooLittle | None:
    """Each resource weighed alone: a row gives no more than it has, rounded down to what any mix can take of it."""
    for resource in sorted({resource for pod_class in wants for resource, _ in pod_class.room}):
        amounts = {pod_class: dict(pod_class.room).get(resource, 0) for pod_class in wants}
        step = gcd(*amounts.values())
        if not step:
            continue
        room = np.maximum(free[resource], 0) // step * step
        could_take = np.zeros_like(room)
        for pod_class, amount in amounts.items():
            # cut each time: what a thousand shapes could take of petabytes is more than 64 bits count
            could_take = np.minimum(could_take + copies[pod_class] * amount, room)
        (at_most,) = totals(could_take[None])
        least, left = 0, needed
        for pod_class in sorted(wants, key=amounts.__getitem__):
            some = min(left, wants[pod_class])
            least, left = least + some * amounts[pod_class], left - some
        if at_most < least:
            return TooLittle(resource, at_most, least)
    return None


def totals(amounts: Ints) -> list[int]:
    """The exact sums over nodes, by halves: a thousand of them with petabytes each are more than 64 bits count."""
    high, low = (amounts >> 32).sum(axis=1).tolist(), (amounts & 0xFFFFFFFF).sum(axis=1).tolist()
    return [(upper << 32) + lower for upper, lower in zip(high, low, strict=True)]
