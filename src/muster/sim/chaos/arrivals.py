"""Who comes: gangs, lone pods, replacements, pods that belong to nodes, other schedulers' pods."""

from __future__ import annotations

from random import Random
from zlib import crc32

from msgspec.structs import replace

from muster.api.wire import (
    Affinity,
    BasicPolicy,
    ClaimVolume,
    DisruptionMode,
    Empty,
    GangPolicy,
    Metadata,
    OwnerReference,
    Pod,
    PodAffinity,
    PodClaim,
    PodGroup,
    PodGroupSpec,
    PodSpec,
    PreferredPods,
    SchedulingConstraints,
    SchedulingGate,
    SchedulingGroup,
    SchedulingPolicy,
    TopologySpread,
    Volume,
)
from muster.gangs.dialects.v1beta1 import (
    BELOW_MINIMUM_ANNOTATION,
    GRACE_ANNOTATION,
    ON_PARTIAL_ANNOTATION,
    START_TIMEOUT_ANNOTATION,
    TIMEOUT_ANNOTATION,
)
from muster.sim.chaos.hand import NAMESPACE, Hand, gang_of, new_uid
from muster.sim.chaos.kin import owner
from muster.sim.chaos.world import OTHER, STUCK_SECONDS
from muster.sim.objects import EXIT_CODE, RUN_SECONDS, STOP_SECONDS
from muster.sim.plain import ENDED
from muster.sim.reading import OURS

_URGENT = 20


