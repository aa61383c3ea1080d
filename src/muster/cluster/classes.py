"""Pod classes: pods that are equal in everything that matters to scheduling share one, interned.

Of a pod's labels only the keys that some live selector reads would belong to its class.  No plugin reads pod
labels yet, so none do: a thousand pods of an Indexed Job, each labelled with its index, are one class.
"""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakValueDictionary

import msgspec
import numpy as np
from numpy.typing import NDArray

from muster.api.requests import TOO_MUCH, Requests, effective_requests
from muster.api.wire import Pod, PreferredNodes, Toleration
from muster.base.selectors import NodeSelector
from muster.cluster.resources import CPU, MEMORY, PODS, ResourceNames


class NodeRules(msgspec.Struct, frozen=True, gc=False):
    """What a pod asks of a node's own facts; placements on the node never change the answer."""

    node_name: str = ""
    selector: tuple[tuple[str, str], ...] = ()
    required: NodeSelector | None = None
    preferred: tuple[PreferredNodes, ...] = ()
    tolerations: tuple[Toleration, ...] = ()


class HostPort(msgspec.Struct, frozen=True, gc=False, order=True):
    protocol: str
    port: int
    ip: str


class PodClass:
    """One set of scheduling needs.  Equal needs are the same object, so identity compares and hashes.

    `order` sorts classes the same way in every process: larger pods first, since they are harder to place.
    """

    __slots__ = (
        "__weakref__",
        "best_effort",
        "line",
        "order",
        "ports",
        "requests",
        "room",
        "rules",
        "unknown",
        "unnamed",
    )

    def __init__(
        self, rules: NodeRules, requests: Requests, *, ports: tuple[HostPort, ...], names: ResourceNames
    ) -> None:
        self.rules = rules
        self.requests = requests
        self.ports = ports
        amounts = {name: min(count, TOO_MUCH) for name, count in requests.amounts if name != "pods"}
        rows = {name: names.find(name) for name in amounts}
        self.unknown = tuple(name for name, row in rows.items() if row is None)
        """Resources it asks for that no node has had yet: it fits nowhere."""
        by_row = {PODS: 1} | {row: amounts[name] for name, row in rows.items() if row is not None}
        self.room = tuple(sorted(by_row.items()))
        """(resource row, amount) that one copy takes."""
        self.unnamed = (
            requests.scored_cpu_milli - by_row.get(CPU, 0),
            requests.scored_memory_bytes - by_row.get(MEMORY, 0),
        )
        """cpu and memory that scores count above that, for containers that name no request."""
        self.best_effort = not amounts
        extended = sum(count for name, count in amounts.items() if name not in ("cpu", "memory"))
        self.order = (
            (-extended, -by_row.get(CPU, 0), -by_row.get(MEMORY, 0)),
            msgspec.json.encode((requests, ports, rules)),
        )
        self.line = Lines.of_classes([self])

    @property
    def shape(self) -> tuple[object, ...]:
        """Classes with equal shape can stand in one `Lines`."""
        return tuple(resource for resource, _ in self.room), self.best_effort, self.ports, bool(self.unknown)


