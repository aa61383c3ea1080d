"""What should stand on the API: what an eviction waits for, how it is called off, and what newer words do not lose."""

import asyncio

import pytest
from msgspec.structs import replace

from muster.api.resources import CUSTOM_POD_GROUPS, NATIVE_POD_GROUPS
from muster.api.wire import Condition, Metadata, PodGroup, read
from muster.controllers.protection import FINALIZER
from muster.engine.changes import BindFailed, Failure, GroupGone, GroupRead, PodGone, Spared
from muster.engine.decisions import Bind, Event, GangCondition, MarkStarted, Reread
from muster.gangs.dialects import CUSTOM, DIALECTS, DRAFT, NATIVE, V1ALPHA1
from muster.gangs.dialects.coscheduling import CoschedulingGroup, CoschedulingStatus
from muster.gangs.model import Aspect
from tests.app.stage import Stage, at_work, binds, calls_off, evicts, obliging, path, ref, waits
from tests.builders import STARTED as STARTED_CONDITION
from tests.builders import group, pod
from tests.kube.server import Held, Reply, refusal, until

pytestmark = pytest.mark.looptime

EVENTS = "/apis/events.k8s.io/v1/namespaces/team/events"
COSCHEDULING = next(dialect for dialect in DIALECTS if dialect.name == "coscheduling")


@pytest.fixture
def api():
    api = obliging()
    api.on("POST", EVENTS, Reply({}, 201))
    return api


def hold(api, method, where, answer=None):
    """The server answers the first such request only when its gate is set."""
    held = Held(answer or Reply({}))
    api.on(method, where, held, Reply({}))
    return held.gate


def spared(stage):
    return [change.uids for change in stage.engine.told if isinstance(change, Spared)]


def deleted(api):
    return [call.path.rpartition("/")[2] for call in api.asked("DELETE")]


# what an eviction waits for


async def test_an_eviction_goes_at_once_if_the_nomination_stands(api):
    async with at_work(api) as stage:
        await stage.carry_out(waits("a", on=("n1",)))
        await stage.carry_out(evicts("c"))
        assert deleted(api) == ["c"]


async def test_an_eviction_waits_however_often_the_nomination_is_refused(api):
    api.on("PATCH", path("a", "status"), *[refusal(422)] * 20, Reply({}))
    async with at_work(api) as stage:
        await stage.decide(evicts("c"), waits("a", on=("n1",)))
        await asyncio.sleep(10)
        assert deleted(api) == []
        await stage.outbox.done()
        assert deleted(api) == ["c"]


async def test_an_eviction_goes_when_all_of_its_nominations_stand(api):
    first, second = hold(api, "PATCH", path("a", "status")), hold(api, "PATCH", path("b", "status"))
    both = replace(evicts("c"), after=("uid-a", "uid-b"))
    async with at_work(api) as stage:
        await stage.decide(waits("a", "b", on=("n1", "n2")), both)
        first.set()
        await asyncio.sleep(1)
        assert deleted(api) == []
        second.set()
        await stage.outbox.done()
        assert deleted(api) == ["c"]


async def test_nobody_goes_for_a_pod_that_is_gone_before_it_is_nominated(api):
    api.on("PATCH", path("a", "status"), refusal(404))
    async with at_work(api) as stage:
        await stage.carry_out(waits("a", on=("n1",)), evicts("c"))
        assert deleted(api) == []
        await stage.decide(calls_off("c"), told=PodGone("uid-a"))
        await stage.decide()
        assert (deleted(api), spared(stage)) == ([], [("uid-c",)])


async def test_nobody_goes_for_a_pod_that_is_bound_before_it_is_nominated(api):
    gate = hold(api, "PATCH", path("b", "status"))
    async with at_work(api, places=1) as stage:
        await stage.decide(waits("b", on=("n2",)))
        await stage.decide(waits("a", on=("n1",)), evicts("c"))
        await stage.decide(calls_off("c"), binds("a"))
        gate.set()
        await stage.outbox.done()
        await stage.decide()
        assert (deleted(api), spared(stage)) == ([], [("uid-c",)])


async def test_an_eviction_that_is_decided_anew_waits_for_whom_it_is_now(api):
    first, second = hold(api, "PATCH", path("a", "status")), hold(api, "PATCH", path("b", "status"))
    async with at_work(api) as stage:
        await stage.decide(waits("a", on=("n1",)), evicts("c"))
        await stage.decide(waits("b", on=("n1",)), evicts("c", unit="b"))
        first.set()
        await asyncio.sleep(1)
        assert deleted(api) == []
        second.set()
        await stage.outbox.done()
        assert deleted(api) == ["c"]
        assert stage.said()[-1]["conditions"][0]["message"] == "for b"


