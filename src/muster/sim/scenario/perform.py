"""Carries a scenario's actions out on a world in virtual time."""

from __future__ import annotations

from functools import singledispatchmethod

from msgspec.structs import replace

from muster.api.kinds import KINDS, Address
from muster.api.wire import GangPolicy, Node, Pod, PodDisruptionBudget, PodGroup, PriorityClass, Taint, read
from muster.base.errors import ObjectError
from muster.engine.decisions import Placement
from muster.gangs.dialects import gang_of
from muster.sim.faults import BindFate, Faults
from muster.sim.scenario import manifests
from muster.sim.scenario.actions import (
    Action,
    ChangeBudget,
    ChangeGang,
    ChangeNode,
    Create,
    Delete,
    DisturbBinds,
    Drain,
    EndPods,
    LabelPods,
    LoseNode,
    Ref,
    RefKind,
    Restart,
    Ungate,
)
from muster.sim.scenario.manifests import Manifest
from muster.sim.world import World

_READ = {kind.resource.kind: kind for kind in KINDS.values()}
"""By the name that manifests have for it."""


class ScenarioFaults(Faults):
    """Binds come late or fail as steps have ordered; the first order that matches counts."""

    def __init__(self) -> None:
        self._orders: list[DisturbBinds] = []
        self._lost: tuple[Ref, ...] = ()

    def order(self, order: DisturbBinds) -> None:
        self._orders.append(order)

    def losing(self, lost: tuple[Ref, ...]) -> None:
        """Binds in flight that the next restart loses."""
        self._lost = lost

    def bind(self, placement: Placement, now: float) -> BindFate:
        for index, order in enumerate(self._orders):
            if self._concerns(order.what, placement):
                if order.times is not None:
                    left = [replace(order, times=order.times - 1)] if order.times > 1 else []
                    self._orders[index : index + 1] = left
                return BindFate(order.delay_seconds, order.failure)
        return BindFate()

    def survives_restart(self, placement: Placement) -> bool:
        return not any(self._concerns(ref, placement) for ref in self._lost)

    def _concerns(self, what: Ref, placement: Placement) -> bool:
        if what.kind is RefKind.NODE:
            return placement.node == what.key
        if what.kind is RefKind.POD:
            return placement.pod == what.key
        return placement.bound_for.gang == what.key


