"""Pods that look at each other: labels, what pods of a shape ask of those around them, and with whom they belong."""

from __future__ import annotations

from random import Random

from msgspec.structs import replace

from muster.api.wire import (
    Affinity,
    Fact,
    Identity,
    LabelsToHave,
    LabelsToMatch,
    OwnerReference,
    PodAffinity,
    PodAffinityTerm,
    PodSpec,
    PreferredPods,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
    TopologySpread,
)
from muster.base.selectors import LabelSelector, Requirement

KIN = "kin"
KINDS = ("x", "y", "z")
_HOST = "kubernetes.io/hostname"
_ZONE = "zone"
_SYSTEM_ZONE = "topology.kubernetes.io/zone"
_OWNERS = (("apps/v1", "ReplicaSet"), ("apps/v1", "StatefulSet"), ("v1", "ReplicationController"))


def domains(name: str, labels: dict[str, str]) -> dict[str, str]:
    """The node's labels with its name among them, and sometimes a third zone or none; drawn from what they were."""
    apart = Random(f"domains {name} {sorted(labels.items())}")
    found = {**labels, _HOST: name}
    zone = apart.random()
    if zone < 0.25:
        found[_ZONE] = "c"
    elif zone < 0.32:
        del found[_ZONE]
    if apart.random() < 0.04:
        del found[_HOST]
    return found


def located(name: str, labels: dict[str, str]) -> dict[str, str]:
    """The node's labels with those by which pods are spread by default; some nodes lack one or the other."""
    apart = Random(f"located {name} {sorted(labels.items())}")
    found = {_HOST: name, **labels} if apart.random() < 0.9 else dict(labels)
    return {**found, _SYSTEM_ZONE: apart.choice("pqr")} if apart.random() < 0.8 else found


def kin(rng: Random, shapes: int) -> list[dict[str, str]]:
    """The labels that pods of each shape have."""
    kinds = [rng.choice((*KINDS, *KINDS, "")) for _ in range(shapes)]
    return [{KIN: kind} if kind else {} for kind in kinds]


def owner(name: str) -> tuple[OwnerReference, ...]:
    """Who made the pod of that name, if anybody did: often somebody of whom nobody knows."""
    apart = Random(f"owner {name}")
    if apart.random() < 0.5:
        return ()
    version, kind = apart.choice(
        (("apps/v1", "ReplicaSet"), ("apps/v1", "StatefulSet"), ("v1", "ReplicationController"))
    )
    made_by = OwnerReference(api_version=version, kind=kind, name=apart.choice(KINDS), uid=f"uid-{kind}")
    return (replace(made_by, controller=apart.random() < 0.9),)


def belonging(rng: Random, namespace: str) -> Fact:
    """Something by which pods belong together: a Service or an owner, about some kind of pods, or none."""
    labels = {KIN: rng.choice(KINDS)} if rng.random() < 0.9 else {}
    if rng.random() < 0.2:
        labels["app"] = rng.choice("ab")
    meta = Identity(name=rng.choice(KINDS), namespace=namespace)
    by_labels = rng.choice((Service, Service, ReplicationController, None, None))
    if by_labels is not None:
        return by_labels(metadata=meta, spec=LabelsToHave(selector=labels or None))
    selector = LabelSelector(match_labels=labels)
    if rng.random() < 0.2:
        selector = replace(selector, match_expressions=(Requirement(KIN, "In", tuple(rng.sample(KINDS, 2))),))
    return rng.choice((ReplicaSet, StatefulSet))(metadata=meta, spec=LabelsToMatch(selector=selector))


def tied(rng: Random, shapes: list[PodSpec]) -> tuple[list[PodSpec], list[dict[str, str]]]:
    """The shapes, most of them with rules, and the labels that their pods have."""
    kinds = [rng.choice((*KINDS, *KINDS, "")) for _ in shapes]
    shapes = [
        _asking(rng, shape, kind) if rng.random() < 0.75 else shape for shape, kind in zip(shapes, kinds, strict=True)
    ]
    return shapes, [{KIN: kind} if kind else {} for kind in kinds]


def _asking(rng: Random, shape: PodSpec, kind: str) -> PodSpec:
    for _ in range(rng.choice((1, 1, 2))):
        shape = _one_more(rng, shape, kind)
    return shape


def _one_more(rng: Random, shape: PodSpec, kind: str) -> PodSpec:
    """The shape with one more rule."""
    affinity = shape.affinity or Affinity()
    near, far = affinity.pod_affinity or PodAffinity(), affinity.pod_anti_affinity or PodAffinity()
    match rng.choice(("apart", "apart", "apart", "together", "together", "spread", "spread", "wish", "even")):
        case "apart":
            term = _term(rng, kind, key=rng.choice((_HOST, _HOST, _ZONE)))
            far = replace(far, required=(*far.required, term))
        case "together":
            term = _term(rng, kind, key=rng.choice((_HOST, _ZONE, _ZONE, _ZONE)))
            near = replace(near, required=(*near.required, term))
        case "spread":
            spread = _spread(rng, kind)
            return replace(shape, topology_spread_constraints=(*shape.topology_spread_constraints, spread))
        case "even":
            spread = replace(_spread(rng, kind), when_unsatisfiable="ScheduleAnyway", min_domains=None)
            return replace(shape, topology_spread_constraints=(*shape.topology_spread_constraints, spread))
        case _:
            wish = PreferredPods(weight=rng.choice((1, 50)), pod_affinity_term=_term(rng, kind, key=_ZONE))
            if rng.random() < 0.5:
                near = replace(near, preferred=(*near.preferred, wish))
            else:
                far = replace(far, preferred=(*far.preferred, wish))
    return replace(shape, affinity=replace(affinity, pod_affinity=near, pod_anti_affinity=far))


def _term(rng: Random, kind: str, *, key: str) -> PodAffinityTerm:
    return PodAffinityTerm(label_selector=_selector(rng, kind), topology_key=key)


def _spread(rng: Random, kind: str) -> TopologySpread:
    return TopologySpread(
        max_skew=rng.choice((1, 1, 2)),
        topology_key=rng.choice((_ZONE, _ZONE, _HOST)),
        label_selector=_selector(rng, kind),
        min_domains=rng.choice((None, None, None, 2, 3)),
        node_affinity_policy=rng.choice(("Honor", "Honor", "Honor", "Ignore")),
        node_taints_policy=rng.choice(("Ignore", "Ignore", "Ignore", "Honor")),
        # a label that pods have only where budgets look for it
        match_label_keys=rng.choice(((), (), (), ("app",))),
    )


def _selector(rng: Random, kind: str) -> LabelSelector:
    """Mostly pods of its own kind; sometimes of another, of some, or all but one."""
    chance = rng.random()
    if chance < 0.6 and kind:
        return LabelSelector(match_labels={KIN: kind})
    if chance < 0.85:
        return LabelSelector(match_labels={KIN: rng.choice(KINDS)})
    if chance < 0.93:
        return LabelSelector(match_expressions=(Requirement(KIN, "In", tuple(rng.sample(KINDS, 2))),))
    if chance < 0.97:
        return LabelSelector(match_expressions=(Requirement(KIN, "NotIn", (rng.choice(KINDS),)),))
    return LabelSelector()
