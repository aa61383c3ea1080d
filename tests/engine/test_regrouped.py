"""Groups whose subsets change while members wait, are being bound, or run."""

import pytest
from msgspec.structs import replace

from muster.api.wire import PodGroupStatus
from muster.engine.decisions import Bind, Event, GangCondition, Release
from muster.gangs.dialects.v1beta1 import (
    BELOW_MINIMUM_ANNOTATION,
    SUBSET_LABEL,
    SUBSETS_ANNOTATION,
)
from muster.gangs.model import Aspect
from muster.gangs.record import BOUND_FOR
from muster.gangs.record import STARTED as STARTED_ANNOTATION
from tests.builders import STARTED, cluster, group, only, placements, pod


def declared(minimum, subsets="", *, dialect="", restart=False):
    said = {SUBSETS_ANNOTATION: subsets} if subsets else {}
    policy = {BELOW_MINIMUM_ANNOTATION: "restart"} if restart else {}
    return replace(group("train", minimum, annotations=said | policy), dialect=dialect)


def member(name, subset=""):
    return pod(name, cpu=1, gang="train", labels={SUBSET_LABEL: subset} if subset else {})


def gang_of(world):
    return world.engine.cluster.gangs["team/train"]


def seen_bound(world, pods, decisions):
    """The watch tells of the binds, before or without any answer to them."""
    by_uid = {found.metadata.uid: found for found in pods}
    seen = []
    for placement in (placement for bind in only(Bind, decisions) for placement in bind.pods):
        found = by_uid[placement.uid]
        meta = replace(found.metadata, annotations=found.metadata.annotations | {BOUND_FOR: placement.bound_for.text})
        seen.append(replace(found, metadata=meta, spec=replace(found.spec, node_name=placement.node)))
    world.see(*seen)
    return seen


def test_members_that_change_their_subset_are_no_minimum_on_the_way():
    world = cluster(4).see(declared(3, "worker=3"), *(member(name) for name in ("p0", "p1", "p2")))
    world.decide()
    world.bound("p0", "p1").decide()
    world.see(declared(2, "worker=1,=1"))
    decisions = world.decide()
    assert not gang_of(world).started
    assert not [said for said in only(GangCondition, decisions) if said.holds]


def task(name):
    """A member of the task that its name begins with, in Volcano's words."""
    found = pod(name, cpu=1)
    marks = {"scheduling.k8s.io/group-name": "train", "volcano.sh/task-spec": name[0]}
    return replace(found, metadata=replace(found.metadata, annotations=marks))


def start(before, pods):
    """A world in which all these are bound for the group, and what its objects are then."""
    world = cluster(4).see(before, *pods)
    decisions = world.decide()
    world.bound().decide()
    seen = seen_bound(world, pods, decisions)
    world.decide()
    assert gang_of(world).started
    return world, seen


def marked(found):
    annotations = found.metadata.annotations | {STARTED_ANNOTATION: "team/train"}
    return replace(found, metadata=replace(found.metadata, annotations=annotations))


NAMED = [member(name, name[0]) for name in ("v0", "v1", "w0", "w1")]
TASKS = [task(name) for name in ("v0", "v1", "w0", "w1")]
UNEVEN = [task(name) for name in ("w0", "w1", "w2", "w3")]
REGROUPED = [
    ("volcano", "", "v=2,w=2,=0", TASKS),
    ("volcano", "", "v=2,w=2,=0", UNEVEN),
    ("volcano", "", "v=4,w=4,=0", TASKS),
    ("volcano", "v=2,w=2,=0", "", TASKS),
    ("volcano", "v=2,w=2,=0", "w=2,x=2,=0", TASKS),
    ("", "v=2,w=2", "", NAMED),
    ("", "v=2,w=2", "x=2,y=2", NAMED),
]


@pytest.mark.parametrize(("dialect", "before", "after", "pods"), REGROUPED)
@pytest.mark.parametrize("restarts", [False, True])
def test_a_gang_that_runs_is_not_taken_down_for_subsets_that_it_started_without(dialect, before, after, pods, restarts):
    world, seen = start(declared(4, before, dialect=dialect, restart=True), pods)
    later = declared(4, after, dialect=dialect, restart=True)
    if restarts:
        written = replace(later, status=PodGroupStatus(conditions=(STARTED,)))
        world = cluster(4).see(*map(marked, seen), later if dialect else written)
    else:
        world.see(later)
    decisions = world.decide() + world.decide(after=10) + world.decide(after=100) + world.decide(after=1000)
    assert not only(Release, decisions)


