"""The control plane that the other tests here stand on: it starts, serves what it should, can be hurt on purpose."""

import http.client
import itertools
import json
import os
import socket
import stat
import subprocess
import sys
import threading

import pytest

import controlplane.plane
from controlplane.kubelet import EXIT_CODE, RUN_SECONDS, STOP_SECONDS, Kubelets
from controlplane.nodes import make_nodes
from controlplane.plane import ControlPlane, PlaneError
from muster.base.errors import ApiError, Unreachable
from tests.control_plane.checks import until
from tests.control_plane.conftest import needs_native_groups

SECONDS = 30
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"


def pod(name, *, node=None, cpu="1", annotations=None, **spec):
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}
    return {
        "metadata": {"name": name, "annotations": annotations or {}},
        "spec": {"containers": [container], "restartPolicy": "Never", **({"nodeName": node} if node else {}), **spec},
    }


def create_pod(plane, namespace, *arguments, **options):
    return plane.request("POST", f"/api/v1/namespaces/{namespace}/pods", pod(*arguments, **options))


def get_pod(plane, namespace, name):
    return plane.request("GET", f"/api/v1/namespaces/{namespace}/pods/{name}")


def phase_of(plane, namespace, name):
    return get_pod(plane, namespace, name)["status"]["phase"]


def is_gone(plane, path):
    try:
        plane.request("GET", path)
    except ApiError as error:
        return error.code == 404
    return False


def watch_from(plane, path, version):
    """The HTTP status and the first event of a watch."""
    port = int(plane.server.rsplit(":", 1)[1])
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=SECONDS, context=plane.ssl_context())
    try:
        connection.request("GET", f"{path}?watch=1&resourceVersion={version}&timeoutSeconds={SECONDS}")
        response = connection.getresponse()
        return response.status, json.loads(response.readline())
    finally:
        connection.close()


# --- what it serves ---------------------------------------------------------------------------


def test_it_is_of_the_version_that_was_asked_for(plane, kubernetes_version):
    assert plane.request("GET", "/version")["gitVersion"] == f"v{kubernetes_version}"


@needs_native_groups
def test_with_gates_it_keeps_a_pod_group_and_the_pods_reference_to_it(plane, namespace):
    path = f"/apis/scheduling.k8s.io/v1beta1/namespaces/{namespace}/podgroups"
    spec = {"schedulingPolicy": {"gang": {"minCount": 2}}}
    plane.request("POST", path, {"metadata": {"name": "train"}, "spec": spec})
    group = {"podGroupName": "train"}
    made = create_pod(plane, namespace, "a", schedulingGroup=group)

    assert plane.request("GET", f"{path}/train")["spec"]["schedulingPolicy"] == spec["schedulingPolicy"]
    assert made["spec"]["schedulingGroup"] == group


def test_a_stock_cluster_serves_no_pod_groups(stock):
    versions = stock.request("GET", "/apis/scheduling.k8s.io")["versions"]

    assert [version["version"] for version in versions] == ["v1"]


def test_the_pods_of_a_job_appear(stock, namespaces):
    namespace = namespaces.make(stock)
    template = {"metadata": {}, "spec": pod("x")["spec"]}
    job = {"metadata": {"name": "train"}, "spec": {"parallelism": 3, "completions": 3, "template": template}}
    stock.request("POST", f"/apis/batch/v1/namespaces/{namespace}/jobs", job)

    path = f"/api/v1/namespaces/{namespace}/pods"
    until(lambda: len(stock.request("GET", path)["items"]) == 3, "three pods")


# --- who may come in --------------------------------------------------------------------------


def test_the_admins_kubeconfig_is_for_its_owner_only(plane):
    assert stat.S_IMODE(plane.kubeconfig().stat().st_mode) == 0o600


def test_a_user_without_rights_is_refused(plane):
    kubeconfig = plane.kubeconfig("nobody", ())

    with pytest.raises(PlaneError, match='User "nobody" cannot list resource "pods"'):
        plane.kubectl("get", "pods", f"--kubeconfig={kubeconfig}")


def test_a_service_account_is_known_by_its_token(plane, namespace):
    kubeconfig = plane.kubeconfig_for_token(plane.token(namespace, "default"))

    who = plane.kubectl("auth", "whoami", "--output=json", f"--kubeconfig={kubeconfig}")

    user = json.loads(who)["status"]["userInfo"]["username"]
    assert user == f"system:serviceaccount:{namespace}:default"


# --- nodes and their kubelets -----------------------------------------------------------------


def test_nodes_can_be_used_as_soon_as_they_are_made(plane, nodes):
    names = nodes(plane, 3, gpu=8, labels=lambda number: {"rack": f"r{number}"}, prefix="made-")

    node = plane.request("GET", f"/api/v1/nodes/{names[2]}")
    assert names == ["made-0", "made-1", "made-2"]
    assert node["metadata"]["labels"]["rack"] == "r2"
    assert node["status"]["allocatable"]["nvidia.com/gpu"] == "8"
    assert not node["spec"].get("taints")


