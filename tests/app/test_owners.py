"""Owners that are read, and groups that are made for them, on a scripted API server."""

import asyncio
from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace

from muster.api.resources import CUSTOM_POD_GROUPS, NATIVE_POD_GROUPS
from muster.api.wire import Pod, PodGroup, read
from muster.engine.changes import PodSeen
from muster.gangs.dialects import CUSTOM, NATIVE
from tests.app.stage import Stage
from tests.kube.server import Api, Held, Reply, refusal, running, settled

pytestmark = pytest.mark.looptime

JOB = "/apis/batch/v1/namespaces/team/jobs/train"
REPLICA_SET = "/apis/apps/v1/namespaces/team/replicasets/web-1"
DEPLOYMENT = "/apis/apps/v1/namespaces/team/deployments/web"
TEMPLATE = {"metadata": {"labels": {"muster.dev/gang": "true"}}}


def reference(kind="Job", name="train", *, api_version="batch/v1", uid=None):
    return {"apiVersion": api_version, "kind": kind, "name": name, "uid": uid or f"uid-{name}", "controller": True}


def owner(name="train", *, uid=None, above=None, **spec):
    meta = {"name": name, "namespace": "team", "uid": uid or f"uid-{name}"}
    return Reply({"metadata": meta | {"ownerReferences": [above] if above else []}, "spec": spec})


def job(parallelism=2, **parts):
    return owner(parallelism=parallelism, template=TEMPLATE, **parts)


def pod(name, ref=None, **spec):
    meta = {"name": name, "namespace": "team", "uid": f"uid-{name}", "labels": {"muster.dev/gang": "true"}}
    meta["ownerReferences"] = [ref or reference()]
    return read(Pod, {"metadata": meta, "spec": spec})


def group(minimum, *, owner="uid-train"):
    meta = {"name": "job-train", "namespace": "team", "uid": "uid-group", "resourceVersion": "7"}
    meta["ownerReferences"] = [{"kind": "Job", "uid": owner, "controller": True}]
    return read(PodGroup, {"metadata": meta, "spec": {"schedulingPolicy": {"gang": {"minCount": minimum}}}})


@asynccontextmanager
async def at_work(api, *, serves=NATIVE_POD_GROUPS[0]):
    stage = Stage(api, places=10)
    dialect = NATIVE if serves in NATIVE_POD_GROUPS else CUSTOM
    stage.informers.declaring[dialect].resource = serves
    if serves is not None:
        api.on("POST", serves.path("team"), Reply({}, 201))
        api.on("PATCH", serves.path("team", "job-train"), Reply({}))
    async with running(stage.scheduler.run()), running(stage.informers.owners.run()):
        yield stage
        await stage.outbox.close()


async def come(stage, *pods, seconds=5):
    stage.informers._pods(list(pods))
    await asyncio.sleep(seconds)
    await settled(5)


def made(api):
    return [call.document for call in api.asked("POST")]


def why(stage, name):
    """What the engine was last told that keeps the pod from its gang."""
    told = [change.pod for change in stage.engine.told if isinstance(change, PodSeen)]
    return [pod.astray for pod in told if pod.metadata.name == name][-1]


async def test_a_group_is_made_for_an_owner_as_soon_as_it_is_read():
    api = Api()
    api.on("GET", JOB, job(8))
    async with at_work(api) as stage:
        await come(stage, pod("p0", priorityClassName="high"))
        (document,) = made(api)
        assert api.asked("POST")[0].path == NATIVE_POD_GROUPS[0].path("team")
        assert document == {
            "apiVersion": "scheduling.k8s.io/v1beta1",
            "kind": "PodGroup",
            "metadata": {
                "name": "job-train",
                "namespace": "team",
                "labels": {"app.kubernetes.io/managed-by": "muster"},
                "annotations": {},
                "ownerReferences": [reference()],
            },
            "spec": {
                "schedulingPolicy": {"gang": {"minCount": 8}},
                "disruptionMode": {"all": {}},
                "priorityClassName": "high",
            },
        }
        assert why(stage, "p0") == ""


async def test_where_kubernetes_has_no_groups_ours_is_made():
    api = Api()
    api.on("GET", JOB, job())
    async with at_work(api, serves=CUSTOM_POD_GROUPS[0]) as stage:
        await come(stage, pod("p0"))
        assert [document["apiVersion"] for document in made(api)] == ["muster.dev/v1beta1"]


async def test_where_no_groups_are_served_none_is_made():
    api = Api()
    api.on("GET", JOB, job())
    async with at_work(api, serves=None) as stage:
        await come(stage, pod("p0"))
        assert made(api) == []


async def test_a_chain_of_owners_is_followed_to_its_end():
    api = Api()
    above = reference("Deployment", "web", api_version="apps/v1")
    api.on("GET", REPLICA_SET, owner("web-1", above=above, replicas=1, template=TEMPLATE))
    api.on("GET", DEPLOYMENT, owner("web", replicas=3, template=TEMPLATE))
    async with at_work(api) as stage:
        await come(stage, pod("p0", reference("ReplicaSet", "web-1", api_version="apps/v1")), seconds=0.5)
        assert [call.path for call in api.asked("GET")] == [REPLICA_SET, DEPLOYMENT]
        (document,) = made(api)
        assert document["metadata"]["ownerReferences"] == [above]
        assert document["spec"]["schedulingPolicy"] == {"gang": {"minCount": 3}}


