"""Values of built-in kinds as Go's structs take them and write them again: one reader for each shape, made once.

Values have the types of their fields, quantities and times their one form; what is empty and may be left out is gone,
what may not is there.  The first value of a wrong type ends it; which field that was is found out on the way back.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from muster.local.codec import forms
from muster.local.codec.gotext import quoted
from muster.local.codec.values import Object, Pairs, json_type, plain
from muster.local.schema.load import SCHEMA_OR_BOOL, SCHEMA_OR_LIST
from muster.local.schema.shapes import Base, Field, Shape

__all__ = ["MOST_STRICT_ERRORS", "Decoded", "decode", "zero"]

MOST_STRICT_ERRORS = 100
"""More are not told."""

_Read = Callable[[Any], Any]
"""Gives the value as Go would write it, or _NOTHING for one that is left out."""

_NOTHING: Any = msgspec.UNSET
_PLAIN = {Base.STRING: str, Base.BOOLEAN: bool}
_MAY_BE_EMPTY = frozenset({Base.INT32, Base.INT64, Base.NUMBER, Base.BYTES, Base.TIME, Base.MICRO_TIME})
_BOUNDS = {Base.INT32: 1 << 31, Base.INT64: 1 << 63}
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


class Decoded(msgspec.Struct):
    """An object, or what is wrong with it."""

    value: Any
    error: str = ""
    """Go's, of the first thing that is wrong; "" if nothing is."""
    strict: list[str] = []
    """Unknown and repeated fields, which are left out or merged: unknown field "spec.foo"."""


class _UnknownField(ValueError):
    """A field that its struct does not have."""


class _WrongType(ValueError):
    """A value that its field does not take, in the words of Go."""

    def __init__(self, found: str, go_type: str) -> None:
        super().__init__(found)
        self._found = found
        self._type = go_type
        self._struct = ""
        self._path: list[str] = []
        """Fields from the outermost struct to the value."""

    def note(self, shape: Shape, name: str) -> None:
        """That the value is in this field of a struct; called from the innermost struct outwards."""
        self._struct = self._struct or shape.go_name
        inline = shape.fields[name].inline
        self._path[:0] = [inline, name] if inline else [name]

    def __str__(self) -> str:
        where = f"struct field {self._struct}.{'.'.join(self._path)}" if self._path else "value"
        return f"json: cannot unmarshal {self._found} into Go {where} of type {self._type}"


def decode(value: Any, shape: Shape, *, tree: Any = None) -> Decoded:
    """A value as its shape makes it; `tree` is the same with Pairs, if there are fields that come twice."""
    strict: list[str] = []
    try:
        if tree is not None:
            value = _known(tree, shape, "", strict)
        read = _reader(shape, empty=None, go_type=_type_name(shape))
        try:
            return Decoded(read(value), strict=_few(strict))
        except _UnknownField:
            return Decoded(read(_known(value, shape, "", strict)), strict=_few(strict))
    except (_WrongType, forms.Malformed) as error:
        return Decoded(None, error=str(error))


def zero(shape: Shape) -> Any:
    """What Go writes for a value that was never set; each is a new one."""
    if shape.base is not Base.STRUCT:
        return _ZEROS.get(shape.base)
    return {name: None if field.pointer else zero(field.shape) for name, field in shape.fields.items() if field.kept}


# --- fields that are not known, or come twice -----------------------------------------------------


def _known(tree: Any, shape: Shape, path: str, strict: list[str]) -> Any:
    """The plain value without fields that nobody knows; says which those are, and which come twice."""
    if isinstance(tree, dict | Pairs) and shape.base in (Base.STRUCT, Base.MAP):
        result: Object = {}
        for name, item in tree.items() if isinstance(tree, dict) else tree:
            inner = f"{path}.{name}" if path else name
            field = shape.fields.get(name)
            of = field.shape if field is not None else shape.items
            if of is None:
                strict.append(f"unknown field {quoted(inner)}")
                continue
            if name in result:
                strict.append(f"duplicate field {quoted(inner)}")
            decoded = _known(item, of, inner, strict)
            result[name] = _over(result[name], decoded) if name in result else decoded
        return result
    if isinstance(tree, list) and shape.items is not None and shape.base is Base.LIST:
        return [_known(item, shape.items, f"{path}[{index}]", strict) for index, item in enumerate(tree)]
    if shape.items is not None and shape.base is Base.ANY:
        # a schema inside a schema is a text of its own: fields that it does not have go unseen
        if isinstance(tree, list) and not isinstance(tree, Pairs):
            return [_known(item, shape.items, path, []) for item in tree]
        return _known(tree, shape.items, path, [])
    return plain(tree)


