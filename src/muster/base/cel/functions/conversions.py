"""Sizes, conversions between types, and the parts of times."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from muster.base.cel import values
from muster.base.cel.functions.define import define
from muster.base.cel.syntax import Uint
from muster.base.cel.values import (
    NANO,
    Duration,
    Meter,
    Timestamp,
    duration,
    integer,
    timestamp,
    unsigned,
)
from muster.base.errors import CelError

_SIZED = ("string", "bytes", "list(A)", "map(A, B)")


@define("size", *(f"({one}) int" for one in _SIZED), *(f"{one}.() int" for one in _SIZED), metered=True)
def _size(meter: Meter, given: Any) -> int:
    meter.spend(1)
    return len(given)


@define("dyn", "(A) dyn")
def _dyn(given: Any) -> Any:
    return given


define("type", "(A) type")(values.type_name)

_DECIMAL = re.compile(r"[+-]?[0-9]{1,30}")


@define("int", "(int) int", "(uint) int", "(double) int", "(string) int", "(timestamp) int")
def _int(given: Any) -> int:
    if isinstance(given, float):
        if not math.isfinite(given) or not -(2.0**63) < given < 2.0**63:
            raise CelError("integer overflow")
        return int(given)
    if isinstance(given, str):
        if not _DECIMAL.fullmatch(given):
            raise _unreadable("string", "int")
        return integer(int(given))
    return integer(given.nanos // NANO if isinstance(given, Timestamp) else int(given))


@define("uint", "(int) uint", "(uint) uint", "(double) uint", "(string) uint")
def _uint(given: Any) -> Uint:
    if isinstance(given, str) and not (_DECIMAL.fullmatch(given) and given[0] not in "+-"):
        raise _unreadable("string", "uint")
    if isinstance(given, float) and not math.isfinite(given):
        raise CelError("unsigned integer overflow")
    return unsigned(int(given))


_DOUBLE = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?(?:[Ii]nf(?:inity)?|[Nn]a[Nn])")


@define("double", "(int) double", "(uint) double", "(double) double", "(string) double")
def _double(given: Any) -> float:
    if isinstance(given, str) and not _DOUBLE.fullmatch(given):
        raise _unreadable("string", "double")
    return float(given)


@define("bool", "(bool) bool", "(string) bool")
def _bool(given: Any) -> bool:
    if isinstance(given, bool):
        return given
    if given in ("1", "t", "true", "TRUE", "True", "T"):
        return True
    if given in ("0", "f", "false", "FALSE", "False", "F"):
        return False
    raise _unreadable("string", "bool")


@define(
    "string",
    *(f"({one}) string" for one in ("string", "bool", "int", "uint", "double", "bytes", "timestamp", "duration")),
)
def text_of(given: Any) -> str:
    if isinstance(given, bool):
        return "true" if given else "false"
    if isinstance(given, float):
        return values.text_of(given)
    if isinstance(given, bytes):
        try:
            return given.decode()
        except UnicodeDecodeError as error:
            raise CelError("invalid UTF-8 in bytes, cannot convert to string") from error
    return str(given)


define("bytes", "(bytes) bytes", "(string) bytes")(lambda given: given if isinstance(given, bytes) else encoded(given))


def encoded(text: str) -> bytes:
    return text.encode(errors="replace")


@define("timestamp", "(timestamp) timestamp", "(string) timestamp", "(int) timestamp")
def _timestamp(given: Any) -> Timestamp:
    if isinstance(given, str):
        found = values.read_timestamp(given)
        if found is None:
            raise _unreadable("string", "google.protobuf.Timestamp")
        return found
    return given if isinstance(given, Timestamp) else timestamp(given * NANO)


@define("duration", "(duration) duration", "(string) duration", "(int) duration")
def _duration(given: Any) -> Duration:
    if isinstance(given, str):
        found = values.read_duration(given)
        if found is None:
            raise _unreadable("string", "google.protobuf.Duration")
        return found
    return given if isinstance(given, Duration) else duration(given)


def _unreadable(given: str, wanted: str) -> CelError:
    return CelError(f"type conversion error from '{given}' to '{wanted}'")


_PARTS: dict[str, Callable[[Any], int]] = {
    "getFullYear": lambda moment: int(moment.year),
    "getMonth": lambda moment: int(moment.month) - 1,
    "getDate": lambda moment: int(moment.day),
    "getDayOfMonth": lambda moment: int(moment.day) - 1,
    "getDayOfWeek": lambda moment: (int(moment.weekday()) + 1) % 7,
    "getDayOfYear": lambda moment: int(moment.timetuple().tm_yday) - 1,
    "getHours": lambda moment: int(moment.hour),
    "getMinutes": lambda moment: int(moment.minute),
    "getSeconds": lambda moment: int(moment.second),
}
for _name, _part in _PARTS.items():
    define(_name, "timestamp.() int", "timestamp.(string) int")(
        lambda given, zone="", part=_part: part(given.parts(zone))
    )
define("getMilliseconds", "timestamp.() int", "timestamp.(string) int")(
    lambda given, _zone="": given.nanos % NANO // 10**6
)
for _name, _unit in (("getHours", 3600 * NANO), ("getMinutes", 60 * NANO), ("getSeconds", NANO)):
    define(_name, "duration.() int")(
        lambda given, unit=_unit: int(math.copysign(abs(given.nanos) // unit, given.nanos))
    )
define("getMilliseconds", "duration.() int")(lambda given: int(math.copysign(abs(given.nanos) // 10**6, given.nanos)))
