"""Asked for and not honoured: whoever must have it waits and says for what; whoever would like it goes without."""

import pytest
from msgspec.structs import replace

from muster.api.wire import Condition, Empty, PodClaim, SchedulingConstraints
from muster.engine.decisions import Event, GangCondition, PodCondition
from muster.framework.profile import Unsupported
from muster.plugins.registry import ProfileParts, default_parts, make_profile
from tests.builders import (
    HOSTNAME,
    STARTED,
    World,
    cluster,
    evenly,
    group,
    only,
    placements,
    pod,
    rather,
    strictly,
    told,
)

CLAIM = [PodClaim(name="gpu")]
APART, RATHER_APART = strictly("web"), rather("web")
LACKING = ("InterPodAffinity", "PodTopologySpread", "DynamicResources")
RACK = SchedulingConstraints(topology=(Empty(),))

WHY = (
    "no plugin of this scheduler honours spec.resourceClaims; "
    "remove it, or set GangScheduling's argument `unsupported: ignore`"
)


def narrow(nodes, *, unsupported=Unsupported.REFUSE, **facts):
    """Without the plugins that look at other pods and at devices."""
    parts = tuple(part for part in default_parts() if part.name not in LACKING)
    return cluster(nodes, profile=make_profile(ProfileParts(plugins=parts, unsupported=unsupported)), **facts)


def settle(world):
    """What is decided until people have been told why units are held."""
    return world.decide() + world.decide(after=3.0)


def reasons(decisions):
    """The reason that each pod or group says, by its name."""
    said = {c.gang.partition("/")[2]: c.reason for c in only(GangCondition, decisions)}
    return said | {ref.pod.partition("/")[2]: c.reason for c in only(PodCondition, decisions) for ref in c.pods}


def events(decisions, reason):
    return [(event.note, [ref.pod for ref in event.pods]) for event in only(Event, decisions) if event.reason == reason]


# --- lone pods ------------------------------------------------------------------------------------


def test_a_pod_with_a_hard_ask_waits_and_names_the_field():
    decisions = settle(narrow(1).pod("db", cpu=1, devices=CLAIM))
    assert placements(decisions) == {}
    assert told(decisions) == {"db": WHY}
    assert reasons(decisions) == {"db": "Unsupported"}
    assert events(decisions, "FailedScheduling") == [(WHY, ["team/db"])]


def test_all_fields_are_named_at_once():
    said = told(settle(narrow(1).pod("db", cpu=1, devices=CLAIM, apart=APART)))["db"]
    assert said.startswith(
        "no plugin of this scheduler honours "
        "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution "
        "and spec.resourceClaims; remove them,"
    )


OF_PLUGINS = {
    "near": ({"near": strictly("db")}, "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution"),
    "apart": ({"apart": APART}, "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution"),
    "evenly": (
        {"spread": [evenly("db")]},
        "spec.topologySpreadConstraints[] with whenUnsatisfiable: DoNotSchedule",
    ),
}


@pytest.mark.parametrize(("facts", "field"), OF_PLUGINS.values(), ids=OF_PLUGINS)
def test_what_a_plugin_honours_is_asked_for_in_vain_where_it_is_disabled(facts, field):
    asking = {"cpu": 1, "labels": {"app": "db"}, **facts}
    decisions = settle(narrow(1).pod("db", **asking))
    assert placements(decisions) == {}
    assert f"no plugin of this scheduler honours {field}; remove it" in told(decisions)["db"]
    assert placements(cluster().node("n0", labels={HOSTNAME: "n0"}).pod("db", **asking).decide()) == {"db": "n0"}


def test_a_held_pod_says_so_once_however_often_it_changes():
    world = narrow(1).pod("db", cpu=1, devices=CLAIM)
    settle(world)
    again = replace(pod("db", cpu=1, devices=CLAIM), status=said("Unsupported", WHY))
    assert settle(world.see(again)) == []


def test_a_scheduler_that_comes_later_repeats_nothing():
    world = narrow(1).see(replace(pod("db", cpu=1, devices=CLAIM), status=said("Unsupported", WHY)))
    assert settle(world) == []


def test_a_held_pod_stops_nobody_and_has_nobody_evicted():
    world = narrow(1, cpu=4).pod("low", cpu=4, on="n0").pod("db", cpu=4, priority=10, devices=CLAIM)
    world.node("n1", cpu=4).pod("web", cpu=4)
    assert placements(settle(world)) == {"web": "n1"}


def test_a_pod_with_gates_speaks_of_its_asks_when_the_gates_are_gone():
    world = narrow(1).pod("db", cpu=1, devices=CLAIM, gates=["quota"])
    assert settle(world) == []
    gated = said("SchedulingGated", "Scheduling is blocked due to non-empty scheduling gates")
    assert reasons(settle(world.see(replace(pod("db", cpu=1, devices=CLAIM), status=gated)))) == {"db": "Unsupported"}


def test_nothing_is_said_of_pods_that_run_or_are_another_schedulers():
    world = narrow(1).pod("runs", cpu=1, devices=CLAIM, on="n0").pod("theirs", devices=CLAIM, scheduler="other")
    assert settle(world.pod("goes", devices=CLAIM, leaving=True)) == []


def test_pods_that_may_be_placed_anyway_are_placed_as_if_they_had_not_asked():
    world = narrow(1, unsupported=Unsupported.IGNORE).pod("db", cpu=1, devices=CLAIM, apart=RATHER_APART)
    decisions = settle(world.group("g", 1, constraints=RACK).members("g", 0, cpu=1))
    assert set(placements(decisions)) == {"db", "g-0"}
    assert events(settle(world.bound()), "Unsupported") == []


# --- preferences ----------------------------------------------------------------------------------

