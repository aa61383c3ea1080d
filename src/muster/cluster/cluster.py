"""Everything the engine knows of a cluster, and the one place that counts pods onto nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from muster.api.kinds import NAMESPACES
from muster.api.wire import Namespace, Node
from muster.cluster.budgets import Budgets
from muster.cluster.census import Aside, Bearing
from muster.cluster.classes import ClassTable, Ignores, PodClass
from muster.cluster.drivers import DriverFacts
from muster.cluster.facts import Facts
from muster.cluster.gangs import GangState
from muster.cluster.levels import Levels
from muster.cluster.nodes import NodeTable
from muster.cluster.pods import PodState
from muster.cluster.resources import ResourceNames
from muster.cluster.ties import Namespaces
from muster.cluster.traits import TraitReader
from muster.cluster.usage import RowState


class Cluster:
    """Nodes, pods, classes and gangs.

    Objects may come in any order: a pod may run on a node that is not known yet, and is counted when the node
    comes.  `on_node` has every pod that takes room, by node name.
    """

    def __init__(
        self,
        *,
        states: Mapping[str, RowState],
        readers: Sequence[TraitReader] = (),
        profiles: Mapping[str, int] | None = None,
        ignores: Ignores = lambda profile, resource: False,
    ) -> None:
        self.resources = ResourceNames()
        self.classes = ClassTable(self.resources, readers, profiles or {}, ignores=ignores)
        self.facts = Facts()
        self.namespaces = Namespaces()
        self.facts.tell(NAMESPACES, self._namespace_changed)
        self.nodes = NodeTable(self.resources, states=states, namespaces=self.namespaces)
        self._drivers = DriverFacts(self.facts, self.nodes.rows, self.nodes.drivers, self._drivers_changed)
        self.pods: dict[str, PodState] = {}
        self.gangs: dict[str, GangState] = {}
        self.on_node: dict[str, dict[str, PodState]] = {}
        self.reserved_on: dict[str, dict[str, PodState]] = {}
        """Pods for which room is reserved, by node name: it counts as taken."""
        self._reserved_far: dict[str, str] = {}
        """Those of them whom pods on other nodes may keep from theirs: UID, and unit."""
        self.leaving: dict[str, PodState] = {}
        """Pods that take room and are on their way out."""
        self.departing: set[str] = set()
        """UIDs of those of them that surely go: who is condemned may be spared, and counts till then."""
        self.returning_to: frozenset[str] = frozenset()
        """Nodes that will have more to give, since pods are gone that had it, and have not got it back yet."""
        self.levels = Levels()
        self.lasting: dict[str, PodState] = {}
        """Pods that take room and belong to their node."""
        self.lasting_version = 0
        self.stirred: dict[str, None] = {}
        """Units (gang or pod UID) for which room is reserved on nodes where something changed; to be emptied."""
        self.disturbed: set[int] = set()
        """Rows on which pods came, went or changed; to be emptied."""
        self.budgets = Budgets()
        self.eased = False
        """Somebody has become less important; to be set back."""
        self.version = 0
        """Changes with every pod that comes to a node, leaves one or begins to, and with every node."""

    def put_node(self, node: Node) -> None:
        known = self.nodes.rows.get(node.metadata.name)
        if known is not None and self.nodes.nodes[known] == node:
            # kubelets report every few minutes, mostly nothing that we read
            return
        row = self.nodes.put(node)
        if known is None:
            self._drivers.came(node.metadata.name)
        self.version += 1
        for pod in self.on_node.get(node.metadata.name, {}).values():
            self.nodes.usage.add(row, pod.pod_class)
            if pod.uid in self.departing:
                self.nodes.usage.leave(row, pod.pod_class)
            if known is None:
                self.levels.add(pod, row, 1)
        for pod in self.reserved_on.get(node.metadata.name, {}).values():
            self.nodes.usage.add(row, pod.pod_class, aside=Aside.AWAITED)
        self._stir(node.metadata.name)

    def remove_node(self, name: str) -> None:
        if name in self.nodes.rows:
            for pod in self.on_node.get(name, {}).values():
                self.levels.add(pod, self.nodes.rows[name], -1)
            self.disturbed.add(self.nodes.rows[name])
            self.nodes.remove(name)
            self.version += 1
            self._stir(name)

    def occupy(self, pod: PodState, node: str) -> None:
        """The pod takes its room on the node."""
        self.note(pod, node)
        row = self.nodes.rows.get(node)
        if row is not None:
            self.nodes.usage.add(row, pod.pod_class)
            if pod.uid in self.departing:
                self.nodes.usage.leave(row, pod.pod_class)

    def note(self, pod: PodState, node: str) -> None:
        """The pod is on the node; whoever calls has counted, or counts, its room."""
        self.version += 1
        row = self.nodes.rows.get(node)
        pod.node, pod.stranded = node, row is None
        pod.level = pod.priority
        if pod.gang is not None and (gang := self.gangs.get(pod.gang)) is not None:
            # where members differ more may be to it: see `relevel`
            pod.level = max(gang.priority, pod.priority)
        if row is not None:
            self.levels.add(pod, row, 1)
            self.disturbed.add(row)
        if pod.leaving:
            self.leaving[pod.uid] = pod
            if pod.condemned is None:
                self.departing.add(pod.uid)
        if pod.lasting:
            self.lasting[pod.uid] = pod
            self.lasting_version += 1
        if self.reserved_on:
            self._stir(node)
        there = self.on_node.get(node)
        if there is None:
            there = self.on_node[node] = {}
        there[pod.uid] = pod

    def vacate(self, pod: PodState) -> None:
        """The pod gives its room back."""
        self.version += 1
        self.leaving.pop(pod.uid, None)
        departing = pod.uid in self.departing
        self.departing.discard(pod.uid)
        if pod.lasting:
            self.lasting.pop(pod.uid, None)
            self.lasting_version += 1
        if self.reserved_on:
            self._stir(pod.node)
            self._stir_far_from(pod)
        there = self.on_node[pod.node]
        del there[pod.uid]
        if not there:
            del self.on_node[pod.node]
        row = self.nodes.rows.get(pod.node)
        if row is not None:
            self.nodes.usage.remove(row, pod.pod_class, aside=Aside.LEAVING if departing else None)
            self.levels.add(pod, row, -1)
            self.disturbed.add(row)
        pod.node, pod.stranded = "", False

    def relevel(self, gang: GangState) -> None:
        """What the gang declares, or who is in it, has changed: its members can perhaps be evicted at another level."""
        placed = [pod for pod in gang.members.values() if pod.takes_room]
        least = gang.level if placed else 0
        for pod in placed:
            if pod.level != (level := max(least, pod.priority)):
                row = self.nodes.rows.get(pod.node)
                if row is not None:
                    self.levels.add(pod, row, -1)
                self.eased |= level < pod.level
                self.version += 1
                pod.level = level
                if row is not None:
                    self.levels.add(pod, row, 1)

    def touch(self, node: str, *, more: bool) -> None:
        """The node has other things to give than room, perhaps `more` of them, than before."""
        row = self.nodes.rows.get(node)
        if row is not None:
            self.version += 1
            self.nodes.usage.touch(row, more=more)
            self._stir(node)

    def leave(self, pod: PodState) -> None:
        """The pod is on its way out; it takes its room until it is gone."""
        self.version += 1
        pod.leaving = True
        if pod.takes_room:
            self.leaving[pod.uid] = pod
            if pod.condemned is None and pod.uid not in self.departing:
                self.departing.add(pod.uid)
                self._count_departing(pod, 1)
        self.disturb(pod)

    def _count_departing(self, pod: PodState, by: int) -> None:
        row = self.nodes.rows.get(pod.node)
        if row is not None:
            self.nodes.usage.leave(row, pod.pod_class, by)

    def disturb(self, pod: PodState) -> None:
        """Something about the pod has changed that those on its node are told apart by."""
        row = self.nodes.rows.get(pod.node)
        if row is not None:
            self.disturbed.add(row)

    def stay(self, pod: PodState) -> None:
        """The pod is not on its way out after all."""
        self.version += 1
        pod.leaving = False
        self.leaving.pop(pod.uid, None)
        if pod.uid in self.departing:
            self.departing.discard(pod.uid)
            self._count_departing(pod, -1)
        self.disturb(pod)
        # who counted on its leaving must look again, and whoever could evict it may
        self._stir(pod.node)
        self._stir_far_from(pod)
        self.eased = True

    def retie(self, pod: PodState, pod_class: PodClass) -> None:
        """The pod shows others more than before, and needs what it did."""
        before, pod.pod_class = pod.pod_class.ties, pod_class
        leaving = Aside.LEAVING if pod.uid in self.departing else None
        for node, aside in ((pod.node, leaving), (pod.reserved, Aside.AWAITED)):
            row = self.nodes.rows.get(node)
            for ties, by in ((before, -1), (pod_class.ties, 1)):
                if row is not None and ties is not None:
                    self.nodes.usage.census.move(row, ties, aside, by)

    def _namespace_changed(self, name: str, _: Namespace | None, now: Namespace | None) -> None:
        """Rules may choose pods by the labels of their namespaces."""
        if self.namespaces.put(name, {} if now is None else now.metadata.labels):
            self.version += 1
            self.nodes.usage.census.forget()

    def _drivers_changed(self, rows: Iterable[int]) -> None:
        self.version += 1
        self.nodes.drivers_changed(rows)

    # --- room that is reserved ---

    def reserve(self, pod: PodState, node: str) -> None:
        """Room on the node is reserved for the pod: for all others it counts as taken, even if there is none yet."""
        self.version += 1
        pod.reserved = node
        if self.looks_around(pod):
            self._reserved_far[pod.uid] = pod.gang or pod.uid
        self.reserved_on.setdefault(node, {})[pod.uid] = pod
        row = self.nodes.rows.get(node)
        if row is not None:
            self.nodes.usage.add(row, pod.pod_class, aside=Aside.AWAITED)

    def unreserve(self, pod: PodState) -> None:
        """No room is reserved for the pod any more."""
        if not pod.reserved:
            return
        self.version += 1
        there = self.reserved_on[pod.reserved]
        del there[pod.uid]
        self._reserved_far.pop(pod.uid, None)
        if not there:
            del self.reserved_on[pod.reserved]
        row = self.nodes.rows.get(pod.reserved)
        if row is not None:
            self.nodes.usage.remove(row, pod.pod_class, aside=Aside.AWAITED)
        self._stir(pod.reserved)
        pod.reserved = ""

    def lose_reservation(self, pod: PodState) -> None:
        """Room that is reserved for the pod is of no use any more; its unit must look again."""
        if pod.reserved:
            self.stirred[pod.gang or pod.uid] = None
            self.unreserve(pod)

    def _stir(self, node: str) -> None:
        for pod in self.reserved_on.get(node, {}).values():
            self.stirred[pod.gang or pod.uid] = None

    def _stir_far_from(self, pod: PodState) -> None:
        """Units with room reserved on other nodes that may have waited for the pod to leave."""
        if pod.pod_class.ties is not None:
            self.stirred.update(dict.fromkeys(self._reserved_far.values()))

    def looks_around(self, pod: PodState) -> bool:
        """Whether pods anywhere, not on its node alone, can keep the pod from a node."""
        ties = pod.pod_class.ties
        if ties is None:
            return False
        rules = ties.rules
        if rules.together or rules.apart or any(spread.hard for spread in rules.spread) or ties.look.traits:
            return True
        return any(one.bearing is Bearing.APART for one in self.nodes.usage.census.about(ties.look))

    def gang(self, key: str) -> GangState:
        found = self.gangs.get(key)
        if found is None:
            found = self.gangs[key] = GangState(key)
        return found

    def gang_of(self, pod: PodState) -> GangState | None:
        return None if pod.gang is None else self.gangs.get(pod.gang)

    def forget_if_empty(self, gang: GangState) -> None:
        if gang.empty:
            self.gangs.pop(gang.key, None)
