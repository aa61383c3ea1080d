"""A gang after its start: members that go, complete or are refused, and what becomes of the rest."""

import pytest
from msgspec.structs import replace

from muster.api.times import stamp
from muster.api.wire import Condition
from muster.engine.changes import Failure
from muster.engine.decisions import Bind, GangCondition, Release
from muster.engine.verdicts import Outcome
from muster.gangs.model import Aspect
from tests.builders import STARTED, bound_for, cluster, evicted, only, placements, pod, told

RESTART = {"muster.dev/below-minimum": "restart", "muster.dev/below-minimum-grace-seconds": "30"}
WAIT = {"muster.dev/below-minimum": "wait", "muster.dev/below-minimum-grace-seconds": "30"}
HOLD = {"muster.dev/on-partial": "hold"}


def runs(*nodes, minimum=None, annotations=None, world=None, priority=None):
    """A gang that has started, with a member of 4 cpu on each of the nodes; as many more nodes are empty."""
    world = world or cluster(4, cpu=4)
    needed = minimum or len(nodes)
    world.group("g", needed, annotations=annotations, condition=STARTED, priority=priority)
    for number, node in enumerate(nodes):
        world.members("g", number, cpu=4, on=node, bound_at=0.0)
    world.decide()
    return world


def below(decisions):
    """What the group says of its minimum: (below, reason, message)."""
    return [
        (said.holds, said.reason, said.message)
        for said in only(GangCondition, decisions)
        if said.aspect is Aspect.BELOW_MINIMUM
    ]


def since(moment, reason="MembersLost"):
    return Condition(
        type="PodGroupBelowMinimum", status="True", reason=reason, message="so", last_transition_time=stamp(moment)
    )


def released(decisions):
    return [ref.pod.partition("/")[2] for release in only(Release, decisions) for ref in release.pods]


# --- below its minimum ----------------------------------------------------------------------------


def test_the_group_says_that_it_is_below_its_minimum_once_it_has_been_for_two_seconds():
    world = runs("n0", "n1").pod_gone("g-1")
    assert below(world.decide()) == []
    assert below(world.decide(after=1.9)) == []
    assert below(world.decide(after=0.1)) == [(True, "MembersLost", "1 of 2 members are bound")]


def test_the_group_says_how_many_are_left_when_more_are_lost():
    world = runs("n0", "n1", "n2").pod_gone("g-2")
    world.decide()
    world.decide(after=2.0)
    assert below(world.pod_gone("g-1").decide()) == [(True, "MembersLost", "1 of 3 members are bound")]


def test_the_group_says_nothing_of_a_member_that_was_replaced_at_once():
    world = runs("n0", "n1").pod_gone("g-1").members("g", 2, cpu=4)
    assert len(placements(world.decide())) == 1
    world.bound().decide()
    assert below(world.decide(after=10.0)) == []


def test_the_group_takes_it_back_when_it_has_its_minimum_again():
    world = runs("n0", "n1").pod_gone("g-1")
    world.decide()
    world.decide(after=2.0)
    world.members("g", 2, cpu=4).decide()
    assert below(world.bound().decide()) == [(False, "Scheduled", "")]


def test_the_group_does_not_take_back_that_it_has_started():
    world = runs("n0", "n1").pod_gone("g-1")
    decisions = world.decide() + world.decide(after=2.0) + world.decide(after=600.0)
    assert [said for said in only(GangCondition, decisions) if said.aspect is Aspect.STARTED] == []


def test_a_gang_above_its_minimum_says_nothing():
    world = runs("n0", "n1", minimum=1).pod_gone("g-1")
    world.decide()
    assert below(world.decide(after=10.0)) == []


def test_a_basic_group_is_never_below_a_minimum():
    world = cluster(2).group("b", None, condition=STARTED).members("b", 0, cpu=1, on="n0")
    world.decide()
    world.pod_gone("b-0").decide()
    assert below(world.decide(after=10.0)) == []


