"""Who is woken by what: units that a change can help are tried, and no others."""

from random import Random

import numpy as np
import pytest

from muster.engine.changes import Failure
from tests.builders import cluster, evicted, group, node, placements, pod, tolerate
from tests.engine.random_worlds import place_gang, random_asks, random_node
from tests.plugins.upstream import Plain


def waiting(**asks):
    """A cluster of one full node, n0, where a pod p waits."""
    world = cluster(1, cpu=4, memory="8Gi").pod("r", cpu=4, memory="8Gi", ports=[80], on="n0").pod("p", **asks)
    assert not placements(world.decide())
    return world


# what is asked, what happens
HELPS = [
    ("a pod ends", {"cpu": 1}, lambda w: w.pod("r", cpu=4, memory="8Gi", on="n0", phase="Succeeded")),
    ("a pod is gone", {"cpu": 1}, lambda w: w.pod_gone("r")),
    ("a pod shrinks", {"cpu": 1}, lambda w: w.pod("r", cpu=2, memory="8Gi", on="n0")),
    ("a node comes", {"cpu": 1}, lambda w: w.node("n1", cpu=1)),
    ("a node grows", {"cpu": 1}, lambda w: w.node("n0", cpu=8, memory="8Gi")),
    ("a port is freed", {"ports": [80]}, lambda w: w.pod_gone("r")),
    (
        "a label comes",
        {"selector": {"zone": "a"}},
        lambda w: w.node("n0", cpu=4, memory="8Gi", labels={"zone": "a"}),
    ),
    ("a resource comes", {"gpu": 1}, lambda w: w.node("n0", cpu=4, memory="8Gi", gpu=1)),
]


@pytest.mark.parametrize(("asks", "change"), [row[1:] for row in HELPS], ids=[row[0] for row in HELPS])
def test_a_change_that_helps_wakes_the_unit(asks, change):
    world = waiting(**asks)
    assert "p" in placements(change(world).decide())


def test_a_taint_that_goes_wakes_the_unit():
    world = cluster(1, taints=["x:NoSchedule"]).pod("p")
    assert not placements(world.decide())
    assert "p" in placements(world.node("n0").decide())


def test_an_uncordoned_node_wakes_the_unit():
    world = cluster(1, cordoned=True).pod("p")
    assert not placements(world.decide())
    assert "p" in placements(world.node("n0").decide())


def test_a_rejected_bind_of_another_wakes_the_unit():
    world = cluster(1, cpu=1).pod("a", cpu=1).pod("p", cpu=1)
    world.decide()
    world.bind_failed("a", Failure.POD_GONE)
    assert placements(world.decide()) == {"p": "n0"}


def test_a_lowered_minimum_wakes_the_gang():
    world = cluster(2, cpu=1).gang("g", members=3, cpu=1)
    assert not placements(world.decide())
    assert len(placements(world.group("g", 2).decide())) == 2


def test_a_member_of_a_new_class_wakes_the_gang():
    world = cluster(2, cpu=1).group("g", 3).members("g", 0, 1, 2, cpu=1)
    assert not placements(world.decide())
    assert len(placements(world.members("g", 3, cpu=0).decide())) == 3


def test_a_further_member_of_a_class_wakes_a_mixed_gang_that_it_can_help():
    world = cluster(3, cpu=2).group("g", 3).members("g", 0, 1, cpu=2).members("g", 2, 3, cpu=3)
    assert not placements(world.decide())
    assert set(placements(world.members("g", 4, cpu=2).decide())) == {"g-0", "g-1", "g-4"}


def mixed_gang():
    """A gang of one large member and one with a gpu; the nodes of both are taken."""
    world = cluster().node("big", cpu=4).node("fast", cpu=1, gpu=1)
    world.pod("r", cpu=4, on="big").pod("s", gpu=1, on="fast")
    world.group("g", 2).members("g", 0, cpu=4).members("g", 1, gpu=1)
    assert not placements(world.decide())
    return world


