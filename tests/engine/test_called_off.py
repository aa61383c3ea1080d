"""Evictions that are called off: when nobody needs the room any more, and what the spared pods are then."""

from muster.engine.changes import Failure, NodeSeen, PodGone, PodSeen, Spared
from muster.engine.decisions import CallOff, Evict, GangCondition, Release
from muster.engine.engine import Engine
from muster.engine.journal import Recorder, replay
from muster.gangs.dialects.v1beta1 import GROUP_LABEL
from muster.gangs.model import Aspect
from muster.plugins.defaults import default_profile
from tests.builders import STARTED, bound_for, cluster, evicted, node, nominations, only, placements, pod


def preempting(**facts):
    """A node, a pod that is to leave it, and a pod of higher priority that waits for that."""
    world = cluster(1, cpu=4).pod("low", cpu=4, on="n0", **facts).pod("high", cpu=4, priority=5)
    assert evicted(world.decide()) == ["low"]
    return world


def called_off(decisions):
    """Names of the pods, those together who stay or go together."""
    return [[ref.pod.partition("/")[2] for ref in off.pods] for off in only(CallOff, decisions)]


def spared(world, *names):
    return world.apply(Spared(tuple(f"uid-{name}" for name in names)))


def leaving(world, name):
    return world.engine.cluster.pods[f"uid-{name}"].leaving


# --- when ---


def test_an_eviction_names_the_pods_that_must_be_nominated_before():
    world = cluster(1, cpu=4).pod("low", cpu=4, on="n0").pod("high", cpu=4, priority=5)
    (evict,) = only(Evict, world.decide())
    assert evict.after == ("uid-high",)


def test_a_preemptor_that_is_deleted_evicts_nobody_any_more():
    decisions = preempting().pod_gone("high").decide()
    assert only(CallOff, decisions)[0].unit == "team/high"
    assert called_off(decisions) == [["low"]]


def test_a_preemptor_that_finds_room_elsewhere_evicts_nobody_any_more():
    decisions = preempting().node("n1", cpu=4).decide()
    assert placements(decisions) == {"high": "n1"}
    assert called_off(decisions) == [["low"]]


def test_a_preemptor_that_is_bound_by_somebody_else_evicts_nobody_any_more():
    world = preempting().node("n1", cpu=2)
    assert called_off(world.pod("high", cpu=4, priority=5, on="n1").decide()) == [["low"]]


def test_a_gang_that_may_not_start_any_more_evicts_nobody():
    world = cluster(2, cpu=4).pod("a", cpu=4, on="n0").pod("b", cpu=4, on="n1")
    world.gang("high", members=2, cpu=4, priority=5).decide()
    assert called_off(world.pod_gone("high-1").decide()) == [["a"], ["b"]]


def test_who_was_seen_to_leave_is_not_called_off():
    world = preempting().pod("low", cpu=4, on="n0", leaving=30.0)
    assert called_off(world.pod_gone("high").decide()) == []


def test_who_is_gone_is_not_called_off():
    world = preempting().pod_gone("low")
    world.decide()
    assert called_off(world.pod_gone("high").decide()) == []


def test_an_eviction_is_called_off_although_the_pod_was_given_a_label_meanwhile():
    world = preempting().pod("low", cpu=4, on="n0", labels={GROUP_LABEL: "other"})
    assert evicted(world.decide()) == []
    assert leaving(world, "low")
    assert called_off(world.pod_gone("high").decide()) == [["low"]]
    spared(world, "low").decide()
    assert not leaving(world, "low")


def whole_gang():
    world = cluster(2, cpu=4).runs("g", "n0", "n1", cpu=4, disruption="all").pod("high", cpu=4, priority=5)
    assert evicted(world.decide()) == ["g-0", "g-1"]
    return world


def test_a_gang_that_goes_whole_is_called_off_whole():
    assert called_off(whole_gang().pod_gone("high").decide()) == [["g-0", "g-1"]]


def test_a_gang_of_which_one_goes_already_is_called_off_whole_or_not_at_all():
    world = whole_gang().members("g", 1, cpu=4, on="n1", leaving=30.0)
    assert called_off(world.pod_gone("high").decide()) == [["g-0", "g-1"]]
    spared(world, "g-0", "g-1").decide()
    assert (leaving(world, "g-0"), leaving(world, "g-1")) == (False, True)