def test_a_member_that_is_being_deleted_counts_as_lost():
    world = runs("n0", "n1").members("g", 1, cpu=4, on="n1", leaving=30.0)
    world.decide()
    assert below(world.decide(after=2.0)) == [(True, "MembersLost", "1 of 2 members are bound")]


def test_a_member_that_the_kubelet_refused_counts_as_lost():
    world = runs("n0", "n1").members("g", 1, cpu=4, on="n1", phase="Failed")
    world.decide()
    assert below(world.decide(after=2.0)) == [(True, "MembersLost", "1 of 2 members are bound")]


def test_the_replacement_of_a_member_that_the_kubelet_refused_is_placed():
    world = runs("n0", "n1").members("g", 1, cpu=4, on="n1", phase="Failed").members("g", 2, cpu=4)
    assert list(placements(world.decide())) == ["g-2"]


def test_a_member_on_a_node_that_is_gone_counts_as_lost():
    world = runs("n0", "n1").node_gone("n1")
    world.decide()
    assert below(world.decide(after=2.0)) == [(True, "MembersLost", "1 of 2 members are bound")]


def test_a_member_on_a_node_that_is_back_counts_again():
    world = runs("n0", "n1").node_gone("n1")
    world.decide()
    world.decide(after=2.0)
    assert below(world.node("n1", cpu=4).decide()) == [(False, "Scheduled", "")]


def nothing_left(**facts):
    """A gang that has started, of which one is on a node that is gone, the other is gone, and a large one waits."""
    world = runs("n0", "n1", **facts).node_gone("n0").pod_gone("g-1").members("g", 2, cpu=8)
    world.decide()
    assert below(world.decide(after=1000.0)) == [(True, "Unschedulable", MISSING)]
    return world


MISSING = "1 of 2 members exist, 1 more must be created"


def test_what_runs_of_a_gang_is_not_released_because_its_node_was_away():
    world = nothing_left().node("n0", cpu=4)
    decisions = world.decide() + world.decide(after=1000.0)
    assert released(decisions) == []
    assert below(decisions)[-1] == (True, "MembersLost", "1 of 2 members are bound")


def test_what_runs_of_a_gang_has_its_replacements_although_its_node_was_away():
    world = nothing_left().node("n0", cpu=4).members("g", 3, cpu=4)
    assert set(placements(world.decide())) == {"g-3"}


def test_what_runs_of_a_gang_that_restarts_is_taken_down_although_its_node_was_away():
    world = nothing_left(annotations=RESTART).node("n0", cpu=4)
    assert released(world.decide() + world.decide(after=0.1)) == ["g-0"]


@pytest.mark.parametrize("said", [[], [("NothingRuns", 100.0)]], ids=["runs", "fell"])
def test_what_runs_of_a_gang_is_not_released_because_its_node_was_away_when_the_scheduler_came(said):
    """A node goes, the scheduler is restarted, nothing of the gang is left but what comes back with the node."""
    conditions = [STARTED, *(since(moment, reason=reason) for reason, moment in said)]
    world = cluster(0).node("n1", cpu=4).group("g", 2, conditions=conditions)
    world.members("g", 0, cpu=4, on="n0", bound_at=0.0).members("g", 2, cpu=8)
    if not said:
        world.members("g", 1, cpu=4, on="n1", bound_at=0.0)
    world.now = 1000.0
    world.decide()
    world.pod_gone("g-1").decide(after=10.0)
    assert world.engine.cluster.gangs["team/g"].fallen
    assert released(world.node("n0", cpu=4).decide() + world.decide(after=1000.0)) == []


