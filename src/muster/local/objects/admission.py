"""What Kubernetes' admission plugins do to objects, as far as they are on by default and have something to do here.

NamespaceLifecycle, RuntimeClass, Priority, DefaultTolerationSeconds, PodGroupProtection
"""

from __future__ import annotations

import msgspec

from muster.local.codec.values import Object
from muster.local.kinds import priority, status
from muster.local.kinds.kind import Kind
from muster.local.kinds.registry import Served
from muster.local.store.store import Store

_decode = msgspec.json.Decoder().decode

NAMESPACES = "namespaces"
CLASSES = "priorityclasses.scheduling.k8s.io"
RUNTIMES = "runtimeclasses.node.k8s.io"
SYSTEM_CLASSES = frozenset(one["metadata"]["name"] for one in priority.SYSTEM)
PERMANENT = ("default", "kube-system", "kube-public")
GROUP_FINALIZER = "scheduling.k8s.io/podgroup-protection"

_TOLERATED = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_TOLERATION_SECONDS = 300


class Admission:
    """Looks at what is about to be written, changes it, or refuses it."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def check_namespace(self, kind: Kind, namespace: str, name: str) -> None:
        """Nothing is created in a namespace that is not there, or that goes."""
        found = self._store.get(NAMESPACES, "", namespace)
        if found is None:
            details = {"name": namespace, "kind": "namespaces"}
            raise status.Refusal(404, "NotFound", f'namespaces "{namespace}" not found', details=details)
        if found.fields.get("status.phase") == "Terminating":
            refusal = status.forbidden(
                kind, name, f"unable to create new content in namespace {namespace} because it is being terminated"
            )
            assert refusal.details is not None
            refusal.details["causes"] = [
                {
                    "reason": "NamespaceTerminating",
                    "message": f"namespace {namespace} is being terminated",
                    "field": "metadata.namespace",
                }
            ]
            raise refusal

    def check_delete(self, kind: Kind, name: str) -> None:
        if kind.resource == NAMESPACES and name in PERMANENT:
            raise status.forbidden(kind, name, "this namespace may not be deleted")
        if kind.resource == CLASSES and name in SYSTEM_CLASSES:
            raise status.forbidden(kind, name, priority.CANNOT_DELETE)

    def admit_create(self, served: Served, given: Object) -> None:
        kind = served.kind
        if kind.resource == "pods":
            self._resolve_priority(kind, given)
            _tolerate(given["spec"])
            self._prepare_runtime(kind, given)
        elif kind.resource == "podgroups.scheduling.k8s.io":
            finalizers = given["metadata"].setdefault("finalizers", [])
            if GROUP_FINALIZER not in finalizers:
                finalizers.append(GROUP_FINALIZER)
            self._resolve_priority(kind, given)
        elif kind.resource == "compositepodgroups.scheduling.k8s.io":
            self._resolve_priority(kind, given)
        elif kind.resource == CLASSES:
            self._check_only_default(kind, given, updating=False)

    def admit_update(self, served: Served, new: Object, old: Object) -> None:
        kind = served.kind
        if kind.resource == "pods":
            # what a client leaves out it does not mean to take away
            for name in ("priority", "preemptionPolicy"):
                if name in old["spec"]:
                    new["spec"].setdefault(name, old["spec"][name])
            _tolerate(new["spec"])
        elif kind.resource == CLASSES:
            self._check_only_default(kind, new, updating=True)

    # --- runtime classes ---

    def _prepare_runtime(self, kind: Kind, pod: Object) -> None:
        """What its runtime class takes beside the containers is the pod's, and where such pods may go."""
        spec, name = pod["spec"], pod["spec"].get("runtimeClassName")
        found = self._store.get(RUNTIMES, "", name) if name else None
        chosen: Object = {} if found is None else _decode(found.data)
        if name and found is None:
            why = f'pod rejected: RuntimeClass "{name}" not found'
        else:
            why = _take_overhead(spec, chosen.get("overhead")) or _take_scheduling(spec, chosen.get("scheduling") or {})
        if why:
            raise status.forbidden(kind, pod["metadata"].get("name", ""), why)

    # --- priority ---

    def _classes(self) -> dict[str, Object]:
        return {stored.name: _decode(stored.data) for stored in self._store.list(CLASSES)}

    def _resolve_priority(self, kind: Kind, given: Object) -> None:
        resolve = priority.resolve_pod if kind.resource == "pods" else priority.resolve_group
        spec = given["spec"]
        found = resolve(spec, self._classes())
        if isinstance(found, str):
            raise status.forbidden(kind, given["metadata"].get("name", ""), found)
        if found.class_name:
            spec["priorityClassName"] = found.class_name
        spec["priority"] = found.value
        spec.setdefault("preemptionPolicy", found.policy)

    def _check_only_default(self, kind: Kind, given: Object, *, updating: bool) -> None:
        if words := priority.second_default(given, self._classes(), updating=updating):
            raise status.forbidden(kind, given["metadata"].get("name", ""), words)


# --- runtime classes ---


def _take_overhead(spec: Object, overhead: Object | None) -> str:
    """Why the pod cannot have the overhead of its class; "" if it can, and then it has."""
    given, fixed = spec.get("overhead"), (overhead or {}).get("podFixed")
    if overhead is None:
        return "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead" if given else ""
    if given and given != fixed:
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
    more = [one for one in scheduling.get("tolerations") or () if one not in (spec.get("tolerations") or ())]
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
