"""What Muster tells people on a cluster with the gang API: conditions, events, `kubectl describe`, health, metrics."""

import socket
import subprocess
import sys
import urllib.error
import urllib.request

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.control_plane.checks import until
from tests.control_plane.conftest import needs_native_groups
from tests.control_plane.muster_process import MusterProcess

pytestmark = needs_native_groups

LONG_AGO = "2020-02-02T02:02:02Z"
_MERGE = "application/merge-patch+json"
_PATCH = "application/strategic-merge-patch+json"
_SECONDS = 60.0
_AGAIN_SECONDS = 0.05


# --- the stage --------------------------------------------------------------------------------


class Listening(MusterProcess):
    """`muster run` that can be asked over HTTP."""

    def __init__(self, plane, folder):
        self.name = "muster"
        self.log = folder / "muster.log"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        flags = [f"--kubeconfig={plane.kubeconfig()}", f"--listen={self.address}", "--log-format=json"]
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "muster", "run", "--no-leader-elect", *flags],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def get(self, path):
        """Status and text."""
        try:
            with urllib.request.urlopen(f"http://{self.address}{path}", timeout=_SECONDS) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as answer:
            return answer.code, answer.read().decode()

    def sample(self, name, **labels):
        """The sum of a metric's samples that have these labels."""
        families = text_string_to_metric_families(self.get("/metrics")[1])
        samples = [sample for family in families for sample in family.samples if sample.name == name]
        assert samples, f"there is no metric {name}"
        return sum(sample.value for sample in samples if labels.items() <= sample.labels.items())


@pytest.fixture(scope="module")
def muster(plane, tmp_path_factory):
    with Listening(plane, tmp_path_factory.mktemp("muster")) as process:
        process.wait_for("leading")
        yield process
        assert not process.words(), process.tail()


class Space:
    """A namespace: what a test makes in it and what is said about that."""

    def __init__(self, plane, namespace):
        self.plane = plane
        self.namespace = namespace
        self.groups_path = f"/apis/scheduling.k8s.io/v1beta1/namespaces/{namespace}/podgroups"
        self.pods_path = f"/api/v1/namespaces/{namespace}/pods"

    def group(self, name, minimum):
        body = {"metadata": {"name": name}, "spec": {"schedulingPolicy": {"gang": {"minCount": minimum}}}}
        self.plane.request("POST", self.groups_path, body)

    def pod(self, name, *, gang=None, cpu="1", metadata=None, **spec):
        container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}
        group = {} if gang is None else {"schedulingGroup": {"podGroupName": gang}}
        spec = {"schedulerName": "muster", "containers": [container], **group, **spec}
        self.plane.request("POST", self.pods_path, {"metadata": {"name": name, **(metadata or {})}, "spec": spec})

    def read_pod(self, name):
        return self.plane.request("GET", f"{self.pods_path}/{name}")

    def pod_says(self, name, status="False"):
        """The pod's condition PodScheduled, once it has this status."""
        return until(lambda: self._condition(f"{self.pods_path}/{name}", "PodScheduled", status), f"{name}: {status}")

    def group_says(self, name, status="False"):
        path = f"{self.groups_path}/{name}"
        return until(lambda: self._condition(path, "PodGroupInitiallyScheduled", status), f"{name}: {status}")

    def _condition(self, path, kind, status):
        conditions = self.plane.request("GET", path).get("status", {}).get("conditions", ())
        return next((one for one in conditions if (one["type"], one["status"]) == (kind, status)), None)

    def date_back(self, path, kind):
        """Makes the last transition of a condition one of long ago."""
        said = self.plane.request("GET", path)["status"]["conditions"]
        dated = [one | {"lastTransitionTime": LONG_AGO} if one["type"] == kind else one for one in said]
        self.plane.request("PATCH", f"{path}/status", {"status": {"conditions": dated}}, content_type=_MERGE)

    def event(self, name, reason):
        """The event with this reason about an object, as soon as there is one."""
        path = f"/apis/events.k8s.io/v1/namespaces/{self.namespace}/events"

        def find():
            events = self.plane.request("GET", path)["items"]
            return next((one for one in events if (one["regarding"]["name"], one["reason"]) == (name, reason)), None)

        return until(find, f"event {reason} about {name}")

    def describe(self, kind, name):
        return self.plane.kubectl("describe", kind, name, "-n", self.namespace)


