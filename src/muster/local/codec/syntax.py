"""JSON and YAML texts → values, and what Go says of texts that are neither.

A quick reader takes what is sound.  Go's own scanner is followed byte by byte only where that one fails, for the sake
of its message.
"""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from muster.local.codec.forms import Malformed
from muster.local.codec.gotext import quoted
from muster.local.codec.values import Number, Pairs

__all__ = ["NoJson", "has_duplicates", "quick", "tree"]

_decoder = msgspec.json.Decoder()
_encoder = msgspec.json.Encoder()

_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")
_SURROGATE = re.compile("[\ud800-\udfff]")


class NoJson(Malformed):
    """A text that is no JSON."""


DEEPEST = 10_000
"""Go reads no deeper."""


def quick(body: bytes) -> Any:
    """The value of a sound JSON text, of keys that come twice the last.  Raises ValueError for any other."""
    try:
        return _decoder.decode(body)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(str(error)) from None


def has_duplicates(body: bytes, value: Any) -> bool:
    """Whether some object has a key twice, by the count of colons; never wrongly no, seldom wrongly yes.

    Nothing is lost on the way through a dict but values of keys that come twice, and with them at least one colon.
    (Colons written as escapes would count for less than they are, so they count as a yes.)
    """
    if b"\\u003" in body and b"\\u003a" in body.lower():
        return True
    return body.count(b":") != _encoder.encode(value).count(b":")


def tree(body: bytes) -> Any:
    """With Pairs and Numbers: all that the text has.  Raises NoJson, with Go's message."""
    check(body)
    # each byte that is no UTF-8 becomes one replacement character, as with Go
    text = re.sub("[\udc80-\udcff]", "\ufffd", body.decode("utf-8", "surrogateescape"))
    try:
        found = json.loads(text, object_pairs_hook=Pairs, parse_float=Number, parse_int=Number)
        return _whole(found) if _SURROGATE_ESCAPE.search(body) else found
    except RecursionError:
        raise NoJson("exceeded max depth") from None


def _whole(found: Any) -> Any:
    """With a replacement character for each half of a surrogate pair that came alone, as Go reads it."""
    if isinstance(found, Pairs):
        return Pairs((_whole(key), _whole(value)) for key, value in found)
    if isinstance(found, list):
        return [_whole(item) for item in found]
    if isinstance(found, str) and not isinstance(found, Number):
        return _SURROGATE.sub("\ufffd", found)
    return found


# --- Go's scanner ---------------------------------------------------------------------------------

_SPACE = re.compile(rb"[ \t\r\n]*")
_STRING = re.compile(rb'"(?:[^"\\\x00-\x1f]+|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*')
_NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_LITERALS = {ord("t"): b"true", ord("f"): b"false", ord("n"): b"null"}
_NUMBER_STARTS = frozenset(b"-0123456789")


def check(body: bytes) -> None:
    """Raises NoJson for a text that is no JSON."""
    try:
        _Scanner(body).scan()
    except _End:
        raise NoJson("unexpected end of JSON input") from None


class _End(Exception):
    """The text ended too soon."""


class _Scanner:
    def __init__(self, body: bytes) -> None:
        self._body = body
        self._at = 0

    def scan(self) -> None:
        open_: list[int] = []
        while True:
            self._value_or_opening(open_)
            while True:
                if not open_:
                    self._skip()
                    if self._at < len(self._body):
                        raise self._unexpected("after top-level value")
                    return
                if not self._closing(open_):
                    break

    def _value_or_opening(self, open_: list[int]) -> None:
        """Past one value; of an object or a list that is not empty, to before its first."""
        while True:
            mark = self._next()
            if mark == ord('"'):
                return self._string()
            if mark in _NUMBER_STARTS:
                return self._number()
            if mark in _LITERALS:
                return self._literal(_LITERALS[mark])
            if mark not in b"{[":
                raise self._unexpected("looking for beginning of value")
            self._at += 1
            if len(open_) >= DEEPEST:
                raise NoJson("exceeded max depth")
            end = mark + 2
            if self._next() == end:
                self._at += 1
                return None
            open_.append(end)
            if mark == ord("{"):
                self._key()

    def _closing(self, open_: list[int]) -> bool:
        """Past what follows a value: true for the end of what it is in, false for a comma."""
        end = open_[-1]
        context = "after object key:value pair" if end == ord("}") else "after array element"
        mark = self._next()
        if mark == end:
            self._at += 1
            open_.pop()
            return True
        if mark != ord(","):
            raise self._unexpected(context)
        self._at += 1
        if end == ord("}"):
            self._key()
        return False

    def _key(self) -> None:
        if self._next() != ord('"'):
            raise self._unexpected("looking for beginning of object key string")
        self._string()
        if self._next() != ord(":"):
            raise self._unexpected("after object key")
        self._at += 1

    def _skip(self) -> None:
        found = _SPACE.match(self._body, self._at)
        assert found is not None
        self._at = found.end()

    def _next(self) -> int:
        self._skip()
        if self._at >= len(self._body):
            raise _End
        return self._body[self._at]

    def _string(self) -> None:
        found = _STRING.match(self._body, self._at)
        assert found is not None
        self._at = found.end()
        if self._at >= len(self._body):
            raise _End
        mark = self._body[self._at]
        if mark == ord('"'):
            self._at += 1
            return
        if mark != ord("\\"):
            raise self._unexpected("in string literal")
        self._at += 1
        if self._body[self._at : self._at + 1] != b"u":
            raise self._unexpected("in string escape code")
        self._at += 1
        while self._body[self._at : self._at + 1].isalnum() and self._body[self._at] in b"0123456789abcdefABCDEF":
            self._at += 1
        raise self._unexpected("in \\u hexadecimal character escape")

    def _number(self) -> None:
        found = _NUMBER.match(self._body, self._at)
        if found is None:
            self._at += 1
            raise self._unexpected("in numeric literal")
        self._at = found.end()
        after = self._body[self._at : self._at + 1]
        spelling = found[0]
        if after == b"." and not re.search(rb"[.eE]", spelling):
            self._at += 1
            raise self._unexpected("after decimal point in numeric literal")
        if after in (b"e", b"E") and not re.search(rb"[eE]", spelling):
            self._at += 1
            if self._body[self._at : self._at + 1] in (b"+", b"-"):
                self._at += 1
            raise self._unexpected("in exponent of numeric literal")

    def _literal(self, literal: bytes) -> None:
        for index in range(len(literal)):
            if self._body[self._at : self._at + 1] != literal[index : index + 1]:
                expected = literal[index : index + 1].decode()
                raise self._unexpected(f"in literal {literal.decode()} (expecting '{expected}')")
            self._at += 1

    def _unexpected(self, context: str) -> NoJson:
        # at its end a text is read as if a blank followed
        mark = chr(self._body[self._at]) if self._at < len(self._body) else " "
        shown = {"'": r"'\''", '"': "'\"'"}.get(mark) or f"'{quoted(mark)[1:-1]}'"
        return NoJson(f"invalid character {shown} {context}")
