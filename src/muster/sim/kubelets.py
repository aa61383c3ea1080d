"""What kubelets make of the pods that are bound to their nodes: they take them in as they come, or refuse.

Whoever binds may be mistaken about the room that is left, if others bind too; a kubelet is not.
"""

from __future__ import annotations

from typing import NamedTuple

from muster.api.requests import effective_requests
from muster.api.wire import Node, Pod, PodSpec
from muster.base.quantity import amount
from muster.sim.plain import Port, collide, ports_of

# which of several shortages a kubelet names, when these are among them
_NAMED_FIRST = ("pods", "cpu", "memory", "ephemeral-storage")


class _Guest(NamedTuple):
    spec: PodSpec
    takes: dict[str, int]
    ports: tuple[Port, ...]


class Kubelets:
    """Pods by the node that took them in, from then until they end or go."""

    def __init__(self) -> None:
        self._guests: dict[str, dict[str, _Guest]] = {}
        """By node, by UID."""
        self._nodes: dict[str, str] = {}
        """By UID."""

    def take_in(self, pod: Pod, node: Node) -> str:
        """Takes the pod in; or returns why not, as its status says it: "OutOfcpu"."""
        there = self._guests.setdefault(node.metadata.name, {})
        guest = _guest(pod)
        short = [name for name, count in guest.takes.items() if self._lacks(node, name, count, there)]
        if short:
            first = next((name for name in _NAMED_FIRST if name in short), min(short))
            return f"OutOf{first}"
        if any(collide(port, taken) for port in guest.ports for other in there.values() for taken in other.ports):
            return "NodePorts"
        there[pod.metadata.uid] = guest
        self._nodes[pod.metadata.uid] = node.metadata.name
        return ""

    def changed(self, pod: Pod) -> None:
        """A pod's spec may have changed; what it takes may be more or less now."""
        node = self._nodes.get(pod.metadata.uid)
        if node is not None and self._guests[node][pod.metadata.uid].spec is not pod.spec:
            self._guests[node][pod.metadata.uid] = _guest(pod)

    def let_go(self, uid: str) -> None:
        """The pod has ended, or is gone."""
        node = self._nodes.pop(uid, None)
        if node is not None:
            del self._guests[node][uid]

    def _lacks(self, node: Node, resource: str, count: int, there: dict[str, _Guest]) -> bool:
        if resource not in node.status.allocatable and "/" in resource:
            return False  # kubelets leave what they have never heard of to others
        taken = sum(guest.takes.get(resource, 0) for guest in there.values())
        return taken + count > amount(resource, node.status.allocatable.get(resource, 0))


def is_refusal(reason: str) -> bool:
    """Whether a pod's status says that no kubelet took it in."""
    return reason.startswith("OutOf") or reason == "NodePorts"


def _guest(pod: Pod) -> _Guest:
    return _Guest(pod.spec, {"pods": 1, **dict(effective_requests(pod.spec).amounts)}, ports_of(pod))