def test_a_mixed_gang_is_woken_when_its_classes_fit_together():
    world = mixed_gang()
    world.pod_gone("s").decide()
    assert placements(world.pod_gone("r").decide()) == {"g-0": "big", "g-1": "fast"}


def test_a_mixed_gang_is_not_woken_while_one_of_its_classes_does_not_fit():
    world = mixed_gang()
    world.pod_gone("r").decide()
    assert len(world.attempts("g")) == 1


def test_a_toleration_that_is_added_wakes_a_lone_pod():
    world = cluster(1, taints=["x:NoSchedule"]).pod("p")
    assert not placements(world.decide())
    assert placements(world.pod("p", tolerations=[tolerate("x")]).decide()) == {"p": "n0"}


def test_who_may_evict_is_woken_behind_many_whom_that_does_not_help():
    world = cluster(2, cpu=8).pod("high", cpu=4, on="n0", priority=9).pod("low", cpu=4, on="n0", priority=1)
    world.pod("other", cpu=8, on="n1", priority=9)
    for number in range(12):
        world.gang(f"big{number}", members=3, cpu=8, priority=5, created=1.0 + number)
    world.pod("p", cpu=8, priority=5, created=50.0).decide()
    assert evicted(world.pod_gone("high").decide()) == ["low"]


# --- and what does not help -----------------------------------------------------------------------

IDLE = [
    ("too little is freed", lambda w: w.pod("r", cpu=3, memory="8Gi", on="n0")),
    ("another resource is freed", lambda w: w.pod("r", cpu=4, memory="1Gi", on="n0")),
    ("the node is seen again as it was", lambda w: w.node("n0", cpu=4, memory="8Gi")),
    ("a label comes that nobody reads", lambda w: w.node("n0", cpu=4, memory="8Gi", labels={"a": "b"})),
    ("a node comes that is too small", lambda w: w.node("n1", cpu=1)),
    ("a node comes that refuses the pod", lambda w: w.node("n1", cpu=8, taints=["x:NoSchedule"])),
    ("a node goes", lambda w: w.node_gone("n0")),
    ("the pod's own condition is echoed", lambda w: w.pod("p", cpu=2)),
    ("an unrelated pod comes", lambda w: w.pod("q", cpu=9)),
    ("an unrelated gang comes", lambda w: w.gang("g", members=2, cpu=9)),
]


@pytest.mark.parametrize("change", [row[1] for row in IDLE], ids=[row[0] for row in IDLE])
def test_a_change_that_cannot_help_wakes_nobody(change):
    world = waiting(cpu=2)
    change(world).decide()
    assert len(world.attempts("p")) == 1


def test_room_that_is_freed_and_taken_again_wakes_at_most_once():
    world = waiting(cpu=2)
    world.pod_gone("r").pod("s", cpu=4, on="n0")
    world.decide()
    assert len(world.attempts("p")) == 1


def test_a_gang_is_not_woken_for_less_than_it_needs():
    world = cluster(4, cpu=1)
    for number in range(4):
        world.pod(f"r{number}", cpu=1, on=f"n{number}")
    world.gang("g", members=3, cpu=1)
    world.decide()
    world.pod_gone("r0").decide()
    world.pod_gone("r1").decide()
    assert len(world.attempts("g")) == 1
    assert len(placements(world.pod_gone("r2").decide())) == 3


def test_members_that_come_to_a_waiting_gang_of_one_class_do_not_wake_it():
    world = cluster(1, cpu=1).gang("g", members=3, cpu=1)
    world.decide()
    world.members("g", 3, 4, 5, cpu=1).decide()
    assert len(world.attempts("g")) == 1


