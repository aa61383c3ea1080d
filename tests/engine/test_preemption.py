"""Who is evicted for whom: the least precious, as few as will do, and nobody unless the unit then has a place."""

import pytest

from muster.engine.decisions import Evict, PodRef
from muster.engine.verdicts import Outcome
from muster.framework.profile import PreemptionSettings
from muster.plugins.registry import ProfileParts, make_profile
from tests.builders import (
    STARTED,
    World,
    budget,
    cluster,
    evicted,
    only,
    placements,
    pod,
    told,
    without_preemption,
)

HOUR = 3600.0
NO_GANGS = {"gangs": False}
NOT_DELAYED = {"delayed": False}


def profile(**settings):
    return make_profile(ProfileParts(preemption=PreemptionSettings(**settings)))


def high(world, unit, **asks):
    """A unit of priority 5 with one pod comes."""
    return (
        world.gang("high", members=1, priority=5, **asks) if unit == "gang" else world.pod("high", priority=5, **asks)
    )


def settle(world):
    """Victims leave and binds are acknowledged until nothing happens any more; who was evicted on the way."""
    gone, decisions = [], world.decide()
    while evicted(decisions) or placements(decisions):
        gone += evicted(decisions)
        decisions = world.pod_gone(*evicted(decisions)).bound().decide()
    return gone


# --- the least precious first ---------------------------------------------------------------------


def two_nodes():
    """Two nodes of 4 cpu for everybody, and one that only those use who are there already."""
    return cluster(2, cpu=4).node("far", cpu=4, taints=["own:NoSchedule"])


# what runs on n0 and n1, who goes for a unit that needs one of them; by name it would be the other
PRECIOUS = [
    (
        "the lower priority goes",
        lambda w: w.pod("a", cpu=4, on="n0", priority=1).pod("b", cpu=4, on="n1", priority=2),
        ["a"],
    ),
    (
        "whom no budget protects goes, although his priority is higher",
        lambda w: (
            w.pod("a", cpu=4, on="n0", priority=2)
            .pod("b", cpu=4, on="n1", priority=1, labels={"app": "db"})
            .budget("db", {"app": "db"}, allowed=0)
        ),
        ["a"],
    ),
    (
        "a budget that allows one more protects nobody",
        lambda w: (
            w.pod("a", cpu=4, on="n0", priority=1, labels={"app": "db"})
            .pod("b", cpu=4, on="n1", priority=2)
            .budget("db", {"app": "db"}, allowed=1)
        ),
        ["a"],
    ),
    (
        "a budget does not make up for an equal priority",
        lambda w: (
            w.pod("a", cpu=4, on="n0", priority=1, labels={"app": "db"})
            .pod("b", cpu=4, on="n1", priority=5)
            .budget("db", {"app": "db"}, allowed=0)
        ),
        ["a"],
    ),
    (
        "a lone pod goes before a gang of its priority",
        lambda w: w.pod("a", cpu=4, on="n0", priority=1).runs("b", "n1", cpu=4, priority=1),
        ["a"],
    ),
    (
        "a gang goes before a lone pod of higher priority",
        lambda w: w.runs("a", "n0", cpu=4, priority=1).pod("b", cpu=4, on="n1", priority=2),
        ["a-0"],
    ),
    (
        "of gangs that go whole the smaller one goes",
        lambda w: w.runs("a", "n0", cpu=4, disruption="all").runs("b", "n1", "far", cpu=4, disruption="all"),
        ["a-0"],
    ),
    (
        "who started last goes",
        lambda w: w.pod("a", cpu=4, on="n0", started=2 * HOUR).pod("b", cpu=4, on="n1", started=1 * HOUR),
        ["a"],
    ),
    (
        "who has not started yet goes before all that have",
        lambda w: w.pod("a", cpu=4, on="n0").pod("b", cpu=4, on="n1", started=9 * HOUR),
        ["a"],
    ),
    (
        "a gang has run since the first of its pods started",
        lambda w: (
            w.runs("a", "n0", cpu=2, disruption="all", started=2 * HOUR)
            .members("a", 1, cpu=2, on="n0", started=3 * HOUR)
            .runs("b", "n1", cpu=2, disruption="all", started=1 * HOUR)
            .members("b", 1, cpu=2, on="n1", started=4 * HOUR)
        ),
        ["a-0", "a-1"],
    ),
]
each_way = pytest.mark.parametrize(("fill", "gone"), [row[1:] for row in PRECIOUS], ids=[row[0] for row in PRECIOUS])


@each_way
def test_the_least_precious_go_for_a_gang(fill, gone):
    world = fill(two_nodes()).gang("high", members=1, cpu=4, priority=5)
    assert evicted(world.decide()) == gone


