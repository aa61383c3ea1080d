"""A search for devices that meet all claims of a pod at once, on one node.

    claims in the pod's order → requests → ways to meet one, best first → devices in the order of the supply

Depth first, and back wherever it does not go on; the first solution is taken, and if there is one it is found unless
the steps run out.  Of one request only sets of devices are tried, not their orders.  It is what kube-scheduler finds,
but for what ends the whole attempt there, an error of one device or one node: here that node is refused and says why.
"""

from __future__ import annotations

import enum
from typing import NamedTuple

import msgspec

from muster.api.devices import MOST_RESULTS
from muster.devices.capacity import Parts
from muster.devices.matching import ABSENT, UNKNOWN, Fit, Matching, Spot
from muster.devices.needs import Ask, Need
from muster.devices.taken import Taken

MOST_STEPS = 100_000
"""Devices that are tried before a search gives up: a fraction of a second."""


class Pick(NamedTuple):
    """A device that a request gets."""

    need: int
    request: int
    way: int
    at: int
    """Which device of the matching."""
    parts: Parts | None
    """Of a device that is shared: what is taken of it."""


class Found(msgspec.Struct, frozen=True, eq=False):
    picks: tuple[Pick, ...]
    """Claim by claim, request by request."""
    taken: tuple[Taken, ...]
    """Of each pool, with these."""


class Lack(NamedTuple):
    """A request that got furthest without being met: "needs 4 gpus, 2 are free, 5 are taken"."""

    need: int
    request: str
    wanted: int
    """Devices that it asks for."""
    matching: tuple[int, ...]
    """Devices that would do, by their places in the matching, free or not."""
    free: tuple[int, ...]
    """Those of them that could be taken if the pod asked for nothing else."""
    reached: int
    """How many it had at once: of those that are free no more go together."""


class Refused(msgspec.Struct, frozen=True, eq=False):
    """There is no solution, or none was found."""

    problem: str
    """What is wrong with a device, a pool or a request; "" if there is just not enough."""
    at: int | None = None
    """The device that has the problem."""
    lack: Lack | None = None
    out_of_steps: bool = False
    """There may be one."""


def allocate(
    needs: tuple[Need, ...], matching: Matching, taken: tuple[Taken, ...], *, steps: int = MOST_STEPS
) -> Found | Refused:
    """Devices for all needs beside what is taken of each pool, or why there are none.

    The answer depends on nothing but what is given.
    """
    search = _Search(needs, matching, taken, steps)
    try:
        search.check()
        outcome = search.request(0, 0)
    except _ProblemError as problem:
        return Refused(problem.words, at=problem.at)
    except _OutOfStepsError:
        lack = _Search(needs, matching, taken, 0).lack(search.furthest, search.reached)
        return Refused(f"no solution within {steps} steps", lack=lack, out_of_steps=True)
    if outcome is _Outcome.FOUND:
        return Found(tuple(search.picks), search.taken_now())
    invalid = any(source.is_invalid for source in matching.sources)
    return Refused(
        "invalid resource pools were encountered" if invalid else "", lack=search.lack(search.furthest, search.reached)
    )


class _Outcome(enum.Enum):
    FOUND = enum.auto()
    FAILED = enum.auto()
    FULL = enum.auto()
    """With the ways that were chosen a claim gets too many devices, whichever they are."""


class _ProblemError(Exception):
    def __init__(self, words: str, at: int | None = None) -> None:
        self.words = words
        self.at = at


class _OutOfStepsError(Exception):
    pass


Place = tuple[int, int, int]
"""Need, request, and the way to meet it."""


