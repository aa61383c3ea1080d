"""What the real API server makes of Muster's writes: above all, of those that are about a pod that is no more."""

import contextlib
import time

import pytest

from muster.api.resources import NATIVE_POD_GROUPS, PODS, Resource
from muster.api.wire import Condition, Metadata, PodGroup
from muster.base.errors import ApiError
from muster.engine.changes import BindFailed, Bound, Failure, PodGone, PodSeen
from muster.engine.decisions import Placement, PodRef
from muster.gangs.dialects import CUSTOM, NATIVE
from muster.kube import writes
from muster.kube.client import Client
from muster.kube.connection import load
from tests.control_plane.checks import until
from tests.control_plane.conftest import needs_native_groups

OTHER = "00000000-0000-0000-0000-000000000000"
CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap")


@pytest.fixture
async def client(plane):
    async with Client(load(kubeconfig=str(plane.kubeconfig())), user_agent="muster/test") as client:
        yield client


@pytest.fixture
def pod(plane, namespace):
    spec = {"schedulerName": "nobody", "containers": [{"name": "c", "image": "none"}]}
    spec["terminationGracePeriodSeconds"] = 77
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one"}, "spec": spec}
    made = plane.request("POST", f"/api/v1/namespaces/{namespace}/pods", document)
    return PodRef(made["metadata"]["uid"], f"{namespace}/one")


def now(plane, pod):
    namespace, name = pod.pod.split("/")
    return plane.request("GET", f"/api/v1/namespaces/{namespace}/pods/{name}")


async def test_a_bind_is_acknowledged_and_sets_the_condition(plane, client, pod):
    assert await writes.bind(client, Placement(pod.uid, pod.pod, "n"), at=5.0) == Bound(pod.uid, "n", 5.0)
    bound = now(plane, pod)
    assert bound["spec"]["nodeName"] == "n"
    assert [(one["type"], one["status"]) for one in bound["status"]["conditions"]] == [("PodScheduled", "True")]


async def test_a_bind_of_another_uid_touches_nothing(plane, client, pod):
    assert await writes.bind(client, Placement(OTHER, pod.pod, "n"), at=5.0) == PodGone(OTHER)
    assert "nodeName" not in now(plane, pod)["spec"]


async def test_a_bind_that_was_done_before_counts(client, pod):
    placement = Placement(pod.uid, pod.pod, "n")
    await writes.bind(client, placement, at=5.0)
    assert await writes.bind(client, placement, at=6.0) == Bound(pod.uid, "n", 6.0)


async def test_a_pod_that_another_scheduler_bound_is_seen_where_it_is(client, pod):
    await writes.bind(client, Placement(pod.uid, pod.pod, "elsewhere"), at=5.0)
    answer = await writes.bind(client, Placement(pod.uid, pod.pod, "n"), at=6.0)
    assert isinstance(answer, PodSeen)
    assert answer.pod.spec.node_name == "elsewhere"


async def test_a_bind_of_a_pod_that_is_gone_is_told_so(client, namespace):
    answer = await writes.bind(client, Placement(OTHER, f"{namespace}/never", "n"), at=5.0)
    assert isinstance(answer, BindFailed)
    assert answer.failure is Failure.POD_GONE


@contextlib.contextmanager
def policy(plane, namespace, *, reason):
    """No pod of the namespace may be bound to the node `forbidden`; returns when that is in force."""
    name = f"deny-{namespace}"
    root = "/apis/admissionregistration.k8s.io/v1"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods/binding"]}
    validation = {"expression": "object.target.name != 'forbidden'", "message": "not there", "reason": reason}
    here = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}}
    spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": [validation]}
    bound = {"policyName": name, "validationActions": ["Deny"], "matchResources": here}
    for kind, content in (("validatingadmissionpolicies", spec), ("validatingadmissionpolicybindings", bound)):
        plane.request("POST", f"{root}/{kind}", {"metadata": {"name": name}, "spec": content})

    def in_force():
        target = {"kind": "Node", "name": "forbidden"}
        try:
            path = f"/api/v1/namespaces/{namespace}/pods/one/binding?dryRun=All"
            plane.request("POST", path, {"metadata": {"name": "one"}, "target": target})
        except ApiError as error:
            return "denied request" in error.message
        return False

    try:
        until(in_force, "the policy to be in force")
        yield
    finally:
        for kind in ("validatingadmissionpolicybindings", "validatingadmissionpolicies"):
            plane.request("DELETE", f"{root}/{kind}/{name}")


@pytest.mark.parametrize("reason", ["Invalid", "Forbidden", "RequestEntityTooLarge"])
async def test_a_bind_that_a_policy_does_not_allow_is_denied(plane, client, namespace, pod, reason):
    with policy(plane, namespace, reason=reason):
        answer = await writes.bind(client, Placement(pod.uid, pod.pod, "forbidden"), at=5.0)
        assert isinstance(answer, BindFailed)
        assert answer.failure is Failure.DENIED
        assert answer.message.endswith("denied request: not there")
        assert await writes.bind(client, Placement(pod.uid, pod.pod, "n"), at=5.0) == Bound(pod.uid, "n", 5.0)


async def test_a_bind_without_the_right_to_bind_may_be_tried_again(plane, namespace, pod):
    token = plane.token(namespace, "default")
    async with Client(load(kubeconfig=str(plane.kubeconfig_for_token(token))), user_agent="muster/test") as client:
        answer = await writes.bind(client, Placement(pod.uid, pod.pod, "n"), at=5.0)
    assert isinstance(answer, BindFailed)
    assert answer.failure is Failure.TRANSIENT