def _over(before: Any, after: Any) -> Any:
    """Go reads a field that comes again into what it has read before."""
    if isinstance(before, dict) and isinstance(after, dict):
        return before | {name: _over(before[name], item) if name in before else item for name, item in after.items()}
    if isinstance(before, list) and isinstance(after, list):
        return [*map(_over, before, after), *after[len(before) :]]
    return after


def _few(strict: list[str]) -> list[str]:
    return list(dict.fromkeys(strict))[:MOST_STRICT_ERRORS]


# --- structs --------------------------------------------------------------------------------------

_readers: dict[int, tuple[Shape, _Read]] = {}
"""Of structs, by the identity of their shapes, which they keep alive."""


def _reader(shape: Shape, *, empty: Any, go_type: str) -> _Read:
    """`empty` is what an empty list, map, number or time is written as."""
    if shape.base is Base.STRUCT:
        found = _readers.get(id(shape))
        return found[1] if found else _struct_reader(shape)
    if shape.base is Base.MAP:
        return _map_reader(shape, empty, go_type)
    if shape.base is Base.LIST:
        return _list_reader(shape, empty, go_type)
    if shape.base is Base.ANY:
        return _choice_reader(shape, empty) if shape.name else _anything
    read = _scalar_reader(shape.base, go_type)
    return read if shape.base not in _MAY_BE_EMPTY else lambda value: read(value) or empty


def _struct_reader(shape: Shape) -> _Read:
    plain: dict[str, type] = {}
    """Strings and booleans: taken as they are, unless they are zero and not among `zeros`."""
    zeros: set[str] = set()
    readers: dict[str, _Read] = {}
    kept: list[tuple[str, Any]] = []
    kept_structs: list[tuple[str, Callable[[], Object]]] = []
    known = shape.fields

    def read(value: Any) -> Object:
        if type(value) is not dict:
            nothing: Object = _refused(value, zero(shape), _type_name(shape))
            return nothing
        result = {}
        name = ""
        try:
            for name, item in value.items():
                if plain.get(name) is type(item):
                    if item or name in zeros:
                        result[name] = item
                elif name not in known:
                    raise _UnknownField(name)
                elif item is not None:
                    decoded = readers[name](item)
                    if decoded is not _NOTHING:
                        result[name] = decoded
        except _WrongType as wrong:
            wrong.note(shape, name)
            raise
        for name, unset in kept:
            if name not in result:
                result[name] = unset
        for name, make in kept_structs:
            if name not in result:
                result[name] = make()
        return result

    # known before its fields are looked at: a struct may contain itself
    _readers[id(shape)] = (shape, read)
    for name, field in shape.fields.items():
        readers[name] = _reader(field.shape, empty=_emptied(field), go_type=field.go_type)
        if field.shape.base in _PLAIN:
            plain[name] = _PLAIN[field.shape.base]
            if field.pointer or field.kept:
                zeros.add(name)
        if field.kept and field.shape.base is Base.STRUCT and not field.pointer:
            kept_structs.append((name, _maker(field.shape)))
        elif field.kept:
            kept.append((name, None if field.pointer else zero(field.shape)))
    return read


def _maker(shape: Shape) -> Callable[[], Object]:
    """Of what Go writes for a struct that was never set."""
    # most have nothing to write, and PodStatus has 25 fields to find that out from
    return partial(zero, shape) if zero(shape) else dict


def _emptied(field: Field) -> Any:
    """What is written for an empty value of this field."""
    if field.shape.base in (Base.TIME, Base.MICRO_TIME):
        return None if field.kept and not field.pointer else _NOTHING
    return zero(field.shape) if field.pointer or field.kept else _NOTHING