class _Search:
    """One search; used once."""

    def __init__(self, needs: tuple[Need, ...], matching: Matching, taken: tuple[Taken, ...], steps: int) -> None:
        self.picks: list[Pick] = []
        self.furthest: Place = (0, 0, 0)
        self.reached = 0
        """Devices that were picked at once for the furthest place."""
        self._needs = needs
        self._matching = matching
        self._taken = taken
        self._left = steps
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
        self._counts = [0] * len(needs)

    # --- before the search ---

    def check(self) -> None:
        """What no choice of devices can mend."""
        for number, need in enumerate(self._needs):
            least = 0
            for request, ways in enumerate(need.requests):
                fewest = min(self._count((number, request, way)) for way in range(len(ways)))
                if fewest > MOST_RESULTS - least:
                    words = f"adding {fewest} devices exceeds the claim limit of {MOST_RESULTS}"
                    raise _ProblemError(f"request {ways[0].name}: {words}, with {least} already accounted for")
                least += fewest

    def _count(self, place: Place) -> int:
        ask = self._ask(place)
        if ask.count is not None:
            return ask.count
        for source in self._matching.sources:
            if source.problem:
                raise _ProblemError(f"request {ask.name}: asks for all devices, but a resource pool {source.problem}")
        fits = self._fits(place)
        for fit in fits:
            if fit.problem:
                raise _ProblemError(fit.problem, fit.at)
        return len(fits)

    def _ask(self, place: Place) -> Ask:
        return self._needs[place[0]].requests[place[1]][place[2]]

    def _fits(self, place: Place) -> tuple[Fit, ...]:
        return self._matching.fits[place[0]][place[1]][place[2]]

    # --- the search ---

    def request(self, need: int, request: int) -> _Outcome:
        """From this request on."""
        if need == len(self._needs):
            return _Outcome.FOUND
        requests = self._needs[need].requests
        if request == len(requests):
            # the next claim has room of its own, and may do with less if this one chooses otherwise
            outcome = self.request(need + 1, 0)
            return _Outcome.FAILED if outcome is _Outcome.FULL else outcome
        so_far = _Outcome.FULL
        for way in range(len(requests[request])):
            outcome = self._way((need, request, way))
            if outcome is _Outcome.FOUND:
                return outcome
            if outcome is _Outcome.FAILED:
                so_far = outcome
        return so_far

    def _way(self, place: Place) -> _Outcome:
        if place > self.furthest:
            self.furthest, self.reached = place, 0
        count = self._ask(place).count
        if count is None:
            return self._all(place)
        return self._some(place, start=0, missing=count)

    def _all(self, place: Place) -> _Outcome:
        fits = self._fits(place)
        if not fits:
            return _Outcome.FAILED
        if self._counts[place[0]] + len(fits) > MOST_RESULTS:
            return _Outcome.FULL
        picked = 0
        for fit in fits:
            self._step()
            if not self._take(place, fit):
                break
            picked += 1
        outcome = self.request(place[0], place[1] + 1) if picked == len(fits) else _Outcome.FAILED
        if outcome is not _Outcome.FOUND:
            for _ in range(picked):
                self._give_back()
        return outcome

    def _some(self, place: Place, *, start: int, missing: int) -> _Outcome:
        """So many devices of those from `start` on."""
        if not missing:
            return self.request(place[0], place[1] + 1)
        if self._counts[place[0]] + missing > MOST_RESULTS:
            return _Outcome.FULL
        fits, twins = self._fits(place), self._matching.twins
        useless: set[int] = set()
        for index in range(start, len(fits) - missing + 1):
            fit = fits[index]
            is_fresh = self._is_fresh(fit.at)
            if is_fresh and twins[fit.at] in useless:
                continue
            self._step()
            if not self._take(place, fit):
                continue
            if place == self.furthest:
                self.reached = max(self.reached, self._picked(place))
            outcome = self._some(place, start=index + 1, missing=missing - 1)
            if outcome is _Outcome.FOUND:
                return outcome
            self._give_back()
            if outcome is _Outcome.FULL:
                return outcome
            if is_fresh:
                useless.add(twins[fit.at])
        return _Outcome.FAILED

    def _picked(self, place: Place) -> int:
        return sum(pick[:3] == place for pick in self.picks)

    def _step(self) -> None:
        if not self._left:
            raise _OutOfStepsError
        self._left -= 1

    def _is_fresh(self, at: int) -> bool:
        """Whether nobody uses the device in any way."""
        spot = self._matching.spots[at]
        return (
            at not in self._holders
            and spot.name not in self._taken[spot.pool].devices
            and spot.name not in self._shares[spot.pool]
        )

    # --- one device ---

    def _take(self, place: Place, fit: Fit) -> bool:
        """Picks the device if it is free and keeps the limits of its claim."""
        need, ask = place[0], self._ask(place)
        spot = self._matching.spots[fit.at]
        if not self._is_free(spot, fit, None if not ask.is_admin else need):
            return False
        if fit.problem:
            raise _ProblemError(fit.problem, fit.at)
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
        self._counts[need] += 1
        self.picks.append(Pick(*place, fit.at, fit.parts if spot.is_shared else None))
        return True

    def _give_back(self) -> None:
        """Undoes the last pick."""
        pick = self.picks.pop()
        spot = self._matching.spots[pick.at]
        self._counts[pick.need] -= 1
        if self._drawing.pop():
            self._draw(spot, -1)
        users: dict[int, list[Parts]] | dict[int, list[int]] = self._parts if spot.is_shared else self._holders
        users[pick.at].pop()
        if not users[pick.at]:
            del users[pick.at]
        for limit in self._ask(pick[:3]).limits:
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

    # --- what came of it ---

    def taken_now(self) -> tuple[Taken, ...]:
        """With what is picked."""
        taken = list(self._taken)
        for pick in self.picks:
            if not self._ask(pick[:3]).is_admin:
                spot = self._matching.spots[pick.at]
                taken[spot.pool] = taken[spot.pool].taking(spot.name, pick.parts)
        return tuple(taken)

    def lack(self, place: Place, reached: int) -> Lack | None:
        """Of the request at this place; nothing may be picked."""
        if place[0] == len(self._needs) or not self._needs[place[0]].requests:
            return None
        ask, fits = self._ask(place), [fit for fit in self._fits(place) if not fit.problem and not fit.is_barred]
        spots = self._matching.spots
        free = [fit for fit in fits if self._could_have(spots[fit.at], fit, ask)]
        return Lack(
            place[0],
            ask.name,
            len(fits) if ask.count is None else ask.count,
            tuple(fit.at for fit in fits),
            tuple(fit.at for fit in free),
            reached,
        )

    def _could_have(self, spot: Spot, fit: Fit, ask: Ask) -> bool:
        is_free = ask.is_admin or spot.name not in self._taken[spot.pool].devices
        has_counters = not self._is_drawing(spot, fit.at) or self._has_counters(spot)
        return is_free and self._has_room(spot, fit) and has_counters
