"""Pods that no kubelet will ever take out: of nodes that are gone or given up, and those that never had one."""

from __future__ import annotations

from muster.api.calls import Delete, Document, Done, Look, Patch, Refused
from muster.api.resources import NODES, PODS
from muster.api.times import stamp
from muster.controllers.desk import Again, AtDesks, Desk
from muster.controllers.desk import Look as Looking
from muster.controllers.objects import Node, Pod

QUARANTINE_SECONDS = 40.0
"""For a node that is not there to show up."""
_OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"


class PodGarbage(AtDesks):
    """Marks such pods failed, and deletes them without grace."""

    def __init__(self, *, quarantine_seconds: float = QUARANTINE_SECONDS) -> None:
        self._quarantine_seconds = quarantine_seconds
        self._nodes: dict[str, Node] = {}
        self._pods: dict[str, Pod] = {}
        self._on_node: dict[str, dict[str, None]] = {}
        """Keys of pods, by the node that they are bound to, or ""."""
        self._missing_since: dict[str, float] = {}
        """Nodes that pods are bound to, and that are not there."""
        self._desk = Desk(self._look)
        super().__init__(self._desk)

    def seen(self, where: str, thing: Node | Pod) -> None:
        if isinstance(thing, Node):
            name = thing.metadata.name
            self._nodes[name] = thing
            self._missing_since.pop(name, None)
            if any(one.key == _OUT_OF_SERVICE for one in thing.spec.taints):
                self._wake(name)
            return
        key, before = thing.metadata.key, self._pods.get(thing.metadata.key)
        if before is not None:
            self._on_node.get(before.spec.node_name, {}).pop(key, None)
        self._pods[key] = thing
        self._on_node.setdefault(thing.spec.node_name, {})[key] = None
        self._desk.add(key)

    def gone(self, where: str, thing: Node | Pod) -> None:
        if isinstance(thing, Node):
            self._nodes.pop(thing.metadata.name, None)
            self._wake(thing.metadata.name)
        else:
            self._pods.pop(thing.metadata.key, None)
            self._on_node.get(thing.spec.node_name, {}).pop(thing.metadata.key, None)

    def _wake(self, node: str) -> None:
        for key in self._on_node.get(node, ()):
            self._desk.add(key)

    def _look(self, key: str) -> Looking:
        pod = self._pods.get(key)
        if pod is None:
            return
        going, name = pod.metadata.deletion_timestamp is not None, pod.spec.node_name
        node = self._nodes.get(name)
        if not name:
            if going:
                yield from self._remove(pod)
        elif node is not None:
            if going and _is_given_up(node):
                yield from self._remove(pod)
        elif (at := self._missing_since.setdefault(name, self._desk.now) + self._quarantine_seconds) > self._desk.now:
            self._desk.add(key, at=at)
        else:
            [answer] = yield [Look(path=NODES.path(name=name), told=True)]
            if isinstance(answer, Refused) and answer.code == 404:
                said = {"reason": "DeletionByPodGC", "message": "PodGC: node no longer exists"}
                yield from self._remove(pod, said)
            elif not isinstance(answer, Done):
                raise Again

    def _remove(self, pod: Pod, why: Document | None = None) -> Looking:
        path = PODS.path(pod.metadata.namespace, pod.metadata.name)
        if not pod.is_over:
            status: Document = {"phase": "Failed", "observedGeneration": pod.metadata.generation}
            if why is not None:
                at = stamp(self._desk.now)
                said = {"type": "DisruptionTarget", "status": "True", "lastTransitionTime": at, **why}
                status["conditions"] = [{**said, "observedGeneration": pod.metadata.generation}]
            body = {"metadata": {"uid": pod.metadata.uid}, "status": status}
            yield [Patch(path=f"{path}/status", body=body, strategic=True)]
        yield [Delete(path=path, uid=pod.metadata.uid, grace_seconds=0)]


def _is_given_up(node: Node) -> bool:
    """Somebody has said that it will not come back."""
    ready = any(one.type == "Ready" and one.status == "True" for one in node.status.conditions)
    return not ready and any(one.key == _OUT_OF_SERVICE for one in node.spec.taints)
