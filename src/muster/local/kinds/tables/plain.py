"""`kubectl get` for kinds with little to tell: namespaces, configmaps, secrets, definitions, and all others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from muster.local.codec.values import Object
from muster.local.kinds.kind import Column, Table
from muster.local.kinds.tables.cells import AGE, NAME, RichTable, age, name, wide

__all__ = ["CONFIG_MAP", "CUSTOM_RESOURCE_DEFINITION", "DEFAULT", "NAMESPACE", "SECRET", "SERVICE_ACCOUNT"]

_CREATED = Column("Created At", type="date")
# Go's zero time
_NEVER = "0001-01-01T00:00:00Z"


def _namespace(obj: Object, now: float) -> Sequence[Any]:
    return name(obj), (obj.get("status") or {}).get("phase", ""), age(obj, now)


def _config_map(obj: Object, now: float) -> Sequence[Any]:
    return name(obj), len(obj.get("data") or ()) + len(obj.get("binaryData") or ()), age(obj, now)


def _secret(obj: Object, now: float) -> Sequence[Any]:
    return name(obj), obj.get("type", ""), len(obj.get("data") or ()), age(obj, now)


def _name_and_age(obj: Object, now: float) -> Sequence[Any]:
    return name(obj), age(obj, now)


def _name_and_creation(obj: Object, _now: float) -> Sequence[Any]:
    return name(obj), _created(obj)


def _definition(obj: Object, _now: float) -> Sequence[Any]:
    spec = obj.get("spec") or {}
    names = spec.get("names") or {}
    return (
        name(obj),
        spec.get("scope", ""),
        ",".join(sorted(_version(one) for one in spec.get("versions") or () if one.get("served"))),
        _created(obj),
        spec.get("group", ""),
        names.get("kind", ""),
        ",".join(names.get("shortNames") or ()),
        _is_established(obj.get("status") or {}),
    )


def _version(one: Object) -> str:
    return f"{one['name']}(storage)" if one.get("storage") else str(one["name"])


def _is_established(status: Object) -> bool:
    return any(one["type"] == "Established" and one["status"] == "True" for one in status.get("conditions") or ())


def _created(obj: Object) -> str:
    return obj["metadata"].get("creationTimestamp") or _NEVER


NAMESPACE = Table(columns=(NAME, Column("Status"), AGE), cells=_namespace)
CONFIG_MAP = Table(columns=(NAME, Column("Data"), AGE), cells=_config_map)
SECRET = Table(columns=(NAME, Column("Type"), Column("Data"), AGE), cells=_secret)
SERVICE_ACCOUNT = Table(columns=(NAME, AGE), cells=_name_and_age)
DEFAULT = RichTable(columns=(NAME, _CREATED), cells=_name_and_creation, null_if_empty=True)
CUSTOM_RESOURCE_DEFINITION = RichTable(
    columns=(
        NAME,
        Column("Scope"),
        Column("Versions"),
        _CREATED,
        wide("Group"),
        wide("Kind"),
        wide("ShortNames"),
        Column("Established", type="boolean", priority=1),
    ),
    cells=_definition,
    null_if_empty=True,
)
