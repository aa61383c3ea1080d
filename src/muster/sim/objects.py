"""The objects an API server would keep, in virtual time, and what users, controllers and kubelets do with them."""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from typing import TypeVar

from msgspec.structs import replace

from muster.api.kinds import Address, address_of, kind_of
from muster.api.times import stamp
from muster.api.wire import (
    Condition,
    Fact,
    Metadata,
    Node,
    Pod,
    PodDisruptionBudget,
    PodGroup,
    PodGroupSpec,
    PodSpec,
    PriorityClass,
)
from muster.base.errors import ObjectError
from muster.engine.changes import (
    BudgetGone,
    BudgetSeen,
    Change,
    FactGone,
    FactSeen,
    GroupGone,
    GroupSeen,
    NodeGone,
    NodeSeen,
    PodGone,
    PodSeen,
)
from muster.gangs.record import BOUND_FOR, BoundFor
from muster.sim.faults import Faults
from muster.sim.kubelets import Kubelets
from muster.sim.plain import ENDED, unit_of

RUN_SECONDS = "muster.dev/run-seconds"
EXIT_CODE = "muster.dev/exit-code"
STOP_SECONDS = "muster.dev/stop-seconds"

# The pod garbage collector takes 40 s or more to take a pod that was bound to a node that is not there; long enough
# for it to be seen bound is all that matters here
ORPHAN_SECONDS = 1.0

# what the API server itself says of such a pod
_GATED = Condition(
    type="PodScheduled",
    status="False",
    reason="SchedulingGated",
    message="Scheduling is blocked due to non-empty scheduling gates",
)
_DEFAULT_GRACE_SECONDS = 30

_Spec = TypeVar("_Spec", PodSpec, PodGroupSpec)


