"""Plugins by users that raise here and there, at every method: nobody else's trouble, and never the scheduler's."""

from random import Random
from zlib import crc32

import numpy as np
import pytest

from muster.engine.changes import BindFailed, Bound, Failure, PodGone
from muster.engine.decisions import Bind
from muster.framework.by_users import points, roles
from muster.framework.plugin import Plugin
from muster.framework.profile import Profile
from muster.plugins.defaults import default_plugins
from muster.plugins.priority_sort import PrioritySort
from tests.builders import World, evicted, only

SEEDS = range(24)


class Moody(Plugin):
    """Raises for some of what it is asked about, each time it is asked that."""

    gathers = ("zone",)

    def dislikes(self, method, *what, percent=4):
        return crc32(repr((self.args["seed"], method, what)).encode()) % 100 < percent

    def mood(self, method, *what):
        if self.dislikes(method, *what):
            raise (KeyError("x"), RuntimeError("boom"), SystemExit(1), MemoryError())[len(method) % 4]

    def pre_enqueue(self, pod):
        self.mood("pre_enqueue", pod.name)
        return "later" if self.dislikes("gate", pod.name) else None

    def queue_sort(self, unit):
        self.mood("queue_sort", unit.name)
        return -unit.priority, unit.created

    def pre_filter(self, pod):
        self.mood("pre_filter", pod.metadata.name)
        return pod.metadata.labels.get("app")

    def may_evict(self, victim, *, priority):
        self.mood("may_evict", victim.name)
        return not self.dislikes("victim", victim.name)

    def reserve(self, pod, node):
        self.mood("reserve", pod.name, node)
        return "no" if self.dislikes("taken", pod.name, node) else None

    def unreserve(self, pod, node):
        self.mood("unreserve", pod.name, node)


class MoodyByNode(Moody):
    def filter(self, app, node):
        self.mood("filter", app, node.name)
        return "node(s) were odd" if self.dislikes("node", app, node.name, percent=10) else None

    def score(self, app, node, prepared):
        self.mood("score", app, node.name)
        return crc32(node.name.encode()) % 101


class MoodyColumns(Moody):
    def filter_nodes(self, app, nodes):
        self.mood("filter_nodes", app, len(nodes))
        odd = [self.dislikes("node", app, name, percent=10) for name in nodes.names]
        return [("node(s) were odd", np.array(odd, np.bool_))]

    def score_nodes(self, app, nodes, takes):
        self.mood("score_nodes", app, len(nodes))
        return np.array([crc32(name.encode()) % 101 for name in nodes.names])


def story(kind, seed):
    """An engine to which all kinds of things happened."""
    rng, plugin = Random(seed), kind({"seed": seed})
    ours = [one for one in default_plugins() if not isinstance(one[0], PrioritySort)]
    world = World(Profile([*ours, *((role, 1) for role in roles(plugin, points(kind)))]))
    for number in range(rng.randrange(3, 8)):
        world.node(f"n{number}", cpu=rng.choice((4, 8)), labels={"zone": "ab"[number % 2]})
    names = []
    for step in range(40):
        names += arrive(world, rng, step)
        if names and rng.random() < 0.3:
            world.engine.apply([PodGone(f"uid-{names.pop(rng.randrange(len(names)))}")])
        if rng.random() < 0.1:
            world.node(f"n{rng.randrange(6)}", cpu=rng.choice((2, 4, 8)), labels={"zone": rng.choice("abc")})
        answer(world, rng, world.decide(after=rng.choice((0.0, 0.5, 3.0, 20.0))))
    return world.engine


def arrive(world, rng, step):
    labels = {"app": rng.choice(("x", "y", "z"))} if rng.random() < 0.8 else {}
    shape = {"cpu": rng.choice((1, 2)), "priority": rng.choice((0, 5, 9)), "labels": labels}
    if rng.random() < 0.5:
        world.pod(f"p{step}", created=float(step), **shape)
        return [f"p{step}"]
    members = rng.randrange(1, 4)
    world.gang(f"g{step}", members=members, **shape)
    return [f"g{step}-{number}" for number in range(members)]


def answer(world, rng, decisions):
    for bind in only(Bind, decisions):
        for placed in bind.pods:
            if rng.random() < 0.1:
                failure = rng.choice((Failure.REJECTED, Failure.TRANSIENT))
                world.engine.apply([BindFailed(placed.uid, placed.node, failure, "no")])
            elif rng.random() < 0.8:
                world.engine.apply([Bound(placed.uid, placed.node, world.now)])
    world.engine.apply([PodGone(f"uid-{name}") for name in evicted(decisions) if rng.random() < 0.7])


@pytest.mark.parametrize("watches", [False, True], ids=["by node", "by pods"])
@pytest.mark.parametrize("kind", [MoodyByNode, MoodyColumns])
def test_the_scheduler_goes_on_and_knows_whose_mistakes_they_are(kind, watches):
    kind = type(kind.__name__, (kind,), {"watches_pods": watches})
    placed = mistakes = 0
    for seed in SEEDS:
        engine = story(kind, seed)
        assert engine.troubles.counts.keys() <= {kind.__name__}, seed
        mistakes += engine.troubles.counts.total()
        placed += sum(bool(pod.node) for pod in engine.cluster.pods.values())
    assert mistakes > 200
    assert placed > 200
