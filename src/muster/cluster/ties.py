"""How a pod stands to others: what they can see of it, and what it asks of those around it.

Pods that are alike in this share one `Ties`, interned, so that identity compares and hashes.  A pod that nobody looks
at, and that looks at nobody, has none: as long as no pod of a cluster has such rules, none of them costs anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from muster.api.wire import Pod, PodAffinityTerm, TopologySpread
from muster.base.selectors import LabelSelector, Requirement, matches
from muster.cluster.traits import NO_TRAITS, Traits


class Look(msgspec.Struct, frozen=True, gc=False):
    """What others can see of a pod: of its labels, those that some pod's rule reads."""

    namespace: str
    labels: tuple[tuple[str, str], ...] = ()
    """Sorted by key."""
    traits: Traits = NO_TRAITS
    """What plugins by users read of it that judge others by it."""


class Selection(msgspec.Struct, frozen=True, gc=False):
    """Which pods a rule is about."""

    requirements: tuple[Requirement, ...] | None
    """On their labels; None for no pod at all, empty for all pods."""
    namespaces: tuple[str, ...]
    namespace_selector: tuple[Requirement, ...] | None = None
    """On the labels of their namespaces: pods of those count as well."""

    @property
    def keys(self) -> frozenset[str]:
        """Labels of pods that it reads."""
        return frozenset(one.key for one in self.requirements or ())


class Term(msgspec.Struct, frozen=True, gc=False):
    """Pods in the same domain: on nodes with the same value of this label."""

    selection: Selection
    topology_key: str


class Spread(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """How unevenly pods may stand in the domains of a label."""

    selection: Selection
    topology_key: str
    max_skew: int
    hard: bool
    """DoNotSchedule."""
    min_domains: int = 1
    honours_affinity: bool = True
    """Only nodes that the pod's own node affinity admits are counted..."""
    honours_taints: bool = False
    """...and only those whose taints it tolerates."""
    rates_unnamed: bool = False
    """A node that lacks the label is rated by the pod's other constraints; else by none."""


class PodRules(msgspec.Struct, frozen=True, gc=False):
    """What a pod asks of the pods around it."""

    together: tuple[Term, ...] = ()
    """Required affinity..."""
    apart: tuple[Term, ...] = ()
    """...and anti-affinity."""
    preferred: tuple[tuple[int, Term], ...] = ()
    """With weights; negative to be apart."""
    spread: tuple[Spread, ...] = ()

    @property
    def selections(self) -> Iterable[Selection]:
        yield from (term.selection for term in (*self.together, *self.apart))
        yield from (term.selection for _, term in self.preferred)
        yield from (spread.selection for spread in self.spread)


NO_RULES = PodRules()


class Ties:
    """What a pod shows, and what it asks.  Equal ones are the same object."""

    __slots__ = ("__weakref__", "look", "rules")

    def __init__(self, look: Look, rules: PodRules) -> None:
        self.look = look
        self.rules = rules

    @property
    def order(self) -> bytes:
        """Tells any two apart, the same way in every process."""
        return msgspec.json.encode((self.look, self.rules))


# --- reading ---


def rules_of(pod: Pod) -> PodRules:
    """What the pod asks of others; `NO_RULES` for most."""
    spec = pod.spec
    affinity = spec.affinity
    near, far = (affinity.pod_affinity, affinity.pod_anti_affinity) if affinity is not None else (None, None)
    if near is None and far is None and not spec.topology_spread_constraints:
        return NO_RULES
    namespace = pod.metadata.namespace
    preferred = [(wish.weight, wish.pod_affinity_term) for wish in (near.preferred if near is not None else ())]
    preferred += [(-wish.weight, wish.pod_affinity_term) for wish in (far.preferred if far is not None else ())]
    return PodRules(
        together=tuple(_term(term, namespace) for term in (near.required if near is not None else ())),
        apart=tuple(_term(term, namespace) for term in (far.required if far is not None else ())),
        preferred=tuple((weight, _term(term, namespace)) for weight, term in preferred),
        spread=tuple(_spread(one, pod) for one in spec.topology_spread_constraints),
    )


def _term(term: PodAffinityTerm, namespace: str) -> Term:
    chosen = term.namespace_selector
    # without either the pod's own is meant
    namespaces = tuple(sorted(set(term.namespaces))) or ((namespace,) if chosen is None else ())
    selection = Selection(requirements_of(term.label_selector), namespaces, requirements_of(chosen))
    return Term(selection, term.topology_key)


def _spread(asked: TopologySpread, pod: Pod) -> Spread:
    requirements, labels = requirements_of(asked.label_selector), pod.metadata.labels
    if requirements is not None:
        own = (Requirement(key, "In", (labels[key],)) for key in asked.match_label_keys if key in labels)
        requirements = in_order((*requirements, *own))
    return Spread(
        Selection(requirements, (pod.metadata.namespace,)),
        asked.topology_key,
        max_skew=asked.max_skew,
        hard=asked.when_unsatisfiable != "ScheduleAnyway",
        min_domains=asked.min_domains or 1,
        honours_affinity=asked.node_affinity_policy != "Ignore",
        honours_taints=asked.node_taints_policy == "Honor",
    )


def requirements_of(selector: LabelSelector | None) -> tuple[Requirement, ...] | None:
    """Sorted, each once; None for a selector that chooses nobody."""
    if selector is None:
        return None
    labels = (Requirement(key, "In", (value,)) for key, value in selector.match_labels.items())
    return in_order((*labels, *selector.match_expressions))


def in_order(requirements: Iterable[Requirement]) -> tuple[Requirement, ...]:
    return tuple(sorted(set(requirements), key=lambda one: (one.key, one.operator, one.values)))


# --- matching ---


class Namespaces:
    """The labels of namespaces, which rules may choose pods by."""

    def __init__(self) -> None:
        self.labels: dict[str, Mapping[str, str]] = {}

    def put(self, name: str, labels: Mapping[str, str]) -> bool:
        """Takes them down; whether that is news."""
        before = self.labels.get(name, {})
        if labels:
            self.labels[name] = labels
        else:
            self.labels.pop(name, None)
        return labels != before

    def selects(self, selection: Selection, look: Look) -> bool:
        """Whether a pod with this look is one of those that the rule is about."""
        if selection.requirements is None or not matches(selection.requirements, dict(look.labels)):
            return False
        if look.namespace in selection.namespaces:
            return True
        chosen = selection.namespace_selector
        return chosen is not None and matches(chosen, self.labels.get(look.namespace, {}))