@pytest.mark.usefixtures("kubelets")
def test_a_bound_pod_runs_and_is_ready(plane, namespace, nodes):
    [node] = nodes(plane, 1)
    create_pod(plane, namespace, "a", node=node)

    until(lambda: phase_of(plane, namespace, "a") == "Running", "a running pod")
    conditions = get_pod(plane, namespace, "a")["status"]["conditions"]
    assert {"Ready": "True"}.items() <= {each["type"]: each["status"] for each in conditions}.items()


@pytest.mark.usefixtures("kubelets")
def test_a_pod_that_nobody_bound_stays_pending(plane, namespace, nodes):
    [node] = nodes(plane, 1)
    create_pod(plane, namespace, "unbound")
    create_pod(plane, namespace, "bound", node=node)

    until(lambda: phase_of(plane, namespace, "bound") == "Running", "the other pod")
    assert phase_of(plane, namespace, "unbound") == "Pending"


@pytest.mark.parametrize(("code", "phase"), [("0", "Succeeded"), ("3", "Failed")])
@pytest.mark.usefixtures("kubelets")
def test_a_pod_ends_in_time_as_its_exit_code_says(plane, namespace, nodes, code, phase):
    [node] = nodes(plane, 1)
    create_pod(plane, namespace, "a", node=node, annotations={RUN_SECONDS: "0.1", EXIT_CODE: code})

    until(lambda: phase_of(plane, namespace, "a") in ("Succeeded", "Failed"), "the pod's end")
    status = get_pod(plane, namespace, "a")["status"]
    assert status["phase"] == phase
    assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == int(code)


@pytest.mark.usefixtures("kubelets")
def test_a_deleted_pod_leaves_the_api_although_it_has_time(plane, namespace, nodes):
    [node] = nodes(plane, 1)
    create_pod(plane, namespace, "a", node=node)
    plane.request("DELETE", f"/api/v1/namespaces/{namespace}/pods/a")

    until(lambda: is_gone(plane, f"/api/v1/namespaces/{namespace}/pods/a"), "the pod's removal")


@pytest.mark.usefixtures("kubelets")
def test_a_pod_that_stops_slowly_takes_its_room_until_it_has(plane, namespace, nodes):
    [node] = nodes(plane, 1, cpu="2")
    path = f"/api/v1/namespaces/{namespace}/pods/slow"
    create_pod(plane, namespace, "slow", node=node, annotations={STOP_SECONDS: "20"})
    until(lambda: phase_of(plane, namespace, "slow") == "Running", "the first pod")
    plane.request("DELETE", path)
    create_pod(plane, namespace, "second", node=node, cpu="2")
    until(lambda: phase_of(plane, namespace, "second") == "Failed", "the refusal")
    assert phase_of(plane, namespace, "slow") == "Running"
    plane.request("DELETE", path, {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 1})
    # no pod has more time than its grace
    until(lambda: is_gone(plane, path), "the first pod's end", 10)


@pytest.mark.parametrize(
    ("room", "reason"), [({"cpu": "2"}, "OutOfcpu"), ({"pods": 1}, "OutOfpods")], ids=["cpu", "pods"]
)
@pytest.mark.usefixtures("kubelets")
def test_what_does_not_fit_is_refused(plane, namespace, nodes, room, reason):
    [node] = nodes(plane, 1, **room)
    create_pod(plane, namespace, "first", node=node, cpu="1500m")
    until(lambda: phase_of(plane, namespace, "first") == "Running", "the first pod")
    create_pod(plane, namespace, "second", node=node, cpu="1500m")

    until(lambda: phase_of(plane, namespace, "second") == "Failed", "the refusal")
    assert get_pod(plane, namespace, "second")["status"]["reason"] == reason


@pytest.mark.usefixtures("kubelets")
def test_room_is_free_again_once_a_pod_has_ended(plane, namespace, nodes):
    [node] = nodes(plane, 1, cpu="2")
    create_pod(plane, namespace, "first", node=node, cpu="2", annotations={RUN_SECONDS: "0"})
    until(lambda: phase_of(plane, namespace, "first") == "Succeeded", "the first pod's end")
    create_pod(plane, namespace, "second", node=node, cpu="2")

    until(lambda: phase_of(plane, namespace, "second") == "Running", "the second pod")


def test_kubelets_carry_on_after_the_history_is_lost(breakable):
    make_nodes(breakable, 1)
    with Kubelets(breakable):
        create_pod(breakable, "default", "before", node="n0")
        until(lambda: phase_of(breakable, "default", "before") == "Running", "the first pod")
        breakable.apiserver.kill()
        breakable.compact_etcd()
        breakable.apiserver.restart()
        create_pod(breakable, "default", "after", node="n0")

        until(lambda: phase_of(breakable, "default", "after") == "Running", "the second pod")


# --- kube-scheduler ---------------------------------------------------------------------------


