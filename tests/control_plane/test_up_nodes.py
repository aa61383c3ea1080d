"""A node of `muster up` that is taken down, as kubectl shows it; it takes 40 s until anybody notices, as in life."""

import subprocess

import pytest

from tests.control_plane.conftest import needs_native_groups
from tests.control_plane.kubectl.client import Kubectl, rows
from tests.local.processes import MUSTER, Up, until

pytestmark = needs_native_groups


@pytest.fixture
def up(tmp_path):
    with Up(tmp_path / "cluster", "--ephemeral", "--port", "0", "--nodes", "2") as up:
        yield up


def turn(up, name, *, way):
    subprocess.run([*MUSTER, "node", way, name, "--dir", str(up.folder)], check=True, capture_output=True, timeout=60)


def test_pods_of_a_lost_node_go_when_they_tolerate_it_no_longer(up):
    kubectl = Kubectl(up.kubeconfig, up.folder.parent)
    lost = {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"}
    for name, patience in (("hasty", {"tolerationSeconds": 1}), ("patient", {})):
        spec = {
            "nodeName": "node-1",
            "containers": [{"name": "main", "image": "app"}],
            "tolerations": [{**lost, **patience}],
        }
        kubectl.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})
    kubectl("wait", "--for=condition=Ready", "pod/hasty", "pod/patient", "--timeout=60s")
    turn(up, "node-1", way="down")
    kubectl("wait", "--for=condition=Ready=Unknown", "node/node-1", "--timeout=90s")
    assert {row["NAME"]: row["STATUS"] for row in rows(kubectl("get", "nodes"))} == {
        "node-1": "NotReady",
        "node-2": "Ready",
    }
    told = kubectl("describe", "node", "node-1")
    assert "Kubelet stopped posting node status." in told
    assert "node.kubernetes.io/unreachable:NoExecute" in told
    until(lambda: _statuses(kubectl) == {"hasty": "Terminating", "patient": "Running"}, lambda: _statuses(kubectl))
    assert "TaintManagerEviction" in kubectl("describe", "pod", "hasty")
    turn(up, "node-1", way="up")
    kubectl("wait", "--for=condition=Ready", "node/node-1", "--timeout=60s")
    kubectl("wait", "--for=delete", "pod/hasty", "--timeout=60s")
    kubectl("wait", "--for=condition=Ready", "pod/patient", "--timeout=60s")
    until(lambda: "Taints:             <none>" in kubectl("describe", "node", "node-1"), "its taints stay")


def _statuses(kubectl):
    return {row["NAME"]: row["STATUS"] for row in rows(kubectl("get", "pods"))}
