"""The native PodGroup as first proposed: parts of a group have minimums of their own, and pods name group and part.

A group is schedulable only if every subset is.  Its members' reasons tell apart who has no place from who only waits
for others, since a cluster autoscaler need not make room for the latter.
"""

from __future__ import annotations

from types import MappingProxyType

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
    PodGroupStatus,
    SchedulingPolicy,
    Wire,
)
from muster.gangs.dialects.dialect import Dialect
from muster.gangs.dialects.v1beta1 import INITIALLY_SCHEDULED, SUBSETS_ANNOTATION, TIMEOUT_ANNOTATION, subsets_text
from muster.gangs.model import Membership


class SubsetSpec(Wire, frozen=True):
    name: str = ""
    min_member: int = 1


class SubsetsSpec(Wire, frozen=True):
    subsets: tuple[SubsetSpec, ...] = ()
    schedule_timeout_seconds: int | None = None


class SubsetsGroup(Object, frozen=True):
    spec: SubsetsSpec = SubsetsSpec()
    status: PodGroupStatus = PodGroupStatus()


class Subsets(Dialect):
    name = "subsets"
    resources = (Resource("coscheduling.muster.dev", "v1alpha1", "podgroups", "PodGroup"),)
    kind = SubsetsGroup
    fitting_reason = "CoschedulingNotMeetMinMember"
    conditions = MappingProxyType({INITIALLY_SCHEDULED: "PodGroupScheduled"})

    def membership(self, pod: Pod) -> Membership | None:
        field = pod.spec.pod_group
        return Membership(f"{pod.metadata.namespace}/{field.name}", field.subset) if field and field.name else None

    def unsaid(self, pod: Pod) -> Pod:
        return pod if pod.spec.pod_group is None else replace(pod, spec=replace(pod.spec, pod_group=None))

    def groups(self, found: SubsetsGroup) -> tuple[PodGroup, ...]:
        meta, spec, status = found.metadata, found.spec, found.status
        minimums = [(subset.name, max(1, subset.min_member)) for subset in spec.subsets]
        said = {SUBSETS_ANNOTATION: subsets_text(minimums)} if minimums else {}
        if spec.schedule_timeout_seconds:
            said[TIMEOUT_ANNOTATION] = str(spec.schedule_timeout_seconds)
        group = PodGroup(
            metadata=replace(meta, annotations=meta.annotations | said),
            spec=PodGroupSpec(
                scheduling_policy=SchedulingPolicy(gang=GangPolicy(min_count=sum(least for _, least in minimums) or 1)),
                disruption_mode=DisruptionMode(all=Empty()),
            ),
            status=PodGroupStatus(conditions=self.read_conditions(status.conditions)),
            dialect=self.name,
        )
        return (group,)
