"""Some nodes belong to a team: nobody else's pods go there, and its own go there first."""

from collections.abc import Mapping
from typing import Any

from muster.framework.plugin import NodeInfo, Plugin, Pod


class TeamNodes(Plugin):
    """Whose a node or a pod is stands in a label: `example.com/team`, or as the argument `label` says."""

    def __init__(self, args: Mapping[str, Any]) -> None:
        super().__init__(args)
        self.label: str = args.get("label", "example.com/team")

    # Called once for each pod.  What it returns is handed to the methods below, and is all that they know of the pod:
    # two pods for which it returns the same are treated the same.
    def pre_filter(self, pod: Pod) -> str:
        return pod.metadata.labels.get(self.label, "")

    # Called for each node: None if the pod may go there, else why not.  People read that in `kubectl describe pod`,
    # after the number of nodes that gave this answer.
    def filter(self, team: str, node: NodeInfo) -> str | None:
        owner = node.labels.get(self.label)
        return None if owner in (None, team) else "node(s) belonged to other teams"

    # Called for each node that is left: 0 to 100, more is better.  Times a weight it is added to what others say.
    def score(self, team: str, node: NodeInfo, prepared: None) -> int:
        return 100 if node.labels.get(self.label) == team else 0
