"""What each write sends, and what each answer to it means."""

import pytest

from muster.api.resources import CUSTOM_POD_GROUPS, NATIVE_POD_GROUPS, NODES, PODS
from muster.api.wire import Condition, Metadata, OwnerReference, PodGroup, PodGroupStatus
from muster.base.errors import ApiError, Unreachable
from muster.edge.owned import WantedGroup
from muster.engine.changes import BindFailed, Bound, Failure, PodGone, PodSeen
from muster.engine.decisions import Placement, PodRef
from muster.gangs.dialects import CUSTOM
from muster.kube import writes
from muster.kube.client import APPLY_PATCH, MERGE_PATCH, STRATEGIC_PATCH
from tests.kube.server import Api, Cut, Direct, Held, Reply, pod, refusal

pytestmark = pytest.mark.looptime

POD = "/api/v1/namespaces/team/pods/a"
BINDING = f"{POD}/binding"
STATUS = f"{POD}/status"
GROUPS = "/apis/muster.dev/v1beta1/namespaces/team/podgroups"
EVENTS = "/apis/events.k8s.io/v1/namespaces/team/events"
PLACEMENT = Placement("uid-a", "team/a", "n1")
REF = PodRef("uid-a", "team/a")
AT = 1_800_000_000.0
STAMP = "2027-01-15T08:00:00Z"
OVERTAKEN = refusal(409, "the object has been modified; please apply your changes to the latest version and try again")
OTHERS = (
    refusal(409, "Precondition failed: UID in precondition: uid-a, UID in object meta: uid-b"),
    refusal(409, "the UID in the precondition (uid-a) does not match the UID in record (uid-b)"),
    refusal(422, 'Pod "a" is invalid: metadata.uid: Invalid value: "uid-a": field is immutable'),
)
"""How servers say that the object of that name is another one."""


@pytest.fixture
def api():
    return Api()


async def bind(api):
    return await writes.bind(Direct(api), PLACEMENT, at=AT)


def failed(failure, message="no"):
    return BindFailed("uid-a", "n1", failure, message)


def leaving(**spec):
    found = pod("a", **spec)
    found["metadata"]["deletionTimestamp"] = STAMP
    return found


# binding


async def test_a_bind_names_pod_uid_and_node(api):
    api.on("POST", BINDING, Reply({}, 201))
    assert await bind(api) == Bound("uid-a", "n1", AT)
    assert [call.document for call in api.calls] == [
        {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {
                "name": "a",
                "namespace": "team",
                "uid": "uid-a",
                "annotations": {"muster.dev/bound-for": '{"gang":""}'},
            },
            "target": {"apiVersion": "v1", "kind": "Node", "name": "n1"},
        }
    ]


@pytest.mark.parametrize(
    ("code", "failure"),
    [
        (400, Failure.REJECTED),
        (401, Failure.TRANSIENT),
        (403, Failure.DENIED),
        (404, Failure.POD_GONE),
        (408, Failure.TRANSIENT),
        (413, Failure.REJECTED),
        (422, Failure.DENIED),
        (500, Failure.TRANSIENT),
        (502, Failure.TRANSIENT),
        (503, Failure.TRANSIENT),
        (504, Failure.TRANSIENT),
    ],
)
async def test_what_a_refused_bind_means(api, code, failure):
    api.on("POST", BINDING, refusal(code, "it is\nso"))
    assert await bind(api) == failed(failure, "it is so")
    assert len(api.calls) == 1


WEBHOOK = 'admission webhook "quota.example.com" denied the request: not today'
POLICY = "pods \"a\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: not today"


@pytest.mark.parametrize("message", [WEBHOOK, POLICY])
@pytest.mark.parametrize("code", [400, 401, 403, 404, 409, 413, 422, 429, 500])
async def test_what_somebodys_policy_refuses_is_denied_with_whatever_status(api, code, message):
    api.on("POST", BINDING, refusal(code, message))
    assert await bind(api) == failed(Failure.DENIED, message)
    assert len(api.calls) == 1


