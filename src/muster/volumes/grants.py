"""What is to be written so that a pod's claims get what was chosen for them; the volume controller does the rest."""

from __future__ import annotations

import msgspec

from muster.api.volumes import BOUND_BY_CONTROLLER, PersistentVolume, PersistentVolumeClaim
from muster.api.wire import Pod
from muster.volumes.choice import Choice
from muster.volumes.claims import named_claims
from muster.volumes.storage import Storage, claim_key, is_for


class VolumeGrant(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A volume is to be kept for a claim: `spec.claimRef`."""

    volume: str
    volume_version: str
    """What was seen of it: the write is refused if it has changed."""
    claim_namespace: str
    claim_name: str
    claim_uid: str
    claim_version: str
    by_controller: bool = False
    """The annotation is to be set which says that no user did it."""


class ClaimGrant(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A claim's volume is to be made for a node: the annotation `volume.kubernetes.io/selected-node`."""

    claim: str
    claim_uid: str
    claim_version: str
    node: str


class Grant(msgspec.Struct, frozen=True, gc=False):
    """Of one pod; volumes are written first."""

    volumes: tuple[VolumeGrant, ...] = ()
    claims: tuple[ClaimGrant, ...] = ()


NO_GRANT = Grant()


def grant_of(pod: Pod, choice: Choice, storage: Storage, node: str) -> Grant:
    """For a choice among the asks of this pod's need; what stands already is not written again."""
    asking = [storage.claims[named.key] for named in named_claims(pod)]
    asking = [claim for claim in asking if not claim.spec.volume_name]
    volumes = ((storage.volumes.get(each.offer.volume), asking[each.ask]) for each in choice.bound)
    made = (asking[each.ask] for each in choice.made)
    return Grant(
        tuple(
            _volume_grant(volume, claim)
            for volume, claim in volumes
            if volume is not None and not _is_written(volume, claim)
        ),
        tuple(_claim_grant(claim, node) for claim in made),
    )


def _is_written(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    return is_for(volume, claim) and volume.spec.claim_ref is not None and volume.spec.claim_ref.uid != ""


def _volume_grant(volume: PersistentVolume, claim: PersistentVolumeClaim) -> VolumeGrant:
    by_user = is_for(volume, claim) or BOUND_BY_CONTROLLER in volume.metadata.annotations
    return VolumeGrant(
        volume=volume.metadata.name,
        volume_version=volume.metadata.resource_version,
        claim_namespace=claim.metadata.namespace,
        claim_name=claim.metadata.name,
        claim_uid=claim.metadata.uid,
        claim_version=claim.metadata.resource_version,
        by_controller=not by_user,
    )


def _claim_grant(claim: PersistentVolumeClaim, node: str) -> ClaimGrant:
    meta = claim.metadata
    return ClaimGrant(claim=claim_key(claim), claim_uid=meta.uid, claim_version=meta.resource_version, node=node)
