"""What a seed makes of a world: its mood, its nodes, the shapes of its pods, and the plan of what happens."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from muster.api.wire import (
    Affinity,
    Container,
    ContainerPort,
    Metadata,
    Node,
    NodeAffinity,
    NodeSpec,
    NodeStatus,
    PodSpec,
    PreferredNodes,
    Resources,
    Taint,
    Toleration,
)
from muster.base.selectors import NodeSelector, NodeSelectorTerm, Requirement
from muster.sim.chaos.kin import domains, kin, located, tied

GPU = "example.com/gpu"


Mood = frozenset[str]
"""Which kinds of trouble a world has.  Few at a time: in worlds with all of them one hides the other."""

# How often a world has each trouble.  "stubborn" has nodes where every bind fails; "hurry" gives the engine so
# little budget that it decides one unit per call; "long" worlds last for hours, others for a minute or two.  "stuck"
# pods stay after their grace is over, and an "impatient" engine does not wait for such; "beside" has a second engine.
# In worlds with "late evictions" these wait until it is written for whom they are, and can be called off till then.
# In "crowded" worlds many come, few end by themselves, and who comes later is more important.
_LIKELY = {
    "slow": 0.5,
    "transient": 0.3,
    "rejected": 0.25,
    "stubborn": 0.08,
    "lost answers": 0.2,
    "answers first": 0.5,
    "restarts": 0.4,
    "crashes": 0.3,
    "node loss": 0.4,
    "node facts": 0.5,
    "gates": 0.4,
    "resizing": 0.4,
    "mixed": 0.25,
    "foreign": 0.4,
    "ports": 0.2,
    "affinity": 0.4,
    "taints": 0.4,
    "priorities": 0.7,
    "modes": 0.5,
    "never": 0.2,
    "stops": 0.5,
    "stuck": 0.15,
    "impatient": 0.2,
    "budgets": 0.2,
    "denials": 0.2,
    "held parts": 0.15,
    "taken down": 0.25,
    "daemons": 0.2,
    "crowded": 0.5,
    "hurry": 0.2,
    "beside": 0.12,
    "long": 0.03,
}

# Troubles that came later are drawn apart, so that worlds without them stay what they were.  In "reused" worlds groups
# serve one job after another, in "remade" ones a group is deleted and made anew while its members run, in "grown" ones
# the minimum of gangs that run is raised and members come to meet it; with "asks" pods and groups ask for what nobody
# honours, in "uneven" ones members differ from each other in priority, or from what their group declares.
# With "late evictions" deletions wait for what must stand on the API before them, with "bugs" plugins raise, and with
# "lagging groups" changes of groups are told seconds after pods that came later; with "start timeouts" gangs step back
# that have waited for long.  With "ties" pods ask to be near others, far from them, or spread; with "services" they are
# spread by default.
_LIKELY_TOO = {
    "reused": 0.2,
    "remade": 0.2,
    "grown": 0.2,
    "asks": 0.1,
    "uneven": 0.2,
    "late evictions": 0.35,
    "bugs": 0.08,
    "lagging groups": 0.25,
    "start timeouts": 0.15,
    "ties": 0.25,
    "services": 0.2,
}

# (kind of event, weight, the trouble it belongs to)
_KINDS: tuple[tuple[str, int, str], ...] = (
    ("gang", 10, ""),
    ("pod", 6, ""),
    ("delete_pod", 4, ""),
    ("delete_gang", 2, ""),
    ("end_pod", 4, ""),
    ("replace_members", 3, ""),
    ("annotate", 3, ""),
    ("add_node", 2, ""),
    ("heartbeats", 1, ""),
    ("lose_members", 2, ""),
    ("gang", 10, "crowded"),
    ("urgent", 6, "priorities"),
    ("at_next_eviction", 5, "priorities"),
    ("budget", 4, "budgets"),
    ("change_wishes", 2, "taken down"),
    ("lose_members", 3, "taken down"),
    ("replace_members", 4, "taken down"),
    ("daemon", 3, "daemons"),
    ("crash_at_eviction", 3, "crashes"),
    ("foreign_pod", 4, "foreign"),
    ("delete_foreign", 3, "foreign"),
    ("bind_by_hand", 1, "foreign"),
    ("lose_node", 3, "node loss"),
    ("return_node", 3, "node loss"),
    ("cordon", 2, "node facts"),
    ("uncordon", 2, "node facts"),
    ("relabel", 3, "node facts"),
    ("retaint", 3, "node facts"),
    ("resize_node", 2, "node facts"),
    ("ungate", 6, "gates"),
    ("change_minimum", 5, "resizing"),
    ("change_timeout", 2, "resizing"),
    ("change_priority", 1, "resizing"),
    ("shrink_pod", 2, "resizing"),
    ("narrow_pod", 2, "gates"),
    ("restart", 4, "restarts"),
    ("crash", 4, "crashes"),
    ("next_run", 6, "reused"),
    ("end_gang", 4, "reused"),
    ("remake_group", 6, "remade"),
    ("lose_members", 2, "remade"),
    ("grow_gang", 6, "grown"),
    ("relabel_pod", 2, "ties"),
    ("service", 8, "services"),
    ("relabel_pod", 2, "services"),
)


class Step(NamedTuple):
    number: int
    """Chance of the step depends on it, so steps can be left out without changing the others."""
    delay_seconds: float
    kind: str


class Recipe(NamedTuple):
    seed: int
    mood: Mood
    nodes: list[Node]
    shapes: list[PodSpec]
    labels: list[dict[str, str]]
    """What pods of each shape are labelled with."""
    plan: list[Step]


def recipe(seed: int, *, as_first: bool = False, but: Mood = frozenset()) -> Recipe:
    """`as_first`: with the troubles that there were at first, as seeds need that were found then.

    `but` names troubles that the world does not have, whatever its seed says.
    """
    rng = Random(seed)
    mood = Mood(trouble for trouble, likely in _LIKELY.items() if rng.random() < likely)
    if not as_first:
        mood |= {trouble for trouble, likely in _LIKELY_TOO.items() if Random(f"{trouble} {seed}").random() < likely}
    mood -= but
    size = rng.choices((0, 1, 2), weights=(88, 10, 2))[0]
    nodes, steps = ((2, 6), (7, 14), (20, 30))[size], ((12, 42), (40, 70), (70, 110))[size]
    names = [f"n{number:02d}" for number in range(40)]
    rng.shuffle(names)
    made = [new_node(rng, name, mood) for name in names[: rng.randint(*nodes)]]
    shapes = [_shape(rng, mood) for _ in range(rng.randint(2, 4))]
    plan = _plan(rng, mood, rng.randint(*steps))
    labels: list[dict[str, str]] = [{} for _ in shapes]
    if "ties" in mood:
        shapes, labels = tied(Random(f"kin {seed}"), shapes)
    elif "services" in mood:
        labels = kin(Random(f"kin {seed}"), len(shapes))
    return Recipe(seed, mood, made, shapes, labels, plan)


def _plan(rng: Random, mood: Mood, steps: int) -> list[Step]:
    kinds = [(kind, weight) for kind, weight, trouble in _KINDS if not trouble or trouble in mood]
    chosen = rng.choices([k for k, _ in kinds], weights=[w for _, w in kinds], k=steps)
    # arrivals first, or there is little to go wrong
    first = steps // (3 if "crowded" in mood else 6)
    chosen[:first] = rng.choices(("gang", "pod"), weights=(3, 1), k=first)
    pace = (0.0, 2.0, 10.0, 60.0, 200.0, 400.0) if "long" in mood else (0.0, 0.3, 1.0, 2.0, 5.0, 9.0)
    delays = rng.choices(pace, weights=(6, 4, 4, 3, 2, 1), k=steps)
    return [Step(i, delay, kind) for i, (delay, kind) in enumerate(zip(delays, chosen, strict=True))]


# --- nodes ---


def new_node(rng: Random, name: str, mood: Mood) -> Node:
    allocatable: dict[str, str | int | float] = {
        "cpu": rng.choice((2, 4, "4500m", 8)),
        "memory": f"{rng.choice((4, 8, 16))}Gi",
        "pods": rng.choice((3, 6, 110, 110)),
    }
    if rng.random() < 0.4:
        allocatable[GPU] = rng.choice((1, 2, 4))
    return Node(
        metadata=Metadata(name=name, labels=node_labels(rng, name, mood)),
        spec=NodeSpec(
            unschedulable="node facts" in mood and rng.random() < 0.1,
            taints=taints(rng) if "taints" in mood else (),
        ),
        status=NodeStatus(allocatable=allocatable),
    )


def node_labels(rng: Random, name: str, mood: Mood) -> dict[str, str]:
    found = {"zone": rng.choice("ab")}
    if rng.random() < 0.6:
        found["disk"] = rng.choice(("ssd", "hdd"))
    if rng.random() < 0.5:
        found["rank"] = str(rng.randint(1, 5))
    if "ties" in mood:
        found = domains(name, found)
    return located(name, found) if "services" in mood else found


def taints(rng: Random) -> tuple[Taint, ...]:
    possible = (
        Taint(key="team", value="red", effect="NoSchedule"),
        Taint(key="team", value="blue", effect="NoExecute"),
        Taint(key="spot", effect="PreferNoSchedule"),
        Taint(key="old", value="yes", effect="PreferNoSchedule"),
    )
    return tuple(taint for taint in possible if rng.random() < 0.25)


# --- pods ---


def _shape(rng: Random, mood: Mood) -> PodSpec:
    """What pods of one kind ask for; everything else of the pod is added when it is created."""
    requests: dict[str, str | int | float] = {}
    if rng.random() < 0.9:
        requests["cpu"] = rng.choice(("500m", 1, 1, 2, 3))
    if rng.random() < 0.6:
        requests["memory"] = rng.choice(("512Mi", "1Gi", "2Gi", "5Gi"))
    if rng.random() < 0.25:
        requests[GPU] = rng.choice((1, 1, 2))
    if "mixed" in mood and rng.random() < 0.5:
        # shapes that compete for some nodes only: trying one after the other is no proof
        requests = dict(rng.choice(_CONTRASTS))
    ports = (ContainerPort(host_port=rng.choice((80, 8080))),) if "ports" in mood and rng.random() < 0.5 else ()
    containers = [Container(resources=Resources(requests=requests), ports=ports)]
    if rng.random() < 0.1:
        containers.append(Container(resources=Resources(limits={"cpu": "250m"})))
    inits = [Container(resources=Resources(requests={"cpu": 2}))] if rng.random() < 0.1 else []
    return PodSpec(
        containers=tuple(containers),
        init_containers=tuple(inits),
        overhead={"memory": "100Mi"} if rng.random() < 0.1 else {},
        node_selector={"zone": rng.choice("ab")} if rng.random() < 0.15 else {},
        affinity=_affinity(rng) if "affinity" in mood and rng.random() < 0.6 else None,
        tolerations=_tolerations(rng) if "taints" in mood or rng.random() < 0.1 else (),
        scheduler_name="muster",
    )


_CONTRASTS: tuple[dict[str, str | int | float], ...] = (
    {"cpu": 3, "memory": "512Mi"},
    {"cpu": 1, "memory": "5Gi"},
    {"cpu": 2, GPU: 1},
)


def _affinity(rng: Random) -> Affinity:
    def term() -> NodeSelectorTerm:
        if rng.random() < 0.15:
            names = tuple(f"n{rng.randrange(40):02d}" for _ in range(12))
            return NodeSelectorTerm(
                match_fields=(Requirement(key="metadata.name", operator="NotIn", values=names[:1]),)
            )
        return NodeSelectorTerm(match_expressions=(rng.choice(_REQUIREMENTS),))

    required = NodeSelector(tuple(term() for _ in range(rng.randint(1, 2)))) if rng.random() < 0.5 else None
    wishes = rng.randint(0 if required else 1, 2)
    preferred = tuple(PreferredNodes(weight=rng.choice((1, 10, 50)), preference=term()) for _ in range(wishes))
    return Affinity(node_affinity=NodeAffinity(required=required, preferred=preferred))


_REQUIREMENTS = (
    Requirement(key="zone", operator="In", values=("a",)),
    Requirement(key="zone", operator="NotIn", values=("b",)),
    Requirement(key="disk", operator="Exists"),
    Requirement(key="disk", operator="DoesNotExist"),
    Requirement(key="disk", operator="In", values=("ssd", "nvme")),
    Requirement(key="rank", operator="Gt", values=("2",)),
    Requirement(key="rank", operator="Lt", values=("4",)),
)


def _tolerations(rng: Random) -> tuple[Toleration, ...]:
    possible = (
        Toleration(key="team", value="red", effect="NoSchedule"),
        Toleration(key="team", operator="Exists"),
        Toleration(key="spot", operator="Exists", effect="PreferNoSchedule"),
        Toleration(operator="Exists", effect="NoExecute"),
        Toleration(key="node.kubernetes.io/unschedulable", operator="Exists"),
    )
    return tuple(toleration for toleration in possible if rng.random() < 0.2)
