"""Values as Go writes them: errors quote them, and the names of fields are made of them."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}
# Go's encoder keeps JSON harmless inside HTML and JavaScript
_HARMLESS = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def shown(value: Any) -> str:
    """As %v shows it: map[a:1 b:[x y]], strings bare, nil as <nil>."""
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _shown_float(value)
    if isinstance(value, dict):
        return "map[" + " ".join(f"{name}:{shown(value[name])}" for name in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(shown(item) for item in value) + "]"
    return str(value)


def quoted(text: str) -> str:
    """As %q shows it."""
    return '"' + "".join(_ESCAPES.get(char) or _visible(char) for char in text) + '"'


def compact_json(value: Any, *, as_given: bool = False) -> str:
    """As Go encodes it: no spaces, keys in order, whole floats without a point, nothing that HTML would take.

    A struct's fields stand as they are given, a map's keys in their order.
    """
    if isinstance(value, float):
        return _json_float(value)
    if isinstance(value, dict):
        names = value if as_given else sorted(value)
        inner = (f"{compact_json(name)}:{compact_json(value[name], as_given=as_given)}" for name in names)
        return "{" + ",".join(inner) + "}"
    if isinstance(value, list):
        return "[" + ",".join(compact_json(item, as_given=as_given) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False).translate(_HARMLESS)


def _visible(char: str) -> str:
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _shown_float(value: float) -> str:
    sign, digits, power = _digits(value)
    if -4 <= power < 6:
        return sign + _plain(digits, power)
    return f"{sign}{_pointed(digits)}e{power:+03d}"


def _json_float(value: float) -> str:
    sign, digits, power = _digits(value)
    if -6 <= power < 21:
        return sign + _plain(digits, power)
    return f"{sign}{_pointed(digits)}e{power:+d}"


def _digits(value: float) -> tuple[str, str, int]:
    """Sign, shortest digits that read back as the same number, and the power of ten of the first of them."""
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    text = "".join(map(str, digits))
    power = len(text) - 1 + int(exponent)
    return "-" * sign, text.rstrip("0") or "0", power


def _pointed(digits: str) -> str:
    return digits if len(digits) == 1 else f"{digits[0]}.{digits[1:]}"


def _plain(digits: str, power: int) -> str:
    if power < 0:
        return "0." + "0" * (-power - 1) + digits
    whole, rest = digits[: power + 1].ljust(power + 1, "0"), digits[power + 1 :]
    return f"{whole}.{rest}" if rest else whole