async def test_a_pod_that_is_bound_meanwhile_is_evicted_all_the_same(api):
    bind, nomination = hold(api, "POST", path("c", "binding")), hold(api, "PATCH", path("a", "status"))
    async with at_work(api) as stage:
        await stage.decide(binds("c"))
        await stage.decide(waits("a", on=("n1",)), evicts("c"))
        bind.set()
        await asyncio.sleep(1)
        nomination.set()
        await stage.outbox.done()
        assert deleted(api) == ["c"]


async def test_the_event_of_an_eviction_comes_with_its_deletion(api):
    gate = hold(api, "PATCH", path("a", "status"))
    async with at_work(api) as stage:
        await stage.decide(waits("a", on=("n1",)), evicts("c", note="Preempted by pod uid-a on node n1"))
        await asyncio.sleep(1)
        assert not api.asked("POST")
        gate.set()
        await stage.outbox.done()
        (event,) = [call.document for call in api.asked("POST")]
        assert (event["reason"], event["note"]) == ("Preempted", "Preempted by pod uid-a on node n1")
        assert event["regarding"]["uid"] == "uid-c"


WORKLOAD = {"metadata": {"name": "w", "namespace": "team", "uid": "uid-w"}}
GROUPS = {"spec": {"podGroups": [{"name": "workers", "policy": {"gang": {"minCount": 3}}}]}}


@pytest.mark.parametrize(
    ("dialect", "replica", "part"),
    [(V1ALPHA1, "", "workers"), (V1ALPHA1, "r0", "workers/r0"), (DRAFT, "", "workers")],
    ids=["1.35", "replica", "draft"],
)
async def test_the_event_of_a_gang_stands_on_the_workload_that_declares_it_and_says_which_gang(
    api, dialect, replica, part
):
    async with at_work(api) as stage:
        stage.informers.declaring[dialect].resource = dialect.resources[-1]
        stage.informers.groups.seen(dialect, read(dialect.kind, WORKLOAD | GROUPS))
        labels = {"muster.dev/workload": "w", "muster.dev/workload-pod-group": "workers"}
        one = pod("one", labels=labels | {"muster.dev/replica-key": replica})
        stage.informers.groups.pod_seen(replace(one, metadata=replace(one.metadata, namespace="team")))
        await stage.carry_out(Event(reason="FailedScheduling", note="no room", action="x", gang=f"team/w/{part}"))
    (event,) = [call.document for call in api.asked("POST")]
    about = event["regarding"]
    assert (about["kind"], about["namespace"], about["name"], about["uid"]) == ("Workload", "team", "w", "uid-w")
    assert event["note"] == f"{part}: no room"


async def test_an_older_nomination_does_not_let_an_eviction_go(api):
    first, second = Held(Reply({})), Held(Reply({}))
    api.on("PATCH", path("a", "status"), first, second)
    async with at_work(api) as stage:
        await stage.decide(waits("a", on=("n1",)))
        await stage.decide(waits("a", on=("n2",)), evicts("c"))
        first.gate.set()
        await asyncio.sleep(1)
        assert deleted(api) == []
        second.gate.set()
        await stage.outbox.done()
        assert deleted(api) == ["c"]


async def test_an_eviction_that_is_tried_again_has_one_event(api):
    api.on("DELETE", path("c"), refusal(500), refusal(500), Reply({}))
    async with at_work(api) as stage:
        await stage.carry_out(evicts("c", note="once"))
        assert (len(deleted(api)), len(api.asked("POST"))) == (3, 1)


# calling off


async def test_an_eviction_that_is_called_off_while_it_waits_does_not_go_out(api):
    gate = hold(api, "PATCH", path("a", "status"))
    async with at_work(api) as stage:
        await stage.decide(waits("a", on=("n1",)), evicts("c", note="never said"))
        await stage.decide(waits("a", transition=False), calls_off("c"))
        gate.set()
        await stage.outbox.done()
        await stage.decide()
        assert (deleted(api), spared(stage)) == ([], [("uid-c",)])
        assert stage.sent() == [("PATCH", path("a", "status"))] * 2


async def test_an_eviction_is_called_off_in_the_turn_in_which_it_was_decided(api):
    async with at_work(api) as stage:
        await stage.carry_out(evicts("c"), calls_off("c"))
        await stage.decide()
        assert (stage.sent(), spared(stage)) == ([], [("uid-c",)])


