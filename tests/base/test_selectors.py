"""Selectors against what Go says about the same ones.

The tables are facts of k8s.io/apimachinery/pkg/labels and of nodeaffinity in k8s.io/component-helpers,
both v0.37.2.
"""

import contextlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.base.errors import SelectorError
from muster.base.selectors import (
    LabelSelector,
    NodeSelector,
    NodeSelectorTerm,
    Requirement,
    matches,
    parse_selector,
)

LONGEST_NAME = "a" * 63
LONGEST_PREFIX = "d" * 253


def exists(key):
    return (key, "Exists", ())


def absent(key):
    return (key, "DoesNotExist", ())


# text, what it stands for
WELL_FORMED = [
    ("", []),
    ("  ", []),
    ("a", [exists("a")]),
    ("!a", [absent("a")]),
    ("! a", [absent("a")]),
    ("a=b", [("a", "In", ("b",))]),
    ("a==b", [("a", "In", ("b",))]),
    ("a = b", [("a", "In", ("b",))]),
    ("a!=b", [("a", "NotIn", ("b",))]),
    ("a in (x,y)", [("a", "In", ("x", "y"))]),
    ("a in (y,x,y)", [("a", "In", ("x", "y"))]),
    ("a in(x)", [("a", "In", ("x",))]),
    ("a notin (x)", [("a", "NotIn", ("x",))]),
    ("a in ()", [("a", "In", ("",))]),
    ("a in (,)", [("a", "In", ("",))]),
    ("a in (,x)", [("a", "In", ("", "x"))]),
    ("a in (x,)", [("a", "In", ("", "x"))]),
    ("a in (x,,y)", [("a", "In", ("", "x", "y"))]),
    ("a=", [("a", "In", ("",))]),
    ("a==", [("a", "In", ("",))]),
    ("a!=", [("a", "NotIn", ("",))]),
    ("a=,b", [("a", "In", ("",)), exists("b")]),
    ("a>1", [("a", "Gt", ("1",))]),
    ("a<2", [("a", "Lt", ("2",))]),
    ("a > 007", [("a", "Gt", ("007",))]),
    ("in", [exists("in")]),
    ("!in", [absent("in")]),
    ("in in (in)", [("in", "In", ("in",))]),
    ("notin", [exists("notin")]),
    ("a=in", [("a", "In", ("in",))]),
    ("a in (in,notin)", [("a", "In", ("in", "notin"))]),
    ("a,b", [exists("a"), exists("b")]),
    ("b,a", [exists("a"), exists("b")]),
    ("a\t=\tb", [("a", "In", ("b",))]),
    ("a\n,\r\nb", [exists("a"), exists("b")]),
    ("a=b,a!=c", [("a", "In", ("b",)), ("a", "NotIn", ("c",))]),
    ("k8s.io/name=x", [("k8s.io/name", "In", ("x",))]),
    ("K8s=X", [("K8s", "In", ("X",))]),
    (f"a={LONGEST_NAME}", [("a", "In", (LONGEST_NAME,))]),
    (LONGEST_NAME, [exists(LONGEST_NAME)]),
    (f"{LONGEST_PREFIX}/a", [exists(f"{LONGEST_PREFIX}/a")]),
    (
        "x,y in (b),!z,w!=q,v>3",
        [("v", "Gt", ("3",)), ("w", "NotIn", ("q",)), exists("x"), ("y", "In", ("b",)), absent("z")],
    ),
]

# text, where we say it goes wrong
MALFORMED = [
    ("a,", 2),
    (",a", 0),
    (",", 0),
    ("a,,b", 2),
    ("!", 1),
    ("!!a", 1),
    ("a b", 2),
    ("a in", 4),
    ("a in x", 5),
    ("a in (", 6),
    ("a in (x", 7),
    ("a in (x,", 8),
    ("a in (x y)", 8),
    ("a in (x))", 8),
    ("a in ((x)", 6),
    ("a notin x", 8),
    ("a IN (x)", 2),
    ("a not in (x)", 2),
    ("a=b c", 4),
    ("a=b=c", 3),
    ("a===b", 3),
    ("a=!b", 2),
    ("a=(b)", 2),
    ("a>=1", 2),
    ("a=>1", 2),
    ("!a=b", 2),
    ("!a in (x)", 3),
    ("=b", 0),
    ("==", 0),
    ("(a)", 0),
    ("a)", 1),
    ("b,a>", 2),
    ("a>x", 0),
    ("a<1.5", 0),
    ("a>-1", 0),
    ("a>9223372036854775808", 0),
    ("a/b/c", 0),
    ("/a", 0),
    ("a/", 0),
    ("A/b=c", 0),
    ("-a", 0),
    ("a-", 0),
    ("x, a=-b", 3),
    ("a=b_", 0),
    ("a=b/c", 0),
    ("é=x", 0),
    ("a=é", 0),
    ("a;b", 0),
    ("a=b;c=d", 0),
    ("a in (x,-)", 0),
    (f"a={LONGEST_NAME}a", 0),
    (f"{LONGEST_NAME}a", 0),
    (f"{LONGEST_PREFIX}d/a", 0),
]


