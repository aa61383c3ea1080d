"""One name is one gang, whichever API declares it; custom groups get the priority that their class has."""

import pytest
from msgspec.structs import replace

from muster.api.wire import Metadata, PriorityClass, read
from muster.edge.groups import Groups
from muster.engine.changes import GroupGone, GroupRead, GroupSeen
from muster.gangs.dialects import CUSTOM, NATIVE, V1ALPHA1
from muster.gangs.dialects.v1alpha1 import Workload
from tests.builders import group, pod

KEY = "team/g"


def of_class(name, *, priority=None, version=""):
    one = group("g", 2, priority=priority)
    meta = replace(one.metadata, resource_version=version)
    return replace(one, metadata=meta, spec=replace(one.spec, priority_class_name=name))


def priority_class(name, value, policy=None):
    return PriorityClass(metadata=Metadata(name=name), value=value, preemption_policy=policy)


def priority(changes):
    (change,) = changes
    assert isinstance(change, GroupSeen)
    return change.group.spec.priority


@pytest.fixture
def groups():
    return Groups()


# which object counts


@pytest.mark.parametrize("dialect", [NATIVE, CUSTOM])
def test_a_group_of_either_api_declares_a_gang(groups, dialect):
    one = group("g", 2)
    assert groups.seen(dialect, one) == [GroupSeen(one)]
    assert groups.find(KEY) == (dialect, one)


def test_of_two_of_one_name_kubernetes_own_counts(groups):
    native, custom = group("g", 2), group("g", 3)
    groups.seen(CUSTOM, custom)
    assert groups.seen(NATIVE, native) == [GroupSeen(native)]
    assert groups.seen(CUSTOM, custom) == [GroupSeen(native)]
    assert groups.find(KEY) == (NATIVE, native)


def test_when_the_one_that_counts_goes_the_other_takes_its_place(groups):
    native, custom = group("g", 2), group("g", 3)
    groups.seen(CUSTOM, custom)
    groups.seen(NATIVE, native)
    assert groups.gone(NATIVE, KEY) == [GroupSeen(custom)]
    assert groups.find(KEY) == (CUSTOM, custom)


def test_when_the_one_that_does_not_count_goes_nothing_changes(groups):
    native, custom = group("g", 2), group("g", 3)
    groups.seen(CUSTOM, custom)
    groups.seen(NATIVE, native)
    assert groups.gone(CUSTOM, KEY) == [GroupSeen(native)]


def test_a_gang_is_gone_when_nobody_declares_it(groups):
    groups.seen(NATIVE, group("g", 2))
    groups.seen(CUSTOM, group("g", 2))
    groups.gone(NATIVE, KEY)
    assert groups.gone(CUSTOM, KEY) == [GroupGone(KEY)]
    assert groups.find(KEY) is None


def test_what_was_never_declared_may_go(groups):
    assert groups.gone(NATIVE, KEY) == [GroupGone(KEY)]


def test_the_custom_one_is_found_even_if_it_does_not_count(groups):
    custom = group("g", 3)
    groups.seen(NATIVE, group("g", 2))
    assert groups.of(CUSTOM, KEY) is None
    groups.seen(CUSTOM, custom)
    assert groups.of(CUSTOM, KEY) == custom


def test_names_are_told_apart_by_their_namespace(groups):
    here = group("g", 2)
    there = replace(here, metadata=replace(here.metadata, namespace="other"))
    groups.seen(NATIVE, here)
    groups.seen(NATIVE, there)
    assert groups.gone(NATIVE, KEY) == [GroupGone(KEY)]
    assert groups.find("other/g") == (NATIVE, there)


# who looks after groups


@pytest.mark.parametrize("dialect", [NATIVE, CUSTOM])
def test_groups_that_came_or_changed_are_noted_until_they_go(groups, dialect):
    groups.seen(dialect, group("g", 2))
    assert groups.take_touched(dialect) == {KEY}
    assert groups.take_touched(dialect) == set()
    groups.seen(dialect, group("g", 3))
    groups.gone(dialect, KEY)
    assert groups.take_touched(dialect) == set()


