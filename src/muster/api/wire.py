"""Kubernetes objects as Muster reads them: narrow, frozen, decoded once at the edge.

Decoded JSON is a tree, so the structs opt out of the garbage collector (``gc=False``): a full
collection over 100,000 pods then takes 10 ms instead of half a second.  Nothing may store a back
reference in them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeVar

import msgspec
from msgspec.structs import force_setattr

from muster.base.errors import ObjectError
from muster.base.selectors import LabelSelector, NodeSelector, NodeSelectorTerm

Amount = str | int | float
"""A quantity as the wire spells it; numbers may come unquoted."""


class Wire(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel", omit_defaults=True):
    """What all wire structs share: camelCase outside, snake_case inside, defaults left out."""


class OwnerReference(Wire, frozen=True):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class Identity(Wire, frozen=True):
    """What tells an object from others, and its labels."""

    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] = {}


class Metadata(Identity, frozen=True):
    creation_timestamp: str = ""
    deletion_timestamp: str | None = None
    generation: int = 0
    annotations: dict[str, str] = {}
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[OwnerReference, ...] = ()

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that manages the object."""
        return next((owner for owner in self.owner_references if owner.controller), None)


class Object(Wire, frozen=True):
    """Something that an API server keeps."""

    metadata: Metadata


class Condition(Wire, frozen=True):
    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None
    observed_generation: int | None = None


# --- pods -------------------------------------------------------------------------------------


class Resources(Wire, frozen=True):
    requests: dict[str, Amount] = {}
    limits: dict[str, Amount] = {}


NO_RESOURCES = Resources()


class ContainerPort(Wire, frozen=True):
    container_port: int = 0
    host_port: int = 0
    host_ip: str = msgspec.field(default="", name="hostIP")
    protocol: str = "TCP"


class RestartRule(Wire, frozen=True):
    action: str = ""


class VolumeMount(Wire, frozen=True):
    bind_mount_options: tuple[str, ...] = ()


class Container(Wire, frozen=True):
    name: str = ""
    image: str = ""
    resources: Resources = NO_RESOURCES
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: str | None = None
    restart_policy_rules: tuple[RestartRule, ...] = ()
    volume_mounts: tuple[VolumeMount, ...] = ()


class Toleration(Wire, frozen=True):
    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


class PreferredNodes(Wire, frozen=True):
    weight: int
    preference: NodeSelectorTerm


