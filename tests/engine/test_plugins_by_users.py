"""Plugins by users: both forms decide alike, gangs go as their pods would one after another, no rule is broken."""

from collections import Counter
from random import Random

import pytest

from muster.engine.changes import PodGone
from muster.framework.by_users import points, roles
from muster.framework.profile import Profile
from muster.plugins.defaults import default_plugins
from tests.builders import World, evicted, placements, pod
from tests.framework.plugins_by_users import (
    PAIRS,
    AtMost,
    NeverBeside,
    Newest,
    NotBesideNoisy,
    WithTheFirst,
)

ids = [pair[0].__mro__[1].__name__ for pair in PAIRS]
each_pair = pytest.mark.parametrize("pair", PAIRS, ids=ids)
SEEDS = range(25)


def profile(kind, args=None, weight=20):
    plugin = kind(args or {})
    return Profile([*default_plugins(), *((role, weight) for role in roles(plugin, points(kind)))])


class RandomWorld:
    """A few zones with nodes and pods; who comes is given as facts, so that it can come to several engines."""

    def __init__(self, seed):
        self.rng = rng = Random(seed)
        self.nodes = {
            f"n{number}": {
                "cpu": rng.choice((4, 6, 8)),
                "labels": {"zone": f"z{rng.randrange(3)}", "generation": rng.choice("ab")}
                | ({"for": rng.choice(("red", "blue"))} if rng.random() < 0.2 else {}),
            }
            for number in range(rng.randrange(4, 9))
        }
        self.running = [
            {"name": f"old{i}", "on": rng.choice(list(self.nodes)), "cpu": 1, "labels": self.labels(), "priority": 0}
            for i in range(rng.randrange(6))
        ]
        self.shape = {"cpu": rng.choice((1, 1, 2)), "labels": self.labels(), "priority": 0}
        self.count = rng.randrange(1, 7)

    def labels(self):
        rng = self.rng
        return {"app": rng.choice(("red", "blue", "green")), "voice": rng.choice(("quiet", "noisy", "mute"))}

    def world(self, kind):
        world = World(profile(kind))
        for name, facts in self.nodes.items():
            world.node(name, **facts)
        for facts in self.running:
            world.see(pod(phase="Running", **facts))
        return world

    def zone(self, name):
        return self.nodes[name]["labels"]["zone"]


def is_kept(kind, here, there, placed):
    """Whether the rule holds for these pods, placed in this order: (node, labels), beside those who are there."""
    pods = list(there)
    for node, labels in placed:
        app, zone = labels["app"], here.zone(node)
        in_zone = Counter(other["app"] for name, other in pods if here.zone(name) == zone)
        anywhere = Counter(other["app"] for _, other in pods)
        if issubclass(kind, AtMost) and in_zone[app] >= 1:
            return False
        if issubclass(kind, WithTheFirst) and anywhere[app] and not in_zone[app]:
            return False
        if issubclass(kind, NeverBeside) and in_zone[NeverBeside.other.get(app)]:
            return False
        beside_noisy = any(name == node and other["voice"] == "noisy" for name, other in pods)
        if issubclass(kind, NotBesideNoisy) and labels["voice"] == "quiet" and beside_noisy:
            return False
        if issubclass(kind, Newest) and here.nodes[node]["labels"].get("for", app) != app:
            return False
        pods.append((node, labels))
    return True


def places(decisions):
    return sorted(placements(decisions).values())


@each_pair
def test_both_forms_decide_alike(pair):
    for seed in SEEDS:
        decided = []
        for kind in pair:
            here = RandomWorld(seed)
            world = here.world(kind).gang("g", members=here.count, **here.shape)
            decided.append(placements(world.decide()))
        assert decided[0] == decided[1], seed


@each_pair
def test_a_gang_is_placed_as_its_pods_would_be_one_after_another(pair):
    placed = 0
    for seed in SEEDS:
        here = RandomWorld(seed)
        alone, gang = here.world(pair[1]), here.world(pair[1])
        one_by_one = []
        for number in range(here.count):
            one_by_one += placements(alone.pod(f"p{number}", **here.shape).decide()).values()
        together = places(gang.gang("g", members=here.count, **here.shape).decide())
        if len(one_by_one) == here.count:
            assert together == sorted(one_by_one), seed
            placed += 1
    assert placed > 3


@each_pair
def test_many_lone_pods_at_once_go_where_they_go_one_after_another(pair):
    for seed in SEEDS:
        here = RandomWorld(seed)
        alone, crowd = here.world(pair[1]), here.world(pair[1])
        one_by_one = {}
        for number in range(here.count):
            one_by_one |= placements(alone.pod(f"p{number}", created=number, **here.shape).decide())
            crowd.pod(f"p{number}", created=number, **here.shape)
        assert placements(crowd.decide()) == one_by_one, seed


@each_pair
def test_no_rule_is_broken_by_a_gang_or_by_those_it_evicts(pair):
    evictions = 0
    for seed in SEEDS:
        here = RandomWorld(seed)
        world = here.world(pair[0])
        running = {f"team/{facts['name']}": facts for facts in here.running}
        urgent = here.shape | {"priority": 100}
        decisions = world.gang("g", members=here.count, **urgent).decide()
        for _ in range(3):
            gone = evicted(decisions)
            evictions += len(gone)
            for name in gone:
                running.pop(f"team/{name}")
                world.engine.apply([PodGone(f"uid-{name}")])
            there = [(facts["on"], facts["labels"]) for facts in running.values()]
            placed = [(node, here.shape["labels"]) for node in placements(decisions).values()]
            if placed:
                assert is_kept(pair[0], here, there, placed), seed
                assert len(placed) == here.count
                break
            decisions = world.decide(after=1.0)
    if issubclass(pair[0], AtMost | NeverBeside):
        assert evictions
