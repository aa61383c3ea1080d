"""Stand-in for kubelets: pods that run by word of mouth, on nodes that exist only in the API.

    make_nodes(plane, 100, gpu=8)
    with Kubelets(plane):
        ...  # bound pods become Running

What a kubelet promises the control plane is kept: a pod is admitted only while its node has room, is reported Running,
ends in time, and is taken out of the API once it is asked to go.  Three annotations on a pod say how it ends:

    muster.dev/run-seconds   how long it runs (default: for ever), whatever its restart policy
    muster.dev/exit-code     0 (default): Succeeded; anything else: Failed
    muster.dev/stop-seconds  how long it takes to stop when it is asked to (default: no time), at most its grace
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

import msgspec

from controlplane.plane import ADMINS, ControlPlane
from muster.api.requests import effective_requests
from muster.api.resources import NODES, PODS
from muster.api.times import seconds, stamp
from muster.api.wire import Container, Node, Pod, PodSpec
from muster.base.errors import ApiError, Unreachable
from muster.base.quantity import amount, show
from muster.kube.client import JSON, STRATEGIC_PATCH, Client
from muster.kube.connection import load
from muster.kube.reflector import Gone, Reflector
from muster.kube.writes import is_gone

__all__ = ["EXIT_CODE", "RUN_SECONDS", "STOP_SECONDS", "Kubelets"]

RUN_SECONDS = "muster.dev/run-seconds"
EXIT_CODE = "muster.dev/exit-code"
STOP_SECONDS = "muster.dev/stop-seconds"

_IN_FLIGHT = 64
_AGAIN_SECONDS = 0.2

Room = dict[str, int]


class Kubelets:
    """The kubelets of all nodes of a plane.

    From a test: `with Kubelets(plane):`, in a thread of its own.  From asyncio: `run()` as a task.
    A pod on a node that is not in the API is nobody's business and stays as it is.

        admitted → Running → (Succeeded | Failed)      not admitted → Failed, OutOfcpu and the like
        anything with a deletion timestamp → out of the API
    """

    def __init__(self, plane: ControlPlane) -> None:
        self._connection = load(kubeconfig=str(plane.kubeconfig("kubelet-stand-in", ADMINS)))
        self._nodes: dict[str, Room] = {}
        """Allocatable room of the nodes that are in the API."""
        self._pods: dict[str, _Held] = {}
        """Bound pods that are in the API, by UID, admitted or not."""
        self._on_node: dict[str, dict[str, Room]] = {}
        """What admitted pods take that have not ended, by node and UID; `pods` counts the pod itself."""
        self._due: asyncio.Queue[str] = asyncio.Queue()
        """UIDs to look at; one may be in it several times."""
        self._listed = threading.Event()
        """All is read, or never will be."""
        self._loop: asyncio.AbstractEventLoop
        self._task: asyncio.Task[None]
        self._failure: BaseException | None = None

    def __enter__(self) -> Kubelets:
        self._thread = threading.Thread(target=self._run_in_thread, name="kubelets", daemon=True)
        self._thread.start()
        self._listed.wait()
        self._raise_failure()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(RuntimeError):  # the loop is closed: a failure ended it
            self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join()
        self._raise_failure()

    async def run(self) -> None:
        """Until cancelled; an API server that goes away and comes back is no reason to end."""
        async with Client(self._connection, user_agent="kubelets") as client, asyncio.TaskGroup() as group:
            nodes = Reflector(client, [NODES], Node, deliver=self._nodes_changed)
            pods = Reflector(client, [PODS], _Pod, deliver=self._pods_changed)
            group.create_task(nodes.run())
            await nodes.synced.wait()
            group.create_task(pods.run())
            for _ in range(_IN_FLIGHT):
                group.create_task(self._work(client))
            await pods.synced.wait()
            self._listed.set()

    def _run_in_thread(self) -> None:
        async def main() -> None:
            self._loop, self._task = asyncio.get_running_loop(), asyncio.ensure_future(self.run())
            await asyncio.wait([self._task])
            if not self._task.cancelled():
                self._failure = self._task.exception()

        try:
            asyncio.run(main())
        finally:
            self._listed.set()

    def _raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    # what the watches tell

    def _nodes_changed(self, news: Sequence[Node | Gone]) -> None:
        for node in news:
            if isinstance(node, Gone):
                del self._nodes[node.key]
                continue
            name = node.metadata.name
            if name not in self._nodes:
                for uid, held in self._pods.items():
                    if held.pod.spec.node_name == name:
                        self._due.put_nowait(uid)
            self._nodes[name] = {resource: amount(resource, text) for resource, text in node.status.allocatable.items()}

    def _pods_changed(self, news: Sequence[_Pod | Gone]) -> None:
        for pod in news:
            if isinstance(pod, Gone):
                self._forget(pod.uid)
            elif pod.spec.node_name:
                held = self._pods.setdefault(pod.metadata.uid, _Held(pod))
                held.pod = pod
                if pod.status.phase in ("Succeeded", "Failed"):
                    self._release(pod)
                self._due.put_nowait(pod.metadata.uid)

    def _forget(self, uid: str) -> None:
        held = self._pods.pop(uid, None)
        if held is not None:
            self._release(held.pod)
            for timer in (held.end, held.stop):
                if timer is not None:
                    timer.cancel()

    def _release(self, pod: _Pod) -> None:
        self._on_node.get(pod.spec.node_name, {}).pop(pod.metadata.uid, None)

    # what is done about it

    async def _work(self, client: Client) -> None:
        while True:
            held = self._pods.get(await self._due.get())
            if held is None or (step := self._next_step(held)) is None or step.name in held.done:
                continue
            held.done.add(step.name)
            try:
                await client.request(
                    step.method, step.path, body=msgspec.json.encode(step.body), content_type=step.content_type
                )
            except ApiError as error:
                # a report that was under way when the pod was asked to go may come after that of its end
                late = error.code == 422 and held.pod.metadata.deletion_timestamp is not None
                if late or is_gone(error):
                    continue
                if error.code != 429 and error.code < 500:
                    raise
                self._look_again(held, step)
            except Unreachable:
                self._look_again(held, step)

    def _look_again(self, held: _Held, step: _Step) -> None:
        held.done.discard(step.name)
        asyncio.get_running_loop().call_later(_AGAIN_SECONDS, self._due.put_nowait, held.pod.metadata.uid)

    def _next_step(self, held: _Held) -> _Step | None:
        pod = held.pod
        if pod.spec.node_name not in self._nodes:
            return None
        if pod.metadata.deletion_timestamp is not None:
            # a kubelet reports how a pod ended before it lets it go; the Job controller waits for that
            if pod.status.phase in ("Succeeded", "Failed"):
                return _removal(pod)
            return _report_killed(pod) if self._has_stopped(held) else None
        match pod.status.phase:
            case "Pending":
                refusal = self._admit(pod)
                return _report_running(pod) if refusal is None else _report_refused(pod, *refusal)
            case "Running":
                # admitted before our time, as after a restart of the kubelet: it is there, so it counts
                self._count(pod)
                if held.over:
                    return _report_ended(pod)
                if held.end is None and (runs := pod.metadata.annotations.get(RUN_SECONDS)) is not None:
                    held.end = asyncio.get_running_loop().call_later(float(runs), self._over, held)
        return None

    def _over(self, held: _Held) -> None:
        held.over = True
        self._due.put_nowait(held.pod.metadata.uid)

    def _has_stopped(self, held: _Held) -> bool:
        """Whether a pod that is asked to go has; if not, it is looked at again when it will have."""
        meta, now = held.pod.metadata, time.time()
        if held.pod.status.phase != "Running" or meta.deletion_timestamp is None:
            return True
        held.asked_at = held.asked_at or now
        end = min(held.asked_at + float(meta.annotations.get(STOP_SECONDS, "0")), seconds(meta.deletion_timestamp))
        if end <= now:
            return True
        if held.stop is not None:
            held.stop.cancel()
        held.stop = asyncio.get_running_loop().call_later(end - now, self._due.put_nowait, meta.uid)
        return False

    def _admit(self, pod: _Pod) -> tuple[str, str] | None:
        """Count the pod on its node; or reason and message why there is no room for it."""
        admitted = self._on_node.setdefault(pod.spec.node_name, {})
        if pod.metadata.uid in admitted:
            return None
        room = self._nodes[pod.spec.node_name]
        for resource, wanted in _taken(pod.spec).items():
            if "/" in resource and resource not in room:
                continue  # counted by somebody else, if at all: kubelets see only what a device plugin told them of
            used = sum(taken.get(resource, 0) for taken in admitted.values())
            have = room.get(resource, 0)
            if used + wanted > have:
                wants, uses, has = (show(resource, count) for count in (wanted, used, have))
                return f"OutOf{resource}", f"the node has {has}, of which {uses} is in use; the pod wants {wants}"
        self._count(pod)
        return None

    def _count(self, pod: _Pod) -> None:
        self._on_node.setdefault(pod.spec.node_name, {})[pod.metadata.uid] = _taken(pod.spec)


class _Container(Container, frozen=True):
    name: str = ""
    image: str = ""


class _Spec(PodSpec, frozen=True):
    containers: tuple[_Container, ...] = ()


class _Pod(Pod, frozen=True):
    """A pod, with what its status repeats of its containers."""

    spec: _Spec = _Spec()


class _Held:
    """One bound pod: how it was seen last, and what was done about it."""

    __slots__ = ("asked_at", "done", "end", "over", "pod", "stop")

    def __init__(self, pod: _Pod) -> None:
        self.pod = pod
        self.done: set[str] = set()
        """Steps that the server took, or is taking."""
        self.end: asyncio.TimerHandle | None = None
        self.over = False
        """Its time has run out; to be reported."""
        self.asked_at: float | None = None
        """When it was seen that it is to go."""
        self.stop: asyncio.TimerHandle | None = None


class _Step(NamedTuple):
    """One request about a pod; it is sent once, however often the pod is seen before the server's answer is."""

    name: str
    method: str
    path: str
    body: object
    content_type: str


