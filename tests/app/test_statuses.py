"""How the status of groups gets to the API server: from pods that change to what stands there."""

import asyncio

import pytest

from muster.api.wire import Pod, read
from muster.engine.changes import NodeSeen, PodGone, PodSeen
from muster.engine.engine import Engine
from muster.gangs.dialects import DIALECTS
from muster.plugins.defaults import default_profile
from tests.app.stage import at_work
from tests.builders import node, pod
from tests.kube.server import Api, Held, Reply, refusal

pytestmark = pytest.mark.looptime

COSCHEDULING, VOLCANO, SUBSETS = (
    next(dialect for dialect in DIALECTS if dialect.name == name) for name in ("coscheduling", "volcano", "subsets")
)
NOT_FOUND = refusal(404, 'podgroups.example "g" not found')
"""So a server says it of an object, and of a path that an object does not have."""


class Server:
    """Keeps one group, and shows the scheduler every version of it."""

    def __init__(self, dialect, *, uid="uid-g", status=None, apart=True, drops=(), maker=None, protected=True):
        """`apart`: the status has a path of its own; `drops` are fields that the definition does not have."""
        self.dialect = dialect
        self.apart = apart
        self.drops = drops
        self.api = Api()
        self.stage = None
        resource = dialect.resources[0]
        self.own, self.status_path = resource.path("team", "g"), resource.path("team", "g", "status")
        meta = {"name": "g", "namespace": "team", "uid": uid, "resourceVersion": "1"}
        # protected already, so that nothing is written but what this is about
        meta["finalizers"] = ["muster.dev/podgroup-protection"] if protected else []
        meta["ownerReferences"] = [] if maker is None else [maker]
        spec = {"subsets": [{"name": "all", "minMember": 2}]} if dialect is SUBSETS else {"minMember": 2}
        self.group = {"metadata": meta, "spec": spec, "status": status or {}}
        self.api.on("PATCH", self.status_path, self._patch if apart else NOT_FOUND)
        self.api.on("PATCH", self.own, self._patch)

    def at_work(self, **options):
        return at_work(self.api, engine=Engine(default_profile()), **options)

    def shows(self, stage):
        """The scheduler sees the group as it is."""
        self.stage = stage
        stage.informers.declaring[self.dialect].resource = self.dialect.resources[0]
        stage.inbox.put(stage.informers.groups.seen(self.dialect, read(self.dialect.kind, self.group)))

    def remade(self, stage, uid):
        meta = self.group["metadata"]
        stage.inbox.put(stage.informers.groups.gone(self.dialect, "team/g", meta["uid"]))
        self.group = self.group | {"metadata": meta | {"uid": uid, "resourceVersion": "50"}, "status": {}}
        self.shows(stage)

    def _patch(self, call):
        patch, meta = call.document, self.group["metadata"]
        if patch["metadata"].get("resourceVersion", meta["resourceVersion"]) != meta["resourceVersion"]:
            return refusal(409, "the object has been modified")
        if call.path == self.own and self.apart:
            # what is not its own to write is left out
            return Reply(self.group)
        status = self.group["status"] | {name: to for name, to in patch["status"].items() if name not in self.drops}
        if status != self.group["status"]:
            version = str(int(meta["resourceVersion"]) + 1)
            self.group = self.group | {"metadata": meta | {"resourceVersion": version}, "status": status}
            self.shows(self.stage)
        return Reply(self.group)

    @property
    def status(self):
        return self.group["status"]

    def written(self):
        return [(call.path, call.document["status"].get("phase")) for call in self.api.asked("PATCH")]


def member(name, dialect=COSCHEDULING, *, phase="Pending", node="n1", reason="", scheduler="muster"):
    conditions = [{"type": "PodScheduled", "status": "False", "reason": reason}] if reason else []
    return read(
        Pod,
        {
            "metadata": {
                "name": name,
                "namespace": "team",
                "uid": f"uid-{name}",
                "creationTimestamp": "2027-01-15T08:00:00Z",
                "labels": {"scheduling.x-k8s.io/pod-group": "g"} if dialect is COSCHEDULING else {},
                "annotations": {"scheduling.k8s.io/group-name": "g"} if dialect is VOLCANO else {},
                "ownerReferences": [{"kind": "Job", "name": "job", "uid": "uid-job", "controller": True}],
            },
            "spec": {"nodeName": node, "schedulerName": scheduler, "containers": [{}]}
            | ({"podGroup": {"name": "g"}} if dialect is SUBSETS else {}),
            "status": {"phase": phase, "conditions": conditions},
        },
    )


