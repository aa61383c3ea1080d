"""Nodes as kubelets register them, and the signs of life that keep them ready: leases, and now and then a status."""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heappop, heappush
from math import inf
from zlib import crc32

from muster.api.calls import Answer, Create, Document, Done, Patch, Refused
from muster.api.times import micro_stamp, stamp
from muster.api.wire import condition
from muster.local.kubelets.objects import Node

DOWN = "muster.dev/down"
"""A node that carries this annotation is dead to the world."""

_NODES = "/api/v1/nodes"
_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
LEASE_SECONDS = 10.0
_LEASE_LASTS_SECONDS = 40
STATUS_SECONDS = 300.0
_AGAIN_SECONDS = 1.0

_VERSION = "v1.37.1"
_DISK = "100Gi"
_PRESSURES = (
    ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
)


def node_document(
    name: str,
    *,
    cpu: str = "8",
    memory: str = "32Gi",
    gpu: int = 0,
    pods: int = 110,
    labels: Mapping[str, str] | None = None,
    now: float,
) -> Document:
    """A node as its kubelet registers it."""
    has = {"cpu": cpu, "ephemeral-storage": _DISK, "hugepages-1Gi": "0", "hugepages-2Mi": "0", "memory": memory}
    has |= {"nvidia.com/gpu": str(gpu)} if gpu else {}
    has["pods"] = str(pods)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {**_own_labels(name), **(labels or {})},
            "annotations": {"volumes.kubernetes.io/controller-managed-attach-detach": "true"},
        },
        "status": {
            "capacity": has,
            "allocatable": has,
            "conditions": conditions(None, now=now),
            "addresses": [
                {"type": "InternalIP", "address": host_address(name)},
                {"type": "Hostname", "address": name},
            ],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            "nodeInfo": _node_info(name),
        },
    }


def _own_labels(name: str) -> dict[str, str]:
    return {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
    }


def _node_info(name: str) -> Document:
    number = f"{crc32(name.encode()):08x}"
    return {
        "machineID": number * 4,
        "systemUUID": f"{number}-0000-4000-8000-{number}0000",
        "bootID": f"{number}-0000-4000-9000-{number}0000",
        "kernelVersion": "0.0.0-simulated",
        "osImage": "Muster simulated node",
        "containerRuntimeVersion": "muster://0",
        "kubeletVersion": _VERSION,
        "kubeProxyVersion": "",
        "operatingSystem": "linux",
        "architecture": "amd64",
    }


def host_address(name: str) -> str:
    """An address for a node of this name; nobody can be reached there."""
    high, low = divmod(crc32(name.encode()) % 0xFFFE + 1, 256)
    return f"172.18.{high}.{low}"


def conditions(node: Node | None, *, now: float) -> list[Document]:
    """What a kubelet that is well says of its node."""
    found = [_condition(node, kind, "False", words, now=now) for kind, *words in _PRESSURES]
    ready = _condition(node, "Ready", "True", ["KubeletReady", "kubelet is posting ready status"], now=now)
    return [*found, ready]


def _condition(node: Node | None, kind: str, status: str, words: list[str], *, now: float) -> Document:
    before = condition(node.status.conditions, kind) if node is not None else None
    kept = before.last_transition_time if before is not None and before.status == status else None
    return {
        "type": kind,
        "status": status,
        "reason": words[0],
        "message": words[1],
        "lastHeartbeatTime": stamp(now),
        "lastTransitionTime": kept or stamp(now),
    }


class _Host:
    """One node, and what is to be said for it when."""

    __slots__ = ("down", "has_lease", "lease_at", "lease_busy", "node", "status_at", "status_busy")

    def __init__(self, node: Node) -> None:
        self.node = node
        self.down = False
        self.has_lease = True
        """Until the server says otherwise."""
        self.lease_at = 0.0
        self.lease_busy = False
        self.status_at = inf
        """A node that was registered a moment ago needs none; planned with the first lease."""
        self.status_busy = False

    @property
    def due_at(self) -> float:
        return min(self.lease_at, self.status_at)


