"""Volumes of plugins that were once part of Kubernetes and are served by CSI drivers now.

They are counted, and their zones are spelled, as those of the driver; which driver and how is fixed per plugin.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from muster.api.volumes import PersistentVolume, VolumeSpec
from muster.api.wire import Volume
from muster.base.selectors import NodeSelector, NodeSelectorTerm, Requirement

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
BETA_ZONE, BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
BETWEEN_ZONES = "__"
_PARTS_OF_A_ZONE = 3
"""us-east1-b"""


class InTree(NamedTuple):
    plugin: str
    driver: str
    zone_key: str = ""
    """The driver's own label for zones; "" if it keeps the general one."""


_EBS = InTree("kubernetes.io/aws-ebs", "ebs.csi.aws.com", "topology.ebs.csi.aws.com/zone")
_GCE = InTree("kubernetes.io/gce-pd", "pd.csi.storage.gke.io", "topology.gke.io/zone")
_AZURE = InTree("kubernetes.io/azure-disk", "disk.csi.azure.com")
_CINDER = InTree("kubernetes.io/cinder", "cinder.csi.openstack.org", "topology.cinder.csi.openstack.org/zone")
_PORTWORX = InTree("kubernetes.io/portworx-volume", "pxd.portworx.com")

BY_PLUGIN = {each.plugin: each for each in (_EBS, _GCE, _AZURE, _CINDER, _PORTWORX)}


def in_tree(source: VolumeSpec | Volume, zones: str = "") -> tuple[InTree, str] | None:
    """Whose volume it is, and by which handle the driver knows it."""
    if source.aws_elastic_block_store is not None:
        return _EBS, source.aws_elastic_block_store.volume_id.rpartition("/")[2]
    if source.gce_persistent_disk is not None:
        place = _google_place(zones)
        return (_GCE, f"projects/UNSPECIFIED/{place}/disks/{source.gce_persistent_disk.pd_name}") if place else None
    if source.azure_disk is not None:
        return _AZURE, source.azure_disk.disk_uri
    if source.cinder is not None:
        return _CINDER, source.cinder.volume_id
    if source.portworx_volume is not None:
        return _PORTWORX, source.portworx_volume.volume_id
    return None


def in_tree_volume(volume: PersistentVolume) -> tuple[InTree, str] | None:
    labels = volume.metadata.labels
    return in_tree(volume.spec, labels.get(BETA_ZONE) or labels.get(ZONE, ""))


def migrated(volume: PersistentVolume) -> NodeSelector | None:
    """Where a volume of a migrated plugin can be used: its zones, also those of its labels, by the driver's label."""
    required = volume.spec.node_affinity.required if volume.spec.node_affinity is not None else None
    found = in_tree(volume.spec)
    if found is None or not found[0].zone_key:
        return required
    terms = () if required is None else required.node_selector_terms
    old_zone, is_beta = _zone_label(volume, terms)
    if any(_values(terms, old_zone)):
        terms = _renamed(terms, old_zone, found[0].zone_key)
    elif zones := {zone.strip() for zone in volume.metadata.labels.get(old_zone, "").split(BETWEEN_ZONES)} - {""}:
        more = Requirement(found[0].zone_key, "In", tuple(sorted(zones)))
        terms = tuple(
            replace(term, match_expressions=(*term.match_expressions, more)) for term in terms or (NodeSelectorTerm(),)
        )
    if is_beta and any(_values(terms, BETA_REGION)):
        terms = _renamed(terms, BETA_REGION, REGION)
    return required if required is None and not terms else NodeSelector(terms)


def _google_place(zones: str) -> str:
    """ "" for zones that are not all of one region: such a disk is none of the driver's."""
    listed = [zone.split("-") for zone in zones.split(BETWEEN_ZONES)]
    if len(listed) == 1:
        return f"zones/{zones or 'UNSPECIFIED'}"
    regions = {"-".join(parts[:2]) for parts in listed}
    is_one = len(regions) == 1 and all(len(parts) == _PARTS_OF_A_ZONE for parts in listed)
    return f"regions/{regions.pop()}" if is_one else ""


def _zone_label(volume: PersistentVolume, terms: tuple[NodeSelectorTerm, ...]) -> tuple[str, bool]:
    """By which label its zones are given, and whether that is the old one."""
    keys = {requirement.key for term in terms for requirement in term.match_expressions}
    for there in (keys, volume.metadata.labels):
        if ZONE in there:
            return ZONE, False
        if BETA_ZONE in there:
            return BETA_ZONE, True
    return ZONE, False


def _values(terms: tuple[NodeSelectorTerm, ...], key: str) -> list[str]:
    return [value for term in terms for each in term.match_expressions if each.key == key for value in each.values]


def _renamed(terms: tuple[NodeSelectorTerm, ...], old: str, new: str) -> tuple[NodeSelectorTerm, ...]:
    return tuple(
        replace(
            term,
            match_expressions=tuple(
                replace(each, key=new) if each.key == old else each for each in term.match_expressions
            ),
        )
        for term in terms
    )
