"""NodeUnschedulable: a cordoned node takes only pods that tolerate it."""

from __future__ import annotations

import numpy as np

from muster.api.wire import Taint
from muster.cluster.classes import NodeRules
from muster.cluster.nodes import NodeTable, Rows
from muster.framework.contract import Bools, RuleFilter
from muster.plugins.tolerations import tolerated

_CORDONED = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


class NodeUnschedulable(RuleFilter):
    name = "NodeUnschedulable"
    reason = "node(s) were unschedulable"

    def admits(self, rules: NodeRules, nodes: NodeTable, rows: Rows | None) -> Bools:
        cordoned = nodes.unschedulable if rows is None else nodes.unschedulable[rows]
        if tolerated(_CORDONED, rules.tolerations):
            return np.ones(len(cordoned), np.bool_)
        return ~cordoned
