"""Changes may come in any order, twice, late, and from others."""

from itertools import permutations
from random import Random

import pytest
from msgspec.structs import replace

from muster.engine.changes import Bound, Failure, GroupSeen, NodeSeen, PodSeen
from muster.engine.decisions import Bind, Event, GangCondition
from tests.builders import World, bound_for, cluster, group, node, only, placements, pod


def free_cpu(world, name):
    nodes = world.engine.cluster.nodes
    return int(nodes.usage.free[1, nodes.rows[name]])


ARRIVALS = [
    NodeSeen(node("n0", cpu=2)),
    NodeSeen(node("n1", cpu=2)),
    GroupSeen(group("g", 2)),
    PodSeen(pod("g-0", gang="g", cpu=1)),
    PodSeen(pod("g-1", gang="g", cpu=1)),
]


@pytest.mark.parametrize("seed", range(10))
def test_objects_that_come_together_may_come_in_any_order(seed):
    orders = list(permutations(ARRIVALS))
    world = World().apply(*Random(seed).choice(orders))
    assert placements(world.decide()) == {"g-0": "n0", "g-1": "n1"}


@pytest.mark.parametrize("last", range(1, 5), ids=["node", "group", "first member", "second member"])
def test_a_gang_starts_with_the_last_object_whatever_that_is(last):
    one_node = ARRIVALS[1:]
    final = one_node.pop(last - 1)
    world = World()
    for change in one_node:
        world.apply(change).decide()
    assert world.where == {}
    world.apply(final).decide()
    assert world.where == {"g-0": "n1", "g-1": "n1"}


def test_a_pod_seen_twice_is_one_pod():
    world = cluster(1).pod("p", cpu=1).pod("p", cpu=1)
    assert placements(world.decide()) == {"p": "n0"}
    assert placements(world.pod("p", cpu=1).decide()) == {}


def test_a_member_seen_twice_counts_once():
    world = cluster(1).group("g", 2).members("g", 0).members("g", 0)
    assert placements(world.decide()) == {}


def test_an_older_view_of_a_pod_on_its_way_does_not_send_it_again():
    world = cluster(1).pod("p", cpu=1)
    world.decide()
    assert placements(world.pod("p", cpu=1, labels={"late": "news"}).decide()) == {}
    assert world.where == {"p": "n0"}


def test_an_older_view_of_a_bound_pod_does_not_unbind_it():
    world = cluster(1).pod("p", cpu=1).run()
    assert placements(world.pod("p", cpu=1).decide()) == {}
    assert world.where == {"p": "n0"}
    assert free_cpu(world, "n0") == 7000


def test_a_pod_that_another_scheduler_bound_takes_its_room_there():
    world = cluster(2).pod("p", cpu=1)
    assert placements(world.decide()) == {"p": "n0"}
    world.pod("p", cpu=1, on="n1").bind_failed("p", Failure.REJECTED)
    assert placements(world.decide()) == {}
    assert (free_cpu(world, "n0"), free_cpu(world, "n1")) == (8000, 7000)


def test_a_waiting_pod_that_another_scheduler_bound_is_not_tried_again():
    world = cluster(1, cpu=1).pod("p", cpu=2)
    world.decide()
    world.pod("p", cpu=2, on="elsewhere").node("n1")
    assert placements(world.decide()) == {}


def test_a_member_that_another_scheduler_bound_counts_for_the_minimum():
    world = cluster(1, cpu=1).node("full", cpu=1).pod("filler", cpu=1, on="full").gang("g", members=2, cpu=1)
    assert placements(world.decide()) == {}
    assert placements(world.members("g", 1, cpu=1, on="full").decide()) == {"g-0": "n0"}


def test_a_pod_deleted_while_it_is_being_bound_gives_its_room_back():
    world = cluster(1).pod("p", cpu=1)
    world.decide()
    world.pod_gone("p").apply(Bound("uid-p", "n0", 0.0))
    assert world.decide() == []
    assert free_cpu(world, "n0") == 8000


