"""The plain scheduler in the place of the real one: the same questions, and no control plane."""

import copy
import itertools
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from tests.plain_scheduler.cluster import Cluster
from tests.plain_scheduler.configuration import configuration
from tests.plain_scheduler.decision import WEIGHTS, decide
from tests.plain_scheduler.random_clusters import STRATEGIES, Surroundings, World
from tests.plain_scheduler.selectors import Document


@dataclass(frozen=True)
class Heard:
    """What kube-scheduler made of a pod."""

    pod: Document
    """As it came to the scheduler."""
    node: str | None
    message: str = ""
    """Of the PodScheduled condition, when there is no node; without what it says of whom it evicts."""
    scores: dict[str, dict[str, int]] = field(default_factory=dict)
    """By node and plugin, with weights, zeros left out; none where one node is left."""
    nominated: str = ""
    """The node that others were told to leave for the pod, which waits."""


class PlainOne:
    """Of several nodes or victims that are equally good it takes the first by name."""

    def __init__(self, around: Surroundings) -> None:
        self.around = around
        self.configuration = configuration
        self._numbers = itertools.count(1)
        self._pods: dict[str, Document] = {}
        """By UID."""
        self._nodes: list[Document] = []

    def make(self, world: World) -> Cluster:
        self._nodes = world.nodes
        self._pods = {}
        for machine in world.cluster(self.around).machines.values():
            for running in machine.running:
                self._add(running.pod)
        return self.cluster(world.nodes, self.pods())

    def cluster(self, nodes: Iterable[Document], pods: Iterable[Document]) -> Cluster:
        around = self.around
        placed = [pod for pod in pods if pod["spec"].get("nodeName")]
        return Cluster(nodes, placed, around.namespaces, around.owners, around.of("poddisruptionbudgets"))

    def about(self, sent: Document) -> Heard:
        pod = self._add(self.around.admitted(sent))
        decision = decide(self._now(), pod, strategy=STRATEGIES.get(pod["spec"]["schedulerName"]))
        if decision.best:
            node = min(decision.best)
            pod["spec"]["nodeName"] = node
            scores = {
                name: {plugin: WEIGHTS[plugin] * score for plugin, score in parts.items() if score}
                for name, parts in decision.scores.items()
            }
            return Heard(_unbound(pod), node, scores=scores if len(scores) > 1 else {})
        if decision.evicting:
            offer = min(decision.evicting)
            pod["status"] = {"nominatedNodeName": offer.node}
            for uid in offer.victims:
                self._told_to_leave(self._pods[uid])
            return Heard(copy.deepcopy(pod), None, decision.message, nominated=offer.node)
        self.delete(pod)
        return Heard(pod, None, decision.message)

    def pods(self) -> list[Document]:
        return copy.deepcopy(list(self._pods.values()))

    def delete(self, pod: Document) -> None:
        del self._pods[pod["metadata"]["uid"]]

    def begins(self, pod: Document, at: str) -> Document:
        now = self._pods[pod["metadata"]["uid"]]
        now["status"] = {"phase": "Running", "startTime": at}
        return copy.deepcopy(now)

    def lands(self, pod: Document) -> str:
        """Where it is nominated to, even if other nodes are better by now."""
        now = self._pods[pod["metadata"]["uid"]]
        node = now["spec"]["nodeName"] = now["status"]["nominatedNodeName"]
        return str(node)

    # --- parts ---

    def _now(self) -> Cluster:
        found = self.cluster(self._nodes, self._pods.values())
        for pod in self._pods.values():
            node = pod.get("status", {}).get("nominatedNodeName")
            if node and not pod["spec"].get("nodeName"):
                found.nominate(pod, node)
        return found

    def _add(self, pod: Document) -> Document:
        metadata = {**pod["metadata"], "uid": f"uid-{next(self._numbers)}", "creationTimestamp": _stamp()}
        made = self._pods[metadata["uid"]] = {**pod, "metadata": metadata}
        return made

    def _told_to_leave(self, pod: Document) -> None:
        pod["metadata"]["deletionTimestamp"] = _stamp(later=30)
        target = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
        pod.setdefault("status", {})["conditions"] = [target]


def _unbound(pod: Document) -> Document:
    return {**pod, "spec": {name: value for name, value in pod["spec"].items() if name != "nodeName"}}


def _stamp(*, later: float = 0.0) -> str:
    return datetime.fromtimestamp(time.time() + later, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
