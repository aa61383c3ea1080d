"""A gang that declares a priority, and members that have another one."""

import pytest
from msgspec.structs import replace

from muster.engine.changes import Failure
from muster.engine.decisions import Evict, GangCondition, PodCondition
from tests.builders import STARTED, bound_for, cluster, evicted, group, only, placements, told

ODD = (
    "all pods in a single pod group should have the same priority as the pod group's priority, got {pod} and {group}"
).format


def reasons(decisions):
    """The reason of each condition among the decisions, by the name of the pod or group that gets it."""
    groups = {d.gang.partition("/")[2]: d.reason for d in only(GangCondition, decisions)}
    pods = {ref.pod.partition("/")[2]: d.reason for d in only(PodCondition, decisions) for ref in d.pods}
    return groups | pods


def at_odds(world=None, *, minimum=2):
    """Two of three members have another priority than their group, which is 0."""
    world = (world or cluster(3, cpu=4)).group("g", minimum, priority=0)
    return world.members("g", 0, cpu=1).members("g", 1, 2, cpu=1, priority=7)


# --- before the start -----------------------------------------------------------------------------


@pytest.mark.parametrize("minimum", [1, 2, 3, None], ids=["one", "two", "three", "basic"])
def test_a_gang_with_a_member_of_another_priority_is_refused_whole(minimum):
    world = at_odds(minimum=minimum)
    assert placements(world.decide()) == {}
    assert placements(world.decide(after=300.0)) == {}
    assert world.attempts("g") == []


def test_the_group_says_what_is_wrong_in_upstreams_words():
    world = at_odds()
    said = world.decide() + world.decide(after=2.0)
    assert (told(said)["g"], reasons(said)["g"]) == (ODD(pod=7, group=0), "PodGroupError")
    (condition,) = only(GangCondition, said)
    assert not condition.holds


def test_the_members_that_differ_say_it_too_and_once():
    world = at_odds()
    said = world.decide()
    assert told(said) == {"g-1": ODD(pod=7, group=0), "g-2": ODD(pod=7, group=0)}
    assert reasons(said) == {"g-1": "PodGroupError", "g-2": "PodGroupError"}
    world.decide(after=2.0)
    assert told(world.members("g", 1, cpu=1, priority=7, labels={"new": "label"}).decide(after=60.0)) == {}


def test_what_differs_says_more_than_who_is_missing():
    world = cluster(1).group("g", 4, priority=0).members("g", 0, priority=3)
    world.decide()
    assert told(world.decide(after=2.0))["g"] == ODD(pod=3, group=0)


def test_a_gang_that_differs_evicts_nobody():
    world = cluster(1, cpu=4).pod("low", cpu=4, on="n0", priority=-1)
    world.group("g", 1, priority=5).members("g", 0, cpu=4).members("g", 1, cpu=4, priority=7)
    assert only(Evict, world.decide() + world.decide(after=200.0)) == []


def test_a_bound_member_that_differs_refuses_the_gang_too():
    world = cluster(2, cpu=4).group("g", 2, priority=0).members("g", 0, cpu=1, on="n0", priority=7)
    assert placements(world.members("g", 1, 2, cpu=1).decide()) == {}


def test_a_member_that_has_ended_or_leaves_refuses_nobody():
    world = cluster(2, cpu=4).group("g", 2, priority=0)
    world.members("g", 0, cpu=1, on="n0", phase="Succeeded", priority=7).members("g", 1, cpu=1, leaving=9.0, priority=7)
    assert sorted(placements(world.members("g", 2, 3, cpu=1).decide())) == ["g-2", "g-3"]


def test_when_the_member_goes_the_others_start():
    world = at_odds(minimum=1)
    world.decide()
    assert placements(world.pod_gone("g-1", "g-2").decide()) == {"g-0": "n0"}


def test_when_the_group_is_made_again_with_the_members_priority_they_start():
    world = at_odds(minimum=2)
    world.decide()
    world.pod_gone("g-0").group_gone("g").group("g", 2, priority=7)
    assert sorted(placements(world.decide())) == ["g-1", "g-2"]


def test_a_pod_that_agrees_and_still_waits_no_longer_says_that_it_differs():
    world = at_odds(minimum=3)
    world.decide(), world.decide(after=2.0)
    world.pod_gone("g-0").group("g", 3, priority=7).decide()
    said = world.decide(after=2.0)
    assert reasons(said) == {"g": "Unschedulable", "g-1": "PodGroupNotReady", "g-2": "PodGroupNotReady"}


