"""The rules once more, in plain Python over the wire objects: slow, simple, and nothing of the engine's.

Invariants and the oracle use these, so that a mistake in the engine's columns cannot hide itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from muster.api.kinds import Address, kind_of
from muster.api.wire import (
    Amount,
    Container,
    Fact,
    Node,
    Pod,
    PodGroup,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
    Taint,
    Toleration,
)
from muster.base.quantity import amount

Room = dict[str, int]
"""Amounts by resource; cpu in milli, everything else in whole units."""
Port = tuple[str, int, str]
"""Protocol, number, address."""

ENDED = ("Succeeded", "Failed")

_ANY = "0.0.0.0"
_CORDON = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


class Needs(NamedTuple):
    """What one pod asks for.  Pods with equal needs are of one class."""

    requests: tuple[tuple[str, int], ...]
    ports: tuple[Port, ...]
    rules: bytes
    """Its demands on a node's own facts, as JSON; only equality counts."""


class Place(msgspec.Struct, gc=False):
    """One node as a search sees it."""

    room: Room
    ports: list[Port]


def needs_of(pod: Pod) -> Needs:
    spec = pod.spec
    total: Room = {"pods": 1}
    for container in spec.containers:
        for name, count in _container(container).items():
            total[name] = total.get(name, 0) + count
    for container in spec.init_containers:
        for name, count in _container(container).items():
            total[name] = max(total.get(name, 0), count)
    for name, text in spec.overhead.items():
        total[name] = total.get(name, 0) + amount(name, text)
    tolerations = sorted({msgspec.json.encode(toleration) for toleration in spec.tolerations})
    nodes = spec.affinity.node_affinity if spec.affinity else None
    rules = msgspec.json.encode((sorted(spec.node_selector.items()), nodes, b"".join(tolerations)))
    return Needs(tuple(sorted(item for item in total.items() if item[1])), ports_of(pod), rules)


def belongs_with(pod: Pod, facts: Mapping[Address, Fact]) -> set[tuple[str, str, tuple[str, ...]]]:
    """What is asked of the labels of pods among which this one is spread by default; nothing, and it is not."""
    meta = pod.metadata
    labels: dict[str, str] = {}
    expressions: list[tuple[str, str, tuple[str, ...]]] = []
    owner = next(((one.api_version, one.kind, one.name) for one in meta.owner_references if one.controller), None)
    # Services first: what a ReplicationController says of a label replaces what they do
    for fact in sorted(facts.values(), key=lambda fact: not isinstance(fact, Service)):
        version, kind = kind_of(fact).resource.api_version, type(fact).__name__
        if fact.metadata.namespace != meta.namespace:
            continue
        if isinstance(fact, Service):
            asked = fact.spec.selector or {}
            labels |= asked if all(meta.labels.get(key) == value for key, value in asked.items()) else {}
        elif (version, kind, fact.metadata.name) != owner:
            continue
        elif isinstance(fact, ReplicationController):
            labels |= fact.spec.selector or {}
        elif isinstance(fact, ReplicaSet | StatefulSet) and (selector := fact.spec.selector) is not None:
            expressions += [(key, "In", (value,)) for key, value in selector.match_labels.items()]
            expressions += [(one.key, one.operator, one.values) for one in selector.match_expressions]
    return {*expressions, *((key, "In", (value,)) for key, value in labels.items())}


def asks_in_vain(pod: Pod) -> bool:
    """Whether the pod must have what no plugin honours: these worlds have none for devices."""
    return bool(pod.spec.resource_claims)


def lacks_claims(pod: Pod) -> bool:
    """Whether the pod names claims for volumes, of which there are none in these worlds."""
    return any(volume.persistent_volume_claim or volume.ephemeral for volume in pod.spec.volumes)


def group_asks_in_vain(group: PodGroup) -> bool:
    """The same of a group."""
    constraints = group.spec.scheduling_constraints
    return bool(group.spec.resource_claims or (constraints and constraints.topology))


def held(pod: Pod) -> bool:
    """Whether the pod may not be placed, wherever there is room."""
    return bool(pod.spec.scheduling_gates) or asks_in_vain(pod) or lacks_claims(pod)


def _container(container: Container) -> Room:
    listed: dict[str, Amount] = {**container.resources.limits, **container.resources.requests}
    return {name: amount(name, text) for name, text in listed.items()}


def ports_of(pod: Pod) -> tuple[Port, ...]:
    """Host ports, sorted."""
    found = [
        (port.protocol, port.host_port, port.host_ip or _ANY)
        for container in pod.spec.containers
        for port in container.ports
        if port.host_port
    ]
    return tuple(sorted(found))


def room_of(node: Node) -> Room:
    """What an empty node has."""
    return {name: amount(name, text) for name, text in node.status.allocatable.items()}


# --- a node's own facts ---


def admits(node: Node, pod: Pod) -> bool:
    """Whether the node's labels, taints and cordon let the pod on."""
    spec, labels = pod.spec, node.metadata.labels
    if any(labels.get(key) != value for key, value in spec.node_selector.items()):
        return False
    affinity = spec.affinity.node_affinity if spec.affinity else None
    required = affinity.required if affinity else None
    if required is not None and not required.matches(labels, node.metadata.name):
        return False
    taints = [taint for taint in node.spec.taints if taint.effect in ("NoSchedule", "NoExecute")]
    if node.spec.unschedulable:
        taints.append(_CORDON)
    return all(any(covers(t, taint) for t in spec.tolerations) for taint in taints)


def covers(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
        return False
    return toleration.operator == "Exists" or bool(toleration.key and toleration.value == taint.value)


# --- room ---


def collide(one: Port, other: Port) -> bool:
    return one[:2] == other[:2] and (one[2] == other[2] or _ANY in (one[2], other[2]))


def fits(needs: Needs, place: Place) -> bool:
    room = place.room
    for name, count in needs.requests:
        if room.get(name, 0) < count:
            return False
    return not (needs.ports and any(collide(port, taken) for port in needs.ports for taken in place.ports))


def take(needs: Needs, place: Place) -> None:
    """One pod goes to the place, whether or not it fits."""
    room = place.room
    for name, count in needs.requests:
        room[name] = room.get(name, 0) - count
    place.ports.extend(needs.ports)


# --- names ---


def key_of(pod: Pod) -> str:
    return f"{pod.metadata.namespace}/{pod.metadata.name}"


def unit_of(pod: Pod) -> str:
    """The key by which decisions name the pod's unit."""
    group = pod.spec.scheduling_group
    return f"{pod.metadata.namespace}/{group.pod_group_name}" if group else key_of(pod)
