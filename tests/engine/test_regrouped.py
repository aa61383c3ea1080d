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
from muster.gangs.record import BOUND_FOR
from muster.gangs.record import STARTED as STARTED_ANNOTATION
from tests.builders import STARTED, cluster, group, only, pod


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
