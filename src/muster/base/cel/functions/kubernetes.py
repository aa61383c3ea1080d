"""Types that Kubernetes adds: quantities and versions."""

from __future__ import annotations

import math
import re
from typing import Any

from muster.base import quantity as quantities
from muster.base.cel.functions.define import define
from muster.base.cel.values import (
    NANO,
    Opaque,
)
from muster.base.errors import CelError, QuantityError

_QUANTITY, _SEMVER = "kubernetes.Quantity", "kubernetes.Semver"


def _nanos(text: str) -> int | None:
    try:
        return quantities.nanos(text)
    except QuantityError:
        return None


@define("quantity", "(string) Quantity")
def quantity(text: str) -> Opaque:
    nanos = _nanos(text)
    if nanos is None:
        raise CelError("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")
    return Opaque(_QUANTITY, nanos)


define("isQuantity", "(string) bool")(lambda text: _nanos(text) is not None)
define("isInteger", "Quantity.() bool")(lambda given: given.value % NANO == 0 and abs(given.value // NANO) < 2**63)
define("sign", "(Quantity) int")(lambda given: (given.value > 0) - (given.value < 0))


@define("asApproximateFloat", "Quantity.() double")
def _as_float(given: Opaque) -> float:
    try:
        return float(given.value / NANO)
    except OverflowError:
        return math.inf if given.value > 0 else -math.inf


@define("asInteger", "Quantity.() int")
def _as_integer(given: Opaque) -> int:
    if given.value % NANO or abs(given.value // NANO) >= 2**63:
        raise CelError("cannot convert value to integer")
    return int(given.value // NANO)


@define("add", "Quantity.(Quantity) Quantity", "Quantity.(int) Quantity")
def _add(given: Opaque, other: Any) -> Opaque:
    return Opaque(_QUANTITY, given.value + (other.value if isinstance(other, Opaque) else other * NANO))


@define("sub", "Quantity.(Quantity) Quantity", "Quantity.(int) Quantity")
def _sub(given: Opaque, other: Any) -> Opaque:
    return Opaque(_QUANTITY, given.value - (other.value if isinstance(other, Opaque) else other * NANO))


define("compareTo", "Quantity.(Quantity) int", "Semver.(Semver) int")(
    lambda given, other: (given.value > other.value) - (given.value < other.value)
)
define("isLessThan", "Quantity.(Quantity) bool", "Semver.(Semver) bool")(lambda given, other: given.value < other.value)
define("isGreaterThan", "Quantity.(Quantity) bool", "Semver.(Semver) bool")(
    lambda given, other: given.value > other.value
)

_NUMBER = r"(0|[1-9][0-9]{0,18})"
_IDENTIFIER = re.compile(_NUMBER)
_VERSION = re.compile(rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?")


def _version(text: str, normalize: bool = False) -> tuple[Any, ...] | None:
    """What versions are compared by: a release comes after all that come before it, numbers before words."""
    if normalize:
        head, mark, rest = text.removeprefix("v").partition("-")
        numbers = [part.lstrip("0") or "0" for part in head.split(".")]
        text = ".".join([*numbers, "0", "0"][:3] if len(numbers) < 3 else numbers) + mark + rest
    found = _VERSION.fullmatch(text)
    if found is None:
        return None
    parts = (found[4] or "").split(".") if found[4] else []
    if any(not part or (part.isdecimal() and not _IDENTIFIER.fullmatch(part)) for part in parts):
        return None
    before = tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts)
    return (int(found[1]), int(found[2]), int(found[3]), not before, before)


@define("semver", "(string) Semver", "(string, bool) Semver")
def semver(text: str, normalize: bool = False) -> Opaque:
    found = _version(text, normalize)
    if found is None:
        raise CelError(f"Invalid character(s) found in version {text!r}")
    return Opaque(_SEMVER, found)


define("isSemver", "(string) bool", "(string, bool) bool")(
    lambda text, normalize=False: _version(text, normalize) is not None
)
define("major", "Semver.() int")(lambda given: given.value[0])
define("minor", "Semver.() int")(lambda given: given.value[1])
define("patch", "Semver.() int")(lambda given: given.value[2])
