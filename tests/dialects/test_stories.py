"""One story told in every dialect: what is decided about the pods is the same."""

from itertools import permutations

import pytest

from muster.gangs.dialects import DIALECTS, declare
from tests.builders import pod
from tests.dialects.speakers import PARTED, PRIORITISED, REPLICATED, SPEAKERS
from tests.dialects.talk import Talk

WITH_OBJECT = [speaker for speaker in SPEAKERS if speaker.has_object]


def told(speaker, talk, *, minimum, members, cpu=2, timeout=None, priority=0):
    if speaker.has_object:
        talk.declared(speaker, speaker.group(minimum, timeout=timeout))
    join(speaker, talk, range(members), minimum=minimum, cpu=cpu, timeout=timeout, priority=priority)
    return talk


def join(speaker, talk, numbers, *, minimum, cpu=2, timeout=None, priority=0):
    for number in numbers:
        talk.seen(speaker.pod(f"p{number}", minimum, cpu=cpu, timeout=timeout, priority=priority))


def fits(speaker):
    return told(speaker, Talk(2), minimum=3, members=4).until_quiet()


def does_not_fit(speaker):
    return told(speaker, Talk(1), minimum=3, members=4).until_quiet()


def quorum_comes_late(speaker):
    talk = told(speaker, Talk(2), minimum=3, members=2).until_quiet(seconds=30)
    assert talk.bound == []
    join(speaker, talk, [2], minimum=3)
    return talk.until_quiet()


def half_of_it_is_bound_and_its_time_is_over(speaker):
    talk = Talk(2)
    talk.refused = ("p2",)
    return told(speaker, talk, minimum=3, members=3, timeout=40).until_quiet(seconds=60)


def a_member_is_lost_and_replaced(speaker):
    talk = told(speaker, Talk(2), minimum=3, members=3).until_quiet(seconds=5)
    talk.gone("uid-p1")
    talk.until_quiet(seconds=5)
    join(speaker, talk, [7], minimum=3)
    return talk.until_quiet(seconds=5)


def a_leader_comes_after_a_member_was_lost(speaker):
    talk = told(speaker, Talk(8), minimum=3, members=3).until_quiet(seconds=5)
    talk.gone("uid-p1")
    talk.restart()
    return talk.until_quiet(seconds=600)


def members_differ_in_priority(speaker):
    """Nobody goes before the least important of them: others of a priority in between are placed first."""
    talk = Talk(2)
    if speaker.has_object:
        talk.declared(speaker, speaker.group(2))
    talk.seen(speaker.pod("p0", 2, cpu=4, priority=9))
    talk.seen(speaker.pod("p1", 2, cpu=4, priority=1))
    talk.seen(pod("other", cpu=4, priority=5))
    return talk.until_quiet()


def its_object_comes_late(speaker):
    talk = Talk(2)
    join(speaker, talk, range(3), minimum=3)
    assert talk.until_quiet(seconds=30).bound == []
    talk.declared(speaker, speaker.group(3))
    return talk.until_quiet()


def its_object_goes_while_it_runs(speaker):
    talk = told(speaker, Talk(4), minimum=3, members=3).until_quiet(seconds=5)
    talk.undeclared(speaker, speaker.group(3))
    join(speaker, talk, [3], minimum=3)
    return talk.until_quiet(seconds=900)


def its_object_is_made_anew_while_it_runs(speaker):
    talk = its_object_goes_while_it_runs(speaker)
    talk.declared(speaker, speaker.group(5, uid="two", created="2026-01-01T01:00:00Z"))
    talk.until_quiet(seconds=900)
    join(speaker, talk, [4], minimum=5)
    return talk.until_quiet(seconds=5)


STORIES = [
    fits,
    does_not_fit,
    quorum_comes_late,
    half_of_it_is_bound_and_its_time_is_over,
    a_member_is_lost_and_replaced,
    a_leader_comes_after_a_member_was_lost,
]
OF_OBJECTS = [its_object_comes_late, its_object_goes_while_it_runs, its_object_is_made_anew_while_it_runs]


@pytest.mark.parametrize(
    ("speaker", "story"),
    [
        (speaker, story)
        for speaker in SPEAKERS[1:]
        for story in (
            *STORIES,
            *(OF_OBJECTS if speaker.has_object else ()),
            # some have a rule of their own
            *(() if speaker.dialect.one_priority else (members_differ_in_priority,)),
        )
    ],
    ids=lambda one: one.__name__ if callable(one) else str(one),
)
def test_every_dialect_tells_the_same_story(speaker, story):
    assert story(speaker).said == story(SPEAKERS[0]).said