def test_a_native_group_that_goes_does_not_hide_a_custom_one(groups):
    groups.seen(NATIVE, group("g", 2))
    groups.seen(CUSTOM, group("g", 2))
    groups.gone(NATIVE, KEY)
    assert groups.take_touched(CUSTOM) == {KEY}
    assert groups.take_touched(NATIVE) == set()


# priorities


def test_a_custom_group_has_the_priority_of_its_class(groups):
    groups.class_seen(priority_class("high", 1_000))
    assert priority(groups.seen(CUSTOM, of_class("high"))) == 1_000


def test_a_class_that_comes_after_its_groups_changes_them(groups):
    assert priority(groups.seen(CUSTOM, of_class("high"))) is None
    (change,) = groups.class_seen(priority_class("high", 1_000))
    assert priority([change]) == 1_000


def test_a_class_changes_only_groups_that_name_it(groups):
    groups.seen(CUSTOM, of_class("low"))
    assert groups.class_seen(priority_class("high", 1_000)) == []


def test_a_class_seen_again_as_it_was_changes_nothing(groups):
    groups.seen(CUSTOM, of_class("high"))
    groups.class_seen(priority_class("high", 1_000))
    assert groups.class_seen(priority_class("high", 1_000)) == []


def test_a_priority_that_is_written_out_counts_before_the_class(groups):
    groups.class_seen(priority_class("high", 1_000))
    assert priority(groups.seen(CUSTOM, of_class("high", priority=5))) == 5


def test_kubernetes_resolves_the_classes_of_its_own_groups(groups):
    groups.class_seen(priority_class("high", 1_000))
    assert priority(groups.seen(NATIVE, of_class("high"))) is None
    assert groups.class_seen(priority_class("high", 2_000)) == []


@pytest.mark.parametrize("dialect", [NATIVE, CUSTOM])
def test_nobody_is_evicted_for_a_group_whose_class_never_preempts(groups, dialect):
    groups.class_seen(priority_class("meek", 1_000, "Never"))
    assert groups.seen(dialect, of_class("meek"))[0].group.spec.preemption_policy == "Never"


def test_a_class_that_comes_late_tells_that_its_groups_never_preempt(groups):
    groups.seen(NATIVE, of_class("meek"))
    (change,) = groups.class_seen(priority_class("meek", 1_000, "Never"))
    assert change.group.spec.preemption_policy == "Never"


def test_what_a_group_says_of_preemption_counts_before_its_class(groups):
    groups.class_seen(priority_class("meek", 1_000, "Never"))
    one = of_class("meek")
    said = replace(one, spec=replace(one.spec, preemption_policy="PreemptLowerPriority"))
    assert groups.seen(CUSTOM, said)[0].group.spec.preemption_policy == "PreemptLowerPriority"


def test_the_object_itself_stays_as_it_was_read(groups):
    """What is written back must not contain what we worked out."""
    one = of_class("high")
    groups.class_seen(priority_class("high", 1_000))
    groups.seen(CUSTOM, one)
    assert groups.find(KEY) == (CUSTOM, one)
    assert groups.of(CUSTOM, KEY).spec.priority is None


def test_groups_keep_their_priority_when_their_class_goes(groups):
    groups.class_seen(priority_class("high", 1_000))
    groups.seen(CUSTOM, of_class("high", version="1"))
    groups.class_gone("high")
    assert priority(groups.seen(CUSTOM, of_class("high", version="2"))) == 1_000


def test_a_class_that_was_made_again_with_another_value_changes_its_groups(groups):
    groups.seen(CUSTOM, of_class("high"))
    groups.class_seen(priority_class("high", 1_000))
    groups.class_gone("high")
    (change,) = groups.class_seen(priority_class("high", 2_000))
    assert priority([change]) == 2_000


# what was read ahead of the watch


def at(version, minimum, *, uid="uid-g"):
    one = group("g", minimum, uid=uid)
    return replace(one, metadata=replace(one.metadata, resource_version=version))


