"""`kubectl get` for custom kinds: the columns that their definition asks for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from functools import partial
from typing import Any

from muster.base.errors import ObjectError
from muster.local.codec.values import Object
from muster.local.kinds.kind import Column, Table
from muster.local.kinds.tables import durations, paths
from muster.local.kinds.tables.cells import NAME, name

__all__ = ["custom"]

_AGE: Object = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}
_TOO_LARGE = 2**63
_UNSAFE = re.compile("[<>&\u2028\u2029]")
_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


def custom(columns: Iterable[Object]) -> Table:
    """The table of a custom kind from its additionalPrinterColumns; without any, name and age.

    Columns from the first one on whose path cannot be understood are left out, as the real server leaves them out.
    """
    shown: list[Column] = []
    ways: list[tuple[str, paths.Path]] = []
    for column in list(columns) or [_AGE]:
        try:
            ways.append((column["type"], paths.parse(column["jsonPath"])))
        except paths.PathError:
            break
        shown.append(Column(column["name"], column["type"], column.get("format", ""), column.get("priority", 0)))
    return Table(columns=(NAME, *shown), cells=partial(_cells, tuple(ways)))


def _cells(ways: Iterable[tuple[str, paths.Path]], obj: Object, now: float) -> Sequence[Any]:
    return [name(obj), *(_cell(kind, path, obj, now=now) for kind, path in ways)]


def _cell(kind: str, path: paths.Path, obj: Object, *, now: float) -> Any:
    try:
        value = paths.first(path, obj)
    except paths.PathError:
        return None
    if value is paths.MISSING:
        return None
    return _text(value) if kind == "string" else _typed(kind, value, now)


def _typed(kind: str, value: Any, now: float) -> Any:
    """None for a value that is not of the column's type."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    match kind:
        case "integer" if is_number:
            # what is too large for Go's int64 becomes its least one
            return int(value) if abs(value) < _TOO_LARGE else -_TOO_LARGE
        case "number" if is_number:
            # Go writes whole floats without a point, up to where an exponent is shorter
            return int(value) if float(value).is_integer() and abs(value) < 1e21 else float(value)
        case "boolean" if isinstance(value, bool):
            return value
        case "date" if isinstance(value, str):
            return _age(value, now)
        case _:
            return None


def _age(stamp: str, now: float) -> str:
    if stamp in ("", "null"):
        return durations.UNKNOWN
    if not _RFC_3339.fullmatch(stamp):
        return "<invalid>"
    try:
        return durations.since(stamp, now)
    except ObjectError:
        return "<invalid>"


def _text(value: Any) -> str:
    match value:
        case None:
            return "<no value>"
        case bool():
            return "true" if value else "false"
        case int() if abs(value) >= _TOO_LARGE:
            return _text(float(value))
        case float():
            # with an exponent from a million on, as Go's %v has it
            return _float_text(value, plain=range(-4, 6), exponent_digits=2)
        case dict() | list():
            return _json_text(value)
        case _:
            return str(value)


def _json_text(value: Any) -> str:
    """As Go writes it: keys sorted, safe to stand in HTML."""
    match value:
        case dict():
            return "{" + ",".join(f"{_json_text(key)}:{_json_text(value[key])}" for key in sorted(value)) + "}"
        case list():
            return "[" + ",".join(map(_json_text, value)) + "]"
        case float():
            return _float_text(value, plain=range(-6, 21), exponent_digits=1)
        case _:
            return _UNSAFE.sub(_escaped, json.dumps(value, ensure_ascii=False))


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def _float_text(value: float, *, plain: range, exponent_digits: int) -> str:
    """The shortest digits that tell it from other floats; without an exponent where that would be in `plain`."""
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int), "JSON has no infinities"
    place = exponent + len(digits) - 1
    if place in plain:
        return format(Decimal((sign, digits, exponent)), "f")
    head, tail = str(digits[0]), "".join(map(str, digits[1:]))
    mantissa = f"{head}.{tail}" if tail else head
    return f"{'-' if sign else ''}{mantissa}e{'-' if place < 0 else '+'}{abs(place):0{exponent_digits}}"