def test_a_gang_all_of_which_goes_already_is_not_called_off():
    world = whole_gang().members("g", 0, cpu=4, on="n0", leaving=30.0).members("g", 1, cpu=4, on="n1", leaving=30.0)
    assert called_off(world.pod_gone("high").decide()) == []


def test_who_is_still_needed_after_a_change_of_plan_is_not_called_off():
    world = cluster(2, cpu=4).pod("a", cpu=4, on="n0").pod("b", cpu=4, on="n1")
    world.gang("high", members=2, cpu=4, priority=5).decide()
    decisions = world.node("n2", cpu=4).node_gone("n1").decide()
    assert called_off(decisions) == [["b"]]
    (again,) = only(Evict, decisions)
    assert (again.unit, [ref.pod for ref in again.pods]) == ("team/high", ["team/a"])


def test_who_is_in_the_way_of_somebody_less_important_is_called_off():
    world = cluster(1, cpu=4).pod("low", cpu=4, on="n0", priority=3).pod("high", cpu=4, priority=9)
    world.decide()
    world.pod("equal", cpu=4, priority=3).decide()
    assert called_off(world.pod_gone("high").decide()) == [["low"]]


# --- until the driver has said so ---


def test_who_is_called_off_counts_as_leaving_until_it_is_spared():
    world = preempting().pod_gone("high")
    world.decide()
    assert leaving(world, "low")
    assert evicted(world.pod("next", cpu=4, priority=5).decide()) == []
    assert evicted(spared(world, "low").decide()) == ["low"]


def test_who_was_spared_stays():
    world = preempting().pod_gone("high")
    world.decide()
    spared(world, "low").decide()
    assert not leaving(world, "low")
    assert world.where == {"low": "n0"}


def test_who_was_not_spared_in_time_leaves():
    world = preempting().pod_gone("high")
    world.decide()
    world.pod("low", cpu=4, on="n0", leaving=30.0)
    spared(world, "low").decide()
    assert leaving(world, "low")


def test_who_counted_on_the_leaving_of_a_pod_that_is_spared_evicts_it():
    world = preempting().pod_gone("high")
    world.decide()
    world.pod("next", cpu=4, priority=5).decide()
    (evict,) = only(Evict, spared(world, "low").decide())
    assert (evict.unit, evict.after) == ("team/next", ("uid-next",))


def test_a_spared_pod_that_is_gone_changes_nothing():
    world = preempting().pod_gone("high")
    world.decide()
    assert spared(world.pod_gone("low"), "low", "nobody").decide() == []


def test_a_pod_that_is_spared_and_joins_a_gang_at_once_stays():
    world = preempting().pod_gone("high")
    world.decide()
    spared(world, "low").pod("low", cpu=4, on="n0", labels={GROUP_LABEL: "other"}).decide()
    assert not leaving(world, "low")
    assert world.engine.cluster.gangs["team/other"].running == 1


def test_a_bind_that_failed_while_its_pod_was_to_leave_is_tried_again_when_it_is_spared():
    world = cluster(1, cpu=4).pod("low", cpu=4)
    assert placements(world.decide()) == {"low": "n0"}
    assert evicted(world.pod("high", cpu=4, priority=5).decide()) == ["low"]
    world.bind_failed("low", Failure.TRANSIENT).decide()
    assert placements(world.decide(after=5.0)) == {}
    world.pod_gone("high").decide()
    assert placements(spared(world, "low").decide()) == {"low": "n0"}


# --- gangs of the spared ---


def says_below(decisions):
    return [(s.holds, s.reason) for s in only(GangCondition, decisions) if s.aspect is Aspect.BELOW_MINIMUM]


def test_a_gang_that_is_spared_whole_is_whole():
    world = whole_gang().pod_gone("high")
    world.decide()
    gang = world.engine.cluster.gangs["team/g"]
    assert (gang.bound, gang.fallen) == (0, True)
    decisions = spared(world, "g-0", "g-1").decide()
    assert (gang.bound, gang.lost_to, gang.fallen) == (2, "", False)
    assert says_below(decisions) == [(False, "Scheduled")]


