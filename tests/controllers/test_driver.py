"""The driver between controllers and a server: on an event loop with virtual time, over a wire that may break."""

import asyncio
import itertools

import msgspec
import pytest

from muster.api.calls import Create, Delete, Done, Look, Lost, Patch, Refused, Replace, Say
from muster.api.resources import NODES, PODS, Resource
from muster.base.errors import ApiError, Unreachable
from muster.controllers.driver import Kind, _collection
from muster.controllers.job_objects import Job
from muster.controllers.jobs import Jobs
from muster.controllers.objects import JOBS, Bare, Pod
from muster.local import kubelets
from tests.controllers.server import Server, running
from tests.controllers.world import START

pytestmark = pytest.mark.looptime

MAPS = Resource("", "v1", "configmaps", "ConfigMap")


class Scripted:
    """A core that makes the calls that it is told to, and remembers what it is told."""

    def __init__(self, *calls):
        self.calls = list(calls)
        self.told = []
        self.answers = []
        self.next_at = None

    def seen(self, where, thing):
        self.told.append(("seen", thing.metadata.name, thing.metadata.resource_version))

    def gone(self, where, thing):
        self.told.append(("gone", thing.metadata.name))

    def work(self, now):
        calls, self.calls = self.calls, []
        return calls

    def answered(self, call, answer, now):
        self.answers.append(answer)

    def names(self):
        """What is known to be there, by what was told."""
        there = {}
        for word, name, *_ in self.told:
            if word == "seen":
                there[name] = True
            else:
                there.pop(name, None)
        return sorted(there)


def config(name="m"):
    return Create(path="/api/v1/namespaces/team/configmaps", body={"metadata": {"name": name}, "data": {}}, told=True)


WATCHES_MAPS = [Kind(MAPS, Bare)]


# --- a whole Job ---


def job(**spec):
    label = {"batch.kubernetes.io/controller-uid": "uid-j"}
    template = {
        "metadata": {"labels": label, "annotations": {"muster.dev/run-seconds": "5"}},
        "spec": {"restartPolicy": "Never", "nodeName": "n", "containers": [{"name": "c", "image": "i"}]},
    }
    filled = {"parallelism": 2, "completions": 6, "selector": {"matchLabels": label}, "template": template}
    return {"metadata": {"name": "j"}, "spec": {**filled, **spec}, "status": {}}


async def play(server, *, seconds=120):
    names = (f"{number:05}" for number in itertools.count())
    server.create(NODES, kubelets.node_document("n", now=server.clock()))
    server.create(JOBS, job(), uid="uid-j")
    most = 0
    controllers = (
        (kubelets.Kubelets(), [Kind(NODES, kubelets.Node), Kind(PODS, kubelets.Pod)]),
        (Jobs(names=names.__next__, groups=False), [Kind(JOBS, Job), Kind(PODS, Pod)]),
    )
    async with running(server, *controllers):
        for _ in range(seconds * 4):
            await asyncio.sleep(0.25)
            active = [pod for pod in server.all(PODS) if pod["status"]["phase"] in ("Pending", "Running")]
            most = max(most, len(active))
    status = server.get(JOBS, "j")["status"]
    assert [one["type"] for one in status["conditions"]] == ["SuccessCriteriaMet", "Complete"]
    assert (status["succeeded"], status["failed"]) == (6, 0)
    return most


async def test_a_job_runs_to_its_end():
    server = Server()
    assert await play(server) == 2
    assert len(server.all(PODS)) == 6


async def test_a_watch_that_lags_makes_no_pod_twice():
    server = Server()
    server.lag = 7.0
    assert await play(server, seconds=300) == 2
    assert len(server.all(PODS)) == 6


async def test_pods_that_are_not_needed_any_more_have_not_failed_however_late_the_watch_is():
    server = Server()
    server.lag = 3.0
    names = (f"{number:05}" for number in itertools.count())
    server.create(NODES, kubelets.node_document("n", now=server.clock()))
    policy = {"rules": [{"succeededCount": 1}]}
    server.create(JOBS, job(parallelism=4, completions=4, completionMode="Indexed", successPolicy=policy), uid="uid-j")
    controllers = (
        (kubelets.Kubelets(), [Kind(NODES, kubelets.Node), Kind(PODS, kubelets.Pod)]),
        (Jobs(names=names.__next__, groups=False), [Kind(JOBS, Job), Kind(PODS, Pod)]),
    )
    async with running(server, *controllers):
        await asyncio.sleep(3)
        first = server.all(PODS)[0]["metadata"]["name"]
        server.patch(PODS, first, {"metadata": {"annotations": {"muster.dev/run-seconds": "0"}}})
        await asyncio.sleep(60)
    status = server.get(JOBS, "j")["status"]
    assert [one["type"] for one in status["conditions"]] == ["SuccessCriteriaMet", "Complete"]
    assert status["failed"] == 0


async def test_answers_that_are_lost_make_no_pod_twice():
    server = Server()
    numbers = itertools.count()
    server.after = lambda method, path: Unreachable("cut") if method != "GET" and next(numbers) % 3 == 0 else None
    assert await play(server, seconds=300) == 2
    assert len(server.all(PODS)) == 6


