"""TaintToleration: keeps pods off taints they do not tolerate, and prefers nodes without such soft taints."""

from __future__ import annotations

import numpy as np

from muster.cluster.classes import NodeRules
from muster.cluster.nodes import NodeTable, Rows
from muster.cluster.usage import Ints
from muster.framework.contract import Bools, RuleFilter, RuleScore
from muster.plugins.tolerations import tolerated

_HARD = ("NoSchedule", "NoExecute")
_SOFT = "PreferNoSchedule"


class TaintToleration(RuleFilter, RuleScore):
    """Nodes share few sets of taints: each set is judged once, the nodes look their set up."""

    name = "TaintToleration"
    reason = "node(s) had untolerated taint(s)"
    reverse = True

    def admits(self, rules: NodeRules, nodes: NodeTable, rows: Rows | None) -> Bools:
        return nodes.taints.look_up(
            lambda taints: all(taint.effect not in _HARD or tolerated(taint, rules.tolerations) for taint in taints),
            rows,
            missing=np.bool_(True),
        )

    def raw(self, rules: NodeRules, nodes: NodeTable, rows: Rows | None) -> Ints | None:
        soft = [t for t in rules.tolerations if t.effect in ("", _SOFT)]
        return nodes.taints.look_up(
            lambda taints: sum(taint.effect == _SOFT and not tolerated(taint, soft) for taint in taints),
            rows,
            missing=np.int64(0),
        )
