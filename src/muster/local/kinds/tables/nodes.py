"""`kubectl get nodes`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from muster.local.codec.values import Object
from muster.local.kinds.kind import Column, Table
from muster.local.kinds.tables.cells import AGE, NAME, NONE, age, joined, name, wide
from muster.local.kinds.tables.durations import UNKNOWN

__all__ = ["NODE"]

_ROLE_PREFIX = "node-role.kubernetes.io/"
_ROLE = "kubernetes.io/role"


def _cells(node: Object, now: float) -> Sequence[Any]:
    status = node.get("status") or {}
    info = status.get("nodeInfo") or {}
    architecture = f" ({info['architecture']})" if info.get("architecture") else ""
    return (
        name(node),
        _status(node, status),
        joined(_roles(node["metadata"].get("labels") or {})),
        age(node, now),
        info.get("kubeletVersion", ""),
        _address(status, "InternalIP"),
        _address(status, "ExternalIP"),
        info.get("osImage") or UNKNOWN,
        (info.get("kernelVersion") or UNKNOWN) + architecture,
        info.get("containerRuntimeVersion") or UNKNOWN,
    )


def _status(node: Object, status: Object) -> str:
    ready = [one["status"] for one in status.get("conditions") or () if one["type"] == "Ready"]
    if not ready:
        word = "Unknown"
    else:
        word = "Ready" if ready[-1] == "True" else "NotReady"
    return f"{word},SchedulingDisabled" if (node.get("spec") or {}).get("unschedulable") else word


def _roles(labels: dict[str, str]) -> list[str]:
    named = {key.removeprefix(_ROLE_PREFIX) for key in labels if key.startswith(_ROLE_PREFIX)}
    return sorted((named | {labels.get(_ROLE, "")}) - {""})


def _address(status: Object, kind: str) -> str:
    found = (one["address"] for one in status.get("addresses") or () if one["type"] == kind)
    return next(found, NONE)


NODE = Table(
    columns=(
        NAME,
        Column("Status"),
        Column("Roles"),
        AGE,
        Column("Version"),
        wide("Internal-IP"),
        wide("External-IP"),
        wide("OS-Image"),
        wide("Kernel-Version"),
        wide("Container-Runtime"),
    ),
    cells=_cells,
)