@pytest.fixture
def space(plane, muster, namespace):
    return Space(plane, namespace)


# --- pods -------------------------------------------------------------------------------------


def test_a_pod_that_fits_nowhere_says_so_in_upstreams_words(space, nodes):
    nodes(space.plane, 2, cpu="1")
    space.pod("big", cpu="4")
    said = space.pod_says("big")
    assert said["reason"] == "Unschedulable"
    assert said["message"] == "0/2 nodes are available: 2 Insufficient cpu."


def test_a_pod_that_waits_anew_is_nominated_to_no_node(space, nodes):
    (node,) = nodes(space.plane, 1, cpu="1")
    space.pod("big", cpu="4", schedulingGates=[{"name": "example.com/later"}])
    path = f"{space.pods_path}/big"
    space.plane.request("PATCH", f"{path}/status", {"status": {"nominatedNodeName": node}}, content_type=_PATCH)
    assert space.read_pod("big")["status"]["nominatedNodeName"] == node
    space.plane.request("PATCH", path, {"spec": {"schedulingGates": None}}, content_type=_MERGE)
    until(lambda: "nominatedNodeName" not in space.read_pod("big")["status"], "the nomination to go")
    assert space.pod_says("big")["reason"] == "Unschedulable"


def mixed_gang(space):
    """Of three members no two go on a node of 5 cpu; on two nodes that cannot be told by counting."""
    space.group("mix", 3)
    space.pod("mix-large", gang="mix", cpu="4")
    space.pod("mix-small-0", gang="mix", cpu="3")
    space.pod("mix-small-1", gang="mix", cpu="3")


def test_a_new_message_is_no_transition_of_the_pod(space, nodes):
    nodes(space.plane, 1, cpu="5")
    mixed_gang(space)
    first = space.pod_says("mix-small-0")
    path = f"{space.pods_path}/mix-small-0"
    space.date_back(path, "PodScheduled")
    # enough if each is counted alone, so it is tried again
    nodes(space.plane, 1, cpu="5", prefix="more")
    second = until(lambda: _other(space.pod_says("mix-small-0"), first), "another message")
    assert second["lastTransitionTime"] == LONG_AGO


def _other(said, before):
    return said if said["message"] != before["message"] else None


def test_a_pod_that_was_bound_has_an_event(space, nodes):
    (node,) = nodes(space.plane, 1)
    space.pod("one")
    event = space.event("one", "Scheduled")
    assert event["type"] == "Normal"
    assert event["action"] == "Binding"
    assert event["reportingController"] == "muster"
    assert event["reportingInstance"].startswith("muster-")
    assert event["note"] == f"Successfully assigned {space.namespace}/one to {node}"
    assert event["regarding"]["uid"] == space.read_pod("one")["metadata"]["uid"]


def test_a_pod_that_waits_has_an_event(space, nodes):
    nodes(space.plane, 1, cpu="1")
    space.pod("big", cpu="4")
    event = space.event("big", "FailedScheduling")
    assert event["type"] == "Warning"
    assert event["action"] == "Scheduling"
    assert event["reportingController"] == "muster"
    assert event["note"] == "0/1 nodes are available: 1 Insufficient cpu."


def test_a_pod_whose_claim_is_not_there_says_so_in_upstreams_words(space, nodes):
    nodes(space.plane, 1)
    space.pod("picky", resourceClaims=[{"name": "gpu", "resourceClaimName": "none"}])
    said = space.pod_says("picky")
    assert said["reason"] == "Unschedulable"
    assert said["message"] == f'could not find ResourceClaim "{space.namespace}/none"'
    assert space.event("picky", "FailedScheduling")["note"] == said["message"]


def test_a_pod_that_may_not_be_beside_others_says_so_in_upstreams_words_and_goes_when_they_have(space, nodes):
    nodes(space.plane, 1, labels=lambda number: {"zone": "z"})
    space.pod("first", metadata={"labels": {"app": "db"}})
    space.pod_says("first", "True")
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "db"}}}
    rules = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    space.pod("second", affinity={"podAntiAffinity": rules})
    said = space.pod_says("second")
    assert said["message"] == "0/1 nodes are available: 1 node(s) didn't match pod anti-affinity rules."
    space.plane.request("DELETE", f"{space.pods_path}/first?gracePeriodSeconds=0")
    space.pod_says("second", "True")


