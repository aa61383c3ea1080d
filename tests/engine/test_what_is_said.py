"""Reasons that others read: autoscalers look for Unschedulable on pods, people for what happened on the group."""

from msgspec.structs import replace

from muster.api.times import stamp
from muster.api.wire import Condition
from muster.cluster.pods import Stage
from muster.engine.changes import Failure
from muster.engine.decisions import Event, GangCondition, PodCondition, Release
from muster.gangs.model import Aspect
from tests.builders import STARTED, cluster, evicted, group, only, placements, told


def reasons(decisions):
    """The reason that each pod says, by its name."""
    said = only(PodCondition, decisions)
    return {ref.pod.partition("/")[2]: condition.reason for condition in said for ref in condition.pods}


def group_says(decisions):
    """(type, holds, reason) of what groups say."""
    return [(said.aspect, said.holds, said.reason) for said in only(GangCondition, decisions)]


# --- pods of a gang that does not fit -------------------------------------------------------------


def two_of_three():
    """Room for two members of three."""
    return cluster(1, cpu=4).gang("g", members=3, cpu=2)


def test_pods_that_would_fit_but_whose_gang_does_not_are_unschedulable_in_upstreams_dialect():
    assert reasons(two_of_three().decide()) == dict.fromkeys(["g-0", "g-1", "g-2"], "Unschedulable")


def test_pods_that_would_fit_say_that_their_group_does_not():
    said = told(two_of_three().decide())
    assert said["g-0"] == f"pod group is unschedulable, {said['g']}"
    assert said["g-2"] == "0/1 nodes are available: 1 Insufficient cpu."


def test_a_dialect_may_have_another_reason_for_pods_that_would_fit():
    world = two_of_three()
    gang = world.engine.cluster.gangs["team/g"]
    gang.declared = replace(gang.declared, fitting_reason="CoschedulingNotMeetMinMember")
    assert reasons(world.decide()) == {
        "g-0": "CoschedulingNotMeetMinMember",
        "g-1": "CoschedulingNotMeetMinMember",
        "g-2": "Unschedulable",
    }


# --- what no node can cure ------------------------------------------------------------------------


def test_pods_of_a_gang_that_waits_for_members_say_so_and_ask_for_no_nodes():
    world = cluster(1, cpu=4).group("g", 3).members("g", 0, 1, cpu=8)
    assert reasons(world.decide()) == {}
    assert reasons(world.decide(after=3.0)) == {"g-0": "PodGroupNotReady", "g-1": "PodGroupNotReady"}


def test_a_member_that_joins_an_incomplete_gang_says_so_and_the_others_say_nothing_new():
    world = cluster(1, cpu=4).group("g", 4).members("g", 0, 1)
    world.decide()
    world.decide(after=3.0)
    world.members("g", 2).decide()
    assert reasons(world.decide(after=3.0)) == {"g-2": "PodGroupNotReady"}


def runs_and_is_raised():
    world = cluster(5, cpu=1).group("g", 2)
    for number in range(2):
        world.members("g", number, cpu=1, on=f"n{number}", bound_at=0.0)
    world.decide()
    return world.group("g", 4, condition=STARTED)


def test_too_few_of_what_a_raised_minimum_asks_for_do_not_ask_for_nodes():
    world = runs_and_is_raised().members("g", 2, cpu=1)
    decisions = world.decide() + world.decide(after=3.0)
    assert reasons(decisions) == {"g-2": "PodGroupNotReady"}
    assert told(decisions) == {"g-2": "waiting for its pod group: not all of its members exist"}


def test_enough_for_a_raised_minimum_of_whom_some_have_gates_do_not_ask_for_nodes():
    world = runs_and_is_raised().members("g", 2, cpu=1).members("g", 3, cpu=1, gates=["x"])
    decisions = world.decide() + world.decide(after=3.0)
    assert reasons(decisions) == {"g-2": "PodGroupNotReady"}
    assert placements(world.members("g", 3, cpu=1).decide()) == {"g-2": "n2", "g-3": "n3"}


