"""Stand-in for kubelets: nodes that exist only in the API, and pods that run on them by word of mouth.

    make_nodes(plane, 100, gpu=8)
    with Kubelets(plane):
        ...  # bound pods become Running

What a kubelet promises the control plane is kept: a pod is admitted only while its node has room, is reported Running,
ends in time, and is taken out of the API once it is asked to go.  Two annotations on a pod say how it ends:

    muster.dev/run-seconds   how long it runs (default: for ever), whatever its restart policy
    muster.dev/exit-code     0 (default): Succeeded; anything else: Failed
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import socket
import ssl
import threading
import time
import weakref
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from typing import Any, NamedTuple

import aiohttp
import msgspec

from controlplane.plane import ControlPlane
from muster.api.requests import effective_requests
from muster.api.wire import Container, Node, Pod, PodSpec
from muster.base.errors import ApiError
from muster.base.quantity import amount, show

__all__ = ["EXIT_CODE", "RUN_SECONDS", "Kubelets", "delete_nodes", "make_nodes"]

RUN_SECONDS = "muster.dev/run-seconds"
EXIT_CODE = "muster.dev/exit-code"

_IN_FLIGHT = 64
_AGAIN_SECONDS = 0.2
_WATCH_SECONDS = 300
_REQUEST_SECONDS = 30
_GOODBYE_SECONDS = 2
_BROKEN_WIRE = (aiohttp.ClientError, OSError, TimeoutError)
_JSON = "application/json"
_STRATEGIC = "application/strategic-merge-patch+json"

Room = dict[str, int]


# --- nodes ------------------------------------------------------------------------------------


def make_nodes(
    plane: ControlPlane,
    count: int,
    *,
    cpu: str = "8",
    memory: str = "32Gi",
    pods: int = 110,
    gpu: int = 0,
    labels: Mapping[str, str] | Callable[[int], Mapping[str, str]] | None = None,
    prefix: str = "n",
) -> list[str]:
    """Create ready nodes n0, n1, ... and give their names.  `labels` are for all, or by number: racks, zones."""
    room = {"cpu": cpu, "memory": memory, "pods": str(pods)} | ({"nvidia.com/gpu": str(gpu)} if gpu else {})
    nodes = [
        _node(f"{prefix}{number}", room, labels(number) if callable(labels) else labels or {})
        for number in range(count)
    ]
    _run_apart(_each(plane, [("POST", "/api/v1/nodes", node) for node in nodes]))
    return [str(node["metadata"]["name"]) for node in nodes]


def delete_nodes(plane: ControlPlane, names: Sequence[str]) -> None:
    """No harm if some are gone already."""
    _run_apart(_each(plane, [("DELETE", f"/api/v1/nodes/{name}", None) for name in names], missing_ok=True))


def _node(name: str, room: Mapping[str, str], labels: Mapping[str, str]) -> dict[str, Any]:
    # an API server takes the status of a new node as it comes: one request, not two
    now = _now()
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "KubeletReady",
        "lastHeartbeatTime": now,
        "lastTransitionTime": now,
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}},
        "status": {"capacity": dict(room), "allocatable": dict(room), "conditions": [ready]},
    }


async def _each(plane: ControlPlane, calls: Sequence[tuple[str, str, object]], *, missing_ok: bool = False) -> None:
    """All the calls, many at a time; the first that fails is raised."""
    async with _Wire(plane.server, plane.ssl_context()) as wire:
        waiting = iter(calls)

        async def work() -> None:
            for method, path, body in waiting:
                try:
                    await wire.call(method, path, body)
                except ApiError as error:
                    if not (missing_ok and error.code == 404):
                        raise

        async with asyncio.TaskGroup() as group:
            for _ in range(_IN_FLIGHT):
                group.create_task(work())


def _run_apart(work: Coroutine[Any, Any, None]) -> None:
    """Run it to its end in a thread: the caller may have a loop running in its own."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            asyncio.run(work)
        except BaseExceptionGroup as error:
            failures.append(error.exceptions[0])
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failures:
        raise failures[0]


# --- pods -------------------------------------------------------------------------------------


