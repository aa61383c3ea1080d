"""Who is counted as what."""

import pytest
from msgspec.structs import replace

from muster.api.wire import Condition, OwnerReference
from muster.cluster.tally import tally
from muster.gangs.tally import NOBODY, Tally
from tests.builders import cluster, group, pod


def counted(*pods):
    world = cluster(nodes=1, cpu=8).see(group("g", 3), *pods)
    return tally(world.engine.cluster.gangs["team/g"].members.values())


def member(name, **facts):
    return pod(name, gang="g", **facts)


def of_all(counted):
    """Without what is told of each subset."""
    return replace(counted, subsets={})


def waits(reason):
    return (Condition(type="PodScheduled", status="False", reason=reason),)


def test_of_a_gang_without_members_there_is_nobody():
    assert tally([]) == NOBODY


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({}, Tally()),
        ({"conditions": waits("Unschedulable")}, Tally(reasons={"Unschedulable": 1})),
        ({"on": "n0"}, Tally(bound=1)),
        ({"on": "n0", "bound_at": 60.0}, Tally(bound=1, first_bound_at=60.0)),
        ({"on": "n0", "phase": "Running"}, Tally(bound=1, running=1)),
        ({"on": "n0", "phase": "Running", "leaving": True}, Tally(running=1)),
        ({"on": "n0", "phase": "Succeeded", "bound_at": 60.0}, Tally(succeeded=1, first_bound_at=60.0)),
        ({"on": "n0", "phase": "Failed"}, Tally(failed=1)),
    ],
)
def test_a_member_counts_as_its_object_says(facts, expected):
    assert of_all(counted(member("a", **facts))) == replace(expected, total=1)


def test_members_of_other_schedulers_count():
    both = counted(member("a"), member("b", scheduler="other", on="n0", phase="Running"))
    assert (both.total, both.running) == (2, 1)


def test_a_pod_that_no_longer_runs_is_not_counted_as_running():
    again = counted(member("a", on="n0", phase="Running"), member("a", on="n0", phase="Failed"))
    assert of_all(again) == Tally(total=1, failed=1)


def test_what_a_pod_said_before_it_was_bound_counts_no_more():
    assert not counted(member("a", conditions=waits("Unschedulable")), member("a", on="n0")).reasons


def owned(name, *owners, created=0.0):
    made = member(name, created=created)
    references = tuple(OwnerReference(kind="Job", name=owner, uid=owner) for owner in owners)
    return replace(made, metadata=replace(made.metadata, owner_references=references))


def test_the_owners_are_those_of_the_oldest_member_that_has_any():
    assert (
        counted(owned("a"), owned("b", "z", "k", created=1.0), owned("c", "y", created=2.0)).owners == "team/k,team/z"
    )


def test_members_are_counted_by_subset_and_in_all():
    labels = ({"muster.dev/subset": "leader"}, {"muster.dev/subset": "worker"})
    on = {"on": "n0", "phase": "Running"}
    both = counted(member("a", labels=labels[0], **on), member("b", labels=labels[1]), member("c", labels=labels[1]))
    assert both.total == 3
    assert {name: (part.total, part.running) for name, part in both.subsets.items()} == {
        "leader": (1, 1),
        "worker": (2, 0),
    }