def test_one_freed_place_wakes_one_of_a_thousand():
    world = cluster(1, cpu=1).pod("r", cpu=1, on="n0")
    world.see(*(pod(f"p{number:04}", cpu=1) for number in range(1000)))
    world.decide()
    tried = sum(1 for _ in world.engine.audit)
    assert placements(world.pod_gone("r").decide()) == {"p0000": "n0"}
    assert sum(1 for _ in world.engine.audit) == tried + 1


def test_freed_room_wakes_as_many_as_it_holds_best_first():
    world = cluster(1, cpu=4).pod("r", cpu=4, on="n0")
    for number in range(10):
        world.pod(f"p{number}", cpu=1, priority=number)
    world.decide()
    tried = sum(1 for _ in world.engine.audit)
    assert set(placements(world.pod_gone("r").decide())) == {"p9", "p8", "p7", "p6"}
    assert sum(1 for _ in world.engine.audit) == tried + 4


def test_a_gang_too_big_for_the_freed_room_does_not_keep_it_from_a_smaller_unit():
    world = cluster(2, cpu=2).pod("r", cpu=2, on="n0").pod("s", cpu=2, on="n1")
    world.gang("g", members=4, cpu=1).pod("p", cpu=1, created=1.0)
    world.decide()
    assert set(placements(world.pod_gone("r").decide())) == {"p"}


# --- mended ---------------------------------------------------------------------------------------


def test_the_line_does_not_grow_while_nothing_happens():
    world = cluster(1, cpu=4).pod("r", cpu=4, on="n0", priority=9)
    world.see(*(pod(f"p{number}", cpu=4) for number in range(20)))
    for _ in range(50):
        world.decide(after=60.0)
    assert len(world.engine._queue._hopeful) < 60


def test_the_waiting_room_can_be_used_again_after_it_was_empty():
    world = cluster(2, cpu=2).pod("a", cpu=4, selector={"x": "1"}).pod("b", cpu=4, selector={"y": "1"})
    world.decide()
    world.pod_gone("b").decide()
    world.pod_gone("a").decide()
    world.pod("c", cpu=4).decide()
    assert placements(world.node("n9", cpu=8).decide()) == {"c": "n9"}


# --- nobody who fits is left waiting --------------------------------------------------------------


