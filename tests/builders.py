"""Objects and small worlds for tests, said in one line each.

    cluster(nodes=4, cpu=8).gang("train", members=5, cpu=2).decide()

Amounts are Kubernetes quantities, selectors are written as `kubectl -l` takes them ("zone in (a,b),!old"),
taints as `kubectl taint` does ("gpu=yes:NoSchedule").  Everything lives in the namespace "team"; a pod's UID
is "uid-" and its name, so that a pod can be named in a change without keeping the object.
"""

from collections.abc import Mapping, Sequence

from muster.api.times import stamp
from muster.api.wire import (
    Affinity,
    BudgetSpec,
    BudgetStatus,
    Condition,
    Container,
    ContainerImage,
    ContainerPort,
    DisruptionMode,
    Empty,
    Fact,
    GangPolicy,
    Metadata,
    Node,
    NodeAffinity,
    NodeSpec,
    NodeStatus,
    OwnerReference,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodClaim,
    PodDisruptionBudget,
    PodGroup,
    PodGroupSpec,
    PodGroupStatus,
    PodSpec,
    PodStatus,
    PreferredNodes,
    PreferredPods,
    Resources,
    RestartRule,
    SchedulingConstraints,
    SchedulingGate,
    SchedulingGroup,
    SchedulingPolicy,
    Taint,
    Toleration,
    TopologySpread,
    Volume,
)
from muster.base.selectors import LabelSelector, NodeSelector, NodeSelectorTerm, parse_selector
from muster.engine.changes import (
    BindFailed,
    Bound,
    BudgetGone,
    BudgetSeen,
    Change,
    FactSeen,
    Failure,
    GroupGone,
    GroupRead,
    GroupSeen,
    NodeGone,
    NodeSeen,
    PodGone,
    PodSeen,
)
from muster.engine.decisions import Bind, Decision, Evict, GangCondition, PodCondition, Reread
from muster.engine.engine import Engine
from muster.engine.verdicts import Outcome, Verdict
from muster.framework.profile import Fairness, Profile
from muster.gangs.record import BOUND_FOR, BoundFor
from muster.plugins.defaults import default_profile
from muster.plugins.registry import ProfileParts, default_parts, make_profile

NAMESPACE = "team"
GPU = "nvidia.com/gpu"
HOSTNAME = "kubernetes.io/hostname"

Amount = str | int | float


# --- objects ----------------------------------------------------------------------------------------


def node(
    name: str,
    *,
    cpu: Amount = 8,
    memory: Amount = "32Gi",
    pods: int = 110,
    gpu: int = 0,
    resources: Mapping[str, Amount] | None = None,
    labels: Mapping[str, str] | None = None,
    taints: Sequence[str] = (),
    cordoned: bool = False,
    images: Mapping[str, int] | None = None,
    features: Sequence[str] = (),
) -> Node:
    """`images` maps names to sizes in MiB, `features` is what its kubelet can do."""
    allocatable = {"cpu": cpu, "memory": memory, "pods": pods} | ({GPU: gpu} if gpu else {})
    return Node(
        metadata=Metadata(name=name, labels=dict(labels or {})),
        spec=NodeSpec(unschedulable=cordoned, taints=tuple(taint(text) for text in taints)),
        status=NodeStatus(
            allocatable=allocatable | dict(resources or {}),
            images=tuple(ContainerImage(names=(n,), size_bytes=size << 20) for n, size in (images or {}).items()),
            declared_features=tuple(features),
        ),
    )


