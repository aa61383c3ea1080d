"""What kubelets do with the pods that are bound to their nodes."""

from __future__ import annotations

from heapq import heappop, heappush
from math import isfinite

from muster.api.calls import Answer, Asked, Delete, Done, Patch, Refused, Say
from muster.api.times import seconds
from muster.base.backoff import backoff_seconds
from muster.local.kubelets import admission, status
from muster.local.kubelets.needs import Lack, Needs
from muster.local.kubelets.nodes import DOWN, LEASE_SECONDS, Heartbeats, host_address
from muster.local.kubelets.objects import Node, Pod, ResourceClaim, VolumeClaim

RUN_SECONDS = "muster.dev/run-seconds"
EXIT_CODE = "muster.dev/exit-code"
STOP_SECONDS = "muster.dev/stop-seconds"

_OVER = ("Succeeded", "Failed")
_TERMINATED = 143
"""Of a container that ends when it is asked to: SIGTERM."""
_KILLED = 137
"""Of one that does not, and is made to."""
_FIRST_REST_SECONDS = 10.0
_LONGEST_REST_SECONDS = 300.0
_LONGEST_AGAIN_SECONDS = 30.0


class _Held:
    """One bound pod."""

    __slots__ = (
        "acted_on",
        "asked_at",
        "began_at",
        "busy",
        "failures",
        "guest",
        "lacked",
        "lacks_since",
        "pod",
        "told",
        "try_at",
    )

    def __init__(self, pod: Pod) -> None:
        self.pod = pod
        """As it was seen last."""
        self.guest: admission.Guest | None = None
        """What it takes from its node, from admission to its end."""
        self.began_at: float | None = None
        """When this run of its containers began, to the fraction of a second where it was us who began it."""
        self.asked_at: float | None = None
        """When it was first seen that it is to go."""
        self.lacked = self.told = ""
        """What it lacks before it can be started; what was said of that."""
        self.lacks_since = 0.0
        self.busy = False
        """A call about it is on its way."""
        self.acted_on = ""
        """The version for which a call was answered: the next one is decided on a later version."""
        self.failures = 0
        self.try_at = 0.0
        """Nothing is sent before; after a refusal."""