@pytest.mark.parametrize("speaker", [one for one in SPEAKERS if one.dialect.one_priority], ids=str)
def test_where_members_must_agree_on_a_priority_they_wait_until_they_do(speaker):
    talk = members_differ_in_priority(speaker).until_quiet(seconds=10)
    assert talk.bound == ["other"]
    assert talk.why.keys() == {"p0", "p1"}
    talk.gone("uid-p1")
    talk.gone("uid-other")
    talk.seen(speaker.pod("p2", 2, cpu=4, priority=9))
    assert talk.until_quiet(seconds=5).bound == ["p0", "p2"]


def test_the_stories_are_what_their_names_say():
    first = SPEAKERS[0]
    assert fits(first).bound == ["p0", "p1", "p2", "p3"]
    assert does_not_fit(first).bound == []
    assert quorum_comes_late(first).bound == ["p0", "p1", "p2"]
    assert [line for line in half_of_it_is_bound_and_its_time_is_over(first).said if "release" in line]
    assert a_member_is_lost_and_replaced(first).bound == ["p0", "p2", "p7"]
    assert a_leader_comes_after_a_member_was_lost(first).bound == ["p0", "p2"]
    assert members_differ_in_priority(first).bound == ["other"]
    assert its_object_comes_late(first).bound == ["p0", "p1", "p2"]
    assert its_object_goes_while_it_runs(first).bound == ["p0", "p1", "p2"]
    assert its_object_is_made_anew_while_it_runs(first).bound == ["p0", "p1", "p2", "p3", "p4"]


# parts of a group, and gangs that are alike


@pytest.mark.parametrize("speaker", PARTED, ids=str)
def test_every_part_of_a_group_must_have_its_minimum(speaker):
    """Of a leader and two workers; a third worker is no leader."""
    talk = Talk(4)
    talk.declared(speaker, speaker.group({"leader": 1, "worker": 2}))
    for number, part in enumerate(["worker", "worker", "worker"]):
        talk.seen(speaker.pod(f"p{number}", 3, cpu=2, part=part))
    assert talk.until_quiet(seconds=30).bound == []
    talk.seen(speaker.pod("p3", 3, cpu=2, part="leader"))
    assert talk.until_quiet(seconds=5).bound == ["p0", "p1", "p2", "p3"]


@pytest.mark.parametrize("speaker", REPLICATED, ids=str)
def test_each_replica_of_a_group_is_a_gang(speaker):
    talk = Talk(3)
    talk.declared(speaker, speaker.group(2))
    for number, replica in enumerate(["r0", "r0", "r1"]):
        talk.seen(speaker.pod(f"p{number}", 2, cpu=2, part=replica))
    assert talk.until_quiet(seconds=30).bound == ["p0", "p1"]
    talk.seen(speaker.pod("p3", 2, cpu=2, part="r1"))
    assert talk.until_quiet(seconds=5).bound == ["p0", "p1", "p2", "p3"]


@pytest.mark.parametrize("speaker", PRIORITISED, ids=str)
def test_a_member_of_another_priority_than_its_group_waits_and_says_so(speaker):
    talk = Talk(2)
    talk.prioritised("high", 7)
    talk.declared(speaker, speaker.group(2))
    talk.seen(speaker.pod("p0", 2, cpu=2, priority=7))
    talk.seen(speaker.pod("p1", 2, cpu=2, priority=1))
    assert talk.until_quiet(seconds=30).bound == []
    assert talk.why["p1"].endswith("got 1 and 7")
    talk.gone("uid-p1")
    talk.seen(speaker.pod("p2", 2, cpu=2, priority=7))
    assert talk.until_quiet(seconds=5).bound == ["p0", "p2"]


@pytest.mark.parametrize("speaker", SPEAKERS, ids=str)
def test_the_gang_is_known_by_one_key(speaker):
    talk = fits(speaker)
    assert {pod.gang for pod in talk.engine.cluster.pods.values()} == {speaker.key}


def test_every_dialect_has_a_speaker():
    assert {speaker.dialect for speaker in SPEAKERS} == set(DIALECTS)


@pytest.mark.parametrize(
    ("before", "after"),
    # a Workload's gangs have keys of their own
    [(one, other) for one, other in permutations(WITH_OBJECT, 2) if one.key == other.key and one.name != other.name],
    ids=str,
)
def test_a_gang_that_runs_moves_to_another_dialect_and_loses_nothing(before, after):
    talk = told(before, Talk(2), minimum=3, members=3).until_quiet(seconds=5)
    talk.declared(after, after.group(4, uid="two", created="2026-01-01T01:00:00Z"))
    talk.until_quiet(seconds=5)
    talk.undeclared(before, before.group(3))
    assert talk.until_quiet(seconds=900).bound == ["p0", "p1", "p2"]
    assert declare(talk.groups.find(after.key)[1]).minimum == 4
