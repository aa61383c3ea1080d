"""Who makes room for whom, on a real control plane, whatever breaks meanwhile.

Pods that stop slowly (`stops`) stay until the test lets them go, so that it can strike at any moment.
"""

import pytest

from tests.control_plane.checks import until
from tests.control_plane.conftest import needs_native_groups
from tests.control_plane.stage import BELOW, GRACE_SECONDS, LONG, SHORT, Stage, denied, fragile_plane, pod

pytestmark = needs_native_groups

SLOW = GRACE_SECONDS
"""Longer than any test waits."""


@pytest.fixture(scope="module")
def fragile(tmp_path_factory):
    with fragile_plane(tmp_path_factory.mktemp("record")) as plane:
        yield plane


@pytest.fixture
def stage(fragile, namespaces, tmp_path):
    with Stage(fragile, namespaces.make(fragile), tmp_path) as stage:
        yield stage
        # who stops slowly would stay on nodes that the next test uses
        stage.let_go(*[life.name for life in stage.history.lives.values() if not life.gone])


# --- one after another ------------------------------------------------------------------------


def test_a_gang_is_evicted_whole_for_another_and_leaves_in_peace(stage, nodes):
    nodes(stage.plane, 4)
    muster = stage.leader()
    stage.gang("low", 8, cpu="4", priority="low", whole=True, shape={"stops": 1})
    stage.started("low")
    stage.run(*[f"low-{number}" for number in range(8)])
    # six of them would do
    stage.gang("high", 3, cpu="8", priority="high")
    stage.started("high")

    assert deleted(stage) == [f"low-{number}" for number in range(8)]
    for life in [stage.life(name) for name in deleted(stage)]:
        target = life.condition("DisruptionTarget")
        assert target["reason"] == "PreemptionByScheduler"
        assert target["message"] == "muster: preempting to accommodate a higher priority podgroup"
        assert life.grace == GRACE_SECONDS
    nominations = [write for write, _ in stage.nominations()]
    assert sorted(write.name for write in nominations) == ["high-0", "high-1", "high-2"]
    assert max(write.answered for write in nominations) < min(each.came for each in stage.deletions())
    high = stage.history.of("high")
    theirs = {node for life in high for node in life.nodes}
    in_their_way = [stage.life(name) for name in deleted(stage) if stage.life(name).nodes[0] in theirs]
    assert min(life.bound_at for life in high) > max(life.ended_at for life in in_their_way)
    assert not nominated(stage)
    waits = [message for _, _, reason, message in stage.said("high") if reason == "Unschedulable"]
    needs = "needs 3 × 8 cpu, 4 nodes have room for none (for 4 if nothing else ran)"
    assert waits == [f"{needs}; has a place when 6 pods have left"]
    why = stage.says("low", "Preempted", status="True", kind=BELOW)
    assert why == f"its members were evicted for {stage.namespace}/high, of higher priority"
    assert len(muster.said("evicting")) == 1
    assert not muster.said("evicted in vain")
    stage.check()


def test_a_gang_that_a_budget_protects_is_spared_if_another_will_do(stage, nodes):
    nodes(stage.plane, 5)
    protect(stage, "guarded")
    stage.leader()
    # of two gangs the smaller one would go
    stage.gang("guarded", 2, cpu="8", priority="low", whole=True, shape={"labels": {"app": "guarded"}})
    stage.gang("plain", 3, cpu="8", priority="low", whole=True)
    stage.started("guarded", "plain")
    stage.gang("high", 2, cpu="8", priority="high")
    stage.started("high")

    assert deleted(stage) == ["plain-0", "plain-1", "plain-2"]
    stage.check()


# --- Muster -----------------------------------------------------------------------------------


