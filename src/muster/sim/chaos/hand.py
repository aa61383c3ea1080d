"""What all events need: the world, its mood, and how they choose whom they hit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from random import Random

from muster.api.wire import Node, Pod, PodGroup, PodSpec
from muster.sim.chaos.recipe import Mood, Recipe
from muster.sim.chaos.world import OTHER, ChaosWorld
from muster.sim.plain import fits, needs_of
from muster.sim.reading import OURS
from muster.sim.rules.scene import Places

NAMESPACE = "sim"


class Hand:
    """Makes things happen in one world.

    Whom an event hits is chosen from what is there, by `rng` alone and in order of names: the same world
    and the same step always give the same event.
    """

    def __init__(self, world: ChaosWorld, recipe: Recipe) -> None:
        self.world = world
        self.mood: Mood = recipe.mood
        self.shapes = recipe.shapes
        self._labels = recipe.labels
        self.gangs: dict[str, tuple[int, PodSpec]] = {}
        """By name: how many members its controller wants, and their shape."""
        self.jobs: Counter[str] = Counter()
        """By name of a gang: which job its members are made by."""
        self.step = 0
        self._steps = len(recipe.plan)
        self.lost: dict[str, Node] = {}

    def any_node(self, rng: Random) -> Node | None:
        nodes = self.world.nodes
        return nodes[rng.choice(sorted(nodes))] if nodes else None

    def any_group(self, rng: Random) -> PodGroup | None:
        groups = sorted(self.world.groups.values(), key=lambda group: group.metadata.name)
        return rng.choice(groups) if groups else None

    def pick(self, rng: Random, pods: Iterable[Pod]) -> Pod | None:
        listed = sorted(pods, key=lambda pod: pod.metadata.name)
        return rng.choice(listed) if listed else None

    def node_for(self, pod: Pod, rng: Random, room: Places | None = None) -> str | None:
        """A node where the pod fits; its rules do not matter to others."""
        needs = needs_of(pod)
        room = self.world.invariants.room_left() if room is None else room
        possible = [name for name, place in sorted(room.items()) if fits(needs, place)]
        return rng.choice(possible) if possible else None

    def later(self, delay: float, thing: Pod | PodGroup) -> None:
        """Creates it then, if its gang is still that one."""
        name = gang_of(thing) if isinstance(thing, Pod) else thing.metadata.name
        wanted = self.gangs.get(name)

        def create() -> None:
            if self.gangs.get(name) is not wanted:
                return
            if isinstance(thing, Pod):
                # its name may have been given away meanwhile
                if self.world.find_pod(f"{NAMESPACE}/{thing.metadata.name}") is None:
                    self.world.create_pod(thing)
            elif f"{NAMESPACE}/{name}" not in self.world.groups:
                self.create_group(thing)

        self.world.at(self.world.now + delay, create)

    def create_group(self, group: PodGroup) -> None:
        """One that declares no priority is a custom one."""
        self.world.create_group(group, custom=group.spec.priority is None)

    def priority(self, rng: Random) -> int:
        if "priorities" not in self.mood:
            return 0
        early = "crowded" in self.mood and self.step < self._steps // 3
        return rng.choice((0, 0, 0, 5)) if early else rng.choice((0, 0, 5, 10))

    def scheduler(self, rng: Random) -> str:
        return OTHER if "beside" in self.mood and rng.random() < 0.4 else OURS

    def scheduler_of(self, gang: str) -> str:
        """Which scheduler the gang's members name; ours if there are none."""
        members = [pod for pod in self.world.pods.values() if gang_of(pod) == gang]
        return members[-1].spec.scheduler_name if members else OURS

    def labels_of(self, shape: PodSpec) -> dict[str, str]:
        """What pods of the shape are labelled with."""
        return self._labels[self.shapes.index(shape)]

    def name(self, prefix: str) -> str:
        """Named after the step, so that leaving out others does not rename it."""
        return f"{prefix}{self.step}"


def gang_of(pod: Pod) -> str:
    group = pod.spec.scheduling_group
    return (group.pod_group_name or "") if group else ""


def new_uid(rng: Random) -> str:
    return f"{rng.getrandbits(48):012x}"