class Arrivals(Hand):
    def gang(self, rng: Random) -> str:
        return self._new_gang(self.name("g"), rng)

    def urgent(self, rng: Random) -> str:
        """Somebody comes before whom all others have to make room."""
        if rng.random() < 0.7:
            return self._new_gang(self.name("u"), rng, priority=_URGENT)
        pod = self._pod(self.name("u"), rng.choice(self.shapes), rng, priority=_URGENT, scheduler=self.scheduler(rng))
        self.world.create_pod(pod)
        return f"urgent pod {pod.metadata.name}"

    def _new_gang(self, name: str, rng: Random, *, priority: int | None = None) -> str:
        members = rng.choice((1, 2, 2, 3, 3, 4, 5, 6))
        shapes = [rng.choice(self.shapes)] * members
        if "mixed" in self.mood and rng.random() < 0.5:
            shapes = [rng.choice(self.shapes) for _ in range(members)]
        minimum = rng.choice((members, members, members, max(1, members - 1), max(1, members // 2), members + 1))
        self.gangs[name] = (max(members, minimum), shapes[0])
        basic = rng.random() < 0.12
        group = self._group(name, None if basic else minimum, rng, priority=priority)
        priority, scheduler = group.spec.priority or 0, self.scheduler(rng)
        priorities = [priority] * members
        if "uneven" in self.mood and rng.random() < 0.5:
            group, priorities = self._uneven(group, priorities, rng)
        pods = [
            self._pod(f"{name}-{i}", shape, rng, gang=name, priority=priorities[i], scheduler=scheduler)
            for i, shape in enumerate(shapes)
        ]
        if "foreign" in self.mood and "beside" not in self.mood and rng.random() < 0.15:
            pods[0] = replace(pods[0], spec=replace(pods[0].spec, scheduler_name=OTHER))
        declared = rng.choices(("before", "after", "late", "never"), weights=(6, 2, 2, 1))[0]
        if declared == "before":
            self.create_group(group)
        late = rng.randint(0, members) if rng.random() < 0.25 else members
        for pod in pods[:late]:
            self.world.create_pod(pod)
        for pod in pods[late:]:
            self.later(rng.choice((0.3, 1.0, 4.0, 12.0)), pod)
        if declared == "after":
            self.create_group(group)
        elif declared == "late":
            self.later(rng.choice((0.3, 3.0, 15.0)), group)
        wanted = "basic" if basic else f"minimum {minimum}"
        whose = "" if scheduler == OURS else f", for {scheduler}"
        return f"gang {name}: {late}/{members} members, {wanted}, priority {priority}, declared {declared}{whose}"

    def _group(self, name: str, minimum: int | None, rng: Random, *, priority: int | None = None) -> PodGroup:
        gang = None if minimum is None else GangPolicy(min_count=minimum)
        annotations = {TIMEOUT_ANNOTATION: str(rng.choice((5, 20, 40)))} if rng.random() < 0.8 else {}
        annotations |= self.wishes(rng)
        whole = "modes" in self.mood and rng.random() < 0.5
        never = "never" in self.mood and rng.random() < 0.3
        asks = "asks" in self.mood and rng.random() < 0.2
        uid = new_uid(rng)
        # drawn apart, as worlds had no such gangs at first
        apart = Random(f"start timeout {uid}")
        if "start timeouts" in self.mood and apart.random() < 0.5:
            annotations[START_TIMEOUT_ANNOTATION] = apart.choice(("3", "10", "30"))
        return PodGroup(
            metadata=Metadata(name=name, namespace=NAMESPACE, uid=uid, annotations=annotations),
            spec=PodGroupSpec(
                scheduling_policy=SchedulingPolicy(gang=gang, basic=None if gang else BasicPolicy()),
                priority=self.priority(rng) if priority is None else priority,
                disruption_mode=DisruptionMode(all=Empty()) if whole else None,
                preemption_policy="Never" if never else None,
                scheduling_constraints=SchedulingConstraints(topology=(Empty(),)) if asks else None,
            ),
        )

    def _uneven(self, group: PodGroup, priorities: list[int], rng: Random) -> tuple[PodGroup, list[int]]:
        """The group declares no priority, and its members have several; or it does, and one has another."""
        if rng.random() < 0.6:
            group = replace(group, spec=replace(group.spec, priority=None))
            return group, [rng.choice((priority, priority, 0, 5, 10)) for priority in priorities]
        odd = rng.randrange(len(priorities))
        return group, [rng.choice((0, 5, 10)) if i == odd else priority for i, priority in enumerate(priorities)]

    def wishes(self, rng: Random) -> dict[str, str]:
        """What a group asks for when it cannot be, or no longer is, whole."""
        wishes: dict[str, str] = {}
        if "held parts" in self.mood and rng.random() < 0.4:
            wishes[ON_PARTIAL_ANNOTATION] = "hold"
        if "taken down" in self.mood and rng.random() < 0.6:
            wishes[BELOW_MINIMUM_ANNOTATION] = "restart"
            wishes[GRACE_ANNOTATION] = rng.choice(("3", "10", "30"))
        return wishes

    def _pod(
        self,
        name: str,
        shape: PodSpec,
        rng: Random,
        *,
        gang: str | None = None,
        priority: int = 0,
        scheduler: str = OURS,
    ) -> Pod:
        annotations: dict[str, str] = {}
        owners: tuple[OwnerReference, ...] = ()
        if gang is not None and "reused" in self.mood and crc32(gang.encode()) % 3:
            owners = (OwnerReference(kind="Job", uid=f"job-{gang}-{self.jobs[gang]}", controller=True),)
        if gang is None and "services" in self.mood:
            owners = owner(name)
        if rng.random() < (0.1 if "crowded" in self.mood else 0.35):
            annotations[RUN_SECONDS] = rng.choice(("1", "7", "20", "45"))
            if rng.random() < 0.3:
                annotations[EXIT_CODE] = "1"
        if "stops" in self.mood:
            annotations[STOP_SECONDS] = rng.choice(("0", "0.5", "3", "12"))
        if "stuck" in self.mood and rng.random() < 0.3:
            annotations[STUCK_SECONDS] = rng.choice(("5", "20", "50"))
        gated = "gates" in self.mood and rng.random() < 0.25
        never = "never" in self.mood and rng.random() < 0.2
        labels = {"app": rng.choice("ab")} if "budgets" in self.mood else {}
        labels |= self.labels_of(shape)
        if "asks" in self.mood and rng.random() < 0.2:
            shape = _asking(shape, rng)
        return Pod(
            metadata=Metadata(
                name=name,
                namespace=NAMESPACE,
                uid=new_uid(rng),
                annotations=annotations,
                labels=labels,
                owner_references=owners,
            ),
            spec=replace(
                shape,
                priority=priority,
                preemption_policy="Never" if never else None,
                termination_grace_period_seconds=rng.choice((None, 0, 5)) if "stops" in self.mood else None,
                scheduler_name=scheduler,
                scheduling_group=SchedulingGroup(pod_group_name=gang) if gang else None,
                scheduling_gates=(SchedulingGate(name="sim/wait"),) if gated else (),
            ),
        )

    def pod(self, rng: Random) -> str:
        priority, scheduler = self.priority(rng), self.scheduler(rng)
        pod = self._pod(self.name("p"), rng.choice(self.shapes), rng, priority=priority, scheduler=scheduler)
        self.world.create_pod(pod)
        return f"pod {pod.metadata.name}, priority {pod.spec.priority}, for {scheduler}"

    def replace_members(self, rng: Random) -> str:
        """The gang's controller replaces members that failed or went."""
        declared = sorted(name for name in self.gangs if f"{NAMESPACE}/{name}" in self.world.groups)
        if not declared:
            return ""
        name = rng.choice(declared)
        wanted, shape = self.gangs[name]
        members = [pod for pod in self.world.pods.values() if gang_of(pod) == name]
        scheduler = members[-1].spec.scheduler_name if members else self.scheduler(rng)
        live = sum(pod.status.phase != "Failed" for pod in members)
        priority = self.world.groups[f"{NAMESPACE}/{name}"].spec.priority or 0
        for number in range(wanted - live):
            pod_name = f"{self.name(name + '-r')}-{number}"
            self.world.create_pod(self._pod(pod_name, shape, rng, gang=name, priority=priority, scheduler=scheduler))
        return f"{max(0, wanted - live)} members of {name} replaced"

    def next_run(self, rng: Random) -> str:
        """Another job uses the group of a gang of which nothing is left but what has ended."""
        living = {gang_of(pod) for pod in self.world.pods.values() if pod.status.phase not in ENDED}
        over = sorted(name for name in self.gangs if name not in living and f"{NAMESPACE}/{name}" in self.world.groups)
        if not over:
            return ""
        name = rng.choice(over)
        self.jobs[name] += 1
        members, shape = self.gangs[name]
        come = rng.choice((members, members, rng.randint(1, members)))
        priority = self.world.groups[f"{NAMESPACE}/{name}"].spec.priority or 0
        for number in range(come):
            pod_name = f"{self.name(name + '-j')}-{number}"
            scheduler = self.scheduler_of(name)
            self.world.create_pod(self._pod(pod_name, shape, rng, gang=name, priority=priority, scheduler=scheduler))
        return f"{come} members of {name} for another run"

    # --- not ours ---

    def foreign_pod(self, rng: Random) -> str:
        """Another scheduler's pod comes, on a node where it fits."""
        pod = self._foreign(rng)
        node = self.node_for(pod, rng)
        if node is None or rng.random() < 0.1:
            self.world.create_pod(pod)
            return f"foreign pod {pod.metadata.name} waits"
        self.world.create_pod(replace(pod, spec=replace(pod.spec, node_name=node)))
        return f"foreign pod {pod.metadata.name} on {node}"

    def take_kept_room(self, rng: Random) -> str:
        """Another scheduler puts a pod where room is kept for one of ours, when the first victim is gone."""
        kept = {pod.status.nominated_node_name for pod in self.world.pods.values()} & self.world.nodes.keys()
        if not kept:
            return ""
        thief = self._foreign(rng)

        def steal(victim: Pod) -> bool:
            """Whatever the victim took, the thief takes."""
            took = victim.spec.node_name in self.world.nodes and victim.status.phase not in ENDED
            if not took or victim.spec.node_name not in kept:
                return False
            spec = replace(thief.spec, containers=victim.spec.containers, node_name=victim.spec.node_name)
            self.world.create_pod(replace(thief, spec=replace(spec, init_containers=(), overhead={})))
            return True

        self.world.thief = steal
        return f"foreign pod {thief.metadata.name} takes room that is kept"

    def _foreign(self, rng: Random) -> Pod:
        pod = self._pod(self.name("f"), rng.choice(self.shapes), rng, priority=self.priority(rng), scheduler=OTHER)
        return replace(pod, spec=replace(pod.spec, scheduling_gates=()))

    def daemon(self, rng: Random) -> str:
        """A pod that belongs to its node, and stays as long as that does."""
        pod = self._pod(self.name("d"), rng.choice(self.shapes), rng, priority=rng.choice((0, 2000)), scheduler=OTHER)
        node = self.node_for(pod, rng)
        if node is None:
            return ""
        meta = replace(pod.metadata, annotations={}, owner_references=(OwnerReference(kind="DaemonSet"),))
        self.world.create_pod(Pod(metadata=meta, spec=replace(pod.spec, node_name=node, scheduling_gates=())))
        return f"daemon {pod.metadata.name} on {node}"


def _asking(shape: PodSpec, rng: Random) -> PodSpec:
    """The same with something that nobody honours, or that is not there: a must, or a mere preference."""
    match rng.randrange(5):
        case 0:
            return replace(shape, volumes=(Volume(), Volume(persistent_volume_claim=ClaimVolume())))
        case 1:
            return replace(shape, resource_claims=(PodClaim(),))
        case 2:
            return replace(shape, volumes=(Volume(ephemeral=Empty()),))
        case 3:
            together = PodAffinity(preferred=(PreferredPods(weight=1),))
            return replace(shape, affinity=replace(shape.affinity or Affinity(), pod_affinity=together))
    return replace(shape, topology_spread_constraints=(TopologySpread(when_unsatisfiable="ScheduleAnyway"),))
