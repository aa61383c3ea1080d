"""scheduling.k8s.io/v1beta1 (Kubernetes 1.37): a pod names its PodGroup in spec.schedulingGroup.

An API server that does not know that field drops it.  There the label muster.dev/pod-group says the same, and
muster.dev/v1beta1 has PodGroups of the same shape.

Where the field is known, the Job controller makes a basic PodGroup for every Job and sets the field on its pods,
whatever label their owner wrote: such a group gives way to the one that the label names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from muster.api.asks import Ask
from muster.api.resources import CUSTOM_POD_GROUPS, NATIVE_POD_GROUPS
from muster.api.times import seconds
from muster.api.wire import Condition, Empty, GangPolicy, Pod, PodGroup, PodGroupSpec, SchedulingPolicy, condition
from muster.api.wire import DisruptionMode as WireDisruptionMode
from muster.gangs.dialects.dialect import Dialect, Marks
from muster.gangs.model import (
    DEFAULT_GRACE_SECONDS,
    DEFAULT_TIMEOUT_SECONDS,
    PREPARING,
    Aspect,
    BelowMinimum,
    DisruptionMode,
    Gang,
    Membership,
    Policy,
    Subset,
)

INITIALLY_SCHEDULED = "PodGroupInitiallyScheduled"
BELOW_MINIMUM = "PodGroupBelowMinimum"
DISRUPTION_TARGET = "DisruptionTarget"
GROUP_LABEL = "muster.dev/pod-group"
SUBSETS_ANNOTATION = "muster.dev/subsets"
"""Minimums of parts of the group, which count instead of its own: "leader=1,worker=3"."""
SUBSET_LABEL = "muster.dev/subset"
TIMEOUT_ANNOTATION = "muster.dev/schedule-timeout-seconds"
START_TIMEOUT_ANNOTATION = "muster.dev/start-timeout-seconds"
ON_PARTIAL_ANNOTATION = "muster.dev/on-partial"
BELOW_MINIMUM_ANNOTATION = "muster.dev/below-minimum"
GRACE_ANNOTATION = "muster.dev/below-minimum-grace-seconds"

# minimums are of 32 bits
_LONGEST_MINIMUM = 10

_TOPOLOGY = Ask("spec.schedulingConstraints.topology", "TopologyPlacementGenerator")
_DEVICES = Ask("spec.resourceClaims", "DynamicResources")
# upstream has a gate for it, and no plugin of its own
_PARENT = Ask("spec.parentCompositePodGroupName", "CompositePodGroup")

_TYPES = {
    Aspect.STARTED: INITIALLY_SCHEDULED,
    Aspect.BELOW_MINIMUM: BELOW_MINIMUM,
    Aspect.EVICTED: DISRUPTION_TARGET,
}


class _V1Beta1(Dialect):
    """PodGroups as Kubernetes 1.37 serves them; minCount may change at any time."""

    def groups(self, found: PodGroup) -> tuple[PodGroup, ...]:
        return (found,)


class Native(_V1Beta1):
    name = "v1beta1"
    resources = NATIVE_POD_GROUPS
    marks = Marks(fields=("schedulingGroup",))

    def membership(self, pod: Pod) -> Membership | None:
        field = pod.spec.scheduling_group
        if field is None or not field.pod_group_name:
            return None
        subset = pod.metadata.labels.get(SUBSET_LABEL, "") if pod.metadata.labels else ""
        return Membership(f"{pod.metadata.namespace}/{field.pod_group_name}", subset)


class Custom(_V1Beta1):
    name = "muster"
    resources = CUSTOM_POD_GROUPS
    marks = Marks(labels=(GROUP_LABEL,))

    def membership(self, pod: Pod) -> Membership | None:
        labels = pod.metadata.labels
        name = labels.get(GROUP_LABEL)
        return Membership(f"{pod.metadata.namespace}/{name}", labels.get(SUBSET_LABEL, "")) if name else None


def goes_whole(minimum: int | None, *, priority_class: str = "") -> PodGroupSpec:
    """A gang of this minimum, or for None a group without one, of a dialect that has no word for disruption: who takes
    one member takes all."""
    gang = None if minimum is None else GangPolicy(min_count=max(1, minimum))
    return PodGroupSpec(
        scheduling_policy=SchedulingPolicy(gang=gang),
        disruption_mode=WireDisruptionMode(all=Empty()),
        priority_class_name=priority_class,
    )


def declare(group: PodGroup, *, dialect: Dialect) -> Gang:
    """What a PodGroup declares; `dialect` is the one that its object speaks."""
    meta, spec = group.metadata, group.spec
    mode = spec.disruption_mode
    # not more than 15 keywords, which would take three times as long (Python 3.11 makes a dict for them)
    gang = Gang(
        key=f"{meta.namespace}/{meta.name}",
        uid=meta.uid,
        created=seconds(meta.creation_timestamp),
        subsets=_subsets(meta.annotations) or (_whole(spec.scheduling_policy),),
        names_others=dialect.names_others,
        policy=Policy.GANG if spec.scheduling_policy.gang else Policy.BASIC,
        priority=spec.priority,
        one_priority=dialect.one_priority,
        disruption=DisruptionMode.ALL if mode and mode.all else DisruptionMode.SINGLE,
        preempts=spec.preemption_policy != "Never",
        fitting_reason=dialect.fitting_reason,
        asks=_asks(group),
        remark=group.remark,
        made_by_controller=bool(meta.owner_references) and meta.controller is not None,
        has_status=dialect.has_status,
    )
    if meta.annotations:
        gang = _annotated(gang, meta.annotations)
    return _said(gang, group.status.conditions) if group.status.conditions else gang


def _annotated(gang: Gang, annotations: Mapping[str, str]) -> Gang:
    restarts = annotations.get(BELOW_MINIMUM_ANNOTATION) == BelowMinimum.RESTART
    return replace(
        gang,
        timeout_seconds=_seconds(annotations.get(TIMEOUT_ANNOTATION), DEFAULT_TIMEOUT_SECONDS),
        start_timeout_seconds=_seconds(annotations.get(START_TIMEOUT_ANNOTATION), 0.0) or None,
        holds_partial=annotations.get(ON_PARTIAL_ANNOTATION) == "hold",
        below_minimum=BelowMinimum.RESTART if restarts else BelowMinimum.WAIT,
        grace_seconds=_seconds(annotations.get(GRACE_ANNOTATION), DEFAULT_GRACE_SECONDS),
    )


def _said(gang: Gang, conditions: tuple[Condition, ...]) -> Gang:
    now = condition(conditions, INITIALLY_SCHEDULED)
    below = condition(conditions, BELOW_MINIMUM)
    target = condition(conditions, DISRUPTION_TARGET)
    return replace(
        gang,
        # whoever is below its minimum has had it: the first condition may have got lost
        started=any(found is not None and found.status == "True" for found in (now, below)),
        started_at=_since(now),
        preparing_since=_time_of(now) if now is not None and now.reason == PREPARING else None,
        said=None if now is None else (now.reason, now.message),
        below_since=_since(below),
        below_said=None if below is None else (below.reason, below.message),
        evicted_said=None if target is None else (target.status == "True", target.reason, target.message),
    )


def keeps_its_time(before: Condition, said: Condition) -> bool:
    """Whether the time of transition stays; since when things are made ready is known from there alone."""
    return before.status == said.status and (before.reason == PREPARING) is (said.reason == PREPARING)


def says(aspect: Aspect, *, holds: bool, reason: str, message: str) -> Condition:
    """How a PodGroup's status says it."""
    return Condition(type=_TYPES[aspect], status="True" if holds else "False", reason=reason, message=message)


