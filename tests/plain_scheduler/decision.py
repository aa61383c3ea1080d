"""One pod's scheduling cycle: filters in order, total score, and the words of a refusal."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tests.plain_scheduler import affinity, node_rules, resources, spread
from tests.plain_scheduler.cluster import Cluster, Machine
from tests.plain_scheduler.node_rules import Refusal
from tests.plain_scheduler.resources import Strategy
from tests.plain_scheduler.selectors import Document

WEIGHTS = {
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "NodeResourcesFit": 1,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "NodeResourcesBalancedAllocation": 1,
    "ImageLocality": 1,
}
# the words after the dot are DynamicResources', which looks for what it had no chance to write down before
CONFLICT = "pod affinity terms conflict. not found"
NOT_NAMED = Refusal(("node(s) didn't satisfy plugin(s) [NodeAffinity]",), is_final=True)


@dataclass(frozen=True)
class Decision:
    """Where a pod may go, or why it may not."""

    scores: Mapping[str, Mapping[str, int]]
    """By node and plugin, from 0 to 100, before weights; only nodes that take the pod."""
    refusals: Mapping[str, Refusal] = field(default_factory=dict)
    message: str = ""
    """Of the PodScheduled condition, when no node takes the pod."""

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
    refusals = _refusals(cluster, pod, strategy)
    takers = [machine for name, machine in cluster.machines.items() if name not in refusals]
    if takers:
        return Decision(_scores(cluster, pod, takers, strategy), refusals)
    return Decision({}, refusals, _message(cluster, pod, refusals))


def _refusals(cluster: Cluster, pod: Document, strategy: Strategy) -> dict[str, Refusal]:
    spread_refuses = spread.refuses(cluster, pod)
    affinity_refuses = affinity.refuses(cluster, pod)
    named = node_rules.only_named_nodes(pod)

    def first(machine: Machine) -> Refusal | None:
        if named is not None and machine.name not in named:
            return NOT_NAMED
        return (
            node_rules.name_refuses(pod, machine)
            or node_rules.cordon_refuses(pod, machine)
            or node_rules.taints_refuse(pod, machine)
            or node_rules.affinity_refuses(pod, machine)
            or node_rules.ports_refuse(pod, machine)
            or resources.room_refuses(pod, machine, strategy)
            or spread_refuses(machine)
            or affinity_refuses(machine)
            or node_rules.features_refuse(pod, machine)
        )

    found = {name: first(machine) for name, machine in cluster.machines.items()}
    return {name: refusal for name, refusal in found.items() if refusal is not None}


def _scores(cluster: Cluster, pod: Document, takers: list[Machine], strategy: Strategy) -> dict[str, Mapping[str, int]]:
    by_plugin = {
        "TaintToleration": node_rules.soft_taints(pod, takers),
        "NodeAffinity": node_rules.node_preferences(pod, takers),
        "NodeResourcesFit": {machine.name: resources.fit(pod, machine, strategy) for machine in takers},
        "PodTopologySpread": spread.score(cluster, pod, takers),
        "InterPodAffinity": affinity.score(cluster, pod, takers),
        "NodeResourcesBalancedAllocation": {
            machine.name: resources.balance(pod, machine, strategy) for machine in takers
        },
        "ImageLocality": node_rules.images(cluster, pod, takers),
    }
    return {machine.name: {plugin: scores[machine.name] for plugin, scores in by_plugin.items()} for machine in takers}


# --- words ---


def _message(cluster: Cluster, pod: Document, refusals: Mapping[str, Refusal]) -> str:
    available = f"0/{len(cluster.machines)} nodes are available:"
    if node_rules.only_named_nodes(pod) == set():
        return f"{available} {CONFLICT}"
    said = _counted(reason for refusal in refusals.values() for reason in refusal.reasons)
    if pod["spec"].get("preemptionPolicy") == "Never":
        return f"{available} {said} preemption: not eligible due to preemptionPolicy=Never."
    # all pods are of one priority: nobody can be preempted
    tried = {False: "No preemption victims found for incoming pod", True: "Preemption is not helpful for scheduling"}
    outcome = _counted(tried[refusal.is_final] for refusal in refusals.values())
    return f"{available} {said} preemption: {available} {outcome}"


def _counted(reasons: Iterable[str]) -> str:
    return ", ".join(sorted(f"{count} {reason}" for reason, count in Counter(reasons).items())) + "."
