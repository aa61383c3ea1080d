"""Small work passes a big gang so many times and no more; then room is held for it."""

import pytest

from muster.engine.verdicts import Outcome
from muster.framework.profile import Fairness
from muster.plugins.registry import ProfileParts, make_profile
from tests.builders import World, cluster, evicted, placements, told

HELD = "node(s) were held for a pod group that comes first"


def waiting(*, members=2, **fairness):
    """A gang needs both nodes, and one of them is taken for long; created at 1 s."""
    profile = make_profile(ProfileParts(fairness=Fairness(**fairness))) if fairness else None
    world = World(profile).node("n0", cpu=4).node("n1", cpu=4).pod("wall", cpu=4, on="n1")
    world.gang("big", members=members, cpu=4, created=1.0).decide()
    return world


def passes(world, times, **facts):
    """So many small units come one after another, each ends when it was bound; how many of them got room."""
    count = 0
    for number in range(times):
        name = f"small{world.now:g}-{number}"
        placed = placements(world.pod(name, **({"cpu": 4, "created": 2.0 + number} | facts)).decide())
        count += name in placed
        world.bound().pod_gone(name).decide()
    return count


def held():
    """Nodes are held for the gang."""
    world = waiting()
    assert passes(world, 4) == 4
    return world


# --- how many ------------------------------------------------------------------------------------


def test_twice_as_many_units_pass_a_gang_as_it_has_members():
    assert passes(waiting(), 10) == 4


@pytest.mark.parametrize(("factor", "passed"), [(0.5, 1), (1.0, 2), (3.0, 6)])
def test_how_many_pass_can_be_set(factor, passed):
    assert passes(waiting(passes_per_member=factor), 10) == passed


def test_at_least_one_unit_passes():
    assert passes(waiting(passes_per_member=0.1), 10) == 1


def test_any_number_passes_where_that_is_switched_off():
    assert passes(waiting(passes_per_member=None), 30) == 30


def test_units_of_lower_priority_pass_as_equals_do():
    assert passes(waiting(), 10, priority=-5) == 4


def test_many_units_that_come_at_once_pass_no_more_than_one_after_another():
    world = waiting()
    for number in range(20):
        world.pod(f"small{number}", cpu="100m", created=2.0)
    assert len(placements(world.decide())) == 4


def test_a_gang_that_passes_counts_once():
    world = waiting()
    for number in range(6):
        world.gang(f"small{number}", members=2, cpu="100m", created=2.0 + number)
    assert len(placements(world.decide())) == 2 * 4


def test_each_gang_counts_who_passes_it():
    world = waiting()
    passes(world, 3)
    world.gang("later", members=2, cpu=4, created=5.0).decide()
    assert passes(world, 10, created=9.0) == 1


# --- who does not count ---------------------------------------------------------------------------


def test_units_of_higher_priority_do_not_count():
    world = waiting()
    assert passes(world, 10, priority=1) == 10
    assert passes(world, 10) == 4


def test_older_units_do_not_count():
    world = waiting()
    assert passes(world, 10, created=0.0) == 10
    assert passes(world, 10) == 4


# --- what is held ---------------------------------------------------------------------------------


def test_held_nodes_are_kept_from_units_behind():
    assert placements(held().pod("next", cpu="100m", created=9.0).decide()) == {}


def test_held_nodes_are_kept_from_gangs_behind():
    assert placements(held().gang("next", members=2, cpu="100m", created=9.0).decide()) == {}


def test_held_nodes_are_open_to_older_units():
    assert placements(held().pod("older", cpu=4, created=0.0).decide()) == {"older": "n0"}


def test_held_nodes_are_open_to_units_of_higher_priority():
    assert placements(held().pod("higher", cpu=4, priority=1, created=9.0).decide()) == {"higher": "n0"}


def test_nodes_that_the_gang_cannot_use_are_open_to_all():
    world = held().node("small", cpu=2)
    assert placements(world.pod("next", cpu=2, created=9.0).decide()) == {"next": "small"}


