"""Objects go when their owners have, and not before."""

import msgspec
import pytest

from muster.api.calls import Delete, Done, Look, Lost, Refused
from muster.api.resources import NAMESPACES, NODES, Resource
from muster.controllers.garbage import Garbage
from muster.controllers.objects import Bare, Namespace
from tests.controllers.world import World

MAPS = Resource("", "v1", "configmaps", "ConfigMap")
SECRETS = Resource("", "v1", "secrets", "Secret")
KINDS = (MAPS, SECRETS, NODES)


class Place(World):
    def __init__(self):
        super().__init__()
        self.garbage = None
        self.restart()

    def restart(self):
        if self.garbage is not None:
            self.forget(self.garbage)
        self.garbage = Garbage()
        self.garbage.serve(KINDS)
        self.attach(self.garbage, dict.fromkeys(KINDS, Bare))
        return self

    def put(self, name, *owners, kind=MAPS, namespace="team", finalizers=(), blocks=None):
        """Owners are names of ConfigMaps, or whole references."""
        references = [one if isinstance(one, dict) else reference(one, blocks=blocks) for one in owners]
        meta = {"name": name, "namespace": namespace if kind.namespaced else "", "finalizers": list(finalizers)}
        if references:
            meta["ownerReferences"] = references
        self.create(kind, {"metadata": meta, "data": {}}, uid=f"uid-{name}")
        return self

    @property
    def names(self):
        return sorted(one["metadata"]["name"] for kind in KINDS for one in self.all(kind))

    def owners(self, name):
        return [one["name"] for one in self.get(MAPS, name)["metadata"].get("ownerReferences", ())]


def reference(name, *, kind="ConfigMap", version="v1", uid=None, blocks=None):
    found = {"apiVersion": version, "kind": kind, "name": name, "uid": uid or f"uid-{name}"}
    return found if blocks is None else {**found, "blockOwnerDeletion": blocks}


# --- background ---


def test_what_an_owner_owns_goes_after_it():
    place = Place().put("a").put("b", "a").put("c", "b").put("other").run()
    place.delete(MAPS, "a")
    assert place.run().names == ["other"]


def test_an_object_stays_while_one_of_its_owners_does_and_forgets_the_other():
    place = Place().put("a").put("b").put("c", "a", "b").run()
    place.delete(MAPS, "a")
    place.run()
    assert place.owners("c") == ["b"]
    place.delete(MAPS, "b")
    assert place.run().names == []


def test_an_owner_that_is_on_its_way_out_is_still_there():
    place = Place().put("a", finalizers=["example.com/wait"]).put("b", "a").run()
    place.delete(MAPS, "a")
    assert place.run(60).names == ["a", "b"]


def test_kinds_may_own_each_other():
    place = Place().put("a").put("s", "a", kind=SECRETS).run()
    place.delete(MAPS, "a")
    assert place.run().names == []


def test_an_owner_without_a_namespace_may_own_anything():
    place = Place().put("n", kind=NODES).put("a", reference("n", kind="Node")).run()
    place.delete(NODES, "n")
    assert place.run().names == []


# --- owners that are not known ---


def test_an_object_whose_owner_never_was_goes_once_the_server_was_asked():
    place = Place().put("a", reference("ghost")).run()
    assert place.names == []
    assert [type(call) for call in place.calls] == [Look, Delete]
    assert place.calls[0].path == "/api/v1/namespaces/team/configmaps/ghost"


def test_an_owner_of_the_same_name_is_not_the_owner():
    place = Place().put("a").put("b", reference("a", uid="uid-of-another")).run()
    assert place.names == ["a"]


def test_an_owner_that_the_server_has_and_we_do_not_keeps_what_it_owns():
    place = Place()
    # its kind is asked for, but not watched
    place.garbage.serve([*KINDS, NAMESPACES])
    place.create(NAMESPACES, {"metadata": {"name": "space"}, "spec": {}}, uid="uid-space")
    place.put("a", reference("space", kind="Namespace")).run()
    assert place.names == ["a"]


def test_an_owner_that_goes_before_any_watch_has_told_of_it_takes_what_it_owns_along():
    place = Place()
    place.garbage.serve([*KINDS, NAMESPACES])
    place.create(NAMESPACES, {"metadata": {"name": "space"}, "spec": {}}, uid="uid-space")
    place.put("a", reference("space", kind="Namespace")).run()
    gone = Refused(code=404, message='namespaces "space" not found')
    place.answer = lambda call: gone if isinstance(call, Look) else None
    assert place.run(100).names == []


@pytest.mark.parametrize("answer", [Lost(), Refused(code=500), Refused(code=403)])
def test_nothing_goes_because_of_an_owner_that_could_not_be_asked_for(answer):
    place = Place()
    place.answer = lambda call: answer if isinstance(call, Look) else None
    place.put("a", reference("ghost")).run(600)
    assert place.names == ["a"]
    place.answer = None
    assert place.run(2000).names == []


