"""The life of nodes: one whose kubelet is silent is not ready any more, and says so in conditions and taints.

    renewing its lease → silent for 40 s: Ready=Unknown, unreachable:NoSchedule, unreachable:NoExecute → back again

What the taints do to pods is `taints`' business.  Unlike upstream, nodes are not tainted at a limited rate; like there,
a cluster whose nodes are all silent is taken for one whose controller is cut off, and nobody is driven away.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from typing import Any

import msgspec

from muster.api.calls import Answer, Asked, Document, Done, Look, Patch, Refused, Say
from muster.api.resources import LEASES, NODES, PODS
from muster.api.times import stamp
from muster.controllers.desk import Again, AtDesks, Desk
from muster.controllers.desk import Look as Looking
from muster.controllers.objects import Lease, Node, NodeCondition, Pod, Taint, event, read

GRACE_SECONDS = 40.0
_STARTUP_GRACE_SECONDS = 60.0
"""Of a node whose kubelet has never said anything."""
LEASE_NAMESPACE = "kube-node-lease"
_COMPONENT = "node-controller"

NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"
_UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
_TAINTS = {
    ("Ready", "False"): NOT_READY,
    ("Ready", "Unknown"): UNREACHABLE,
    ("MemoryPressure", "True"): "node.kubernetes.io/memory-pressure",
    ("DiskPressure", "True"): "node.kubernetes.io/disk-pressure",
    ("PIDPressure", "True"): "node.kubernetes.io/pid-pressure",
    ("NetworkUnavailable", "True"): "node.kubernetes.io/network-unavailable",
}
"""What a condition of a node taints it with."""
_OUR_KEYS = {*_TAINTS.values(), _UNSCHEDULABLE}
_OF_KUBELETS = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
"""Conditions that nobody knows any more when a kubelet is silent."""

Steps = Generator[Sequence[Asked], Sequence[Answer], Any]


class NodeLifecycle(AtDesks):
    """Watches over leases, and writes what becomes of nodes without one."""

    def __init__(self, *, grace_seconds: float = GRACE_SECONDS) -> None:
        self._grace_seconds = grace_seconds
        self._nodes: dict[str, Node] = {}
        self._leases: dict[str, Lease] = {}
        self._pods: dict[str, dict[str, Pod]] = {}
        """By node and UID."""
        self._signs: dict[str, None] = {}
        """Nodes that gave a sign of life since the last turn: our own clock tells when."""
        self._alive_at: dict[str, float] = {}
        """When the last sign of life came."""
        self._introduced: set[str] = set()
        """UIDs of nodes that were said to be here."""
        self._all_lost = False
        self._desk = Desk(self._look)
        super().__init__(self._desk)

    # --- what is seen ---

    def seen(self, where: str, thing: Node | Lease | Pod) -> None:
        if isinstance(thing, Node):
            self._node_seen(thing)
        elif isinstance(thing, Pod):
            if thing.spec.node_name:
                self._pods.setdefault(thing.spec.node_name, {})[thing.metadata.uid] = thing
        elif thing.metadata.namespace == LEASE_NAMESPACE:
            name = thing.metadata.name
            before = self._leases.get(name)
            self._leases[name] = thing
            if before is None or before.spec.renew_time != thing.spec.renew_time:
                self._signs[name] = None

    def gone(self, where: str, thing: Node | Lease | Pod) -> None:
        if isinstance(thing, Node):
            self._nodes.pop(thing.metadata.name, None)
            self._alive_at.pop(thing.metadata.name, None)
            self._desk.add(thing.metadata.name)
            self._recount()
        elif isinstance(thing, Pod):
            self._pods.get(thing.spec.node_name, {}).pop(thing.metadata.uid, None)
        else:
            self._leases.pop(thing.metadata.name, None)

    def _node_seen(self, node: Node) -> None:
        name = node.metadata.name
        before = self._nodes.get(name)
        self._nodes[name] = node
        if before is None or before.metadata.uid != node.metadata.uid or _beat(before) != _beat(node):
            self._signs[name] = None
        self._desk.add(name)
        self._recount()

    def _recount(self) -> None:
        lost = bool(self._nodes) and not any(_status(node, "Ready") == "True" for node in self._nodes.values())
        if lost != self._all_lost:
            self._all_lost = lost
            for name in self._nodes:
                self._desk.add(name)

    def work(self, now: float) -> list[Asked]:
        for name in self._signs:
            self._alive_at[name] = now
        self._signs.clear()
        return super().work(now)

    # --- one node ---

    def _look(self, name: str) -> Looking:
        node = self._nodes.get(name)
        if node is None:
            return
        if node.metadata.uid not in self._introduced:
            self._introduced.add(node.metadata.uid)
            words = f"Node {name} event: Registered Node {name} in Controller"
            yield [_say(node, "RegisteredNode", words)]
        now = self._desk.now
        never_spoke = _status(node, "Ready") is None
        grace = max(self._grace_seconds, _STARTUP_GRACE_SECONDS) if never_spoke else self._grace_seconds
        deadline = self._alive_at.setdefault(name, now) + grace
        if deadline > now:
            self._desk.add(name, at=deadline)
        elif _status(node, "Ready") != "Unknown":
            changed = yield from self._silent(node)
            if changed is None:
                return
            node = changed
        yield from self._taint(node)

    def _silent(self, node: Node) -> Steps:
        """Says that a node is silent, and that its pods are not ready; None if it speaks after all."""
        name = node.metadata.name
        [answer] = yield [Look(path=LEASES.path(LEASE_NAMESPACE, name), told=True)]
        lease = read(Lease, answer.data) if isinstance(answer, Done) else None
        known = self._leases.get(name)
        if lease is None and not (isinstance(answer, Refused) and answer.code == 404):
            raise Again
        if lease is not None and (known is None or known.spec.renew_time != lease.spec.renew_time):
            # the watch lags behind: the kubelet does not
            self._alive_at[name] = self._desk.now
            self._desk.add(name, at=self._desk.now + self._grace_seconds)
            return None
        [answer] = yield [_unknown(node, now=self._desk.now)]
        changed = read(Node, answer.data) if isinstance(answer, Done) else None
        if changed is None:
            raise Again
        if _status(node, "Ready") == "True":
            yield [_say(node, "NodeNotReady", f"Node {name} status is now: NodeNotReady")]
            yield from self._unready_pods(name)
        return changed

    def _unready_pods(self, name: str) -> Steps:
        pods = [pod for pod in self._pods.get(name, {}).values() if pod.is_ready]
        yield [_unready(pod, now=self._desk.now) for pod in pods]
        yield [_say(pod, "NodeNotReady", "Node is not ready", warning=True) for pod in pods]

    def _taint(self, node: Node) -> Steps:
        """Gives a node the taints that its conditions ask for, and takes off those that they do not."""
        wanted = self._wanted_taints(node)
        kept = [one for one in node.spec.taints if not _is_ours(one) or (one.key, one.effect) in wanted]
        missing = wanted - {(one.key, one.effect) for one in kept}
        if not missing and len(kept) == len(node.spec.taints):
            return
        at = stamp(self._desk.now)
        added = [Taint(key=key, effect=effect, time_added=at) for key, effect in sorted(missing, reverse=True)]
        meta = {"uid": node.metadata.uid, "resourceVersion": node.metadata.resource_version}
        taints = [{"effect": one.effect, **msgspec.to_builtins(one)} for one in (*kept, *added)]
        body = {"metadata": meta, "spec": {"taints": taints or None}}
        yield [Patch(path=NODES.path(name=node.metadata.name), body=body)]

    def _wanted_taints(self, node: Node) -> set[tuple[str, str]]:
        found = {
            (key, "NoSchedule")
            for one in node.status.conditions
            if (key := _TAINTS.get((one.type, one.status))) is not None
        }
        if node.spec.unschedulable:
            found.add((_UNSCHEDULABLE, "NoSchedule"))
        ready = _status(node, "Ready")
        if ready in ("False", "Unknown") and not self._all_lost:
            found.add((_TAINTS["Ready", ready], "NoExecute"))
        return found


def _status(node: Node, kind: str) -> str | None:
    return next((one.status for one in node.status.conditions if one.type == kind), None)


def _beat(node: Node) -> str | None:
    return next((one.last_heartbeat_time for one in node.status.conditions if one.type == "Ready"), None)


def _is_ours(taint: Taint) -> bool:
    if taint.effect == "NoExecute":
        return taint.key in (NOT_READY, UNREACHABLE)
    return taint.effect == "NoSchedule" and taint.key in _OUR_KEYS


def _unknown(node: Node, *, now: float) -> Patch:
    meta = node.metadata
    conditions = list(_unknown_conditions(node, now=now))
    body = {
        "metadata": {"uid": meta.uid, "resourceVersion": meta.resource_version},
        "status": {"conditions": conditions},
    }
    return Patch(path=NODES.path(name=meta.name, subresource="status"), body=body, strategic=True, gone_is_fine=False)


def _unknown_conditions(node: Node, *, now: float) -> Iterable[Document]:
    for kind in _OF_KUBELETS:
        known: NodeCondition | None = next((one for one in node.status.conditions if one.type == kind), None)
        said: Document = {"type": kind, "status": "Unknown", "lastTransitionTime": stamp(now)}
        if known is None:
            said |= {
                "reason": "NodeStatusNeverUpdated",
                "message": "Kubelet never posted node status.",
                "lastHeartbeatTime": node.metadata.creation_timestamp,
            }
        elif known.status != "Unknown":
            said |= {"reason": "NodeStatusUnknown", "message": "Kubelet stopped posting node status."}
        else:
            continue
        yield said


def _unready(pod: Pod, *, now: float) -> Patch:
    said = {"type": "Ready", "status": "False", "lastTransitionTime": stamp(now)}
    body = {"metadata": {"uid": pod.metadata.uid}, "status": {"conditions": [said]}}
    path = PODS.path(pod.metadata.namespace, pod.metadata.name, "status")
    return Patch(path=path, body=body, strategic=True, told=True)


def _say(about: Node | Pod, reason: str, message: str, *, warning: bool = False) -> Say:
    resource = NODES if isinstance(about, Node) else PODS
    return event(_COMPONENT, resource, about.metadata, reason=reason, message=message, warning=warning)
