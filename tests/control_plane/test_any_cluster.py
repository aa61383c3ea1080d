"""Muster on clusters as people have them: stock or with the gang API, alone or beside kube-scheduler, young or old.

Muster is installed with its own command and then runs as the account, and with the configuration, that it installed.
"""

import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
import yaml

from controlplane.kubelet import Kubelets
from controlplane.plane import ControlPlane
from muster.base.errors import ApiError
from tests.control_plane.checks import until
from tests.control_plane.conftest import VERSION, needs_native_groups
from tests.control_plane.muster_process import MusterProcess

NATIVE = "/apis/scheduling.k8s.io/v1beta1"
CUSTOM = "/apis/muster.dev/v1beta1"
CRDS = Path(__file__).parents[2] / "deploy" / "crds"
GROUP_LABEL = "muster.dev/pod-group"
FINALIZER = "muster.dev/podgroup-protection"
ROLE = "/apis/rbac.authorization.k8s.io/v1/clusterroles/muster"
_SECONDS = 60.0
_AGAIN_SECONDS = 0.05


# --- the stage --------------------------------------------------------------------------------


class Muster(MusterProcess):
    """`muster run` with these flags; whoever leaves it has asked it to stop, and it did so with status 0."""

    def __init__(self, folder, *flags, name="muster"):
        self.name = name
        self.log = folder / f"{name}.log"
        command = [sys.executable, "-m", "muster", "run", "--listen=127.0.0.1:0", "--log-format=json", *flags]
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )

    def __exit__(self, failure, *_):
        if failure is not None:
            print(self.tail(60))
            self.kill()
            return
        status = self.stop()
        assert status == 0, self.tail()
        assert not self.words(), self.tail()
        assert "forbidden" not in self.log.read_text()


