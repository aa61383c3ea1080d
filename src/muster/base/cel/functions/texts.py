"""Functions of texts: the strings library, regular expressions, format."""

from __future__ import annotations

import re
from typing import Any

from muster.base import patterns
from muster.base.cel.functions.conversions import encoded, text_of
from muster.base.cel.functions.define import define
from muster.base.cel.values import (
    Meter,
    Opaque,
    Optional,
    TypeName,
)
from muster.base.errors import CelError

define("contains", "string.(string) bool")(lambda text, part: part in text)
define("startsWith", "string.(string) bool")(str.startswith)
define("endsWith", "string.(string) bool")(str.endswith)
_LOWER = str.maketrans({chr(code): chr(code + 32) for code in range(65, 91)})
_UPPER = str.maketrans({chr(code + 32): chr(code) for code in range(65, 91)})
define("lowerAscii", "string.() string")(lambda text: text.translate(_LOWER))
define("upperAscii", "string.() string")(lambda text: text.translate(_UPPER))
define("trim", "string.() string")(str.strip)


def _searched(meter: Meter, text: str, pattern: str) -> Any:
    meter.spend(1 + -(-len(text) // 10) * -(-len(pattern) // 4))
    if why := patterns.problem(pattern):
        raise CelError(why)
    return patterns.compiled(pattern)


@define("matches", "string.(string) bool", "(string, string) bool", metered=True)
def _matches(meter: Meter, text: str, pattern: str) -> bool:
    return _searched(meter, text, pattern).search(text) is not None


@define("find", "string.(string) string", metered=True)
def _find(meter: Meter, text: str, pattern: str) -> str:
    found = _searched(meter, text, pattern).search(text)
    return "" if found is None else str(found.group())


@define("findAll", "string.(string) list(string)", "string.(string, int) list(string)", metered=True)
def _find_all(meter: Meter, text: str, pattern: str, most: int = -1) -> list[str]:
    found: list[str] = []
    for one in _searched(meter, text, pattern).finditer(text):
        if len(found) == most:
            break
        # one takes 20 µs, some twenty times what an operator does
        meter.spend(20)
        found.append(one.group())
    return found


@define("replace", "string.(string, string) string", "string.(string, string, int) string", metered=True)
def _replace(meter: Meter, text: str, old: str, new: str, most: int = -1) -> str:
    count = text.count(old) if most < 0 else min(most, text.count(old))
    meter.spend(1 + (len(text) + count * len(new)) // 10)
    return text.replace(old, new, most)


@define("split", "string.(string) list(string)", "string.(string, int) list(string)")
def _split(text: str, separator: str, most: int = -1) -> list[str]:
    if most == 0:
        return []
    if not separator:
        parts = list(text)
        return parts if most < 0 or len(parts) <= most else [*parts[: most - 1], "".join(parts[most - 1 :])]
    return text.split(separator, most - 1 if most > 0 else -1)


@define("join", "list(string).() string", "list(string).(string) string", metered=True)
def _join(meter: Meter, parts: list[str], separator: str = "") -> str:
    if not all(isinstance(part, str) for part in parts):
        raise CelError("no such overload")
    meter.spend(1 + (sum(map(len, parts)) + len(parts) * len(separator)) // 10)
    return separator.join(parts)


@define("substring", "string.(int) string", "string.(int, int) string")
def _substring(text: str, start: int, end: int | None = None) -> str:
    stop = len(text) if end is None else end
    for index in (start, stop):
        if not 0 <= index <= len(text):
            raise CelError(f"index out of range: {index}")
    if start > stop:
        raise CelError(f"invalid substring range. start: {start}, end: {stop}")
    return text[start:stop]


@define("charAt", "string.(int) string")
def _char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise CelError(f"index out of range: {index}")
    return text[index : index + 1]


@define("indexOf", "string.(string) int", "string.(string, int) int")
def _index_of(text: str, part: str, start: int = 0) -> int:
    if start < 0:
        raise CelError(f"index out of range: {start}")
    return text.find(part, start) if part else start


@define("lastIndexOf", "string.(string) int", "string.(string, int) int")
def _last_index_of(text: str, part: str, start: int | None = None) -> int:
    if start is not None and start < 0:
        raise CelError(f"index out of range: {start}")
    return text.rfind(part) if start is None else text.rfind(part, 0, start + len(part))


_QUOTED = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}
_QUOTING = str.maketrans(_QUOTED | {"\\": "\\\\", '"': '\\"'})


@define("strings.quote", "(string) string")
def _quote(text: str) -> str:
    return f'"{text.translate(_QUOTING)}"'


_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "+")

_CLAUSE = re.compile(r"%(%|(?:\.([0-9]{1,3}))?([a-zA-Z]))")


@define("format", "string.(list(dyn)) string", metered=True)
def _format(meter: Meter, text: str, given: list[Any]) -> str:
    rest = iter(given)

    def shown(found: re.Match[str]) -> str:
        if found[1] == "%":
            return "%"
        value = next(rest, rest)
        if value is rest:
            raise CelError(f"index {len(given)} out of range")
        part = _formatted(value, found[3], int(found[2] or 6), meter)
        meter.spend(1 + len(part) // 10)
        return part

    meter.spend(1 + len(text) // 10)
    return _CLAUSE.sub(shown, text)


def _formatted(value: Any, clause: str, digits: int, meter: Meter) -> str:
    wrong = CelError(f"error during formatting: unrecognized formatting clause or value for %{clause}")
    whole = isinstance(value, int) and not isinstance(value, bool)
    match clause:
        case "s":
            return _shown(value, meter)
        case "d" if whole:
            return str(int(value))
        case "f" if isinstance(value, float) or whole:
            return format(float(value), f".{digits}f")
        case "e" if isinstance(value, float) or whole:
            # six digits whatever is asked for
            number, _, power = format(float(value), "e").partition("e")
            return f"{number}×10{power.translate(_SUPERSCRIPT)}"
        case "b" if isinstance(value, int):
            return format(int(value), "b")
        case "o" if whole:
            return format(int(value), "o")
        case "x" | "X" if whole:
            return format(int(value), clause)
        case "x" | "X" if isinstance(value, str | bytes):
            text = (encoded(value) if isinstance(value, str) else value).hex()
            return text if clause == "x" else text.upper()
    raise wrong


def _shown(value: Any, meter: Meter, *, is_inner: bool = False) -> str:
    """As %s shows it; what is in lists and maps shows its type."""
    meter.spend(5)
    if isinstance(value, list):
        return f"[{', '.join(_shown(one, meter, is_inner=True) for one in value)}]"
    if isinstance(value, dict):
        entries = {_shown(name, meter, is_inner=True): one for name, one in value.items()}
        shown = (f"{name}:{_shown(entries[name], meter, is_inner=True)}" for name in sorted(entries))
        return f"{{{', '.join(shown)}}}"
    if value is None:
        return "null"
    if isinstance(value, TypeName):
        return value.name
    if isinstance(value, Optional | Opaque):
        raise CelError("error during formatting: string clause can only be used on strings, bools and numbers")
    if is_inner and isinstance(value, str):
        return _quote(value)
    return format(value, "f") if is_inner and isinstance(value, float) else text_of(value)