def test_what_was_bound_since_a_gang_fell_is_released_although_its_node_was_away_when_the_scheduler_came():
    world = cluster(0).node("n1", cpu=4).group("g", 2, conditions=[STARTED, since(100.0, reason="NothingRuns")])
    world.members("g", 0, cpu=4, on="n0", bound_at=200.0).members("g", 2, cpu=8)
    world.now = 1000.0
    world.decide()
    assert released(world.node("n0", cpu=4).decide()) == ["g-0"]


def test_what_was_bound_of_a_gang_since_it_fell_is_released_alone():
    world = nothing_left().members("g", 3, 4, cpu=4)
    assert set(placements(world.decide())) == {"g-3", "g-4"}
    decisions = world.bound("g-3").bind_failed("g-4", Failure.POD_GONE).decide() + world.decide(after=301.0)
    assert released(decisions) == ["g-3"]


def test_a_gang_does_not_start_with_a_member_bound_to_a_node_that_is_gone():
    world = cluster(2, cpu=4).gang("g", members=2, cpu=4)
    world.decide()
    world.bound("g-0").node_gone("n1").bound("g-1")
    assert only(GangCondition, world.decide()) == []


def test_for_whom_members_were_evicted_is_said():
    world = runs("n0", "n1", world=cluster(2, cpu=4)).gang("high", members=1, cpu=4, priority=5)
    gone = evicted(world.decide())
    world.pod_gone(*gone).decide()
    ((_, _, message),) = below(world.decide(after=2.0))
    assert message == "1 of 2 members are bound; others were evicted for team/high"


# --- completed members ----------------------------------------------------------------------------


def test_completed_members_count_for_the_minimum():
    world = runs("n0", "n1").members("g", 0, cpu=4, on="n0", phase="Succeeded")
    world.decide()
    assert below(world.decide(after=10.0)) == []


def test_the_replacement_of_a_dead_member_does_not_wait_for_those_that_completed():
    # peers C13: the replacement waited for members that would never come
    world = runs("n0", "n1").members("g", 0, cpu=4, on="n0", phase="Succeeded").pod_gone("g-1")
    assert list(placements(world.members("g", 2, cpu=4).decide())) == ["g-2"]


def test_a_gang_that_has_ended_says_nothing_of_its_minimum():
    world = runs("n0", "n1").members("g", 0, 1, cpu=4, on="n0", phase="Succeeded")
    world.decide()
    assert below(world.decide(after=10.0)) == []


def test_a_gang_all_of_whose_members_failed_says_nothing_of_its_minimum():
    world = (
        runs("n0", "n1").members("g", 0, cpu=4, on="n0", phase="Failed").members("g", 1, cpu=4, on="n1", phase="Failed")
    )
    world.decide()
    assert below(world.decide(after=10.0)) == []


def test_a_gang_that_starts_whole_again_does_not_need_those_that_completed():
    world = runs("n0", "n1", "n2").members("g", 0, cpu=4, on="n0", phase="Succeeded").pod_gone("g-1", "g-2")
    world.decide()
    assert set(placements(world.members("g", 3, 4, cpu=4).decide(after=10.0))) == {"g-3", "g-4"}


# --- right of return ------------------------------------------------------------------------------


def test_a_replacement_goes_ahead_of_older_work_of_equal_priority():
    # peers C3: a filler took the slot each time, and the gang stayed at one of two for ever
    world = runs("n0", "n1", world=cluster(2, cpu=4)).pod("filler", cpu=4, created=-100.0)
    world.decide()
    world.pod_gone("g-1").members("g", 2, cpu=4, created=50.0)
    assert list(placements(world.decide())) == ["g-2"]


def test_work_of_higher_priority_goes_ahead_of_a_replacement():
    world = runs("n0", "n1", world=cluster(2, cpu=4)).pod("urgent", cpu=4, priority=1, preemption="Never")
    world.decide()
    world.pod_gone("g-1").members("g", 2, cpu=4)
    assert list(placements(world.decide())) == ["urgent"]