def test_a_pod_marked_for_deletion_while_it_is_being_bound_keeps_its_room_until_it_is_gone():
    world = cluster(1).pod("p", cpu=1)
    world.decide()
    world.pod("p", cpu=1, leaving=True).bound("p").decide()
    assert free_cpu(world, "n0") == 7000
    world.pod_gone("p").decide()
    assert free_cpu(world, "n0") == 8000


def test_a_pod_marked_for_deletion_is_not_placed_anew():
    world = cluster(2).pod("p", cpu=1)
    world.decide()
    world.pod("p", cpu=1, leaving=True).bind_failed("p", Failure.REJECTED)
    assert placements(world.decide(after=100.0)) == {}


def test_a_deleted_member_that_waits_is_forgotten():
    world = cluster(1, cpu=1).gang("g", members=2, minimum=1, cpu=2)
    world.decide()
    world.pod_gone("g-0", "g-1").group_gone("g").decide()
    assert world.engine.cluster.gangs == {}
    assert world.engine.cluster.pods == {}


def test_a_pod_of_the_same_name_with_another_uid_is_another_pod():
    world = cluster(1, cpu=1).pod("p", cpu=1)
    world.decide()
    world.pod_gone("p")
    again = pod("p", cpu=1)
    world.see(replace(again, metadata=replace(again.metadata, uid="uid-2")))
    assert placements(world.decide()) == {"p": "n0"}


LABEL = "muster.dev/pod-group"


def test_a_pod_that_is_labelled_while_it_waits_joins_its_gang():
    world = cluster(1).group("g", 2).pod("a", cpu=1, gates=["x"])
    world.decide()
    assert placements(world.pod("a", cpu=1, labels={LABEL: "g"}).decide()) == {}
    assert set(placements(world.pod("b", cpu=1, labels={LABEL: "g"}).decide())) == {"a", "b"}


def test_a_pod_whose_label_goes_while_it_waits_is_a_lone_pod():
    world = cluster(1).group("g", 2).pod("a", cpu=1, labels={LABEL: "g"})
    assert placements(world.decide()) == {}
    assert placements(world.pod("a", cpu=1).decide()) == {"a": "n0"}


def test_a_pod_that_is_labelled_anew_while_it_waits_moves_to_the_other_gang():
    world = cluster(1).group("g", 2).group("h", 2).pod("a", cpu=1, labels={LABEL: "g"})
    world.pod("b", cpu=1, labels={LABEL: "h"}).decide()
    assert set(placements(world.pod("a", cpu=1, labels={LABEL: "h"}).decide())) == {"a", "b"}
    assert placements(world.pod("c", cpu=1, labels={LABEL: "g"}).decide()) == {}


def test_a_pod_that_has_a_node_stays_in_its_gang_whatever_its_labels():
    world = cluster(1).group("g", 1).pod("a", cpu=1, labels={LABEL: "g"}).run()
    world.pod("a", cpu=1, on="n0", record=bound_for("g", 1)).decide()
    assert world.engine.cluster.gangs["team/g"].bound == 1


def relabelled(labels, *, then, before=None):
    """A pod that is to be bound for g, or alone, when somebody labels it anew; its gangs all have one member or two."""
    world = cluster(1).group("g", 1).group("h", 2).pod("a", cpu=1, labels={LABEL: "g"} if before is None else before)
    assert placements(world.decide()) == {"a": "n0"}
    world.pod("a", cpu=1, labels=labels).decide()
    return world.bind_failed("a", then)


REFUSALS = pytest.mark.parametrize("refusal", [Failure.REJECTED, Failure.DENIED])


@REFUSALS
def test_a_pod_that_is_labelled_anew_while_its_bind_is_refused_joins_the_other_gang(refusal):
    world = relabelled({LABEL: "h"}, then=refusal)
    assert placements(world.decide() + world.decide(after=60.0)) == {}
    assert "team/a" not in str(world.engine.cluster.gangs["team/g"].said)
    assert set(placements(world.pod("b", cpu=1, labels={LABEL: "h"}).decide())) == {"a", "b"}


@REFUSALS
def test_a_pod_whose_label_goes_while_its_bind_is_refused_is_a_lone_pod(refusal):
    world = relabelled({}, then=refusal)
    (bind,) = only(Bind, world.decide() + world.decide(after=60.0))
    assert [placed.bound_for.gang for placed in bind.pods] == [""]