def test_nodes_of_another_pool_are_open_to_all():
    world = cluster(2, cpu=4, labels={"pool": "a"}).node("b", cpu=4, labels={"pool": "b"}).pod("wall", cpu=4, on="n1")
    world.gang("big", members=2, cpu=4, created=1.0, selector={"pool": "a"}).decide()
    assert passes(world, 10, selector={"pool": "a"}) == 4
    assert passes(world, 10, selector={"pool": "b"}) == 10


def test_a_gang_that_waits_for_one_pool_is_not_passed_in_another():
    world = cluster(2, cpu=4, labels={"pool": "a"}).node("b", cpu=4, labels={"pool": "b"}).pod("wall", cpu=4, on="n1")
    world.gang("big", members=2, cpu=4, created=1.0, selector={"pool": "a"}).decide()
    assert passes(world, 10, selector={"pool": "b"}) == 10
    assert passes(world, 10, selector={"pool": "a"}) == 4


def test_a_node_that_comes_while_nodes_are_held_is_held_too():
    world = cluster(3, cpu=4).pod("wall", cpu=4, on="n1").pod("other-wall", cpu=4, on="n2")
    world.gang("big", members=3, cpu=4, created=1.0).decide()
    assert passes(world, 10) == 6
    assert placements(world.node("n3", cpu=4).pod("next", cpu=4, created=9.0).decide()) == {}


def test_of_two_gangs_the_first_gets_what_is_held_for_both():
    world = waiting()
    world.gang("second", members=2, cpu=4, created=1.5).decide()
    assert passes(world, 10) == 4
    assert set(placements(world.pod_gone("wall").decide())) == {"big-0", "big-1"}


# --- a gang that can never fit --------------------------------------------------------------------


def test_a_gang_that_can_never_fit_holds_nothing():
    world = waiting(members=3)
    assert world.attempts("big")[-1] is Outcome.IMPOSSIBLE
    assert passes(world, 30) == 30


def test_a_gang_that_can_fit_since_a_node_came_is_passed_no_more_than_any_other():
    world = waiting(members=3)
    passes(world, 10)
    world.pod("other-wall", cpu=4, on="n2").node("n2", cpu=4)
    assert passes(world, 20) <= 6


@pytest.mark.parametrize("owner", ["DaemonSet", "Node"])
def test_a_gang_that_never_fits_beside_what_belongs_to_the_nodes_holds_nothing(owner):
    world = cluster(2, cpu=4).pod("daemon", cpu=1, on="n1", owner=owner).pod("wall", cpu=3, on="n1")
    world.gang("big", members=2, cpu=4, created=1.0).decide()
    assert passes(world, 30) == 30


def test_a_gang_of_mixed_shapes_for_which_no_place_is_found_holds_nothing():
    world = cluster(1, cpu=4).node("n1", cpu=2).group("big", 3, created=1.0)
    world.members("big", 0, cpu=4, created=1.0).members("big", 1, 2, cpu=2, created=1.0).decide()
    assert passes(world, 30, cpu=1) == 30


# --- until when -----------------------------------------------------------------------------------


def test_the_gang_starts_when_what_is_held_is_enough():
    world = held().pod("next", cpu=4, created=9.0)
    world.decide()
    assert set(placements(world.pod_gone("wall").decide())) == {"big-0", "big-1"}


def test_nothing_is_held_once_the_gang_has_started():
    world = held().pod("next", cpu=1, created=9.0)
    world.decide()
    world.pod_gone("wall").decide()
    world.bound().node("n2", cpu=4)
    assert placements(world.decide()) == {"next": "n2"}


def test_who_was_kept_out_gets_in_when_the_gang_is_gone():
    world = held().pod("next", cpu=4, created=9.0)
    assert placements(world.decide()) == {}
    world.pod_gone("big-0", "big-1").group_gone("big")
    assert placements(world.decide()) == {"next": "n0"}


def test_who_was_kept_out_gets_in_when_the_gang_can_no_longer_fit():
    world = held().pod("next", cpu=4, created=9.0)
    assert placements(world.decide()) == {}
    assert placements(world.node_gone("n1").decide()) == {"next": "n0"}


def test_who_was_kept_out_gets_in_when_the_gang_waits_for_members():
    world = held().pod("next", cpu=4, created=9.0)
    assert placements(world.decide()) == {}
    assert placements(world.pod_gone("big-1").decide()) == {"next": "n0"}


