"""Dialects that are switched off: pods go one by one, what was begun is finished, what runs is left alone."""

import pytest
from msgspec.structs import replace

from muster.engine.changes import GroupSeen, PodSeen
from muster.gangs.dialects import DIALECTS, membership
from tests.builders import node, pod
from tests.dialects.speakers import SPEAKERS
from tests.dialects.talk import NodeSeen, Talk
from tests.dialects.test_stories import join, told

SUBSETS = tuple(dialect for dialect in DIALECTS if dialect.name == "subsets")

each = pytest.mark.parametrize("speaker", SPEAKERS, ids=str)


def more_nodes(talk, *names):
    talk.nodes += [node(name, cpu=4) for name in names]
    talk.engine.apply([NodeSeen(one) for one in talk.nodes[-len(names) :]])


def half_bound(speaker):
    """A gang of three on two nodes, of which the last bind was refused."""
    talk = Talk(2)
    talk.refused = ("p2",)
    told(speaker, talk, minimum=3, members=3, timeout=40).until_quiet(seconds=1)
    talk.refused = ()
    assert talk.bound == ["p0", "p1"]
    return talk


def nominate(talk):
    for one in list(talk.pods.values()):
        talk.seen(replace(one, status=replace(one.status, nominated_node_name="n0")))


@each
def test_pods_go_one_by_one(speaker):
    assert told(speaker, Talk(1, closed=DIALECTS), minimum=3, members=4).until_quiet().bound == ["p0", "p1"]


@each
def test_pods_do_not_wait_for_an_object_nor_for_each_other(speaker):
    talk = Talk(2, closed=DIALECTS)
    join(speaker, talk, [0], minimum=3)
    assert talk.until_quiet().bound == ["p0"]


@each
def test_what_runs_is_not_touched_and_is_known_when_gangs_work_again(speaker):
    talk = told(speaker, Talk(2), minimum=3, members=3).until_quiet(seconds=5)
    talk.restart(closed=DIALECTS)
    said = list(talk.said)
    assert talk.until_quiet(seconds=600).said == said
    talk.gone("uid-p1")
    assert talk.until_quiet(seconds=600).said == said
    talk.restart()
    assert talk.until_quiet(seconds=5).bound == ["p0", "p2"]
    join(speaker, talk, [7], minimum=3)
    assert talk.until_quiet(seconds=5).bound == ["p0", "p2", "p7"]


@each
def test_gangs_work_again(speaker):
    talk = told(speaker, Talk(1), minimum=3, members=3).until_quiet()
    assert talk.bound == []
    talk.restart(closed=DIALECTS)
    talk.restart()
    assert talk.until_quiet(seconds=5).bound == []
    more_nodes(talk, "late")
    assert talk.until_quiet(seconds=60).bound == ["p0", "p1", "p2"]


@each
def test_pods_that_went_one_by_one_are_members_again(speaker):
    talk = told(speaker, Talk(2, closed=DIALECTS), minimum=3, members=3).until_quiet(seconds=5)
    talk.restart()
    assert talk.until_quiet(seconds=5).bound == ["p0", "p1", "p2"]
    talk.gone("uid-p1")
    join(speaker, talk, [7], minimum=3)
    assert talk.until_quiet(seconds=5).bound == ["p0", "p2", "p7"]


@each
def test_pods_that_went_one_by_one_are_not_released_because_others_have_no_room(speaker):
    talk = told(speaker, Talk(1, closed=DIALECTS), minimum=3, members=3, timeout=40).until_quiet(seconds=5)
    talk.restart()
    assert talk.until_quiet(seconds=600).bound == ["p0", "p1"]
    more_nodes(talk, "late")
    assert talk.until_quiet(seconds=60).bound == ["p0", "p1", "p2"]


@each
def test_a_gang_that_is_half_bound_is_completed_as_a_gang(speaker):
    talk = half_bound(speaker)
    join(speaker, talk, [3], minimum=3)
    talk.restart(closed=DIALECTS)
    assert talk.until_quiet(seconds=5).bound == ["p0", "p1", "p2", "p3"]
    join(speaker, talk, [4], minimum=3)
    talk.until_quiet(seconds=5)
    assert talk.said[-1] == "team/p4 waits"
    assert membership(told_of(talk, "p4")) is None


@each
def test_a_gang_that_is_half_bound_and_cannot_be_completed_is_released_and_then_goes_one_by_one(speaker):
    talk = half_bound(speaker)
    talk.nodes = talk.nodes[:1]
    talk.seen(speaker.pod("p2", 3, cpu=8, timeout=40))
    talk.linger = True
    talk.restart(closed=DIALECTS)
    talk.until_quiet(seconds=60)
    assert [one for one in talk.said if "release" in one] == ["release team/p0", "release team/p1"]
    join(speaker, talk, [5], minimum=3)
    assert "p5" in talk.until_quiet(seconds=5).bound