def pod(
    name: str,
    *,
    cpu: Amount | None = None,
    memory: Amount | None = None,
    gpu: int | None = None,
    requests: Mapping[str, Amount] | None = None,
    gang: str | None = None,
    priority: int | None = None,
    created: float = 0.0,
    labels: Mapping[str, str] | None = None,
    selector: Mapping[str, str] | None = None,
    required: str | None = None,
    preferred: Mapping[str, int] | None = None,
    tolerations: Sequence[Toleration] = (),
    ports: Sequence[int | ContainerPort] = (),
    gates: Sequence[str] = (),
    on: str = "",
    bound_at: float | None = None,
    phase: str = "Pending",
    leaving: bool | float = False,
    scheduler: str = "muster",
    preemption: str | None = None,
    nominated: str = "",
    started: float | None = None,
    owner: str = "",
    conditions: Sequence[Condition] = (),
    controller: str = "",
    record: BoundFor | None = None,
    volumes: Sequence[Volume] = (),
    devices: Sequence[PodClaim] = (),
    claims: Sequence[str] = (),
    near: PodAffinity | None = None,
    apart: PodAffinity | None = None,
    spread: Sequence[TopologySpread] = (),
    image: str = "",
    whole: Mapping[str, Amount] | None = None,
    restarts_all: bool = False,
) -> Pod:
    """A pod of one container; `on` is the node it is bound to, `preferred` maps selectors to weights.

    `leaving` may say when its grace is over, `owner` the kind of who made it, `controller` that one's UID, `near` and
    `apart` its podAffinity and podAntiAffinity, `whole` what the pod requests beside its container,
    `claims` names of its claims for devices.
    """
    named = {"cpu": cpu, "memory": memory, GPU: gpu}
    asked = {name: amount for name, amount in named.items() if amount is not None} | dict(requests or {})
    scheduled = (
        ()
        if bound_at is None
        else (Condition(type="PodScheduled", status="True", last_transition_time=stamp(bound_at)),)
    )
    return Pod(
        metadata=Metadata(
            name=name,
            namespace=NAMESPACE,
            uid=f"uid-{name}",
            creation_timestamp=stamp(created),
            deletion_timestamp=None if leaving is False else stamp(created if leaving is True else leaving),
            labels=dict(labels or {}),
            annotations={} if record is None else {BOUND_FOR: record.text},
            owner_references=_owners(owner, controller),
        ),
        spec=PodSpec(
            containers=(
                Container(
                    image=image,
                    resources=Resources(requests=asked),
                    ports=tuple(map(_port, ports)),
                    restart_policy_rules=(RestartRule(action="RestartAllContainers"),) if restarts_all else (),
                ),
            ),
            resources=None if whole is None else Resources(requests=dict(whole)),
            node_name=on,
            node_selector=dict(selector or {}),
            affinity=_affinity(required, preferred or {}, near=near, apart=apart),
            tolerations=tuple(tolerations),
            scheduler_name=scheduler,
            priority=priority,
            preemption_policy=preemption,
            scheduling_gates=tuple(SchedulingGate(name=gate) for gate in gates),
            scheduling_group=SchedulingGroup(pod_group_name=gang) if gang else None,
            volumes=tuple(volumes),
            resource_claims=tuple(devices) or tuple(PodClaim(name=name, resource_claim_name=name) for name in claims),
            topology_spread_constraints=tuple(spread),
        ),
        status=PodStatus(
            phase=phase,
            conditions=(*scheduled, *conditions),
            nominated_node_name=nominated,
            start_time=None if started is None else stamp(started),
        ),
    )


def group(
    name: str,
    minimum: int | None,
    *,
    priority: int | None = None,
    created: float = 0.0,
    timeout: float | None = None,
    condition: Condition | None = None,
    conditions: Sequence[Condition] = (),
    disruption: str | None = None,
    preemption: str | None = None,
    annotations: Mapping[str, str] | None = None,
    uid: str | None = None,
    constraints: SchedulingConstraints | None = None,
    claims: int = 0,
    parent: str | None = None,
    controller: str = "",
) -> PodGroup:
    """A PodGroup; a minimum of None makes it a basic one, `disruption` is "all" or "single".

    `controller` is the UID of the controller that made it.
    """
    gang = None if minimum is None else GangPolicy(min_count=minimum)
    timeouts = {} if timeout is None else {"muster.dev/schedule-timeout-seconds": f"{timeout:g}"}
    return PodGroup(
        metadata=Metadata(
            name=name,
            namespace=NAMESPACE,
            uid=uid or f"uid-{name}",
            creation_timestamp=stamp(created),
            annotations=timeouts | dict(annotations or {}),
            owner_references=_owners("", controller),
        ),
        spec=PodGroupSpec(
            parent_composite_pod_group_name=parent,
            scheduling_policy=SchedulingPolicy(gang=gang),
            priority=priority,
            disruption_mode=None if disruption is None else DisruptionMode(**{disruption: Empty()}),
            preemption_policy=preemption,
            scheduling_constraints=constraints,
            resource_claims=(Empty(),) * claims,
        ),
        status=PodGroupStatus(conditions=(*((condition,) if condition else ()), *conditions)),
    )


