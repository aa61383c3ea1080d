"""Taints that drive pods away: a pod goes when it tolerates them no longer."""

from __future__ import annotations

from math import inf

from muster.api.calls import Delete, Patch, Say
from muster.api.resources import PODS
from muster.api.times import stamp
from muster.controllers.desk import AtDesks, Desk
from muster.controllers.desk import Look as Looking
from muster.controllers.objects import Node, Pod, Taint, Toleration, event
from muster.plugins.tolerations import tolerated

_COMPONENT = "taint-eviction-controller"


class TaintEvictions(AtDesks):
    """Deletes pods from nodes with NoExecute taints, each after the time for which it tolerates them.

    The time counts from when we see both; a pod that is spared because the taints went is said to be.
    """

    def __init__(self) -> None:
        self._taints: dict[str, tuple[Taint, ...]] = {}
        """NoExecute taints, by node."""
        self._pods: dict[str, Pod] = {}
        self._on_node: dict[str, dict[str, None]] = {}
        """Keys of pods."""
        self._since: dict[str, float] = {}
        """Of pods that are to go: since when, by UID."""
        self._desk = Desk(self._look)
        super().__init__(self._desk)

    def seen(self, where: str, thing: Node | Pod) -> None:
        if isinstance(thing, Node):
            name = thing.metadata.name
            taints = tuple(one for one in thing.spec.taints if one.effect == "NoExecute")
            if taints != self._taints.get(name, ()):
                self._taints[name] = taints
                for key in self._on_node.get(name, ()):
                    self._desk.add(key)
        elif thing.spec.node_name:
            key = thing.metadata.key
            self._pods[key] = thing
            self._on_node.setdefault(thing.spec.node_name, {})[key] = None
            self._desk.add(key)

    def gone(self, where: str, thing: Node | Pod) -> None:
        if isinstance(thing, Node):
            self._taints.pop(thing.metadata.name, None)
        else:
            self._pods.pop(thing.metadata.key, None)
            self._since.pop(thing.metadata.uid, None)
            self._on_node.get(thing.spec.node_name, {}).pop(thing.metadata.key, None)

    def _look(self, key: str) -> Looking:
        pod = self._pods.get(key)
        if pod is None or pod.metadata.deletion_timestamp is not None:
            return
        uid, now = pod.metadata.uid, self._desk.now
        patience = _patience(pod.spec.tolerations, self._taints.get(pod.spec.node_name, ()))
        if patience == inf:
            if self._since.pop(uid, None) is not None:
                yield [_say(pod, f"Cancelling deletion of Pod {key}")]
            return
        at = self._since.setdefault(uid, now) + patience
        if at > now:
            self._desk.add(key, at=at)
            return
        path = PODS.path(pod.metadata.namespace, pod.metadata.name)
        yield [_say(pod, f"Marking for deletion Pod {key}"), _condition(pod, path, now)]
        yield [Delete(path=path, uid=uid)]


def _patience(tolerations: tuple[Toleration, ...], taints: tuple[Taint, ...]) -> float:
    """For how many seconds all of these taints are tolerated."""
    shortest = inf
    for taint in taints:
        used = [one for one in tolerations if tolerated(taint, (one,))]
        if not used:
            return 0.0
        shortest = min(
            [shortest, *(max(0.0, one.toleration_seconds) for one in used if one.toleration_seconds is not None)]
        )
    return shortest


def _condition(pod: Pod, path: str, now: float) -> Patch:
    said = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "DeletionByTaintManager",
        "message": "Taint manager: deleting due to NoExecute taint",
        "lastTransitionTime": stamp(now),
        "observedGeneration": pod.metadata.generation,
    }
    body = {"metadata": {"uid": pod.metadata.uid}, "status": {"conditions": [said]}}
    return Patch(path=f"{path}/status", body=body, strategic=True)


def _say(pod: Pod, message: str) -> Say:
    return event(_COMPONENT, PODS, pod.metadata, reason="TaintManagerEviction", message=message)