def seen(stage, *pods):
    stage.inbox.put([PodSeen(pod) for pod in pods])


async def rested(stage):
    await asyncio.sleep(1.5)
    await stage.outbox.done()


async def test_a_group_of_coscheduling_goes_through_its_phases():
    server = Server(COSCHEDULING, drops=("scheduled",))
    async with server.at_work() as stage:
        server.shows(stage)
        await rested(stage)
        for phase in ("Pending", "Running", "Succeeded"):
            seen(stage, member("a", phase=phase), member("b", phase=phase))
            await rested(stage)
    assert server.written() == [
        (server.status_path, phase) for phase in ("Pending", "Scheduling", "Running", "Finished")
    ]
    assert server.status == {
        "phase": "Finished",
        "running": 0,
        "succeeded": 2,
        "failed": 0,
        "occupiedBy": "team/job",
    }


async def test_an_older_definition_of_coscheduling_counts_who_was_scheduled():
    server = Server(COSCHEDULING)
    async with server.at_work() as stage:
        server.shows(stage)
        await rested(stage)
        seen(stage, member("a"), member("b"))
        await rested(stage)
    assert server.status["scheduled"] == 2


async def test_a_pod_that_is_gone_is_counted_no_more():
    server = Server(COSCHEDULING)
    async with server.at_work() as stage:
        server.shows(stage)
        seen(stage, member("a", phase="Running"), member("b", phase="Running"))
        await rested(stage)
        assert server.status["phase"] == "Running"
        stage.inbox.put([PodGone("uid-b")])
        await rested(stage)
    assert (server.status["phase"], server.status["running"]) == ("Pending", 1)


async def test_a_thousand_pods_that_start_one_by_one_are_a_write_a_second():
    server = Server(COSCHEDULING)
    async with server.at_work() as stage:
        server.shows(stage)
        for number in range(1_000):
            seen(stage, member(f"p{number}", phase="Running"))
            await asyncio.sleep(0.01)
        await rested(stage)
        took = asyncio.get_running_loop().time()
    assert server.status["running"] == 1_000
    assert len(server.written()) <= took + 1


async def test_volcano_lets_a_group_in_as_soon_as_it_is_seen():
    server = Server(VOLCANO, apart=False, status={"phase": "Pending"})
    async with server.at_work() as stage:
        server.shows(stage)
        await asyncio.sleep(0.1)
        assert server.status["phase"] == "Inqueue"
        seen(stage, member("a", VOLCANO, phase="Running"), member("b", VOLCANO, phase="Running"))
        await rested(stage)
        seen(stage, member("a", VOLCANO, phase="Succeeded"), member("b", VOLCANO, phase="Failed"))
        await rested(stage)
    # that there is no other path is learnt once
    assert server.written() == [
        (server.status_path, "Inqueue"),
        (server.own, "Inqueue"),
        (server.own, "Running"),
        (server.own, "Completed"),
    ]


async def test_a_definition_that_comes_to_have_a_status_of_its_own_is_followed():
    server = Server(VOLCANO, apart=False)
    async with server.at_work() as stage:
        server.shows(stage)
        await rested(stage)
        server.apart = True
        server.api.on("PATCH", server.status_path, server._patch)
        seen(stage, member("a", VOLCANO), member("b", VOLCANO))
        await rested(stage)
    assert server.status["phase"] == "Running"


async def test_subsets_are_counted_beside_the_condition():
    said = {"type": "PodGroupScheduled", "status": "False"}
    server = Server(SUBSETS, status={"conditions": [said]})
    server.api.on("PATCH", "/api/v1/namespaces/team/pods/a/status", Reply({}))
    server.api.on("PATCH", "/api/v1/namespaces/team/pods/b/status", Reply({}))
    async with server.at_work() as stage:
        server.shows(stage)
        seen(
            stage,
            member("a", SUBSETS, node="", reason="CoschedulingNotMeetMinMember"),
            member("b", SUBSETS, node="", reason="Unschedulable"),
            member("c", SUBSETS, phase="Running"),
            member("d", SUBSETS, phase="Succeeded"),
        )
        await rested(stage)
    patches = [call.document["status"] for call in server.api.asked("PATCH", server.status_path)]
    assert all(list(patch) in (["conditions"], ["subsets"]) for patch in patches)
    (condition,), (subset,) = patches[0]["conditions"], server.status["subsets"]
    assert condition["lastUpdateTime"] == "2027-01-15T08:00:00Z"
    assert (subset["name"], subset["total"], subset["running"]) == ("all", 3, 1)
    assert subset["scheduledAvailable"] + subset["scheduledUnavailable"] == 2


