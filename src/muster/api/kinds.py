"""The kinds that plugins may read, beside nodes, pods, groups and budgets: one row each, and nothing else per kind.

A plugin names those that it reads (framework/contract.py).  From its row here a kind is then watched, handed from one
replica to the next, journaled, replayed, simulated and kept (cluster/facts.py), and the right to read it is asked for.
A new kind is a row, a struct in wire.py or volumes.py with the fields that are read, and its rule in
deploy/base/rbac.yaml.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar, Union

from muster.api import resources
from muster.api.devices import DeviceClass, DeviceTaintRule, ResourceClaim, ResourceSlice
from muster.api.resources import Resource
from muster.api.volumes import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from muster.api.wire import (
    Fact,
    Identity,
    Namespace,
    OwnerReference,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
)

_Fact_co = TypeVar("_Fact_co", bound=Fact, covariant=True)


class Kind(Generic[_Fact_co]):
    """One kind; equal only to itself."""

    __slots__ = ("granted", "purpose", "resource", "struct")

    def __init__(
        self, resource: Resource, struct: type[_Fact_co], *, purpose: str, granted: tuple[str, ...] = ()
    ) -> None:
        self.resource = resource
        self.struct = struct
        self.purpose = purpose
        """What cannot be done by who may not read it."""
        self.granted = granted
        """Where what pods are granted is written: to these subresources, or "" for the object itself."""

    @property
    def name(self) -> str:
        """As `kubectl` takes it: replicasets.apps."""
        return self.resource.name

    def key(self, meta: Identity) -> str:
        """namespace/name, or the name of an object without a namespace."""
        return f"{meta.namespace}/{meta.name}" if self.resource.namespaced else meta.name


_SPREADS = "spread the pods of a {} that do not say how"

NAMESPACES: Final = Kind(
    resources.NAMESPACES, Namespace, purpose="follow rules that choose pods by the labels of their namespaces"
)
SERVICES: Final = Kind(Resource("", "v1", "services", "Service"), Service, purpose=_SPREADS.format("Service"))
REPLICATION_CONTROLLERS: Final = Kind(
    Resource("", "v1", "replicationcontrollers", "ReplicationController"),
    ReplicationController,
    purpose=_SPREADS.format("ReplicationController"),
)
REPLICA_SETS: Final = Kind(
    Resource("apps", "v1", "replicasets", "ReplicaSet"), ReplicaSet, purpose=_SPREADS.format("ReplicaSet")
)
STATEFUL_SETS: Final = Kind(
    Resource("apps", "v1", "statefulsets", "StatefulSet"), StatefulSet, purpose=_SPREADS.format("StatefulSet")
)

_VOLUMES: Final = "storage.k8s.io"
_PLACES: Final = "place pods that claim volumes"

CLAIMS: Final = Kind(
    Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim"),
    PersistentVolumeClaim,
    purpose=_PLACES,
    granted=("",),
)
VOLUMES: Final = Kind(
    Resource("", "v1", "persistentvolumes", "PersistentVolume", namespaced=False),
    PersistentVolume,
    purpose=_PLACES,
    granted=("",),
)
STORAGE_CLASSES: Final = Kind(
    Resource(_VOLUMES, "v1", "storageclasses", "StorageClass", namespaced=False), StorageClass, purpose=_PLACES
)
CSI_NODES: Final = Kind(
    Resource(_VOLUMES, "v1", "csinodes", "CSINode", namespaced=False),
    CSINode,
    purpose="attach no more volumes to a node than it takes",
)
CSI_DRIVERS: Final = Kind(
    Resource(_VOLUMES, "v1", "csidrivers", "CSIDriver", namespaced=False),
    CSIDriver,
    purpose="have volumes made only where their drivers are and say that there is storage",
)
STORAGE_CAPACITIES: Final = Kind(
    Resource(_VOLUMES, "v1", "csistoragecapacities", "CSIStorageCapacity"),
    CSIStorageCapacity,
    purpose="have volumes made only where there is storage",
)
ATTACHMENTS: Final = Kind(
    Resource(_VOLUMES, "v1", "volumeattachments", "VolumeAttachment", namespaced=False),
    VolumeAttachment,
    purpose="count volumes that are attached to a node though no pod there uses them",
)

_DEVICES: Final = "resource.k8s.io"
RESOURCE_CLAIMS: Final = Kind(
    Resource(_DEVICES, "v1", "resourceclaims", "ResourceClaim"),
    ResourceClaim,
    purpose="place pods that claim devices",
    # the last is no path: who changes the allocation in the status is asked for it
    granted=("", "status", "binding"),
)
RESOURCE_SLICES: Final = Kind(
    Resource(_DEVICES, "v1", "resourceslices", "ResourceSlice", namespaced=False),
    ResourceSlice,
    purpose="know which devices nodes have",
)
DEVICE_CLASSES: Final = Kind(
    Resource(_DEVICES, "v1", "deviceclasses", "DeviceClass", namespaced=False),
    DeviceClass,
    purpose="know what the classes of devices are that pods ask for",
)
DEVICE_TAINT_RULES: Final = Kind(
    Resource(_DEVICES, "v1", "devicetaintrules", "DeviceTaintRule", namespaced=False),
    DeviceTaintRule,
    purpose="keep pods from devices that a rule taints",
)

_ROWS: tuple[Kind[Fact], ...] = (
    NAMESPACES,
    SERVICES,
    REPLICATION_CONTROLLERS,
    REPLICA_SETS,
    STATEFUL_SETS,
    CLAIMS,
    VOLUMES,
    STORAGE_CLASSES,
    CSI_NODES,
    CSI_DRIVERS,
    STORAGE_CAPACITIES,
    ATTACHMENTS,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    DEVICE_CLASSES,
    DEVICE_TAINT_RULES,
)

KINDS: Final[Mapping[str, Kind[Fact]]] = {kind.name: kind for kind in _ROWS}
"""By name."""

_BY_STRUCT: Final[Mapping[type[Fact], Kind[Fact]]] = {kind.struct: kind for kind in _ROWS}
_BY_OWNER: Final = {(kind.resource.api_version, kind.resource.kind): kind for kind in _ROWS}

if TYPE_CHECKING:
    AnyFact = Fact
else:
    # by it journals are read: a row is all that there is to write
    AnyFact = Union[tuple(_BY_STRUCT)]  # noqa: UP007


class Address(NamedTuple):
    """Where an object of one of the kinds is found."""

    kind: str
    key: str


def kind_of(fact: Fact) -> Kind[Fact]:
    return _BY_STRUCT[type(fact)]


def address_of(fact: Fact) -> Address:
    kind = kind_of(fact)
    return Address(kind.name, kind.key(fact.metadata))


# pods of one owner share its address
@lru_cache(maxsize=16_384)
def _address(kind: Kind[Fact], namespace: str, name: str) -> Address:
    return Address(kind.name, kind.key(Identity(name=name, namespace=namespace)))


def owner_of(namespace: str, owners: tuple[OwnerReference, ...]) -> Address | None:
    """The controller among the owners of an object in this namespace, if it is of one of the kinds."""
    for owner in owners:
        if owner.controller:
            kind = _BY_OWNER.get((owner.api_version, owner.kind))
            return None if kind is None else _address(kind, namespace, owner.name)
    return None
