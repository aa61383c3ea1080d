"""`kubectl get services`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from muster.local.codec.values import Object
from muster.local.kinds.kind import Column, Table
from muster.local.kinds.tables.cells import AGE, NAME, NONE, age, joined, labels, name, wide
from muster.local.kinds.tables.durations import UNKNOWN

__all__ = ["SERVICE"]


def _cells(service: Object, now: float) -> Sequence[Any]:
    spec = service.get("spec") or {}
    return (
        name(service),
        spec.get("type", ""),
        next(iter(spec.get("clusterIPs") or ()), NONE),
        _external(spec, service.get("status") or {}),
        joined(_port(one) for one in spec.get("ports") or ()),
        age(service, now),
        labels(spec.get("selector")),
    )


def _external(spec: Object, status: Object) -> str:
    addresses = spec.get("externalIPs") or []
    match spec.get("type"):
        case "ClusterIP" | "NodePort":
            return joined(addresses)
        case "LoadBalancer":
            return ",".join([*_ingress(status), *addresses]) or "<pending>"
        case "ExternalName":
            return str(spec.get("externalName", ""))
        case _:
            return UNKNOWN


def _ingress(status: Object) -> list[str]:
    points = (status.get("loadBalancer") or {}).get("ingress") or ()
    return sorted({one.get("ip") or one.get("hostname") or "" for one in points} - {""})


def _port(one: Object) -> str:
    node = f":{one['nodePort']}" if one.get("nodePort", 0) > 0 else ""
    return f"{one['port']}{node}/{one.get('protocol', '')}"


SERVICE = Table(
    columns=(
        NAME,
        Column("Type"),
        Column("Cluster-IP"),
        Column("External-IP"),
        Column("Port(s)"),
        AGE,
        wide("Selector"),
    ),
    cells=_cells,
)