A_LONE_POD_OR_A_GANG = PRECIOUS[4]


@pytest.mark.parametrize(
    ("fill", "gone"),
    [row[1:] for row in PRECIOUS if row is not A_LONE_POD_OR_A_GANG],
    ids=[row[0] for row in PRECIOUS if row is not A_LONE_POD_OR_A_GANG],
)
def test_the_least_precious_go_for_a_lone_pod(fill, gone):
    """As upstream chooses among nodes, where it makes no difference whether victims are of a gang."""
    assert evicted(fill(two_nodes()).pod("high", cpu=4, priority=5).decide()) == gone


def test_of_those_on_one_node_a_lone_pod_spares_the_gangs():
    world = cluster(1, cpu=8).pod("a", cpu=4, on="n0", priority=1).runs("b", "n0", cpu=4, priority=1)
    assert evicted(world.pod("high", cpu=4, priority=5).decide()) == ["a"]


def two_of_a_budget_that_allows_one():
    world = cluster(1, cpu=8).budget("db", {"app": "db"}, allowed=1)
    for name, priority in (("more", 2), ("less", 1)):
        world.pod(name, cpu=4, on="n0", priority=priority, labels={"app": "db"})
    return world


def test_what_a_budget_allows_is_spent_on_the_least_precious_for_a_gang():
    assert evicted(high(two_of_a_budget_that_allows_one(), "gang", cpu=4).decide()) == ["less"]


def test_what_a_budget_allows_is_spent_on_the_most_precious_for_a_lone_pod_as_upstream_does():
    assert evicted(high(two_of_a_budget_that_allows_one(), "pod", cpu=4).decide()) == ["more"]


def test_a_pod_whose_budget_allows_nobody_is_spared_before_one_whose_budget_is_used_up():
    world = cluster(3, cpu=4).budget("none", {"app": "none"}, allowed=0).budget("some", {"app": "some"}, allowed=1)
    world.pod("never", cpu=4, on="n0", priority=1, labels={"app": "none"})
    world.pod("less", cpu=4, on="n1", priority=2, labels={"app": "some"})
    world.pod("more", cpu=4, on="n2", priority=3, labels={"app": "some"})
    assert evicted(world.gang("high", members=2, cpu=4, priority=5).decide()) == ["less", "more"]


def chosen_by(name, **settings):
    """Whom a lone pod of that name evicts, of twenty that are worth more and more."""
    world = World(profile(**settings))
    for number in range(20):
        world.node(f"n{number:02}", cpu=4).pod(f"low{number:02}", cpu=4, on=f"n{number:02}", priority=number)
    return evicted(world.pod(name, cpu=4, priority=50).decide())


def test_a_lone_pod_looks_for_victims_on_a_hundred_nodes_at_least():
    assert {tuple(chosen_by(f"p{number}")) for number in range(5)} == {("low00",)}


def test_on_how_many_nodes_a_lone_pod_looks_can_be_set():
    few = {tuple(chosen_by(f"p{number}", least_nodes=1, least_percent=0)) for number in range(5)}
    many = {tuple(chosen_by(f"p{number}", least_nodes=1, least_percent=100)) for number in range(5)}
    assert len(few) > 1
    assert many == {("low00",)}


def test_as_few_go_as_will_do():
    world = cluster(1, cpu=8)
    for number in range(8):
        world.pod(f"low{number}", cpu=1, on="n0", started=number * HOUR)
    world.gang("high", members=3, cpu=1, priority=5)
    assert evicted(world.decide()) == ["low5", "low6", "low7"]


def test_one_large_pod_goes_rather_than_many_small_ones_that_are_worth_more():
    world = cluster(1, cpu=8).pod("large", cpu=4, on="n0", priority=1)
    for number in range(4):
        world.pod(f"small{number}", cpu=1, on="n0", priority=2)
    world.gang("high", members=2, cpu=2, priority=5)
    assert evicted(world.decide()) == ["large"]


def test_free_room_is_used_before_anybody_goes():
    world = two_nodes().pod("low", cpu=4, on="n0").gang("high", members=2, cpu=4, priority=5)
    assert evicted(world.decide()) == ["low"]


# --- never equals, never betters ------------------------------------------------------------------


@pytest.mark.parametrize("unit", ["gang", "pod"])
@pytest.mark.parametrize(("priority", "goes"), [(4, ["r"]), (5, []), (6, [])])
def test_only_lower_priorities_are_evicted(unit, priority, goes):
    world = cluster(1, cpu=4).pod("r", cpu=4, on="n0", priority=priority)
    assert evicted(high(world, unit, cpu=4).decide()) == goes


