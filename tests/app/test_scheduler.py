"""How decisions are carried out: what is sent, in which order, and what is not lost on the way."""

import asyncio
from types import SimpleNamespace

import pytest
from structlog.testing import capture_logs

from muster.api.resources import NATIVE_POD_GROUPS
from muster.api.wire import Metadata, Pod, PodGroup, PodStatus
from muster.cluster.pods import Setbacks
from muster.cluster.pods import Stage as PodStage
from muster.controllers.protection import FINALIZER
from muster.engine.changes import PodGone
from muster.engine.decisions import Evict, GangCondition, Loss, Lost, Release
from muster.gangs.dialects import DIALECTS, NATIVE
from muster.gangs.model import Aspect
from tests.app.stage import START, Stage, at_work, binds, evicts, obliging, path, ref, waits
from tests.kube.server import Held, Reply, refusal

pytestmark = pytest.mark.looptime


@pytest.fixture
def api():
    return obliging()


# nominations


async def test_each_pod_is_nominated_to_its_own_node(api):
    async with at_work(api) as stage:
        await stage.carry_out(waits("a", "b", on=("n1", "n2")))
        assert {call.path: call.document["status"]["nominatedNodeName"] for call in api.calls} == {
            path("a", "status"): "n1",
            path("b", "status"): "n2",
        }


async def test_pods_that_are_nominated_nowhere_say_so(api):
    async with at_work(api) as stage:
        await stage.carry_out(waits("a", "b"))
        assert [status["nominatedNodeName"] for status in stage.said()] == [None, None]


async def test_nobody_is_evicted_before_it_is_written_for_whom(api):
    eviction = evicts("c")
    async with at_work(api, places=1) as stage:
        await stage.carry_out(waits("b"), eviction, waits("a", on=("n1",)))
        assert stage.sent() == [
            ("PATCH", path("a", "status")),
            ("PATCH", path("c", "status")),
            ("DELETE", path("c")),
            ("PATCH", path("b", "status")),
        ]


REFUSED = [refusal(422)] * 20


async def test_a_nomination_is_written_however_often_the_server_refuses(api):
    api.on("PATCH", path("a", "status"), *REFUSED, Reply({}))
    async with at_work(api) as stage:
        await stage.carry_out(waits("a", on=("n1",)))
        assert len(api.calls) == 21


async def test_the_end_of_a_nomination_is_written_however_often_the_server_refuses(api):
    async with at_work(api) as stage:
        await stage.carry_out(waits("a", on=("n1",)))
        api.on("PATCH", path("a", "status"), *REFUSED, Reply({}))
        await stage.carry_out(waits("a", transition=False))
        assert len(api.calls) == 22
        assert stage.said()[-1]["nominatedNodeName"] is None


async def test_an_ordinary_condition_that_is_refused_is_given_up(api):
    api.on("PATCH", path("a", "status"), *REFUSED)
    async with at_work(api) as stage:
        await stage.carry_out(waits("a"))
        assert len(api.calls) == 1


async def test_the_latest_of_several_nominations_is_the_one_that_is_written(api):
    held = Held(Reply({}))
    api.on("PATCH", path("a", "status"), held, Reply({}))
    async with at_work(api) as stage:
        await stage.decide(waits("a", on=("n1",)))
        await stage.decide(waits("a", on=("n2",)))
        await stage.decide(waits("a"))
        held.gate.set()
        await stage.outbox.done()
        assert [status["nominatedNodeName"] for status in stage.said()] == ["n1", None]


# times


def times(stage):
    return [status["conditions"][0].get("lastTransitionTime") for status in stage.said()]


async def test_a_condition_that_replaces_one_that_was_never_sent_has_its_time(api):
    held = Held(Reply({}))
    api.on("PATCH", path("b", "status"), held)
    async with at_work(api, places=1) as stage:
        await stage.decide(waits("b"))
        await stage.decide(waits("a"))
        await asyncio.sleep(10)
        await stage.decide(waits("a", message="less room", transition=False))
        held.gate.set()
        await stage.outbox.done()
        assert times(stage) == ["2027-01-15T08:00:00Z", "2027-01-15T08:00:00Z"]
        assert stage.said()[-1]["conditions"][0]["message"] == "less room"