async def test_watches_that_break_make_no_difference():
    server = Server()

    async def saw():
        while True:
            await asyncio.sleep(1.3)
            server.cut(PODS.path())
            server.cut(JOBS.path())

    sawing = asyncio.create_task(saw())
    assert await play(server, seconds=300) == 2
    sawing.cancel()
    assert len(server.all(PODS)) == 6


# --- calls ---


@pytest.mark.parametrize(
    ("call", "request_made"),
    [
        (config(), ("POST", "/api/v1/namespaces/team/configmaps")),
        (
            Patch(path="/api/v1/namespaces/team/configmaps/x", body={}),
            ("PATCH", "/api/v1/namespaces/team/configmaps/x"),
        ),
        (
            Replace(path="/api/v1/namespaces/team/configmaps/x", body={}),
            ("PUT", "/api/v1/namespaces/team/configmaps/x"),
        ),
        (Delete(path="/api/v1/namespaces/team/configmaps/x"), ("DELETE", "/api/v1/namespaces/team/configmaps/x")),
        (Look(path="/api/v1/namespaces/team/configmaps/x"), ("GET", "/api/v1/namespaces/team/configmaps/x")),
    ],
)
async def test_each_call_is_a_request(call, request_made):
    server = Server()
    server.create(MAPS, {"metadata": {"name": "x"}, "data": {}})
    core = Scripted(call)
    async with running(server, (core, WATCHES_MAPS)):
        await asyncio.sleep(1)
    assert request_made in server.requests
    assert [type(answer) for answer in core.answers] == [Done]


async def test_own_writes_are_seen_at_once_and_once():
    server = Server()
    server.lag = 5.0
    core = Scripted(config())
    async with running(server, (core, WATCHES_MAPS)):
        await asyncio.sleep(1)
        assert core.told == [("seen", "m", "1")]
        await asyncio.sleep(10)
        assert core.told == [("seen", "m", "1")]


async def test_a_refusal_is_an_answer():
    server = Server()
    core = Scripted(Patch(path="/api/v1/namespaces/team/configmaps/none", body={}))
    async with running(server, (core, WATCHES_MAPS)):
        await asyncio.sleep(1)
    assert core.answers == [Refused(code=404, reason="NotFound", message='"none" not found')]


async def test_a_busy_server_is_asked_again():
    server = Server()
    core = Scripted(config())
    busy = iter(range(3))
    server.before = lambda method, path: (
        ApiError("busy", code=429, retry_after=2.0) if method == "POST" and next(busy, None) is not None else None
    )
    async with running(server, (core, WATCHES_MAPS)):
        await asyncio.sleep(5)
        assert core.answers == []
        await asyncio.sleep(2)
        assert isinstance(core.answers[0], Done)


async def test_an_object_whose_making_was_not_answered_is_not_made_twice():
    server = Server()
    core = Scripted(config())
    cuts = iter(range(2))
    server.after = lambda method, path: (
        Unreachable("cut") if method == "POST" and next(cuts, None) is not None else None
    )
    async with running(server, (core, WATCHES_MAPS)):
        await asyncio.sleep(10)
    [answer] = core.answers
    assert msgspec.json.decode(answer.data)["metadata"]["name"] == "m"
    assert core.names() == ["m"]


async def test_a_change_that_was_not_answered_is_not_repeated():
    server = Server()
    server.create(MAPS, {"metadata": {"name": "m"}, "data": {}})
    core = Scripted(Patch(path="/api/v1/namespaces/team/configmaps/m", body={"data": {"a": "b"}}))
    server.after = lambda method, path: Unreachable("cut") if method == "PATCH" else None
    async with running(server, (core, WATCHES_MAPS)):
        await asyncio.sleep(10)
    assert core.answers == [Lost("cut")]
    assert len([one for one in server.requests if one[0] == "PATCH"]) == 1


async def test_an_object_that_went_while_nobody_watched_is_asked_after():
    server = Server()
    core = Scripted()
    async with running(server, (core, WATCHES_MAPS)) as driver:
        # made and gone, and no watch ever knew of it
        server.mute = True
        core.calls = [config()]
        driver.wake()
        await asyncio.sleep(1)
        assert core.names() == ["m"]
        server.vanish(MAPS, "m")
        await asyncio.sleep(60)
        assert core.names() == []


async def test_what_is_said_is_written_and_counted():
    server = Server()
    said = Say(component="c", kind="ConfigMap", api_version="v1", name="m", namespace="team", reason="R", message="why")
    core = Scripted(said, said)
    async with running(server, (core, WATCHES_MAPS)) as driver:
        await asyncio.sleep(1)
        [event] = server.all(Resource("", "v1", "events", "Event"))
        assert (event["reason"], event["count"]) == ("R", 2)
        server.objects["/api/v1/events"].clear()
        core.calls = [said]
        driver.wake()
        await asyncio.sleep(1)
        [event] = server.all(Resource("", "v1", "events", "Event"))
        assert event["count"] == 1, "it was gone, so it is said anew"
    assert core.answers == []


