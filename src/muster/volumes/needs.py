"""What a pod's volumes ask of nodes: constraints, and names only where another pod's placement can touch them.

The claims of a StatefulSet's thousand pods have a name each, and are alike in all else: their needs are equal.  A claim
that several pods name keeps its key, since where the first of them goes decides for the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple, TypeVar

import msgspec

from muster.api.volumes import (
    NO_PROVISIONER,
    READ_WRITE_ONCE_POD,
    SELECTED_NODE,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    TopologyTerm,
)
from muster.api.wire import Pod
from muster.base.selectors import LabelSelector, NodeSelector, Requirement
from muster.volumes.claims import BOUND, NamedClaim, named_claims, standing
from muster.volumes.disks import InlineDisk, disks_of
from muster.volumes.in_tree import (
    BETA_REGION,
    BETA_ZONE,
    BETWEEN_ZONES,
    REGION,
    ZONE,
    in_tree,
    migrated,
)
from muster.volumes.limits import Attach, attaches_of, claim_of
from muster.volumes.storage import Storage, bytes_of, claim_key, class_of

FILESYSTEM = "Filesystem"
_MANY_NODES = frozenset(("ReadWriteMany", "ReadOnlyMany"))
_ZONE_LABELS = (BETA_ZONE, BETA_REGION, ZONE, REGION)


_Thing = TypeVar("_Thing")


class _Value(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Hashable, equal to whatever says the same, and written alike in every process: no sets."""


class Reach(_Value, frozen=True):
    """Where one volume can be used."""

    required: NodeSelector | None = None
    plugin: str = ""
    """An in-tree one: on nodes where it is migrated the next line counts instead."""
    migrated: NodeSelector | None = None
    is_missing: bool = False
    """There is no such volume: nowhere."""


class Zone(_Value, frozen=True):
    """A label that a node must have with one of these values, if it has any zone label at all."""

    key: str
    values: tuple[str, ...]


class Provisioning(_Value, frozen=True):
    """How volumes of a class are made."""

    provisioner: str
    topologies: tuple[TopologyTerm, ...] = ()
    checks_capacity: bool = False
    """Its driver tells where there is how much storage."""


class Ask(_Value, frozen=True):
    """A claim without a volume: one there is, or one to be made, whatever the node allows."""

    storage_class: str
    request_bytes: int | None = None
    access_modes: tuple[str, ...] = ()
    volume_mode: str = FILESYSTEM
    attributes_class: str = ""
    selector: tuple[Requirement, ...] | None = None
    reserved: str = ""
    """A volume that is kept for this claim: the only one it may have, though another may be made."""
    selected_node: str | None = None
    """Its volume is being made there."""
    provisioning: Provisioning | None = None
    """None if volumes of the class are not made on demand."""
    shared: str = ""
    """Key of a claim that other pods name too."""

    @property
    def is_for_many_nodes(self) -> bool:
        return not _MANY_NODES.isdisjoint(self.access_modes)


class Need(_Value, frozen=True):
    """All of a pod, in the order of its volumes."""

    reaches: tuple[Reach, ...] = ()
    zones: tuple[Zone, ...] = ()
    asks: tuple[Ask, ...] = ()
    attaches: tuple[Attach, ...] = ()
    exclusive: tuple[str, ...] = ()
    """Keys of claims for one pod at a time that other pods name too."""
    disks: tuple[InlineDisk, ...] = ()


NOTHING = Need()


class Sharing(NamedTuple):
    """Who else has what; asked of each claim and volume of the pod."""

    claim: Callable[[str], bool]
    """Whether another pod names the claim of this key."""
    volume: Callable[[str, str], bool]
    """Whether the volume of this driver with this handle may be on a node without the pod: others use it, or it is
    attached somewhere."""


def need_of(pod: Pod, storage: Storage, sharing: Sharing) -> Need:
    """What the pod asks of nodes.  Only for pods that no claim holds back (claims.problem)."""
    if not pod.spec.volumes:
        return NOTHING
    named = [(each, storage.claims[each.key]) for each in named_claims(pod)]
    bound = [claim for _, claim in named if standing(claim, storage) == BOUND]
    volumes = (storage.volumes.get(claim.spec.volume_name) for claim in bound)
    asks = (_ask(claim, storage, sharing) for _, claim in named if not claim.spec.volume_name)
    found = msgspec.structs.replace(
        taken_by(pod, storage, sharing),
        reaches=_once(_reach(volume) for volume in volumes),
        zones=_once(_zones(named, storage)),
        asks=tuple(asks),
    )
    return NOTHING if found == NOTHING else found


