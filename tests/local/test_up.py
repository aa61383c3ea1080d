"""`muster up` as people start and stop it."""

import contextlib
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

STOP_SECONDS = 15
_LINES_BEFORE = ("starting the API server ...", "registering", "starting the scheduler ...")


@contextlib.contextmanager
def up(folder, *options):
    """The process, when it has said that it is ready; and that line."""
    command = [sys.executable, "-m", "muster", "up", "--dir", str(folder), *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process, process.stdout.readline()
    finally:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=STOP_SECONDS)


def failed(folder, *options):
    """What `muster up` says when it cannot start, and its exit status."""
    command = [sys.executable, "-m", "muster", "up", "--dir", str(folder), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    lines = [line for line in done.stderr.splitlines() if not line.startswith(_LINES_BEFORE)]
    return lines, done.returncode


def server_of(process):
    """The pid of the server's process."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text().rsplit(")", 1)[1].split()
            if int(fields[1]) == process.pid:
                return int(path.parent.name)
    raise AssertionError("there is no server")


def gone(pid):
    deadline = time.monotonic() + STOP_SECONDS
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


def test_it_says_when_it_is_ready_and_how_to_go_on(tmp_path):
    with up(tmp_path, "--port", "0", "--nodes", "2", "--ephemeral") as (process, ready):
        assert ready.startswith("Muster is up: 2 nodes, Kubernetes API on https://127.0.0.1:")
        rest = "".join(process.stdout.readline() for _ in range(5))
        assert f"export KUBECONFIG={tmp_path / 'kubeconfig'}" in rest
        assert "kubectl get nodes" in rest
        assert stat.S_IMODE((tmp_path / "kubeconfig").stat().st_mode) == 0o600
        assert stat.S_IMODE((tmp_path / "token").stat().st_mode) == 0o600
        assert stat.S_IMODE((tmp_path / "server.key").stat().st_mode) == 0o600


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_it_stops_when_asked_and_leaves_nothing_running(tmp_path, how):
    with up(tmp_path, "--port", "0", "--nodes", "1") as (process, _):
        server = server_of(process)
        process.send_signal(how)
        _, errors = process.communicate(timeout=STOP_SECONDS)
        assert process.returncode == 0
        assert errors.splitlines()[-1] == "stopping ..."
        assert gone(server)


def test_the_server_does_not_outlive_whoever_started_it(tmp_path):
    with up(tmp_path, "--port", "0", "--nodes", "0") as (process, _):
        server = server_of(process)
        process.kill()
        assert gone(server)


def test_a_cluster_is_found_again_as_it_was(tmp_path):
    with up(tmp_path, "--port", "0", "--nodes", "2"):
        token = (tmp_path / "token").read_text()
    with up(tmp_path, "--port", "0", "--nodes", "3") as (process, ready):
        assert "3 nodes" in ready
        assert (tmp_path / "token").read_text() == token
        assert process.poll() is None


def test_a_port_that_is_taken_is_said_to_be(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        lines, status = failed(tmp_path, "--port", str(port))
    assert status != 0
    assert len(lines) == 1
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use" in lines[0]


def test_a_folder_serves_one_cluster_at_a_time(tmp_path):
    with up(tmp_path, "--port", "0", "--nodes", "0"):
        lines, status = failed(tmp_path, "--port", "0")
        assert status != 0
        assert len(lines) == 1
        assert "another process uses this cluster's folder" in lines[0]


def test_a_folder_that_cannot_be_is_said_to_be_wrong(tmp_path):
    (tmp_path / "file").write_text("")
    lines, status = failed(tmp_path / "file" / "below", "--port", "0")
    assert status == 2
    assert len(lines) == 1
    assert "the cluster's folder cannot be used" in lines[0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--node-cpu", "much"], "much"),
        (["--node-memory", "-"], "--node-memory"),
        (["--node-label", "pool"], "'pool' is not KEY=VALUE"),
        (["--nodes", "-1"], "--nodes"),
        (["--port", "99999"], "--port"),
        (["--node-gpu", "x"], "--node-gpu"),
    ],
)
def test_bad_options_are_one_clear_line(tmp_path, options, words):
    lines, status = failed(tmp_path, *options)
    assert status == 2
    assert len(lines) == 1
    assert words in lines[0]


def run(folder, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "muster", *arguments, "--dir", str(folder)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def node(folder, name):
    code = (
        "import asyncio, sys\n"
        "from muster.kube.client import Client\n"
        "from muster.kube.connection import load\n"
        "async def main():\n"
        "    async with Client(load(kubeconfig=sys.argv[1]), user_agent='test') as client:\n"
        "        print((await client.request('GET', '/api/v1/nodes/' + sys.argv[2])).decode())\n"
        "asyncio.run(main())\n"
    )
    command = [sys.executable, "-c", code, str(folder / "kubeconfig"), name]
    return json.loads(subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout)


def test_nodes_are_taken_down_and_brought_back(tmp_path):
    with up(tmp_path, "--port", "0", "--nodes", "1", "--no-scheduler"):
        assert run(tmp_path, "node", "down", "node-1").stdout == "node-1 is down.\n"
        assert node(tmp_path, "node-1")["metadata"]["annotations"]["muster.dev/down"] == "true"
        assert run(tmp_path, "node", "up", "node-1").stdout == "node-1 is up again.\n"
        assert "muster.dev/down" not in node(tmp_path, "node-1")["metadata"]["annotations"]
        missing = run(tmp_path, "node", "down", "nobody")
        assert missing.returncode == 1
        assert 'nodes "nobody" not found' in missing.stderr


def test_a_cluster_that_is_not_there_has_no_nodes(tmp_path):
    done = run(tmp_path / "nowhere", "node", "down", "node-1")
    assert done.returncode == 2
    assert "there is no cluster here" in done.stderr


def test_the_demo_tells_its_story_without_a_terminal():
    environment = {**os.environ, "TERM": "dumb"}
    command = [sys.executable, "-m", "muster", "demo"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    told = done.stdout
    assert told.index("red: 24 of 24 running") < told.index("blue: 24 of 24 running") < told.index("huge: waits")
    assert "blue: evicted, none of its pods is left" in told
    assert "urgent: 4 of 4 running" in told
    assert "What to try next" in told