@each
def test_a_gang_whose_victims_are_on_their_way_lands_whole(speaker):
    talk = Talk(2)
    for number in range(4):
        talk.seen(pod(f"low-{number}", cpu=2))
    talk.until_quiet(seconds=1)
    talk.linger = True
    told(speaker, talk, minimum=3, members=3, priority=9).until_quiet(seconds=1)
    victims = ["evict team/low-1", "evict team/low-2", "evict team/low-3"]
    assert [one for one in talk.said if one.startswith("evict")] == victims
    talk.restart(closed=DIALECTS)
    talk.until_quiet(seconds=1)
    # alone on its node, which a pod could take that does not wait for the others
    talk.gone("uid-low-2")
    assert not {"p0", "p1", "p2"}.intersection(talk.until_quiet(seconds=5).bound)
    talk.gone("uid-low-1")
    talk.gone("uid-low-3")
    assert {"p0", "p1", "p2"} <= set(talk.until_quiet(seconds=5).bound)
    assert [one for one in talk.said if one.startswith("evict")] == victims


@each
def test_a_lone_pod_for_which_another_was_evicted_does_not_make_the_gang_one_again(speaker):
    talk = told(speaker, Talk(1, closed=DIALECTS), minimum=3, members=1)
    nominate(talk)
    talk.restart(closed=DIALECTS)
    assert talk.until_quiet().bound == ["p0"]


@pytest.mark.parametrize("speaker", SPEAKERS, ids=str)
def test_one_dialect_is_off_alone(speaker):
    talk = told(speaker, Talk(1, closed=SUBSETS), minimum=3, members=4).until_quiet()
    assert talk.bound == (["p0", "p1"] if speaker.name == "subsets" else [])


@pytest.mark.parametrize("speaker", [one for one in SPEAKERS if one.name == "subsets"], ids=str)
def test_pods_that_wait_for_their_object_go_when_it_turns_out_that_its_dialect_is_off(speaker):
    talk = Talk(1, closed=SUBSETS)
    join(speaker, talk, range(2), minimum=3)
    talk.until_quiet()
    talk.declared(speaker, speaker.group(3))
    assert talk.until_quiet(seconds=5).bound == ["p0", "p1"]


def test_a_pod_that_names_two_gangs_is_in_the_one_whose_dialect_is_on():
    [speaker, *_] = [one for one in SPEAKERS if one.name == "subsets"]
    pod = speaker.pod("p0", 3, cpu=2)
    labels = {"scheduling.x-k8s.io/pod-group": "other"}
    pod = replace(pod, metadata=replace(pod.metadata, labels=labels))
    talk = Talk(1, closed=SUBSETS)
    [seen] = talk.groups.pod_seen(pod)
    assert membership(seen.pod).gang == "team/other"


def test_a_gang_that_another_dialect_declares_too_is_one_still():
    [off] = [one for one in SPEAKERS if str(one) == "subsets by label"]
    [on] = [one for one in SPEAKERS if one.name == "muster"]
    talk = Talk(1, closed=SUBSETS)
    talk.declared(off, off.group(1))
    talk.declared(on, on.group(3))
    join(on, talk, range(3), minimum=3)
    assert talk.until_quiet(seconds=5).bound == []
    assert talk.groups.find(on.key)[0] is on.dialect


def test_labels_stay_for_those_who_select_by_them():
    speaker = next(one for one in SPEAKERS if one.name == "coscheduling")
    pod = speaker.pod("p0", 3, cpu=2)
    [seen] = Talk(1, closed=DIALECTS).groups.pod_seen(pod)
    assert seen.pod.metadata == pod.metadata


def test_groups_of_closed_dialects_are_not_told_of():
    speaker = SPEAKERS[0]
    talk = Talk(1, closed=DIALECTS)
    assert not any(isinstance(one, GroupSeen) for one in talk.groups.seen(speaker.dialect, speaker.group(3)))
    assert talk.groups.answer(speaker.key, 1).group is None


def told_of(talk, name):
    """The pod as the engine would be told of it now."""
    told = talk.groups.pod_seen(next(pod for pod in talk.pods.values() if pod.metadata.name == name))
    return next(one.pod for one in reversed(told) if isinstance(one, PodSeen))


@each
def test_a_group_is_in_use_as_long_as_pods_name_it_that_go_one_by_one(speaker):
    talk = told(speaker, Talk(1, closed=DIALECTS), minimum=3, members=1).until_quiet()
    assert talk.groups.is_named(speaker.key)
    done = talk.pods["uid-p0"]
    talk.seen(replace(done, status=replace(done.status, phase="Succeeded")))
    assert not talk.groups.is_named(speaker.key)
