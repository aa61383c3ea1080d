"""Everything the engine knows of a cluster, and the one place that counts pods onto nodes."""

from __future__ import annotations

from collections.abc import Mapping

from muster.api.wire import Node, Pod
from muster.cluster.budgets import Budgets
from muster.cluster.classes import ClassTable, PodClass
from muster.cluster.gangs import GangState
from muster.cluster.nodes import NodeTable
from muster.cluster.pods import PodState
from muster.cluster.resources import ResourceNames
from muster.cluster.usage import RowState


class Cluster:
    """Nodes, pods, classes and gangs.

    Objects may come in any order: a pod may run on a node that is not known yet, and is counted when the node
    comes.  `on_node` has every pod that takes room, by node name.
    """

    def __init__(self, *, states: Mapping[str, RowState]) -> None:
        self.resources = ResourceNames()
        self.classes = ClassTable(self.resources)
        self.nodes = NodeTable(self.resources, states=states)
        self.pods: dict[str, PodState] = {}
        self.gangs: dict[str, GangState] = {}
        self.on_node: dict[str, dict[str, PodState]] = {}
        self.budgets = Budgets()

    def class_of(self, pod: Pod) -> PodClass:
        return self.classes.of(pod)

    def put_node(self, node: Node) -> None:
        known = self.nodes.rows.get(node.metadata.name)
        if known is not None and self.nodes.nodes[known] == node:
            # kubelets report every few minutes, mostly nothing that we read
            return
        row = self.nodes.put(node)
        for pod in self.on_node.get(node.metadata.name, {}).values():
            self.nodes.usage.add(row, pod.pod_class)

    def remove_node(self, name: str) -> None:
        if name in self.nodes.rows:
            self.nodes.remove(name)

    def occupy(self, pod: PodState, node: str) -> None:
        """The pod takes its room on the node."""
        self.note(pod, node)
        row = self.nodes.rows.get(node)
        if row is not None:
            self.nodes.usage.add(row, pod.pod_class)

    def note(self, pod: PodState, node: str) -> None:
        """The pod is on the node; whoever calls has counted, or counts, its room."""
        pod.node = node
        there = self.on_node.get(node)
        if there is None:
            there = self.on_node[node] = {}
        there[pod.uid] = pod

    def vacate(self, pod: PodState) -> None:
        """The pod gives its room back."""
        there = self.on_node[pod.node]
        del there[pod.uid]
        if not there:
            del self.on_node[pod.node]
        row = self.nodes.rows.get(pod.node)
        if row is not None:
            self.nodes.usage.remove(row, pod.pod_class)
        pod.node = ""

    def gang(self, key: str) -> GangState:
        found = self.gangs.get(key)
        if found is None:
            found = self.gangs[key] = GangState(key)
        return found

    def forget_if_empty(self, gang: GangState) -> None:
        if gang.empty:
            self.gangs.pop(gang.key, None)