def muster(*arguments):
    """What a command of Muster prints."""
    done = subprocess.run([sys.executable, "-m", "muster", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def as_installed(cluster, folder):
    """Flags for `muster run`: the account's own token, and the configuration that its pods would read."""
    config = cluster.request("GET", "/api/v1/namespaces/muster-system/configmaps/muster")["data"]["config.yaml"]
    path = folder / "config.yaml"
    path.write_text(config)
    token = cluster.token("muster-system", "muster")
    return f"--kubeconfig={cluster.kubeconfig_for_token(token)}", f"--config={path}"


@pytest.fixture(scope="module")
def installed(stock):
    """A stock cluster with kubelets, into which Muster was installed."""
    muster("install", "--apply", f"--kubeconfig={stock.kubeconfig()}")
    with Kubelets(stock):
        yield stock


@pytest.fixture
def running(installed, tmp_path):
    with Muster(tmp_path, *as_installed(installed, tmp_path)) as process:
        process.wait_for("leading")
        yield process


@pytest.fixture
def space(installed, namespaces):
    return Space(installed, namespaces.make(installed))


class Space:
    """A namespace, what a test makes in it, and what becomes of that."""

    def __init__(self, cluster, namespace, *, groups=CUSTOM, by_label=False):
        self.cluster = cluster
        self.namespace = namespace
        self.pods_path = f"/api/v1/namespaces/{namespace}/pods"
        self.groups_path = f"{groups}/namespaces/{namespace}/podgroups"
        self.by_field = groups == NATIVE and not by_label

    def group(self, name, minimum, **spec):
        body = {
            "apiVersion": self.groups_path.removeprefix("/apis/").partition("/namespaces")[0],
            "kind": "PodGroup",
            "metadata": {"name": name},
            "spec": {"schedulingPolicy": {"gang": {"minCount": minimum}}, **spec},
        }
        self.cluster.request("POST", self.groups_path, body)

    def gang(self, name, members, *, cpu="1", **spec):
        self.group(name, members, **spec)
        # a gang has one priority
        shared = {field: spec[field] for field in ("priorityClassName",) if field in spec}
        self.members(name, members, cpu=cpu, **shared)

    def members(self, gang, count, *, cpu="1", **more):
        for number in range(count):
            self.pod(f"{gang}-{number}", gang=gang, cpu=cpu, **more)

    def pod(self, name, *, gang=None, **options):
        metadata, spec = {"name": name}, pod_spec(**options)
        if gang is not None and self.by_field:
            spec["schedulingGroup"] = {"podGroupName": gang}
        elif gang is not None:
            metadata["labels"] = {GROUP_LABEL: gang}
        self.cluster.request("POST", self.pods_path, {"metadata": metadata, "spec": spec})

    def job(self, name, count, *, gang):
        template = {"metadata": {"labels": {GROUP_LABEL: gang}}, "spec": pod_spec()}
        body = {"metadata": {"name": name}, "spec": {"completions": count, "parallelism": count, "template": template}}
        self.cluster.request("POST", f"/apis/batch/v1/namespaces/{self.namespace}/jobs", body)

    def pods(self):
        return self.cluster.request("GET", self.pods_path)["items"]

    def bound(self, prefix=""):
        pods = [pod for pod in self.pods() if pod["metadata"]["name"].startswith(prefix)]
        return sum("nodeName" in pod["spec"] for pod in pods)

    def until_bound(self, prefix, count):
        until(lambda: self.bound(prefix) == count, f"{count} bound pods {prefix}*")

    def group_says(self, name):
        """The condition about the group's start; empty if there is none yet."""
        found = self.cluster.request("GET", f"{self.groups_path}/{name}")
        conditions = found.get("status", {}).get("conditions", ())
        return next((one for one in conditions if one["type"] == "PodGroupInitiallyScheduled"), {})

    def until_group_says(self, name, reason):
        until(lambda: self.group_says(name).get("reason") == reason, f"group {name} to say {reason}")
        return self.group_says(name)

    def told(self):
        """How often each waiting object was written, and how many events there are about each."""
        waiting = [pod for pod in self.pods() if "nodeName" not in pod["spec"]]
        objects = [each["metadata"] for each in (*waiting, *self.cluster.request("GET", self.groups_path)["items"])]
        path = f"/apis/events.k8s.io/v1/namespaces/{self.namespace}/events"
        about = Counter(event["regarding"]["uid"] for event in self.cluster.request("GET", path)["items"])
        return {each["name"]: (each["resourceVersion"], about[each["uid"]]) for each in objects}

    def change_group(self, name, patch):
        kind = "application/merge-patch+json"
        self.cluster.request("PATCH", f"{self.groups_path}/{name}", patch, content_type=kind)

    def finalizers(self, name):
        return self.cluster.request("GET", f"{self.groups_path}/{name}")["metadata"].get("finalizers", [])

    def has_group(self, name):
        try:
            self.cluster.request("GET", f"{self.groups_path}/{name}")
        except ApiError as error:
            if error.code != 404:
                raise
            return False
        return True

    def succeed(self, name):
        """The kubelet's word that a pod has ended."""
        path, kind = f"{self.pods_path}/{name}/status", "application/strategic-merge-patch+json"
        self.cluster.request("PATCH", path, {"status": {"phase": "Succeeded"}}, content_type=kind)

    def remove(self, name):
        self.cluster.request("DELETE", f"{self.pods_path}/{name}", {"gracePeriodSeconds": 0})


def pod_spec(*, cpu="1", scheduler="muster", node=None, **more):
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}
    spec = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "containers": [container], **more}
    return spec | ({"schedulerName": scheduler} if scheduler else {}) | ({"nodeName": node} if node else {})


# --- a stock cluster --------------------------------------------------------------------------


def test_a_job_whose_pods_carry_the_label_starts_as_a_gang(space, running, nodes):
    space.group("train", 4)
    space.job("train", 4, gang="train")
    space.until_group_says("train", "Unschedulable")
    assert space.bound() == 0
    nodes(space.cluster, 4, cpu="1")
    space.until_bound("train", 4)
    space.until_group_says("train", "Scheduled")