@pytest.mark.parametrize(("text", "requirements"), WELL_FORMED)
def test_text_becomes_the_requirements_that_go_reads(text, requirements):
    assert parse_selector(text) == tuple(Requirement(*requirement) for requirement in requirements)


@pytest.mark.parametrize(("text", "position"), MALFORMED)
def test_text_that_go_refuses_is_refused_with_the_position(text, position):
    with pytest.raises(SelectorError) as caught:
        parse_selector(text)
    assert caught.value.fields == {"text": text, "position": position}


def test_the_error_says_what_was_expected_and_found():
    with pytest.raises(SelectorError) as caught:
        parse_selector("a in (x y)")
    assert str(caught.value) == "expected ',' or ')', found 'y' (text='a in (x y)', position=8)"


# text, labels, whether they match
MATCHES = [
    ("", {}, True),
    ("", {"a": "b"}, True),
    ("a", {"a": ""}, True),
    ("a", {"b": "a"}, False),
    ("!a", {"b": "a"}, True),
    ("!a", {"a": ""}, False),
    ("a=b", {"a": "b"}, True),
    ("a=b", {"a": "B"}, False),
    ("a=b", {}, False),
    ("a=", {"a": ""}, True),
    ("a=", {}, False),
    ("a!=b", {"a": "c"}, True),
    ("a!=b", {"a": "b"}, False),
    ("a!=b", {}, True),
    ("a!=", {}, True),
    ("a in (x,y)", {"a": "y"}, True),
    ("a in (x,y)", {"a": "z"}, False),
    ("a in (x,y)", {}, False),
    ("a in (,x)", {"a": ""}, True),
    ("a in (,x)", {}, False),
    ("a notin (x,y)", {"a": "y"}, False),
    ("a notin (x,y)", {"a": "z"}, True),
    ("a notin (x,y)", {}, True),
    ("a>1", {"a": "2"}, True),
    ("a>1", {"a": "1"}, False),
    ("a>1", {"a": "10"}, True),
    ("a>9", {"a": "10"}, True),
    ("a>1", {"a": "+2"}, True),
    ("a>1", {"a": "007"}, True),
    ("a>007", {"a": "8"}, True),
    ("a>1", {"a": "2.5"}, False),
    ("a>1", {"a": "1_0"}, False),
    ("a>1", {"a": "0x10"}, False),
    ("a>1", {"a": " 2"}, False),
    ("a>1", {"a": ""}, False),
    ("a>1", {"a": "٢"}, False),
    ("a>1", {}, False),
    ("a>1", {"a": "9223372036854775807"}, True),
    ("a>1", {"a": "9223372036854775808"}, False),
    ("a<2", {"a": "1"}, True),
    ("a<2", {"a": "2"}, False),
    ("a<2", {"a": "-5"}, True),
    ("a<2", {"a": "-9223372036854775808"}, True),
    ("a<2", {"a": "-9223372036854775809"}, False),
    ("a<2", {"a": "x"}, False),
    ("a<2", {}, False),
    ("a,b=c", {"a": "1", "b": "c"}, True),
    ("a,b=c", {"a": "1", "b": "d"}, False),
    ("a=b,a!=b", {"a": "b"}, False),
]


@pytest.mark.parametrize(("text", "labels", "match"), MATCHES)
def test_requirements_match_the_labels_that_go_matches(text, labels, match):
    assert matches(parse_selector(text), labels) is match


# JSON of matchLabels and matchExpressions, labels, whether they match
LABEL_SELECTORS = [
    ({}, {}, True),
    ({}, {"a": "b"}, True),
    ({"matchLabels": {}, "matchExpressions": []}, {"a": "b"}, True),
    ({"matchLabels": {"a": "b"}}, {"a": "b", "c": "d"}, True),
    ({"matchLabels": {"a": "b"}}, {"a": "c"}, False),
    ({"matchLabels": {"a": "b"}}, {}, False),
    ({"matchLabels": {"a": ""}}, {}, False),
    ({"matchLabels": {"a": "b", "c": "d"}}, {"a": "b"}, False),
    ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["x", "y"]}]}, {"a": "x"}, True),
    ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["x"]}]}, {}, True),
    ({"matchExpressions": [{"key": "a", "operator": "Exists"}]}, {"a": ""}, True),
    ({"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}, {}, True),
    (
        {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "c", "operator": "Exists"}]},
        {"a": "b"},
        False,
    ),
    (
        {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "c", "operator": "Exists"}]},
        {"a": "b", "c": ""},
        True,
    ),
]

