"""Objects that were patched → objects of their kind, as Go converts maps into structs: slow, and exact.

After a strategic merge patch Kubernetes has a map in its hands, not a text, and another reader takes it: more lenient
with numbers, in the order of the struct's fields, with words of its own.  `decode.convert` comes here with what its
quick way does not take.
"""

from __future__ import annotations

import base64
from typing import Any

from muster.local.codec import forms
from muster.local.codec.gotext import type_name
from muster.local.codec.values import Object
from muster.local.schema import exact, writing
from muster.local.schema.shapes import Base, Shape

__all__ = ["read"]

_KINDS = {dict: "map", list: "slice", str: "string", bool: "bool", int: "int64", float: "float64"}
_GO_KINDS = {
    Base.STRING: "string",
    Base.BOOLEAN: "bool",
    Base.INT32: "int32",
    Base.INT64: "int64",
    Base.NUMBER: "float64",
}
_BITS = {Base.INT32: 32, Base.INT64: 64}
# what Go can convert at all, if only to say that JSON would not
_CONVERTIBLE = {
    (int, Base.STRING),
    (float, Base.INT32),
    (float, Base.INT64),
}


class _Refused(Exception):
    """The first thing that is wrong."""


def read(value: Any, shape: Shape) -> exact.Outcome:
    """A value as its shape makes it; unknown fields in the order of their names."""
    reader = _Reader()
    try:
        made = reader.value(value, shape, go_type="", path="")
    except _Refused as refused:
        return exact.Outcome(None, error=str(refused))
    return exact.Outcome(writing.written(made, shape), strict=sorted(reader.unknown))


class _Reader:
    def __init__(self) -> None:
        self.unknown: list[str] = []

    def value(self, value: Any, shape: Shape, *, go_type: str, path: str) -> Any:
        if value is None:
            return None
        if shape.base is Base.STRUCT:
            return self._struct(value, shape, path)
        if shape.base is Base.MAP:
            return self._map(value, shape, go_type=go_type, path=path)
        if shape.base is Base.LIST:
            return self._list(value, shape, go_type=go_type, path=path)
        if shape.base is Base.BYTES:
            return _bytes(value)
        if shape.base in _GO_KINDS:
            return _scalar(value, shape, go_type)
        # all others read JSON themselves, without a word of where they stand
        outcome = exact.read_alone(value, shape)
        if outcome.error:
            raise _Refused(outcome.error)
        return outcome.value

    def _struct(self, value: Any, shape: Shape, path: str) -> Object:
        if not isinstance(value, dict):
            raise _Refused(f"cannot restore struct from: {_kind(value)}")
        made = {}
        for name, field in shape.fields.items():
            if value.get(name) is not None:
                inner = f"{path}.{name}" if path else name
                made[name] = self.value(value[name], field.shape, go_type=field.go_type, path=inner)
        for name in value:
            if name not in shape.fields:
                self.unknown.append(f'unknown field "{path}.{name}"' if path else f'unknown field "{name}"')
        return made

    def _map(self, value: Any, shape: Shape, *, go_type: str, path: str) -> Object:
        assert shape.items is not None
        if not isinstance(value, dict):
            raise _Refused(f"cannot restore map from {_kind(value)}")
        inner = exact.item_type(go_type, shape.items)
        return {name: self.value(item, shape.items, go_type=inner, path=path) for name, item in value.items()}

    def _list(self, value: Any, shape: Shape, *, go_type: str, path: str) -> list[Any]:
        assert shape.items is not None
        if not isinstance(value, list):
            raise _Refused(f"cannot restore slice from {_kind(value)}")
        inner = exact.item_type(go_type, shape.items)
        return [
            self.value(item, shape.items, go_type=inner, path=f"{path}[{index}]") for index, item in enumerate(value)
        ]


def _scalar(value: Any, shape: Shape, go_type: str) -> Any:
    base = shape.base
    if (base is Base.STRING and isinstance(value, str)) or (base is Base.BOOLEAN and isinstance(value, bool)):
        return value
    if base is Base.NUMBER and isinstance(value, int | float) and not isinstance(value, bool):
        return int(value) if float(value).is_integer() else value
    if base in _BITS and isinstance(value, int | float) and not isinstance(value, bool) and value == int(value):
        # what does not fit is cut off, as Go converts integers
        half = 1 << (_BITS[base] - 1)
        return (int(value) + half) % (2 * half) - half
    if (type(value), base) in _CONVERTIBLE:
        raise _Refused(f"cannot convert {type_name(value)} to {go_type}")
    raise _Refused(f"unrecognized type: {_GO_KINDS[base]}")


def _bytes(value: Any) -> str:
    if isinstance(value, list):
        return base64.b64encode(bytes(map(_byte, value))).decode()
    if not isinstance(value, str):
        raise _Refused(f"cannot restore slice from {_kind(value)}")
    try:
        return forms.from_base64(value)
    except ValueError as error:
        raise _Refused(f"error decoding from json: {error}") from None


def _byte(value: Any) -> int:
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return (value or 0) % 256
    raise _Refused("unrecognized type: uint8")


def _kind(value: Any) -> str:
    return _KINDS[type(value)]