class Hands:
    """Does to the world what a step says.  ObjectError where an API server would refuse."""

    def __init__(self, world: World, faults: ScenarioFaults) -> None:
        self._world = world
        self._faults = faults

    def perform(self, action: Action) -> None:
        self._do(action)

    @singledispatchmethod
    def _do(self, action: object) -> None:
        raise AssertionError(f"nobody knows how to do {action}")

    @_do.register
    def _(self, action: Create) -> None:
        for manifest in action.manifests:
            self._create(manifest)

    def _create(self, manifest: Manifest) -> None:
        world = self._world
        kind = manifest["kind"]
        if kind == "Pod":
            world.create_pod(read(Pod, manifest))
        elif kind == "PodGroup":
            world.create_group(read(PodGroup, manifest))
        elif kind == "PriorityClass":
            world.put_priority_class(read(PriorityClass, manifest))
        elif kind == "PodDisruptionBudget":
            if manifests.key(manifest) in world.budgets:
                raise ObjectError(f'poddisruptionbudgets "{manifest["metadata"]["name"]}" already exists')
            world.put_budget(read(PodDisruptionBudget, manifest))
        elif kind in _READ:
            address = Address(_READ[kind].name, manifests.key(manifest))
            if address in world.facts:
                raise ObjectError(f'{address.kind} "{manifest["metadata"]["name"]}" already exists')
            world.put_fact(read(_READ[kind].struct, manifest))
        else:
            node = read(Node, manifest)
            if node.metadata.name in world.nodes:
                raise ObjectError(f'nodes "{node.metadata.name}" already exists')
            world.put_node(node)

    @_do.register
    def _(self, action: Delete) -> None:
        what = action.what
        if what.kind is RefKind.POD:
            self._world.delete_pod(self._pod(what.key).metadata.uid)
            return
        if what.kind is RefKind.BUDGET:
            self._budget(what.key)
            self._world.delete_budget(what.key)
            return
        if what.kind is RefKind.OBJECT:
            kind, _, name = what.key.partition("/")
            address = Address(_READ[kind].name, manifests.key({"kind": kind, "metadata": {"name": name}}))
            if address not in self._world.facts:
                raise ObjectError(f'{address.kind} "{name}" not found')
            self._world.delete_fact(address)
            return
        pods = [] if what.kind is RefKind.GROUP else self._members(what.key)
        if what.key not in self._world.groups and not pods:
            raise ObjectError(f"{what} does not exist")
        self._world.delete_group(what.key)
        for pod in pods:
            self._world.delete_pod(pod.metadata.uid)

    @_do.register
    def _(self, action: LoseNode) -> None:
        self._world.remove_node(action.node)

    @_do.register
    def _(self, action: Drain) -> None:
        node = self._node(action.node)
        self._world.put_node(replace(node, spec=replace(node.spec, unschedulable=True)))
        for pod in list(self._world.pods.values()):
            if pod.spec.node_name == action.node:
                self._world.delete_pod(pod.metadata.uid)

    @_do.register
    def _(self, action: ChangeNode) -> None:
        node = self._node(action.node)
        labels = {key: value for key, value in node.metadata.labels.items() if key not in action.unlabel}
        spec = node.spec
        if action.unschedulable is not None:
            spec = replace(spec, unschedulable=action.unschedulable)
        if action.taints is not None:
            spec = replace(spec, taints=tuple(read(Taint, taint) for taint in action.taints))
        self._world.put_node(
            replace(
                node,
                metadata=replace(node.metadata, labels={**labels, **action.labels}),
                spec=spec,
                status=replace(node.status, allocatable={**node.status.allocatable, **action.allocatable}),
            )
        )

    @_do.register
    def _(self, action: ChangeGang) -> None:
        group = self._world.groups.get(action.gang)
        if group is None:
            raise ObjectError(f'podgroups "{action.gang}" not found')
        meta, spec = group.metadata, group.spec
        if action.minimum is not None:
            policy = replace(spec.scheduling_policy, gang=GangPolicy(min_count=action.minimum), basic=None)
            spec = replace(spec, scheduling_policy=policy)
        meta = replace(meta, annotations={**meta.annotations, **action.annotations})
        self._world.change_group(replace(group, metadata=meta, spec=spec))

    @_do.register
    def _(self, action: ChangeBudget) -> None:
        budget = self._budget(action.budget)
        self._world.put_budget(replace(budget, status=replace(budget.status, disruptions_allowed=action.allowed)))

    @_do.register
    def _(self, action: EndPods) -> None:
        what = action.what
        pods = [self._pod(what.key)] if what.kind is RefKind.POD else self._members(what.key)
        running = [pod for pod in pods if pod.status.phase == "Running"]
        if not running:
            raise ObjectError(f"{what} does not run")
        for pod in running:
            self._world.end_pod(pod.metadata.uid, failed=action.failed, reason=action.reason)

    @_do.register
    def _(self, action: Ungate) -> None:
        for pod in self._pods(action.what):
            self._world.change_pod(replace(pod, spec=replace(pod.spec, scheduling_gates=())))

    @_do.register
    def _(self, action: LabelPods) -> None:
        for pod in self._pods(action.what):
            merged: dict[str, str | None] = {**pod.metadata.labels, **action.labels}
            labels = {key: value for key, value in merged.items() if value is not None}
            self._world.change_pod(replace(pod, metadata=replace(pod.metadata, labels=labels)))

    @_do.register
    def _(self, action: DisturbBinds) -> None:
        self._faults.order(action)

    @_do.register
    def _(self, action: Restart) -> None:
        self._faults.losing(action.lost)
        self._world.restart()

    # --- finding ---

    def _pods(self, what: Ref) -> list[Pod]:
        pods = [self._pod(what.key)] if what.kind is RefKind.POD else self._members(what.key)
        if not pods:
            raise ObjectError(f"{what} has no pods")
        return pods

    def _pod(self, key: str) -> Pod:
        pod = self._world.find_pod(key)
        if pod is None:
            raise ObjectError(f'pods "{key}" not found')
        return pod

    def _members(self, gang: str) -> list[Pod]:
        return [pod for pod in self._world.pods.values() if gang_of(pod, self._world.groups) == gang]

    def _budget(self, key: str) -> PodDisruptionBudget:
        budget = self._world.budgets.get(key)
        if budget is None:
            raise ObjectError(f'poddisruptionbudgets "{key}" not found')
        return budget

    def _node(self, name: str) -> Node:
        node = self._world.nodes.get(name)
        if node is None:
            raise ObjectError(f'nodes "{name}" not found')
        return node