async def test_a_webhook_that_does_not_answer_denies_nothing(api):
    message = 'Internal error occurred: failed calling webhook "quota.example.com": connection refused'
    api.on("POST", BINDING, refusal(500, message))
    assert await bind(api) == failed(Failure.TRANSIENT, message)


async def test_whoever_may_not_bind_at_all_is_denied_no_pod(api):
    """A server that has just started says so too, until it has read its roles."""
    message = 'pods "a" is forbidden: User "muster" cannot create resource "pods/binding" in API group ""'
    api.on("POST", BINDING, refusal(403, message))
    assert await bind(api) == failed(Failure.TRANSIENT, message)


async def test_a_bind_that_is_pushed_back_is_for_the_outbox(api):
    api.on("POST", BINDING, refusal(429, headers={"Retry-After": "3"}))
    with pytest.raises(ApiError) as caught:
        await bind(api)
    assert (caught.value.code, caught.value.retry_after) == (429, 3)


@pytest.mark.parametrize("answer", [Cut, lambda: Held(Reply({}))], ids=["cut", "time-out"])
async def test_a_bind_without_an_answer_may_be_tried_again(api, answer):
    api.on("POST", BINDING, answer())
    change = await bind(api)
    assert (change.uid, change.node, change.failure) == ("uid-a", "n1", Failure.TRANSIENT)
    assert change.message


CONFLICTS = {
    "bound to our node: an earlier try got through": (Reply(pod("a", nodeName="n1")), Bound("uid-a", "n1", AT)),
    "bound to our node and leaving": (Reply(leaving(nodeName="n1")), Bound("uid-a", "n1", AT)),
    "gone": (refusal(404), PodGone("uid-a")),
    "another pod of the same name": (Reply(pod("a", uid="other")), PodGone("uid-a")),
    "another pod of the same name on our node": (Reply(pod("a", uid="other", nodeName="n1")), PodGone("uid-a")),
    "leaving": (Reply(leaving()), failed(Failure.POD_GONE, "so it is")),
    "unbound": (Reply(pod("a")), failed(Failure.TRANSIENT, "so it is")),
    "not to be read: refused": (refusal(403, "may\nnot"), failed(Failure.TRANSIENT, "may not")),
    "not to be read: broken": (refusal(500, "broken"), failed(Failure.TRANSIENT, "broken")),
    "not to be read: cut": (Cut(), failed(Failure.TRANSIENT, "the connection broke")),
}


@pytest.mark.parametrize("situation", CONFLICTS)
async def test_a_conflict_is_looked_into_and_the_pod_is(api, situation):
    answer, change = CONFLICTS[situation]
    api.on("POST", BINDING, refusal(409, "so\nit is", reason="Conflict"))
    api.on("GET", POD, answer)
    assert await bind(api) == change


async def test_a_conflict_because_the_pod_is_on_another_node_shows_the_pod(api):
    api.on("POST", BINDING, refusal(409))
    api.on("GET", POD, Reply(pod("a", nodeName="n2")))
    change = await bind(api)
    assert isinstance(change, PodSeen)
    assert (change.pod.metadata.uid, change.pod.spec.node_name) == ("uid-a", "n2")


async def test_a_conflict_that_cannot_be_looked_into_because_the_server_is_busy_is_for_the_outbox(api):
    api.on("POST", BINDING, refusal(409))
    api.on("GET", POD, refusal(429))
    with pytest.raises(ApiError) as caught:
        await bind(api)
    assert caught.value.code == 429


@pytest.mark.parametrize("answer", [Reply(b"<html>"), Reply(pod("a", containers=7)), Reply([])])
async def test_a_conflict_over_a_pod_that_cannot_be_read_is_answered_all_the_same(api, answer):
    """A bind without an answer would keep its room for ever."""
    api.on("POST", BINDING, refusal(409))
    api.on("GET", POD, answer)
    change = await bind(api)
    assert isinstance(change, BindFailed)
    assert change.failure is Failure.TRANSIENT


# pods


