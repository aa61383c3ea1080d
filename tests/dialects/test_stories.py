"""One story told in every dialect: what is decided about the pods is the same."""

from itertools import permutations

import pytest

from muster.gangs.dialects import DIALECTS, declare
from tests.dialects.speakers import SPEAKERS
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


STORIES = [
    fits,
    does_not_fit,
    quorum_comes_late,
    half_of_it_is_bound_and_its_time_is_over,
    a_member_is_lost_and_replaced,
    a_leader_comes_after_a_member_was_lost,
]


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
@pytest.mark.parametrize("speaker", SPEAKERS[1:], ids=str)
def test_every_dialect_tells_the_same_story(speaker, story):
    assert story(speaker).said == story(SPEAKERS[0]).said


def test_the_stories_are_what_their_names_say():
    first = SPEAKERS[0]
    assert fits(first).bound == ["p0", "p1", "p2", "p3"]
    assert does_not_fit(first).bound == []
    assert quorum_comes_late(first).bound == ["p0", "p1", "p2"]
    assert [line for line in half_of_it_is_bound_and_its_time_is_over(first).said if "release" in line]
    assert a_member_is_lost_and_replaced(first).bound == ["p0", "p2", "p7"]
    assert a_leader_comes_after_a_member_was_lost(first).bound == ["p0", "p2"]


@pytest.mark.parametrize("speaker", WITH_OBJECT, ids=str)
def test_an_object_that_comes_late_is_waited_for(speaker):
    talk = Talk(2)
    join(speaker, talk, range(3), minimum=3)
    assert talk.until_quiet(seconds=30).bound == []
    talk.declared(speaker, speaker.group(3))
    assert talk.until_quiet().bound == ["p0", "p1", "p2"]


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
