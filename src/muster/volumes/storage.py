"""The objects that decide about volumes, by key, and what is read off them in more than one place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from muster.api.volumes import (
    BETA_CLASS,
    MIGRATED_PLUGINS,
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    Size,
    StorageClass,
)
from muster.base.quantity import whole


class Stock:
    """Volumes by name, by class, and by the claim that they are kept for.

    A volume is in one class, that of its annotation or spec, and kept for at most one claim; both may change.
    """

    def __init__(self, volumes: Iterable[PersistentVolume] = ()) -> None:
        self._volumes: dict[str, PersistentVolume] = {}
        self._by_class: dict[str, dict[str, PersistentVolume]] = {}
        self._kept: dict[str, dict[str, PersistentVolume]] = {}
        self.version = 0
        """Grows with every change."""
        for volume in volumes:
            self.put(volume)

    def get(self, name: str) -> PersistentVolume | None:
        return self._volumes.get(name)

    def of_class(self, name: str) -> list[PersistentVolume]:
        """The smallest first, equal ones by name."""
        return sorted(self._by_class.get(name, _NONE).values(), key=_size_and_name)

    def kept_for(self, claim: PersistentVolumeClaim) -> list[PersistentVolume]:
        """By name; among them those that the claim has already."""
        kept = self._kept.get(claim_key(claim), _NONE).values()
        return sorted((each for each in kept if is_for(each, claim)), key=lambda each: each.metadata.name)

    def put(self, volume: PersistentVolume) -> None:
        self.remove(volume.metadata.name)
        self._volumes[volume.metadata.name] = volume
        for shelf, label in self._shelves(volume):
            shelf.setdefault(label, {})[volume.metadata.name] = volume
        self.version += 1

    def remove(self, name: str) -> None:
        before = self._volumes.pop(name, None)
        if before is None:
            return
        for shelf, label in self._shelves(before):
            del shelf[label][name]
            if not shelf[label]:
                del shelf[label]
        self.version += 1

    def _shelves(self, volume: PersistentVolume) -> list[tuple[dict[str, dict[str, PersistentVolume]], str]]:
        found = [(self._by_class, class_of(volume))]
        if (kept := volume.spec.claim_ref) is not None:
            found.append((self._kept, f"{kept.namespace}/{kept.name}"))
        return found


_NONE: Mapping[str, PersistentVolume] = {}


def _size_and_name(volume: PersistentVolume) -> tuple[int, str]:
    return bytes_of(volume.spec.capacity) or 0, volume.metadata.name


class Storage(NamedTuple):
    """What there is, by the keys of api/kinds.py."""

    claims: Mapping[str, PersistentVolumeClaim] = {}
    volumes: Stock = Stock()
    classes: Mapping[str, StorageClass] = {}
    drivers: Mapping[str, CSIDriver] = {}
    nodes: Mapping[str, CSINode] = {}
    capacities: Mapping[str, CSIStorageCapacity] = {}


def class_of(thing: PersistentVolumeClaim | PersistentVolume) -> str:
    """The name of its storage class, "" for none."""
    named = thing.metadata.annotations.get(BETA_CLASS)
    return named if named is not None else thing.spec.storage_class_name or ""


def bytes_of(size: Size) -> int | None:
    """How much storage; a part of a byte counts as a whole one."""
    return None if size.storage is None else whole(size.storage)


def claim_key(claim: PersistentVolumeClaim) -> str:
    return f"{claim.metadata.namespace}/{claim.metadata.name}"


def is_for(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Whether the volume is kept for this claim, or bound to it.  A claim made anew under an old name is another."""
    kept = volume.spec.claim_ref
    meta = claim.metadata
    return (
        kept is not None and (kept.namespace, kept.name) == (meta.namespace, meta.name) and kept.uid in ("", meta.uid)
    )


def migrated_on(node: CSINode | None) -> frozenset[str]:
    """In-tree plugins whose volumes are served by CSI drivers on the node."""
    listed = "" if node is None else node.metadata.annotations.get(MIGRATED_PLUGINS, "")
    return frozenset(listed.split(",")) if listed else frozenset()