async def test_an_owner_of_many_pods_is_read_at_most_once_a_second():
    api = Api()
    api.on("GET", JOB, job(100))
    async with at_work(api) as stage:
        for number in range(100):
            await come(stage, pod(f"p{number}"), seconds=0.02)
        assert len(api.asked("GET")) <= 3


async def test_a_new_size_of_the_owner_is_written():
    api = Api()
    api.on("GET", JOB, job(2))
    async with at_work(api) as stage:
        await come(stage, pod("p0"))
        stage.informers._of(NATIVE)([group(2)])
        api.on("GET", JOB, job(5))
        await come(stage, pod("p1"))
        (patch,) = [call.document for call in api.asked("PATCH") if "spec" in call.document]
        assert patch == {"metadata": {"uid": "uid-group"}, "spec": {"schedulingPolicy": {"gang": {"minCount": 5}}}}


async def test_a_group_that_was_orphaned_gets_its_new_owner():
    api = Api()
    api.on("GET", JOB, job(2))
    async with at_work(api) as stage:
        left = group(1)
        meta = replace(left.metadata, owner_references=(), labels={"app.kubernetes.io/managed-by": "muster"})
        stage.informers._of(NATIVE)([replace(left, metadata=meta)])
        await come(stage, pod("p0"))
        patches = [call.document for call in api.asked("PATCH") if "spec" in call.document]
        named = {"uid": "uid-group", "resourceVersion": "7", "ownerReferences": [reference()]}
        assert patches[0] == {"metadata": named, "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}}}


async def test_a_new_size_is_seen_although_no_pod_comes_or_goes():
    """A quota may keep the owner from making any."""
    api = Api()
    api.on("GET", JOB, job(2))
    async with at_work(api) as stage:
        await come(stage, pod("p0"))
        stage.informers._of(NATIVE)([group(2)])
        api.on("GET", JOB, job(5))
        await asyncio.sleep(200)
        assert [call.document for call in api.asked("PATCH") if "spec" in call.document]


async def test_a_group_that_is_there_already_is_no_error():
    """Made by the leader before this one, and not seen yet."""
    api = Api()
    api.on("GET", JOB, job(2))
    async with at_work(api) as stage:
        api.on("POST", NATIVE_POD_GROUPS[0].path("team"), refusal(409, "already exists", reason="AlreadyExists"))
        await come(stage, pod("p0"), seconds=60)
        assert len(made(api)) == 1


async def test_a_group_that_could_not_be_made_is_made_later():
    api = Api()
    api.on("GET", JOB, job(2))
    async with at_work(api) as stage:
        path = NATIVE_POD_GROUPS[0].path("team")
        api.on("POST", path, *[refusal(403, "exceeded quota")] * 3, Reply({}, 201))
        await come(stage, pod("p0"), seconds=600)
        assert len(made(api)) >= 4


async def test_nothing_is_made_for_pods_that_went_while_it_waited():
    api = Api()
    held = Held(job(2))
    api.on("GET", JOB, held)
    async with at_work(api) as stage:
        await come(stage, pod("p0"), seconds=0.1)
        stage.informers._tell([stage.informers.groups.pod_gone("uid-p0")])
        held.gate.set()
        await asyncio.sleep(5)
        assert made(api) == []


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (refusal(404, "not found"), "Job train, which owns the pod, is gone"),
        (job(uid="another"), "Job train, which owns the pod, is gone; there is another one"),
        (refusal(403, "jobs is forbidden"), "Job train, which owns the pod, cannot be read: jobs is forbidden"),
        (Reply(b"<html>"), "Job train, which owns the pod, cannot be read: Document is not JSON"),
        (Reply(b'{"spec":' * 5000), "Job train, which owns the pod, cannot be read: Document is nested too deeply"),
    ],
)
async def test_a_pod_says_what_is_wrong_with_its_owner(answer, words):
    api = Api()
    api.on("GET", JOB, answer)
    async with at_work(api) as stage:
        await come(stage, pod("p0"))
        assert why(stage, "p0").startswith(words)
        assert made(api) == []


async def test_an_owner_that_could_not_be_read_is_tried_again():
    api = Api()
    api.on("GET", JOB, refusal(500), refusal(403), job(2))
    async with at_work(api) as stage:
        await come(stage, pod("p0"))
        assert len(made(api)) == 1


async def test_what_is_known_of_an_owner_stands_while_it_cannot_be_read():
    api = Api()
    api.on("GET", JOB, job(2), refusal(500))
    async with at_work(api) as stage:
        await come(stage, pod("p0"))
        await come(stage, pod("p1"))
        assert why(stage, "p1") == ""


async def test_nobody_is_asked_about_owners_of_pods_that_are_gone():
    api = Api()
    api.on("GET", JOB, refusal(500))
    async with at_work(api) as stage:
        await come(stage, pod("p0"), seconds=1)
        stage.informers._tell([stage.informers.groups.pod_gone("uid-p0")])
        await asyncio.sleep(60)
        asked = len(api.asked("GET"))
        await asyncio.sleep(600)
        assert len(api.asked("GET")) == asked
