"""PodTopologySpread: as many pods of a kind here as there."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from tests.plain_scheduler.cluster import Cluster, Machine, labels_of, namespace_of
from tests.plain_scheduler.node_rules import Refusal, tolerates_hard_taints
from tests.plain_scheduler.resources import half_up
from tests.plain_scheduler.selectors import Document, Selector, node_is_required

UNEVEN = Refusal(("node(s) didn't match pod topology spread constraints",), is_final=False)
NO_LABEL = Refusal(("node(s) didn't match pod topology spread constraints (missing required label)",), is_final=True)

HOSTNAME = "kubernetes.io/hostname"
_SOFT = "ScheduleAnyway"
_HARD = "DoNotSchedule"
_ZONE = "topology.kubernetes.io/zone"
DEFAULTS = (
    {"topologyKey": HOSTNAME, "maxSkew": 3, "whenUnsatisfiable": _SOFT},
    {"topologyKey": _ZONE, "maxSkew": 5, "whenUnsatisfiable": _SOFT},
)
"""For pods without constraints of their own, over the pods that their Services and their controller select."""
LISTS = {
    "listed": (
        {"topologyKey": _ZONE, "maxSkew": 1, "whenUnsatisfiable": _HARD, "minDomains": 3},
        {"topologyKey": HOSTNAME, "maxSkew": 2, "whenUnsatisfiable": _HARD, "nodeTaintsPolicy": "Honor"},
        {"topologyKey": _ZONE, "maxSkew": 2, "whenUnsatisfiable": _SOFT, "nodeAffinityPolicy": "Ignore"},
        {"topologyKey": "rack", "maxSkew": 1, "whenUnsatisfiable": _SOFT},
    ),
    "unspread": (),
}
"""Instead of those, by the name of the scheduler that a pod asks for."""


class Constraint:
    """One constraint of a pod that is being placed."""

    def __init__(self, document: Document, pod: Document, selector: Selector | None = None) -> None:
        self._pod = pod
        self.key: str = document["topologyKey"]
        self.max_skew: int = document["maxSkew"]
        self.min_domains: int = document.get("minDomains") or 1
        self._honours_affinity = (document.get("nodeAffinityPolicy") or "Honor") == "Honor"
        self._honours_taints = (document.get("nodeTaintsPolicy") or "Ignore") == "Honor"
        keys = document.get("matchLabelKeys") or []
        own = {key: labels_of(pod)[key] for key in keys if key in labels_of(pod)}
        self._selector = selector or Selector(document.get("labelSelector")).also(own)

    @property
    def matches_itself(self) -> bool:
        return self._selector.matches(labels_of(self._pod))

    def counts(self, machine: Machine) -> bool:
        """The node's pods are counted, and its domain is one of those to be even."""
        if self._honours_affinity and not node_is_required(self._pod["spec"], machine.name, machine.labels):
            return False
        return not self._honours_taints or tolerates_hard_taints(self._pod, machine)

    def pods_on(self, machine: Machine) -> int:
        """Matching pods of the namespace that are not leaving; none at all for a selector that asks for nothing."""
        if self._selector.is_empty:
            return 0
        mine = namespace_of(self._pod)
        return sum(
            other.namespace == mine and not other.is_leaving and self._selector.matches(other.labels)
            for other in machine.running
        )


def refuses(
    cluster: Cluster, pod: Document, defaults: Sequence[Document] | None = None
) -> Callable[[Machine], Refusal | None]:
    constraints = _constraints(cluster, pod, _HARD, _by_default(pod) if defaults is None else defaults)
    matching = []
    for constraint in constraints:
        domains: Counter[str] = Counter()
        for machine in _with_all_keys(cluster.machines.values(), constraints):
            if constraint.counts(machine):
                domains[machine.labels[constraint.key]] += constraint.pods_on(machine)
        matching.append(domains)

    def refuse(machine: Machine) -> Refusal | None:
        for constraint, domains in zip(constraints, matching, strict=True):
            if constraint.key not in machine.labels:
                return NO_LABEL
            least = min(domains.values()) if len(domains) >= constraint.min_domains else 0
            here = domains[machine.labels[constraint.key]]
            if here + constraint.matches_itself - least > constraint.max_skew:
                return UNEVEN
        return None

    return refuse


def score(
    cluster: Cluster, pod: Document, takers: Sequence[Machine], defaults: Sequence[Document] | None = None
) -> dict[str, int]:
    defaults = _by_default(pod) if defaults is None else defaults
    constraints = _constraints(cluster, pod, _SOFT, defaults)
    # nodes without a zone are still spread over by the system's own
    needs_all_keys = _says_itself(pod) or defaults is not DEFAULTS
    if not constraints:
        return {machine.name: 0 for machine in takers}
    scored = _with_all_keys(takers, constraints) if needs_all_keys else list(takers)
    everywhere = list(cluster.machines.values())
    if needs_all_keys:
        everywhere = _with_all_keys(everywhere, constraints)
    total = dict.fromkeys((machine.name for machine in scored), 0.0)
    for constraint in constraints:
        # a missing label is a domain too when sizes are counted
        domains = {machine.labels.get(constraint.key, "") for machine in scored}
        size = len(scored) if constraint.key == HOSTNAME else len(domains)
        pods: Counter[str] = Counter()
        for machine in everywhere:
            if constraint.counts(machine):
                pods[machine.labels.get(constraint.key, "")] += constraint.pods_on(machine)
        for machine in scored:
            if constraint.key in machine.labels:
                is_host = constraint.key == HOSTNAME
                count = constraint.pods_on(machine) if is_host else pods[machine.labels[constraint.key]]
                total[machine.name] += float(count) * math.log(float(size + 2)) + float(constraint.max_skew - 1)
    raw = {name: half_up(value) for name, value in total.items()}
    lowest, highest = min(raw.values(), default=0), max(raw.values(), default=0)
    parts = {name: 100 * (highest + lowest - value) // highest if highest else 100 for name, value in raw.items()}
    return {machine.name: parts.get(machine.name, 0) for machine in takers}


def _says_itself(pod: Document) -> bool:
    return bool(pod["spec"].get("topologySpreadConstraints"))


def _by_default(pod: Document) -> Sequence[Document]:
    return LISTS.get(pod["spec"].get("schedulerName", ""), DEFAULTS)


def _constraints(cluster: Cluster, pod: Document, what: str, defaults: Sequence[Document]) -> list[Constraint]:
    """The pod's own, or those by default."""
    if _says_itself(pod):
        return [Constraint(each, pod) for each in pod["spec"]["topologySpreadConstraints"] if _is(each, what)]
    selector = cluster.owners.selector_of(pod)
    listed = [] if selector.is_empty else defaults
    return [Constraint(each, pod, selector) for each in listed if _is(each, what)]


def _is(document: Document, what: str) -> bool:
    return bool(document["whenUnsatisfiable"] == what)


def _with_all_keys(machines: Iterable[Machine], constraints: Sequence[Constraint]) -> list[Machine]:
    return [machine for machine in machines if all(each.key in machine.labels for each in constraints)]
