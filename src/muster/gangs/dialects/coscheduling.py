"""scheduling.x-k8s.io/v1alpha1: the PodGroup of Coscheduling, which many operators write.

Its status has a phase and counts but no conditions: members say that their gang has started.
"""

from __future__ import annotations

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
from muster.gangs.dialects.v1beta1 import TIMEOUT_ANNOTATION
from muster.gangs.model import Membership

LABEL = "scheduling.x-k8s.io/pod-group"


class CoschedulingSpec(Wire, frozen=True):
    min_member: int = 1
    schedule_timeout_seconds: int | None = None


class CoschedulingStatus(Wire, frozen=True):
    phase: str = ""
    occupied_by: str = ""
    running: int = 0
    succeeded: int = 0
    failed: int = 0


class CoschedulingGroup(Object, frozen=True):
    spec: CoschedulingSpec = CoschedulingSpec()
    status: CoschedulingStatus = CoschedulingStatus()


class Coscheduling(Dialect):
    name = "coscheduling"
    resources = (Resource("scheduling.x-k8s.io", "v1alpha1", "podgroups", "PodGroup"),)
    kind = CoschedulingGroup
    has_status = False
    marks = frozenset({LABEL})

    def membership(self, pod: Pod) -> Membership | None:
        name = pod.metadata.labels.get(LABEL)
        return Membership(f"{pod.metadata.namespace}/{name}") if name else None

    def groups(self, found: CoschedulingGroup) -> tuple[PodGroup, ...]:
        meta, asked = found.metadata, found.spec
        # operators write 0 where their user gave none
        if asked.schedule_timeout_seconds:
            annotations = {TIMEOUT_ANNOTATION: str(asked.schedule_timeout_seconds)} | meta.annotations
            meta = replace(meta, annotations=annotations)
        policy = SchedulingPolicy(gang=GangPolicy(min_count=max(1, asked.min_member)))
        spec = PodGroupSpec(scheduling_policy=policy, disruption_mode=DisruptionMode(all=Empty()))
        return (PodGroup(metadata=meta, spec=spec, dialect=self.name),)