@pytest.mark.parametrize(("before", "after"), [("", "v=2,w=2,=0"), ("v=2,w=2,=0", "")])
@pytest.mark.parametrize("fell", [False, True])
def test_a_gang_bound_in_part_has_not_started_because_its_subsets_changed(before, after, fell):
    world = cluster(4).see(declared(4, before, dialect="volcano"))
    if fell:
        gone = [task(name) for name in ("v8", "v9", "w8", "w9")]
        world.see(*gone).decide()
        world.bound().decide()
        world.pod_gone("v8", "v9", "w8", "w9").decide()
    decisions = world.see(*TASKS).decide()
    assert gang_of(world).fallen is fell
    world.bound("w0", "w1").decide()
    (bind,) = only(Bind, decisions)
    part = tuple(placement for placement in bind.pods if placement.uid in ("uid-w0", "uid-w1"))
    seen_bound(world, TASKS, [replace(bind, pods=part)])
    world.see(declared(4, after, dialect="volcano")).decide()
    assert not gang_of(world).started


def test_a_bind_of_which_the_watch_tells_first_is_told_where_the_only_subset_is_not_named():
    pods = [member("p0"), member("p1")]
    world = cluster(2).see(declared(2, "all=2", dialect="subsets"), *pods)
    seen_bound(world, pods, world.decide())
    assert [event.reason for event in only(Event, world.decide())] == ["Scheduled", "Scheduled"]


# --- a subset more ---

ADDED = [
    ("", "v=2,w=2", "v=2,w=2,x=1", NAMED),
    ("", "v=2,w=2", "v=2,w=2,x=1,y=3", NAMED),
    ("", "", "=4,x=1", [member(name) for name in ("p0", "p1", "p2", "p3")]),
    ("", "v=4", "v=4,w=2", [member(name, "v") for name in ("p0", "p1", "p2", "p3")]),
    ("volcano", "v=2,w=2,=0", "v=2,w=2,x=1,=0", TASKS),
]
subset_more = pytest.mark.parametrize(("dialect", "before", "after", "pods"), ADDED)


def said_below(decisions):
    return [said for said in only(GangCondition, decisions) if said.aspect is Aspect.BELOW_MINIMUM and said.holds]


@subset_more
@pytest.mark.parametrize("restarts", ["", "before its start is written", "after that"])
def test_a_gang_that_runs_whole_has_lost_nobody_of_a_subset_that_is_added(dialect, before, after, pods, restarts):
    world, seen = start(declared(4, before, dialect=dialect, restart=True), pods)
    later = declared(4, after, dialect=dialect, restart=True)
    if restarts == "after that":
        later = later if dialect else replace(later, status=PodGroupStatus(conditions=(STARTED,)))
        seen = [marked(found) for found in seen]
    world = cluster(4).see(*seen, later) if restarts else world.see(later)
    decisions = world.decide() + world.decide(after=10) + world.decide(after=400) + world.decide(after=1000)
    assert not only(Release, decisions)
    assert not said_below(decisions)
    assert gang_of(world).started


def test_a_replacement_is_promised_no_more_than_those_whom_it_joins():
    world, _ = start(declared(4, "v=2,w=2", restart=True), NAMED)
    world.see(declared(4, "v=2,w=2,x=1", restart=True)).decide()
    world.pod_gone("v0").decide()
    again = member("v2", "v")
    seen_bound(world, [again], world.see(again).decide())
    decisions = world.decide() + world.decide(after=10) + world.decide(after=100)
    assert not only(Release, decisions)
    assert not said_below(decisions)


@pytest.mark.parametrize("restarts", [False, True])
def test_a_subset_of_which_nothing_is_left_is_lost(restarts):
    world, seen = start(declared(4, "v=2,w=2"), NAMED)
    if restarts:
        world = cluster(4).see(
            *(found for found in seen if found.metadata.name[0] == "v"),
            replace(declared(4, "v=2,w=2"), status=PodGroupStatus(conditions=(STARTED,))),
        )
    world.pod_gone("w0", "w1")
    decisions = world.decide() + world.decide(after=10)
    assert [said.message for said in said_below(decisions)] == ["2 of 4 members are bound"]


@pytest.mark.parametrize("after", ["v=2,w=2", "v=2,x=2", "v=2,w=2,x=1", "v=2,w=1,x=1"])
def test_a_gang_of_which_a_subset_was_never_bound_has_not_started(after):
    world = cluster(4).see(declared(4, "v=2,w=2"), *NAMED)
    (bind,) = only(Bind, world.decide())
    part = tuple(placement for placement in bind.pods if placement.pod.startswith("team/v"))
    seen = seen_bound(world, NAMED, [replace(bind, pods=part)])
    world = cluster(4).see(*seen, declared(4, after))
    decisions = world.decide() + world.decide(after=10) + world.decide(after=400)
    assert [ref.pod for release in only(Release, decisions) for ref in release.pods] == ["team/v0", "team/v1"]


