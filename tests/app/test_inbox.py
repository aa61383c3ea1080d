"""A leader gets every change in order; a replica that stands by keeps the latest of each object."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from muster.api import kinds
from muster.api.kinds import address_of
from muster.api.wire import Identity, Metadata, PodDisruptionBudget
from muster.app.inbox import Inbox, Warm
from muster.engine.changes import (
    Bound,
    BudgetGone,
    BudgetSeen,
    FactGone,
    FactSeen,
    GroupGone,
    GroupSeen,
    NodeGone,
    NodeSeen,
    PodGone,
    PodSeen,
)
from tests.builders import group, node, pod


def budget(name):
    return PodDisruptionBudget(metadata=Metadata(name=name, namespace="team", uid=f"uid-{name}"))


def fact(kind, name):
    return kind.struct(metadata=Identity(name=name, namespace="team" if kind.resource.namespaced else ""))


def at(version, thing):
    return replace(thing, metadata=replace(thing.metadata, resource_version=str(version)))


# an inbox


def test_an_inbox_gives_every_change_in_its_order():
    inbox = Inbox()
    changes = [PodSeen(pod("a")), PodGone("uid-a"), PodSeen(pod("a"))]
    inbox.put(changes[:1])
    inbox.put(changes[1:])
    assert inbox.take() == changes


def test_what_was_taken_is_not_taken_again():
    inbox = Inbox()
    inbox.put([PodGone("x")])
    inbox.take()
    assert inbox.take() == []


def test_an_inbox_is_filled_from_the_first_change_until_it_is_taken():
    inbox = Inbox()
    assert not inbox.filled.is_set()
    inbox.put([PodGone("x")])
    assert inbox.filled.is_set()
    inbox.take()
    assert not inbox.filled.is_set()


def test_no_changes_do_not_fill_an_inbox():
    inbox = Inbox()
    inbox.put([])
    assert not inbox.filled.is_set()


def test_changes_may_come_from_a_generator():
    inbox = Inbox()
    inbox.put(PodGone(uid) for uid in "ab")
    assert inbox.take() == [PodGone("a"), PodGone("b")]


# standing by


def test_a_replica_that_stands_by_keeps_the_latest_of_each_object():
    warm = Warm()
    warm.put([NodeSeen(at(1, node("n"))), PodSeen(at(1, pod("a"))), GroupSeen(at(1, group("g", 2)))])
    warm.put([PodSeen(at(2, pod("a"))), GroupSeen(at(2, group("g", 2))), NodeSeen(at(2, node("n")))])
    assert warm.take() == [NodeSeen(at(2, node("n"))), GroupSeen(at(2, group("g", 2))), PodSeen(at(2, pod("a")))]


@pytest.mark.parametrize(
    ("seen", "gone"),
    [
        (PodSeen(pod("a")), PodGone("uid-a")),
        (NodeSeen(node("n")), NodeGone("n")),
        (GroupSeen(group("g", 2)), GroupGone("team/g")),
        (BudgetSeen(budget("b")), BudgetGone("team/b")),
        *(
            (FactSeen(fact(kind, "f")), FactGone(name, "team/f" if kind.resource.namespaced else "f"))
            for name, kind in kinds.KINDS.items()
        ),
    ],
)
def test_what_is_gone_is_forgotten(seen, gone):
    warm = Warm()
    warm.put([seen, gone])
    assert warm.take() == []


def test_what_was_never_seen_may_go():
    warm = Warm()
    warm.put([PodGone("x"), NodeGone("x"), GroupGone("x/y"), BudgetGone("x/y"), FactGone("namespaces", "x")])
    assert warm.take() == []


def test_a_pod_made_again_under_its_name_outlives_the_former():
    warm = Warm()
    again = replace(pod("a"), metadata=replace(pod("a").metadata, uid="other"))
    warm.put([PodSeen(pod("a")), PodGone("uid-a"), PodSeen(again)])
    assert warm.take() == [PodSeen(again)]


def test_nodes_come_first_and_pods_last():
    """So that pods find their nodes and their gangs, and rules between pods the labels of namespaces."""
    warm = Warm()
    warm.put([PodSeen(pod("a", gang="g", on="n")), BudgetSeen(budget("b")), GroupSeen(group("g", 1))])
    warm.put([FactSeen(fact(kinds.NAMESPACES, "team")), NodeSeen(node("n"))])
    assert [type(change) for change in warm.take()] == [NodeSeen, FactSeen, GroupSeen, BudgetSeen, PodSeen]


def test_what_was_kept_is_taken_once():
    warm = Warm()
    warm.put([PodSeen(pod("a"))])
    warm.take()
    assert warm.take() == []


def test_a_bind_while_another_replica_leads_is_a_bug():
    with pytest.raises(AssertionError, match="another replica leads"):
        Warm().put([Bound("uid-a", "n", 0.0)])


def of_kind(kind):
    return (
        lambda name, version: FactSeen(at(version, fact(kind, name))),
        lambda name: FactGone(*address_of(fact(kind, name))),
    )


KINDS = st.sampled_from(
    [
        (lambda name, version: PodSeen(at(version, pod(name))), lambda name: PodGone(f"uid-{name}")),
        (lambda name, version: NodeSeen(at(version, node(name))), NodeGone),
        (lambda name, version: GroupSeen(at(version, group(name, 1))), lambda name: GroupGone(f"team/{name}")),
        (lambda name, version: BudgetSeen(at(version, budget(name))), lambda name: BudgetGone(f"team/{name}")),
        *map(of_kind, kinds.KINDS.values()),
    ]
)


@given(st.lists(st.tuples(KINDS, st.sampled_from("abc"), st.booleans()), max_size=40))
def test_what_is_kept_is_what_the_whole_story_ends_with(steps):
    warm, last = Warm(), {}
    for version, ((seen, gone), name, appears) in enumerate(steps):
        change = seen(name, version) if appears else gone(name)
        warm.put([change])
        last[seen, name] = change if appears else None
    expected = [change for change in last.values() if change is not None]
    taken = warm.take()
    assert len(taken) == len(expected)
    assert all(change in taken for change in expected)