async def test_a_status_that_stands_is_not_written_by_who_comes_later():
    server = Server(COSCHEDULING)
    for _ in range(2):
        async with server.at_work() as stage:
            server.shows(stage)
            seen(stage, member("a", phase="Running"), member("b", phase="Running"))
            await rested(stage)
    assert len(server.written()) == 1


async def test_what_one_group_is_to_say_is_not_written_on_another_of_its_name():
    server = Server(COSCHEDULING)
    held = Held(refusal(503))
    server.api.on("PATCH", server.status_path, held, server._patch, server._patch)
    async with server.at_work() as stage:
        server.shows(stage)
        seen(stage, member("a", phase="Succeeded"), member("b", phase="Succeeded"))
        await asyncio.sleep(0.1)
        assert server.written() == [(server.status_path, "Finished")]
        stage.inbox.put([PodGone("uid-a"), PodGone("uid-b")])
        server.remade(stage, "uid-next")
        held.gate.set()
        await rested(stage)
    assert server.status["phase"] == "Pending"


async def test_who_is_asked_to_write_on_a_group_that_is_gone_is_content():
    server = Server(COSCHEDULING)
    server.api.on("PATCH", server.status_path, NOT_FOUND)
    server.api.on("PATCH", server.own, NOT_FOUND)
    async with server.at_work() as stage:
        server.shows(stage)
        await asyncio.sleep(60)
        assert [where for where, _ in server.written()] == [server.status_path, server.own]


async def test_that_a_group_is_let_in_is_tried_until_it_stands():
    """No pod of it is made before."""
    server = Server(VOLCANO)
    server.api.on("PATCH", server.status_path, *[refusal(503)] * 20, server._patch)
    async with server.at_work() as stage:
        server.shows(stage)
        await asyncio.sleep(600)
    assert server.status["phase"] == "Inqueue"


async def test_a_status_that_the_definition_refuses_is_not_tried_again_before_anything_changes():
    server = Server(COSCHEDULING)
    server.api.on("PATCH", server.status_path, refusal(422, "status.phase: Unsupported value"))
    async with server.at_work() as stage:
        server.shows(stage)
        await asyncio.sleep(60)
        assert len(server.written()) == 1
        seen(stage, member("a"), member("b"))
        await asyncio.sleep(60)
        assert len(server.written()) == 2


async def test_statuses_wait_while_anybody_is_bound():
    """Whatever is counted is less urgent than what is decided."""
    server = Server(COSCHEDULING)
    bind = Held(Reply({}, 201))
    server.api.on("POST", "/api/v1/namespaces/team/pods/lone/binding", bind)
    async with server.at_work() as stage:
        stage.inbox.put([NodeSeen(node("n0", cpu=8)), PodSeen(pod("lone", cpu=1))])
        await asyncio.sleep(0.1)
        assert server.api.asked("POST")
        server.shows(stage)
        await asyncio.sleep(0.1)
        assert not server.api.asked("PATCH")
        bind.gate.set()
        await rested(stage)
    assert server.status["phase"] == "Pending"


async def test_a_replica_that_is_to_stop_counts_no_more():
    server = Server(COSCHEDULING)
    async with server.at_work() as stage:
        server.shows(stage)
        await rested(stage)
        stage.scheduler.stop()
        seen(stage, member("a"), member("b"))
        await asyncio.sleep(5)
    assert len(server.written()) == 1


async def test_what_others_wrote_meanwhile_is_looked_at_before_it_is_written_over():
    """Another leader has said that it is over."""
    server = Server(COSCHEDULING)
    async with server.at_work() as stage:
        server.shows(stage)
        await rested(stage)
        meta = server.group["metadata"] | {"resourceVersion": "50"}
        server.group = server.group | {"metadata": meta, "status": {"phase": "Finished"}}
        seen(stage, member("a", phase="Running"), member("b", phase="Running"))
        await asyncio.sleep(0.1)
        server.shows(stage)
        await rested(stage)
    assert server.status == {"phase": "Finished"}


# --- groups of others ---

MAKER = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "v", "uid": "uid-v", "controller": True}
MAKERS = "/apis/batch.volcano.sh/v1alpha1/namespaces/team/jobs/v"
shared = pytest.mark.parametrize("dialect", [VOLCANO, COSCHEDULING], ids=lambda dialect: dialect.name)


def made_by(uid="uid-v", **spec):
    return Reply({"metadata": {"name": "v", "namespace": "team", "uid": uid}, "spec": spec})