async def test_an_eviction_that_waits_for_its_turn_to_be_sent_is_called_off(api):
    gate = hold(api, "PATCH", path("b", "status"))
    async with at_work(api, places=1) as stage:
        await stage.decide(waits("b", on=("n1",)))
        await stage.decide(evicts("c"))
        await stage.decide(calls_off("c"))
        gate.set()
        await stage.outbox.done()
        await stage.decide()
        assert (deleted(api), spared(stage)) == ([], [("uid-c",)])


@pytest.mark.parametrize("answer", [Reply({}), refusal(500)], ids=["done", "tried again"])
async def test_who_is_on_the_way_out_is_not_spared(api, answer):
    gate = hold(api, "DELETE", path("c"), answer)
    async with at_work(api) as stage:
        await stage.decide(evicts("c"))
        await stage.decide(calls_off("c"))
        gate.set()
        await stage.outbox.done()
        await stage.decide(calls_off("c"))
        await stage.decide()
        assert (set(deleted(api)), spared(stage)) == ({"c"}, [])


async def test_pods_that_go_together_are_spared_together_or_not_at_all(api):
    gate = hold(api, "DELETE", path("b"))
    async with at_work(api, places=1) as stage:
        await stage.decide(evicts("b", "c"))
        await asyncio.sleep(1)
        assert deleted(api) == ["b"]
        await stage.decide(calls_off("b", "c"))
        gate.set()
        await stage.outbox.done()
        await stage.decide()
        assert (deleted(api), spared(stage)) == (["b", "c"], [])


async def test_who_goes_with_one_on_its_way_out_does_not_wait_for_a_pod_that_is_gone(api):
    """Another unit takes the eviction over when a part of it was sent, and is gone before it is nominated."""
    gate = hold(api, "DELETE", path("b"))
    async with at_work(api, places=1) as stage:
        await stage.decide(evicts("b", "c"))
        await asyncio.sleep(1)
        assert deleted(api) == ["b"]
        await stage.decide(waits("a", on=("n1",)), evicts("b", "c"))
        await stage.decide(calls_off("b", "c"), told=PodGone("uid-a"))
        gate.set()
        await stage.outbox.done()
        await stage.decide()
        assert (deleted(api), spared(stage)) == (["b", "c"], [])


async def test_who_was_spared_can_be_evicted_again(api):
    async with at_work(api) as stage:
        await stage.carry_out(evicts("c"), calls_off("c"))
        await stage.carry_out(evicts("c"))
        assert deleted(api) == ["c"]


# stopping


async def test_a_stop_waits_for_evictions_that_wait_for_their_nominations(api):
    gate = hold(api, "PATCH", path("a", "status"))
    stage = Stage(api, places=1)
    stage.engine.coming = [waits("a", on=("n1",)), evicts("c")]
    stage.scheduler.stop()
    await stage.scheduler._turn()
    finishing = asyncio.ensure_future(stage.scheduler.finish())
    await asyncio.sleep(1)
    assert not finishing.done()
    gate.set()
    await finishing
    assert deleted(api) == ["c"]


async def test_a_stop_does_not_wait_for_evictions_whose_preemptor_is_gone(api):
    api.on("PATCH", path("a", "status"), refusal(404))
    stage = Stage(api, places=1)
    stage.engine.coming = [waits("a", on=("n1",)), evicts("c")]
    stage.scheduler.stop()
    await stage.scheduler._turn()
    await asyncio.wait_for(stage.scheduler.finish(), 5)
    assert deleted(api) == []


# what newer words would lose of older ones


def times(stage):
    return [status["conditions"][0].get("lastTransitionTime") for status in stage.said()]


async def test_the_first_of_two_times_is_the_true_one(api):
    gate = hold(api, "PATCH", path("b", "status"))
    async with at_work(api, places=1) as stage:
        await stage.decide(waits("b"))
        await stage.decide(waits("a"))
        await asyncio.sleep(10)
        await stage.decide(waits("a", message="less room"))
        gate.set()
        await stage.outbox.done()
        assert times(stage)[-1] == "2027-01-15T08:00:00Z"


async def test_a_time_that_came_while_something_older_was_sent_is_still_written(api):
    gate = hold(api, "PATCH", path("a", "status"))
    async with at_work(api) as stage:
        await stage.decide(waits("a", transition=False))
        await asyncio.sleep(10)
        await stage.decide(waits("a", message="less room"))
        gate.set()
        await stage.outbox.done()
        assert times(stage) == [None, "2027-01-15T08:00:10Z"]


