"""Which gang a pod of a draft Workload is in: pods say which Workload, and the Workload which pods."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from muster.api.wire import Pod, WorkloadReference
from muster.gangs.dialects import is_plain
from muster.gangs.dialects.draft import DraftWorkload, names, reference
from muster.gangs.dialects.v1alpha1 import GROUP_LABEL, REPLICA_LABEL
from muster.gangs.record import bound_for

_ENDED = ("Succeeded", "Failed")


class Drafts:
    """Pods as the engine is to see them: with a reference to workload, group and replica, or with why there is none."""

    def __init__(self) -> None:
        self._workloads: dict[str, DraftWorkload] = {}
        self._pods: dict[str, dict[str, Pod]] = {}
        """By the key of the Workload that they name, by UID: as they are."""
        self._workload_of: dict[str, str] = {}
        """By the pod's UID."""
        self._told: dict[str, Pod] = {}
        """By UID: pods of Workloads as they were last told."""

    def seen(self, pod: Pod) -> list[Pod]:
        """The pod, and others of its Workload for which something is new because of it."""
        uid = pod.metadata.uid
        before = self._workload_of.get(uid, "")
        if not before and is_plain(pod):
            return [pod]
        name, _ = names(pod)
        key = f"{pod.metadata.namespace}/{name}" if name else ""
        if not key and not before:
            return [pod]
        others = self.gone(uid) if before != key else []
        if not key:
            return [*others, pod]
        self._workload_of[uid] = key
        self._pods.setdefault(key, {})[uid] = pod
        self._told.pop(uid, None)
        return [*others, *self._renew(key)]

    def gone(self, uid: str) -> list[Pod]:
        """Others for which something is new since this pod is gone."""
        key = self._workload_of.pop(uid, "")
        if not key:
            return []
        self._told.pop(uid, None)
        pods = self._pods[key]
        del pods[uid]
        if not pods:
            del self._pods[key]
        return self._renew(key)

    def workload_seen(self, workload: DraftWorkload) -> list[Pod]:
        key = f"{workload.metadata.namespace}/{workload.metadata.name}"
        self._workloads[key] = workload
        return self._renew(key)

    def workload_gone(self, key: str) -> list[Pod]:
        self._workloads.pop(key, None)
        return self._renew(key)

    def _renew(self, key: str) -> list[Pod]:
        """Pods of the Workload that are to be told otherwise than they were."""
        pods = self._pods.get(key, {})
        found = self._references(key, pods.values())
        changed: list[Pod] = []
        for uid, pod in pods.items():
            now = _with(pod, found[uid])
            if self._told.get(uid) != now:
                self._told[uid] = now
                changed.append(now)
        return changed

    def _references(self, key: str, pods: Iterable[Pod]) -> dict[str, WorkloadReference | str]:
        """By UID.  What a pod that was bound is of, the record of its bind tells."""
        workload = self._workloads.get(key)
        if workload is None:
            # another dialect may declare a Workload of this name
            return {pod.metadata.uid: _unknown(pod) for pod in pods}
        found = {pod.metadata.uid: reference(pod, workload) for pod in pods}
        for group in workload.spec.groups:
            if group.replica_label and group.replicas is not None:
                mine = [pod for pod in pods if _is_of(found[pod.metadata.uid], group.name)]
                for uid, why in _surplus(mine, found, most=group.replicas).items():
                    found[uid] = why
        return found


def _unknown(pod: Pod) -> WorkloadReference | str:
    name, group = names(pod)
    if not group:
        if pod.spec.workload is not None:
            return f"draft Workload {name} does not exist"
        # it may be one of v1alpha1, of which nobody is a member without naming the group
        return f"draft Workload {name} does not exist, and for any other the pod lacks label {GROUP_LABEL}"
    # the draft's own field knows no key
    replica = pod.metadata.labels.get(REPLICA_LABEL, "") if pod.spec.workload is None else ""
    return WorkloadReference(name=name, pod_group=group, pod_group_replica_key=replica)


def _is_of(found: WorkloadReference | str, group: str) -> bool:
    return isinstance(found, WorkloadReference) and found.pod_group == group


def _surplus(pods: list[Pod], found: dict[str, WorkloadReference | str], *, most: int) -> dict[str, str]:
    """Why those wait, by UID, whose replicas are more than there may be: the last to come, and of equals the last by
    key; one of which something is bound is there."""
    first: dict[str, tuple[bool, str]] = {}
    for pod in pods:
        replica = _replica(found, pod)
        if pod.status.phase not in _ENDED:
            came = (not pod.spec.node_name or bound_for(pod) is None, pod.metadata.creation_timestamp)
            first[replica] = min(first.get(replica, came), came)
    late = sorted(first, key=lambda replica: (first[replica], replica))[max(0, most) :]
    message = f"the group may have {most} at once, and as many replicas came before"
    return {pod.metadata.uid: f"{message} {_replica(found, pod)}" for pod in pods if _replica(found, pod) in late}


def _replica(found: dict[str, WorkloadReference | str], pod: Pod) -> str:
    named = found[pod.metadata.uid]
    assert isinstance(named, WorkloadReference)
    return named.pod_group_replica_key


def _with(pod: Pod, found: WorkloadReference | str) -> Pod:
    if isinstance(found, str):
        return replace(pod, spec=replace(pod.spec, workload_ref=None), astray=found)
    if pod.spec.workload is None and not found.pod_group_replica_key and found == pod.spec.workload_ref:
        return pod
    return replace(pod, spec=replace(pod.spec, workload_ref=found))