def test_an_owner_of_a_kind_that_is_not_served_keeps_what_it_owns():
    place = Place().put("a", reference("x", kind="Gone", version="example.com/v1")).run(600)
    assert place.names == ["a"]


def test_an_owner_in_another_namespace_is_none_and_somebody_is_told():
    place = Place().put("a", namespace="other").put("b", "a").run()
    assert place.names == ["a"]
    words = 'ownerRef [v1/ConfigMap, namespace: team, name: a, uid: uid-a] does not exist in namespace "team"'
    assert place.events == [("OwnerRefInvalidNamespace", words)]


def test_an_object_without_a_namespace_whose_owner_has_one_stays():
    place = Place().put("a").put("n", "a", kind=NODES).run(600)
    assert place.names == ["a", "n"]


def test_the_server_is_asked_once_for_an_owner_of_many():
    place = Place()
    for number in range(20):
        place.put(f"d{number}", reference("ghost"))
    place.run()
    assert place.names == []
    assert len([call for call in place.calls if isinstance(call, Look)]) <= 20
    place.calls.clear()
    place.put("late", reference("ghost")).run()
    assert [type(call) for call in place.calls] == [Delete], "known to be absent"


def test_a_new_process_finds_what_was_left():
    place = Place().put("a").put("b", "a").run()
    place.forget(place.garbage)
    place.delete(MAPS, "a")
    assert place.names == ["b"]
    assert place.restart().run().names == []


# --- foreground ---


def test_in_the_foreground_an_owner_goes_last():
    place = Place().put("a").put("b", "a", blocks=True, finalizers=["example.com/wait"]).run()
    place.delete(MAPS, "a", propagation="Foreground")
    place.run(60)
    assert place.names == ["a", "b"]
    assert "deletionTimestamp" in place.get(MAPS, "b")["metadata"]
    place.patch(MAPS, "b", {"metadata": {"finalizers": None}})
    assert place.run().names == []


def test_in_the_foreground_an_owner_does_not_wait_for_what_does_not_block_it():
    place = Place().put("a").put("b", "a", finalizers=["example.com/wait"]).run()
    place.delete(MAPS, "a", propagation="Foreground")
    assert place.run().names == ["b"]


def test_in_the_foreground_dependents_of_dependents_go_first():
    place = Place().put("a").put("b", "a", blocks=True).put("c", "b", blocks=True, finalizers=["example.com/w"]).run()
    place.delete(MAPS, "a", propagation="Foreground")
    place.run(60)
    assert place.names == ["a", "b", "c"]
    assert place.get(MAPS, "b")["metadata"]["finalizers"] == ["foregroundDeletion"]
    place.patch(MAPS, "c", {"metadata": {"finalizers": None}})
    assert place.run().names == []


def test_a_dependent_with_another_owner_lets_the_one_that_waits_go():
    place = Place().put("a").put("b").put("c", "a", "b", blocks=True).run()
    place.delete(MAPS, "a", propagation="Foreground")
    assert place.run().names == ["b", "c"]
    assert place.owners("c") == ["b"]


def test_a_reference_that_does_not_block_any_more_lets_the_owner_go():
    place = Place().put("a").put("b", "a", blocks=True, finalizers=["example.com/wait"]).run()
    place.delete(MAPS, "a", propagation="Foreground")
    place.run()
    place.patch(MAPS, "b", {"metadata": {"ownerReferences": [reference("a", blocks=False)]}})
    assert place.run().names == ["b"]


def test_a_circle_of_owners_does_not_wait_for_itself():
    place = Place().put("a").put("b", "a", blocks=True).run()
    place.patch(MAPS, "a", {"metadata": {"ownerReferences": [reference("b", blocks=True)]}})
    place.run()
    place.delete(MAPS, "a", propagation="Foreground")
    assert place.run(60).names == []


def test_an_owner_that_is_told_meanwhile_to_leave_its_own_behind_does():
    place = Place().put("a").put("b", "a", blocks=True).run()
    place.delete(MAPS, "a", propagation="Foreground")
    # somebody has deleted it once more, and the watch has not told of that
    said = place.get(MAPS, "a")
    said["metadata"]["finalizers"] = ["orphan"]
    place.answer = lambda call: Done(msgspec.json.encode(said)) if isinstance(call, Look) else None
    place.run(5)
    assert "b" in place.names
    assert place.owners("b") == []


def test_an_owner_that_nothing_waits_for_goes_at_once():
    place = Place().put("a").run()
    place.delete(MAPS, "a", propagation="Foreground")
    assert place.run().names == []


# --- orphans ---