@pytest.mark.parametrize("unit", ["gang", "pod"])
def test_a_member_counts_the_higher_of_its_own_and_its_gangs_priority(unit):
    world = cluster(3, cpu=4).group("declared", 1, priority=9, condition=STARTED).group("own", 1, condition=STARTED)
    world.members("declared", 0, cpu=4, on="n0", priority=0).members("own", 0, cpu=4, on="n1", priority=9)
    world.members("own", 1, cpu=9, priority=0).runs("cheap", "n2", cpu=4, priority=1)
    assert evicted(high(world, unit, cpu=4).decide()) == ["cheap-0"]


@pytest.mark.parametrize("unit", ["gang", "pod"])
def test_a_pod_of_class_1000_in_a_group_without_class_is_not_evicted_for_class_5(unit):
    # admission writes 0 into the group
    world = cluster(1, cpu=4).group("g", 1, priority=0, condition=STARTED)
    world.members("g", 0, cpu=4, on="n0", priority=1000)
    assert evicted(high(world, unit, cpu=4).decide()) == []


@pytest.mark.parametrize("unit", ["gang", "pod"])
def test_a_gang_that_goes_whole_counts_its_highest_members_priority(unit):
    world = cluster(2, cpu=4).group("g", 2, condition=STARTED, disruption="all")
    world.members("g", 0, cpu=4, on="n0", priority=0).members("g", 1, cpu=4, on="n1", priority=7)
    world.decide()
    assert evicted(high(world, unit, cpu=4).decide()) == []


def test_a_gang_that_goes_whole_is_evicted_at_once_when_its_highest_member_has_left():
    world = cluster(2, cpu=4).group("g", 2, condition=STARTED, disruption="all")
    world.members("g", 0, cpu=4, on="n0", priority=0).members("g", 1, cpu=4, on="n1", priority=7)
    assert evicted(world.pod("high", cpu=4, selector={"zone": "a"}, priority=5).decide()) == []
    world.node("n0", cpu=4, labels={"zone": "a"})
    assert evicted(world.decide()) == []
    assert evicted(world.pod_gone("g-1").decide()) == ["g-0"]


def test_a_member_that_only_waits_makes_its_gang_no_more_precious():
    world = cluster(1, cpu=4).group("g", 1, condition=STARTED, disruption="all")
    world.members("g", 0, cpu=4, on="n0", priority=0).members("g", 1, cpu=9, priority=100)
    assert evicted(world.pod("high", cpu=4, priority=5).decide()) == ["g-0"]


def test_the_lowest_member_speaks_for_a_gang_that_declares_no_priority():
    world = cluster(1, cpu=4).pod("r", cpu=4, on="n0", priority=3)
    world.group("high", 2).members("high", 0, cpu=1, priority=9).members("high", 1, cpu=1, priority=3)
    assert evicted(world.decide()) == []


def test_a_gang_whose_group_comes_after_its_pods_is_worth_what_the_group_says():
    world = cluster(1, cpu=4).members("low", 0, 1, cpu=2, on="n0", priority=1).group("low", 2, priority=5)
    assert evicted(world.gang("high", members=2, cpu=2, priority=3).decide()) == []


def test_a_gang_whose_node_comes_after_its_pods_is_worth_what_they_say():
    world = World().group("low", 2).members("low", 0, 1, cpu=2, on="late", priority=-9).node("late", cpu=4)
    assert evicted(world.gang("high", members=2, cpu=2).decide()) == ["low-0", "low-1"]


def test_a_gang_whose_group_is_gone_is_worth_what_its_pods_are():
    world = cluster(1, cpu=4).group("low", 2, priority=9, condition=STARTED)
    world.members("low", 0, 1, cpu=2, on="n0", priority=0).group_gone("low")
    assert evicted(world.gang("high", members=2, cpu=2, priority=5).decide()) == ["low-0", "low-1"]


def test_a_gang_whose_priority_is_lowered_can_be_evicted():
    world = cluster(1, cpu=4).group("low", 2, priority=5, condition=STARTED)
    world.members("low", 0, 1, cpu=2, on="n0", priority=0)
    assert evicted(world.gang("high", members=2, cpu=2, priority=3).decide()) == []
    world.group("low", 2, priority=1, condition=STARTED)
    assert evicted(world.members("high", 0, 1, cpu=2).decide(after=200.0)) == ["low-0", "low-1"]


def test_a_gang_whose_priority_falls_is_evicted_at_once_for_who_waits():
    world = cluster(1, cpu=4).group("g", 1, priority=7, condition=STARTED).members("g", 0, cpu=4, on="n0", priority=0)
    assert evicted(world.pod("high", cpu=4, priority=5).decide()) == []
    assert evicted(world.group("g", 1, priority=1, condition=STARTED).decide()) == ["g-0"]