async def delete(api, *, insist=False):
    await writes.delete_pod(Direct(api), REF, reason="Preempted", message="for team/b", at=AT, insist=insist)


async def test_a_deletion_says_why_and_then_deletes_the_pod_of_that_uid(api):
    api.on("PATCH", STATUS, Reply({}))
    api.on("DELETE", POD, Reply({}))
    await delete(api)
    said, deleted = api.calls
    assert said.headers["Content-Type"] == STRATEGIC_PATCH
    assert said.document["metadata"] == {"uid": "uid-a"}
    (condition,) = said.document["status"]["conditions"]
    assert condition == {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "Preempted",
        "message": "for team/b",
        "lastTransitionTime": STAMP,
    }
    assert deleted.document["preconditions"] == {"uid": "uid-a"}


async def test_a_deletion_leaves_the_grace_period_to_the_pod(api):
    api.on("PATCH", STATUS, Reply({}))
    api.on("DELETE", POD, Reply({}))
    await delete(api)
    assert "gracePeriodSeconds" not in api.calls[1].document


async def test_a_pod_that_is_gone_need_not_be_deleted(api):
    api.on("PATCH", STATUS, refusal(404))
    await delete(api)
    assert not api.asked("DELETE")


@pytest.mark.parametrize("code", [403, 409, 422])
async def test_a_pod_on_which_the_reason_cannot_be_written_is_deleted_all_the_same(api, code):
    api.on("PATCH", STATUS, refusal(code))
    api.on("DELETE", POD, Reply({}))
    await delete(api)
    assert api.asked("DELETE")


@pytest.mark.parametrize("answer", [refusal(404), *OTHERS])
async def test_a_pod_that_went_before_its_deletion_arrived_is_deleted(api, answer):
    api.on("PATCH", STATUS, Reply({}))
    api.on("DELETE", POD, answer)
    await delete(api)


async def test_a_reason_that_others_overtook_is_tried_again_before_the_deletion_goes_without(api):
    api.on("PATCH", STATUS, OVERTAKEN)
    with pytest.raises(ApiError):
        await delete(api, insist=True)
    assert not api.asked("DELETE")


@pytest.mark.parametrize(
    ("answer", "error"),
    [(refusal(403), ApiError), (OVERTAKEN, ApiError), (refusal(500), ApiError), (Cut(), Unreachable)],
)
async def test_a_deletion_that_failed_is_for_the_outbox_to_repeat(api, answer, error):
    api.on("PATCH", STATUS, Reply({}))
    api.on("DELETE", POD, answer)
    with pytest.raises(error):
        await delete(api)


async def say_of_pod(api, message="", *, since=AT, **more):
    return await writes.write_pod_condition(
        Direct(api), REF, reason="Unschedulable", message=message, since=since, **more
    )


async def test_a_pod_that_is_not_placed_says_so_and_is_nominated_nowhere(api):
    api.on("PATCH", STATUS, Reply({}))
    await say_of_pod(api, "0/3 nodes")
    (call,) = api.calls
    assert call.headers["Content-Type"] == STRATEGIC_PATCH
    assert call.document == {
        "metadata": {"uid": "uid-a"},
        "status": {
            "conditions": [
                {
                    "type": "PodScheduled",
                    "status": "False",
                    "reason": "Unschedulable",
                    "message": "0/3 nodes",
                    "lastTransitionTime": STAMP,
                }
            ],
            "nominatedNodeName": None,
        },
    }


async def test_a_pod_for_which_room_is_kept_is_nominated_there(api):
    api.on("PATCH", STATUS, Reply({}))
    await say_of_pod(api, nominated="n1")
    assert api.calls[0].document["status"]["nominatedNodeName"] == "n1"


async def test_a_pod_that_somebody_else_has_bound_is_not_nominated(api):
    """It is no trouble either, which would be tried again for ever."""
    why = "Forbidden: may not be set on pods that are already bound to a node"
    api.on("PATCH", STATUS, refusal(422, f'Pod "a" is invalid: status.nominatedNodeName: {why}'))
    assert not await say_of_pod(api, nominated="n1")


