"""The same answers for all nodes at once."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from muster.volumes.choice import Market, Offer, Refused, choose
from muster.volumes.needs import Ask, Need
from muster.volumes.nodes import InTopology, Named, Part, Selected, Site, conditions

Bools = npt.NDArray[np.bool_]


class Masks:
    """Kept for each part; within it a node is asked once for each different combination of what the part looks at."""

    def __init__(self, sites: Sequence[Site]) -> None:
        self.sites = sites
        self._masks: dict[Part, Bools] = {}

    def of(self, part: Part) -> Bools:
        found = self._masks.get(part)
        if found is None:
            found = self._masks[part] = self._asked(part)
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
        self.parts = [masks.of(part) for part in dict.fromkeys(_parts(ask, there))]
        nothing = np.zeros(len(masks.sites), dtype=np.bool_)
        offers = [each for each in there.offers(ask) if each.volume not in there.taken]
        self.mask = _any([_within(each, masks) for each in offers], nothing) | self._makers(masks, there, nothing)
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


def _settle(mask: Bools, views: Sequence[_View], masks: Masks, there: Market) -> None:
    """Several asks may want the same: one node is asked for all that see the same volumes and the same storage."""
    asks = [view.ask for view in views]
    rows = np.flatnonzero(mask)
    seen = [part[rows] for view in views for part in view.parts]
    alike = np.packbits(np.array(seen, dtype=np.bool_), axis=0).T if seen else np.zeros((len(rows), 1), dtype=np.uint8)
    _, first, group = np.unique(alike, axis=0, return_index=True, return_inverse=True)
    fits = [not isinstance(choose(asks, masks.sites[rows[row]], there), Refused) for row in first]
    mask[rows] = np.array(fits, dtype=np.bool_)[group.reshape(-1)]


def _parts(ask: Ask, there: Market) -> Iterable[Part]:
    for offer in there.offers(ask):
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


def _within(offer: Offer, masks: Masks) -> Bools:
    everywhere = np.ones(len(masks.sites), dtype=np.bool_)
    return everywhere if offer.required is None else masks.of(Selected(offer.required))


def _any(some: Sequence[Bools], nothing: Bools) -> Bools:
    return np.logical_or.reduce(some) if some else nothing
