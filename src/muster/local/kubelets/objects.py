"""Pods and nodes as kubelets read them."""

from __future__ import annotations

import msgspec

from muster.api import wire
from muster.api.wire import Wire


class Metadata(wire.Metadata, frozen=True):
    deletion_grace_period_seconds: int | None = None


# --- pods ---


class Running(Wire, frozen=True):
    started_at: str | None = None


class Terminated(Wire, frozen=True):
    exit_code: int = 0
    reason: str = ""
    started_at: str | None = None
    finished_at: str | None = None
    container_id: str = msgspec.field(default="", name="containerID")


class Waiting(Wire, frozen=True):
    reason: str = ""
    message: str = ""


class State(Wire, frozen=True):
    running: Running | None = None
    terminated: Terminated | None = None
    waiting: Waiting | None = None


class ContainerStatus(wire.ContainerStatus, frozen=True):
    restart_count: int = 0
    state: State = State()
    last_state: State = State()


class PodVolume(wire.Volume, frozen=True):
    def claim(self, pod: str) -> str:
        """The name of its claim, in a pod of this name; "" if it needs none."""
        if self.persistent_volume_claim is not None:
            return self.persistent_volume_claim.claim_name
        return "" if self.ephemeral is None else f"{pod}-{self.name}"


class PodSpec(wire.PodSpec, frozen=True):
    restart_policy: str = "Always"
    active_deadline_seconds: int | None = None
    volumes: tuple[PodVolume, ...] = ()


class PodStatus(wire.PodStatus, frozen=True):
    pod_ip: str = msgspec.field(default="", name="podIP")
    container_statuses: tuple[ContainerStatus, ...] = ()


class Pod(Wire, frozen=True):
    metadata: Metadata
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


# --- nodes ---


class Address(Wire, frozen=True):
    type: str = ""
    address: str = ""


class NodeStatus(wire.NodeStatus, frozen=True):
    conditions: tuple[wire.Condition, ...] = ()
    addresses: tuple[Address, ...] = ()


class Node(Wire, frozen=True):
    metadata: Metadata
    spec: wire.NodeSpec = wire.NodeSpec()
    status: NodeStatus = NodeStatus()


# --- what pods need besides ---


class VolumeClaimSpec(Wire, frozen=True):
    volume_name: str = ""


class VolumeClaimStatus(Wire, frozen=True):
    phase: str = ""


class VolumeClaim(Wire, frozen=True):
    metadata: Metadata
    spec: VolumeClaimSpec = VolumeClaimSpec()
    status: VolumeClaimStatus = VolumeClaimStatus()


class User(Wire, frozen=True):
    resource: str = ""
    name: str = ""
    uid: str = ""


class ResourceClaimStatus(Wire, frozen=True):
    allocation: wire.Empty | None = None
    reserved_for: tuple[User, ...] = ()


class ResourceClaim(Wire, frozen=True):
    metadata: Metadata
    status: ResourceClaimStatus = ResourceClaimStatus()
