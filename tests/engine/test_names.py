"""A pod that names two gangs: the first counts, unless it is basic and a controller made it."""

import pytest

from muster.engine.changes import Failure
from muster.engine.decisions import Bind, Event, PodCondition
from tests.builders import bound_for, cluster, group, only, placements, pod

LABEL = "muster.dev/pod-group"
JOB = "0b5d2a1c"


def labelled(*numbers, **facts):
    """Pods of a Job, whose controller named a group of its own in the field; their owner labelled them "train"."""
    return [pod(f"p{number}", cpu=1, gang="job", labels={LABEL: "train"}, **facts) for number in numbers]


def made_by_controller(minimum=None):
    return group("job", minimum, controller=JOB)


def members(world, gang):
    found = world.engine.cluster.gangs.get(f"team/{gang}")
    return sorted(found.members) if found is not None else []


def bound(decisions):
    return sorted(placement.pod.partition("/")[2] for bind in only(Bind, decisions) for placement in bind.pods)


def words(decisions):
    return {said.message for said in only(PodCondition, decisions)}


def test_a_label_counts_where_a_controller_made_the_basic_group_of_the_field():
    world = cluster(1, cpu=2).see(made_by_controller(), group("train", 3), *labelled(0, 1, 2))
    assert bound(world.decide()) == []
    assert members(world, "train") == ["uid-p0", "uid-p1", "uid-p2"]
    world.node("n1", cpu=1)
    assert bound(world.decide()) == ["p0", "p1", "p2"]


def test_it_counts_whether_or_not_its_group_is_there():
    world = cluster(1).see(made_by_controller(), *labelled(0))
    decisions = world.decide() + world.decide(after=5.0)
    assert bound(decisions) == []
    assert words(decisions) == {"waiting for its pod group: train does not exist"}


@pytest.mark.parametrize("first", [group("job", None), group("job", 1, controller=JOB)], ids=["nobody's", "a gang"])
def test_the_field_counts_where_somebody_asked_for_its_group(first):
    world = cluster(1).see(first, group("train", 3), *labelled(0))
    assert bound(world.decide()) == ["p0"]
    assert members(world, "train") == []


def test_until_the_group_of_the_field_is_seen_the_pod_waits():
    world = cluster(1).see(group("train", 1), *labelled(0))
    decisions = world.decide() + world.decide(after=5.0)
    assert bound(decisions) == []
    assert words(decisions) == {"waiting for its pod group: job does not exist"}
    assert bound(world.see(made_by_controller()).decide()) == ["p0"]


def test_pods_that_wait_are_looked_at_again_when_the_group_is_made_anew():
    world = cluster(1, cpu=0).see(made_by_controller(), group("train", 2), *labelled(0, 1))
    world.decide()
    world.see(group("job", 2, uid="another"))
    assert (members(world, "job"), members(world, "train")) == (["uid-p0", "uid-p1"], [])
    world.group_gone("job")
    assert members(world, "job") == ["uid-p0", "uid-p1"]
    world.see(made_by_controller())
    assert (members(world, "job"), members(world, "train")) == ([], ["uid-p0", "uid-p1"])
    world.node("more", cpu=2)
    assert bound(world.decide()) == ["p0", "p1"]


def test_a_pod_whose_label_changes_moves_to_the_gang_that_it_names_now():
    world = cluster(1, cpu=0).see(made_by_controller(), group("train", 2), *labelled(0))
    world.see(pod("p0", cpu=1, gang="job", labels={LABEL: "other"}))
    assert (members(world, "train"), members(world, "other")) == ([], ["uid-p0"])
    world.see(group("job", 1, uid="another"))
    world.see(pod("p0", cpu=1, gang="job", labels={LABEL: "third"}))
    world.see(made_by_controller())
    assert members(world, "third") == ["uid-p0"]


def test_a_bound_pod_stays_in_the_gang_of_its_record_whatever_becomes_of_the_group():
    record = bound_for("train", 2)
    world = cluster(1).see(made_by_controller(), group("train", 2), *labelled(0, 1, on="n0", record=record))
    world.see(group("job", 5, uid="another"))
    assert members(world, "train") == ["uid-p0", "uid-p1"]


def test_pods_that_are_being_bound_stay_and_those_whose_bind_fails_are_looked_at_again():
    world = cluster(1).see(made_by_controller(), group("train", 2), *labelled(0, 1))
    places = placements(world.decide())
    assert sorted(places) == ["p0", "p1"]
    world.see(group("job", 2, uid="another"))
    assert members(world, "train") == ["uid-p0", "uid-p1"]
    world.bind_failed("p0", Failure.REJECTED)
    world.decide()
    assert (members(world, "job"), members(world, "train")) == (["uid-p0"], ["uid-p1"])


def test_a_running_pod_without_a_record_belongs_where_a_new_scheduler_would_find_it():
    world = cluster(1).see(made_by_controller(), *labelled(0, on="n0"))
    assert members(world, "train") == ["uid-p0"]
    world.see(group("job", 1, uid="another"))
    assert (members(world, "job"), members(world, "train")) == (["uid-p0"], [])


def test_a_pod_that_names_two_gangs_at_odds_is_told_once_which_counts_and_starts_all_the_same():
    world = cluster(1).see(group("job", 1), group("train", 3), *labelled(0))
    decisions = world.decide()
    assert bound(decisions) == ["p0"]
    told = [event for event in only(Event, decisions) if event.reason == "PodGroupError"]
    assert [event.note for event in told] == ["the pod is a member of job, not of train, which it names too"]
    again = world.see(group("job", 1), group("train", 3), *labelled(0)).decide()
    assert [event for event in only(Event, again) if event.reason == "PodGroupError"] == []


def test_as_long_as_it_waits_its_condition_says_so_too():
    world = cluster(1, cpu=0).see(group("job", 2), group("train", 3), *labelled(0), pod("p1", cpu=1, gang="job"))
    messages = words(world.decide())
    assert len(messages) == 2
    (odd,) = [message for message in messages if "train" in message]
    assert odd.endswith(" (the pod is a member of job, not of train, which it names too)")
    world.see(made_by_controller())
    assert not any("which it names too" in message for message in words(world.decide() + world.decide(after=5.0)))


def test_nothing_is_kept_of_pods_that_are_gone():
    world = cluster(1).see(made_by_controller(), *labelled(0, 1))
    for number in range(2):
        world.pod_gone(f"p{number}")
    assert world.engine._intake._named_twice == {}
