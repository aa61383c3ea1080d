"""Which nodes do not take a pod, each with the words of the first filter that refuses it."""

from collections.abc import Callable

from tests.plain_scheduler import affinity, node_rules, resources, spread, volumes
from tests.plain_scheduler.cluster import Cluster, Machine, priority_of
from tests.plain_scheduler.node_rules import Refusal
from tests.plain_scheduler.resources import Strategy
from tests.plain_scheduler.selectors import Document

NOT_NAMED = Refusal(("node(s) didn't satisfy plugin(s) [NodeAffinity]",), is_final=True)


def refusals(cluster: Cluster, pod: Document, strategy: Strategy) -> dict[str, Refusal]:
    first = _first_refusal(cluster, pod, strategy)

    def refuse(machine: Machine) -> Refusal | None:
        return refuses(cluster, pod, machine, strategy) if machine.awaited else first(machine)

    found = {name: refuse(machine) for name, machine in cluster.machines.items()}
    return {name: refusal for name, refusal in found.items() if refusal is not None}


def refuses(cluster: Cluster, pod: Document, machine: Machine, strategy: Strategy) -> Refusal | None:
    """As if the more important of those ran here who are nominated to the node, and as if they did not."""
    awaited = [other for other in machine.awaited if other.priority >= priority_of(pod)]
    with machine.having([*machine.running, *awaited]):
        refusal = _first_refusal(cluster, pod, strategy)(machine)
    if refusal is not None or not awaited:
        return refusal
    return _first_refusal(cluster, pod, strategy)(machine)


def _first_refusal(cluster: Cluster, pod: Document, strategy: Strategy) -> Callable[[Machine], Refusal | None]:
    """That of the first filter that has one."""
    spread_refuses = spread.refuses(cluster, pod)
    affinity_refuses = affinity.refuses(cluster, pod)
    volumes_refuse = volumes.refuses(cluster, pod)
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
            or volumes_refuse(machine)
            or spread_refuses(machine)
            or affinity_refuses(machine)
            or node_rules.features_refuse(pod, machine)
        )

    return first
