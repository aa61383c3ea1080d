"""What a pod was bound for is written on it: what runs is never released for a declaration that came later."""

import pytest
from msgspec.structs import replace

from muster.api.times import stamp
from muster.api.wire import Condition
from muster.engine.changes import Failure
from muster.engine.decisions import Bind, GangCondition, Release
from muster.gangs.record import BOUND_FOR, LONE, BoundFor
from muster.gangs.record import bound_for as bound_for_of
from tests.builders import STARTED, bound_for, cluster, only, placements, pod, told

LABEL = "muster.dev/pod-group"
LONG = 1_000.0


def released(decisions):
    return sorted(ref.pod.partition("/")[2] for release in only(Release, decisions) for ref in release.pods)


def decide_for_long(world):
    """All that is decided from now on until long after every time-out."""
    decisions = world.decide()
    for _ in range(4):
        decisions += world.decide(after=LONG)
    return decisions


def conditions(decisions):
    return [(said.holds, said.reason) for said in only(GangCondition, decisions)]


# --- what is written --------------------------------------------------------------------------------


def test_every_bind_says_for_which_gang_object_and_minimum_it_is():
    (bind,) = only(Bind, cluster(1).group("g", 2, uid="1234").members("g", 0, 1, 2).decide())
    assert {placement.bound_for for placement in bind.pods} == {BoundFor(gang="team/g", uid="1234", minimum=2)}


def test_a_lone_pod_is_bound_for_itself():
    (bind,) = only(Bind, cluster(1).pod("p").decide())
    assert [placement.bound_for for placement in bind.pods] == [LONE]


def test_a_bind_that_is_tried_again_says_the_same():
    world = cluster(1).gang("g", members=1)
    (first,) = only(Bind, world.decide())
    world.bind_failed("g-0", Failure.TRANSIENT)
    world.decide()
    (again,) = only(Bind, world.decide(after=1.0))
    assert again.pods == first.pods


# --- whose pod it is --------------------------------------------------------------------------------


def test_a_bound_pod_stays_in_the_gang_of_its_record():
    world = cluster(1).group("g", 1).group("other", 2)
    world.pod("a", on="n0", labels={LABEL: "other"}, record=bound_for("g", 1))
    gangs = world.engine.cluster.gangs
    assert gangs["team/g"].bound == 1
    assert gangs["team/other"].bound == 0


def test_a_lone_pod_that_is_given_the_label_of_a_waiting_gang_stays_alone():
    world = cluster(1).group("g", 2).pod("a", on="n0", bound_at=0.0, record=LONE)
    world.pod("a", on="n0", bound_at=0.0, record=LONE, labels={LABEL: "g"})
    assert released(decide_for_long(world)) == []
    assert world.engine.cluster.pods["uid-a"].gang is None


def test_a_running_pod_without_a_record_counts_for_the_gang_that_its_label_names_and_is_never_released():
    world = cluster(1, cpu=1).group("g", 2, timeout=10).pod("a", cpu=1, on="n0", bound_at=0.0, labels={LABEL: "g"})
    world.pod("b", cpu=1, labels={LABEL: "g"})
    assert released(decide_for_long(world)) == []
    assert world.engine.cluster.gangs["team/g"].bound == 1


def test_what_a_version_without_all_dialects_took_for_a_lone_pod_counts_for_its_gang_and_is_never_released():
    """It wrote {} on members of gangs that it could not read; a replacement must not wait for them for ever."""
    world = cluster(2, cpu=1).group("g", 2, timeout=10)
    old = pod("a", cpu=1, gang="g", on="n0", bound_at=0.0)
    world.see(replace(old, metadata=replace(old.metadata, annotations={BOUND_FOR: "{}"})))
    world.pod("b", cpu=1, gang="g")
    assert placements(world.decide()) == {"b": "n1"}
    assert released(decide_for_long(world)) == []


def test_a_pod_without_a_record_moves_when_its_label_does_as_a_new_scheduler_would_see_it():
    world = cluster(1).group("g", 1).group("h", 1).pod("a", on="n0", labels={LABEL: "g"})
    world.pod("a", on="n0", labels={LABEL: "h"})
    assert world.engine.cluster.gangs["team/h"].bound == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no json",
        "[]",
        '{"gang": 7}',
        '{"gang":"team/g","minimum":-1}',
        '{"x":' + "[" * 1_000,
        '{"gang":"team/g","uid":"uid-g","minimum":2' + " " * 2_000 + "}",
        '{"gang":"team/g","uid":"uid-g","minimum":2,"run":9007199254740993}',
    ],
)
def test_a_record_that_cannot_be_read_counts_as_none(text):
    world = cluster(1).group("g", 2, timeout=10)
    member = pod("a", gang="g", on="n0", bound_at=0.0)
    world.see(replace(member, metadata=replace(member.metadata, annotations={BOUND_FOR: text})))
    assert world.engine.cluster.pods["uid-a"].record is None
    assert released(decide_for_long(world)) == []


