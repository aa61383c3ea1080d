"""Small work passes a big gang so many times and no more; then room is held for it."""

import pytest

from muster.engine.changes import Failure
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


def test_nobody_has_passed_a_gang_whose_group_was_made_anew():
    world = waiting()
    assert passes(world, 3) == 3
    world.group("big", 2, uid="another", created=20.0).decide()
    assert passes(world, 10, created=30.0) == 4


# --- who does not count ---------------------------------------------------------------------------


def test_units_of_higher_priority_do_not_count():
    world = waiting()
    assert passes(world, 10, priority=1) == 10
    assert passes(world, 10) == 4


def test_older_units_do_not_count():
    world = waiting()
    assert passes(world, 10, created=0.0) == 10
    assert passes(world, 10) == 4


def waiting_for_gpus():
    """A gang needs all gpus of two nodes, which are taken, and half of their cpus, which are idle."""
    world = cluster(2, cpu=8, gpu=8).pod("train0", gpu=8, on="n0").pod("train1", gpu=8, on="n1")
    world.gang("next", members=2, cpu=4, gpu=8, created=1.0).decide()
    return world


def come(world, times, **facts):
    """So many small units come one after another and stay; how many of them got room."""
    count = 0
    for number in range(times):
        name = f"stays{len(world.engine.cluster.pods)}"
        count += name in placements(world.pod(name, **({"created": 2.0 + number} | facts)).decide())
        world.bound().decide()
    return count


def test_units_that_take_nothing_the_gang_needs_do_not_count():
    assert come(waiting_for_gpus(), 20, memory="100Mi") == 20


def test_units_that_leave_the_gang_what_it_needs_do_not_count_but_add_up():
    # 4 of 8 cpus on either node are none of the gang's; then four units pass it
    assert come(waiting_for_gpus(), 16, cpu=1) == 2 * 4 + 4


def above_a_gang_that_runs(**asks):
    """A gang of priority 5 that evicts nobody needs both nodes, where a gang of priority 0 runs."""
    world = cluster(2, cpu=4).runs("runs", "n0", "n1", created=0.5, **asks)
    never = {"priority": 5, "preemption": "Never", "created": 1.0}
    world.group("first", 2, **never).members("first", 0, 1, cpu=4, **never).decide()
    return world


def test_replacements_for_a_gang_that_runs_do_not_count():
    world = above_a_gang_that_runs(cpu=2)
    for number in range(1, 7):
        world.pod_gone(f"runs-{number}").members("runs", number + 1, cpu=2)
        assert list(placements(world.decide())) == [f"runs-{number + 1}"]
        world.bound().decide()
    assert passes(world, 10, cpu=1) == 4


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


def test_held_nodes_are_open_to_units_that_take_nothing_the_gang_needs():
    world = waiting_for_gpus()
    assert come(world, 16, cpu=1) == 12
    assert come(world, 10, memory="100Mi") == 10


def test_held_nodes_are_open_to_pods_that_belong_to_a_node():
    world = held().pod("daemon", cpu="100m", created=9.0, owner="DaemonSet")
    assert placements(world.decide()) == {"daemon": "n0"}


def test_held_nodes_are_open_to_what_a_running_gang_lacks():
    """It may never end without it, and the other waits for its end."""
    world = above_a_gang_that_runs(cpu=2)
    assert passes(world, 10, cpu=1) == 4
    world.pod_gone("runs-1").decide()
    world.members("runs", 2, cpu=2, created=50.0)
    assert list(placements(world.decide())) == ["runs-2"]


def test_held_nodes_are_open_to_what_a_half_bound_gang_lacks():
    world = held().group("half", 2, created=9.0, timeout=9e9)
    world.members("half", 0, memory="1Mi", on="n1", bound_at=0.0, created=9.0).members("half", 1, cpu=1, created=9.0)
    assert placements(world.decide()) == {"half-1": "n0"}


def test_nothing_is_held_for_members_beyond_the_minimum():
    world = cluster(2, cpu=64, gpu=8).gang("train", members=3, minimum=2, cpu=1, gpu=8, created=1.0).run()
    assert sorted(world.where) == ["train-0", "train-1"]
    assert passes(world, 30, cpu=1) == 30


