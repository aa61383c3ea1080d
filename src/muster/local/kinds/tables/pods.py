"""`kubectl get pods`: how far the containers are, in one word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from muster.local.codec.values import Object
from muster.local.kinds.tables import durations
from muster.local.kinds.tables.cells import NONE, age, name

__all__ = ["cells", "conditions"]

_UNREACHABLE = "NodeLost"
_GATED = "SchedulingGated"


class _Restarts(msgspec.Struct):
    """How often containers were started again, and when last."""

    count: int = 0
    last: str = ""
    """When a container ended before it was started again; stamps in UTC sort as times do."""

    def add(self, status: Object) -> None:
        ended = (status.get("lastState") or {}).get("terminated") or {}
        self.count += status.get("restartCount", 0)
        self.last = max(self.last, ended.get("finishedAt") or "")

    def shown(self, now: float) -> str:
        if not self.count or not self.last:
            return str(self.count)
        return f"{self.count} ({durations.since(self.last, now)} ago)"


class _Progress(msgspec.Struct):
    """What the statuses of containers come to."""

    reason: str
    ready: int = 0
    restarts: _Restarts = msgspec.field(default_factory=_Restarts)
    of_sidecars: _Restarts = msgspec.field(default_factory=_Restarts)


def cells(pod: Object, now: float) -> Sequence[Any]:
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    progress = _progress(spec, status)
    ips = status.get("podIPs") or ()
    return (
        name(pod),
        f"{progress.ready}/{_all_containers(spec)}",
        _unless_deleted(pod, status, progress.reason),
        progress.restarts.shown(now),
        age(pod, now),
        (ips[0].get("ip") if ips else None) or NONE,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        _gates(spec, status),
    )


def _progress(spec: Object, status: Object) -> _Progress:
    progress = _Progress(reason=_first_reason(status))
    initializing = _count_init(spec, status, progress)
    if not initializing or _first_is_true(status, "Initialized"):
        progress.restarts = progress.of_sidecars
        _count_main(status, progress)
    return progress


def _first_reason(status: Object) -> str:
    for condition in status.get("conditions") or ():
        if condition["type"] == "PodScheduled" and condition.get("reason") == _GATED:
            return _GATED
    return str(status.get("reason") or status.get("phase", ""))


def _count_init(spec: Object, status: Object, progress: _Progress) -> bool:
    """Goes through the init containers up to the first that is not done; whether there is one."""
    inits = spec.get("initContainers") or ()
    sidecars = {one["name"]: one.get("restartPolicy") == "Always" for one in inits}
    for place, one in enumerate(status.get("initContainerStatuses") or ()):
        is_sidecar = sidecars.get(one["name"], False)
        progress.restarts.add(one)
        if is_sidecar:
            progress.of_sidecars.add(one)
        state = one.get("state") or {}
        ended = state.get("terminated")
        if ended is not None and not ended.get("exitCode"):
            continue
        if is_sidecar and one.get("started"):
            progress.ready += bool(one.get("ready"))
            continue
        progress.reason = f"Init:{_init_word(state) or f'{place}/{len(inits)}'}"
        return True
    return False


def _init_word(state: Object) -> str:
    ended, waiting = state.get("terminated"), state.get("waiting")
    if ended is not None:
        return _end_word(ended)
    reason = str((waiting or {}).get("reason", ""))
    return "" if reason == "PodInitializing" else reason


def _end_word(ended: Object) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    return f"Signal:{ended['signal']}" if ended.get("signal") else f"ExitCode:{ended.get('exitCode', 0)}"


def _count_main(status: Object, progress: _Progress) -> None:
    running, error = 0, ""
    # from the last to the first, so that the first container has the last word
    for one in reversed(status.get("containerStatuses") or ()):
        progress.restarts.add(one)
        state = one.get("state") or {}
        waiting, ended = state.get("waiting") or {}, state.get("terminated")
        if waiting.get("reason"):
            progress.reason = waiting["reason"]
        elif ended is not None:
            progress.reason = _end_word(ended)
            error = progress.reason if ended.get("exitCode") else error
        elif one.get("ready") and state.get("running") is not None:
            running += 1
    progress.ready += running
    if progress.reason == "Completed":
        progress.reason = _of_completed(status, running=bool(running), error=error)


def _of_completed(status: Object, *, running: bool, error: str) -> str:
    """One container has completed; the others decide what the pod is."""
    if running and _any_is_true(status, "Ready"):
        return "Running"
    return error or ("NotReady" if running else "Completed")


def _unless_deleted(pod: Object, status: Object, reason: str) -> str:
    if not pod["metadata"].get("deletionTimestamp"):
        return reason
    if status.get("reason") == _UNREACHABLE:
        return "Unknown"
    return reason if status.get("phase") in ("Succeeded", "Failed") else "Terminating"


def _all_containers(spec: Object) -> int:
    """Sidecars count: they should be ready while the pod runs."""
    sidecars: int = sum(one.get("restartPolicy") == "Always" for one in spec.get("initContainers") or ())
    return len(spec.get("containers") or ()) + sidecars


def _gates(spec: Object, status: Object) -> str:
    gates = spec.get("readinessGates") or ()
    if not gates:
        return NONE
    return f"{sum(_first_is_true(status, gate['conditionType']) for gate in gates)}/{len(gates)}"


def _first_is_true(status: Object, kind: str) -> bool:
    for condition in status.get("conditions") or ():
        if condition["type"] == kind:
            return bool(condition["status"] == "True")
    return False


def _any_is_true(status: Object, kind: str) -> bool:
    return any(one["type"] == kind and one["status"] == "True" for one in status.get("conditions") or ())


def conditions(pod: Object) -> list[Object]:
    """Of a row: whether its pod is done for good."""
    phase = (pod.get("status") or {}).get("phase", "")
    message = {"Succeeded": "The pod has completed successfully.", "Failed": "The pod failed."}.get(phase, "")
    return [{"type": "Completed", "status": "True", "reason": phase, "message": message}] if message else []