async def test_a_nomination_whose_end_was_sent_before_it_was_decided_anew_is_ended_again(api):
    ending = Held(Reply({}))
    api.on("PATCH", path("a", "status"), Reply({}), ending, Reply({}), *[refusal(422)] * 20, Reply({}))
    async with at_work(api) as stage:
        await stage.carry_out(waits("a", on=("n1",)))
        await stage.decide(waits("a", transition=False))
        await stage.decide(waits("a", transition=False, on=("n2",)))
        ending.gate.set()
        await stage.outbox.done()
        await stage.carry_out(waits("a", transition=False))
        nominated = [status["nominatedNodeName"] for status in stage.said()]
        assert nominated == ["n1", None, "n2"] + [None] * 21


async def test_a_bind_that_is_decided_anew_goes_before_what_the_refused_one_replaced(api):
    gate = hold(api, "POST", path("b", "binding"), Reply({}, 201))
    api.on("POST", path("a", "binding"), refusal(422), Reply({}, 201))
    async with at_work(api, places=1) as stage:
        await stage.decide(binds("b"), waits("a"))
        await stage.decide(binds("a"))
        stage.engine.coming = [binds("a", "n2")]
        gate.set()
        await asyncio.sleep(1)
        assert stage.said() == []
        assert [call.document["target"]["name"] for call in api.asked("POST")] == ["n1", "n1", "n2"]


# groups

GROUP = PodGroup(metadata=Metadata(name="g", namespace="team", uid="uid-g"))
WHERE = NATIVE_POD_GROUPS[0].path("team", "g", "status")
STARTED = GangCondition("team/g", True, "Scheduled", "")
BELOW = GangCondition("team/g", True, "MembersLost", "one left", Aspect.BELOW_MINIMUM)
WHOLE = GangCondition("team/g", False, "Scheduled", "", Aspect.BELOW_MINIMUM)


def with_group(stage):
    stage.informers.groups.seen(NATIVE, GROUP)
    stage.informers.declaring[NATIVE].resource = NATIVE_POD_GROUPS[0]
    return stage


def conditions(stage):
    return [(c["type"], c["status"]) for status in stage.said() for c in status["conditions"]]


async def test_that_a_gang_has_started_is_written_first_in_whatever_order_it_is_decided(api):
    api.on("PATCH", WHERE, Reply({}))
    async with at_work(api) as stage:
        await with_group(stage).carry_out(BELOW, STARTED)
        assert conditions(stage) == [("PodGroupInitiallyScheduled", "True"), ("PodGroupBelowMinimum", "True")]


AGAIN = Bind("team/g", tuple(binds(name).pods[0] for name in "ab"), after=Aspect.BELOW_MINIMUM)
"""A gang that fell is bound anew."""


async def test_a_gang_that_fell_is_bound_when_its_object_says_so(api):
    gate = hold(api, "PATCH", WHERE)
    async with at_work(api) as stage:
        await with_group(stage).decide(BELOW, AGAIN)
        await asyncio.sleep(1)
        assert api.asked("POST") == []
        gate.set()
        await stage.outbox.done()
        assert len(api.asked("POST")) == 2
        assert conditions(stage) == [("PodGroupBelowMinimum", "True")]


async def test_a_gang_that_fell_is_not_bound_while_its_object_cannot_be_written(api):
    api.on("PATCH", WHERE, refusal(500))
    async with at_work(api) as stage:
        await with_group(stage).decide(BELOW, AGAIN)
        await asyncio.sleep(1)
        failed = [change for change in stage.engine.told if isinstance(change, BindFailed)]
        assert {(change.uid, change.failure) for change in failed} == {
            ("uid-a", Failure.TRANSIENT),
            ("uid-b", Failure.TRANSIENT),
        }
        assert api.asked("POST") == []


async def test_a_gang_whose_object_is_gone_does_not_wait_for_its_words(api):
    async with at_work(api) as stage:
        await stage.carry_out(AGAIN)
        assert len(api.asked("POST")) == 2


async def test_while_a_gang_that_fell_waits_for_its_object_others_are_bound(api):
    """A server that does not answer for one group would else keep all places, for as long as each bind tries."""
    gate = hold(api, "PATCH", WHERE)
    async with at_work(api, places=2) as stage:
        await with_group(stage).decide(BELOW, AGAIN)
        await stage.decide(binds("c"))
        await until(lambda: api.asked("POST"))
        assert [call.path for call in api.asked("POST")] == [path("c", "binding")]
        gate.set()
        await stage.outbox.done()
        assert len(api.asked("POST")) == 3