def taken_by(pod: Pod, storage: Storage, sharing: Sharing) -> Need:
    """What others feel of the pod where it is: the part of its need that is known whatever becomes of its claims."""
    named = [(each, claim) for each in named_claims(pod) if (claim := storage.claims.get(each.key)) is not None]
    return Need(
        attaches=tuple(_unnamed(each, sharing) for each in attaches_of(pod, storage)),
        exclusive=tuple(each.key for each, claim in named if _is_exclusive(each, claim, sharing)),
        disks=disks_of(pod),
    )


def requirements(selector: LabelSelector) -> tuple[Requirement, ...]:
    """The same in a form that can be hashed."""
    equal = (Requirement(key, "In", (value,)) for key, value in sorted(selector.match_labels.items()))
    return (*equal, *selector.match_expressions)


# --- volumes that claims have ---


@lru_cache(maxsize=1 << 14)
def _shared_reach(reach: Reach) -> Reach:
    return reach


def _reach(volume: PersistentVolume | None) -> Reach:
    if volume is None:
        return Reach(is_missing=True)
    found = in_tree(volume.spec)
    affinity = volume.spec.node_affinity
    required = None if affinity is None else affinity.required
    if found is None:
        return _shared_reach(Reach(required=required))
    return _shared_reach(Reach(required=required, plugin=found[0].plugin, migrated=migrated(volume)))


def _zones(named: Iterable[tuple[NamedClaim, PersistentVolumeClaim]], storage: Storage) -> Iterator[Zone]:
    """Labels of volumes; kube-scheduler's VolumeZone does not look at those made for the pod."""
    for each, claim in named:
        volume = storage.volumes.get(claim.spec.volume_name)
        if volume is not None and not each.ephemeral:
            yield from zones_of(volume)


def zones_of(volume: PersistentVolume) -> Iterator[Zone]:
    for key in _ZONE_LABELS:
        listed = volume.metadata.labels.get(key)
        values = frozenset() if listed is None else frozenset(each.strip() for each in listed.split(BETWEEN_ZONES))
        # an empty name among them makes the label void
        if values and "" not in values:
            yield Zone(key=key, values=tuple(sorted(values)))


# --- volumes to come ---


def _ask(claim: PersistentVolumeClaim, storage: Storage, sharing: Sharing) -> Ask:
    name = class_of(claim)
    key = claim_key(claim)
    asked = Ask(
        storage_class=name,
        request_bytes=bytes_of(claim.spec.resources.requests),
        access_modes=tuple(sorted(set(claim.spec.access_modes))),
        volume_mode=claim.spec.volume_mode or FILESYSTEM,
        attributes_class=claim.spec.volume_attributes_class_name or "",
        selector=None if claim.spec.selector is None else requirements(claim.spec.selector),
        selected_node=claim.metadata.annotations.get(SELECTED_NODE),
        provisioning=_provisioning(storage.classes.get(name), storage),
        shared=key if sharing.claim(key) else "",
    )
    kept = (each for each in storage.volumes.kept_for(claim) if class_of(each) == name and fits_at_all(asked, each))
    reserved = next(kept, None)
    return asked if reserved is None else msgspec.structs.replace(asked, reserved=reserved.metadata.name)


def fits_at_all(ask: Ask, volume: PersistentVolume) -> bool:
    """What even a volume must have that is kept for the claim."""
    spec = volume.spec
    return (
        (bytes_of(spec.capacity) or 0) >= (ask.request_bytes or 0)
        and (spec.volume_mode or FILESYSTEM) == ask.volume_mode
        and (spec.volume_attributes_class_name or "") == ask.attributes_class
        and volume.metadata.deletion_timestamp is None
    )


def _provisioning(found: StorageClass | None, storage: Storage) -> Provisioning | None:
    if found is None or found.provisioner in ("", NO_PROVISIONER):
        return None
    driver = storage.drivers.get(found.provisioner)
    tells = driver is not None and bool(driver.spec.storage_capacity)
    return Provisioning(provisioner=found.provisioner, topologies=found.allowed_topologies, checks_capacity=tells)


# --- what others may have too ---


def _unnamed(attach: Attach, sharing: Sharing) -> Attach:
    """Without its handle, unless it may be on a node already."""
    claim = claim_of(attach)
    shared = sharing.claim(claim) if claim else sharing.volume(attach.driver, attach.handle)
    return attach if shared else msgspec.structs.replace(attach, handle="")


def _is_exclusive(named: NamedClaim, claim: PersistentVolumeClaim, sharing: Sharing) -> bool:
    only_one = READ_WRITE_ONCE_POD in claim.spec.access_modes
    return only_one and not named.ephemeral and sharing.claim(named.key)


def _once(things: Iterable[_Thing]) -> tuple[_Thing, ...]:
    return tuple(dict.fromkeys(things))