def test_a_member_is_worth_no_less_when_a_lesser_one_joins():
    world = cluster(1, cpu=4).group("g", 1, condition=STARTED).members("g", 0, cpu=4, on="n0", priority=7)
    assert evicted(world.pod("high", cpu=4, priority=5).decide()) == []
    assert evicted(world.members("g", 1, cpu=9, priority=1).decide(after=200.0)) == []


def test_pods_of_other_schedulers_are_evicted_as_ours_are():
    world = cluster(1, cpu=4).pod("foreign", cpu=4, on="n0", scheduler="other")
    assert evicted(world.gang("high", members=1, cpu=4, priority=5).decide()) == ["foreign"]


# --- few gangs ------------------------------------------------------------------------------------


def by_turns(*gangs, members=4, on="", world=None, **facts):
    """Gangs of mode single whose members, of 1 cpu, started by turns: on full nodes of their own, or all on one."""
    world = world or World()
    for number, name in enumerate(gangs):
        world.group(name, 1, condition=STARTED, priority=facts.get("priority"))
        for member in range(members):
            node = on or f"{name}{member}"
            if not on:
                world.node(node, cpu=1)
            world.members(name, member, cpu=1, on=node, started=float(10 * member + number), **facts)
    return world


def urgent(world, members, **asks):
    return evicted(world.gang("high", members=members, cpu=1, priority=5, **asks).decide())


def test_four_victims_come_from_one_gang_where_one_would_do():
    assert urgent(by_turns("a", "b"), 4) == ["b-0", "b-1", "b-2", "b-3"]


def test_no_more_of_the_one_gang_go_than_must():
    assert urgent(by_turns("a", "b"), 3) == ["b-1", "b-2", "b-3"]


def test_where_no_gang_would_do_alone_pods_of_several_go():
    assert urgent(by_turns("a", "b"), 5) == ["a-2", "a-3", "b-1", "b-2", "b-3"]


def test_lone_pods_go_beside_the_one_gang():
    world = by_turns("a", "b").node("n", cpu=1).pod("lone", cpu=1, on="n", started=1.0)
    assert urgent(world, 4) == ["b-1", "b-2", "b-3", "lone"]


def test_the_one_gang_is_no_more_precious_than_the_several():
    world = by_turns("c", priority=1, world=by_turns("a", "b", members=2))
    assert urgent(world, 4) == ["a-0", "a-1", "b-0", "b-1"]


def test_no_more_precious_pods_go_so_that_fewer_gangs_are_hurt():
    world = by_turns("c", priority=1, world=by_turns("a", members=3))
    assert urgent(world, 4) == ["a-0", "a-1", "a-2", "c-3"]


@pytest.mark.parametrize("allowed", [0, 3])
def test_no_budget_is_broken_so_that_fewer_gangs_are_hurt(allowed):
    world = by_turns("c", labels={"app": "db"}, world=by_turns("a", "b", members=2))
    assert "c-0" not in urgent(world.budget("db", {"app": "db"}, allowed=allowed), 4)


def test_a_gang_that_goes_whole_does_not_go_for_a_few_pods_of_others():
    world = by_turns("a", "b", members=2)
    for number in range(9):
        world.node(f"w{number}", cpu=1)
    world.runs("w", *(f"w{number}" for number in range(9)), cpu=1, disruption="all", started=100.0)
    assert urgent(world, 4) == ["a-0", "a-1", "b-0", "b-1"]


def test_of_several_gangs_that_would_do_the_one_goes_that_loses_fewest():
    world = by_turns("a", "b").node("n", cpu=4).group("big", 1, condition=STARTED)
    world.members("big", 0, 1, cpu=2, on="n", started=5.0)
    assert urgent(world, 4) == ["big-0", "big-1"]


def test_members_that_join_a_gang_take_room_of_one_gang_too():
    world = by_turns("a", "b").node("own", cpu=1).runs("high", "own", cpu=1, priority=5)
    assert evicted(world.members("high", 1, 2, 3, 4, cpu=1).decide()) == ["b-0", "b-1", "b-2", "b-3"]


def test_members_of_several_shapes_take_room_of_one_gang_too():
    world = by_turns("a", "b").group("high", 4, priority=5)
    world.members("high", 0, 1, cpu=1).members("high", 2, 3, cpu="750m")
    assert evicted(world.decide()) == ["b-0", "b-1", "b-2", "b-3"]


