"""Operators: comparing, counting, looking into lists and maps."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import msgspec

from muster.base.cel.functions.define import define
from muster.base.cel.syntax import Uint
from muster.base.cel.values import (
    NONE,
    Domains,
    Meter,
    Optional,
    added,
    duration,
    equal,
    has,
    integer,
    kind,
    timestamp,
    unsigned,
)
from muster.base.errors import CelError

_SIGNS = {"_<_": operator.lt, "_<=_": operator.le, "_>_": operator.gt, "_>=_": operator.ge}
_NUMBERS = ("int", "uint", "double")
for _sign, _compare in _SIGNS.items():
    _alike = [f"({one}, {one}) bool" for one in ("bool", "string", "bytes", "timestamp", "duration")]
    define(_sign, *_alike, *(f"({one}, {two}) bool" for one in _NUMBERS for two in _NUMBERS))(_compare)


@define("_==_", "(A, A) bool", metered=True)
def _equal(meter: Meter, one: Any, other: Any) -> bool:
    return equal(one, other, meter)


@define("_!=_", "(A, A) bool", metered=True)
def _different(meter: Meter, one: Any, other: Any) -> bool:
    return not equal(one, other, meter)


define("_+_", "(int, int) int")(lambda one, other: integer(one + other))
define("_+_", "(uint, uint) uint")(lambda one, other: unsigned(one + other))
define("_+_", "(double, double) double")(operator.add)
define("_+_", "(string, string) string", "(bytes, bytes) bytes")(operator.add)
define("_+_", "(list(A), list(A)) list(A)", metered=True)(lambda meter, one, other: added(one, other, meter))
define("_+_", "(timestamp, duration) timestamp", "(duration, timestamp) timestamp")(
    lambda one, other: timestamp(one.nanos + other.nanos)
)
define("_+_", "(duration, duration) duration")(lambda one, other: duration(one.nanos + other.nanos))
define("_-_", "(int, int) int")(lambda one, other: integer(one - other))
define("_-_", "(uint, uint) uint")(lambda one, other: unsigned(one - other))
define("_-_", "(double, double) double")(operator.sub)
define("_-_", "(timestamp, timestamp) duration", "(duration, duration) duration")(
    lambda one, other: duration(one.nanos - other.nanos)
)
define("_-_", "(timestamp, duration) timestamp")(lambda one, other: timestamp(one.nanos - other.nanos))
define("_*_", "(int, int) int")(lambda one, other: integer(one * other))
define("_*_", "(uint, uint) uint")(lambda one, other: unsigned(one * other))
define("_*_", "(double, double) double")(operator.mul)
define("-_", "(int) int")(lambda one: integer(-one))
define("-_", "(double) double")(operator.neg)
define("!_", "(bool) bool")(operator.not_)


@define("_/_", "(int, int) int", "(uint, uint) uint")
def _divided(one: int, other: int) -> int:
    if other == 0:
        raise CelError("division by zero")
    whole = abs(one) // abs(other)
    return unsigned(whole) if isinstance(one, Uint) else integer(whole if (one < 0) == (other < 0) else -whole)


@define("_/_", "(double, double) double")
def _quotient(one: float, other: float) -> float:
    if other == 0:
        nan = one == 0 or math.isnan(one)
        return math.nan if nan else math.copysign(math.inf, one) * math.copysign(1, other)
    return one / other


@define("_%_", "(int, int) int", "(uint, uint) uint")
def _remainder(one: int, other: int) -> int:
    if other == 0:
        raise CelError("modulus by zero")
    rest = abs(one) % abs(other)
    return unsigned(rest) if isinstance(one, Uint) else integer(-rest if one < 0 else rest)


define("@in", "(A, list(A)) bool", metered=True)(lambda meter, wanted, items: has(items, wanted, meter))


@define("@in", "(A, map(A, B)) bool")
def _has_key(wanted: Any, items: dict[Any, Any]) -> bool:
    return key_of(items, wanted) is not None


class Key(msgspec.Struct, frozen=True):
    value: Any


def key_of(items: dict[Any, Any], wanted: Any) -> Key | None:
    """The key of a map that equals a value: Python takes true for 1."""
    if kind(wanted) not in ("string", "int", "uint", "double", "bool"):
        raise CelError(f"unsupported key type: {kind(wanted)}")
    if wanted not in items:
        return None
    if isinstance(wanted, str):
        return Key(wanted)
    return next(
        (Key(key) for key in items if key == wanted and isinstance(key, bool) == isinstance(wanted, bool)), None
    )


@define("_[_]", "(list(A), int) A")
def _item(items: list[Any], index: int) -> Any:
    if not 0 <= index < len(items):
        raise CelError(f"index out of bounds: {index}")
    return items[index]


@define("_[_]", "(map(A, B), A) B")
def _value(items: dict[Any, Any], wanted: Any) -> Any:
    found = key_of(items, wanted)
    if found is None and not isinstance(items, Domains):
        raise CelError(f"no such key: {wanted}")
    return items[wanted if found is None else found.value]


def _maybe(find: Callable[..., Any]) -> Callable[..., Any]:
    def run(items: Any, wanted: Any) -> Optional:
        if isinstance(items, Optional):
            if not items.values:
                return NONE
            [items] = items.values
        try:
            return Optional((find(items, wanted),))
        except CelError:
            return NONE

    return run


define("_[?_]", "(list(A), int) optional(A)", "(optional(list(A)), int) optional(A)")(_maybe(_item))
define("_[?_]", "(map(A, B), A) optional(B)", "(optional(map(A, B)), A) optional(B)")(_maybe(_value))
define("_[_]", "(optional(list(A)), int) optional(A)")(_maybe(_item))
define("_[_]", "(optional(map(A, B)), A) optional(B)")(_maybe(_value))
