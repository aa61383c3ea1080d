"""A group in use keeps its finalizer; one that is not loses it when it is deleted, or when it needs none."""

import pytest
from msgspec.structs import replace

from muster.api.wire import Metadata, Pod, PodGroup, PodSpec, PodStatus, SchedulingGroup
from muster.controllers.protection import FINALIZER, NamedByLabel, Protection
from muster.gangs.record import BOUND_FOR, LONE, BoundFor


class World:
    """Groups by key, who uses them, and what the protection asked for; `wanted` is for which groups it is there."""

    def __init__(self, wanted=lambda key: True):
        self.groups = {}
        self.used = set()
        self.asked = []
        self.protection = Protection(self.groups.get, wanted=wanted, in_use=self.used.__contains__, write=self._write)

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


def test_a_group_that_was_used_once_more_before_anything_was_written_is_asked_for_again():
    """Whoever writes asks once more before that, and lets it be for a pod that came: nobody else would begin again."""
    world = World()
    world.group(finalizers=(FINALIZER,), leaving=True)
    world.look("g")
    world.used.add("team/g")
    assert world.look() == []
    world.used.clear()
    assert world.look() == [("g", "1", ())]


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


# groups that are protected only while somebody wants that, as Kubernetes' own are

OWN = "scheduling.k8s.io/podgroup-protection"


@pytest.fixture
def named():
    return set()


@pytest.fixture
def native(named):
    return World(wanted=named.__contains__)


def test_a_native_group_that_nobody_names_by_label_is_left_to_kubernetes(native):
    native.group(finalizers=(OWN,))
    assert native.look("g") == []


def test_a_native_group_that_pods_name_by_label_gets_the_finalizer_beside_kubernetes_own(native, named):
    native.group(finalizers=(OWN,))
    native.look("g")
    named.add("team/g")
    assert native.look("g") == [("g", "1", (OWN, FINALIZER))]


def test_a_native_group_that_no_pod_names_by_label_any_more_loses_the_finalizer_though_nobody_deletes_it(native, named):
    named.add("team/g")
    native.group(finalizers=(OWN, FINALIZER))
    assert native.look("g") == []
    named.clear()
    assert native.look("g") == [("g", "1", (OWN,))]


def test_a_finalizer_that_a_leader_before_this_one_put_on_is_taken_off(native):
    native.group(finalizers=(FINALIZER, OWN))
    assert native.look("g") == [("g", "1", (OWN,))]


def test_a_finalizer_that_was_stripped_by_hand_comes_back_while_pods_name_the_group(native, named):
    named.add("team/g")
    native.group(finalizers=(OWN, FINALIZER))
    native.look("g")
    native.group(version=2, finalizers=(OWN,))
    assert native.look("g") == [("g", "2", (OWN, FINALIZER))]


def test_a_native_group_being_deleted_is_kept_while_it_is_used(native, named):
    named.add("team/g")
    native.used.add("team/g")
    native.group(finalizers=(FINALIZER,), leaving=True)
    assert native.look("g") == []
    native.used.clear()
    assert native.look() == [("g", "1", ())]


def test_a_group_that_came_to_be_wanted_before_it_exists_is_protected_when_it_comes(native, named):
    named.add("team/g")
    assert native.look("g") == []
    native.group()
    assert native.look("g") == [("g", "1", (FINALIZER,))]


def test_whether_a_group_is_kept_follows_those_who_name_it_and_when_it_is_deleted_those_who_use_it(native, named):
    native.group()
    assert not native.protection.keeps("team/g")
    named.add("team/g")
    assert native.protection.keeps("team/g")
    native.group(leaving=True)
    assert not native.protection.keeps("team/g")
    native.used.add("team/g")
    assert native.protection.keeps("team/g")


