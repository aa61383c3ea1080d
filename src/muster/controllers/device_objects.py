"""Claims for devices, their templates, slices and classes, as controllers read them."""

from __future__ import annotations

import msgspec

from muster.api.calls import Document, Patch
from muster.api.resources import Resource
from muster.api.wire import Wire
from muster.controllers.objects import DeviceClaimStatus, Metadata, Pod

RESOURCE_CLAIMS = Resource("resource.k8s.io", "v1", "resourceclaims", "ResourceClaim")
RESOURCE_SLICES = Resource("resource.k8s.io", "v1", "resourceslices", "ResourceSlice", namespaced=False)
DEVICE_CLASSES = Resource("resource.k8s.io", "v1", "deviceclasses", "DeviceClass", namespaced=False)
CLAIM_TEMPLATES = Resource("resource.k8s.io", "v1", "resourceclaimtemplates", "ResourceClaimTemplate")
FINALIZER = "resource.kubernetes.io/delete-protection"
MADE_FOR = "resource.kubernetes.io/pod-claim-name"
"""On a claim: the name of the entry that it was made for."""

_LONGEST_BASE = 57


class User(Wire, frozen=True):
    """Whom a claim is reserved for."""

    api_group: str = ""
    resource: str = ""
    name: str = ""
    uid: str = ""


class ResourceClaimStatus(Wire, frozen=True):
    allocation: dict[str, object] | None = None
    reserved_for: tuple[User, ...] = ()


class ResourceClaim(Wire, frozen=True):
    metadata: Metadata
    status: ResourceClaimStatus = ResourceClaimStatus()


class TemplateSpec(Wire, frozen=True):
    metadata: dict[str, object] = msgspec.field(default_factory=dict)
    spec: dict[str, object] = msgspec.field(default_factory=dict)


class ClaimTemplate(Wire, frozen=True):
    metadata: Metadata
    spec: TemplateSpec = TemplateSpec()


def users_of(claim: ResourceClaim) -> list[str]:
    """UIDs of those whom a claim is reserved for, and of the one that it was made for."""
    owner = claim.metadata.controller
    return [*(user.uid for user in claim.status.reserved_for), *([owner.uid] if owner is not None else [])]


def is_owned(claim: ResourceClaim, meta: Metadata) -> bool:
    owner = claim.metadata.controller
    return owner is not None and owner.uid == meta.uid


def group_of(pod: Pod) -> str:
    """The key of a pod's group; "" if it has none."""
    named = pod.spec.scheduling_group
    name = named.pod_group_name if named is not None else None
    return f"{pod.metadata.namespace}/{name}" if name else ""


def is_reserved(claim: ResourceClaim, pod: Pod) -> bool:
    """For the pod, or for its group, of which the name counts."""
    _, _, group = group_of(pod).partition("/")
    for user in claim.status.reserved_for:
        if user.uid == pod.metadata.uid or (user.resource == "podgroups" and group and user.name == group):
            return True
    return False


def is_done(pod: Pod) -> bool:
    """It will not use its claims any more."""
    return pod.is_over or (pod.metadata.deletion_timestamp is not None and not pod.spec.node_name)


def named(statuses: tuple[DeviceClaimStatus, ...], entry: str) -> str:
    """The claim that was made for an entry; "" if nobody has said so."""
    return next((one.resource_claim_name or "" for one in statuses if one.name == entry), "")


def base_name(owner: str, entry: str) -> str:
    """What the name of a claim begins with."""
    whole = f"{owner}-{entry}-"
    if len(whole) <= _LONGEST_BASE:
        return whole
    share = _LONGEST_BASE / len(whole)
    return f"{owner[: int(len(owner) * share)]}-{entry[: int(len(entry) * share)]}"


def document(user: User) -> Document:
    told = {"apiGroup": user.api_group, "resource": user.resource, "name": user.name, "uid": user.uid}
    return {name: value for name, value in told.items() if value}


def change(claim: ResourceClaim, body: Document, subresource: str = "") -> Patch:
    """Changes the version of a claim that was seen last, and no other."""
    meta = claim.metadata
    known = {"uid": meta.uid, "resourceVersion": meta.resource_version}
    path = RESOURCE_CLAIMS.path(meta.namespace, meta.name, subresource)
    return Patch(path=path, body={**body, "metadata": {**body.get("metadata", {}), **known}})
