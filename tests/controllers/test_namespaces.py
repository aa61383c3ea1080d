"""Namespaces are emptied before they go, get their account, and say what holds them up."""

from copy import deepcopy

import pytest

from muster.api.calls import Delete, Done, Look, Lost, Refused
from muster.api.resources import NAMESPACES, NODES, PODS, Resource
from muster.controllers.accounts import Accounts
from muster.controllers.discovery import Discovery
from muster.controllers.namespaces import Namespaces
from muster.controllers.objects import JOBS, SERVICE_ACCOUNTS, Bare, Namespace
from tests.controllers.world import World

MAPS = Resource("", "v1", "configmaps", "ConfigMap")


class Place(World):
    def __init__(self):
        super().__init__()
        self.serve(PODS, MAPS, NODES, JOBS)
        self.attach(Namespaces(), {NAMESPACES: Namespace})
        self.namespace("team")

    def namespace(self, name, **metadata):
        document = {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": name, **metadata},
            "spec": {"finalizers": ["kubernetes"]},
            "status": {"phase": "Active"},
        }
        self.create(NAMESPACES, document, uid=f"uid-{name}")
        return self

    def put(self, kind, name, *, namespace="team", **fields):
        meta = {"name": name, "namespace": namespace, **fields.pop("metadata", {})}
        self.create(kind, {"metadata": meta, "spec": {}, **fields})
        return self

    def end(self, name="team"):
        self.delete(NAMESPACES, name)
        return self

    def says(self, name="team"):
        found = self.get(NAMESPACES, name)["status"]["conditions"]
        return {one["type"]: (one["reason"], one["message"]) for one in found if one["status"] == "True"}

    def names(self):
        return sorted(one["metadata"]["name"] for kind in (PODS, MAPS, JOBS) for one in self.all(kind))


def test_a_namespace_goes_with_everything_in_it():
    place = Place().put(MAPS, "m").put(JOBS, "j").put(PODS, "p").put(MAPS, "elsewhere", namespace="other").end().run(1)
    assert place.get(NAMESPACES, "team") is None
    assert place.names() == ["elsewhere"]


def test_a_namespace_that_nobody_deleted_is_left_alone():
    place = Place().put(MAPS, "m").run(60)
    assert place.names() == ["m"]
    assert place.calls == []


def test_everything_is_deleted_in_the_background():
    place = Place().put(MAPS, "m").end().run(1)
    assert {call.propagation for call in place.calls if isinstance(call, Delete)} == {"Background"}


def test_pods_go_before_all_else():
    spec = {"nodeName": "n", "terminationGracePeriodSeconds": 30}
    place = Place().put(PODS, "p", spec=spec).put(MAPS, "m").end().run(5)
    assert place.names() == ["m", "p"]
    assert place.get(NAMESPACES, "team")["status"]["phase"] == "Terminating"
    assert place.says() == {}
    assert len(place.get(NAMESPACES, "team")["status"]["conditions"]) == 5
    place.vanish(PODS, "p")
    assert place.run(10).names() == []
    assert place.get(NAMESPACES, "team") is None


def test_what_is_held_by_a_finalizer_holds_the_namespace_and_it_says_so():
    place = Place().put(MAPS, "m", metadata={"finalizers": ["example.com/wait"]}).put(JOBS, "j").end().run(5)
    assert place.names() == ["m"]
    assert place.says() == {
        "NamespaceContentRemaining": (
            "SomeResourcesRemain",
            "Some resources are remaining: configmaps. has 1 resource instances",
        ),
        "NamespaceFinalizersRemaining": (
            "SomeFinalizersRemain",
            "Some content in the namespace has finalizers remaining: example.com/wait in 1 resource instances",
        ),
    }
    place.patch(MAPS, "m", {"metadata": {"finalizers": None}})
    place.run(10)
    assert place.get(NAMESPACES, "team") is None


def test_conditions_keep_their_time_while_they_say_the_same():
    place = Place().put(MAPS, "m", metadata={"finalizers": ["example.com/wait"]}).end().run(5)
    before = deepcopy(place.get(NAMESPACES, "team")["status"]["conditions"])
    assert place.run(60).get(NAMESPACES, "team")["status"]["conditions"] == before