# JSON of selectors that Go refuses, labels that would match if nobody looked, a part of our complaint
BROKEN_LABEL_SELECTORS = [
    ({"matchLabels": {"a b": "c"}}, {"a b": "c"}, "label key 'a b'"),
    ({"matchLabels": {"a": "-"}}, {"a": "-"}, "label value '-'"),
    ({"matchExpressions": [{"key": "", "operator": "DoesNotExist"}]}, {}, "label key ''"),
    ({"matchExpressions": [{"key": "a", "operator": "NotIn"}]}, {}, "at least one value"),
    ({"matchExpressions": [{"key": "a", "operator": "In", "values": []}]}, {"a": "b"}, "at least one value"),
    (
        {"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["x y"]}]},
        {},
        "label value 'x y'",
    ),
    (
        {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["x"]}]},
        {"a": "x"},
        "takes no values",
    ),
    (
        {"matchExpressions": [{"key": "a", "operator": "DoesNotExist", "values": ["x"]}]},
        {},
        "takes no values",
    ),
    (
        {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]},
        {"a": "2"},
        "for node selectors only",
    ),
    (
        {"matchExpressions": [{"key": "a", "operator": "Lt", "values": ["1"]}]},
        {"a": "0"},
        "for node selectors only",
    ),
    ({"matchExpressions": [{"key": "a", "operator": "in", "values": ["x"]}]}, {"a": "x"}, "not one of"),
]


@pytest.mark.parametrize(("selector", "labels", "match"), LABEL_SELECTORS)
def test_a_label_selector_matches_the_labels_that_go_matches(selector, labels, match):
    decoded = msgspec.convert(selector, LabelSelector)
    assert decoded.matches(labels) is match
    assert decoded.problems() == ()


@pytest.mark.parametrize(("selector", "labels", "words"), BROKEN_LABEL_SELECTORS)
def test_a_label_selector_with_problems_names_them_and_matches_nothing(selector, labels, words):
    decoded = msgspec.convert(selector, LabelSelector)
    assert words in "; ".join(decoded.problems())
    assert not decoded.matches(labels)


def test_every_problem_is_named():
    selector = LabelSelector(match_labels={"a b": "-"}, match_expressions=(Requirement("a", "Gt", ("x", "y z")),))
    assert len(selector.problems()) == 5


LABELS = {"zone": "z1", "cores": "16", "old": "-5"}


def labelled(key, operator, *values):
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def named(operator, *values, key="metadata.name"):
    return {"matchFields": [{"key": key, "operator": operator, "values": list(values)}]}


# terms, whether they match the node "n1" with the labels above
NODE_SELECTORS = [
    ([], False),
    ([{}], False),
    ([{"matchExpressions": [], "matchFields": []}], False),
    ([labelled("zone", "In", "z1")], True),
    ([labelled("zone", "In", "z2", "z1")], True),
    ([labelled("zone", "In", "z2")], False),
    ([labelled("rack", "In", "r1")], False),
    ([labelled("zone", "NotIn", "z1")], False),
    ([labelled("zone", "NotIn", "z2")], True),
    ([labelled("rack", "NotIn", "r1")], True),
    ([labelled("zone", "Exists")], True),
    ([labelled("rack", "Exists")], False),
    ([labelled("zone", "DoesNotExist")], False),
    ([labelled("rack", "DoesNotExist")], True),
    ([labelled("cores", "Gt", "8")], True),
    ([labelled("cores", "Gt", "16")], False),
    ([labelled("cores", "Lt", "17")], True),
    ([labelled("cores", "Lt", "16")], False),
    ([labelled("old", "Lt", "0")], True),
    ([labelled("zone", "Gt", "0")], False),
    ([labelled("rack", "Gt", "0")], False),
    ([labelled("rack", "Lt", "0")], False),
    ([labelled("zone", "In", "z2"), labelled("cores", "Gt", "8")], True),
    ([{}, labelled("zone", "In", "z1")], True),
    ([labelled("zone", "In", "z1") | named("In", "n1")], True),
    ([labelled("zone", "In", "z1") | named("In", "n2")], False),
    ([labelled("zone", "In", "z2") | named("In", "n1")], False),
    ([named("In", "n1")], True),
    ([named("In", "n2")], False),
    ([named("NotIn", "n1")], False),
    ([named("NotIn", "n2")], True),
    (
        [{"matchExpressions": labelled("zone", "Exists")["matchExpressions"] * 2}],
        True,
    ),
    (
        [
            {
                "matchExpressions": [
                    {"key": "zone", "operator": "Exists"},
                    {"key": "rack", "operator": "Exists"},
                ]
            }
        ],
        False,
    ),
]

