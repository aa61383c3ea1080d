"""Objects by their shapes: the fields that they name, and what two of them differ in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.local.patching.diff import Changes, ItemError, changes, fields_of, item_step, same
from muster.local.patching.fields import difference, of_names, path_text, paths
from muster.local.schema.load import shapes
from tests.local.widgets import LAW, SPEC, STRING, WIDGET, XY, list_of, map_of, struct

POD = shapes()["io.k8s.api.core.v1.Pod"]


def named(fields):
    return {path_text(path) for path in paths(fields)}


# --- one object ---


@pytest.mark.parametrize(
    ("value", "fields"),
    [
        ({}, set()),
        ({"n": 1, "s": "", "b": None}, {".n", ".s", ".b"}),
        ({"set": ["a", "b"]}, {'.set[="a"]', '.set[="b"]'}),
        ({"set": []}, set()),
        ({"set": None}, {".set"}),
        ({"set": ["a", "a"]}, {'.set[="a"]'}),
        ({"atom": ["a"], "plain": [{"a": "1"}]}, {".atom", ".plain"}),
        ({"atom": []}, {".atom"}),
        ({"map": [{"k": "a"}]}, {'.map[k="a",p=7]', '.map[k="a",p=7].k'}),
        ({"map": [{"p": 1}]}, {".map[p=1]", ".map[p=1].p"}),
        ({"map": [{"k": "a"}, {"k": "a", "v": "1"}]}, {'.map[k="a",p=7]'}),
        (
            {"map": [{"k": "a", "deep": {"x": "1"}}]},
            {'.map[k="a",p=7]', '.map[k="a",p=7].k', '.map[k="a",p=7].deep.x'},
        ),
        ({"labels": {"l": "1"}}, {".labels.l"}),
        ({"labels": {}}, {".labels"}),
        ({"structs": {"s": {"x": "1"}, "t": {}}}, {".structs.s", ".structs.s.x", ".structs.t"}),
        ({"atomicmap": {"m": "1"}, "atomicstruct": {"x": "1"}}, {".atomicmap", ".atomicstruct"}),
        ({"any": {"u": {"v": [1], "w": {}}}}, {".any.u", ".any.u.v", ".any.u.w"}),
        ({"raw": {"a": 1}}, {".raw.a"}),
        ({"raw": [1]}, {".raw"}),
        ({"half": {"known": "1", "un": {"x": 1}}}, {".half.known", ".half.un", ".half.un.x"}),
        ({"half": {"sub": {"z": "1", "un": 1}}}, {".half.sub.z", ".half.sub.un"}),
    ],
)
def test_the_fields_of_an_object(value, fields):
    assert named(fields_of(value, SPEC)) == fields


def test_a_list_inside_a_map_is_always_a_field():
    shape = struct(lists=map_of(list_of(STRING, "set")))
    assert named(fields_of({"lists": {"a": [], "b": ["x"]}}, shape)) == {".lists.a", ".lists.b", '.lists.b[="x"]'}


def test_a_pods_ports_are_told_apart_by_port_and_protocol():
    pod = {
        "spec": {
            "containers": [{"name": "a", "ports": [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}]}]
        }
    }
    ports = {name for name in named(fields_of(pod, POD)) if name.endswith("]")}
    assert ports == {
        '.spec.containers[name="a"]',
        '.spec.containers[name="a"].ports[containerPort=80,protocol="TCP"]',
        '.spec.containers[name="a"].ports[containerPort=80,protocol="UDP"]',
    }  # fmt: skip


@pytest.mark.parametrize(
    ("item", "keys", "problem"),
    [
        (None, ("k",), "associative list with keys may not have a null element"),
        ("x", ("k",), "associative list with keys may not have non-map elements"),
        (
            {"v": "1"},
            ("k", "j"),
            'associative list with keys has an element that omits all key fields ["k" "j"] (and doesn\'t have default '
            "values for any key fields)",
        ),
        (None, (), "associative list without keys has an element that's an explicit null"),
        ({}, (), "associative list without keys has an element that's a map type"),
        ([], (), "not supported: associative list with lists as elements"),
    ],
)
def test_items_that_cannot_be_told_apart_are_wrong(item, keys, problem):
    with pytest.raises(ItemError) as wrong:
        item_step(item, list_of(XY, "map" if keys else "set", keys))
    assert str(wrong.value) == problem


# --- two objects ---


def changed(old, new, shape=SPEC):
    found = changes(old, new, shape)
    return named(found.added), named(found.removed), named(found.modified)


NONE: set[str] = set()


@pytest.mark.parametrize(
    ("old", "new", "added", "removed", "modified"),
    [
        ({}, {}, NONE, NONE, NONE),
        ({"n": 1}, {"n": 1}, NONE, NONE, NONE),
        ({"n": 1}, {"n": 2}, NONE, NONE, {".n"}),
        ({}, {"n": 1}, {".n"}, NONE, NONE),
        ({"n": 1}, {}, NONE, {".n"}, NONE),
        ({}, {"labels": {"l": "1"}}, {".labels", ".labels.l"}, NONE, NONE),
        ({"labels": {}}, {"labels": {"l": "1"}}, {".labels.l"}, NONE, NONE),
        ({"labels": None}, {"labels": {"l": "1"}}, {".labels.l"}, NONE, NONE),
        ({"labels": {"l": "1"}}, {"labels": {}}, NONE, {".labels.l"}, NONE),
        ({"labels": {}}, {"labels": None}, NONE, NONE, {".labels"}),
        ({"set": ["a"]}, {"set": ["b"]}, {'.set[="b"]'}, {'.set[="a"]'}, NONE),
        ({"set": ["a", "b"]}, {"set": ["b", "a"]}, NONE, NONE, NONE),
        ({}, {"set": ["a"]}, {".set", '.set[="a"]'}, NONE, NONE),
        ({"set": None}, {"set": ["a"]}, {'.set[="a"]'}, NONE, NONE),
        ({"set": ["a"]}, {"set": ["a", "a"]}, {'.set[="a"]'}, {'.set[="a"]'}, NONE),
        ({"set": ["a", "a"]}, {"set": ["a", "a"]}, NONE, NONE, NONE),
        ({"set": ["a", "a"], "n": 1}, {"set": ["a", "a", "a"]}, NONE, {".n"}, {'.set[="a"]'}),
        ({"set": []}, {"set": None}, NONE, NONE, {".set"}),
        ({"atom": ["a"]}, {"atom": ["b"]}, NONE, NONE, {".atom"}),
        ({"plain": [{"a": "1"}]}, {"plain": [{"a": "2"}]}, NONE, NONE, {".plain"}),
        ({"map": [{"k": "a", "v": "1"}]}, {"map": [{"k": "a", "v": "2"}]}, NONE, NONE, {'.map[k="a",p=7].v'}),
        ({"map": [{"k": "a"}]}, {"map": [{"k": "a", "p": 7}]}, {'.map[k="a",p=7].p'}, NONE, NONE),
        (
            {"map": [{"k": "a"}]},
            {"map": [{"k": "b"}]},
            {'.map[k="b",p=7]', '.map[k="b",p=7].k'},
            {'.map[k="a",p=7]', '.map[k="a",p=7].k'},
            NONE,
        ),
        ({"atomicmap": {"m": "1"}}, {"atomicmap": {"n": "1"}}, NONE, NONE, {".atomicmap"}),
        ({"atomicstruct": {"x": "1"}}, {"atomicstruct": {}}, NONE, NONE, {".atomicstruct"}),
        ({"raw": {"a": 1}}, {"raw": 5}, NONE, {".raw.a"}, {".raw"}),
        ({"raw": 5}, {"raw": {"a": 1}}, {".raw.a"}, NONE, {".raw"}),
        ({"raw": {}}, {"raw": []}, NONE, NONE, {".raw"}),
        ({"raw": None}, {"raw": {"a": 1}}, {".raw.a"}, NONE, NONE),
        ({"raw": 1}, {"raw": True}, NONE, NONE, {".raw"}),
        ({"raw": 1}, {"raw": 1.0}, NONE, NONE, NONE),
        ({"raw": [1]}, {"raw": [True]}, NONE, NONE, {".raw"}),
        ({"any": {"u": 1}}, {"any": {"u": True}}, NONE, NONE, {".any.u"}),
        ({"q": 1}, {"q": "1"}, NONE, NONE, {".q"}),
        ({}, {"half": {"un": {"x": 1}}}, {".half", ".half.un", ".half.un.x"}, NONE, NONE),
    ],
)
def test_what_two_objects_differ_in(old, new, added, removed, modified):
    assert changed(old, new) == (added, removed, modified)
    # and the other way round
    assert changed(new, old) == (removed, added, modified)


def test_some_fields_can_be_left_out_of_a_comparison():
    found = changes({"spec": {"n": 1}}, {"spec": {"n": 2}, "status": {"a": {"b": 1}}}, WIDGET)
    assert found.without(of_names("status")) == Changes({}, {}, of_names("spec.n"))
    assert found.without({}) is found


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from(["", "a", "b"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


@LAW
@given(_JSON, _JSON)
def test_equal_objects_have_no_changes_and_others_have_some(left, right):
    found = changes({"raw": left}, {"raw": right}, SPEC)
    assert same(left, right) == (found == Changes({}, {}, {}))


@LAW
@given(_JSON)
def test_whatever_is_added_has_all_the_fields_of_it(value):
    added = changes({}, {"raw": value, "any": {"u": value}}, SPEC).added
    assert difference(fields_of({"raw": value, "any": {"u": value}}, SPEC), added) == {}