def test_members_with_ports_take_room_of_one_gang_too():
    world = by_turns("a", "b").group("high", 4, priority=5).members("high", 0, 1, 2, 3, cpu=1, ports=[80])
    assert evicted(world.decide()) == ["b-0", "b-1", "b-2", "b-3"]


@pytest.mark.parametrize("ports", [(), (80,)], ids=["resources", "ports"])
def test_on_one_node_a_lone_pod_takes_room_of_one_gang_too(ports):
    world = by_turns("a", "b", on="n", world=World().node("n", cpu=8))
    assert evicted(world.pod("high", cpu=4, ports=ports, priority=5).decide()) == ["b-0", "b-1", "b-2", "b-3"]


# --- who does not preempt -------------------------------------------------------------------------


def full():
    return cluster(1, cpu=4).pod("low", cpu=4, on="n0")


def test_a_group_that_says_never_evicts_nobody():
    world = full().group("high", 1, priority=5, preemption="Never").members("high", 0, cpu=4)
    assert evicted(world.decide()) == []


def test_a_gang_with_a_member_that_says_never_evicts_nobody():
    world = full().group("high", 2, priority=5).members("high", 0, cpu=1).members("high", 1, cpu=1, preemption="Never")
    assert evicted(world.decide()) == []


def test_a_lone_pod_that_says_never_evicts_nobody():
    assert evicted(full().pod("high", cpu=4, priority=5, preemption="Never").decide()) == []


def test_without_the_plugin_nobody_is_evicted():
    world = World(without_preemption()).node("n0", cpu=4).pod("low", cpu=4, on="n0")
    world.gang("high", members=1, cpu=4, priority=5).pod("high", cpu=4, priority=5)
    assert evicted(world.decide()) == []


@pytest.mark.parametrize("switch", [NO_GANGS, NOT_DELAYED], ids=["WorkloadAwarePreemption", "DelayedPreemption"])
def test_gangs_do_not_preempt_with_the_switch_off(switch):
    world = World(profile(**switch)).node("n0", cpu=4).pod("low", cpu=4, on="n0")
    assert evicted(world.gang("high", members=1, cpu=4, priority=5).decide()) == []


@pytest.mark.parametrize("switch", [NO_GANGS, NOT_DELAYED], ids=["WorkloadAwarePreemption", "DelayedPreemption"])
def test_lone_pods_preempt_with_the_switch_off(switch):
    world = World(profile(**switch)).node("n0", cpu=4).pod("low", cpu=4, on="n0")
    assert evicted(world.pod("high", cpu=4, priority=5).decide()) == ["low"]


def whole_gang_on_two_nodes(**switch):
    world = World(profile(**switch)).node("n0", cpu=4).node("n1", cpu=4)
    world.runs("low", "n0", "n1", cpu=4, priority=1, disruption="all")
    return world.pod("high", cpu=4, priority=5)


def test_a_lone_pod_evicts_whole_gangs_though_gangs_do_not_preempt():
    assert evicted(whole_gang_on_two_nodes(**NO_GANGS).decide()) == ["low-0", "low-1"]


def test_without_delayed_preemption_a_lone_pod_evicts_single_pods_whatever_their_gang():
    assert len(evicted(whole_gang_on_two_nodes(**NOT_DELAYED).decide())) == 1


# --- whole gangs and parts of them ----------------------------------------------------------------


def test_a_gang_of_mode_all_goes_whole():
    world = cluster(2, cpu=4).runs("low", "n0", "n1", cpu=4, disruption="all")
    assert evicted(world.gang("high", members=1, cpu=4, priority=5).decide()) == ["low-0", "low-1"]


def test_a_gang_of_mode_single_goes_pod_by_pod():
    world = cluster(2, cpu=4).runs("low", "n0", "n1", cpu=4, disruption="single")
    assert len(evicted(world.gang("high", members=1, cpu=4, priority=5).decide())) == 1


def test_a_group_that_says_nothing_goes_pod_by_pod():
    world = cluster(2, cpu=4).runs("low", "n0", "n1", cpu=4)
    assert len(evicted(world.gang("high", members=1, cpu=4, priority=5).decide())) == 1


def test_a_gang_that_has_not_started_goes_whole():
    world = cluster(2, cpu=4).group("low", 3, disruption="single").members("low", 2, cpu=8)
    world.members("low", 0, cpu=4, on="n0").members("low", 1, cpu=4, on="n1")
    assert evicted(world.gang("high", members=1, cpu=4, priority=5).decide()) == ["low-0", "low-1"]


def test_few_gangs_are_hurt_rather_than_many():
    # peers C4: ten jobs of ten fill the cluster, and one pod of each was evicted
    world = cluster(10, cpu=10)
    for job in range(10):
        world.runs(f"job{job}", *(f"n{number}" for number in range(10)), cpu=1)
    gone = evicted(world.gang("high", members=10, cpu=1, priority=5).decide())
    assert len(gone) == 10
    assert len({name.partition("-")[0] for name in gone}) == 1