def test_members_beyond_the_minimum_have_no_right_of_return():
    world = runs("n0", "n1", minimum=1, world=cluster(2, cpu=4)).pod("filler", cpu=4, created=-100.0)
    world.decide()
    world.pod_gone("g-1").members("g", 2, cpu=4, created=50.0)
    assert list(placements(world.decide())) == ["filler"]


def test_room_is_not_held_for_a_gang_against_the_return_of_another():
    world = runs("n0", "n1", world=cluster(2, cpu=4)).gang("big", members=2, cpu=4, created=1.0)
    for number in range(4):
        world.pod_gone("g-1" if number == 0 else f"g-{number + 1}").members("g", number + 2, cpu=4)
        assert list(placements(world.decide())) == [f"g-{number + 2}"]
        world.bound()


# --- what becomes of the rest ---------------------------------------------------------------------


@pytest.mark.parametrize("annotations", [None, WAIT], ids=["by default", "declared"])
def test_a_gang_that_waits_keeps_what_is_left_of_it(annotations):
    world = runs("n0", "n1", annotations=annotations).pod_gone("g-1")
    world.decide()
    assert released(world.decide(after=1000.0)) == []


def test_a_gang_that_restarts_is_taken_down_when_its_grace_is_over():
    world = runs("n0", "n1", annotations=RESTART).pod_gone("g-1")
    world.decide()
    assert released(world.decide(after=29.9)) == []
    assert released(world.decide(after=0.1)) == ["g-0"]


def test_who_runs_when_all_before_have_ended_has_a_grace_of_their_own():
    world = runs("n0", "n1", annotations=RESTART)
    for number, node in enumerate(("n0", "n1")):
        world.members("g", number, cpu=4, on=node, phase="Failed")
    world.decide()
    # the grace of those who have ended passes, and nobody is there whom that concerns
    assert released(world.decide(after=40.0)) == []
    world.members("g", 2, cpu=4, on="n2", bound_at=40.0)
    assert below(world.decide()) == []
    assert below(world.decide(after=2.0)) == [(True, "MembersLost", "1 of 2 members are bound")]
    assert released(world.decide(after=27.9)) == []
    assert released(world.decide(after=0.1)) == ["g-2"]


def test_a_take_down_says_why():
    world = runs("n0", "n1", annotations=RESTART).pod_gone("g-1")
    world.decide()
    (release,) = only(Release, world.decide(after=30.0))
    assert (release.unit, release.reason) == ("team/g", "PodGroupBelowMinimum")
    assert release.message == "1 of 2 members were left for 30 s; it is taken down to start whole again"


def test_a_gang_is_taken_down_after_a_minute_where_it_does_not_say_when():
    world = runs("n0", "n1", annotations={"muster.dev/below-minimum": "restart"}).pod_gone("g-1")
    world.decide()
    assert released(world.decide(after=59.9)) == []
    assert released(world.decide(after=0.1)) == ["g-0"]


def test_a_gang_that_is_whole_again_in_time_is_not_taken_down():
    world = runs("n0", "n1", annotations=RESTART).pod_gone("g-1")
    world.decide()
    world.members("g", 2, cpu=4).decide(after=29.0)
    world.bound().decide()
    assert released(world.decide(after=100.0)) == []


def test_a_gang_is_not_taken_down_while_its_minimum_is_being_bound():
    world = runs("n0", "n1", annotations=RESTART).pod_gone("g-1")
    world.decide()
    assert len(placements(world.members("g", 2, cpu=4).decide(after=29.0))) == 1
    assert released(world.decide(after=2.0) + world.decide(after=2.0)) == []
    world.bound().decide()
    assert released(world.decide(after=60.0)) == []


def test_a_gang_is_taken_down_when_the_bind_that_it_waited_for_is_refused():
    world = runs("n0", "n1", annotations=RESTART).pod_gone("g-1")
    world.decide()
    world.members("g", 2, cpu=4).decide(after=29.0)
    world.decide(after=2.0)
    world.node_gone("n1", "n2", "n3").bind_failed("g-2", Failure.REJECTED)
    assert released(world.decide() + world.decide(after=3.0)) == ["g-0"]