def test_orphans_stay_and_name_no_owner():
    place = Place().put("a").put("b", "a").put("c").put("d", "a", "c").run()
    place.delete(MAPS, "a", propagation="Orphan")
    assert place.run().names == ["b", "c", "d"]
    assert place.owners("b") == []
    assert place.owners("d") == ["c"]


def test_an_orphan_that_is_seen_only_when_its_owner_is_gone_stays_too():
    """Each kind is watched by itself: a child that was made first may be seen last."""
    place = Place().put("a").put("b").run()
    place.delete(MAPS, "a", propagation="Orphan")
    place.delete(MAPS, "b")
    place.run().put("late", "a").put("late-of-both", "a", "b").put("late-of-b", "b")
    assert place.run().names == ["late"]
    assert place.owners("late") == []


def test_an_orphan_that_cannot_be_changed_holds_its_owner():
    place = Place().put("a").put("b", "a").run()
    place.answer = lambda call: Refused(code=500) if call.path.endswith("/b") else None
    place.delete(MAPS, "a", propagation="Orphan")
    assert place.run(10).names == ["a", "b"]
    place.answer = None
    assert place.run(60).names == ["b"]
    assert place.owners("b") == []


# --- races ---


def test_an_object_that_changes_meanwhile_goes_if_its_owners_are_the_same():
    place = Place().put("a").put("b", "a").run()

    def changes(call):
        if isinstance(call, Delete) and call.version:
            place.answer = None
            place.patch(MAPS, "b", {"data": {"x": "y"}})

    place.answer = changes
    place.delete(MAPS, "a")
    assert place.run().names == []


def test_an_object_that_finds_another_owner_meanwhile_stays():
    place = Place().put("a").put("other").put("b", "a").run()

    def changes(call):
        if isinstance(call, Delete) and call.version:
            place.answer = None
            place.patch(MAPS, "b", {"metadata": {"ownerReferences": [reference("other")]}})

    place.answer = changes
    place.delete(MAPS, "a")
    assert place.run(60).names == ["b", "other"]


def test_a_kind_that_is_read_with_more_fields_is_garbage_all_the_same():
    place = Place()
    place.forget(place.garbage)
    garbage = Garbage()
    garbage.serve([NAMESPACES, MAPS])
    place.attach(garbage, {NAMESPACES: Namespace, MAPS: Bare})
    place.create(NAMESPACES, {"metadata": {"name": "space"}, "spec": {}}, uid="uid-space")
    place.put("a", reference("space", kind="Namespace")).run()
    place.delete(NAMESPACES, "space")
    assert place.run().names == []


# --- kinds that are served otherwise ---

NEW_MAPS = Resource("", "v2", "configmaps", "ConfigMap")


def test_what_is_said_to_be_gone_is_asked_for_once_before_what_it_owns_goes():
    place = Place().put("a")
    for number in range(20):
        place.put(f"d{number}", "a")
    place.run()
    place.delete(MAPS, "a")
    assert place.run().names == []
    assert [call.path for call in place.calls if isinstance(call, Look)] == ["/api/v1/namespaces/team/configmaps/a"]


def test_an_owner_that_is_said_to_be_gone_and_is_there_keeps_what_it_owns():
    place = Place().put("a").put("b", "a").run()
    there = msgspec.json.decode(msgspec.json.encode(place.get(MAPS, "a")), type=Bare)
    place.garbage.gone(MAPS.path(), there)
    assert place.run(60).names == ["a", "b"]


@pytest.mark.parametrize("words", ["404 page not found", "the server could not find the requested resource"])
def test_an_owner_is_not_gone_because_its_kind_is_not_served_at_the_moment(words):
    place = Place().put("a").put("b", "a").run()
    refusal = Refused(code=404, reason="NotFound", message=words)
    place.answer = lambda call: refusal if isinstance(call, Look) else None
    there = msgspec.json.decode(msgspec.json.encode(place.get(MAPS, "a")), type=Bare)
    place.garbage.gone(MAPS.path(), there)
    assert place.run(600).names == ["a", "b"]


def test_what_was_not_seen_again_in_a_new_version_is_asked_for():
    place = Place().put("a").put("b", "a").run()
    place.garbage.serve([NEW_MAPS])
    place.run(600)
    asked = {call.path for call in place.calls if isinstance(call, Look)}
    assert asked == {f"/api/v2/namespaces/team/configmaps/{name}" for name in "ab"}


def test_what_is_there_and_no_watch_has_told_of_yet_is_asked_for_again():
    """It may go before its kind has been read in the new version, and nobody would hear of it."""
    place = Place().put("a").put("b", "a").run()
    there = msgspec.json.encode(place.get(MAPS, "a"))
    place.answer = lambda call: Done(there) if isinstance(call, Look) and call.path.endswith("/a") else None
    place.garbage.serve([NEW_MAPS])
    place.run(100)
    assert len([call for call in place.calls if isinstance(call, Look) and call.path.endswith("/a")]) == 3
