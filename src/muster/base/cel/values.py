"""Values while an expression is evaluated: Python's own where it has them, and these.

Numbers are of 64 bits.  Equality is that of CEL: numbers by what they are worth whatever their types, true is not 1,
NaN is not itself, lists that are sets or have keys are equal in any order.
"""

from __future__ import annotations

import calendar
import datetime
import math
import re
from decimal import Decimal
from typing import Any, Protocol

import msgspec

from muster.base.cel.syntax import Uint
from muster.base.errors import CelCostError, CelError

NANO = 10**9
_INT64 = (-(2**63), 2**63 - 1)
_FIRST, _LAST = -62135596800 * NANO, 253402300800 * NANO - 1
"""The years 1 to 9999."""
_LONGEST_DURATION = 2**63 - 1


class Meter(Protocol):
    """Counts steps."""

    def spend(self, steps: int) -> None:
        """Raises CelCostError when there are none left."""


class Budget:
    """So many steps and no more."""

    __slots__ = ("left",)

    def __init__(self, steps: int) -> None:
        self.left = steps

    def spend(self, steps: int) -> None:
        self.left -= steps
        if self.left < 0:
            raise CelCostError("operation cancelled: actual cost limit exceeded")


class Timestamp(msgspec.Struct, frozen=True, order=True):
    nanos: int
    """Since 1970."""

    def parts(self, zone: str = "") -> datetime.datetime:
        """Its date and hour in a zone, which is UTC or a distance from it."""
        moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=self.nanos // NANO)
        try:
            return moment + _offset(zone)
        except OverflowError:
            raise CelError("timestamp overflow") from None

    def __str__(self) -> str:
        text = self.parts().isoformat(timespec="seconds")
        return text + _fraction(self.nanos % NANO) + "Z"


class Duration(msgspec.Struct, frozen=True, order=True):
    nanos: int

    def __str__(self) -> str:
        sign = "-" if self.nanos < 0 else ""
        whole, rest = divmod(abs(self.nanos), NANO)
        return f"{sign}{whole}{_fraction(rest)}s"


class TypeName(msgspec.Struct, frozen=True):
    """What type() says."""

    name: str


class Optional(msgspec.Struct, frozen=True):
    """A value that may not be there."""

    values: tuple[Any, ...] = ()


NONE = Optional()


class SetList(list[Any]):
    """Items in no order."""


class KeyedList(list[Any]):
    """Objects in no order, told apart by keys."""

    keys: tuple[str, ...] = ()


class Domains(dict[str, Any]):
    """A map of maps in which every name is found: what is not there is empty.  It says itself which names it has."""

    def __missing__(self, name: str) -> dict[str, Any]:
        return {}


class Opaque(msgspec.Struct, frozen=True):
    """A value of a type that only functions look into."""

    type_name: str
    value: Any


_KINDS: dict[type, str] = {
    bool: "bool",
    int: "int",
    Uint: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    type(None): "null",
    list: "list",
    SetList: "list",
    KeyedList: "list",
    dict: "map",
    Domains: "map",
    Timestamp: "timestamp",
    Duration: "duration",
    TypeName: "type",
    Optional: "optional_type",
}
_PRINTED = {"null": "null_type", "timestamp": "google.protobuf.Timestamp", "duration": "google.protobuf.Duration"}
_NUMBERS = frozenset({"int", "uint", "double"})


def kind(value: Any) -> str:
    """The name of its type."""
    found = _KINDS.get(type(value))
    return found if found is not None else str(value.type_name)


def type_name(value: Any) -> TypeName:
    return named_type(kind(value))


def named_type(name: str) -> TypeName:
    return TypeName(_PRINTED.get(name, name))


def integer(value: int) -> int:
    if not _INT64[0] <= value <= _INT64[1]:
        raise CelError("integer overflow")
    return value


def unsigned(value: int) -> Uint:
    if not 0 <= value < 2**64:
        raise CelError("unsigned integer overflow")
    return Uint(value)


def timestamp(nanos: int) -> Timestamp:
    if not _FIRST <= nanos <= _LAST:
        raise CelError("timestamp overflow")
    return Timestamp(nanos)


def duration(nanos: int) -> Duration:
    if abs(nanos) > _LONGEST_DURATION:
        raise CelError("duration overflow")
    return Duration(nanos)


# --- equality ---


