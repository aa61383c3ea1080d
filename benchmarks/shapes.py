"""Clusters and workloads that the benchmarks share: mixed nodes, partly filled; pods with index labels."""

from __future__ import annotations

import random

from msgspec.structs import replace

from muster.api.times import stamp
from muster.api.wire import (
    Amount,
    Container,
    DisruptionMode,
    Empty,
    GangPolicy,
    Metadata,
    Node,
    NodeStatus,
    Pod,
    PodGroup,
    PodGroupSpec,
    PodSpec,
    PodStatus,
    Resources,
    SchedulingGroup,
    SchedulingPolicy,
)
from muster.engine.changes import Change, GroupSeen, NodeSeen, PodSeen
from muster.engine.engine import Engine
from muster.framework.profile import Profile
from muster.plugins.defaults import default_profile

GIB = 1024**3
_NODE_SHAPES = ((32, 128), (64, 256), (64, 512), (96, 384))


def nodes(count: int, rng: random.Random) -> list[Change]:
    """Nodes of four shapes, labelled as real ones are."""
    found: list[Change] = []
    for index in range(count):
        cpu, memory_gib = rng.choice(_NODE_SHAPES)
        name = f"node-{index:05d}"
        labels = {
            "kubernetes.io/hostname": name,
            "topology.kubernetes.io/zone": f"zone-{index % 3}",
            "node.kubernetes.io/instance-type": f"{cpu}x{memory_gib}",
        }
        found.append(
            NodeSeen(
                Node(
                    metadata=Metadata(name=name, uid=f"node-{index}", labels=labels),
                    status=NodeStatus(allocatable={"cpu": str(cpu), "memory": f"{memory_gib}Gi", "pods": "250"}),
                )
            )
        )
    return found


def filling(count: int, rng: random.Random) -> list[Change]:
    """Pods of another scheduler that take up to a third of each of `count` nodes."""
    found: list[Change] = []
    for index in range(count):
        for number in range(rng.randrange(0, 4)):
            cpu_milli, memory_gib = rng.choice((500, 1000, 2000)), rng.choice((1, 2, 4))
            node = f"node-{index:05d}"
            found.append(foreign(f"other-{index:05d}-{number}", node, cpu_milli=cpu_milli, memory_gib=memory_gib))
    return found


def partly_filled(count: int, seed: int = 1) -> Engine:
    """An engine that knows `count` mixed, partly filled nodes."""
    rng = random.Random(seed)
    engine = Engine(default_profile())
    engine.apply(nodes(count, rng))
    engine.apply(filling(count, rng))
    engine.decide(0.0)
    return engine


def full_cluster(count: int, *, pods_per_node: int, profile: Profile) -> tuple[Engine, dict[str, list[str]]]:
    """An engine that knows `count` equal nodes without a free cpu; and the UIDs of what runs, by node."""
    engine = Engine(profile)
    running: dict[str, list[str]] = {}
    changes: list[Change] = []
    for index in range(count):
        name = f"node-{index:05d}"
        allocatable: dict[str, Amount] = {"cpu": str(pods_per_node), "memory": f"{4 * pods_per_node}Gi", "pods": "250"}
        changes.append(NodeSeen(Node(metadata=Metadata(name=name), status=NodeStatus(allocatable=allocatable))))
        pods = [foreign(f"f-{index}-{i}", name, cpu_milli=1_000, memory_gib=1) for i in range(pods_per_node)]
        changes += pods
        running[name] = [change.pod.metadata.uid for change in pods]
    engine.apply(changes)
    engine.decide(0.0)
    return engine, running


def foreign(name: str, node: str, *, cpu_milli: int, memory_gib: float) -> PodSeen:
    """A pod of another scheduler that runs on the node."""
    spec = _spec(cpu_milli, memory_gib, scheduler="other")
    return PodSeen(Pod(metadata=_meta(name, index=0), spec=replace(spec, node_name=node)))


def group(name: str, minimum: int, *, created: float = 0.0, priority: int = 0, whole: bool = False) -> GroupSeen:
    """`whole`: it can be evicted only as one."""
    return GroupSeen(
        PodGroup(
            metadata=Metadata(name=name, namespace="bench", uid=f"group-{name}", creation_timestamp=stamp(created)),
            spec=PodGroupSpec(
                scheduling_policy=SchedulingPolicy(gang=GangPolicy(min_count=minimum)),
                disruption_mode=DisruptionMode(all=Empty()) if whole else None,
                priority=priority,
            ),
        )
    )


def pod(
    name: str, *, cpu_milli: int, memory_gib: float, index: int, gang: str | None = None, priority: int = 0
) -> PodSeen:
    spec = _spec(cpu_milli, memory_gib, scheduler="muster", gang=gang, priority=priority)
    return PodSeen(Pod(metadata=_meta(name, index=index), spec=spec))


def running(seen: PodSeen, node: str, *, started: float, app: str = "bench") -> PodSeen:
    """The pod as it is on its node."""
    pod = seen.pod
    labels = {**pod.metadata.labels, "app": app}
    return PodSeen(
        Pod(
            metadata=replace(pod.metadata, labels=labels),
            spec=replace(pod.spec, node_name=node),
            status=PodStatus(phase="Running", start_time=stamp(started)),
        )
    )


def leaving(seen: PodSeen, until: float) -> PodSeen:
    """The pod as it is once somebody has deleted it."""
    return PodSeen(replace(seen.pod, metadata=replace(seen.pod.metadata, deletion_timestamp=stamp(until))))


def _meta(name: str, *, index: int) -> Metadata:
    return Metadata(
        name=name,
        namespace="bench",
        uid=f"uid-{name}",
        creation_timestamp=stamp(index // 100),
        labels={"app": "bench", "batch.kubernetes.io/job-completion-index": str(index)},
    )


def _spec(cpu_milli: int, memory_gib: float, *, scheduler: str, gang: str | None = None, priority: int = 0) -> PodSpec:
    requests = {"cpu": f"{cpu_milli}m", "memory": str(int(memory_gib * GIB))}
    return PodSpec(
        containers=(Container(resources=Resources(requests=dict(requests), limits=dict(requests))),),
        scheduler_name=scheduler,
        priority=priority,
        scheduling_group=SchedulingGroup(pod_group_name=gang) if gang else None,
    )