@pytest.mark.parametrize("evictions", [0, 5], ids=["before the first eviction", "between two evictions"])
def test_the_next_replica_goes_on_with_what_one_that_was_killed_had_begun(stage, nodes, evictions):
    nodes(stage.plane, 10)
    first = stage.leader(lease=SHORT)
    fill(stage, 10)
    # two of each pair must go, half of the pairs; what may not be deleted are all of them, or one of each pair
    with denied(stage, "delete", "low-b" if evictions else "low"):
        stage.gang("high", 5, cpu="8", priority="high")
        stage.history.until(
            lambda: len(nominated(stage)) == 5 and len(stage.evicted) == evictions, "the first evictions"
        )
        places = nominated(stage)
        first.kill()
    second = stage.muster(lease=SHORT)
    stage.history.until(lambda: len(stage.evicted) == 10, "the other evictions")
    stage.let_go(*stage.leaving)
    stage.started("high")

    assert len(deleted(stage)) == 10
    assert {life.nodes[0] for life in stage.history.of("high")} == set(places.values())
    assert not nominated(stage)
    assert not second.said("evicted in vain")
    stage.check()


def test_a_replica_that_takes_over_evicts_nobody_again_and_gives_the_room_to_nobody_else(stage, nodes):
    nodes(stage.plane, 4)
    first = stage.leader(lease=SHORT)
    fill(stage, 4)
    second = stage.muster(lease=SHORT)
    second.wait_for("standing by, another replica leads")
    stage.gang("high", 2, cpu="8", priority="high")
    stage.history.until(lambda: len(stage.evicted) == 4, "the evictions")
    places = nominated(stage)
    first.kill()
    stage.pods([pod("rival", cpu="4", priority="low")])
    second.wait_for("leading")
    stage.wait("rival")
    stage.let_go(min(stage.leaving))
    # who has placed this one has seen that room is free
    stage.pods([pod("tiny", cpu="0", priority="low")])
    stage.run("tiny")
    assert not stage.life("rival").nodes
    stage.let_go(*stage.leaving)
    stage.started("high")

    assert len(deleted(stage)) == 4
    assert {life.nodes[0] for life in stage.history.of("high")} == set(places.values())
    assert not nominated(stage)
    assert not second.said("evicting")
    stage.check()


def test_nobody_is_evicted_before_it_is_written_for_whom(stage, nodes):
    nodes(stage.plane, 2)
    muster = stage.leader()
    fill(stage, 2)
    with denied(stage, "describe", "high-1"):
        stage.gang("high", 2, cpu="8", priority="high")
        muster.wait_for("still not done", tries=3)
        assert not stage.deletions()
    stage.history.until(lambda: len(stage.evicted) == 4, "the evictions")
    stage.let_go(*stage.leaving)
    stage.started("high")
    stage.check()


def test_evictions_go_on_after_the_api_server_died_in_the_middle_of_them(stage, nodes):
    nodes(stage.plane, 10)
    muster = stage.leader(rate=20, lease=LONG)
    fill(stage, 10)
    stage.gang("high", 5, cpu="8", priority="high")
    stage.history.until(lambda: stage.evicted, "the first eviction")
    stage.plane.apiserver.restart()
    stage.history.until(lambda: len(stage.evicted) == 10, "the other evictions")
    stage.let_go(*stage.leaving)
    stage.started("high")

    assert len(stage.evicted) == 10
    assert len(muster.said("evicting")) == 1
    stage.check()


# --- another scheduler ------------------------------------------------------------------------


def test_a_gang_whose_room_another_scheduler_gives_away_has_others_evicted_three_times_at_most(stage, nodes):
    nodes(stage.plane, 4)
    muster = stage.leader()
    stage.plane.start_scheduler({"podMaxBackoffSeconds": 1})
    try:
        stage.pods([pod(f"low-{number}", cpu="4", priority="low", **FOREIGN) for number in range(20)])
        stage.history.until(lambda: len(running(stage)) == 8, "full nodes")
        stage.gang("high", 2, cpu="8", priority="high")
        for rounds in (1, 2, 3):
            until_said(muster, "evicting", rounds)
            evictions = sum(line["pods"] for line in muster.said("evicting"))
            stage.history.until(lambda all_=evictions: len(stage.evicted) == all_, "the evictions")
            # the first that leaves is replaced at once, while others are still there
            kept = set(nominated(stage).values())
            stage.let_go(min(name for name in stage.leaving if stage.life(name).nodes[0] in kept))
            until_said(muster, "evicted in vain", rounds)
        until(lambda: "nobody is evicted for it" in says(stage, "high"), lambda: says(stage, "high"))
    finally:
        stage.plane.stop_scheduler()
    assert "since others were evicted for it 3 times in vain" in says(stage, "high")
    assert {line["reason"] for line in muster.said("evicted in vain")} == {"foreign bind"}
    assert stage.history.bound("high") == 0
    stage.let_go(*running(stage))
    stage.started("high")
    assert len(muster.said("evicting")) == 3
    stage.check()