def budget(name: str, labels: Mapping[str, str], *, allowed: int, disrupted: Sequence[str] = ()) -> PodDisruptionBudget:
    """A budget of the pods with these labels; `disrupted` are pods that it has counted already."""
    return PodDisruptionBudget(
        metadata=Metadata(name=name, namespace=NAMESPACE),
        spec=BudgetSpec(selector=LabelSelector(match_labels=dict(labels))),
        status=BudgetStatus(disruptions_allowed=allowed, disrupted_pods=dict.fromkeys(disrupted, stamp(0.0))),
    )


def taint(text: str) -> Taint:
    """`key[=value]:Effect`"""
    named, _, effect = text.rpartition(":")
    key, _, value = named.partition("=")
    return Taint(key=key, value=value, effect=effect)


def tolerate(key: str = "", value: str | None = None, effect: str = "") -> Toleration:
    """Covers the key with any value, or with the one given; no key covers everything."""
    if value is None:
        return Toleration(key=key, operator="Exists", effect=effect)
    return Toleration(key=key, value=value, effect=effect)


def bound_for(gang: str, minimum: int, *, uid: str | None = None, run: int = 0) -> BoundFor:
    """The record of a pod that was bound for the gang, or for an object of that name with another UID."""
    return BoundFor(gang=f"{NAMESPACE}/{gang}", uid=uid or f"uid-{gang}", minimum=minimum, run=run)


def _owners(kind: str, controller: str) -> tuple[OwnerReference, ...]:
    if not kind and not controller:
        return ()
    return (OwnerReference(kind=kind or "Job", uid=controller, controller=bool(controller)),)


def _port(port: int | ContainerPort) -> ContainerPort:
    return ContainerPort(host_port=port) if isinstance(port, int) else port


def _affinity(
    required: str | None, preferred: Mapping[str, int], *, near: PodAffinity | None, apart: PodAffinity | None
) -> Affinity | None:
    if required is None and not preferred:
        nodes = None
    else:
        wishes = tuple(PreferredNodes(weight=weight, preference=_term(text)) for text, weight in preferred.items())
        must = None if required is None else NodeSelector((_term(required),))
        nodes = NodeAffinity(required=must, preferred=wishes)
    if nodes is None and near is None and apart is None:
        return None
    return Affinity(node_affinity=nodes, pod_affinity=near, pod_anti_affinity=apart)


def _term(text: str) -> NodeSelectorTerm:
    return NodeSelectorTerm(match_expressions=parse_selector(text))


# --- rules between pods, all of them about the label `app` ---


def pods(app: str) -> LabelSelector:
    return LabelSelector(match_labels={"app": app})


def strictly(app: str, *, key: str = HOSTNAME) -> PodAffinity:
    """To such pods, or from them, in the domains of the label `key`."""
    return PodAffinity(required=(PodAffinityTerm(label_selector=pods(app), topology_key=key),))


def rather(app: str, *, key: str = HOSTNAME, weight: int = 100) -> PodAffinity:
    term = PodAffinityTerm(label_selector=pods(app), topology_key=key)
    return PodAffinity(preferred=(PreferredPods(weight=weight, pod_affinity_term=term),))


def evenly(app: str, *, key: str = HOSTNAME, hard: bool = True) -> TopologySpread:
    when = "DoNotSchedule" if hard else "ScheduleAnyway"
    return TopologySpread(topology_key=key, when_unsatisfiable=when, label_selector=pods(app))


STARTED = Condition(type="PodGroupInitiallyScheduled", status="True", reason="Scheduled")