class Heartbeats:
    """Keeps leases and Ready conditions of all nodes fresh, but of those that are down."""

    def __init__(self, *, lease_seconds: float = LEASE_SECONDS) -> None:
        self._lease_seconds = lease_seconds
        self._hosts: dict[str, _Host] = {}
        self._due: list[tuple[float, str]] = []
        """When to look at a host; there may be several for one, and some for none."""
        self._calls: dict[int, tuple[Create | Patch, _Host]] = {}
        """On their way, by identity."""

    def seen(self, node: Node) -> None:
        name = node.metadata.name
        host = self._hosts.get(name)
        if host is None or host.node.metadata.uid != node.metadata.uid:
            host = self._hosts[name] = _Host(node)
        was_down, host.node, host.down = host.down, node, DOWN in node.metadata.annotations
        ready = condition(node.status.conditions, "Ready")
        if was_down and not host.down:
            host.lease_at = host.status_at = 0.0
        elif (ready is None or ready.status != "True") and not host.status_busy:
            host.status_at = 0.0
        if not host.down:
            heappush(self._due, (host.due_at, name))

    def gone(self, node: Node) -> None:
        host = self._hosts.get(node.metadata.name)
        if host is not None and host.node.metadata.uid == node.metadata.uid:
            del self._hosts[node.metadata.name]

    def work(self, now: float) -> list[Create | Patch]:
        """What is to be sent now."""
        calls: list[Create | Patch] = []
        while self._due and self._due[0][0] <= now:
            host = self._hosts.get(heappop(self._due)[1])
            if host is None or host.down:
                continue
            if host.lease_at <= now and not host.lease_busy:
                host.lease_busy = True
                lease = _renewal if host.has_lease else _new_lease
                calls.append(self._send(lease(host.node, now), host))
            if host.status_at <= now and not host.status_busy:
                host.status_busy = True
                calls.append(self._send(_report(host.node, now), host))
        return calls

    def answered(self, call: object, answer: Answer, now: float) -> bool:
        """Takes in what came of a call; whether it was one of ours."""
        sent = self._calls.pop(id(call), None)
        if sent is None:
            return False
        made, host = sent
        failed = not isinstance(answer, Done)
        if made.path.startswith(_LEASES):
            self._lease_answered(host, answer, failed=failed, now=now)
        else:
            host.status_busy = False
            host.status_at = now + (_AGAIN_SECONDS if failed else STATUS_SECONDS)
        heappush(self._due, (host.due_at, host.node.metadata.name))
        return True

    def _lease_answered(self, host: _Host, answer: Answer, *, failed: bool, now: float) -> None:
        host.lease_busy = False
        had, missing = host.has_lease, isinstance(answer, Refused) and answer.code == 404
        host.has_lease = not missing
        # a lease that is not there is made at once; a namespace that is not there yet may take a while
        seconds = 0.0 if missing and had else _AGAIN_SECONDS if failed else self._lease_seconds
        if host.status_at == inf:
            # nodes that came together need not speak together for ever
            share = 0.5 + crc32(host.node.metadata.name.encode()) / 2**33
            seconds, host.status_at = seconds * share, now + STATUS_SECONDS * share
        host.lease_at = now + seconds

    @property
    def next_at(self) -> float | None:
        return self._due[0][0] if self._due else None

    def _send(self, call: Create | Patch, host: _Host) -> Create | Patch:
        self._calls[id(call)] = (call, host)
        return call


def _lease_spec(node: Node, now: float) -> Document:
    return {
        "holderIdentity": node.metadata.name,
        "leaseDurationSeconds": _LEASE_LASTS_SECONDS,
        "renewTime": micro_stamp(now),
    }


def _renewal(node: Node, now: float) -> Patch:
    path = f"{_LEASES}/{node.metadata.name}"
    return Patch(path=path, body={"spec": _lease_spec(node, now)}, told=True, gone_is_fine=False)


def _new_lease(node: Node, now: float) -> Create:
    meta = node.metadata
    owner = {"apiVersion": "v1", "kind": "Node", "name": meta.name, "uid": meta.uid}
    body = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": meta.name, "namespace": "kube-node-lease", "ownerReferences": [owner]},
        "spec": _lease_spec(node, now),
    }
    return Create(path=_LEASES, body=body, told=True)


def _report(node: Node, now: float) -> Patch:
    body = {"metadata": {"uid": node.metadata.uid}, "status": {"conditions": conditions(node, now=now)}}
    return Patch(path=f"{_NODES}/{node.metadata.name}/status", body=body, strategic=True, told=True)
