"""From the decision to bind to the last acknowledgement."""

import pytest
from msgspec.structs import replace

from muster.api.wire import Condition
from muster.engine import intake
from muster.engine.changes import Bound, Failure
from muster.engine.decisions import Bind, Event, GangCondition, PodCondition, PodRef, Release
from muster.engine.verdicts import Outcome
from muster.gangs.dialects import declare, membership
from muster.gangs.model import Aspect, Subset
from tests.builders import cluster, evicted, only, placements, pod, told


def free_cpu(world, name="n0"):
    nodes = world.engine.cluster.nodes
    return int(nodes.usage.free[1, nodes.rows[name]])


# --- failed binds ---------------------------------------------------------------------------------


def test_a_bind_that_may_succeed_later_is_asked_for_again_on_the_same_node_with_growing_delay():
    world = cluster(2).pod("p", cpu=1)
    assert placements(world.decide()) == {"p": "n0"}
    for delay in (0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0, 5.0, 5.0):
        world.bind_failed("p", Failure.TRANSIENT)
        world.decide()
        assert world.engine.next_decide_at == pytest.approx(world.now + delay)
        world.now = world.engine.next_decide_at
        assert placements(world.decide()) == {"p": "n0"}


def test_a_pod_keeps_its_room_between_the_tries():
    world = cluster(1).pod("p", cpu=1)
    world.decide()
    world.bind_failed("p", Failure.TRANSIENT).decide()
    assert free_cpu(world) == 7000


def test_a_bind_that_failed_too_often_is_placed_anew():
    world = cluster(1).pod("p", cpu=1)
    world.decide()
    for _ in range(10):
        world.bind_failed("p", Failure.TRANSIENT).decide()
        world.decide(after=5.0)
    world.bind_failed("p", Failure.TRANSIENT).decide()
    assert free_cpu(world) == 8000
    assert placements(world.decide(after=10.0)) == {"p": "n0"}


def test_tries_are_counted_anew_on_another_node():
    world = cluster(2, cpu=1).pod("p", cpu=1)
    first = placements(world.decide())["p"]
    for _ in range(6):
        world.bind_failed("p", Failure.TRANSIENT).decide()
        world.decide(after=5.0)
    world.node_gone(first).bind_failed("p", Failure.REJECTED).decide()
    world.decide(after=10.0)
    second = world.where["p"]
    for _ in range(6):
        world.bind_failed("p", Failure.TRANSIENT).decide()
        assert placements(world.decide(after=5.0)) == {"p": second}


def test_a_rejected_pod_gets_another_place():
    world = cluster(2, cpu=2).pod("p", cpu=2)
    assert placements(world.decide()) == {"p": "n0"}
    world.node_gone("n0").bind_failed("p", Failure.REJECTED)
    assert placements(world.decide()) == {"p": "n1"}


def test_a_rejected_member_alone_is_placed_anew():
    world = cluster(3, cpu=2).gang("g", members=2, cpu=2)
    first = placements(world.decide())
    world.bound("g-0").node_gone(first["g-1"]).bind_failed("g-1", Failure.REJECTED)
    assert placements(world.decide()) == {"g-1": "n2"}


def test_a_pod_that_is_gone_gives_its_room_back_and_is_not_tried_again():
    world = cluster(1).pod("p", cpu=1)
    world.decide()
    assert placements(world.bind_failed("p", Failure.POD_GONE).decide(after=100.0)) == {}
    assert free_cpu(world) == 8000


def test_an_answer_for_another_node_is_ignored():
    world = cluster(2, cpu=2).pod("p", cpu=2)
    world.decide()
    assert world.apply(Bound("uid-p", "n1", 0.0)).decide() == []


def test_an_answer_for_an_unknown_pod_is_ignored():
    assert cluster(1).apply(Bound("uid-x", "n0", 0.0)).decide() == []


def test_an_answer_that_comes_twice_is_told_once():
    world = cluster(1).pod("p")
    world.decide()
    assert len(world.bound("p").bound("p").decide()) == 1


def test_a_late_failure_does_not_undo_a_pod_that_the_watch_shows_bound():
    world = cluster(1).pod("p", cpu=1)
    world.decide()
    world.pod("p", cpu=1, on="n0").bind_failed("p", Failure.REJECTED)
    assert placements(world.decide()) == {}
    assert free_cpu(world) == 7000


# --- what people are told -------------------------------------------------------------------------


def scheduled_events(decisions):
    return [event.note for event in only(Event, decisions) if event.reason == "Scheduled"]


def test_an_acknowledged_bind_is_told_as_an_event():
    world = cluster(1).pod("p")
    world.decide()
    (event,) = world.bound("p").decide()
    assert event == Event(
        reason="Scheduled",
        note="Successfully assigned team/p to n0",
        action="Binding",
        pods=(PodRef("uid-p", "team/p"),),
    )