def test_lone_pods_behind_a_hold_are_not_tried_when_room_is_freed_there():
    world = cluster(2, cpu=4).pod("wall", cpu=4, on="n1").pod("other", cpu=2, on="n0")
    world.gang("big", members=2, cpu=4, created=1.0).decide()
    assert passes(world, 10, cpu=2) == 4
    for number in range(50):
        world.pod(f"next{number}", cpu=1, created=9.0)
    world.decide()
    refused = world.engine.tally.pods_refused
    assert placements(world.pod_gone("other").decide()) == {}
    assert world.engine.tally.pods_refused == refused


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


def test_a_gang_that_no_longer_fits_since_a_daemon_came_holds_nothing():
    world = held().pod("next", cpu=3, created=9.0)
    assert placements(world.decide()) == {}
    assert placements(world.pod("daemon", cpu=1, on="n0", owner="DaemonSet").decide()) == {"next": "n0"}


def test_a_gang_that_no_longer_fits_since_it_needs_more_holds_nothing():
    world = cluster(2, cpu=4).pod("wall", cpu=4, on="n1")
    world.gang("big", members=3, minimum=2, cpu=4, created=1.0).decide()
    assert passes(world, 10) == 6
    assert placements(world.pod("next", cpu=4, created=9.0).decide()) == {}
    assert placements(world.group("big", 3, created=1.0).decide(after=120.0)) == {"next": "n0"}


def refused_twice():
    """The gang that nodes were held for had a place, and could not be bound there."""
    world = held().pod_gone("wall")
    for _ in range(2):
        assert len(placements(world.decide() + world.decide(after=20.0))) == 2
        world.bind_failed("big-0", Failure.REJECTED).bind_failed("big-1", Failure.REJECTED)
    world.pod("wall", cpu=4, on="n1").decide()
    return world


def test_a_gang_that_cannot_be_bound_holds_nothing():
    assert placements(refused_twice().pod("next", cpu=4, created=9.0).decide(after=20.0)) == {"next": "n0"}


def test_a_gang_that_could_not_be_bound_long_ago_holds_nodes_again():
    world = refused_twice()
    world.decide(after=20.0)
    world.decide(after=600.0)
    assert placements(world.pod("next", cpu=4, created=9.0).decide(after=120.0)) == {}


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


def test_a_refused_bind_does_not_start_the_count_anew():
    world = held()
    assert len(placements(world.pod_gone("wall").decide())) == 2
    world.pod("foreign", cpu=4, on="n1", scheduler="other")
    world.bind_failed("big-0", Failure.REJECTED).bind_failed("big-1", Failure.REJECTED).decide()
    assert passes(world, 10) == 0


def test_a_member_that_is_made_again_does_not_start_the_count_anew():
    world = held()
    world.pod_gone("big-1").decide()
    world.members("big", 1, cpu=4, created=1.0).decide()
    assert passes(world, 10) == 0


def test_a_member_that_joins_does_not_end_a_hold():
    world = held().members("big", 2, cpu=4, created=1.0)
    world.decide(after=120.0)
    assert passes(world, 10) == 0


def test_a_start_starts_the_count_anew():
    world = held().pod_gone("wall").run()
    world.pod_gone("big-0", "big-1").pod("wall", cpu=4, on="n1").decide()
    world.members("big", 3, 4, cpu=4, created=1.0).decide()
    assert passes(world, 10, created=60.0) == 4


def test_a_gang_is_not_kept_from_its_nodes_when_it_falls_behind():
    # the lowest member speaks for a group that names no priority
    world = held().pod_gone("wall").members("big", 2, cpu=4, priority=-1, created=1.0)
    assert len(placements(world.decide())) == 2


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


def test_who_now_stands_before_a_gang_that_fell_behind_gets_in():
    world = held().pod("next", cpu=4, created=9.0)
    assert placements(world.decide()) == {}
    assert placements(world.members("big", 2, cpu=4, priority=-1, created=1.0).decide()) == {"next": "n0"}


def test_who_was_kept_out_gets_in_when_the_gang_no_longer_needs_that_node():
    world = World().node("a0", cpu=4, labels={"pool": "a"}).node("a1", cpu=4, labels={"pool": "a"})
    world.node("b0", cpu=4, labels={"pool": "b"}).pod("wall", cpu=4, on="a0").pod("other-wall", cpu=4, on="a1")
    world.group("big", 2, created=1.0).members("big", 0, 1, cpu=4, created=1.0, selector={"pool": "a"})
    world.members("big", 2, cpu=4, created=1.0, selector={"pool": "b"}).decide()
    assert passes(world, 10) == 6
    assert placements(world.pod("next", cpu=4, created=9.0).decide()) == {}
    assert placements(world.pod_gone("big-2").decide()) == {"next": "b0"}