def test_the_grace_begins_anew_when_the_gang_falls_again():
    world = runs("n0", "n1", annotations=RESTART).pod_gone("g-1")
    world.decide()
    world.members("g", 2, cpu=4).decide(after=20.0)
    world.bound().decide()
    world.pod_gone("g-2").decide()
    assert released(world.decide(after=29.0)) == []
    assert released(world.decide(after=1.0)) == ["g-0"]


def grows():
    """A gang of two whose minimum is four now; of two more one is bound, the other on its way."""
    world = runs("n0", "n1", annotations=RESTART).group("g", 4, annotations=RESTART, condition=STARTED)
    assert set(placements(world.members("g", 2, 3, cpu=4).decide())) == {"g-2", "g-3"}
    return world.bound("g-2")


def test_a_gang_is_not_below_a_raised_minimum_while_those_who_come_for_it_are_on_their_way():
    world = grows()
    assert below(world.decide() + world.decide(after=3.0)) == []
    decisions = world.pod_gone("g-0").decide() + world.decide(after=100.0)
    assert below(decisions) == []
    assert released(decisions) == []


def test_the_grace_of_a_gang_that_did_not_reach_a_raised_minimum_begins_when_that_is_known():
    world = grows()
    world.decide()
    world.node_gone(world.where["g-3"]).bind_failed("g-3", Failure.REJECTED)
    assert released(world.decide(after=100.0)) == []
    assert released(world.decide(after=29.0)) == []
    assert released(world.decide(after=1.0)) == ["g-0", "g-1", "g-2"]


def test_a_gang_that_is_told_to_restart_while_it_is_below_its_minimum_does():
    world = runs("n0", "n1").pod_gone("g-1")
    world.decide()
    world.group("g", 2, annotations=RESTART, condition=STARTED).decide(after=10.0)
    assert released(world.decide(after=25.0)) == ["g-0"]


def test_a_new_engine_takes_a_gang_down_when_its_grace_is_over():
    world = cluster(2, cpu=4).group("g", 2, annotations=RESTART, conditions=[STARTED, since(10.0)])
    world.members("g", 0, cpu=4, on="n0", bound_at=0.0)
    world.now = 20.0
    assert released(world.decide()) == []
    assert released(world.decide(after=19.0)) == []
    assert released(world.decide(after=1.0)) == ["g-0"]


def test_a_new_engine_takes_a_gang_down_whose_grace_was_over_before_it_came():
    world = cluster(2, cpu=4).group("g", 2, annotations=RESTART, conditions=[STARTED, since(10.0)])
    world.members("g", 0, cpu=4, on="n0", bound_at=0.0)
    world.now = 1000.0
    assert released(world.decide()) == ["g-0"]


def test_a_new_engine_takes_back_that_the_gang_is_below_its_minimum():
    world = cluster(2, cpu=4).group("g", 2, conditions=[STARTED, since(10.0)])
    world.members("g", 0, cpu=4, on="n0").members("g", 1, cpu=4, on="n1")
    assert below(world.decide()) == [(False, "Scheduled", "")]


# --- a fallen gang starts whole -------------------------------------------------------------------


def taken_down():
    """Nothing of the gang is left, on two nodes, one of which is taken."""
    world = runs("n0", "n1", annotations=RESTART, world=cluster(2, cpu=4)).pod_gone("g-1")
    world.pod("filler", cpu=4, on="n1").decide()
    assert released(world.decide(after=30.0)) == ["g-0"]
    world.pod_gone("g-0").decide()
    return world


def test_a_gang_that_was_taken_down_does_not_start_in_part():
    world = taken_down().members("g", 2, 3, cpu=4)
    assert placements(world.decide()) == {}
    assert placements(world.decide(after=100.0)) == {}


