"""From the eviction to the start: room is kept for whom it was made, and where it is lost, people learn why."""

import pytest
from msgspec.structs import replace

from muster.api.wire import Condition
from muster.engine.changes import Failure
from muster.engine.decisions import CallOff, Event, Evict, GangCondition, Loss, Lost, PodRef, Release
from muster.engine.life import Phase
from muster.engine.verdicts import Outcome
from muster.framework.profile import PreemptionSettings
from muster.gangs.dialects.v1beta1 import GROUP_LABEL
from muster.plugins.registry import ProfileParts, make_profile
from tests.builders import World, cluster, evenly, evicted, nominations, only, placements, rather, strictly, told

PATIENCE = 600.0
TO_BE_PREEMPTED = Condition(type="DisruptionTarget", status="True", reason="PreemptionByScheduler")
TOLD = Condition(type="PodScheduled", status="False", reason="Unschedulable", message="told before")


def preempting():
    """Two nodes, two victims that leave, and a gang of two for which their room is kept."""
    world = cluster(2, cpu=4).pod("a", cpu=4, on="n0").pod("b", cpu=4, on="n1")
    world.gang("high", members=2, cpu=4, priority=5)
    assert evicted(world.decide()) == ["a", "b"]
    return world


def losses(decisions):
    return [lost.why for lost in only(Lost, decisions)]


# --- until it lands -------------------------------------------------------------------------------


def test_members_are_nominated_before_anybody_is_evicted():
    world = cluster(2, cpu=4).pod("a", cpu=4, on="n0").pod("b", cpu=4, on="n1")
    decisions = world.gang("high", members=2, cpu=4, priority=5).decide()
    kinds = [type(decision).__name__ for decision in decisions]
    assert nominations(decisions) == {"high-0": "n0", "high-1": "n1"}
    assert kinds.index("PodCondition") < kinds.index("Evict")


def test_the_gang_binds_when_its_victims_have_left():
    world = preempting().pod_gone("a", "b")
    assert placements(world.decide()) == {"high-0": "n0", "high-1": "n1"}


def test_the_gang_does_not_bind_before_the_last_of_its_victims_has_left():
    assert placements(preempting().pod_gone("a").decide()) == {}


def test_nobody_else_is_evicted_while_victims_leave():
    world = preempting()
    world.node("n2", cpu=4).pod("c", cpu=4, on="n2")
    assert evicted(world.decide(after=200.0)) == []


def test_victims_that_leave_with_grace_are_waited_for():
    world = preempting().pod("a", cpu=4, on="n0", leaving=300.0).pod("b", cpu=4, on="n1", leaving=30.0)
    decisions = world.decide(after=250.0)
    assert (evicted(decisions), losses(decisions), placements(decisions)) == ([], [], {})
    assert len(placements(world.pod_gone("a", "b").decide(after=50.0))) == 2


def test_a_lone_pod_binds_when_its_victim_has_left():
    world = cluster(1, cpu=4).pod("low", cpu=4, on="n0").pod("high", cpu=4, priority=5)
    assert nominations(world.decide()) == {"high": "n0"}
    assert placements(world.pod_gone("low").decide()) == {"high": "n0"}


def test_a_lone_pod_goes_where_its_victim_left_even_if_another_place_is_better_by_then():
    world = cluster(1, cpu=4).pod("low", cpu=4, on="n0").pod("high", cpu=4, priority=5)
    world.decide()
    assert placements(world.pod_gone("low").node("n1", cpu=40).decide()) == {"high": "n0"}


def test_nobody_is_evicted_while_enough_are_leaving_anyway():
    world = cluster(2, cpu=4).pod("leaves", cpu=4, on="n0", priority=9, leaving=30.0).pod("low", cpu=4, on="n1")
    assert evicted(world.gang("high", members=1, cpu=4, priority=5).decide()) == []
    assert placements(world.pod_gone("leaves").decide()) == {"high-0": "n0"}


def test_no_room_is_kept_where_nobody_was_evicted():
    world = cluster(1, cpu=4).pod("leaves", cpu=4, on="n0", leaving=30.0)
    assert nominations(world.gang("high", members=1, cpu=4, priority=5).decide()) == {"high-0": ""}


def test_those_who_leave_anyway_are_counted_before_others_are_evicted():
    world = cluster(2, cpu=4).pod("leaves", cpu=4, on="n0", priority=9, leaving=30.0).pod("low", cpu=4, on="n1")
    assert evicted(world.gang("high", members=2, cpu=4, priority=5).decide()) == ["low"]


def test_others_are_evicted_where_those_who_leave_anyway_stay_beyond_patience():
    world = cluster(2, cpu=4).pod("stuck", cpu=4, on="n0", priority=9, leaving=30.0).pod("low", cpu=4, on="n1")
    world.gang("high", members=1, cpu=4, priority=5).decide()
    assert evicted(world.decide(after=30.0 + PATIENCE)) == []
    assert evicted(world.decide(after=130.0)) == ["low"]


def test_a_better_place_that_opens_is_taken_at_once():
    world = preempting().node("n2", cpu=8)
    assert placements(world.decide()) == {"high-0": "n2", "high-1": "n2"}