def test_a_pod_whose_group_does_not_exist_has_an_event_that_says_so(space, nodes):
    nodes(space.plane, 1)
    space.pod("lost", gang="nowhere")
    event = space.event("lost", "FailedScheduling")
    assert "nowhere" in event["note"]
    assert "nodeName" not in space.read_pod("lost")["spec"]


def test_kubectl_describe_tells_why_a_pod_waits(space, nodes):
    nodes(space.plane, 1, cpu="1")
    space.pod("big", cpu="4")
    space.event("big", "FailedScheduling")
    shown = space.describe("pod", "big")
    [line] = [line.split() for line in shown.splitlines() if "FailedScheduling" in line]
    assert line[:2] == ["Warning", "FailedScheduling"]
    assert " ".join(line[3:]) == "muster 0/1 nodes are available: 1 Insufficient cpu."


# --- groups -----------------------------------------------------------------------------------

NEEDS = "needs 4 × 1 cpu, 1 node has room for 3 even if nothing else ran; 1 more is missing; 1 node of 3 cpu would do"


def waiting_gang(space, nodes):
    nodes(space.plane, 1, cpu="3")
    space.group("train", 4)
    for number in range(4):
        space.pod(f"train-{number}", gang="train")


def test_a_group_that_waits_says_what_it_needs_and_what_would_do(space, nodes):
    waiting_gang(space, nodes)
    said = space.group_says("train")
    assert (said["reason"], said["message"]) == ("Unschedulable", NEEDS)


def test_members_tell_what_their_group_waits_for(space, nodes):
    waiting_gang(space, nodes)
    said = sorted(space.pod_says(f"train-{number}")["message"] for number in range(4))
    assert said == ["0/1 nodes are available: 1 Insufficient cpu.", *[f"pod group is unschedulable, {NEEDS}"] * 3]


def test_a_group_that_waits_has_an_event(space, nodes):
    waiting_gang(space, nodes)
    event = space.event("train", "FailedScheduling")
    assert (event["type"], event["action"], event["note"]) == ("Warning", "Scheduling", NEEDS)
    assert (event["regarding"]["kind"], event["regarding"]["apiVersion"]) == ("PodGroup", "scheduling.k8s.io/v1beta1")


def test_a_group_without_its_pods_says_how_many_must_be_created(space, nodes):
    space.group("train", 4)
    space.pod("train-0", gang="train")
    assert space.group_says("train")["message"] == "1 of 4 members exist, 3 more must be created"


def test_a_new_message_is_no_transition_of_the_group(space, nodes):
    space.group("train", 4)
    space.pod("train-0", gang="train")
    first = space.group_says("train")
    space.date_back(f"{space.groups_path}/train", "PodGroupInitiallyScheduled")
    space.pod("train-1", gang="train")
    second = until(lambda: _other(space.group_says("train"), first), "another message")
    assert second["message"] == "2 of 4 members exist, 2 more must be created"
    assert second["lastTransitionTime"] == LONG_AGO


def test_a_group_that_started_says_so(space, nodes):
    waiting_gang(space, nodes)
    space.group_says("train")
    nodes(space.plane, 1, cpu="3", prefix="more")
    assert space.group_says("train", "True")["reason"] == "Scheduled"


def test_kubectl_describe_tells_why_a_group_waits_and_what_would_help(space, nodes):
    waiting_gang(space, nodes)
    space.event("train", "FailedScheduling")
    shown = space.describe("podgroup", "train")
    assert shown.count(NEEDS) == 2


def test_kubectl_get_shows_whether_a_group_started(space, nodes):
    waiting_gang(space, nodes)
    space.group_says("train")
    shown = space.plane.kubectl("get", "podgroups", "-n", space.namespace)
    assert "Unschedulable" in shown


# --- the process ------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
def test_probes_are_answered(muster, path):
    assert muster.get(path) == (200, "ok")


def test_metrics_count_what_was_bound_and_what_waits(space, muster, nodes):
    bound = muster.sample("scheduler_schedule_attempts_total", result="scheduled")
    waiting_gang(space, nodes)
    space.group_says("train")
    assert muster.sample("scheduler_pending_pods", queue="unschedulable") == 4
    nodes(space.plane, 1, cpu="3", prefix="more")
    space.group_says("train", "True")
    assert muster.sample("scheduler_schedule_attempts_total", result="scheduled") == bound + 4
    assert muster.sample("scheduler_pending_pods") == 0
