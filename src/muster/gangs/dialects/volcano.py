"""Volcano's PodGroup, for teams that move: scheduling.volcano.sh/v1beta1, named by an annotation of pods.

Minimums by task are subsets.  Queues and minResources have no effect; the objects keep them.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from muster.api.resources import Resource
from muster.api.wire import (
    DisruptionMode,
    Empty,
    GangPolicy,
    Object,
    Pod,
    PodGroup,
    PodGroupSpec,
    SchedulingPolicy,
    Wire,
)
from muster.gangs.dialects.dialect import Dialect
from muster.gangs.dialects.v1beta1 import SUBSETS_ANNOTATION, subsets_text
from muster.gangs.model import Membership

GROUP_ANNOTATION = "scheduling.k8s.io/group-name"
TASK_ANNOTATION = "volcano.sh/task-spec"


class VolcanoSpec(Wire, frozen=True):
    min_member: int = 1
    min_task_member: dict[str, int] = msgspec.field(default_factory=dict)
    priority_class_name: str = ""


class VolcanoGroup(Object, frozen=True):
    spec: VolcanoSpec = VolcanoSpec()


class Volcano(Dialect):
    name = "volcano"
    resources = (Resource("scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup"),)
    kind = VolcanoGroup
    has_status = False
    marks = frozenset({GROUP_ANNOTATION})

    def membership(self, pod: Pod) -> Membership | None:
        annotations = pod.metadata.annotations
        name = annotations.get(GROUP_ANNOTATION)
        return Membership(f"{pod.metadata.namespace}/{name}", annotations.get(TASK_ANNOTATION, "")) if name else None

    def groups(self, found: VolcanoGroup) -> tuple[PodGroup, ...]:
        meta, asked = found.metadata, found.spec
        minimums = [(task, least) for task, least in asked.min_task_member.items() if least > 0]
        # where tasks ask for less than the group does, the group counts: nobody says whose the others are
        if minimums and sum(least for _, least in minimums) >= asked.min_member:
            meta = replace(meta, annotations=meta.annotations | {SUBSETS_ANNOTATION: subsets_text(minimums)})
        spec = PodGroupSpec(
            scheduling_policy=SchedulingPolicy(gang=GangPolicy(min_count=max(1, asked.min_member))),
            disruption_mode=DisruptionMode(all=Empty()),
            priority_class_name=asked.priority_class_name,
        )
        return (PodGroup(metadata=meta, spec=spec, dialect=self.name),)