def test_room_that_opens_elsewhere_serves_beside_a_victim_that_left():
    world = preempting().pod_gone("a").node("n2", cpu=4)
    assert set(placements(world.decide()).values()) == {"n0", "n2"}


def test_room_is_no_longer_kept_when_a_better_place_was_taken():
    world = preempting().node("n2", cpu=8)
    world.decide()
    world.bound().pod_gone("a", "b").pod("next", cpu=4)
    assert placements(world.decide()) == {"next": "n0"}


def test_a_start_elsewhere_is_no_loss():
    assert losses(preempting().node("n2", cpu=8).decide()) == []


def test_a_pod_that_is_bound_and_refused_is_nominated_nowhere():
    world = cluster(1, cpu=4).pod("low", cpu=4, on="n0").pod("high", cpu=4, priority=5)
    world.decide()
    world.pod_gone("low").decide()
    world.node_gone("n0").bind_failed("high", Failure.REJECTED)
    assert nominations(world.decide(after=10.0)) == {"high": ""}


def test_members_beyond_the_minimum_get_what_else_is_free_when_the_victims_have_left():
    world = cluster(1, cpu=4).pod("low", cpu=4, on="n0").gang("high", members=4, minimum=2, cpu=1, priority=5)
    assert evicted(world.decide()) == ["low"]
    assert len(placements(world.pod_gone("low").decide())) == 4


# --- others stay out ------------------------------------------------------------------------------


@pytest.mark.parametrize("priority", [5, 4, 0])
def test_freed_room_is_kept_from_units_of_equal_or_lower_priority(priority):
    world = preempting().pod_gone("a")
    world.pod("next", cpu=4, priority=priority)
    assert placements(world.decide()) == {}


def test_freed_room_is_kept_from_an_older_unit_of_equal_priority():
    world = cluster(2, cpu=4).pod("a", cpu=4, on="n0").pod("b", cpu=4, on="n1")
    world.gang("high", members=2, cpu=4, priority=5, created=10.0).decide()
    world.pod_gone("a").pod("older", cpu=4, priority=5, created=1.0)
    assert placements(world.decide()) == {}


def test_only_as_much_is_kept_as_the_gang_needs():
    world = cluster(1, cpu=8).pod("low", cpu=8, on="n0").gang("high", members=1, cpu=4, priority=5)
    world.decide()
    world.pod_gone("low").pod("next", cpu=4, priority=9)
    assert placements(world.decide()) == {"high-0": "n0", "next": "n0"}


def test_room_is_kept_for_the_minimum_alone():
    world = cluster(1, cpu=4).pod("low", cpu=4, on="n0").gang("high", members=4, minimum=2, cpu=1, priority=5)
    assert sorted(nominations(world.decide()).values()) == ["", "", "n0", "n0"]


def test_two_preemptors_do_not_count_on_the_same_room():
    world = cluster(2, cpu=4).pod("a", cpu=4, on="n0").pod("b", cpu=4, on="n1")
    world.gang("one", members=1, cpu=4, priority=5).gang("two", members=1, cpu=4, priority=5)
    decisions = world.decide()
    assert evicted(decisions) == ["a", "b"]
    assert sorted(nominations(decisions).values()) == ["n0", "n1"]


def test_the_second_preemptor_waits_where_there_are_victims_for_one():
    world = cluster(1, cpu=4).pod("a", cpu=4, on="n0")
    world.gang("one", members=1, cpu=4, priority=5).gang("two", members=1, cpu=4, priority=5)
    assert evicted(world.decide()) == ["a"]
    assert placements(world.pod_gone("a").decide()) == {"one-0": "n0"}
    assert world.attempts("two")[-1] is Outcome.WAITING


def test_pods_and_gangs_keep_out_of_each_others_room():
    world = cluster(2, cpu=4).pod("a", cpu=4, on="n0").pod("b", cpu=4, on="n1")
    world.gang("one", members=1, cpu=4, priority=5).pod("two", cpu=4, priority=5)
    decisions = world.decide()
    assert evicted(decisions) == ["a", "b"]
    assert len(set(nominations(decisions).values())) == 2


def test_a_victim_that_comes_back_does_not_get_its_old_room():
    # peers C10: what one victim left was given back to it while the other still left, and so on for ever
    world = preempting().pod_gone("a").pod("a2", cpu=4)
    assert placements(world.decide()) == {}
    assert set(placements(world.pod_gone("b").decide())) == {"high-0", "high-1"}


def test_room_elsewhere_stays_open_to_others():
    assert placements(preempting().node("n2", cpu=4).pod("next", cpu=4).decide()) == {"next": "n2"}


# --- who is awaited, in the eyes of others --------------------------------------------------------


def awaiting(**facts):
    """Two nodes in two zones; a pod is awaited on n0, which would have room for it but for a port."""
    world = World()
    for name in ("n0", "n1"):
        world.node(name, cpu=16, labels={"kubernetes.io/hostname": name, "zone": name})
    world.pod("low", cpu=1, ports=[80], on="n0").pod("stays", cpu=2, ports=[80], on="n1", priority=9)
    world.pod("awaited", cpu=8, ports=[80], priority=5, labels={"app": "db"}, **facts)
    assert nominations(world.decide()) == {"awaited": "n0"}
    return world


