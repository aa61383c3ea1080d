"""The default scheduler in plain Python, one pod and one node at a time: what the columns are compared with.

Written from upstream's formulas (Kubernetes 1.37), with Go's arithmetic: integers divide towards zero (all
are positive here), floats in Go's order.  Slow, and short enough to be checked by reading.

On structs, and for rules of one node only: `tests/plain_scheduler` has all of them, on documents, and is compared with
the real kube-scheduler and with this one.
"""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from math import trunc

from muster.api.images import images_of
from muster.api.requests import effective_requests, given
from muster.api.wire import Node, Pod, Taint, Toleration
from muster.base.quantity import amount

LEAST, MOST = "LeastAllocated", "MostAllocated"
Shape = tuple[tuple[int, int], ...]
"""Of RequestedToCapacityRatio: (percent used, 0 to 10)."""
CPU_AND_MEMORY = {"cpu": 1, "memory": 1}

NAME = "node(s) didn't match the requested node name"
CORDONED = "node(s) were unschedulable"
TAINTED = "node(s) had untolerated taint(s)"
AFFINITY = "node(s) didn't match Pod's node affinity/selector"
PORTS = "node(s) didn't have free ports for the requested pod ports"


class Wants:
    """What one pod asks for."""

    def __init__(self, pod: Pod) -> None:
        self.pod = pod
        found = effective_requests(pod.spec, given(pod.spec, pod.status))
        self.requests = dict(found.amounts)
        self.scored = self.requests | {"cpu": found.scored_cpu_milli, "memory": found.scored_memory_bytes}
        new = found.scored_when_new
        self.scored_when_new = self.scored if new is None else dict(new)
        self.images = images_of(pod.spec)
        sidecars = [container for container in pod.spec.init_containers if container.restart_policy == "Always"]
        self.ports = [
            (port.protocol, port.host_port, port.host_ip or "0.0.0.0")
            for container in (*pod.spec.containers, *sidecars)
            for port in container.ports
            if port.host_port
        ]
        nodes = pod.spec.affinity.node_affinity if pod.spec.affinity else None
        self.required = nodes.required if nodes else None
        self.preferred = nodes.preferred if nodes else ()