async def test_a_condition_that_was_so_before_keeps_its_time(api):
    api.on("PATCH", STATUS, Reply({}))
    await say_of_pod(api, since=None)
    assert "lastTransitionTime" not in api.calls[0].document["status"]["conditions"][0]


async def test_a_message_is_no_longer_than_the_api_takes(api):
    api.on("PATCH", STATUS, Reply({}))
    await say_of_pod(api, "x" * 100_000)
    assert len(api.calls[0].document["status"]["conditions"][0]["message"]) == 32_768


@pytest.mark.parametrize("answer", [refusal(404), *OTHERS])
async def test_a_condition_of_a_pod_that_is_gone_does_not_matter(api, answer):
    api.on("PATCH", STATUS, answer)
    await say_of_pod(api)


async def test_a_condition_that_others_overtook_is_for_the_outbox_to_repeat(api):
    api.on("PATCH", STATUS, OVERTAKEN)
    with pytest.raises(ApiError):
        await say_of_pod(api)


# groups


def group(status=None):
    """A group, and what its condition says before."""
    before = Condition(type="PodGroupScheduled", status=status or "", last_transition_time="2026-01-01T00:00:00Z")
    return PodGroup(
        metadata=Metadata(name="g", namespace="team", uid="uid-g", resource_version="42", generation=3),
        status=PodGroupStatus(conditions=(before,) if status else ()),
    )


async def say(api, before, status="True"):
    said = Condition(type="PodGroupScheduled", status=status, reason="Scheduled", message="all bound")
    await writes.write_group_condition(Direct(api), CUSTOM_POD_GROUPS[0], before, said, at=AT, dialect=CUSTOM)


async def test_a_groups_condition_is_applied_to_the_group_of_that_uid(api):
    api.on("PATCH", f"{GROUPS}/g/status", Reply({}))
    await say(api, group())
    (call,) = api.calls
    assert call.query == {"fieldManager": "muster.PodGroupScheduled", "force": "true"}
    assert call.headers["Content-Type"] == APPLY_PATCH
    assert call.document == {
        "apiVersion": "muster.dev/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "team", "uid": "uid-g"},
        "status": {
            "conditions": [
                {
                    "type": "PodGroupScheduled",
                    "status": "True",
                    "reason": "Scheduled",
                    "message": "all bound",
                    "observedGeneration": 3,
                    "lastTransitionTime": STAMP,
                }
            ]
        },
    }


@pytest.mark.parametrize(("before", "time"), [("True", "2026-01-01T00:00:00Z"), ("False", STAMP)])
async def test_the_time_of_a_groups_condition_is_when_its_status_changed(api, before, time):
    api.on("PATCH", f"{GROUPS}/g/status", Reply({}))
    await say(api, group(status=before))
    assert api.calls[0].document["status"]["conditions"][0]["lastTransitionTime"] == time


@pytest.mark.parametrize(
    ("answer", "raises"),
    [
        (refusal(404), False),
        *((other, False) for other in OTHERS),
        (OVERTAKEN, True),
        (refusal(422), True),
        (refusal(500), True),
    ],
)
async def test_a_groups_condition_is_for_the_group_that_was_read(api, answer, raises):
    api.on("PATCH", f"{GROUPS}/g/status", answer)
    if raises:
        with pytest.raises(ApiError):
            await say(api, group())
    else:
        await say(api, group())


async def test_finalizers_are_replaced_only_on_the_object_as_it_was_read(api):
    api.on("PATCH", f"{GROUPS}/g", Reply({}))
    await writes.write_finalizers(Direct(api), CUSTOM_POD_GROUPS[0], group(), ("x/y",))
    (call,) = api.calls
    assert call.headers["Content-Type"] == MERGE_PATCH
    assert call.document == {"metadata": {"uid": "uid-g", "resourceVersion": "42", "finalizers": ["x/y"]}}


async def test_finalizers_of_a_group_that_is_gone_are_left_alone(api):
    api.on("PATCH", f"{GROUPS}/g", refusal(404))
    await writes.write_finalizers(Direct(api), CUSTOM_POD_GROUPS[0], group(), ())