def test_the_event_is_told_once_when_the_watch_is_faster_than_the_answer():
    world = cluster(1).pod("p")
    world.decide()
    decisions = world.pod("p", on="n0").decide() + world.apply(Bound("uid-p", "n0", 0.0)).decide()
    assert scheduled_events(decisions) == ["Successfully assigned team/p to n0"]


def test_no_event_is_told_for_a_pod_that_somebody_else_bound():
    world = cluster(2).pod("p")
    world.decide()
    assert scheduled_events(world.pod("p", on="n1").decide()) == []


def test_the_gang_condition_becomes_true_when_the_minimum_is_bound_and_not_before():
    world = cluster(1).gang("g", members=3, minimum=2)
    assert only(GangCondition, world.decide()) == []
    assert only(GangCondition, world.bound("g-0").decide()) == []
    assert only(GangCondition, world.bound("g-1").decide()) == [
        GangCondition("team/g", holds=True, reason="Scheduled", message="", uid="uid-g")
    ]
    assert only(GangCondition, world.bound("g-2").decide()) == []


def test_a_started_gang_is_not_told_again_when_its_object_says_so():
    world = cluster(1).gang("g", members=1).run()
    condition = Condition(type="PodGroupInitiallyScheduled", status="True", reason="Scheduled")
    assert only(GangCondition, world.group("g", 1, condition=condition).decide()) == []


def test_a_gang_whose_object_says_started_is_never_said_not_to_have():
    condition = Condition(type="PodGroupInitiallyScheduled", status="True", reason="Scheduled")
    world = cluster(1, cpu=1).group("g", 2, condition=condition).members("g", 0, 1, cpu=2)
    decisions = world.decide()
    assert [said.aspect for said in only(GangCondition, decisions)] == [Aspect.BELOW_MINIMUM]
    assert set(told(decisions)) == {"g", "g-0", "g-1"}


def test_a_refusal_is_told_with_a_condition_and_an_event():
    decisions = cluster(1, cpu=1).pod("p", cpu=2).decide()
    ref = PodRef("uid-p", "team/p")
    message = "0/1 nodes are available: 1 Insufficient cpu."
    assert decisions == [
        PodCondition((ref,), "Unschedulable", message),
        Event(reason="FailedScheduling", note=message, action="Scheduling", warning=True, pods=(ref,)),
    ]


def test_the_same_refusal_is_not_told_again():
    world = cluster(1, cpu=1).pod("p", cpu=2).gang("g", members=2, cpu=2)
    assert world.decide()
    assert world.decide(after=300.0) == []
    assert len(world.attempts("p")) == 2


def test_a_refusal_with_something_new_is_told():
    world = cluster(1, cpu=1).pod("p", cpu=2)
    world.decide()
    world.node("n1", cpu=1)
    assert told(world.decide(after=300.0)) == {"p": "0/2 nodes are available: 2 Insufficient cpu."}


def test_a_condition_that_stands_on_the_object_is_not_written_again():
    message = "0/1 nodes are available: 1 Insufficient cpu."
    said = Condition(type="PodScheduled", status="False", reason="Unschedulable", message=message)
    plain = pod("p", cpu=2)
    told_before = replace(plain, status=replace(plain.status, conditions=(said,)))
    assert cluster(1, cpu=1).see(told_before).decide() == []


def test_people_hear_of_missing_members_once_it_has_been_quiet_for_two_seconds():
    world = cluster(1).group("g", 3).members("g", 0)
    assert world.decide() == []
    assert world.members("g", 1).decide(after=1.9) == []
    assert world.decide(after=1.9) == []
    assert told(world.decide(after=0.1)) == {
        "g": "2 of 3 members exist, 1 more must be created",
        "g-0": "waiting for its pod group: not all of its members exist",
        "g-1": "waiting for its pod group: not all of its members exist",
    }


def test_people_hear_nothing_of_missing_members_that_came_in_time():
    world = cluster(1).group("g", 2).members("g", 0)
    world.decide()
    world.members("g", 1).decide(after=1.0)
    assert only(GangCondition, world.decide(after=5.0)) == []


# --- gangs that cannot be completed ---------------------------------------------------------------


def half_bound(timeout=60.0):
    """Of two members one is bound since 0 s, and there is no room for the other."""
    world = cluster(2, cpu=2).gang("g", members=2, cpu=2).group("g", 2, timeout=timeout)
    world.decide()
    world.bound("g-0").node_gone("n1").bind_failed("g-1", Failure.REJECTED).decide()
    return world


def test_a_half_bound_gang_is_released_when_its_time_is_over():
    world = half_bound()
    assert only(Release, world.decide(after=59.9)) == []
    (release,) = only(Release, world.decide(after=0.1))
    assert release.unit == "team/g"
    assert release.pods == (PodRef("uid-g-0", "team/g-0"),)
    assert release.reason == "Timeout"
    assert world.attempts("g")[-1] is Outcome.TIMED_OUT


def test_the_engine_says_when_the_time_of_a_gang_is_over():
    assert half_bound(timeout=60.0).engine.next_decide_at == 60.0


