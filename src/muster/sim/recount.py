"""Whether the engine's columns and counters agree with a fresh count of its pods, and its pods with the objects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container

import numpy as np

from muster.api.kinds import KINDS, Address
from muster.api.wire import Fact, Pod
from muster.cluster.census import Aside, Census
from muster.cluster.cluster import Cluster
from muster.cluster.facts import Facts
from muster.cluster.pods import PodState, Stage
from muster.cluster.roll import Roll
from muster.cluster.taken import TakenState
from muster.cluster.usage import Ints
from muster.engine.engine import Engine
from muster.framework.views import Views
from muster.sim.plain import belongs_with
from muster.sim.rules.broken import BrokenRuleError
from muster.sim.world import World

_ByNode = dict[str, dict[str, PodState]]


def recount(world: World, engine: Engine, *, condemned: Container[str] = ()) -> None:
    """Compares everything that is cheap to compare; call it when the engine has been told everything.

    `condemned` are UIDs of pods whose evictions wait.
    """
    cluster = engine.cluster
    _compare("nodes known", "", set(cluster.nodes.rows), set(world.nodes))
    _compare("pods known", "", set(cluster.pods), set(world.pods))
    kinds = (*engine.profiles.reads, *engine.profiles.may_read)
    read = {address: fact for address, fact in world.facts.items() if KINDS[address.kind] in kinds}
    _compare("other objects known", "", _by_address(cluster.facts), read)
    unsure = engine._intake.classing.is_unsure
    for uid, pod in world.pods.items():
        state = cluster.pods[uid]
        _compare_pod(state, pod, world.nodes)
        leaves = pod.metadata.deletion_timestamp is not None or uid in condemned
        _compare("whether it leaves:", state.key, state.leaving, leaves)
        if state.ours and not (unsure or pod.spec.node_name or pod.spec.topology_spread_constraints):
            _compare("by default it is spread among", state.key, _spread_among(state), belongs_with(pod, world.facts))
    _compare_rows(cluster)
    _compare_gangs(cluster)


def _by_address(facts: Facts) -> dict[Address, Fact]:
    return {Address(name, key): fact for name, kind in KINDS.items() for key, fact in facts.all(kind).items()}


def _spread_among(state: PodState) -> set[tuple[str, str, tuple[str, ...]]]:
    spreads = () if state.pod_class.ties is None else state.pod_class.ties.rules.spread
    asked = [one for spread in spreads for one in spread.selection.requirements or ()]
    return {(one.key, one.operator, one.values) for one in asked}


def _compare_pod(state: PodState, pod: Pod, nodes: Container[str]) -> None:
    ended = {"Succeeded": Stage.SUCCEEDED, "Failed": Stage.FAILED}.get(pod.status.phase)
    stage = ended or (Stage.BOUND if pod.spec.node_name else None)
    if stage is None and state.stage not in (Stage.PENDING, Stage.BINDING):
        raise BrokenRuleError("recount", f"{state.key} is {state.stage.name}, the object knows nothing of it")
    if stage is not None and stage is not state.stage:
        raise BrokenRuleError("recount", f"{state.key} is {state.stage.name}, by its object {stage.name}")
    stranded = state.takes_room and state.node not in nodes
    _compare("lost node of", state.key, state.stranded, stranded)
    if stage is Stage.BOUND:
        _compare("node of", state.key, state.node, pod.spec.node_name)
    _compare("gates of", state.key, len(state.gates), len(pod.spec.scheduling_gates))
    if state.reserved:
        # or a scheduler that comes after this one would not keep it
        _compare("room kept for", state.key, state.reserved, pod.status.nominated_node_name)


def _compare_rows(cluster: Cluster) -> None:
    there: _ByNode = {}
    for pod in cluster.pods.values():
        if pod.takes_room:
            there.setdefault(pod.node, {})[pod.uid] = pod
    _compare("pods by node", "", {n: set(p) for n, p in cluster.on_node.items()}, {n: set(p) for n, p in there.items()})
    kept: _ByNode = {}
    for pod in cluster.pods.values():
        if pod.reserved:
            kept.setdefault(pod.reserved, {})[pod.uid] = pod
    _compare("room kept", "", {n: set(p) for n, p in cluster.reserved_on.items()}, {n: set(p) for n, p in kept.items()})
    leaving = {pod.uid for pod in cluster.pods.values() if pod.takes_room and pod.leaving}
    _compare("pods that leave", "", set(cluster.leaving), leaving)
    usage = cluster.nodes.usage
    fresh = {name: type(state)() for name, state in usage.states.items()}
    for name, row in cluster.nodes.rows.items():
        running, awaited = there.get(name, {}).values(), kept.get(name, {}).values()
        _compare_room(cluster, row, running=running, awaited=awaited)
        for pod in (*running, *awaited):
            for state in fresh.values():
                state.add(row, pod.pod_class)
    for name, state in fresh.items():
        _compare("state of", name, _taken(usage.states[name]), _taken(state))
    _compare_census(cluster, there, kept)


def _compare_room(cluster: Cluster, row: int, *, running: Collection[PodState], awaited: Collection[PodState]) -> None:
    name, usage = cluster.nodes.names[row], cluster.nodes.usage
    free = cluster.nodes.allocatable[:, row].tolist()
    scored, reserved = list(free), [0] * len(free)
    for pod in (*running, *awaited):
        for resource, count in pod.pod_class.takes:
            free[resource] -= count
    for pod in running:
        for resource, count in (*pod.pod_class.takes, *pod.pod_class.extra):
            scored[resource] -= count
    for pod in awaited:
        for resource, count in pod.pod_class.takes:
            reserved[resource] += count
    _compare("free room on", name, usage.free[:, row].tolist(), free)
    _compare("scored room on", name, usage.scored[:, row].tolist(), scored)
    known = [0] * len(free) if usage.awaited is None else usage.awaited[:, row].tolist()
    _compare("room reserved on", name, known, reserved)


def _compare_census(cluster: Cluster, there: _ByNode, kept: _ByNode) -> None:
    fresh = Census(cluster.namespaces, capacity=cluster.nodes.capacity)
    for name, row in cluster.nodes.rows.items():
        standing = [
            (pod, Aside.LEAVING if pod.leaving and pod.condemned is None else None)
            for pod in there.get(name, {}).values()
        ]
        standing += [(pod, Aside.AWAITED) for pod in kept.get(name, {}).values()]
        for pod, aside in standing:
            if pod.pod_class.ties is not None:
                fresh.move(row, pod.pod_class.ties, aside, 1)
    known = cluster.nodes.usage.census
    _compare("pods that others look at", "", known._there, fresh._there)
    _compare("those of them that stand aside", "", known._aside, fresh._aside)
    for line, counts in known._lines.items():
        _compare("pods counted by", line, counts.tolist(), fresh.count(line).tolist())


def _taken(state: object) -> object:
    """What pods take on their nodes; a state that counts otherwise is compared by nobody here."""
    if not isinstance(state, TakenState):
        return {}
    return {thing: {row: Counter(how) for row, how in rows.items()} for thing, rows in state.taken.items() if rows}


def _compare_gangs(cluster: Cluster) -> None:
    members: dict[str, list[PodState]] = {}
    for pod in cluster.pods.values():
        if pod.gang is not None:
            members.setdefault(pod.gang, []).append(pod)
    for key, gang in cluster.gangs.items():
        fresh = Roll(key)
        fresh.declare(gang.declared)
        for pod in members.get(key, []):
            fresh.add(pod)
        _compare("members of", key, gang.members.keys(), fresh.members.keys())
        _compare("candidates of", key, gang.candidates.keys(), fresh.candidates.keys())
        _compare("classes of", key, gang.classes, fresh.classes)
        _compare("counters of", key, _counters(gang), _counters(fresh))


def _counters(roll: Roll) -> tuple[object, ...]:
    counts = roll.present, roll.binding, roll.bound, roll.gated, roll.first_bound, roll.run, roll.has_part()
    return *counts, roll.priority


def compare_views(engine: Engine) -> None:
    """Whether the views that the engine keeps rank the nodes as views made from scratch do."""
    kept, fresh = engine._views, Views(engine.profiles, engine.cluster.nodes)
    for pod_class in dict.fromkeys(pod.pod_class for pod in engine.cluster.pods.values()):
        one, other = kept.of(pod_class), fresh.of(pod_class)
        _compare("copies of", pod_class.room, one.copies.tolist(), other.copies.tolist())
        _compare("ranks of", pod_class.room, _ranks(one.key), _ranks(other.key))


def _ranks(key: Ints) -> list[int]:
    """Rows that can be chosen, best first."""
    order = np.argsort(-key, kind="stable")
    ranks: list[int] = order[key[order] > 0].tolist()
    return ranks


def _compare(what: str, of: object, kept: object, counted: object) -> None:
    if kept != counted:
        raise BrokenRuleError("recount", f"{what} {of}: the engine has {kept}, a recount {counted}")