def _taken(spec: PodSpec) -> Room:
    return {"pods": 1, **dict(effective_requests(spec).amounts)}


def _removal(pod: _Pod) -> _Step:
    body = {"gracePeriodSeconds": 0, "preconditions": {"uid": pod.metadata.uid}}
    path = PODS.path(pod.metadata.namespace, pod.metadata.name)
    return _Step("remove", "DELETE", path, body, JSON)


def _report_running(pod: _Pod) -> _Step:
    now = _now()
    status = {
        "phase": "Running",
        "startTime": now,
        "conditions": [_condition(kind, "True") for kind in ("Initialized", "ContainersReady", "Ready")],
        "containerStatuses": _containers(pod, {"running": {"startedAt": now}}, ready=True),
    }
    return _report("run", pod, status)


def _report_ended(pod: _Pod) -> _Step:
    code = int(pod.metadata.annotations.get(EXIT_CODE, "0"))
    reason = "Error" if code else "Completed"
    state = {"terminated": {"exitCode": code, "reason": reason, "finishedAt": _now()}}
    status = {
        "phase": "Failed" if code else "Succeeded",
        "conditions": [_condition(kind, "False", reason="PodCompleted") for kind in ("ContainersReady", "Ready")],
        "containerStatuses": _containers(pod, state, ready=False),
    }
    return _report("end", pod, status)


