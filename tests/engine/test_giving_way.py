"""Who was placed in this turn, and is in the way of a better one, takes its place back before anybody is told."""

from muster.engine.decisions import Lost
from muster.framework.contract import QueueOrder
from muster.framework.profile import Profile
from muster.plugins.defaults import default_plugins
from muster.plugins.priority_sort import PrioritySort
from tests.builders import World, evicted, only, placements


class FirstCome(QueueOrder):
    """The older unit first, whatever their priorities: so others are placed before a better one comes."""

    name = "FirstCome"

    def key(self, *, priority, created, uid, name):
        return (0, created, uid)


def first_come(nodes):
    """A cluster of nodes n0, n1, ... of 4 cpu, each with a label of its name."""
    plugins = [(plugin, weight) for plugin, weight in default_plugins() if not isinstance(plugin, PrioritySort)]
    world = World(Profile([*plugins, (FirstCome(), 1)]))
    for number in range(nodes):
        world.node(f"n{number}", cpu=4, labels={"node": f"n{number}"})
    return world


def efforts(world, gang):
    return world.engine.cluster.gangs[f"team/{gang}"].efforts


def waits_for_victims(nodes):
    """A gang of one, for which others leave n0; on the other nodes are pods that nobody evicts."""
    world = first_come(nodes).pod("low", cpu=4, on="n0")
    for number in range(1, nodes):
        world.pod(f"wall-{number}", cpu=4, priority=8, on=f"n{number}")
    world.gang("mid", members=1, cpu=4, priority=5, created=1.0)
    assert evicted(world.decide()) == ["low"]
    return world


def test_room_that_is_given_up_at_once_is_lost_and_counts_as_no_round():
    world = waits_for_victims(1)
    assert efforts(world, "mid").rounds == 1
    decisions = world.pod_gone("low").pod("urgent", cpu=4, priority=9, created=2.0).decide()
    assert placements(decisions) == {"urgent": "n0"}
    assert [lost.unit for lost in only(Lost, decisions)] == ["team/mid"]
    assert efforts(world, "mid").rounds == 0


def test_a_unit_that_gives_way_twice_in_a_turn_loses_what_others_left_for_once():
    world = waits_for_victims(2)
    world.pod_gone("low", "wall-1")
    for number in (0, 1):
        world.pod(f"urgent-{number}", cpu=4, priority=9, created=2.0 + number, selector={"node": f"n{number}"})
    decisions = world.decide()
    assert placements(decisions) == {"urgent-0": "n0", "urgent-1": "n1"}
    assert [lost.unit for lost in only(Lost, decisions)] == ["team/mid"]
    assert efforts(world, "mid").rounds == 0