PASSED_OVER = (
    "placed as if it had not asked: no plugin of this scheduler honours "
    "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution"
)


def test_a_pod_with_a_preference_is_placed_and_one_event_says_what_was_passed_over():
    world = narrow(1).pod("web", cpu=1, apart=RATHER_APART)
    assert placements(world.decide()) == {"web": "n0"}
    assert events(settle(world.bound()), "Unsupported") == [(PASSED_OVER, ["team/web"])]


def test_the_event_does_not_come_again_with_attempts_and_updates():
    world = narrow(1, cpu=4).pod("old", cpu=4, on="n0").pod("web", cpu=4, apart=RATHER_APART)
    decisions = settle(world) + settle(world.see(pod("web", cpu=4, apart=RATHER_APART, labels={"a": "b"})))
    decisions += settle(world.pod_gone("old"))
    assert events(decisions, "Unsupported") == []
    decisions = settle(world.bound())
    for phase in ("Pending", "Running"):
        decisions += settle(world.pod("web", cpu=4, apart=RATHER_APART, on="n0", phase=phase))
    assert events(decisions, "Unsupported") == [(PASSED_OVER, ["team/web"])]


def test_a_preference_that_a_plugin_honours_is_not_spoken_of():
    world = cluster(1).pod("web", cpu=1, apart=RATHER_APART, spread=[evenly("web", hard=False)])
    assert placements(world.decide()) == {"web": "n0"}
    assert events(settle(world.bound()), "Unsupported") == []


# --- gangs ----------------------------------------------------------------------------------------


def test_a_gang_waits_for_a_member_with_a_hard_ask_and_names_member_and_field():
    world = narrow(1).group("g", 2).members("g", 0, cpu=1).members("g", 1, cpu=1, devices=CLAIM)
    decisions = settle(world)
    assert placements(decisions) == {}
    assert reasons(decisions) == {"g": "Unsupported", "g-0": "PodGroupNotReady", "g-1": "Unsupported"}
    assert told(decisions)["g"] == f"1 of 2 members may not be placed yet (g-1: {WHY})"
    assert told(decisions)["g-1"] == WHY


def test_members_with_equal_asks_are_told_together():
    decisions = settle(narrow(1).gang("g", members=50, cpu=1, devices=CLAIM))
    assert [len(condition.pods) for condition in only(PodCondition, decisions)] == [50]


def test_a_member_of_an_incomplete_gang_says_what_it_asks_for():
    decisions = settle(narrow(1).group("g", 2).members("g", 0, cpu=1, devices=CLAIM))
    assert reasons(decisions) == {"g": "Unschedulable", "g-0": "Unsupported"}


def test_a_replacement_in_a_gang_that_runs_waits_and_says_why():
    world = narrow(2).group("g", 2, condition=STARTED).members("g", 0, cpu=1, on="n0")
    decisions = settle(world.members("g", 1, cpu=1, devices=CLAIM).members("g", 2, cpu=1))
    assert set(placements(decisions)) == {"g-2"}
    assert reasons(decisions)["g-1"] == "Unsupported"


ASKING = {
    "topology": ({"constraints": RACK}, "spec.schedulingConstraints.topology"),
    "devices": ({"claims": 2}, "spec.resourceClaims"),
    "composite": ({"parent": "whole"}, "spec.parentCompositePodGroupName"),
}


@pytest.mark.parametrize(("facts", "field"), ASKING.values(), ids=ASKING)
def test_a_gang_whose_group_asks_waits_and_names_the_field(facts, field):
    decisions = settle(narrow(1).group("g", 2, **facts).members("g", 0, 1, cpu=1))
    assert placements(decisions) == {}
    assert reasons(decisions) == {"g": "Unsupported", "g-0": "PodGroupNotReady", "g-1": "PodGroupNotReady"}
    assert f"no plugin of this scheduler honours {field}; remove it" in told(decisions)["g"]
    assert told(decisions)["g-0"] == f"waiting for its pod group: {told(decisions)['g']}"


def test_it_does_not_matter_whether_the_group_that_asks_comes_first_or_last():
    world = cluster(1).members("g", 0, 1, cpu=1)
    settle(world)
    decisions = settle(world.group("g", 2, constraints=RACK))
    assert placements(decisions) == {}
    assert reasons(decisions)["g"] == "Unsupported"


def test_an_empty_constraint_asks_for_nothing():
    world = cluster(1).group("g", 1, constraints=SchedulingConstraints()).members("g", 0, cpu=1)
    assert set(placements(settle(world))) == {"g-0"}


def test_a_group_that_asks_is_not_spoken_of_before_it_has_members_and_never_if_they_are_anothers():
    world = cluster(1).group("g", 1, constraints=RACK)
    assert "Unsupported" not in reasons(settle(world)).values()
    assert settle(world.members("g", 0, cpu=1, scheduler="other")) == []


def test_a_group_made_again_without_asking_starts():
    world = cluster(1).group("g", 1, constraints=RACK).members("g", 0, cpu=1)
    settle(world)
    anew = group("g", 1)
    world.group_gone("g").see(replace(anew, metadata=replace(anew.metadata, uid="uid-other")))
    assert set(placements(settle(world))) == {"g-0"}


def test_what_runs_of_a_group_that_asks_stays_and_replacements_wait():
    world = World().node("n0").group("g", 2, constraints=RACK, condition=STARTED).members("g", 0, cpu=1, on="n0")
    decisions = settle(world.members("g", 1, cpu=1))
    assert placements(decisions) == {}
    assert reasons(decisions)["g-1"] == "PodGroupNotReady"


def said(reason, message):
    """The status of a pod that says so."""
    told = Condition(type="PodScheduled", status="False", reason=reason, message=message)
    return pod("any", conditions=[told]).status
