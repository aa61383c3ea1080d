"""scheduling.x-k8s.io/v1alpha1: the PodGroup of Coscheduling, which many operators write.

Its status has a phase and counts but no conditions: members say that their gang has started.  The phase is the one that
the controller of scheduler-plugins arrives at, the first of these that holds:

    Finished or Failed   it was said before: the controller does not look at such a group again
    Pending              fewer than minMember pods exist
    Finished             minMember have succeeded
    Failed               one has failed, and minMember have started: failed, succeeded or running
    Running              minMember run or have succeeded
    Scheduling           all others

PreScheduling and Scheduled, and the count `scheduled`, are of releases before April 2023, whose plugin counted binds
(scheduler-plugins #554, #574); Unknown has a name and is set by nobody.  A server with the older definition keeps
`scheduled`, and it is kept up to date there; today's drops it, and is not asked again.  occupiedBy names the owners of
a pod once minMember exist, and stays.  scheduleStartTime, which today's controller reads and nobody sets, is when the
first pod got its node, as it was with those releases.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from muster.api.resources import Resource
from muster.api.times import stamp
from muster.api.wire import Object, Pod, PodGroup, Wire
from muster.gangs.dialects.dialect import Dialect, Marks
from muster.gangs.dialects.v1beta1 import TIMEOUT_ANNOTATION, goes_whole
from muster.gangs.model import Membership
from muster.gangs.tally import Tally

LABEL = "scheduling.x-k8s.io/pod-group"

_OVER = ("Finished", "Failed")


class CoschedulingSpec(Wire, frozen=True):
    min_member: int = 1
    schedule_timeout_seconds: int | None = None


class CoschedulingStatus(Wire, frozen=True, omit_defaults=False):
    phase: str = ""
    occupied_by: str = ""
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    scheduled: int | None = None
    schedule_start_time: str | None = None


class CoschedulingGroup(Object, frozen=True):
    spec: CoschedulingSpec = CoschedulingSpec()
    status: CoschedulingStatus = CoschedulingStatus()


class Coscheduling(Dialect):
    name = "coscheduling"
    resources = (Resource("scheduling.x-k8s.io", "v1alpha1", "podgroups", "PodGroup"),)
    kind = CoschedulingGroup
    marks = Marks(labels=(LABEL,))
    has_status = False
    is_shared = True
    counts = True

    def membership(self, pod: Pod) -> Membership | None:
        name = pod.metadata.labels.get(LABEL)
        return Membership(f"{pod.metadata.namespace}/{name}") if name else None

    def groups(self, found: CoschedulingGroup) -> tuple[PodGroup, ...]:
        meta, asked = found.metadata, found.spec
        # operators write 0 where their user gave none
        if asked.schedule_timeout_seconds:
            annotations = {TIMEOUT_ANNOTATION: str(asked.schedule_timeout_seconds)} | meta.annotations
            meta = replace(meta, annotations=annotations)
        return (PodGroup(metadata=meta, spec=goes_whole(asked.min_member), dialect=self.name),)

    def status(self, found: CoschedulingGroup, tally: Tally) -> dict[str, Any]:
        stands, minimum = found.status, max(1, found.spec.min_member)
        if stands.phase in _OVER:
            return {}
        said: dict[str, Any] = {
            "phase": _phase(minimum, tally),
            "running": tally.running,
            "succeeded": tally.succeeded,
            "failed": tally.failed,
        }
        if tally.total >= minimum and (owners := stands.occupied_by or tally.owners):
            said["occupiedBy"] = owners
        if stands.schedule_start_time is None and tally.first_bound_at is not None:
            said["scheduleStartTime"] = stamp(tally.first_bound_at)
        # a server that dropped it when the phase was first written would drop it again
        if not stands.phase or stands.scheduled is not None:
            said["scheduled"] = tally.placed
        return said


def _phase(minimum: int, tally: Tally) -> str:
    if tally.total < minimum:
        return "Pending"
    if tally.succeeded >= minimum:
        return "Finished"
    if tally.failed and tally.failed + tally.running + tally.succeeded >= minimum:
        return "Failed"
    return "Running" if tally.running + tally.succeeded >= minimum else "Scheduling"
