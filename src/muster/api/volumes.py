"""Storage as Kubernetes describes it, only the fields that decide where pods may go.

A claim (PersistentVolumeClaim) is what a pod names; a volume (PersistentVolume) is what it gets.
"""

from __future__ import annotations

from muster.api.wire import (
    Amount,
    AzureDisk,
    Fact,
    GoogleDisk,
    Metadata,
    NumberedDisk,
    Wire,
)
from muster.base.selectors import LabelSelector, NodeSelector

SELECTED_NODE = "volume.kubernetes.io/selected-node"
"""On a claim: where its volume is to be made."""
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
"""On a claim: claim and volume know each other."""
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
"""On a volume: not its user chose the claim, so it may be given back."""
BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
MIGRATED_PLUGINS = "storage.alpha.kubernetes.io/migrated-plugins"

READ_WRITE_ONCE_POD = "ReadWriteOncePod"
WAIT_FOR_FIRST_CONSUMER = "WaitForFirstConsumer"
NO_PROVISIONER = "kubernetes.io/no-provisioner"


class Placed(Fact, frozen=True):
    """What has annotations and owners beside its labels."""

    metadata: Metadata


# --- volumes ----------------------------------------------------------------------------------


class ClaimReference(Wire, frozen=True):
    namespace: str = ""
    name: str = ""
    uid: str = ""


class VolumeNodeAffinity(Wire, frozen=True):
    required: NodeSelector | None = None


class CSISource(Wire, frozen=True):
    driver: str = ""
    volume_handle: str = ""


class Size(Wire, frozen=True):
    """Of a list of resources the one that claims and volumes have."""

    storage: Amount | None = None


class VolumeSpec(Wire, frozen=True):
    capacity: Size = Size()
    access_modes: tuple[str, ...] = ()
    storage_class_name: str = ""
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None
    claim_ref: ClaimReference | None = None
    node_affinity: VolumeNodeAffinity | None = None
    csi: CSISource | None = None
    aws_elastic_block_store: NumberedDisk | None = None
    gce_persistent_disk: GoogleDisk | None = None
    azure_disk: AzureDisk | None = None
    cinder: NumberedDisk | None = None
    portworx_volume: NumberedDisk | None = None


class VolumeStatus(Wire, frozen=True):
    phase: str = ""


class PersistentVolume(Placed, frozen=True, tag="PersistentVolume"):
    spec: VolumeSpec = VolumeSpec()
    status: VolumeStatus = VolumeStatus()


# --- claims -----------------------------------------------------------------------------------


class ClaimResources(Wire, frozen=True):
    requests: Size = Size()


class ClaimSpec(Wire, frozen=True):
    access_modes: tuple[str, ...] = ()
    selector: LabelSelector | None = None
    resources: ClaimResources = ClaimResources()
    volume_name: str = ""
    storage_class_name: str | None = None
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None


class ClaimStatus(Wire, frozen=True):
    phase: str = ""


class PersistentVolumeClaim(Placed, frozen=True, tag="PersistentVolumeClaim"):
    spec: ClaimSpec = ClaimSpec()
    status: ClaimStatus = ClaimStatus()


# --- classes and drivers ----------------------------------------------------------------------


class TopologyRequirement(Wire, frozen=True):
    key: str = ""
    values: tuple[str, ...] = ()


class TopologyTerm(Wire, frozen=True):
    """All of it must hold; an empty one never does."""

    match_label_expressions: tuple[TopologyRequirement, ...] = ()


class StorageClass(Fact, frozen=True, tag="StorageClass"):
    provisioner: str = ""
    volume_binding_mode: str | None = None
    allowed_topologies: tuple[TopologyTerm, ...] = ()
    """One must hold; without any all nodes will do."""


class DriverSpec(Wire, frozen=True):
    storage_capacity: bool | None = None
    prevent_pod_scheduling_if_missing: bool | None = None


class CSIDriver(Fact, frozen=True, tag="CSIDriver"):
    spec: DriverSpec = DriverSpec()


class Allocatable(Wire, frozen=True):
    count: int | None = None


class NodeDriver(Wire, frozen=True):
    name: str = ""
    allocatable: Allocatable | None = None


class CSINodeSpec(Wire, frozen=True):
    drivers: tuple[NodeDriver, ...] = ()


class CSINode(Placed, frozen=True, tag="CSINode"):
    """Bears the name of its node."""

    spec: CSINodeSpec = CSINodeSpec()


class CSIStorageCapacity(Fact, frozen=True, tag="CSIStorageCapacity"):
    """How much storage of a class some nodes can reach."""

    storage_class_name: str = ""
    node_topology: LabelSelector | None = None
    """None is no node."""
    capacity: Amount | None = None
    maximum_volume_size: Amount | None = None


# --- attachments ------------------------------------------------------------------------------


class AttachmentSource(Wire, frozen=True):
    persistent_volume_name: str | None = None


class AttachmentSpec(Wire, frozen=True):
    attacher: str = ""
    node_name: str = ""
    source: AttachmentSource = AttachmentSource()


class VolumeAttachment(Fact, frozen=True, tag="VolumeAttachment"):
    spec: AttachmentSpec = AttachmentSpec()
