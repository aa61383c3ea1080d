"""Devices that are being chosen for claims, one after the other, and given back in the opposite order."""

from __future__ import annotations

from typing import NamedTuple

from muster.devices.capacity import Parts
from muster.devices.matching import ABSENT, UNKNOWN, Fit, Matching, Spot
from muster.devices.needs import Ask, Need
from muster.devices.taken import Taken

Place = tuple[int, int, int]
"""Need, request, and the way to meet it."""


class Pick(NamedTuple):
    """A device that a request gets."""

    need: int
    request: int
    way: int
    at: int
    """Which device of the matching."""
    parts: Parts | None
    """Of a device that is shared: what is taken of it."""


class ProblemError(Exception):
    """A node cannot be decided on: something is wrong with a device, a pool or a request."""

    def __init__(self, words: str, at: int | None = None) -> None:
        self.words = words
        self.at = at


class Picks:
    """What is picked so far, beside what is taken."""

    def __init__(self, needs: tuple[Need, ...], matching: Matching, taken: tuple[Taken, ...]) -> None:
        self.all: list[Pick] = []
        self.counts = [0] * len(needs)
        """Devices of each need."""
        self._needs = needs
        self._matching = matching
        self._taken = taken
        self._shares = [dict(one.shares) for one in taken]
        self._levels: dict[int, list[int]] = {}
        """What is left of the counters of pools that were asked."""
        self._drawing: list[bool] = []
        """Of each pick, whether it draws on counters."""
        self._holders: dict[int, list[int]] = {}
        """Devices that are picked, and the needs that they are picked for; shared ones are not among them."""
        self._parts: dict[int, list[Parts]] = {}
        """Shared devices that are picked, and what is taken of them."""
        self._values: list[list[list[int]]] = [[[] for _ in need.limits] for need in needs]
        """Of each limit, the values of the devices that were picked under it."""

    def ask(self, place: Place) -> Ask:
        return self._needs[place[0]].requests[place[1]][place[2]]

    def take(self, place: Place, fit: Fit) -> bool:
        """Picks the device if it is free and keeps the limits of its claim."""
        need, ask = place[0], self.ask(place)
        spot = self._matching.spots[fit.at]
        if not self._is_free(spot, fit, None if not ask.is_admin else need):
            return False
        if fit.problem:
            raise ProblemError(fit.problem, fit.at)
        is_drawing = self._is_drawing(spot, fit.at)
        if fit.is_barred or not self._has_room(spot, fit) or (is_drawing and not self._has_counters(spot)):
            return False
        if not all(self._keeps(need, limit, fit.at) for limit in ask.limits):
            return False
        for limit in ask.limits:
            self._values[need][limit].append(self._matching.values[need][limit][fit.at])
        if is_drawing:
            self._draw(spot, 1)
        if spot.is_shared:
            self._parts.setdefault(fit.at, []).append(fit.parts)
        else:
            self._holders.setdefault(fit.at, []).append(need)
        self._drawing.append(is_drawing)
        self.counts[need] += 1
        self.all.append(Pick(*place, fit.at, fit.parts if spot.is_shared else None))
        return True

    def give_back(self) -> None:
        """Undoes the last pick."""
        pick = self.all.pop()
        spot = self._matching.spots[pick.at]
        self.counts[pick.need] -= 1
        if self._drawing.pop():
            self._draw(spot, -1)
        users: dict[int, list[Parts]] | dict[int, list[int]] = self._parts if spot.is_shared else self._holders
        users[pick.at].pop()
        if not users[pick.at]:
            del users[pick.at]
        for limit in self.ask(pick[:3]).limits:
            self._values[pick.need][limit].pop()

    def _is_free(self, spot: Spot, fit: Fit, admin_of: int | None) -> bool:
        """For administration a device may be had that others use, but once for each claim."""
        if admin_of is not None:
            return admin_of not in self._holders.get(fit.at, ())
        return spot.name not in self._taken[spot.pool].devices and fit.at not in self._holders

    def _has_room(self, spot: Spot, fit: Fit) -> bool:
        shares = self._shares[spot.pool].get(spot.name)
        if shares is None and not spot.is_shared:
            return True
        used = dict(fit.parts)
        for parts in (*(() if shares is None else (shares.parts,)), *self._parts.get(fit.at, ())):
            for name, amount in parts:
                used[name] = used.get(name, 0) + amount
        return all(used[name] <= room for name, room in spot.room)

    def _is_drawing(self, spot: Spot, at: int) -> bool:
        """Whether the device draws on counters: shared ones do once, whoever shares them."""
        if not spot.draws:
            return False
        return not (spot.is_shared and (at in self._parts or spot.name in self._shares[spot.pool]))

    def _has_counters(self, spot: Spot) -> bool:
        """Whether no counter of the pool falls below zero, those that the device leaves alone included."""
        return all(left >= drawn for left, drawn in zip(self._left_in(spot.pool), spot.draws, strict=True))

    def _left_in(self, pool: int) -> list[int]:
        levels = self._levels.get(pool)
        if levels is None:
            source, taken = self._matching.sources[pool], self._taken[pool]
            levels = self._levels[pool] = list(source.counters)
            seen = ((spot.name, spot.draws) for spot in self._matching.spots if spot.pool == pool)
            for name, draws in (*seen, *source.hidden):
                if draws and taken.uses(name):
                    levels[:] = [left - drawn for left, drawn in zip(levels, draws, strict=True)]
        return levels

    def _draw(self, spot: Spot, sign: int) -> None:
        levels = self._left_in(spot.pool)
        levels[:] = [left - sign * drawn for left, drawn in zip(levels, spot.draws, strict=True)]

    def _keeps(self, need: int, limit: int, at: int) -> bool:
        value, others = self._matching.values[need][limit][at], self._values[need][limit]
        if value == ABSENT or (value == UNKNOWN and others):
            return False
        if self._needs[need].limits[limit].is_distinct:
            return value not in others
        return not others or others[0] == value

    def taken(self) -> tuple[Taken, ...]:
        """With what is picked."""
        taken = list(self._taken)
        for pick in self.all:
            if not self.ask(pick[:3]).is_admin:
                spot = self._matching.spots[pick.at]
                taken[spot.pool] = taken[spot.pool].taking(spot.name, pick.parts)
        return tuple(taken)

    def number(self, place: Place) -> int:
        return sum(pick[:3] == place for pick in self.all)

    def is_fresh(self, at: int) -> bool:
        """Whether nobody uses the device in any way."""
        spot = self._matching.spots[at]
        return (
            at not in self._holders
            and spot.name not in self._taken[spot.pool].devices
            and spot.name not in self._shares[spot.pool]
        )

    def could_have(self, spot: Spot, fit: Fit, ask: Ask) -> bool:
        is_free = ask.is_admin or spot.name not in self._taken[spot.pool].devices
        has_counters = not self._is_drawing(spot, fit.at) or self._has_counters(spot)
        return is_free and self._has_room(spot, fit) and has_counters