async def test_finalizers_of_a_group_that_changed_are_not_written(api):
    api.on("PATCH", f"{GROUPS}/g", refusal(409))
    with pytest.raises(ApiError):
        await writes.write_finalizers(Direct(api), CUSTOM_POD_GROUPS[0], group(), ())


# events


async def tell(api, about, **more):
    said = {"reason": "Scheduled", "note": "on n1", "action": "Binding", "warning": False} | more
    await writes.write_event(Direct(api), about, reporter="muster", instance="muster-0", name="a.1", at=AT, **said)


async def test_an_event_regards_the_object_of_that_uid(api):
    api.on("POST", EVENTS, Reply({}, 201))
    await tell(api, writes.regarding(PODS, "team/a", "uid-a"))
    document = api.calls[0].document
    assert document["regarding"] == {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": "a",
        "namespace": "team",
        "uid": "uid-a",
    }
    assert document["metadata"] == {"name": "a.1", "namespace": "team"}
    assert document["eventTime"] == "2027-01-15T08:00:00.000000Z"
    assert (document["reportingController"], document["reportingInstance"]) == ("muster", "muster-0")
    assert (document["type"], document["reason"], document["action"]) == ("Normal", "Scheduled", "Binding")


async def test_an_event_about_a_group_names_the_version_it_is_read_in(api):
    api.on("POST", EVENTS, Reply({}, 201))
    await tell(api, writes.regarding(NATIVE_POD_GROUPS[1], "team/g", "uid-g"), warning=True)
    document = api.calls[0].document
    assert document["regarding"]["apiVersion"] == "scheduling.k8s.io/v1alpha3"
    assert document["type"] == "Warning"


async def test_an_event_about_a_node_is_kept_in_the_default_namespace(api):
    api.on("POST", EVENTS.replace("team", "default"), Reply({}, 201))
    await tell(api, writes.regarding(NODES, "n1", "n1"))
    assert "namespace" not in api.calls[0].document["regarding"]


@pytest.mark.parametrize(("length", "kept"), [(1024, 1024), (1025, 1024), (5_000, 1024)])
async def test_a_note_is_no_longer_than_the_api_takes(api, length, kept):
    api.on("POST", EVENTS, Reply({}, 201))
    await tell(api, writes.regarding(PODS, "team/a", "uid-a"), note="x" * length)
    note = api.calls[0].document["note"]
    assert len(note) == kept
    assert note.endswith("...") == (length > kept)


@pytest.mark.parametrize(
    "answer",
    [
        refusal(404),
        refusal(409, reason="AlreadyExists"),
        refusal(403, "unable to create new content because it is being terminated"),
    ],
)
async def test_an_event_that_nobody_can_read_any_more_is_not_missed(api, answer):
    api.on("POST", EVENTS, answer)
    await tell(api, writes.regarding(PODS, "team/a", "uid-a"))


async def test_an_event_that_we_may_not_write_is_an_error(api):
    api.on("POST", EVENTS, refusal(403, "events is forbidden"))
    with pytest.raises(ApiError):
        await tell(api, writes.regarding(PODS, "team/a", "uid-a"))


# --- groups that are made for owners ---------------------------------------------------------------------------


WANTED = WantedGroup(
    key="team/g", owner=OwnerReference(api_version="batch/v1", kind="Job", name="g", uid="uid-g"), minimum=2
)


async def test_a_group_that_is_there_is_not_made_again(api):
    api.on("POST", GROUPS, refusal(409, reason="AlreadyExists"))
    await writes.make_group(Direct(api), CUSTOM_POD_GROUPS[0], WANTED)


async def test_a_group_is_still_to_be_made_when_others_were_in_the_way(api):
    api.on("POST", GROUPS, refusal(409, "Operation cannot be fulfilled on resourcequotas", reason="Conflict"))
    with pytest.raises(ApiError):
        await writes.make_group(Direct(api), CUSTOM_POD_GROUPS[0], WANTED)
