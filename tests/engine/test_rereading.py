"""Members that join a gang that runs wait until its group was read again: an old view of it must not let a part go."""

import pytest

from muster.api.times import stamp
from muster.api.wire import Condition
from muster.engine.changes import Failure, GroupRead, Spared
from muster.engine.decisions import Bind, Reread
from muster.engine.engine import Engine
from muster.engine.journal import Recorder, replay
from muster.gangs.dialects.v1beta1 import GROUP_LABEL
from muster.plugins.defaults import default_profile
from tests.builders import STARTED, cluster, evicted, group, only, pod, told


def bound(decisions):
    return sorted(placement.pod.partition("/")[2] for bind in only(Bind, decisions) for placement in bind.pods)


def asked(decisions):
    return [found.gang for found in only(Reread, decisions)]


def running(minimum=2, *, members=2, nodes=4, **facts):
    """A gang "g" that runs, on nodes with room for one each; groups are read only when a test says so."""
    world = cluster(nodes, cpu=1)
    world.reads = False
    world.group("g", minimum, condition=STARTED, **facts)
    for number in range(members):
        world.members("g", number, cpu=1, on=f"n{number}")
    world.decide()
    return world


def answer(world, decisions, minimum, **facts):
    """The last reading that was asked for finds the group so."""
    *_, last = only(Reread, decisions)
    found = None if minimum is None else group("g", minimum, condition=STARTED, **facts)
    return world.apply(GroupRead("team/g", last.number, found))


def test_members_that_join_a_gang_that_runs_wait_until_its_group_was_read():
    world = running()
    decisions = world.members("g", 2, cpu=1).decide()
    assert (asked(decisions), bound(decisions)) == (["team/g"], [])
    assert bound(answer(world, decisions, 2).decide()) == ["g-2"]


def test_a_minimum_that_was_raised_before_they_came_is_met_together_or_not_at_all():
    """Volcano #6010: the watch of groups lags behind that of pods."""
    world = running()
    decisions = world.members("g", 2, cpu=1).decide()
    assert bound(answer(world, decisions, 4).decide()) == []
    decisions = world.members("g", 3, cpu=1).decide()
    assert bound(decisions) == []
    assert bound(answer(world, decisions, 4).decide()) == ["g-2", "g-3"]


def test_a_pod_for_which_room_was_reserved_alone_waits_too_when_it_joins():
    world = running(nodes=3, priority=5).pod("low", cpu=1, on="n2")
    assert evicted(world.pod("p", cpu=1, priority=5).decide()) == ["low"]
    world.pod_gone("low").pod("p", cpu=1, priority=5, nominated="n2", labels={GROUP_LABEL: "g"})
    decisions = world.decide()
    assert (asked(decisions), bound(decisions)) == (["team/g"], [])


def test_a_pod_for_which_room_was_reserved_in_a_group_that_gives_way_waits_too():
    world = running(nodes=3, priority=5).pod("low", cpu=1, on="n2").group("job", None)
    assert evicted(world.pod("p", cpu=1, priority=5, gang="job", labels={GROUP_LABEL: "g"}).decide()) == ["low"]
    decisions = world.pod_gone("low").group("job", None, controller="j").decide()
    assert (asked(decisions), bound(decisions)) == (["team/g"], [])


def test_members_whose_group_is_not_read_for_long_say_so():
    world = running()
    decisions = world.members("g", 2, cpu=1).decide()
    assert told(decisions) == {}
    assert told(world.decide(after=5.0)) == {"g-2": "waiting for its pod group: it is being read again"}
    assert bound(answer(world, decisions, 2).decide()) == ["g-2"]


def test_a_batch_of_newcomers_is_one_reading():
    world = running(nodes=9)
    decisions = world.members("g", 2, 3, 4, cpu=1).decide()
    assert asked(decisions) == ["team/g"]
    # these came after it was asked: the answer may be older than they are
    assert asked(world.members("g", 5, 6, cpu=1).decide()) == []
    again = answer(world, decisions, 2).decide()
    assert (bound(again), asked(again)) == (["g-2", "g-3", "g-4"], ["team/g"])
    assert bound(answer(world, again, 2).decide()) == ["g-5", "g-6"]


def test_what_replaces_a_lost_member_waits_for_nothing():
    world = running(3, members=2)
    decisions = world.members("g", 2, 3, cpu=1).decide()
    assert (bound(decisions), asked(decisions)) == (["g-2"], ["team/g"])
    assert bound(answer(world, decisions, 3).decide()) == ["g-3"]


def test_a_newcomer_that_comes_to_replace_somebody_need_not_wait_any_longer():
    world = running()
    assert bound(world.members("g", 2, cpu=1).decide()) == []
    assert bound(world.pod_gone("g-0").decide()) == ["g-2"]


def test_a_gang_that_has_not_started_asks_for_nothing():
    world = cluster(4, cpu=1)
    world.reads = False
    decisions = world.gang("g", members=3, minimum=2, cpu=1).decide()
    assert (bound(decisions), asked(decisions)) == (["g-0", "g-1", "g-2"], [])


def test_members_that_found_no_place_at_the_start_are_read_for_once():
    world = cluster(2, cpu=1)
    world.reads = False
    world.gang("g", members=3, minimum=2, cpu=1).decide()
    decisions = world.bound().decide()
    assert asked(decisions) == ["team/g"]
    world.node("more", cpu=1)
    assert bound(world.decide()) == []
    again = answer(world, decisions, 2).decide()
    assert (bound(again), asked(again)) == (["g-2"], [])


