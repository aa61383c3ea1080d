"""A gang may say how long it waits for its start; then nothing is held for it, and it waits as long again."""

import pytest

from muster.engine.changes import Failure
from muster.engine.decisions import GangCondition
from tests.builders import World, cluster, evicted, only, placements, told

IMPATIENT = {"muster.dev/start-timeout-seconds": "60"}
STEPS_BACK = "has not started within 60 s: others may go before, and it is tried again"


def waiting(*, now=0.0):
    """A gang of two, created at 1 s, needs both nodes, one of which is taken for long; a scheduler comes `now`."""
    world = World().node("n0", cpu=4).node("n1", cpu=4).pod("wall", cpu=4, on="n1")
    world.group("big", 2, created=1.0, annotations=IMPATIENT)
    world.members("big", 0, 1, cpu=4, created=1.0).decide(after=now)
    return world


def passes(world, *names):
    """Who of the pods, that come one after another and end at once, gets room."""
    found = []
    for name in names:
        found += placements(world.pod(name, cpu=4, created=world.now + 2).decide())
        world.bound().pod_gone(name).decide()
    return found


def until(world, now):
    return world.decide(after=now - world.now)


def test_the_gang_says_that_its_time_is_over():
    world = waiting()
    assert "big" not in told(until(world, 60.9))
    (said,) = only(GangCondition, until(world, 61.0))
    assert (said.gang, said.holds, said.reason, said.message) == ("team/big", False, "Timeout", STEPS_BACK)


def test_the_time_is_counted_from_the_first_member_whenever_its_object_came():
    world = World().node("n0", cpu=4).members("big", 0, cpu=4, created=0.0).members("big", 1, cpu=4, created=20.0)
    world.group("big", 2, created=40.0, annotations=IMPATIENT)
    until(world, 41.0)
    assert told(until(world, 60.0))["big"] == STEPS_BACK


def test_who_came_back_waits_anew():
    world = waiting()
    until(world, 50.0)
    world.pod_gone("big-0").pod_gone("big-1").members("big", 0, 1, cpu=4, created=50.0)
    assert told(until(world, 61.0)).get("big") != STEPS_BACK
    assert told(until(world, 110.0))["big"] == STEPS_BACK


def test_nothing_is_held_for_it_any_more_until_it_was_passed_again():
    world = waiting()
    assert passes(world, "a", "b", "c", "d", "e") == ["a", "b", "c", "d"]
    until(world, 61.0)
    assert passes(world, "f") == ["f"]
    until(world, 90.0)
    assert passes(world, "g", "h", "i", "j", "k") == ["g", "h", "i", "j"]


def test_it_goes_on_and_starts_when_there_is_room():
    world = waiting()
    until(world, 61.0)
    world.pod_gone("wall")
    placed = placements(until(world, 61.1))
    assert not placed, "it has stepped back"
    assert placements(until(world, 75.0)).keys() == {"big-0", "big-1"}


def test_it_says_so_every_time():
    world = waiting()
    until(world, 61.0)
    until(world, 100.0)
    assert told(until(world, 121.0))["big"] == STEPS_BACK


def test_a_new_scheduler_counts_on():
    world = waiting(now=100.0)
    assert told(until(world, 120.9)).get("big") != STEPS_BACK
    assert told(until(world, 121.0))["big"] == STEPS_BACK


def test_nobody_leaves_for_it_in_vain():
    world = World().node("n0", cpu=4).node("n1", cpu=4)
    world.pod("low-0", cpu=4, on="n0").pod("low-1", cpu=4, on="n1")
    until(world, 30.0)
    world.group("big", 2, created=1.0, priority=9, annotations=IMPATIENT).members("big", 0, 1, cpu=4, created=1.0)
    assert evicted(until(world, 59.0)) == ["low-0", "low-1"]
    assert told(until(world, 61.0)).get("big") != STEPS_BACK
    world.pod_gone("low-0").pod_gone("low-1")
    assert placements(until(world, 61.5)).keys() == {"big-0", "big-1"}


def test_a_gang_that_lacks_members_says_that():
    world = cluster(1, cpu=8).group("big", 2, annotations=IMPATIENT).members("big", 0, cpu=1, created=1.0)
    world.decide()
    assert "big" in told(until(world, 10.0))
    assert "big" not in told(until(world, 61.0))
    assert placements(world.members("big", 1, cpu=1, created=62.0).decide()).keys() == {"big-0", "big-1"}


def test_a_gang_that_started_is_not_asked_for():
    world = cluster(1, cpu=8).group("big", 2, annotations=IMPATIENT).members("big", 0, 1, cpu=1, created=1.0)
    world.decide()
    world.bound().decide()
    assert "big" not in told(until(world, 100.0))


def test_one_that_lost_a_member_since_says_that_it_lacks_one():
    world = waiting()
    until(world, 61.0)
    world.pod_gone("big-1").decide()
    assert told(until(world, 64.0))["big"] == "1 of 2 members exist, 1 more must be created"


# --- any time may be written, and of thousands of gangs ---


def impatient(seconds, *, since=1.0):
    """A gang of one that waits for room, and for its start no longer than so many seconds."""
    world = World().node("n0", cpu=4).pod("wall", cpu=4, on="n0")
    world.now = since
    world.group("big", 1, created=since, annotations={"muster.dev/start-timeout-seconds": seconds})
    return world.members("big", 0, cpu=4, created=since)


def step(world, seconds):
    """All that is decided meanwhile, and how often anything was asked."""
    decisions, end = world.engine.decide(world.now), world.now + seconds
    calls = 1
    while (due := world.engine.next_decide_at) is not None and due <= end:
        world.now = max(world.now, due)
        decisions += world.engine.decide(world.now)
        calls += 1
        assert calls < 10_000, "an engine with nothing to do spins"
    world.now = end
    return decisions, calls


@pytest.mark.parametrize("since", [1.0, 1794900000.3])
@pytest.mark.parametrize("seconds", ["1", "0.5", "1e-3", "1e-9", "5e-324"])
def test_a_short_time_keeps_neither_the_engine_nor_the_api_busy(seconds, since):
    decisions, calls = step(impatient(seconds, since=since), 600.0)
    assert calls < 100
    assert 20 <= len([said for said in only(GangCondition, decisions) if said.reason == "Timeout"]) <= 22


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf", "soon", "1e308"])
def test_what_is_no_time_counts_as_none(seconds):
    decisions, calls = step(impatient(seconds), 200.0)
    assert calls < 3
    assert {said.reason for said in only(GangCondition, decisions)} == {"Unschedulable"}


@pytest.mark.parametrize("seconds", ["0.5", "1", "3", "60"])
def test_a_gang_is_tried_however_short_its_time_is(seconds):
    world = impatient(seconds)
    step(world, 5.0)
    decisions, _ = step(world.pod_gone("wall"), 5.0)
    assert placements(decisions) == {"big-0": "n0"}


@pytest.mark.parametrize("seconds", ["0.5", "1", "3"])
def test_a_gang_whose_binds_are_refused_is_tried_however_short_its_time_is(seconds):
    world = impatient(seconds).pod_gone("wall")
    for _ in range(6):
        decisions, _ = step(world, 20.0)
        assert placements(decisions) == {"big-0": "n0"}
        world.bind_failed("big-0", Failure.REJECTED)


def test_stepping_back_is_no_failure():
    """Who keeps failing stands aside while others are ready."""
    world = waiting()
    until(world, 200.0)
    assert world.engine.cluster.gangs["team/big"].passed is not None
    assert [unit.failures for unit in world.engine.units] == [0]