async def say(client, pod, message="m", *, since=5.0, **more):
    await writes.write_pod_condition(client, pod, reason="Unschedulable", message=message, since=since, **more)


async def test_conditions_and_deletions_of_another_uid_touch_nothing(plane, client, pod):
    before = now(plane, pod)
    other = PodRef(OTHER, pod.pod)
    await say(client, other)
    await writes.delete_pod(client, other, reason="Timeout", message="m", at=5.0)
    assert now(plane, pod) == before


async def test_the_time_of_transition_stays_when_only_the_message_changes(plane, client, pod):
    await say(client, pod, "a", since=5.0)
    await say(client, pod, "b", since=None)
    [said] = now(plane, pod)["status"]["conditions"]
    assert (said["message"], said["lastTransitionTime"]) == ("b", "1970-01-01T00:00:05Z")


async def test_a_nomination_is_written_moved_and_taken_back(plane, client, pod):
    for node in ("n1", "n2"):
        await say(client, pod, nominated=node)
        assert now(plane, pod)["status"]["nominatedNodeName"] == node
    await say(client, pod)
    assert "nominatedNodeName" not in now(plane, pod)["status"]


async def test_an_evicted_pod_says_for_whom_and_has_all_of_its_grace(plane, client, pod):
    await writes.bind(client, Placement(pod.uid, pod.pod, "n"), at=5.0)
    message = "muster: preempting to accommodate a higher priority podgroup"
    await writes.delete_pod(client, pod, reason="PreemptionByScheduler", message=message, at=time.time())
    going = now(plane, pod)
    assert going["metadata"]["deletionGracePeriodSeconds"] == 77
    [said] = [one for one in going["status"]["conditions"] if one["type"] == "DisruptionTarget"]
    assert (said["status"], said["reason"], said["message"]) == ("True", "PreemptionByScheduler", message)


async def test_an_eviction_that_is_repeated_changes_nothing_more(plane, client, pod):
    await writes.bind(client, Placement(pod.uid, pod.pod, "n"), at=5.0)
    at = time.time()
    for _ in range(2):
        await writes.delete_pod(client, pod, reason="PreemptionByScheduler", message="m", at=at)
    assert now(plane, pod)["metadata"]["deletionGracePeriodSeconds"] == 77


async def test_a_deleted_pod_says_why_it_goes(plane, client, pod):
    await writes.bind(client, Placement(pod.uid, pod.pod, "n"), at=5.0)
    # now: of a pod that was to go long ago and did not, the disruption controller takes the condition back
    await writes.delete_pod(client, pod, reason="Timeout", message="why", at=time.time())
    going = now(plane, pod)
    assert going["metadata"]["deletionTimestamp"]
    [said] = [one for one in going["status"]["conditions"] if one["type"] == "DisruptionTarget"]
    assert (said["status"], said["reason"], said["message"]) == ("True", "Timeout", "why")


@needs_native_groups
async def test_conditions_of_another_group_of_that_name_touch_nothing(plane, client, namespace):
    group = NATIVE_POD_GROUPS[0]
    spec = {"schedulingPolicy": {"gang": {"minCount": 2}}}
    document = {"apiVersion": group.api_version, "kind": group.kind, "metadata": {"name": "g"}, "spec": spec}
    plane.request("POST", group.path(namespace), document)
    before = plane.request("GET", group.path(namespace, "g"))
    meta = Metadata(name="g", namespace=namespace, uid=OTHER)
    said = Condition(type="PodGroupInitiallyScheduled", status="True", reason="Scheduled")
    await writes.write_group_condition(client, group, PodGroup(metadata=meta), said, at=5.0, dialect=NATIVE)
    assert plane.request("GET", group.path(namespace, "g")) == before


async def test_events_are_told_to_whoever_describes_the_pod(plane, client, pod):
    about = writes.regarding(PODS, pod.pod, pod.uid)
    await writes.write_event(
        client,
        about,
        reason="Scheduled",
        note="x" * 2000,
        action="Binding",
        warning=False,
        reporter="muster",
        instance="muster-1",
        name="one.1",
        at=5.0,
    )
    namespace, name = pod.pod.split("/")
    assert "xxxx..." in plane.kubectl("describe", "pod", name, "--namespace", namespace)


async def test_events_for_a_namespace_that_is_gone_are_not_missed(client):
    about = writes.regarding(PODS, "no-such-namespace/one", OTHER)
    words = {"reason": "Scheduled", "note": "n", "action": "Binding", "warning": False}
    await writes.write_event(client, about, **words, reporter="muster", instance="m", name="one.1", at=5.0)


async def test_what_is_wrong_with_a_request_is_told(client, namespace):
    with pytest.raises(ApiError) as caught:
        await client.request("POST", CONFIG_MAPS.path(namespace), body=b"{}")
    assert caught.value.code == 422


@needs_native_groups
async def test_a_group_that_is_not_there_is_told_from_a_kind_that_is_not_served(client, namespace):
    assert await writes.read_group(client, NATIVE_POD_GROUPS[0], f"{namespace}/none", dialect=NATIVE) is None
    unknown = Resource("muster.dev", "v0", "podgroups", "PodGroup")
    with pytest.raises(ApiError):
        await writes.read_group(client, unknown, f"{namespace}/none", dialect=CUSTOM)
