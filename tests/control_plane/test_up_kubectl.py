"""kubectl on `muster up`: what people see of pods that run, jobs that end, nodes that are drained.

What the API server alone answers is compared with the real one, command by command, in `kubectl/test_same.py`.
"""

import itertools
import json
import re
import signal
import threading

import pytest

from muster.local.schema import load
from tests.control_plane.conftest import needs_native_groups
from tests.control_plane.kubectl.client import Kubectl, rows
from tests.local.processes import Up, until

pytestmark = needs_native_groups

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    folder = tmp_path_factory.mktemp("up")
    with Up(folder / "cluster", "--ephemeral", "--port", "0", "--nodes", "3") as up:
        yield Kubectl(up.kubeconfig, folder)
        assert up.stop(signal.SIGINT) == 0
        assert up.complaints[-1] == "stopping ..."


@pytest.fixture
def kubectl(cluster):
    """In a namespace of its own."""
    name = f"test-{next(_numbers)}"
    assert cluster("create", "namespace", name) == f"namespace/{name} created\n"
    yield cluster.within(name)
    cluster("delete", "namespace", name, "--wait=false")


def pod(name, *, labels=None, annotations=None, cpu="100m", **spec):
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels or {}, "annotations": annotations or {}},
        "spec": {
            "containers": [{"name": "main", "image": "app", "resources": {"requests": {"cpu": cpu}}}],
            **spec,
        },
    }


def job(name, *, completions=2, annotations=None, **spec):
    template = {
        "metadata": {"annotations": annotations or {}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "app"}]},
    }
    spec = {"completions": completions, "parallelism": completions, "template": template, **spec}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}


# --- pods ---


def test_a_pod_runs_and_everything_about_it_can_be_read(kubectl):
    assert kubectl("run", "web", "--image=nginx", "--port=80") == "pod/web created\n"
    assert kubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=60s") == "pod/web condition met\n"
    (row,) = rows(kubectl("get", "pods", "-o", "wide"))
    assert (row["NAME"], row["READY"], row["STATUS"], row["RESTARTS"]) == ("web", "1/1", "Running", "0")
    assert re.fullmatch(r"node-[123]", row["NODE"])
    assert re.fullmatch(r"10\.\d+\.\d+\.\d+", row["IP"])
    assert kubectl("get", "pods", "--field-selector", "status.phase=Running", "-o", "name") == "pod/web\n"
    assert kubectl("get", "pods", "-o", "jsonpath={.items[0].status.phase}") == "Running"
    told = kubectl("describe", "pod", "web")
    assert re.search(r"Status: +Running", told)
    assert f"Successfully assigned {kubectl.namespace}/web to {row['NODE']}" in told
    assert "started on" in kubectl("logs", "web")
    assert "pod/web" in kubectl("get", "all")


def test_what_only_containers_could_do_is_refused_clearly(kubectl):
    kubectl("run", "web", "--image=nginx")
    kubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=60s")
    why = "pod web is simulated: there is no container to reach"
    assert kubectl.fails("exec", "web", "--", "ls") == f"error: unable to upgrade connection: {why}\n"
    assert why in kubectl.fails("attach", "web")
    assert why in kubectl.fails("port-forward", "web", "8080:80")
    assert why in kubectl.fails("cp", "web:/etc/hosts", "/tmp/never")
    assert kubectl.fails("top", "pods") == "error: Metrics API not available\n"
    assert kubectl.fails("top", "nodes") == "error: Metrics API not available\n"
    assert "impersonation is not served here" in kubectl.fails("get", "pods", "--as=somebody")


def test_kinds_on_which_nobody_acts_are_kept(kubectl):
    kubectl("create", "deployment", "web", "--image=nginx", "--replicas=2")
    kubectl("scale", "deployment/web", "--replicas=3")
    assert "0/3" in kubectl("get", "deployments")
    kubectl("create", "role", "reader", "--verb=get", "--resource=pods")
    kubectl("create", "rolebinding", "readers", "--role=reader", "--user=jane")
    assert "Role/reader" in kubectl("get", "rolebindings")
    kubectl("delete", "deployment/web", "rolebinding/readers", "role/reader")
    assert kubectl("get", "deployments,rolebindings,roles,pods", "-o", "name") == ""


def test_a_pod_that_fits_nowhere_says_what_it_lacks(kubectl):
    kubectl.create(pod("huge", cpu="100"))
    words = until(lambda: re.findall(r"FailedScheduling.*", kubectl("describe", "pod", "huge")), "no event")[0]
    assert "cpu" in words
    (row,) = rows(kubectl("get", "pods"))
    assert row["STATUS"] == "Pending"
    assert "FailedScheduling" in kubectl("events", "--for", "pod/huge", "--types=Warning")
    assert "FailedScheduling" in kubectl("get", "events", "--field-selector", "reason=FailedScheduling")


