"""An object as it came → the object as Kubernetes would have taken it, and what was wrong with it.

    parsed = parse(body, "application/json")                  Malformed: no JSON at all
    decoded = normalise(parsed, shapes()["io.k8s.api.core.v1.Pod"])
    decoded.error or decoded.value, decoded.strict

A trip through Go's structs: values have the types of their fields, quantities and times their one form; what is empty
and may be left out is gone, what may not is there.  `read` does all of it for the body of a request.

Nearly all that ever comes is in order, and for that there is a quick way: a reader for each shape, made once, that
takes what is as it should be and gives up at anything else.  What it gives up goes to `exact`.  Both must agree.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from muster.local.codec import forms, syntax, yamltext
from muster.local.codec.values import Object, plain
from muster.local.schema import convert as converting
from muster.local.schema import custom, exact, writing
from muster.local.schema.shapes import Base, Field, Shape

__all__ = ["YAML_TYPES", "Decoded", "Parsed", "convert", "empty", "normalise", "parse"]

YAML_TYPES = frozenset({"application/yaml", "application/apply-patch+yaml"})


class Parsed(msgspec.Struct, frozen=True):
    """A text that was read: the value, and all else that the text had."""

    value: Any
    """Of keys that came twice the last."""
    text: bytes = b""
    """The JSON it was read from, for the spelling of its numbers; empty if it was YAML."""
    tree: Any = msgspec.UNSET
    """With `Pairs` and `Number`, if the value alone would not do."""
    strict: tuple[str, ...] = ()
    """What is wrong with the text itself, to those who are strict: keys that come twice in YAML."""


class Decoded(msgspec.Struct):
    """An object, or what is wrong with it."""

    value: Any
    error: str = ""
    """Go's, of the first thing that is wrong; "" if nothing is."""
    strict: list[str] = []
    """Unknown and repeated fields, which are left out or merged: unknown field "spec.foo"."""


def parse(body: bytes, content_type: str = "application/json") -> Parsed:
    """Raises NoJson, or Malformed for YAML, with what Go says of such a text."""
    if content_type in YAML_TYPES:
        value, strict = yamltext.load(body)
        return Parsed(value, strict=strict)
    try:
        value = syntax.quick(body)
    except ValueError:
        tree = syntax.tree(body)
        return Parsed(plain(tree), text=body, tree=tree)
    if syntax.has_duplicates(body, value):
        return Parsed(value, text=body, tree=syntax.tree(body))
    return Parsed(value, text=body)


def normalise(value: Any, shape: Shape) -> Decoded:
    """A value, or what `parse` gave, as its shape makes it.  Parts of a value may live on in the result."""
    parsed = value if isinstance(value, Parsed) else Parsed(value)
    if custom.is_custom(shape):
        outcome = custom.prune(parsed.value if parsed.tree is msgspec.UNSET else parsed.tree, parsed.value, shape)
        return Decoded(outcome.value, outcome.error, [*parsed.strict, *outcome.strict])
    if parsed.tree is msgspec.UNSET:
        try:
            return Decoded(_reader(shape, empty=None)(parsed.value), strict=list(parsed.strict))
        except _NOT_TAKEN:
            pass
    tree = parsed.tree
    if tree is msgspec.UNSET:
        tree = syntax.tree(parsed.text) if parsed.text else parsed.value
    outcome = exact.read(tree, shape)
    return Decoded(outcome.value, outcome.error, [*parsed.strict, *outcome.strict])


def convert(value: Any, shape: Shape) -> Decoded:
    """A value that was a map in Go's hands, as after a strategic merge patch: like `normalise`, in other words."""
    if custom.is_custom(shape):
        outcome = custom.prune(value, value, shape, keeps_nulls=True)
        return Decoded(outcome.value, outcome.error, outcome.strict)
    try:
        return Decoded(_reader(shape, empty=None)(value))
    except _NOT_TAKEN:
        outcome = converting.read(value, shape)
    return Decoded(outcome.value, outcome.error, outcome.strict)


def empty(shape: Shape) -> Any:
    """What Go writes for a value of this shape that was never set."""
    return writing.zero(shape)


# --- the quick way --------------------------------------------------------------------------------

_Read = Callable[[Any], Any]
"""Gives the value as Go would write it, _NOTHING for one that is left out, or raises _NOT_TAKEN."""

_NOTHING: Any = msgspec.UNSET
_PLAIN = {Base.STRING: str, Base.BOOLEAN: bool}


class _Odd(Exception):
    """A value that the quick way does not take."""


# KeyError: a field that the struct does not have, or a string or boolean that is none
_NOT_TAKEN = (_Odd, KeyError, forms.Malformed)

_readers: dict[int, tuple[Shape, _Read]] = {}
"""Of structs, by the identity of their shapes, which they keep alive."""


def _reader(shape: Shape, *, empty: Any) -> _Read:
    """`empty` is what an empty list, map, number or time is written as."""
    if shape.base is Base.STRUCT:
        found = _readers.get(id(shape))
        return found[1] if found else _struct_reader(shape)
    if shape.base in (Base.MAP, Base.LIST):
        return (_map_reader if shape.base is Base.MAP else _list_reader)(shape, empty)
    if shape.base is Base.ANY and shape.name:
        return _give_up
    read = _SCALARS[shape.base]
    return read if shape.base not in _MAY_BE_EMPTY else lambda value: read(value) or empty


