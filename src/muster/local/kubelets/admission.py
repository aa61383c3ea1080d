"""Which pods a kubelet takes in, and what it says of the others: upstream's checks, in upstream's order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from muster.api.requests import effective_requests
from muster.api.wire import Taint, Toleration
from muster.base.quantity import amount
from muster.local.kubelets.objects import Node, Pod

Room = dict[str, int]
"""Resources in whole units, cpu in thousandths; `pods` counts the pods."""

# of several shortages the first is named; all others come after these, by name
_FIRST = ("pods", "cpu", "memory", "ephemeral-storage")

_ANY_ADDRESS = "0.0.0.0"


class Port(NamedTuple):
    address: str
    protocol: str
    number: int


class Guest(NamedTuple):
    """What a pod takes from its node from admission to its end."""

    takes: Room
    ports: tuple[Port, ...]


class Refusal(NamedTuple):
    """Why a pod is not taken in, as its status says it."""

    reason: str
    message: str


def guest(pod: Pod) -> Guest:
    """What the pod would take."""
    ports = (
        Port(port.host_ip or _ANY_ADDRESS, port.protocol, port.host_port)
        for container in (*pod.spec.containers, *pod.spec.init_containers)
        for port in container.ports
        if port.host_port
    )
    return Guest({"pods": 1, **dict(effective_requests(pod.spec).amounts)}, tuple(ports))


def room(node: Node) -> Room:
    """All that the node has to give."""
    return {resource: amount(resource, text) for resource, text in node.status.allocatable.items()}


def refusal(pod: Pod, node: Node, others: Iterable[Guest]) -> Refusal | None:
    """Why the node does not take the pod in beside the others; None if it does."""
    others = list(others)
    wanted = guest(pod)
    return (
        _shortage(wanted.takes, room(node), others)
        or _wrong_node(pod, node)
        or _taken_ports(wanted.ports, others)
        or _taint(pod, node)
    )


def _shortage(wanted: Room, has: Room, others: list[Guest]) -> Refusal | None:
    for resource in sorted(wanted, key=_rank):
        if resource not in has and _is_extended(resource):
            continue  # what the node has never heard of is counted by somebody else
        used = sum(other.takes.get(resource, 0) for other in others)
        if used + wanted[resource] > has.get(resource, 0):
            return Refusal(
                f"OutOf{resource}",
                f"Node didn't have enough resource: {resource}, requested: {wanted[resource]}, "
                f"used: {used}, capacity: {has.get(resource, 0)}",
            )
    return None


def _rank(resource: str) -> tuple[int, str]:
    return (_FIRST.index(resource), "") if resource in _FIRST else (len(_FIRST), resource)


def _is_extended(resource: str) -> bool:
    return "/" in resource and "kubernetes.io/" not in resource


def _wrong_node(pod: Pod, node: Node) -> Refusal | None:
    labels: Mapping[str, str] = node.metadata.labels
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
    selected = all(labels.get(key) == value for key, value in pod.spec.node_selector.items())
    if selected and affinity is not None and affinity.required is not None:
        selected = affinity.required.matches(labels, node.metadata.name)
    return None if selected else _failed("NodeAffinity", "node(s) didn't match Pod's node affinity/selector")


def _taken_ports(wanted: tuple[Port, ...], others: list[Guest]) -> Refusal | None:
    taken = [port for other in others for port in other.ports]
    if any(_collide(left, right) for left in wanted for right in taken):
        return _failed("NodePorts", "node(s) didn't have free ports for the requested pod ports")
    return None


def _collide(left: Port, right: Port) -> bool:
    if left.number != right.number or left.protocol != right.protocol:
        return False
    return left.address == right.address or _ANY_ADDRESS in (left.address, right.address)


def _taint(pod: Pod, node: Node) -> Refusal | None:
    """The scheduler looks at all taints, a kubelet at those only that would drive the pod away again."""
    for taint in node.spec.taints:
        if taint.effect == "NoExecute" and not any(_tolerates(one, taint) for one in pod.spec.tolerations):
            return _failed("TaintToleration", "node(s) had taints that the pod didn't tolerate")
    return None


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return toleration.operator in ("Equal", "") and toleration.value == taint.value


def _failed(check: str, why: str) -> Refusal:
    return Refusal(check, f"Predicate {check} failed: {why}")