def test_nodes_are_scored_as_if_nobody_were_awaited():
    assert placements(awaiting().pod("next", cpu=1).decide()) == {"next": "n0"}


def test_nobody_prefers_to_be_near_whom_is_only_awaited_or_far_from_it():
    wishes = {"near": rather("db", key="zone"), "apart": rather("db", key="zone")}
    for name, wish in wishes.items():
        # memory that nobody else takes, so that nothing else tells the nodes apart
        world = awaiting().pod("other", cpu=1, on="n0", ports=[81]).pod("next", memory="1Gi", **{name: wish})
        assert placements(world.decide()) == placements(
            awaiting().pod("other", cpu=1, on="n0", ports=[81]).pod("next", memory="1Gi").decide()
        )


def test_the_wishes_of_one_that_is_only_awaited_do_not_count():
    world = awaiting(apart=rather("web", key="zone"))
    assert placements(world.pod("next", cpu=1, labels={"app": "web"}).decide()) == {"next": "n0"}


def test_who_must_keep_off_one_that_is_awaited_does():
    world = awaiting().pod("next", cpu=1, apart=strictly("db", key="zone"))
    assert placements(world.decide()) == {"next": "n1"}


def test_pods_are_spread_beside_those_who_are_awaited_and_as_if_they_did_not_come():
    one_more = {"labels": {"app": "db"}, "spread": [evenly("db", key="zone")], "cpu": 1}
    assert placements(awaiting().pod("next", **one_more).decide()) == {"next": "n1"}
    # one on n1 would be too many, should nobody come to n0; one on n0, should somebody come
    world = awaiting().pod("there", cpu=1, on="n1", labels={"app": "db"})
    assert placements(world.pod("next", **one_more).decide()) == {"next": "n0"}


# --- several who wait for room on one node --------------------------------------------------------


def one_behind_the_other(*, second, gangs):
    """For the first somebody was evicted, the second waits for one that takes an hour to leave; of that priority."""
    world = cluster(1, cpu=4).pod("rock", cpu=1, on="n0", priority=9)
    world.pod("slow", cpu=1, on="n0", priority=9, leaving=3600.0).pod("victim", cpu=2, on="n0")
    if gangs:
        world.gang("first", members=2, cpu=1, priority=5, created=1.0)
        world.gang("second", members=1, cpu=1, priority=second, created=2.0)
    else:
        world.pod("first", cpu=2, priority=5, created=1.0).pod("second", cpu=1, priority=second, created=2.0)
    decisions = world.decide()
    assert evicted(decisions) == ["victim"]
    assert set(nominations(decisions).values()) == {"n0"}
    return world.pod_gone("victim")


@pytest.mark.parametrize("gangs", [False, True], ids=["pods", "gangs"])
@pytest.mark.parametrize("second", [1, 5])
def test_room_that_is_free_belongs_to_the_first_who_waits_for_it(second, gangs):
    world = one_behind_the_other(second=second, gangs=gangs)
    assert {name.partition("-")[0] for name in placements(world.decide())} == {"first"}
    decisions = world.bound().decide(after=60.0)
    assert placements(decisions) == {}
    assert losses(decisions) == []
    assert {name.partition("-")[0] for name in placements(world.pod_gone("slow").decide())} == {"second"}


# --- higher priority ------------------------------------------------------------------------------


def test_a_unit_of_higher_priority_takes_room_that_is_kept():
    world = preempting().pod_gone("a")
    world.pod("higher", cpu=4, priority=9)
    assert placements(world.decide()) == {"higher": "n0"}


def test_whose_room_is_taken_by_higher_priority_learns_it():
    decisions = preempting().pod_gone("a").pod("higher", cpu=4, priority=9).decide()
    (lost,) = only(Lost, decisions)
    assert (lost.unit, lost.why) == ("team/high", Loss.PRIORITY)
    assert "team/higher" in lost.message


def test_a_higher_gang_takes_the_room_of_a_lower_one_without_new_victims():
    world = preempting().gang("higher", members=2, cpu=4, priority=9)
    decisions = world.decide()
    assert only(CallOff, decisions) == []
    assert [(evict.unit, evict.after) for evict in only(Evict, decisions)] == [
        ("team/higher", ("uid-higher-0", "uid-higher-1"))
    ] * 2
    assert evicted(decisions) == ["a", "b"]
    assert losses(decisions) == [Loss.PRIORITY]
    assert set(placements(world.pod_gone("a", "b").decide())) == {"higher-0", "higher-1"}


def test_room_that_is_kept_is_spared_where_free_room_will_do():
    world = preempting().node("n2", cpu=4).pod("higher", cpu=4, priority=9)
    decisions = world.decide()
    assert placements(decisions) == {"higher": "n2"}
    assert losses(decisions) == []


def test_a_unit_that_evicts_nobody_by_its_policy_still_takes_room_kept_for_less():
    world = preempting().pod_gone("a").pod("higher", cpu=4, priority=9, preemption="Never")
    assert placements(world.decide()) == {"higher": "n0"}


