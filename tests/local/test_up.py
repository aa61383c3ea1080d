"""`muster up` as people start and stop it."""

import contextlib
import os
import signal
import socket
import stat
import subprocess
import time

import pytest

from muster.cli import main
from tests.local.processes import MUSTER, PATIENCE_SECONDS, Process, Up, children, is_alive, until

SOME = ("--port", "0", "--nodes", "1")
_PROGRESS = ("starting the API server ...", "registering", "starting the scheduler ...")
PODS = "/api/v1/namespaces/default/pods"


def muster(*arguments, **environment):
    return subprocess.run(
        [*MUSTER, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE_SECONDS,
        check=False,
        env={**os.environ, **environment},
    )


def refused(folder, *flags):
    """The one line that `muster up` says when it cannot start, and its exit status."""
    done = muster("up", "--dir", folder, *flags)
    lines = [line for line in done.stderr.splitlines() if not line.startswith(_PROGRESS)]
    assert len(lines) == 1, done.stderr
    assert done.stdout == ""
    return lines[0], done.returncode


# --- starting ---

CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: true}
profiles:
- schedulerName: packer
  pluginConfig:
  - {name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated}}}
"""


def test_a_configuration_says_what_decides(tmp_path):
    (tmp_path / "config.yaml").write_text(CONFIG)
    flags = ("--ephemeral", "--port", "0", "--nodes", "2", "--config", str(tmp_path / "config.yaml"))
    with Up(tmp_path / "a", *flags) as up, up.api() as api:
        for number, scheduler in enumerate(("packer", "muster", "default-scheduler")):
            spec = {"schedulerName": scheduler, "containers": [{"name": "c", "image": "x"}]}
            spec["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
            api.request("POST", PODS, {"metadata": {"name": f"p{number}"}, "spec": spec})
        until(lambda: len(found := _nodes(api)) == 3 and all(found), lambda: _nodes(api))
        assert len(set(_nodes(api))) == 1


def _nodes(api):
    return [pod["spec"].get("nodeName") for pod in api.get(PODS)["items"]]


def test_a_configuration_that_cannot_be_used_is_refused_before_anything_starts(tmp_path):
    (tmp_path / "config.yaml").write_text(CONFIG.replace("NodeResourcesFit", "NodeResourcesFits"))
    line, status = refused(tmp_path / "a", *SOME, "--config", str(tmp_path / "config.yaml"))
    assert "there is no plugin NodeResourcesFits; did you mean NodeResourcesFit?" in line
    assert status == 2
    assert not (tmp_path / "a").exists()


def test_it_says_when_it_is_ready_and_how_to_go_on(tmp_path):
    with Up(tmp_path / "a", "--ephemeral", "--port", "0", "--nodes", "2") as up, up.api() as api:
        ready, *rest = up.said.splitlines()
        assert ready == f"Muster is up: 2 nodes, Kubernetes API on https://127.0.0.1:{api.port}. Ctrl-C stops it."
        assert f"  export KUBECONFIG={up.kubeconfig}" in rest
        assert "  kubectl get nodes" in rest
        assert up.complaints == ["starting the API server ...", "registering 2 nodes ...", "starting the scheduler ..."]
        for name in ("kubeconfig", "token", "server.key"):
            assert stat.S_IMODE((up.folder / name).stat().st_mode) == 0o600
        assert stat.S_IMODE(up.folder.stat().st_mode) == 0o700


def test_nodes_are_as_asked_for(tmp_path):
    flags = ["--node-cpu", "1500m", "--node-memory", "4Gi", "--node-gpu", "2"]
    labels = ["--node-label", "pool=train", "--node-label", "example.com/empty="]
    with Up(tmp_path / "a", "--ephemeral", *SOME, *flags, *labels) as up, up.api() as api:
        node = api.get("/api/v1/nodes/node-1")
        has = node["status"]["allocatable"]
        assert (has["cpu"], has["memory"], has["nvidia.com/gpu"]) == ("1500m", "4Gi", "2")
        assert node["metadata"]["labels"].items() >= {"pool": "train", "example.com/empty": ""}.items()


def test_nodes_have_the_devices_that_are_asked_for(tmp_path):
    with Up(tmp_path / "a", "--ephemeral", *SOME, "--node-devices", "gpu.muster.dev=2") as up, up.api() as api:
        slices = "/apis/resource.k8s.io/v1/resourceslices"
        deadline = time.monotonic() + 30
        while not (found := api.get(slices)["items"]) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert [one["name"] for one in found[0]["spec"]["devices"]] == ["gpu-0", "gpu-1"]


def test_a_cluster_is_found_again_as_it_was(tmp_path):
    with Up(tmp_path / "a", "--port", "0", "--nodes", "2") as up, up.api() as api:
        token = (up.folder / "token").read_text()
        made = api.request("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "kept"}})
        assert up.stop() == 0
    with Up(tmp_path / "a", "--port", "0", "--nodes", "3") as up, up.api() as api:
        assert up.said.startswith("Muster is up: 3 nodes")
        assert (up.folder / "token").read_text() == token
        assert api.get("/api/v1/namespaces/default/configmaps/kept")["metadata"]["uid"] == made["metadata"]["uid"]


def test_without_a_scheduler_pods_wait_and_without_kubelets_there_are_no_nodes(tmp_path):
    with Up(tmp_path / "a", "--ephemeral", "--port", "0", "--no-scheduler", "--no-kubelets") as up, up.api() as api:
        assert up.said.startswith("Muster is up: 0 nodes")
        assert api.get("/api/v1/nodes")["items"] == []
        assert up.complaints == ["starting the API server ..."]


def test_the_usual_port_is_left_to_whoever_has_it(tmp_path):
    with contextlib.ExitStack() as stack:
        # or somebody else has it already
        with contextlib.suppress(OSError):
            stack.enter_context(socket.create_server(("127.0.0.1", 7443)))
        up = stack.enter_context(Up(tmp_path / "a", "--ephemeral", "--nodes", "0"))
        api = stack.enter_context(up.api())
        assert api.port != 7443
        assert api.get("/version")["major"] == "1"


# --- stopping ---


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_it_stops_when_asked_and_leaves_nothing_running(tmp_path, how):
    with Up(tmp_path / "a", *SOME) as up:
        (server,) = children(up.pid)
        assert up.stop(how) == 0
        assert up.complaints[-1] == "stopping ..."
        assert not is_alive(server)
        assert (up.folder / "server.log").read_text() == ""


def test_ctrl_c_in_a_terminal_stops_it_without_a_word_too_much(tmp_path):
    with Up(tmp_path / "a", *SOME) as up:
        said = up.complaints
        # a terminal sends it to all that runs in it
        os.killpg(up.pid, signal.SIGINT)
        assert up.wait() == 0
        assert up.complaints == [*said, "stopping ..."]


def test_it_can_be_stopped_while_it_starts(tmp_path):
    with Up(tmp_path / "a", "--ephemeral", "--port", "0", "--nodes", "5000", wait=False) as up:
        until(lambda: any(line.startswith("registering") for line in up.complaints), "it does not start")
        (server,) = children(up.pid)
        assert up.stop(signal.SIGINT) == 0
        assert up.complaints[-1] == "stopping ..."
        assert up.said == ""
        assert not is_alive(server)


def test_the_server_does_not_outlive_whoever_started_it(tmp_path):
    with Up(tmp_path / "a", *SOME) as up:
        (server,) = children(up.pid)
        up.kill()
        until(lambda: not is_alive(server), "the server lives on")
    with Up(tmp_path / "a", *SOME) as again:
        assert again.is_running


def test_it_ends_when_its_server_does(tmp_path):
    with Up(tmp_path / "a", *SOME) as up:
        (server,) = children(up.pid)
        os.kill(server, signal.SIGKILL)
        assert up.wait() == 2
        log = up.folder / "server.log"
        assert up.complaints[-1] == f"muster: the API server has ended (log='{log}'); start again: muster up"


# --- what cannot be ---


def test_a_port_that_is_taken_is_said_to_be(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        line, status = refused(tmp_path / "a", "--port", port)
    assert status == 2
    assert line.startswith(f"muster: cannot listen on 127.0.0.1:{port}: Address already in use; choose another")


@pytest.mark.parametrize("flags", [(), ("--ephemeral",)])
def test_a_folder_serves_one_cluster_at_a_time(tmp_path, flags):
    folder = tmp_path / "a"
    with Up(folder, *SOME, *flags) as up, up.api() as api:
        kubeconfig = up.kubeconfig.read_text()
        line, status = refused(folder, *SOME)
        assert status == 2
        assert line.startswith("muster: another process uses this cluster's folder")
        assert up.kubeconfig.read_text() == kubeconfig
        assert api.get("/version")["major"] == "1"


def test_a_folder_that_cannot_be_is_said_to_be_wrong(tmp_path):
    (tmp_path / "file").write_text("")
    line, status = refused(tmp_path / "file" / "below", "--port", "0")
    assert status == 2
    assert line.startswith("muster: the cluster's folder cannot be used: Not a directory (folder=")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_is_closed_is_said_to_be(tmp_path):
    (tmp_path / "closed").mkdir(mode=0o500)
    line, status = refused(tmp_path / "closed", "--port", "0")
    assert status == 2
    assert "Permission denied" in line


def test_a_folder_that_cannot_be_written_is_one_line_for_root_too(tmp_path):
    """/proc takes no files, whoever asks."""
    if not os.path.isdir("/proc/self"):
        pytest.skip("there is no such folder here")
    line, status = refused("/proc/self/nowhere", "--port", "0")
    assert status == 2
    assert line.startswith("muster: the cluster's folder cannot be used:")


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--node-cpu", "much"], "much"),
        (["--node-cpu", "-1"], "--node-cpu"),
        (["--node-memory", "-"], "--node-memory"),
        (["--node-memory", "1Zi"], "1Zi"),
        (["--node-label", "pool"], "'pool' is not KEY=VALUE"),
        (["--node-label", "no key=x"], "no key"),
        (["--node-label", "key=no value"], "no value"),
        (["--nodes", "-1"], "--nodes"),
        (["--nodes", "many"], "--nodes"),
        (["--port", "99999"], "--port"),
        (["--node-gpu", "x"], "--node-gpu"),
        (["--node-devices", "gpu.muster.dev"], "is not DRIVER=N"),
        (["--node-devices", "gpu.muster.dev=129"], "is not DRIVER=N"),
        (["--node-devices", "gpu=1"], "no name of a driver"),
        (["--nonsense"], "--nonsense"),
        (["nonsense"], "nonsense"),
    ],
)
def test_bad_options_are_one_clear_line(tmp_path, flags, words, capsys):
    with pytest.raises(SystemExit) as left:
        main(["up", "--dir", str(tmp_path / "a"), *flags])
    (line,) = capsys.readouterr().err.splitlines()
    assert left.value.code == 2
    assert words in line
    assert line.startswith("muster: ")
    assert not (tmp_path / "a").exists()


# --- nodes ---


def test_nothing_happens_on_a_node_that_is_down(tmp_path):
    """What becomes of its pods after a while is told in tests/control_plane/test_up_nodes.py."""
    with Up(tmp_path / "a", "--ephemeral", *SOME) as up, up.api() as api:
        spec = {"containers": [{"name": "main", "image": "app"}], "nodeName": "node-1"}
        api.request("POST", PODS, {"metadata": {"name": "old"}, "spec": spec})
        until(lambda: _phase(api, "old") == "Running", "it does not run")
        assert muster("node", "down", "node-1", "--dir", up.folder).stdout == "node-1 is down.\n"
        assert api.get("/api/v1/nodes/node-1")["metadata"]["annotations"]["muster.dev/down"] == "true"
        api.request("POST", PODS, {"metadata": {"name": "new"}, "spec": spec})
        api.request("DELETE", f"{PODS}/old")
        # others are served meanwhile
        until(lambda: _events(api), "nothing is said")
        assert _phase(api, "new") == "Pending"
        assert "deletionTimestamp" in api.get(f"{PODS}/old")["metadata"]
        assert muster("node", "up", "node-1", "--dir", up.folder).stdout == "node-1 is up again.\n"
        until(lambda: _phase(api, "new") == "Running", "it does not run")
        until(lambda: api.ask("GET", f"{PODS}/old").code == 404, "it stays")


def _phase(api, name):
    return api.get(f"{PODS}/{name}")["status"]["phase"]


def _events(api):
    return api.get("/api/v1/events")["items"]


def test_a_node_that_is_not_there_cannot_go_down(tmp_path):
    with Up(tmp_path / "a", "--ephemeral", "--port", "0", "--nodes", "0") as up:
        done = muster("node", "down", "nobody", "--dir", up.folder)
        assert done.returncode == 1
        assert done.stderr.startswith('muster: nodes "nobody" not found')
        assert up.stop() == 0
        done = muster("node", "down", "node-1", "--dir", up.folder)
        assert done.returncode == 1
        assert done.stderr.startswith("muster: cannot connect to https://127.0.0.1:")
        assert len(done.stderr.splitlines()) == 1


def test_a_cluster_that_is_not_there_has_no_nodes(tmp_path):
    done = muster("node", "down", "node-1", "--dir", tmp_path / "nowhere")
    assert done.returncode == 2
    assert done.stderr.startswith("muster: there is no cluster here (folder=")


# --- the demo ---


def test_the_demo_tells_its_story_without_a_terminal():
    done = muster("demo", TERM="dumb")
    assert done.returncode == 0, done.stdout + done.stderr
    told = done.stdout
    assert told.index("red: 24 of 24 running") < told.index("blue: 24 of 24 running") < told.index("huge: waits")
    assert "blue: evicted, none of its pods is left" in told
    assert "urgent: 4 of 4 running" in told
    assert "What to try next" in told
    assert done.stderr == ""


def test_the_demo_can_be_left_at_any_time(tmp_path):
    with Process([*MUSTER, "demo"], tmp_path) as demo:
        until(lambda: "starting the API server" in demo.said, "it does not begin")
        until(lambda: children(demo.pid), "there is no server")
        (server,) = children(demo.pid)
        assert demo.stop(signal.SIGINT) == 130
        until(lambda: not is_alive(server), "the server lives on")
        assert demo.complaints == []


# --- gangs ---


def test_a_labelled_job_is_a_gang_although_its_controller_makes_a_basic_group(tmp_path):
    """As docs/install.md has it: three of its four pods would fit, and none starts until all do."""
    groups = "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups"
    container = {"name": "worker", "image": "train", "resources": {"requests": {"cpu": "4"}}}
    template = {
        "metadata": {"labels": {"muster.dev/pod-group": "train"}},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    job = {
        "metadata": {"name": "train"},
        "spec": {"parallelism": 4, "completions": 4, "completionMode": "Indexed", "template": template},
    }

    def bound(api):
        return sum("nodeName" in pod["spec"] for pod in api.get(PODS)["items"])

    def said(api):
        conditions = api.get(f"{groups}/train").get("status", {}).get("conditions", [])
        return [(one["status"], one["reason"]) for one in conditions if one["type"] == "PodGroupInitiallyScheduled"]

    flags = ("--ephemeral", "--port", "0", "--nodes", "3", "--node-cpu", "4")
    with Up(tmp_path / "a", *flags) as up, up.api() as api:
        api.request("POST", "/apis/batch/v1/namespaces/default/jobs", job)
        until(lambda: len(api.get(PODS)["items"]) == 4, "the job has no pods")
        assert all(pod["spec"]["schedulingGroup"]["podGroupName"] != "train" for pod in api.get(PODS)["items"])
        api.request(
            "POST", groups, {"metadata": {"name": "train"}, "spec": {"schedulingPolicy": {"gang": {"minCount": 4}}}}
        )
        until(lambda: said(api) == [("False", "Unschedulable")], "the group does not say why it waits")
        assert bound(api) == 0
        has = {"cpu": "4", "memory": "32Gi", "pods": "110"}
        api.request(
            "POST", "/api/v1/nodes", {"metadata": {"name": "more"}, "status": {"capacity": has, "allocatable": has}}
        )
        until(lambda: bound(api) == 4, "not all are bound")
        until(lambda: said(api) == [("True", "Scheduled")], "the group does not say that it started")
