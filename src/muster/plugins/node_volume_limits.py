"""NodeVolumeLimits: a node takes as many volumes of a driver as its CSINode says; one that is there takes no place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from muster.api.kinds import ATTACHMENTS, CLAIMS, CSI_DRIVERS, CSI_NODES, STORAGE_CLASSES, VOLUMES
from muster.cluster.classes import Lines, PodClass
from muster.cluster.drivers import NO_LIMIT
from muster.cluster.room import Room
from muster.cluster.taken import TakenState
from muster.cluster.usage import Ints
from muster.framework.contract import PLENTY, Bools, RoomFilter, Stateful
from muster.plugins.volume_supply import volume_need
from muster.volumes.limits import TOO_MANY, Attach, not_installed


class PlaceState(TakenState[str, str]):
    """By driver, the handles of volumes of the pods on each row; "" for one that nobody else has."""

    def things(self, pod_class: PodClass) -> Iterable[tuple[str, str]]:
        if not pod_class.rules.needs:
            # most pods bring nothing, and all pass here
            return ()
        return [(each.driver, each.handle) for each in _attaches(pod_class.line)]


class NodeVolumeLimits(RoomFilter, Stateful):
    name = "NodeVolumeLimits"
    reason = TOO_MANY
    reads = (CLAIMS, VOLUMES, STORAGE_CLASSES, CSI_NODES, CSI_DRIVERS, ATTACHMENTS)

    def concerns(self, pod_class: PodClass) -> bool:
        return bool(_attaches(pod_class.line))

    def new_state(self) -> PlaceState:
        return PlaceState()

    def copies(self, lines: Lines, room: Room) -> Ints | None:
        attaches = _attaches(lines)
        if not attaches:
            return None
        found = np.full(len(room), PLENTY, np.int64)
        for driver in dict.fromkeys(each.driver for each in attaches):
            found = np.minimum(found, self._copies(driver, attaches, room))
        for _, awaited in _awaited(attaches, room):
            found[awaited] = 0
        return found[None]

    def refusals(self, pod_class: PodClass, room: Room) -> list[tuple[str, Bools]]:
        attaches = _attaches(pod_class.line)
        said: list[tuple[str, Bools]] = []
        so_far = np.zeros(len(room), np.bool_)
        for driver, awaited in _awaited(attaches, room):
            said.append((not_installed(driver), awaited & ~so_far))
            so_far |= awaited
        full = np.zeros(len(room), np.bool_)
        for driver in dict.fromkeys(each.driver for each in attaches):
            full |= self._copies(driver, attaches, room) == 0
        return [*said, (TOO_MANY, full & ~so_far)]

    def _copies(self, driver: str, attaches: tuple[Attach, ...], room: Room) -> Ints:
        """How many more pods the driver's places are enough for, by row."""
        wanted = [each.handle for each in attaches if each.driver == driver]
        limit = _gathered(room.nodes.drivers.places(driver), room)
        if np.all(limit == NO_LIMIT):
            return np.full(len(room), PLENTY, np.int64)
        shared, own = {handle for handle in wanted if handle}, wanted.count("")
        taken, once = self._taken(driver, shared, room)
        left = limit - taken - once
        # a node that has more than it takes still takes pods that bring nothing new
        found: Ints = np.maximum(left // own, 0) if own else np.where((left >= 0) | (once == 0), PLENTY, 0)
        found[limit == NO_LIMIT] = PLENTY
        return found

    def _taken(self, driver: str, shared: set[str], room: Room) -> tuple[Ints, Ints]:
        """By row, places that are taken, and how many more all pods that share these volumes take together.

        kube-scheduler looks for a volume among those of pods only: one that is attached, and that no pod here uses any
        more, counts twice.
        """
        state, columns = room.usage.states[self.name], room.nodes.drivers
        assert isinstance(state, PlaceState)
        by_row = state.taken.get(driver, {})
        some = {*by_row, *columns.has_attached(driver)} if room.rows is None else room.rows.tolist()
        taken, once = np.zeros(len(room), np.int64), np.full(len(room), len(shared), np.int64)
        # a microsecond or two for each row with volumes
        for place, row in enumerate(some):
            there = by_row.get(row, ())
            known = set(there)
            at = row if room.rows is None else place
            taken[at] = there.count("") + len((known | columns.attached(row, driver)) - {""})
            once[at] = len(shared - known)
        return taken, once


def _attaches(lines: Lines) -> tuple[Attach, ...]:
    need = volume_need(lines.needs)
    return () if need is None else need.need.attaches


def _awaited(attaches: tuple[Attach, ...], room: Room) -> Iterable[tuple[str, Bools]]:
    """Drivers that must be installed before their volumes may come, and the rows where they are not.

    Volumes of in-tree plugins count only where there is a CSINode.
    """
    columns = room.nodes.drivers
    always = Counter(each.driver for each in attaches if not each.by_migration)
    for driver in dict.fromkeys(each.driver for each in attaches):
        awaited = _gathered(columns.awaits(driver), room)
        if awaited.any() and not always[driver]:
            there = np.array([node is not None for node in columns.csi_nodes], np.bool_)
            awaited = awaited & _gathered(there, room)
        if awaited.any():
            yield driver, awaited


def _gathered(column: np.ndarray, room: Room) -> np.ndarray:
    return column if room.rows is None else column[room.rows]