def test_a_watch_that_lags_does_not_take_back_what_was_read(groups):
    groups.seen(NATIVE, at("5", 2))
    groups.read(NATIVE, KEY, at("9", 4), before=at("5", 2))
    assert groups.seen(NATIVE, at("7", 3)) == [GroupSeen(at("9", 4))]
    assert groups.seen(NATIVE, at("9", 4)) == [GroupSeen(at("9", 4))]
    assert groups.seen(NATIVE, at("10", 2)) == [GroupSeen(at("10", 2))]


def test_a_read_that_the_watch_has_overtaken_changes_nothing(groups):
    groups.seen(NATIVE, at("10", 4))
    groups.read(NATIVE, KEY, at("9", 2), before=at("5", 2))
    assert groups.answer(KEY, 1) == GroupRead(KEY, 1, at("10", 4))


def test_the_end_of_one_that_was_made_again_and_read_is_not_the_end_of_the_new_one(groups):
    groups.seen(NATIVE, at("5", 2))
    groups.read(NATIVE, KEY, at("9", 4, uid="new"), before=at("5", 2))
    assert groups.seen(NATIVE, at("7", 2)) == [GroupSeen(at("9", 4, uid="new"))]
    assert groups.gone(NATIVE, KEY, "uid-g") == [GroupSeen(at("9", 4, uid="new"))]
    assert groups.gone(NATIVE, KEY, "new") == [GroupGone(KEY)]


def test_one_that_was_read_as_gone_stays_so_whatever_the_watch_still_tells(groups):
    groups.seen(NATIVE, at("5", 2))
    groups.read(NATIVE, KEY, None, before=at("5", 2))
    assert groups.answer(KEY, 1) == GroupRead(KEY, 1)
    assert groups.seen(NATIVE, at("7", 2)) == [GroupGone(KEY)]
    assert groups.gone(NATIVE, KEY, "uid-g") == [GroupGone(KEY)]
    assert groups.seen(NATIVE, at("12", 3, uid="new")) == [GroupSeen(at("12", 3, uid="new"))]
    assert groups._gone == {}


def test_one_that_the_watch_told_to_be_gone_while_it_was_read_does_not_come_back(groups):
    groups.seen(NATIVE, at("5", 2))
    groups.gone(NATIVE, KEY, "uid-g")
    groups.read(NATIVE, KEY, at("5", 2), before=at("5", 2))
    assert groups.answer(KEY, 1) == GroupRead(KEY, 1)


REPLICA = {"muster.dev/workload": "w", "muster.dev/workload-pod-group": "g", "muster.dev/replica-key": "r0"}


def workload(version, minimum):
    meta = {"name": "w", "namespace": "team", "uid": "uid-w", "resourceVersion": version}
    spec = {"podGroups": [{"name": "g", "policy": {"gang": {"minCount": minimum}}}]}
    return read(Workload, {"metadata": meta, "spec": spec})


@pytest.mark.parametrize(("minimum", "found"), [(4, 4), (None, None)], ids=["another minimum", "nothing"])
def test_what_is_read_of_a_group_holds_for_its_replicas(groups, minimum, found):
    groups.seen(V1ALPHA1, workload("5", 2))
    groups.pod_seen(pod("p", labels=REPLICA))
    before = groups.of(V1ALPHA1, "team/w/g")
    now = None if minimum is None else V1ALPHA1.groups(workload("9", minimum))[0]
    groups.read(V1ALPHA1, "team/w/g", now, before=before)
    told = groups.answer("team/w/g/r0", 1).group
    assert (told and told.spec.scheduling_policy.gang.min_count) == found


@pytest.mark.parametrize("before", [None, at("5", 2)])
def test_one_that_came_while_nothing_was_read_is_there(groups, before):
    groups.seen(NATIVE, at("9", 3, uid="new"))
    groups.read(NATIVE, KEY, None, before=before)
    assert groups.answer(KEY, 1) == GroupRead(KEY, 1, at("9", 3, uid="new"))
    assert groups.seen(NATIVE, at("10", 3, uid="new")) == [GroupSeen(at("10", 3, uid="new"))]


def test_versions_that_are_no_numbers_let_the_watch_be_believed(groups):
    groups.seen(NATIVE, at("b", 2))
    assert groups.seen(NATIVE, at("a", 3)) == [GroupSeen(at("a", 3))]
