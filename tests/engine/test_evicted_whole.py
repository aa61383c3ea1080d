"""A gang of which nothing is left says on its object for whom it was evicted, until it starts again."""

import pytest

from muster.api.wire import Condition
from muster.engine.changes import Failure
from muster.engine.decisions import Evict, GangCondition
from muster.gangs.model import Aspect
from tests.builders import STARTED, cluster, evicted, only, pod

MESSAGE = "muster: preempting to accommodate a higher priority {} team/high".format
TARGET = Condition(type="DisruptionTarget", status="True", reason="PreemptionByScheduler", message="m")


def targets(decisions):
    """What is said of being evicted whole: gang, whether, reason, message."""
    said = [d for d in only(GangCondition, decisions) if d.aspect is Aspect.EVICTED]
    return [(d.gang.partition("/")[2], d.holds, d.reason, d.message) for d in said]


def crowded(disruption="all", **facts):
    return cluster(2, cpu=4).runs("g", "n0", "n1", cpu=4, disruption=disruption, **facts)


@pytest.mark.parametrize("kind", ["podgroup", "pod"])
def test_a_gang_that_is_evicted_whole_says_for_whom(kind):
    world = crowded()
    asks = {"cpu": 4, "priority": 5}
    world = world.gang("high", members=1, **asks) if kind == "podgroup" else world.pod("high", **asks)
    decisions = world.decide()
    assert evicted(decisions) == ["g-0", "g-1"]
    assert targets(decisions) == [("g", True, "PreemptionByScheduler", MESSAGE(kind))]


def test_the_group_says_so_with_the_eviction_and_not_before():
    kinds = [type(d) for d in crowded().gang("high", members=1, cpu=4, priority=5).decide()]
    assert kinds.index(Evict) < len(kinds) - 1 - kinds[::-1].index(GangCondition)


def test_a_gang_that_loses_all_its_pods_one_by_one_says_so_too():
    decisions = crowded("single").gang("high", members=2, cpu=4, priority=5).decide()
    assert [gang for gang, *_ in targets(decisions)] == ["g"]


def test_a_gang_that_loses_a_part_says_nothing():
    decisions = crowded("single", minimum=1).gang("high", members=1, cpu=4, priority=5).decide()
    assert len(evicted(decisions)) == 1
    assert targets(decisions) == []


def test_a_gang_that_had_not_started_says_so_too():
    world = cluster(1, cpu=4).group("g", 2).members("g", 0, cpu=4, on="n0", bound_at=0.0)
    assert [gang for gang, *_ in targets(world.pod("high", cpu=4, priority=5).decide())] == ["g"]


def test_a_gang_that_gave_up_the_only_bind_it_had_was_not_evicted():
    world = cluster(2, cpu=4).pod("low", cpu=4, on="n1").gang("g", members=1, cpu=4)
    world.decide()
    world.bind_failed("g-0", Failure.DENIED).decide()
    decisions = world.gang("high", members=2, cpu=4, priority=5).decide()
    assert (evicted(decisions), targets(decisions)) == (["low"], [])


def test_another_schedulers_gang_is_not_ours_to_speak_of():
    world = cluster(1, cpu=4).runs("g", "n0", cpu=4, disruption="all", scheduler="other")
    decisions = world.pod("high", cpu=4, priority=5).decide()
    assert (evicted(decisions), targets(decisions)) == (["g-0"], [])


def evicted_whole(world=None):
    """The gang was evicted, those for whom are running, and then there are two more nodes."""
    world = world or crowded()
    world.gang("high", members=2, cpu=4, priority=5).decide()
    world.pod_gone("g-0", "g-1").decide()
    world.bound().decide()
    return world.node("n2", cpu=4).node("n3", cpu=4)


AGAIN = [("g", False, "Scheduled", "")]


def test_it_is_taken_back_at_the_next_start():
    world = evicted_whole().members("g", 2, cpu=4)
    assert targets(world.decide() + world.decide(after=5.0)) == []
    assert targets(world.members("g", 3, cpu=4).decide()) == []
    assert targets(world.bound("g-2").decide()) == []
    assert targets(world.bound("g-3").decide()) == AGAIN
    assert targets(world.members("g", 4, cpu=1).decide(after=60.0)) == []


def test_a_gang_that_is_evicted_once_more_says_so_once_more():
    world = evicted_whole().members("g", 2, 3, cpu=4)
    world.decide()
    assert targets(world.bound().decide()) == AGAIN
    again = world.gang("top", members=4, cpu=4, priority=9).decide()
    assert sorted(said[:2] for said in targets(again)) == [("g", True), ("high", True)]


def test_an_older_view_of_the_object_does_not_take_it_back():
    world = evicted_whole().group("g", 2, disruption="all", condition=STARTED).members("g", 2, 3, cpu=4)
    world.decide()
    assert targets(world.bound().decide()) == AGAIN
    world.group("g", 2, disruption="all", condition=STARTED, conditions=[TARGET])
    assert targets(world.decide() + world.decide(after=5.0)) == []


def test_a_new_engine_takes_it_back_too():
    world = cluster(2, cpu=4).group("g", 2, condition=STARTED, conditions=[TARGET]).members("g", 0, 1, cpu=4)
    assert targets(world.decide()) == []
    assert targets(world.bound().decide()) == AGAIN


def test_a_new_engine_that_finds_it_running_takes_it_back_at_once():
    world = cluster(2, cpu=4).group("g", 2, condition=STARTED, conditions=[TARGET])
    assert targets(world.members("g", 0, 1, cpu=4, on="n0").decide()) == AGAIN


def test_members_that_have_succeeded_are_no_start():
    world = cluster(2, cpu=4).group("g", 1, condition=STARTED, disruption="all")
    world.members("g", 0, cpu=4, on="n0", phase="Succeeded").members("g", 1, cpu=4, on="n1")
    world.see(pod("busy", cpu=4, on="n0", priority=9))
    assert [said[1] for said in targets(world.pod("high", cpu=4, priority=5).decide())] == [True]
    assert targets(world.pod_gone("g-1").decide() + world.decide(after=60.0)) == []
