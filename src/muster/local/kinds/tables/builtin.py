"""`kubectl get` for the built-in kinds: the columns of the real API server, and how their cells are made.

Most cells are data, texts with places in them (controlplane/cells.yaml has their grammar).  Cells that only code can
make are functions.  A column that nobody makes cells for says <none>.  Pods and events make whole rows, as their cells
are made of the same few facts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from muster.api.times import seconds
from muster.local.codec.values import Object
from muster.local.kinds.autoscalers import to_new
from muster.local.kinds.kind import Column, Table
from muster.local.kinds.tables import durations, events, pods
from muster.local.kinds.tables.cells import NONE, RichTable, age, joined, labels, name, selector
from muster.local.kinds.tables.durations import UNKNOWN
from muster.local.schema.load import Resource

__all__ = ["table"]

Cell = Callable[[Object, float], Any]

_PLACE = re.compile(r"\{([#@=]?)([\w.\[\]]+)(?::(\d+))?(?:\|([^}]*))?\}")
_NEVER = "0001-01-01T00:00:00Z"
_NOTHING: dict[str, Any] = {"integer": 0, "boolean": False}


def table(resource: Resource) -> Table:
    columns = tuple(Column(*column) for column in resource.columns)
    where = (resource.group, resource.plural)
    own: dict[str, str | Cell] = {**_COMMON, **resource.cells, **_CELLS.get(where, {})}
    makers = [_maker(column, own.get(column.name)) for column in columns]

    def cells(obj: Object, now: float) -> Sequence[Any]:
        return [make(obj, now) for make in makers]

    return RichTable(
        columns=columns,
        cells=_ROWS.get(where, cells),
        conditions=pods.conditions if where == ("", "pods") else None,
        # the real server makes the tables of kinds that it has no printer for elsewhere
        null_if_empty=any(column.type == "date" for column in columns),
    )


def _maker(column: Column, made: str | Cell | None) -> Cell:
    if made is None:
        nothing = _NOTHING.get(column.type, NONE)
        return lambda _obj, _now: nothing
    if not isinstance(made, str):
        return made
    if (whole := _PLACE.fullmatch(made)) is not None:
        default = whole[4] or ""
        nothing = _NOTHING.get(column.type, int(default) if default.isdigit() else default)
        return lambda obj, now: nothing if (found := _found(whole, obj, now)) in (None, "") else found
    text, is_choice, otherwise = made.partition(" || ")
    *_, last = _PLACE.finditer(text) if is_choice else (None,)

    def cell(obj: Object, now: float) -> str:
        if last is not None and _found(last, obj, now) in (None, ""):
            return otherwise
        return _PLACE.sub(lambda place: _shown(_found(place, obj, now), place[4] or ""), text)

    return cell


def _found(place: re.Match[str], obj: Object, now: float) -> Any:
    """What is at a place; None or an empty text if nothing is."""
    sign, path, most, _ = place.groups()
    value = _look_up(obj, path, None)
    if "[]" in path:
        return _some(value or [], int(most) if most else len(value or ()))
    if sign == "#":
        return len(value or ())
    if sign == "=":
        return _labels(value)
    return durations.since(value, now) if sign == "@" and value else value


def _look_up(value: Any, path: str, otherwise: Any) -> Any:
    """The field at a path; where that goes through lists, as in rules[].host, all that there are."""
    for part in path.split("."):
        name, of_each = part.removesuffix("[]"), part.endswith("[]")
        if isinstance(value, list):
            value = [one[name] for one in value if one.get(name)]
            value = [item for items in value for item in items] if of_each else value
        else:
            value = value.get(name) if isinstance(value, dict) else None
    return otherwise if value is None or value == "" else value


def _shown(value: Any, otherwise: str) -> str:
    if value is None or value == "":
        return otherwise
    return str(value).lower() if isinstance(value, bool) else str(value)


def _some(found: list[str], most: int) -> str:
    return ",".join(found[:most]) + (f" + {len(found) - most} more..." if len(found) > most else "")


def _labels(of: Object | None) -> str:
    """Labels, or a selector of labels."""
    return selector(of) if not of or of.keys() & {"matchLabels", "matchExpressions"} else labels(of)


def _at(path: str, show: Callable[[Any], Any]) -> Cell:
    return lambda obj, _now: show(_look_up(obj, path, None))


# --- what several kinds have ---


def _containers(part: str) -> Cell:
    """Names or images of the containers of a template."""

    def cell(obj: Object, _now: float) -> str:
        for path in ("spec.template", "template", "spec.jobTemplate.spec.template"):
            if found := _look_up(obj, f"{path}.spec.containers", None):
                return ",".join(one.get(part, "") for one in found)
        return NONE

    return cell


def _created(obj: Object, _now: float) -> str:
    return obj["metadata"].get("creationTimestamp") or _NEVER


def _phase(obj: Object, _now: float) -> str:
    return "Terminating" if "deletionTimestamp" in obj["metadata"] else str(_look_up(obj, "status.phase", ""))


_COMMON: dict[str, str | Cell] = {
    "Name": lambda obj, _now: name(obj),
    "Age": age,
    "Created At": _created,
    "Containers": _containers("name"),
    "Images": _containers("image"),
    "Selector": "{=spec.selector}",
}

# --- what one kind has ---

_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}


def _access(modes: list[str] | None) -> str:
    return ",".join(_MODES[mode] for mode in _MODES if mode in (modes or ()))


def _endpoints(obj: Object, _now: float) -> str:
    found = [
        f"{address['ip']}:{port['port']}" if port else address["ip"]
        for subset in obj.get("subsets") or ()
        for port in subset.get("ports") or (None,)
        for address in subset.get("addresses") or ()
    ]
    return _some(found, 3)


def _quota(part: str) -> Cell:
    def cell(obj: Object, _now: float) -> str:
        status = obj.get("status") or {}
        hard, used = status.get("hard") or {}, status.get("used") or {}
        chosen = [key for key in sorted(hard) if key.startswith("limits.") == (part == "limits")]
        return ", ".join(f"{key}: {used.get(key, '0')}/{hard[key]}" for key in chosen)

    return cell


def _subjects(kind: str) -> Cell:
    def cell(obj: Object, _now: float) -> str:
        of = [one for one in obj.get("subjects") or () if one.get("kind") == kind]
        return ", ".join(f"{one['namespace']}/{one['name']}" if one.get("namespace") else one["name"] for one in of)

    return cell


def _ingress_ports(obj: Object, _now: float) -> str:
    return "80, 443" if (obj.get("spec") or {}).get("tls") else "80"


def _addresses(obj: Object, _now: float) -> str:
    found = _look_up(obj, "status.loadBalancer.ingress", None) or ()
    return ",".join(one.get("ip") or one.get("hostname", "") for one in found)


def _slice_ports(obj: Object, _now: float) -> str:
    return _some([str(port["port"]) if "port" in port else "*" for port in obj.get("ports") or ()], 3) or "<unset>"


def _claim_state(obj: Object, _now: float) -> str:
    status = obj.get("status") or {}
    states = ["allocated"] if status.get("allocation") else []
    states += ["reserved"] if status.get("reservedFor") else []
    return ",".join((["deleted"] if "deletionTimestamp" in obj["metadata"] else []) + states) or "pending"


def _reference(of: Object | None) -> str:
    if of is None:
        return NONE
    group = f".{of['apiGroup']}" if of.get("apiGroup") else ""
    return f"{of['kind']}{group}/{of['name']}"


def _policy(obj: Object, _now: float) -> str:
    return "Basic" if _look_up(obj, "spec.schedulingPolicy.gang", None) is None else "Gang"


def _controller(obj: Object, _now: float) -> str:
    owner = next((one for one in obj["metadata"].get("ownerReferences") or () if one.get("controller")), None)
    return f"{owner['kind'].lower()}.{owner['apiVersion'].partition('/')[0]}/{owner['name']}" if owner else NONE


def _group_status(status: Object | None) -> str:
    conditions = {one["type"]: one for one in (status or {}).get("conditions") or ()}
    # its status is not asked for: a group that was disrupted once goes on to say so
    if "DisruptionTarget" in conditions:
        return str(conditions["DisruptionTarget"].get("reason", ""))
    scheduled = conditions.get("PodGroupInitiallyScheduled")
    if scheduled is None:
        return "Pending"
    return "Scheduled" if scheduled["status"] == "True" else "Unschedulable"


def _targets(obj: Object, _now: float) -> str:
    """What is measured and what is asked for, of the first two metrics."""
    obj = to_new(obj) if "targetCPUUtilizationPercentage" in obj.get("spec", {}) else obj
    metrics, measured = _look_up(obj, "spec.metrics", ()), _look_up(obj, "status.currentMetrics", ())
    if not metrics:
        return NONE
    first = [_target(metric, now) for metric, now in zip(metrics[:2], [*measured, {}, {}], strict=False)]
    return ", ".join(first) + (f" + {len(metrics) - 2} more..." if len(metrics) > 2 else "")


def _target(metric: Object, measured: Object) -> str:
    kind = metric["type"][:1].lower() + metric["type"][1:]
    part, current = metric.get(kind) or {}, (measured.get(kind) or {}).get("current") or {}
    target, named = part.get("target") or {}, kind in ("resource", "containerResource")
    which = next((one for one in ("averageValue", "averageUtilization", "value") if one in target), "")
    unit = "%" if which == "averageUtilization" else ""
    now = f"{current[which]}{unit}" if which in current else UNKNOWN
    text = f"{now}/{target.get(which, UNKNOWN)}{unit}"
    if named:
        return f"{part.get('name', '')}: {text}"
    return f"{text} (avg)" if which == "averageValue" and kind in ("object", "external") else text


def _ingress_class(obj: Object, _now: float) -> str:
    annotations = obj["metadata"].get("annotations") or {}
    is_default = annotations.get("ingressclass.kubernetes.io/is-default-class") == "true"
    return f"{name(obj)} (default)" if is_default else name(obj)


def _versions(versions: list[Object] | None) -> str:
    served = [one for one in versions or () if one.get("served")]
    return ",".join(sorted(f"{one['name']}(storage)" if one.get("storage") else one["name"] for one in served))


def _is_established(conditions: list[Object] | None) -> bool:
    return any(one["type"] == "Established" and one["status"] == "True" for one in conditions or ())


# --- nodes ---

_ROLE_PREFIX = "node-role.kubernetes.io/"


def _node_status(node: Object, _now: float) -> str:
    conditions = _look_up(node, "status.conditions", ())
    ready = [one["status"] for one in conditions if one["type"] == "Ready"]
    word = "Unknown" if not ready else "Ready" if ready[-1] == "True" else "NotReady"
    return f"{word},SchedulingDisabled" if _look_up(node, "spec.unschedulable", False) else word


def _roles(labels: dict[str, str] | None) -> str:
    named = {key.removeprefix(_ROLE_PREFIX) for key in labels or () if key.startswith(_ROLE_PREFIX)}
    return joined(sorted((named | {(labels or {}).get("kubernetes.io/role", "")}) - {""}))


def _node_address(kind: str) -> Cell:
    return _at(
        "status.addresses", lambda found: next((one["address"] for one in found or () if one["type"] == kind), NONE)
    )


def _kernel(info: Object | None) -> str:
    known = info or {}
    architecture = f" ({known['architecture']})" if known.get("architecture") else ""
    return (known.get("kernelVersion") or UNKNOWN) + architecture


# --- services ---


def _external(service: Object, _now: float) -> str:
    spec = service.get("spec") or {}
    addresses = spec.get("externalIPs") or []
    match spec.get("type"):
        case "ClusterIP" | "NodePort":
            return joined(addresses)
        case "LoadBalancer":
            points = _look_up(service, "status.loadBalancer.ingress", ())
            outside = sorted({one.get("ip") or one.get("hostname") or "" for one in points} - {""})
            return ",".join([*outside, *addresses]) or "<pending>"
        case "ExternalName":
            return str(spec.get("externalName", ""))
        case _:
            return UNKNOWN


def _service_port(one: Object) -> str:
    node = f":{one['nodePort']}" if one.get("nodePort", 0) > 0 else ""
    return f"{one['port']}{node}/{one.get('protocol', '')}"


# --- jobs ---


def _job_status(job: Object, _now: float) -> str:
    # of two conditions of one type the first counts
    conditions = {one["type"]: one["status"] == "True" for one in reversed(_look_up(job, "status.conditions", ()))}
    going = ["Terminating"] if job["metadata"].get("deletionTimestamp") else []
    known = ["Complete", "Failed", *going, "Suspended", "FailureTarget", "SuccessCriteriaMet"]
    return next((one for one in known if one in going or conditions.get(one)), "Running")


def _completions(job: Object, _now: float) -> str:
    spec, succeeded = job.get("spec") or {}, _look_up(job, "status.succeeded", 0)
    if spec.get("completions") is not None:
        return f"{succeeded}/{spec['completions']}"
    parallelism = spec.get("parallelism") or 0
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _duration(job: Object, now: float) -> str:
    start, end = (_look_up(job, f"status.{name}", "") for name in ("startTime", "completionTime"))
    return durations.human((seconds(end) if end else now) - seconds(start)) if start else ""


_ROWS: dict[tuple[str, str], Callable[[Object, float], Sequence[Any]]] = {
    ("", "pods"): pods.cells,
    ("", "events"): events.core_cells,
    ("events.k8s.io", "events"): events.newer_cells,
}

_BINDING: dict[str, str | Cell] = {
    "Users": _subjects("User"),
    "Groups": _subjects("Group"),
    "ServiceAccounts": _subjects("ServiceAccount"),
}

_CELLS: dict[tuple[str, str], dict[str, str | Cell]] = {
    ("", "configmaps"): {"Data": lambda obj, _now: len(obj.get("data") or ()) + len(obj.get("binaryData") or ())},
    ("", "endpoints"): {"Endpoints": _endpoints},
    ("", "nodes"): {
        "Status": _node_status,
        "Roles": _at("metadata.labels", _roles),
        "Internal-IP": _node_address("InternalIP"),
        "External-IP": _node_address("ExternalIP"),
        "Kernel-Version": _at("status.nodeInfo", _kernel),
    },
    ("", "persistentvolumeclaims"): {"Status": _phase, "Access Modes": _at("status.accessModes", _access)},
    ("", "persistentvolumes"): {"Status": _phase, "Access Modes": _at("spec.accessModes", _access)},
    ("", "resourcequotas"): {"Request": _quota("requests"), "Limit": _quota("limits")},
    ("", "services"): {
        "Cluster-IP": _at("spec.clusterIPs", lambda found: next(iter(found or ()), NONE)),
        "External-IP": _external,
        "Port(s)": _at("spec.ports", lambda ports: joined(_service_port(one) for one in ports or ())),
    },
    ("apiextensions.k8s.io", "customresourcedefinitions"): {
        "Versions": _at("spec.versions", _versions),
        "Established": _at("status.conditions", _is_established),
    },
    ("apps", "controllerrevisions"): {"Controller": _controller},
    ("autoscaling", "horizontalpodautoscalers"): {"Targets": _targets},
    ("batch", "cronjobs"): {"Suspend": _at("spec.suspend", lambda suspended: str(bool(suspended)))},
    ("batch", "jobs"): {"Status": _job_status, "Completions": _completions, "Duration": _duration},
    ("discovery.k8s.io", "endpointslices"): {"Ports": _slice_ports},
    ("networking.k8s.io", "ingressclasses"): {"Name": _ingress_class, "Parameters": _at("spec.parameters", _reference)},
    ("networking.k8s.io", "ingresses"): {"Address": _addresses, "Ports": _ingress_ports},
    ("rbac.authorization.k8s.io", "clusterrolebindings"): _BINDING,
    ("rbac.authorization.k8s.io", "rolebindings"): _BINDING,
    ("resource.k8s.io", "resourceclaims"): {"State": _claim_state},
    ("scheduling.k8s.io", "compositepodgroups"): {"Policy": _policy},
    ("scheduling.k8s.io", "podgroups"): {"Policy": _policy, "Status": _at("status", _group_status)},
    ("storage.k8s.io", "storageclasses"): {"AllowVolumeExpansion": _at("allowVolumeExpansion", bool)},
}
"""Cells that only code can make."""
