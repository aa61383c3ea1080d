"""Pods: what is particular to them among the kinds.

rules        what is asked of each struct in a spec: tables
validation   what the parts of a pod have to do with each other; usage of volumes, resources
spec         defaults
updates      what may change; status: what kubelets and schedulers may write
lifecycle    bindings and deletion
"""

from __future__ import annotations

from typing import Any

from muster.local.checks.fields import FieldError, forbidden
from muster.local.codec.values import Object, take
from muster.local.kinds.kind import Strategy
from muster.local.kinds.pods import resources as pod_resources
from muster.local.kinds.pods import spec as pod_spec
from muster.local.kinds.pods.lifecycle import (
    OLD_ANNOTATIONS,
    bind,
    binding_errors,
    gated,
    grace_seconds,
    log_lines,
    marked_evicted,
    may_always_go,
    not_bindable,
)
from muster.local.kinds.pods.status import keep_old, status_errors
from muster.local.kinds.pods.updates import update_errors
from muster.local.kinds.pods.validation import pod_errors
from muster.local.kinds.pods.warnings import warnings

__all__ = [
    "STRATEGY",
    "bind",
    "binding_errors",
    "drop_disabled_spec",
    "log_lines",
    "marked_evicted",
    "may_always_go",
    "not_bindable",
]

_AFFINITIES = ("podAffinity", "podAntiAffinity")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def default(pod: Object) -> None:
    pod_spec.default_pod_spec(pod["spec"])
    if pod.get("status"):
        pod_spec.default_status(pod["status"])


def prepare_create(pod: Object) -> None:
    """A new pod is pending, whatever it says; its times come from metadata.creationTimestamp, which is set by now."""
    spec, metadata = pod["spec"], pod["metadata"]
    drop_disabled(pod)
    pod["status"] = {"phase": "Pending"}
    if spec.get("schedulingGates"):
        pod["status"]["conditions"] = [gated(metadata.get("creationTimestamp"))]
    if "affinity" in spec or "topologySpreadConstraints" in spec:
        _merge_label_keys(spec, metadata.get("labels", {}))
    pod_resources.default_pod_level(spec)
    pod["status"]["qosClass"] = pod_resources.service_class(spec)


def prepare_update(new: Object, old: Object) -> None:
    if "resources" in old["spec"]:
        # a client that does not know the field leaves it out
        new["spec"].setdefault("resources", old["spec"]["resources"])
    drop_disabled(new)


def prepare_status(new: Object, old: Object) -> None:
    """Only the status and harmless metadata change here."""
    take(new["metadata"], old["metadata"], "deletionTimestamp", "ownerReferences")
    keep_old(new.setdefault("status", {}), old.get("status", {}))


def validate(pod: Object) -> list[FieldError]:
    errors = pod_errors(pod)
    spec = pod["spec"]
    if spec.get("ephemeralContainers"):
        errors.append(forbidden("spec.ephemeralContainers", "cannot be set on create"))
    if spec.get("nodeName") and spec.get("schedulingGates"):
        errors.append(forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared"))
    return errors


def selectable(pod: Object) -> dict[str, str]:
    spec, status = pod["spec"], pod.get("status", {})
    addresses = status.get("podIPs")
    return {
        "spec.nodeName": spec.get("nodeName", ""),
        "spec.restartPolicy": spec.get("restartPolicy", ""),
        "spec.schedulerName": spec.get("schedulerName", ""),
        "spec.serviceAccountName": spec.get("serviceAccountName", ""),
        "spec.hostNetwork": "true" if spec.get("hostNetwork") else "false",
        "status.phase": status.get("phase", ""),
        "status.podIP": addresses[0].get("ip", "") if addresses else "",
        "status.nominatedNodeName": status.get("nominatedNodeName", ""),
    }


STRATEGY = Strategy(
    prepare_create=prepare_create,
    default=default,
    validate=validate,
    prepare_update=prepare_update,
    validate_update=update_errors,
    prepare_status=prepare_status,
    validate_status=status_errors,
    selectable=selectable,
    has_generation=True,
    grace_seconds=grace_seconds,
    returns_deleted=True,
    warnings=warnings,
    status_keeps=("spec", "metadata.deletionTimestamp", "metadata.ownerReferences"),
)


def drop_disabled(pod: Object) -> None:
    """Takes out what the real server, with its gates as they are by default, takes out too."""
    annotations = pod["metadata"].get("annotations")
    if annotations and not annotations.keys().isdisjoint(OLD_ANNOTATIONS):
        pod["metadata"]["annotations"] = {key: annotations[key] for key in annotations if key not in OLD_ANNOTATIONS}
    drop_disabled_spec(pod["spec"])


def drop_disabled_spec(spec: Object) -> None:
    """The same of a spec alone: jobs hold one."""
    spec.pop("evictionResponders", None)
    for volume in spec.get("volumes", ()):
        if "emptyDir" in volume:
            volume["emptyDir"].pop("mode", None)
        _drop_users(volume)
    for container in pod_spec.containers(spec, *pod_spec.CONTAINER_LISTS):
        for mount in container.get("volumeMounts", ()):
            mount.pop("bindMountOptions", None)
        for probe in pod_spec.PROBES:
            if probe in container:
                container[probe].get("httpGet", {}).pop("protocol", None)
                container[probe].get("grpc", {}).pop("mode", None)
        if "lifecycle" in container:
            _drop_stop_signal(container)


def _drop_users(part: Any) -> None:
    """Owners of the files that the kubelet writes, wherever they stand in a volume."""
    if isinstance(part, list):
        for one in part:
            _drop_users(one)
    elif isinstance(part, dict):
        for key in ("defaultUser", "user"):
            if isinstance(part.get(key), int):
                del part[key]
        for key in ("secret", "configMap", "downwardAPI", "projected", "serviceAccountToken", "items", "sources"):
            if key in part:
                _drop_users(part[key])


def _drop_stop_signal(container: Object) -> None:
    lifecycle = container["lifecycle"]
    for hook in ("postStart", "preStop"):
        lifecycle.get(hook, {}).get("httpGet", {}).pop("protocol", None)
    if lifecycle.pop("stopSignal", None) is not None and not lifecycle:
        del container["lifecycle"]


def _merge_label_keys(spec: Object, labels: dict[str, str]) -> None:
    """Keys whose values are to be the pod's own become requirements on them."""
    for kind in _AFFINITIES:
        found = spec.get("affinity", {}).get(kind, {})
        for weighted in found.get(_PREFERRED, ()):
            _require_own(weighted.get("podAffinityTerm", {}), labels)
        for term in found.get(_REQUIRED, ()):
            _require_own(term, labels)
    for constraint in spec.get("topologySpreadConstraints", ()):
        _require_own(constraint, labels)


def _require_own(holder: Object, labels: dict[str, str]) -> None:
    if "labelSelector" not in holder:
        return
    for kind, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")):
        own = [
            {"key": key, "operator": operator, "values": [labels[key]]} for key in holder.get(kind, ()) if key in labels
        ]
        if own:
            holder["labelSelector"].setdefault("matchExpressions", []).extend(own)
