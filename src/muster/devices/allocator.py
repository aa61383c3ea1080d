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
from muster.devices.matching import Fit, Matching
from muster.devices.needs import Need
from muster.devices.picks import Pick, Picks, Place, ProblemError
from muster.devices.taken import Taken

MOST_STEPS = 100_000
"""Devices that are tried before a search gives up: a fraction of a second."""


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
    except ProblemError as problem:
        return Refused(problem.words, at=problem.at)
    except _OutOfStepsError:
        lack = _Search(needs, matching, taken, 0).lack(search.furthest, search.reached)
        return Refused(f"no solution within {steps} steps", lack=lack, out_of_steps=True)
    if outcome is _Outcome.FOUND:
        return Found(tuple(search.picks.all), search.picks.taken())
    invalid = any(source.is_invalid for source in matching.sources)
    return Refused(
        "invalid resource pools were encountered" if invalid else "", lack=search.lack(search.furthest, search.reached)
    )


class _Outcome(enum.Enum):
    FOUND = enum.auto()
    FAILED = enum.auto()
    FULL = enum.auto()
    """With the ways that were chosen a claim gets too many devices, whichever they are."""


class _OutOfStepsError(Exception):
    pass


class _Search:
    """One search; used once."""

    def __init__(self, needs: tuple[Need, ...], matching: Matching, taken: tuple[Taken, ...], steps: int) -> None:
        self.picks = Picks(needs, matching, taken)
        self.furthest: Place = (0, 0, 0)
        self.reached = 0
        """Devices that were picked at once for the furthest place."""
        self._needs = needs
        self._matching = matching
        self._left = steps

    # --- before the search ---

    def check(self) -> None:
        """What no choice of devices can mend."""
        for number, need in enumerate(self._needs):
            least = 0
            for request, ways in enumerate(need.requests):
                fewest = min(self._count((number, request, way)) for way in range(len(ways)))
                if fewest > MOST_RESULTS - least:
                    words = f"adding {fewest} devices exceeds the claim limit of {MOST_RESULTS}"
                    raise ProblemError(f"request {ways[0].name}: {words}, with {least} already accounted for")
                least += fewest

    def _count(self, place: Place) -> int:
        ask = self.picks.ask(place)
        if ask.count is not None:
            return ask.count
        for source in self._matching.sources:
            if source.problem:
                raise ProblemError(f"request {ask.name}: asks for all devices, but a resource pool {source.problem}")
        fits = self._fits(place)
        for fit in fits:
            if fit.problem:
                raise ProblemError(fit.problem, fit.at)
        return len(fits)

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
        count = self.picks.ask(place).count
        if count is None:
            return self._all(place)
        return self._some(place, start=0, missing=count)

    def _all(self, place: Place) -> _Outcome:
        fits = self._fits(place)
        if not fits:
            return _Outcome.FAILED
        if self.picks.counts[place[0]] + len(fits) > MOST_RESULTS:
            return _Outcome.FULL
        picked = 0
        for fit in fits:
            self._step()
            if not self.picks.take(place, fit):
                break
            picked += 1
        outcome = self.request(place[0], place[1] + 1) if picked == len(fits) else _Outcome.FAILED
        if outcome is not _Outcome.FOUND:
            for _ in range(picked):
                self.picks.give_back()
        return outcome

    def _some(self, place: Place, *, start: int, missing: int) -> _Outcome:
        """So many devices of those from `start` on."""
        if not missing:
            return self.request(place[0], place[1] + 1)
        if self.picks.counts[place[0]] + missing > MOST_RESULTS:
            return _Outcome.FULL
        fits, twins = self._fits(place), self._matching.twins
        useless: set[int] = set()
        for index in range(start, len(fits) - missing + 1):
            fit = fits[index]
            is_fresh = self.picks.is_fresh(fit.at)
            if is_fresh and twins[fit.at] in useless:
                continue
            self._step()
            if not self.picks.take(place, fit):
                continue
            if place == self.furthest:
                self.reached = max(self.reached, self.picks.number(place))
            outcome = self._some(place, start=index + 1, missing=missing - 1)
            if outcome is _Outcome.FOUND:
                return outcome
            self.picks.give_back()
            if outcome is _Outcome.FULL:
                return outcome
            if is_fresh:
                useless.add(twins[fit.at])
        return _Outcome.FAILED

    def _step(self) -> None:
        if not self._left:
            raise _OutOfStepsError
        self._left -= 1

    # --- what came of it ---

    def lack(self, place: Place, reached: int) -> Lack | None:
        """Of the request at this place; nothing may be picked."""
        if place[0] == len(self._needs) or not self._needs[place[0]].requests:
            return None
        ask, fits = self.picks.ask(place), [fit for fit in self._fits(place) if not fit.problem and not fit.is_barred]
        spots = self._matching.spots
        free = [fit for fit in fits if self.picks.could_have(spots[fit.at], fit, ask)]
        return Lack(
            place[0],
            ask.name,
            len(fits) if ask.count is None else ask.count,
            tuple(fit.at for fit in fits),
            tuple(fit.at for fit in free),
            reached,
        )