def test_who_looks_for_others_takes_room_kept_for_one_of_them_where_another_runs():
    near = {"zone": "a"}
    world = World().node("n0", cpu=4, labels=near).node("n1", cpu=4, labels=near)
    world.pod("db", cpu=4, on="n1", priority=9, labels={"app": "db"}).pod("low", cpu=4, on="n0")
    assert nominations(world.pod("other", cpu=4, priority=5, labels={"app": "db"}).decide()) == {"other": "n0"}
    world.pod_gone("low").pod("web", cpu=4, priority=9, near=strictly("db", key="zone"))
    assert placements(world.decide()) == {"web": "n0"}


# --- where it is lost -----------------------------------------------------------------------------


def contested_by_higher_priority():
    """A gang waits for one that its owner deleted and one that it evicted; a pod of higher priority wants the first."""
    world = World().node("n0", cpu=4, labels={"zone": "a"}).node("n1", cpu=4)
    world.pod("old", cpu=4, on="n0", leaving=500.0).pod("low", cpu=4, on="n1", priority=-1)
    world.gang("g", members=2, cpu=4, priority=0)
    assert evicted(world.decide()) == ["low"]
    return world.pod("huge", cpu=99, priority=-5).pod("p", cpu=4, priority=1, selector={"zone": "a"})


def test_who_takes_kept_room_that_somebody_still_leaves_keeps_it():
    world = contested_by_higher_priority()
    assert nominations(world.decide())["p"] == "n0"
    assert placements(world.pod_gone("old").decide()) == {"p": "n0"}


def test_two_who_want_the_same_kept_room_come_to_rest():
    world = contested_by_higher_priority()
    world.pod("tiny", memory="1Gi", on="n1", priority=9, scheduler="other").decide()
    world.pod_gone("tiny")
    for _ in range(20):
        world.decide(budget=20_000)
    assert world.engine.next_decide_at > world.now


def test_a_node_that_goes_is_named():
    decisions = preempting().node_gone("n1").decide()
    (lost,) = only(Lost, decisions)
    assert (lost.unit, lost.why) == ("team/high", Loss.NODE)
    assert "node n1 is gone" in lost.message


@pytest.mark.parametrize(
    "facts", [{"cordoned": True}, {"taints": ["own:NoSchedule"]}, {"cpu": 3}], ids=["cordon", "taint", "shrinks"]
)
def test_a_node_that_no_longer_takes_the_members_is_named(facts):
    world = preempting()
    before = world.node("n1", **({"cpu": 4} | facts)).decide()
    assert losses(before + world.pod_gone("a", "b").decide()) == [Loss.NODE]


def test_who_was_there_before_is_not_blamed_for_room_that_is_lost():
    world = cluster(1, cpu=5).pod("neighbour", cpu=1, on="n0", priority=9).pod("low", cpu=4, on="n0")
    world.gang("high", members=1, cpu=4, priority=5).decide()
    assert losses(world.pod_gone("low").node("n0", cpu=4).decide()) == [Loss.NODE]


def test_another_schedulers_pod_is_named():
    decisions = preempting().pod_gone("a").pod("foreign", cpu=1, on="n0", scheduler="other").decide()
    (lost,) = only(Lost, decisions)
    assert lost.why is Loss.FOREIGN
    assert "another scheduler put team/foreign on node n0" in lost.message


def test_another_schedulers_pod_that_leaves_room_enough_is_no_loss():
    world = cluster(1, cpu=8).pod("low", cpu=8, on="n0").gang("high", members=1, cpu=4, priority=5)
    world.decide()
    assert losses(world.pod_gone("low").pod("foreign", cpu=4, on="n0", scheduler="other").decide()) == []
    assert set(world.where) == {"foreign", "high-0"}


def test_what_another_unit_lacks_that_has_room_reserved_there_is_no_loss():
    world = cluster(1, cpu=8, gpu=1).pod("a", cpu=6, on="n0").pod("b", cpu=1, gpu=1, on="n0")
    world.pod("needs-cpu", cpu=6, priority=5).pod("needs-gpu", cpu=1, gpu=1, priority=5)
    assert evicted(world.decide()) == ["a", "b"]
    world.pod_gone("b").pod("stranger", cpu=1, gpu=1, on="n0", scheduler="other")
    assert [lost.unit for lost in only(Lost, world.decide())] == ["team/needs-gpu"]


def test_a_gang_in_backoff_learns_at_once_that_its_room_is_lost():
    world = preempting()
    unit = world.engine._units["team/high"]
    unit.failures, unit.tried_at = 5, world.now
    world.pod_gone("a").pod("stranger", cpu=4, on="n0", scheduler="other")
    decisions = world.decide()
    assert unit.phase is Phase.BACKING_OFF
    assert losses(decisions) == [Loss.FOREIGN]
    assert nominations(decisions) == {"high-0": "", "high-1": ""}


def test_another_schedulers_pod_that_takes_a_port_is_named():
    world = cluster(1).pod("low", ports=[80], on="n0").gang("high", members=1, ports=[80], priority=5)
    world.decide()
    decisions = world.pod_gone("low").pod("foreign", ports=[80], on="n0", scheduler="other", priority=9).decide()
    assert losses(decisions) == [Loss.FOREIGN]


