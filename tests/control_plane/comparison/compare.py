"""Puts the answers of two servers beside each other."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from tests.control_plane.comparison.replay import Answer

_LONGEST = 300
_ABSENT = "(absent)"

READ = re.compile(
    r"unknown field|duplicate field|into Go struct field \w|Required value|immutable|not found|already exists"
    r"|please apply your changes|RFC 1123|Apply failed with|Unsupported value"
)
"""Words of refusals that people read, and so must be those of the real server; of others code, reason and fields."""
# what a patch has made is quoted in the refusal, in an order that only Go's structs know
_QUOTED = re.compile(r'Invalid value: "[{m].*": (json: cannot unmarshal|strict decoding error)', re.DOTALL)


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
        both = _comparable(getattr(theirs, part), getattr(own, part))
        for path, left, right in unequal(*both, part):
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


def _comparable(theirs: Any, own: Any) -> tuple[Any, Any]:
    """Two answers; of two refusals without the words that nobody reads."""
    if not all(isinstance(one, dict) and one.get("status") == "Failure" for one in (theirs, own)):
        return theirs, own
    theirs, own = ({**one, "message": _unquoted(one.get("message", ""))} for one in (theirs, own))
    if not READ.search(theirs["message"]):
        own["message"] = theirs["message"]
    causes, others = ((one.get("details") or {}).get("causes") or [] for one in (theirs, own))
    if len(causes) == len(others) and causes:
        paired = [_with_words_of(cause, other) for cause, other in zip(causes, others, strict=True)]
        theirs["details"] = {**theirs["details"], "causes": [_unquoted_cause(one) for one in causes]}
        own["details"] = {**own["details"], "causes": paired}
    return theirs, own


def _with_words_of(cause: Any, other: Any) -> Any:
    words = _unquoted(cause.get("message", ""))
    return {**other, "message": _unquoted(other.get("message", "")) if READ.search(words) else words}


def _unquoted_cause(cause: Any) -> Any:
    return {**cause, "message": _unquoted(cause.get("message", ""))}


def _unquoted(message: str) -> str:
    return _QUOTED.sub(r"\1", message)


def _short(value: Any) -> str:
    if isinstance(value, dict) and value.get("kind") == "Status" and "message" in value:
        value = value["message"]
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _line(path: str, real: str, ours: str) -> str:
    return f"{path}\n    real: {real}\n    ours: {ours}"