def test_pods_end_as_their_annotations_say(kubectl):
    kubectl.create(
        pod("fine", annotations={"muster.dev/run-seconds": "0.2"}, restartPolicy="Never"),
        pod("ill", annotations={"muster.dev/run-seconds": "0.2", "muster.dev/exit-code": "3"}, restartPolicy="Never"),
    )
    kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/fine", "--timeout=60s")
    kubectl("wait", "--for=jsonpath={.status.phase}=Failed", "pod/ill", "--timeout=60s")
    assert {row["NAME"]: row["STATUS"] for row in rows(kubectl("get", "pods"))} == {"fine": "Completed", "ill": "Error"}
    assert re.search(r"Exit Code: +3", kubectl("describe", "pod", "ill"))
    assert "exit code 3" in kubectl("logs", "ill")


def test_a_watch_tells_what_happens(kubectl):
    with kubectl.started("get", "pods", "-w", "--output-watch-events") as watching:
        lines = []
        reader = threading.Thread(target=lambda: lines.extend(watching.stdout), daemon=True)
        reader.start()
        kubectl("run", "web", "--image=nginx")
        kubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=60s")
        assert kubectl("delete", "pod", "web") == f'pod "web" deleted from {kubectl.namespace} namespace\n'
        until(lambda: any(line.startswith("DELETED") for line in lines), lambda: f"no deletion in {lines}")
        watching.kill()
        reader.join()
    head, *told = (line.split() for line in lines)
    assert head == ["EVENT", "NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert [words[0] for words in told] == ["ADDED", *["MODIFIED"] * (len(told) - 2), "DELETED"]
    assert ["web", "1/1", "Running"] in [words[1:4] for words in told]


def test_deleting_waits_until_a_pod_has_stopped(kubectl):
    kubectl.create(*(pod(name, labels={"app": "gone"}) for name in ("one", "two", "three")))
    kubectl("wait", "--for=condition=Ready", "pod", "--all", "--timeout=60s")
    kubectl("delete", "pod", "one", "--grace-period=1")
    kubectl("delete", "pods", "-l", "app=gone", "--field-selector", "metadata.name=two")
    assert kubectl("get", "pods", "-o", "name") == "pod/three\n"
    kubectl("delete", "pods", "--all")
    assert kubectl.run("get", "pods").complained == f"No resources found in {kubectl.namespace} namespace.\n"


def test_wait_for_delete_ends_when_the_pod_is_gone(kubectl):
    kubectl("run", "web", "--image=nginx")
    kubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=60s")
    kubectl("delete", "pod", "web", "--wait=false")
    kubectl("wait", "--for=delete", "pod/web", "--timeout=60s")
    assert "not found" in kubectl.fails("get", "pod", "web")


# --- jobs ---


def test_a_job_runs_to_its_end(kubectl):
    kubectl.create(job("sums", annotations={"muster.dev/run-seconds": "0.2"}))
    kubectl("wait", "--for=condition=Complete", "job/sums", "--timeout=60s")
    (row,) = rows(kubectl("get", "jobs"))
    assert (row["STATUS"], row["COMPLETIONS"]) == ("Complete", "2/2")
    told = kubectl("describe", "job", "sums")
    assert "0 Active (0 Ready) / 2 Succeeded / 0 Failed" in told
    assert "Job completed" in told
    assert len(kubectl("get", "pods", "-l", "job-name=sums", "-o", "name").splitlines()) == 2
    assert "started on" in kubectl("logs", "job/sums")


def test_a_job_that_fails_too_often_says_so(kubectl):
    ill = {"muster.dev/run-seconds": "0.1", "muster.dev/exit-code": "1"}
    kubectl.create(job("ill", completions=1, annotations=ill, backoffLimit=0))
    kubectl("wait", "--for=condition=Failed", "job/ill", "--timeout=60s")
    assert "BackoffLimitExceeded" in kubectl("describe", "job", "ill")
    assert "Failed" in kubectl("get", "jobs")


def test_a_job_from_the_command_line_starts(kubectl):
    assert kubectl("create", "job", "quick", "--image=busybox", "--", "sleep", "5") == "job.batch/quick created\n"
    kubectl("wait", "--for=jsonpath={.status.ready}=1", "job/quick", "--timeout=60s")


@pytest.mark.parametrize("cascade", ["background", "foreground"])
def test_with_a_job_its_pods_go(kubectl, cascade):
    kubectl.create(job("sums"))
    kubectl("wait", "--for=jsonpath={.status.ready}=2", "job/sums", "--timeout=60s")
    kubectl("delete", "job", "sums", f"--cascade={cascade}")
    for kind in ("pods", "podgroups", "workloads"):
        until(lambda kind=kind: not kubectl("get", kind, "-o", "name"), f"{kind} stay")


def test_orphaned_pods_stay_and_belong_to_nobody(kubectl):
    kubectl.create(job("sums"))
    kubectl("wait", "--for=jsonpath={.status.ready}=2", "job/sums", "--timeout=60s")
    kubectl("delete", "job", "sums", "--cascade=orphan")
    kept = kubectl.json("get", "pods")["items"]
    assert len(kept) == 2
    assert not any(one["metadata"].get("ownerReferences") for one in kept)
    assert {one["status"]["phase"] for one in kept} == {"Running"}


# --- nodes ---


def test_nodes_are_ready_and_described(cluster):
    nodes = rows(cluster("get", "nodes", "-o", "wide"))
    assert [(row["NAME"], row["STATUS"], row["VERSION"]) for row in nodes] == [
        (f"node-{number}", "Ready", "v1.37.1") for number in (1, 2, 3)
    ]
    told = cluster("describe", "node", "node-1")
    assert re.search(r"Capacity:\n +cpu: +8\n", told)
    assert "kubelet is posting ready status" in told


def test_a_node_that_kubectl_makes_comes_alive(kubectl):
    kubectl("create", "-f", "node.yaml")
    kubectl("wait", "--for=condition=Ready", "node/extra", "--timeout=60s")
    kubectl.create(pod("there", nodeSelector={"pool": "a"}))
    kubectl("wait", "--for=condition=Ready", "pod/there", "--timeout=60s")
    assert kubectl("get", "pod", "there", "-o", "jsonpath={.spec.nodeName}") == "extra"
    kubectl("delete", "pod", "there")
    kubectl("delete", "node", "extra")
    assert len(rows(kubectl("get", "nodes"))) == 3


def test_cordoned_and_tainted_nodes_get_no_pods(kubectl):
    kubectl("cordon", "node-1")
    kubectl("taint", "node", "node-2", "closed=today:NoSchedule")
    try:
        kubectl.create(*(pod(f"p{number}") for number in range(4)))
        kubectl("wait", "--for=condition=Ready", "pod", "--all", "--timeout=60s")
        assert set(kubectl("get", "pods", "-o", "jsonpath={.items[*].spec.nodeName}").split()) == {"node-3"}
        assert rows(kubectl("get", "node", "node-1"))[0]["STATUS"] == "Ready,SchedulingDisabled"
    finally:
        kubectl("uncordon", "node-1")
        kubectl("taint", "node", "node-2", "closed-")


def test_a_drain_waits_for_the_disruption_budget(kubectl):
    kubectl.create(*(pod(name, labels={"app": "kept"}, nodeName="node-2") for name in ("one", "two")))
    kubectl("wait", "--for=condition=Ready", "pod", "--all", "--timeout=60s")
    kubectl("create", "pdb", "keep", "--selector=app=kept", "--min-available=2")
    until(lambda: _allowed(kubectl) is not None, "the budget is not counted")
    try:
        refused = kubectl.fails("drain", "node-2", "--force", "--timeout=1s")
        assert "Cannot evict pod as it would violate the pod's disruption budget." in refused
        assert len(kubectl("get", "pods", "-o", "name").splitlines()) == 2
        with kubectl.started("drain", "node-2", "--force", "--timeout=60s") as draining:
            kubectl("patch", "pdb", "keep", "--type=merge", "-p", '{"spec":{"minAvailable":0}}')
            told, _ = draining.communicate(timeout=60)
        assert draining.returncode == 0, told
        assert "pod/one evicted" in told
        assert "node/node-2 drained" in told
        assert kubectl("get", "pods", "-o", "name") == ""
    finally:
        kubectl("uncordon", "node-2")


def _allowed(kubectl):
    state = kubectl.json("get", "pdb", "keep").get("status", {})
    return state.get("disruptionsAllowed") if state.get("currentHealthy") == 2 else None


# --- namespaces, events, the cluster ---


def test_a_namespace_goes_with_everything_in_it(cluster):
    cluster("create", "namespace", "short-lived")
    inside = cluster.within("short-lived")
    inside("create", "configmap", "settings")
    inside("create", "secret", "generic", "hush")
    inside("create", "-f", "group.yaml")
    inside.create(job("sums"), pod("web"))
    inside("wait", "--for=condition=Ready", "pod/web", "--timeout=60s")
    assert re.search(r"Status: +Active", cluster("describe", "namespace", "short-lived"))
    assert cluster("delete", "namespace", "short-lived") == 'namespace "short-lived" deleted\n'
    assert "not found" in cluster.fails("get", "namespace", "short-lived")
    for kind in ("pods", "configmaps", "secrets", "jobs", "podgroups", "workloads", "events"):
        listed = cluster.json("get", kind, "-A")["items"]
        assert not [one for one in listed if one["metadata"]["namespace"] == "short-lived"], kind


def test_every_namespace_has_an_account(kubectl):
    until(lambda: "serviceaccount/default" in kubectl("get", "sa", "-o", "name"), "there is no default account")


def test_the_cluster_says_what_it_is(cluster):
    version = json.loads(cluster("version", "-o", "json"))
    assert version["serverVersion"]["gitVersion"] == "v1.37.1+muster"
    assert not cluster.run("version").complained
    assert "Kubernetes control plane is running at https://127.0.0.1:" in cluster("cluster-info")
    assert "Username   admin" in re.sub(" +", "   ", cluster("auth", "whoami"))
    assert cluster("auth", "can-i", "create", "pods") == "yes\n"
    assert "*.*" in cluster("auth", "can-i", "--list")
    served = {"/".join(filter(None, (one.group, one.version))) for one in load.resources()}
    assert cluster("api-versions").split() == sorted({*served, "authentication.k8s.io/v1", "authorization.k8s.io/v1"})
    kinds = cluster("api-resources", "-o", "name").split()
    assert {"pods", "jobs.batch", "podgroups.scheduling.k8s.io", "workloads.scheduling.k8s.io"} <= set(kinds)
    assert cluster("get", "--raw", "/readyz") == "ok"
    assert json.loads(cluster("get", "--raw", "/version"))["major"] == "1"


def test_a_token_of_an_account_opens_the_cluster(cluster):
    cluster("create", "serviceaccount", "robot")
    token = cluster("create", "token", "robot", "--duration=20m").strip()
    assert "system:serviceaccount:default:robot" in cluster(f"--token={token}", "auth", "whoami")
    assert "node-1" in cluster(f"--token={token}", "get", "nodes")
    cluster("delete", "serviceaccount", "robot")
    assert "Unauthorized" in cluster.run(f"--token={token}", "get", "nodes").complained


def test_a_dump_of_the_cluster_is_whole(kubectl):
    kubectl("run", "web", "--image=nginx")
    kubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=60s")
    dump = kubectl.run("cluster-info", "dump")
    assert '"name": "node-1"' in dump.said


# --- gangs ---


def test_a_gang_waits_for_its_last_member_and_says_so(kubectl):
    kubectl("create", "-f", "group.yaml")
    members = [pod(f"train-{number}", schedulingGroup={"podGroupName": "train"}) for number in range(4)]
    kubectl.create(*members[:3])
    told = until(lambda: re.search(r"Message:.*", kubectl("describe", "podgroup", "train")), "it says nothing")[0]
    assert "3" in told
    assert "4" in told
    assert rows(kubectl("get", "podgroups"))[0]["STATUS"] in ("Pending", "Unschedulable")
    assert {row["STATUS"] for row in rows(kubectl("get", "pods"))} == {"Pending"}
    kubectl.create(members[3])
    kubectl("wait", "--for=condition=Ready", "pod", "--all", "--timeout=60s")
    kubectl("wait", "--for=condition=PodGroupInitiallyScheduled", "podgroup/train", "--timeout=60s")
    assert rows(kubectl("get", "podgroups"))[0]["STATUS"] == "Scheduled"


def test_a_group_is_kept_as_long_as_it_has_pods(kubectl):
    kubectl("create", "-f", "group.yaml")
    kubectl.create(*(pod(f"train-{number}", schedulingGroup={"podGroupName": "train"}) for number in range(4)))
    kubectl("wait", "--for=condition=Ready", "pod", "--all", "--timeout=60s")
    kubectl("delete", "podgroup", "train", "--wait=false")
    assert kubectl("get", "podgroup", "train", "-o", "name") == "podgroup.scheduling.k8s.io/train\n"
    kubectl("delete", "pods", "--all")
    kubectl("wait", "--for=delete", "podgroup/train", "--timeout=60s")
