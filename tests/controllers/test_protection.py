"""A group in use keeps its finalizer; one that is not loses it when it is deleted."""

from msgspec.structs import replace

from muster.api.wire import Metadata, PodGroup
from muster.controllers.protection import FINALIZER, Protection


class World:
    """Groups by key, who uses them, and what the protection asked for."""

    def __init__(self):
        self.groups = {}
        self.used = set()
        self.asked = []
        self.protection = Protection(self.groups.get, in_use=self.used.__contains__, write=self._write)

    def _write(self, group, finalizers):
        self.asked.append((group.metadata.name, group.metadata.resource_version, finalizers))

    def group(self, name="g", *, version=1, finalizers=(), leaving=False):
        meta = Metadata(
            name=name,
            namespace="team",
            uid=f"uid-{name}",
            resource_version=str(version),
            finalizers=finalizers,
            deletion_timestamp="2027-01-15T08:00:00Z" if leaving else None,
        )
        self.groups[f"team/{name}"] = PodGroup(metadata=meta)

    def look(self, *touched):
        """What is asked for by this look."""
        self.asked.clear()
        self.protection.look([f"team/{name}" for name in touched])
        return list(self.asked)


def test_a_group_without_the_finalizer_gets_it():
    world = World()
    world.group(finalizers=("other/one",))
    assert world.look("g") == [("g", "1", ("other/one", FINALIZER))]


def test_a_group_with_the_finalizer_is_left_alone():
    world = World()
    world.group(finalizers=(FINALIZER,))
    assert world.look("g") == []


def test_a_group_that_was_not_touched_is_not_looked_at():
    world = World()
    world.group()
    assert world.look() == []


def test_a_group_being_deleted_that_nobody_uses_loses_only_our_finalizer():
    world = World()
    world.group(finalizers=("other/one", FINALIZER, "other/two"), leaving=True)
    assert world.look("g") == [("g", "1", ("other/one", "other/two"))]


def test_a_group_being_deleted_gets_no_finalizer():
    """The API server would refuse it."""
    world = World()
    world.group(leaving=True)
    assert world.look("g") == []


def test_a_group_being_deleted_keeps_its_finalizer_while_it_is_used():
    world = World()
    world.group(finalizers=(FINALIZER,), leaving=True)
    world.used.add("team/g")
    assert world.look("g") == []
    assert world.look() == []


def test_the_finalizer_goes_when_the_last_pod_has_gone_although_the_group_did_not_change():
    world = World()
    world.group(finalizers=(FINALIZER,), leaving=True)
    world.used.add("team/g")
    world.look("g")
    world.used.clear()
    assert world.look() == [("g", "1", ())]


def test_the_same_is_asked_for_once():
    world = World()
    world.group(finalizers=(FINALIZER,), leaving=True)
    world.look("g")
    assert world.look() == []
    assert world.look() == []


def test_a_group_that_changed_meanwhile_is_asked_for_again():
    """The first write named a version that is no more."""
    world = World()
    world.group(finalizers=(FINALIZER,), leaving=True)
    world.look("g")
    world.group(version=2, finalizers=(FINALIZER,), leaving=True)
    assert world.look("g") == [("g", "2", ())]


def test_a_group_that_is_gone_is_forgotten():
    world = World()
    world.group(finalizers=(FINALIZER,), leaving=True)
    world.used.add("team/g")
    world.look("g")
    del world.groups["team/g"]
    world.used.clear()
    assert world.look("g") == []
    assert world.protection._leaving == {}


def test_a_group_that_went_without_a_word_is_passed_over():
    world = World()
    world.group(finalizers=(FINALIZER,), leaving=True)
    world.used.add("team/g")
    world.look("g")
    del world.groups["team/g"]
    world.used.clear()
    assert world.look() == []


def test_a_group_made_again_under_the_same_name_is_protected_anew():
    world = World()
    world.group(finalizers=(FINALIZER,), leaving=True)
    world.look("g")
    world.group(version=9)
    assert world.look("g") == [("g", "9", (FINALIZER,))]


def test_a_group_that_lost_our_finalizer_while_leaving_is_done():
    world = World()
    world.group(finalizers=(FINALIZER, "other/one"), leaving=True)
    world.look("g")
    world.group(version=2, finalizers=("other/one",), leaving=True)
    assert world.look("g") == []
    assert world.look() == []


def test_groups_do_not_stand_in_for_each_other():
    world = World()
    world.group("a", finalizers=(FINALIZER,), leaving=True)
    world.group("b", finalizers=(FINALIZER,), leaving=True)
    world.used.add("team/a")
    assert world.look("a", "b") == [("b", "1", ())]


def test_a_group_is_never_changed_in_place():
    world = World()
    world.group(finalizers=(FINALIZER,), leaving=True)
    before = replace(world.groups["team/g"])
    world.look("g")
    assert world.groups["team/g"] == before
