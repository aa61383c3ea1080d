"""Many units decided in one go end up where a plain scheduler would put them, unit by unit."""

from random import Random

import pytest

from tests.builders import World, group, node, placements, pod, without_preemption
from tests.engine.random_worlds import Twins, class_of, place_gang, place_one_after_another, random_asks
from tests.plugins.upstream import LEAST, Plain

WORLDS_PER_TEST = 40


class Arrivals:
    """Lone pods and gangs of a few classes, with what the plain scheduler makes of them in queue order."""

    def __init__(self, rng, *, pods, gangs, mixed):
        self._classes = [random_asks(rng) for _ in range(rng.choice([1, 1, 2, 4]))]
        self.objects = []
        self._units = []
        for number in range(pods):
            priority, created = rng.choice([0, 0, 5]), float(rng.randint(0, 2))
            found = pod(f"p{number}", priority=priority, created=created, **rng.choice(self._classes))
            self.objects.append(found)
            self._units.append(((-priority, created, found.metadata.uid), [found], 1))
        for number in range(gangs):
            self._add_gang(rng, f"g{number}", mixed=mixed)
        rng.shuffle(self.objects)

    def _add_gang(self, rng, name, *, mixed):
        priority, created = rng.choice([0, 0, 5]), float(rng.randint(0, 2))
        size = rng.choice([1, 2, 3, 5, 20])
        minimum = rng.randint(1, size)
        asks = rng.choice(self._classes)
        members = [
            pod(f"{name}-{number}", gang=name, priority=priority, **(rng.choice(self._classes) if mixed else asks))
            for number in range(size)
        ]
        declared = group(name, minimum, priority=priority, created=created)
        self.objects += [declared, *members]
        self._units.append(((-priority, created, declared.metadata.uid), members, minimum))

    def expected(self, both):
        where = {}
        for _, members, minimum in sorted(self._units, key=lambda unit: unit[0]):
            if len(members) == 1 and members[0].spec.scheduling_group is None:
                where |= place_one_after_another(both.plain, members)
            else:
                ordered = sorted(members, key=lambda m: (class_of(both.world, m).order, m.metadata.name))
                where |= place_gang(both.plain, ordered, minimum=minimum)
        return where


def assert_equal(seed, **shape):
    rng = Random(seed)
    both = Twins(rng, world=World(without_preemption()), strategy=LEAST)
    arrivals = Arrivals(rng, **shape)
    both.world.see(*arrivals.objects)
    found = placements(both.world.decide())
    assert found == arrivals.expected(both), f"{seed=}"


@pytest.mark.parametrize("block", range(3))
def test_lone_pods_go_where_they_would_go_in_queue_order(block):
    for seed in range(block * WORLDS_PER_TEST, (block + 1) * WORLDS_PER_TEST):
        assert_equal(seed, pods=15, gangs=0, mixed=False)


@pytest.mark.parametrize("block", range(3))
def test_gangs_and_lone_pods_go_where_they_would_go_in_queue_order(block):
    for seed in range(block * WORLDS_PER_TEST, (block + 1) * WORLDS_PER_TEST):
        assert_equal(seed, pods=8, gangs=4, mixed=False)


@pytest.mark.parametrize("block", range(2))
def test_gangs_of_several_shapes_go_where_they_would_go_batch_by_batch(block):
    for seed in range(block * WORLDS_PER_TEST, (block + 1) * WORLDS_PER_TEST):
        assert_equal(seed, pods=2, gangs=4, mixed=True)


# --- many at once -----------------------------------------------------------------------------------


def many(world, *, nodes, pods, asks):
    """Many lone pods of several shapes on many nodes, decided in one go and by the plain scheduler."""
    listed = [node(f"n{number:02}", cpu=8, memory="16Gi") for number in range(nodes)]
    found = [pod(f"p{number:03}", **asks[number % len(asks)]) for number in range(pods)]
    placed = placements(world.see(*listed, *found).decide())
    return placed, place_one_after_another(Plain(listed), found)


@pytest.mark.parametrize("shapes", [1, 2, 5])
def test_hundreds_of_pods_in_turns_go_where_they_would_go_one_by_one(shapes):
    asks = [{"cpu": f"{300 + 200 * n}m", "memory": f"{n + 1}00Mi"} for n in range(shapes)]
    placed, plain = many(World(), nodes=40, pods=300, asks=asks)
    assert placed == plain


def test_pods_of_equal_nodes_that_overflow_the_cluster_go_where_they_would_go_one_by_one():
    asks = [{"cpu": 1}, {"cpu": 2, "memory": "3Gi"}, {"memory": "1Gi"}]
    placed, plain = many(World(), nodes=10, pods=150, asks=asks)
    assert placed == plain
    assert len(placed) < 150


def test_more_classes_than_views_are_kept_go_where_they_would_go_one_by_one(monkeypatch):
    monkeypatch.setattr("muster.framework.views._TABLE_BYTES", 0)
    monkeypatch.setattr("muster.framework.views.CLASSES_AT_ONCE", 4)
    monkeypatch.setattr("muster.engine.deciding.CLASSES_AT_ONCE", 4)
    asks = [{"cpu": f"{100 + n}m"} for n in range(60)]
    placed, plain = many(World(), nodes=30, pods=180, asks=asks)
    assert placed == plain


def test_small_gangs_in_turns_go_where_they_would_go_one_by_one():
    nodes = [node(f"n{number:02}", cpu=8, memory="16Gi") for number in range(30)]
    world, plain, expected = World(without_preemption()).see(*nodes), Plain(nodes), {}
    for number in range(60):
        members = [pod(f"g{number:02}-{n}", gang=f"g{number:02}", cpu=1 + number % 3) for n in range(3)]
        world.see(group(f"g{number:02}", 3), *members)
        expected |= place_gang(plain, members, minimum=3)
    assert placements(world.decide()) == expected
