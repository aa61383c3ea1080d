"""Volumes and devices on the embedded server, with all controllers and kubelets at work, from pod to end."""

import asyncio
import random
from contextlib import asynccontextmanager

import pytest

from muster.controllers.manager import attach_all, attach_devices, attach_kubelets, suffixes
from muster.controllers.provisioner import FAILS, NAME
from muster.local.kubelets import node_document
from tests.controllers.embedded import Embedded
from tests.controllers.server import running

pytestmark = pytest.mark.looptime

SPACE = "/api/v1/namespaces/default"
CLAIMS, PODS, VOLUMES = f"{SPACE}/persistentvolumeclaims", f"{SPACE}/pods", "/api/v1/persistentvolumes"
DEVICES = "/apis/resource.k8s.io/v1"
DEVICE_CLAIMS = f"{DEVICES}/namespaces/default/resourceclaims"


@asynccontextmanager
async def cluster():
    server = Embedded()

    def attach(driver):
        attach_all(driver, names=suffixes(random.Random(0)))
        attach_kubelets(driver)
        attach_devices(driver, {"gpu.muster.dev": 2})

    async with running(server, attach=attach):
        server.create("/api/v1/nodes", node_document("n", now=server.clock()))
        await asyncio.sleep(5)
        yield server


def names(server, where):
    return [one["metadata"]["name"] for one in server.get(where)["items"]]


def storage_class(server, **more):
    body = {"metadata": {"name": "later"}, "provisioner": NAME, "volumeBindingMode": "WaitForFirstConsumer"}
    server.create("/apis/storage.k8s.io/v1/storageclasses", {**body, **more})


def pod(server, **spec):
    containers = [{"name": "main", "image": "sample"}]
    body = {"containers": containers, "terminationGracePeriodSeconds": 1, "restartPolicy": "Never", **spec}
    return server.create(PODS, {"metadata": {"name": "p"}, "spec": body})


def bind(server, name="p"):
    target = {"apiVersion": "v1", "kind": "Node", "name": "n"}
    server.create(f"{PODS}/{name}/binding", {"metadata": {"name": name}, "target": target})


def phase(server, where):
    return server.get(where)["status"]["phase"]


async def test_a_volume_that_a_pod_brings_along_is_made_used_and_deleted():
    async with cluster() as server:
        storage_class(server)
        wants = {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "storageClassName": "later",
        }
        pod(server, volumes=[{"name": "data", "ephemeral": {"volumeClaimTemplate": {"spec": wants}}}])
        await asyncio.sleep(2)
        assert names(server, CLAIMS) == ["p-data"]
        bind(server)
        await asyncio.sleep(5)
        assert phase(server, f"{PODS}/p") == "Pending"
        # what a scheduler does first
        server.merge(f"{CLAIMS}/p-data", {"metadata": {"annotations": {"volume.kubernetes.io/selected-node": "n"}}})
        await asyncio.sleep(5)
        assert phase(server, f"{CLAIMS}/p-data") == "Bound"
        assert phase(server, f"{PODS}/p") == "Running"
        server.answer("DELETE", f"{PODS}/p")
        await asyncio.sleep(120)
        assert (names(server, PODS), names(server, CLAIMS), names(server, VOLUMES)) == ([], [], [])


async def test_a_provisioner_that_fails_has_the_scheduler_choose_again():
    async with cluster() as server:
        storage_class(server, parameters={FAILS: "1"})
        wants = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        server.create(CLAIMS, {"metadata": {"name": "c"}, "spec": {**wants, "storageClassName": "later"}})
        chosen = {"metadata": {"annotations": {"volume.kubernetes.io/selected-node": "n"}}}
        await asyncio.sleep(2)
        server.merge(f"{CLAIMS}/c", chosen)
        await asyncio.sleep(10)
        assert "volume.kubernetes.io/selected-node" not in server.get(f"{CLAIMS}/c")["metadata"]["annotations"]
        server.merge(f"{CLAIMS}/c", chosen)
        await asyncio.sleep(10)
        assert phase(server, f"{CLAIMS}/c") == "Bound"


async def test_devices_are_published_claimed_reserved_and_given_back():
    async with cluster() as server:
        [found] = server.get(f"{DEVICES}/resourceslices")["items"]
        assert [one["name"] for one in found["spec"]["devices"]] == ["gpu-0", "gpu-1"]
        assert names(server, f"{DEVICES}/deviceclasses") == ["gpu.muster.dev"]
        wants = {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.muster.dev"}}]}}
        where = f"{DEVICES}/namespaces/default/resourceclaimtemplates"
        server.create(where, {"metadata": {"name": "t"}, "spec": {"spec": wants}})
        made = pod(server, resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "t"}])
        await asyncio.sleep(2)
        [name] = names(server, DEVICE_CLAIMS)
        assert server.get(f"{PODS}/p")["status"]["resourceClaimStatuses"] == [
            {"name": "gpu", "resourceClaimName": name}
        ]
        bind(server)
        await asyncio.sleep(5)
        assert phase(server, f"{PODS}/p") == "Pending"
        server.merge(
            f"{DEVICE_CLAIMS}/{name}", {"metadata": {"finalizers": ["resource.kubernetes.io/delete-protection"]}}
        )
        result = {"request": "gpu", "driver": "gpu.muster.dev", "pool": "n", "device": "gpu-0"}
        status = {
            "allocation": {"devices": {"results": [result]}, "allocationTimestamp": "2027-01-15T08:00:00Z"},
            "reservedFor": [{"resource": "pods", "name": "p", "uid": made["metadata"]["uid"]}],
        }
        server.merge(f"{DEVICE_CLAIMS}/{name}/status", {"status": status})
        await asyncio.sleep(5)
        assert phase(server, f"{PODS}/p") == "Running"
        server.answer("DELETE", f"{PODS}/p")
        await asyncio.sleep(60)
        assert (names(server, PODS), names(server, DEVICE_CLAIMS)) == ([], [])
        server.answer("DELETE", "/api/v1/nodes/n")
        await asyncio.sleep(60)
        assert names(server, f"{DEVICES}/resourceslices") == []
