"""All controllers and kubelets together on one driver, in virtual time."""

import asyncio
import random
from contextlib import asynccontextmanager

import pytest

from muster.api.resources import DISRUPTION_BUDGETS, LEASES, NAMESPACES, NODES, PODS, Resource
from muster.controllers.manager import attach_all, attach_kubelets, suffixes
from muster.controllers.objects import JOBS, POD_GROUPS, SERVICE_ACCOUNTS, WORKLOADS
from muster.local.kubelets import node_document
from tests.controllers.server import Server, running

pytestmark = pytest.mark.looptime

MAPS = Resource("", "v1", "configmaps", "ConfigMap")
WIDGETS = Resource("example.com", "v1", "widgets", "Widget")
SERVED = (
    PODS,
    NODES,
    NAMESPACES,
    SERVICE_ACCOUNTS,
    MAPS,
    JOBS,
    WORKLOADS,
    POD_GROUPS,
    LEASES,
    DISRUPTION_BUDGETS,
)


@asynccontextmanager
async def cluster():
    server = Server()
    server.serve(*SERVED)
    for name in ("team", "kube-node-lease"):
        document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        server.create(NAMESPACES, {**document, "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}})
    for number in range(3):
        server.create(NODES, node_document(f"n{number}", now=server.clock()))

    def attach(driver):
        attach_kubelets(driver)
        attach_all(driver, names=suffixes(random.Random(0)))

    async with running(server, attach=attach) as driver:
        await asyncio.sleep(1)
        yield server, driver


def job(name="j", *, seconds=None, **spec):
    label = {"batch.kubernetes.io/controller-uid": f"uid-{name}"}
    words = {} if seconds is None else {"muster.dev/run-seconds": str(seconds)}
    patience = [{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}]
    inner = {"restartPolicy": "Never", "nodeName": "n0", "containers": [{"name": "c", "image": "i"}]}
    inner["tolerations"] = patience
    template = {"metadata": {"labels": label, "annotations": words}, "spec": inner}
    filled = {"parallelism": 2, "completions": 2, "selector": {"matchLabels": label}, "template": template, **spec}
    return {"metadata": {"name": name, "namespace": "team"}, "spec": filled, "status": {}}


async def test_a_job_lives_and_dies_with_all_that_is_its_own():
    async with cluster() as (server, _):
        server.create(JOBS, job(), uid="uid-j")
        await asyncio.sleep(5)
        assert [pod["status"]["phase"] for pod in server.all(PODS)] == ["Running", "Running"]
        assert len(server.all(WORKLOADS)) == len(server.all(POD_GROUPS)) == 1
        server.delete(JOBS, "j", propagation="Foreground")
        await asyncio.sleep(5)
        assert [*server.all(JOBS), *server.all(PODS), *server.all(WORKLOADS), *server.all(POD_GROUPS)] == []


async def test_a_job_goes_when_its_time_is_over():
    async with cluster() as (server, _):
        server.create(JOBS, job(seconds=2, ttlSecondsAfterFinished=30), uid="uid-j")
        await asyncio.sleep(20)
        assert server.get(JOBS, "j")["status"]["succeeded"] == 2
        await asyncio.sleep(20)
        assert [*server.all(JOBS), *server.all(PODS)] == []


async def test_a_namespace_goes_with_all_that_is_in_it():
    async with cluster() as (server, _):
        assert server.get(SERVICE_ACCOUNTS, "default") is not None
        server.create(JOBS, job(), uid="uid-j")
        server.create(MAPS, {"metadata": {"name": "m", "namespace": "team"}, "data": {}})
        await asyncio.sleep(5)
        server.delete(NAMESPACES, "team")
        server.terminating.add("team")
        await asyncio.sleep(30)
        assert server.get(NAMESPACES, "team") is None
        assert [*server.all(JOBS), *server.all(PODS), *server.all(MAPS)] == []
        assert [one["metadata"]["namespace"] for one in server.all(SERVICE_ACCOUNTS)] == ["kube-node-lease"]


async def test_a_node_that_is_down_is_lost_and_found():
    async with cluster() as (server, _):
        server.create(JOBS, job(), uid="uid-j")
        await asyncio.sleep(5)
        server.patch(NODES, "n0", {"metadata": {"annotations": {"muster.dev/down": ""}}})
        await asyncio.sleep(60)
        assert len(server.get(NODES, "n0")["spec"]["taints"]) == 2
        assert server.get(JOBS, "j")["status"]["ready"] == 0
        server.patch(NODES, "n0", {"metadata": {"annotations": {"muster.dev/down": None}}})
        await asyncio.sleep(5)
        assert not server.get(NODES, "n0")["spec"].get("taints")
        assert server.get(JOBS, "j")["status"]["ready"] == 2


async def test_kinds_that_come_later_are_collected_too():
    async with cluster() as (server, _):
        server.serve(*SERVED, WIDGETS)
        await asyncio.sleep(40)
        server.create(MAPS, {"metadata": {"name": "owner", "namespace": "team"}, "data": {}}, uid="uid-owner")
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "uid-owner"}
        server.create(WIDGETS, {"metadata": {"name": "w", "namespace": "team", "ownerReferences": [reference]}})
        await asyncio.sleep(1)
        server.delete(MAPS, "owner")
        await asyncio.sleep(5)
        assert server.all(WIDGETS) == []


async def test_budgets_know_their_pods():
    async with cluster() as (server, _):
        server.create(JOBS, job(), uid="uid-j")
        selector = {"matchLabels": {"batch.kubernetes.io/controller-uid": "uid-j"}}
        budget = {"metadata": {"name": "b"}, "spec": {"selector": selector, "minAvailable": 1}, "status": {}}
        server.create(DISRUPTION_BUDGETS, budget)
        await asyncio.sleep(5)
        assert server.get(DISRUPTION_BUDGETS, "b")["status"]["disruptionsAllowed"] == 1
