"""Faults on a real control plane: whatever breaks, a gang is whole or not there, and nothing is bound twice.

Muster runs with the rights of deploy/base/rbac.yaml and no more.  Gangs are large enough to be hit in the middle:
`History.until_bound` returns while most of their binds are still to come.
"""

import asyncio
import datetime
import json
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from muster.base.errors import LeaseLost
from muster.kube.client import Client
from muster.kube.connection import load
from muster.kube.limits import FIRST
from tests.control_plane.checks import until
from tests.control_plane.conftest import needs_native_groups
from tests.control_plane.cutting_proxy import CuttingProxy
from tests.control_plane.stage import BELOW, LEASE, LONG, REPLICAS, SHORT, UNLUCKY, Stage, denied, fragile_plane, pod

pytestmark = needs_native_groups


# --- the stage --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fragile(tmp_path_factory):
    with fragile_plane(tmp_path_factory.mktemp("record")) as plane:
        yield plane


@pytest.fixture
def stage(fragile, namespaces, tmp_path):
    with Stage(fragile, namespaces.make(fragile), tmp_path) as stage:
        yield stage


@pytest.fixture
def few_seats(fragile):
    """Replicas share three seats, and there is no queue to wait for one."""
    limited = {"nominalConcurrencyShares": 1, "lendablePercent": 0, "borrowingLimitPercent": 0}
    level = {"type": "Limited", "limited": {**limited, "limitResponse": {"type": "Reject"}}}
    everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"], "clusterScope": True}
    rule = {"subjects": [{"kind": "Group", "group": {"name": REPLICAS}}], "resourceRules": [everything]}
    flow = {"priorityLevelConfiguration": {"name": "few"}, "matchingPrecedence": 100, "rules": [rule]}
    root = "/apis/flowcontrol.apiserver.k8s.io/v1"
    made = {"prioritylevelconfigurations": level, "flowschemas": flow}
    for kind, spec in made.items():
        fragile.request("POST", f"{root}/{kind}", {"metadata": {"name": "few"}, "spec": spec})
    limit = 'apiserver_flowcontrol_nominal_limit_seats{priority_level="few"}'
    until(lambda: limit in fragile.request("GET", "/metrics"), "the limit")
    yield
    for kind in reversed(made):
        fragile.request("DELETE", f"{root}/{kind}/few")


# --- the API server ---------------------------------------------------------------------------


def test_a_gang_is_completed_after_the_api_server_died_in_the_middle_of_it(stage, nodes):
    nodes(stage.plane, 60)
    journal = stage.folder / "journal"
    muster = stage.leader(journal=journal, lease=LONG)
    stage.gang("train", 400)
    stage.history.until_bound("train", 50)
    stage.plane.apiserver.restart()

    stage.started("train")
    stage.check()
    assert muster.said("a bind failed", failure="transient")
    assert muster.said("out of step, trying again", kind="pods")
    assert muster.stop() == 0
    assert "decided the same" in replay(journal)


def test_a_bind_whose_answer_was_lost_is_not_sent_to_another_node(stage, nodes):
    nodes(stage.plane, 60)
    with CuttingProxy(stage.plane.server) as way:
        muster = stage.leader(through=way)
        stage.gang("train", 400)
        stage.history.until_bound("train", 50)
        way.deafen()
        # binds go on for a moment whose answers are held back
        stage.history.until_bound("train", len(stage.bindings()))
        way.cut()
        way.hear()

        stage.started("train")
        assert muster.said("a bind failed", failure="transient")
    stage.check()
    # those whose answer was cut off are not in the record as bound
    assert set(_bound_by_record(stage).values()) == {1}


def test_a_gang_starts_on_a_server_that_rejects_what_is_more_than_a_few_requests_at_once(stage, nodes, few_seats):
    nodes(stage.plane, 30)
    stage.leader()
    stage.gang("train", 200)

    stage.started("train")
    stage.check()
    rejected = 'apiserver_flowcontrol_rejected_requests_total{flow_schema="few"'
    assert rejected in stage.plane.request("GET", "/metrics")


def test_deletions_that_a_lost_history_hides_are_noticed(stage, nodes):
    nodes(stage.plane, 10)
    with CuttingProxy(stage.plane.server) as way:
        muster = stage.leader(through=way, lease=LONG)
        stage.gang("first", 80)
        stage.started("first")
        stage.gang("second", 80)
        stage.says("second", "Unschedulable")

        way.refuse()
        way.cut()
        stage.remove("first")
        stage.history.until(lambda: not stage.history.of("first"), "the first gang's end")
        stage.plane.compact_etcd()
        stage.plane.apiserver.restart()
        way.refuse(False)

        muster.wait_for("listing again", kind="pods")
        stage.started("second")
    stage.check()


