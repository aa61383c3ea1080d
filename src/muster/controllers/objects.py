"""Objects as controllers read them, and where they are served."""

from __future__ import annotations

from typing import Any

import msgspec

from muster.api import wire
from muster.api.calls import Say
from muster.api.resources import Resource
from muster.api.wire import Condition, Wire

JOBS = Resource("batch", "v1", "jobs", "Job")
SERVICE_ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")
WORKLOADS = Resource("scheduling.k8s.io", "v1beta1", "workloads", "Workload")
POD_GROUPS = Resource("scheduling.k8s.io", "v1beta1", "podgroups", "PodGroup")


class OwnerReference(wire.OwnerReference, frozen=True):
    block_owner_deletion: bool | None = None


class Metadata(wire.Metadata, frozen=True):
    deletion_grace_period_seconds: int | None = None
    owner_references: tuple[OwnerReference, ...] = ()

    @property
    def key(self) -> str:
        """namespace/name, or the name of an object without a namespace."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def controller(self) -> OwnerReference | None:
        return next((owner for owner in self.owner_references if owner.controller), None)


class Bare(Wire, frozen=True):
    """Any object: what all of them have."""

    metadata: Metadata


# --- pods ---


class Terminated(Wire, frozen=True):
    exit_code: int = 0
    finished_at: str | None = None


class State(Wire, frozen=True):
    terminated: Terminated | None = None


class ContainerStatus(Wire, frozen=True):
    name: str = ""
    restart_count: int = 0
    state: State = State()


class Container(Wire, frozen=True):
    name: str = ""
    restart_policy: str | None = None


class Toleration(wire.Toleration, frozen=True):
    toleration_seconds: int | None = None


class ClaimVolume(Wire, frozen=True):
    claim_name: str = ""


class EphemeralVolume(Wire, frozen=True):
    volume_claim_template: dict[str, Any] = msgspec.field(default_factory=dict)


class PodVolume(Wire, frozen=True):
    name: str = ""
    persistent_volume_claim: ClaimVolume | None = None
    ephemeral: EphemeralVolume | None = None

    def claim(self, pod: str) -> str:
        """The name of its claim, in a pod of this name; "" if it needs none."""
        if self.persistent_volume_claim is not None:
            return self.persistent_volume_claim.claim_name
        return "" if self.ephemeral is None else f"{pod}-{self.name}"


class DeviceClaim(Wire, frozen=True):
    """What a pod, or a group, says of a claim for devices."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class DeviceClaimStatus(Wire, frozen=True):
    name: str = ""
    resource_claim_name: str | None = None


class PodSpec(Wire, frozen=True):
    node_name: str = ""
    volumes: tuple[PodVolume, ...] = ()
    resource_claims: tuple[DeviceClaim, ...] = ()
    init_containers: tuple[Container, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    scheduling_group: wire.SchedulingGroup | None = None


class PodStatus(Wire, frozen=True):
    phase: str = "Pending"
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    resource_claim_statuses: tuple[DeviceClaimStatus, ...] = ()


class Pod(Wire, frozen=True):
    metadata: Metadata
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def is_over(self) -> bool:
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def is_ready(self) -> bool:
        return any(one.type == "Ready" and one.status == "True" for one in self.status.conditions)


# --- scheduling.k8s.io ---


class WorkloadSpec(Wire, frozen=True):
    controller_ref: dict[str, str] | None = None
    pod_group_templates: tuple[dict[str, Any], ...] = ()


class Workload(Wire, frozen=True):
    metadata: Metadata
    spec: WorkloadSpec = WorkloadSpec()


class WorkloadReference(Wire, frozen=True):
    workload_name: str = ""
    template_name: str = ""


class PodGroupSpec(Wire, frozen=True):
    workload_ref: WorkloadReference | None = None
    scheduling_policy: wire.SchedulingPolicy = wire.SchedulingPolicy()
    resource_claims: tuple[DeviceClaim, ...] = ()


class PodGroupStatus(Wire, frozen=True):
    resource_claim_statuses: tuple[DeviceClaimStatus, ...] = ()


class PodGroup(Wire, frozen=True):
    metadata: Metadata
    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()


# --- nodes ---


class Taint(wire.Taint, frozen=True):
    time_added: str | None = None


class NodeCondition(Condition, frozen=True):
    last_heartbeat_time: str | None = None


class NodeSpec(Wire, frozen=True):
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class NodeStatus(Wire, frozen=True):
    conditions: tuple[NodeCondition, ...] = ()


class Node(Wire, frozen=True):
    metadata: Metadata
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class LeaseSpec(Wire, frozen=True):
    renew_time: str | None = None


class Lease(Wire, frozen=True):
    metadata: Metadata
    spec: LeaseSpec = LeaseSpec()


# --- namespaces ---


class NamespaceSpec(Wire, frozen=True):
    finalizers: tuple[str, ...] = ()


class NamespaceStatus(Wire, frozen=True):
    phase: str = ""
    conditions: tuple[Condition, ...] = ()


class Namespace(Wire, frozen=True):
    metadata: Metadata
    spec: NamespaceSpec = NamespaceSpec()
    status: NamespaceStatus = NamespaceStatus()


def read(kind: type[msgspec.Struct], data: bytes) -> Any:
    """An object from the answer to a call; None if the answer is something else, such as a Status."""
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.DecodeError:
        return None


def event(
    component: str, resource: Resource, meta: wire.Metadata, *, reason: str, message: str, warning: bool = False
) -> Say:
    """What a controller says of an object."""
    return Say(
        component=component,
        api_version=resource.api_version,
        kind=resource.kind,
        name=meta.name,
        namespace=meta.namespace,
        uid=meta.uid,
        reason=reason,
        message=message,
        warning=warning,
    )
