"""Puts the answers of two servers beside each other."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from tests.control_plane.comparison.replay import Answer

_LONGEST = 300
_ABSENT = "(absent)"

_READ = re.compile(
    r"unknown field|duplicate field|into Go struct field \w|not found|already exists|please apply your changes"
    r"|Apply failed with"
)
# what a patch has made is quoted in the refusal, in an order that only Go's structs know
_QUOTED = re.compile(r'Invalid value: "[{m].*": (json: cannot unmarshal|strict decoding error)', re.DOTALL)
# what is wrong with a pattern RE2 says in its own words; an empty list is read as one that was not there
_SPELT = re.compile(r"error parsing regexp|Invalid value: \[\]: ")


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
    words = _are_read(theirs)
    return _with_words(theirs, words=words), _with_words(own, words=words)


def _are_read(status: Any) -> bool:
    """Whether people read the words of a refusal, which then must be those of the real server."""
    details = status.get("details") or {}
    of_patch = any(cause.get("field") == "patch" for cause in details.get("causes") or ())
    of_options = details.get("kind", "").endswith("Options")
    if status.get("reason") == "Invalid" and not of_patch and not of_options:
        return not _SPELT.search(status["message"])
    return bool(_READ.search(status.get("message", "")))


def _with_words(status: Any, *, words: bool) -> Any:
    def shown(message: str) -> str:
        return _unquoted(message) if words else "..."

    details = status.get("details") or {}
    if causes := details.get("causes"):
        causes = [{**cause, "message": shown(cause.get("message", ""))} for cause in causes]
        status = {**status, "details": {**details, "causes": causes}}
    return {**status, "message": shown(status.get("message", ""))}


def _unquoted(message: str) -> str:
    return _QUOTED.sub(r"\1", message)


def _short(value: Any) -> str:
    if isinstance(value, dict) and value.get("kind") == "Status" and "message" in value:
        value = value["message"]
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _line(path: str, real: str, ours: str) -> str:
    return f"{path}\n    real: {real}\n    ours: {ours}"