CHANGES = [
    ("its group goes", lambda w: w.group_gone("high")),
    ("a member goes", lambda w: w.pod_gone("high-1")),
    ("a member is being deleted", lambda w: w.members("high", 1, cpu=4, leaving=30.0)),
    ("all of it goes", lambda w: w.pod_gone("high-0", "high-1").group_gone("high")),
    ("it needs more", lambda w: w.group("high", 3, priority=5).members("high", 2, cpu=4)),
    ("somebody else binds a member", lambda w: w.members("high", 1, cpu=4, on="elsewhere")),
    ("a member is gated", lambda w: w.members("high", 1, cpu=4, gates=["wait"])),
]


@pytest.mark.parametrize("change", [row[1] for row in CHANGES], ids=[row[0] for row in CHANGES])
def test_a_gang_that_is_no_longer_what_its_victims_left_for_says_so(change):
    world = preempting()
    assert losses(change(world).decide()) == [Loss.PREEMPTOR]


def test_a_lone_pod_that_is_deleted_while_its_victims_leave_is_named():
    world = cluster(1, cpu=4).pod("low", cpu=4, on="n0").pod("high", cpu=4, priority=5)
    world.decide()
    (lost,) = only(Lost, world.pod_gone("high").decide())
    assert (lost.why, lost.unit) == (Loss.PREEMPTOR, "team/high")


def test_room_is_open_to_others_when_the_preemptor_is_gone():
    world = preempting().pod_gone("high-0", "high-1").group_gone("high").pod_gone("a").pod("next", cpu=4)
    assert placements(world.decide()) == {"next": "n0"}


def test_victims_that_stay_beyond_patience_are_named():
    world = preempting().pod("a", cpu=4, on="n0", leaving=30.0).pod("b", cpu=4, on="n1", leaving=30.0)
    assert losses(world.decide(after=30.0 + PATIENCE)) == []
    assert losses(world.decide(after=130.0)) == [Loss.VICTIMS]


def test_others_are_evicted_in_place_of_victims_that_stay():
    world = preempting().pod_gone("b").pod("a", cpu=4, on="n0", leaving=30.0)
    world.node("n2", cpu=4).pod("c", cpu=4, on="n2", priority=1)
    assert evicted(world.decide(after=30.0 + PATIENCE + 130.0)) == ["c"]


def test_a_loss_is_told_on_the_group():
    decisions = preempting().node_gone("n1").decide()
    (event,) = [event for event in only(Event, decisions) if event.reason == "PreemptionLost"]
    assert (event.gang, event.warning) == ("team/high", True)
    assert event.note == "room that others were evicted for is lost: node n1 is gone"


def test_nothing_is_said_to_be_lost_where_nobody_was_evicted():
    world = cluster(1, cpu=4).pod("leaves", cpu=4, on="n0", leaving=30.0).gang("high", members=1, cpu=4)
    world.decide()
    assert losses(world.node_gone("n0").decide()) == []


def test_others_are_evicted_when_room_is_lost():
    world = preempting().node("n2", cpu=4).pod("c", cpu=4, on="n2")
    world.decide()
    decisions = world.node_gone("n1").decide()
    # "a" goes as before, as soon as it stands on the API where the members go now
    assert evicted(decisions) == ["a", "c"]
    assert [off.pods for off in only(CallOff, decisions)] == [(PodRef("uid-b", "team/b"),)]


def test_victims_that_leave_still_count_when_the_rest_of_the_room_is_lost():
    world = preempting().node("n2", cpu=4).pod("c", cpu=4, on="n2")
    world.node_gone("n1").decide()
    assert set(placements(world.pod_gone("a", "c").decide()).values()) == {"n0", "n2"}


def test_a_failed_attempt_clears_the_nominations_of_earlier_ones():
    world = preempting().node_gone("n1")
    assert nominations(world.decide()) == {"high-0": "", "high-1": ""}


def test_a_gang_that_may_not_be_decided_any_more_is_nominated_nowhere():
    decisions = preempting().pod_gone("high-1").decide()
    assert nominations(decisions) == {"high-0": ""}


def test_a_pod_that_joins_a_gang_before_its_nomination_was_seen_is_nominated_nowhere():
    world = cluster(1, cpu=4).pod("high", cpu=5, priority=5).group("g", 1, preemption="Never")
    (message,) = told(world.decide()).values()
    said = replace(TOLD, message=message)
    world.pod("low", cpu=4, on="n0").pod("high", cpu=4, priority=5, conditions=[said])
    assert nominations(world.decide()) == {"high": "n0"}
    world.pod("high", cpu=4, priority=5, conditions=[said], labels={GROUP_LABEL: "g"}).node("n0", cpu=3)
    assert nominations(world.decide()) == {"high": ""}


def test_a_gang_that_lost_its_room_says_what_it_needs_now():
    world = preempting().node_gone("n1")
    assert "left" not in told(world.decide())["high"]
    assert world.verdict("high").outcome is Outcome.IMPOSSIBLE


# --- not for ever ---------------------------------------------------------------------------------