def test_what_is_spared_of_a_gang_below_its_minimum_runs_on():
    world = cluster(1, cpu=4).runs("g", "n0", minimum=2, cpu=4).members("g", 1, cpu=4)
    world.decide(after=3.0)
    assert evicted(world.pod("high", cpu=4, priority=5).decide()) == ["g-0"]
    gang = world.engine.cluster.gangs["team/g"]
    assert gang.fallen
    world.pod_gone("high").decide()
    decisions = spared(world, "g-0").decide()
    assert not gang.fallen
    assert says_below(decisions)[-1] == (True, "MembersLost")
    assert only(Release, world.decide(after=10_000.0)) == []


def test_a_gang_that_had_fallen_before_must_still_start_whole():
    world = cluster(2, cpu=4).runs("g", "n0", "n1", cpu=4)
    world.decide()
    world.pod_gone("g-0", "g-1").members("g", 2, 3, cpu=4)
    assert len(placements(world.decide())) == 2
    gang = world.engine.cluster.gangs["team/g"]
    world.bound("g-2")
    assert evicted(world.pod("high", cpu=4, priority=5).decide()) == ["g-2", "g-3"]
    world.pod_gone("high").decide()
    spared(world, "g-2", "g-3").decide()
    assert (gang.bound, gang.fallen) == (1, True)
    world.bound("g-3").decide()
    assert (gang.bound, gang.fallen) == (2, False)


def test_a_gang_that_lost_members_to_nobody_does_not_say_otherwise_when_they_are_spared():
    world = cluster(2, cpu=4).runs("g", "n0", "n1", minimum=3, cpu=4).members("g", 2, cpu=4)
    world.decide(after=3.0)
    assert evicted(world.pod("high", cpu=4, priority=5).decide()) == ["g-1"]
    gang = world.engine.cluster.gangs["team/g"]
    assert gang.lost_to == "team/high"
    world.pod_gone("high").decide()
    spared(world, "g-1").decide()
    assert (gang.bound, gang.lost_to) == (2, "")


def test_a_gang_that_is_taken_down_goes_with_those_who_were_to_be_evicted_and_might_be_spared():
    world = cluster(2, cpu=4)
    restart = {"muster.dev/below-minimum": "restart", "muster.dev/below-minimum-grace-seconds": "30"}
    world.group("g", 3, annotations=restart, condition=STARTED)
    world.members("g", 0, cpu=4, on="n0", bound_at=0.0).members("g", 1, cpu=4, on="n1", bound_at=0.0).decide()
    assert evicted(world.pod("high", cpu=4, priority=5).decide()) == ["g-1"]
    [release] = only(Release, world.decide(after=31.0))
    assert [ref.pod for ref in release.pods] == ["team/g-0", "team/g-1"]
    assert called_off(world.pod_gone("high").decide()) == []
    spared(world, "g-1").decide()
    gang = world.engine.cluster.gangs["team/g"]
    assert (gang.bound, gang.fallen) == (0, True)


def undone(condition=None):
    """A gang on large nodes is to be evicted whole; what is bound of it on small ones meanwhile has too little time.

    One of the first was bound for an earlier object.  Returns the world, and who is released.
    """
    world = cluster(2, cpu=4).see(*(node(f"small-{number}", cpu=2) for number in range(3)))
    world.group("g", 3, condition=condition, disruption="all").members("g", 0, cpu=4, on="n0", bound_at=0.0)
    world.members("g", 1, cpu=4, on="n1", record=bound_for("g", 3, uid="earlier"))
    assert evicted(world.pod("high", cpu=4, priority=5).decide()) == ["g-0", "g-1"]
    world.members("g", 2, 3, 4, cpu=2).decide()
    world.bound("g-2", "g-3").bind_failed("g-4", Failure.POD_GONE).decide()
    released = only(Release, world.decide(after=301.0))
    return world, [ref.pod.partition("/")[2] for release in released for ref in release.pods]


def test_who_ran_before_its_gang_was_to_be_evicted_is_not_undone_with_what_was_bound_since():
    world, released = undone(STARTED)
    assert released == ["g-2", "g-3"]
    assert called_off(world.pod_gone("high").decide()) == [["g-0", "g-1"]]
    spared(world, "g-0", "g-1").decide()
    assert world.engine.cluster.gangs["team/g"].has_started