def test_a_record_with_the_longest_names_can_be_read():
    longest = BoundFor(gang=f"{'n' * 63}/{'g' * 253}", uid="u" * 63, subset="s" * 253, minimum=2**31, run=2**53)
    member = pod("a", on="n0", record=longest)
    assert bound_for_of(replace(member, metadata=replace(member.metadata, namespace="n" * 63))) == longest


def test_a_record_for_a_gang_of_another_namespace_counts_as_none():
    world = cluster(1).pod("a", on="n0", record=BoundFor(gang="elsewhere/g", uid="u", minimum=1))
    assert world.engine.cluster.pods["uid-a"].gang is None


def test_a_pod_of_another_scheduler_has_no_record_whatever_its_annotations_say():
    world = cluster(1).group("g", 2).pod("a", on="n0", scheduler="other", record=bound_for("g", 2))
    assert world.engine.cluster.pods["uid-a"].record is None


# --- a group that is made anew ----------------------------------------------------------------------


def gang_of_two_runs(annotations=None):
    world = cluster(4, cpu=1).group("g", 2, timeout=10, annotations=annotations)
    world.members("g", 0, on="n0", cpu=1, bound_at=0.0).members("g", 1, on="n1", cpu=1, bound_at=0.0)
    world.decide()
    return world


def test_a_group_that_is_made_anew_with_a_higher_minimum_releases_nobody():
    world = gang_of_two_runs().group_gone("g")
    world.decide(after=100.0)
    world.group("g", 4, uid="another", timeout=10)
    decisions = decide_for_long(world)
    assert released(decisions) == []
    assert conditions(decisions) == [(False, "Unschedulable")]


def test_a_group_that_is_made_anew_after_a_member_was_lost_releases_nobody():
    world = gang_of_two_runs().pod_gone("g-1").group_gone("g")
    world.decide(after=100.0)
    world.group("g", 2, uid="another", timeout=10)
    decisions = decide_for_long(world)
    assert released(decisions) == []
    assert conditions(decisions) == [(False, "Unschedulable")]


def test_an_object_of_another_api_made_beside_the_first_one_releases_nobody():
    # the driver shows the engine one object a name: the native one as soon as it is there
    world = gang_of_two_runs().pod_gone("g-1").group("g", 2, uid="native", timeout=10)
    assert released(decide_for_long(world)) == []


def test_a_group_that_is_made_anew_has_started_when_enough_run():
    world = gang_of_two_runs().group("g", 2, uid="another")
    assert conditions(world.decide()) == [(True, "Scheduled")]


def test_members_that_complete_a_group_made_anew_start_together():
    world = gang_of_two_runs().group("g", 4, uid="another").members("g", 2, cpu=1)
    assert placements(world.decide()) == {}
    assert placements(world.members("g", 3, cpu=1).decide()) == {"g-2": "n2", "g-3": "n3"}


def test_of_a_group_made_anew_only_what_was_bound_for_it_is_undone():
    world = gang_of_two_runs().group("g", 4, uid="another", timeout=10).members("g", 2, 3, cpu=1)
    world.decide()
    world.bound("g-2").bind_failed("g-3", Failure.REJECTED)
    world.node_gone("n3").decide()
    decisions = decide_for_long(world)
    assert released(decisions) == ["g-2"]
    (release,) = only(Release, decisions)
    assert release.message == (
        "3 of 4 members were bound within 10 s; they are released, "
        "but for 2 that were not bound for the present PodGroup; a bind failed: rejected"
    )


def test_a_refusal_by_its_kubelet_of_one_that_was_bound_for_an_earlier_object_undoes_nothing():
    world = cluster(3, cpu=1).group("g", 3, timeout=10).members("g", 0, 1, 2, cpu=1)
    world.decide()
    world.bound("g-0", "g-1").group("g", 3, uid="another", timeout=10).bound("g-2")
    assert conditions(world.decide()) == [(True, "Scheduled")]
    refused = pod("g-2", gang="g", cpu=1, on="n2", phase="Failed", record=bound_for("g", 3))
    world.see(replace(refused, status=replace(refused.status, reason="OutOfcpu")))
    decisions = decide_for_long(world)
    assert released(decisions) == []
    assert set(conditions(decisions)) == {(True, "MembersLost")}