class Kubelets:
    """The kubelets of all nodes, as a core without I/O: objects and answers in, calls out.

        admitted → (waits for volumes and devices) → Running → (Succeeded | Failed)
        not admitted → Failed, OutOfcpu and the like
        anything with a deletion timestamp → stopped → out of the API

    Everything is decided anew from how a pod was seen last, so a new process goes on where another one ended.  Nodes
    that are down, and pods on nodes that are not in the API, stay as they are.
    """

    def __init__(self, *, lease_seconds: float = LEASE_SECONDS) -> None:
        self._needs = Needs()
        self._heartbeats = Heartbeats(lease_seconds=lease_seconds)
        self._nodes: dict[str, Node] = {}
        self._held: dict[str, _Held] = {}
        """By UID."""
        self._on_node: dict[str, dict[str, _Held]] = {}
        """The same by node, which need not exist, and UID."""
        self._slots: dict[str, int] = {}
        """Of each node, the number that its pods' addresses begin with."""
        self._addresses: set[str] = set()
        """Of all pods that have one."""
        self._due: dict[str, None] = {}
        """UIDs to look at now."""
        self._timers: list[tuple[float, str]] = []
        """UIDs to look at later; there may be several for one, and some for none."""
        self._wanted: list[Asked] = []
        """Calls to be given out."""
        self._calls: dict[int, tuple[Asked, str]] = {}
        """On their way, by identity: the call, and the pod's UID."""

    # --- what is seen ---

    def seen(self, where: str, thing: Node | Pod | VolumeClaim | ResourceClaim) -> None:
        """An object is as it is now; `where` is the path of its kind."""
        if isinstance(thing, Node):
            self._node_seen(thing)
        elif isinstance(thing, VolumeClaim | ResourceClaim):
            self._due.update(dict.fromkeys(uid for uid in self._needs.seen(thing) if uid in self._held))
        elif thing.spec.node_name:
            self._pod_seen(thing)

    def gone(self, where: str, thing: Node | Pod | VolumeClaim | ResourceClaim) -> None:
        """An object is no more."""
        if isinstance(thing, Node):
            self._heartbeats.gone(thing)
            self._nodes.pop(thing.metadata.name, None)
        elif isinstance(thing, VolumeClaim | ResourceClaim):
            self._needs.gone(thing)
        else:
            self._pod_gone(thing)

    def _node_seen(self, node: Node) -> None:
        name = node.metadata.name
        before = self._nodes.get(name)
        self._nodes[name] = node
        self._slots.setdefault(name, len(self._slots))
        self._heartbeats.seen(node)
        if before is None or _is_down(before):
            self._due.update(dict.fromkeys(self._on_node.get(name, ())))

    def _pod_seen(self, pod: Pod) -> None:
        uid = pod.metadata.uid
        held = self._held.get(uid)
        if held is None:
            held = self._held[uid] = _Held(pod)
            self._on_node.setdefault(pod.spec.node_name, {})[uid] = held
        held.pod = pod
        if pod.status.pod_ip:
            self._addresses.add(pod.status.pod_ip)
        if pod.status.phase in _OVER:
            held.guest = None
        elif pod.status.phase == "Running" or pod.status.container_statuses:
            # admitted before our time, too: it is there, so it counts; its spec may have changed
            held.guest = admission.guest(pod)
        self._due[uid] = None

    def _pod_gone(self, pod: Pod) -> None:
        held = self._held.pop(pod.metadata.uid, None)
        if held is not None:
            self._on_node[held.pod.spec.node_name].pop(pod.metadata.uid)
            if not held.pod.spec.host_network:
                self._addresses.discard(held.pod.status.pod_ip)
            self._due.pop(pod.metadata.uid, None)

    # --- what is done ---

    def work(self, now: float) -> list[Asked]:
        """What is to be sent now."""
        while self._timers and self._timers[0][0] <= now:
            uid = heappop(self._timers)[1]
            if uid in self._held:
                self._due[uid] = None
        self._wanted += self._heartbeats.work(now)
        while self._due:
            # off the list first: a bug that one pod brings to light must not stop the others
            uid = next(iter(self._due))
            del self._due[uid]
            self._wanted += self._decide(uid, self._held[uid], now)
        wanted, self._wanted = self._wanted, []
        return wanted

    def answered(self, call: Asked, answer: Answer, now: float) -> None:
        """What came of a call that `work` gave."""
        if self._heartbeats.answered(call, answer, now):
            return
        _, uid = self._calls.pop(id(call))
        held = self._held.get(uid)
        if held is None:
            return
        held.busy = False
        if isinstance(answer, Done) or (isinstance(answer, Refused) and answer.is_gone):
            held.failures = 0
        else:
            held.acted_on = ""
            held.failures += 1
            held.try_at = now + backoff_seconds(held.failures, initial=0.5, maximum=_LONGEST_AGAIN_SECONDS)
        self._due[uid] = None

    @property
    def next_at(self) -> float | None:
        """When there is something to do although nothing happens; 0 for now."""
        if self._due or self._wanted:
            return 0.0
        times = [self._heartbeats.next_at, self._timers[0][0] if self._timers else None]
        return min((at for at in times if at is not None), default=None)

    def _decide(self, uid: str, held: _Held, now: float) -> list[Asked]:
        node = self._nodes.get(held.pod.spec.node_name)
        if node is None or _is_down(node) or held.busy or held.acted_on == held.pod.metadata.resource_version:
            return []
        if held.try_at > now:
            return self._later(uid, held.try_at)
        calls = self._step(held, node, now)
        if calls:
            held.busy = True
            held.acted_on = held.pod.metadata.resource_version
            self._calls[id(calls[0])] = (calls[0], uid)
        return calls

    def _later(self, uid: str, at: float) -> list[Asked]:
        """Nothing now."""
        heappush(self._timers, (at, uid))
        return []

    def _step(self, held: _Held, node: Node, now: float) -> list[Asked]:
        """What is to be done about a pod; the first call is the one whose answer matters."""
        pod = held.pod
        if pod.metadata.deletion_timestamp is not None:
            # a kubelet reports how a pod ended before it lets it go; the Job controller waits for that
            return [_removal(pod)] if pod.status.phase in _OVER else self._stop(held, now)
        if pod.status.phase == "Pending":
            return self._admit(held, node, now)
        return self._go_on(held, now) if pod.status.phase == "Running" else []

    def _admit(self, held: _Held, node: Node, now: float) -> list[Asked]:
        pod = held.pod
        others = (one.guest for one in self._on_node[node.metadata.name].values() if one is not held)
        if held.guest is None:
            refusal = admission.refusal(pod, node, [guest for guest in others if guest is not None])
            if refusal is not None:
                report = status.refused(pod, refusal.reason, refusal.message, now=now)
                return [_report(pod, report), _said(pod, node, refusal.reason, refusal.message)]
        held.guest = admission.guest(pod)
        lack = self._needs.lack(pod)
        if lack is not None:
            return self._wait(held, node, lack, now)
        held.began_at = now
        return [_report(pod, status.running(pod, self._addresses_of(pod, node), now=now))]

    def _wait(self, held: _Held, node: Node, lack: Lack, now: float) -> list[Asked]:
        """A pod that has its room, and cannot be started yet."""
        pod = held.pod
        if not pod.status.container_statuses:
            return [_report(pod, status.waiting(pod, self._addresses_of(pod, node).host, now=now))]
        if held.lacked != lack.message:
            held.lacked, held.lacks_since = lack.message, now
        at = held.lacks_since + lack.after_seconds
        if now < at:
            return self._later(pod.metadata.uid, at)
        if held.told != lack.message:
            held.told = lack.message
            self._wanted.append(_said(pod, node, lack.reason, lack.message))
        return []

    def _go_on(self, held: _Held, now: float) -> list[Asked]:
        """A pod that runs, or rests before its containers are started again."""
        pod, uid = held.pod, held.pod.metadata.uid
        deadline = _deadline(pod)
        if deadline is not None and deadline <= now:
            words = "Pod was active on the node longer than the specified deadline"
            return [_report(pod, status.ended(pod, _KILLED, now=now, reason="DeadlineExceeded", message=words))]
        ends_at = self._resting_until(pod) if _rests(pod) else self._ends_at(held)
        times = [at for at in (ends_at, deadline) if at is not None]
        if ends_at is None or ends_at > now:
            if times:
                self._later(uid, min(times))
            # while a node is down, others say of its pods that they are not ready
            return [] if _rests(pod) or _is_ready(pod) else [_report(pod, status.well(pod, now=now))]
        return self._start_again(held, now) if _rests(pod) else self._end(held, now)

    def _ends_at(self, held: _Held) -> float | None:
        runs = _number(held.pod, RUN_SECONDS)
        if runs is None:
            return None
        if held.began_at is None:
            held.began_at = _started_at(held.pod)
        return held.began_at + runs

    def _end(self, held: _Held, now: float) -> list[Asked]:
        pod, code = held.pod, int(_number(held.pod, EXIT_CODE) or 0)
        policy = pod.spec.restart_policy
        if policy == "Never" or (policy == "OnFailure" and code == 0):
            return [_report(pod, status.ended(pod, code, now=now))]
        rest = _rest_seconds(pod)
        if rest == 0:
            held.began_at = now
            return [_report(pod, status.running(pod, self._addresses_of(pod, None), now=now, after=code))]
        return [_report(pod, status.resting(pod, code, seconds=rest, now=now))]

    def _resting_until(self, pod: Pod) -> float:
        last = pod.status.container_statuses[0].last_state.terminated
        ended = seconds(last.finished_at or "") if last is not None else 0.0
        return ended + _rest_seconds(pod)

    def _start_again(self, held: _Held, now: float) -> list[Asked]:
        held.began_at = now
        return [_report(held.pod, status.running(held.pod, self._addresses_of(held.pod, None), now=now))]

    def _stop(self, held: _Held, now: float) -> list[Asked]:
        """A pod that is asked to go stops in its own time, but in no more than its grace."""
        pod = held.pod
        if held.asked_at is None:
            held.asked_at = now
        assert pod.metadata.deletion_timestamp is not None
        last = seconds(pod.metadata.deletion_timestamp)
        stops = held.asked_at + (_number(pod, STOP_SECONDS) or 0.0)
        if pod.status.phase == "Running" and min(stops, last) > now:
            return self._later(pod.metadata.uid, min(stops, last))
        code = _KILLED if stops > last and pod.metadata.deletion_grace_period_seconds else _TERMINATED
        return [_report(pod, status.ended(pod, code, now=now))]

    # --- addresses ---

    def _addresses_of(self, pod: Pod, node: Node | None) -> status.Addresses:
        node = node or self._nodes[pod.spec.node_name]
        named = (one.address for one in node.status.addresses if one.type == "InternalIP")
        host = next(named, host_address(node.metadata.name))
        if pod.spec.host_network:
            return status.Addresses(host, host)
        return status.Addresses(host, pod.status.pod_ip or self._free_address(node.metadata.name))

    def _free_address(self, node: str) -> str:
        """The first one that is free in the node's own 10.x.y.0/24; in the next one's, should it be full."""
        slot, number = self._slots[node], 2
        while (address := f"10.{slot >> 8 & 255}.{slot & 255}.{number}") in self._addresses:
            slot, number = (slot, number + 1) if number < 254 else (slot + 1, 2)
        self._addresses.add(address)
        return address