class Lines:
    """Pods to be rated against nodes, one line each; arrays are (resources × lines × 1).

    A line is a pod of some class, or the k-th copy of one where the copies before it are on the node already.
    """

    __slots__ = (
        "best_effort",
        "copies",
        "many_first_copies",
        "need",
        "need_rows",
        "ports",
        "scored",
        "scored_before",
        "unplaceable",
        "used",
    )

    def __init__(self, classes: Sequence[PodClass], copies: NDArray[np.int64]) -> None:
        first = classes[0]
        self.best_effort = first.best_effort
        self.ports = first.ports
        self.unplaceable = bool(first.unknown)
        """They ask for resources that no node has had yet."""
        self.copies = copies
        """(lines × 1): how many of the class are there before this one."""
        self.many_first_copies = len(classes) > 1
        """Several lines, none of which has copies before it."""
        self.need_rows: NDArray[np.intp] = np.array([row for row, _ in first.room], np.intp)
        self.need: NDArray[np.int64] = np.array([[amount for _, amount in c.room] for c in classes]).T[:, :, None]
        """How much of the resources `need_rows` one pod takes."""
        requests = [c.requests for c in classes]
        scored = np.array([[r.scored_cpu_milli, r.scored_memory_bytes] for r in requests]).T[:, :, None]
        self.scored_before: NDArray[np.int64] = scored * copies
        """cpu and memory of the pods before this one, as scores count them."""
        self.scored: NDArray[np.int64] = scored * (copies + 1)
        """The same with this one."""
        used = scored - np.array([c.unnamed for c in classes]).T[:, :, None]
        self.used: NDArray[np.int64] = np.stack((used * copies, used * (copies + 1)))
        """(before and with this one × cpu and memory × lines × 1), as really requested."""

    @classmethod
    def of_classes(cls, classes: Sequence[PodClass]) -> Lines:
        """A pod of each class; they must be of one shape."""
        return cls(classes, np.zeros((1, 1), np.int64))

    @classmethod
    def of_copies(cls, pod_class: PodClass, depth: int) -> Lines:
        """The first to the `depth`-th copy of a class on the same node."""
        return cls([pod_class], np.arange(depth)[:, None])


# Bounds the memory of `_by_wire`, which sees every spelling of a class; a spelling costs about 3 KB
_SPELLINGS = 10_000


class ClassTable:
    """Interns pod classes, from the wire's spelling first: a repeated spelling costs one encoding and one look-up."""

    def __init__(self, names: ResourceNames) -> None:
        self._names = names
        self._encoder = msgspec.msgpack.Encoder()
        self._by_wire: dict[bytes, PodClass] = {}
        # classes that nobody has any more are forgotten: clusters see new ones for years
        self._by_needs: WeakValueDictionary[tuple[NodeRules, Requests, tuple[HostPort, ...]], PodClass]
        self._by_needs = WeakValueDictionary()

    def of(self, pod: Pod) -> PodClass:
        spec = pod.spec
        spelling = self._encoder.encode(
            (
                spec.containers,
                spec.init_containers,
                spec.overhead,
                spec.resources,
                spec.node_selector,
                spec.affinity,
                spec.tolerations,
            )
        )
        found = self._by_wire.get(spelling)
        if found is None:
            if len(self._by_wire) >= _SPELLINGS:
                self._by_wire.clear()
            found = self._by_wire[spelling] = self._intern(pod)
        elif found.unknown and self._has_come(found.unknown):
            found = self._by_wire[spelling] = self.learn(found)
        return found

    def _has_come(self, resources: tuple[str, ...]) -> bool:
        return any(self._names.find(name) is not None for name in resources)

    def learn(self, pod_class: PodClass) -> PodClass:
        """The class anew, now that some node has a resource that it asks for."""
        return self._of_needs(pod_class.rules, pod_class.requests, pod_class.ports)

    def _intern(self, pod: Pod) -> PodClass:
        return self._of_needs(_node_rules(pod), effective_requests(pod.spec), _host_ports(pod))

    def _of_needs(self, rules: NodeRules, requests: Requests, ports: tuple[HostPort, ...]) -> PodClass:
        needs = rules, requests, ports
        found = self._by_needs.get(needs)
        if found is None or self._has_come(found.unknown):
            found = self._by_needs[needs] = PodClass(rules, requests, ports=ports, names=self._names)
        return found


def _node_rules(pod: Pod) -> NodeRules:
    spec = pod.spec
    nodes = spec.affinity.node_affinity if spec.affinity else None
    return NodeRules(
        selector=tuple(sorted(spec.node_selector.items())),
        required=nodes.required if nodes else None,
        preferred=nodes.preferred if nodes else (),
        tolerations=tuple(sorted(set(spec.tolerations), key=msgspec.json.encode)),
    )


def _host_ports(pod: Pod) -> tuple[HostPort, ...]:
    spec = pod.spec
    sidecars = tuple(c for c in spec.init_containers if c.restart_policy == "Always")
    return tuple(
        sorted(
            HostPort(port.protocol, port.host_port, port.host_ip or "0.0.0.0")
            for container in (*spec.containers, *sidecars)
            for port in container.ports
            if port.host_port > 0
        )
    )
