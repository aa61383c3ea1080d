"""scheduling.k8s.io/v1alpha1 (Kubernetes 1.35): a Workload lists groups, and pods name one of them and a replica.

The gangs of one group are as many as there are replica keys: ns/workload/group/key; without a key ns/workload/group.
A Workload has no status: members say that their gang has started.
"""

from __future__ import annotations

from msgspec.structs import replace

from muster.api.resources import Resource
from muster.api.wire import DisruptionMode, Empty, Object, Pod, PodGroup, PodGroupSpec, SchedulingPolicy, Wire
from muster.gangs.dialects.dialect import Dialect, Marks
from muster.gangs.model import Membership

WORKLOAD_LABEL = "muster.dev/workload"
GROUP_LABEL = "muster.dev/workload-pod-group"
REPLICA_LABEL = "muster.dev/replica-key"


class WorkloadGroup(Wire, frozen=True):
    name: str
    policy: SchedulingPolicy = SchedulingPolicy()


class WorkloadSpec(Wire, frozen=True):
    pod_groups: tuple[WorkloadGroup, ...] = ()


class Workload(Object, frozen=True):
    spec: WorkloadSpec = WorkloadSpec()


class V1Alpha1(Dialect):
    name = "v1alpha1"
    resources = (
        Resource("scheduling.k8s.io", "v1alpha1", "workloads", "Workload"),
        Resource("v1alpha1.muster.dev", "v1alpha1", "workloads", "Workload"),
    )
    kind = Workload
    marks = Marks(fields=("workloadRef",), labels=(WORKLOAD_LABEL, GROUP_LABEL, REPLICA_LABEL))
    has_status = protects = False

    def membership(self, pod: Pod) -> Membership | None:
        field = pod.spec.workload_ref
        if field is not None:
            return _member(pod.metadata.namespace, field.name, field.pod_group, field.pod_group_replica_key)
        labels = pod.metadata.labels
        workload, group = labels.get(WORKLOAD_LABEL), labels.get(GROUP_LABEL)
        if not workload or not group:
            return None
        return _member(pod.metadata.namespace, workload, group, labels.get(REPLICA_LABEL, ""))

    def groups(self, found: Workload) -> tuple[PodGroup, ...]:
        # the object keeps its own finalizers and owners: what it declares has none
        meta = replace(found.metadata, finalizers=(), owner_references=())
        return tuple(
            PodGroup(
                metadata=replace(meta, name=f"{meta.name}/{group.name}"),
                spec=PodGroupSpec(scheduling_policy=group.policy, disruption_mode=DisruptionMode(all=Empty())),
                dialect=self.name,
            )
            for group in found.spec.pod_groups
        )

    def group_of(self, key: str) -> str:
        return group_of(key)

    def object_of(self, key: str) -> str:
        return object_of(key)


def group_of(key: str) -> str:
    """namespace/workload/group of namespace/workload/group/replica; "" for the key of what no Workload declares."""
    parts = key.split("/", 3)[:3]
    return "/".join(parts) if len(parts) == 3 else ""


def object_of(key: str) -> str:
    """namespace/workload of namespace/workload/group/replica."""
    return "/".join(key.split("/", 2)[:2])


def _member(namespace: str, workload: str, group: str, replica: str) -> Membership:
    key = f"{namespace}/{workload}/{group}"
    return Membership(f"{key}/{replica}", replica_of=key) if replica else Membership(key)