def test_few_whole_gangs_are_hurt_rather_than_many():
    world = cluster(10, cpu=10)
    for job in range(10):
        world.runs(f"job{job}", *(f"n{number}" for number in range(10)), cpu=1, disruption="all")
    gone = evicted(world.gang("high", members=10, cpu=1, priority=5).decide())
    assert len(gone) == 10
    assert len({name.partition("-")[0] for name in gone}) == 1


def test_a_gang_with_a_low_minimum_loses_no_more_than_is_needed():
    # peers C5: eleven pods, a minimum of one, and ten were evicted for one
    world = cluster(1, cpu=11).runs("low", *["n0"] * 11, minimum=1, cpu=1)
    assert len(evicted(world.gang("high", members=1, cpu=1, priority=5).decide())) == 1


# --- nothing is disturbed before success is proven ------------------------------------------------


def test_nobody_goes_if_the_gang_would_not_fit_anyway():
    # peers C6
    world = cluster(2, cpu=4).pod("a", cpu=4, on="n0").pod("b", cpu=4, on="n1")
    world.gang("high", members=3, cpu=4, priority=5)
    assert evicted(world.decide()) == []
    assert world.attempts("high") == [Outcome.IMPOSSIBLE]


def test_nobody_goes_if_the_gang_would_fit_only_without_its_betters():
    world = cluster(2, cpu=4).pod("a", cpu=4, on="n0").pod("b", cpu=4, on="n1", priority=9)
    assert evicted(world.gang("high", members=2, cpu=4, priority=5).decide()) == []


def test_nobody_goes_for_a_gang_of_mixed_shapes_for_which_no_place_is_found():
    world = cluster(1, cpu=4).node("n1", cpu=2).pod("a", cpu=4, on="n0").pod("b", cpu=2, on="n1")
    world.group("high", 3, priority=5).members("high", 0, cpu=4).members("high", 1, 2, cpu=2)
    assert evicted(world.decide()) == []


def test_nobody_goes_from_nodes_that_the_gang_may_not_use():
    world = cluster(1, cpu=4, taints=["own:NoSchedule"]).pod("low", cpu=4, on="n0")
    assert evicted(world.gang("high", members=1, cpu=4, priority=5).decide()) == []


def test_nobody_goes_for_a_resource_that_no_node_has():
    assert evicted(full().gang("high", members=1, gpu=1, priority=5).decide()) == []


def test_nobody_goes_for_a_gang_that_still_waits_for_members():
    world = full().group("high", 2, priority=5).members("high", 0, cpu=4)
    assert evicted(world.decide()) == []


def test_nobody_goes_for_a_gang_with_a_gated_member():
    world = full().group("high", 2, priority=5).members("high", 0, cpu=1).members("high", 1, cpu=1, gates=["wait"])
    assert evicted(world.decide()) == []


def test_a_gang_that_can_never_fit_does_not_keep_a_smaller_one_from_preempting():
    # peers C11
    world = cluster(3, cpu=1).pod("low", cpu=1, on="n0")
    world.gang("four", members=4, cpu=1, priority=5, created=1.0).gang(
        "three", members=3, cpu=1, priority=5, created=2.0
    )
    assert settle(world) == ["low"]
    assert set(world.where) == {"three-0", "three-1", "three-2"}
    assert world.attempts("four")[-1] is Outcome.IMPOSSIBLE


def six_high_and_two_low_on_each_of_four_nodes():
    world = cluster(4, gpu=8)
    for node in range(4):
        for number in range(8):
            world.pod(f"r{node}{number}", gpu=1, on=f"n{node}", priority=5 if number < 6 else 1)
    return world


def test_low_priority_pods_stay_where_no_node_gets_room_enough_without_touching_betters():
    # peers C12
    world = six_high_and_two_low_on_each_of_four_nodes().pod("whole", gpu=8, priority=5)
    decisions = world.decide()
    assert evicted(decisions) == []
    assert told(decisions) == {"whole": "0/4 nodes are available: 4 Insufficient nvidia.com/gpu."}


def test_a_small_pod_behind_one_that_cannot_preempt_is_handled_as_ever():
    world = six_high_and_two_low_on_each_of_four_nodes().pod("whole", gpu=8, priority=5)
    gone = evicted(world.pod("one", gpu=1, priority=5, created=1.0).decide())
    assert len(gone) == 1


