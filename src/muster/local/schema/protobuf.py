"""Bodies in protobuf → values as their JSON might be, by shapes and the field numbers in them.

kubectl sends protobuf when it makes objects of its own (`kubectl create namespace`, `create job`, ...).  A body is four
magic bytes and an envelope that names apiVersion and kind and holds the object; inside, a struct is a message and an
embedded struct a message inside it.  Only reading: answers are JSON.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterator
from typing import Any

import msgspec

from muster.local.codec import forms
from muster.local.codec.forms import Malformed
from muster.local.codec.values import Object
from muster.local.schema.shapes import Base, Field, Shape

__all__ = ["MAGIC", "Envelope", "decode", "unwrap"]

MAGIC = b"k8s\0"

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_SIZES = {_FIXED64: 8, _FIXED32: 4}
_VARINTS = frozenset({Base.INT32, Base.INT64, Base.BOOLEAN})


class Envelope(msgspec.Struct, frozen=True):
    """What a body says of itself, and the object in it."""

    api_version: str
    kind: str
    data: bytes


def unwrap(body: bytes) -> Envelope:
    """Raises Malformed."""
    if not body.startswith(MAGIC):
        raise Malformed("provided data does not appear to be a protobuf message")
    if body == MAGIC:
        raise Malformed("empty body")
    parts = _last(body[len(MAGIC) :])
    names = _last(_message(parts.get(1, b"")))
    return Envelope(_text(names.get(1, b"")), _text(names.get(2, b"")), _message(parts.get(2, b"")))


def decode(data: bytes, shape: Shape) -> Object:
    """Raises Malformed."""
    return _fill(data, _slots_of(shape), {})


# --- messages -------------------------------------------------------------------------------------


_Slots = dict[int, "tuple[str, Field] | _Slots"]
"""What stands under which number; of embedded structs, what they have in them."""

_slots: dict[int, tuple[Shape, _Slots]] = {}
"""By the id of the shape, which is kept."""


def _slots_of(shape: Shape) -> _Slots:
    found = _slots.get(id(shape))
    if found is None:
        found = _slots[id(shape)] = (shape, {})
        for name, field in shape.fields.items():
            within = found[1]
            for number in field.inline_numbers:
                inner = within.setdefault(number, {})
                assert isinstance(inner, dict)
                within = inner
            if field.number:
                within[field.number] = (name, field)
    return found[1]


def _fill(data: bytes, slots: _Slots, into: Object) -> Object:
    for number, value in _fields(data):
        slot = slots.get(number)
        if isinstance(slot, dict):
            _fill(_message(value), slot, into)
        elif slot is not None:
            name, field = slot
            into[name] = _value(value, field.shape, into.get(name))
    return into


def _value(value: int | bytes, shape: Shape, before: Any) -> Any:
    """`before` is what the field has so far: lists and maps come item by item."""
    if shape.base is Base.STRUCT:
        return _fill(_message(value), _slots_of(shape), before or {})
    if shape.base is Base.LIST:
        return [*(before or ()), *_items(value, shape)]
    if shape.base is Base.MAP:
        assert shape.items is not None
        entry = _last(_message(value))
        item = _value(entry[2], shape.items, None) if 2 in entry else None
        return {**(before or {}), _text(entry.get(1, b"")): item}
    return _scalar(value, shape.base)


def _items(value: int | bytes, shape: Shape) -> Iterator[Any]:
    assert shape.items is not None
    if isinstance(value, bytes) and shape.items.base in _VARINTS:
        # packed: one after another, without tags
        at = 0
        while at < len(value):
            number, at = _varint(value, at)
            yield _scalar(number, shape.items.base)
    else:
        yield _value(value, shape.items, None)


# --- values ---------------------------------------------------------------------------------------


def _scalar(value: int | bytes, base: Base) -> Any:
    match base:
        case Base.STRING:
            return _text(value)
        case Base.INT32:
            return _signed(value, 32)
        case Base.INT64:
            return _signed(value, 64)
        case Base.BOOLEAN:
            return _number(value) != 0
        case Base.NUMBER:
            return struct.unpack("<d", struct.pack("<Q", _number(value)))[0]
        case Base.BYTES:
            return base64.b64encode(_message(value)).decode()
    parts = _last(_message(value))
    if base in (Base.TIME, Base.MICRO_TIME):
        # none of both: never set
        micros = _signed(parts.get(2, 0), 64) // 1000 if base is Base.MICRO_TIME else None
        return forms.shown_time(_signed(parts.get(1, 0), 64), micros=micros) or None if parts else None
    if base is Base.INT_OR_STRING:
        return _text(parts.get(3, b"")) if parts.get(1) else _signed(parts.get(2, 0), 32)
    text = _text(parts.get(1, b""))
    if base is Base.QUANTITY:
        return text or "0"
    try:
        return msgspec.json.decode(text or "null")
    except msgspec.DecodeError as error:
        raise Malformed(str(error)) from None


def _signed(value: int | bytes, bits: int) -> int:
    half = 1 << (bits - 1)
    return (_number(value) + half) % (2 * half) - half


def _text(value: int | bytes) -> str:
    return _message(value).decode(errors="replace")


def _message(value: int | bytes) -> bytes:
    if not isinstance(value, bytes):
        raise Malformed("proto: wrong wireType = 0")
    return value


def _number(value: int | bytes) -> int:
    if isinstance(value, bytes):
        raise Malformed("proto: wrong wireType = 2")
    return value


# --- the wire -------------------------------------------------------------------------------------


def _last(data: bytes) -> dict[int, int | bytes]:
    """Of each number the last value."""
    return dict(_fields(data))


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Numbers and values: bytes for what has a length, else a number.  Raises Malformed."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, kind = tag >> 3, tag & 7
        if kind == _VARINT:
            value, at = _varint(data, at)
            yield number, value
            continue
        if kind == _BYTES:
            length, at = _varint(data, at)
        elif kind in _SIZES:
            length = _SIZES[kind]
        else:
            raise Malformed(f"proto: illegal wireType {kind}")
        if at + length > len(data):
            raise Malformed("unexpected EOF")
        part = data[at : at + length]
        at += length
        yield number, part if kind == _BYTES else int.from_bytes(part, "little")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at
        if shift >= 70:
            raise Malformed("proto: integer overflow")
    raise Malformed("unexpected EOF")