def lose_to_strangers(world, times):
    """Each time its victims have left, another scheduler takes the room; whom the gang evicted each time."""
    rounds = [evicted(world.decide())]
    for number in range(times):
        world.pod_gone(*rounds[-1])
        world.pod(f"foreign{number}", cpu=4, on="n0", scheduler="other")
        rounds.append(evicted(world.decide(after=100.0) + world.decide(after=5.0)))
    return rounds


def contested(**settings):
    world = World(make_profile(ProfileParts(preemption=PreemptionSettings(**settings)))).node("n0", cpu=4)
    return world.pod("low", cpu=4, on="n0", scheduler="other").gang("high", members=1, cpu=4, priority=5)


def test_a_gang_evicts_three_times_in_vain_and_then_waits():
    rounds = lose_to_strangers(contested(), 4)
    assert rounds == [["low"], ["foreign0"], ["foreign1"], [], []]


def test_how_often_a_gang_evicts_in_vain_can_be_set():
    assert lose_to_strangers(contested(rounds=1), 2) == [["low"], [], []]


def test_nobody_is_evicted_where_no_round_is_allowed():
    world = contested(rounds=0)
    assert evicted(world.decide()) == []
    assert "nobody is evicted for it, since that is switched off" in world.engine.cluster.gangs["team/high"].said[2]


def test_a_gang_that_evicts_nobody_any_more_says_so():
    world = contested()
    lose_to_strangers(world, 3)
    conditions = world.engine.cluster.gangs["team/high"].said
    assert "nobody is evicted for it, since others were evicted for it 3 times in vain" in conditions[2]


def test_a_gang_that_evicts_nobody_any_more_starts_when_there_is_room():
    world = contested()
    lose_to_strangers(world, 3)
    assert placements(world.pod_gone("foreign2").decide()) == {"high-0": "n0"}


def test_a_start_gives_a_gang_its_rounds_back():
    world = contested()
    lose_to_strangers(world, 3)
    world.pod_gone("foreign2").decide()
    world.bound().node("n1", cpu=4).pod("other", cpu=4, on="n1").members("high", 1, cpu=4)
    assert evicted(world.decide()) == ["other"]


def test_nobody_is_evicted_for_a_gang_that_could_not_be_bound_where_it_had_a_place():
    world = cluster(2, cpu=4).pod("low", cpu=4, on="n1").gang("high", members=1, cpu=4, priority=5)
    for _ in range(2):
        world.decide(after=10.0)
        world.bind_failed("high-0", Failure.REJECTED)
    world.pod("foreign", cpu=4, on="n0", priority=9, scheduler="other").decide()
    assert evicted(world.decide(after=300.0)) == []
    assert (
        "nobody is evicted for it, since it could not be bound: rejected"
        in world.engine.cluster.gangs["team/high"].said[2]
    )


def test_rounds_in_vain_are_forgotten_after_ten_minutes():
    world = contested()
    lose_to_strangers(world, 3)
    assert evicted(world.decide(after=400.0)) == []
    assert evicted(world.decide(after=220.0)) == ["foreign2"]


def test_how_long_rounds_in_vain_count_can_be_set():
    rounds = lose_to_strangers(contested(rounds=1, lapse_seconds=50.0), 2)
    assert rounds == [["low"], ["foreign0"], ["foreign1"]]


def test_room_that_is_lost_to_higher_priority_costs_no_round():
    world = contested(rounds=1)
    assert evicted(world.decide()) == ["low"]
    assert losses(world.pod("vip", cpu=4, priority=9).decide()) == [Loss.PRIORITY]
    world.pod_gone("low").run()
    world.pod_gone("vip").pod("next", cpu=4, on="n0", scheduler="other")
    assert evicted(world.decide(after=200.0)) == ["next"]


def test_a_gang_that_lost_room_to_another_scheduler_rests_a_second_and_then_two():
    world, victim = contested(), "low"
    assert evicted(world.decide()) == [victim]
    for number, rest in enumerate([1.0, 2.0]):
        world.pod_gone(victim).pod(f"foreign{number}", cpu=4, on="n0", scheduler="other")
        victim = f"foreign{number}"
        assert evicted(world.decide(after=10.0)) == []
        assert evicted(world.decide(after=rest - 0.1)) == []
        assert evicted(world.decide(after=0.1)) == [victim]


def test_a_lone_pod_that_lost_room_to_another_scheduler_rests_too():
    world = cluster(1, cpu=4).pod("low", cpu=4, on="n0").pod("high", cpu=4, priority=5)
    world.decide()
    world.pod_gone("low").pod("foreign", cpu=4, on="n0", scheduler="other")
    assert evicted(world.decide(after=10.0)) == []
    assert evicted(world.decide(after=1.0)) == ["foreign"]


def test_a_gang_that_rests_starts_when_there_is_room():
    world = contested()
    world.decide()
    world.pod_gone("low").pod("foreign", cpu=4, on="n0", scheduler="other").decide()
    assert placements(world.pod_gone("foreign").decide(after=0.5)) == {"high-0": "n0"}