class Kubelets:
    """The kubelets of all nodes of a plane.

    From a test: `with Kubelets(plane):`, in a thread of its own.  From asyncio: `run()` as a task.
    A pod on a node that is not in the API is nobody's business and stays as it is.

        admitted → Running → (Succeeded | Failed)      not admitted → Failed, OutOfcpu and the like
        anything with a deletion timestamp → out of the API
    """

    def __init__(self, plane: ControlPlane) -> None:
        self._server = plane.server
        self._ssl = plane.ssl_context("kubelet-stand-in", ("system:masters",))
        self._nodes: dict[str, Room] = {}
        """Allocatable room of the nodes that are in the API."""
        self._pods: dict[str, _Held] = {}
        """Bound pods that are in the API, by UID, admitted or not."""
        self._on_node: dict[str, dict[str, Room]] = {}
        """What admitted pods take that have not ended, by node and UID; `pods` counts the pod itself."""
        self._due: asyncio.Queue[str] = asyncio.Queue()
        """UIDs to look at; one may be in it several times."""
        self._listed = threading.Event()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._failure: BaseException | None = None

    def __enter__(self) -> Kubelets:
        self._thread = threading.Thread(target=self._run_in_thread, name="kubelets", daemon=True)
        self._thread.start()
        self._listed.wait()
        self._raise_failure()
        return self

    def __exit__(self, *_: object) -> None:
        if self._loop is not None and self._task is not None:
            self._loop.call_soon_threadsafe(self._task.cancel)
        if self._thread is not None:
            self._thread.join()
        self._raise_failure()

    async def run(self) -> None:
        """Until cancelled; an API server that goes away and comes back is no reason to end."""
        async with _Wire(self._server, self._ssl) as wire, asyncio.TaskGroup() as group:
            nodes_listed, pods_listed = asyncio.Event(), asyncio.Event()
            group.create_task(
                _follow(wire, "/api/v1/nodes", seen=self._node_seen, gone=self._node_gone, listed=nodes_listed)
            )
            await nodes_listed.wait()
            bound = "/api/v1/pods?fieldSelector=spec.nodeName!%3D"
            group.create_task(_follow(wire, bound, seen=self._pod_seen, gone=self._pod_gone, listed=pods_listed))
            for _ in range(_IN_FLIGHT):
                group.create_task(self._work(wire))
            await pods_listed.wait()
            self._listed.set()

    def _run_in_thread(self) -> None:
        async def main() -> None:
            self._loop = asyncio.get_running_loop()
            self._task = asyncio.ensure_future(self.run())
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

    def _node_seen(self, raw: bytes) -> None:
        node = msgspec.json.decode(raw, type=Node)
        name = node.metadata.name
        room = {resource: amount(resource, text) for resource, text in node.status.allocatable.items()}
        is_new = name not in self._nodes
        self._nodes[name] = room
        if is_new:
            for uid, held in self._pods.items():
                if held.pod.spec.node_name == name:
                    self._due.put_nowait(uid)

    def _node_gone(self, raw: bytes) -> None:
        self._nodes.pop(msgspec.json.decode(raw, type=Node).metadata.name, None)

    def _pod_seen(self, raw: bytes) -> None:
        pod = msgspec.json.decode(raw, type=_Pod)
        uid = pod.metadata.uid
        held = self._pods.setdefault(uid, _Held(pod))
        held.pod = pod
        if pod.status.phase in ("Succeeded", "Failed"):
            self._release(pod)
        self._due.put_nowait(uid)

    def _pod_gone(self, raw: bytes) -> None:
        pod = msgspec.json.decode(raw, type=_Pod)
        self._release(pod)
        held = self._pods.pop(pod.metadata.uid, None)
        if held is not None and held.end is not None:
            held.end.cancel()

    def _release(self, pod: _Pod) -> None:
        self._on_node.get(pod.spec.node_name, {}).pop(pod.metadata.uid, None)

    # what is done about it

    async def _work(self, wire: _Wire) -> None:
        while True:
            held = self._pods.get(await self._due.get())
            if held is None or (step := self._next_step(held)) is None or step.name in held.done:
                continue
            held.done.add(step.name)
            try:
                await wire.call(step.method, step.path, step.body, content_type=step.content_type)
            except ApiError as error:
                if error.code in (404, 409):  # gone, or another pod of the same name: the watch tells
                    continue
                if error.code != 429 and error.code < 500:
                    raise
                self._look_again(held, step)
            except _BROKEN_WIRE:
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
            return _removal(pod) if pod.status.phase in ("Succeeded", "Failed") else _report_killed(pod)
        match pod.status.phase:
            case "Pending":
                refusal = self._admit(pod)
                return _report_running(pod) if refusal is None else _report_refused(pod, *refusal)
            case "Running":
                # admitted before our time, as after a restart of the kubelet: it is there, so it counts
                self._count(pod)
                if held.over:
                    return _report_ended(pod)
                if held.end is None and (seconds := pod.metadata.annotations.get(RUN_SECONDS)) is not None:
                    held.end = asyncio.get_running_loop().call_later(float(seconds), self._over, held)
        return None

    def _over(self, held: _Held) -> None:
        held.over = True
        self._due.put_nowait(held.pod.metadata.uid)

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

    __slots__ = ("done", "end", "over", "pod")

    def __init__(self, pod: _Pod) -> None:
        self.pod = pod
        self.done: set[str] = set()
        """Steps that the server took, or is taking."""
        self.end: asyncio.TimerHandle | None = None
        self.over = False
        """Its time has run out; to be reported."""


class _Step(NamedTuple):
    """One request about a pod; it is sent once, however often the pod is seen before the server's answer is."""

    name: str
    method: str
    path: str
    body: object
    content_type: str


def _taken(spec: PodSpec) -> Room:
    return {"pods": 1, **dict(effective_requests(spec).amounts)}


def _path(pod: _Pod) -> str:
    return f"/api/v1/namespaces/{pod.metadata.namespace}/pods/{pod.metadata.name}"