# --- cores ---


async def test_a_core_with_a_bug_does_not_stop_the_others():
    server = Server()
    bad, good = Scripted(), Scripted(config())
    bad.work = lambda now: 1 / 0
    async with running(server, (bad, WATCHES_MAPS), (good, WATCHES_MAPS)):
        bad.work = lambda now: []
        await asyncio.sleep(1)
    assert len(good.answers) == 1


async def test_a_core_that_fails_at_an_answer_does_not_stop_the_others():
    server = Server()
    bad, good = Scripted(config("a")), Scripted(config("b"))
    bad.answered = lambda call, answer, now: 1 / 0
    async with running(server, (bad, WATCHES_MAPS), (good, WATCHES_MAPS)) as driver:
        await asyncio.sleep(1)
        good.calls = [config("c")]
        driver.wake()
        await asyncio.sleep(1)
    assert len(good.answers) == 2


async def test_a_core_is_woken_when_its_time_has_come():
    server = Server()
    core = Scripted()
    times = []

    def work(now):
        times.append(now - START)
        core.next_at = now + 10 if len(times) < 4 else None
        return []

    core.work = work
    async with running(server, (core, WATCHES_MAPS)):
        await asyncio.sleep(60)
    assert [round(time) for time in times[-4:]] == [0, 10, 20, 30]


async def test_kinds_may_come_and_go_while_it_runs():
    server = Server()
    server.create(MAPS, {"metadata": {"name": "m"}, "data": {}})
    core = Scripted()
    async with running(server, (core, [])) as driver:
        assert core.told == []
        driver.attach(core, WATCHES_MAPS)
        await asyncio.sleep(1)
        assert core.names() == ["m"]
        driver.detach(core, WATCHES_MAPS)
        server.delete(MAPS, "m")
        await asyncio.sleep(1)
        assert core.names() == ["m"], "nobody told it anything"
        server.create(MAPS, {"metadata": {"name": "later"}, "data": {}})
        driver.attach(core, WATCHES_MAPS)
        await asyncio.sleep(1)
        assert core.names() == ["later", "m"]


class Eager(Scripted):
    """A core that wants to work at once."""

    def __init__(self):
        super().__init__()
        self.next_at = 0.0

    def work(self, now):
        self.next_at = None
        return super().work(now)


async def test_a_core_is_not_asked_before_it_has_read_all_that_it_is_to_know():
    server = Server()
    slow, other = Eager(), Scripted()
    async with running(server, (slow, []), (other, [])) as driver:
        server.before = lambda method, path: Unreachable("not yet") if path == "/api/v1/configmaps" else None
        driver.attach(slow, WATCHES_MAPS)
        slow.next_at, slow.calls, other.calls = 0.0, [config("a")], [config("b")]
        driver.wake()
        await asyncio.sleep(30)
        assert (slow.answers, len(other.answers)) == ([], 1)
        server.before = lambda method, path: None
        await asyncio.sleep(60)
        assert len(slow.answers) == 1


async def test_a_kind_that_one_core_reads_no_more_is_read_on_for_the_others():
    server = Server()
    one, other = Scripted(), Scripted()
    async with running(server, (one, WATCHES_MAPS), (other, WATCHES_MAPS)) as driver:
        driver.detach(one, WATCHES_MAPS)
        server.create(MAPS, {"metadata": {"name": "m"}, "data": {}})
        await asyncio.sleep(1)
        assert (one.names(), other.names()) == ([], ["m"])


async def test_a_core_that_comes_late_is_told_what_others_know():
    server = Server()
    server.create(MAPS, {"metadata": {"name": "m"}, "data": {}})
    first, late = Scripted(), Scripted()
    async with running(server, (first, WATCHES_MAPS)) as driver:
        driver.attach(late, WATCHES_MAPS)
        assert late.names() == ["m"]
        assert len([one for one in server.requests if one[0] == "GET"]) == 1, "read once for both"


@pytest.mark.parametrize(
    ("path", "where"),
    [
        ("/api/v1/namespaces/team/pods", "/api/v1/pods"),
        ("/api/v1/namespaces/team/pods/p", "/api/v1/pods"),
        ("/api/v1/namespaces/team/pods/p/status", "/api/v1/pods"),
        ("/api/v1/nodes/n", "/api/v1/nodes"),
        ("/api/v1/nodes/n/status", "/api/v1/nodes"),
        ("/api/v1/namespaces", "/api/v1/namespaces"),
        ("/api/v1/namespaces/team", "/api/v1/namespaces"),
        ("/api/v1/namespaces/team/status", "/api/v1/namespaces"),
        ("/api/v1/namespaces/team/finalize", "/api/v1/namespaces"),
        ("/apis/batch/v1/namespaces/team/jobs/j/status", "/apis/batch/v1/jobs"),
        ("/apis/scheduling.k8s.io/v1/priorityclasses/p", "/apis/scheduling.k8s.io/v1/priorityclasses"),
    ],
)
def test_a_path_tells_its_kind(path, where):
    assert _collection(path) == where