def test_a_gang_that_was_taken_down_starts_whole():
    world = taken_down().members("g", 2, 3, cpu=4).pod_gone("filler")
    world.decide()
    world.decide(after=30.0)
    assert set(world.where) == {"g-2", "g-3"}


def test_a_gang_that_fell_is_bound_only_when_its_object_says_that_it_did():
    world = taken_down().members("g", 2, 3, cpu=4).pod_gone("filler")
    decisions = world.decide() + world.decide(after=30.0)
    assert [decision.after for decision in decisions if isinstance(decision, Bind)] == [Aspect.BELOW_MINIMUM]


def test_a_gang_that_was_taken_down_waits_for_all_its_members():
    world = taken_down().pod_gone("filler").members("g", 2, cpu=4)
    world.decide()
    assert placements(world.decide(after=100.0)) == {}


def test_a_gang_that_starts_whole_again_says_so():
    world = taken_down().members("g", 2, 3, cpu=4).pod_gone("filler")
    world.decide()
    world.decide(after=30.0)
    assert below(world.bound().decide()) == [(False, "Scheduled", "")]


def test_a_gang_that_starts_again_in_part_is_released_when_its_time_is_over():
    world = taken_down().members("g", 2, 3, cpu=4).pod_gone("filler")
    world.decide()
    world.decide(after=30.0)
    world.bound("g-2").node_gone(world.where["g-3"]).bind_failed("g-3", Failure.REJECTED).decide()
    assert released(world.decide(after=301.0)) == ["g-2"]


def test_a_gang_that_lost_all_its_members_does_not_start_in_part():
    world = runs("n0", "n1", world=cluster(2, cpu=4)).pod_gone("g-0", "g-1").node_gone("n1")
    assert placements(world.members("g", 2, 3, cpu=4).decide()) == {}


def test_a_gang_that_lost_all_its_members_has_right_of_return():
    world = runs("n0", "n1", world=cluster(2, cpu=4)).pod("filler", cpu=4, created=-100.0)
    world.decide()
    world.pod_gone("g-0", "g-1").members("g", 2, 3, cpu=4)
    assert set(placements(world.decide())) == {"g-2", "g-3"}


def test_a_gang_that_was_evicted_whole_starts_whole():
    world = cluster(2, cpu=4).runs("g", "n0", "n1", cpu=4, disruption="all").gang("high", members=1, cpu=4, priority=5)
    assert evicted(world.decide()) == ["g-0", "g-1"]
    world.pod_gone("g-0", "g-1").members("g", 2, 3, cpu=4)
    assert list(placements(world.decide())) == ["high-0"]


def test_what_a_fallen_gang_waits_for_stands_on_its_below_minimum_condition():
    world = taken_down().members("g", 2, 3, cpu=4)
    decisions = world.decide() + world.decide(after=60.0)
    assert [said.aspect for said in only(GangCondition, decisions)] == [Aspect.BELOW_MINIMUM]
    assert "needs 2 × 4 cpu" in told(decisions)["g"]


@pytest.mark.parametrize("reason", ["NothingRuns", "Preempted", "Unschedulable"])
def test_what_ran_before_a_gang_is_said_to_have_fallen_is_not_released_by_the_next_scheduler(reason):
    """The eviction was written down and never sent; the scheduler was restarted in between."""
    world = cluster(3, cpu=4).group("g", 3, timeout=20.0, conditions=[STARTED, since(100.0, reason=reason)])
    world.members("g", 0, cpu=4, on="n0", bound_at=0.0).members("g", 1, cpu=4, on="n1", bound_at=0.0)
    world.members("g", 2, cpu=40)
    for after in (200.0, 30.0, 30.0):
        assert only(Release, world.decide(after=after)) == []
    assert world.engine.cluster.gangs["team/g"].has_started


