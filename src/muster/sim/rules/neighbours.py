"""What pods ask of the pods around them, in plain Python: no bind breaks what somebody requires.

Terms name no namespaces by their labels here: none are known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from itertools import islice, permutations
from typing import NamedTuple

from muster.api.wire import Node, Pod, PodAffinityTerm, TopologySpread
from muster.base.selectors import LabelSelector
from muster.sim.plain import covers

# of six members all
_MOST_ORDERS = 720
# no label has such a name
_NOBODY = LabelSelector({"": ""})

Apart = list[tuple[PodAffinityTerm, Pod]]


class Neighbour(NamedTuple):
    """A pod on a node that is there."""

    pod: Pod
    node: Node
    stays: bool = True
    """It is not being deleted; who is only to be evicted may be spared."""


class Around(NamedTuple):
    """Who is there when a pod is placed."""

    nodes: Collection[Node]
    surely: list[Neighbour]
    perhaps: list[Neighbour]
    """Those whose binds are in doubt, or for whom a place is kept: a scheduler may count them."""

    @property
    def anybody(self) -> Iterable[Neighbour]:
        return (*self.surely, *self.perhaps)


def near(pod: Pod) -> tuple[PodAffinityTerm, ...]:
    """With whom the pod must share a domain."""
    affinity = pod.spec.affinity.pod_affinity if pod.spec.affinity else None
    return affinity.required if affinity else ()


def far(pod: Pod) -> tuple[PodAffinityTerm, ...]:
    """With whom it must not."""
    affinity = pod.spec.affinity.pod_anti_affinity if pod.spec.affinity else None
    return affinity.required if affinity else ()


def spreads(pod: Pod) -> list[TopologySpread]:
    """What it must be even by."""
    return [each for each in pod.spec.topology_spread_constraints if each.when_unsatisfiable != "ScheduleAnyway"]


def selects(term: PodAffinityTerm, owner: Pod, other: Pod) -> bool:
    """Whether a term of the owner is about the other."""
    namespaces = term.namespaces or (owner.metadata.namespace,)
    selector = term.label_selector
    return selector is not None and other.metadata.namespace in namespaces and selector.matches(other.metadata.labels)


def refusal(pod: Pod, node: Node, around: Around) -> str:
    """What is broken if the pod goes to the node now, whoever of those is there who perhaps is; "" if nothing is."""
    for term in far(pod):
        for other in around.surely:
            if selects(term, pod, other.pod) and _together(term.topology_key, node, other.node):
                return f"it must be apart from {other.pod.metadata.name} by {term.topology_key}"
    for other in around.surely:
        for term in far(other.pod):
            if selects(term, other.pod, pod) and _together(term.topology_key, node, other.node):
                return f"{other.pod.metadata.name} must be apart from it by {term.topology_key}"
    if near(pod) and not _is_near(pod, node, around):
        return f"nobody is in its {', '.join(term.topology_key for term in near(pod))} whom it must be near"
    for spread in spreads(pod):
        if problem := _uneven(spread, pod, node, around):
            return problem
    return ""


def _together(key: str, one: Node, other: Node) -> bool:
    """Whether both are in one domain."""
    here = one.metadata.labels.get(key)
    return here is not None and here == other.metadata.labels.get(key)


def _is_near(pod: Pod, node: Node, around: Around) -> bool:
    """Some whom all its terms are about are in its domains; or nobody is anywhere, and it is itself such a one."""
    terms = near(pod)
    if any(term.topology_key not in node.metadata.labels for term in terms):
        return False

    def company(there: Iterable[Neighbour]) -> list[Node]:
        return [other.node for other in there if all(selects(term, pod, other.pod) for term in terms)]

    with_all = company(around.anybody)
    if all(any(_together(term.topology_key, node, other) for other in with_all) for term in terms):
        return True
    keys = {term.topology_key for term in terms}
    somewhere = any(keys & other.metadata.labels.keys() for other in company(around.surely))
    return not somewhere and all(selects(term, pod, pod) for term in terms)


def _uneven(spread: TopologySpread, pod: Pod, node: Node, around: Around) -> str:
    key, selector = spread.topology_key, _also(spread, pod)
    if key not in node.metadata.labels:
        return f"the node has no {key}"
    keys = {each.topology_key for each in spreads(pod)}
    counted = [n for n in around.nodes if keys <= n.metadata.labels.keys() and _counts(spread, pod, n)]
    names = {n.metadata.name for n in counted}

    def count(there: Iterable[Neighbour]) -> Counter[str]:
        """Pods by domain; an empty selector counts nobody, although it matches everybody."""
        found = Counter({n.metadata.labels[key]: 0 for n in counted})
        for other in there if selector.match_labels or selector.match_expressions else ():
            mine = other.pod.metadata.namespace == pod.metadata.namespace
            if (
                other.stays
                and mine
                and other.node.metadata.name in names
                and selector.matches(other.pod.metadata.labels)
            ):
                found[other.node.metadata.labels[key]] += 1
        return found

    fewest, most = count(around.surely), count(around.anybody)
    least = min(most.values()) if len(most) >= (spread.min_domains or 1) else 0
    here = fewest[node.metadata.labels[key]] + selector.matches(pod.metadata.labels)
    if here - least > spread.max_skew:
        return (
            f"{here} would be in {key} {node.metadata.labels[key]}, {least} in another, at most {spread.max_skew} more"
        )
    return ""


def _also(spread: TopologySpread, pod: Pod) -> LabelSelector:
    """Whom the constraint is about."""
    if spread.label_selector is None:
        return _NOBODY
    labels = pod.metadata.labels
    own = {key: labels[key] for key in spread.match_label_keys if key in labels}
    asked = spread.label_selector
    return LabelSelector({**asked.match_labels, **own}, asked.match_expressions)


def _counts(spread: TopologySpread, pod: Pod, node: Node) -> bool:
    """Whether the node is one of those over which the pod is spread."""
    spec, labels = pod.spec, node.metadata.labels
    if spread.node_affinity_policy != "Ignore":
        affinity = spec.affinity.node_affinity if spec.affinity else None
        required = affinity.required if affinity else None
        if any(labels.get(name) != value for name, value in spec.node_selector.items()):
            return False
        if required is not None and not required.matches(labels, node.metadata.name):
            return False
    taints = [t for t in node.spec.taints if t.effect in ("NoSchedule", "NoExecute")]
    tolerated = all(any(covers(t, taint) for t in spec.tolerations) for taint in taints)
    return spread.node_taints_policy != "Honor" or tolerated


def unplaceable(placed: Collection[Neighbour], around: Around) -> str:
    """Why not all of these can go where they are to, in whatever order they go; "" if they can."""
    first = ""
    for ordered in islice(permutations(placed), _MOST_ORDERS):
        there = around._replace(surely=list(around.surely))
        for one in ordered:
            if problem := refusal(one.pod, one.node, there):
                first = first or f"{one.pod.metadata.name} on {one.node.metadata.name}: {problem}"
                break
            there.surely.append(one)
        else:
            return ""
    return first


# --- whom that concerns ---


def has_rules(pod: Pod) -> bool:
    """Whether the pod requires anything of others."""
    asks = pod.spec.affinity is not None or pod.spec.topology_spread_constraints
    return bool(asks and (near(pod) or far(pod) or spreads(pod)))


def terms_apart(pods: Iterable[Pod]) -> Apart:
    """Whom the pods must not share a domain with: the terms, each with its owner."""
    return [(term, pod) for pod in pods if pod.spec.affinity for term in far(pod)]


def is_tied(pod: Pod, apart: Apart) -> bool:
    """Whether it matters where others are: to the pod itself, or to one of those who must be `apart` from some."""
    return has_rules(pod) or any(selects(term, owner, pod) for term, owner in apart)