def test_a_gang_that_restarts_is_taken_down_only_as_far_as_it_was_bound_for_the_present_object():
    restart = {"muster.dev/below-minimum": "restart", "muster.dev/below-minimum-grace-seconds": "30"}
    world = gang_of_two_runs().group("g", 3, uid="another", annotations=restart).members("g", 2, cpu=1)
    world.run()
    world.pod_gone("g-1")
    decisions = decide_for_long(world)
    assert released(decisions) == ["g-2"]
    (release,) = only(Release, decisions)
    assert release.message == (
        "2 of 3 members were left for 30 s; it is taken down to start whole again, "
        "but for 1 that was not bound for the present PodGroup"
    )


def test_a_gang_that_restarts_is_not_said_to_be_taken_down_where_nothing_of_it_may_be_released():
    restart = {"muster.dev/below-minimum": "restart", "muster.dev/below-minimum-grace-seconds": "30"}
    world = gang_of_two_runs().group("g", 2, uid="another", annotations=restart)
    world.run()
    world.pod_gone("g-1")
    decisions = decide_for_long(world)
    assert released(decisions) == []
    assert set(conditions(decisions)) == {(True, "MembersLost")}


# --- what counts as a start -------------------------------------------------------------------------


def test_a_member_deleted_the_moment_the_minimum_was_bound_leaves_a_gang_that_has_started():
    world = cluster(2, cpu=1).group("g", 2, timeout=10).members("g", 0, 1, cpu=1)
    world.decide()
    world.bound().pod_gone("g-1")
    decisions = decide_for_long(world)
    assert released(decisions) == []
    assert conditions(decisions)[0] == (True, "Scheduled")


def test_a_member_that_fails_the_moment_the_minimum_was_bound_leaves_a_gang_that_has_started():
    world = cluster(2, cpu=1).group("g", 2, timeout=10).members("g", 0, 1, cpu=1)
    world.decide()
    world.bound().members("g", 1, cpu=1, on="n1", phase="Failed")
    assert released(decide_for_long(world)) == []


def test_a_gang_that_fell_and_got_its_minimum_for_a_moment_has_started_again():
    fell = Condition(type="PodGroupBelowMinimum", status="True", reason="Preempted", last_transition_time=stamp(0.0))
    world = cluster(2, cpu=1).group("g", 2, timeout=10, conditions=(STARTED, fell)).members("g", 0, 1, cpu=1)
    world.decide()
    world.bound().pod_gone("g-1")
    assert released(decide_for_long(world)) == []


@pytest.mark.parametrize("restarts", [False, True], ids=["the same scheduler", "the next scheduler"])
def test_a_gang_that_starts_again_while_its_minimum_is_raised_has_started(restarts):
    """Both were bound for a minimum of two; that it is four by now asks nothing of them."""
    world = cluster(2, cpu=1).group("g", 2, timeout=10, condition=STARTED).members("g", 0, 1, cpu=1)
    assert len(placements(world.decide())) == 2
    fell = Condition(type="PodGroupBelowMinimum", status="True", reason="NothingRuns")
    raised = {"timeout": 10, "condition": STARTED, "conditions": [fell]}
    if restarts:
        world = cluster(2, cpu=1).group("g", 4, **raised)
        world.members("g", 0, 1, cpu=1, on="n0", bound_at=0.0, record=bound_for("g", 2))
    else:
        world.group("g", 4, **raised).bound()
    assert released(decide_for_long(world)) == []


def test_a_start_that_nobody_wrote_down_is_read_off_the_records():
    # the scheduler died after the binds; the minimum was raised since
    world = cluster(2, cpu=1).group("g", 4, timeout=10)
    for number in (0, 1):
        world.members("g", number, cpu=1, on=f"n{number}", bound_at=0.0, record=bound_for("g", 2))
    decisions = decide_for_long(world)
    assert released(decisions) == []
    assert conditions(decisions)[0] == (True, "Scheduled")


def test_members_bound_under_a_lower_minimum_that_was_never_reached_are_no_start():
    world = cluster(3, cpu=1).group("g", 4, timeout=10)
    world.members("g", 0, cpu=1, on="n0", bound_at=0.0, record=bound_for("g", 2))
    world.members("g", 1, cpu=1, on="n1", bound_at=0.0, record=bound_for("g", 4))
    world.members("g", 2, cpu=1, on="n2", bound_at=0.0, record=bound_for("g", 4))
    assert released(decide_for_long(world)) == ["g-0", "g-1", "g-2"]


