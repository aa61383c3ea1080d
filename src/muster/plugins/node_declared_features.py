"""NodeDeclaredFeatures: a pod goes where the kubelet has the features that it cannot do without."""

from __future__ import annotations

import numpy as np

from muster.cluster.classes import NodeRules
from muster.cluster.nodes import NodeTable, Rows
from muster.framework.contract import Bools, RuleFilter


class NodeDeclaredFeatures(RuleFilter):
    """Nodes share few sets of features: each set is judged once, the nodes look their set up."""

    name = "NodeDeclaredFeatures"
    reason = "node(s) didn't match Pod's required features"

    def admits(self, rules: NodeRules, nodes: NodeTable, rows: Rows | None) -> Bools:
        if not rules.features:
            return np.ones(nodes.capacity if rows is None else len(rows), np.bool_)
        return nodes.features.look_up(frozenset(rules.features).issubset, rows, missing=np.bool_(False))