def equal(one: Any, other: Any, meter: Meter) -> bool:
    meter.spend(1)
    if type(one) is str and type(other) is str:
        meter.spend(min(len(one), len(other)) // 10)
        return one == other
    mine, theirs = kind(one), kind(other)
    if isinstance(one, list | dict):
        meter.spend(3)
    if mine in _NUMBERS and theirs in _NUMBERS:
        return bool(one == other)
    if mine != theirs:
        return False
    if mine == "list":
        return _equal_lists(one, other, meter)
    if mine == "map":
        return len(one) == len(other) and all(
            name in other and equal(value, other[name], meter) for name, value in one.items()
        )
    if mine == "optional_type":
        return _equal_lists(list(one.values), list(other.values), meter)
    return bool(one == other)


def _equal_lists(one: list[Any], other: list[Any], meter: Meter) -> bool:
    if len(one) != len(other):
        return False
    if not isinstance(one, SetList | KeyedList):
        return all(equal(mine, theirs, meter) for mine, theirs in zip(one, other, strict=True))
    return all(has(other, mine, meter) for mine in one) and all(has(one, theirs, meter) for theirs in other)


def has(items: list[Any], wanted: Any, meter: Meter) -> bool:
    return any(equal(item, wanted, meter) for item in items)


def added(one: list[Any], other: list[Any], meter: Meter) -> list[Any]:
    """Two lists in one; those that are sets or have keys as server-side apply would merge them."""
    meter.spend((len(one) + len(other)) // 10)
    if isinstance(one, SetList):
        return SetList([*one, *(item for item in other if not has(one, item, meter))])
    if isinstance(one, KeyedList):
        merged = KeyedList(one)
        merged.keys = one.keys
        for item in other:
            same = [n for n, mine in enumerate(merged) if all(mine.get(k) == item.get(k) for k in one.keys)]
            meter.spend(len(merged))
            if same:
                merged[same[0]] = item
            else:
                merged.append(item)
        return merged
    return one + other


# --- texts of times ---

_MOMENT = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9})\d*)?(?:[Zz]|([+-])(\d\d):(\d\d))", re.ASCII
)
_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII)
_SPAN = re.compile(r"([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)")
_UNITS = {"ns": 1, "us": 1000, "µs": 1000, "μs": 1000, "ms": 10**6, "s": NANO, "m": 60 * NANO, "h": 3600 * NANO}
_ZONE = re.compile(r"([+-]?)(\d\d):(\d\d)", re.ASCII)


def read_timestamp(text: str) -> Timestamp | None:
    found = _MOMENT.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(found[n]) for n in range(1, 7))
    try:
        seconds = calendar.timegm(datetime.datetime(year, month, day, hour, minute, second).timetuple())
    except ValueError:
        return None
    if found[8]:
        seconds -= int(f"{found[8]}1") * (int(found[9]) * 3600 + int(found[10]) * 60)
    nanos = seconds * NANO + int((found[7] or "").ljust(9, "0"))
    return Timestamp(nanos) if _FIRST <= nanos <= _LAST else None


def read_date(text: str) -> Timestamp | None:
    return read_timestamp(f"{text}T00:00:00Z") if _DATE.fullmatch(text) else None


def read_duration(text: str) -> Duration | None:
    """As Go's ParseDuration: 1h15m30.5s."""
    sign = -1 if text.startswith("-") else 1
    rest = text[1:] if text[:1] in ("-", "+") else text
    if rest == "0":
        return Duration(0)
    nanos, at = 0, 0
    while at < len(rest):
        found = _SPAN.match(rest, at)
        if found is None or not (found[1] or found[2]) or len(found[0]) > 40:
            return None
        unit = _UNITS[found[3]]
        fraction = found[2] or ""
        nanos += int(found[1] or 0) * unit + int(fraction or 0) * unit // 10 ** len(fraction)
        at = found.end()
    return Duration(sign * nanos) if rest and nanos <= _LONGEST_DURATION else None


def _fraction(nanos: int) -> str:
    return f".{nanos:09d}".rstrip("0") if nanos else ""


def _offset(zone: str) -> datetime.timedelta:
    if zone in ("", "UTC"):
        return datetime.timedelta()
    found = _ZONE.fullmatch(zone)
    if found is None:
        raise CelError(f"unknown time zone {zone}")
    distance = datetime.timedelta(hours=int(found[2]), minutes=int(found[3]))
    return -distance if found[1] == "-" else distance


def text_of(value: float) -> str:
    """A double as Go's %g writes it: with an exponent from a million on."""
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    if math.isnan(value):
        return "NaN"
    number = Decimal(repr(value)).normalize()
    power = number.adjusted()
    if not value or -4 <= power < 6:
        return format(number, "f")
    mantissa = format(number.scaleb(-power), "f")
    return f"{mantissa}e{power:+03d}"