# terms that Go will not evaluate, though the bare condition would hold for the node "n1"
BROKEN_TERMS = [
    labelled("rack", "NotIn"),
    labelled("rack", "NotIn", "r 1"),
    labelled("zone", "Exists", "z1"),
    labelled("rack", "DoesNotExist", "r1"),
    labelled("cores", "Gt", "8", "9"),
    labelled("cores", "Gt", "-1"),
    labelled("cores", "Gt", "8.5"),
    labelled("cores", "Gt"),
    labelled("cores", "Lt", "9223372036854775808"),
    labelled("zone", "in", "z1"),
    labelled("ra ck", "DoesNotExist"),
    labelled("", "DoesNotExist"),
    named("In", "n1", "n2"),
    named("NotIn", "n2", "n3"),
    named("NotIn"),
    named("Exists"),
    named("Gt", "0"),
]


@pytest.mark.parametrize(("terms", "match"), NODE_SELECTORS)
def test_a_node_selector_matches_the_nodes_that_go_matches(terms, match):
    selector = msgspec.convert({"nodeSelectorTerms": terms}, NodeSelector)
    assert selector.matches(LABELS, "n1") is match


@pytest.mark.parametrize("term", BROKEN_TERMS)
def test_a_term_that_go_will_not_evaluate_has_problems_and_matches_nothing(term):
    selector = msgspec.convert({"nodeSelectorTerms": [term]}, NodeSelector)
    assert selector.problems()
    assert not selector.matches(LABELS, "n1")


@pytest.mark.parametrize("term", BROKEN_TERMS)
def test_a_broken_term_does_not_hinder_the_others(term):
    selector = msgspec.convert({"nodeSelectorTerms": [term, named("In", "n1")]}, NodeSelector)
    assert selector.matches(LABELS, "n1")


def test_a_field_other_than_the_name_matches_nothing_though_gos_scheduler_reads_it_as_empty():
    term = msgspec.convert(named("NotIn", "x", key="metadata.namespace"), NodeSelectorTerm)
    assert not term.matches(LABELS, "n1")
    assert term.problems() == ("field 'metadata.namespace' is not 'metadata.name'",)


def test_problems_of_a_node_selector_carry_the_number_of_the_term():
    selector = NodeSelector(
        (NodeSelectorTerm((Requirement("a", "Exists"),)), NodeSelectorTerm((Requirement("a", "In"),)))
    )
    assert selector.problems() == ("term 1: operator 'In' needs at least one value",)
    assert NodeSelector().problems() == ("there are no terms, so no node matches",)


def test_selectors_decode_from_kubernetes_json_and_encode_to_the_same():
    text = (
        b'{"nodeSelectorTerms":[{"matchExpressions":[{"key":"zone","operator":"In","values":["z1"]},'
        b'{"key":"gpu","operator":"Exists"}],"matchFields":[{"key":"metadata.name","operator":"NotIn","values":["n2"]}]}]}'
    )
    selector = msgspec.json.decode(text, type=NodeSelector)
    assert selector.node_selector_terms[0].match_expressions[1] == Requirement("gpu", "Exists")
    assert msgspec.json.encode(selector) == text


def test_an_operator_we_do_not_know_still_decodes():
    requirement = msgspec.json.decode(b'{"key":"a","operator":"Near","values":["b"]}', type=Requirement)
    assert not requirement.matches({"a": "b"})


def test_node_selectors_and_requirements_are_values():
    one, two = (NodeSelector((NodeSelectorTerm((Requirement("a", "In", ("b",)),)),)) for _ in range(2))
    assert one == two
    assert hash(one) == hash(two)
    with pytest.raises(AttributeError):
        one.node_selector_terms = ()


WORDS = st.sampled_from(["a", "b", "in", "notin", "=", "==", "!=", "!", "(", ")", ",", ">", "<", " ", "1", "_"])


@given(st.lists(WORDS, max_size=10).map("".join))
def test_any_text_is_read_or_refused_with_a_position_inside_it(text):
    try:
        parsed = parse_selector(text)
    except SelectorError as error:
        position = error.fields["position"]
    else:
        position = 0
        assert all(not requirement.problems() for requirement in parsed)
    assert 0 <= position <= len(text)


KEYS = st.sampled_from(["a", "b", "c.d/e"])
VALUES = st.sampled_from(["", "x", "1", "2", "10", "-3"])


@given(KEYS, st.lists(VALUES, min_size=1), st.dictionaries(KEYS, VALUES))
def test_in_and_notin_are_opposites(key, values, labels):
    inside, outside = (Requirement(key, operator, tuple(values)) for operator in ("In", "NotIn"))
    if not inside.problems():
        assert inside.matches(labels) is not outside.matches(labels)


@given(st.text())
def test_no_text_breaks_the_parser(text):
    with contextlib.suppress(SelectorError):
        assert isinstance(parse_selector(text), tuple)