# --- worlds -----------------------------------------------------------------------------------------


def without_preemption() -> Profile:
    """The default profile, in which nobody is evicted for anybody and nothing is held for anybody."""
    parts = tuple(part for part in default_parts() if part.name != "DefaultPreemption")
    return make_profile(ProfileParts(plugins=parts, fairness=Fairness(passes_per_member=None)))


class World:
    """An engine and the time; every method that tells it something returns the world."""

    def __init__(self, profile: Profile | None = None, *others: Profile) -> None:
        self.engine = Engine(profile or default_profile(), *others)
        self.now = 0.0
        self.reads = True
        """Groups that are to be read again are, at once, and are as they were seen."""
        self._groups: dict[str, PodGroup] = {}

    # what happens

    def apply(self, *changes: Change) -> "World":
        for change in changes:
            if isinstance(change, GroupSeen):
                self._groups[f"{NAMESPACE}/{change.group.metadata.name}"] = change.group
            elif isinstance(change, GroupGone):
                self._groups.pop(change.key, None)
        self.engine.apply(changes)
        return self

    def see(self, *objects: Node | Pod | PodGroup | PodDisruptionBudget | Fact) -> "World":
        """The objects are there, or have changed."""
        kinds = {Node: NodeSeen, Pod: PodSeen, PodGroup: GroupSeen, PodDisruptionBudget: BudgetSeen}
        return self.apply(*(kinds.get(type(found), FactSeen)(found) for found in objects))

    def node(self, name: str, **facts: object) -> "World":
        return self.see(node(name, **facts))

    def pod(self, name: str, **facts: object) -> "World":
        return self.see(pod(name, **facts))

    def group(self, name: str, minimum: int | None, **facts: object) -> "World":
        return self.see(group(name, minimum, **facts))

    def gang(
        self,
        name: str,
        *,
        members: int,
        minimum: int | None = None,
        priority: int | None = None,
        **facts: object,
    ) -> "World":
        """A group and its members, called name-0, name-1, ...; all are needed unless `minimum` says less."""
        self.group(name, minimum or members, priority=priority, created=facts.get("created", 0.0))
        return self.members(name, *range(members), **facts)

    def members(self, gang: str, *numbers: int, **facts: object) -> "World":
        """Members of the declared priority; those that have a node were bound for the gang as it is declared.

        Unless `priority` or `record` say otherwise.
        """
        known = self.engine.cluster.gangs.get(f"{NAMESPACE}/{gang}")
        declared = None if known is None or known.declared is None else known.declared.priority
        facts = {"priority": declared} | facts
        if facts.get("on"):
            facts.setdefault("record", self._record(gang))
        return self.see(*(pod(f"{gang}-{number}", gang=gang, **facts) for number in numbers))

    def _record(self, gang: str) -> BoundFor | None:
        known = self.engine.cluster.gangs.get(f"{NAMESPACE}/{gang}")
        declared = None if known is None else known.declared
        return None if declared is None else bound_for(gang, declared.minimum, uid=declared.uid)

    def runs(
        self,
        gang: str,
        *nodes: str,
        minimum: int | None = None,
        priority: int | None = None,
        disruption: str | None = None,
        **facts: object,
    ) -> "World":
        """A gang that has started, with a member on each of the nodes; all are needed unless `minimum` says less."""
        created = facts.get("created", 0.0)
        needed = minimum or len(nodes)
        self.group(gang, needed, priority=priority, created=created, disruption=disruption, condition=STARTED)
        facts = {"priority": priority} | facts
        for number, on in enumerate(nodes):
            self.members(gang, number, on=on, **facts)
        return self

    def budget(self, name: str, labels: Mapping[str, str], **facts: object) -> "World":
        return self.see(budget(name, labels, **facts))

    def budget_gone(self, name: str) -> "World":
        return self.apply(BudgetGone(f"{NAMESPACE}/{name}"))

    def pod_gone(self, *names: str) -> "World":
        return self.apply(*(PodGone(f"uid-{name}") for name in names))

    def node_gone(self, *names: str) -> "World":
        return self.apply(*map(NodeGone, names))

    def group_gone(self, name: str) -> "World":
        return self.apply(GroupGone(f"{NAMESPACE}/{name}"))

    def bound(self, *names: str) -> "World":
        """The binds that were decided for these pods, or for all, are acknowledged now."""
        uids = [f"uid-{name}" for name in names] or [p.uid for p in self._pods() if p.stage.name == "BINDING"]
        return self.apply(*(Bound(uid, self.engine.cluster.pods[uid].node, self.now) for uid in uids))

    def bind_failed(self, name: str, failure: Failure) -> "World":
        node = self.engine.cluster.pods[f"uid-{name}"].node
        return self.apply(BindFailed(f"uid-{name}", node, failure))

    # what comes of it

    def decide(self, *, after: float = 0.0, budget: int | None = None) -> list[Decision]:
        """What is decided after so many more seconds: by one call if a budget is given, else to the end."""
        self.now += after
        if budget is not None:
            return self.engine.decide(self.now, budget)
        decisions = self._decide()
        while (due := self.engine.next_decide_at) is not None and due <= self.now:
            decisions += self._decide()
        return decisions

    def _decide(self) -> list[Decision]:
        decisions = self.engine.decide(self.now)
        asked = [found for found in decisions if isinstance(found, Reread)] if self.reads else []
        if asked:
            self.apply(*(GroupRead(one.gang, one.number, self._groups.get(one.gang)) for one in asked))
            decisions += self._decide()
        return decisions

    def run(self) -> "World":
        """Decides and acknowledges all binds until nothing is left to do now."""
        while placements(self.decide()):
            self.bound()
        return self

    @property
    def where(self) -> dict[str, str]:
        """The node of every pod that has one, by the pod's name."""
        return {_name(p.key): p.node for p in sorted(self._pods(), key=lambda p: p.key) if p.node}

    def attempts(self, unit: str) -> list[Outcome]:
        """What came of each attempt at the unit."""
        return [attempt.verdict.outcome for attempt in self.engine.audit.story(f"{NAMESPACE}/{unit}")]

    def verdict(self, unit: str) -> Verdict:
        """What came of the last attempt at the unit."""
        return self.engine.audit.story(f"{NAMESPACE}/{unit}")[-1].verdict

    def _pods(self) -> list:
        return list(self.engine.cluster.pods.values())


