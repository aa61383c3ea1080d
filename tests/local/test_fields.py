"""Sets of fields: what FieldsV1 means, and the laws of sets."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.local.patching.fields import (
    FieldsError,
    difference,
    has,
    intersection,
    is_member,
    key_step,
    of_names,
    parse,
    path_text,
    paths,
    step_text,
    union,
    value_step,
    without,
)
from tests.local.widgets import LAW

# --- a set as its paths, to check the trees against ---

_STEPS = st.sampled_from(
    ["f:a", "f:b", "f:a.b", 'k:{"name":"x"}', 'k:{"name":"y"}', 'k:{"p":80,"t":"TCP"}', 'v:"v"', "v:1", "v:true", "i:0"]
)
_PATHS = st.frozensets(st.lists(_STEPS, min_size=1, max_size=4).map(tuple), max_size=12)


def tree(found):
    made = {}
    for path in found:
        one = {}
        for step in reversed(path):
            one = {step: one}
        made = union(made, one)
    return made


def flat(fields):
    return frozenset(paths(fields))


def every_tree(fields):
    yield fields
    for below in fields.values():
        yield from every_tree(below)


@LAW
@given(_PATHS)
def test_a_set_is_its_paths(found):
    assert flat(tree(found)) == found
    assert all(has(tree(found), path) for path in found)


@LAW
@given(_PATHS, _PATHS)
def test_union_intersection_and_difference_are_those_of_sets(left, right):
    assert flat(union(tree(left), tree(right))) == left | right
    assert flat(intersection(tree(left), tree(right))) == left & right
    assert flat(difference(tree(left), tree(right))) == left - right


@LAW
@given(_PATHS, _PATHS)
def test_without_takes_away_what_is_below_as_well(left, right):
    above = {path for path in left if any(path[: len(gone)] == gone for gone in right)}
    assert flat(without(tree(left), tree(right))) == left - above


@LAW
@given(_PATHS, _PATHS)
def test_laws_of_sets(left, right):
    a, b = tree(left), tree(right)
    assert union(a, b) == union(b, a)
    assert intersection(a, b) == intersection(b, a)
    assert union(difference(a, b), intersection(a, b)) == a
    assert difference(union(a, b), b) == difference(a, b)
    assert difference(a, a) == {}
    assert union(a, {}) == a == union({}, a)


@LAW
@given(_PATHS, _PATHS)
def test_no_step_leads_to_an_empty_tree_by_mistake(left, right):
    for made in (union, intersection, difference, without):
        for inner in every_tree(made(tree(left), tree(right))):
            assert set(inner) != {"."}


@LAW
@given(_PATHS, _PATHS)
def test_sets_are_never_changed(left, right):
    a, b = tree(left), tree(right)
    before = json.dumps([a, b])
    for made in (union, intersection, difference, without):
        made(a, b)
    parse(a)
    assert json.dumps([a, b]) == before


@LAW
@given(_PATHS)
def test_fields_v1_and_back(found):
    written = json.loads(json.dumps(tree(found)))
    assert parse(written) == tree(found)


@LAW
@given(_PATHS)
def test_what_we_wrote_is_read_without_a_copy(found):
    written = json.loads(json.dumps(tree(found)))
    assert parse(written) is written


# --- how steps are written ---


@pytest.mark.parametrize(
    ("step", "written", "text"),
    [
        ("f:image", "f:image", ".image"),
        ("f:a.b/c", "f:a.b/c", ".a.b/c"),
        (key_step("name", "a"), 'k:{"name":"a"}', '[name="a"]'),
        (
            key_step("protocol", "TCP", "containerPort", 80),
            'k:{"containerPort":80,"protocol":"TCP"}',
            '[containerPort=80,protocol="TCP"]',
        ),
        (key_step("name", 'a"<b>&'), r'k:{"name":"a\"\u003cb\u003e\u0026"}', r'[name="a\"<b>&"]'),
        (key_step("n", True), 'k:{"n":true}', "[n=true]"),
        (key_step("n", 1.0), 'k:{"n":1}', "[n=1]"),
        (key_step("n", None), 'k:{"n":null}', "[n=null]"),
        (value_step("x/a"), 'v:"x/a"', '[="x/a"]'),
        (value_step(1), "v:1", "[=1]"),
        (value_step(True), "v:true", "[=true]"),
        (value_step(1.5), "v:1.5", "[=1.5]"),
        ("i:3", "i:3", "[3]"),
    ],
)
def test_a_step_is_spelt_as_kubernetes_spells_it(step, written, text):
    assert step == written
    assert step_text(step) == text


def test_one_and_true_are_different_values():
    assert value_step(1) != value_step(True)
    assert key_step("n", 1) != key_step("n", True)


def test_a_path_reads_as_in_messages():
    path = ("f:spec", "f:containers", key_step("name", "a"), "f:args", "i:0")
    assert path_text(path) == '.spec.containers[name="a"].args[0]'


def test_paths_come_before_those_below_them():
    fields = {"f:b": {".": {}, "f:z": {}}, "f:a": {"f:y": {}}, "f:c": {}}
    assert [path_text(path) for path in paths(fields)] == [".b", ".c", ".a.y", ".b.z"]


# --- reading what others wrote ---


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (None, {}),
        ({}, {}),
        ({".": {}}, {}),
        ({"f:a": None}, {"f:a": {}}),
        ({"f:a": {".": {}}}, {"f:a": {}}),
        ({"f:a": {".": None, "f:b": {}}}, {"f:a": {".": {}, "f:b": {}}}),
        ({'k:{"b": 1, "a":"x"}': {}}, {'k:{"a":"x","b":1}': {}}),
        ({"v: 1.0": {}}, {"v:1": {}}),
        ({"i:+07": {}}, {"i:7": {}}),
        ({"z:new": {"f:a": {}}, "f:a": {}}, {"f:a": {}}),
        ({"f:a": {"z:new": {}}}, {"f:a": {}}),
    ],
)
def test_sets_that_others_wrote_are_read(given, meant):
    assert parse(given) == meant


@pytest.mark.parametrize(
    "given",
    [
        [],
        "x",
        {"f": {}},
        {"": {}},
        {"fx": {}},
        {"f:a": []},
        {"f:a": 0},
        {"f:a": {"k:{": {}}},
        {"k:[1]": {}},
        {"v:x": {}},
        {"v:NaN": {}},
        {"i:x": {}},
        {"i:1_0": {}},
    ],
)
def test_what_is_no_set_of_fields_is_refused(given):
    with pytest.raises(FieldsError):
        parse(given)


def test_sets_can_be_named():
    assert of_names("spec", "metadata.labels") == {"f:spec": {}, "f:metadata": {"f:labels": {}}}
    assert is_member(of_names("metadata", "metadata.name")["f:metadata"])
    assert not is_member(of_names("metadata.name")["f:metadata"])
    assert not has(of_names("metadata.name"), ("f:metadata",))
    assert not has(of_names("metadata.name"), ())