def _struct_reader(shape: Shape) -> _Read:
    plain: dict[str, type] = {}
    """Strings and booleans: taken as they are, unless they are zero and not among `zeros`."""
    zeros: set[str] = set()
    others: dict[str, _Read] = {}
    kept: list[tuple[str, Any]] = []
    kept_structs: list[tuple[str, Callable[[], Object]]] = []
    known = shape.fields

    def read(value: Any) -> Object:
        if type(value) is not dict:
            raise _Odd
        result = {}
        for name, item in value.items():
            if plain.get(name) is type(item):
                if item or name in zeros:
                    result[name] = item
            elif item is not None:
                made = others[name](item)
                if made is not _NOTHING:
                    result[name] = made
            elif name not in known:
                raise _Odd
        for name, zero in kept:
            if name not in result:
                result[name] = zero
        for name, make in kept_structs:
            if name not in result:
                result[name] = make()
        return result

    # known before its fields are looked at: a struct may contain itself
    _readers[id(shape)] = (shape, read)
    for name, field in shape.fields.items():
        if field.shape.base in _PLAIN:
            plain[name] = _PLAIN[field.shape.base]
            if field.pointer or field.kept:
                zeros.add(name)
        else:
            others[name] = _reader(field.shape, empty=_emptied(field))
        if field.kept and field.shape.base is Base.STRUCT and not field.pointer:
            kept_structs.append((name, _maker(field.shape)))
        elif field.kept:
            kept.append((name, None if field.pointer else writing.zero(field.shape)))
    return read


def _maker(shape: Shape) -> Callable[[], Object]:
    """Of what Go writes for a struct that was never set."""
    # most have nothing to write, and PodStatus has 25 fields to find that out from
    return partial(writing.zero, shape) if writing.zero(shape) else dict


def _emptied(field: Field) -> Any:
    """What is written for an empty value of this field."""
    if field.shape.base in (Base.TIME, Base.MICRO_TIME):
        return None if field.kept and not field.pointer else _NOTHING
    if field.pointer:
        return writing.zero(field.shape)
    return writing.zero(field.shape) if field.kept else _NOTHING


def _map_reader(shape: Shape, empty: Any) -> _Read:
    assert shape.items is not None
    one = _string if shape.items.base is Base.STRING else _reader(shape.items, empty=_inside(shape.items))

    def read(value: Any) -> Any:
        if type(value) is not dict:
            raise _Odd
        return {name: one(item) for name, item in value.items()} if value else empty

    return read


def _list_reader(shape: Shape, empty: Any) -> _Read:
    assert shape.items is not None
    one = _string if shape.items.base is Base.STRING else _reader(shape.items, empty=_inside(shape.items))

    def read(value: Any) -> Any:
        if type(value) is not list:
            raise _Odd
        return [one(item) for item in value] if value else empty

    return read


def _inside(items: Shape) -> Any:
    """What an empty item of a list or a map is written as."""
    return {Base.LIST: [], Base.MAP: {}, Base.BYTES: ""}.get(items.base, writing.zero(items))


def _string(value: Any) -> Any:
    if type(value) is not str:
        raise _Odd
    return value


def _boolean(value: Any) -> Any:
    if type(value) is not bool:
        raise _Odd
    return value


def _int32(value: Any) -> Any:
    if type(value) is int and -0x80000000 <= value <= 0x7FFFFFFF:
        return value
    raise _Odd


def _int64(value: Any) -> Any:
    if type(value) is int and -0x8000000000000000 <= value <= 0x7FFFFFFFFFFFFFFF:
        return value
    raise _Odd


def _int_or_string(value: Any) -> Any:
    return value if type(value) is str else _int32(value)


def _quantity(value: Any) -> Any:
    if type(value) is str:
        return forms.quantity(value)
    if type(value) is int:
        return forms.quantity(str(value))
    raise _Odd


def _time(value: Any) -> Any:
    return forms.time(_string(value))


def _micro_time(value: Any) -> Any:
    return forms.micro_time(_string(value))


def _bytes(value: Any) -> Any:
    return forms.from_base64(_string(value))


def _anything(value: Any) -> Any:
    return value


def _give_up(_: Any) -> Any:
    raise _Odd


_SCALARS: dict[Base, _Read] = {
    Base.STRING: _string,
    Base.BOOLEAN: _boolean,
    Base.INT32: _int32,
    Base.INT64: _int64,
    Base.NUMBER: _give_up,
    Base.BYTES: _bytes,
    Base.TIME: _time,
    Base.MICRO_TIME: _micro_time,
    Base.QUANTITY: _quantity,
    Base.INT_OR_STRING: _int_or_string,
    Base.ANY: _anything,
}
_MAY_BE_EMPTY = frozenset({Base.INT32, Base.INT64, Base.BYTES, Base.TIME, Base.MICRO_TIME})
