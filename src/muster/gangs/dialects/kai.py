"""KAI's PodGroup, for teams that move: scheduling.run.ai/v2alpha2, named by an annotation of pods.

Nothing is written to its status.  A phase and counts have names there that KAI itself neither sets nor reads; its
controller keeps resourcesStatus, for queues; schedulingConditions tell on which of its node pools a group did not fit,
for other parts of it.  Its pods exist before the group does, so nobody waits for any of this to make them.
"""

from __future__ import annotations

from collections.abc import Iterator

from muster.api.resources import Resource
from muster.api.wire import Object, Pod, PodGroup, Wire
from muster.gangs.dialects.dialect import Dialect, Marks
from muster.gangs.dialects.v1beta1 import goes_whole
from muster.gangs.model import Membership

GROUP_ANNOTATION = "pod-group-name"


class KaiTopology(Wire, frozen=True):
    required_topology_level: str = ""


class KaiSubGroup(Wire, frozen=True):
    topology_constraint: KaiTopology = KaiTopology()


class KaiSpec(Wire, frozen=True):
    min_member: int | None = None
    priority_class_name: str = ""
    topology_constraint: KaiTopology = KaiTopology()
    sub_groups: tuple[KaiSubGroup, ...] = ()
    min_sub_group: int | None = None


class KaiGroup(Object, frozen=True):
    spec: KaiSpec = KaiSpec()


class Kai(Dialect):
    name = "kai"
    resources = (Resource("scheduling.run.ai", "v2alpha2", "podgroups", "PodGroup"),)
    kind = KaiGroup
    marks = Marks(annotations=(GROUP_ANNOTATION,))
    has_status = False
    is_shared = True
    scheduler = "kai-scheduler"

    def membership(self, pod: Pod) -> Membership | None:
        name = pod.metadata.annotations.get(GROUP_ANNOTATION)
        return Membership(f"{pod.metadata.namespace}/{name}") if name else None

    def groups(self, found: KaiGroup) -> tuple[PodGroup, ...]:
        asked = found.spec
        spec = goes_whole(asked.min_member or 1, priority_class=asked.priority_class_name)
        return (PodGroup(metadata=found.metadata, spec=spec, dialect=self.name, asks=tuple(_asks(asked))),)


def _asks(asked: KaiSpec) -> Iterator[str]:
    """What a gang must not be started without."""
    if asked.min_member is None and asked.min_sub_group is not None:
        yield "spec.minSubGroup without spec.minMember"
    if asked.topology_constraint.required_topology_level:
        yield "spec.topologyConstraint.requiredTopologyLevel"
    if any(part.topology_constraint.required_topology_level for part in asked.sub_groups):
        yield "spec.subGroups[].topologyConstraint.requiredTopologyLevel"
