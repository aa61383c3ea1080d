"""Puts the answers of two servers beside each other."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from tests.control_plane.comparison.replay import Answer

_LONGEST = 300
_ABSENT = "(absent)"


def differences(real: Sequence[Answer], ours: Sequence[Answer]) -> dict[str, list[str]]:
    """Name of the step → one line for each place where the answers differ."""
    found = {}
    for theirs, own in zip(real, ours, strict=True):
        assert theirs.step == own.step
        if lines := list(_lines(theirs, own)):
            found[theirs.step.name] = lines
    return found


def _lines(theirs: Answer, own: Answer) -> Iterator[str]:
    if theirs.code != own.code:
        yield _line("code", f"{theirs.code} {_short(theirs.body)}", f"{own.code} {_short(own.body)}")
        return
    for part in ("headers", "body"):
        for path, left, right in unequal(getattr(theirs, part), getattr(own, part), part):
            yield _line(path, _short(left), _short(right))


def unequal(left: Any, right: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(left, dict) and isinstance(right, dict):
        for key in dict.fromkeys((*left, *right)):
            yield from unequal(left.get(key, _ABSENT), right.get(key, _ABSENT), f"{path}.{key}")
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for index, (one, other) in enumerate(zip(left, right, strict=True)):
            yield from unequal(one, other, f"{path}[{index}]")
    elif left != right or isinstance(left, bool) != isinstance(right, bool):
        yield path, left, right


def _short(value: Any) -> str:
    if isinstance(value, dict) and value.get("kind") == "Status" and "message" in value:
        value = value["message"]
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _line(path: str, real: str, ours: str) -> str:
    return f"{path}\n    real: {real}\n    ours: {ours}"
