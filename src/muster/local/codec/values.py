"""What a text of JSON says: plain values, and where those would not do, with all that the text had."""

from __future__ import annotations

from typing import Any

__all__ = ["Object", "Pairs", "json_type", "plain", "repeated"]

Object = dict[str, Any]
"""A Kubernetes object, or a part of one, as decoded from JSON."""


class Pairs(list[tuple[str, Any]]):
    """An object with all that was given for each key."""

    __slots__ = ()


def plain(tree: Any) -> Any:
    """Without Pairs: the last of each key."""
    if isinstance(tree, Pairs):
        return {key: plain(value) for key, value in tree}
    if isinstance(tree, list):
        return [plain(item) for item in tree]
    return tree


def repeated(tree: Any, path: str = "") -> list[str]:
    """Fields that come twice, in the order of the text: duplicate field "spec.a"."""
    found = []
    if isinstance(tree, Pairs):
        seen = set()
        for name, item in tree:
            inner = f"{path}.{name}" if path else name
            if name in seen:
                found.append(f'duplicate field "{inner}"')
            seen.add(name)
            found += repeated(item, inner)
    elif isinstance(tree, list):
        for index, item in enumerate(tree):
            found += repeated(item, f"{path}[{index}]")
    return list(dict.fromkeys(found))


def take(target: Object, source: Object, *keys: str) -> None:
    """Makes fields what they are in another struct, or leaves them out as there."""
    for key in keys:
        if key in source:
            target[key] = source[key]
        else:
            target.pop(key, None)


def json_type(value: Any) -> str:
    """As Go names the kind of a JSON value."""
    if isinstance(value, Pairs):
        return "object"
    return {dict: "object", list: "array", str: "string", bool: "bool"}.get(type(value), "number")