def test_gangs_come_and_go_while_every_connection_is_cut_again_and_again(stage, nodes):
    nodes(stage.plane, 12)
    with CuttingProxy(stage.plane.server) as way:
        stage.muster(through=way).wait_for("leading")
        for number in range(8):
            # room for two: the third starts only when the end of the first is noticed
            stage.gang(f"train-{number}", 40)
            way.cut()
            if number >= 2:
                stage.history.until_bound(f"train-{number - 2}", 10)
                way.cut()
                stage.started(f"train-{number - 2}")
                stage.remove(f"train-{number - 2}")
                way.cut()
        stage.started("train-6", "train-7")
    stage.check()


def test_a_gang_that_is_deleted_in_the_middle_of_its_binding_leaves_its_room_to_the_next(stage, nodes):
    nodes(stage.plane, 25)
    stage.leader()
    stage.gang("first", 200)
    stage.history.until_bound("first", 50)
    stage.remove("first")
    stage.gang("second", 200)

    stage.started("second")
    stage.check()


# --- Muster -----------------------------------------------------------------------------------


def test_a_gang_is_completed_by_the_next_replica_after_one_was_killed_in_the_middle_of_it(stage, nodes):
    nodes(stage.plane, 60)
    first = stage.leader(lease=SHORT)
    stage.gang("train", 400)
    stage.history.until_bound("train", 50)
    first.kill()
    assert len(stage.unbound("train")) > 0
    second = stage.muster(lease=SHORT)

    stage.started("train")
    stage.check()
    assert second.said("binding", unit=f"{stage.namespace}/train")


def test_a_gang_whose_nodes_were_closed_while_no_replica_ran_is_released(stage, nodes):
    names = nodes(stage.plane, 25)
    first = stage.leader(lease=SHORT)
    stage.gang("train", 200, timeout=8)
    stage.history.until_bound("train", 50)
    first.kill()
    assert len(stage.unbound("train")) > 0
    stage.plane.kubectl("cordon", *names)
    second = stage.muster(lease=SHORT)

    stage.says("train", "Timeout")
    second.wait_for("releasing", unit=f"{stage.namespace}/train")
    stage.history.until(lambda: stage.history.bound("train") == 0, "the release")
    stage.check()


def test_a_replica_that_is_asked_to_stop_finishes_its_gang_and_gives_the_lease_back(stage, nodes):
    nodes(stage.plane, 60)
    # by default a lease that is not given back is a lease for 15 seconds
    first = stage.leader()
    stage.gang("train", 400)
    stage.history.until_bound("train", 50)
    assert first.stop() == 0

    assert not stage.unbound("train")
    assert stage.says_now("train")[:2] == ("True", "Scheduled")
    lease = stage.plane.request("GET", LEASE)["spec"]
    assert not lease.get("holderIdentity")
    second = stage.leader()
    assert not second.said("standing by, another replica leads")
    stage.check()


def test_a_leader_that_was_paused_for_too_long_sends_nothing_new_and_ends(stage, nodes):
    nodes(stage.plane, 60)
    first = stage.leader(lease=SHORT)
    second = stage.muster(lease=SHORT)
    second.wait_for("standing by, another replica leads")
    stage.gang("train", 400)
    stage.history.until_bound("train", 50)
    first.pause()
    assert len(stage.unbound("train")) > 0
    second.wait_for("leading")
    taken_over = datetime.datetime.now(datetime.UTC)
    first.resume()

    assert first.wait() == 1
    assert len(first.words()) == 1
    assert "lease" in first.words()[0]
    stage.started("train")
    stage.check()
    # no question can be asked so late that the process cannot be paused between the answer and the write
    late = [each for each in stage.bindings() if each.user == first.name and each.came > taken_over]
    assert len(late) < FIRST


async def test_a_write_that_waits_for_its_connection_is_not_sent_once_the_lease_is_gone(stage, tmp_path):
    held = True
    path = f"/api/v1/namespaces/{stage.namespace}/configmaps"
    with CuttingProxy(stage.plane.server) as way:
        connection = load(kubeconfig=str(way.kubeconfig(stage.plane.kubeconfig(), tmp_path / "kubeconfig.yaml")))
        async with Client(connection, user_agent="test") as client:
            way.stall()
            body = json.dumps({"metadata": {"name": "late"}}).encode()
            writing = asyncio.ensure_future(client.writing_while(lambda: held).request("POST", path, body=body))
            while not way.connections:
                await asyncio.sleep(0.01)
            held = False
            way.flow()
            with pytest.raises(LeaseLost):
                await writing
    assert stage.plane.kubectl("get", "configmap", "late", "-n", stage.namespace, "--ignore-not-found") == ""