async def test_what_all_members_wait_for_is_written_once_and_all_are_told_that_it_failed(api):
    api.on("PATCH", WHERE, refusal(403), Reply({}))
    async with at_work(api) as stage:
        await with_group(stage).decide(BELOW, AGAIN)
        await asyncio.sleep(0.1)
        assert len(api.asked("PATCH")) == 1
        failed = [change for change in stage.engine.told if isinstance(change, BindFailed)]
        assert {(change.uid, change.failure) for change in failed} == {
            ("uid-a", Failure.TRANSIENT),
            ("uid-b", Failure.TRANSIENT),
        }
        assert {change.message for change in failed} == {
            "its pod group must be written first: no (code=403, reason='')"
        }
        await stage.decide(AGAIN)
        await stage.outbox.done()
        assert len(api.asked("PATCH")) == 2
        assert len(api.asked("POST")) == 2


async def test_a_gang_that_fell_waits_while_the_server_asks_for_patience(api):
    api.on("PATCH", WHERE, refusal(429), refusal(429), Reply({}))
    async with at_work(api) as stage:
        await with_group(stage).carry_out(BELOW, AGAIN)
        assert len(api.asked("POST")) == 2
        assert not [change for change in stage.engine.told if isinstance(change, BindFailed)]


async def test_a_gang_that_fell_is_bound_at_once_when_its_object_goes_while_it_waits(api):
    hold(api, "PATCH", WHERE)
    async with at_work(api) as stage:
        await with_group(stage).decide(replace(BELOW, uid="uid-g"), AGAIN)
        assert api.asked("POST") == []
        stage.informers.groups.gone(NATIVE, "team/g", "uid-g")
        await stage.decide(told=GroupGone("team/g"))
        await until(lambda: len(api.asked("POST")) == 2)
        assert not stage.scheduler._writer._groups


async def test_what_is_said_of_an_object_that_took_the_place_of_another_is_not_lost_with_that(api):
    gate = hold(api, "POST", path("b", "binding"), Reply({}, 201))
    api.on("PATCH", WHERE, Reply({}))
    async with at_work(api, places=1) as stage:
        await with_group(stage).decide(binds("b"))
        stage.informers.groups.gone(NATIVE, "team/g", "uid-g")
        stage.informers.groups.seen(NATIVE, group("g", 2, uid="next"))
        await stage.decide(replace(STARTED, uid="next"), told=GroupGone("team/g"))
        await stage.decide(replace(BELOW, uid="next"))
        gate.set()
        await stage.outbox.done()
        assert conditions(stage) == [("PodGroupInitiallyScheduled", "True"), ("PodGroupBelowMinimum", "True")]


async def test_of_each_aspect_the_newest_is_written(api):
    gate = hold(api, "PATCH", WHERE)
    async with at_work(api) as stage:
        await with_group(stage).decide(STARTED)
        await stage.decide(BELOW)
        await stage.decide(WHOLE)
        gate.set()
        await stage.outbox.done()
        assert conditions(stage) == [("PodGroupInitiallyScheduled", "True"), ("PodGroupBelowMinimum", "False")]


async def test_what_is_decided_while_the_same_aspect_is_written_is_written_after_it(api):
    gate = hold(api, "PATCH", WHERE)
    async with at_work(api) as stage:
        await with_group(stage).decide(BELOW)
        await stage.decide(WHOLE)
        gate.set()
        await stage.outbox.done()
        assert conditions(stage) == [("PodGroupBelowMinimum", "True"), ("PodGroupBelowMinimum", "False")]


async def test_what_a_gang_lost_is_said_however_often_the_server_refuses(api):
    api.on("PATCH", WHERE, *[refusal(422)] * 20, Reply({}))
    async with at_work(api) as stage:
        await with_group(stage).carry_out(WHOLE)
        assert len(conditions(stage)) == 21


async def test_that_a_gang_waits_is_given_up_if_it_is_refused(api):
    api.on("PATCH", WHERE, *[refusal(422)] * 20)
    async with at_work(api) as stage:
        await with_group(stage).carry_out(GangCondition("team/g", False, "Unschedulable", "no room"))
        assert len(conditions(stage)) == 1
        assert stage.scheduler._writer._groups
        stage.informers.groups.gone(NATIVE, "team/g", "uid-g")
        await stage.decide(told=GroupGone("team/g"))
        assert not stage.scheduler._writer._groups


