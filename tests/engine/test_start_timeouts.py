"""A gang may say how long it waits for its start; then nothing is held for it, and it waits as long again."""

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
