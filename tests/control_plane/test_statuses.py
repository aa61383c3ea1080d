"""What a real API server makes of the status of groups: with a path of its own or without, with fields that it drops.

Definitions are as small as can be, and as the projects' own are in what matters here: Coscheduling's status is a
subresource and knows no `scheduled`, Volcano's is part of the object.
"""

import itertools

import pytest
import yaml

from controlplane.kubelet import Kubelets
from muster.api.resources import Resource
from muster.api.wire import Metadata
from muster.base.errors import ApiError
from muster.gangs.dialects import DIALECTS
from muster.kube import writes
from muster.kube.client import MERGE_PATCH, Client
from muster.kube.connection import load
from tests.control_plane.checks import until
from tests.control_plane.muster_process import MusterProcess
from tests.control_plane.stage import DEPLOY, REPLICAS

COSCHEDULING, VOLCANO = (
    next(dialect.resources[0] for dialect in DIALECTS if dialect.name == name) for name in ("coscheduling", "volcano")
)
MAKERS = Resource("batch.volcano.sh", "v1alpha1", "jobs", "Job")
OTHER = "00000000-0000-0000-0000-000000000000"
_numbers = itertools.count(1)


def definition(resource, *, apart):
    counts = {name: {"type": "integer"} for name in ("running", "succeeded", "failed")}
    texts = {name: {"type": "string"} for name in ("phase", "occupiedBy")}
    at = {"scheduleStartTime": {"type": "string", "format": "date-time"}}
    status = {"type": "object", "properties": counts | (texts | at if apart else {"phase": {"type": "string"}})}
    asked = {"minMember": {"type": "integer"}, "schedulerName": {"type": "string"}}
    spec = {"type": "object", "properties": asked}
    schema = {"type": "object", "properties": {"spec": spec, "status": status}}
    version = {
        "name": resource.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}} if apart else {},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": resource.name,
            "annotations": {
                "api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/scheduler-plugins/pull/50"
            },
        },
        "spec": {
            "group": resource.group,
            "scope": "Namespaced",
            "names": {"plural": resource.plural, "kind": resource.kind},
            "versions": [version],
        },
    }


@pytest.fixture(scope="module")
def served(stock, tmp_path_factory):
    """A stock cluster with both kinds, and the rights of deploy/base/rbac.yaml for replicas."""
    where = tmp_path_factory.mktemp("definitions") / "definitions.yaml"
    definitions = [definition(COSCHEDULING, apart=True), *(definition(one, apart=False) for one in (VOLCANO, MAKERS))]
    where.write_text(yaml.safe_dump_all(definitions))
    stock.kubectl("apply", "-f", str(where))
    stock.kubectl("wait", "--for=condition=Established", "crd", *(one["metadata"]["name"] for one in definitions))
    for name in ("namespace", "rbac"):
        stock.kubectl("apply", "-f", str(DEPLOY / f"{name}.yaml"))
    group = f"--group={REPLICAS}"
    stock.kubectl("create", "clusterrolebinding", REPLICAS, "--clusterrole=muster", group)
    stock.kubectl("create", "rolebinding", REPLICAS, "-n", "muster-system", "--role=muster-lease", group)
    yield stock
    stock.kubectl("delete", "clusterrolebinding", REPLICAS)
    stock.kubectl("delete", "--wait=false", "-f", str(where))


@pytest.fixture
def space(served, namespaces):
    space = Space(served, namespaces.make(served))
    yield space
    for path in space.made:
        # nobody is left to take off what protects it
        served.request("PATCH", path, {"metadata": {"finalizers": None}}, content_type=MERGE_PATCH)


class Space:
    def __init__(self, cluster, namespace):
        self.cluster = cluster
        self.namespace = namespace
        self.made = []

    def maker(self, name, scheduler):
        """A Volcano Job, of which nobody makes pods."""
        body = {"apiVersion": MAKERS.api_version, "kind": MAKERS.kind, "metadata": {"name": name}}
        made = self.cluster.request("POST", MAKERS.path(self.namespace), body | {"spec": {"schedulerName": scheduler}})
        named = {key: made["metadata"][key] for key in ("name", "uid")}
        return {"apiVersion": MAKERS.api_version, "kind": MAKERS.kind, "controller": True} | named

    def group(self, resource, minimum, *, name="g", maker=None):
        body = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {"name": name, "ownerReferences": [maker] if maker else []},
            "spec": {"minMember": minimum},
        }
        self.made.append(resource.path(self.namespace, name))
        return self.cluster.request("POST", resource.path(self.namespace), body)["metadata"]["uid"]

    def status(self, resource, *, name="g"):
        return self.cluster.request("GET", resource.path(self.namespace, name)).get("status", {})

    def version(self, resource):
        return self.cluster.request("GET", resource.path(self.namespace, "g"))["metadata"]["resourceVersion"]

    def until_phase(self, resource, phase, *, name="g"):
        until(lambda: self.status(resource, name=name).get("phase") == phase, f"the phase {phase}")

    def pods(self, count, *, labels=None, annotations=None):
        for number in range(count):
            container = {"name": "c", "image": "none", "resources": {"requests": {"cpu": "1"}}}
            meta = {"name": f"g-{number}", "labels": labels or {}, "annotations": annotations or {}}
            spec = {"schedulerName": "muster", "containers": [container], "terminationGracePeriodSeconds": 0}
            self.cluster.request("POST", f"/api/v1/namespaces/{self.namespace}/pods", {"metadata": meta, "spec": spec})


