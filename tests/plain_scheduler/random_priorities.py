"""Priorities, start times and budgets over the clusters of `random_clusters`: pods that others may have to leave for.

ranked_surroundings()       with classes of priorities, and budgets
ranked(world)               its pods larger, each with a priority; those that run started one after another
"""

import copy
import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from tests.plain_scheduler.cluster import Cluster
from tests.plain_scheduler.random_clusters import Surroundings, World, at_own_ports, surroundings
from tests.plain_scheduler.selectors import Document

PRIORITIES = {"spare": -10, "low": 1, "middle": 50, "high": 1000}
_RUNNING = ("spare", "low", "low", "middle", "", "high")
_COMING = ("low", "middle", "middle", "high", "high", "patient")
_BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class RankedWorld(World):
    started: dict[str, str]
    """When pods began to run that are there from the start, by name."""

    def started_later(self, number: int) -> str:
        """When a pod did that came as the so-manieth."""
        return _at(len(self.started) + number)

    def cluster(self, around: Surroundings) -> Cluster:
        found = super().cluster(around)
        found.budgets = around.of("poddisruptionbudgets")
        for machine in found.machines.values():
            for running in machine.running:
                running.pod.setdefault("status", {})["startTime"] = self.started[running.pod["metadata"]["name"]]
        return Cluster(
            found.nodes,
            [running.pod for machine in found.machines.values() for running in machine.running],
            found.namespaces,
            found.owners,
            found.budgets,
        )


def ranked_surroundings() -> Surroundings:
    found = surroundings()
    found.by_path["/apis/scheduling.k8s.io/v1/priorityclasses"] += [
        {"metadata": {"name": name}, "value": value} for name, value in PRIORITIES.items()
    ]
    for namespace, labels, allowed in (
        ("red", {"app": "web"}, 0),
        ("green", {"app": "db"}, 1),
        ("blue", {"side": "left"}, 0),
    ):
        spec: Document = {"minAvailable": 1, "selector": {"matchLabels": labels}}
        found.by_path[f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets"] = [
            {
                "metadata": {"name": "kept", "namespace": namespace},
                "spec": spec,
                "status": {"disruptionsAllowed": allowed, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1},
            }
        ]
    return found


def ranked(world: World) -> RankedWorld:
    """Nobody is leaving: kube-scheduler would count those among the victims, we do not.  Anybody may have to."""
    chance = random.Random(f"priorities {world.seed}")
    started = _started(world.placed, chance)
    placed = [_ranked(pod, chance, _RUNNING) for pod in world.placed]
    at_own_ports(placed, started)
    return RankedWorld(
        **{
            **vars(world),
            "placed": placed,
            "leaving": set(),
            "coming": [_ranked(pod, chance, _COMING) for pod in world.coming],
            "started": started,
        }
    )


def _started(pods: list[Document], chance: random.Random) -> dict[str, str]:
    """Some started together, but on no node: kube-scheduler does not tell such apart."""
    found: dict[tuple[str, int], int] = {}
    times: dict[str, str] = {}
    for number, pod in enumerate(chance.sample(pods, len(pods))):
        node, at = pod["spec"]["nodeName"], number // 2
        found[node, at] = found.get((node, at), -1) + 1
        times[pod["metadata"]["name"]] = _at(at, seconds=found[node, at])
    return times


def _ranked(pod: Document, chance: random.Random, classes: tuple[str, ...]) -> Document:
    spec = copy.deepcopy(pod["spec"])
    if name := chance.choice(classes):
        spec["priorityClassName"] = name
    if chance.random() < 0.7 and "resources" not in spec:
        first, *others = spec["containers"]
        spec["containers"] = [
            {**first, "resources": {"requests": {"cpu": chance.choice(("1", "1500m", "2"))}}},
            *others,
        ]
    return {**pod, "spec": spec}


def _at(number: int, *, seconds: int = 0) -> str:
    return (_BEGAN + timedelta(minutes=number, seconds=seconds)).isoformat().replace("+00:00", "Z")
