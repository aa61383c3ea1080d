"""VolumeRestrictions: who has a claim for one pod at a time, or a disk on a node, keeps others away."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from muster.api.kinds import CLAIMS
from muster.cluster.census import Census
from muster.cluster.classes import Lines, Needs, PodClass
from muster.cluster.nodes import NodeTable
from muster.cluster.room import Room
from muster.cluster.taken import TakenState
from muster.cluster.usage import Ints, Usage
from muster.framework.contract import PLENTY, Bools, Outlook, RoomFilter, Stateful, Wide
from muster.plugins.volume_supply import volume_need
from muster.volumes.disks import IN_USE, ONE_POD_ONLY, InlineDisk, collide
from muster.volumes.needs import NOTHING, Need

_CLAIM = "claim"


class DiskState(TakenState[tuple[str, str], InlineDisk | None]):
    """Disks by kind and name; claims for one pod at a time, which others want too, by their keys."""

    def things(self, pod_class: PodClass) -> Iterable[tuple[tuple[str, str], InlineDisk | None]]:
        if not pod_class.rules.needs:
            # most pods bring nothing, and all pass here
            return ()
        need = _need(pod_class.rules.needs)
        claims = [((_CLAIM, key), None) for key in need.exclusive]
        return [*(((disk.kind, disk.name), disk) for disk in need.disks), *claims]

    def collisions(self, disks: tuple[InlineDisk, ...]) -> list[int]:
        """Rows where somebody has one of the disks."""
        found: set[int] = set()
        for disk in disks:
            rows = self.taken.get((disk.kind, disk.name), {})
            found.update(row for row, there in rows.items() if collide((disk,), filter(None, there)))
        return sorted(found)

    def is_in_use(self, claims: tuple[str, ...]) -> bool:
        return any(self.taken.get((_CLAIM, key)) for key in claims)


class VolumeRestrictions(RoomFilter, Stateful):
    """Of disks; the state has claims, too."""

    name = "VolumeRestrictions"
    reason = IN_USE
    reads = (CLAIMS,)

    def concerns(self, pod_class: PodClass) -> bool:
        need = _need(pod_class.rules.needs)
        return bool(need.disks or need.exclusive)

    def new_state(self) -> DiskState:
        return DiskState()

    def copies(self, lines: Lines, room: Room) -> Ints | None:
        disks = _need(lines.needs).disks
        if not disks:
            return None
        # a second copy on the same node would collide with the first, unless both only read
        free = np.full(room.nodes.capacity, 1 if collide(disks, disks) else PLENTY, np.int64)
        free[_state(room.usage).collisions(disks)] = 0
        return (free if room.rows is None else free[room.rows])[None]

    def refusals(self, pod_class: PodClass, room: Room) -> list[tuple[str, Bools]]:
        free = self.copies(pod_class.line, room)
        return [] if free is None else [(IN_USE, free[0] == 0)]


class ClaimRestrictions(Wide):
    """Of claims for one pod at a time: wherever it is."""

    name = VolumeRestrictions.name
    by_needs = True
    reads = VolumeRestrictions.reads

    def concerns(self, pod_class: PodClass, census: Census) -> bool:
        return bool(_need(pod_class.rules.needs).exclusive)

    def outlook(self, pod_class: PodClass, nodes: NodeTable, usage: Usage) -> Outlook:
        claims = _need(pod_class.rules.needs).exclusive
        return _OneOnly(nodes.capacity, is_free=not _state(usage).is_in_use(claims))


class _OneOnly(Outlook):
    """All nodes for the first, none for the next."""

    def __init__(self, capacity: int, *, is_free: bool) -> None:
        self._admits: Bools = np.full(capacity, is_free)

    def place(self, row: int) -> None:
        self._admits = np.zeros(len(self._admits), np.bool_)

    def admits(self) -> Bools:
        return self._admits

    def refusals(self) -> list[tuple[str, Bools]]:
        return [(ONE_POD_ONLY, ~self._admits)]


def _need(needs: Needs) -> Need:
    found = volume_need(needs)
    return NOTHING if found is None else found.need


def _state(usage: Usage) -> DiskState:
    state = usage.states[VolumeRestrictions.name]
    assert isinstance(state, DiskState)
    return state