async def test_a_condition_that_follows_one_that_failed_has_its_time(api):
    api.on("PATCH", path("a", "status"), refusal(422), Reply({}))
    async with at_work(api) as stage:
        await stage.carry_out(waits("a"))
        await asyncio.sleep(10)
        await stage.carry_out(waits("a", message="less room", transition=False))
        assert times(stage) == ["2027-01-15T08:00:00Z"] * 2


async def test_a_condition_that_follows_one_that_was_written_leaves_the_time_alone(api):
    async with at_work(api) as stage:
        await stage.carry_out(waits("a"))
        await stage.carry_out(waits("a", message="less room", transition=False))
        assert times(stage) == ["2027-01-15T08:00:00Z", None]


async def test_a_time_that_a_refused_bind_replaced_is_written_after_it(api):
    held = Held(Reply({}, 201))
    api.on("POST", path("b", "binding"), held)
    api.on("POST", path("a", "binding"), refusal(422))
    async with at_work(api, places=1) as stage:
        await stage.decide(binds("b"), waits("a"))
        await stage.decide(binds("a"))
        held.gate.set()
        await stage.outbox.done()
        await stage.carry_out(waits("a", message="denied", transition=False))
        assert times(stage) == ["2027-01-15T08:00:00Z"]


# binds


async def test_what_a_bind_replaced_is_said_if_the_bind_is_refused(api):
    held = Held(Reply({}, 201))
    api.on("POST", path("b", "binding"), held)
    api.on("POST", path("a", "binding"), refusal(422))
    async with at_work(api, places=1) as stage:
        await stage.decide(binds("b"), waits("a"))
        await stage.decide(binds("a"))
        held.gate.set()
        await asyncio.sleep(1)
        assert [status["conditions"][0]["message"] for status in stage.said()] == ["no room"]


@pytest.mark.parametrize("answers", [[refusal(500), Reply({}, 201)], [Reply({}, 201)]])
async def test_what_a_bind_replaced_is_not_said_if_the_pod_may_be_bound(api, answers):
    held = Held(Reply({}, 201))
    api.on("POST", path("b", "binding"), held)
    api.on("POST", path("a", "binding"), *answers)
    async with at_work(api, places=1) as stage:
        await stage.decide(binds("b"), waits("a"))
        await stage.decide(binds("a"))
        held.gate.set()
        await asyncio.sleep(1)
        await stage.carry_out(binds("a"))
        assert stage.said() == []


async def test_who_is_to_stop_does_not_go_in_circles_while_a_bind_waits_for_its_next_try(api):
    stage = Stage(api, places=1)
    stage.engine.next_decide_at = START
    stage.engine.cluster.pods["uid-a"] = SimpleNamespace(stage=PodStage.BINDING, setbacks=Setbacks(retries_later=True))
    stage.scheduler.stop()
    finishing = asyncio.ensure_future(stage.scheduler.finish())
    await asyncio.sleep(3)
    turns = stage.engine.turns
    assert 10 < turns < 100
    stage.engine.cluster.pods.clear()
    await finishing


async def test_who_is_to_stop_does_not_wait_for_volumes(api):
    stage = Stage(api, places=1)
    stage.engine.cluster.pods["uid-a"] = SimpleNamespace(stage=PodStage.BINDING, setbacks=Setbacks(answered=True))
    stage.scheduler.stop()
    await asyncio.wait_for(stage.scheduler.finish(), 5)


# groups