def test_a_leader_that_cannot_reach_the_server_ends_before_its_lease_does(stage, nodes):
    with CuttingProxy(stage.plane.server) as way:
        muster = stage.leader(through=way, lease=SHORT)
        way.stall()

        assert muster.wait() == 1
    assert len(muster.words()) == 1


# --- the rules of the cluster -----------------------------------------------------------------


def test_a_gang_of_which_one_member_may_not_be_bound_is_undone_within_seconds_and_says_why(stage, nodes):
    nodes(stage.plane, 10)
    muster = stage.leader()
    with denied(stage, "bind", "train-7"):
        stage.gang("train", 20)
        stage.history.until(lambda: len(stage.history.of("train")) == 1, "the release")
        message = stage.says("train", "SchedulerError")
        assert "train-7 may not be bound" in message
        assert UNLUCKY in message
        stage.check()
    muster.wait_for("releasing", unit=f"{stage.namespace}/train", pods=19)
    released = [life for life in stage.history.lives.values() if life.gone and life.gang]
    assert {life.condition("DisruptionTarget")["reason"] for life in released} == {"SchedulerError"}
    waited = stage.deletions()[0].came - denials(stage)[0].answered
    assert 4.9 < waited.total_seconds() < 15

    # as whoever made them would
    stage.pods([pod(life.name, gang="train") for life in released])
    stage.started("train")
    stage.check()


def test_a_gang_that_asks_for_it_keeps_what_is_bound_and_starts_when_its_last_member_may_be_bound(stage, nodes):
    nodes(stage.plane, 5)
    stage.leader()
    with denied(stage, "bind", "train-7"):
        stage.gang("train", 10, timeout=3, on_partial="hold")
        message = stage.says("train", "Timeout")
        assert "9 of 10 members were bound within 3 s; they are kept, as the group asks" in message
        assert UNLUCKY in message
        # a gang that does not ask for it is undone after five seconds of denials
        until(lambda: denied_for(stage) > 6, "more denials")
    stage.started("train")
    assert not stage.deletions()
    stage.check()


def test_a_gang_that_fell_is_bound_anew_when_its_group_may_be_written_and_others_meanwhile(stage, nodes):
    """Were half of it bound, and the replica gone then, only the group would tell that it must be whole."""
    nodes(stage.plane, 5)
    muster = stage.leader()
    stage.gang("train", 20)
    stage.started("train")
    with denied(stage, "say", "train"):
        stage.let_go(*[life.name for life in stage.history.of("train")])
        stage.pods([pod(f"again-{number}", gang="train") for number in range(20)])
        muster.wait_for("binds were not sent", unit=f"{stage.namespace}/train", pods=20)
        stage.gang("other", 10)
        stage.started("other")
        until(lambda: any(UNLUCKY in note for note in notes(stage, "again-7")), "an event", 30)
        assert not [life for life in stage.history.of("train") if life.nodes]
    stage.started("train")
    assert stage.says("train", "Scheduled", kind=BELOW) == ""
    stage.check()
    assert set(_bound_by_record(stage).values()) == {1}


def notes(stage, name):
    """What the events of a pod say."""
    events = stage.plane.request("GET", f"/apis/events.k8s.io/v1/namespaces/{stage.namespace}/events")["items"]
    return [event["note"] for event in events if event["regarding"]["name"] == name]


# --- another scheduler ------------------------------------------------------------------------


def test_a_gang_is_completed_after_a_race_with_another_scheduler_for_the_same_room(stage, nodes):
    """Two schedulers may give the same room away; the kubelet takes the first to come and refuses the other."""
    nodes(stage.plane, 20)
    lone = [pod(f"lone-{number}", scheduler="default-scheduler") for number in range(80)]
    members = [pod(f"train-{number}", gang="train") for number in range(100)]
    stage.plane.start_scheduler()
    try:
        stage.leader()
        stage.group("train", 100)
        stage.pods(members[:95])
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(stage.pods, [members[95:], lone]))
        stage.history.until(lambda: all(life.phase != "Pending" for life in stage.history.of("train")), "a verdict")
    finally:
        stage.plane.stop_scheduler()
    refused = [life for life in stage.history.of("train") if life.phase == "Failed"]
    stage.remove("")
    # as whoever made them would
    stage.pods([pod(f"{life.name}-again", gang="train") for life in refused])
    stage.started("train")
    stage.check(others=True)