@pytest.mark.usefixtures("kubelets")
def test_kube_scheduler_binds_pods_of_its_name_only(plane, namespace, nodes):
    nodes(plane, 1)
    plane.start_scheduler(name="theirs")
    try:
        create_pod(plane, namespace, "ours", schedulerName="ours")
        create_pod(plane, namespace, "theirs", schedulerName="theirs")
        until(lambda: phase_of(plane, namespace, "theirs") == "Running", "the pod of kube-scheduler")
    finally:
        plane.stop_scheduler()
    assert "nodeName" not in get_pod(plane, namespace, "ours")["spec"]


# --- hurting it -------------------------------------------------------------------------------


def test_a_restarted_api_server_has_its_data_and_its_address(breakable):
    server = breakable.server
    breakable.request("POST", CONFIGMAPS, {"metadata": {"name": "kept"}})
    breakable.apiserver.kill()
    with pytest.raises(Unreachable):
        breakable.request("GET", "/version")
    breakable.apiserver.restart()

    assert breakable.server == server
    assert breakable.request("GET", f"{CONFIGMAPS}/kept")["metadata"]["name"] == "kept"


def test_a_restarted_etcd_has_its_data(breakable):
    breakable.request("POST", CONFIGMAPS, {"metadata": {"name": "kept"}})
    breakable.etcd.restart()
    breakable.wait_ready()

    assert breakable.request("GET", f"{CONFIGMAPS}/kept")["metadata"]["name"] == "kept"


def test_a_paused_api_server_answers_once_it_is_resumed(breakable):
    answers = []
    breakable.apiserver.pause()
    asking = threading.Thread(target=lambda: answers.append(breakable.request("GET", "/version")))
    asking.start()
    asking.join(timeout=0.5)
    answered_while_paused = list(answers)
    breakable.apiserver.resume()
    asking.join()

    assert answered_while_paused == []
    assert len(answers) == 1


def test_compaction_and_a_restart_expire_watches_and_exact_lists(breakable):
    old = version_left_behind(breakable)
    breakable.compact_etcd()
    breakable.apiserver.restart()

    status, event = watch_from(breakable, CONFIGMAPS, old)
    assert (status, event["type"], event["object"].get("code")) == (200, "ERROR", 410)
    with pytest.raises(ApiError) as refused:
        breakable.request("GET", f"{CONFIGMAPS}?resourceVersion={old}&resourceVersionMatch=Exact")
    assert (refused.value.code, refused.value.reason) == (410, "Expired")


def test_without_a_watch_cache_compaction_alone_expires_watches(kubernetes_version):
    flags = ["--watch-cache-sizes=configmaps#0"]
    with ControlPlane(version=kubernetes_version, gates=False, extra_apiserver_flags=flags) as plane:
        old = version_left_behind(plane)
        plane.compact_etcd()

        status, event = watch_from(plane, CONFIGMAPS, old)
        assert (status, event["type"], event["object"].get("code")) == (200, "ERROR", 410)


def version_left_behind(plane):
    """Of a list after which something changed, twice: etcd still has the last change that it compacts to."""
    old = plane.request("GET", CONFIGMAPS)["metadata"]["resourceVersion"]
    for name in ("newer", "newest"):
        plane.request("POST", CONFIGMAPS, {"metadata": {"name": name}})
    return old


# --- its end ----------------------------------------------------------------------------------


def test_a_program_that_does_not_start_says_why_and_leaves_nothing_behind(kubernetes_version):
    plane = ControlPlane(version=kubernetes_version, gates=False, extra_apiserver_flags=["--no-such-flag"])

    with pytest.raises(PlaneError, match=r"kube-apiserver ended before it was ready.*unknown flag: --no-such-flag"):
        plane.start()
    assert not plane.etcd.running
    assert not plane.folder.exists()


@pytest.mark.parametrize("turn", [0, 1], ids=["etcd", "kube-apiserver"])
def test_a_port_that_another_took_meanwhile_is_given_up(monkeypatch, kubernetes_version, turn):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        turns = itertools.count()
        free = controlplane.plane._free_ports

        def choose(count):
            return [port, *free(count - 1)] if next(turns) == turn else free(count)

        monkeypatch.setattr(controlplane.plane, "_free_ports", choose)
        with ControlPlane(version=kubernetes_version, gates=False) as plane:
            assert plane.request("GET", "/version")
            assert next(turns) == 3  # etcd and the API server, and one of them twice


def test_missing_programs_are_named_with_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setenv("MUSTER_CACHE", str(tmp_path))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)

    with pytest.raises(PlaneError, match=r"no etcd, kube-apiserver, kubectl of Kubernetes .*; run: make control-plane"):
        ControlPlane(gates=False).start()


def test_nothing_is_left_of_a_plane_whose_owner_was_killed(kubernetes_version):
    script = (
        "from controlplane.plane import ControlPlane; import signal\n"
        f"plane = ControlPlane(version={kubernetes_version!r}, gates=False); plane.start()\n"
        "print(plane.etcd.pid, plane.apiserver.pid, plane.folder, flush=True); signal.pause()\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as owner:
        *pids, folder = owner.stdout.readline().split()
        owner.kill()

    until(lambda: not os.path.exists(folder), "its folder to go")
    for pid in pids:
        until(lambda pid=pid: not _runs(int(pid)), f"the end of process {pid}")


def _runs(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
