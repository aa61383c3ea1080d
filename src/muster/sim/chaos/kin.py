"""Pods that look at each other: labels, and what pods of a shape ask of those around them."""

from __future__ import annotations

from random import Random

from msgspec.structs import replace

from muster.api.wire import Affinity, PodAffinity, PodAffinityTerm, PodSpec, PreferredPods, TopologySpread
from muster.base.selectors import LabelSelector, Requirement

KIN = "kin"
KINDS = ("x", "y", "z")
_HOST = "kubernetes.io/hostname"
_ZONE = "zone"


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
