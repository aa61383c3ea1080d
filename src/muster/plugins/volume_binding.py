"""VolumeBinding: claims that have their volume keep a pod within its reach; for others one is chosen with the node."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from muster.api.kinds import (
    CLAIMS,
    CSI_DRIVERS,
    CSI_NODES,
    STORAGE_CAPACITIES,
    STORAGE_CLASSES,
    VOLUMES,
)
from muster.cluster.census import Census
from muster.cluster.classes import NodeRules, PodClass
from muster.cluster.facts import Facts
from muster.cluster.nodes import NodeTable, Rows
from muster.cluster.usage import Ints, Usage
from muster.framework.contract import Bools, Outlook, RuleFilter, RuleScore, Supplier, Wide
from muster.plugins.volume_supply import SUPPLIER, VolumeNeed, VolumeSupply, sites, volume_need
from muster.volumes.choice import NO_VOLUME, Market, Offer, Refused, choose
from muster.volumes.masks import Masks, admitted, scored
from muster.volumes.needs import Need
from muster.volumes.nodes import Site, reach_refusal
from muster.volumes.score import DEFAULT_SHAPE, Shape

WAIT_SECONDS = 600.0


class VolumeBinding(RuleFilter, RuleScore, Wide, Supplier):
    name = SUPPLIER
    reason = NO_VOLUME
    all_count = True
    by_needs = True
    reverse = False
    absolute = True
    reads = (CLAIMS, VOLUMES, STORAGE_CLASSES, CSI_NODES, CSI_DRIVERS, STORAGE_CAPACITIES)

    def __init__(self, *, wait_seconds: float = WAIT_SECONDS, shape: Sequence[tuple[int, int]] = DEFAULT_SHAPE) -> None:
        self.wait_seconds = wait_seconds
        self._shape: Shape = tuple(shape)

    def supply(self, facts: Facts, nodes: NodeTable) -> VolumeSupply:
        return VolumeSupply(facts)

    # --- by the node alone ---

    def admits(self, rules: NodeRules, nodes: NodeTable, rows: Rows | None) -> Bools:
        need = volume_need(rules.needs)
        if need is None or not (need.need.reaches or need.need.asks):
            return np.ones(nodes.capacity if rows is None else len(rows), np.bool_)
        return admitted(_unzoned(need), Masks(sites(nodes, rows)), need.market())

    def refusals(self, rules: NodeRules, nodes: NodeTable, rows: Rows | None) -> list[tuple[str, Bools]]:
        need = volume_need(rules.needs)
        if need is None:
            return []
        why = [_why(need, site) for site in sites(nodes, rows)]
        reasons = sorted({reason for said in why for reason in said})
        return [(reason, np.array([reason in said for said in why])) for reason in reasons]

    def raw(self, rules: NodeRules, nodes: NodeTable, rows: Rows | None) -> Ints | None:
        need = volume_need(rules.needs)
        if need is None or not need.is_rated or need.may_be_used_up:
            return None
        return scored(need.need, Masks(sites(nodes, rows)), need.market(), self._shape)

    # --- where others of the trial take volumes that there are, or share claims ---

    def concerns(self, pod_class: PodClass, census: Census) -> bool:
        need = volume_need(pod_class.rules.needs)
        return need is not None and need.may_be_used_up

    def outlook(self, pod_class: PodClass, nodes: NodeTable, usage: Usage) -> Outlook:
        need = volume_need(pod_class.rules.needs)
        assert need is not None
        return _Choosing(need, Masks(sites(nodes, None)), self._shape)


class _Choosing(Outlook):
    """Volumes that are left, as pods of one class take them one after another."""

    def __init__(self, need: VolumeNeed, masks: Masks, shape: Shape) -> None:
        self._need = need
        self._masks = masks
        self._shape = shape
        self._taken: set[str] = set()
        self._settled: dict[str, Offer | str] = {}
        self._admits: Bools | None = None

    def place(self, row: int) -> None:
        choice = choose(self._need.need.asks, self._masks.sites[row], self._left())
        assert not isinstance(choice, Refused)
        asks = self._need.need.asks
        self._taken |= {bound.offer.volume for bound in choice.bound}
        self._settled |= {asks[bound.ask].shared: bound.offer for bound in choice.bound if asks[bound.ask].shared}
        name = self._masks.sites[row].name
        self._settled |= {asks[made.ask].shared: name for made in choice.made if asks[made.ask].shared}
        self._admits = None

    def admits(self) -> Bools:
        if self._admits is None:
            self._admits = admitted(_unzoned(self._need), self._masks, self._left())
        return self._admits

    def refusals(self) -> list[tuple[str, Bools]]:
        return [(NO_VOLUME, ~self.admits())]

    def score(self, takes: Bools) -> Ints | None:
        if not self._need.is_rated:
            return None
        return scored(self._need.need, self._masks, self._left(), self._shape)

    def _left(self) -> Market:
        return self._need.market(self._taken, self._settled)


def _unzoned(need: VolumeNeed) -> Need:
    """Without what is VolumeZone's to say."""
    return msgspec.structs.replace(need.need, zones=())


def _why(need: VolumeNeed, site: Site) -> set[str]:
    """What refuses the node: the volumes that the pod has, and those that it asks for."""
    found = choose(need.need.asks, site, need.market()) if need.need.asks else None
    return {reach_refusal(need.need, site), found.reason if isinstance(found, Refused) else ""} - {""}