def test_a_gang_that_fell_is_refused_like_one_that_never_started():
    world = cluster(2, cpu=4).runs("g", "n0", "n1", cpu=4, priority=0, disruption="all")
    assert evicted(world.gang("high", members=2, cpu=4, priority=5).decide()) == ["g-0", "g-1"]
    world.pod_gone("g-0", "g-1").decide()
    world.bound().node("n2", cpu=8).members("g", 2, cpu=1).members("g", 3, cpu=1, priority=7)
    said = world.decide() + world.decide(after=2.0)
    assert placements(said) == {}
    assert reasons(said)["g"] == "PodGroupError"


def test_a_group_that_declares_nothing_takes_members_of_any_priority():
    world = cluster(2, cpu=4).group("g", 2).members("g", 0, cpu=1).members("g", 1, cpu=1, priority=7)
    assert sorted(placements(world.decide())) == ["g-0", "g-1"]


# --- after the start ------------------------------------------------------------------------------


def started():
    return cluster(3, cpu=4).runs("g", "n0", "n0", cpu=1, priority=0)


def test_after_the_start_only_the_member_that_differs_is_refused():
    world = started().members("g", 2, cpu=1, priority=7).members("g", 3, cpu=1)
    decisions = world.decide()
    assert list(placements(decisions)) == ["g-3"]
    assert (told(decisions)["g-2"], reasons(decisions)["g-2"]) == (ODD(pod=7, group=0), "PodGroupError")
    assert placements(world.bound().members("g", 4, cpu=1).decide()).keys() == {"g-4"}


def test_the_group_of_a_gang_that_runs_says_nothing_of_a_member_that_differs():
    world = started().members("g", 2, cpu=1, priority=7)
    assert only(GangCondition, world.decide() + world.decide(after=5.0)) == []


def test_a_gang_whose_priority_changes_runs_on():
    world = started()
    world.decide()
    assert world.group("g", 2, priority=9, condition=STARTED).decide(after=400.0) == []
    assert placements(world.members("g", 2, cpu=1, priority=9).decide()).keys() == {"g-2"}


def test_after_the_start_a_member_joins_as_soon_as_the_group_agrees():
    world = started().members("g", 2, cpu=1, priority=7)
    world.decide()
    assert placements(world.group("g", 2, priority=7, condition=STARTED).decide()).keys() == {"g-2"}


def test_room_that_is_kept_for_a_member_is_given_back_when_it_differs():
    world = cluster(1, cpu=4).pod("low", cpu=4, on="n0", priority=-5).gang("g", members=1, cpu=4, priority=3)
    assert evicted(world.decide()) == ["low"]
    world.group("g", 1, priority=2)
    world.decide()
    world.pod_gone("low")
    assert placements(world.pod("other", cpu=4).decide()) == {"other": "n0"}


def test_a_member_whose_bind_is_rejected_after_the_group_changed_waits():
    world = started().members("g", 2, cpu=1)
    world.decide()
    world.group("g", 2, priority=9, condition=STARTED).bind_failed("g-2", Failure.REJECTED)
    decisions = world.decide()
    assert placements(decisions) == {}
    assert told(decisions)["g-2"] == ODD(pod=0, group=9)


def test_a_gang_is_no_more_important_for_a_member_that_is_to_be_evicted():
    world = cluster(1, cpu=2).group("low", 1, condition=STARTED).group("mid", 1, priority=5, condition=STARTED)
    world.members("low", 0, cpu=1, on="n0", priority=0).members("mid", 0, cpu=1, on="n0")
    world.members("low", 1, cpu=1, priority=10).members("mid", 1, cpu=1)
    assert evicted(world.decide()) == ["low-0"]


def test_members_of_an_earlier_run_are_of_no_priority():
    world = cluster(4).see(replace(group("train", 2), dialect="subsets"))
    world.members("train", 0, 1, cpu=1, priority=5, controller="one").run()
    ended = {"on": "n0", "phase": "Succeeded", "record": bound_for("train", 2)}
    world.members("train", 0, 1, cpu=1, priority=5, controller="one", **ended).decide()
    world.members("train", 2, 3, cpu=1, priority=7, controller="two").run()
    assert {"train-2", "train-3"} <= world.where.keys()
