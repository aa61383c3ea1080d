"""How much room pods of each priority take, kept up to date pod by pod: against counting anew."""

from random import Random

import numpy as np
import pytest

from muster.cluster.cluster import Cluster
from muster.cluster.levels import Levels
from muster.cluster.pods import PodState, Stage
from tests.builders import STARTED, World, cluster, group, node, pod

CPU = 1


def running(name, *, level, cpu=1):
    return PodState(
        uid=f"uid-{name}",
        key=f"team/{name}",
        created=0.0,
        priority=level,
        pod_class=Cluster(states={}).classes.of(pod(name, cpu=cpu)),
        gang=None,
        subset="",
        ours=True,
        gates=(),
        gated_by=None,
        leaving=False,
        stage=Stage.BOUND,
        node="n0",
        level=level,
    )


def cpu_below(levels, priority, *, rows=4):
    """Milli-cpu that pods below the priority take, by row."""
    return levels.below(priority, np.zeros((3, rows), np.int64))[CPU].tolist()


def test_what_pods_below_a_priority_take_is_added_to_what_is_free():
    levels = Levels()
    levels.add(running("a", level=1, cpu=1), 0, 1)
    levels.add(running("b", level=2, cpu=2), 0, 1)
    levels.add(running("c", level=2, cpu=4), 3, 1)
    assert cpu_below(levels, 1) == [0, 0, 0, 0]
    assert cpu_below(levels, 2) == [1000, 0, 0, 0]
    assert cpu_below(levels, 3) == [3000, 0, 0, 4000]


def test_the_room_that_was_given_is_not_changed():
    levels = Levels()
    levels.add(running("a", level=1), 0, 1)
    free = np.zeros((3, 2), np.int64)
    levels.below(9, free)
    assert not free.any()


def test_what_a_pod_gives_back_is_no_longer_counted():
    levels = Levels()
    found = running("a", level=1)
    levels.add(found, 0, 1)
    levels.add(found, 0, -1)
    assert cpu_below(levels, 9) == [0, 0, 0, 0]


def test_a_level_without_pods_is_no_level():
    levels = Levels()
    found = running("a", level=1)
    levels.add(found, 0, 1)
    assert levels.any_below(2)
    assert not levels.any_below(1)
    levels.add(found, 0, -1)
    assert not levels.any_below(2)


def test_rows_beyond_those_asked_for_are_left_out():
    levels = Levels()
    levels.add(running("a", level=1), 100, 1)
    assert cpu_below(levels, 9, rows=2) == [0, 0]


# --- in a cluster ---------------------------------------------------------------------------------


def hoped_for(world, priority):
    """Milli-cpu that would be free on each node if all below the priority left, by node."""
    found = world.engine.cluster
    free = found.levels.below(priority, found.nodes.usage.free)[CPU]
    return {name: int(free[row]) for name, row in found.nodes.rows.items()}


def test_members_count_at_their_gangs_priority():
    world = cluster(1, cpu=4).runs("g", "n0", cpu=2, priority=5)
    assert hoped_for(world, 5) == {"n0": 2000}
    assert hoped_for(world, 6) == {"n0": 4000}


@pytest.mark.parametrize("first", ["group", "pods"])
def test_the_order_in_which_group_and_pods_come_makes_no_difference(first):
    world = cluster(1, cpu=4)
    objects = [group("g", 1, priority=5), pod("g-0", gang="g", cpu=2, on="n0", priority=3)]
    world.see(*(objects if first == "group" else objects[::-1]))
    assert hoped_for(world, 5) == {"n0": 2000}
    assert hoped_for(world, 6) == {"n0": 4000}


def test_a_member_of_higher_priority_than_its_gang_counts_its_own():
    world = cluster(1, cpu=4).group("g", 2, condition=STARTED).members("g", 0, cpu=1, on="n0", priority=9)
    world.members("g", 1, cpu=2, on="n0", priority=3).decide()
    assert hoped_for(world, 4) == {"n0": 3000}


def test_the_members_of_a_gang_that_goes_whole_count_as_the_highest_of_them():
    world = cluster(1, cpu=4).group("g", 2, disruption="all").members("g", 0, cpu=1, on="n0", priority=9)
    world.members("g", 1, cpu=2, on="n0", priority=3).decide()
    assert hoped_for(world, 9) == {"n0": 1000}
    assert hoped_for(world, 10) == {"n0": 4000}


def test_a_node_that_comes_after_its_pods_counts_them():
    world = World().pod("a", cpu=2, on="late", priority=1).node("late", cpu=4)
    assert hoped_for(world, 2) == {"late": 4000}


class Shuffled:
    """Random pods, groups and nodes that come, change and go; and the sum as it should be."""

    def __init__(self, seed):
        self.rng = Random(seed)
        self.world = World()
        self.pods, self.groups, self.nodes = {}, {}, set()

    def step(self):
        rng = self.rng
        name, where = f"p{rng.randint(0, 9)}", f"n{rng.randint(0, 3)}"
        kind = rng.choice(["pod", "pod", "pod", "gone", "node", "node gone", "group", "group gone"])
        if kind == "pod" and name not in self.pods:
            gang = rng.choice([None, "a", "b"])
            self.pods[name] = (gang, rng.randint(1, 3), rng.randint(0, 4), where)
            self._see(name)
        elif kind == "gone" and name in self.pods:
            del self.pods[name]
            self.world.pod_gone(name)
        elif kind == "node" and where not in self.nodes:
            self.nodes.add(where)
            self.world.see(node(where, cpu=100))
        elif kind == "node gone" and where in self.nodes:
            self.nodes.remove(where)
            self.world.node_gone(where)
        elif kind == "group":
            gang = rng.choice("ab")
            priority, mode = rng.choice([None, rng.randint(0, 4)]), rng.choice(["all", "single"])
            self.groups[gang] = priority, mode
            self.world.see(group(gang, 1, priority=priority, disruption=mode))
        elif kind == "group gone":
            gang = rng.choice("ab")
            self.groups.pop(gang, None)
            self.world.group_gone(gang)
        self.world.decide(after=1.0)

    def _see(self, name):
        gang, cpu, priority, where = self.pods[name]
        self.world.see(pod(name, gang=gang, cpu=cpu, priority=priority, on=where))

    def _level(self, name):
        gang, _, priority, _ = self.pods[name]
        if gang is None:
            return priority
        declared, mode = self.groups.get(gang, (None, "single"))
        # members on nodes that are not there count for nothing, and so have no say
        there = [p for g, _, p, on in self.pods.values() if g == gang and on in self.nodes]
        own = min(there, default=0) if declared is None else declared
        return max([own, priority, *(there if mode == "all" else [])])

    def expected(self, priority):
        free = dict.fromkeys(self.nodes, 100_000)
        for name, (_, cpu, _, where) in self.pods.items():
            if where in free and self._level(name) >= priority:
                free[where] -= 1000 * cpu
        return free


@pytest.mark.parametrize("seed", range(20))
def test_those_are_counted_who_may_go_whatever_comes_and_goes(seed):
    shuffled = Shuffled(seed)
    for _ in range(60):
        shuffled.step()
        for priority in range(6):
            assert hoped_for(shuffled.world, priority) == shuffled.expected(priority)


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_hoped_for_beyond_what_runs(seed):
    shuffled = Shuffled(seed)
    for _ in range(60):
        shuffled.step()
        assert hoped_for(shuffled.world, 99) == dict.fromkeys(shuffled.nodes, 100_000)