def _removal(pod: _Pod) -> _Step:
    body = {"gracePeriodSeconds": 0, "preconditions": {"uid": pod.metadata.uid}}
    return _Step("remove", "DELETE", _path(pod), body, _JSON)


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
    return _Step(name, "PATCH", _path(pod) + "/status", body, _STRATEGIC)


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
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


# --- the wire ---------------------------------------------------------------------------------


class _Meta(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""
    uid: str = ""


class _Any(msgspec.Struct, frozen=True):
    metadata: _Meta = _Meta()


class _List(msgspec.Struct, frozen=True):
    metadata: _Meta
    items: list[msgspec.Raw]


class _Event(msgspec.Struct, frozen=True):
    type: str
    object: msgspec.Raw


class _Status(msgspec.Struct, frozen=True):
    message: str = ""
    reason: str = ""
    code: int = 0


class _Wire:
    """Requests to one API server, as plain as can be: what is tested beside it must not be tested with itself."""

    def __init__(self, server: str, context: ssl.SSLContext) -> None:
        self._server = server
        self._context = context

    async def __aenter__(self) -> _Wire:
        self._sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()
        connector = aiohttp.TCPConnector(ssl=self._context, limit=0, socket_factory=self._new_socket)
        self._session = aiohttp.ClientSession(self._server, connector=connector)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()
        # the session does not wait for connections that were left in mid-stream; a loop that is closed before TLS has
        # said goodbye on them leaks them, which pytest reports
        deadline = time.monotonic() + _GOODBYE_SECONDS
        while time.monotonic() < deadline and any(each.fileno() != -1 for each in self._sockets):
            await asyncio.sleep(0.001)

    def _new_socket(self, address: tuple[Any, ...]) -> socket.socket:
        family, kind, protocol, *_ = address
        made = socket.socket(family, kind, protocol)
        self._sockets.add(made)
        return made

    async def call(self, method: str, path: str, body: object = None, *, content_type: str = _JSON) -> bytes:
        data = None if body is None else msgspec.json.encode(body)
        timeout = aiohttp.ClientTimeout(total=_REQUEST_SECONDS)
        headers = {"Content-Type": content_type}
        async with self._session.request(method, path, data=data, headers=headers, timeout=timeout) as response:
            answer = await response.read()
        if response.status >= 400:
            raise _api_error(answer, response.status)
        return answer

    async def watch(self, path: str) -> AsyncGenerator[_Event, None]:
        """The events of one watch until the server ends it."""
        decoder = msgspec.json.Decoder(_Event)
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=_REQUEST_SECONDS)
        async with self._session.get(path, timeout=timeout) as response:
            if response.status >= 400:
                raise _api_error(await response.read(), response.status)
            rest = b""
            async for chunk in response.content.iter_any():
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    yield decoder.decode(line)


def _api_error(answer: bytes, code: int) -> ApiError:
    try:
        status = msgspec.json.decode(answer, type=_Status)
    except msgspec.DecodeError:
        status = _Status(message=answer.decode(errors="replace"))
    return ApiError(status.message, code=code, reason=status.reason)


async def _follow(
    wire: _Wire,
    path: str,
    *,
    seen: Callable[[bytes], None],
    gone: Callable[[bytes], None],
    listed: asyncio.Event,
) -> None:
    """Tell what is there and what goes, for ever: list, watch, go on where the watch ended, list again when told to."""
    known: dict[str, msgspec.Raw] = {}
    version = ""
    sign = "&" if "?" in path else "?"
    while True:
        try:
            if not version:
                answer = msgspec.json.decode(await wire.call("GET", path), type=_List)
                now = {_meta(item).uid: item for item in answer.items}
                for uid in known.keys() - now.keys():
                    gone(bytes(known[uid]))
                for item in answer.items:
                    seen(bytes(item))
                known, version = now, answer.metadata.resource_version
                listed.set()
            options = f"watch=1&allowWatchBookmarks=true&timeoutSeconds={_WATCH_SECONDS}&resourceVersion={version}"
            async with contextlib.aclosing(wire.watch(path + sign + options)) as events:
                async for event in events:
                    if event.type == "ERROR":
                        status = msgspec.json.decode(event.object, type=_Status)
                        raise ApiError(status.message, code=status.code, reason=status.reason)
                    meta = _meta(event.object)
                    version = meta.resource_version
                    if event.type in ("ADDED", "MODIFIED"):
                        known[meta.uid] = event.object
                        seen(bytes(event.object))
                    elif event.type == "DELETED":
                        known.pop(meta.uid, None)
                        gone(bytes(event.object))
        except ApiError as error:
            if error.code == 410:
                version = ""
            elif error.code != 429 and error.code < 500:
                raise
            await asyncio.sleep(_AGAIN_SECONDS)
        except _BROKEN_WIRE:
            await asyncio.sleep(_AGAIN_SECONDS)


def _meta(raw: msgspec.Raw) -> _Meta:
    return msgspec.json.decode(raw, type=_Any).metadata
