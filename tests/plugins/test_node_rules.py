"""NodeUnschedulable, TaintToleration and NodeAffinity: which nodes a pod may use, and which it likes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from muster.api.wire import Affinity, NodeAffinity, PreferredNodes
from muster.base.selectors import NodeSelector, NodeSelectorTerm, Requirement
from muster.cluster.classes import NodeRules
from muster.plugins import node_affinity, taint_toleration
from muster.plugins.node_name import NodeName
from muster.plugins.node_unschedulable import NodeUnschedulable
from tests.builders import cluster, node, pod, tolerate
from tests.plugins.rating import Rating, takers
from tests.plugins.upstream import Machine, Wants, normalised

# --- names ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "left"), [("", {"n0", "n1"}), ("n1", {"n1"}), ("nobody", set())])
def test_rules_that_name_a_node_leave_no_other(name, left):
    nodes = cluster(2).engine.cluster.nodes
    admitted = NodeName().admits(NodeRules(node_name=name), nodes, None)
    assert {found for found, row in nodes.rows.items() if admitted[row]} == left


# --- cordons and taints ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tolerations", "left"),
    [
        ((), {"open"}),
        ((tolerate("other"),), {"open"}),
        ((tolerate("node.kubernetes.io/unschedulable", effect="NoExecute"),), {"open"}),
        ((tolerate("node.kubernetes.io/unschedulable"),), {"open", "cordoned"}),
        ((tolerate(),), {"open", "cordoned"}),
    ],
)
def test_a_cordoned_node_takes_only_pods_that_tolerate_it(tolerations, left):
    nodes = [node("open"), node("cordoned", cordoned=True)]
    assert takers(NodeUnschedulable(), nodes, pod("p", tolerations=tolerations)) == left


TAINTED = [
    node("clean"),
    node("gpu", taints=["gpu=yes:NoSchedule"]),
    node("dying", taints=["broken:NoExecute"]),
    node("both", taints=["gpu=yes:NoSchedule", "broken:NoExecute"]),
    node("soft", taints=["slow:PreferNoSchedule"]),
]


@pytest.mark.parametrize(
    ("tolerations", "left"),
    [
        ((), {"clean", "soft"}),
        ((tolerate("gpu"),), {"clean", "soft", "gpu"}),
        ((tolerate("gpu", "no"),), {"clean", "soft"}),
        ((tolerate("broken", effect="NoSchedule"),), {"clean", "soft"}),
        ((tolerate("gpu"), tolerate("broken")), {"clean", "soft", "gpu", "dying", "both"}),
        ((tolerate(),), {"clean", "soft", "gpu", "dying", "both"}),
    ],
)
def test_every_hard_taint_must_be_tolerated(tolerations, left):
    assert takers(taint_toleration.TaintToleration(), TAINTED, pod("p", tolerations=tolerations)) == left


SOFT = [
    node("none"),
    node("one", taints=["a:PreferNoSchedule"]),
    node("three", taints=["a:PreferNoSchedule", "b:PreferNoSchedule", "c=1:PreferNoSchedule"]),
]


@pytest.mark.parametrize(
    ("tolerations", "scores"),
    [
        ((), {"none": 100, "one": 67, "three": 0}),
        ((tolerate("a"),), {"none": 100, "one": 100, "three": 0}),
        ((tolerate("a", effect="PreferNoSchedule"), tolerate("b")), {"none": 100, "one": 100, "three": 0}),
        # a toleration of hard taints does nothing for soft ones
        ((tolerate("a", effect="NoSchedule"),), {"none": 100, "one": 67, "three": 0}),
    ],
)
def test_soft_taints_are_counted_against_the_node_that_has_most(tolerations, scores):
    rating = Rating([(taint_toleration.TaintToleration(), 1)], SOFT, pod("p", tolerations=tolerations))
    assert rating.score == scores


def test_soft_taints_of_nodes_that_refuse_the_pod_do_not_count():
    nodes = [
        node("none"),
        node("one", taints=["a:PreferNoSchedule"]),
        node("full", cpu=0, taints=["a:PreferNoSchedule", "b:PreferNoSchedule"]),
    ]
    rating = Rating([(taint_toleration.TaintToleration(), 1)], nodes, pod("p", cpu=1))
    assert rating.score == {"none": 100, "one": 0, "full": -1}


def test_where_all_nodes_are_equally_tainted_none_is_preferred():
    nodes = [node("a", taints=["x:PreferNoSchedule"]), node("b", taints=["y:PreferNoSchedule"])]
    assert set(Rating([(taint_toleration.TaintToleration(), 1)], nodes, pod("p")).below_best.values()) == {0}


# --- affinity -------------------------------------------------------------------------------------

ZONES = [
    node("a", labels={"zone": "a", "cores": "8"}),
    node("b", labels={"zone": "b", "cores": "16"}),
    node("bare"),
]


@pytest.mark.parametrize(
    ("asks", "left"),
    [
        ({"selector": {"zone": "a"}}, {"a"}),
        ({"selector": {"zone": "c"}}, set()),
        ({"selector": {"zone": "a", "cores": "16"}}, set()),
        ({"required": "zone in (a,b)"}, {"a", "b"}),
        ({"required": "zone notin (a)"}, {"b", "bare"}),
        ({"required": "zone"}, {"a", "b"}),
        ({"required": "!zone"}, {"bare"}),
        ({"required": "cores>8"}, {"b"}),
        ({"required": "cores<16"}, {"a"}),
        ({"required": "zone,cores<16"}, {"a"}),
        ({"selector": {"zone": "b"}, "required": "zone"}, {"b"}),
    ],
)
def test_selector_and_required_affinity_leave_the_nodes_that_match(asks, left):
    assert takers(node_affinity.NodeAffinity(), ZONES, pod("p", **asks)) == left


def required(*terms):
    """A pod with these terms, of which one must hold."""
    affinity = Affinity(node_affinity=NodeAffinity(required=NodeSelector(terms)))
    plain = pod("p")
    return replace(plain, spec=replace(plain.spec, affinity=affinity))


def named(operator, *names):
    return NodeSelectorTerm(match_fields=(Requirement("metadata.name", operator, names),))


@pytest.mark.parametrize(
    ("terms", "left"),
    [
        ([named("In", "a")], {"a"}),
        ([named("In", "nobody")], set()),
        ([named("NotIn", "a")], {"b", "bare"}),
        ([named("In", "a"), named("In", "b")], {"a", "b"}),
        ([NodeSelectorTerm()], set()),
        ([NodeSelectorTerm(), named("In", "a")], {"a"}),
        ([], set()),
    ],
)
def test_terms_may_name_nodes_and_an_empty_term_matches_nothing(terms, left):
    assert takers(node_affinity.NodeAffinity(), ZONES, required(*terms)) == left


@pytest.mark.parametrize(
    ("preferred", "scores"),
    [
        ({"zone=a": 10}, {"a": 100, "b": 0, "bare": 0}),
        ({"zone=a": 10, "zone=b": 7}, {"a": 100, "b": 70, "bare": 0}),
        ({"zone": 1, "cores>8": 2}, {"a": 33, "b": 100, "bare": 0}),
    ],
)
def test_preferred_weights_add_up_and_are_related_to_the_best(preferred, scores):
    rating = Rating([(node_affinity.NodeAffinity(), 1)], ZONES, pod("p", preferred=preferred))
    assert rating.score == scores


def test_preferred_weights_of_nodes_that_refuse_the_pod_do_not_count():
    nodes = [*ZONES, node("best", cpu=0, labels={"zone": "a", "cores": "32"})]
    asks = pod("p", cpu=1, preferred={"zone=a": 10, "cores>30": 30})
    assert Rating([(node_affinity.NodeAffinity(), 1)], nodes, asks).score == {
        "a": 100,
        "b": 0,
        "bare": 0,
        "best": -1,
    }


# --- columns against one node at a time -----------------------------------------------------------

KEYS = st.sampled_from(["zone", "cores", "example.com/disk"])
VALUES = st.sampled_from(["a", "b", "", "8", "16", "-1", "007"])
LABELS = st.dictionaries(KEYS, VALUES, max_size=3)
NAMES = ["n0", "n1", "n2", "n3", "n4", "n5"]


@st.composite
def label_requirements(draw):
    operator = draw(st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]))
    if operator in ("In", "NotIn"):
        values = draw(st.lists(VALUES, min_size=1, max_size=3))
    elif operator in ("Gt", "Lt"):
        values = [draw(st.sampled_from(["0", "8", "9"]))]
    else:
        values = []
    return Requirement(draw(KEYS), operator, tuple(values))


NAME_REQUIREMENTS = st.builds(
    Requirement,
    st.just("metadata.name"),
    st.sampled_from(["In", "NotIn"]),
    st.sampled_from([*NAMES, "nobody"]).map(lambda name: (name,)),
)
TERMS = st.builds(
    NodeSelectorTerm,
    st.lists(label_requirements(), max_size=3).map(tuple),
    st.lists(NAME_REQUIREMENTS, max_size=1).map(tuple),
)
WISHES = st.builds(PreferredNodes, weight=st.integers(1, 100), preference=TERMS)
AFFINITIES = st.builds(
    NodeAffinity,
    required=st.none() | st.lists(TERMS, max_size=3).map(lambda terms: NodeSelector(tuple(terms))),
    preferred=st.lists(WISHES, max_size=3).map(tuple),
)


@settings(derandomize=True, max_examples=300, deadline=None)
@given(st.lists(LABELS, min_size=1, max_size=6), LABELS, AFFINITIES)
def test_columns_agree_with_selectors_evaluated_node_by_node(labels, selector, affinity):
    nodes = [node(name, labels=found) for name, found in zip(NAMES, labels, strict=False)]
    plain = pod("p", selector=selector)
    candidate = replace(plain, spec=replace(plain.spec, affinity=Affinity(node_affinity=affinity)))
    wants = Wants(candidate)
    left = [Machine(found) for found in nodes if not Machine(found).refuses(wants)]
    rating = Rating([(node_affinity.NodeAffinity(), 1)], nodes, candidate)
    assert rating.takers == {machine.name for machine in left}
    scores = normalised([machine.preference(wants) for machine in left], reverse=False)
    assert [rating.score[machine.name] for machine in left] == scores


INVALID = [
    (
        "two names in one field",
        NodeSelectorTerm(match_fields=(Requirement("metadata.name", "In", ("a", "b")),)),
    ),
    ("no name", NodeSelectorTerm(match_fields=(Requirement("metadata.name", "NotIn", ()),))),
    ("another field", NodeSelectorTerm(match_fields=(Requirement("metadata.uid", "NotIn", ("a",)),))),
    ("another operator", NodeSelectorTerm(match_expressions=(Requirement("zone", "Like", ("a",)),))),
    ("no values", NodeSelectorTerm(match_expressions=(Requirement("zone", "NotIn", ()),))),
    ("values for Exists", NodeSelectorTerm(match_expressions=(Requirement("zone", "Exists", ("a",)),))),
    ("no number", NodeSelectorTerm(match_expressions=(Requirement("cores", "Gt", ("many",)),))),
]


@pytest.mark.parametrize("term", [row[1] for row in INVALID], ids=[row[0] for row in INVALID])
def test_a_term_that_kubernetes_would_refuse_matches_no_node(term):
    assert takers(node_affinity.NodeAffinity(), ZONES, required(term)) == set()