def test_a_further_member_that_is_bound_gives_a_started_gang_its_rounds_back():
    world = (
        World(make_profile(ProfileParts(preemption=PreemptionSettings(rounds=1)))).node("n0", cpu=4).node("n1", cpu=4)
    )
    world.runs("high", "n1", cpu=4, priority=5).pod("low", cpu=4, on="n0").members("high", 1, cpu=4)
    assert lose_to_strangers(world, 1) == [["low"], []]
    world.pod_gone("foreign0").run()
    world.node("n2", cpu=4).pod("other", cpu=4, on="n2").members("high", 2, cpu=4)
    assert evicted(world.decide()) == ["other"]


# --- binds that are refused -----------------------------------------------------------------------


def refused(*, times):
    """A gang was refused so many times where it had a place, which somebody else has now; `low` could be evicted."""
    world = cluster(2, cpu=4).pod("low", cpu=4, on="n1").gang("high", members=1, cpu=4, priority=5)
    for _ in range(times):
        assert placements(world.decide() + world.decide(after=10.0)) == {"high-0": "n0"}
        world.bind_failed("high-0", Failure.REJECTED)
    return world.pod("foreign", cpu=4, on="n0", priority=9, scheduler="other")


def test_one_refused_attempt_does_not_keep_a_gang_from_evicting():
    assert evicted(refused(times=1).decide()) == ["low"]


def test_refused_attempts_are_forgotten_after_ten_minutes():
    world = refused(times=2)
    assert evicted(world.decide() + world.decide(after=500.0)) == []
    assert evicted(world.decide(after=220.0)) == ["low"]


def test_the_refused_binds_of_one_attempt_count_once():
    world = cluster(4, cpu=4).pod("low2", cpu=4, on="n2").pod("low3", cpu=4, on="n3")
    world.gang("high", members=2, cpu=4, priority=5)
    assert placements(world.decide()) == {"high-0": "n0", "high-1": "n1"}
    gone = set()
    for number in range(2):
        world.pod(f"foreign{number}", cpu=4, on=f"n{number}", priority=9, scheduler="other")
        world.bind_failed(f"high-{number}", Failure.REJECTED)
        gone.update(evicted(world.decide() + world.decide(after=10.0)))
    assert gone == {"low2", "low3"}


@pytest.mark.parametrize("unit", ["gang", "pod"])
def test_nodes_that_go_while_a_unit_is_bound_do_not_keep_it_from_evicting(unit):
    world = cluster(3, cpu=4).pod("low", cpu=4, on="n2")
    world = world.gang("high", members=1, cpu=4, priority=5) if unit == "gang" else world.pod("high", cpu=4, priority=5)
    for node in ("n0", "n1"):
        ((name, where),) = placements(world.decide() + world.decide(after=10.0)).items()
        assert where == node
        world.node_gone(node).bind_failed(name, Failure.REJECTED)
    assert evicted(world.decide() + world.decide(after=10.0)) == ["low"]


def test_binds_without_an_answer_do_not_keep_a_pod_from_evicting():
    world = cluster(2, cpu=4).pod("low", cpu=4, on="n1").pod("high", cpu=4, priority=5)
    world.decide()
    for _ in range(2):
        world.bind_failed("high", Failure.TRANSIENT).decide()
        world.decide(after=1.0)
    world.node_gone("n0").bind_failed("high", Failure.REJECTED)
    assert evicted(world.decide() + world.decide(after=10.0)) == ["low"]


def test_a_start_lets_a_gang_that_was_refused_evict_again():
    world = refused(times=2).pod_gone("foreign")
    assert placements(world.decide() + world.decide(after=10.0)) == {"high-0": "n0"}
    world.bound().decide()
    world.members("high", 1, cpu=4)
    assert evicted(world.decide()) == ["low"]


def test_a_further_member_that_is_bound_lets_a_started_gang_that_was_refused_evict_again():
    world = cluster(3, cpu=4).runs("high", "n2", cpu=4, priority=5).pod("low", cpu=4, on="n1")
    world.members("high", 1, cpu=4)
    for _ in range(2):
        assert placements(world.decide() + world.decide(after=10.0)) == {"high-1": "n0"}
        world.bind_failed("high-1", Failure.REJECTED)
    world.members("high", 2, cpu=4)
    decisions = world.decide() + world.decide(after=10.0)
    assert (evicted(decisions), placements(decisions)) == ([], {"high-1": "n0"})
    assert evicted(world.bound().decide()) == ["low"]


# --- a new scheduler ------------------------------------------------------------------------------


def restarted(*, first_gone=False):
    """What a new engine reads where a gang waits for two victims; of one of them or of both."""
    world = cluster(2, cpu=4).group("high", 2, priority=5)
    if not first_gone:
        world.pod("a", cpu=4, on="n0", leaving=30.0, conditions=[TO_BE_PREEMPTED])
    world.pod("b", cpu=4, on="n1", leaving=30.0, conditions=[TO_BE_PREEMPTED])
    world.members("high", 0, cpu=4, nominated="n0", conditions=[TOLD])
    return world.members("high", 1, cpu=4, nominated="n1", conditions=[TOLD])


def test_a_new_engine_evicts_nobody_where_victims_leave():
    world = restarted().node("n2", cpu=4).pod("c", cpu=4, on="n2").node("n3", cpu=4).pod("d", cpu=4, on="n3")
    assert evicted(world.decide()) == []


