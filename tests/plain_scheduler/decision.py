"""One pod's scheduling cycle: filters in order, total score, and the words of a refusal."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tests.plain_scheduler import affinity, node_rules, resources, spread, volumes
from tests.plain_scheduler.cluster import Cluster, Machine
from tests.plain_scheduler.filters import refusals
from tests.plain_scheduler.node_rules import Refusal
from tests.plain_scheduler.preemption import Offer, cheapest, never_preempts, preempt
from tests.plain_scheduler.resources import Strategy
from tests.plain_scheduler.selectors import Document

WEIGHTS = {
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "NodeResourcesFit": 1,
    "VolumeBinding": 1,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "NodeResourcesBalancedAllocation": 1,
    "ImageLocality": 1,
}
CONFLICT = "pod affinity terms conflict"
# DynamicResources' words, which looks for what it had no chance to write down before
_UNWRITTEN = "not found"


@dataclass(frozen=True)
class Decision:
    """Where a pod may go, or why it may not."""

    scores: Mapping[str, Mapping[str, int]]
    """By node and plugin, from 0 to 100, before weights; only nodes that take the pod."""
    refusals: Mapping[str, Refusal] = field(default_factory=dict)
    message: str = ""
    """Of the PodScheduled condition, when no node takes the pod; without what is said of whom it evicts."""
    evicting: Sequence[Offer] = ()
    """Nodes of equal worth, for one of which the pod is nominated, with those who go from each."""

    @property
    def totals(self) -> dict[str, int]:
        return {
            node: sum(WEIGHTS[plugin] * score for plugin, score in parts.items()) for node, parts in self.scores.items()
        }

    @property
    def best(self) -> set[str]:
        """kube-scheduler takes one of these; which one depends on where its last search ended."""
        highest = max(self.totals.values(), default=0)
        return {node for node, total in self.totals.items() if total == highest}


def decide(cluster: Cluster, pod: Document, *, strategy: Strategy | None = None) -> Decision:
    strategy = strategy or Strategy()
    if before := _before_nodes(cluster, pod):
        nowhere = dict.fromkeys(cluster.machines, Refusal((before,), is_final=True))
        refused = refusals(cluster, pod, strategy) if before == CONFLICT else nowhere
        return Decision({}, refused, f"{_available(cluster)} {before}. {_UNWRITTEN}")
    refused = refusals(cluster, pod, strategy)
    takers = [machine for name, machine in cluster.machines.items() if name not in refused]
    if takers:
        return Decision(_scores(cluster, pod, takers, strategy), refused)
    offers = preempt(cluster, pod, refused, strategy)
    return Decision({}, refused, _message(cluster, pod, refused, offers), cheapest(offers))


def _scores(cluster: Cluster, pod: Document, takers: list[Machine], strategy: Strategy) -> dict[str, Mapping[str, int]]:
    by_plugin = {
        "TaintToleration": node_rules.soft_taints(pod, takers),
        "NodeAffinity": node_rules.node_preferences(pod, takers),
        "NodeResourcesFit": {machine.name: resources.fit(pod, machine, strategy) for machine in takers},
        "VolumeBinding": {
            machine.name: volumes.score(cluster.storage, pod, machine.name, machine.labels) for machine in takers
        },
        "PodTopologySpread": spread.score(cluster, pod, takers),
        "InterPodAffinity": affinity.score(cluster, pod, takers),
        "NodeResourcesBalancedAllocation": {
            machine.name: resources.balance(pod, machine, strategy) for machine in takers
        },
        "ImageLocality": node_rules.images(cluster, pod, takers),
    }
    return {machine.name: {plugin: scores[machine.name] for plugin, scores in by_plugin.items()} for machine in takers}


# --- words ---


def _before_nodes(cluster: Cluster, pod: Document) -> str:
    """Why no node is looked at."""
    return CONFLICT if node_rules.only_named_nodes(pod) == set() else volumes.holds_back(cluster.storage, pod)


def _available(cluster: Cluster) -> str:
    return f"0/{len(cluster.machines)} nodes are available:"


def _message(
    cluster: Cluster, pod: Document, refused: Mapping[str, Refusal], offers: Mapping[str, Offer | Refusal]
) -> str:
    available = _available(cluster)
    said = _counted(reason for refusal in refused.values() for reason in refusal.reasons)
    if never_preempts(pod):
        return f"{available} {said} preemption: not eligible due to preemptionPolicy=Never."
    if cheapest(offers):
        return f"{available} {said}"
    outcome = _counted(reason for offer in offers.values() if isinstance(offer, Refusal) for reason in offer.reasons)
    return f"{available} {said} preemption: {available} {outcome}"


def _counted(reasons: Iterable[str]) -> str:
    return ", ".join(sorted(f"{count} {reason}" for reason, count in Counter(reasons).items())) + "."
