"""What a text of JSON says: plain values, and where those would not do, with all that the text had."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["WHOLE", "Number", "Object", "Pairs", "number", "plain"]

Object = dict[str, Any]
"""A Kubernetes object, or a part of one, as decoded from JSON."""

# no integer of Go is longer; Python reads none of thousands of digits
WHOLE = re.compile(r"-?[0-9]{1,20}")
"""A whole number that may be one of Go's."""


class Number(str):
    """A number as it was spelled."""

    __slots__ = ()


class Pairs(list[tuple[str, Any]]):
    """An object with all that was given for each key."""

    __slots__ = ()


def plain(tree: Any) -> Any:
    """Without Pairs and Numbers: the last of each key, numbers as numbers."""
    if isinstance(tree, Pairs):
        return {key: plain(value) for key, value in tree}
    if isinstance(tree, list):
        return [plain(item) for item in tree]
    if isinstance(tree, dict):
        return {key: plain(value) for key, value in tree.items()}
    return number(tree) if isinstance(tree, Number) else tree


def number(spelling: str) -> int | float:
    """As Go decodes it where any type will do: an int64 if it is one, else a float64."""
    if WHOLE.fullmatch(spelling) and -(2**63) <= int(spelling) < 2**63:
        return int(spelling)
    return float(spelling)
