"""What Kubernetes' admission plugins do to objects, as far as they are on by default and have something to do here.

ServiceAccount, RuntimeClass, Priority, DefaultTolerationSeconds, PodGroupProtection, DefaultStorageClass,
StorageObjectInUseProtection, PersistentVolumeClaimResize, DefaultIngressClass
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from muster.base.quantity import nanos
from muster.local.codec.values import Object
from muster.local.kinds import priority
from muster.local.kinds.kind import Admit, Cluster
from muster.local.kinds.priority import Classes, Priority

_CLASSES = "priorityclasses.scheduling.k8s.io"
_RUNTIMES = "runtimeclasses.node.k8s.io"
_ACCOUNTS = "serviceaccounts"
_DEFAULT_ACCOUNT = "default"
_MIRROR = "kubernetes.io/config.mirror"
_BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
_STORAGE_CLASSES = "storageclasses.storage.k8s.io"
_INGRESS_CLASSES = "ingressclasses.networking.k8s.io"
GROUP_FINALIZER = "scheduling.k8s.io/podgroup-protection"

_TOLERATED = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_TOLERATION_SECONDS = 300


def admit_pod(new: Object, old: Object | None, cluster: Cluster) -> str:
    spec = new["spec"]
    if old is not None:
        # what a client leaves out it does not mean to take away
        for name in ("priority", "preemptionPolicy", "serviceAccountName", "serviceAccount"):
            if name in old["spec"]:
                spec.setdefault(name, old["spec"][name])
        _tolerate(spec)
        return ""
    if why := _take_account(new, cluster) or _take_priority(spec, cluster, priority.resolve_pod):
        return why
    _tolerate(spec)
    return _take_runtime(spec, cluster)


def admit_group(new: Object, old: Object | None, cluster: Cluster) -> str:
    """Of a PodGroup that may have pods: it stays until they are gone."""
    if old is None:
        _protect(new, GROUP_FINALIZER)
    return "" if old is not None else _take_priority(new["spec"], cluster, priority.resolve_group)


def admit_composite(new: Object, old: Object | None, cluster: Cluster) -> str:
    resolve = partial(priority.resolve_group, called="composite pod group")
    return "" if old is not None else _take_priority(new["spec"], cluster, resolve)


def admit_class(new: Object, old: Object | None, cluster: Cluster) -> str:
    return priority.second_default(new, _classes(cluster), updating=old is not None)


def admit_claim(new: Object, old: Object | None, cluster: Cluster) -> str:
    """Of a claim for a volume: it stays until no pod uses it, and grows only if its class lets it."""
    if old is not None:
        return _growth_problem(new, old, cluster)
    _protect(new, "kubernetes.io/pvc-protection")
    old_way = _BETA_CLASS in (new["metadata"].get("annotations") or {})
    if not old_way and new["spec"].get("storageClassName") is None:
        _take_class(new["spec"], "storageClassName", cluster.list(_STORAGE_CLASSES), _DEFAULT_STORAGE)
    return ""


def admit_volume(new: Object, old: Object | None, cluster: Cluster) -> str:
    if old is None:
        _protect(new, "kubernetes.io/pv-protection")
    return ""


def admit_attributes(new: Object, old: Object | None, cluster: Cluster) -> str:
    if old is None:
        _protect(new, "kubernetes.io/vac-protection")
    return ""


def admit_ingress(new: Object, old: Object | None, cluster: Cluster) -> str:
    old_way = "kubernetes.io/ingress.class" in (new["metadata"].get("annotations") or {})
    if old is None and not old_way and new["spec"].get("ingressClassName") is None:
        _take_class(new["spec"], "ingressClassName", cluster.list(_INGRESS_CLASSES), _DEFAULT_INGRESS)
    return ""


STEPS: dict[tuple[str, str], Admit] = {
    ("", "pods"): admit_pod,
    ("", "persistentvolumeclaims"): admit_claim,
    ("", "persistentvolumes"): admit_volume,
    ("storage.k8s.io", "volumeattributesclasses"): admit_attributes,
    ("networking.k8s.io", "ingresses"): admit_ingress,
    ("scheduling.k8s.io", "podgroups"): admit_group,
    ("scheduling.k8s.io", "compositepodgroups"): admit_composite,
    ("scheduling.k8s.io", "priorityclasses"): admit_class,
}
"""By group and plural."""


# --- classes that are taken where none is named ---

_DEFAULT_STORAGE = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
_DEFAULT_INGRESS = ("ingressclass.kubernetes.io/is-default-class",)


def _take_class(spec: Object, field: str, classes: list[Object], annotations: tuple[str, ...]) -> None:
    """Of several defaults the newest, of those of one second the first by name."""
    found = sorted((one["metadata"] for one in classes), key=lambda meta: str(meta["name"]))
    found.sort(key=lambda meta: str(meta["creationTimestamp"]), reverse=True)
    for meta in found:
        if any((meta.get("annotations") or {}).get(name) == "true" for name in annotations):
            spec[field] = meta["name"]
            return


# --- what stays while it is used, and grows ---


def _protect(new: Object, finalizer: str) -> None:
    finalizers = new["metadata"].setdefault("finalizers", [])
    if finalizer not in finalizers:
        finalizers.append(finalizer)


def _growth_problem(new: Object, old: Object, cluster: Cluster) -> str:
    # one that is not bound is refused for its spec
    if nanos(_size(new)) <= nanos(_size(old)) or (old.get("status") or {}).get("phase") != "Bound":
        return ""
    name = _class_of(new)
    found = cluster.get(_STORAGE_CLASSES, name) if name and name == _class_of(old) else None
    if found is not None and found.get("allowVolumeExpansion"):
        return ""
    return (
        "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support "
        "resize"
    )


def _size(claim: Object) -> str:
    return str(((claim["spec"].get("resources") or {}).get("requests") or {}).get("storage", "0"))


def _class_of(claim: Object) -> str:
    annotations = claim["metadata"].get("annotations") or {}
    return str(annotations.get(_BETA_CLASS, claim["spec"].get("storageClassName") or ""))


# --- accounts ---


def _take_account(pod: Object, cluster: Cluster) -> str:
    """Why there is no such account as the pod is to run as; "" if there is, and then the pod names it."""
    meta, spec = pod["metadata"], pod["spec"]
    if _MIRROR in (meta.get("annotations") or {}):
        return "a mirror pod may not reference service accounts" if spec.get("serviceAccountName") else ""
    name = spec.get("serviceAccountName") or _DEFAULT_ACCOUNT
    account = cluster.get(_ACCOUNTS, name, namespace=meta["namespace"])
    # the one of a new namespace is on its way
    if account is None and name != _DEFAULT_ACCOUNT:
        return f'error looking up service account {meta["namespace"]}/{name}: serviceaccount "{name}" not found'
    spec["serviceAccountName"] = spec["serviceAccount"] = name
    if not spec.get("imagePullSecrets") and account is not None and account.get("imagePullSecrets"):
        spec["imagePullSecrets"] = [dict(one) for one in account["imagePullSecrets"]]
    return ""


# --- priority ---


def _classes(cluster: Cluster) -> dict[str, Object]:
    return {one["metadata"]["name"]: one for one in cluster.list(_CLASSES)}


def _take_priority(spec: Object, cluster: Cluster, resolve: Callable[[Object, Classes], Priority | str]) -> str:
    """Why it cannot have the priority of its class; "" if it can, and then it has."""
    found = resolve(spec, _classes(cluster))
    if isinstance(found, str):
        return found
    if found.class_name:
        spec["priorityClassName"] = found.class_name
    spec["priority"] = found.value
    spec.setdefault("preemptionPolicy", found.policy)
    return ""


# --- runtime classes ---


def _take_runtime(spec: Object, cluster: Cluster) -> str:
    """What its runtime class takes beside the containers is the pod's, and where such pods may go; or why not."""
    name = spec.get("runtimeClassName")
    found = cluster.get(_RUNTIMES, name) if name else None
    if name and found is None:
        return f'pod rejected: RuntimeClass "{name}" not found'
    chosen = found or {}
    return _take_overhead(spec, chosen.get("overhead")) or _take_scheduling(spec, chosen.get("scheduling") or {})