@pytest.mark.parametrize("later", ["v=2,w=4", "v=2,w=2,x=1", "v=2,w=2,x=2"])
@pytest.mark.parametrize("come", [[], ["w8"], ["x8"], ["w8", "x8"]], ids=str)
def test_a_lost_member_comes_back_though_those_for_another_subset_are_not_complete(later, come):
    world, _ = start(declared(4, "v=2,w=2", restart=True), NAMED)
    world.see(declared(4, later, restart=True)).decide()
    world.pod_gone("v0").decide()
    complete = later == "v=2,w=2,x=1" and "x8" in come
    decisions = world.see(*(member(name, name[0]) for name in (*come, "v2"))).decide()
    assert placements(decisions).keys() == {"v2", *(come if complete else [])}


def test_a_lost_member_comes_back_when_it_has_room_though_there_is_none_for_the_others():
    world, _ = start(declared(4, "v=2,w=2", restart=True), NAMED)
    for name in ("n0", "n1", "n2", "n3"):
        world.pod(f"wall-{name}", cpu=8 - list(world.where.values()).count(name), on=name)
    world.see(declared(4, "v=2,w=4", restart=True)).decide()
    world.see(member("w8", "w"), member("w9", "w"), member("v2", "v")).decide()
    assert placements(world.pod_gone("v0").decide()).keys() == {"v2"}


def test_those_for_a_raised_subset_start_together():
    world, _ = start(declared(4, "v=2,w=2", restart=True), NAMED)
    world.see(declared(4, "v=2,w=4", restart=True)).decide()
    assert not placements(world.see(member("w8", "w")).decide())
    assert placements(world.see(member("w9", "w")).decide()).keys() == {"w8", "w9"}


REDIVIDED = [
    ("", "=2,w=1", "w=3,x=1", [member("p0"), member("p1"), member("w0", "w")]),
    ("", "v=2,w=2", "x=4", NAMED),
    ("volcano", "", "v=1,x=1,=3", TASKS),
    ("volcano", "v=2,w=2,=0", "x=1,=3", TASKS),
]


@pytest.mark.parametrize(("dialect", "before", "after", "pods"), REDIVIDED)
def test_a_start_that_was_never_written_is_one_whatever_subsets_there_are_now(dialect, before, after, pods):
    _, seen = start(declared(4, before, dialect=dialect), pods)
    world = cluster(4).see(*seen, declared(4, after, dialect=dialect))
    assert not only(Release, world.decide() + world.decide(after=10) + world.decide(after=1000))


@pytest.mark.parametrize("ends", [False, True])
def test_who_counts_for_another_subset_now_is_not_lost(ends):
    """Of those who had named one without a minimum, some count for it now that it has one."""
    pods = [task(name) for name in ("b0", "b1", "c0")]
    world, seen = start(declared(3, dialect="volcano", restart=True), pods)
    world.see(declared(3, "=3,c=1", dialect="volcano", restart=True)).decide()
    moved = seen[2]
    if ends:
        world.see(replace(moved, status=replace(moved.status, phase="Succeeded")))
    assert not only(Release, world.decide() + world.decide(after=10) + world.decide(after=100))


def test_who_has_succeeded_tells_what_a_gang_started_with_too():
    pods = [member("v0", "v"), member("v1", "v")]
    world = cluster(4).see(declared(1, "v=1"), *pods)
    (bind,) = only(Bind, world.decide())
    (first,) = seen_bound(world, pods, [replace(bind, pods=bind.pods[:1])])
    world.decide()
    world.see(declared(1, "v=1,x=2"), replace(first, status=replace(first.status, phase="Succeeded"))).decide()
    assert not placements(world.see(member("x0", "x")).decide()), "those of a subset that is new start together"


def test_a_start_is_recorded_though_members_were_bound_since_for_a_raised_minimum():
    pods = [member("v0", "v"), member("v1", "v")]
    world, seen = start(declared(2, "v=2"), pods)
    more = [member("v2", "v"), member("v3", "v")]
    (bind,) = only(Bind, world.see(declared(2, "v=4"), *more).decide())
    seen += seen_bound(world, more, [replace(bind, pods=bind.pods[:1])])
    world = cluster(4).see(*seen, declared(2, "v=4"))
    assert not only(Release, world.decide() + world.decide(after=10) + world.decide(after=1000))