class History:
    """Random changes, and the objects as they are now for the plain scheduler."""

    def __init__(self, seed):
        self.rng = Random(seed)
        self.world = cluster()
        self.nodes, self.pods, self.groups = {}, {}, {}
        self._classes = [random_asks(self.rng) for _ in range(4)]
        self._count = 0
        for number in range(self.rng.randint(0, 4)):
            self._put_node(f"n{number}")

    def step(self):
        for _ in range(self.rng.randint(1, 4)):
            self._change()
        decisions = self.world.decide()
        self._remember(placements(decisions))
        self.world.bound()
        self._remember(placements(self.world.decide()))

    def _remember(self, placed):
        for name, on in placed.items():
            self.pods[name] = (self.pods[name][0], on)

    def _change(self):
        kind = self.rng.choice(["pod", "pod", "gang", "end", "end", "node", "node gone", "minimum", "member"])
        bound = [name for name, (_, on) in self.pods.items() if on]
        self._count += 1
        if kind == "pod":
            self._put_pod(f"p{self._count}", None, self.rng.choice(self._classes))
        elif kind == "gang":
            name, asks = f"g{self._count}", self.rng.choice(self._classes)
            size = self.rng.randint(1, 5)
            self._put_group(name, self.rng.randint(1, size), asks)
            for number in range(size):
                self._put_pod(f"{name}-{number}", name, asks)
        elif kind == "end" and bound:
            name = self.rng.choice(bound)
            del self.pods[name]
            self.world.pod_gone(name)
        elif kind == "node":
            self._put_node(f"n{self.rng.randint(0, 6)}")
        elif kind == "node gone" and self.nodes:
            name = self.rng.choice(sorted(self.nodes))
            del self.nodes[name]
            self.world.node_gone(name)
        elif kind == "minimum" and self.groups:
            name = self.rng.choice(sorted(self.groups))
            self._put_group(name, self.rng.randint(1, 5), self.groups[name][1])
        elif kind == "member" and self.groups:
            name = self.rng.choice(sorted(self.groups))
            self._put_pod(f"{name}-x{self._count}", name, self.groups[name][1])

    def _put_node(self, name):
        self.nodes[name] = random_node(self.rng, name)
        self.world.see(self.nodes[name])

    def _put_pod(self, name, gang, asks):
        found = pod(name, gang=gang, created=float(self._count), **asks)
        self.pods[name] = (found, "")
        self.world.see(found)

    def _put_group(self, name, minimum, asks):
        found = group(name, minimum, created=float(self._count))
        self.groups[name] = (minimum, asks)
        self.world.see(found)

    # what must hold

    def left_waiting(self):
        """Units that fit and are not placed."""
        pending = {name: found for name, (found, on) in self.pods.items() if not on}
        lone = [[found] for found in pending.values() if found.spec.scheduling_group is None]
        gangs = [self._needed(name) for name in self.groups]
        units = [(members, 1) for members in lone] + [unit for unit in gangs if unit]
        return [members[0].metadata.name for members, needed in units if self._fits(members, needed)]

    def _needed(self, gang):
        members = [(found, on) for found, on in self.pods.values() if _gang_of(found) == gang]
        pending = [found for found, on in members if not on]
        state = self.world.engine.cluster.gangs[f"team/{gang}"]
        have = sum(1 for _, on in members if on in self.nodes)
        # what was lost comes back one by one, what was never there together
        piecemeal = state.started and have < state.floor(state.declared.subsets[0])
        lacking = 1 if piecemeal else max(1, self.groups[gang][0] - have)
        return (pending, lacking) if len(pending) >= lacking else None

    def _fits(self, members, needed):
        plain = Plain(self.nodes.values())
        for found, on in self.pods.values():
            if on in plain.machines:
                plain.add(on, found)
        return bool(place_gang(plain, members, minimum=needed))


def _gang_of(found):
    named = found.spec.scheduling_group
    return named.pod_group_name if named else None


def test_a_mix_is_woken_by_room_in_which_no_more_of_either_shape_would_fit_alone():
    world = cluster(1, cpu=7).pod("r", cpu=1, on="n0").group("g", 2).members("g", 0, cpu=4).members("g", 1, cpu=3)
    world.decide()
    assert set(placements(world.pod_gone("r").decide())) == {"g-0", "g-1"}


def test_mixes_that_are_alike_are_weighed_apart_if_other_nodes_are_held_from_them():
    """What is held from a unit for which room is reserved is said in an array of its own, gone when the next comes:
    that may have the same address.  Here it is one array all the time."""
    world = cluster(1, cpu=7).node("small", cpu=4).pod("r", cpu=7, on="n0")
    for name in "abcdef":
        world.group(name, 2, created=float(ord(name))).members(name, 0, cpu=4).members(name, 1, cpu=3)
    world.decide()
    nodes = world.engine.cluster.nodes
    held = np.zeros(nodes.capacity, np.bool_)

    def held_from(unit):
        held[nodes.rows["n0"]] = unit.key != "team/f"
        return held

    world.engine._queue.ask_about_holds(held_from, lambda row: row == nodes.rows["n0"])
    assert set(placements(world.pod_gone("r").decide())) == {"f-0", "f-1"}


@pytest.mark.parametrize("seed", range(40))
def test_nobody_who_fits_is_left_waiting_after_any_changes(seed):
    history = History(seed)
    for _ in range(12):
        history.step()
        assert history.left_waiting() == []


def test_the_check_itself_finds_a_unit_that_fits():
    history = History(0)
    history.nodes = {"n0": node("n0")}
    history.pods = {"p": (pod("p", cpu=1), "")}
    history.groups = {}
    assert history.left_waiting() == ["p"]