def test_members_that_came_while_a_gang_was_to_be_evicted_wait_if_it_is_spared():
    world = running(nodes=3, disruption="all").pod("x", cpu=1, on="n2", priority=9)
    assert evicted(world.pod("high", cpu=1, priority=5).decide()) == ["g-0", "g-1"]
    world.members("g", 2, cpu=1).pod_gone("high", "x").decide()
    decisions = world.apply(Spared(("uid-g-0", "uid-g-1"))).decide()
    assert (asked(decisions), bound(decisions)) == (["team/g"], [])


def test_members_of_a_gang_that_fell_in_words_only_wait_for_its_group_to_be_read_by_a_new_engine():
    fell = Condition(type="PodGroupBelowMinimum", status="True", reason="Preempted", last_transition_time=stamp(100.0))
    world = cluster(4, cpu=1)
    world.reads, world.now = False, 200.0
    world.group("g", 3, conditions=[STARTED, fell])
    for number in range(2):
        world.members("g", number, cpu=1, on=f"n{number}", bound_at=0.0)
    # one replaces what was lost
    decisions = world.members("g", 2, 3, cpu=1).decide()
    assert (asked(decisions), bound(decisions)) == (["team/g"], ["g-2"])


def test_a_basic_group_has_no_minimum_to_be_read():
    world = cluster(4, cpu=1)
    world.reads = False
    world.see(group("g", None, condition=STARTED)).members("g", 0, cpu=1, on="n0")
    decisions = world.members("g", 1, cpu=1).decide()
    assert (bound(decisions), asked(decisions)) == (["g-1"], [])


def test_one_whose_bind_failed_is_no_older_than_its_gang():
    """It was decided before the gang had started."""
    world = cluster(3, cpu=1)
    world.reads = False
    world.gang("g", members=3, minimum=2, cpu=1).decide()
    world.bound("g-0", "g-1").bind_failed("g-2", Failure.REJECTED)
    decisions = world.decide()
    assert (bound(decisions), asked(decisions)) == ([], ["team/g"])
    assert bound(answer(world, decisions, 2).decide()) == ["g-2"]


def test_a_member_that_loses_its_gate_is_a_newcomer_then():
    world = running()
    world.members("g", 2, cpu=1, gates=["example.com/later"])
    assert asked(world.decide()) == []
    decisions = world.members("g", 2, cpu=1).decide()
    assert (bound(decisions), asked(decisions)) == ([], ["team/g"])
    assert bound(answer(world, decisions, 2).decide()) == ["g-2"]


def test_a_pod_that_is_seen_again_unchanged_still_waits():
    world = running()
    decisions = world.members("g", 2, cpu=1).decide()
    assert bound(world.members("g", 2, cpu=1).decide()) == []
    assert bound(answer(world, decisions, 2).decide()) == ["g-2"]


def test_a_group_that_turns_out_to_be_gone_leaves_its_members_waiting_and_they_say_so():
    world = running()
    decisions = world.members("g", 2, cpu=1).decide()
    after = answer(world, decisions, None).decide() + world.decide(after=5.0)
    assert bound(after) == []
    assert told(after) == {"g-2": "waiting for its pod group: g does not exist"}


def test_an_answer_to_an_earlier_question_answers_none():
    world = running()
    first = world.members("g", 2, cpu=1).decide()
    world.group_gone("g").decide()
    again = world.group("g", 2, condition=STARTED).decide()
    assert asked(again) == ["team/g"]
    assert bound(answer(world, first, 2).decide()) == []
    assert bound(answer(world, again, 2).decide()) == ["g-2"]


@pytest.mark.parametrize("other", ["g-2", "g-3"])
def test_a_newcomer_that_goes_is_waited_for_no_longer(other):
    world = running(nodes=5)
    decisions = world.members("g", 2, 3, cpu=1).decide()
    world.pod_gone(other)
    assert bound(answer(world, decisions, 2).decide()) == sorted({"g-2", "g-3"} - {other})


def test_room_that_was_kept_for_a_member_is_its_own_after_a_restart():
    """Whoever evicted others for it had read the group before."""
    world = cluster(2, cpu=1)
    world.reads = False
    world.group("g", 1, condition=STARTED, priority=5).members("g", 0, cpu=1, on="n0")
    world.see(pod("low", cpu=1, on="n1", leaving=30.0))
    world.members("g", 1, cpu=1, nominated="n1")
    assert asked(world.decide()) == []
    assert bound(world.pod_gone("low").decide()) == ["g-1"]


def test_a_journal_knows_the_question_and_the_answer():
    lines = []
    world = cluster(0)
    world.reads = False
    world.engine = Recorder(Engine(default_profile()), lines.append, settings={})
    world.node("n0", cpu=4).see(group("g", 1, condition=STARTED)).apply().see(pod("g-0", cpu=1, gang="g", on="n0"))
    decisions = world.see(pod("g-1", cpu=1, gang="g")).decide()
    assert bound(answer(world, decisions, 1).decide()) == ["g-1"]
    result = replay(lines, lambda settings: Engine(default_profile()))
    assert (result.difference, result.decisions) == (None, len(decisions) + 1)
