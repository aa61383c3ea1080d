"""Pods of a Job: how they are made, told apart, claimed and let go."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from typing import Any

from muster.api.calls import Create, Delete, Document, Patch, Say
from muster.api.resources import PODS
from muster.api.times import seconds
from muster.controllers import job_failures
from muster.controllers.job_failures import NO_INDEX, index_of
from muster.controllers.job_objects import COMPONENT, INDEX, TRACKING, Job
from muster.controllers.objects import JOBS, Pod, PodGroup, event

_INDEX_VARIABLE = "JOB_COMPLETION_INDEX"
_LONGEST_PREFIX = 58
"""Of a name to which the server, or we, add five characters."""
_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}

Names = Callable[[], str]
"""Gives five characters, others each time."""


def is_active(pod: Pod) -> bool:
    return not pod.is_over and pod.metadata.deletion_timestamp is None


def is_terminating(pod: Pod) -> bool:
    return not pod.is_over and pod.metadata.deletion_timestamp is not None


def is_tracked(pod: Pod) -> bool:
    return TRACKING in pod.metadata.finalizers


# --- making ---


class Maker:
    """Makes the pods of one Job."""

    def __init__(self, job: Job, group: PodGroup | None, *, names: Names) -> None:
        self._job = job
        self._names = names
        template = job.spec.template
        self._meta: Document = template.get("metadata") or {}
        self._spec: Document = deepcopy(template.get("spec") or {})
        if job.is_indexed:
            for container in (*self._spec.get("initContainers", ()), *self._spec.get("containers", ())):
                _add_index_variable(container)
        if group is not None:
            self._spec["schedulingGroup"] = {"podGroupName": group.metadata.name}

    def pod(self, index: int = NO_INDEX, *, replaced: Pod | None = None) -> Create:
        """A pod; of an Indexed Job the one with this index, which may take the place of another."""
        name, spec = self._job.metadata.name, self._spec
        labels: Document = dict(self._meta.get("labels") or {})
        annotations: Document = dict(self._meta.get("annotations") or {})
        prefix = f"{name}-"
        if index != NO_INDEX:
            labels[INDEX] = annotations[INDEX] = str(index)
            spec = {**spec, "hostname": f"{name}-{index}"}
            prefix = _prefix_with_index(name, index)
            if self._job.spec.backoff_limit_per_index is not None:
                annotations |= job_failures.next_failures(self._job, replaced)
        finalizers = list(self._meta.get("finalizers") or ())
        meta: Document = {
            # named by us, so that a pod whose making was not answered is not made twice
            "name": f"{prefix[:_LONGEST_PREFIX]}{self._names()}",
            "generateName": prefix,
            "labels": labels,
            "annotations": annotations,
            "finalizers": finalizers if TRACKING in finalizers else [*finalizers, TRACKING],
            "ownerReferences": [controller_reference(self._job)],
        }
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
        return Create(path=PODS.path(self._job.metadata.namespace), body=body, told=True)


def controller_reference(job: Job) -> Document:
    return {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "name": job.metadata.name,
        "uid": job.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _add_index_variable(container: dict[str, Any]) -> None:
    variables = container.get("env") or []
    if any(one.get("name") == _INDEX_VARIABLE for one in variables):
        return
    source = {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}}
    container["env"] = [*variables, {"name": _INDEX_VARIABLE, "valueFrom": source}]


def _prefix_with_index(name: str, index: int) -> str:
    ending = f"-{index}-"
    return name[: _LONGEST_PREFIX - len(ending)] + ending


# --- changing ---


def _path(pod: Pod) -> str:
    return PODS.path(pod.metadata.namespace, pod.metadata.name)


def untrack(pod: Pod) -> Patch:
    """Takes off the finalizer."""
    meta = {"uid": pod.metadata.uid, "$deleteFromPrimitiveList/finalizers": [TRACKING]}
    return Patch(path=_path(pod), body={"metadata": meta}, strategic=True, told=True)


def delete(pod: Pod) -> Delete:
    return Delete(path=_path(pod), uid=pod.metadata.uid, told=True)


def adopt(job: Job, pod: Pod) -> Patch:
    meta = {"uid": pod.metadata.uid, "ownerReferences": [controller_reference(job)], "finalizers": [TRACKING]}
    return Patch(path=_path(pod), body={"metadata": meta}, strategic=True)


def release(job: Job, pod: Pod) -> Patch:
    meta = {
        "uid": pod.metadata.uid,
        "ownerReferences": [{"$patch": "delete", "uid": job.metadata.uid}],
        "$deleteFromPrimitiveList/finalizers": [TRACKING],
    }
    return Patch(path=_path(pod), body={"metadata": meta}, strategic=True)


def say(job: Job, reason: str, message: str, *, warning: bool = False) -> Say:
    return event(COMPONENT, JOBS, job.metadata, reason=reason, message=message, warning=warning)


# --- choosing ---


def to_remove(job: Job, pods: Sequence[Pod], at_least: int) -> list[Pod]:
    """Which active pods go, if at least so many must: those without a place of their own, then the least advanced."""
    removed, left = _without_place(pods, job.spec.completions or 0) if job.is_indexed else ([], list(pods))
    if len(removed) < at_least:
        removed += sorted(left, key=_advance)[: at_least - len(removed)]
    return removed


def _without_place(pods: Iterable[Pod], completions: int) -> tuple[list[Pod], list[Pod]]:
    """Pods without an index, with one that is not wanted or that another pod has; and the others."""
    by_index: dict[int, list[Pod]] = {}
    removed: list[Pod] = []
    for pod in pods:
        index = index_of(pod)
        if index == NO_INDEX or index >= completions:
            removed.append(pod)
        else:
            by_index.setdefault(index, []).append(pod)
    left = []
    for index in sorted(by_index):
        *others, best = sorted(by_index[index], key=_advance)
        removed += others
        left.append(best)
    return removed, left


def _advance(pod: Pod) -> tuple[bool, int, bool, float, int, float, str]:
    """Less for a pod that goes first: not bound, not running, not ready, ready later, restarted more, younger."""
    restarts = max((one.restart_count for one in pod.status.container_statuses), default=0)
    ready_at = next((one.last_transition_time for one in pod.status.conditions if one.type == "Ready"), None)
    return (
        bool(pod.spec.node_name),
        _PHASES.get(pod.status.phase, 0),
        pod.is_ready,
        # later is less, and of a pod that is not ready no time counts
        -seconds(ready_at) if pod.is_ready and ready_at else 0.0,
        -restarts,
        -seconds(pod.metadata.creation_timestamp),
        pod.metadata.name,
    )
