"""How many volumes a node takes: places per driver, of which one that is there already takes no second."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping

import msgspec

from muster.api.volumes import CSIDriver, CSINode, PersistentVolume, PersistentVolumeClaim, VolumeAttachment
from muster.api.wire import Pod
from muster.volumes.claims import NamedClaim, is_made_for, named_claims
from muster.volumes.in_tree import BY_PLUGIN, in_tree, in_tree_volume
from muster.volumes.storage import Stock, Storage, class_of

TOO_MANY = "node(s) exceed max volume count"
_UNBOUND = "claim "
_UNCOUNTED = ("", "kubernetes.io/azure-file", "kubernetes.io/vsphere-volume")
"""Provisioners whose volumes have no limit."""


class Attach(msgspec.Struct, frozen=True, gc=False):
    """A volume that takes one of the places that the driver has on a node."""

    driver: str
    handle: str = ""
    """By which others may use it too, so that it may be on a node already; "" for one that nobody else has."""
    by_migration: bool = False
    """Of an in-tree plugin: counted only on nodes that have a CSINode."""


def attaches_of(pod: Pod, storage: Storage) -> tuple[Attach, ...]:
    """All of a pod's with their handles, each once; a claim that does not exist counts for nothing."""
    return tuple(dict.fromkeys(_attaches(pod, storage)))


def claim_of(attach: Attach) -> str:
    """Key of the claim whose volume is still to come; "" if the volume is known."""
    return attach.handle.removeprefix(_UNBOUND) if attach.handle.startswith(_UNBOUND) else ""


def attached(
    attachments: Iterable[VolumeAttachment], volumes: Stock | Mapping[str, PersistentVolume]
) -> dict[str, set[Attach]]:
    """By node, what is attached there, whoever needs it or none does."""
    found: dict[str, set[Attach]] = {}
    for each in attachments:
        volume = volumes.get(each.spec.source.persistent_volume_name or "")
        if each.spec.attacher and volume is not None and volume.spec.csi is not None:
            attach = Attach(each.spec.attacher, volume.spec.csi.volume_handle)
            found.setdefault(each.spec.node_name, set()).add(attach)
    return found


def places(node: CSINode | None) -> dict[str, int]:
    """How many volumes each driver takes on the node; no limit for those that are not listed."""
    drivers = () if node is None else node.spec.drivers
    return {
        each.name: each.allocatable.count
        for each in drivers
        if each.allocatable is not None and each.allocatable.count is not None
    }


def taken(there: Iterable[Attach]) -> Counter[str]:
    """By driver, how many different volumes."""
    return Counter(driver for driver, _ in {(each.driver, each.handle) for each in there})


def new_ones(wanted: Iterable[Attach], there: Collection[Attach], *, has_csi_node: bool = True) -> Counter[str]:
    """By driver, how many of them are not there yet."""
    known = {(each.driver, each.handle) for each in there if each.handle}
    counted = (each for each in wanted if has_csi_node or not each.by_migration)
    return Counter(each.driver for each in counted if (each.driver, each.handle) not in known)


def refusal(
    wanted: Iterable[Attach],
    node: CSINode | None,
    *,
    pods: Collection[Attach],
    attachments: Collection[Attach] = (),
    drivers: Mapping[str, CSIDriver] | None = None,
) -> str:
    """Why the node does not take these volumes beside those of its pods and what is attached; "" if it does."""
    counted = [each for each in wanted if node is not None or not each.by_migration]
    for each in counted:
        if is_awaited((drivers or {}).get(each.driver), node):
            return not_installed(each.driver)
    limits = places(node)
    there = taken([*pods, *attachments])
    # kube-scheduler looks for a volume among those of pods only: one that is attached, and that no pod here uses any
    # more, counts twice
    more = new_ones(counted, pods)
    return TOO_MANY if any(d in limits and there[d] + count > limits[d] for d, count in more.items()) else ""


def is_awaited(driver: CSIDriver | None, node: CSINode | None) -> bool:
    """Whether no volume of the driver goes to the node before the driver is there."""
    if driver is None or not driver.spec.prevent_pod_scheduling_if_missing:
        return False
    return node is None or all(each.name != driver.metadata.name for each in node.spec.drivers)


def not_installed(driver: str) -> str:
    return f"{driver} CSI driver is not installed on the node"


# --- one pod ---


def _attaches(pod: Pod, storage: Storage) -> Iterator[Attach]:
    for named in named_claims(pod):
        claim = storage.claims.get(named.key)
        if claim is not None and (not named.ephemeral or is_made_for(pod, claim)):
            yield from _of_claim(named, claim, storage)
    for each in pod.spec.volumes:
        if each.persistent_volume_claim is None and each.ephemeral is None and (found := in_tree(each)) is not None:
            yield Attach(found[0].driver, found[1], by_migration=True)


def _of_claim(named: NamedClaim, claim: PersistentVolumeClaim, storage: Storage) -> Iterator[Attach]:
    volume = storage.volumes.get(claim.spec.volume_name)
    if volume is None:
        yield from _to_come(named, claim, storage)
    elif (csi := volume.spec.csi) is not None:
        if csi.driver and csi.volume_handle:
            yield Attach(csi.driver, csi.volume_handle)
    elif (found := in_tree_volume(volume)) is not None:
        yield Attach(found[0].driver, found[1], by_migration=True)


def _to_come(named: NamedClaim, claim: PersistentVolumeClaim, storage: Storage) -> Iterator[Attach]:
    found = storage.classes.get(class_of(claim))
    if found is None or found.provisioner in _UNCOUNTED:
        return
    plugin = BY_PLUGIN.get(found.provisioner)
    if plugin is not None:
        yield Attach(plugin.driver, f"{_UNBOUND}{named.key}", by_migration=True)
    else:
        yield Attach(found.provisioner, f"{_UNBOUND}{named.key}")
