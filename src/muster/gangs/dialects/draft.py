"""The draft Workload that came before Kubernetes 1.35: groups select pods by labels, and may be replicated by a label.

A pod names its Workload, and its group only if it likes; which gang that is depends on the Workload.  What this finds
is told in the words of v1alpha1, whose pods name workload, group and replica: one key for one gang in both.
"""

from __future__ import annotations

import re

import msgspec
from msgspec.structs import replace

from muster.api.resources import Resource
from muster.api.wire import Object, Pod, PodGroup, Wire, WorkloadReference
from muster.gangs.dialects.dialect import Dialect, Marks
from muster.gangs.dialects.v1alpha1 import GROUP_LABEL, WORKLOAD_LABEL, group_of, object_of
from muster.gangs.dialects.v1beta1 import START_TIMEOUT_ANNOTATION, TIMEOUT_ANNOTATION, goes_whole
from muster.gangs.model import Membership

SINGLE, OFF, REPLICATED = "Single", "Off", "Replicated"

_KEY_PATH = re.compile(r"metadata\.labels\['(?P<key>[^']+)'\]")


class FieldPath(Wire, frozen=True):
    field_path: str = ""


class DraftGroup(Wire, frozen=True):
    name: str = ""
    gang_mode: str = SINGLE
    """Where the proposal is of two minds, this is what its sample and its types say."""
    min_count: int = 1
    scheduling_timeout_seconds: int | None = None
    pod_group_selector: dict[str, object] = msgspec.field(default_factory=dict)
    """As the proposal's sample has it, a map of labels; or as its types have it, {selector: {matchLabels}}."""
    replicated_gang_key: FieldPath | None = None
    replicas: int | None = None

    @property
    def labels(self) -> dict[str, str]:
        """What pods of the group have."""
        selector = self.pod_group_selector.get("selector")
        found = selector.get("matchLabels", {}) if isinstance(selector, dict) else self.pod_group_selector
        return {str(key): str(value) for key, value in found.items()} if isinstance(found, dict) else {}

    @property
    def replica_label(self) -> str:
        """The label whose values tell replicas apart; "" if there are none."""
        path = self.replicated_gang_key
        found = _KEY_PATH.fullmatch(path.field_path) if path is not None and self.gang_mode == REPLICATED else None
        return found["key"] if found is not None else ""


class DraftSpec(Wire, frozen=True):
    pod_groups: tuple[DraftGroup, ...] = ()
    gang_groups: tuple[DraftGroup, ...] = ()

    @property
    def groups(self) -> tuple[DraftGroup, ...]:
        return self.pod_groups or self.gang_groups


class DraftWorkload(Object, frozen=True):
    spec: DraftSpec = DraftSpec()


class Draft(Dialect):
    name = "draft"
    resources = (Resource("draft.muster.dev", "v1alpha1", "workloads", "Workload"),)
    kind = DraftWorkload
    marks = Marks(fields=("workload",), labels=(WORKLOAD_LABEL, GROUP_LABEL))
    has_status = protects = False

    def membership(self, pod: Pod) -> Membership | None:
        """Known once the Workload is: then the pod has a reference as v1alpha1 has it."""
        return None

    def groups(self, found: DraftWorkload) -> tuple[PodGroup, ...]:
        return tuple(_group(found, group) for group in found.spec.groups)

    def group_of(self, key: str) -> str:
        return group_of(key)

    def object_of(self, key: str) -> str:
        return object_of(key)


def names(pod: Pod) -> tuple[str, str]:
    """The Workload that the pod names, by field or by label, and the group in it if it does; "" for none, or where it
    has the field of v1alpha1, which stands before."""
    if pod.spec.workload_ref is not None:
        return "", ""
    field = pod.spec.workload
    if field is not None:
        return field.name, field.pod_group
    labels = pod.metadata.labels
    return labels.get(WORKLOAD_LABEL, ""), labels.get(GROUP_LABEL, "")


def reference(pod: Pod, workload: DraftWorkload) -> WorkloadReference | str:
    """The group and replica of the Workload that the pod is of; or why it is of none."""
    name, wanted = names(pod)
    groups = workload.spec.groups
    if wanted:
        found = [group for group in groups if group.name == wanted]
    elif len(groups) == 1 and not groups[0].labels:
        found = list(groups)
    else:
        found = [group for group in groups if group.labels and group.labels.items() <= pod.metadata.labels.items()]
    if len(found) != 1:
        what = f'group "{wanted}"' if wanted else "group that selects the pod"
        return f"Workload {name} has {'no' if not found else 'more than one'} {what}"
    (group,) = found
    if group.gang_mode != REPLICATED:
        return WorkloadReference(name=name, pod_group=group.name)
    if not group.replica_label:
        return f"group {group.name} of Workload {name} is replicated and says by no label how"
    replica = pod.metadata.labels.get(group.replica_label, "")
    if not replica:
        return f"the pod lacks label {group.replica_label}, by which Workload {name} replicates group {group.name}"
    return WorkloadReference(name=name, pod_group=group.name, pod_group_replica_key=replica)


def _group(workload: DraftWorkload, group: DraftGroup) -> PodGroup:
    meta = workload.metadata
    timeout = group.scheduling_timeout_seconds
    timeouts = (TIMEOUT_ANNOTATION, START_TIMEOUT_ANNOTATION) if timeout else ()
    annotations = meta.annotations | dict.fromkeys(timeouts, str(timeout))
    return PodGroup(
        metadata=replace(
            meta, name=f"{meta.name}/{group.name}", annotations=annotations, finalizers=(), owner_references=()
        ),
        spec=goes_whole(None if group.gang_mode == OFF else group.min_count),
        dialect=Draft.name,
    )