def test_a_group_that_says_it_is_below_its_minimum_has_started():
    below = Condition(type="PodGroupBelowMinimum", status="True", reason="MembersLost", last_transition_time=stamp(0.0))
    world = cluster(2, cpu=1).group("g", 2, timeout=10, conditions=(below,))
    world.members("g", 0, cpu=1, on="n0", bound_at=0.0)
    assert released(decide_for_long(world)) == []


# --- one run after another --------------------------------------------------------------------------


def succeeded(world, *numbers, controller="", run=0):
    for number in numbers:
        world.members(
            "g", number, cpu=1, on="n0", phase="Succeeded", controller=controller, record=bound_for("g", 2, run=run)
        )
    return world


@pytest.mark.parametrize(("first", "second"), [("job-1", "job-2"), ("", "job-2"), ("job-1", ""), ("", "")])
def test_pods_of_an_earlier_run_do_not_count_for_the_next(first, second):
    world = succeeded(cluster(2, cpu=1).group("g", 2, condition=STARTED), 0, 1, controller=first)
    world.members("g", 2, cpu=1, controller=second)
    assert placements(decide_for_long(world)) == {}
    world.members("g", 3, cpu=1, controller=second)
    (bind,) = only(Bind, world.decide())
    assert [placement.bound_for.run for placement in bind.pods] == [1, 1]


def test_pods_that_the_same_controller_made_count_although_nothing_runs():
    world = succeeded(cluster(2, cpu=1).group("g", 2, condition=STARTED), 0, controller="job")
    assert placements(world.members("g", 1, cpu=1, controller="job").decide()) == {"g-1": "n0"}


def test_pods_without_controllers_go_on_with_a_run_that_was_not_complete():
    world = succeeded(cluster(2, cpu=1).group("g", 2, condition=STARTED), 0)
    assert placements(world.members("g", 1, cpu=1).decide()) == {"g-1": "n0"}


def test_a_run_that_was_complete_does_not_go_on_when_the_minimum_is_raised():
    world = succeeded(cluster(4, cpu=1).group("g", 2, condition=STARTED), 0, 1)
    world.group("g", 3, condition=STARTED).members("g", 2, cpu=1)
    assert placements(decide_for_long(world)) == {}
    assert set(placements(world.members("g", 3, 4, cpu=1).decide())) == {"g-2", "g-3", "g-4"}


def test_pods_of_any_controller_count_while_their_run_goes_on():
    world = succeeded(cluster(3, cpu=1).group("g", 3, condition=STARTED), 0, controller="launcher")
    world.members("g", 1, cpu=1, on="n1", controller="workers", record=bound_for("g", 3))
    assert placements(world.members("g", 2, cpu=1, controller="workers").decide()) == {"g-2": "n0"}


def test_who_succeeded_is_all_of_a_minimum_that_is_lowered_while_the_other_is_being_bound():
    world = succeeded(cluster(2, cpu=1).group("g", 2), 0).members("g", 1, cpu=1)
    world.decide()
    world.bind_failed("g-1", Failure.DENIED).decide()
    assert conditions(world.group("g", 1).decide()) == [(True, "Scheduled")]


def test_a_run_that_is_half_bound_is_undone_although_pods_of_an_earlier_one_would_make_up_its_minimum():
    world = succeeded(cluster(2, cpu=1).group("g", 2, timeout=10, condition=STARTED), 0, 1, controller="job-1")
    world.members("g", 2, 3, cpu=1, controller="job-2")
    world.decide()
    world.bound("g-2").bind_failed("g-3", Failure.REJECTED)
    world.node_gone("n1").decide()
    assert released(decide_for_long(world)) == ["g-2"]


def test_a_new_scheduler_tells_runs_apart_by_the_records():
    world = succeeded(cluster(2, cpu=1), 0, 1, controller="job-1")
    fell = Condition(type="PodGroupBelowMinimum", status="True", reason="NothingRuns", last_transition_time=stamp(0.0))
    world.group("g", 2, timeout=10, conditions=(STARTED, fell))
    world.members("g", 2, cpu=1, on="n0", bound_at=0.0, controller="job-2", record=bound_for("g", 2, run=1))
    assert released(decide_for_long(world)) == ["g-2"]


# --- a minimum that is raised after the start -------------------------------------------------------


def runs_and_is_raised(*, to, nodes=5, started=2):
    world = cluster(nodes, cpu=1).group("g", started)
    for number in range(started):
        world.members("g", number, cpu=1, on=f"n{number}", bound_at=0.0)
    world.decide()
    world.group("g", to, condition=STARTED)
    return world


