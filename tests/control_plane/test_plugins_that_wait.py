"""Plugins that wait, on a real API server: a gang of three is approved, bound by a plugin and told of."""

import json

from controlplane.build import program
from tests.control_plane.conftest import VERSION, needs_native_groups
from tests.local.processes import MUSTER, Process, until

pytestmark = needs_native_groups

PLUGIN = """
import asyncio
import json
import subprocess
from pathlib import Path

from muster.framework.plugin import Plugin

HERE = Path(__file__).parent


class Approved(Plugin):
    def pre_filter(self, pod):
        return pod.metadata.annotations.get("example.com/approval")

    async def permit(self, pod, node):
        while not (HERE / "yes").exists():
            await asyncio.sleep(0.1)

    async def pre_bind(self, pod, node):
        failed = HERE / "failed"
        if pod.name == "train-1" and not failed.exists():
            failed.touch()
            return "not the first time"

    def bind(self, pod, node, annotations):
        meta = {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid, "annotations": annotations}
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": meta, "target": target}
        path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/binding"
        command = [*self.args["kubectl"], "create", "--raw", path, "-f", "-"]
        subprocess.run(command, input=json.dumps(body), text=True, check=True, capture_output=True)
        return True

    async def post_bind(self, pod, node):
        (HERE / f"told-{pod.name}").touch()
"""
CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {{leaderElect: false}}
profiles:
- schedulerName: muster
  plugins: {{multiPoint: {{enabled: [{{name: "approved:Approved"}}]}}}}
  pluginConfig:
  - {{name: "approved:Approved", args: {{kubectl: {kubectl}}}}}
"""


def test_a_gang_is_approved_prepared_bound_by_a_plugin_and_told_of(plane, namespace, nodes, tmp_path):
    nodes(plane, 3, cpu="4")
    kubeconfig = plane.kubeconfig()
    kubectl = [str(program("kubectl", VERSION)), f"--kubeconfig={kubeconfig}"]
    (tmp_path / "approved.py").write_text(PLUGIN)
    (tmp_path / "config.yaml").write_text(CONFIG.format(kubectl=json.dumps(kubectl)))
    group = f"/apis/scheduling.k8s.io/v1beta1/namespaces/{namespace}/podgroups"
    pods = f"/api/v1/namespaces/{namespace}/pods"
    spec = {"schedulingPolicy": {"gang": {"minCount": 3}}}
    kind = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup"}
    plane.request("POST", group, {**kind, "metadata": {"name": "train"}, "spec": spec})
    for number in range(3):
        meta = {"name": f"train-{number}", "annotations": {"example.com/approval": "train"}}
        spec = {
            "schedulerName": "muster",
            "schedulingGroup": {"podGroupName": "train"},
            "containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": "3"}}}],
        }
        plane.request("POST", pods, {"metadata": meta, "spec": spec})

    def said():
        conditions = plane.request("GET", f"{group}/train").get("status", {}).get("conditions", ())
        return [(one["status"], one["reason"], one["message"]) for one in conditions]

    def placed():
        return [pod["spec"].get("nodeName") for pod in plane.request("GET", pods)["items"]]

    command = [*MUSTER, "run", f"--kubeconfig={kubeconfig}", "--config=config.yaml", "--listen=127.0.0.1:0"]
    with Process(command, tmp_path / "out", directory=tmp_path, environment={"PYTHONPATH": "."}) as muster:
        until(lambda: any("has not permitted" in one[2] for one in said()), lambda: (said(), muster.complaints))
        assert placed() == [None] * 3
        (tmp_path / "yes").touch()
        until(lambda: all(placed()), lambda: (said(), muster.complaints))
        assert (tmp_path / "failed").exists()
        until(lambda: len(list(tmp_path.glob("told-*"))) == 3, "post_bind was not called")
        until(lambda: any(one[:2] == ("True", "Scheduled") for one in said()), said)
        bound = plane.request("GET", pods)["items"]
        assert all("muster.dev/bound-for" in pod["metadata"]["annotations"] for pod in bound)
