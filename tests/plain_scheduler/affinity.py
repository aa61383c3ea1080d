"""InterPodAffinity: pods that want to be near others, or far from them."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from tests.plain_scheduler.cluster import Cluster, Machine, Running, labels_of, namespace_of
from tests.plain_scheduler.node_rules import Refusal
from tests.plain_scheduler.selectors import Document, Labels, Selector

NOT_NEAR = Refusal(("node(s) didn't match pod affinity rules",), is_final=True)
TOO_NEAR = Refusal(("node(s) didn't match pod anti-affinity rules",), is_final=False)
UNWANTED = Refusal(("node(s) didn't satisfy existing pods anti-affinity rules",), is_final=False)

NEAR, FAR = "podAffinity", "podAntiAffinity"
HARD_WEIGHT = 1
"""What a required affinity of a running pod counts in the score of a new pod that it matches."""


class Term:
    """One affinity term of a pod, which looks at other pods in some namespaces.

    Without namespaces and selector it is about the namespace of its own pod; with an empty selector about all.
    """

    def __init__(self, document: Document, *, namespace: str, namespaces: dict[str, Labels]) -> None:
        self.topology_key: str = document.get("topologyKey", "")
        self._selector = Selector(document.get("labelSelector"))
        listed, chosen = document.get("namespaces") or [], document.get("namespaceSelector")
        self._namespaces = set(listed) if listed or chosen is not None else {namespace}
        self._namespace_selector = Selector(chosen)
        self._known = namespaces

    def matches(self, namespace: str, labels: Labels) -> bool:
        if namespace in self._namespaces or self._namespace_selector.matches(self._known.get(namespace, {})):
            return self._selector.matches(labels)
        return False


def required(cluster: Cluster, pod: Document, direction: str) -> list[Term]:
    listed = _side(pod, direction).get("requiredDuringSchedulingIgnoredDuringExecution") or []
    return [_term(cluster, pod, document) for document in listed]


def preferred(cluster: Cluster, pod: Document, direction: str) -> list[tuple[int, Term]]:
    listed = _side(pod, direction).get("preferredDuringSchedulingIgnoredDuringExecution") or []
    return [(each["weight"], _term(cluster, pod, each["podAffinityTerm"])) for each in listed]


def refuses(cluster: Cluster, pod: Document) -> Callable[[Machine], Refusal | None]:
    near, far = required(cluster, pod, NEAR), required(cluster, pod, FAR)
    me = (namespace_of(pod), labels_of(pod))
    # by topology key and value: pods that match all terms of `near`, a term of `far`, or do not want the new pod
    company: Counter[tuple[str, str]] = Counter()
    enemies: Counter[tuple[str, str]] = Counter()
    haters: Counter[tuple[str, str]] = Counter()
    for machine, other in _everybody(cluster):
        they = (other.namespace, other.labels)
        if near and all(term.matches(*they) for term in near):
            _count(company, machine, near)
        _count(enemies, machine, [term for term in far if term.matches(*they)])
        _count(haters, machine, [term for term in required(cluster, other.pod, FAR) if term.matches(*me)])
    # the first of a group that wants to be together has nobody to go to
    is_first = not company and all(term.matches(*me) for term in near)

    def refuse(machine: Machine) -> Refusal | None:
        if any(term.topology_key not in machine.labels for term in near):
            return NOT_NEAR
        if any(not _at(company, machine, term.topology_key) for term in near) and not is_first:
            return NOT_NEAR
        if any(_at(enemies, machine, term.topology_key) for term in far):
            return TOO_NEAR
        if any(_at(haters, machine, key) for key in machine.labels):
            return UNWANTED
        return None

    return refuse


def score(
    cluster: Cluster,
    pod: Document,
    takers: Sequence[Machine],
    *,
    hard_weight: int = HARD_WEIGHT,
    ignores_theirs: bool = False,
) -> dict[str, int]:
    """Weights of preferences that hold at the node, those of the new pod and those of running ones.

    Those of running ones may be ignored for pods without preferences of their own.
    """
    near, far = preferred(cluster, pod, NEAR), preferred(cluster, pod, FAR)
    if ignores_theirs and not near and not far:
        return {machine.name: 0 for machine in takers}
    me = (namespace_of(pod), labels_of(pod))
    weights: Counter[tuple[str, str]] = Counter()
    for machine, other in _everybody(cluster):
        they = (other.namespace, other.labels)
        theirs = [
            *((hard_weight, term) for term in required(cluster, other.pod, NEAR)),
            *preferred(cluster, other.pod, NEAR),
            *((-weight, term) for weight, term in preferred(cluster, other.pod, FAR)),
        ]
        mine = [*near, *((-weight, term) for weight, term in far)]
        for weight, term in [
            *((weight, term) for weight, term in mine if term.matches(*they)),
            *((weight, term) for weight, term in theirs if term.matches(*me)),
        ]:
            if term.topology_key in machine.labels:
                weights[term.topology_key, machine.labels[term.topology_key]] += weight
    raw = {machine.name: sum(weights[pair] for pair in machine.labels.items()) for machine in takers}
    lowest, highest = min(raw.values(), default=0), max(raw.values(), default=0)
    if lowest == highest:
        return dict.fromkeys(raw, 0)
    return {name: int(100.0 * (float(value - lowest) / float(highest - lowest))) for name, value in raw.items()}


def _term(cluster: Cluster, pod: Document, document: Document) -> Term:
    return Term(document, namespace=namespace_of(pod), namespaces=dict(cluster.namespaces))


def _side(pod: Document, direction: str) -> Document:
    return (pod["spec"].get("affinity") or {}).get(direction) or {}


def _everybody(cluster: Cluster) -> Iterator[tuple[Machine, Running]]:
    return ((machine, other) for machine in cluster.machines.values() for other in machine.running)


def _count(counts: Counter[tuple[str, str]], machine: Machine, terms: Iterable[Term]) -> None:
    for term in terms:
        if term.topology_key in machine.labels:
            counts[term.topology_key, machine.labels[term.topology_key]] += 1


def _at(counts: Counter[tuple[str, str]], machine: Machine, key: str) -> bool:
    return key in machine.labels and counts[key, machine.labels[key]] > 0
