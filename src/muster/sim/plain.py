"""The rules once more, in plain Python over the wire objects: slow, simple, and nothing of the engine's.

Invariants and oracles use these, so that a mistake in the engine's columns cannot hide itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from typing import NamedTuple

import msgspec

from muster.api.wire import Amount, Container, Node, Pod, Taint, Toleration
from muster.base.quantity import amount

Room = dict[str, int]
"""Amounts by resource; cpu in milli, everything else in whole units."""
Port = tuple[str, int, str]
"""Protocol, number, address."""

_ANY = "0.0.0.0"
_CORDON = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


class Needs(NamedTuple):
    """What one pod asks for.  Pods with equal needs are of one class."""

    requests: tuple[tuple[str, int], ...]
    ports: tuple[Port, ...]
    rules: bytes
    """Its demands on a node's own facts, as JSON; only equality counts."""


class Place(NamedTuple):
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
    ports = [
        (port.protocol, port.host_port, port.host_ip or _ANY)
        for container in spec.containers
        for port in container.ports
        if port.host_port
    ]
    tolerations = sorted({msgspec.json.encode(toleration) for toleration in spec.tolerations})
    rules = msgspec.json.encode((sorted(spec.node_selector.items()), spec.affinity, b"".join(tolerations)))
    return Needs(tuple(sorted(item for item in total.items() if item[1])), tuple(sorted(ports)), rules)


def _container(container: Container) -> Room:
    listed: dict[str, Amount] = {**container.resources.limits, **container.resources.requests}
    return {name: amount(name, text) for name, text in listed.items()}


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
    return all(place.room.get(name, 0) >= count for name, count in needs.requests) and not any(
        collide(port, taken) for port in needs.ports for taken in place.ports
    )


def take(needs: Needs, place: Place) -> None:
    """One pod goes to the place, whether or not it fits."""
    for name, count in needs.requests:
        place.room[name] = place.room.get(name, 0) - count
    place.ports.extend(needs.ports)


def copies(needs: Needs, place: Place, most: int) -> int:
    """How many pods with these needs the place takes, at most `most`."""
    if not fits(needs, place):
        return 0
    if needs.ports:
        return min(1, most)
    return min([most, *(place.room.get(name, 0) // count for name, count in needs.requests)])


# --- oracles ---

# beyond this a search is not worth its time; small worlds stay far below
_MOST_STATES = 20_000


def most_placed(wanted: Mapping[Needs, int], places: Iterable[tuple[Place, Iterable[Needs]]]) -> int | None:
    """The most pods of `wanted` that go on `places` together; None if the search would take too long.

    Each place comes with the needs that its node admits.  A complete search: for every place, every
    combination of pods that it takes; what is left after a place is all that the next one has to know.
    """
    kinds = list(wanted)
    if len(kinds) == 1:
        only, most = kinds[0], wanted[kinds[0]]
        return min(most, sum(copies(only, place, most) for place, ok in places if only in ok))
    best = {tuple(wanted.values()): 0}
    for place, ok in places:
        admitted = set(ok)
        limits = [copies(kind, place, wanted[kind]) if kind in admitted else 0 for kind in kinds]
        choices = [c for c in product(*(range(limit + 1) for limit in limits)) if _together(kinds, c, place)]
        if len(best) * len(choices) > _MOST_STATES:
            return None
        after: dict[tuple[int, ...], int] = {}
        for left, placed in best.items():
            for choice in choices:
                rest = tuple(have - used for have, used in zip(left, choice, strict=True))
                if min(rest) >= 0:
                    after[rest] = max(after.get(rest, 0), placed + sum(choice))
        best = after
    return max(best.values())


def _together(kinds: list[Needs], counts: tuple[int, ...], place: Place) -> bool:
    trial = Place(dict(place.room), list(place.ports))
    for kind, count in zip(kinds, counts, strict=True):
        for _ in range(count):
            if not fits(kind, trial):
                return False
            take(kind, trial)
    return True
