"""Upstream's own cases, given to the plain scheduler."""

from collections.abc import Callable, Sequence

from tests.plain_scheduler import affinity, node_rules, resources, spread
from tests.plain_scheduler.cluster import Cluster, Machine, Owners
from tests.plain_scheduler.node_rules import Refusal
from tests.plain_scheduler.resources import Strategy
from tests.plugins.cases import Case, Document, nodes_of, objects_of, pod_of, pods_of

_Refuse = Callable[[Machine], Refusal | None]


_PLAIN = ({"name": "cpu"}, {"name": "memory"})


class Plain:
    """A case as the plain scheduler has it."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._args: Document = case.facts.get("args", {})
        self._pod = pod_of(case)
        names = {node["metadata"]["name"] for node in nodes_of(case)}
        self._cluster = Cluster(
            nodes_of(case),
            [pod for pod in pods_of(case) if pod["spec"]["nodeName"] in names],
            case.facts.get("namespaces", {}),
            Owners(
                services=objects_of(case, "services"),
                replication_controllers=objects_of(case, "replicationControllers"),
                replica_sets=objects_of(case, "replicaSets"),
                stateful_sets=objects_of(case, "statefulSets"),
            ),
        )

    def refusals(self) -> dict[str, Refusal]:
        refuse = self._refuse()
        found = {name: refuse(machine) for name, machine in self._cluster.machines.items()}
        return {name: refusal for name, refusal in found.items() if refusal is not None}

    def _refuse(self) -> _Refuse:
        pod = self._pod
        match self._case.plugin:
            case "InterPodAffinity":
                return affinity.refuses(self._cluster, pod)
            case "PodTopologySpread":
                return spread.refuses(self._cluster, pod, self._defaults())
            case "NodeName":
                return lambda machine: node_rules.name_refuses(pod, machine)
            case "NodeUnschedulable":
                return lambda machine: node_rules.cordon_refuses(pod, machine)
            case "TaintToleration":
                return lambda machine: node_rules.taints_refuse(pod, machine)
            case "NodeAffinity":
                return lambda machine: node_rules.affinity_refuses(pod, machine)
            case "NodePorts":
                return lambda machine: node_rules.ports_refuse(pod, machine)
            case "NodeResourcesFit":
                return lambda machine: resources.room_refuses(pod, machine, self._strategy())
        raise ValueError(self._case.plugin)

    def scores(self, left: Sequence[str]) -> dict[str, int]:
        pod, takers = self._pod, [self._cluster.machines[name] for name in left]
        match self._case.plugin:
            case "InterPodAffinity":
                weight = self._args.get("hardPodAffinityWeight", affinity.HARD_WEIGHT)
                ignores = self._args.get("ignorePreferredTermsOfExistingPods", False)
                return affinity.score(self._cluster, pod, takers, hard_weight=weight, ignores_theirs=ignores)
            case "PodTopologySpread":
                return spread.score(self._cluster, pod, takers, self._defaults())
            case "TaintToleration":
                return node_rules.soft_taints(pod, takers)
            case "NodeAffinity":
                return node_rules.node_preferences(pod, takers)
            case "ImageLocality":
                return node_rules.images(self._cluster, pod, takers)
            case "NodeResourcesFit":
                return {machine.name: resources.fit(pod, machine, self._strategy()) for machine in takers}
            case "NodeResourcesBalancedAllocation":
                return {machine.name: resources.balance(pod, machine, self._strategy()) for machine in takers}
        raise ValueError(self._case.plugin)

    def _defaults(self) -> Sequence[Document]:
        if self._args.get("defaultingType") == "List":
            return self._args.get("defaultConstraints", ())
        return spread.DEFAULTS

    def _strategy(self) -> Strategy:
        args = self._args
        scoring = args.get("scoringStrategy", {"type": "LeastAllocated", "resources": _PLAIN})
        shape = scoring.get("requestedToCapacityRatio", {}).get("shape", ())
        return Strategy(
            scoring["type"],
            {each["name"]: each.get("weight", 0) or 1 for each in scoring["resources"]},
            [(point.get("utilization", 0), point.get("score", 0)) for point in shape],
            ignored=args.get("ignoredResources", ()),
            ignored_groups=args.get("ignoredResourceGroups", ()),
            balanced=[each["name"] for each in args.get("resources", _PLAIN)],
        )