def test_a_gang_starts_in_one_round_beside_a_scheduler_that_has_nothing_to_do(stage, nodes):
    nodes(stage.plane, 4)
    muster = stage.leader()
    stage.plane.start_scheduler()
    try:
        stage.pods([pod(f"low-{number}", cpu="4", priority="low", **FOREIGN) for number in range(8)])
        stage.history.until(lambda: len(running(stage)) == 8, "full nodes")
        stage.gang("high", 2, cpu="8", priority="high")
        stage.history.until(lambda: len(stage.evicted) == 4, "the evictions")
        stage.let_go(*stage.leaving)
        stage.started("high")
    finally:
        stage.plane.stop_scheduler()
    assert len(deleted(stage)) == 4
    assert not muster.said("evicted in vain")
    stage.check()


# --- who waits --------------------------------------------------------------------------------


def test_a_gang_is_passed_by_twice_as_many_as_it_has_members_and_by_no_more(stage, nodes):
    nodes(stage.plane, 4)
    stage.leader()
    stage.pods([pod(f"early-{number}") for number in range(32)])
    stage.run(*[f"early-{number}" for number in range(32)])
    stage.gang("big", 4, cpu="8")
    stage.says("big", "Unschedulable")
    stage.next_second()
    stage.pods([pod(f"late-{number}") for number in range(20)])
    stage.wait(*[f"late-{number}" for number in range(20)])
    # as these end, those take their place, until it is enough
    stage.let_go(*[f"early-{number}" for number in range(12)])
    until(lambda: "held for it" in says(stage, "big"), lambda: says(stage, "big"))
    assert "8 later units went first, so nodes that it can use are held for it" in says(stage, "big")
    stage.history.until(lambda: len(running(stage)) == 20 + 8, "who goes first to run")
    stage.let_go(*running(stage))
    stage.started("big")

    order = [each.name.split("-")[0] for each in stage.bindings() if not each.name.startswith("early")]
    assert order == ["late"] * 8 + ["big"] * 4
    stage.check()


# --- helpers ----------------------------------------------------------------------------------

FOREIGN = {"scheduler": "default-scheduler", "stops": SLOW}


def fill(stage, count):
    """Two pods on each of so many nodes that others may have evicted, and that stop slowly: a and b."""
    half = {"cpu": "4", "priority": "low", "stops": SLOW}
    names = [[f"low-{side}-{number}" for number in range(count)] for side in "ab"]
    for side in names:
        stage.pods([pod(name, **half) for name in side])
        stage.run(*side)


def running(stage):
    return {life.name for life in stage.history.of("") if life.phase == "Running"}


def deleted(stage):
    """Pods that replicas deleted, by the record; a pod stands there as often as it was deleted."""
    return sorted(each.name for each in stage.deletions())


def nominated(stage):
    """Where room is kept, by pod."""
    nodes = {life.name: life.pod["status"].get("nominatedNodeName") for life in stage.history.lives.values()}
    return {name: node for name, node in nodes.items() if node}


def says(stage, gang):
    """The message of the group's condition."""
    return (stage.says_now(gang) or ("",))[-1]


def until_said(muster, message, count):
    until(lambda: len(muster.said(message)) == count, lambda: f"{message!r} to be said {count} times\n{muster.tail()}")


def protect(stage, app):
    """A budget that allows no disruption of these pods."""
    path = f"/apis/policy/v1/namespaces/{stage.namespace}/poddisruptionbudgets"
    spec = {"minAvailable": 2, "selector": {"matchLabels": {"app": app}}}
    budget = stage.plane.request("POST", path, {"metadata": {"name": app}, "spec": spec})
    budget["status"] = {
        "disruptionsAllowed": 0,
        "currentHealthy": 2,
        "desiredHealthy": 2,
        "expectedPods": 2,
        "observedGeneration": budget["metadata"]["generation"],
    }
    stage.plane.request("PUT", f"{path}/{app}/status", budget)