def _is_down(node: Node) -> bool:
    return DOWN in node.metadata.annotations


def _number(pod: Pod, annotation: str) -> float | None:
    """What a pod says of itself; None if it says nothing that is a number."""
    try:
        number = float(pod.metadata.annotations[annotation])
    except (KeyError, ValueError):
        return None
    return number if isfinite(number) else None


def _rests(pod: Pod) -> bool:
    """Whether its containers have ended and wait to be started again."""
    return bool(pod.status.container_statuses) and pod.status.container_statuses[0].state.waiting is not None


def _is_ready(pod: Pod) -> bool:
    return any(one.type == "Ready" and one.status == "True" for one in pod.status.conditions)


def _rest_seconds(pod: Pod) -> float:
    """Before the next start: none before the first restart, then 10 s, 20 s, 40 s ... up to five minutes."""
    restarts = status.restarts_of(pod, pod.spec.containers[0].name)
    return backoff_seconds(restarts, initial=_FIRST_REST_SECONDS, maximum=_LONGEST_REST_SECONDS)


def _started_at(pod: Pod) -> float:
    for one in pod.status.container_statuses:
        if one.state.running is not None:
            return seconds(one.state.running.started_at or "")
    return seconds(pod.status.start_time or "")


def _deadline(pod: Pod) -> float | None:
    if pod.spec.active_deadline_seconds is None or pod.status.start_time is None:
        return None
    return seconds(pod.status.start_time) + pod.spec.active_deadline_seconds


def _path(pod: Pod) -> str:
    return f"/api/v1/namespaces/{pod.metadata.namespace}/pods/{pod.metadata.name}"


def _report(pod: Pod, body: dict[str, object]) -> Patch:
    return Patch(path=f"{_path(pod)}/status", body=body, strategic=True, told=True)


def _removal(pod: Pod) -> Delete:
    return Delete(path=_path(pod), uid=pod.metadata.uid, grace_seconds=0, told=True)


def _said(pod: Pod, node: Node, reason: str, message: str) -> Say:
    meta = pod.metadata
    return Say(
        component="kubelet",
        host=node.metadata.name,
        api_version="v1",
        kind="Pod",
        name=meta.name,
        namespace=meta.namespace,
        uid=meta.uid,
        reason=reason,
        message=message,
        warning=True,
    )