def test_members_that_join_a_gang_that_runs_are_bound_as_its_group_asks_now(space, running, nodes):
    """Its group is read again before that, with the rights that were installed."""
    nodes(space.cluster, 5, cpu="1")
    space.gang("train", 2)
    space.until_group_says("train", "Scheduled")
    space.pod("train-2", gang="train")
    space.until_bound("train", 3)
    space.change_group("train", {"spec": {"schedulingPolicy": {"gang": {"minCount": 5}}}})
    space.pod("train-3", gang="train")
    # whatever is done about it is done when something that came later is bound
    space.pod("later", cpu="100m")
    space.until_bound("later", 1)
    assert space.bound("train") == 3
    space.pod("train-4", gang="train")
    space.remove("later")
    space.until_bound("train", 5)


def test_three_nodes_for_four_members_start_none_of_them(space, running, nodes):
    nodes(space.cluster, 3, cpu="1")
    space.gang("train", 4)
    space.until_group_says("train", "Unschedulable")
    assert space.bound() == 0


def test_kubectl_shows_what_each_group_needs_and_how_it_is(space, running, nodes):
    nodes(space.cluster, 1, cpu="2")
    space.gang("small", 2)
    space.until_group_says("small", "Scheduled")
    space.gang("large", 3)
    space.until_group_says("large", "Unschedulable")
    shown = space.cluster.kubectl("get", "podgroups.muster.dev", "-n", space.namespace)
    header, large, small = (line.split() for line in shown.splitlines())
    assert header == ["NAME", "MIN", "WORKLOAD", "STATUS", "BELOW-MIN", "AGE"]
    assert large[:3] == ["large", "3", "Unschedulable"]
    assert small[:3] == ["small", "2", "Scheduled"]


def test_what_a_group_says_names_the_generation_it_is_about(space, running):
    space.gang("train", 2)
    condition = space.until_group_says("train", "Unschedulable")
    assert condition["observedGeneration"] == 1
    space.change_group("train", {"spec": {"schedulingPolicy": {"gang": {"minCount": 3}}}})
    until(lambda: space.group_says("train")["observedGeneration"] == 2, "the group to say something of its new minimum")
    assert space.group_says("train")["message"] == "2 of 3 members exist, 1 more must be created"


def test_a_restart_says_nothing_anew(space, installed, nodes, tmp_path):
    nodes(space.cluster, 1, cpu="1")
    flags = as_installed(space.cluster, tmp_path)
    with Muster(tmp_path, *flags, name="first"):
        space.gang("train", 2)
        space.until_group_says("train", "Unschedulable")
        until(lambda: all("conditions" in pod["status"] for pod in space.pods()), "the pods to say why they wait")
    before = space.told()
    with Muster(tmp_path, *flags, name="second") as process:
        process.wait_for("leading")
        # its bind comes after all that is said of older pods
        space.pod("later")
        space.until_bound("later", 1)
    assert space.told() == before


def test_a_group_in_use_is_not_deleted_before_its_pods_have_ended(space, running, nodes):
    nodes(space.cluster, 1)
    space.gang("train", 2)
    space.until_group_says("train", "Scheduled")
    space.cluster.request("DELETE", f"{space.groups_path}/train")
    space.succeed("train-0")
    # whatever Muster does about the end of the first is done when it has looked at what came after it
    space.pod("later")
    space.until_bound("later", 1)
    group = space.cluster.request("GET", f"{space.groups_path}/train")
    assert group["metadata"]["finalizers"] == [FINALIZER]
    space.succeed("train-1")
    until(lambda: not space.has_group("train"), "the end of the group")


def test_a_group_that_nobody_uses_is_deleted_at_once(space, running):
    space.group("train", 2)
    path = f"{space.groups_path}/train"
    until(lambda: space.cluster.request("GET", path)["metadata"].get("finalizers"), "protection of the group")
    space.cluster.request("DELETE", path)
    until(lambda: not space.has_group("train"), "the end of the group")


