"""NodeResourcesFit and NodeResourcesBalancedAllocation against upstream's formulas, one node at a time."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.base.errors import ConfigError
from muster.plugins.node_resources_balanced import NodeResourcesBalancedAllocation
from muster.plugins.node_resources_fit import NodeResourcesFit, Strategy
from tests.builders import GPU, cluster, node, pod, told
from tests.plugins.rating import Rating
from tests.plugins.upstream import LEAST, MOST, Machine, Wants

# --- the filter -----------------------------------------------------------------------------------

# what is tried, what runs on the node, what is asked, how many more fit
ROOM = [
    ("an empty node", [], {"cpu": 2}, 4),
    ("cpu in thousandths", [], {"cpu": "1500m"}, 5),
    ("memory is what is scarce", [], {"cpu": 1, "memory": "16Gi"}, 2),
    ("exactly full", [{"cpu": 8}], {"cpu": 1}, 0),
    ("exactly one left", [{"cpu": 6}], {"cpu": 2}, 1),
    ("a pod without requests needs a place only", [{"cpu": 8}], {}, 9),
    ("no place left", [{}] * 10, {}, 0),
    ("a resource that the node lacks", [], {"gpu": 1}, 0),
    ("more than there is", [], {"cpu": 9}, 0),
    ("overcommitted by somebody else", [{"cpu": 12}], {"cpu": 1}, 0),
    ("overcommitted in what is not asked", [{"cpu": 12}], {"memory": "1Gi"}, 9),
]


@pytest.mark.parametrize(("running", "asks", "copies"), [row[1:] for row in ROOM], ids=[row[0] for row in ROOM])
def test_a_node_takes_as_many_copies_as_it_has_room_for(running, asks, copies):
    there = [pod(f"r{number}", **facts) for number, facts in enumerate(running)]
    rating = Rating([(NodeResourcesFit(), 1)], [node("n", pods=10)], pod("p", **asks), {"n": there})
    assert rating.copies == {"n": copies}


PI = 2**50
HUGE_AMOUNTS = st.one_of(
    st.integers(1, 40 * PI),
    st.sampled_from([1, 7, 8 * PI - 1, 8 * PI, 8 * PI + 1, 20 * PI, 2**62, 2**63, 10**19, 2**70]),
)


@settings(derandomize=True, max_examples=300, deadline=None)
@given(HUGE_AMOUNTS, HUGE_AMOUNTS, st.lists(HUGE_AMOUNTS, max_size=5), st.sampled_from(["memory", "example.com/bytes"]))
def test_a_node_never_takes_more_than_it_has_however_large_the_numbers(have, ask, running, resource):
    """And exactly as much as it has, as long as that is below 8Pi."""
    there = [pod(f"r{number}", requests={resource: str(amount)}) for number, amount in enumerate(running)]
    machine = node("n", pods=10**6, resources={resource: str(have)})
    asking = pod("p", requests={resource: str(ask)})
    rating = Rating([(NodeResourcesFit(), 1)], [machine], asking, {"n": there})
    places = 10**6 - len(running)
    most = max(0, min((have - sum(running)) // ask, places))
    assert rating.copies["n"] <= most
    if have < 8 * PI:
        assert rating.copies["n"] == most


MESSAGES = [
    ({}, {"cpu": 9}, "0/1 nodes are available: 1 Insufficient cpu."),
    ({}, {"memory": "33Gi"}, "0/1 nodes are available: 1 Insufficient memory."),
    ({}, {"gpu": 1}, "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."),
    (
        {},
        {"requests": {"ephemeral-storage": "1Gi"}},
        "0/1 nodes are available: 1 Insufficient ephemeral-storage.",
    ),
    (
        {"pods": 0},
        {"cpu": 9, "memory": "33Gi"},
        "0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory, 1 Too many pods.",
    ),
]


@pytest.mark.parametrize(("facts", "asks", "message"), MESSAGES)
def test_every_resource_that_is_short_is_named(facts, asks, message):
    assert told(cluster(1, **facts).pod("p", **asks).decide())["p"] == message


# --- the scores -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("strategy", "asks", "score"),
    [
        # (8 - 2) / 8 and (32 - 8) / 32
        (LEAST, {"cpu": 2, "memory": "8Gi"}, 75),
        (MOST, {"cpu": 2, "memory": "8Gi"}, 25),
        # containers without requests count as 100m and 200Mi: 98 of cpu, 99 of memory
        (LEAST, {}, 98),
        (MOST, {}, 0),
        # a request of zero is a request
        (LEAST, {"cpu": 0, "memory": 0}, 100),
        (LEAST, {"cpu": 8, "memory": "32Gi"}, 0),
        (MOST, {"cpu": 8, "memory": "32Gi"}, 100),
    ],
)
def test_an_empty_node_is_rated_by_what_the_pod_would_take(strategy, asks, score):
    fit = NodeResourcesFit(strategy=Strategy(strategy))
    assert Rating([(fit, 1)], [node("n")], pod("p", **asks)).score == {"n": score}


def test_a_resource_the_node_lacks_is_left_out_of_its_rating():
    nodes = [node("n", cpu=0), node("m")]
    rating = Rating([(NodeResourcesFit(), 1)], nodes, pod("p", memory="8Gi"))
    # m: cpu 100m of 8 leaves 98, memory 75; n: memory alone
    assert rating.score == {"n": 75, "m": 86}


def test_an_extended_resource_counts_only_for_pods_that_ask_for_it():
    fit = NodeResourcesFit(weights={"cpu": 1, GPU: 3})
    nodes = [node("n", gpu=4), node("m")]
    assert Rating([(fit, 1)], nodes, pod("p", cpu=4)).score == {"n": 50, "m": 50}
    assert Rating([(fit, 1)], nodes, pod("p", cpu=4, gpu=1)).score["n"] == (50 + 3 * 75) // 4


def test_storage_counts_for_every_pod_once_it_has_a_weight():
    storage = "ephemeral-storage"
    fit = NodeResourcesFit(weights={"cpu": 1, storage: 1})
    nodes = [node("n", resources={storage: "100Gi"}), node("m")]
    running = {"n": [pod("r", requests={storage: "40Gi"})]}
    rating = Rating([(fit, 1)], nodes, pod("p", cpu=4), running)
    assert rating.score == {"n": (48 + 60) // 2, "m": 50}


@pytest.mark.parametrize("weights", [{"cpu": 0}, {"cpu": 1, "memory": -1}])
def test_weights_below_one_are_refused(weights):
    with pytest.raises(ConfigError, match="weights of at least 1"):
        NodeResourcesFit(weights=weights)


def test_balance_is_75_where_the_pod_leaves_it_as_it_is():
    rating = Rating([(NodeResourcesBalancedAllocation(), 1)], [node("n")], pod("p", cpu=2, memory="8Gi"))
    assert rating.score == {"n": 75}


@pytest.mark.parametrize(
    ("running", "score"),
    [
        # cpu goes from 0 to a half, memory stays at 0: balance falls from 100 to 75
        ([], 62),
        # memory was at a half already: balance rises from 75 to 100
        ([{"memory": "16Gi"}], 87),
        # cpu was at a half: from 75 to 50
        ([{"cpu": 4}], 62),
    ],
)
def test_balance_rises_where_the_pod_asks_for_what_is_used_less(running, score):
    there = [pod(f"r{number}", **facts) for number, facts in enumerate(running)]
    plugins = [(NodeResourcesBalancedAllocation(), 1)]
    assert Rating(plugins, [node("n")], pod("p", cpu=4), {"n": there}).score == {"n": score}


def test_balance_says_nothing_of_a_pod_without_requests():
    assert Rating([(NodeResourcesBalancedAllocation(), 1)], [node("n")], pod("p")).score == {"n": 0}


def test_a_node_with_one_of_the_two_resources_is_always_in_balance():
    rating = Rating([(NodeResourcesBalancedAllocation(), 1)], [node("n", cpu=0)], pod("p", memory="1Gi"))
    assert rating.score == {"n": 75}


# --- against the formulas -------------------------------------------------------------------------

AMOUNTS = {
    "cpu": st.sampled_from([None, 0, "1m", "100m", "333m", 1, "1500m", 3, 7]),
    "memory": st.sampled_from([None, 0, 1, "200Mi", "1Gi", "5G", "7777Ki", "20Gi"]),
    "gpu": st.sampled_from([None, 0, 1, 2]),
}
ASKS = st.fixed_dictionaries(AMOUNTS)
SHAPES = st.fixed_dictionaries(
    {
        "cpu": st.sampled_from([0, 1, 3, 8, "7910m", 96]),
        "memory": st.sampled_from([0, "1Gi", "8Gi", "32797716Ki", "500G"]),
        "gpu": st.sampled_from([0, 1, 8]),
        "pods": st.sampled_from([3, 110]),
    }
)
FULL_NODES = st.lists(st.tuples(SHAPES, st.lists(ASKS, max_size=4)), min_size=1, max_size=5)
WEIGHTS = st.sampled_from(
    [None, {"cpu": 1, "memory": 1}, {"cpu": 2, "memory": 3}, {"memory": 1}, {"cpu": 1, GPU: 5}, {GPU: 2}]
)


def small_world(described, asks):
    """Nodes, what runs on them, and a pod; plain and as the plugins are asked."""
    nodes = [node(f"n{number}", **shape) for number, (shape, _) in enumerate(described)]
    running = {
        f"n{number}": [pod(f"r{number}-{i}", **facts) for i, facts in enumerate(there)]
        for number, (_, there) in enumerate(described)
    }
    machines = [Machine(found, running[found.metadata.name]) for found in nodes]
    return nodes, running, machines, pod("p", **asks)


@settings(derandomize=True, max_examples=300, deadline=None)
@given(FULL_NODES, ASKS, st.sampled_from([LEAST, MOST]), WEIGHTS)
def test_fit_takes_and_rates_nodes_as_upstream_does(described, asks, strategy, weights):
    nodes, running, machines, candidate = small_world(described, asks)
    wants = Wants(candidate)
    fit = NodeResourcesFit(strategy=Strategy(strategy), weights=weights)
    rating = Rating([(fit, 1)], nodes, candidate, running)
    left = [machine for machine in machines if not machine.refuses(wants)]
    assert rating.takers == {machine.name for machine in left}
    plain = {machine.name: machine.fit_score(wants, strategy, weights or {"cpu": 1, "memory": 1}) for machine in left}
    assert {name: rating.score[name] for name in plain} == plain


@settings(derandomize=True, max_examples=300, deadline=None)
@given(FULL_NODES, ASKS)
def test_balance_rates_nodes_as_upstream_does(described, asks):
    nodes, running, machines, candidate = small_world(described, asks)
    wants = Wants(candidate)
    rating = Rating([(NodeResourcesBalancedAllocation(), 1)], nodes, candidate, running)
    plain = {m.name: m.balance_score(wants) for m in machines if not m.refuses(wants)}
    best = max(plain.values(), default=0)
    assert rating.below_best == {name: best - score for name, score in plain.items()}
