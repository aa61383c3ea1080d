"""What the tables of several kinds share: columns that all have, and small things put into words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from muster.local.codec.values import Object
from muster.local.kinds.kind import Column, Table
from muster.local.kinds.tables import durations

__all__ = ["NAME", "NONE", "RichTable", "age", "joined", "labels", "name", "selector"]

NAME = Column("Name", format="name")
NONE = "<none>"


class RichTable(Table, frozen=True, kw_only=True):
    """A table of which the real server tells more than cells."""

    conditions: Callable[[Object], list[Object]] | None = None
    """Of a row: whether its object is done for good."""
    null_if_empty: bool = False
    """Its rows are null, not [], where there are none."""


def name(obj: Object) -> str:
    """ "" for the object of a bookmark, which has none."""
    return str(obj["metadata"].get("name", ""))


def age(obj: Object, now: float) -> str:
    return durations.since(obj["metadata"].get("creationTimestamp"), now)


def joined(words: Iterable[str]) -> str:
    """The words with commas between them, or <none>."""
    return ",".join(words) or NONE


def labels(of: Mapping[str, str] | None) -> str:
    return joined(f"{key}={value}" for key, value in sorted((of or {}).items()))


def selector(of: Object | None) -> str:
    """A label selector as text, sorted by key; a selector that is not there selects nothing."""
    parts = [(key, f"{key}={value}") for key, value in sorted(((of or {}).get("matchLabels") or {}).items())]
    parts += [(one["key"], _expression(one)) for one in (of or {}).get("matchExpressions") or ()]
    return joined(text for _, text in sorted(parts, key=lambda part: part[0]))


def _expression(one: Mapping[str, Any]) -> str:
    key, values = one["key"], ",".join(sorted(one.get("values") or ()))
    match one["operator"]:
        case "Exists":
            return str(key)
        case "DoesNotExist":
            return f"!{key}"
        case operator:
            return f"{key} {operator.lower()} ({values})"