def test_of_two_waiting_groups_the_one_of_the_higher_class_goes_first(space, running, nodes):
    (node,) = nodes(space.cluster, 1, cpu="2")
    classes = {"any-low": 10, "any-high": 1000, "any-top": 2000}
    for name, value in classes.items():
        body = {"metadata": {"name": name}, "value": value}
        space.cluster.request("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", body)
    try:
        # above both, or they would have it evicted
        space.pod("before", cpu="2", node=node, priorityClassName="any-top")
        space.gang("low", 2, priorityClassName="any-low")
        # the older goes first otherwise; the API counts in seconds
        made = int(time.time())
        until(lambda: int(time.time()) > made, "the next second")
        space.gang("high", 2, priorityClassName="any-high")
        for name in ("low", "high"):
            space.until_group_says(name, "Unschedulable")
        space.remove("before")
        space.until_bound("high", 2)
        assert space.bound("low") == 0
    finally:
        for name in classes:
            space.cluster.request("DELETE", f"/apis/scheduling.k8s.io/v1/priorityclasses/{name}")


@pytest.fixture
def without_services(installed):
    """The role as it was before pods were spread by default."""
    role = installed.request("GET", ROLE)
    kept = [rule for rule in role["rules"] if "services" not in rule["resources"]]
    installed.request("PUT", ROLE, {**role, "rules": kept})
    yield installed
    muster("install", "--apply", f"--kubeconfig={installed.kubeconfig()}")


def test_without_the_right_to_read_services_it_works_and_says_what_is_lost(without_services, space, nodes, tmp_path):
    nodes(space.cluster, 2, cpu="1")
    process = Muster(tmp_path, *as_installed(without_services, tmp_path))
    try:
        process.wait_for("leading")
        assert process.said("not for us to read, going on without", kind="services")
        (said,) = process.said("a right is missing, going on without", right="watch services")
        assert said["cannot"] == "spread the pods of a Service that do not say how"
        space.gang("train", 2)
        space.until_bound("train", 2)
        assert process.stop() == 0, process.tail()
    finally:
        process.kill()


def test_pods_of_another_scheduler_are_left_to_it(space, running, nodes):
    nodes(space.cluster, 2, cpu="2")
    for number in range(2):
        space.pod(f"theirs-{number}", scheduler=None)
    space.gang("ours", 2)
    space.until_bound("ours", 2)
    assert space.bound("theirs") == 0
    space.cluster.start_scheduler()
    try:
        space.until_bound("theirs", 2)
    finally:
        space.cluster.stop_scheduler()
    # each left room for the other: whatever is bound twice over is refused by the kubelets
    until(lambda: {pod["status"]["phase"] for pod in space.pods()} == {"Running"}, "all pods to run")


def test_in_place_of_the_default_scheduler_it_takes_pods_that_name_none(space, nodes, tmp_path):
    printed = muster("install", "--dry-run", "--crds=never", "--replace-default")
    [config] = [each for each in yaml.safe_load_all(printed) if each["kind"] == "ConfigMap"]
    path = tmp_path / "replacement.yaml"
    path.write_text(config["data"]["config.yaml"])
    kubeconfig, _ = as_installed(space.cluster, tmp_path)
    nodes(space.cluster, 2, cpu="2")
    with Muster(tmp_path, kubeconfig, f"--config={path}"):
        space.pod("plain", scheduler=None)
        space.pod("ours", scheduler="muster")
        space.pod("theirs", scheduler="another")
        space.until_bound("plain", 1)
        space.until_bound("ours", 1)
    assert space.bound("theirs") == 0


# --- a cluster that changes -------------------------------------------------------------------