@REFUSALS
def test_a_lone_pod_that_is_labelled_while_its_bind_is_refused_waits_for_its_gang(refusal):
    world = relabelled({LABEL: "h"}, then=refusal, before={})
    assert placements(world.decide() + world.decide(after=60.0)) == {}
    assert set(placements(world.pod("b", cpu=1, labels={LABEL: "h"}).decide())) == {"a", "b"}


def test_a_pod_that_is_labelled_as_it_was_before_its_bind_is_refused_stays_in_its_gang():
    world = cluster(1).group("g", 1).group("h", 2).pod("a", cpu=1, labels={LABEL: "g"})
    world.decide()
    world.pod("a", cpu=1, labels={LABEL: "h"}).pod("a", cpu=1, labels={LABEL: "g"})
    assert placements(world.bind_failed("a", Failure.REJECTED).decide()) == {"a": "n0"}


def test_a_pod_that_is_labelled_anew_and_may_have_been_bound_is_bound_for_its_gang():
    world = relabelled({LABEL: "h"}, then=Failure.TRANSIENT)
    (bind,) = only(Bind, world.decide() + world.decide(after=1.0))
    assert [placed.bound_for.gang for placed in bind.pods] == ["team/g"]
    world.bound().pod("a", cpu=1, labels={LABEL: "h"}).decide()
    assert world.engine.cluster.gangs["team/g"].bound == 1


def test_a_pod_that_was_labelled_anew_and_is_gone_does_not_come_back():
    world = relabelled({LABEL: "h"}, then=Failure.POD_GONE)
    assert placements(world.pod("b", cpu=1, labels={LABEL: "h"}).decide()) == {}
    world.pod_gone("a", "b").group_gone("g").group_gone("h").decide()
    assert (world.engine.cluster.gangs, world.engine.cluster.pods) == ({}, {})


@pytest.mark.parametrize("labels", [{LABEL: "h"}, {}], ids=["another gang", "no gang"])
def test_an_older_view_of_a_bound_pod_with_other_labels_does_not_unbind_it(labels):
    """Somebody labels the pod just before it is bound, and the watch is slower than the answer to the bind."""
    world = cluster(1, cpu=1).group("g", 1).group("h", 1).pod("a", cpu=1, labels={LABEL: "g"}).run()
    world.pod("a", cpu=1, labels=labels).pod("b", cpu=1)
    assert placements(world.decide()) == {}
    assert world.where == {"a": "n0"}


def test_a_running_pod_that_cannot_be_read_once_its_label_has_changed_keeps_its_room():
    world = cluster(1, cpu=1).group("g", 1).pod("a", cpu=1, on="n0", labels={LABEL: "g"})
    world.decide()
    world.pod("a", cpu="lots", on="n0", labels={LABEL: "h"}).pod("b", cpu=1)
    assert placements(world.decide()) == {}
    assert world.where == {"a": "n0"}


def test_a_group_that_is_made_anew_under_its_name_says_its_conditions_anew():
    world = cluster(1, cpu=1).gang("g", members=2, cpu=2)
    first = world.decide()
    world.group_gone("g").decide()
    fresh = group("g", 2)
    world.see(replace(fresh, metadata=replace(fresh.metadata, uid="uid-new")))
    again = world.decide()
    assert only(GangCondition, again) == [replace(said, uid="uid-new") for said in only(GangCondition, first)] != []
    assert [d for d in only(Event, again) if d.gang] == [d for d in only(Event, first) if d.gang] != []


def test_the_same_changes_give_the_same_decisions():
    def run():
        world = cluster(5, cpu=4)
        for number in range(10):
            world.gang(f"g{number}", members=3, minimum=2, cpu=1).pod(f"p{number}", cpu=1)
        return world.decide()

    assert run() == run()


def test_the_order_of_nodes_does_not_matter():
    one = World().see(*(node(f"n{number}") for number in range(20)))
    other = World().see(*(node(f"n{number}") for number in reversed(range(20))))
    results = [placements(world.gang("g", members=50, cpu=1).decide()) for world in (one, other)]
    assert results[0] == results[1]