def test_members_that_a_raised_minimum_asks_for_start_together():
    world = runs_and_is_raised(to=4)
    assert placements(world.members("g", 2, cpu=1).decide()) == {}
    assert placements(world.members("g", 3, cpu=1).decide()) == {"g-2": "n2", "g-3": "n3"}


def test_members_that_a_raised_minimum_asks_for_wait_together_for_room():
    world = runs_and_is_raised(to=4, nodes=3).members("g", 2, 3, cpu=1)
    decisions = world.decide()
    assert placements(decisions) == {}
    assert "g-2" in told(decisions)


def test_what_a_gang_lost_comes_back_one_by_one_below_a_raised_minimum():
    world = runs_and_is_raised(to=4).pod_gone("g-1").members("g", 2, cpu=1)
    assert placements(world.decide()) == {"g-2": "n1"}


def test_a_member_that_comes_back_below_a_raised_minimum_is_promised_no_more_than_those_it_joins():
    world = runs_and_is_raised(to=4).pod_gone("g-1").members("g", 2, cpu=1)
    (bind,) = only(Bind, world.decide())
    assert [placement.bound_for.minimum for placement in bind.pods] == [2]
    world.bound()
    decisions = decide_for_long(world)
    assert [said for said in only(GangCondition, decisions) if said.aspect.name == "BELOW_MINIMUM"] == []


def test_of_several_that_come_only_as_many_as_were_lost_are_bound_below_a_raised_minimum():
    world = runs_and_is_raised(to=5).pod_gone("g-1").members("g", 2, 3, cpu=1)
    assert len(placements(world.decide())) == 1


def test_what_a_gang_lacks_is_known_when_those_are_bound_who_come_for_a_raised_minimum_and_are_all_that_is_left():
    world = runs_and_is_raised(started=1, to=2).members("g", 1, cpu=1)
    world.decide()
    world.pod_gone("g-0").group("g", 4, condition=STARTED).members("g", 2, cpu=1)
    assert placements(world.decide()) == {}
    assert set(placements(world.bound().decide())) == {"g-2"}


def test_members_beyond_a_raised_minimum_start_freely():
    world = runs_and_is_raised(to=3).members("g", 2, cpu=1).run()
    assert placements(world.members("g", 3, cpu=1).decide()) == {"g-3": "n3"}


def test_a_gang_is_not_below_a_minimum_that_was_raised_after_its_start():
    world = runs_and_is_raised(to=4)
    decisions = decide_for_long(world)
    assert [said for said in only(GangCondition, decisions) if said.aspect.name == "BELOW_MINIMUM"] == []


def test_a_gang_that_restarts_is_not_taken_down_for_a_minimum_that_was_raised():
    restart = {"muster.dev/below-minimum": "restart", "muster.dev/below-minimum-grace-seconds": "30"}
    world = runs_and_is_raised(to=2).group("g", 4, condition=STARTED, annotations=restart)
    assert released(decide_for_long(world)) == []


def test_a_gang_of_which_nothing_is_left_starts_with_the_raised_minimum():
    world = runs_and_is_raised(to=3).pod_gone("g-0", "g-1")
    world.decide()
    assert placements(world.members("g", 2, 3, cpu=1).decide()) == {}
    assert len(placements(world.members("g", 4, cpu=1).decide())) == 3


def test_members_without_a_record_were_promised_the_minimum_of_a_group_that_says_it_has_started():
    world = cluster(4, cpu=1).group("g", 3, condition=STARTED)
    world.members("g", 0, cpu=1, on="n0", record=None).decide()
    assert placements(world.members("g", 1, cpu=1).decide()) == {"g-1": "n1"}


def test_members_without_a_record_were_promised_no_more_than_runs_where_nothing_says_that_the_gang_started():
    world = cluster(4, cpu=1).group("g", 3)
    world.members("g", 0, cpu=1, on="n0", record=None).decide()
    assert placements(world.members("g", 1, cpu=1).decide()) == {}


@pytest.mark.parametrize("waits_first", [False, True])
def test_in_whichever_order_members_are_read_one_that_succeeded_in_another_run_is_no_start(waits_first):
    world = cluster(1, cordoned=True).group("g", 1, uid="new")
    done = pod("g-0", gang="g", on="n0", phase="Succeeded", record=bound_for("g", 2, uid="old"))
    waits = pod("g-1", gang="g", cpu=1)
    world.see(*((waits, done) if waits_first else (done, waits)))
    assert [holds for holds, _ in conditions(world.decide())] == [False]
