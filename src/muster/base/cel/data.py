"""Values of CEL from JSON, as their types say."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from muster.base.cel.types import Type
from muster.base.cel.values import KeyedList, Meter, SetList, read_date, read_duration, read_timestamp

__all__ = ["typed"]


def typed(value: Any, kind: Type, meter: Meter) -> Any:
    """What does not fit its type stays what it is: functions will refuse it."""
    if isinstance(value, dict):
        meter.spend(len(value))
        if kind.fields is not None:
            return _object(value, kind, meter)
        return {name: typed(one, kind.inner[1], meter) for name, one in value.items()} if kind.name == "map" else value
    if isinstance(value, list):
        meter.spend(len(value))
        return _list([typed(one, kind.inner[0], meter) for one in value], kind) if kind.name == "list" else value
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return _number(value, kind.name)
    if isinstance(value, str) and kind.name != "string":
        return _read(value, kind.name)
    return value


def _object(value: dict[str, Any], kind: Type, meter: Meter) -> dict[str, Any]:
    """With what its type does not know: no expression can name it, but it tells objects apart.  Null is not there."""
    assert kind.fields is not None
    names = {kind.keys.get(name, name): name for name in kind.fields}
    return {
        names.get(raw, raw): typed(one, kind.fields[names[raw]], meter) if raw in names else one
        for raw, one in value.items()
        if one is not None or raw not in names
    }


def _list(items: list[Any], kind: Type) -> list[Any]:
    if kind.merging == "set":
        return SetList(items)
    if kind.merging:
        keyed = KeyedList(items)
        keyed.keys = tuple(kind.merging)
        return keyed
    return items


def _number(value: int | float, kind: str) -> int | float:
    if kind == "double":
        return float(value)
    return int(value) if kind == "int" and type(value) is float and value.is_integer() else value


def _read(text: str, kind: str) -> Any:
    found: Any = None
    if kind == "timestamp":
        found = read_timestamp(text) or read_date(text)
    elif kind == "duration":
        found = read_duration(text)
    elif kind == "bytes":
        try:
            found = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            found = None
    return text if found is None else found
