"""`kubectl get` for priorityclasses, workloads, podgroups, poddisruptionbudgets and leases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from muster.local.codec.values import Object
from muster.local.kinds.kind import Column, Table
from muster.local.kinds.tables.cells import AGE, NAME, NONE, age, name

__all__ = ["LEASE", "POD_DISRUPTION_BUDGET", "POD_GROUP", "PRIORITY_CLASS", "WORKLOAD"]


def _priority_class(obj: Object, now: float) -> Sequence[Any]:
    value, is_default = obj.get("value", 0), obj.get("globalDefault", False)
    return name(obj), value, is_default, age(obj, now), obj.get("preemptionPolicy", "")


def _workload(obj: Object, now: float) -> Sequence[Any]:
    return name(obj), age(obj, now)


def _pod_group(obj: Object, now: float) -> Sequence[Any]:
    spec = obj.get("spec") or {}
    policy = "Basic" if (spec.get("schedulingPolicy") or {}).get("gang") is None else "Gang"
    workload = spec.get("workloadRef")
    named = NONE if workload is None else workload.get("workloadName", "")
    return name(obj), policy, named, _group_status(obj.get("status") or {}), age(obj, now)


def _group_status(status: Object) -> str:
    conditions = {one["type"]: one for one in status.get("conditions") or ()}
    # its status is not asked for: a group that was disrupted once goes on to say so
    if "DisruptionTarget" in conditions:
        return str(conditions["DisruptionTarget"].get("reason", ""))
    scheduled = conditions.get("PodGroupInitiallyScheduled")
    if scheduled is None:
        return "Pending"
    return "Scheduled" if scheduled["status"] == "True" else "Unschedulable"


def _budget(obj: Object, now: float) -> Sequence[Any]:
    spec, allowed = obj.get("spec") or {}, (obj.get("status") or {}).get("disruptionsAllowed", 0)
    limits = (str(spec.get(limit, "N/A")) for limit in ("minAvailable", "maxUnavailable"))
    return name(obj), *limits, allowed, age(obj, now)


def _lease(obj: Object, now: float) -> Sequence[Any]:
    return name(obj), (obj.get("spec") or {}).get("holderIdentity", ""), age(obj, now)


PRIORITY_CLASS = Table(
    columns=(
        NAME,
        Column("Value", type="integer"),
        Column("Global-Default", type="boolean"),
        AGE,
        Column("PreemptionPolicy"),
    ),
    cells=_priority_class,
)
WORKLOAD = Table(columns=(NAME, AGE), cells=_workload)
POD_GROUP = Table(
    columns=(NAME, Column("Policy"), Column("Workload"), Column("Status"), AGE),
    cells=_pod_group,
)
POD_DISRUPTION_BUDGET = Table(
    columns=(
        NAME,
        Column("Min Available"),
        Column("Max Unavailable"),
        Column("Allowed Disruptions", type="integer"),
        AGE,
    ),
    cells=_budget,
)
LEASE = Table(columns=(NAME, Column("Holder"), AGE), cells=_lease)
