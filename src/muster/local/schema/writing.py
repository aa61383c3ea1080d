"""Values that were read, as Go writes them: what is empty and may be left out is gone, what may not is there.

A struct that was read is a dict of the fields that were set; what was stored once has no empty lists and maps.
"""

from __future__ import annotations

from typing import Any

import msgspec

from muster.local.schema.shapes import Base, Field, Shape

__all__ = ["in_order", "written", "zero"]

_UNSET: Any = msgspec.UNSET

_ZEROS: dict[Base, Any] = {
    Base.STRING: "",
    Base.INT32: 0,
    Base.INT64: 0,
    Base.NUMBER: 0,
    Base.BOOLEAN: False,
    Base.QUANTITY: "0",
    Base.INT_OR_STRING: 0,
}
"""Null, where nothing is said."""


def zero(shape: Shape) -> Any:
    """What Go writes for a value that was never set; each is a new one."""
    if shape.base is not Base.STRUCT:
        return _ZEROS.get(shape.base)
    return {name: _written_field(_UNSET, field) for name, field in shape.fields.items() if field.kept}


def written(value: Any, shape: Shape) -> Any:
    """A value that was read, as Go writes it; one that was never set has its zero."""
    if value is _UNSET or value is None:
        # bytes are never null once they have been stored
        return "" if shape.base is Base.BYTES else zero(shape)
    if shape.base is Base.STRUCT:
        lines = ((name, field, value.get(name, _UNSET)) for name, field in shape.fields.items())
        return {name: _written_field(given, field) for name, field, given in lines if not _left_out(given, field)}
    if shape.base is Base.MAP and shape.items is not None:
        return {key: written(each, shape.items) for key, each in value.items()}
    if shape.base is Base.LIST and shape.items is not None:
        return [written(each, shape.items) for each in value]
    if shape.base in (Base.TIME, Base.MICRO_TIME):
        return value or None
    return value


def in_order(value: Any, shape: Shape | None, touched: Any = _UNSET) -> Any:
    """As Go writes it: fields as structs have them, keys of maps by name.

    `touched` is what a patch went through or put in, which is by name then; True is for what is left as it was given.
    """
    if touched is True:
        return value
    inside = touched if isinstance(touched, dict) else {}
    # what was put in as a whole is by name down to its end
    rest = _UNSET if isinstance(touched, dict) else touched
    items = shape and shape.items
    if isinstance(value, list):
        return [in_order(item, items, inside.get(str(index), rest)) for index, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    fields = shape.fields if shape is not None else {}
    names = sorted(value)
    if fields and touched is _UNSET:
        names = [*(name for name in fields if name in value), *(name for name in names if name not in fields)]
    shapes = {name: fields[name].shape if name in fields else items for name in names}
    return {name: in_order(value[name], shapes[name], inside.get(name, rest)) for name in names}


def _left_out(given: Any, field: Field) -> bool:
    if field.kept:
        return False
    if given is _UNSET or given is None:
        return True
    if field.pointer:
        # Go writes null for a pointer to a time that is none, and reads nothing from it
        return not given and field.shape.base in (Base.TIME, Base.MICRO_TIME)
    return not given


def _written_field(given: Any, field: Field) -> Any:
    if given is _UNSET or given is None:
        return None if field.pointer else zero(field.shape)
    # an empty list or map is null once it has been stored
    if field.shape.base in (Base.LIST, Base.MAP) and not given:
        return None
    return written(given, field.shape)