def test_victims_must_free_what_the_gang_lacks():
    world = cluster(2, cpu=4, memory="8Gi").pod("cpu", cpu=4, on="n0", priority=1).pod("more", cpu=4, on="n1")
    world.pod("memory", memory="8Gi", on="n1", priority=2)
    assert evicted(world.gang("high", members=1, cpu=4, memory="8Gi", priority=5).decide()) == ["cpu"]


@pytest.mark.parametrize("unit", ["gang", "pod"])
def test_who_holds_a_host_port_goes_for_it(unit):
    world = cluster(1).pod("low", cpu=1, ports=[80], on="n0").pod("other", cpu=1, ports=[81], on="n0")
    assert evicted(high(world, unit, cpu=1, ports=[80]).decide()) == ["low"]


def test_the_most_precious_stays_who_holds_no_port_that_is_asked_for():
    world = cluster(2).pod("a", ports=[80], on="n0", priority=2).pod("b", ports=[80], on="n1", priority=1)
    assert evicted(world.gang("high", members=1, ports=[80], priority=5).decide()) == ["b"]


def test_a_gang_of_mixed_shapes_preempts_for_all_of_them_at_once():
    world = cluster(1, cpu=8).node("n1", cpu=4).pod("a", cpu=8, on="n0").pod("b", cpu=4, on="n1")
    world.group("high", 2, priority=5).members("high", 0, cpu=8).members("high", 1, cpu=4)
    assert evicted(world.decide()) == ["a", "b"]


def test_a_gang_preempts_for_its_minimum_and_no_more():
    world = cluster(1, cpu=4)
    for number in range(4):
        world.pod(f"low{number}", cpu=1, on="n0")
    world.gang("high", members=4, minimum=2, cpu=1, priority=5)
    assert len(evicted(world.decide())) == 2


def test_a_half_bound_gang_preempts_for_what_its_minimum_lacks():
    world = cluster(2, cpu=4).pod("low", cpu=4, on="n1").group("high", 2, priority=5)
    world.members("high", 0, cpu=4, on="n0", bound_at=0.0).members("high", 1, cpu=4)
    assert evicted(world.decide()) == ["low"]


# --- members beyond the minimum -------------------------------------------------------------------


def started(*low, members):
    """A gang that has started with one member, `members` more that wait, and lone pods of 4 cpu on the nodes left."""
    world = cluster(1 + len(low), cpu=4).runs("high", "n0", cpu=4, priority=5)
    for number, priority in enumerate(low, start=1):
        world.pod(f"low{number}", cpu=4, on=f"n{number}", priority=priority)
    return world.members("high", *range(1, 1 + members), cpu=4)


def test_a_gang_that_loses_the_minimum_that_was_on_its_way_preempts_for_it():
    world = cluster(2, cpu=4).pod("low", cpu=4, on="n1").gang("high", members=2, minimum=1, cpu=4, priority=5)
    decisions = world.decide()
    assert (placements(decisions), evicted(decisions)) == ({"high-0": "n0"}, [])
    assert evicted(world.node_gone("n0").decide()) == ["low"]


def test_a_started_gang_preempts_for_its_further_members_together():
    decisions = started(1, 1, members=2).decide()
    assert evicted(decisions) == ["low1", "low2"]
    assert len(only(Evict, decisions)) == 1


def test_a_started_gang_preempts_for_as_many_more_as_can_be_placed():
    assert evicted(started(1, 9, members=2).decide()) == ["low1"]


def test_a_started_gang_that_finds_room_for_some_preempts_for_the_others():
    world = started(1, members=2).node("free", cpu=4)
    decisions = world.decide()
    assert len(placements(decisions)) == 1
    assert evicted(decisions) == ["low1"]


def test_a_started_gang_does_not_preempt_against_its_policy():
    world = (
        cluster(2, cpu=4).pod("low", cpu=4, on="n1").group("high", 1, priority=5, preemption="Never", condition=STARTED)
    )
    world.members("high", 0, cpu=4, on="n0").members("high", 1, cpu=4)
    assert evicted(world.decide()) == []


def test_a_gang_never_evicts_its_own():
    world = cluster(1, cpu=4).runs("high", "n0", cpu=4, priority=5).members("high", 1, cpu=4, priority=9)
    assert evicted(world.decide()) == []


# --- plans that take a while ----------------------------------------------------------------------


LOW = [f"low{number:04}" for number in range(4000)]


def low(number, **facts):
    """One of four thousand, who run on forty nodes; the later ones started later."""
    return pod(LOW[number], cpu=1, on=f"n{number // 100}", started=float(number), **facts)


def many_candidates():
    """A gang comes that needs the room of six of them; to look at all takes several calls."""
    world = cluster(40, cpu=100).see(*map(low, range(4000)))
    return world.gang("high", members=2, cpu=3, priority=5)