async def test_a_gang_says_that_it_has_started_before_it_says_that_it_lost_members(api):
    group = PodGroup(metadata=Metadata(name="g", namespace="team", uid="uid-g"))
    where = NATIVE_POD_GROUPS[0].path("team", "g", "status")
    api.on("PATCH", where, refusal(500), Reply({}), Reply({}), Reply({}))
    async with at_work(api) as stage:
        stage.informers.groups.seen(NATIVE, group)
        stage.informers.declaring[NATIVE].resource = NATIVE_POD_GROUPS[0]
        await stage.decide(GangCondition("team/g", True, "Scheduled", "all bound"))
        await stage.decide(GangCondition("team/g", True, "MembersLost", "one left", Aspect.BELOW_MINIMUM))
        await stage.outbox.done()
        said = [status["conditions"][0]["type"] for status in stage.said()]
        assert said[:3] == ["PodGroupInitiallyScheduled", "PodGroupInitiallyScheduled", "PodGroupBelowMinimum"]


@pytest.mark.parametrize("holds", [True, False])
async def test_that_a_gang_was_evicted_whole_or_runs_again_is_written_until_it_stands(api, holds):
    group = PodGroup(metadata=Metadata(name="g", namespace="team", uid="uid-g"))
    where = NATIVE_POD_GROUPS[0].path("team", "g", "status")
    api.on("PATCH", where, refusal(500), refusal(500), Reply({}))
    async with at_work(api) as stage:
        stage.informers.groups.seen(NATIVE, group)
        stage.informers.declaring[NATIVE].resource = NATIVE_POD_GROUPS[0]
        await stage.decide(GangCondition("team/g", holds, "r", "m", Aspect.EVICTED))
        await stage.outbox.done()
        said = [status["conditions"][0] for status in stage.said()]
        assert [(one["type"], one["status"]) for one in said] == [("DisruptionTarget", str(holds))] * 3


# binds and nominations


async def test_a_bind_takes_the_place_of_a_nomination_that_was_not_sent(api):
    held = Held(Reply({}))
    api.on("PATCH", path("b", "status"), held)
    async with at_work(api, places=1) as stage:
        await stage.decide(waits("b", on=("n1",)))
        await stage.decide(waits("a", on=("n2",)))
        await stage.decide(binds("a", "n2"))
        held.gate.set()
        await stage.outbox.done()
        assert stage.sent() == [("PATCH", path("b", "status")), ("POST", path("a", "binding"))]


@pytest.mark.parametrize("name", ["bound", "gone"])
async def test_nothing_is_kept_of_pods_that_are(api, name):
    api.on("PATCH", path("a", "status"), refusal(422))
    async with at_work(api) as stage:
        await stage.carry_out(waits("b", on=("n1",)), waits("a"))
        assert stage.scheduler._writer._pods
        if name == "bound":
            await stage.carry_out(binds("a"), binds("b"))
        else:
            await stage.decide(told=PodGone("uid-a"))
            await stage.decide(told=PodGone("uid-b"))
        assert not stage.scheduler._writer._pods


# evictions


@pytest.mark.parametrize("kind", [Evict, Release])
async def test_who_must_go_is_told_why_and_deleted_by_uid(api, kind):
    async with at_work(api) as stage:
        await stage.carry_out(kind("team/b", (ref("a"),), "PreemptionByScheduler", "for team/b"))
        said, deletion = api.calls
        (condition,) = said.document["status"]["conditions"]
        assert (condition["type"], condition["status"]) == ("DisruptionTarget", "True")
        assert (condition["reason"], condition["message"]) == ("PreemptionByScheduler", "for team/b")
        assert deletion.method == "DELETE"
        assert deletion.document["preconditions"] == {"uid": "uid-a"}


async def test_a_word_from_before_does_not_let_an_eviction_go(api):
    held, second = Held(Reply({})), Held(Reply({}))
    api.on("PATCH", path("a", "status"), held, second)
    async with at_work(api) as stage:
        await stage.decide(waits("a"))
        await stage.decide(waits("a", on=("n1",)), evicts("c"))
        held.gate.set()
        await asyncio.sleep(1)
        assert not api.asked("DELETE")
        second.gate.set()
        await stage.outbox.done()
        assert [status.get("nominatedNodeName") for status in stage.said()[:2]] == [None, "n1"]
        assert api.asked("DELETE")


