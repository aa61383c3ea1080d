"""VolumeZone: a pod goes to the zone and region that its volumes are labelled with."""

from __future__ import annotations

import numpy as np

from muster.api.kinds import CLAIMS, STORAGE_CLASSES, VOLUMES
from muster.cluster.classes import NodeRules
from muster.cluster.nodes import NodeTable, Rows
from muster.framework.contract import Bools, RuleFilter
from muster.plugins.volume_supply import sites, volume_need
from muster.volumes.masks import Masks
from muster.volumes.nodes import WRONG_ZONE, InZone


class VolumeZone(RuleFilter):
    name = "VolumeZone"
    reason = WRONG_ZONE
    reads = (CLAIMS, VOLUMES, STORAGE_CLASSES)

    def admits(self, rules: NodeRules, nodes: NodeTable, rows: Rows | None) -> Bools:
        need = volume_need(rules.needs)
        if need is None or not need.need.zones:
            return np.ones(nodes.capacity if rows is None else len(rows), np.bool_)
        return Masks(sites(nodes, rows)).of(InZone(need.need.zones))
