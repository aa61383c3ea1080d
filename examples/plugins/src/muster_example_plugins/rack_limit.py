"""At most so many pods of an app in a rack, and rather in racks that have few: when a rack goes, not all go with it."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from muster.framework.plugin import Bools, Ints, Nodes, Plugin, Pod


class RackLimit(Plugin):
    """Arguments: `most` pods of an app in a rack (1), and the `label` of nodes that names the rack."""

    # The answers depend on which pods are where: nodes can be asked for that, and answers are not kept.
    watches_pods = True

    def __init__(self, args: Mapping[str, Any]) -> None:
        super().__init__(args)
        self.most: int = args.get("most", 1)
        self.label: str = args.get("label", "example.com/rack")
        if not isinstance(self.most, int) or self.most < 1:
            # told in one line when Muster starts
            raise ValueError(f"most must be a whole number of at least 1, not {self.most!r}")

    def pre_filter(self, pod: Pod) -> tuple[str, str] | None:
        # apps of two teams may have one name; pods without an app are none of our business
        app = pod.metadata.labels.get("app")
        return None if app is None else (pod.metadata.namespace, app)

    # All nodes in one call, as numpy arrays with a row for each: fast on thousands of nodes.
    def filter_nodes(self, app: tuple[str, str], nodes: Nodes) -> list[tuple[str, Bools]]:
        there = nodes.pods_in(self.label, app)  # by row: pods of the app in the rack of that node
        return [("node(s) were in a rack with enough pods of the app", there >= self.most)]

    def score_nodes(self, app: tuple[str, str], nodes: Nodes, takes: Bools) -> Ints:
        free = self.most - nodes.pods_in(self.label, app)
        return np.clip(100 * free // self.most, 0, 100)