def _whole(policy: SchedulingPolicy) -> Subset:
    """A group without parts; a basic one is feasible with one pod, as upstream's PlacementFeasible has it."""
    if policy.gang is not None:
        return Subset(minimum=max(1, policy.gang.min_count))
    return Subset(desired=None if policy.basic is None else policy.basic.desired_count)


def _asks(group: PodGroup) -> tuple[Ask, ...]:
    spec, found = group.spec, list[Ask]()
    if spec.parent_composite_pod_group_name:
        found.append(_PARENT)
    if spec.scheduling_constraints is not None and spec.scheduling_constraints.topology:
        found.append(_TOPOLOGY)
    if spec.resource_claims:
        found.append(_DEVICES)
    return (*found, *[Ask(field, plugin="") for field in group.asks])


def subsets_text(minimums: Iterable[tuple[str, int]]) -> str:
    """The annotation that says so."""
    return ",".join(f"{name}={minimum}" for name, minimum in minimums)


def _subsets(annotations: Mapping[str, str]) -> tuple[Subset, ...]:
    """What the annotation says; nothing if it cannot be read."""
    if SUBSETS_ANNOTATION not in annotations:
        return ()
    subsets: dict[str, Subset] = {}
    for part in filter(None, annotations[SUBSETS_ANNOTATION].split(",")):
        name, _, minimum = part.strip().partition("=")
        if name in subsets or not (minimum.isascii() and minimum.isdecimal()) or len(minimum) > _LONGEST_MINIMUM:
            return ()
        subsets[name] = Subset(name=name, minimum=max(1 if name else 0, int(minimum)))
    return tuple(subsets.values())


def _seconds(text: str | None, default: float) -> float:
    """Seconds from an annotation; one that is no positive number counts as not given."""
    try:
        wanted = float(text) if text else default
    except ValueError:
        return default
    return wanted if 0 < wanted < float("inf") else default


def _since(now: Condition | None) -> float | None:
    """Since when the condition is true; None if it is not."""
    return None if now is None or now.status != "True" else _time_of(now)


def _time_of(now: Condition) -> float:
    return seconds(now.last_transition_time) if now.last_transition_time else 0.0
