"""Volumes, claims for them and their classes, as controllers read them; and what their annotations mean."""

from __future__ import annotations

from typing import Any

import msgspec

from muster.api.calls import Document, Patch
from muster.api.resources import Resource
from muster.api.wire import Amount, Wire
from muster.base.quantity import nanos
from muster.base.selectors import LabelSelector, NodeSelector, Requirement
from muster.controllers.objects import Metadata

CLAIMS = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
VOLUMES = Resource("", "v1", "persistentvolumes", "PersistentVolume", namespaced=False)
STORAGE_CLASSES = Resource("storage.k8s.io", "v1", "storageclasses", "StorageClass", namespaced=False)

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
PROVISIONER = "volume.kubernetes.io/storage-provisioner"
BETA_PROVISIONER = "volume.beta.kubernetes.io/storage-provisioner"
_BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
_DEFAULT_CLASS = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)


class Reference(Wire, frozen=True):
    """To the claim that a volume is kept for."""

    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


class Resources(Wire, frozen=True):
    requests: dict[str, Amount] = msgspec.field(default_factory=dict)


class ClaimSpec(Wire, frozen=True):
    access_modes: tuple[str, ...] = ()
    selector: LabelSelector | None = None
    resources: Resources = Resources()
    volume_name: str = ""
    storage_class_name: str | None = None
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None


class ClaimStatus(Wire, frozen=True):
    phase: str = ""
    access_modes: tuple[str, ...] = ()
    capacity: dict[str, Amount] = msgspec.field(default_factory=dict)


class Claim(Wire, frozen=True):
    metadata: Metadata
    spec: ClaimSpec = ClaimSpec()
    status: ClaimStatus = ClaimStatus()

    @property
    def class_name(self) -> str:
        return self.metadata.annotations.get(_BETA_CLASS, self.spec.storage_class_name or "")

    @property
    def names_class(self) -> bool:
        """Whether it says of which class it is, be it of none."""
        return _BETA_CLASS in self.metadata.annotations or self.spec.storage_class_name is not None

    @property
    def size(self) -> int:
        """In billionths, as all sizes here."""
        return nanos(self.spec.resources.requests.get("storage", 0))

    @property
    def selected_node(self) -> str:
        """The node that the scheduler has chosen; "" if it has not."""
        return self.metadata.annotations.get(SELECTED_NODE, "")


class Affinity(Wire, frozen=True):
    required: NodeSelector | None = None


class VolumeSpec(Wire, frozen=True):
    access_modes: tuple[str, ...] = ()
    capacity: dict[str, Amount] = msgspec.field(default_factory=dict)
    claim_ref: Reference | None = None
    storage_class_name: str = ""
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None
    persistent_volume_reclaim_policy: str = ""
    node_affinity: Affinity | None = None
    csi: dict[str, Any] | None = None


class VolumeStatus(Wire, frozen=True):
    phase: str = ""
    message: str = ""


class Volume(Wire, frozen=True):
    metadata: Metadata
    spec: VolumeSpec = VolumeSpec()
    status: VolumeStatus = VolumeStatus()

    @property
    def class_name(self) -> str:
        return self.metadata.annotations.get(_BETA_CLASS, self.spec.storage_class_name)

    @property
    def size(self) -> int:
        return nanos(self.spec.capacity.get("storage", 0))

    def is_for(self, claim: Claim) -> bool:
        """Whether it is kept for this claim, of which it may know the name only."""
        ref, meta = self.spec.claim_ref, claim.metadata
        return ref is not None and ref.key == meta.key and ref.uid in ("", meta.uid)


class Topology(Wire, frozen=True):
    """One way in which a class's volumes may be placed."""

    match_label_expressions: tuple[dict[str, Any], ...] = ()


class StorageClass(Wire, frozen=True):
    metadata: Metadata
    provisioner: str = ""
    parameters: dict[str, str] = msgspec.field(default_factory=dict)
    reclaim_policy: str = "Delete"
    volume_binding_mode: str = "Immediate"
    mount_options: tuple[str, ...] = ()
    allowed_topologies: tuple[Topology, ...] = ()

    @property
    def is_default(self) -> bool:
        return any(self.metadata.annotations.get(name) == "true" for name in _DEFAULT_CLASS)

    @property
    def is_delayed(self) -> bool:
        """Its claims wait for a pod."""
        return self.volume_binding_mode == "WaitForFirstConsumer"


def allows(topology: Topology, labels: dict[str, str]) -> bool:
    """Whether a node with these labels is one of those that a class allows; a topology of nothing allows none."""
    terms = [
        Requirement(key=str(one.get("key", "")), operator="In", values=tuple(one.get("values") or ()))
        for one in topology.match_label_expressions
    ]
    return bool(terms) and all(term.matches(labels) for term in terms)


def default_class(classes: dict[str, StorageClass]) -> StorageClass | None:
    """Of several the newest, of those of one second the first by name."""
    found = sorted((one for one in classes.values() if one.is_default), key=lambda one: one.metadata.name)
    return max(found, key=lambda one: one.metadata.creation_timestamp, default=None)


def same_mode(claim: Claim, volume: Volume) -> bool:
    return (claim.spec.volume_mode or "Filesystem") == (volume.spec.volume_mode or "Filesystem")


def same_attributes(claim: Claim, volume: Volume) -> bool:
    return (claim.spec.volume_attributes_class_name or "") == (volume.spec.volume_attributes_class_name or "")


def reference(claim: Claim) -> Document:
    """To a claim, as a volume carries it."""
    meta = claim.metadata
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": meta.namespace,
        "name": meta.name,
        "uid": meta.uid,
        "resourceVersion": meta.resource_version,
    }


def change(resource: Resource, thing: Claim | Volume, body: Document, *, subresource: str = "") -> Patch:
    """Changes the version of an object that was seen last, and no other."""
    meta = thing.metadata
    known = {"uid": meta.uid, "resourceVersion": meta.resource_version}
    path = resource.path(meta.namespace, meta.name, subresource)
    return Patch(path=path, body={**body, "metadata": {**body.get("metadata", {}), **known}})
