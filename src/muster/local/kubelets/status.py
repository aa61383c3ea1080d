"""What a kubelet writes into the status of a pod, as patches that merge lists the way pods declare it."""

from __future__ import annotations

from hashlib import sha256
from typing import NamedTuple

import msgspec

from muster.api.calls import Document
from muster.api.times import stamp
from muster.api.wire import Container, condition
from muster.local.kubelets.objects import ContainerStatus, Pod

_COMPLETED = "PodCompleted"
_FAILED = "PodFailed"


class Addresses(NamedTuple):
    host: str
    pod: str


class _Said(NamedTuple):
    """What a condition says besides its type."""

    holds: bool
    reason: str = ""
    message: str = ""


_TRUE = _Said(True)


def running(pod: Pod, addresses: Addresses, *, now: float, after: int | None = None) -> Document:
    """All containers run: for the first time, after a rest, or at once after they had ended with the code `after`."""
    state = {"running": {"startedAt": stamp(now)}}
    containers = []
    for one in pod.spec.containers:
        last = _last_run(pod, one) if after is None else _ended_state(pod, one, after, now=now)
        restarts = restarts_of(pod, one.name) + bool(last)
        containers.append(_container(pod, one, state, ready=True, restarts=restarts, last=last))
    return _status(
        pod,
        {
            "phase": "Running",
            "startTime": pod.status.start_time or stamp(now),
            **_addresses(addresses),
            "containerStatuses": containers,
            **_initialised(pod, now=now),
        },
        {"PodReadyToStartContainers": _TRUE, "Initialized": _TRUE, "Ready": _TRUE, "ContainersReady": _TRUE},
        now=now,
    )


def waiting(pod: Pod, host: str, *, now: float) -> Document:
    """The pod has its room, and something that it needs is not there yet."""
    state = {"waiting": {"reason": "ContainerCreating"}}
    bare = {"imageID": "", "containerID": None}
    containers = [{**_container(pod, one, state, ready=False, restarts=0), **bare} for one in pod.spec.containers]
    names = " ".join(one.name for one in pod.spec.containers)
    unready = _Said(False, "ContainersNotReady", f"containers with unready status: [{names}]")
    fields: Document = {
        "phase": "Pending",
        "startTime": pod.status.start_time or stamp(now),
        "hostIP": host,
        "hostIPs": [{"ip": host}],
        "containerStatuses": containers,
    }
    said = {
        "PodReadyToStartContainers": _Said(False),
        "Initialized": _TRUE,
        "Ready": unready,
        "ContainersReady": unready,
    }
    return _status(pod, fields, said, now=now)


def well(pod: Pod, *, now: float) -> Document:
    """The containers run, whatever others said of them meanwhile."""
    return _status(pod, {}, {"Ready": _TRUE, "ContainersReady": _TRUE}, now=now)


def resting(pod: Pod, code: int, *, seconds: float, now: float) -> Document:
    """All containers have ended and will be started again after a rest of so many seconds."""
    meta = pod.metadata
    where = f"pod={meta.name}_{meta.namespace}({meta.uid})"
    containers = []
    for one in pod.spec.containers:
        words = f"back-off {_duration(seconds)} restarting failed container={one.name} {where}"
        state = {"waiting": {"reason": "CrashLoopBackOff", "message": words}}
        last = _ended_state(pod, one, code, now=now)
        containers.append(_container(pod, one, state, ready=False, restarts=restarts_of(pod, one.name), last=last))
    names = " ".join(one.name for one in pod.spec.containers)
    unready = _Said(False, "ContainersNotReady", f"containers with unready status: [{names}]")
    conditions = {"Ready": unready, "ContainersReady": unready}
    return _status(pod, {"phase": "Running", "containerStatuses": containers}, conditions, now=now)


def ended(pod: Pod, code: int, *, now: float, reason: str = "", message: str = "") -> Document:
    """All containers have ended for good; a reason of the pod's own makes it fail whatever the code."""
    failed = bool(code or reason)
    over = _Said(False, _FAILED if failed else _COMPLETED)
    fields: Document = {"phase": "Failed" if failed else "Succeeded"}
    if reason:
        fields |= {"reason": reason, "message": message}
    if pod.status.container_statuses:
        fields["containerStatuses"] = [
            _container(
                pod,
                one,
                _ended_state(pod, one, code, now=now),
                ready=False,
                restarts=restarts_of(pod, one.name),
                last=_before_last_run(pod, one),
            )
            for one in pod.spec.containers
        ]
    conditions = {
        "PodReadyToStartContainers": _Said(False),
        "Initialized": _TRUE if failed else _Said(True, _COMPLETED),
        "Ready": over,
        "ContainersReady": over,
    }
    return _status(pod, fields, conditions, now=now)


