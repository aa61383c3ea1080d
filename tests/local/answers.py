"""Tables of what kube-apiserver 1.37.1 answered, and how the tests read them.

A line of a table that begins at the margin is a change of a good object: `path=value; path=value`, where a value is
JSON and none means that the field is taken out.  The indented lines below it are the answer: causes of the refusal, in
order, or else `path=value` for each field of the resulting object that differs from the one that was sent.  `...` is
what stands below the first line of the table, but for the paths that come again, and for those after a `~`.

Of a refusal, field and reason are compared, whatever the order; the words only where people read them (`promised`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from copy import deepcopy
from typing import Any

from muster.local.checks import names
from muster.local.checks.fields import FieldError

UID = "11111111-2222-3333-4444-555555555555"

_WHY = "Required value|Invalid value|Duplicate value|Not found|Unsupported value|Forbidden|Too \\w+|Internal error"
_REFUSAL = re.compile(rf'[^="]*: ({_WHY})')
_CAUSE = re.compile(rf"(?P<cause>(?P<field>.*?): (?:{_WHY}))(?:: (?P<value>.)|$)")
_IMMUTABLE = "field is immutable"
_NAMES = ("metadata.name", "metadata.generateName", "metadata.namespace", "metadata.labels", "metadata.annotations")
_STEP = re.compile(r'"([^"]*)"|([^."=]+)')
_PHRASES = {
    "<subdomain>": names.subdomain_problems("_")[0],
    "<label>": names.label_problems("_")[0],
    "<key>": names.qualified_problems("_")[0],
    "<value>": names.label_value_problems("_")[0],
    "<label-key>": names.qualified_problems("a/b/c")[0],
    "<reason>": names.condition_reason_problems("?")[0],
    "<uid>": UID,
}
"""What the tables write for what Kubernetes says at length."""

Row = tuple[str, list[str]]


def rows(table: str) -> list[Row]:
    """Changes and answers."""
    found: list[Row] = []
    for line in table.strip("\n").splitlines():
        if line.startswith("    "):
            found[-1][1].append(_long(line.strip()))
        elif line:
            found.append((line, []))
    return [(changes, _whole(answer, found[0][1])) for changes, answer in found]


def edited(document: Any, changes: str) -> Any:
    """A copy with the changes made; "-" changes nothing."""
    result = deepcopy(document)
    for change in changes.split("; ") if changes != "-" else ():
        path, value = _split(change)
        _put(result, path, value)
    return result


def is_refusal(answer: list[str]) -> bool:
    return any(_REFUSAL.match(line) for line in answer)


def promised(lines: Iterable[str]) -> list[str]:
    """What docs/local.md promises of a refusal: fields and reasons, and the words for what is fixed or named."""
    return sorted({_promised(line) for line in lines})


def _promised(line: str) -> str:
    found = _CAUSE.match(line)
    assert found, line
    if line.endswith(_IMMUTABLE):
        # structs are shown as users write them
        return line if found["value"] not in ("{", "[") else f"{found['cause']}: {_IMMUTABLE}"
    return line if found["field"] in _NAMES or "schedulingGroup" in found["field"] else found["cause"]


def said(errors: Iterable[FieldError]) -> list[str]:
    # tables have no spaces at the ends of lines
    return [str(error).rstrip() for error in errors]


def _whole(answer: list[str], first: list[str]) -> list[str]:
    if not answer or answer[0] != "...":
        return answer
    own = {line.removeprefix("~").partition("=")[0] for line in answer}
    inherited = [line for line in first if line.partition("=")[0] not in own]
    return inherited + [line for line in answer[1:] if not line.startswith("~")]


def _split(change: str) -> tuple[list[str], str]:
    path, position = [], 0
    while step := _STEP.match(change, position):
        path.append(step[1] if step[1] is not None else step[2])
        position = step.end()
        if change[position] == "=":
            break
        position += 1
    return path, change[position + 1 :]


def _put(target: Any, path: list[str], value: str) -> None:
    for step in path[:-1]:
        target = target[int(step)] if isinstance(target, list) else target.setdefault(step, {})
    last: Any = int(path[-1]) if isinstance(target, list) else path[-1]
    if not value:
        target.pop(last)
    elif isinstance(target, list) and last == len(target):
        target.append(_value(value))
    else:
        target[last] = _value(value)


def _value(text: str) -> Any:
    """JSON, or `"a"*300` for what is too long to write."""
    text = text.replace("<uid>", UID)
    if found := re.fullmatch(r'("[^"]*"|\[.*\])\*(\d+)', text):
        return json.loads(found[1]) * int(found[2])
    return json.loads(text)


def _long(text: str) -> str:
    for short, phrase in _PHRASES.items():
        text = text.replace(short, phrase)
    return re.sub(r"<(.)\*(\d+)>", lambda found: found[1] * int(found[2]), text)