class Machine:
    """A node and what runs on it."""

    def __init__(self, node: Node, running: Iterable[Pod] = ()) -> None:
        self.node = node
        self.name = node.metadata.name
        self.allocatable = {name: amount(name, text) for name, text in node.status.allocatable.items()}
        self.running: list[Wants] = [Wants(pod) for pod in running]
        self.images = {name: image.size_bytes for image in node.status.images for name in image.names}

    def requested(self, resource: str) -> int:
        return sum(wants.requests.get(resource, 0) for wants in self.running)

    def scored(self, resource: str) -> int:
        return sum(wants.scored.get(resource, 0) for wants in self.running)

    # --- filters, in order: the first that refuses names the reasons ---

    def refuses(self, wants: Wants) -> list[str]:
        spec, mine = wants.pod.spec, self.node.spec
        if mine.unschedulable and not _tolerated(_UNSCHEDULABLE, spec.tolerations):
            return [CORDONED]
        hard = [t for t in mine.taints if t.effect in ("NoSchedule", "NoExecute")]
        if not all(_tolerated(taint, spec.tolerations) for taint in hard):
            return [TAINTED]
        labels = self.node.metadata.labels
        if any(labels.get(key) != value for key, value in spec.node_selector.items()):
            return [AFFINITY]
        if wants.required is not None and not wants.required.matches(labels, self.name):
            return [AFFINITY]
        taken = [port for other in self.running for port in other.ports]
        if any(_collide(one, other) for one in wants.ports for other in taken):
            return [PORTS]
        return self._short_of(wants)

    def _short_of(self, wants: Wants) -> list[str]:
        short = []
        if len(self.running) + 1 > self.allocatable.get("pods", 0):
            short.append("Too many pods")
        for resource, needed in wants.requests.items():
            if needed > self.allocatable.get(resource, 0) - self.requested(resource):
                short.append(f"Insufficient {resource}")
        return short

    # --- scores of this node alone ---

    def fit_score(self, wants: Wants, strategy: str | Shape, weights: Mapping[str, int] = CPU_AND_MEMORY) -> int:
        total = weight_sum = 0
        for resource, share in weights.items():
            weight = share
            capacity = self.allocatable.get(resource, 0)
            extended = resource not in ("cpu", "memory", "ephemeral-storage")
            if capacity == 0 or (extended and not wants.scored_when_new.get(resource, 0)):
                continue
            requested = self.scored(resource) + wants.scored_when_new.get(resource, 0)
            if not isinstance(strategy, str):
                part = _on_line(strategy, min(requested, capacity) * 100 // capacity)
                weight = share if part > 0 else 0
            elif strategy == MOST:
                part = min(requested, capacity) * 100 // capacity
            else:
                part = 0 if requested > capacity else (capacity - requested) * 100 // capacity
            total += part * weight
            weight_sum += weight
        if not isinstance(strategy, str):
            return (2 * total + weight_sum) // (2 * weight_sum) if weight_sum else 0
        return total // weight_sum if weight_sum else 0

    def balance_score(self, wants: Wants) -> int:
        if not wants.requests.get("cpu") and not wants.requests.get("memory"):
            return 0  # PreScore skips best-effort pods
        return 50 + (50 + self._balance(wants.requests) - self._balance({})) // 2

    def _balance(self, more: Mapping[str, int]) -> int:
        fractions = []
        for resource in ("cpu", "memory"):
            capacity = self.allocatable.get(resource, 0)
            if capacity:
                fraction = float(self.requested(resource) + more.get(resource, 0)) / float(capacity)
                fractions.append(min(fraction, 1.0))
        std = abs((fractions[0] - fractions[1]) / 2) if len(fractions) == 2 else 0.0
        return int((1 - std) * 100.0)

    def room_left(self, strategy: str | Shape) -> int:
        """Ours, not upstream's: tells equal scores apart by the share of room left, or used when packing."""
        parts = []
        for resource in ("cpu", "memory"):
            capacity = self.allocatable.get(resource, 0)
            parts.append(max(0, capacity - self.scored(resource)) * 1023 // max(1, capacity))
        share = sum(parts) // 2
        packs = strategy == MOST if isinstance(strategy, str) else strategy[-1][1] > strategy[0][1]
        return 1023 - share if packs else share

    # --- raw scores, normalised over the nodes that take the pod ---

    def soft_taints(self, wants: Wants) -> int:
        soft = [t for t in wants.pod.spec.tolerations if t.effect in ("", "PreferNoSchedule")]
        return sum(t.effect == "PreferNoSchedule" and not _tolerated(t, soft) for t in self.node.spec.taints)

    def preference(self, wants: Wants) -> int:
        labels = self.node.metadata.labels
        return sum(w.weight for w in wants.preferred if w.preference.matches(labels, self.name))


class Plain:
    """Places one pod after another, each on the best node; ties go to room, then to the first name."""

    def __init__(self, nodes: Iterable[Node], *, strategy: str | Shape = LEAST) -> None:
        self.machines = {node.metadata.name: Machine(node) for node in sorted(nodes, key=lambda n: n.metadata.name)}
        self._strategy = strategy

    def add(self, node: str, pod: Pod) -> None:
        self.machines[node].running.append(Wants(pod))

    def room(self, pod: Pod) -> list[str]:
        """Nodes that take the pod now."""
        wants = Wants(pod)
        return [machine.name for machine in self.machines.values() if not machine.refuses(wants)]

    def place(self, pod: Pod) -> str | None:
        """Where the pod goes; it runs there from now on."""
        wants = Wants(pod)
        scores = self.scores(wants)
        if not scores:
            return None
        # max gives the first of equals, and names are sorted
        best = max(scores, key=lambda name: (scores[name], self.machines[name].room_left(self._strategy)))
        self.machines[best].running.append(wants)
        return best

    def scores(self, wants: Wants) -> dict[str, int]:
        takers = [machine for machine in self.machines.values() if not machine.refuses(wants)]
        taints = normalised([m.soft_taints(wants) for m in takers], reverse=True)
        affinity = normalised([m.preference(wants) for m in takers], reverse=False)
        return {
            machine.name: 3 * taint
            + 2 * preference
            + machine.fit_score(wants, self._strategy)
            + machine.balance_score(wants)
            + self.image_score(wants, machine)
            for machine, taint, preference in zip(takers, taints, affinity, strict=True)
        }

    def image_score(self, wants: Wants, machine: Machine) -> int:
        """Sizes, scaled down by the share of nodes that have the image; nodes agree on sizes here."""
        if not wants.images:
            return 0
        least, most = 23 << 20, (1000 << 20) * len(wants.images)
        total = 0
        for image in wants.images:
            size = machine.images.get(image, 0)
            share = float(sum(image in other.images for other in self.machines.values())) / float(len(self.machines))
            total += int(float(size) * share)
        return 100 * (min(max(total, least), most) - least) // (most - least)


def _on_line(shape: Shape, percent: int) -> int:
    points = [(used, 10 * score) for used, score in shape]
    if percent <= points[0][0]:
        return points[0][1]
    for (left, low), (right, high) in pairwise(points):
        if percent <= right:
            return low + trunc((high - low) * (percent - left) / (right - left))
    return points[-1][1]


def normalised(raw: list[int], *, reverse: bool) -> list[int]:
    """DefaultNormalizeScore."""
    highest = max(raw, default=0)
    parts = [value * 100 // highest if highest else 0 for value in raw]
    return [100 - part for part in parts] if reverse else parts


_UNSCHEDULABLE = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


def _tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    return any(_covers(toleration, taint) for toleration in tolerations)


def _covers(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
        return False
    return toleration.operator == "Exists" or (toleration.operator in ("", "Equal") and toleration.value == taint.value)


def _collide(one: tuple[str, int, str], other: tuple[str, int, str]) -> bool:
    same_ip = one[2] == other[2] or "0.0.0.0" in (one[2], other[2])
    return one[:2] == other[:2] and same_ip