def test_what_is_held_is_not_asked_for_too_often():
    place = Place().put(MAPS, "m", metadata={"finalizers": ["example.com/wait"]}).end().run(60)
    place.calls.clear()
    place.run(80)
    deletions = [call for call in place.calls if isinstance(call, Delete) and call.path.endswith("/configmaps")]
    assert 5 <= len(deletions) <= 15


def test_a_deletion_that_fails_is_said_and_tried_again():
    place = Place().put(MAPS, "m").end()
    place.answer = lambda call: (
        Refused(code=500, message="no room") if isinstance(call, Delete) and call.path.endswith("/configmaps") else None
    )
    place.run(5)
    assert place.says() == {
        "NamespaceDeletionContentFailure": (
            "ContentDeletionFailed",
            "Failed to delete all resource types, 1 remaining: no room",
        )
    }
    place.answer = None
    place.run(20)
    assert place.get(NAMESPACES, "team") is None


def test_what_stays_without_a_reason_is_an_error():
    place = Place().put(MAPS, "m").end()
    place.answer = lambda call: Done() if isinstance(call, Delete) and call.path.endswith("/configmaps") else None
    place.run(5)
    words = "unexpected items still remain in namespace: team for gvr: /v1, Resource=configmaps"
    assert place.says()["NamespaceDeletionContentFailure"] == (
        "ContentDeletionFailed",
        f"Failed to delete all resource types, 1 remaining: {words}",
    )


@pytest.mark.parametrize("code", [404, 405])
def test_a_kind_that_cannot_be_deleted_at_once_is_deleted_one_by_one(code):
    place = Place().put(MAPS, "a").put(MAPS, "b").end()
    place.answer = lambda call: (
        Refused(code=code) if isinstance(call, Delete) and call.path.endswith("/configmaps") else None
    )
    place.run(5)
    assert place.get(NAMESPACES, "team") is None
    assert place.names() == []


def test_nothing_is_let_go_before_all_kinds_are_known():
    place = Place().put(MAPS, "m").end()
    place.answer = lambda call: Refused(code=503, message="later") if call.path == "/apis/batch/v1" else None
    place.run(5)
    reason, words = place.says()["NamespaceDeletionDiscoveryFailure"]
    assert reason == "DiscoveryFailed"
    assert "batch/v1: later" in words
    place.answer = None
    place.run(20)
    assert place.get(NAMESPACES, "team") is None


def test_finalizers_of_others_stay():
    place = Place()
    place.patch(NAMESPACES, "team", {"spec": {"finalizers": ["example.com/mine", "kubernetes"]}})
    place.end().run(5)
    assert place.get(NAMESPACES, "team")["spec"]["finalizers"] == ["example.com/mine"]


def test_labels_and_annotations_survive_to_the_end():
    place = Place().namespace("kept", labels={"a": "b"}, finalizers=["example.com/last"]).end("kept").run(5)
    meta = place.get(NAMESPACES, "kept")["metadata"]
    assert (meta["labels"], meta["finalizers"]) == ({"a": "b"}, ["example.com/last"])


# --- accounts ---


def account_place():
    place = World()
    place.attach(Accounts(), {NAMESPACES: Namespace, SERVICE_ACCOUNTS: Bare})
    return place


def active(name, phase="Active"):
    return {"metadata": {"name": name}, "spec": {}, "status": {"phase": phase}}


def test_each_namespace_gets_its_default_account():
    place = account_place()
    place.create(NAMESPACES, active("team"))
    place.create(NAMESPACES, active("other"))
    place.run()
    assert place.get(SERVICE_ACCOUNTS, "default") is not None
    assert place.get(SERVICE_ACCOUNTS, "default", namespace="other") is not None


def test_an_account_that_is_deleted_is_made_again():
    place = account_place()
    place.create(NAMESPACES, active("team"))
    place.run()
    place.delete(SERVICE_ACCOUNTS, "default")
    assert place.get(SERVICE_ACCOUNTS, "default") is None
    assert place.run().get(SERVICE_ACCOUNTS, "default") is not None


