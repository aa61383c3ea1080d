"""Objects as Go's decoder takes them, with all that is odd about them: slow, and exact.

`decode` comes here with what its quick way does not take: wrong types, unknown or repeated fields, numbers of a strange
spelling, nulls in lists.  A value is read as Go reads JSON into a struct, into what a field holds already if the text
has it twice, and then written as Go writes that struct.  In between, a struct is a dict of the fields that were set.

    the first value of a wrong type         is reported, and decoding goes on, in search of what is worse:
    a value that its own type refuses       (a time, a quantity) ends it at once and is what is reported
    unknown and repeated fields             are told only if nothing else is wrong
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable
from typing import Any

import msgspec

from muster.local.codec import forms
from muster.local.codec.gotext import compact_json, quoted
from muster.local.codec.values import WHOLE, Number, Object, Pairs, plain
from muster.local.schema.load import SCHEMA_OR_BOOL, SCHEMA_OR_LIST, SCHEMA_OR_STRINGS
from muster.local.schema.shapes import Base, Field, Shape
from muster.local.schema.writing import written

__all__ = [
    "MOST_STRICT_ERRORS",
    "Outcome",
    "item_type",
    "read",
    "read_alone",
    "repeated",
    "what",
]

MOST_STRICT_ERRORS = 100
"""More are not told."""

_INT_BITS = {Base.INT32: 32, Base.INT64: 64}
_UNSET: Any = msgspec.UNSET


class Outcome(msgspec.Struct):
    """What became of a value."""

    value: Any
    error: str = ""
    """Go's, of the first thing that is wrong."""
    strict: list[str] = []
    """Unknown and repeated fields: unknown field "spec.foo"."""


def read(tree: Any, shape: Shape) -> Outcome:
    """A value, with Pairs and Numbers in it or plain, as its shape makes it."""
    reader = _Reader(strict=True)
    try:
        value = reader.value(tree, shape, at=_At(type=_root_type(shape)), old=_UNSET)
    except _Refused as refused:
        return Outcome(None, error=str(refused))
    if reader.saved is not None:
        return Outcome(None, error=str(reader.saved))
    return Outcome(written(value, shape), strict=reader.strict_errors)


def read_alone(value: Any, shape: Shape) -> Outcome:
    """A value of a type that reads itself (a time, a quantity, ...), as if it were a text of its own; unwritten."""
    try:
        return Outcome(_Reader(strict=False).value(value, shape, at=_At(type=""), old=_UNSET))
    except _Refused as refused:
        return Outcome(None, error=str(refused))


# --- trees ----------------------------------------------------------------------------------------


def repeated(tree: Any, path: str = "") -> list[str]:
    """Fields that come twice, in the order of the text."""
    found = []
    if isinstance(tree, Pairs):
        seen = set()
        for name, item in tree:
            inner = f"{path}.{name}" if path else name
            if name in seen:
                found.append(f'duplicate field "{inner}"')
            seen.add(name)
            found += repeated(item, inner)
    elif isinstance(tree, list):
        for index, item in enumerate(tree):
            found += repeated(item, f"{path}[{index}]")
    return list(dict.fromkeys(found))


# --- reading --------------------------------------------------------------------------------------


class _At(msgspec.Struct, frozen=True):
    """Where a value stands."""

    type: str
    """Its Go type."""
    struct: str = ""
    """The struct that it is in."""
    stack: tuple[str, ...] = ()
    """Fields from the outermost struct to it."""
    path: str = ""
    """With indices and keys, as unknown fields are told."""


class _Refused(Exception):
    """The end of decoding."""


class _WrongType(_Refused):
    """A value that its Go type does not take."""

    def __init__(self, what: str, at: _At) -> None:
        self.what = what
        self.at = at
        super().__init__()

    def __str__(self) -> str:
        at = self.at
        where = f"struct field {at.struct}.{'.'.join(at.stack)}" if at.struct or at.stack else "value"
        return f"json: cannot unmarshal {self.what} into Go {where} of type {at.type}"