def test_a_new_engine_keeps_the_room_from_others():
    world = restarted(first_gone=True).pod("next", cpu=4, priority=5, created=-1.0)
    assert placements(world.decide()) == {}


def test_a_new_engine_keeps_the_room_from_smaller_units_of_equal_priority_that_are_older():
    world = cluster(1, cpu=4).group("high", 1, priority=5, created=9.0)
    world.members("high", 0, cpu=4, nominated="n0", conditions=[TOLD], created=9.0)
    world.pod("b", cpu=1, on="n0", leaving=30.0, conditions=[TO_BE_PREEMPTED]).pod("older", cpu=1, priority=5)
    assert placements(world.decide()) == {}


def test_a_new_engine_keeps_room_whose_victims_have_left_already():
    world = cluster(1, cpu=4).pod("high", cpu=4, priority=5, nominated="n0", conditions=[TOLD], created=9.0)
    assert placements(world.pod("older", cpu=4, priority=5, created=1.0).decide()) == {"high": "n0"}


def test_a_new_engine_binds_when_the_victims_have_left():
    world = restarted()
    world.decide()
    assert placements(world.pod_gone("a", "b").decide()) == {"high-0": "n0", "high-1": "n1"}


def test_a_new_engine_says_when_room_is_lost_that_the_one_before_made():
    world = restarted()
    world.decide()
    assert losses(world.node_gone("n1").decide()) == [Loss.NODE]


def test_a_new_engine_takes_a_nomination_back_that_no_longer_helps():
    world = cluster(1, cpu=4).pod("stays", cpu=4, on="n0", priority=9)
    world.pod("high", cpu=4, priority=5, nominated="n0", conditions=[TOLD])
    decisions = world.decide()
    assert nominations(decisions) == {"high": ""}
    assert losses(decisions) == []


def test_a_new_engine_takes_a_nomination_back_to_a_node_that_is_gone():
    world = cluster(1, cpu=4).pod("stays", cpu=4, on="n0", priority=9)
    world.pod("high", cpu=4, priority=5, nominated="gone", conditions=[TOLD])
    assert nominations(world.decide()) == {"high": ""}


# --- the deadline of a half-bound gang ------------------------------------------------------------


def half_bound_and_waiting_for_a_victim():
    world = cluster(2, cpu=4).pod("low", cpu=4, on="n1").group("high", 2, priority=5, timeout=60.0)
    world.members("high", 0, cpu=4, on="n0", bound_at=0.0).members("high", 1, cpu=4)
    assert evicted(world.decide()) == ["low"]
    return world.pod("low", cpu=4, on="n1", leaving=300.0)


def test_time_spent_waiting_for_victims_does_not_count_for_the_time_out():
    decisions = half_bound_and_waiting_for_a_victim().decide(after=100.0)
    assert only(GangCondition, decisions) == []


def test_a_half_bound_gang_is_completed_when_its_victims_leave_after_its_time():
    world = half_bound_and_waiting_for_a_victim()
    world.decide(after=100.0)
    assert placements(world.pod_gone("low").decide(after=200.0)) == {"high-1": "n1"}


def test_a_half_bound_gang_that_loses_its_room_after_its_time_is_released():
    world = half_bound_and_waiting_for_a_victim()
    world.decide(after=100.0)
    decisions = world.node_gone("n1").decide() + world.decide(after=59.0)
    assert only(Release, decisions) == []
    decisions = world.decide(after=2.0)
    assert [condition.reason for condition in only(GangCondition, decisions)][-1] == "Timeout"


def test_a_half_bound_gang_has_the_time_left_that_it_did_not_wait_for_victims():
    world = half_bound_and_waiting_for_a_victim()
    world.decide(after=100.0)
    world.pod_gone("low").decide(after=200.0)
    assert only(Release, world.decide(after=59.0)) == []
    assert len(only(Release, world.decide(after=1.0))) == 1


def test_time_before_and_after_the_victims_counts_together():
    world = cluster(1, cpu=4).group("high", 2, priority=5, timeout=60.0)
    world.members("high", 0, cpu=4, on="n0", bound_at=0.0).members("high", 1, cpu=4).decide()
    assert evicted(world.node("n1", cpu=4).pod("low", cpu=4, on="n1").decide(after=50.0)) == ["low"]
    world.pod_gone("low").decide(after=100.0)
    assert only(Release, world.decide(after=9.0)) == []
    assert len(only(Release, world.decide(after=1.0))) == 1


def test_a_new_engine_does_not_count_the_time_that_a_half_bound_gang_waited_for_victims():
    world = cluster(2, cpu=4).pod("low", cpu=4, on="n1", leaving=300.0, conditions=[TO_BE_PREEMPTED])
    world.group("high", 2, priority=5, timeout=60.0).members("high", 0, cpu=4, on="n0", bound_at=0.0)
    world.members("high", 1, cpu=4, nominated="n1", conditions=[TOLD])
    assert only(Release, world.decide(after=200.0)) == []
    assert placements(world.pod_gone("low").decide(after=50.0)) == {"high-1": "n1"}
    assert only(Release, world.decide(after=59.0)) == []
