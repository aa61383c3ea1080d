"""`kubectl get` for the built-in kinds: the columns of the real API server, and how their cells are made.

A cell is a text with places in it: {status.readyReplicas|0} is that field, or 0 where it is not there.  Cells that only
code can make are functions.  A column that nobody makes cells for says <none>.  Pods and events make whole rows, as
their cells are made of the same few facts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from muster.api.times import seconds
from muster.local.codec.values import Object
from muster.local.kinds.kind import Column, Table
from muster.local.kinds.tables import durations, events, pods
from muster.local.kinds.tables.cells import NONE, RichTable, age, joined, labels, name, selector
from muster.local.kinds.tables.durations import UNKNOWN
from muster.local.schema.load import Resource

__all__ = ["table"]

Cell = Callable[[Object, float], Any]

_PLACE = re.compile(r"\{([\w.]+)(?:\|([^}]*))?\}")
_NEVER = "0001-01-01T00:00:00Z"
_NOTHING: dict[str, Any] = {"integer": 0, "boolean": False}


def table(resource: Resource) -> Table:
    columns = tuple(Column(*column) for column in resource.columns)
    where = (resource.group, resource.plural)
    makers = [_maker(column, _CELLS.get(where, {})) for column in columns]

    def cells(obj: Object, now: float) -> Sequence[Any]:
        return [make(obj, now) for make in makers]

    return RichTable(
        columns=columns,
        cells=_ROWS.get(where, cells),
        conditions=pods.conditions if where == ("", "pods") else None,
        # the real server makes the tables of kinds that it has no printer for elsewhere
        null_if_empty=any(column.type == "date" for column in columns),
    )


def _maker(column: Column, own: dict[str, str | Cell]) -> Cell:
    made = own.get(column.name) or _COMMON.get(column.name)
    if made is None:
        nothing = _NOTHING.get(column.type, NONE)
        return lambda _obj, _now: nothing
    if not isinstance(made, str):
        return made
    whole = _PLACE.fullmatch(made)
    if whole is not None:
        otherwise = _NOTHING.get(column.type, _number(whole[2] or ""))
        return lambda obj, _now: _look_up(obj, whole[1], otherwise)
    return lambda obj, _now: _PLACE.sub(lambda found: _shown(_look_up(obj, found[1], found[2] or "")), made)


def _look_up(value: Any, path: str, otherwise: Any) -> Any:
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return otherwise if value is None or value == "" else value


def _number(text: str) -> int | str:
    return int(text) if text.isdigit() else text


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _at(path: str, show: Callable[[Any], Any]) -> Cell:
    return lambda obj, _now: show(_look_up(obj, path, None))


def _since(path: str, otherwise: str = NONE) -> Cell:
    def cell(obj: Object, now: float) -> str:
        at = _look_up(obj, path, None)
        return durations.since(at, now) if at else otherwise

    return cell


# --- what several kinds have ---


def _containers(part: str) -> Cell:
    """Names or images of the containers of a template."""

    def cell(obj: Object, _now: float) -> str:
        for path in ("spec.template", "template", "spec.jobTemplate.spec.template"):
            if found := _look_up(obj, f"{path}.spec.containers", None):
                return ",".join(one.get(part, "") for one in found)
        return NONE

    return cell


def _selector(obj: Object, _now: float) -> str:
    found = _look_up(obj, "spec.selector", None) or {}
    return selector(found) if found.keys() & {"matchLabels", "matchExpressions"} or not found else labels(found)


def _created(obj: Object, _now: float) -> str:
    return obj["metadata"].get("creationTimestamp") or _NEVER


_COMMON: dict[str, str | Cell] = {
    "Name": lambda obj, _now: name(obj),
    "Age": age,
    "Created At": _created,
    "Containers": _containers("name"),
    "Images": _containers("image"),
    "Selector": _selector,
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


def _some(found: list[str], most: int) -> str:
    return joined(found[:most]) + (f" + {len(found) - most} more..." if len(found) > most else "")


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


def _hosts(obj: Object, _now: float) -> str:
    hosts = [rule["host"] for rule in (obj.get("spec") or {}).get("rules") or () if rule.get("host")]
    return _some(hosts, 3) if hosts else "*"


def _ingress_ports(obj: Object, _now: float) -> str:
    return "80, 443" if (obj.get("spec") or {}).get("tls") else "80"


def _addresses(obj: Object, _now: float) -> str:
    found = _look_up(obj, "status.loadBalancer.ingress", None) or ()
    return ",".join(one.get("ip") or one.get("hostname", "") for one in found)


def _slice_ports(obj: Object, _now: float) -> str:
    return _some([str(port["port"]) if "port" in port else "*" for port in obj.get("ports") or ()], 3) or "<unset>"


def _slice_endpoints(obj: Object, _now: float) -> str:
    return _some([address for one in obj.get("endpoints") or () for address in one.get("addresses") or ()], 3)


def _claim(obj: Object, _now: float) -> str:
    found = _look_up(obj, "spec.claimRef", None)
    return f"{found.get('namespace', '')}/{found.get('name', '')}" if found else ""


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


def _count(path: str) -> Cell:
    return lambda obj, _now: len(_look_up(obj, path, None) or ())


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


def _param_kind(obj: Object, _now: float) -> str:
    of = _look_up(obj, "spec.paramKind", None)
    return "<unset>" if of is None else f"{of.get('apiVersion', '')}/{of.get('kind', '')}"


def _param_ref(of: Object) -> str:
    return f"{of.get('namespace', '*')}/{of['name']}" if of.get("name") else "<unset>"


def _targets(obj: Object, _now: float) -> str:
    """What is measured and what is asked for, of the first two metrics."""
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


def _audiences(requests: list[Object] | None) -> str:
    return ",".join(one["audience"] for one in requests) if requests else "<unset>"


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

_ROLE = "{roleRef.kind}/{roleRef.name}"
_BINDING: dict[str, str | Cell] = {
    "Role": _ROLE,
    "Users": _subjects("User"),
    "Groups": _subjects("Group"),
    "ServiceAccounts": _subjects("ServiceAccount"),
}
_POLICY_BINDING: dict[str, str | Cell] = {
    "PolicyName": "{spec.policyName}",
    "ParamRef": _at("spec.paramRef", lambda of: "<unset>" if of is None else _param_ref(of)),
}
_REPLICAS: dict[str, str | Cell] = {
    "Desired": "{spec.replicas}",
    "Current": "{status.replicas}",
    "Ready": "{status.readyReplicas}",
}

_CELLS: dict[tuple[str, str], dict[str, str | Cell]] = {
    ("", "configmaps"): {"Data": lambda obj, _now: len(obj.get("data") or ()) + len(obj.get("binaryData") or ())},
    ("", "endpoints"): {"Endpoints": _endpoints},
    ("", "namespaces"): {"Status": "{status.phase}"},
    ("", "nodes"): {
        "Status": _node_status,
        "Roles": _at("metadata.labels", _roles),
        "Version": "{status.nodeInfo.kubeletVersion}",
        "Internal-IP": _node_address("InternalIP"),
        "External-IP": _node_address("ExternalIP"),
        "OS-Image": "{status.nodeInfo.osImage|<unknown>}",
        "Kernel-Version": _at("status.nodeInfo", _kernel),
        "Container-Runtime": "{status.nodeInfo.containerRuntimeVersion|<unknown>}",
    },
    ("", "persistentvolumeclaims"): {
        "Status": lambda obj, _now: (
            "Terminating" if "deletionTimestamp" in obj["metadata"] else _look_up(obj, "status.phase", "")
        ),
        "Volume": "{spec.volumeName}",
        "Capacity": "{status.capacity.storage}",
        "Access Modes": _at("status.accessModes", _access),
        "StorageClass": "{spec.storageClassName}",
        "VolumeAttributesClass": "{status.currentVolumeAttributesClassName|<unset>}",
        "VolumeMode": "{spec.volumeMode}",
    },
    ("", "persistentvolumes"): {
        "Capacity": "{spec.capacity.storage}",
        "Access Modes": _at("spec.accessModes", _access),
        "Reclaim Policy": "{spec.persistentVolumeReclaimPolicy}",
        "Status": lambda obj, _now: (
            "Terminating" if "deletionTimestamp" in obj["metadata"] else _look_up(obj, "status.phase", "")
        ),
        "Claim": _claim,
        "StorageClass": "{spec.storageClassName}",
        "VolumeAttributesClass": "{spec.volumeAttributesClassName|<unset>}",
        "Reason": "{status.reason}",
        "VolumeMode": "{spec.volumeMode}",
    },
    ("", "podtemplates"): {"Pod Labels": _at("template.metadata.labels", labels)},
    ("", "replicationcontrollers"): _REPLICAS,
    ("", "resourcequotas"): {"Request": _quota("requests"), "Limit": _quota("limits")},
    ("", "secrets"): {"Type": "{type}", "Data": _count("data")},
    ("", "services"): {
        "Type": "{spec.type}",
        "Cluster-IP": _at("spec.clusterIPs", lambda found: next(iter(found or ()), NONE)),
        "External-IP": _external,
        "Port(s)": _at("spec.ports", lambda ports: joined(_service_port(one) for one in ports or ())),
    },
    ("apiextensions.k8s.io", "customresourcedefinitions"): {
        "Scope": "{spec.scope}",
        "Versions": _at("spec.versions", _versions),
        "Group": "{spec.group}",
        "Kind": "{spec.names.kind}",
        "ShortNames": _at("spec.names.shortNames", lambda found: ",".join(found or ())),
        "Established": _at("status.conditions", _is_established),
    },
    ("apps", "controllerrevisions"): {"Controller": _controller, "Revision": "{revision|0}"},
    ("apps", "daemonsets"): {
        "Desired": "{status.desiredNumberScheduled}",
        "Current": "{status.currentNumberScheduled}",
        "Ready": "{status.numberReady}",
        "Up-to-date": "{status.updatedNumberScheduled}",
        "Available": "{status.numberAvailable}",
        "Node Selector": _at("spec.template.spec.nodeSelector", labels),
    },
    ("apps", "deployments"): {
        "Ready": "{status.readyReplicas|0}/{spec.replicas|0}",
        "Up-to-date": "{status.updatedReplicas|0}",
        "Available": "{status.availableReplicas|0}",
    },
    ("apps", "replicasets"): _REPLICAS,
    ("apps", "statefulsets"): {"Ready": "{status.readyReplicas|0}/{spec.replicas|0}"},
    ("autoscaling", "horizontalpodautoscalers"): {
        "Reference": "{spec.scaleTargetRef.kind}/{spec.scaleTargetRef.name}",
        "Targets": _targets,
        "MinPods": _at("spec.minReplicas", lambda least: "<unset>" if least is None else str(least)),
        "MaxPods": "{spec.maxReplicas}",
        "Replicas": "{status.currentReplicas|0}",
    },
    ("batch", "cronjobs"): {
        "Schedule": "{spec.schedule}",
        "Timezone": "{spec.timeZone|<none>}",
        "Suspend": lambda obj, _now: "True" if _look_up(obj, "spec.suspend", False) else "False",
        "Active": _count("status.active"),
        "Last Schedule": _since("status.lastScheduleTime"),
    },
    ("batch", "jobs"): {"Status": _job_status, "Completions": _completions, "Duration": _duration},
    ("certificates.k8s.io", "certificatesigningrequests"): {
        "SignerName": "{spec.signerName}",
        "Requestor": "{spec.username}",
    },
    ("coordination.k8s.io", "leases"): {"Holder": "{spec.holderIdentity}"},
    ("discovery.k8s.io", "endpointslices"): {
        "AddressType": "{addressType}",
        "Ports": _slice_ports,
        "Endpoints": _slice_endpoints,
    },
    ("flowcontrol.apiserver.k8s.io", "flowschemas"): {
        "PriorityLevel": "{spec.priorityLevelConfiguration.name}",
        "MatchingPrecedence": "{spec.matchingPrecedence}",
        "DistinguisherMethod": "{spec.distinguisherMethod.type|<none>}",
        "MissingPL": "?",
    },
    ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"): {
        "Type": "{spec.type}",
        "NominalConcurrencyShares": "{spec.limited.nominalConcurrencyShares|<none>}",
        "Queues": "{spec.limited.limitResponse.queuing.queues|<none>}",
        "HandSize": "{spec.limited.limitResponse.queuing.handSize|<none>}",
        "QueueLengthLimit": "{spec.limited.limitResponse.queuing.queueLengthLimit|<none>}",
    },
    ("networking.k8s.io", "ingressclasses"): {
        "Name": _ingress_class,
        "Controller": "{spec.controller}",
        "Parameters": lambda obj, _now: _reference(_look_up(obj, "spec.parameters", None)),
    },
    ("networking.k8s.io", "ingresses"): {
        "Class": "{spec.ingressClassName|<none>}",
        "Hosts": _hosts,
        "Address": _addresses,
        "Ports": _ingress_ports,
    },
    ("networking.k8s.io", "networkpolicies"): {"Pod-Selector": _at("spec.podSelector", selector)},
    ("networking.k8s.io", "servicecidrs"): {"CIDRs": _at("spec.cidrs", lambda cidrs: ",".join(cidrs or ()))},
    ("node.k8s.io", "runtimeclasses"): {"Handler": "{handler}"},
    ("policy", "poddisruptionbudgets"): {
        "Min Available": _at("spec.minAvailable", lambda limit: "N/A" if limit is None else str(limit)),
        "Max Unavailable": _at("spec.maxUnavailable", lambda limit: "N/A" if limit is None else str(limit)),
        "Allowed Disruptions": "{status.disruptionsAllowed}",
    },
    ("rbac.authorization.k8s.io", "clusterrolebindings"): _BINDING,
    ("rbac.authorization.k8s.io", "rolebindings"): _BINDING,
    ("resource.k8s.io", "devicetaintrules"): {
        "Key": "{spec.taint.key}",
        "Value": "{spec.taint.value}",
        "Effect": "{spec.taint.effect}",
        "TimeAdded": _since("spec.taint.timeAdded", "<unknown>"),
    },
    ("resource.k8s.io", "resourceclaims"): {"State": _claim_state},
    ("resource.k8s.io", "resourceslices"): {
        "Node": "{spec.nodeName|<unset>}",
        "Driver": "{spec.driver}",
        "Pool": "{spec.pool.name}",
    },
    ("scheduling.k8s.io", "compositepodgroups"): {
        "Policy": _policy,
        "Workload": "{spec.workloadRef.workloadName|<none>}",
    },
    ("scheduling.k8s.io", "podgroups"): {
        "Policy": _policy,
        "Workload": "{spec.workloadRef.workloadName|<none>}",
        "Status": _at("status", _group_status),
    },
    ("scheduling.k8s.io", "priorityclasses"): {
        "Value": "{value}",
        "Global-Default": "{globalDefault}",
        "PreemptionPolicy": "{preemptionPolicy}",
    },
    ("storage.k8s.io", "csidrivers"): {
        "AttachRequired": "{spec.attachRequired}",
        "PodInfoOnMount": "{spec.podInfoOnMount}",
        "StorageCapacity": "{spec.storageCapacity}",
        "TokenRequests": _at("spec.tokenRequests", _audiences),
        "RequiresRepublish": "{spec.requiresRepublish}",
        "Modes": _at("spec.volumeLifecycleModes", lambda modes: ",".join(modes or ())),
    },
    ("storage.k8s.io", "csinodes"): {"Drivers": _count("spec.drivers")},
    ("storage.k8s.io", "storageclasses"): {
        "Provisioner": "{provisioner}",
        "ReclaimPolicy": "{reclaimPolicy}",
        "VolumeBindingMode": "{volumeBindingMode}",
        "AllowVolumeExpansion": _at("allowVolumeExpansion", bool),
    },
    ("storage.k8s.io", "volumeattachments"): {
        "Attacher": "{spec.attacher}",
        "PV": "{spec.source.persistentVolumeName}",
        "Node": "{spec.nodeName}",
        "Attached": "{status.attached}",
    },
    ("storage.k8s.io", "volumeattributesclasses"): {"DriverName": "{driverName}"},
    ("storagemigration.k8s.io", "storageversionmigrations"): {
        "Resource": "{spec.resource.resource}.{spec.resource.group}",
        "Status": "Unknown",
    },
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"): {"Webhooks": _count("webhooks")},
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"): {"Webhooks": _count("webhooks")},
    ("admissionregistration.k8s.io", "validatingadmissionpolicies"): {
        "Validations": _count("spec.validations"),
        "ParamKind": _param_kind,
    },
    ("admissionregistration.k8s.io", "mutatingadmissionpolicies"): {
        "Mutations": _count("spec.mutations"),
        "ParamKind": _param_kind,
    },
    ("admissionregistration.k8s.io", "validatingadmissionpolicybindings"): _POLICY_BINDING,
    ("admissionregistration.k8s.io", "mutatingadmissionpolicybindings"): _POLICY_BINDING,
}