async def test_what_a_gang_says_is_not_written_on_another_object_of_its_name(api):
    """That the first has started would let a part of the next one's gang run for ever."""
    api.on("PATCH", WHERE, refusal(500), Reply({}))
    async with at_work(api) as stage:
        await with_group(stage).decide(replace(STARTED, uid="uid-g"))
        stage.informers.groups.gone(NATIVE, "team/g", "uid-g")
        stage.informers.groups.seen(NATIVE, group("g", 2, uid="next"))
        await stage.decide(told=GroupGone("team/g"))
        await stage.outbox.done()
        assert [call.document["metadata"]["uid"] for call in api.asked("PATCH")] == ["uid-g"]


async def test_a_finalizer_that_was_refused_since_others_wrote_is_written_again(api):
    where = NATIVE_POD_GROUPS[0].path("team", "g")
    api.on("PATCH", where, refusal(409), Reply({}))
    async with at_work(api) as stage:
        with_group(stage).scheduler._writer.write_finalizers(NATIVE, GROUP, (FINALIZER,), keeps=lambda key: True)
        await stage.outbox.done()
        assert [call.document["metadata"]["finalizers"] for call in api.asked("PATCH")] == [[FINALIZER]] * 2


async def test_a_finalizer_that_somebody_wrote_meanwhile_is_not_written_again(api):
    where = NATIVE_POD_GROUPS[0].path("team", "g")
    gate = hold(api, "PATCH", where, refusal(409))
    async with at_work(api) as stage:
        with_group(stage).scheduler._writer.write_finalizers(NATIVE, GROUP, (FINALIZER,), keeps=lambda key: True)
        await asyncio.sleep(1)
        stage.informers.groups.seen(NATIVE, replace(GROUP, metadata=replace(GROUP.metadata, finalizers=(FINALIZER,))))
        gate.set()
        await stage.outbox.done()
        assert len(api.asked("PATCH")) == 1


async def test_a_finalizer_is_not_written_on_a_group_that_is_being_deleted_meanwhile(api):
    """The server would refuse it again and again, for as long as pods use the group."""
    where = NATIVE_POD_GROUPS[0].path("team", "g")
    api.on("PATCH", where, refusal(409), refusal(422))
    async with at_work(api) as stage:
        with_group(stage).scheduler._writer.write_finalizers(NATIVE, GROUP, (FINALIZER,), keeps=lambda key: True)
        await until(lambda: api.asked("PATCH"))
        leaving = replace(GROUP.metadata, deletion_timestamp="2027-01-15T08:00:00Z")
        stage.informers.groups.seen(NATIVE, replace(GROUP, metadata=leaving))
        await asyncio.sleep(60)
        assert len(api.asked("PATCH")) == 1


# a name that both APIs declare

CUSTOM_STATUS = CUSTOM_POD_GROUPS[0].path("team", "g", "status")


def both(stage, *, native, custom, conditions=()):
    """Groups of one name with these minima."""
    stage.informers.declaring[NATIVE].resource = NATIVE_POD_GROUPS[0]
    stage.informers.declaring[CUSTOM].resource = CUSTOM_POD_GROUPS[0]
    one = group("g", custom, uid="custom", conditions=conditions)
    protected = replace(one, metadata=replace(one.metadata, finalizers=(FINALIZER,)))
    stage.informers.groups.seen(CUSTOM, protected)
    stage.informers.groups.seen(NATIVE, group("g", native, uid="native"))


async def test_a_custom_group_whose_native_namesake_asks_for_another_minimum_says_once_that_it_does_not_count(api):
    api.on("PATCH", CUSTOM_STATUS, Reply({}))
    async with at_work(api) as stage:
        both(stage, native=3, custom=2)
        await stage.carry_out()
        both(stage, native=3, custom=2)
        await stage.carry_out()
    (call,) = api.calls
    assert call.document["metadata"]["uid"] == "custom"
    (said,) = call.document["status"]["conditions"]
    assert (said["type"], said["status"], said["reason"], said["message"]) == (
        "PodGroupInitiallyScheduled",
        "False",
        "PodGroupError",
        "the PodGroup of the same name in scheduling.k8s.io counts",
    )


async def test_a_custom_group_that_counted_in_between_says_again_that_it_does_not(api):
    api.on("PATCH", CUSTOM_STATUS, Reply({}), Reply({}))
    async with at_work(api) as stage:
        both(stage, native=3, custom=2)
        await stage.carry_out()
        stage.informers.groups.gone(NATIVE, "team/g")
        await stage.carry_out()
        both(stage, native=3, custom=2)
        await stage.carry_out()
    assert len(api.calls) == 2