def _report_killed(pod: _Pod) -> _Step:
    state = {"terminated": {"exitCode": 137, "reason": "Error", "finishedAt": _now()}}
    return _report("kill", pod, {"phase": "Failed", "containerStatuses": _containers(pod, state, ready=False)})


def _report_refused(pod: _Pod, reason: str, message: str) -> _Step:
    return _report("refuse", pod, {"phase": "Failed", "reason": reason, "message": message, "startTime": _now()})


def _report(name: str, pod: _Pod, status: Mapping[str, object]) -> _Step:
    # a UID in a patch is a precondition: another pod of the same name is left alone
    body = {"metadata": {"uid": pod.metadata.uid}, "status": status}
    path = PODS.path(pod.metadata.namespace, pod.metadata.name, "status")
    return _Step(name, "PATCH", path, body, STRATEGIC_PATCH)


def _condition(kind: str, status: str, **more: str) -> dict[str, str]:
    return {"type": kind, "status": status, "lastTransitionTime": _now(), **more}


def _containers(pod: _Pod, state: object, *, ready: bool) -> list[dict[str, object]]:
    return [
        {
            "name": container.name,
            "image": container.image,
            "imageID": "",
            "ready": ready,
            "started": ready,
            "restartCount": 0,
            "state": state,
        }
        for container in pod.spec.containers
    ]


def _now() -> str:
    return stamp(time.time())