def plan(world, *, meanwhile=None):
    """Decides call by call until somebody is evicted or bound; `meanwhile` happens after the second call."""
    for calls in range(1, 20):
        decisions = world.decide(budget=1)
        if evicted(decisions) or placements(decisions):
            return decisions, calls
        if calls == 2 and meanwhile is not None:
            meanwhile()
    return [], 20


def test_a_plan_that_takes_several_calls_is_the_one_that_would_be_made_at_once():
    decisions, calls = plan(many_candidates())
    assert calls > 2
    assert evicted(decisions) == evicted(many_candidates().decide()) == LOW[-6:]


def test_the_engine_asks_to_be_called_again_while_it_plans():
    world = many_candidates()
    world.decide(budget=1)
    assert world.engine.next_decide_at == world.now


def test_room_that_opens_while_a_plan_is_made_is_taken_and_nobody_is_evicted():
    world = many_candidates()
    decisions, _ = plan(world, meanwhile=lambda: world.node("new", cpu=6))
    assert evicted(decisions) == []
    assert placements(decisions) == {"high-0": "new", "high-1": "new"}


def test_who_left_while_a_plan_was_made_is_not_evicted():
    world = many_candidates()
    decisions, _ = plan(world, meanwhile=lambda: world.pod_gone(*LOW[-2:]))
    assert evicted(decisions) == LOW[-6:-2]


def test_nobody_is_evicted_for_a_gang_that_went_while_its_plan_was_made():
    world = many_candidates()
    decisions, _ = plan(world, meanwhile=lambda: world.pod_gone("high-0", "high-1"))
    assert decisions == []


def test_nobody_is_evicted_whose_gang_rose_while_a_plan_was_made():
    world = cluster(40, cpu=100).see(*(low(number, priority=1) for number in range(3900)))
    world.group("job", 1, priority=0, condition=STARTED).see(*(low(number, gang="job") for number in range(3900, 4000)))
    world.gang("high", members=2, cpu=3, priority=5)
    decisions, _ = plan(world, meanwhile=lambda: world.group("job", 1, priority=9, condition=STARTED))
    assert evicted(decisions) == LOW[3894:3900]


def test_a_budget_that_comes_while_a_plan_is_made_protects():
    world = many_candidates().see(*(low(number, labels={"app": "db"}) for number in range(3900, 4000)))
    protect = budget("db", {"app": "db"}, allowed=0)
    decisions, _ = plan(world, meanwhile=lambda: world.see(protect))
    assert evicted(decisions) == LOW[3894:3900]


def test_a_plan_comes_to_an_end_in_a_cluster_that_never_rests():
    world = many_candidates()
    for calls in range(1, 30):
        decisions = world.decide(budget=1)
        if evicted(decisions):
            break
        world.node(f"new{calls}", cpu=1)
    assert evicted(decisions) == LOW[-6:]


# --- what is said ---------------------------------------------------------------------------------


def test_an_eviction_names_its_victims_and_its_reason():
    world = cluster(2, cpu=4).pod("b", cpu=4, on="n1").pod("a", cpu=4, on="n0")
    (evict,) = only(Evict, world.gang("high", members=2, cpu=4, priority=5).decide())
    assert evict == Evict(
        unit="team/high",
        pods=(PodRef("uid-a", "team/a"), PodRef("uid-b", "team/b")),
        reason="PreemptionByScheduler",
        message="muster: preempting to accommodate a higher priority podgroup",
        after=("uid-high-0", "uid-high-1"),
        note="Preempted by podgroup team/high",
    )


def test_an_eviction_for_a_lone_pod_says_so():
    (evict,) = only(Evict, full().pod("high", cpu=4, priority=5).decide())
    assert (evict.unit, evict.message) == ("team/high", "muster: preempting to accommodate a higher priority pod")


@pytest.mark.parametrize(
    ("unit", "note"),
    [("gang", "Preempted by podgroup team/high"), ("pod", "Preempted by pod team/high on node n0")],
)
def test_an_event_is_to_tell_the_victims_by_name_who_gets_their_room(unit, note):
    (evict,) = only(Evict, high(full(), unit, cpu=4).decide())
    assert evict.note == note


def test_the_group_says_how_many_pods_it_waits_for():
    world = cluster(2, cpu=4).pod("a", cpu=4, on="n0").pod("b", cpu=4, on="n1")
    said = told(world.gang("high", members=2, cpu=4, priority=5).decide())["high"]
    assert said.endswith("has a place when 2 pods have left")
    assert world.attempts("high") == [Outcome.PREEMPTING]