class NodeAffinity(Wire, frozen=True):
    required: NodeSelector | None = msgspec.field(default=None, name="requiredDuringSchedulingIgnoredDuringExecution")
    preferred: tuple[PreferredNodes, ...] = msgspec.field(
        default=(), name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class Empty(Wire, frozen=True):
    """Something of which only matters that it is there: ``basic: {}``, or a rule that nobody here honours."""


class PodAffinityTerm(Wire, frozen=True):
    """The API server has merged matchLabelKeys and mismatchLabelKeys into the selector."""

    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    topology_key: str = ""


class PreferredPods(Wire, frozen=True):
    weight: int = 0
    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()


class PodAffinity(Wire, frozen=True):
    """Of podAffinity and podAntiAffinity alike."""

    required: tuple[PodAffinityTerm, ...] = msgspec.field(
        default=(), name="requiredDuringSchedulingIgnoredDuringExecution"
    )
    preferred: tuple[PreferredPods, ...] = msgspec.field(
        default=(), name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class Affinity(Wire, frozen=True):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class TopologySpread(Wire, frozen=True):
    max_skew: int = 1
    topology_key: str = ""
    when_unsatisfiable: str = "DoNotSchedule"
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str = "Honor"
    node_taints_policy: str = "Ignore"
    match_label_keys: tuple[str, ...] = ()


class ImageVolume(Wire, frozen=True):
    reference: str = ""


class ClaimVolume(Wire, frozen=True):
    claim_name: str = ""


class NumberedDisk(Wire, frozen=True):
    """Of AWS EBS, Cinder and Portworx alike."""

    volume_id: str = msgspec.field(default="", name="volumeID")


class GoogleDisk(Wire, frozen=True):
    pd_name: str = ""
    read_only: bool = False


class AzureDisk(Wire, frozen=True):
    disk_uri: str = msgspec.field(default="", name="diskURI")


class ISCSIDisk(Wire, frozen=True):
    iqn: str = ""
    read_only: bool = False


class RBDDisk(Wire, frozen=True):
    monitors: tuple[str, ...] = ()
    pool: str = ""
    image: str = ""
    read_only: bool = False


class Volume(Wire, frozen=True):
    """The sources that bind a pod to nodes, or draw it there; of all others nothing is kept."""

    name: str = ""
    persistent_volume_claim: ClaimVolume | None = None
    ephemeral: Empty | None = None
    image: ImageVolume | None = None
    aws_elastic_block_store: NumberedDisk | None = None
    gce_persistent_disk: GoogleDisk | None = None
    azure_disk: AzureDisk | None = None
    cinder: NumberedDisk | None = None
    portworx_volume: NumberedDisk | None = None
    iscsi: ISCSIDisk | None = None
    rbd: RBDDisk | None = None


class SchedulingGate(Wire, frozen=True):
    name: str


class SchedulingGroup(Wire, frozen=True):
    pod_group_name: str | None = None


class PodGroupReference(Wire, frozen=True):
    name: str = ""
    subset: str = ""


class WorkloadName(Wire, frozen=True):
    """The draft's reference."""

    name: str = ""
    pod_group: str = ""


class WorkloadReference(Wire, frozen=True):
    name: str = ""
    pod_group: str = ""
    pod_group_replica_key: str = ""


class PodClaim(Wire, frozen=True):
    """A claim that the pod names, or one that is made for it from a template: the status says which."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodSpec(Wire, frozen=True):
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    ephemeral_containers: tuple[Container, ...] = ()
    host_network: bool = False
    host_users: bool | None = None
    overhead: dict[str, Amount] = {}
    resources: Resources | None = None
    node_name: str = ""
    node_selector: dict[str, str] = {}
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    scheduler_name: str = "default-scheduler"
    priority: int | None = None
    priority_class_name: str = ""
    preemption_policy: str | None = None
    termination_grace_period_seconds: int | None = None
    scheduling_gates: tuple[SchedulingGate, ...] = ()
    scheduling_group: SchedulingGroup | None = None
    pod_group: PodGroupReference | None = None
    workload: WorkloadName | None = None
    workload_ref: WorkloadReference | None = None
    topology_spread_constraints: tuple[TopologySpread, ...] = ()
    volumes: tuple[Volume, ...] = ()
    resource_claims: tuple[PodClaim, ...] = ()


class StatusResources(Wire, frozen=True):
    requests: dict[str, Amount] = {}


class ContainerStatus(Wire, frozen=True):
    name: str = ""
    allocated_resources: dict[str, Amount] = {}
    resources: StatusResources | None = None


class PodClaimStatus(Wire, frozen=True):
    name: str = ""
    resource_claim_name: str | None = None
    """None: the entry needs no claim."""


class RequestMapping(Wire, frozen=True):
    """Which request of a claim gives a container an extended resource."""

    container_name: str
    resource_name: str
    request_name: str


class ExtendedClaimStatus(Wire, frozen=True):
    resource_claim_name: str = ""
    request_mappings: tuple[RequestMapping, ...] = ()


class PodStatus(Wire, frozen=True):
    phase: str = "Pending"
    reason: str = ""
    conditions: tuple[Condition, ...] = ()
    nominated_node_name: str = ""
    start_time: str | None = None
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    resources: StatusResources | None = None
    allocated_resources: dict[str, Amount] = {}
    resource_claim_statuses: tuple[PodClaimStatus, ...] = ()
    extended_resource_claim_status: ExtendedClaimStatus | None = None


class Pod(Object, frozen=True):
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()
    astray: str = ""
    """Why the pod is in no gang although it says that it is in one; not part of the API."""
    unsettled: bool = False
    """It is astray only while that is being looked up, which nobody need be told; not part of the API."""
    alone: bool = False
    """It is in no gang, whatever it says; not part of the API."""

    def __post_init__(self) -> None:
        # every kubelet repeats what its pods ask for, and a replica that stands by keeps all pods: 1.6 KB each
        status = self.status
        if status.container_statuses and _repeats(self.spec, status):
            force_setattr(status, "container_statuses", ())
            force_setattr(status, "resources", None)
            force_setattr(status, "allocated_resources", {})


def _repeats(spec: PodSpec, status: PodStatus) -> bool:
    """Whether the status gives the only container there is the resources that it asks for; False where more count."""
    if len(spec.containers) != 1 or len(status.container_statuses) != 1 or spec.init_containers:
        return False
    if spec.overhead or spec.resources is not None:
        return False
    there, asked = status.container_statuses[0], spec.containers[0].resources.requests
    return (
        there.allocated_resources == asked
        and (there.resources is None or there.resources.requests == asked)
        and (not status.allocated_resources or status.allocated_resources == asked)
        and (status.resources is None or status.resources.requests == asked)
    )


# --- nodes ------------------------------------------------------------------------------------


class Taint(Wire, frozen=True):
    key: str
    value: str = ""
    effect: str = "NoSchedule"


class NodeSpec(Wire, frozen=True):
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class ContainerImage(Wire, frozen=True):
    """An image on a node, by all its names."""

    names: tuple[str, ...] = ()
    size_bytes: int = 0


class NodeStatus(Wire, frozen=True):
    allocatable: dict[str, Amount] = {}
    images: tuple[ContainerImage, ...] = ()
    declared_features: tuple[str, ...] = ()
    """In the order of their names, as the API server wants them."""

    def __post_init__(self) -> None:
        # the same images are on thousands of nodes, fifty on each: 20 KB a node, or 450 bytes where they are shared
        if self.images:
            force_setattr(self, "images", tuple(map(_shared_image, self.images)))
        if self.declared_features:
            force_setattr(self, "declared_features", _shared_features(self.declared_features))


@lru_cache(maxsize=1 << 14)
def _shared_image(image: ContainerImage) -> ContainerImage:
    return image


@lru_cache(maxsize=1 << 10)
def _shared_features(features: tuple[str, ...]) -> tuple[str, ...]:
    return features


class Node(Wire, frozen=True):
    metadata: Metadata
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


# --- scheduling.k8s.io ------------------------------------------------------------------------


class GangPolicy(Wire, frozen=True):
    min_count: int


class BasicPolicy(Wire, frozen=True):
    desired_count: int | None = None


class SchedulingPolicy(Wire, frozen=True):
    basic: BasicPolicy | None = None
    gang: GangPolicy | None = None


class DisruptionMode(Wire, frozen=True):
    single: Empty | None = None
    all: Empty | None = None


class SchedulingConstraints(Wire, frozen=True):
    topology: tuple[Empty, ...] = ()


class PodGroupSpec(Wire, frozen=True):
    parent_composite_pod_group_name: str | None = None
    scheduling_policy: SchedulingPolicy = SchedulingPolicy()
    scheduling_constraints: SchedulingConstraints | None = None
    resource_claims: tuple[Empty, ...] = ()
    disruption_mode: DisruptionMode | None = None
    priority: int | None = None
    priority_class_name: str = ""
    preemption_policy: str | None = None


class PodGroupStatus(Wire, frozen=True):
    conditions: tuple[Condition, ...] = ()


class PodGroup(Object, frozen=True):
    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()
    dialect: str = ""
    """Name of the one that declared it, where that is another; not part of the API."""
    asks: tuple[str, ...] = ()
    """Fields of the object that declared it which ask for what a PodGroup has no field for; not part of the API."""
    remark: str = ""
    """What whoever declared it should know, where no object says it; not part of the API."""


class PriorityClass(Wire, frozen=True):
    metadata: Metadata
    value: int = 0
    global_default: bool = False
    preemption_policy: str | None = None


# --- policy -----------------------------------------------------------------------------------


class BudgetSpec(Wire, frozen=True):
    selector: LabelSelector | None = None
    """None selects no pod, an empty one all of the namespace."""


class BudgetStatus(Wire, frozen=True):
    disruptions_allowed: int = 0
    disrupted_pods: dict[str, str] = {}
    """Pods that were evicted and are not gone yet, by name: they are counted already."""


class PodDisruptionBudget(Wire, frozen=True):
    metadata: Metadata
    spec: BudgetSpec = BudgetSpec()
    status: BudgetStatus = BudgetStatus()


# --- what plugins read besides (see kinds.py) -------------------------------------------------


class Fact(Wire, frozen=True, tag_field="kind"):
    """An object of a kind that some plugin reads; journals tell one kind from another by its name."""

    metadata: Identity


class Namespace(Fact, frozen=True, tag="Namespace"):
    pass


class LabelsToHave(Wire, frozen=True):
    selector: dict[str, str] | None = None
    """None selects no pod."""


class LabelsToMatch(Wire, frozen=True):
    selector: LabelSelector | None = None


class Service(Fact, frozen=True, tag="Service"):
    spec: LabelsToHave = LabelsToHave()


class ReplicationController(Fact, frozen=True, tag="ReplicationController"):
    spec: LabelsToHave = LabelsToHave()


class ReplicaSet(Fact, frozen=True, tag="ReplicaSet"):
    spec: LabelsToMatch = LabelsToMatch()


class StatefulSet(Fact, frozen=True, tag="StatefulSet"):
    spec: LabelsToMatch = LabelsToMatch()


_Object = TypeVar("_Object", bound=Wire)


def read(kind: type[_Object], data: bytes | dict[str, Any]) -> _Object:
    """One object of `kind` from its JSON or from what a YAML parser gave; ObjectError says what is off."""
    try:
        if isinstance(data, bytes):
            return msgspec.json.decode(data, type=kind)
        return msgspec.convert(data, type=kind)
    except msgspec.ValidationError as error:
        raise ObjectError(f"{kind.__name__} cannot be read: {error}") from error
    except msgspec.DecodeError as error:
        raise ObjectError(f"{kind.__name__} is not JSON: {error}") from error
    except RecursionError as error:
        raise ObjectError(f"{kind.__name__} is nested too deeply") from error


def condition(conditions: tuple[Condition, ...], kind: str) -> Condition | None:
    """The condition of type `kind`, if there is one."""
    for found in conditions:
        if found.type == kind:
            return found
    return None
