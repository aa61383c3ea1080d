"""HorizontalPodAutoscaler (autoscaling): kept in v2, and told in v1, which knows one metric, the use of CPU.

What v1 has no field for stands in annotations there, in the form of v2, so that a write in v1 loses nothing.
"""

from __future__ import annotations

import json
from typing import Any

from muster.local.codec.values import Object
from muster.local.kinds import status
from muster.local.schema import load, structs

_PREFIX = "autoscaling.alpha.kubernetes.io/"
_ANNOTATED = {
    "metrics": ("spec", "metrics"),
    "behavior": ("spec", "behavior"),
    "current-metrics": ("status", "currentMetrics"),
    "conditions": ("status", "conditions"),
}
"""Where in an object of v2 it stands what an annotation of v1 holds."""
_PERCENT = {
    "metrics": ("targetCPUUtilizationPercentage", "target"),
    "current-metrics": ("currentCPUUtilizationPercentage", "current"),
}
"""The field of v1 for the use of CPU, and that of v2 in a metric."""


def to_old(scaler: Object) -> Object:
    """An autoscaler of v2 as v1 has it."""
    meta = dict(scaler["metadata"])
    old = {"metadata": meta, "spec": dict(scaler["spec"]), "status": dict(scaler.get("status") or {})}
    annotations = dict(meta.get("annotations") or {})
    for name, (part, field) in _ANNOTATED.items():
        rest = old[part].pop(field, None)
        if name in _PERCENT and rest:
            percent, inside = _PERCENT[name]
            cpu = next((one for one in rest if _use_of_cpu(one, inside) is not None), None)
            if cpu is not None:
                use = old[part][percent] = _use_of_cpu(cpu, inside)
                others = [one for one in rest if one is not cpu]
                # one that says more stays beside it, and so does the first of several
                if cpu == _of_cpu(use, inside) and all(_use_of_cpu(one, inside) is None for one in others):
                    rest = others
        if rest:
            annotations[_PREFIX + name] = json.dumps(rest, separators=(",", ":"))
    if annotations:
        meta["annotations"] = annotations
    old["status"] = {"currentReplicas": 0, "desiredReplicas": 0, **old["status"]}
    return old


def to_new(scaler: Object) -> Object:
    """An autoscaler of v1 as v2 has it."""
    meta = dict(scaler["metadata"])
    new = {"metadata": meta, "spec": dict(scaler["spec"]), "status": dict(scaler.get("status") or {})}
    annotations = dict(meta.pop("annotations", None) or {})
    for name, (part, field) in _ANNOTATED.items():
        text = annotations.pop(_PREFIX + name, "")
        value = _read(text, part, field, name) if text else None
        if name in _PERCENT:
            percent, inside = _PERCENT[name]
            if (use := new[part].pop(percent, None)) is not None:
                said = next((one for one in value or () if _use_of_cpu(one, inside) is not None), None)
                if said is None:
                    value = [_of_cpu(use, inside), *(value or ())]
                else:
                    said["resource"][inside]["averageUtilization"] = use
        if value:
            new[part][field] = value
    if annotations:
        meta["annotations"] = annotations
    new["status"].setdefault("currentMetrics", None)
    return new


def _use_of_cpu(metric: Object, inside: str) -> int | None:
    resource = metric.get("resource") or {}
    use: int | None = (resource.get(inside) or {}).get("averageUtilization") if resource.get("name") == "cpu" else None
    return use


def _of_cpu(use: int | None, inside: str) -> Object:
    """The metric of v2 that says no more than v1 does."""
    kind = {"type": "Utilization"} if inside == "target" else {}
    return {"type": "Resource", "resource": {"name": "cpu", inside: {**kind, "averageUtilization": use}}}


def _read(text: str, part: str, field: str, name: str) -> Any:
    shape = load.shapes()["io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler"].fields[part].shape
    try:
        read = structs.decode({field: json.loads(text)}, shape)
    except (ValueError, RecursionError):
        read = structs.Decoded(None, error="not JSON")
    if read.error or read.strict:
        raise status.bad_request(f"annotation {_PREFIX}{name} is not in the form of autoscaling/v2: {field}")
    return read.value.get(field)