def test_groups_that_come_after_muster_are_read_without_a_restart(breakable, nodes, namespaces, tmp_path):
    space = Space(breakable, namespaces.make(breakable))
    nodes(breakable, 2, cpu="1")
    with Muster(tmp_path, f"--kubeconfig={breakable.kubeconfig()}") as process:
        process.wait_for("leading")
        space.members("train", 2)
        bring_crds(breakable)
        space.group("train", 2)
        space.until_bound("train", 2)
        space.until_group_says("train", "Scheduled")


def test_groups_whose_kind_was_removed_and_came_back_are_read_again(breakable, nodes, namespaces, tmp_path):
    space = Space(breakable, namespaces.make(breakable))
    nodes(breakable, 2, cpu="1")
    bring_crds(breakable)
    with Muster(tmp_path, f"--kubeconfig={breakable.kubeconfig()}") as process:
        process.wait_for("leading")
        space.group("unused", 2)
        # takes the group along, which Muster must let go
        breakable.kubectl("delete", "crd", "podgroups.muster.dev", "--timeout=60s")
        bring_crds(breakable)
        space.gang("train", 2)
        space.until_group_says("train", "Scheduled")


def bring_crds(cluster):
    cluster.kubectl("apply", "-k", str(CRDS))
    cluster.kubectl("wait", "--for=condition=Established", "crd/podgroups.muster.dev")


@needs_native_groups
def test_the_gang_api_switched_on_later_is_read_without_a_restart(breakable, nodes, namespaces, tmp_path):
    namespace = namespaces.make(breakable)
    nodes(breakable, 2, cpu="1")
    with Muster(tmp_path, f"--kubeconfig={breakable.kubeconfig()}") as process:
        process.wait_for("leading")
        gates = ControlPlane(version=VERSION, gates=True).gates
        breakable.apiserver.command += (
            "--feature-gates=" + ",".join(f"{gate}=true" for gate in gates),
            "--runtime-config=scheduling.k8s.io/v1beta1=true,scheduling.k8s.io/v1alpha3=true",
        )
        breakable.apiserver.restart()
        space = Space(breakable, namespace, groups=NATIVE)
        space.gang("train", 2)
        space.until_bound("train", 2)
        space.until_group_says("train", "Scheduled")


# --- a cluster with the gang API --------------------------------------------------------------


@pytest.fixture
def native(plane, namespaces):
    muster("install", "--apply", f"--kubeconfig={plane.kubeconfig()}")
    with Kubelets(plane):
        yield Space(plane, namespaces.make(plane), groups=NATIVE)


@needs_native_groups
def test_the_account_has_all_rights_it_needs_for_native_groups(native, nodes, tmp_path):
    nodes(native.cluster, 2, cpu="1")
    with Muster(tmp_path, *as_installed(native.cluster, tmp_path)) as process:
        process.wait_for("leading")
        native.gang("small", 2)
        native.until_group_says("small", "Scheduled")
        native.gang("large", 2)
        native.until_group_says("large", "Unschedulable")
        assert native.bound("large") == 0


@needs_native_groups
def test_a_native_group_is_not_deleted_under_pods_that_name_it_by_label(native, nodes, tmp_path):
    """Kubernetes' own finalizer goes at once, since no pod names the group in its field; Muster's stays."""
    nodes(native.cluster, 1)
    labelled = Space(native.cluster, native.namespace, groups=NATIVE, by_label=True)
    with Muster(tmp_path, *as_installed(native.cluster, tmp_path)) as process:
        process.wait_for("leading")
        labelled.gang("train", 2)
        labelled.until_group_says("train", "Scheduled")
        until(lambda: FINALIZER in labelled.finalizers("train"), "protection of the group")
        labelled.cluster.request("DELETE", f"{labelled.groups_path}/train")
        until(lambda: labelled.finalizers("train") == [FINALIZER], "Kubernetes to let the group go")
        labelled.succeed("train-0")
        # whatever Muster does about the end of the first is done when it has looked at what came after it
        labelled.pod("later")
        labelled.until_bound("later", 1)
        assert labelled.finalizers("train") == [FINALIZER]
        labelled.succeed("train-1")
        until(lambda: not labelled.has_group("train"), "the end of the group")