class _Reader:
    def __init__(self, *, strict: bool) -> None:
        self.strict = strict
        self.strict_errors: list[str] = []
        self.saved: Exception | None = None

    def value(self, tree: Any, shape: Shape, *, at: _At, old: Any) -> Any:
        """What Go holds after it has read the value; `old` is what it held before, UNSET for nothing."""
        if shape.base in _SELF_MADE:
            return _SELF_MADE[shape.base](self, tree, shape, at)
        if tree is None:
            return None if shape.base in (Base.MAP, Base.LIST) else old
        return _OF_GO[shape.base](self, tree, shape, at, old)

    # --- what Go's decoder knows ----------------------------------------------

    def structure(self, tree: Any, shape: Shape, at: _At, old: Any) -> Any:
        if not isinstance(tree, Pairs | dict):
            return self._wrong(tree, at, old)
        into: Object = {} if old is _UNSET or old is None else old
        seen = set()
        for key, value in _pairs(tree):
            field = shape.fields.get(key)
            if field is None:
                self._tell("unknown", at, key)
                continue
            if key in seen:
                self._tell("duplicate", at, key)
            seen.add(key)
            into[key] = self._field(value, field, at=_inside(at, key, field, shape), old=into.get(key, _UNSET))
        return into

    def _field(self, tree: Any, field: Field, *, at: _At, old: Any) -> Any:
        if tree is None and field.pointer:
            return None
        return self.value(tree, field.shape, at=at, old=_UNSET if old is None else old)

    def entries(self, tree: Any, shape: Shape, at: _At, old: Any) -> Any:
        if not isinstance(tree, Pairs | dict):
            return self._wrong(tree, at, old)
        assert shape.items is not None
        into: Object = {} if old is _UNSET or old is None else old
        seen = set()
        inner = item_type(at.type, shape.items)
        for key, value in _pairs(tree):
            if key in seen:
                self._tell("duplicate", at, key)
            seen.add(key)
            path = f"{at.path}.{key}" if at.path else key
            here = msgspec.structs.replace(at, type=inner, path=path)
            into[key] = self.value(value, shape.items, at=here, old=_UNSET)
        return into

    def elements(self, tree: Any, shape: Shape, at: _At, old: Any) -> Any:
        if not isinstance(tree, list) or isinstance(tree, Pairs):
            return self._wrong(tree, at, old)
        assert shape.items is not None
        before = old if isinstance(old, list) else []
        inner = item_type(at.type, shape.items)
        items = []
        for index, value in enumerate(tree):
            here = msgspec.structs.replace(at, type=inner, path=f"{at.path}[{index}]")
            # Go reads the list anew over the items that are there
            items.append(self.value(value, shape.items, at=here, old=before[index] if index < len(before) else _UNSET))
        return items

    def string(self, tree: Any, _: Shape, at: _At, old: Any) -> Any:
        if isinstance(tree, str) and not isinstance(tree, Number):
            return tree
        return self._wrong(tree, at, old)

    def boolean(self, tree: Any, _: Shape, at: _At, old: Any) -> Any:
        return tree if isinstance(tree, bool) else self._wrong(tree, at, old)

    def integer(self, tree: Any, shape: Shape, at: _At, old: Any) -> Any:
        spelling = _spelling(tree)
        if spelling is None:
            return self._wrong(tree, at, old)
        bound = 1 << (_INT_BITS[shape.base] - 1)
        if WHOLE.fullmatch(spelling) and -bound <= int(spelling) < bound:
            return int(spelling)
        return self._save(_WrongType(f"number {spelling}", at), old)

    def decimal(self, tree: Any, _: Shape, at: _At, old: Any) -> Any:
        spelling = _spelling(tree)
        if spelling is None:
            return self._wrong(tree, at, old)
        value = float(spelling)
        if value in (float("inf"), float("-inf")):
            return self._save(_WrongType(f"number {spelling}", at), old)
        return int(value) if value.is_integer() else value

    def octets(self, tree: Any, _: Shape, at: _At, old: Any) -> Any:
        if isinstance(tree, str) and not isinstance(tree, Number):
            try:
                return forms.from_base64(tree)
            except forms.Malformed as malformed:
                return self._save(_Refused(str(malformed)), old)
        if not isinstance(tree, list) or isinstance(tree, Pairs):
            return self._wrong(tree, at, old)
        here = msgspec.structs.replace(at, type="uint8")
        return base64.b64encode(bytes(self._byte(each, here) for each in tree)).decode()

    def _byte(self, tree: Any, at: _At) -> int:
        spelling = _spelling(tree)
        if tree is None or spelling is None:
            return 0 if tree is None else int(self._wrong(tree, at, 0))
        if WHOLE.fullmatch(spelling) and 0 <= int(spelling) < 256:
            return int(spelling)
        return int(self._save(_WrongType(f"number {spelling}", at), 0))

    # --- types that read themselves: what they refuse ends it -----------------

    def time(self, tree: Any, shape: Shape, at: _At) -> Any:
        if tree is None:
            return ""
        if not isinstance(tree, str) or isinstance(tree, Number):
            raise _WrongType(what(tree), msgspec.structs.replace(at, type="string"))
        return _formed(forms.time if shape.base is Base.TIME else forms.micro_time, tree)

    def quantity(self, tree: Any, _shape: Shape, _at: _At) -> Any:
        if tree is None:
            return "0"
        # anything else is no quantity, whatever Go makes of its text
        return _formed(forms.quantity, tree if isinstance(tree, str) else _spelling(tree) or "?")

    def int_or_string(self, tree: Any, _: Shape, at: _At) -> Any:
        if tree is None:
            return 0
        if isinstance(tree, str) and not isinstance(tree, Number):
            return tree
        spelling = _spelling(tree)
        here = msgspec.structs.replace(at, type="int32")
        if spelling is None:
            raise _WrongType(what(tree), here)
        if WHOLE.fullmatch(spelling) and -(2**31) <= int(spelling) < 2**31:
            return int(spelling)
        raise _WrongType(f"number {spelling}", here)

    def anything(self, tree: Any, shape: Shape, at: _At) -> Any:
        if not shape.name:
            return plain(tree)
        return self._choice(tree, shape, at)

    def _choice(self, tree: Any, shape: Shape, at: _At) -> Any:
        """A schema, or what else may stand in its place in the schema of a custom kind."""
        assert shape.items is not None
        if isinstance(tree, Pairs | dict):
            return written(self._apart(tree, shape.items, at), shape.items)
        if shape.name == SCHEMA_OR_BOOL:
            if isinstance(tree, bool):
                return tree
            raise _Refused("boolean or JSON schema expected")
        if not isinstance(tree, list):
            return None
        if shape.name == SCHEMA_OR_LIST:
            items = Shape(base=Base.LIST, items=shape.items)
            return written(self._apart(tree, items, at), items) or None
        assert shape.name == SCHEMA_OR_STRINGS
        items = Shape(base=Base.LIST, items=Shape(base=Base.STRING))
        return written(self._apart(tree, items, at), items) or None

    def _apart(self, tree: Any, shape: Shape, at: _At) -> Any:
        """Read as a text of its own: unknown fields in it go unseen, and what is wrong ends it."""
        reader = _Reader(strict=False)
        try:
            value = reader.value(tree, shape, at=_At(type=_root_type(shape)), old=_UNSET)
            if reader.saved is not None:
                raise reader.saved
        except _WrongType as wrong:
            stack = at.stack + wrong.at.stack
            raise _WrongType(wrong.what, msgspec.structs.replace(wrong.at, struct=at.struct, stack=stack)) from None
        return value

    # --- what is wrong ----------------------------------------------------------

    def _wrong(self, tree: Any, at: _At, old: Any) -> Any:
        return self._save(_WrongType(what(tree), at), old)

    def _save(self, error: Exception, old: Any) -> Any:
        if self.saved is None:
            self.saved = error
        return old

    def _tell(self, what: str, at: _At, key: str) -> None:
        if not self.strict or len(self.strict_errors) >= MOST_STRICT_ERRORS:
            return
        line = f"{what} field {quoted(f'{at.path}.{key}' if at.path else key)}"
        if line not in self.strict_errors:
            self.strict_errors.append(line)


