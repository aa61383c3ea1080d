"""What Kubernetes' admission plugins do to objects, as far as they are on by default and have something to do here.

NamespaceLifecycle, RuntimeClass, Priority, DefaultTolerationSeconds, PodGroupProtection
"""

from __future__ import annotations

import msgspec

from muster.local import status
from muster.local.kinds import priority
from muster.local.kinds.kind import Kind
from muster.local.registry import Served
from muster.local.schema.shapes import Object
from muster.local.store import Store

_decode = msgspec.json.Decoder().decode

NAMESPACES = "namespaces"
CLASSES = "priorityclasses.scheduling.k8s.io"
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
            _check_runtime(kind, given)
            self._resolve_priority(kind, given)
            _tolerate(given["spec"])
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


def _check_runtime(kind: Kind, pod: Object) -> None:
    """There are no RuntimeClasses here, so none that would have an overhead."""
    spec, why = pod["spec"], ""
    if name := spec.get("runtimeClassName"):
        why = f'RuntimeClass "{name}" not found'
    elif spec.get("overhead"):
        why = "Pod Overhead set without corresponding RuntimeClass defined Overhead"
    if why:
        raise status.forbidden(kind, pod["metadata"].get("name", ""), f"pod rejected: {why}")


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