def test_members_of_a_group_that_does_not_exist_have_a_condition_and_an_event():
    world = cluster(1).members("g", 0)
    world.decide()
    decisions = world.decide(after=3.0)
    assert told(decisions) == {"g-0": "waiting for its pod group: g does not exist"}
    assert [event.note for event in only(Event, decisions)] == ["waiting for its pod group: g does not exist"]


def test_members_without_a_place_in_a_mixed_gang_say_that_nothing_is_proven():
    world = cluster(2, cpu=5).group("g", 3)
    said = told(world.members("g", 0, cpu=4).members("g", 1, 2, cpu=3).decide())
    unproven = "No place was found for it beside the other members, which is no proof that there is none."
    assert [name for name in said if said[name].endswith(unproven)] == ["g-2"]


def test_a_denied_bind_is_spoken_of_before_it_is_final():
    world = cluster(1).gang("g", members=2)
    world.decide()
    world.bound("g-0")
    decisions = []
    for _ in range(12):
        if world.engine.cluster.pods["uid-g-1"].stage is Stage.BINDING:
            world.bind_failed("g-1", Failure.DENIED)
        decisions += world.decide(after=0.4)
    assert told(decisions)["g"] == "team/g-1 is not bound yet: denied"
    assert told(decisions)["g-1"] == "binding to n0 was refused: denied"


def test_a_bind_without_an_answer_is_spoken_of_after_some_tries():
    world = cluster(1).pod("p")
    world.decide()
    decisions = []
    for _ in range(7):
        world.bind_failed("p", Failure.TRANSIENT)
        decisions += world.decide()
        decisions += world.decide(after=5.0)
    # any of them may have succeeded, so the pod itself does not say that it waits
    assert "p" not in told(decisions)
    notes = [decision.note for decision in decisions if isinstance(decision, Event)]
    assert notes.count("binding to n0 is tried again: transient") == 1


def unanswered(world, *names, seconds):
    """Nobody answers the binds of these for so long; what is decided meanwhile."""
    decisions, until = [], world.now + seconds
    while world.now < until:
        for name in names:
            pod = world.engine.cluster.pods[f"uid-{name}"]
            if pod.stage is Stage.BINDING and not pod.setbacks.retries_later:
                world.bind_failed(name, Failure.TRANSIENT)
        decisions += world.decide(after=1.0)
    return decisions


def test_a_bind_that_is_given_up_without_an_answer_does_not_say_that_it_was_refused():
    world = cluster(1).pod("p")
    decisions = world.decide() + unanswered(world, "p", seconds=60.0)
    assert told(decisions)["p"] == "binding to n0 was given up: transient"


def test_a_group_whose_member_is_bound_at_last_speaks_of_another_that_is_not():
    world = cluster(2, cpu=1).gang("g", members=2, cpu=1)
    world.decide()
    assert told(unanswered(world, "g-0", "g-1", seconds=10.0))["g"] == "team/g-0 is not bound yet: transient"
    assert told(world.bound("g-0").decide())["g"] == "team/g-1 is not bound yet: transient"


def test_pods_that_are_half_bound_when_their_group_goes_are_told_and_stay():
    world = cluster(2, cpu=1).group("g", 2, timeout=10).members("g", 0, cpu=1, on="n0", bound_at=0.0)
    world.decide()
    world.group_gone("g").decide()
    decisions = world.decide(after=3.0) + world.decide(after=1000.0)
    (event,) = only(Event, decisions)
    assert [ref.pod for ref in event.pods] == ["team/g-0"]
    assert event.note == (
        "pod group g does not exist: 1 pod is bound below the minimum, and will be neither completed nor released"
    )
    assert only(Release, decisions) == []


def test_a_group_that_is_being_deleted_still_declares_its_gang():
    found = group("g", 2, timeout=10)
    deleted = replace(found, metadata=replace(found.metadata, deletion_timestamp=stamp(1.0)))
    world = cluster(2, cpu=1).group("g", 2, timeout=10).members("g", 0, cpu=1, on="n0", bound_at=0.0)
    world.decide()
    world.see(deleted).decide()
    assert [ref.pod for release in only(Release, world.decide(after=11.0)) for ref in release.pods] == ["team/g-0"]


