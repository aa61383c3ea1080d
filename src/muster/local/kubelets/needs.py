"""What a pod needs before its containers are started: volumes, and devices that were reserved for it."""

from __future__ import annotations

from typing import NamedTuple

from muster.local.kubelets.objects import Pod, ResourceClaim, VolumeClaim

# as long as upstream waits for volumes before it says that they are missing; devices are missed sooner
_VOLUMES_SECONDS = 123.0
_DEVICES_SECONDS = 2.0


class Lack(NamedTuple):
    """What is missing: as an event says it, and after how long."""

    reason: str
    message: str
    after_seconds: float


class Needs:
    """The claims of a cluster, and the pods that wait for them."""

    def __init__(self) -> None:
        self._volumes: dict[str, VolumeClaim] = {}
        self._devices: dict[str, ResourceClaim] = {}
        self._waiting: dict[str, dict[str, None]] = {}
        """UIDs of pods, by the key of the claim that they lack."""

    def seen(self, claim: VolumeClaim | ResourceClaim) -> list[str]:
        """Takes in a claim; UIDs of the pods that waited for it."""
        key = _key(claim)
        if isinstance(claim, VolumeClaim):
            self._volumes[key] = claim
            return list(self._waiting.pop(f"volume {key}", ()))
        self._devices[key] = claim
        return list(self._waiting.pop(f"devices {key}", ()))

    def gone(self, claim: VolumeClaim | ResourceClaim) -> None:
        known = self._volumes if isinstance(claim, VolumeClaim) else self._devices
        known.pop(_key(claim), None)

    def lack(self, pod: Pod) -> Lack | None:
        """The first thing that a pod lacks, for which it waits then; None if it has all."""
        return self._missing_volume(pod) or self._missing_devices(pod)

    def _missing_volume(self, pod: Pod) -> Lack | None:
        for volume in pod.spec.volumes:
            name = volume.claim(pod.metadata.name)
            why = self._volume_problem(pod, name) if name else ""
            if why:
                self._wait(f"volume {pod.metadata.namespace}/{name}", pod)
                words = (
                    f"Unable to attach or mount volumes: unmounted volumes=[{volume.name}], unattached volumes=[], "
                    f"failed to process volumes=[{volume.name}]: "
                    f"error processing PVC {pod.metadata.namespace}/{name}: {why}"
                )
                return Lack("FailedMount", words, _VOLUMES_SECONDS)
        return None

    def _volume_problem(self, pod: Pod, name: str) -> str:
        claim = self._volumes.get(f"{pod.metadata.namespace}/{name}")
        if claim is None:
            return f'failed to fetch PVC from API server: persistentvolumeclaims "{name}" not found'
        if claim.metadata.deletion_timestamp is not None:
            return "PVC is being deleted"
        return "" if claim.status.phase == "Bound" and claim.spec.volume_name else "PVC is not bound"

    def _missing_devices(self, pod: Pod) -> Lack | None:
        told = {one.name: one.resource_claim_name or "" for one in pod.status.resource_claim_statuses}
        for entry in pod.spec.resource_claims:
            name = entry.resource_claim_name or told.get(entry.name)
            if name == "":
                continue  # somebody has said that it needs none
            why = self._devices_problem(pod, name)
            if why:
                self._wait(f"devices {pod.metadata.namespace}/{name}", pod)
                words = f"Failed to prepare dynamic resources: prepare dynamic resources: {why}"
                return Lack("FailedPrepareDynamicResources", words, _DEVICES_SECONDS)
        return None

    def _devices_problem(self, pod: Pod, name: str | None) -> str:
        meta = pod.metadata
        if name is None:
            return f'pod "{meta.namespace}/{meta.name}": ResourceClaim not created yet'
        claim = self._devices.get(f"{meta.namespace}/{name}")
        if claim is None:
            return f'fetch ResourceClaim {name}: resourceclaims.resource.k8s.io "{name}" not found'
        if claim.status.allocation is None or not _is_reserved(claim, pod):
            return f"pod {meta.name} ({meta.uid}) is not allowed to use ResourceClaim {name} ({claim.metadata.uid})"
        return ""

    def _wait(self, key: str, pod: Pod) -> None:
        self._waiting.setdefault(key, {})[pod.metadata.uid] = None


def _key(claim: VolumeClaim | ResourceClaim) -> str:
    return f"{claim.metadata.namespace}/{claim.metadata.name}"


def _is_reserved(claim: ResourceClaim, pod: Pod) -> bool:
    """For the pod, or for its group, of which the name counts."""
    group = pod.spec.scheduling_group.pod_group_name if pod.spec.scheduling_group is not None else None
    return any(
        user.uid == pod.metadata.uid or (user.resource == "podgroups" and user.name == group)
        for user in claim.status.reserved_for
    )