async def test_an_eviction_that_is_refused_is_tried_until_it_is_done(api):
    api.on("DELETE", path("a"), *[refusal(403)] * 20, Reply({}))
    async with at_work(api) as stage:
        await stage.carry_out(Evict("team/b", (ref("a"),), "PreemptionByScheduler", "for team/b"))
        assert len(api.asked("DELETE")) == 21


async def test_an_eviction_in_vain_is_in_the_log_with_its_reason(api):
    with capture_logs() as logs:
        async with at_work(api) as stage:
            await stage.carry_out(Lost("team/b", Loss.NODE, "n1 went"))
    [line] = [line for line in logs if line["event"] == "evicted in vain"]
    assert (line["unit"], line["reason"], line["why"]) == ("team/b", "node lost", "n1 went")
    assert line["log_level"] == "warning"
    assert api.calls == []


# groups in use

OWN = "scheduling.k8s.io/podgroup-protection"
GROUP_PATH = NATIVE_POD_GROUPS[0].path("team", "g")


def native_group(stage, *finalizers, version="1", leaving=False):
    stage.informers.declaring[NATIVE].resource = NATIVE_POD_GROUPS[0]
    meta = Metadata(
        name="g",
        namespace="team",
        uid="uid-g",
        resource_version=version,
        finalizers=finalizers,
        deletion_timestamp="2027-01-15T08:00:00Z" if leaving else None,
    )
    stage.informers.groups.seen(NATIVE, PodGroup(metadata=meta))


def labelled(phase="Running"):
    meta = Metadata(name="a", namespace="team", uid="uid-a", labels={"muster.dev/pod-group": "g"})
    return Pod(metadata=meta, status=PodStatus(phase=phase))


async def test_a_native_group_is_protected_while_a_pod_names_it_by_label(api):
    api.on("PATCH", GROUP_PATH, Reply({}))
    async with at_work(api) as stage:
        native_group(stage, OWN)
        await stage.carry_out()
        assert api.calls == []
        stage.informers.named_by_label.seen(labelled())
        await stage.carry_out()
        native_group(stage, OWN, FINALIZER, version="2")
        await stage.carry_out()
        stage.informers.named_by_label.seen(labelled("Succeeded"))
        await stage.carry_out()
    assert [(call.path, call.document["metadata"]) for call in api.calls] == [
        (GROUP_PATH, {"uid": "uid-g", "resourceVersion": "1", "finalizers": [OWN, FINALIZER]}),
        (GROUP_PATH, {"uid": "uid-g", "resourceVersion": "2", "finalizers": [OWN]}),
    ]


async def test_a_group_that_is_deleted_while_gangs_are_off_stays_as_long_as_pods_name_it(api):
    api.on("PATCH", GROUP_PATH, Reply({}))
    async with at_work(api, closed=DIALECTS) as stage:
        stage.informers.groups.pod_seen(labelled())
        native_group(stage, FINALIZER, leaving=True)
        await stage.carry_out()
        assert api.calls == []
        stage.informers.groups.pod_seen(labelled("Succeeded"))
        await stage.carry_out()
    assert [call.document["metadata"]["finalizers"] for call in api.calls] == [[]]


async def test_protection_that_is_needed_again_is_not_taken_off_by_an_errand_that_waited(api):
    """The pods of one run have ended, and those of the next come before that was acted on."""
    bind = Held(Reply({}, 201))
    api.on("POST", path("b", "binding"), bind)
    api.on("PATCH", GROUP_PATH, Reply({}))
    async with at_work(api, places=1) as stage:
        native_group(stage, OWN, FINALIZER)
        await stage.decide(binds("b"))
        stage.informers.named_by_label.seen(labelled())
        await stage.decide()
        bind.gate.set()
        await stage.outbox.done()
    assert [call.method for call in api.calls] == ["POST"]
