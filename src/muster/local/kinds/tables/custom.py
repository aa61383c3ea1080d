"""`kubectl get` for custom kinds: the columns that their definition asks for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from muster.base.errors import ObjectError
from muster.local.codec.gotext import compact_json, shown
from muster.local.codec.values import Object
from muster.local.kinds.kind import Column, Table
from muster.local.kinds.tables import durations, paths
from muster.local.kinds.tables.cells import NAME, name

__all__ = ["custom"]

_AGE: Object = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}
_TOO_LARGE = 2**63
_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


def custom(columns: Iterable[Object]) -> Table:
    """The table of a custom kind from its additionalPrinterColumns; without any, name and age.

    Columns from the first one on whose path cannot be understood are left out, as the real server leaves them out.
    """
    titles: list[Column] = []
    ways: list[tuple[str, paths.Path]] = []
    for column in list(columns) or [_AGE]:
        try:
            ways.append((column["type"], paths.parse(column["jsonPath"])))
        except paths.PathError:
            break
        titles.append(Column(column["name"], column["type"], column.get("format", ""), column.get("priority", 0)))
    return Table(columns=(NAME, *titles), cells=partial(_cells, tuple(ways)))


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
        case int() if abs(value) >= _TOO_LARGE:
            return shown(float(value))
        case dict() | list():
            return compact_json(value)
        case _:
            return shown(value)