_OF_GO: dict[Base, Any] = {
    Base.STRUCT: _Reader.structure,
    Base.MAP: _Reader.entries,
    Base.LIST: _Reader.elements,
    Base.STRING: _Reader.string,
    Base.BOOLEAN: _Reader.boolean,
    Base.INT32: _Reader.integer,
    Base.INT64: _Reader.integer,
    Base.NUMBER: _Reader.decimal,
    Base.BYTES: _Reader.octets,
}
_SELF_MADE: dict[Base, Any] = {
    Base.TIME: _Reader.time,
    Base.MICRO_TIME: _Reader.time,
    Base.QUANTITY: _Reader.quantity,
    Base.INT_OR_STRING: _Reader.int_or_string,
    Base.ANY: _Reader.anything,
}


def _formed(form: Any, text: str) -> str:
    try:
        return str(form(str(text)))
    except forms.Malformed as malformed:
        raise _Refused(str(malformed)) from None


def _pairs(tree: Pairs | Object) -> Iterable[tuple[str, Any]]:
    return tree.items() if isinstance(tree, dict) else tree


def _spelling(tree: Any) -> str | None:
    """Of a number; None for what is none."""
    if isinstance(tree, Number):
        return str(tree)
    if isinstance(tree, int | float) and not isinstance(tree, bool):
        return compact_json(tree)
    return None


def what(tree: Any) -> str:
    """As Go names the kind of a JSON value."""
    if isinstance(tree, Pairs | dict):
        return "object"
    if isinstance(tree, list):
        return "array"
    if isinstance(tree, bool):
        return "bool"
    return "string" if isinstance(tree, str) and not isinstance(tree, Number) else "number"


def _inside(at: _At, key: str, field: Field, shape: Shape) -> _At:
    return _At(
        type=field.go_type,
        struct=shape.go_name,
        stack=(*at.stack, field.inline, key) if field.inline else (*at.stack, key),
        path=f"{at.path}.{key}" if at.path else key,
    )


def _root_type(shape: Shape) -> str:
    if shape.base is Base.LIST and shape.items is not None:
        return f"[]{_root_type(shape.items)}"
    return ".".join(shape.name.split(".")[-2:]) if shape.name else "string"


def item_type(outer: str, items: Shape) -> str:
    """The Go type of what a list or map of this Go type holds; of any, if it has a name of its own."""
    if found := re.match(r"\[\]|map\[[^\]]*\]", outer):
        return outer[found.end() :]
    return _root_type(items)