def test_a_gang_whose_members_are_refused_by_their_kubelets_is_undone_when_its_time_is_over(stage, nodes):
    names = nodes(stage.plane, 20)
    stage.pods([pod(f"thief-{number}", cpu="8", scheduler="another") for number in range(5)])
    # slow enough that others can take nodes for which binds are on their way
    stage.leader(rate=10)
    stage.gang("train", 20, cpu="8", timeout=5)
    stage.history.until_bound("train", 3)
    taken = {node for life in stage.history.of("train") for node in life.nodes}
    for number, node in enumerate([name for name in names if name not in taken][:5]):
        stage.place(f"thief-{number}", node)

    message = stage.says("train", "Timeout")
    assert "of 20 members were bound within 5 s; they are released" in message
    stage.history.until(lambda: stage.history.bound("train") == 0, "the release")
    refused = [life for life in stage.history.of("train") if life.phase == "Failed"]
    assert 1 <= len(refused) <= 5
    stage.check(others=True)


def test_a_gang_that_is_refused_by_a_kubelet_as_soon_as_it_has_started_is_undone_when_its_time_is_over(stage, nodes):
    nodes(stage.plane, 3)
    stage.leader()
    stage.gang("train", 3, cpu="8", timeout=4)
    stage.started("train")
    refuse(stage, "train-1")

    undone = "2 of 3 members were bound within 4 s; they are released"
    until(lambda: stage.says_now("train", BELOW) == ("True", "MembersRefused", undone), undone)
    stage.history.until(lambda: stage.history.bound("train") == 0, "the release")
    # as whoever made them would
    stage.pods([pod(f"train-{number}-again", gang="train", cpu="8") for number in range(3)])
    stage.history.until_bound("train", 3)
    stage.says("train", "Scheduled", kind=BELOW)
    stage.check()


# --- after the start --------------------------------------------------------------------------


def test_a_gang_that_lost_a_node_says_so_and_what_replaces_its_member_goes_first(stage, nodes):
    nodes(stage.plane, 3)
    stage.leader()
    stage.pods([pod("older", cpu="8", nodeSelector={"kubernetes.io/hostname": "new0"})])
    stage.wait("older")
    stage.next_second()
    stage.gang("train", 3, cpu="8")
    stage.started("train")
    lose_node(stage, "train-1")
    assert stage.says("train", "MembersLost", status="True", kind=BELOW) == "2 of 3 members are bound"
    stage.pods([pod("train-again", gang="train", cpu="8")])
    stage.wait("train-again")
    nodes(stage.plane, 1, prefix="new")

    stage.run("train-again")
    stage.says("train", "Scheduled", kind=BELOW)
    assert not stage.life("older").nodes
    assert stage.says_now("train")[:2] == ("True", "Scheduled")
    stage.check()


def test_a_gang_that_asks_for_it_is_taken_down_when_it_has_lost_a_node_and_starts_whole_again(stage, nodes):
    nodes(stage.plane, 3)
    stage.leader()
    stage.gang("train", 3, cpu="8", below_minimum="restart", below_minimum_grace_seconds=3)
    stage.started("train")
    lost = datetime.datetime.now(datetime.UTC)
    lose_node(stage, "train-1")

    message = stage.says("train", "PodGroupBelowMinimum", status="True", kind=BELOW)
    assert message == "2 of 3 members were left for 3 s; it is taken down to start whole again"
    stage.history.until(lambda: not stage.history.of("train"), "the release")
    why = [stage.life(name).condition("DisruptionTarget")["reason"] for name in ("train-0", "train-2")]
    assert why == ["PodGroupBelowMinimum"] * 2
    assert (stage.deletions()[0].came - lost).total_seconds() >= 3
    nodes(stage.plane, 1, prefix="new")
    # as whoever made them would
    stage.pods([pod(f"train-{number}-again", gang="train", cpu="8") for number in range(3)])
    stage.run(*[f"train-{number}-again" for number in range(3)])
    stage.says("train", "Scheduled", kind=BELOW)
    stage.check()


# --- helpers ----------------------------------------------------------------------------------


def _bound_by_record(stage):
    """How often each pod was bound, by the record."""
    return Counter(each.name for each in stage.bindings() if each.code == 201)


def denials(stage):
    """Binds that were refused, by the record."""
    return [each for each in stage.bindings() if each.code >= 400]


def denied_for(stage):
    """Seconds from the first denial to the last."""
    found = denials(stage)
    return (found[-1].answered - found[0].answered).total_seconds()


def replay(journal):
    command = [sys.executable, "-c", "from muster.cli import main; main()", "replay", str(journal)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def refuse(stage, name):
    """As a kubelet does with a pod for which it has no device."""
    refusal = {"phase": "Failed", "reason": "UnexpectedAdmissionError", "message": "no device"}
    path = f"{stage.path(name)}/status"
    stage.plane.request("PATCH", path, {"status": refusal}, content_type="application/merge-patch+json")


def lose_node(stage, name):
    """The node of that pod is gone."""
    stage.plane.request("DELETE", f"/api/v1/nodes/{stage.life(name).nodes[0]}")
