"""The documents that show objects in part: meta.k8s.io/v1 Table and PartialObjectMetadata."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from muster.local.codec.values import Object
from muster.local.kinds.kind import Column, Kind, Table
from muster.local.kinds.tables.cells import RichTable
from muster.local.kinds.tables.custom import custom

__all__ = ["as_partial", "as_partial_list", "as_table", "default_table", "include_problem"]

_INITIAL_EVENTS_END = "k8s.io/initial-events-end"


def as_table(
    kind_table: Table | None,
    objects: Iterable[Object],
    *,
    now: float,
    include: str,
    list_meta: Object,
    with_definitions: bool = True,
    version: str = "v1",
) -> Object:
    """A Table of the objects, with `list_meta` as its metadata: of a list, or of the one object its resourceVersion.

    What is included of each object is its Metadata, the Object or None.  Without definitions it is what a watch sends
    from its second event on; a bookmark is a row like another, of an object that has a resourceVersion and no more.
    Descriptions of columns are empty.
    """
    table = kind_table or custom(())
    rows = [_row(table, obj, now=now, include=include, version=version) for obj in objects]
    is_null = not rows and isinstance(table, RichTable) and table.null_if_empty
    return {
        "kind": "Table",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": list_meta,
        "columnDefinitions": [_definition(column) for column in table.columns] if with_definitions else None,
        "rows": None if is_null else rows,
    }


def default_table(_kind: Kind) -> Table:
    """What is shown of a kind without a table of its own: names and ages."""
    return custom(())


def as_partial(obj: Object, *, version: str = "v1") -> Object:
    """The object's metadata alone."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": obj["metadata"],
    }


def as_partial_list(objects: Iterable[Object], *, list_meta: Object, version: str = "v1") -> Object:
    """The metadata of the objects of a list."""
    return {
        "kind": "PartialObjectMetadataList",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": list_meta,
        # of nothing, Kubernetes makes no list
        "items": [as_partial(obj, version=version) for obj in objects] or None,
    }


def include_problem(asked: str) -> str:
    """What is wrong with the query parameter includeObject; "" if nothing is."""
    if asked in ("", "Metadata", "Object", "None"):
        return ""
    return (
        f'Unable to convert to Table as requested: includeObject: Invalid value: "{asked}": '
        "must be 'Metadata', 'Object', 'None', or empty"
    )


def _row(table: Table, obj: Object, *, now: float, include: str, version: str) -> Object:
    row: dict[str, Any] = {"cells": list(table.cells(obj, now))}
    if isinstance(table, RichTable) and table.conditions and (conditions := table.conditions(obj)):
        row["conditions"] = conditions
    if include == "Object":
        row["object"] = obj
    elif include == "Metadata" or _INITIAL_EVENTS_END in (obj["metadata"].get("annotations") or ()):
        row["object"] = as_partial(obj, version=version)
    else:
        row["object"] = None
    return row


def _definition(column: Column) -> Object:
    return {
        "name": column.name,
        "type": column.type,
        "format": column.format,
        "description": "",
        "priority": column.priority,
    }