def test_a_gang_that_kubelets_refused_says_so_until_it_is_whole_or_undone():
    """Only that tells the next scheduler that what is left of it never ran whole."""
    world = cluster(3, cpu=4).group("g", 3, timeout=20.0).members("g", 0, 1, 2, cpu=4)
    world.decide()
    turned_away = pod("g-2", gang="g", cpu=4, on="n2", phase="Failed", record=bound_for("g", 3))
    turned_away = replace(turned_away, status=replace(turned_away.status, reason="OutOfcpu"))
    world.bound().decide()
    said = below(world.see(turned_away).members("g", 3, cpu=40).decide(after=1.0))
    assert len(said) > 1
    said += below(world.decide(after=30.0))
    assert {(holds, reason) for holds, reason, _ in said} == {(True, "MembersRefused")}
    assert said[-1][2] == "2 of 3 members were bound within 20 s; they are released"
    # that says more than how many are not back yet
    assert below(world.pod_gone("g-0", "g-1").decide() + world.decide(after=10.0)) == []
    said = below(world.members("g", 4, 5, cpu=40).decide())
    assert [(holds, reason) for holds, reason, _ in said] == [(True, "Unschedulable")]


def test_a_new_engine_undoes_a_gang_that_kubelets_refused():
    world = cluster(3, cpu=4).group("g", 3, timeout=20.0, conditions=[STARTED, since(5.0, reason="MembersRefused")])
    world.members("g", 0, cpu=4, on="n0", bound_at=0.0).members("g", 1, cpu=4, on="n1", bound_at=0.0)
    world.members("g", 2, cpu=40)
    assert released(world.decide(after=10.0) + world.decide(after=20.0)) == ["g-0", "g-1"]


@pytest.mark.parametrize("bound_at", [20.0, 8.0], ids=["", "the API server's clock is behind"])
@pytest.mark.parametrize("reason", ["NothingRuns", "Preempted", "PodGroupBelowMinimum"])
def test_a_new_engine_undoes_a_fallen_gang_that_it_finds_half_bound(reason, bound_at):
    world = cluster(1, cpu=4).group("g", 2, conditions=[STARTED, since(10.0, reason=reason)])
    world.members("g", 2, cpu=4, on="n0", bound_at=bound_at).members("g", 3, cpu=4)
    world.now = 30.0
    assert released(world.decide()) == []
    assert released(world.decide(after=290.0)) == ["g-2"]


def test_a_new_engine_knows_a_fallen_gang():
    world = cluster(1, cpu=4).group("g", 2, conditions=[STARTED, since(10.0, reason="PodGroupBelowMinimum")])
    assert placements(world.members("g", 2, 3, cpu=4).decide()) == {}


def test_a_fallen_gang_that_gets_what_it_was_bound_for_has_started_again_although_its_minimum_was_raised_meanwhile():
    world = runs("n0", "n1").pod_gone("g-0", "g-1").members("g", 2, 3, cpu=4)
    assert set(placements(world.decide())) == {"g-2", "g-3"}
    world.group("g", 4, condition=STARTED)
    assert below(world.bound().decide()) == [(False, "Scheduled", "")]
    decisions = world.decide(after=3.0) + world.decide(after=1000.0)
    assert below(decisions) == []
    assert released(decisions) == []


# --- a gang that says hold ------------------------------------------------------------------------


def half_bound(annotations):
    world = cluster(2, cpu=4).gang("g", members=2, cpu=4).group("g", 2, timeout=60.0, annotations=annotations)
    world.decide()
    world.bound("g-0").node_gone("n1").bind_failed("g-1", Failure.REJECTED).decide()
    return world


def test_a_half_bound_gang_that_says_hold_is_kept_when_its_time_is_over():
    assert released(half_bound(HOLD).decide(after=60.0)) == []


