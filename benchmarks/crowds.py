"""Full clusters of which somebody could be made to leave."""

from __future__ import annotations

import random

from benchmarks.calls import Calls
from benchmarks.shapes import group, nodes, pod, running
from muster.api.wire import BudgetSpec, BudgetStatus, Metadata, Node, NodeStatus, PodDisruptionBudget
from muster.base.selectors import LabelSelector
from muster.engine.changes import BudgetSeen, Change, NodeSeen, PodSeen
from muster.engine.engine import Engine
from muster.plugins.defaults import default_profile

NOW = 200_000.0
"""When the engine has looked at all of it."""
BUDGETS = 20
_SIZES = (4, 40)
_CPUS = (4, 8, 11)
_PRIORITIES = (0, 100, 200)
_STARTED = (1, 100_000)


class Crowd:
    """An engine that knows a full cluster; `pods` has what runs there, by UID."""

    def __init__(self, engine: Engine, pods: list[PodSeen]) -> None:
        self.engine = engine
        self.pods = {seen.pod.metadata.uid: seen for seen in pods}


def gangs_everywhere(count: int, *, gangs: int, budgets: bool = False, seed: int = 5) -> Crowd:
    """`count` mixed nodes, filled by gangs of three priorities, half of which go whole; lone pods take what is left.

    With budgets, each gang and each lone pod is under one of a few, and they allow little.
    """
    rng = random.Random(seed)
    found: list[Change] = nodes(count, rng)
    room = {change.node.metadata.name: _cpus(change.node) for change in found if isinstance(change, NodeSeen)}
    pods: list[PodSeen] = []
    for number in range(gangs):
        name, size, priority = f"low-{number:04d}", rng.randint(*_SIZES), rng.choice(_PRIORITIES)
        cpus, started = rng.choice(_CPUS), rng.randint(*_STARTED)
        found.append(group(name, size, created=started, priority=priority, whole=number % 2 == 0))
        for index in range(size):
            member = pod(
                f"{name}-{index}", cpu_milli=1000 * cpus, memory_gib=4, index=index, gang=name, priority=priority
            )
            node = _somewhere(room, cpus, rng)
            pods.append(running(member, node, started=started, app=f"app-{number % BUDGETS}"))
    for node, cpus in room.items():
        for number in range(0, cpus, 4):
            lone = pod(
                f"lone-{node}-{number}",
                cpu_milli=1000 * min(4, cpus - number),
                memory_gib=4,
                index=number,
                priority=rng.choice(_PRIORITIES),
            )
            pods.append(running(lone, node, started=rng.randint(*_STARTED), app=f"app-{number % BUDGETS}"))
    if budgets:
        found += [_budget(number) for number in range(BUDGETS)]
    return _crowd(found, pods)


def lone_pods_everywhere(count: int, *, each: int) -> Crowd:
    """`count` nodes of 4 cpu with so many pods of 900m `each`."""
    found: list[Change] = []
    pods: list[PodSeen] = []
    for index in range(count):
        name = f"node-{index:05d}"
        status = NodeStatus(allocatable={"cpu": "4", "memory": "32Gi", "pods": "110"})
        found.append(NodeSeen(Node(metadata=Metadata(name=name), status=status)))
        for number in range(each):
            low = pod(f"low-{index:05d}-{number}", cpu_milli=900, memory_gib=0.5, index=number)
            pods.append(running(low, name, started=1 + index))
    return _crowd(found, pods)


def _crowd(found: list[Change], pods: list[PodSeen]) -> Crowd:
    engine = Engine(default_profile())
    engine.apply([*found, *pods])
    Calls(engine).decide(NOW)
    return Crowd(engine, pods)


def _cpus(node: Node) -> int:
    return int(node.status.allocatable["cpu"])


def _somewhere(room: dict[str, int], cpus: int, rng: random.Random) -> str:
    """Takes so many cpus from some node that has them."""
    names = list(room)
    start = rng.randrange(len(names))
    node = next(name for name in names[start:] + names[:start] if room[name] >= cpus)
    room[node] -= cpus
    return node


def _budget(number: int) -> BudgetSeen:
    return BudgetSeen(
        PodDisruptionBudget(
            metadata=Metadata(name=f"budget-{number}", namespace="bench"),
            spec=BudgetSpec(selector=LabelSelector(match_labels={"app": f"app-{number}"})),
            status=BudgetStatus(disruptions_allowed=10 * number),
        )
    )
