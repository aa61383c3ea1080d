"""scheduling.k8s.io/v1beta1 (Kubernetes 1.37): a pod names its PodGroup in spec.schedulingGroup.

An API server that does not know that field drops it.  There the label muster.dev/pod-group says the same, and
muster.dev/v1beta1 has PodGroups of the same shape.
"""

from __future__ import annotations

from muster.api.times import seconds
from muster.api.wire import Condition, Pod, PodGroup, condition
from muster.gangs.model import (
    DEFAULT_TIMEOUT_SECONDS,
    DisruptionMode,
    Gang,
    Membership,
    Policy,
    Subset,
)

INITIALLY_SCHEDULED = "PodGroupInitiallyScheduled"
GROUP_LABEL = "muster.dev/pod-group"
TIMEOUT_ANNOTATION = "muster.dev/schedule-timeout-seconds"


class V1Beta1:
    """PodGroups as Kubernetes 1.37 serves them; minCount may change at any time."""

    declares = PodGroup

    def membership(self, pod: Pod) -> Membership | None:
        field = pod.spec.scheduling_group
        name = (field.pod_group_name if field is not None else None) or pod.metadata.labels.get(GROUP_LABEL)
        return Membership(f"{pod.metadata.namespace}/{name}") if name else None

    def declare(self, declaration: PodGroup) -> Gang:
        meta, spec = declaration.metadata, declaration.spec
        gang = spec.scheduling_policy.gang
        mode = spec.disruption_mode
        now = condition(declaration.status.conditions, INITIALLY_SCHEDULED)
        return Gang(
            key=f"{meta.namespace}/{meta.name}",
            uid=meta.uid,
            created=seconds(meta.creation_timestamp),
            # a basic group is feasible with one pod, as upstream's PlacementFeasible has it
            subsets=(Subset(minimum=max(1, gang.min_count) if gang else 1),),
            policy=Policy.GANG if gang else Policy.BASIC,
            priority=spec.priority,
            timeout_seconds=_timeout(meta.annotations.get(TIMEOUT_ANNOTATION)),
            disruption=DisruptionMode.ALL if mode and mode.all else DisruptionMode.SINGLE,
            started=now is not None and now.status == "True",
            said=None if now is None else (now.reason, now.message),
        )

    def condition(self, *, started: bool, reason: str, message: str) -> Condition:
        return Condition(
            type=INITIALLY_SCHEDULED,
            status="True" if started else "False",
            reason=reason,
            message=message,
        )


def _timeout(text: str | None) -> float:
    """Seconds from the annotation; one that is no positive number counts as not given."""
    try:
        wanted = float(text) if text else DEFAULT_TIMEOUT_SECONDS
    except ValueError:
        return DEFAULT_TIMEOUT_SECONDS
    return wanted if 0 < wanted < float("inf") else DEFAULT_TIMEOUT_SECONDS