class Objects(ABC):
    """The truth, as an API server keeps it; whoever should hear of a change is told by `_tell`."""

    def __init__(self, *, start: float, faults: Faults) -> None:
        self.now = start
        self.faults = faults
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, Pod] = {}
        """By UID."""
        self._uids: dict[str, str] = {}
        """By namespace/name."""
        self.groups: dict[str, PodGroup] = {}
        """By namespace/name."""
        self.groups_told: dict[str, PodGroup] = {}
        """As schedulers know them: without changes that they have not been told of, but with what is said on them."""
        self.group_versions: Counter[str] = Counter()
        """By namespace/name: how often the group came, changed or went..."""
        self.versions_told: Counter[str] = Counter()
        """...and how much of that the schedulers know."""
        self.born_under: dict[str, tuple[int, PodGroup | None]] = {}
        """By UID of a pod: its group, and that one's version, when it was created."""
        self.budgets: dict[str, PodDisruptionBudget] = {}
        """By namespace/name."""
        self.facts: dict[Address, Fact] = {}
        """Objects of the kinds that plugins read."""
        self.priority_classes: dict[str, PriorityClass] = {}
        self._leaving: set[str] = set()
        """UIDs of pods that kubelets are stopping."""
        self._kubelets = Kubelets()
        self._agenda: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = 0

    # --- time ---

    def at(self, time: float, action: Callable[[], None]) -> None:
        """Does `action` at `time`; actions of the same instant happen in the order of these calls."""
        heapq.heappush(self._agenda, (time, self._number(), action))

    def _due(self) -> list[Callable[[], None]]:
        """What is to be done now; what that leads to at once comes after the scheduler has looked."""
        due = []
        while self._agenda and self._agenda[0][0] <= self.now:
            due.append(heapq.heappop(self._agenda)[2])
        return due

    @property
    def next_event(self) -> float | None:
        """When the next thing happens that is not the scheduler's own idea; None if nothing is planned."""
        return self._agenda[0][0] if self._agenda else None

    # --- what users and controllers do ---

    def put_node(self, node: Node) -> None:
        self.nodes[node.metadata.name] = node
        self._tell(NodeSeen(node))

    def remove_node(self, name: str) -> None:
        """The node goes, and with it, as the pod garbage collector sees to it, the pods bound to it."""
        if self.nodes.pop(name, None) is None:
            raise ObjectError(f'nodes "{name}" not found')
        self._tell(NodeGone(name))
        for uid in [uid for uid, pod in self.pods.items() if pod.spec.node_name == name]:
            self._remove_pod(uid)

    def put_priority_class(self, priority_class: PriorityClass) -> None:
        self.priority_classes[priority_class.metadata.name] = priority_class

    def put_budget(self, budget: PodDisruptionBudget) -> str:
        """Stores a budget, new or changed, and returns its key; nobody but the caller counts its disruptions."""
        key = _key(replace(budget.metadata, namespace=budget.metadata.namespace or "default"))
        known = self.budgets.get(key)
        metadata = self._admitted(budget.metadata) if known is None else known.metadata
        self.budgets[key] = replace(budget, metadata=metadata)
        self._tell(BudgetSeen(self.budgets[key]))
        return key

    def delete_budget(self, key: str) -> None:
        if self.budgets.pop(key, None) is not None:
            self._tell(BudgetGone(key))

    def put_fact(self, fact: Fact) -> Address:
        """Stores an object of a kind that plugins read, new or changed."""
        if kind_of(fact).resource.namespaced:
            fact = replace(fact, metadata=replace(fact.metadata, namespace=fact.metadata.namespace or "default"))
        address = address_of(fact)
        known = self.facts.get(address)
        uid = f"{self._number():08d}-{fact.metadata.name}" if known is None else known.metadata.uid
        self.facts[address] = fact = replace(fact, metadata=replace(fact.metadata, uid=uid))
        self._tell(FactSeen(fact))
        return address

    def delete_fact(self, address: Address) -> None:
        if self.facts.pop(address, None) is not None:
            self._tell(FactGone(*address))

    def create_group(self, group: PodGroup, *, custom: bool = False) -> str:
        """Stores a new group as the API server would; returns its key.

        A custom one has no priority if it names none: Kubernetes fills in that of its own groups alone.
        """
        spec = group.spec if custom else self._prioritised(group.spec)
        group = replace(group, metadata=self._admitted(group.metadata), spec=spec)
        key = _key(group.metadata)
        if key in self.groups:
            raise ObjectError(f'podgroups "{group.metadata.name}" already exists')
        self.groups[key] = group
        self._tell_group(key)
        return key

    def change_group(self, group: PodGroup) -> None:
        """Replaces an existing group's spec or metadata; its status stays."""
        key = _key(group.metadata)
        self.groups[key] = replace(group, status=self.groups[key].status)
        self._tell_group(key, late=self.faults.group_lag(key))

    def delete_group(self, key: str) -> None:
        if self.groups.pop(key, None) is not None:
            self._tell_group(key)

    def _tell_group(self, key: str, *, late: float = 0.0) -> None:
        """What became of the group now; who has been told something newer by then is not told any more."""
        self.group_versions[key] += 1
        version, group = self.group_versions[key], self.groups.get(key)

        def tell() -> None:
            if self.versions_told[key] >= version:
                return
            self.versions_told[key] = version
            if group is None:
                self.groups_told.pop(key, None)
                self._tell(GroupGone(key))
            else:
                # what schedulers write themselves they know
                self.groups_told[key] = replace(group, status=self.groups[key].status)
                self._tell(GroupSeen(self.groups_told[key]))

        if late > 0:
            self.at(self.now + late, tell)
        else:
            tell()

    def create_pod(self, pod: Pod) -> str:
        """Stores a new pod as the API server would; returns its UID."""
        pod = replace(pod, metadata=self._admitted(pod.metadata), spec=self._prioritised(pod.spec))
        if _key(pod.metadata) in self._uids:
            raise ObjectError(f'pods "{pod.metadata.name}" already exists')
        if pod.spec.scheduling_gates:
            pod = with_condition(pod, replace(_GATED, last_transition_time=stamp(self.now)))
        unit = unit_of(pod)
        self.born_under[pod.metadata.uid] = self.group_versions[unit], self.groups.get(unit)
        self._put_pod(pod)
        if pod.spec.node_name:
            self._arrive(pod)
        return pod.metadata.uid

    def change_pod(self, pod: Pod) -> None:
        self._put_pod(pod)

    def delete_pod(self, uid: str) -> None:
        """A pod that runs is told to stop, and goes when it has; others go at once.  Once is enough."""
        pod = self.pods.get(uid)
        if pod is None or uid in self._leaving:
            return
        meta, grace = pod.metadata, grace_seconds(pod)
        stops = pod.spec.node_name and pod.status.phase not in ENDED and meta.deletion_timestamp is None
        if not stops or not grace:
            self._remove_pod(uid)
            return
        self._leaving.add(uid)
        self._put_pod(replace(pod, metadata=replace(meta, deletion_timestamp=stamp(self.now + grace))))
        if seconds := stop_seconds(pod):
            self.at(self.now + seconds, lambda: self._remove_pod(uid))
        else:
            self._remove_pod(uid)

    def end_pod(self, uid: str, *, failed: bool, reason: str = "") -> None:
        """A pod that runs comes to its end; nothing happens to others."""
        pod = self.pods.get(uid)
        if pod is None or pod.status.phase != "Running":
            return
        self._put_pod(replace(pod, status=replace(pod.status, phase=ENDED[failed], reason=reason)))
        if uid in self._leaving:
            self._remove_pod(uid)

    def find_pod(self, key: str) -> Pod | None:
        """The pod of that namespace/name."""
        uid = self._uids.get(key)
        return None if uid is None else self.pods[uid]

    # --- what a scheduler reads and writes ---

    def objects(self) -> list[Change]:
        """What a scheduler reads first."""
        objects: list[Change] = [NodeSeen(node) for node in self.nodes.values()]
        objects += [FactSeen(fact) for fact in self.facts.values()]
        objects += [GroupSeen(group) for group in self.groups.values()]
        objects += [BudgetSeen(budget) for budget in self.budgets.values()]
        objects += [PodSeen(pod) for pod in self.pods.values()]
        return objects

    def _land(self, uid: str, node: str, record: BoundFor | None) -> None:
        """The API server stores the bind, whether or not the node still exists, and what comes with it."""
        pod = self.pods.get(uid)
        if pod is None or pod.spec.node_name:
            return
        scheduled = Condition(type="PodScheduled", status="True", last_transition_time=stamp(self.now))
        pod = with_condition(pod, scheduled)
        status = replace(pod.status, nominated_node_name="")
        noted = {} if record is None else {BOUND_FOR: record.text}
        meta = replace(pod.metadata, annotations={**pod.metadata.annotations, **noted})
        pod = replace(pod, metadata=meta, spec=replace(pod.spec, node_name=node), status=status)
        self._put_pod(pod)
        self._arrive(pod)

    def _catch_up(self, key: str) -> None:
        """All are told what there is to know of the group; one of them has read it, and knows it ahead of the watch."""
        if self.versions_told[key] < self.group_versions[key]:
            self._tell_group(key)

    # --- kubelets ---

    def _arrive(self, pod: Pod) -> None:
        """The pod has a node: its kubelet takes it in, or if there is none the garbage collector does."""
        if pod.spec.node_name in self.nodes:
            self._start(pod)
        else:
            self.at(self.now + ORPHAN_SECONDS, lambda: self._collect(pod.metadata.uid))

    def _collect(self, uid: str) -> None:
        pod = self.pods.get(uid)
        if pod is not None and pod.spec.node_name not in self.nodes:
            self._remove_pod(uid)
        elif pod is not None and pod.status.phase == "Pending":
            self._start(pod)

    def _start(self, pod: Pod) -> None:
        """The pod runs, and ends by itself if it says after how many seconds; unless the kubelet refuses it."""
        uid = pod.metadata.uid
        refusal = self._kubelets.take_in(pod, self.nodes[pod.spec.node_name])
        if refusal:
            # everybody has seen it bound by then
            self.at(self.now, lambda: self._report(uid, "Failed", reason=refusal))
            return
        self._report(uid, "Running")
        seconds = pod.metadata.annotations.get(RUN_SECONDS)
        if seconds is not None:
            self.at(self.now + float(seconds), lambda: self._end(uid))

    def _report(self, uid: str, phase: str, *, reason: str = "") -> None:
        pod = self.pods.get(uid)
        if pod is not None:
            status = replace(pod.status, phase=phase, reason=reason, start_time=stamp(self.now))
            self._put_pod(replace(pod, status=status))

    def _end(self, uid: str) -> None:
        pod = self.pods.get(uid)
        if pod is not None:
            self.end_pod(uid, failed=pod.metadata.annotations.get(EXIT_CODE, "0") != "0")

    # --- storing ---

    @abstractmethod
    def _tell(self, change: Change) -> None:
        """Somebody may want to know."""

    def _put_pod(self, pod: Pod) -> None:
        self.pods[pod.metadata.uid] = pod
        self._uids[_key(pod.metadata)] = pod.metadata.uid
        if pod.status.phase in ENDED:
            self._kubelets.let_go(pod.metadata.uid)
        else:
            self._kubelets.changed(pod)
        self._tell(PodSeen(pod))

    def _remove_pod(self, uid: str) -> None:
        pod = self.pods.pop(uid, None)
        if pod is not None:
            del self._uids[_key(pod.metadata)]
            self._leaving.discard(uid)
            self._kubelets.let_go(uid)
            self._tell(PodGone(uid))

    def _admitted(self, meta: Metadata) -> Metadata:
        """Metadata as the API server completes it; UIDs follow the order of creation."""
        number = self._number()
        return replace(
            meta,
            namespace=meta.namespace or "default",
            uid=meta.uid or f"{number:08d}-{meta.name}",
            creation_timestamp=meta.creation_timestamp or stamp(self.now),
        )

    def _prioritised(self, spec: _Spec) -> _Spec:
        """What the Priority admission plugin makes of it."""
        classes, name = self.priority_classes, spec.priority_class_name
        if name and name not in classes:
            raise ObjectError(f"no PriorityClass with name {name} was found")
        if not name and spec.priority is not None:
            return spec
        found = classes.get(name) or next((c for c in classes.values() if c.global_default), None)
        if found is None:
            return replace(spec, priority=0)
        return replace(spec, priority=found.value, preemption_policy=found.preemption_policy or spec.preemption_policy)

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers


def _key(meta: Metadata) -> str:
    return f"{meta.namespace}/{meta.name}"


def grace_seconds(pod: Pod) -> int:
    """How long a pod may take to stop."""
    asked = pod.spec.termination_grace_period_seconds
    return _DEFAULT_GRACE_SECONDS if asked is None else asked


def stop_seconds(pod: Pod) -> float:
    """How long a pod takes to stop when it is told to; 0 if it has nothing to stop."""
    if not pod.spec.node_name or pod.status.phase in ENDED:
        return 0.0
    return min(float(pod.metadata.annotations.get(STOP_SECONDS, "0")), grace_seconds(pod))


def with_condition(pod: Pod, condition: Condition) -> Pod:
    kept = tuple(c for c in pod.status.conditions if c.type != condition.type)
    return replace(pod, status=replace(pod.status, conditions=(*kept, condition)))
