"""Which claims a pod has, how each stands, and whether one of them holds the pod back, whatever nodes there are."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from muster.api.volumes import BIND_COMPLETED, WAIT_FOR_FIRST_CONSUMER, PersistentVolumeClaim
from muster.api.wire import Pod
from muster.volumes.storage import Storage, class_of

__all__ = [
    "BOUND",
    "DELAYED",
    "IMMEDIATE",
    "NamedClaim",
    "Problem",
    "binding_problem",
    "missing_claim",
    "named_claims",
    "problem",
    "standing",
    "zone_problem",
]

BOUND, IMMEDIATE, DELAYED = "bound", "immediate", "delayed"
"""It has its volume; the volume controller must find it one; whoever places the pod chooses."""

_LOST = "Lost"


class NamedClaim(msgspec.Struct, frozen=True, gc=False):
    """A claim that a pod names, or that is made for one of its volumes."""

    namespace: str
    name: str
    ephemeral: bool = False
    """Made for the pod, to go with it."""

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


class Problem(msgspec.Struct, frozen=True, gc=False):
    """Why no node will do before something happens to a claim; in kube-scheduler's words."""

    plugin: str
    text: str
    is_error: bool = False
    """kube-scheduler tries again after a while, and not when something happens."""


def named_claims(pod: Pod) -> tuple[NamedClaim, ...]:
    """In the order of the pod's volumes; one that two of them name comes once."""
    found: dict[NamedClaim, None] = {}
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            found[NamedClaim(pod.metadata.namespace, volume.persistent_volume_claim.claim_name)] = None
        elif volume.ephemeral is not None:
            found[NamedClaim(pod.metadata.namespace, f"{pod.metadata.name}-{volume.name}", True)] = None
    return tuple(found)


def standing(claim: PersistentVolumeClaim, storage: Storage) -> str:
    """BOUND, IMMEDIATE or DELAYED."""
    if claim.spec.volume_name:
        # one that names its volume, but is not in its books yet, waits for the volume controller
        return BOUND if BIND_COMPLETED in claim.metadata.annotations else IMMEDIATE
    found = storage.classes.get(class_of(claim))
    waits = found is not None and found.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER
    return DELAYED if waits else IMMEDIATE


def problem(pod: Pod, storage: Storage) -> Problem | None:
    """The first that kube-scheduler's plugins find, in their order."""
    return missing_claim(pod, storage) or binding_problem(pod, storage) or zone_problem(pod, storage)


def missing_claim(pod: Pod, storage: Storage) -> Problem | None:
    """VolumeRestrictions': a claim by name that does not exist."""
    for named in named_claims(pod):
        if not named.ephemeral and named.key not in storage.claims:
            return Problem("VolumeRestrictions", _no_claim(named))
    return None


def binding_problem(pod: Pod, storage: Storage) -> Problem | None:
    """VolumeBinding's."""
    named = named_claims(pod)
    for each in named:
        if text := _unusable(pod, each, storage.claims.get(each.key)):
            return Problem("VolumeBinding", text)
    if text := next(_modeless(named, storage), ""):
        return Problem("VolumeBinding", text, is_error=True)
    if any(standing(storage.claims[each.key], storage) == IMMEDIATE for each in named):
        return Problem("VolumeBinding", "pod has unbound immediate PersistentVolumeClaims")
    return None


def zone_problem(pod: Pod, storage: Storage) -> Problem | None:
    """VolumeZone's, which looks at claims by name only."""
    for named in named_claims(pod):
        if not named.ephemeral and (text := _nowhere(named, storage)):
            return Problem("VolumeZone", text)
    return None


# --- words ---


def _no_claim(named: NamedClaim) -> str:
    return f'persistentvolumeclaim "{named.name}" not found'


def _unusable(pod: Pod, named: NamedClaim, claim: PersistentVolumeClaim | None) -> str:
    if claim is None:
        waits = f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{named.name}"'
        return waits if named.ephemeral else _no_claim(named)
    if claim.status.phase == _LOST:
        lost = claim.spec.volume_name
        return f'persistentvolumeclaim "{named.name}" bound to non-existent persistentvolume "{lost}"'
    if claim.metadata.deletion_timestamp is not None:
        return f'persistentvolumeclaim "{named.name}" is being deleted'
    if named.ephemeral and not is_made_for(pod, claim):
        here = f"{pod.metadata.namespace}/{pod.metadata.name}"
        return f"PVC {named.key} was not created for pod {here} (pod is not owner)"
    return ""


def is_made_for(pod: Pod, claim: PersistentVolumeClaim) -> bool:
    owner = claim.metadata.controller
    return owner is not None and owner.uid == pod.metadata.uid


def _modeless(named: tuple[NamedClaim, ...], storage: Storage) -> Iterator[str]:
    for each in named:
        claim = storage.claims[each.key]
        is_bound = claim.spec.volume_name and BIND_COMPLETED in claim.metadata.annotations
        found = storage.classes.get(class_of(claim))
        if not is_bound and found is not None and found.volume_binding_mode is None:
            yield _no_mode(class_of(claim))


def _no_mode(name: str) -> str:
    return f'VolumeBindingMode not set for StorageClass "{name}"'


def _nowhere(named: NamedClaim, storage: Storage) -> str:
    if not named.name:
        return "PersistentVolumeClaim had no name"
    claim = storage.claims.get(named.key)
    if claim is None:
        return _no_claim(named)
    if claim.spec.volume_name:
        name = claim.spec.volume_name
        return "" if storage.volumes.get(name) is not None else f'persistentvolume "{name}" not found'
    name = class_of(claim)
    if not name:
        return "PersistentVolumeClaim had no pv name and storageClass name"
    found = storage.classes.get(name)
    if found is None:
        return f'storageclass.storage.k8s.io "{name}" not found'
    if found.volume_binding_mode is None:
        return _no_mode(name)
    return "" if found.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER else "PersistentVolume had no name"
