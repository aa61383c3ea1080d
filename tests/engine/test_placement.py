"""Equal pods placed together go where they would go one after another: the engine's key promise.

The other side is a plain scheduler that filters and scores every node for every pod.  A failing world is
named by its seed.
"""

from random import Random

import pytest
from msgspec.structs import replace

from muster.engine.placement import choose
from muster.framework.views import Views
from muster.plugins.defaults import default_profile
from muster.plugins.node_resources_fit import Strategy
from muster.plugins.registry import FitArgs, ProfileParts, default_parts, make_profile
from tests.builders import World, cluster, node, placements, pod
from tests.engine.random_worlds import Twins, class_of, random_asks
from tests.plugins.upstream import LEAST, MOST, Plain

WORLDS_PER_TEST = 60


# packing, spreading, both in turn, a wall, and what rates nothing
SHAPES = [
    ((0, 0), (100, 10)),
    ((0, 10), (100, 0)),
    ((10, 0), (30, 10), (50, 0), (70, 10), (90, 3)),
    ((49, 0), (50, 10)),
    ((40, 10), (41, 0), (100, 10)),
    ((50, 0),),
]


def profile(strategy):
    if isinstance(strategy, str):
        return default_profile(strategy=Strategy(strategy))
    fit = FitArgs(strategy=Strategy.REQUESTED_TO_CAPACITY_RATIO, shape=strategy)
    parts = tuple(replace(p, args=fit) if p.name == "NodeResourcesFit" else p for p in default_parts())
    return make_profile(ProfileParts(plugins=parts))


def chosen(world, candidate, count, strategy=LEAST):
    """Names of the nodes for `count` pods like the candidate, in the order of choice."""
    nodes = world.engine.cluster.nodes
    pod_class = class_of(world, candidate)
    views = Views(profile(strategy), nodes)
    rows = choose(views, views.of(pod_class), nodes.usage, count)
    return [nodes.names[row] for row in rows.tolist()]


def one_after_another(plain, candidate, count):
    names = []
    while len(names) < count and (name := plain.place(candidate)) is not None:
        names.append(name)
    return names


def twins(rng, strategy):
    return Twins(rng, world=World(), strategy=strategy)


@pytest.mark.parametrize("strategy", [LEAST, MOST])
@pytest.mark.parametrize("block", range(5))
def test_a_batch_goes_where_its_pods_would_go_one_after_another(strategy, block):
    for seed in range(block * WORLDS_PER_TEST, (block + 1) * WORLDS_PER_TEST):
        rng = Random(seed)
        both = twins(rng, strategy)
        candidate = pod("p", **random_asks(rng))
        count = rng.choice([1, 2, 5, 8, 9, 20, 60])
        together = chosen(both.world, candidate, count, strategy)
        assert together == one_after_another(both.plain, candidate, count), f"{seed=} {count=}"


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_batch_follows_a_line_wherever_it_leads(shape):
    for seed in range(60):
        rng = Random(seed)
        both = twins(rng, shape)
        candidate = pod("p", **random_asks(rng))
        count = rng.choice([2, 9, 20, 60])
        together = chosen(both.world, candidate, count, shape)
        assert together == one_after_another(both.plain, candidate, count), f"{seed=} {count=}"


@pytest.mark.parametrize("strategy", [LEAST, MOST, SHAPES[2]], ids=str)
def test_a_batch_on_a_larger_cluster_goes_where_its_pods_would_go_one_after_another(strategy):
    for seed in range(3):
        rng = Random(seed)
        zones = [rng.choice("abc") for _ in range(90)]
        facts = [
            {"cpu": rng.choice([4, 8]), "labels": {"zone": zone}, "images": {"big:1": 900} if zone != "a" else {}}
            for zone in zones
        ]
        nodes = [node(f"n{number:02}", **found) for number, found in enumerate(facts)]
        world, plain = World().see(*nodes), Plain(nodes, strategy=strategy)
        candidate = pod(
            "p",
            cpu=rng.choice([1, 2]),
            memory="1Gi",
            preferred=rng.choice([{}, {"zone=a": 5, "zone=b": 3}]),
            image=rng.choice(["", "big:1"]),
        )
        count = rng.choice([30, 120])
        assert chosen(world, candidate, count, strategy) == one_after_another(plain, candidate, count), f"{seed=}"


def test_more_pods_than_places_fill_every_place():
    world = cluster(2, cpu=2)
    assert chosen(world, pod("p", cpu=1), 100) == ["n0", "n1", "n0", "n1"]


def test_no_pods_are_placed_without_nodes():
    world = cluster()
    assert chosen(world, pod("p", cpu=1), 1) == chosen(world, pod("p", cpu=1), 5) == []


def test_equal_nodes_are_taken_in_the_order_of_their_names_whatever_order_they_came_in():
    world = World().see(*(node(name) for name in ["c", "a", "d", "b"]))
    assert chosen(world, pod("p", cpu=1), 4) == ["a", "b", "c", "d"]


def test_packing_fills_a_node_before_it_takes_the_next():
    world = cluster(3, cpu=2)
    assert chosen(world, pod("p", cpu=1, memory="1Gi"), 4, MOST) == ["n0", "n0", "n1", "n1"]


def test_neither_the_view_nor_the_usage_is_changed_by_choosing():
    world = World().see(node("a", cpu=2, labels={"zone": "a"}), node("b", cpu=4))
    nodes = world.engine.cluster.nodes
    views = Views(default_profile(), nodes)
    view = views.of(class_of(world, pod("p", cpu=1, preferred={"zone=a": 1})))
    free, key = nodes.usage.free.copy(), view.key.copy()
    choose(views, view, nodes.usage, 6)
    assert (nodes.usage.free == free).all()
    assert (view.key == key).all()


# --- mended ---------------------------------------------------------------------------------------


def test_preferences_that_run_out_one_by_one_overcommit_nothing():
    world = World().see(*(node(zone, cpu=2, labels={"zone": zone}) for zone in "abcd"))
    world.gang("g", members=8, cpu=1, preferred={"zone=a": 100, "zone=b": 50, "zone=c": 25})
    assert list(placements(world.decide()).values()) == ["a", "a", "b", "b", "c", "c", "d", "d"]


def test_a_second_batch_with_preferences_sees_what_the_first_took():
    world = World().see(*(node(zone, cpu=4, labels={"zone": zone}) for zone in "abc"))
    world.group("g", 6).members("g", 0, 1, 2, cpu=2)
    world.members("g", 3, 4, 5, 6, 7, 8, cpu=1, preferred={"zone=a": 100, "zone=b": 50})
    found = placements(world.decide())
    assert [found[f"g-{number}"] for number in range(3, 9)] == ["a", "a", "b", "b", "c", "c"]


def test_a_node_may_take_more_copies_than_16_bits_count():
    world = cluster(2, cpu=1, memory="1Gi", pods=70_000)
    names = chosen(world, pod("p"), 100_000)
    assert (names.count("n0"), names.count("n1")) == (70_000, 30_000)