def test_who_was_kept_out_gets_in_when_the_gang_started_and_left_room():
    world = held().pod("next", cpu=1, created=9.0)
    world.decide()
    world.node("n2", cpu=8)
    placed = placements(world.decide())
    assert set(placed) == {"big-0", "big-1", "next"}


# --- what is said ---------------------------------------------------------------------------------


def test_the_group_says_that_nodes_are_held_for_it():
    world = waiting()
    passes(world, 3)
    said = told(world.pod("last", cpu=4, created=9.0).decide())["big"]
    assert "4 later units went first, so nodes that it can use are held for it" in said


def test_the_group_says_nothing_of_nodes_held_before_they_are():
    world = waiting()
    passes(world, 3)
    assert "held" not in world.engine.cluster.gangs["team/big"].said[2]


def test_who_is_kept_out_says_so():
    said = told(held().node("small", cpu=1).pod("next", cpu=2, created=9.0).decide())
    assert said["next"] == f"0/3 nodes are available: 1 Insufficient cpu, 2 {HELD}."


# --- a new scheduler ------------------------------------------------------------------------------


def restarted(*, passers, bound_at=5.0, **facts):
    """What a new engine reads where so many small units run on a node that a waiting gang could use."""
    world = cluster(2, cpu=4, labels={"pool": "a"}).node("small", cpu=3).pod("wall", cpu=4, on="n1", bound_at=0.0)
    world.group("big", 2, created=1.0).members("big", 0, 1, cpu=4, created=1.0)
    for number in range(passers):
        running = {"cpu": "100m", "on": "n0", "bound_at": bound_at, "created": 2.0} | facts
        world.pod(f"small{number}", **running)
    world.now = 10.0
    return world


@pytest.mark.parametrize("passers", [0, 1, 3, 4, 6])
def test_a_new_engine_counts_those_who_passed_and_still_run(passers):
    world = restarted(passers=passers)
    for number in range(10):
        world.pod(f"next{number}", cpu="100m", created=20.0 + number, selector={"pool": "a"})
    assert len(placements(world.decide())) == max(0, 4 - passers)


@pytest.mark.parametrize(
    "facts",
    [{"bound_at": 0.5}, {"created": 0.5}, {"priority": 3}, {"on": "small"}],
    ids=["bound before the gang came", "older", "of higher priority", "elsewhere"],
)
def test_a_new_engine_does_not_count_those_who_passed_nobody(facts):
    world = restarted(passers=5, **facts)
    for number in range(10):
        world.pod(f"next{number}", cpu="100m", created=20.0 + number, selector={"pool": "a"})
    assert len(placements(world.decide())) == 4


def test_a_new_engine_counts_a_gang_that_passed_once():
    world = restarted(passers=0).group("small", 4, created=2.0)
    world.members("small", 0, 1, 2, 3, cpu="100m", created=2.0, on="n0", bound_at=5.0)
    for number in range(10):
        world.pod(f"next{number}", cpu="100m", created=20.0 + number, selector={"pool": "a"})
    assert len(placements(world.decide())) == 3


# --- together with preemption ---------------------------------------------------------------------


def test_a_unit_whose_victims_leave_gets_its_room_though_nodes_are_held_since():
    """Otherwise both would wait for ever: one for a held node, the other for room that is kept on it."""
    world = cluster(2, cpu=4).node("n2", cpu=4, labels={"disk": "ssd"})
    world.pod("wall", cpu=4, on="n1").pod("low", cpu=4, on="n2", priority=-5)
    world.gang("big", members=3, cpu=4, created=1.0).decide()
    assert evicted(world.pod("preemptor", cpu=4, created=3.0, selector={"disk": "ssd"}).decide()) == ["low"]
    world.pod("low", cpu=4, on="n2", priority=-5, leaving=300.0)
    assert passes(world, 10) == 6
    assert placements(world.pod_gone("low").decide()) == {"preemptor": "n2"}


def test_a_gang_that_waits_evicts_where_it_may_rather_than_be_passed():
    world = cluster(2, cpu=4).pod("wall", cpu=4, on="n1", priority=-5)
    world.gang("big", members=2, cpu=4, created=1.0)
    assert evicted(world.decide()) == ["wall"]
