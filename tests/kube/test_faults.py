"""Faults on a real control plane: whatever breaks, a gang is whole or not there, and nothing is bound twice.

Muster runs with the rights of deploy/base/rbac.yaml and no more.  Gangs are large enough to be hit in the middle:
`History.until_bound` returns while most of their binds are still to come.
"""

import asyncio
import datetime
import http.client
import itertools
import json
import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml

from controlplane.kubelet import Kubelets
from controlplane.plane import ControlPlane
from muster.base.errors import ApiError, LeaseLost
from muster.kube.client import Client
from muster.kube.connection import load
from tests.kube.checks import History, check, group_says, until, until_group_says
from tests.kube.conftest import VERSION, needs_native_groups
from tests.kube.cutting_proxy import CuttingProxy
from tests.kube.muster_process import MusterProcess

pytestmark = needs_native_groups

DEPLOY = Path(__file__).parents[2] / "deploy" / "base"
REPLICAS = "muster-replicas"
BINDINGS = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "Metadata", "verbs": ["create"], "resources": [{"group": "", "resources": ["pods/binding"]}]},
        {"level": "None"},
    ],
}
SHORT = (4, 3, 1)
"""Seconds of a lease that a test waits for the end of: duration, deadline of its renewal, time between tries."""
LEASE = "/apis/coordination.k8s.io/v1/namespaces/muster-system/leases/muster"
_numbers = itertools.count(1)


# --- the stage --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fragile(tmp_path_factory):
    """A plane that may be hurt, with kubelets; it keeps a record of all bindings."""
    folder = tmp_path_factory.mktemp("audit")
    policy, record = folder / "policy.yaml", folder / "bindings.log"
    policy.write_text(yaml.safe_dump(BINDINGS))
    flags = [f"--audit-policy-file={policy}", f"--audit-log-path={record}"]
    with ControlPlane(version=VERSION, controllers=True, extra_apiserver_flags=flags) as plane:
        for name in ("namespace", "rbac"):
            plane.kubectl("apply", "-f", str(DEPLOY / f"{name}.yaml"))
        group = f"--group={REPLICAS}"
        plane.kubectl("create", "clusterrolebinding", REPLICAS, "--clusterrole=muster", group)
        plane.kubectl("create", "rolebinding", REPLICAS, "-n", "muster-system", "--role=muster-lease", group)
        plane.record = record
        with Kubelets(plane):
            yield plane


class Stage:
    """A namespace with its pods' history, and the replicas that a test starts."""

    def __init__(self, plane, namespace, folder):
        self.plane = plane
        self.namespace = namespace
        self.folder = folder
        self.history = History(plane, namespace)
        self.minima = {}
        self.replicas = []

    def muster(self, *, through=None, **options):
        """Starts a replica; each is a user of its own, so that the record of bindings tells them apart."""
        name = f"muster-{next(_numbers)}"
        kubeconfig = self.plane.kubeconfig(name, (REPLICAS,))
        if through is not None:
            kubeconfig = through.kubeconfig(kubeconfig, self.folder / f"{name}-kubeconfig.yaml")
        self.replicas.append(MusterProcess(kubeconfig, self.folder, name=name, **options))
        return self.replicas[-1]

    def group(self, name, minimum, *, timeout=None):
        annotations = {} if timeout is None else {"muster.dev/schedule-timeout-seconds": str(timeout)}
        body = {
            "metadata": {"name": name, "annotations": annotations},
            "spec": {"schedulingPolicy": {"gang": {"minCount": minimum}}},
        }
        self.minima[name] = minimum
        self.plane.request("POST", f"/apis/scheduling.k8s.io/v1beta1/namespaces/{self.namespace}/podgroups", body)

    def gang(self, name, members, *, cpu="1", **options):
        """A gang that needs all its members."""
        self.group(name, members, **options)
        self.pods([pod(f"{name}-{number}", gang=name, cpu=cpu) for number in range(members)])

    def pods(self, pods):
        _many(self.plane, [("POST", f"/api/v1/namespaces/{self.namespace}/pods", each) for each in pods])

    def remove(self, gang):
        """Deletes the pods of a gang."""
        pods = [f"/api/v1/namespaces/{self.namespace}/pods/{life.name}" for life in self.history.of(gang)]
        _many(self.plane, [("DELETE", path, None) for path in pods])

    def started(self, *gangs):
        """Waits until all members of the gangs are bound and their groups say so."""
        for gang in gangs:
            self.history.until_bound(gang, self.minima[gang])
        for gang in gangs:
            until_group_says(self.plane, self.namespace, gang, status="True", reason="Scheduled")

    def check(self, **options):
        check(self.history, self.minima, **options)
        for replica in self.replicas:
            assert not [line for line in replica.words() if "Traceback" in line], replica.tail(60)


def pod(name, *, gang=None, cpu="1", scheduler="muster", **spec):
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}
    if gang is not None:
        spec["schedulingGroup"] = {"podGroupName": gang}
    spec = {"schedulerName": scheduler, "restartPolicy": "Never", "containers": [container], **spec}
    # kubelets that are asked need not wait
    return {"metadata": {"name": name}, "spec": {"terminationGracePeriodSeconds": 0, **spec}}


