"""What must not stop or mislead the engine: absurd numbers, unreadable objects, late and stale news."""

import numpy as np
import pytest

from muster.api.wire import Condition
from muster.cluster.usage import RowState
from muster.engine.changes import Failure
from muster.engine.decisions import Bind, Event, GangCondition
from muster.framework.contract import PodGate, RoomFilter, Stateful
from muster.framework.profile import Profile
from muster.gangs.model import Aspect
from muster.plugins.defaults import default_plugins
from tests.builders import World, cluster, node, pod

OLD_NEWS = Condition(type="PodGroupInitiallyScheduled", status="False", reason="Unschedulable", message="old news")


def binds(decisions):
    return {placed.pod.partition("/")[2]: placed.node for d in decisions if isinstance(d, Bind) for placed in d.pods}


@pytest.mark.parametrize(
    "facts", [{}, {"on": "n0"}, {"on": "n0", "scheduler": "other"}], ids=["waits", "runs", "foreign"]
)
def test_a_pod_that_asks_for_more_than_64_bits_count_stops_nobody(facts):
    world = cluster(2).pod("huge", memory="8Ei", cpu="9E", **facts)
    world.decide()
    assert binds(world.pod("p", cpu=1).decide()) == {"p": "n1" if facts else "n0"}


def test_a_node_with_absurd_pods_on_it_has_no_room():
    world = cluster(1).pod("a", memory="8Ei", on="n0").pod("b", memory="8Ei", on="n0")
    world.decide()
    assert binds(world.pod("p", memory="1Gi").decide()) == {}


def test_a_pod_that_asks_for_less_than_nothing_stops_nobody():
    world = cluster(1).pod("odd", cpu=-(2**62), memory="-8Ei", on="n0")
    assert binds(world.pod("p", cpu=8).decide()) == {"p": "n0"}


def test_a_pod_that_asks_for_20_petabytes_is_not_bound_to_a_node_that_has_10():
    world = World().node("n0", resources={"ephemeral-storage": "10Pi"})
    world.pod("large", requests={"ephemeral-storage": "20Pi"}).pod("small", requests={"ephemeral-storage": "5Pi"})
    assert binds(world.decide()) == {"small": "n0"}


def test_room_in_all_is_counted_beyond_64_bits():
    """Two thousand nodes with 5Pi each are 10000Pi, of which a gang of two wants 12."""
    world = World()
    for number in range(2000):
        world.node(f"n{number}", resources={"ephemeral-storage": "5Pi"})
    decisions = world.gang("g", members=2, requests={"ephemeral-storage": "6Pi"}).decide()
    said = [d.message for d in decisions if isinstance(d, GangCondition)]
    assert any("enough is free in all" in message for message in said), said


def test_an_object_that_cannot_be_read_is_told_and_changes_nothing():
    world = cluster(1).gang("g", members=2, cpu=1)
    world.decide()
    world.see(pod("g-0", gang="g", cpu="lots"), node("n1", memory="plenty"), pod("q", cpu=1))
    decisions = world.decide()
    told = [d for d in decisions if isinstance(d, Event) and "not a quantity" in d.note]
    assert {(d.pods[0].pod if d.pods else d.node) for d in told} == {"team/g-0", "n1"}
    assert binds(decisions) == {"q": "n0"}
    assert world.engine.cluster.gangs["team/g"].present == 2


def test_resources_that_no_node_has_cost_no_room_in_the_tables():
    world = cluster(3)
    for number in range(50):
        world.pod(f"p{number}", requests={f"example.com/{number}": 1}, scheduler="other", on="n0")
    world.decide()
    assert len(world.engine.cluster.resources) == 3


def test_pods_that_ask_for_a_resource_start_when_a_node_brings_it():
    world = cluster(1).pod("runs", requests={"example.com/nic": 1}, on="late").pod("p", requests={"example.com/nic": 1})
    world.decide()
    assert binds(world.node("late", resources={"example.com/nic": 1}).decide()) == {}
    assert binds(world.node("later", resources={"example.com/nic": 1}).decide()) == {"p": "later"}


def test_an_older_view_of_the_object_does_not_take_back_that_the_gang_has_started():
    world = cluster(2).gang("g", members=2, cpu=1).run()
    world.decide()
    world.group("g", 2, condition=OLD_NEWS).pod_gone("g-0")
    later = [d for after in (3.0, 400.0) for d in world.decide(after=after)]
    assert not [d for d in later if isinstance(d, GangCondition) and d.aspect is Aspect.STARTED]


class OnePerNode(RoomFilter, Stateful):
    """A plugin of somebody else's: one pod of ours on each node."""

    name = "OnePerNode"

    class State(RowState):
        def __init__(self, rows=()):
            self.rows = set(rows)

        def add(self, row, pod_class):
            self.rows.add(row)

        def remove(self, row, pod_class):
            self.rows.discard(row)

        def clear(self, row):
            self.rows.discard(row)

        def copy(self):
            return type(self)(self.rows)

    def concerns(self, pod_class):
        return True

    def new_state(self):
        return self.State()

    def copies(self, lines, room):
        taken = room.usage.states[self.name].rows
        rows = range(room.nodes.capacity) if room.rows is None else room.rows.tolist()
        return np.array([[0 if row in taken else 1 for row in rows]])

    def refusals(self, pod_class, room):
        return [("node(s) were taken", self.copies(pod_class.line, room)[0] == 0)]


class Closed(PodGate):
    name = "Closed"

    def holds(self, found):
        return "closed today"


def world_with(*plugins):
    return World(Profile([*default_plugins(), *((plugin, 0) for plugin in plugins)]))


def test_a_plugin_with_state_holds_for_many_small_units_and_wakes_them():
    world = world_with(OnePerNode()).node("n0").node("n1")
    for number in range(4):
        world.pod(f"p{number}", cpu=1)
    assert binds(world.decide()) == {"p0": "n0", "p1": "n1"}
    assert binds(world.pod_gone("p0").decide()) == {"p2": "n0"}


def test_a_gate_holds_gangs_as_it_holds_pods():
    world = world_with(Closed()).node("n0").pod("p", cpu=1).gang("g", members=2, cpu=1)
    assert binds(world.decide()) == {}
    said = [d.message for d in world.decide(after=3.0) if isinstance(d, GangCondition)]
    assert said == ["2 of 2 members may not be placed yet (closed today)"]


def test_members_of_a_group_that_does_not_exist_are_told_so_once():
    world = cluster(1).members("typo", 0, 1, cpu=1)
    world.decide()
    told = [d for after in (3.0, 300.0) for d in world.decide(after=after) if isinstance(d, Event)]
    assert [d.note for d in told] == ["waiting for its pod group: typo does not exist"]
    assert len(told[0].pods) == 2


def test_a_refused_bind_says_what_it_was_answered():
    world = cluster(1).pod("p", cpu=1)
    world.decide()
    decisions = world.bind_failed("p", Failure.REJECTED).decide()
    assert [d.note for d in decisions if isinstance(d, Event)] == ["binding to n0 was refused: rejected"]
