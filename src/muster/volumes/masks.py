"""The same answers for all nodes at once."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from muster.volumes.choice import Market, Refused, choose
from muster.volumes.needs import Ask, Need
from muster.volumes.nodes import InTopology, Named, Part, Selected, Site, conditions
from muster.volumes.score import Shape, score

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]


class Masks:
    """Kept for each part; within it a node is asked once for each different combination of what the part looks at."""

    def __init__(self, sites: Sequence[Site]) -> None:
        self.sites = sites
        self._masks: dict[Part, Bools] = {}
        self._rows: dict[Part, list[int]] = {}
        self._labelled: dict[str, dict[str, list[int]]] = {}
        """By key and value, the rows of nodes with that label; of keys that were asked for."""

    def rows(self, part: Part) -> Sequence[int]:
        """Of nodes that it admits; for a part with hints only those are asked that have one of these labels."""
        if part.hints is None:
            return [int(row) for row in np.flatnonzero(self.of(part))]
        found = self._rows.get(part)
        if found is None:
            near = sorted({row for key, value in part.hints for row in self._with(key).get(value, ())})
            found = self._rows[part] = [row for row in near if part.admits(self.sites[row])]
        return found

    def mark(self, part: Part, mask: Bools) -> None:
        """Sets what the part admits."""
        if part.hints is None:
            mask |= self.of(part)
        else:
            mask[self.rows(part)] = True

    def of(self, part: Part) -> Bools:
        found = self._masks.get(part)
        if found is None:
            found = self._masks[part] = self._asked(part)
        return found

    def _with(self, key: str) -> dict[str, list[int]]:
        found = self._labelled.get(key)
        if found is None:
            found = self._labelled[key] = {}
            for row, site in enumerate(self.sites):
                if (value := site.labels.get(key)) is not None:
                    found.setdefault(value, []).append(row)
        return found

    def _asked(self, part: Part) -> Bools:
        # a look at each label of each node, 0.5 µs; the selector itself is asked as often as there are values
        keys, known = part.keys, dict[Hashable, bool]()
        mask = np.empty(len(self.sites), dtype=np.bool_)
        for row, site in enumerate(self.sites):
            alike = (*map(site.labels.get, keys), part.other(site))
            admitted = known.get(alike)
            if admitted is None:
                admitted = known[alike] = part.admits(site)
            mask[row] = admitted
        return mask


def admitted(need: Need, masks: Masks, there: Market) -> Bools:
    """Nodes that all of the pod's claims allow: those in reach of its volumes where the others can have one each."""
    mask = np.ones(len(masks.sites), dtype=np.bool_)
    for each in conditions(need):
        mask &= masks.of(each.part)
    views = [_View(ask, masks, there) for ask in need.asks]
    for view in views:
        mask &= view.mask
    if len(views) > 1 or any(ask.shared in there.settled for ask in need.asks):
        _settle(mask, views, masks, there)
    return mask


class _View:
    """Where one ask alone gets something, and what that depends on."""

    def __init__(self, ask: Ask, masks: Masks, there: Market) -> None:
        self.ask = ask
        self.mask = self._makers(masks, there, np.zeros(len(masks.sites), dtype=np.bool_)).copy()
        offers = [each for each in there.offers(ask).all if each.volume not in there.taken]
        if any(each.required is None for each in offers):
            self.mask[:] = True
        for part in dict.fromkeys(Selected(each.required) for each in offers if each.required is not None):
            masks.mark(part, self.mask)
        if ask.selected_node is not None:
            self.mask = self.mask & masks.of(Named(ask.selected_node))

    def _makers(self, masks: Masks, there: Market, nothing: Bools) -> Bools:
        way = self.ask.provisioning
        if way is None:
            return nothing
        mask = masks.of(InTopology(way.topologies)) if way.topologies else ~nothing
        asked = self.ask.request_bytes
        if way.checks_capacity and asked is not None:
            pools = (each for each in there.pools(self.ask.storage_class) if each.largest_bytes >= asked)
            mask = mask & _any([masks.of(pool.nodes) for pool in pools], nothing)
        return mask


def scored(need: Need, masks: Masks, there: Market, shape: Shape) -> Ints:
    """How well what the pod would get fits, from 0 to 100; 0 where it would get nothing."""
    found = np.zeros(len(masks.sites), np.int64)
    for rows in _alike(need.asks, range(len(found)), masks, there):
        choice = choose(need.asks, masks.sites[rows[0]], there)
        if not isinstance(choice, Refused):
            found[rows] = score(need.asks, choice, shape)
    return found


def _settle(mask: Bools, views: Sequence[_View], masks: Masks, there: Market) -> None:
    """Several asks may want the same: one node is asked for all that see the same volumes and the same storage."""
    asks = [view.ask for view in views]
    for rows in _alike(asks, np.flatnonzero(mask).tolist(), masks, there):
        mask[rows] = not isinstance(choose(asks, masks.sites[rows[0]], there), Refused)


def _alike(asks: Sequence[Ask], rows: Iterable[int], masks: Masks, there: Market) -> Iterable[list[int]]:
    """These rows, together where nodes see the same volumes and the same storage."""
    seen: dict[int, list[int]] = {row: [] for row in rows}
    parts = dict.fromkeys(part for ask in asks for part in _parts(ask, there))
    for number, part in enumerate(parts):
        for row in masks.rows(part):
            if row in seen:
                seen[row].append(number)
    groups: dict[tuple[int, ...], list[int]] = {}
    for row, numbers in seen.items():
        groups.setdefault(tuple(numbers), []).append(row)
    return groups.values()


def _parts(ask: Ask, there: Market) -> Iterable[Part]:
    for offer in there.offers(ask).all:
        if offer.required is not None:
            yield Selected(offer.required)
    if ask.provisioning is not None and ask.provisioning.topologies:
        yield InTopology(ask.provisioning.topologies)
    for pool in there.pools(ask.storage_class):
        yield pool.nodes
    if ask.selected_node is not None:
        yield Named(ask.selected_node)
    settled = there.settled.get(ask.shared)
    if isinstance(settled, str):
        yield Named(settled)
    elif settled is not None and settled.required is not None:
        yield Selected(settled.required)


def _any(some: Sequence[Bools], nothing: Bools) -> Bools:
    return np.logical_or.reduce(some) if some else nothing