def refused(pod: Pod, reason: str, message: str, *, now: float) -> Document:
    """The pod was never taken in."""
    return {
        "metadata": {"uid": pod.metadata.uid},
        "status": {
            "phase": "Failed",
            "reason": reason,
            "message": f"Pod was rejected: {message}",
            "startTime": stamp(now),
            "observedGeneration": pod.metadata.generation,
        },
    }


def restarts_of(pod: Pod, name: str) -> int:
    """How often the container was started again so far."""
    found = _status_of(pod, name)
    return found.restart_count if found is not None else 0


# --- parts ---


def _status(pod: Pod, fields: Document, said: dict[str, _Said], *, now: float) -> Document:
    conditions = [_condition(pod, kind, what, now=now) for kind, what in {**said, "PodScheduled": _TRUE}.items()]
    status = {"observedGeneration": pod.metadata.generation, "conditions": conditions, **fields}
    return {"metadata": {"uid": pod.metadata.uid}, "status": status}


def _condition(pod: Pod, kind: str, said: _Said, *, now: float) -> Document:
    status = "True" if said.holds else "False"
    document: Document = {
        "type": kind,
        "status": status,
        "observedGeneration": pod.metadata.generation,
        "lastProbeTime": None,
        # null takes away what an earlier state left
        "reason": said.reason or None,
        "message": said.message or None,
    }
    before = condition(pod.status.conditions, kind)
    if before is None or before.status != status:
        document["lastTransitionTime"] = stamp(now)
    return document


def _addresses(addresses: Addresses) -> Document:
    return {
        "hostIP": addresses.host,
        "hostIPs": [{"ip": addresses.host}],
        "podIP": addresses.pod,
        "podIPs": [{"ip": addresses.pod}],
    }


def _initialised(pod: Pod, *, now: float) -> Document:
    if not pod.spec.init_containers:
        return {}
    containers = []
    for one in pod.spec.init_containers:
        if one.restart_policy == "Always":
            state: Document = {"running": {"startedAt": stamp(now)}}
        else:
            state = {"terminated": _terminated(pod, one, 0, began=stamp(now), now=now)}
        containers.append(_container(pod, one, state, ready=True, restarts=0))
    return {"initContainerStatuses": containers}


def _container(
    pod: Pod, container: Container, state: Document, *, ready: bool, restarts: int, last: Document | None = None
) -> Document:
    return {
        "name": container.name,
        "image": container.image,
        "imageID": container.image,
        "containerID": _container_id(pod, container, restarts),
        "ready": ready,
        "started": "running" in state,
        "restartCount": restarts,
        "state": state,
        "lastState": last or {},
    }


def _ended_state(pod: Pod, container: Container, code: int, *, now: float) -> Document:
    """How the last run ended; if it has not, it does now, with this code."""
    if over := _last_run(pod, container):
        return over
    before = _status_of(pod, container.name)
    began = before.state.running.started_at if before is not None and before.state.running is not None else None
    return {"terminated": _terminated(pod, container, code, began=began, now=now)}


def _last_run(pod: Pod, container: Container) -> Document:
    """How the last run ended, of a container that does not run now; empty if it does or has never run."""
    before = _status_of(pod, container.name)
    if before is None or before.state.running is not None:
        return {}
    over = before.state.terminated or before.last_state.terminated
    return {"terminated": msgspec.to_builtins(over)} if over is not None else {}


def _before_last_run(pod: Pod, container: Container) -> Document:
    """How the run before the last one ended, as far as it is known."""
    before = _status_of(pod, container.name)
    if before is None or before.state.waiting is not None or before.last_state.terminated is None:
        return {}
    return {"terminated": msgspec.to_builtins(before.last_state.terminated)}


def _terminated(pod: Pod, container: Container, code: int, *, began: str | None, now: float) -> Document:
    return {
        "exitCode": code,
        "reason": "Error" if code else "Completed",
        "startedAt": began,
        "finishedAt": stamp(now),
        "containerID": _container_id(pod, container, restarts_of(pod, container.name)),
    }


def _status_of(pod: Pod, name: str) -> ContainerStatus | None:
    return next((one for one in pod.status.container_statuses if one.name == name), None)


def _container_id(pod: Pod, container: Container, restarts: int) -> str:
    # no runtime gives it one: made of what tells this run of this container from all others
    return "muster://" + sha256(f"{pod.metadata.uid}/{container.name}/{restarts}".encode()).hexdigest()


def _duration(seconds: float) -> str:
    """As Go prints it: 10s, 1m20s, 5m0s."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"
