"""What the scheduler knows: nodes with their pods, namespaces, and what pods may belong to."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from math import inf

from muster.base.quantity import amount
from tests.plain_scheduler.requests import host_ports, requests, scored_when_placed
from tests.plain_scheduler.selectors import Document, Labels, Selector
from tests.plain_scheduler.storage import Storage

_ENDED = ("Succeeded", "Failed")


class Running:
    """A pod on a node, with what others ask about it."""

    def __init__(self, pod: Document) -> None:
        self.pod = pod
        self.namespace = namespace_of(pod)
        self.labels = labels_of(pod)
        self.is_leaving = pod["metadata"].get("deletionTimestamp") is not None
        self.requests = requests(pod)
        self.scored = scored_when_placed(pod)
        self.ports = host_ports(pod)
        self.priority = priority_of(pod)
        begun = (pod.get("status") or {}).get("startTime")
        self.started = datetime.fromisoformat(begun).timestamp() if begun else inf


class Machine:
    """A node and the pods on it."""

    def __init__(self, node: Document) -> None:
        self.node = node
        self.name: str = node["metadata"]["name"]
        self.labels = labels_of(node)
        self.spec: Document = node.get("spec") or {}
        self.status: Document = node.get("status") or {}
        self.running: list[Running] = []
        self.awaited: list[Running] = []
        """Pods that are nominated to the node: others are leaving for them."""

    @cached_property
    def allocatable(self) -> dict[str, int]:
        return {name: amount(name, text) for name, text in (self.status.get("allocatable") or {}).items()}

    def requested(self, resource: str) -> int:
        return sum(each.requests.get(resource, 0) for each in self.running)

    def scored(self, resource: str) -> int:
        """The same with what unknown containers count as."""
        return sum(each.scored.get(resource, 0) for each in self.running)

    @contextmanager
    def having(self, running: list[Running]) -> Iterator[None]:
        """As if these ran here, and nobody else."""
        really, self.running = self.running, running
        yield
        self.running = really


@dataclass
class Owners:
    """Services and controllers that pods belong to; the spread by default is over the pods that they select."""

    services: Sequence[Document] = ()
    replication_controllers: Sequence[Document] = ()
    replica_sets: Sequence[Document] = ()
    stateful_sets: Sequence[Document] = ()

    def selector_of(self, pod: Document) -> Selector:
        """What the pod's Services and its controller select, all together; empty when it has neither."""
        equal: dict[str, str] = {}
        for service in _in_namespace(self.services, pod):
            asked = service["spec"].get("selector")
            if asked and Selector({"matchLabels": asked}).matches(labels_of(pod)):
                equal |= asked
        listed = pod["metadata"].get("ownerReferences") or []
        controller: Document = next((each for each in listed if each.get("controller")), {})
        match controller.get("apiVersion"), controller.get("kind"):
            case ("v1", "ReplicationController"):
                for owner in _named(self.replication_controllers, controller["name"], pod):
                    equal |= owner["spec"].get("selector") or {}
            case ("apps/v1", "ReplicaSet"):
                for owner in _named(self.replica_sets, controller["name"], pod):
                    return Selector({"matchLabels": equal}).both(Selector(owner["spec"]["selector"]))
            case ("apps/v1", "StatefulSet"):
                for owner in _named(self.stateful_sets, controller["name"], pod):
                    return Selector({"matchLabels": equal}).both(Selector(owner["spec"]["selector"]))
        return Selector({"matchLabels": equal})


@dataclass
class Cluster:
    """`place` and `nominate` are the only changes: a pod runs on a node from then on, or is to."""

    nodes: Iterable[Document]
    pods: Iterable[Document] = ()
    namespaces: Mapping[str, Labels] = field(default_factory=dict)
    """Labels by name; a namespace that is not here has none."""
    owners: Owners = field(default_factory=Owners)
    budgets: Sequence[Document] = ()
    storage: Storage = field(default_factory=Storage)

    def __post_init__(self) -> None:
        self.machines = {node["metadata"]["name"]: Machine(node) for node in self.nodes}
        for pod in self.pods:
            self.place(pod, pod["spec"]["nodeName"])

    def place(self, pod: Document, node: str) -> None:
        if (pod.get("status") or {}).get("phase") not in _ENDED:
            self.machines[node].running.append(Running(pod))

    def nominate(self, pod: Document, node: str) -> None:
        self.machines[node].awaited.append(Running(pod))


def namespace_of(thing: Document) -> str:
    return thing["metadata"].get("namespace") or "default"


def labels_of(thing: Document) -> Labels:
    return thing["metadata"].get("labels") or {}


def priority_of(pod: Document) -> int:
    return pod["spec"].get("priority") or 0


def _in_namespace(things: Iterable[Document], pod: Document) -> list[Document]:
    return [thing for thing in things if namespace_of(thing) == namespace_of(pod)]


def _named(things: Iterable[Document], name: str, pod: Document) -> list[Document]:
    return [thing for thing in _in_namespace(things, pod) if thing["metadata"]["name"] == name]
