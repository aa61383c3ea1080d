"""What is asked before anything is done: may we work with this server?"""

from pathlib import Path

import pytest
import yaml
from structlog.testing import capture_logs

from muster.api.kinds import NAMESPACES, REPLICA_SETS, SERVICES
from muster.app.preflight import ASKED_FOR, Right, check_rights, to_grant, to_read
from muster.base.errors import KubeError
from muster.plugins.registry import ProfileParts, default_parts, make_profile
from tests.kube.server import Api, Cut, Direct, Reply, refusal

pytestmark = pytest.mark.looptime

REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
PROFILE = make_profile(ProfileParts(plugins=default_parts()))
READ = (*PROFILE.reads, *PROFILE.may_read)
RBAC = Path(__file__).parents[2] / "deploy/base/rbac.yaml"


def allowing(*, all_but=()):
    def answer(call):
        asked = Right(**call.document["spec"]["resourceAttributes"])
        return Reply({"kind": "SelfSubjectAccessReview", "status": {"allowed": asked not in all_but}}, 201)

    return answer


async def checked(*answers, must=(), may=()):
    api = Api()
    api.on("POST", REVIEWS, *answers)
    await check_rights(Direct(api), must=must, may=may)
    return api


async def test_who_has_all_rights_may_begin():
    api = await checked(allowing())
    assert len(api.calls) == len(ASKED_FOR)


async def test_rights_that_are_missing_are_named():
    """As after an upgrade of the image alone: protection of native groups came with a later version."""
    missing = Right("patch", "scheduling.k8s.io", "podgroups"), Right("create", "", "pods", "binding")
    with pytest.raises(KubeError) as caught:
        await checked(allowing(all_but=missing))
    assert str(caught.value) == (
        "the API server refuses to let us create pods/binding, patch podgroups.scheduling.k8s.io; "
        "Muster needs the rights in deploy/base/rbac.yaml; `muster install --apply` grants them"
    )


async def test_who_may_list_but_not_watch_may_not_begin():
    """Nobody would notice: what was listed is decided on, and no change to it is ever seen."""
    with pytest.raises(KubeError, match="the API server refuses to let us watch pods;"):
        await checked(allowing(all_but=[Right("watch", "", "pods")]))


async def test_a_role_from_before_rules_between_pods_were_followed_is_not_enough():
    """Without their labels, a rule about namespaces would be about none."""
    with pytest.raises(KubeError, match="the API server refuses to let us watch namespaces;"):
        await checked(allowing(all_but=[Right("watch", "", "namespaces")]), must=[NAMESPACES])


async def test_without_the_right_to_what_plugins_can_do_without_it_begins_and_says_so():
    with capture_logs() as logs:
        await checked(allowing(all_but=to_read([REPLICA_SETS])), may=[SERVICES, REPLICA_SETS])
    (warning,) = logs
    assert (warning["log_level"], warning["right"]) == ("warning", "watch replicasets.apps")
    assert warning["cannot"] == REPLICA_SETS.purpose


@pytest.mark.parametrize(
    "answer", [refusal(403), refusal(404), refusal(500), Cut(), Reply(b"<html>"), Reply({"kind": "Status"})]
)
async def test_a_server_that_does_not_say_is_taken_to_allow_it(answer):
    await checked(answer)


def test_what_is_asked_for_is_what_the_manifests_grant_beyond_the_lists_that_are_tried():
    (role,) = [one for one in yaml.safe_load_all(RBAC.read_text()) if one["kind"] == "ClusterRole"]
    granted = {
        Right(verb, group, *resource.split("/"))
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        if verb != "list"
    }
    assert {*ASKED_FOR, *to_read(READ), *to_grant(READ)} == granted


def test_the_manifests_let_every_kind_that_plugins_read_be_listed_and_watched_and_no_more():
    (role,) = [one for one in yaml.safe_load_all(RBAC.read_text()) if one["kind"] == "ClusterRole"]
    for kind in READ:
        verbs = {
            verb
            for rule in role["rules"]
            if kind.resource.group in rule["apiGroups"] and kind.resource.plural in rule["resources"]
            for verb in rule["verbs"]
        }
        # a ReplicaSet may be whom a group is made for: it is read by name then; what is granted is written
        granted = {"patch"} if to_grant([kind]) else set()
        assert verbs - {"get"} == {"list", "watch"} | granted, kind.name
