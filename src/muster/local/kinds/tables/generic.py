"""`kubectl get` for kinds that are data: the columns of the real API server, and how their cells are made.

A cell is a text with places in it: {status.readyReplicas|0} is that field, or 0 where it is not there.  Cells that only
code can make are functions.  A column that nobody makes cells for says <none>.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from muster.local.codec.values import Object
from muster.local.kinds.kind import Column, Table
from muster.local.kinds.tables import durations
from muster.local.kinds.tables.cells import NONE, RichTable, age, joined, labels, name, selector
from muster.local.schema.load import Resource

__all__ = ["table"]

Cell = Callable[[Object, float], Any]

_PLACE = re.compile(r"\{([\w.]+)(?:\|([^}]*))?\}")
_NEVER = "0001-01-01T00:00:00Z"
_NOTHING: dict[str, Any] = {"integer": 0, "boolean": False}


def table(resource: Resource) -> Table:
    columns = tuple(Column(*column) for column in resource.columns)
    own = _CELLS.get((resource.group, resource.plural), {})
    makers = [_maker(column, own) for column in columns]

    def cells(obj: Object, now: float) -> Sequence[Any]:
        return [make(obj, now) for make in makers]

    # the real server makes the tables of kinds that it has no printer for elsewhere
    return RichTable(columns=columns, cells=cells, null_if_empty=any(column.type == "date" for column in columns))


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
    return otherwise if value is None else value


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


def _param_kind(obj: Object, _now: float) -> str:
    of = _look_up(obj, "spec.paramKind", None)
    return "<unset>" if of is None else f"{of.get('apiVersion', '')}/{of.get('kind', '')}"


def _param_ref(of: Object) -> str:
    return f"{of.get('namespace', '*')}/{of['name']}" if of.get("name") else "<unset>"


def _targets(obj: Object, _now: float) -> str:
    """What is asked of resources; nobody measures them here."""
    found = []
    for metric in (obj.get("spec") or {}).get("metrics") or ():
        target = (metric.get("resource") or {}).get("target") or {}
        wanted = f"{target['averageUtilization']}%" if "averageUtilization" in target else target.get("averageValue")
        found.append(f"{metric['resource']['name']}: <unknown>/{wanted}" if wanted else "<unknown>")
    return joined(found)


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
    ("", "endpoints"): {"Endpoints": _endpoints},
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
    ("certificates.k8s.io", "certificatesigningrequests"): {
        "SignerName": "{spec.signerName}",
        "Requestor": "{spec.username}",
    },
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
    ("storage.k8s.io", "csidrivers"): {
        "AttachRequired": "{spec.attachRequired}",
        "PodInfoOnMount": "{spec.podInfoOnMount}",
        "StorageCapacity": "{spec.storageCapacity}",
        "TokenRequests": "<unset>",
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