def test_a_namespace_that_goes_gets_none():
    place = account_place()
    place.create(NAMESPACES, active("team", phase="Terminating"))
    assert place.run(60).calls == []


def test_an_account_that_is_there_is_not_made():
    place = account_place()
    place.create(SERVICE_ACCOUNTS, {"metadata": {"name": "default"}})
    place.create(NAMESPACES, active("team"))
    assert place.run(60).calls == []


@pytest.mark.parametrize(
    ("answer", "tries"),
    [
        (Refused(code=409, reason="AlreadyExists"), 1),
        (Refused(code=403, message="unable to create new content in namespace team because it is being terminated"), 1),
        (Refused(code=404), 1),
        (Refused(code=500), 15),
    ],
)
def test_what_cannot_be_helped_is_not_tried_again(answer, tries):
    place = account_place()
    place.answer = lambda _: answer
    place.create(NAMESPACES, active("team"))
    assert abs(len(place.run(100).calls) - tries) <= 1


# --- which kinds there are ---


def test_kinds_are_found_and_found_again_when_they_change():
    place = World()
    place.serve(PODS, NODES, JOBS)
    heard = []
    discovery = Discovery(heard.append)
    place.attach(discovery, {})
    place.run(100)
    assert [served.watched for served in heard] == [(PODS, NODES, JOBS)]
    place.serve(PODS, NODES, JOBS, MAPS)
    discovery.seen("", None)
    place.run()
    assert MAPS in heard[-1].watched


def test_events_and_subresources_are_passed_over_and_one_version_is_enough():
    place = World()
    verbs = ["delete", "list", "watch"]
    place.pages = {
        "/api/v1": {
            "resources": [
                {"name": "pods", "kind": "Pod", "namespaced": True, "verbs": verbs},
                {"name": "pods/status", "kind": "Pod", "namespaced": True, "verbs": ["get"]},
                {"name": "events", "kind": "Event", "namespaced": True, "verbs": verbs},
                {"name": "bindings", "kind": "Binding", "namespaced": True, "verbs": ["create"]},
                {"name": "unwatched", "kind": "Unwatched", "namespaced": True, "verbs": ["delete"]},
            ]
        },
        "/apis": {
            "groups": [
                {
                    "name": "x.io",
                    "versions": [{"groupVersion": "x.io/v1alpha1"}, {"groupVersion": "x.io/v1"}],
                    "preferredVersion": {"groupVersion": "x.io/v1"},
                }
            ]
        },
        "/apis/x.io/v1": {"resources": [{"name": "as", "kind": "A", "verbs": verbs}]},
        "/apis/x.io/v1alpha1": {
            "resources": [{"name": "as", "kind": "A", "verbs": verbs}, {"name": "bs", "kind": "B", "verbs": verbs}]
        },
    }
    heard = []
    place.attach(Discovery(heard.append), {})
    place.run()
    [served] = heard
    assert [one.name for one in served.deletable] == ["pods", "events", "unwatched", "as.x.io", "bs.x.io"]
    assert [(one.name, one.version) for one in served.watched] == [
        ("pods", "v1"),
        ("as.x.io", "v1"),
        ("bs.x.io", "v1alpha1"),
    ]


def test_a_server_that_answers_in_part_changes_nothing():
    place = World()
    place.serve(PODS, JOBS)
    heard = []
    place.attach(Discovery(heard.append), {})
    place.answer = lambda call: Refused(code=503) if call.path == "/apis/batch/v1" else None
    place.run(10)
    assert heard == []
    assert all(isinstance(call, Look) for call in place.calls)
    place.answer = None
    place.run(40)
    assert len(heard) == 1


@pytest.mark.parametrize("answer", [Lost(), Refused(code=404, message="404 page not found")])
def test_a_kind_that_cannot_be_listed_may_still_have_objects(answer):
    place = Place().put(MAPS, "a").end()
    place.answer = lambda call: answer if call.path.endswith("/configmaps") else None
    place.run(60)
    assert place.get(NAMESPACES, "team") is not None
    place.answer = None
    assert place.run(60).get(NAMESPACES, "team") is None
