"""The native PodGroup as first proposed: parts of a group have minimums of their own, and pods name group and part.

A group is schedulable only if every subset is.  Its members' reasons tell apart who has no place from who only waits
for others, since a cluster autoscaler need not make room for the latter.

The status of a subset counts by what the pods themselves say: `total` those that have not ended, `running` those in
phase Running, and of those without a node `scheduledAvailable` the ones whose PodScheduled condition has the reason
CoschedulingNotMeetMinMember, `scheduledUnavailable` the ones with the reason Unschedulable.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from msgspec.structs import replace

from muster.api.resources import Resource
from muster.api.wire import Object, Pod, PodGroup, PodGroupStatus, Wire
from muster.gangs.dialects.dialect import Dialect, Marks
from muster.gangs.dialects.v1beta1 import (
    INITIALLY_SCHEDULED,
    SUBSETS_ANNOTATION,
    TIMEOUT_ANNOTATION,
    goes_whole,
    subsets_text,
)
from muster.gangs.model import Membership
from muster.gangs.tally import NOBODY, Tally


class SubsetSpec(Wire, frozen=True):
    name: str = ""
    min_member: int = 1


class SubsetsSpec(Wire, frozen=True):
    subsets: tuple[SubsetSpec, ...] = ()
    schedule_timeout_seconds: int | None = None


class SubsetStatus(Wire, frozen=True, omit_defaults=False):
    name: str = ""
    total: int = 0
    scheduled_available: int = 0
    scheduled_unavailable: int = 0
    running: int = 0


class SubsetsStatus(PodGroupStatus, frozen=True):
    subsets: tuple[SubsetStatus, ...] = ()


class SubsetsGroup(Object, frozen=True):
    spec: SubsetsSpec = SubsetsSpec()
    status: SubsetsStatus = SubsetsStatus()


class Subsets(Dialect):
    name = "subsets"
    resources = (Resource("coscheduling.muster.dev", "v1alpha1", "podgroups", "PodGroup"),)
    kind = SubsetsGroup
    one_priority = True
    marks = Marks(fields=("podGroup",))
    fitting_reason = "CoschedulingNotMeetMinMember"
    counts = dates_updates = True
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
            spec=goes_whole(sum(least for _, least in minimums)),
            status=PodGroupStatus(conditions=self.read_conditions(status.conditions)),
            dialect=self.name,
        )
        return (group,)

    def status(self, found: SubsetsGroup, tally: Tally) -> dict[str, Any]:
        names = [subset.name for subset in found.spec.subsets] or [""]
        return {"subsets": [self._count(name, tally.subsets.get(name, NOBODY)) for name in names]}

    def _count(self, name: str, tally: Tally) -> dict[str, Any]:
        return {
            "name": name,
            "total": tally.total - tally.succeeded - tally.failed,
            "scheduledAvailable": tally.reasons.get(self.fitting_reason, 0),
            "scheduledUnavailable": tally.reasons.get("Unschedulable", 0),
            "running": tally.running,
        }