async def test_nothing_is_kept_of_a_custom_group_that_did_not_count_and_is_gone(api):
    api.on("PATCH", CUSTOM_STATUS, Reply({}))
    async with at_work(api) as stage:
        both(stage, native=3, custom=2)
        await stage.carry_out()
        for origin in DIALECTS:
            stage.informers.groups.gone(origin, "team/g")
        await stage.decide(told=GroupGone("team/g"))
        assert not stage.scheduler._writer._overruled


SAID = Condition(
    type="PodGroupInitiallyScheduled",
    status="False",
    reason="PodGroupError",
    message="the PodGroup of the same name in scheduling.k8s.io counts",
)


@pytest.mark.parametrize(
    ("native", "said"), [(2, ()), (3, (STARTED_CONDITION,)), (3, (SAID,))], ids=["agrees", "started", "said before"]
)
async def test_nothing_is_written_where_nothing_is_at_odds_or_the_gang_has_started_or_it_was_said(api, native, said):
    async with at_work(api) as stage:
        both(stage, native=native, custom=2, conditions=said)
        await stage.carry_out()
    assert api.calls == []


async def test_a_native_group_that_goes_before_that_is_written_has_nothing_to_be_told_of(api):
    bind = Held(Reply({}, 201))
    api.on("POST", path("b", "binding"), bind)
    async with at_work(api, places=1) as stage:
        await stage.decide(binds("b"))
        both(stage, native=3, custom=2)
        await stage.decide()
        stage.informers.groups.gone(NATIVE, "team/g")
        bind.gate.set()
        await stage.outbox.done()
    assert [call.method for call in api.calls] == ["POST"]


async def test_an_object_without_conditions_that_does_not_count_is_told_so_by_an_event(api):
    async with at_work(api) as stage:
        stage.informers.declaring[NATIVE].resource = NATIVE_POD_GROUPS[0]
        stage.informers.declaring[COSCHEDULING].resource = COSCHEDULING.resources[0]
        meta = Metadata(name="g", namespace="team", uid="theirs", finalizers=(FINALIZER,))
        theirs = CoschedulingGroup(metadata=meta, status=CoschedulingStatus(phase="Finished"))
        stage.informers.groups.seen(COSCHEDULING, theirs)
        stage.informers.groups.seen(NATIVE, group("g", 3, uid="native"))
        await stage.carry_out()
        await stage.carry_out()
    (call,) = api.calls
    assert call.path == EVENTS
    said, about = call.document, call.document["regarding"]
    assert (about["name"], about["uid"], said["type"]) == ("g", "theirs", "Warning")
    assert said["note"] == "the PodGroup of the same name in scheduling.k8s.io counts"


# groups that are read again

GROUP_PATH = NATIVE_POD_GROUPS[0].path("team", "g")
CUSTOM_PATH = CUSTOM_POD_GROUPS[0].path("team", "g")
READ = Reread("team/g", 7)


def document(minimum, *, version, uid="uid-g"):
    return {
        "metadata": {"name": "g", "namespace": "team", "uid": uid, "resourceVersion": str(version)},
        "spec": {"schedulingPolicy": {"gang": {"minCount": minimum}}},
    }


def answers(stage):
    """What the engine was told: the number, and the minimum that was read; None for a group that is gone."""
    found = [change for change in stage.engine.told if isinstance(change, GroupRead)]
    return [(one.number, one.group and one.group.spec.scheduling_policy.gang.min_count) for one in found]


def serving(stage, *, native=True, custom=False):
    stage.informers.declaring[NATIVE].resource = NATIVE_POD_GROUPS[0] if native else None
    stage.informers.declaring[CUSTOM].resource = CUSTOM_POD_GROUPS[0] if custom else None
    return stage


async def test_a_group_is_read_at_the_server_and_the_engine_is_told(api):
    api.on("GET", GROUP_PATH, Reply(document(4, version=9)))
    async with at_work(api) as stage:
        await serving(stage).carry_out(READ)
        await stage.decide()
        assert answers(stage) == [(7, 4)]
        assert stage.informers.groups.find("team/g")[1].metadata.resource_version == "9"


async def test_it_is_tried_until_there_is_an_answer(api):
    api.on("GET", GROUP_PATH, *[refusal(500)] * 8, refusal(403), refusal(429), Reply(document(4, version=9)))
    async with at_work(api) as stage:
        await serving(stage).carry_out(READ)
        await stage.decide()
        assert answers(stage) == [(7, 4)]


WORKLOAD = {
    "metadata": {"name": "w", "namespace": "team", "uid": "uid-w", "resourceVersion": "9"},
    "spec": {"podGroups": [{"name": "g", "policy": {"gang": {"minCount": 4}}}]},
}


