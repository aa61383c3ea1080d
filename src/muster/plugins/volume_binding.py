"""VolumeBinding: claims that have their volume keep a pod within its reach; for others one is chosen with the node."""

from __future__ import annotations

import numpy as np

from muster.api.kinds import (
    CLAIMS,
    CSI_DRIVERS,
    STORAGE_CAPACITIES,
    STORAGE_CLASSES,
    VOLUMES,
)
from muster.cluster.census import Census
from muster.cluster.classes import NodeRules, PodClass
from muster.cluster.facts import Facts
from muster.cluster.nodes import NodeTable, Rows
from muster.cluster.usage import Usage
from muster.framework.contract import Bools, Outlook, RuleFilter, Supplier, Wide
from muster.plugins.volume_supply import VolumeNeed, VolumeSupply
from muster.volumes.choice import NO_VOLUME, Market, Offer, Refused, choose
from muster.volumes.masks import Masks, admitted
from muster.volumes.nodes import Site, reach_refusal


class VolumeBinding(RuleFilter, Wide, Supplier):
    name = "VolumeBinding"
    reason = NO_VOLUME
    by_needs = True
    reads = (CLAIMS, VOLUMES, STORAGE_CLASSES, CSI_DRIVERS, STORAGE_CAPACITIES)

    def supply(self, facts: Facts, nodes: NodeTable) -> VolumeSupply:
        return VolumeSupply(facts)

    # --- by the node alone ---

    def admits(self, rules: NodeRules, nodes: NodeTable, rows: Rows | None) -> Bools:
        need = _need(rules)
        if need is None:
            return np.ones(nodes.capacity if rows is None else len(rows), np.bool_)
        return admitted(need.need, Masks(_sites(nodes, rows)), need.market())

    def refusals(self, rules: NodeRules, nodes: NodeTable, rows: Rows | None) -> list[tuple[str, Bools]]:
        need = _need(rules)
        if need is None:
            return []
        why = [_why(need, site) for site in _sites(nodes, rows)]
        return [(reason, np.array([one == reason for one in why])) for reason in sorted(set(why) - {""})]

    # --- where others of the trial take volumes that there are, or share claims ---

    def concerns(self, pod_class: PodClass, census: Census) -> bool:
        need = _need(pod_class.rules)
        return need is not None and (any(need.offers) or any(ask.shared for ask in need.need.asks))

    def outlook(self, pod_class: PodClass, nodes: NodeTable, usage: Usage) -> Outlook:
        need = _need(pod_class.rules)
        assert need is not None
        return _Choosing(need, Masks(_sites(nodes, None)))


class _Choosing(Outlook):
    """Volumes that are left, as pods of one class take them one after another."""

    def __init__(self, need: VolumeNeed, masks: Masks) -> None:
        self._need = need
        self._masks = masks
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
            self._admits = admitted(self._need.need, self._masks, self._left())
        return self._admits

    def refusals(self) -> list[tuple[str, Bools]]:
        return [(NO_VOLUME, ~self.admits())]

    def _left(self) -> Market:
        return self._need.market(self._taken, self._settled)


def _need(rules: NodeRules) -> VolumeNeed | None:
    found = next((need for plugin, need in rules.needs if plugin == VolumeBinding.name), None)
    assert found is None or isinstance(found, VolumeNeed)
    return found


def _sites(nodes: NodeTable, rows: Rows | None) -> list[Site]:
    listed = range(nodes.capacity) if rows is None else rows.tolist()
    return [
        _NOWHERE if (node := nodes.nodes[row]) is None else Site(nodes.names[row], node.metadata.labels)
        for row in listed
    ]


_NOWHERE = Site("", {})


def _why(need: VolumeNeed, site: Site) -> str:
    """What refuses the node; "" if nothing does."""
    found = choose(need.need.asks, site, need.market()) if need.need.asks else None
    return reach_refusal(need.need, site) or (found.reason if isinstance(found, Refused) else "")
