"""JSONPath, as far as columns of custom kinds use it.

    .a.b    .a['b']    .a\\.b    .a[0]    .a[-1]    .a[1:3]    .a[*]    .a.*    .a[0,2]
    .conditions[?(@.type=="Ready")].status      with == != < <= > >=, or no operator: that there is something
    ..b     wherever it is

Maps are gone through in the order of their keys.  The real server goes through them in no order, so that the first of
several values may be another one each time.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from muster.base.caching import remembered

__all__ = ["MISSING", "PathError", "first", "parse"]

Step = Callable[[list[Any]], list[Any]]
Path = tuple[Step, ...]

MISSING = object()
"""Where a path leads to nothing."""


class PathError(ValueError):
    """It cannot be parsed, or asks of a value what it cannot give."""


_QUOTED = re.compile(r"'([^']*)'")
_SLICE = re.compile(r"(-?\d*)(:-?\d*)?(:-?\d*)?")
_COMPARISON = re.compile(r"([^!<>=]+)([!<>=]+)(.+)")
_FIELD = re.compile(r"\.((?:\\.|[^\s.,\[\]$@{}\\])*)")
_DESCENT = re.compile(rf"\.{_FIELD.pattern}")
_NUMBER = re.compile(r"[+-]?\d[\d.]*")
_TEXT = re.compile(r"""(["'])((?:\\.|(?!\1).)*)\1""")
_FILTER = re.compile(r"""\[\?\(((?:"(?:\\.|[^"])*"|'(?:\\.|[^'])*'|[^)"'])*)\)\]""")
_INDEX = re.compile(r"\[([^\]\n]*)\]")
_SKIPPED = re.compile(r"[ @$]+")
_WORD = re.compile(r"true|false")

_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@remembered(1024)
def parse(text: str) -> Path:
    """The steps that `text` stands for; PathError if it cannot be understood."""
    return tuple(_steps(text))


def first(path: Path, value: Any) -> Any:
    """The first value that `path` leads to from `value`, or MISSING; PathError if it cannot be gone."""
    found = _walk(path, [value])
    return found[0] if found else MISSING


def _walk(path: Iterable[Step], values: list[Any]) -> list[Any]:
    for step in path:
        values = step(values)
    return values


def _steps(text: str) -> Iterator[Step]:
    at = 0
    while at < len(text):
        if skipped := _SKIPPED.match(text, at):
            at = skipped.end()
        elif found := _FILTER.match(text, at):
            at = found.end()
            yield _filter(found[1])
        elif found := _INDEX.match(text, at):
            at = found.end()
            yield from _index(found[1])
        elif found := _DESCENT.match(text, at):
            at = found.end()
            yield _all_below
            if found[1]:
                yield _field(found[1])
        elif found := _FIELD.match(text, at):
            at = found.end()
            yield _field(found[1])
        elif found := _TEXT.match(text, at) or _NUMBER.match(text, at) or _WORD.match(text, at):
            at = found.end()
            yield _constant(found[0])
        else:
            raise PathError(f"unrecognized character in action: {text[at]!r}")


def _field(name: str) -> Step:
    if name == "*":
        return _everything
    return partial(_get, re.sub(r"\\", "", name))


def _get(name: str, values: list[Any]) -> list[Any]:
    return [value[name] for value in values if isinstance(value, dict) and name in value]


def _everything(values: list[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        found += [value[key] for key in sorted(value)] if isinstance(value, dict) else []
        found += value if isinstance(value, list) else []
    return found


def _all_below(values: list[Any]) -> list[Any]:
    """Maps and lists that are not empty, however deep, each before what is in it."""
    found: list[Any] = []
    for value in values:
        if inner := _everything([value]):
            found += [value, *_all_below(inner)]
    return found


def _constant(text: str) -> Step:
    value: Any = text == "true" if text in ("true", "false") else text
    if text[0] in "\"'":
        value = re.sub(r"\\(.)", r"\1", text[1:-1])
    elif _NUMBER.fullmatch(text):
        value = _number(text)
    return lambda values: [value] * len(values)


def _number(text: str) -> int | float:
    try:
        return int(text) if "." not in text else float(text)
    except ValueError as error:
        raise PathError(f"cannot parse number {text}") from error


def _index(text: str) -> Iterator[Step]:
    if "," in text:
        yield partial(_union, [tuple(_index(part.strip(" "))) for part in text.split(",")])
    elif quoted := _QUOTED.fullmatch(text):
        yield from _steps(f".{quoted[1]}")
    else:
        found = _SLICE.fullmatch(":" if text == "*" else text)
        if found is None:
            raise PathError(f"invalid array index {text}")
        start, stop, step = ((part or "").lstrip(":") for part in found.groups())
        yield partial(_slice, int(start or 0), int(stop) if stop else None, int(step or 1), single=not found[2])


def _union(paths: list[Path], values: list[Any]) -> list[Any]:
    return [found for path in paths for found in _walk(path, values)]


def _slice(start: int, stop: int | None, step: int, values: list[Any], *, single: bool) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if value is None:
            continue
        if not isinstance(value, list):
            raise PathError("not array or slice")
        begin = start + len(value) if start < 0 else start
        end = begin + 1 if single else len(value) if stop is None else stop + len(value) if stop < 0 else stop
        if begin == end:
            return found
        if step <= 0 or not (0 <= begin < len(value) and begin < end <= len(value)):
            raise PathError("array index out of bounds")
        found += value[begin:end:step]
    return found


def _filter(text: str) -> Step:
    compared = _COMPARISON.fullmatch(text)
    if compared is None:
        return partial(_filtered, partial(_exists, parse(text)))
    left, word, right = parse(compared[1]), compared[2], parse(compared[3])
    return partial(_filtered, partial(_holds, left, word, right))


def _filtered(test: Callable[[Any], bool], values: list[Any]) -> list[Any]:
    for value in values:
        if not isinstance(value, list):
            raise PathError("not array or slice and cannot be filtered")
    return [item for value in values for item in value if test(item)]


def _exists(path: Path, item: Any) -> bool:
    return bool(_walk(path, [item]))


def _holds(left: Path, word: str, right: Path, item: Any) -> bool:
    ones, others = _walk(left, [item]), _walk(right, [item])
    if not ones or not others:
        return False
    if len(ones) > 1 or len(others) > 1:
        raise PathError("can only compare one element at a time")
    if word not in _OPERATORS:
        raise PathError(f"unrecognized filter operator {word}")
    one, other = ones[0], others[0]
    # 1 and 1.0 are not comparable in Go, nor are true and "true"
    if type(one) is not type(other) or not isinstance(one, str | int | float):
        raise PathError("incompatible types for comparison")
    if isinstance(one, bool) and word not in ("==", "!="):
        raise PathError("invalid type for comparison")
    return _OPERATORS[word](one, other)
