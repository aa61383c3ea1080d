"""scheduling.k8s.io/v1alpha2 (Kubernetes 1.36): pods name their PodGroup as in v1beta1, objects differ in spelling.

The released spelling of a field counts before the one of the proposal.
"""

from __future__ import annotations

from types import MappingProxyType

from muster.api.resources import Resource
from muster.api.wire import (
    DisruptionMode,
    Empty,
    Object,
    Pod,
    PodGroup,
    PodGroupSpec,
    PodGroupStatus,
    SchedulingConstraints,
    SchedulingPolicy,
    Wire,
)
from muster.gangs.dialects.dialect import Dialect
from muster.gangs.dialects.v1beta1 import INITIALLY_SCHEDULED
from muster.gangs.model import Membership


class AlphaSpec(Wire, frozen=True):
    scheduling_policy: SchedulingPolicy | None = None
    policy: SchedulingPolicy | None = None
    scheduling_constraints: SchedulingConstraints | None = None
    resource_claims: tuple[Empty, ...] = ()
    disruption_mode: str = "Pod"
    priority: int | None = None
    priority_class_name: str = ""


class AlphaGroup(Object, frozen=True):
    spec: AlphaSpec = AlphaSpec()
    status: PodGroupStatus = PodGroupStatus()


class V1Alpha2(Dialect):
    name = "v1alpha2"
    resources = (
        Resource("scheduling.k8s.io", "v1alpha2", "podgroups", "PodGroup"),
        Resource("v1alpha2.muster.dev", "v1alpha2", "podgroups", "PodGroup"),
    )
    kind = AlphaGroup
    conditions = MappingProxyType({INITIALLY_SCHEDULED: "PodGroupScheduled"})

    def membership(self, pod: Pod) -> Membership | None:
        """The field is that of v1beta1."""
        return None

    def groups(self, found: AlphaGroup) -> tuple[PodGroup, ...]:
        spec, status = found.spec, found.status
        whole = spec.disruption_mode == "PodGroup"
        group = PodGroup(
            metadata=found.metadata,
            spec=PodGroupSpec(
                scheduling_policy=spec.scheduling_policy or spec.policy or SchedulingPolicy(),
                scheduling_constraints=spec.scheduling_constraints,
                resource_claims=spec.resource_claims,
                disruption_mode=DisruptionMode(all=Empty()) if whole else DisruptionMode(single=Empty()),
                priority=spec.priority,
                priority_class_name=spec.priority_class_name,
            ),
            status=PodGroupStatus(conditions=self.read_conditions(status.conditions)),
            dialect=self.name,
        )
        return (group,)