def test_a_gang_that_is_held_says_so():
    (said,) = only(GangCondition, half_bound(HOLD).decide(after=60.0))
    assert (said.holds, said.reason) == (False, "Timeout")
    assert said.message.startswith("1 of 2 members was bound within 60 s; it is kept, as the group asks")


def test_a_gang_that_is_held_says_it_once():
    world = half_bound(HOLD)
    world.decide(after=60.0)
    assert [d.reason for d in only(GangCondition, world.decide(after=600.0)) if d.reason == "Timeout"] == []


def test_a_gang_that_is_held_is_completed_when_there_is_room():
    world = half_bound(HOLD)
    world.decide(after=60.0)
    world.node("n2", cpu=4).decide(after=60.0)
    assert set(world.where) == {"g-0", "g-1"}


def test_a_gang_that_no_longer_says_hold_is_released():
    world = half_bound(HOLD)
    world.decide(after=60.0)
    world.group("g", 2, timeout=60.0)
    assert released(world.decide()) == ["g-0"]


def test_a_time_out_stands_in_the_story_of_a_gang_that_is_held():
    world = half_bound(HOLD)
    world.decide(after=60.0)
    assert Outcome.TIMED_OUT in world.attempts("g")


# --- gangs of other schedulers --------------------------------------------------------------------


def other_schedulers_gang(**group):
    """A gang of another scheduler that has started, and of which two of three are bound."""
    world = cluster(2, cpu=4).group("g", 3, condition=STARTED, **group)
    return world.members("g", 0, cpu=4, on="n0", scheduler="other").members("g", 1, cpu=4, on="n1", scheduler="other")


def test_that_a_gang_of_another_scheduler_has_fallen_is_read_from_its_group():
    world = other_schedulers_gang()
    world.decide()
    world.group("g", 3, condition=STARTED, conditions=[since(5.0, "Preempted")]).decide()
    # what has not started goes whole
    assert evicted(world.pod("high", cpu=4, priority=5).decide()) == ["g-0", "g-1"]


def test_that_a_gang_of_another_scheduler_has_started_again_is_read_from_its_group():
    world = other_schedulers_gang(conditions=[since(5.0, "Preempted")])
    world.decide()
    world.group("g", 3, condition=STARTED).decide()
    assert len(evicted(world.pod("high", cpu=4, priority=5).decide())) == 1


def test_nothing_is_said_of_a_gang_of_another_scheduler_that_has_lost_all_its_members():
    world = cluster(1).group("g", 2).members("g", 0, 1, scheduler="other")
    world.decide()
    world.pod_gone("g-0", "g-1").decide()
    assert only(GangCondition, world.decide(after=10.0)) == []


def test_a_gang_that_lost_another_schedulers_members_and_gets_ours_is_ours():
    world = other_schedulers_gang().pod_gone("g-0", "g-1")
    world.decide()
    assert len(placements(world.members("g", 2, 3, 4, cpu=2).decide())) == 3


def test_a_gang_is_not_taken_down_while_what_it_lost_is_being_bound_though_its_minimum_was_raised():
    restart = {"muster.dev/below-minimum": "restart"}
    world = cluster(4).group("train", 2, annotations=restart).members("train", 0, 1, cpu=1).run()
    world.group("train", 4, annotations=restart).decide()
    world.pod_gone("train-1").decide()
    assert placements(world.decide(after=58.0)) == {}
    assert placements(world.members("train", 2, cpu=1).decide()).keys() == {"train-2"}
    assert not only(Release, world.decide(after=5.0))
    assert not only(Release, world.bound().decide(after=100.0))


def test_a_gang_of_which_only_some_who_succeeded_are_left_lacks_what_its_raised_minimum_asks_for():
    world = cluster(4).group("train", 1).members("train", 0, cpu=1).run()
    world.group("train", 2).members("train", 0, cpu=1, on="n0", phase="Succeeded", record=bound_for("train", 1))
    world.decide()
    assert world.engine.cluster.gangs["team/train"].lost == 1