@shared
@pytest.mark.parametrize("pods", [0, 2])
async def test_groups_without_pods_of_ours_are_left_to_whoever_has_them(dialect, pods):
    server = Server(dialect, protected=False)
    async with server.at_work() as stage:
        server.shows(stage)
        seen(stage, *(member(f"p{number}", dialect, scheduler="volcano") for number in range(pods)))
        await asyncio.sleep(60)
    assert server.api.calls == []


@shared
async def test_a_group_is_ours_as_soon_as_a_pod_of_it_is(dialect):
    server = Server(dialect, protected=False)
    async with server.at_work() as stage:
        server.shows(stage)
        await rested(stage)
        seen(stage, member("a", dialect, phase="Running"), member("b", dialect, phase="Running", scheduler="volcano"))
        await rested(stage)
    assert (server.status["phase"], server.status["running"]) == ("Running", 2)


@pytest.mark.parametrize(
    "spec",
    [
        {"schedulerName": "muster"},
        {"tasks": [{"template": {"spec": {}}}, {"template": {"spec": {"schedulerName": "muster"}}}]},
    ],
)
async def test_a_group_without_pods_is_let_in_if_whoever_makes_them_names_us(spec):
    server = Server(VOLCANO, protected=False, maker=MAKER)
    server.api.on("GET", MAKERS, made_by(**spec))
    async with server.at_work() as stage:
        server.shows(stage)
        await rested(stage)
    assert server.status["phase"] == "Inqueue"


@pytest.mark.parametrize(
    "answer", [made_by(schedulerName="volcano"), made_by("another", schedulerName="muster"), NOT_FOUND, refusal(403)]
)
async def test_a_group_without_pods_is_not_let_in_if_whoever_makes_them_does_not_name_us(answer):
    server = Server(VOLCANO, protected=False, maker=MAKER)
    server.api.on("GET", MAKERS, answer)
    async with server.at_work() as stage:
        server.shows(stage)
        await asyncio.sleep(60)
        server.shows(stage)
        await asyncio.sleep(60)
    assert [call.method for call in server.api.calls] == ["GET"]


def nested(depth):
    """A maker whose spec is that deep; no encoder of Python's goes there."""
    spec = b'{"a":' * depth + b"1" + b"}" * depth
    return Reply(b'{"metadata":{"name":"v","namespace":"team","uid":"uid-v"},"spec":' + spec + b"}")


@pytest.mark.parametrize("answer", [refusal(400), refusal(405), nested(990), nested(100_000)])
async def test_a_maker_of_whom_nothing_can_be_known_is_asked_once(answer):
    server = Server(VOLCANO, protected=False, maker=MAKER)
    server.api.on("GET", MAKERS, answer)
    async with server.at_work() as stage:
        for _ in range(3):
            server.shows(stage)
            await asyncio.sleep(60)
    assert [call.method for call in server.api.calls] == ["GET"]


async def test_a_maker_whose_kind_is_more_than_a_name_is_asked_for_nothing_else():
    # a watch would not end, and all other requests would be taken for too many
    server = Server(VOLCANO, protected=False, maker=MAKER | {"kind": "Job?watch=1&", "apiVersion": "v1?a/v#b"})
    async with server.at_work() as stage:
        server.shows(stage)
        await asyncio.sleep(60)
    assert {call.path for call in server.api.calls} == {"/apis/v1%3Fa/v%23b/namespaces/team/job%3Fwatch%3D1%26s/v"}


async def test_whoever_makes_the_pods_is_asked_until_it_answers():
    server = Server(VOLCANO, protected=False, maker=MAKER)
    server.api.on("GET", MAKERS, refusal(503), refusal(500), made_by(schedulerName="muster"))
    async with server.at_work() as stage:
        server.shows(stage)
        await asyncio.sleep(60)
    assert server.status["phase"] == "Inqueue"


@pytest.mark.parametrize("maker", [None, MAKER], ids=["nobody", "a job"])
@pytest.mark.parametrize(("names", "phase"), [(("muster", "volcano"), "Inqueue"), (("muster",), None)])
async def test_who_has_volcanos_name_lets_in_what_nobody_keeps_for_another(maker, names, phase):
    server = Server(VOLCANO, protected=False, maker=maker)
    server.api.on("GET", MAKERS, made_by(tasks=[{"template": {"spec": {"schedulerName": ""}}}]))
    async with server.at_work(names=names) as stage:
        server.shows(stage)
        await rested(stage)
    assert server.status.get("phase") == phase
