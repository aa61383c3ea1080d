"""KAI's PodGroup, for teams that move: scheduling.run.ai/v2alpha2, named by an annotation of pods."""

from __future__ import annotations

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
from muster.gangs.model import Membership

GROUP_ANNOTATION = "pod-group-name"


class KaiSpec(Wire, frozen=True):
    min_member: int = 1
    priority_class_name: str = ""


class KaiGroup(Object, frozen=True):
    spec: KaiSpec = KaiSpec()


class Kai(Dialect):
    name = "kai"
    resources = (Resource("scheduling.run.ai", "v2alpha2", "podgroups", "PodGroup"),)
    kind = KaiGroup
    has_status = False
    marks = frozenset({GROUP_ANNOTATION})

    def membership(self, pod: Pod) -> Membership | None:
        name = pod.metadata.annotations.get(GROUP_ANNOTATION)
        return Membership(f"{pod.metadata.namespace}/{name}") if name else None

    def groups(self, found: KaiGroup) -> tuple[PodGroup, ...]:
        spec = PodGroupSpec(
            scheduling_policy=SchedulingPolicy(gang=GangPolicy(min_count=max(1, found.spec.min_member))),
            disruption_mode=DisruptionMode(all=Empty()),
            priority_class_name=found.spec.priority_class_name,
        )
        return (PodGroup(metadata=found.metadata, spec=spec, dialect=self.name),)
