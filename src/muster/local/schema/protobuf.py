"""Bodies in protobuf → objects, by their shapes and the field numbers in them.

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
_TOO_SHORT = "unexpected EOF"
_UNSET: Any = msgspec.UNSET


class Envelope(msgspec.Struct, frozen=True):
    """What a body says of itself, and the object in it."""

    api_version: str
    kind: str
    data: bytes


def unwrap(body: bytes) -> Envelope:
    """Raises Malformed."""
    if not body:
        raise Malformed("empty data")
    if not body.startswith(MAGIC):
        shown = " ".join(map(str, MAGIC))
        raise Malformed(f"provided data does not appear to be a protobuf message, expected prefix [{shown}]")
    if len(body) == len(MAGIC):
        raise Malformed("empty body")
    data, names = b"", {1: "", 2: ""}
    for number, value in _fields(body[len(MAGIC) :]):
        if number == 1:
            names |= {inner: _text(each) for inner, each in _fields(_message(value)) if inner in names}
        elif number == 2:
            data = _message(value)
    return Envelope(names[1], names[2], data)


def decode(data: bytes, shape: Shape) -> Object:
    """The object in a message, as its JSON might be.  Raises Malformed."""
    return _struct(data, shape, {})


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


def _struct(data: bytes, shape: Shape, into: Object) -> Object:
    return _fill(data, _slots_of(shape), into)


def _fill(data: bytes, slots: _Slots, into: Object) -> Object:
    for number, value in _fields(data):
        slot = slots.get(number)
        if isinstance(slot, dict):
            _fill(_message(value), slot, into)
        else:
            _put(into, slot, value)
    return into


def _put(into: Object, slot: tuple[str, Field] | None, value: int | bytes) -> None:
    if slot is not None:
        name, field = slot
        into[name] = _value(value, field.shape, into.get(name, _UNSET))


def _value(value: int | bytes, shape: Shape, old: Any) -> Any:
    base = shape.base
    if base is Base.STRUCT:
        return _struct(_message(value), shape, {} if old is _UNSET else old)
    if base is Base.LIST:
        return [*(() if old is _UNSET else old), *_items(value, shape)]
    if base is Base.MAP:
        return {**({} if old is _UNSET else old), **_entry(_message(value), shape)}
    return _SCALARS[base](value)


def _items(value: int | bytes, shape: Shape) -> Iterator[Any]:
    assert shape.items is not None
    if isinstance(value, bytes) and shape.items.base in _VARINTS:
        # packed: one after another, without tags
        at = 0
        while at < len(value):
            number, at = _varint(value, at)
            yield _SCALARS[shape.items.base](number)
    else:
        yield _value(value, shape.items, _UNSET)


def _entry(data: bytes, shape: Shape) -> Object:
    assert shape.items is not None
    key, item = "", _UNSET
    for number, value in _fields(data):
        if number == 1:
            key = _text(value)
        elif number == 2:
            item = _value(value, shape.items, item)
    return {key: item}


# --- values ---------------------------------------------------------------------------------------


def _int32(value: int | bytes) -> int:
    return (_number(value) + 0x80000000) % 0x100000000 - 0x80000000


def _int64(value: int | bytes) -> int:
    return (_number(value) + 0x8000000000000000) % 0x10000000000000000 - 0x8000000000000000


def _boolean(value: int | bytes) -> bool:
    return _number(value) != 0


def _float(value: int | bytes) -> float:
    found: float = struct.unpack("<d", struct.pack("<Q", _number(value)))[0]
    return int(found) if found.is_integer() else found


def _text(value: int | bytes) -> str:
    return _message(value).decode(errors="replace")


def _base64(value: int | bytes) -> str:
    return base64.b64encode(_message(value)).decode()


def _time(value: int | bytes) -> str | None:
    seconds, _ = _timestamp(value)
    return None if seconds is None else forms.shown_time(seconds) or None


def _micro_time(value: int | bytes) -> str | None:
    seconds, nanos = _timestamp(value)
    return None if seconds is None else forms.shown_time(seconds, micros=nanos // 1000) or None


def _timestamp(value: int | bytes) -> tuple[int | None, int]:
    """Seconds and billionths; no seconds for a time that was never set."""
    data = _message(value)
    parts = {number: _int64(each) for number, each in _fields(data) if number in (1, 2)}
    return (parts.get(1, 0) if data else None), parts.get(2, 0)


def _quantity(value: int | bytes) -> str:
    return _only(value, default="0")


def _int_or_string(value: int | bytes) -> int | str:
    parts = dict(_fields(_message(value)))
    return _text(parts.get(3, b"")) if parts.get(1) else _int32(parts.get(2, 0))


def _any(value: int | bytes) -> Any:
    text = _only(value, default="null")
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise Malformed(str(error)) from None


def _only(value: int | bytes, *, default: str) -> str:
    """The text in a message that holds nothing else."""
    parts = [_text(each) for number, each in _fields(_message(value)) if number == 1]
    return parts[-1] if parts and parts[-1] else default


_VARINTS = frozenset({Base.INT32, Base.INT64, Base.BOOLEAN})
_SCALARS: dict[Base, Any] = {
    Base.STRING: _text,
    Base.INT32: _int32,
    Base.INT64: _int64,
    Base.NUMBER: _float,
    Base.BOOLEAN: _boolean,
    Base.BYTES: _base64,
    Base.TIME: _time,
    Base.MICRO_TIME: _micro_time,
    Base.QUANTITY: _quantity,
    Base.INT_OR_STRING: _int_or_string,
    Base.ANY: _any,
}


# --- the wire -------------------------------------------------------------------------------------


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Numbers and values: bytes for what has a length, else a number.  Raises Malformed."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, kind = tag >> 3, tag & 7
        if number <= 0:
            raise Malformed(f"proto: illegal tag {number} (wire type {tag})")
        if kind == _VARINT:
            value, at = _varint(data, at)
            yield number, value
        elif kind == _BYTES:
            length, at = _varint(data, at)
            yield number, _taken(data, at, length)
            at += length
        elif kind in (_FIXED64, _FIXED32):
            length = 8 if kind == _FIXED64 else 4
            yield number, int.from_bytes(_taken(data, at, length), "little")
            at += length
        else:
            raise Malformed(f"proto: illegal wireType {kind}")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data):
            raise Malformed(_TOO_SHORT)
        if shift >= 64:
            raise Malformed("proto: integer overflow")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at


def _taken(data: bytes, at: int, length: int) -> bytes:
    if at + length > len(data):
        raise Malformed(_TOO_SHORT)
    return data[at : at + length]


def _message(value: int | bytes) -> bytes:
    if not isinstance(value, bytes):
        raise Malformed("proto: wrong wireType = 0")
    return value


def _number(value: int | bytes) -> int:
    if isinstance(value, bytes):
        raise Malformed("proto: wrong wireType = 2")
    return value