def test_who_is_not_undone_with_its_gang_is_called_off_alone():
    world, released = undone()
    assert released == ["g-0", "g-2", "g-3"]
    assert called_off(world.pod_gone("high").decide()) == [["g-1"]]


def test_what_is_left_of_a_gang_that_goes_whole_is_called_off():
    world = whole_gang().pod_gone("g-1", "high")
    assert called_off(world.decide()) == [["g-0"]]


def test_what_is_spared_while_its_node_is_away_runs_on_when_that_is_back():
    world = cluster(1, cpu=4).group("g", 2, condition=STARTED).members("g", 0, cpu=4, on="n0", bound_at=0.0)
    world.members("g", 1, cpu=40).decide()
    assert evicted(world.pod("high", cpu=4, priority=5).decide()) == ["g-0"]
    assert called_off(world.node_gone("n0").pod_gone("high").decide()) == [["g-0"]]
    spared(world, "g-0").decide()
    assert only(Release, world.node("n0", cpu=4).decide() + world.decide(after=1000.0)) == []
    assert world.engine.cluster.gangs["team/g"].has_started


def test_a_member_that_goes_when_it_is_spared_is_gone():
    world = whole_gang().pod_gone("high")
    world.decide()
    spared(world, "g-0", "g-1").pod_gone("g-0").decide()
    assert world.engine.cluster.gangs["team/g"].bound == 1


# --- what others make of it ---


def test_who_may_not_evict_a_pod_does_not_keep_it_condemned():
    world = cluster(1, cpu=8).pod("low", cpu=8, on="n0", priority=3).pod("high", cpu=4, priority=9)
    assert evicted(world.decide()) == ["low"]
    assert nominations(world.pod("equal", cpu=4, priority=3).decide()) == {"equal": "n0"}
    assert called_off(world.pod_gone("high").decide()) == [["low"]]


def test_who_may_evict_a_pod_that_is_in_its_way_too_takes_the_eviction_over():
    world = cluster(1, cpu=8).pod("low", cpu=8, on="n0", priority=3).pod("high", cpu=4, priority=9)
    assert evicted(world.decide()) == ["low"]
    world.pod("next", cpu=4, priority=5).decide()
    decisions = world.pod_gone("high").decide()
    (evict,) = only(Evict, decisions)
    assert (called_off(decisions), evict.unit, evict.after) == ([], "team/next", ("uid-next",))
    assert called_off(world.pod_gone("next").decide()) == [["low"]]


def test_who_could_do_nothing_with_a_pod_on_its_way_out_may_evict_it_once_it_is_spared():
    world = preempting()
    decisions = world.decide(after=1_000.0)
    assert (called_off(decisions), evicted(decisions)) == ([["low"]], [])
    assert evicted(spared(world, "low").decide()) == ["low"]


def test_a_pod_that_turned_out_to_be_deleted_is_not_spared():
    world = cluster(1, cpu=4).pod("low", cpu=4)
    world.decide()
    assert evicted(world.pod("high", cpu=4, priority=5).decide()) == ["low"]
    world.bind_failed("low", Failure.POD_GONE).decide()
    world.pod_gone("high").decide()
    spared(world, "low").decide()
    assert leaving(world, "low")


# --- the journal ---


def test_a_journal_tells_what_was_called_off_and_who_was_spared():
    lines = []
    recorder = Recorder(Engine(default_profile()), lines.append, settings={})
    recorder.apply([NodeSeen(node("n0", cpu=4)), PodSeen(pod("low", cpu=4, on="n0"))])
    recorder.apply([PodSeen(pod("high", cpu=4, priority=5))])
    assert evicted(recorder.decide(0.0)) == ["low"]
    recorder.apply([PodGone("uid-high")])
    assert called_off(recorder.decide(1.0)) == [["low"]]
    recorder.apply([Spared(("uid-low",)), PodSeen(pod("next", cpu=4, priority=5))])
    assert evicted(recorder.decide(2.0)) == ["low"]
    assert replay(lines, lambda settings: Engine(default_profile())).difference is None
