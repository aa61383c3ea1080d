"""Sets of fields, as metadata.managedFields keeps them.

A set is a tree, in the very form of FieldsV1: each step of a path is a key, `f:name` for a field, `k:{"name":"a"}` for
the item of a list that has these keys, `v:1` for the item that is this value, `i:0` for the item at this place.  A step
that leads nowhere further is in the set; one that does lead further is in the set as well if it has a step ".".

    {"f:spec": {"f:containers": {'k:{"name":"a"}': {".": {}, "f:image": {}}}}}      two fields: the item, and its image

No step leads to an empty tree by mistake: the empty set is {} at the top, and nowhere else.  Trees are shared between
sets, so nobody changes one after it was made.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from muster.base.caching import remembered
from muster.local.codec.gotext import compact_json, quoted, shown

Fields = dict[str, Any]
"""A set of fields: Fields by steps."""
Path = tuple[str, ...]
"""The steps to one field."""

LEAF: Fields = {}
SELF = "."
_ALONE: Fields = {SELF: LEAF}
_KINDS = "fkvi"
_PLACE = re.compile(r"[-+]?[0-9]+")


class FieldsError(ValueError):
    """Not a set of fields."""


# --- steps ---


@remembered(8192)
def value_step(value: Any) -> str:
    """To the item of a set; the value is a scalar."""
    return f"v:{compact_json(value)}"


def key_text(*names_and_values: Any) -> str:
    """To the item of a list whose fields have these values: key_text("containerPort", 80, "protocol", "TCP")."""
    pairs = dict(zip(names_and_values[::2], names_and_values[1::2], strict=True))
    return f"k:{compact_json(pairs)}"


key_step = remembered(8192)(key_text)


def step_text(step: str) -> str:
    """As messages name it: .name, [name="a"], [=1], [0]."""
    kind, rest = step[0], step[2:]
    if kind == "f":
        return f".{rest}"
    if kind == "k":
        return "[" + ",".join(f"{name}={_text(value)}" for name, value in json.loads(rest).items()) + "]"
    return f"[={_text(json.loads(rest))}]" if kind == "v" else f"[{rest}]"


def path_text(path: Path) -> str:
    """As messages name it: .spec.containers[name="a"].image."""
    return "".join(step_text(step) for step in path)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, dict):
        return "".join(f"{name}={_text(inner)}" for name, inner in value.items())
    if isinstance(value, list):
        return "[" + ",".join(map(_text, value)) + "]"
    return "null" if value is None else shown(value)


# --- making and asking ---


def of_names(*paths: str) -> Fields:
    """The set of these fields: of_names("spec", "metadata.labels")."""
    fields: Fields = {}
    for path in paths:
        one: Fields = LEAF
        for name in reversed(path.split(".")):
            one = {f"f:{name}": one}
        fields = union(fields, one)
    return fields


def is_member(below: Fields | None) -> bool:
    """Of the tree to which a step leads: whether the step is itself in the set."""
    return below is not None and (not below or SELF in below)


def has(fields: Fields, path: Path) -> bool:
    """Whether this very field is in the set."""
    below: Fields | None = fields
    for step in path:
        if below is None:
            return False
        below = below.get(step)
    return bool(path) and is_member(below)


def paths(fields: Fields) -> Iterator[Path]:
    """All fields of the set, in order: those of one tree before those of the trees below it."""
    return _paths(fields, ())


def _paths(fields: Fields, before: Path) -> Iterator[Path]:
    steps = sorted(step for step in fields if step != SELF)
    for step in steps:
        if is_member(fields[step]):
            yield (*before, step)
    for step in steps:
        yield from _paths(fields[step], (*before, step))


# --- two sets ---


def union(left: Fields, right: Fields) -> Fields:
    if not left or left is right:
        return right
    if not right:
        return left
    both = dict(left)
    for step, theirs in right.items():
        ours = both.get(step)
        if ours is None:
            both[step] = theirs
        elif ours is not theirs:
            # one leads further, or both do: the step is in the union if it is in either
            both[step] = union(ours or _ALONE, theirs or _ALONE) if ours or theirs else LEAF
    return both


def intersection(left: Fields, right: Fields) -> Fields:
    common: Fields = {}
    for step, ours in left.items():
        theirs = right.get(step)
        if theirs is None:
            continue
        if not ours and not theirs:
            common[step] = LEAF
        else:
            _add(common, step, intersection(ours or _ALONE, theirs or _ALONE))
    return common


def difference(left: Fields, right: Fields) -> Fields:
    """What is in the left set and not in the right; a field does not take away what is below it."""
    if not right:
        return left
    rest: Fields = {}
    for step, ours in left.items():
        theirs = right.get(step)
        if theirs is None:
            rest[step] = ours
        elif ours or theirs:
            _add(rest, step, difference(ours or _ALONE, theirs or _ALONE))
    return rest


def without(left: Fields, right: Fields) -> Fields:
    """What is in the left set and neither in the right nor below a field of the right."""
    if not right:
        return left
    rest: Fields = {}
    for step, ours in left.items():
        theirs = right.get(step)
        if theirs is None:
            rest[step] = ours
        elif not is_member(theirs):
            _add(rest, step, without(ours or _ALONE, theirs))
    return rest


def _add(fields: Fields, step: str, below: Fields) -> None:
    if below:
        fields[step] = LEAF if len(below) == 1 and SELF in below else below


# --- FieldsV1 ---


def parse(written: Any) -> Fields:
    """The set that is written as FieldsV1; steps of kinds that nobody knows are left out."""
    fields = _parse(written)
    if SELF in fields:
        return {step: below for step, below in fields.items() if step != SELF}
    return fields


def _parse(written: Any) -> Fields:
    """As `parse`, with the step "." of the set itself."""
    if type(written) is not dict:
        if written is None:
            return LEAF
        raise FieldsError("a set of fields must be an object")
    fields = written
    for step, below in written.items():
        name = step if step[:2] == "f:" or step == SELF else _canonical(step)
        inner = below
        if type(below) is not dict or below:
            inner = _parse(below)
            if step == SELF or (len(inner) == 1 and SELF in inner):
                inner = LEAF
        if name != step or inner is not below:
            # what we wrote ourselves is taken as it is, anything else is copied
            fields = dict(fields) if fields is written else fields
            del fields[step]
            if name is not None:
                fields[name] = inner
    return fields


@remembered(8192)
def _canonical(step: str) -> str | None:
    """The step as we write it; None if its kind is unknown."""
    if len(step) < 2:
        raise FieldsError("key must be 2 characters long:")
    if step[1] != ":":
        raise FieldsError(f"missing colon: {step}")
    if step[0] not in _KINDS:
        return None
    try:
        return _written(step[0], step[2:])
    except ValueError as error:
        raise FieldsError(str(error)) from error


def _written(kind: str, rest: str) -> str:
    if kind == "i":
        if not _PLACE.fullmatch(rest):
            raise FieldsError(f"not a place in a list: {rest}")
        return f"i:{int(rest)}"
    value = json.loads(rest, parse_constant=_no_constant)
    if kind == "k" and not isinstance(value, dict):
        raise FieldsError("keys must be an object")
    return f"{kind}:{compact_json(value)}"


def _no_constant(word: str) -> Any:
    raise FieldsError(f"not JSON: {word}")
