"""Structs as Kubernetes prints them from the inside: Go's names, in Go's order, nothing left out.

internal.json (made by `python -m controlplane.internal`) has a line for each struct.  A word in it is a field: its
name in Go, then `=` and its name in JSON where that is more than a small first letter, then `:` and what an empty one
looks like (s "", b false, 0, q "0", m a map, l a label selector, - null, { a struct), then the struct that it holds or
lists.
"""

from __future__ import annotations

import functools
from importlib import resources
from typing import Any

import msgspec

from muster.local.codec.values import Object

_METADATA = ("name", "generateName", "namespace", "creationTimestamp", "labels", "annotations", "finalizers")
_EMPTY: dict[str, Any] = {"s": "", "b": False, "0": 0, "q": "0"}


class _Field(msgspec.Struct, frozen=True):
    go_name: str
    name: str
    kind: str
    struct: str


def shown(struct: str, value: Object | None) -> Object | None:
    """A struct as messages show it."""
    if value is None:
        return None
    return {field.go_name: _shown(field, value.get(field.name)) for field in _fields(struct)}


def shown_list(struct: str, values: list[Object] | None) -> list[Object | None] | None:
    return [shown(struct, value) for value in values] if values else None


def shown_template(template: Object) -> Object:
    """A pod template, whose metadata is no struct of its own inside."""
    metadata = template.get("metadata") or {}
    named = {name: _ordered(metadata[name]) for name in _METADATA if metadata.get(name)}
    return {**named, "Spec": shown("PodSpec", template.get("spec") or {})}


def _shown(field: _Field, value: Any) -> Any:
    if field.struct and isinstance(value, list):
        return shown_list(field.struct, value)
    if field.struct:
        return shown(field.struct, {} if value is None and field.kind == "{" else value)
    if value is None:
        return _EMPTY.get(field.kind)
    return shown_selector(value) if field.kind == "l" else _ordered(value)


def shown_selector(value: Object) -> Object:
    """A label selector, which is the same inside and outside, in Go's order."""
    shown: Object = {}
    if "matchLabels" in value:
        shown["matchLabels"] = _ordered(value["matchLabels"])
    if "matchExpressions" in value:
        parts = ("key", "operator", "values")
        requirements = value["matchExpressions"]
        shown["matchExpressions"] = [{part: one[part] for part in parts if part in one} for one in requirements]
    return shown


def _ordered(value: Any) -> Any:
    return dict(sorted(value.items())) if isinstance(value, dict) else value


@functools.cache
def _fields(struct: str) -> tuple[_Field, ...]:
    return tuple(_field(word) for word in _lines()[struct].split())


def _field(word: str) -> _Field:
    names, _, kind = word.partition(":")
    go_name, _, name = names.partition("=")
    return _Field(go_name, name or go_name[0].lower() + go_name[1:], kind[0], kind[1:])


@functools.cache
def _lines() -> dict[str, str]:
    text = resources.files("muster.local.kinds").joinpath("internal.json").read_bytes()
    return msgspec.json.decode(text, type=dict[str, str])
