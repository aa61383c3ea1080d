"""Volcano's PodGroup, for teams that move: scheduling.volcano.sh/v1beta1, named by an annotation of pods.

Minimums by task are subsets.  Queues and minResources have no effect; the objects keep them.

Volcano's Job controller and the training-operator make no pods while the group's phase is Pending, or none: without
queues every group is let in as soon as it is seen.  Else phases are as Volcano's scheduler has them at the end of a
session, the first of these that holds:

    Completed   it was said before, and no pod is left
    Unknown     some run, and fewer than minMember have a node or have succeeded
    Completed   minMember had a node, and all who had one have ended
    Running     minMember have a node or have ended
    Inqueue     all others; never Pending

Its conditions are written for people by its own scheduler, whose words they are: none is written here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from muster.api.resources import Resource
from muster.api.wire import Object, Pod, PodGroup, Wire
from muster.gangs.dialects.dialect import Dialect, Marks
from muster.gangs.dialects.v1beta1 import SUBSETS_ANNOTATION, goes_whole, subsets_text
from muster.gangs.model import Membership
from muster.gangs.tally import Tally

GROUP_ANNOTATION = "scheduling.k8s.io/group-name"
OWN_GROUP_ANNOTATION = "scheduling.volcano.sh/group-name"
TASK_ANNOTATION = "volcano.sh/task-spec"

_COMPLETED = "Completed"


class VolcanoTopology(Wire, frozen=True):
    mode: str = "hard"
    """As Volcano's definition has it where it is not given."""


class VolcanoPart(Wire, frozen=True):
    network_topology: VolcanoTopology | None = None


class VolcanoSpec(Wire, frozen=True):
    min_member: int = 1
    min_task_member: dict[str, int] = msgspec.field(default_factory=dict)
    priority_class_name: str = ""
    network_topology: VolcanoTopology | None = None
    sub_group_policy: tuple[VolcanoPart, ...] = ()


class VolcanoStatus(Wire, frozen=True, omit_defaults=False):
    phase: str = ""
    running: int = 0
    succeeded: int = 0
    failed: int = 0


class VolcanoGroup(Object, frozen=True):
    spec: VolcanoSpec = VolcanoSpec()
    status: VolcanoStatus = VolcanoStatus()


class Volcano(Dialect):
    name = "volcano"
    resources = (Resource("scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup"),)
    kind = VolcanoGroup
    marks = Marks(annotations=(GROUP_ANNOTATION, OWN_GROUP_ANNOTATION, TASK_ANNOTATION))
    has_status = False
    is_shared = True
    scheduler = "volcano"
    names_others = True
    counts = True

    def membership(self, pod: Pod) -> Membership | None:
        annotations = pod.metadata.annotations
        name = annotations.get(GROUP_ANNOTATION) or annotations.get(OWN_GROUP_ANNOTATION)
        return Membership(f"{pod.metadata.namespace}/{name}", annotations.get(TASK_ANNOTATION, "")) if name else None

    def groups(self, found: VolcanoGroup) -> tuple[PodGroup, ...]:
        meta, asked = found.metadata, found.spec
        minimums = [(task, least) for task, least in asked.min_task_member.items() if least > 0]
        # else they do not count: for Volcano too if they ask for more; if for less, nobody says whose the rest are
        if minimums and sum(least for _, least in minimums) == asked.min_member:
            # tasks without a minimum may run beside the others
            text = subsets_text([*minimums, ("", 0)])
            meta = replace(meta, annotations=meta.annotations | {SUBSETS_ANNOTATION: text})
        spec = goes_whole(asked.min_member, priority_class=asked.priority_class_name)
        return (PodGroup(metadata=meta, spec=spec, dialect=self.name, asks=tuple(_asks(asked))),)

    def status(self, found: VolcanoGroup, tally: Tally) -> dict[str, Any]:
        if found.status.phase == _COMPLETED and not tally.total:
            # its pods were cleaned up: whoever made them is not asked for others
            return {}
        return {
            "phase": _phase(max(1, found.spec.min_member), tally),
            "running": tally.running,
            "succeeded": tally.succeeded,
            "failed": tally.failed,
        }


def _asks(asked: VolcanoSpec) -> Iterator[str]:
    """What a gang must not be started without."""
    if _is_hard(asked.network_topology):
        yield "spec.networkTopology with mode: hard"
    if any(_is_hard(part.network_topology) for part in asked.sub_group_policy):
        yield "spec.subGroupPolicy[].networkTopology with mode: hard"


def _is_hard(topology: VolcanoTopology | None) -> bool:
    return topology is not None and topology.mode == "hard"


def _phase(minimum: int, tally: Tally) -> str:
    if tally.running and tally.bound + tally.succeeded < minimum:
        return "Unknown"
    if tally.placed >= minimum:
        return "Running" if tally.bound else _COMPLETED
    return "Inqueue"
