"""The node table and the room on it."""

import numpy as np
import pytest

from muster.cluster.changelog import ChangeLog
from muster.cluster.cluster import Cluster
from muster.cluster.resources import CPU, MEMORY, PODS
from tests.builders import World, cluster, node, pod

GI = 1024**3


def free(world, name):
    """Room on a node: pods, cpu in milli, memory in bytes."""
    nodes = world.engine.cluster.nodes
    return tuple(nodes.usage.free[:3, nodes.rows[name]].tolist())


def test_resources_keep_their_rows_for_good():
    names = Cluster(states={}).resources
    assert [names.row(name) for name in ("pods", "cpu", "memory")] == [PODS, CPU, MEMORY]
    assert [names.row("gpu"), names.row("fpga"), names.row("gpu")] == [3, 4, 3]


def test_an_empty_node_has_all_its_room():
    assert free(cluster(1, cpu="7910m", memory="4Gi", pods=10), "n0") == (10, 7910, 4 * GI)


def test_a_bound_pod_takes_its_room():
    assert free(cluster(1).pod("p", cpu=2, memory="1Gi", on="n0"), "n0") == (109, 6000, 31 * GI)


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_ended_takes_no_room(phase):
    assert free(cluster(1).pod("p", cpu=2, on="n0", phase=phase), "n0") == (110, 8000, 32 * GI)


def test_a_pod_of_another_scheduler_takes_room_as_well():
    assert free(cluster(1).pod("p", cpu=2, on="n0", scheduler="default-scheduler"), "n0")[1] == 6000


def test_a_pod_being_deleted_takes_room_until_it_is_gone():
    world = cluster(1).pod("p", cpu=2, on="n0", leaving=True)
    assert free(world, "n0")[1] == 6000
    assert free(world.pod_gone("p"), "n0")[1] == 8000


def test_a_pod_may_come_before_its_node():
    assert free(World().pod("p", cpu=2, on="n0").node("n0"), "n0")[1] == 6000


def test_a_node_that_comes_back_still_has_its_pods():
    world = cluster(1).pod("p", cpu=2, on="n0").node_gone("n0").node("n0")
    assert free(world, "n0")[1] == 6000


def test_a_pod_that_goes_while_its_node_is_away_is_not_counted_when_it_returns():
    world = cluster(1).pod("p", cpu=2, on="n0").node_gone("n0").pod_gone("p").node("n0")
    assert free(world, "n0")[1] == 8000


def test_a_node_that_changes_keeps_what_runs_on_it():
    assert free(cluster(1).pod("p", cpu=2, on="n0").node("n0", cpu=4), "n0")[1] == 2000


def test_a_node_that_shrinks_below_what_runs_on_it_has_less_than_nothing():
    assert free(cluster(1).pod("p", cpu=4, on="n0").node("n0", cpu=2), "n0")[1] == -2000


def test_a_resized_pod_takes_its_new_room():
    world = cluster(1).pod("p", cpu=2, on="n0").pod("p", cpu=3, on="n0")
    assert free(world, "n0")[1] == 5000


def test_removing_an_unknown_node_is_nothing():
    assert len(cluster(1).node_gone("n9").engine.cluster.nodes) == 1


def test_precedence_follows_names_and_not_arrival():
    nodes = World().see(node("b"), node("c"), node("a")).engine.cluster.nodes
    ranked = sorted(nodes.rows, key=lambda name: -nodes.precedence[nodes.rows[name]])
    assert ranked == ["a", "b", "c"]


def test_a_vacant_row_has_no_precedence():
    world = cluster(2).node_gone("n0")
    nodes = world.engine.cluster.nodes
    assert sorted(nodes.precedence.tolist())[-2:] == [0, 1]


def test_the_table_grows_when_it_is_full():
    world = cluster(200)
    assert len(world.engine.cluster.nodes) == 200
    assert {free(world, f"n{number}") for number in range(200)} == {(110, 8000, 32 * GI)}


def test_a_log_tells_what_was_marked_since():
    log = ChangeLog()
    log.mark(1)
    seen = log.end
    log.mark(2)
    log.mark_all([3, 2])
    assert log.since(seen) == [2, 3, 2]
    assert log.since(log.end) == []


def test_a_log_says_so_when_it_has_forgotten():
    log = ChangeLog(limit=4)
    seen = log.end
    log.mark_all([1, 2, 3, 4, 5])
    assert log.since(seen) is None
    assert log.since(log.end) == []


def test_copies_added_together_equal_copies_added_one_by_one():
    together, apart = cluster(2).engine.cluster, cluster(2).engine.cluster
    row = together.nodes.rows
    rows = [row["n0"], row["n1"], row["n0"]]
    together.nodes.usage.add_copies(np.array(rows, np.intp), together.classes.of(pod("p", cpu=1)))
    for number in rows:
        apart.nodes.usage.add(number, apart.classes.of(pod("p", cpu=1)))
    assert (together.nodes.usage.free == apart.nodes.usage.free).all()
    assert (together.nodes.usage.scored == apart.nodes.usage.scored).all()
