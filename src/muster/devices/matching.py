"""Which devices of a node fit which request: all that a search needs to know, and nothing else.

Serial numbers tell every device of a cluster from every other, and mostly nobody asks for them: nodes whose devices
differ in nothing that matters to a pod have one Matching.
"""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakValueDictionary

import msgspec

from muster.api.devices import DeviceTaint, DeviceToleration
from muster.devices.capacity import Parts, Unfit, parts_taken
from muster.devices.facts import Facts
from muster.devices.inventory import Supply
from muster.devices.needs import Ask, Limit, Need
from muster.devices.pools import Pool

Levels = tuple[int, ...]
"""Amounts of the counters of a pool, in their order."""


class Fit(NamedTuple):
    """A device that meets an ask, or might."""

    at: int
    """Which device of the matching."""
    parts: Parts
    """What the ask takes of its capacities."""
    is_barred: bool
    """It has a taint that the ask does not tolerate."""
    problem: str
    """Nobody knows whether it does: what is wrong."""


class Spot(NamedTuple):
    """A device, as far as it matters."""

    pool: int
    name: str
    is_shared: bool
    room: Parts
    draws: Levels
    """Of the counters of its pool; empty if it draws on none."""


class Source(NamedTuple):
    """A pool, as far as it matters."""

    counters: Levels
    hidden: tuple[tuple[str, Levels], ...]
    problem: str
    is_invalid: bool


class Matching(msgspec.Struct, frozen=True, eq=False, weakref=True):
    """The devices that some pod's needs and some node's supply come down to; equal only to itself, and shared."""

    spots: tuple[Spot, ...]
    sources: tuple[Source, ...]
    fits: tuple[tuple[tuple[tuple[Fit, ...], ...], ...], ...]
    """Of each need, each request, each way to meet it: the devices, in the order in which they are tried."""
    values: tuple[tuple[tuple[int, ...], ...], ...]
    """Of each need and each limit: equal numbers for devices with equal values, ABSENT for those without."""
    twins: tuple[int, ...]
    """Equal numbers for devices that nothing tells apart: where one is of no use, the other is not either."""


ABSENT, UNKNOWN = -1, -2
"""No value, or one that cannot be compared."""

_known: WeakValueDictionary[tuple[object, ...], Matching] = WeakValueDictionary()


def match(needs: tuple[Need, ...], supply: Supply) -> Matching:
    """The same for all needs and supplies that come down to the same."""
    spots = tuple(_spots(supply))
    facts = [one.facts for pool in supply.pools for one in pool.devices]
    sources = tuple(_source(pool) for pool in supply.pools)
    fits = tuple(tuple(tuple(_fits(ask, spots, facts) for ask in ways) for ways in need.requests) for need in needs)
    values = tuple(tuple(_values(limit, facts) for limit in need.limits) for need in needs)
    shapes = tuple(
        (ask.name, ask.count, ask.is_admin, ask.limits) for need in needs for ways in need.requests for ask in ways
    )
    key = (spots, sources, fits, values, shapes, tuple(need.limits for need in needs))
    found = _known.get(key)
    if found is None:
        found = _known[key] = Matching(spots, sources, fits, values, _twins(spots, fits, values))
    return found


def _spots(supply: Supply) -> list[Spot]:
    found = []
    for number, pool in enumerate(supply.pools):
        order = [counter for counter, _ in pool.counters]
        for device in pool.devices:
            facts = device.facts
            room = tuple((one.name, one.value) for one in facts.capacity)
            found.append(Spot(number, device.name, facts.is_shared, room, _levels(facts.draws, order)))
    return found


def _source(pool: Pool) -> Source:
    order = [counter for counter, _ in pool.counters]
    return Source(
        tuple(amount for _, amount in pool.counters),
        tuple((name, _levels(draws, order)) for name, draws in pool.hidden),
        pool.problem,
        pool.is_invalid,
    )


def _levels(draws: tuple[tuple[tuple[str, str], int], ...], order: list[tuple[str, str]]) -> Levels:
    if not draws:
        return ()
    amounts: dict[tuple[str, str], int] = {}
    for counter, amount in draws:
        amounts[counter] = amounts.get(counter, 0) + amount
    return tuple(amounts.get(counter, 0) for counter in order)


def _fits(ask: Ask, spots: tuple[Spot, ...], facts: list[Facts]) -> tuple[Fit, ...]:
    found = []
    for at, one in enumerate(facts):
        fit = _fit(ask, at, one)
        if fit is not None:
            found.append(fit)
    return tuple(found)


def would_fit(ask: Ask, facts: Facts) -> bool:
    """Whether a device like this, if it is free, might do."""
    return _fit(ask, 0, facts) is not None


def _fit(ask: Ask, at: int, facts: Facts) -> Fit | None:
    for criterion in ask.criteria:
        answer = criterion.selector.matches(facts)
        if answer is False:
            return None
        if answer is not True:
            return Fit(at, (), is_barred=False, problem=f"{criterion.where}: {answer}")
    parts = parts_taken(ask.capacity, facts.capacity)
    if isinstance(parts, Unfit):
        return Fit(at, (), is_barred=False, problem=f"request {ask.name}: {parts.problem}") if parts.problem else None
    is_barred = not all(_is_tolerated(taint, ask.tolerations) for taint in facts.taints)
    if is_barred and ask.count is not None:
        return None
    return Fit(at, parts, is_barred, "")


def _is_tolerated(taint: DeviceTaint, tolerations: tuple[DeviceToleration, ...]) -> bool:
    return any(
        one.effect in ("", taint.effect)
        and one.key in ("", taint.key)
        and (one.operator == "Exists" or (one.operator in ("", "Equal") and one.value == taint.value))
        for one in tolerations
    )


def _values(limit: Limit, facts: list[Facts]) -> tuple[int, ...]:
    numbers: dict[tuple[str, object], int] = {}
    found = []
    for one in facts:
        value = one.value(limit.attribute)
        if value is None:
            found.append(ABSENT)
        else:
            found.append(numbers.setdefault(value, len(numbers)) if value[0] else UNKNOWN)
    return tuple(found)


def _twins(
    spots: tuple[Spot, ...],
    fits: tuple[tuple[tuple[tuple[Fit, ...], ...], ...], ...],
    values: tuple[tuple[tuple[int, ...], ...], ...],
) -> tuple[int, ...]:
    marks: list[list[object]] = [[spot._replace(name="")] for spot in spots]
    for place, way in enumerate(way for need in fits for ways in need for way in ways):
        for fit in way:
            marks[fit.at].append((place, fit[1:]))
    for row in (row for need in values for row in need):
        for at, value in enumerate(row):
            marks[at].append(value)
    numbers: dict[tuple[object, ...], int] = {}
    # each share of a device leaves less of it: only whole devices are twins
    return tuple(
        at + len(spots) if spots[at].is_shared else numbers.setdefault(tuple(mark), len(numbers))
        for at, mark in enumerate(marks)
    )