def test_pods_take_back_that_they_ask_for_nodes_when_their_gang_waits_for_members():
    world = two_of_three()
    world.decide()
    world.pod_gone("g-2").decide()
    decisions = world.decide(after=3.0)
    assert reasons(decisions) == dict.fromkeys(["g-0", "g-1"], "PodGroupNotReady")
    assert told(decisions)["g-0"] == "waiting for its pod group: not all of its members exist"


def test_pods_take_back_that_they_ask_for_nodes_when_a_member_is_gated():
    world = two_of_three()
    world.decide()
    world.members("g", 2, cpu=2, gates=["wait"]).decide()
    assert set(reasons(world.decide(after=3.0)).values()) == {"PodGroupNotReady"}


def test_pods_take_back_that_they_ask_for_nodes_when_their_group_is_gone():
    world = two_of_three()
    world.decide()
    world.group_gone("g").decide()
    assert set(reasons(world.decide(after=3.0)).values()) == {"PodGroupNotReady"}


def test_pods_ask_for_nodes_again_when_the_members_are_there():
    world = two_of_three()
    world.decide()
    world.pod_gone("g-2").decide()
    world.decide(after=3.0)
    world.members("g", 3, cpu=2)
    assert reasons(world.decide()) == dict.fromkeys(["g-0", "g-1", "g-3"], "Unschedulable")


def test_a_gang_with_members_of_another_scheduler_says_podgrouperror():
    world = cluster(1).group("g", 2).members("g", 0, cpu=1).members("g", 1, cpu=1, scheduler="other")
    world.decide()
    decisions = world.decide(after=3.0)
    assert group_says(decisions) == [(Aspect.STARTED, False, "PodGroupError")]
    assert told(decisions)["g"] == ("1 of 2 members exist, 1 more must be created; 1 other pod names another scheduler")


def test_two_schedulers_with_members_of_one_gang_do_not_write_over_each_other_without_end():
    """What the other says of the gang, seen from its side, is no reason to say the same once more."""
    world = cluster(1).group("g", 3).members("g", 0, 1, cpu=1).members("g", 2, cpu=1, scheduler="other")
    world.decide()
    (said,) = only(GangCondition, world.decide(after=3.0))
    for message in (said.message, "1 of 3 members exist", said.message, "1 of 3 members exist"):
        written = replace(STARTED, status="False", reason=said.reason, message=message)
        assert only(GangCondition, world.group("g", 3, condition=written).decide(after=3.0)) == []
        assert only(GangCondition, world.decide(after=3.0)) == []


def test_a_gang_with_strangers_that_has_members_enough_is_placed():
    world = cluster(1).group("g", 2).members("g", 0, 1, cpu=1).members("g", 2, cpu=1, scheduler="other")
    assert set(placements(world.decide())) == {"g-0", "g-1"}


def test_a_gated_gang_says_schedulinggated():
    world = cluster(1).group("g", 2).members("g", 0, cpu=1).members("g", 1, cpu=1, gates=["wait"])
    world.decide()
    assert group_says(world.decide(after=3.0)) == [(Aspect.STARTED, False, "SchedulingGated")]


# --- proof and no proof ---------------------------------------------------------------------------


def test_a_search_that_failed_without_a_proof_says_so_and_what_stands_in_the_way():
    world = cluster(2, cpu=5).group("g", 3).members("g", 0, cpu=4).members("g", 1, 2, cpu=3)
    assert (
        "no placement found for all together (members of different shapes: not proven impossible)"
        in (told(world.decide())["g"])
    )


def test_a_proof_says_its_numbers():
    world = cluster(2, cpu=4).pod("r", cpu=4, on="n0").gang("g", members=3, cpu=4)
    assert told(world.decide())["g"] == (
        "needs 3 × 4 cpu, 2 nodes have room for 1 (for no more than 2 if nothing else ran); 2 more are missing; "
        "2 nodes of 4 cpu would do"
    )