def _many(plane, calls):
    """Many requests at once, each thread on a connection of its own."""
    waiting, lock, context = iter(calls), threading.Lock(), plane.ssl_context()

    def work(_):
        port = int(plane.server.rsplit(":", 1)[1])
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=30, context=context)
        try:
            while True:
                with lock:
                    call = next(waiting, None)
                if call is None:
                    return
                method, path, body = call
                payload = None if body is None else json.dumps(body)
                connection.request(method, path, body=payload, headers={"Content-Type": "application/json"})
                answer = connection.getresponse()
                text = answer.read().decode()
                if answer.status >= 400 and not (method == "DELETE" and answer.status == 404):
                    raise ApiError(text, code=answer.status)
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))


@pytest.fixture
def stage(fragile, namespaces, tmp_path):
    stage = Stage(fragile, namespaces.make(fragile), tmp_path)
    with stage.history:
        yield stage
    for replica in stage.replicas:
        replica.kill()
    fragile.kubectl("delete", "lease", "muster", "-n", "muster-system", "--ignore-not-found")


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
    muster = stage.muster(journal=journal)
    muster.wait_for("leading")
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
        muster = stage.muster(through=way)
        muster.wait_for("leading")
        stage.gang("train", 400)
        stage.history.until_bound("train", 50)
        way.deafen()
        # binds go on for a moment whose answers are held back
        stage.history.until_bound("train", len(_bindings(stage)))
        way.cut()
        way.hear()

        stage.started("train")
        assert muster.said("a bind failed", failure="transient")
    stage.check()
    # those whose answer was cut off are not in the record as bound
    assert set(_bound_by_record(stage).values()) == {1}


def test_a_gang_starts_on_a_server_that_rejects_what_is_more_than_a_few_requests_at_once(stage, nodes, few_seats):
    nodes(stage.plane, 30)
    stage.muster().wait_for("leading")
    stage.gang("train", 200)

    stage.started("train")
    stage.check()
    rejected = 'apiserver_flowcontrol_rejected_requests_total{flow_schema="few"'
    assert rejected in stage.plane.request("GET", "/metrics")


def test_deletions_that_a_lost_history_hides_are_noticed(stage, nodes):
    nodes(stage.plane, 10)
    with CuttingProxy(stage.plane.server) as way:
        muster = stage.muster(through=way)
        muster.wait_for("leading")
        stage.gang("first", 80)
        stage.started("first")
        stage.gang("second", 80)
        until_group_says(stage.plane, stage.namespace, "second", status="False", reason="Unschedulable")

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
    stage.muster().wait_for("leading")
    stage.gang("first", 200)
    stage.history.until_bound("first", 50)
    stage.remove("first")
    stage.gang("second", 200)

    stage.started("second")
    stage.check()


# --- Muster -----------------------------------------------------------------------------------


def test_a_gang_is_completed_by_the_next_replica_after_one_was_killed_in_the_middle_of_it(stage, nodes):
    nodes(stage.plane, 60)
    first = stage.muster(lease=SHORT)
    first.wait_for("leading")
    stage.gang("train", 400)
    stage.history.until_bound("train", 50)
    first.kill()
    assert len(_unbound(stage, "train")) > 0
    second = stage.muster(lease=SHORT)

    stage.started("train")
    stage.check()
    assert second.said("binding", unit=f"{stage.namespace}/train")


def test_a_gang_whose_nodes_were_closed_while_no_replica_ran_is_released(stage, nodes):
    names = nodes(stage.plane, 25)
    first = stage.muster(lease=SHORT)
    first.wait_for("leading")
    stage.gang("train", 200, timeout=8)
    stage.history.until_bound("train", 50)
    first.kill()
    assert len(_unbound(stage, "train")) > 0
    stage.plane.kubectl("cordon", *names)
    second = stage.muster(lease=SHORT)

    until_group_says(stage.plane, stage.namespace, "train", status="False", reason="Timeout")
    second.wait_for("releasing", unit=f"{stage.namespace}/train")
    stage.history.until(lambda: stage.history.bound("train") == 0, "the release")
    stage.check()


def test_a_replica_that_is_asked_to_stop_finishes_its_gang_and_gives_the_lease_back(stage, nodes):
    nodes(stage.plane, 60)
    # by default a lease that is not given back is a lease for 15 seconds
    first = stage.muster()
    first.wait_for("leading")
    stage.gang("train", 400)
    stage.history.until_bound("train", 50)
    assert first.stop() == 0

    assert not _unbound(stage, "train")
    assert group_says(stage.plane, stage.namespace, "train")[:2] == ("True", "Scheduled")
    lease = stage.plane.request("GET", LEASE)["spec"]
    assert not lease.get("holderIdentity")
    second = stage.muster()
    second.wait_for("leading")
    assert not second.said("standing by, another replica leads")
    stage.check()