@pytest.fixture
async def client(served):
    async with Client(load(kubeconfig=str(served.kubeconfig())), user_agent="muster/test") as client:
        yield client


async def write(client, resource, space, uid, fields, *, apart, version=None):
    """As one who knows the object as it is, or as it was in this version."""
    known = version or space.version(resource)
    meta = Metadata(name="g", namespace=space.namespace, uid=uid, resource_version=known)
    return await writes.write_status(client, resource, meta, fields, apart=apart)


FIELDS = {"phase": "Running", "running": 2, "succeeded": 0, "failed": 0}


async def test_a_status_with_a_path_of_its_own_is_written_there_only(client, space):
    uid = space.group(COSCHEDULING, 2)
    assert not await write(client, COSCHEDULING, space, uid, FIELDS, apart=False)
    assert space.status(COSCHEDULING) == {}
    assert await write(client, COSCHEDULING, space, uid, FIELDS | {"scheduled": 2}, apart=True)
    # the server has dropped what the definition does not know
    assert space.status(COSCHEDULING) == FIELDS


async def test_a_status_without_a_path_of_its_own_is_written_with_the_object(client, space):
    uid = space.group(VOLCANO, 2)
    assert not await write(client, VOLCANO, space, uid, FIELDS, apart=True)
    assert await write(client, VOLCANO, space, uid, FIELDS, apart=False)
    assert space.status(VOLCANO) == FIELDS


@pytest.mark.parametrize(("resource", "apart"), [(COSCHEDULING, True), (VOLCANO, False)], ids=["apart", "within"])
async def test_an_object_that_came_later_is_not_touched(client, space, resource, apart):
    assert not await write(client, resource, space, OTHER, FIELDS, apart=apart, version="1")
    space.group(resource, 2)
    with pytest.raises(ApiError) as refused:
        await write(client, resource, space, OTHER, FIELDS, apart=apart, version="1")
    assert refused.value.code == 409
    assert space.status(resource) == {}


async def test_what_the_definition_does_not_allow_is_refused(client, space):
    uid = space.group(COSCHEDULING, 2)
    with pytest.raises(ApiError) as refused:
        await write(client, COSCHEDULING, space, uid, {"running": "two"}, apart=True)
    assert refused.value.code == 422


def test_groups_go_through_their_phases_and_another_leader_writes_nothing_new(served, space, nodes, tmp_path):
    """With the rights of deploy/ and no more; nobody makes pods of a Volcano group before it is let in, and those of
    others are theirs to let in."""
    nodes(served, 1, cpu=8)
    ours = space.maker("ours", "muster")
    space.group(VOLCANO, 2, name="theirs", maker=space.maker("theirs", "volcano"))
    space.group(COSCHEDULING, 2)
    space.group(VOLCANO, 2, maker=ours)

    def replica():
        name = f"counting-{next(_numbers)}"
        return MusterProcess(served.kubeconfig(name, (REPLICAS,)), tmp_path, name=name)

    with Kubelets(served):
        with replica() as muster:
            muster.wait_for("leading")
            space.until_phase(VOLCANO, "Inqueue")
            assert space.status(COSCHEDULING) == {}
            space.pods(2, labels={"scheduling.x-k8s.io/pod-group": "g"})
            space.until_phase(COSCHEDULING, "Running")
            space.until_phase(VOLCANO, "Running")
            assert space.status(COSCHEDULING)["running"] == 2
            assert "scheduleStartTime" in space.status(COSCHEDULING)
            assert muster.stop() == 0, muster.tail()
        versions = [space.version(resource) for resource in (COSCHEDULING, VOLCANO)]
        with replica() as muster:
            muster.wait_for("leading")
            space.group(VOLCANO, 2, name="next", maker=ours)
            space.until_phase(VOLCANO, "Inqueue", name="next")
            assert space.status(VOLCANO, name="theirs") == {}
            assert [space.version(resource) for resource in (COSCHEDULING, VOLCANO)] == versions
            served.kubectl("delete", "pod", "g-1", "-n", space.namespace)
            space.until_phase(VOLCANO, "Unknown")
            space.until_phase(COSCHEDULING, "Pending")
            served.kubectl("delete", "pods", "--all", "-n", space.namespace)
            space.until_phase(VOLCANO, "Inqueue")
            assert muster.stop() == 0, muster.tail()