def _take_overhead(spec: Object, overhead: Object | None) -> str:
    """Why the pod cannot have the overhead of its class; "" if it can, and then it has."""
    own, fixed = spec.get("overhead"), (overhead or {}).get("podFixed")
    if overhead is None:
        return "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead" if own else ""
    if own and own != fixed:
        return "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
    if fixed:
        spec["overhead"] = dict(fixed)
    return ""


def _take_scheduling(spec: Object, scheduling: Object) -> str:
    """Why the pod cannot go where its class wants it; "" if it can, and then it will."""
    wanted, own = scheduling.get("nodeSelector") or {}, spec.get("nodeSelector") or {}
    for key, value in sorted(wanted.items()):
        if own.get(key, value) != value:
            return (
                f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
                f"pod.spec.nodeSelector[{key}] = {own[key]}"
            )
    if wanted:
        spec["nodeSelector"] = own | wanted
    more = [dict(one) for one in scheduling.get("tolerations") or () if one not in (spec.get("tolerations") or ())]
    if more:
        spec["tolerations"] = [*(spec.get("tolerations") or ()), *more]
    return ""


# --- tolerations ---


def _tolerate(spec: Object) -> None:
    """A pod that says nothing of nodes that are lost stays on them for five minutes."""
    tolerations = spec.setdefault("tolerations", [])
    for key in _TOLERATED:
        if not any(_covers(one, key) for one in tolerations):
            tolerations.append(
                {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _TOLERATION_SECONDS}
            )


def _covers(toleration: Object, key: str) -> bool:
    return toleration.get("key", "") in ("", key) and toleration.get("effect", "") in ("", "NoExecute")
