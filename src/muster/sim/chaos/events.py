"""What can happen in a chaotic world, one method each; they do it and return a line for the story."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from msgspec.structs import replace

from muster.api.times import stamp
from muster.api.wire import (
    Empty,
    GangPolicy,
    Metadata,
    Node,
    Pod,
    PodGroup,
    PodGroupSpec,
    PodSpec,
    SchedulingGate,
    SchedulingGroup,
    SchedulingPolicy,
)
from muster.gangs.dialects.v1beta1 import TIMEOUT_ANNOTATION
from muster.sim.chaos.recipe import Mood, Recipe, Step, labels, new_node, taints
from muster.sim.chaos.world import ChaosWorld
from muster.sim.plain import fits, needs_of
from muster.sim.world import EXIT_CODE, RUN_SECONDS

_ENDED = ("Succeeded", "Failed")
_NAMESPACE = "sim"


class Events:
    """Makes things happen in one world.

    Whom an event hits is chosen from what is there, by `rng` alone and in order of names: the same world
    and the same step always give the same event.
    """

    def __init__(self, world: ChaosWorld, recipe: Recipe) -> None:
        self._world = world
        self._mood: Mood = recipe.mood
        self._shapes = recipe.shapes
        self._gangs: dict[str, tuple[int, PodSpec]] = {}
        """By name: how many members its controller wants, and their shape."""
        self._step = 0
        self._lost: dict[str, Node] = {}

    def do(self, step: Step, rng: Random) -> str:
        self._step = step.number
        happened: str = getattr(self, step.kind)(rng)
        return happened

    # --- arrivals ---

    def gang(self, rng: Random) -> str:
        name = self._name("g")
        return self._new_gang(name, rng)

    def _new_gang(self, name: str, rng: Random) -> str:
        members = rng.choice((1, 2, 2, 3, 3, 4, 5, 6))
        shapes = [rng.choice(self._shapes)] * members
        if "mixed" in self._mood and rng.random() < 0.5:
            shapes = [rng.choice(self._shapes) for _ in range(members)]
        minimum = rng.choice((members, members, members, max(1, members - 1), max(1, members // 2), members + 1))
        self._gangs[name] = (max(members, minimum), shapes[0])
        basic = rng.random() < 0.12
        group = self._group(name, None if basic else minimum, rng)
        priority = group.spec.priority or 0
        pods = [self._pod(f"{name}-{i}", shape, rng, gang=name, priority=priority) for i, shape in enumerate(shapes)]
        if "foreign" in self._mood and rng.random() < 0.15:
            pods[0] = replace(pods[0], spec=replace(pods[0].spec, scheduler_name="other"))
        declared = rng.choices(("before", "after", "late", "never"), weights=(6, 2, 2, 1))[0]
        if declared == "before":
            self._world.create_group(group)
        late = rng.randint(0, members) if rng.random() < 0.25 else members
        for pod in pods[:late]:
            self._world.create_pod(pod)
        for pod in pods[late:]:
            self._later(rng.choice((0.3, 1.0, 4.0, 12.0)), pod)
        if declared == "after":
            self._world.create_group(group)
        elif declared == "late":
            self._later(rng.choice((0.3, 3.0, 15.0)), group)
        wanted = "basic" if basic else f"minimum {minimum}"
        return f"gang {name}: {late}/{members} members, {wanted}, priority {priority}, declared {declared}"

    def _group(self, name: str, minimum: int | None, rng: Random) -> PodGroup:
        gang = None if minimum is None else GangPolicy(min_count=minimum)
        annotations = {TIMEOUT_ANNOTATION: str(rng.choice((5, 20, 40)))} if rng.random() < 0.8 else {}
        return PodGroup(
            metadata=Metadata(name=name, namespace=_NAMESPACE, uid=_uid(rng), annotations=annotations),
            spec=PodGroupSpec(
                scheduling_policy=SchedulingPolicy(gang=gang, basic=None if gang else Empty()),
                priority=self._priority(rng),
            ),
        )

    def _pod(self, name: str, shape: PodSpec, rng: Random, *, gang: str | None = None, priority: int = 0) -> Pod:
        annotations: dict[str, str] = {}
        if rng.random() < 0.35:
            annotations[RUN_SECONDS] = rng.choice(("1", "7", "20", "45"))
            if rng.random() < 0.3:
                annotations[EXIT_CODE] = "1"
        gated = "gates" in self._mood and rng.random() < 0.25
        return Pod(
            metadata=Metadata(name=name, namespace=_NAMESPACE, uid=_uid(rng), annotations=annotations),
            spec=replace(
                shape,
                priority=priority,
                scheduling_group=SchedulingGroup(pod_group_name=gang) if gang else None,
                scheduling_gates=(SchedulingGate(name="sim/wait"),) if gated else (),
            ),
        )

    def pod(self, rng: Random) -> str:
        pod = self._pod(self._name("p"), rng.choice(self._shapes), rng, priority=self._priority(rng))
        self._world.create_pod(pod)
        return f"pod {pod.metadata.name}, priority {pod.spec.priority}"

    def replace_members(self, rng: Random) -> str:
        """The gang's controller replaces members that failed or went."""
        declared = sorted(name for name in self._gangs if f"{_NAMESPACE}/{name}" in self._world.groups)
        if not declared:
            return ""
        name = rng.choice(declared)
        wanted, shape = self._gangs[name]
        live = sum(_gang_of(pod) == name and pod.status.phase != "Failed" for pod in self._world.pods.values())
        priority = self._world.groups[f"{_NAMESPACE}/{name}"].spec.priority or 0
        for number in range(wanted - live):
            pod_name = f"{self._name(name + '-r')}-{number}"
            self._world.create_pod(self._pod(pod_name, shape, rng, gang=name, priority=priority))
        return f"{max(0, wanted - live)} members of {name} replaced"

    # --- ends ---

    def delete_pod(self, rng: Random) -> str:
        pods = [pod for pod in self._world.pods.values() if pod.metadata.deletion_timestamp is None]
        if rng.random() < 0.4:
            pods = [pod for pod in pods if self._world.waits(pod)]
        pod = self._pick(rng, pods)
        if pod is None:
            return ""
        uid = pod.metadata.uid
        if rng.random() < 0.4:
            self._world.delete_pod(uid)
            return f"{pod.metadata.name} deleted"
        self._delete_slowly(pod, rng)
        return f"{pod.metadata.name} is being deleted"

    def _delete_slowly(self, pod: Pod, rng: Random) -> None:
        marked = replace(pod, metadata=replace(pod.metadata, deletion_timestamp=stamp(self._world.now)))
        self._world.change_pod(marked)
        delay = rng.choice((0.3, 2.0, 10.0, 30.0))
        self._world.at(self._world.now + delay, lambda: self._world.delete_pod(pod.metadata.uid))

    def delete_gang(self, rng: Random) -> str:
        """Group and members go, in one instant; now and then one of the same name comes at once."""
        if not self._gangs:
            return ""
        name = rng.choice(sorted(self._gangs))
        self._world.delete_group(f"{_NAMESPACE}/{name}")
        if rng.random() < 0.2:
            if rng.random() < 0.5:
                self._later(rng.choice((0.3, 6.0)), self._group(name, rng.randint(1, 4), rng))
            return f"group of {name} deleted, its members stay"
        for pod in [pod for pod in self._world.pods.values() if _gang_of(pod) == name]:
            self._world.delete_pod(pod.metadata.uid)
        del self._gangs[name]
        if rng.random() < 0.4:
            return f"gang {name} deleted, and again " + self._new_gang(name, rng)
        return f"gang {name} deleted"

    def end_pod(self, rng: Random) -> str:
        pod = self._pick(rng, (pod for pod in self._world.pods.values() if pod.status.phase == "Running"))
        if pod is None:
            return ""
        phase = rng.choice(_ENDED)
        self._world.change_pod(replace(pod, status=replace(pod.status, phase=phase)))
        return f"{pod.metadata.name} {phase.lower()}"

    # --- changes of mind ---

    def annotate(self, rng: Random) -> str:
        """Somebody writes on pods what does not concern the scheduler, most often on those on their way."""
        flying = [pod for uid, pod in self._world.pods.items() if uid in self._world.in_flight]
        pod = self._pick(rng, flying or self._world.pods.values())
        if pod is None:
            return ""
        annotations = {**pod.metadata.annotations, "sim/note": "seen"}
        self._world.change_pod(replace(pod, metadata=replace(pod.metadata, annotations=annotations)))
        return f"{pod.metadata.name} annotated"

    def ungate(self, rng: Random) -> str:
        pod = self._pick(rng, (pod for pod in self._world.pods.values() if pod.spec.scheduling_gates))
        if pod is None:
            return ""
        self._world.change_pod(replace(pod, spec=replace(pod.spec, scheduling_gates=())))
        return f"{pod.metadata.name} loses its gate"

    def change_minimum(self, rng: Random) -> str:
        groups = [g for g in self._world.groups.values() if g.spec.scheduling_policy.gang is not None]
        if not groups:
            return ""
        group = rng.choice(sorted(groups, key=lambda g: g.metadata.name))
        gang = group.spec.scheduling_policy.gang
        assert gang is not None
        minimum = max(1, gang.min_count + rng.choice((-2, -1, -1, 1)))
        policy = SchedulingPolicy(gang=GangPolicy(min_count=minimum))
        self._world.change_group(replace(group, spec=replace(group.spec, scheduling_policy=policy)))
        return f"{group.metadata.name} now needs {minimum}, not {gang.min_count}"

    def change_timeout(self, rng: Random) -> str:
        groups = sorted(self._world.groups.values(), key=lambda g: g.metadata.name)
        if not groups:
            return ""
        group = rng.choice(groups)
        timeout = str(rng.choice((2, 5, 30)))
        annotations = {**group.metadata.annotations, TIMEOUT_ANNOTATION: timeout}
        self._world.change_group(replace(group, metadata=replace(group.metadata, annotations=annotations)))
        return f"{group.metadata.name} times out after {timeout} s"

    def narrow_pod(self, rng: Random) -> str:
        """A pod with gates may still be told where to go."""
        pod = self._pick(rng, (pod for pod in self._world.pods.values() if pod.spec.scheduling_gates))
        if pod is None:
            return ""
        self._world.change_pod(replace(pod, spec=replace(pod.spec, node_selector={"zone": rng.choice("ab")})))
        return f"{pod.metadata.name} wants zone {self._world.pods[pod.metadata.uid].spec.node_selector}"

    def shrink_pod(self, rng: Random) -> str:
        """A running pod is resized in place, to no more than it had."""
        pod = self._pick(rng, (pod for pod in self._world.pods.values() if pod.status.phase == "Running"))
        if pod is None or not pod.spec.containers[0].resources.requests:
            return ""
        first = pod.spec.containers[0]
        requests = {**first.resources.requests, "cpu": "250m"}
        smaller = replace(first, resources=replace(first.resources, requests=requests))
        spec = replace(pod.spec, containers=(smaller, *pod.spec.containers[1:]))
        if dict(needs_of(pod).requests).get("cpu", 0) < dict(needs_of(replace(pod, spec=spec)).requests)["cpu"]:
            return ""
        self._world.change_pod(replace(pod, spec=spec))
        return f"{pod.metadata.name} shrinks to {requests}"

    # --- other schedulers ---

    def foreign_pod(self, rng: Random) -> str:
        """Another scheduler's pod comes, on a node where it fits."""
        pod = self._pod(self._name("f"), replace(rng.choice(self._shapes), scheduler_name="other"), rng)
        pod = replace(pod, spec=replace(pod.spec, scheduling_gates=()))
        node = self._node_for(pod, rng)
        if node is None or rng.random() < 0.1:
            self._world.create_pod(pod)
            return f"foreign pod {pod.metadata.name} waits"
        self._world.create_pod(replace(pod, spec=replace(pod.spec, node_name=node)))
        return f"foreign pod {pod.metadata.name} on {node}"

    def delete_foreign(self, rng: Random) -> str:
        pod = self._pick(rng, (pod for pod in self._world.pods.values() if pod.spec.scheduler_name == "other"))
        if pod is None:
            return ""
        self._world.delete_pod(pod.metadata.uid)
        return f"foreign pod {pod.metadata.name} deleted"

    def bind_by_hand(self, rng: Random) -> str:
        """Somebody else binds a pod of ours."""
        pod = self._pick(rng, (pod for pod in self._world.pods.values() if self._world.waits(pod)))
        node = pod and self._node_for(pod, rng)
        if not pod or not node:
            return ""
        self._world.bind_by_hand(pod, node)
        return f"{pod.metadata.name} bound to {node} by hand"

    def _node_for(self, pod: Pod, rng: Random) -> str | None:
        needs = needs_of(pod)
        possible = [name for name, place in sorted(self._world.invariants.room_left().items()) if fits(needs, place)]
        return rng.choice(possible) if possible else None

    # --- nodes ---

    def add_node(self, rng: Random) -> str:
        name = f"n{rng.randrange(100):02d}"
        if name in self._world.nodes or name in self._lost:
            return ""
        self._world.put_node(new_node(rng, name, self._mood))
        return f"node {name} added"

    def heartbeats(self, rng: Random) -> str:
        """Every node is seen again, unchanged, as kubelets' status updates have it."""
        for _ in range(rng.choice((1, 1, 3))):
            for node in list(self._world.nodes.values()):
                self._world.put_node(node)
        return "all nodes report"

    def lose_node(self, rng: Random) -> str:
        node = self._any_node(rng)
        if node is None or len(self._world.nodes) < 2:
            return ""
        name = node.metadata.name
        self._lost[name] = node
        self._world.remove_node(name)
        return f"node {name} lost"

    def return_node(self, rng: Random) -> str:
        if not self._lost:
            return ""
        name = rng.choice(sorted(self._lost))
        node = self._lost.pop(name)
        changed = rng.random() < 0.3
        self._world.put_node(new_node(rng, name, self._mood) if changed else node)
        return f"node {name} is back" + (", another one" if changed else "")

    def cordon(self, rng: Random) -> str:
        return self._change_node(rng, "cordoned", unschedulable=True)

    def uncordon(self, rng: Random) -> str:
        cordoned = sorted(n for n, node in self._world.nodes.items() if node.spec.unschedulable)
        return self._change_node(rng, "uncordoned", among=cordoned, unschedulable=False) if cordoned else ""

    def relabel(self, rng: Random) -> str:
        node = self._any_node(rng)
        if node is None:
            return ""
        node = replace(node, metadata=replace(node.metadata, labels=labels(rng)))
        self._world.put_node(node)
        return f"node {node.metadata.name} has labels {node.metadata.labels}"

    def retaint(self, rng: Random) -> str:
        given = taints(rng)
        shown = ", ".join(f"{taint.key}={taint.value}:{taint.effect}" for taint in given) or "no taints"
        return self._change_node(rng, f"has {shown}", taints=given)

    def resize_node(self, rng: Random) -> str:
        node = self._any_node(rng)
        if node is None:
            return ""
        room = {**node.status.allocatable, "cpu": rng.choice((2, 4, 8, 16))}
        self._world.put_node(replace(node, status=replace(node.status, allocatable=room)))
        return f"node {node.metadata.name} has {room}"

    def _change_node(self, rng: Random, what: str, among: list[str] | None = None, **spec: object) -> str:
        if not self._world.nodes:
            return ""
        name = rng.choice(among or sorted(self._world.nodes))
        node = self._world.nodes[name]
        self._world.put_node(replace(node, spec=replace(node.spec, **spec)))
        return f"node {name} {what}"

    # --- the scheduler's life ---

    def restart(self, rng: Random) -> str:
        flying = len(self._world.in_flight)
        self._world.restart()
        return f"scheduler restarted, {flying} binds in flight"

    def crash(self, rng: Random) -> str:
        points = rng.randint(1, 12)
        self._world.crash_in = points
        return f"scheduler dies {points} points later"

    # --- helpers ---

    def _any_node(self, rng: Random) -> Node | None:
        nodes = self._world.nodes
        return nodes[rng.choice(sorted(nodes))] if nodes else None

    def _pick(self, rng: Random, pods: Iterable[Pod]) -> Pod | None:
        listed = sorted(pods, key=lambda pod: pod.metadata.name)
        return rng.choice(listed) if listed else None

    def _later(self, delay: float, thing: Pod | PodGroup) -> None:
        """Creates it then, if its gang is still that one."""
        name = _gang_of(thing) if isinstance(thing, Pod) else thing.metadata.name
        wanted = self._gangs.get(name)

        def create() -> None:
            if self._gangs.get(name) is not wanted:
                return
            if isinstance(thing, Pod):
                self._world.create_pod(thing)
            elif f"{_NAMESPACE}/{name}" not in self._world.groups:
                self._world.create_group(thing)

        self._world.at(self._world.now + delay, create)

    def _priority(self, rng: Random) -> int:
        return rng.choice((0, 0, 5, 10)) if "priorities" in self._mood else 0

    def _name(self, prefix: str) -> str:
        """Named after the step, so that leaving out others does not rename it."""
        return f"{prefix}{self._step}"


def _gang_of(pod: Pod) -> str:
    group = pod.spec.scheduling_group
    return (group.pod_group_name or "") if group else ""


def _uid(rng: Random) -> str:
    return f"{rng.getrandbits(48):012x}"