def test_a_release_is_told_on_the_group():
    (condition,) = only(GangCondition, half_bound().decide(after=60.0))
    assert (condition.holds, condition.reason) == (False, "Timeout")


def test_a_release_is_asked_for_once():
    world = half_bound()
    world.decide(after=60.0)
    assert only(Release, world.decide(after=600.0)) == []


def test_nobody_is_released_where_all_that_is_bound_is_another_schedulers():
    world = cluster(1, cpu=2).group("g", 2, timeout=60.0)
    world.members("g", 0, cpu=2, on="n0", bound_at=0.0, scheduler="other").members("g", 1, cpu=2).decide()
    assert only(Release, world.decide(after=61.0) + world.decide(after=600.0)) == []


def test_released_pods_that_stay_are_not_counted_on_for_ever():
    world = half_bound()
    assert len(only(Release, world.decide(after=60.0))) == 1
    world.node("n2", cpu=2).pod("low", cpu=2, on="n2", priority=-1).pod("high", cpu=2, priority=8)
    assert evicted(world.decide(after=500.0)) == []
    assert evicted(world.decide(after=240.0)) == ["low"]


def test_a_gang_that_is_completed_in_time_is_not_released():
    world = half_bound().node("n1", cpu=2)
    assert placements(world.decide(after=30.0)) == {"g-1": "n1"}
    world.bound("g-1").decide()
    assert only(Release, world.decide(after=600.0)) == []


def test_a_gang_that_has_started_is_never_released():
    world = cluster(2, cpu=2).gang("g", members=2, cpu=2).run().pod_gone("g-1")
    assert only(Release, world.decide(after=1000.0)) == []


def test_the_time_runs_from_the_earliest_bind_that_the_objects_show():
    world = cluster(1, cpu=2).group("g", 2, timeout=60.0)
    world.members("g", 0, cpu=2, on="n0", bound_at=10.0).members("g", 1, cpu=2)
    world.now = 69.0
    assert only(Release, world.decide()) == []
    assert len(only(Release, world.decide(after=1.0))) == 1


def test_a_released_gang_is_tried_again_with_new_members():
    world = half_bound()
    world.decide(after=60.0)
    world.pod_gone("g-0").members("g", 2, cpu=2).node("n1", cpu=2)
    world.decide()
    assert set(placements(world.decide(after=10.0))) <= {"g-1", "g-2"}
    assert set(world.where) == {"g-1", "g-2"}


def test_members_that_leave_do_not_count_for_the_minimum():
    world = cluster(2, cpu=2).gang("g", members=2, cpu=2)
    world.decide()
    world.bound("g-0").members("g", 1, cpu=2, leaving=True).bound("g-1")
    assert only(GangCondition, world.decide()) == []


def test_a_gangs_retries_are_one_decision_each():
    world = cluster(1).gang("g", members=2, cpu=1)
    world.decide()
    world.bind_failed("g-1", Failure.TRANSIENT).decide()
    (bind,) = only(Bind, world.decide(after=0.1))
    assert bind.unit == "team/g"
    assert [placement.pod for placement in bind.pods] == ["team/g-1"]


# --- subsets --------------------------------------------------------------------------------------


@pytest.fixture
def leader_and_workers(monkeypatch):
    """A leader, for whom there is one node, and three workers are being bound; a gang needs one of each."""

    def with_subsets(group):
        return replace(declare(group), subsets=(Subset("leader", 1), Subset("worker", 1)))

    def in_subset(pod):
        return replace(membership(pod), subset=pod.metadata.labels["role"])

    # no dialect declares subsets yet
    monkeypatch.setattr(intake, "declare", with_subsets)
    monkeypatch.setattr(intake, "membership", in_subset)
    world = cluster(3, cpu=2).node("special", cpu=2, labels={"disk": "ssd"}).group("g", 1, timeout=60.0)
    world.members("g", 0, cpu=2, labels={"role": "leader"}, selector={"disk": "ssd"})
    world.members("g", 1, 2, 3, cpu=2, labels={"role": "worker"})
    assert len(placements(world.decide())) == 4
    return world


def test_workers_are_not_bound_again_without_their_leader(leader_and_workers):
    world = leader_and_workers.node_gone("special").bind_failed("g-0", Failure.REJECTED)
    for number in (1, 2, 3):
        world.bind_failed(f"g-{number}", Failure.TRANSIENT)
    assert placements(world.decide() + world.decide(after=1.0) + world.decide(after=5.0)) == {}


def test_workers_that_are_bound_without_their_leader_are_released(leader_and_workers):
    world = leader_and_workers.bound("g-1", "g-2", "g-3").node_gone("special").bind_failed("g-0", Failure.REJECTED)
    world.decide()
    (release,) = only(Release, world.decide(after=60.0))
    assert [ref.pod for ref in release.pods] == ["team/g-1", "team/g-2", "team/g-3"]
