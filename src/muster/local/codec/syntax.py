"""Texts of JSON → values: by a quick reader if they are sound, by another if they are no UTF-8 or have a key twice."""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

import msgspec

from muster.local.codec.forms import Malformed
from muster.local.codec.values import Pairs

__all__ = ["NoJson", "check", "has_duplicates", "quick", "tree"]

_decoder = msgspec.json.Decoder()
_encoder = msgspec.json.Encoder()

_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")
_SURROGATE = re.compile("[\ud800-\udfff]")
# Python reads no integer of thousands of digits; no integer of Go is longer
_LONGEST_INTEGER = 20
_SHOWN = 30


_EXPECTED = {
    "Expecting value": "looking for beginning of value",
    "Expecting property name enclosed in double quotes": "looking for beginning of object key string",
}


class NoJson(Malformed):
    """A text that is no JSON."""


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
    """With Pairs: all that the text has.  Raises NoJson."""
    # each byte that is no UTF-8 becomes one replacement character, as with Go
    text = re.sub("[\udc80-\udcff]", "\ufffd", body.decode("utf-8", "surrogateescape"))
    try:
        found = json.loads(
            text, object_pairs_hook=Pairs, parse_int=_integer, parse_float=_float, parse_constant=_no_constant
        )
        return _whole(found) if _SURROGATE_ESCAPE.search(body) else found
    except json.JSONDecodeError as error:
        raise NoJson(_words(error, len(text))) from None
    except RecursionError:
        raise NoJson("exceeded max depth") from None


def check(body: bytes) -> None:
    """Raises NoJson for a text that is none."""
    tree(body)


def _words(error: json.JSONDecodeError, size: int) -> str:
    if error.pos >= size or error.msg.startswith("Unterminated"):
        return "unexpected end of JSON input"
    return f"invalid character {error.doc[error.pos]!r} {_EXPECTED.get(error.msg, error.msg)}"


def _integer(spelling: str) -> int | float:
    return int(spelling) if len(spelling) <= _LONGEST_INTEGER else _float(spelling)


def _float(spelling: str) -> float:
    value = float(spelling)
    if not math.isfinite(value):
        raise NoJson(f"json: cannot unmarshal number {spelling[:_SHOWN]} into Go value of type float64")
    return value


def _no_constant(word: str) -> NoReturn:
    raise NoJson(f"invalid character {word[0]!r} looking for beginning of value")


def _whole(found: Any) -> Any:
    """With a replacement character for each half of a surrogate pair that came alone, as Go reads it."""
    if isinstance(found, Pairs):
        return Pairs((_whole(key), _whole(value)) for key, value in found)
    if isinstance(found, list):
        return [_whole(item) for item in found]
    return _SURROGATE.sub("\ufffd", found) if isinstance(found, str) else found