def test_what_is_asked_for_does_not_depend_on_the_order_in_which_groups_were_touched(native, named):
    names = [f"g{number}" for number in range(20)]
    named.update(f"team/{name}" for name in names)
    for name in names:
        native.group(name)
    assert [asked[0] for asked in native.look(*reversed(names))] == sorted(names)


# who names a group by label


GIVES_WAY = {"team/job"}


def member(name, *, label="g", field=None, phase="Running", namespace="team", record=None):
    meta = Metadata(
        name=name,
        namespace=namespace,
        uid=f"uid-{name}",
        labels={"muster.dev/pod-group": label} if label else {},
        annotations={} if record is None else {BOUND_FOR: record.text},
    )
    group = SchedulingGroup(pod_group_name=field) if field else None
    spec = PodSpec(scheduling_group=group, node_name="" if record is None else "n1")
    return Pod(metadata=meta, spec=spec, status=PodStatus(phase=phase))


@pytest.mark.parametrize(
    ("pod", "names"),
    [
        (member("p"), True),
        (member("p", phase="Pending"), True),
        (member("p", phase="Succeeded"), False),
        (member("p", phase="Failed"), False),
        (member("p", label=""), False),
        (member("p", label="", field="g"), False),
        (member("p", field="g"), False),
        (member("p", field="other"), False),
        (member("p", field="job"), True),
        (member("p", field="other", record=BoundFor(gang="team/g", minimum=2)), True),
        (member("p", label="", record=BoundFor(gang="team/g", minimum=2)), True),
        (member("p", field="g", label="", record=BoundFor(gang="team/g", minimum=2)), False),
        (member("p", record=LONE), False),
        (member("p", namespace="other"), False),
    ],
    ids=[
        "runs",
        "waits",
        "succeeded",
        "failed",
        "lone",
        "by field",
        "by both",
        "field of another",
        "field of one that gives way",
        "bound for it",
        "bound for it, label lost",
        "bound for it by field",
        "bound for itself",
        "other namespace",
    ],
)
def test_a_pod_that_has_not_ended_belongs_to_its_group_by_label_where_the_field_does_not_say_so(pod, names):
    named = NamedByLabel(GIVES_WAY.__contains__)
    named.seen(pod)
    assert ("team/g" in named) is names


def test_a_group_is_touched_by_the_first_pod_that_names_it_and_by_the_last_that_did():
    named = NamedByLabel(GIVES_WAY.__contains__)
    named.seen(member("a"))
    assert named.take_touched() == {"team/g"}
    named.seen(member("b"))
    named.seen(member("a", phase="Succeeded"))
    named.seen(member("b"))
    assert named.take_touched() == set()
    named.gone("uid-b")
    named.gone("uid-b")
    assert named.take_touched() == {"team/g"}
    assert "team/g" not in named


def test_a_pod_that_is_given_another_label_names_the_other_group():
    named = NamedByLabel(GIVES_WAY.__contains__)
    named.seen(member("a"))
    named.take_touched()
    named.seen(member("a", label="h"))
    assert ("team/g" in named, "team/h" in named) == (False, True)
    assert named.take_touched() == {"team/g", "team/h"}


def test_nothing_is_kept_of_pods_that_are_gone():
    named = NamedByLabel(GIVES_WAY.__contains__)
    for name in "abc":
        named.seen(member(name, field="job"))
        named.gone(f"uid-{name}")
    assert (named._named, named._pods, named._twice, named._first) == ({}, {}, {}, {})


def test_whose_pod_it_is_is_asked_again_when_the_group_of_its_field_changes():
    give_way = set()
    named = NamedByLabel(give_way.__contains__)
    named.seen(member("a", field="job"))
    assert "team/g" not in named
    give_way.add("team/job")
    named.group_changed("team/job")
    assert "team/g" in named
    assert named.take_touched() == {"team/g"}
    named.seen(member("b", field="job", record=BoundFor(gang="team/g", minimum=2)))
    give_way.clear()
    named.group_changed("team/job")
    assert named._named == {"uid-b": "team/g"}