@needs_native_groups
def test_what_a_leader_protected_is_let_go_by_the_next(native, nodes, tmp_path):
    """Both kinds of end come while nobody runs: one group is deleted and its pods end, of another the pods end."""
    nodes(native.cluster, 1)
    labelled = Space(native.cluster, native.namespace, groups=NATIVE, by_label=True)
    flags = as_installed(native.cluster, tmp_path)
    with Muster(tmp_path, *flags, name="first") as process:
        process.wait_for("leading")
        for name in ("deleted", "kept"):
            labelled.gang(name, 2)
            labelled.until_group_says(name, "Scheduled")
            until(lambda name=name: FINALIZER in labelled.finalizers(name), f"protection of {name}")
    labelled.cluster.request("DELETE", f"{labelled.groups_path}/deleted")
    for name in ("deleted", "kept"):
        for number in range(2):
            labelled.succeed(f"{name}-{number}")
    assert labelled.has_group("deleted")
    with Muster(tmp_path, *flags, name="second") as process:
        process.wait_for("leading")
        until(lambda: not labelled.has_group("deleted"), "the end of the group")
        until(lambda: FINALIZER not in labelled.finalizers("kept"), "the end of protection")
    assert len(labelled.finalizers("kept")) == 1


@needs_native_groups
def test_a_native_group_that_pods_name_in_their_field_is_left_to_kubernetes(native, nodes, tmp_path):
    nodes(native.cluster, 1)
    with Muster(tmp_path, *as_installed(native.cluster, tmp_path)) as process:
        process.wait_for("leading")
        native.gang("train", 2)
        native.until_group_says("train", "Scheduled")
        assert native.finalizers("train") == ["scheduling.k8s.io/podgroup-protection"]


@needs_native_groups
def test_a_job_that_kubernetes_makes_a_gang_of_starts_whole(native, nodes, tmp_path):
    spec = {
        "completions": 3,
        "parallelism": 3,
        "scheduling": {"schedulingPolicy": {"gang": {}}},
        "template": {"spec": pod_spec()},
    }
    nodes(native.cluster, 2, cpu="1")
    with Muster(tmp_path, *as_installed(native.cluster, tmp_path)) as process:
        process.wait_for("leading")
        body = {"metadata": {"name": "train"}, "spec": spec}
        native.cluster.request("POST", f"/apis/batch/v1/namespaces/{native.namespace}/jobs", body)
        until(lambda: native.cluster.request("GET", native.groups_path)["items"], "the job's group")
        [group] = [one["metadata"]["name"] for one in native.cluster.request("GET", native.groups_path)["items"]]
        native.until_group_says(group, "Unschedulable")
        assert native.bound() == 0
        nodes(native.cluster, 1, cpu="1", prefix="more")
        native.until_bound("train", 3)


@needs_native_groups
def test_a_labelled_job_is_a_gang_where_kubernetes_makes_a_basic_group_for_it(native, nodes, tmp_path):
    """As docs/install.md has it, on a cluster whose Job controller sets the field whatever the label says."""
    nodes(native.cluster, 3, cpu="1")
    with Muster(tmp_path, *as_installed(native.cluster, tmp_path)) as process:
        process.wait_for("leading")
        native.job("train", 4, gang="train")
        until(lambda: len(native.pods()) == 4, "the job's pods")
        fields = {pod["spec"]["schedulingGroup"]["podGroupName"] for pod in native.pods()}
        assert "train" not in fields
        native.group("train", 4)
        native.until_group_says("train", "Unschedulable")
        assert native.bound() == 0
        until(lambda: FINALIZER in native.finalizers("train"), "protection of the group")
        nodes(native.cluster, 1, cpu="1", prefix="more")
        native.until_bound("train", 4)
        native.until_group_says("train", "Scheduled")