def cluster(nodes: int = 0, *, profile: Profile | None = None, **facts: object) -> World:
    """A world of equal nodes, called n0, n1, ..."""
    return World(profile).see(*(node(f"n{number}", **facts) for number in range(nodes)))


def placements(decisions: Sequence[Decision]) -> dict[str, str]:
    """Where the decisions bind which pod, by names."""
    return {_name(p.pod): p.node for d in decisions if isinstance(d, Bind) for p in d.pods}


def evicted(decisions: Sequence[Decision]) -> list[str]:
    """The names of the pods that the decisions evict."""
    return sorted(_name(ref.pod) for d in decisions if isinstance(d, Evict) for ref in d.pods)


def nominations(decisions: Sequence[Decision]) -> dict[str, str]:
    """What the decisions write as nominatedNodeName, by the name of the pod; "" where they clear it."""
    conditions = [d for d in decisions if isinstance(d, PodCondition)]
    return {
        _name(ref.pod): node
        for d in conditions
        for ref, node in zip(d.pods, d.nominated or [""] * len(d.pods), strict=True)
    }


def told(decisions: Sequence[Decision]) -> dict[str, str]:
    """The message of each condition among the decisions, by the name of the pod or group that gets it."""
    messages = {}
    for decision in decisions:
        if isinstance(decision, GangCondition):
            messages[_name(decision.gang)] = decision.message
        elif isinstance(decision, PodCondition):
            messages |= {_name(ref.pod): decision.message for ref in decision.pods}
    return messages


def only(kind: type, decisions: Sequence[Decision]) -> list:
    """The decisions of one kind."""
    return [decision for decision in decisions if isinstance(decision, kind)]


def _name(key: str) -> str:
    return key.partition("/")[2]
