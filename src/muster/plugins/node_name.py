"""NodeName: a pod that names its node fits nowhere else.

Pods that are to be decided name none, so this refuses nobody but whom somebody wonders about.
"""

from __future__ import annotations

import numpy as np

from muster.cluster.classes import NodeRules
from muster.cluster.nodes import NodeTable, Rows
from muster.framework.contract import Bools, RuleFilter


class NodeName(RuleFilter):
    name = "NodeName"
    reason = "node(s) didn't match the requested node name"

    def admits(self, rules: NodeRules, nodes: NodeTable, rows: Rows | None) -> Bools:
        asked = np.arange(nodes.capacity) if rows is None else rows
        if not rules.node_name:
            return np.ones(len(asked), np.bool_)
        named: Bools = asked == nodes.rows.get(rules.node_name, -1)
        return named
