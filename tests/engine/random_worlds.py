"""Random little clusters and pods, the same for the same seed, and what the plain scheduler does."""

from random import Random

from msgspec.structs import replace

from muster.api.wire import ContainerPort, Node, Pod
from muster.cluster.classes import PodClass
from tests.builders import World, node, pod, tolerate
from tests.plugins.upstream import Plain, Shape

ZONES = ["a", "b", "c"]
SOFT = "slow:PreferNoSchedule"
HARD = "gpu=yes:NoSchedule"
IMAGES = {"small:1": 90, "large:latest": 900, "huge:1": 4000}
"""Sizes in MiB."""


def random_node(rng: Random, name: str) -> Node:
    return node(
        name,
        cpu=rng.choice([2, 4, 4, 8, "7910m", 16]),
        memory=rng.choice(["4Gi", "8Gi", "8Gi", "32Gi", "15824120Ki"]),
        pods=rng.choice([2, 5, 110, 110]),
        gpu=rng.choice([0, 0, 2, 4]),
        labels={"zone": rng.choice(ZONES)} if rng.random() < 0.8 else {},
        taints=rng.choice([(), (), (), (SOFT,), (SOFT, "old:PreferNoSchedule"), (HARD,)]),
        cordoned=rng.random() < 0.05,
        images={image: size for image, size in IMAGES.items() if rng.random() < 0.5},
    )


def random_nodes(rng: Random) -> list[Node]:
    if rng.random() < 0.3:  # all alike: ties everywhere
        facts = {"cpu": rng.choice([2, 4, 8]), "memory": rng.choice(["4Gi", "16Gi"])}
        return [node(f"n{number}", **facts) for number in range(rng.randint(1, 12))]
    nodes = [random_node(rng, f"n{number}") for number in range(rng.randint(1, 12))]
    rng.shuffle(nodes)
    return nodes


def random_asks(rng: Random) -> dict:
    """What a pod asks for, as `builders.pod` takes it."""
    asks = {
        "cpu": rng.choice([None, 0, "100m", "500m", 1, 1, 2, "1700m"]),
        "memory": rng.choice([None, 0, "100Mi", "1Gi", "1Gi", "3Gi"]),
    }
    if rng.random() < 0.15:
        asks["gpu"] = 1
    if rng.random() < 0.15:
        asks["selector"] = {"zone": rng.choice(ZONES)}
    if rng.random() < 0.15:
        asks["required"] = rng.choice(["zone in (a,b)", "zone notin (a)", "!zone"])
    if rng.random() < 0.4:
        asks["preferred"] = {
            f"zone={zone}": rng.choice([1, 20, 50, 100]) for zone in rng.sample(ZONES, rng.randint(1, 3))
        }
    if rng.random() < 0.3:
        asks["tolerations"] = [rng.choice([tolerate("gpu"), tolerate("slow"), tolerate("old"), tolerate()])]
    if rng.random() < 0.15:
        asks["ports"] = [rng.choice([80, 81, ContainerPort(host_port=80, host_ip="10.0.0.1")])]
    if rng.random() < 0.4:
        asks["image"] = rng.choice(["small:1", "large", "huge:1", "unknown:1"])
    if rng.random() < 0.1:
        asks["whole"] = rng.choice([{"cpu": 3}, {"cpu": 3, "memory": "4Gi"}])
    return asks


class Twins:
    """The same cluster twice: with the engine, and with the plain scheduler."""

    def __init__(self, rng: Random, *, world: World, strategy: str | Shape) -> None:
        nodes = random_nodes(rng)
        self.world = world.see(*nodes)
        self.plain = Plain(nodes, strategy=strategy)
        for number in range(rng.choice([0, 0, 5, 20, 60])):
            running = pod(f"r{number}", **random_asks(rng))
            # mostly where there is room, sometimes where somebody else put it
            where = self.plain.room(running) if rng.random() < 0.95 else list(self.plain.machines)
            if where:
                self.run(running, rng.choice(where))

    def run(self, running: Pod, on: str) -> None:
        self.plain.add(on, running)
        self.world.see(replace(running, spec=replace(running.spec, node_name=on)))


def place_one_after_another(plain: Plain, pods: list[Pod]) -> dict[str, str]:
    """Places the pods in turn; by name where each went, without those that found no place."""
    where = {found.metadata.name: plain.place(found) for found in pods}
    return {name: node for name, node in where.items() if node is not None}


def place_gang(plain: Plain, members: list[Pod], *, minimum: int) -> dict[str, str]:
    """Places as many members as fit, in their order, if those are enough; else none."""
    before = {name: list(machine.running) for name, machine in plain.machines.items()}
    placed = place_one_after_another(plain, members)
    if len(placed) >= minimum:
        return placed
    for name, machine in plain.machines.items():
        machine.running = before[name]
    return {}


def class_of(world: World, found: Pod) -> PodClass:
    return world.engine.cluster.classes.of(found)
