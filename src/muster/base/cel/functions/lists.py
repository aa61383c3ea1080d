"""Functions of lists, of lists as sets, and of values that may not be there."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from muster.base.cel.functions.define import define
from muster.base.cel.syntax import Uint
from muster.base.cel.values import (
    NONE,
    Duration,
    Meter,
    Optional,
    duration,
    equal,
    has,
    integer,
    kind,
    unsigned,
)
from muster.base.errors import CelError

_ORDERED = ("int", "uint", "double", "bool", "string", "bytes", "timestamp", "duration")


def _of(result: str, kinds: tuple[str, ...] = _ORDERED) -> tuple[str, ...]:
    return tuple(f"list({one}).() {result.replace('T', one)}" for one in kinds)


@define("isSorted", *_of("bool"))
def _is_sorted(items: list[Any]) -> bool:
    return all(_ordered(one, two) for one, two in pairwise(items))


def _ordered(one: Any, other: Any) -> bool:
    if kind(one) != kind(other):
        raise CelError("no such overload")
    return bool(one <= other)


@define("sum", "list(int).() int", "list(uint).() uint", "list(double).() double", "list(duration).() duration")
def _sum(items: list[Any]) -> Any:
    match items[:1]:
        case [Duration()]:
            return duration(sum(one.nanos for one in items))
        case [float()]:
            return float(sum(items))
        case [Uint()]:
            return unsigned(sum(items))
    return integer(sum(items))


def _extreme(name: str, choose: Callable[..., Any]) -> Callable[[list[Any]], Any]:
    def run(items: list[Any]) -> Any:
        if not items:
            raise CelError(f"{name} called on empty list")
        if any(kind(one) != kind(items[0]) for one in items):
            raise CelError("no such overload")
        return choose(items)

    return run


define("min", *_of("T"))(_extreme("min", min))
define("max", *_of("T"))(_extreme("max", max))


@define("indexOf", "list(A).(A) int", metered=True)
def _first_index(meter: Meter, items: list[Any], wanted: Any) -> int:
    return next((index for index, item in enumerate(items) if equal(item, wanted, meter)), -1)


@define("lastIndexOf", "list(A).(A) int", metered=True)
def _last_index(meter: Meter, items: list[Any], wanted: Any) -> int:
    return next((index for index in range(len(items) - 1, -1, -1) if equal(items[index], wanted, meter)), -1)


@define("distinct", "list(A).() list(A)", metered=True)
def _distinct(meter: Meter, items: list[Any]) -> list[Any]:
    found: list[Any] = []
    for item in items:
        if not has(found, item, meter):
            found.append(item)
    return found


@define("sort", *_of("list(T)"))
def _sort(items: list[Any]) -> list[Any]:
    if any(kind(one) != kind(items[0]) for one in items):
        raise CelError("list elements must have the same type")
    return sorted(items)


define("@sortByAssociatedKeys", "(list(A), list(B)) list(A)")(
    lambda items, keys: [items[n] for n in sorted(range(len(items)), key=lambda n: keys[n])] if _sort(keys) else []
)
define("reverse", "list(A).() list(A)")(lambda items: list(reversed(items)))


@define("slice", "list(A).(int, int) list(A)")
def _slice(items: list[Any], start: int, end: int) -> list[Any]:
    if not 0 <= start <= end <= len(items):
        raise CelError(f"cannot slice({start}, {end}), list is length {len(items)}")
    return items[start:end]


define("first", "list(A).() optional(A)")(lambda items: Optional((items[0],)) if items else NONE)
define("last", "list(A).() optional(A)")(lambda items: Optional((items[-1],)) if items else NONE)


@define("flatten", "list(list(A)).() list(A)", metered=True)
def _flatten(meter: Meter, items: list[Any]) -> list[Any]:
    found: list[Any] = []
    for item in items:
        meter.spend(1 + (len(item) if isinstance(item, list) else 0))
        found += item if isinstance(item, list) else [item]
    return found


@define("lists.range", "(int) list(int)", metered=True)
def _range(meter: Meter, count: int) -> list[int]:
    meter.spend(1 + max(0, count))
    return list(range(count))


@define("includes", "dyn.(dyn) bool", metered=True)
def _includes(meter: Meter, given: Any, wanted: Any) -> bool:
    """Of a list, or of one value as if it were a list of one."""
    return has(given, wanted, meter) if isinstance(given, list) else equal(given, wanted, meter)


@define("sets.contains", "(list(A), list(A)) bool", metered=True)
def _contains_all(meter: Meter, items: list[Any], wanted: list[Any]) -> bool:
    return all(has(items, one, meter) for one in wanted)


@define("sets.equivalent", "(list(A), list(A)) bool", metered=True)
def _equivalent(meter: Meter, one: list[Any], other: list[Any]) -> bool:
    return all(has(one, item, meter) for item in other) and all(has(other, item, meter) for item in one)


@define("sets.intersects", "(list(A), list(A)) bool", metered=True)
def _intersects(meter: Meter, one: list[Any], other: list[Any]) -> bool:
    return any(has(other, item, meter) for item in one)


# --- optional values ---

define("optional.of", "(A) optional(A)")(lambda given: Optional((given,)))
define("optional.none", "() optional(A)")(lambda: NONE)
_ZEROS: tuple[Any, ...] = (0, "", b"", [], {}, None, Duration(0))


@define("optional.ofNonZeroValue", "(A) optional(A)")
def _of_non_zero(given: Any) -> Optional:
    return NONE if any(given == zero for zero in _ZEROS) else Optional((given,))


define("hasValue", "optional(A).() bool")(lambda given: bool(given.values))
define("or", "optional(A).(optional(A)) optional(A)")(lambda given, other: given if given.values else other)
define("orValue", "optional(A).(A) A")(lambda given, other: given.values[0] if given.values else other)


@define("value", "optional(A).() A")
def _inside(given: Optional) -> Any:
    if not given.values:
        raise CelError("optional.none() dereference")
    return given.values[0]