def _type_name(shape: Shape) -> str:
    return ".".join(shape.name.split(".")[-2:])


# --- lists and maps -------------------------------------------------------------------------------


def _map_reader(shape: Shape, empty: Any, go_type: str) -> _Read:
    one = _item_reader(shape, go_type)

    def read(value: Any) -> Any:
        if type(value) is not dict:
            return _refused(value, None, go_type)
        return {name: one(item) for name, item in value.items()} if value else empty

    return read


def _list_reader(shape: Shape, empty: Any, go_type: str) -> _Read:
    one = _item_reader(shape, go_type)

    def read(value: Any) -> Any:
        if type(value) is not list:
            return _refused(value, None, go_type)
        return [one(item) for item in value] if value else empty

    return read


def _item_reader(shape: Shape, go_type: str) -> _Read:
    items = shape.items
    assert items is not None
    empty = {Base.LIST: [], Base.MAP: {}, Base.BYTES: ""}.get(items.base, zero(items))
    return _reader(items, empty=empty, go_type=go_type.partition("]")[2] or _type_name(items))


# --- scalars --------------------------------------------------------------------------------------


def _refused(value: Any, nothing: Any, go_type: str) -> Any:
    """Null is nothing, where it stands in a list or a map; all else is of a wrong type."""
    if value is None:
        return nothing
    raise _WrongType(json_type(value), go_type)


def _scalar_reader(base: Base, go_type: str) -> _Read:
    if base in _PLAIN:
        return partial(_plain, _PLAIN[base], _ZEROS[base], go_type)
    if base in _BOUNDS:
        return partial(_integer, _BOUNDS[base], go_type)
    others: dict[Base, _Read] = {
        Base.NUMBER: partial(_number, go_type),
        Base.BYTES: partial(_text, forms.from_base64, "", go_type),
        Base.TIME: partial(_text, forms.time, "", "string"),
        Base.MICRO_TIME: partial(_text, forms.micro_time, "", "string"),
        Base.QUANTITY: _quantity,
        Base.INT_OR_STRING: _int_or_string,
    }
    return others[base]


def _plain(kind: type, nothing: Any, go_type: str, value: Any) -> Any:
    return value if type(value) is kind else _refused(value, nothing, go_type)


def _integer(bound: int, go_type: str, value: Any) -> Any:
    if type(value) is int and -bound <= value < bound:
        return value
    if type(value) is int or type(value) is float:
        raise _WrongType(f"number {value}", go_type)
    return _refused(value, 0, go_type)


def _number(go_type: str, value: Any) -> Any:
    if type(value) is not int and type(value) is not float:
        return _refused(value, 0, go_type)
    return int(value) if type(value) is float and value.is_integer() else value


def _text(form: Callable[[str], str], nothing: str, go_type: str, value: Any) -> Any:
    return form(value) if type(value) is str else _refused(value, nothing, go_type)


def _quantity(value: Any) -> Any:
    if value is None:
        return "0"
    # anything else is no quantity, and so is its text
    return forms.quantity(value if type(value) is str else str(value))


def _int_or_string(value: Any) -> Any:
    return value if type(value) is str else _integer(1 << 31, "int32", value)


def _anything(value: Any) -> Any:
    return value


def _choice_reader(shape: Shape, empty: Any) -> _Read:
    """Of a schema, or what else may stand in its place in the schema of a custom kind."""
    schema = shape.items
    assert schema is not None
    strings = Shape(base=Base.STRING)

    def read(value: Any) -> Any:
        if isinstance(value, dict):
            return _reader(schema, empty=None, go_type="")(value)
        if shape.name == SCHEMA_OR_BOOL:
            if isinstance(value, bool):
                return value
            raise forms.Malformed("boolean or JSON schema expected")
        if not isinstance(value, list) or not value:
            return empty
        items = schema if shape.name == SCHEMA_OR_LIST else strings
        return [_reader(items, empty=None, go_type="string")(item) for item in value]

    return read
