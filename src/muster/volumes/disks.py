"""Disks that pods name themselves, and claims for one pod at a time: whoever has them keeps others away."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from muster.api.wire import Pod, Volume

IN_USE = "node(s) had no available disk"
ONE_POD_ONLY = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)

_CEPH = "rbd"


class InlineDisk(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A disk that the pod names itself, and may not share with others on its node."""

    kind: str
    name: str
    monitors: tuple[str, ...] = ()
    """Of Ceph: two are one disk only if they have one of these in common."""
    read_only: bool = False
    """Those who only read may share it."""


def disks_of(pod: Pod) -> tuple[InlineDisk, ...]:
    """Each once, in the order of the pod's volumes."""
    return tuple(dict.fromkeys(disk for each in pod.spec.volumes if (disk := _disk(each)) is not None))


def collide(mine: Iterable[InlineDisk], theirs: Iterable[InlineDisk]) -> bool:
    """Whether two pods with these may not be on one node."""
    theirs = tuple(theirs)
    return any(_is_one(one, other) for one in mine for other in theirs)


def _is_one(one: InlineDisk, other: InlineDisk) -> bool:
    same = (one.kind, one.name) == (other.kind, other.name)
    if not same or (one.read_only and other.read_only):
        return False
    return one.kind != _CEPH or not set(one.monitors).isdisjoint(other.monitors)


def _disk(volume: Volume) -> InlineDisk | None:
    if (google := volume.gce_persistent_disk) is not None:
        return InlineDisk(kind="gcePersistentDisk", name=google.pd_name, read_only=google.read_only)
    if (amazon := volume.aws_elastic_block_store) is not None:
        return InlineDisk(kind="awsElasticBlockStore", name=amazon.volume_id)
    if (iscsi := volume.iscsi) is not None:
        return InlineDisk(kind="iscsi", name=iscsi.iqn, read_only=iscsi.read_only)
    if (ceph := volume.rbd) is not None:
        name, monitors = f"{ceph.pool}/{ceph.image}", tuple(sorted(set(ceph.monitors)))
        return InlineDisk(kind=_CEPH, name=name, monitors=monitors, read_only=ceph.read_only)
    return None
