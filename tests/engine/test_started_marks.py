"""A gang whose declaring object has no status: its members say that it has started, and a restart reads it there."""

import pytest
from msgspec.structs import replace

from muster.engine.decisions import GangCondition, MarkStarted, Release
from muster.engine.engine import Engine
from muster.gangs import dialects
from muster.gangs.dialects.v1beta1 import Native
from muster.gangs.record import STARTED
from muster.plugins.defaults import default_profile
from muster.sim.world import World
from tests.builders import cluster, group, node, only, pod

START = 1_700_000_000.0


class WithoutStatus(Native):
    """PodGroups on which nothing can be written."""

    has_status = False


@pytest.fixture
def without_status(monkeypatch):
    monkeypatch.setitem(dialects._BY_NAME, "", WithoutStatus())


def marks(decisions):
    return [(mark.gang, [ref.pod for ref in mark.pods]) for mark in only(MarkStarted, decisions)]


@pytest.mark.usefixtures("without_status")
def test_members_are_told_after_the_start_and_nothing_is_written_on_the_object():
    world = cluster(1).gang("g", members=2)
    decisions = world.decide()
    assert marks(decisions) == []
    decisions += world.bound().decide()
    assert marks(decisions) == [("team/g", ["team/g-0", "team/g-1"])]
    assert only(GangCondition, decisions) == []
    assert marks(world.decide()) == []


@pytest.mark.usefixtures("without_status")
def test_a_member_that_joins_later_is_told_too_and_others_not_again():
    world = cluster(1).gang("g", members=2)
    world.run()
    world.members("g", 2).decide()
    assert marks(world.bound().decide()) == [("team/g", ["team/g-2"])]


def test_a_gang_that_has_a_status_says_it_there():
    world = cluster(1).gang("g", members=2)
    decisions = world.decide() + world.bound().decide()
    assert marks(decisions) == []
    assert [said.holds for said in only(GangCondition, decisions)] == [True]


def simulated(members):
    """A world in which a gang "g" has started."""
    world = World(lambda: Engine(default_profile()), start=START)
    world.put_node(node("n0", cpu=8))
    world.create_group(group("g", members, timeout=10))
    for number in range(members):
        world.create_pod(pod(f"g-{number}", cpu=1, gang="g"))
    world.run(START + 1)
    return world


def without_records(world):
    """As an earlier scheduler, or another one, would have bound the pods."""
    for found in list(world.pods.values()):
        kept = {key: text for key, text in found.metadata.annotations.items() if key == STARTED}
        world.change_pod(replace(found, metadata=replace(found.metadata, annotations=kept)))


@pytest.mark.usefixtures("without_status")
@pytest.mark.parametrize("marked", [True, False])
def test_a_new_scheduler_knows_from_a_living_member_that_the_gang_has_started(marked):
    """What it lost comes back one by one; a gang that has not started would have to be whole first."""
    world = simulated(3)
    assert {found.metadata.annotations.get(STARTED) for found in world.pods.values()} == {"team/g"}
    without_records(world)
    if not marked:
        for found in list(world.pods.values()):
            world.change_pod(replace(found, metadata=replace(found.metadata, annotations={})))
    world.run(START + 2)
    world.delete_pod("uid-g-0")
    world.delete_pod("uid-g-1")
    world.run(START + 3)
    world.restart()
    world.create_pod(pod("g-3", cpu=1, gang="g"))
    world.run(START + 60)
    assert bool(world.pods["uid-g-3"].spec.node_name) is marked
    assert not [what for _, what in world.history if isinstance(what, Release)]


@pytest.mark.usefixtures("without_status")
def test_a_mark_for_another_gang_says_nothing():
    world = cluster(1).group("g", 2)
    found = pod("g-0", gang="g", on="n0")
    world.see(replace(found, metadata=replace(found.metadata, annotations={STARTED: "team/other"})))
    assert not world.engine.cluster.gangs["team/g"].once_started
    world.see(replace(found, metadata=replace(found.metadata, annotations={STARTED: "team/g"})))
    assert world.engine.cluster.gangs["team/g"].once_started