def test_a_leader_that_was_paused_for_too_long_sends_nothing_more_and_ends(stage, nodes):
    nodes(stage.plane, 60)
    first = stage.muster(lease=SHORT)
    first.wait_for("leading")
    second = stage.muster(lease=SHORT)
    second.wait_for("standing by, another replica leads")
    stage.gang("train", 400)
    stage.history.until_bound("train", 50)
    first.pause()
    assert len(_unbound(stage, "train")) > 0
    second.wait_for("leading")
    taken_over = datetime.datetime.now(datetime.UTC)
    first.resume()

    assert first.wait() == 1
    assert len(first.words()) == 1
    assert "lease" in first.words()[0]
    stage.started("train")
    stage.check()
    late = [event for event in _bindings(stage) if event["user"]["username"] == first.name and _at(event) > taken_over]
    assert not late


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
        muster = stage.muster(through=way, lease=SHORT)
        muster.wait_for("leading")
        way.stall()

        assert muster.wait() == 1
    assert len(muster.words()) == 1


# --- the rules of the cluster -----------------------------------------------------------------


def test_a_gang_of_which_one_member_may_not_be_bound_is_released_and_says_why(stage, nodes):
    nodes(stage.plane, 10)
    deny_bindings(stage, "train-7")
    muster = stage.muster()
    muster.wait_for("leading")
    stage.gang("train", 20, timeout=3)
    stage.history.until_bound("train", 19)

    message = until_group_says(stage.plane, stage.namespace, "train", status="False", reason="Timeout")
    assert "19 of 20 members were bound within 3 s" in message
    assert "this pod is unlucky" in message
    stage.history.until(lambda: len(stage.history.of("train")) == 1, "the release")
    stage.check()
    muster.wait_for("releasing", unit=f"{stage.namespace}/train", pods=19)
    released = [life for life in stage.history.lives.values() if life.gone]
    assert {life.condition("DisruptionTarget")["reason"] for life in released} == {"Timeout"}

    allow_bindings(stage)
    # as whoever made them would
    stage.pods([pod(life.name, gang="train") for life in released])
    stage.started("train")
    stage.check()


# --- another scheduler ------------------------------------------------------------------------


def test_a_gang_is_completed_after_a_race_with_another_scheduler_for_the_same_room(stage, nodes):
    """Two schedulers may give the same room away; the kubelet takes the first to come and refuses the other."""
    nodes(stage.plane, 20)
    lone = [pod(f"lone-{number}", scheduler="default-scheduler") for number in range(80)]
    members = [pod(f"train-{number}", gang="train") for number in range(100)]
    stage.plane.start_scheduler()
    try:
        stage.muster().wait_for("leading")
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


# --- helpers ----------------------------------------------------------------------------------


def _unbound(stage, gang):
    """The members that have no node, by what the server says now."""
    pods = stage.plane.request("GET", f"/api/v1/namespaces/{stage.namespace}/pods")["items"]
    mine = [each for each in pods if each["spec"].get("schedulingGroup", {}).get("podGroupName") == gang]
    return [each["metadata"]["name"] for each in mine if "nodeName" not in each["spec"]]


def _bindings(stage):
    """The record of bindings in the stage's namespace."""
    events = [json.loads(line) for line in stage.plane.record.read_text().splitlines()]
    return [event for event in events if event["objectRef"]["namespace"] == stage.namespace]


def _bound_by_record(stage):
    """How often each pod was bound, by the record."""
    return Counter(event["objectRef"]["name"] for event in _bindings(stage) if event["responseStatus"]["code"] == 201)


def replay(journal):
    command = [sys.executable, "-c", "from muster.cli import main; main()", "replay", str(journal)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def _at(event):
    return datetime.datetime.fromisoformat(event["requestReceivedTimestamp"])


POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
UNLUCKY = "unlucky"


def deny_bindings(stage, prefix):
    """From its return on, no pod whose name begins so can be bound."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods/binding"]}
    validation = {"expression": f"!object.metadata.name.startsWith('{prefix}')", "message": "this pod is unlucky"}
    spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": [validation], "failurePolicy": "Fail"}
    stage.plane.request("POST", POLICIES, {"metadata": {"name": UNLUCKY}, "spec": spec})
    binding = {"policyName": UNLUCKY, "validationActions": ["Deny"]}
    stage.plane.request("POST", f"{POLICIES[:-3]}ybindings", {"metadata": {"name": UNLUCKY}, "spec": binding})
    stage.pods([pod(f"{prefix}probe", scheduler="nobody")])
    stage.probe = f"{prefix}probe"
    until(lambda: not _may_be_bound(stage, stage.probe), "the policy")


def allow_bindings(stage):
    stage.plane.request("DELETE", f"{POLICIES[:-3]}ybindings/{UNLUCKY}")
    stage.plane.request("DELETE", f"{POLICIES}/{UNLUCKY}")
    until(lambda: _may_be_bound(stage, stage.probe), "the end of the policy")


def _may_be_bound(stage, name):
    """Asks the server to try; nothing is bound."""
    path = f"/api/v1/namespaces/{stage.namespace}/pods/{name}/binding?dryRun=All"
    try:
        target = {"kind": "Node", "name": "n0"}
        stage.plane.request("POST", path, {"metadata": {"name": name}, "target": target})
    except ApiError as error:
        if error.code not in (403, 422):
            raise
        return False
    return True