# --- what happened --------------------------------------------------------------------------------


def test_the_group_is_not_scheduled_while_victims_leave():
    world = cluster(1, cpu=4).pod("low", cpu=4, on="n0").gang("high", members=1, cpu=4, priority=5)
    assert group_says(world.decide()) == [(Aspect.STARTED, False, "Unschedulable")]


def test_a_gang_that_was_evicted_whole_says_preempted():
    world = (
        cluster(2, cpu=4).runs("low", "n0", "n1", cpu=4, disruption="all").gang("high", members=1, cpu=4, priority=5)
    )
    decisions = world.decide()
    world.pod_gone(*evicted(decisions))
    decisions += world.decide() + world.decide(after=5.0)
    said = [c for c in only(GangCondition, decisions) if c.gang == "team/low"]
    assert [(c.aspect, c.holds, c.reason) for c in said] == [
        (Aspect.EVICTED, True, "PreemptionByScheduler"),
        (Aspect.BELOW_MINIMUM, True, "Preempted"),
    ]
    assert all("team/high" in c.message for c in said)


def test_a_gang_that_was_evicted_before_it_had_started_says_preempted():
    world = cluster(1, cpu=4).group("low", 2).members("low", 0, cpu=4, on="n0").members("low", 1, cpu=8)
    world.gang("high", members=1, cpu=4, priority=5)
    decisions = world.decide()
    world.pod_gone(*evicted(decisions))
    decisions += world.decide() + world.decide(after=5.0)
    said = [(c.holds, c.reason) for c in only(GangCondition, decisions) if c.gang == "team/low"]
    assert said[-1] == (False, "Preempted")


def test_a_basic_group_says_scheduled_from_its_first_bound_pod():
    world = cluster(1, cpu=4).group("b", None).members("b", 0, cpu=4).members("b", 1, cpu=4)
    world.decide()
    assert (Aspect.STARTED, True, "Scheduled") in group_says(world.bound("b-0").decide())


def test_a_gang_whose_minimum_is_on_its_way_does_not_say_unschedulable():
    world = cluster(1, cpu=4).gang("g", members=3, minimum=2, cpu=2)
    assert group_says(world.decide()) == []


def test_a_gang_that_was_undone_says_so_until_its_pods_are_back():
    world = cluster(2, cpu=4).gang("g", members=2, cpu=4).group("g", 2, timeout=60.0)
    world.decide()
    world.bound("g-0").node_gone("n1").bind_failed("g-1", Failure.REJECTED).decide()
    assert (Aspect.STARTED, False, "Timeout") in group_says(world.decide(after=60.0))
    world.pod_gone("g-0").decide()
    assert group_says(world.decide(after=5.0)) == []


def test_extras_of_a_started_gang_say_why_they_wait():
    world = cluster(1, cpu=4).group("g", 1, condition=STARTED).members("g", 0, cpu=4, on="n0").members("g", 1, cpu=4)
    assert reasons(world.decide()) == {"g-1": "Unschedulable"}


def test_a_member_that_joins_while_others_leave_for_its_started_gang_says_why_it_waits():
    world = cluster(2, cpu=1).pod("low", cpu=1, on="n1", priority=0).runs("g", "n0", minimum=1, cpu=1, priority=5)
    assert evicted(world.members("g", 1, cpu=1).decide()) == ["low"]
    assert list(told(world.members("g", 2, cpu=1).decide())) == ["g-2"]


def test_what_another_scheduler_has_said_of_a_group_without_members_is_not_said_again():
    def said(reason, message):
        return Condition(type="PodGroupInitiallyScheduled", status="False", reason=reason, message=message)

    world = cluster(1).group("g", 1, condition=said("SchedulingGated", "1 of 1 members may not be placed yet"))
    world.decide()
    world.group("g", 1, condition=said("Unschedulable", "0 of 1 members exist, 1 more must be created"))
    assert only(GangCondition, world.decide(after=5.0)) == []