@pytest.mark.parametrize("key", ["team/w/g", "team/w/g/r0"], ids=["of a group", "of a replica of it"])
async def test_the_gang_of_a_workload_is_read_there_and_nowhere_else(api, key):
    resource = V1ALPHA1.resources[1]
    api.on("GET", resource.path("team", "w"), Reply(WORKLOAD))
    async with at_work(api) as stage:
        serving(stage).informers.declaring[V1ALPHA1].resource = resource
        member = pod("a")
        labels = {"muster.dev/workload": "w", "muster.dev/workload-pod-group": "g", "muster.dev/replica-key": "r0"}
        member = replace(member, metadata=replace(member.metadata, labels=labels))
        stage.informers.groups.pod_seen(member)
        await stage.carry_out(Reread(key, 7))
        await stage.decide()
        assert answers(stage) == [(7, 4)]
    assert len(api.calls) == 1


NOT_THERE = refusal(404, 'podgroups.scheduling.k8s.io "g" not found')


async def test_a_group_that_comes_while_it_is_not_found_is_there(api):
    held = Held(NOT_THERE)
    api.on("GET", GROUP_PATH, held)
    async with at_work(api) as stage:
        await serving(stage).decide(READ)
        stage.informers.groups.seen(NATIVE, read(PodGroup, document(2, version=5)))
        held.gate.set()
        await stage.outbox.done()
        await stage.decide()
        assert answers(stage) == [(7, 2)]


async def test_a_server_that_does_not_know_the_kind_says_nothing_about_the_group(api):
    api.on("GET", GROUP_PATH, refusal(404, "404 page not found"), Reply(document(4, version=9)))
    async with at_work(api) as stage:
        stage.informers.groups.seen(NATIVE, read(PodGroup, document(2, version=5)))
        await serving(stage).carry_out(READ)
        await stage.decide()
        assert answers(stage) == [(7, 4)]


async def test_a_group_that_is_not_there_is_gone(api):
    api.on("GET", GROUP_PATH, NOT_THERE)
    async with at_work(api) as stage:
        stage.informers.groups.seen(NATIVE, read(PodGroup, document(2, version=5)))
        await serving(stage).carry_out(READ)
        await stage.decide()
        assert answers(stage) == [(7, None)]


async def test_both_apis_are_asked_where_both_are_served_and_the_native_one_counts(api):
    api.on("GET", GROUP_PATH, Reply(document(4, version=9)))
    api.on("GET", CUSTOM_PATH, Reply(document(2, version=8, uid="custom")))
    api.on("PATCH", CUSTOM_PATH, Reply({}))
    api.on("PATCH", CUSTOM_STATUS, Reply({}))
    async with at_work(api) as stage:
        await serving(stage, custom=True).carry_out(READ)
        await stage.decide()
        assert answers(stage) == [(7, 4)]


async def test_what_cannot_be_read_leaves_what_was_known(api):
    api.on("GET", GROUP_PATH, Reply({"metadata": {"name": 7}}))
    async with at_work(api) as stage:
        stage.informers.groups.seen(NATIVE, read(PodGroup, document(2, version=5)))
        await serving(stage).carry_out(READ)
        await stage.decide()
        assert answers(stage) == [(7, 2)]


# gangs without a status


async def test_that_a_gang_has_started_is_written_on_its_members_until_it_stands_there(api):
    api.on("PATCH", path("a"), *[refusal(403)] * 8, Reply({}))
    api.on("PATCH", path("b"), refusal(404))
    async with at_work(api) as stage:
        await stage.carry_out(MarkStarted("team/g", (ref("a"), ref("b"))))
    documents = [(call.path, call.document) for call in api.asked("PATCH")]
    wanted = {"metadata": {"uid": "uid-a", "annotations": {"muster.dev/started": "team/g"}}}
    assert documents.count((path("a"), wanted)) == 9
    assert len(documents) == 10


# gangs that are switched off


@pytest.mark.parametrize(("closed", "recorded"), [((), True), (DIALECTS, False)], ids=["on", "off"])
async def test_a_pod_is_bound_without_a_record_if_the_gang_that_it_names_is_off(api, closed, recorded):
    async with at_work(api, closed=closed) as stage:
        stage.informers.groups.pod_seen(replace(pod("a", gang="g"), metadata=Metadata(name="a", uid="uid-a")))
        await stage.carry_out(binds("a"))
        [call] = api.asked("POST", path("a", "binding"))
        assert ("muster.dev/bound-for" in call.document["metadata"]["annotations"]) is recorded
