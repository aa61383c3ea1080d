"""What server-side apply does to values, by their shapes."""

from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.local.patching.diff import fields_of
from muster.local.patching.fields import of_names, path_text, paths
from muster.local.patching.granular import copied, merged, problems, problems_text, reconciled, removed, with_named
from tests.local.widgets import LAW, SPEC, STRING, XY, list_of, map_of, struct

# --- merging ---


@pytest.mark.parametrize(
    ("live", "config", "result"),
    [
        ({"n": 1, "s": "a"}, {"n": 2}, {"n": 2, "s": "a"}),
        ({"n": 1}, {"n": None}, {"n": None}),
        ({"labels": {"l": "1"}}, {"labels": {"m": "2"}}, {"labels": {"l": "1", "m": "2"}}),
        ({"labels": {"l": "1"}}, {"labels": None}, {"labels": {"l": "1"}}),
        ({"labels": {}}, {"labels": None}, {"labels": None}),
        ({"labels": None}, {"labels": {}}, {"labels": {}}),
        ({"atomicmap": {"l": "1"}}, {"atomicmap": {"m": "2"}}, {"atomicmap": {"m": "2"}}),
        ({"atomicstruct": {"x": "1"}}, {"atomicstruct": {"y": "2"}}, {"atomicstruct": {"y": "2"}}),
        ({"atom": ["a"]}, {"atom": ["b"]}, {"atom": ["b"]}),
        ({"set": ["a"]}, {"set": None}, {"set": ["a"]}),
        ({"set": []}, {"set": None}, {"set": None}),
        ({"map": [{"k": "a", "v": "1"}]}, {"map": [{"k": "a", "p": 7}]}, {"map": [{"k": "a", "v": "1", "p": 7}]}),
        ({"map": [{"k": "a"}]}, {"map": [{"k": "a", "p": 8}]}, {"map": [{"k": "a"}, {"k": "a", "p": 8}]}),
        ({"raw": {"a": 1}}, {"raw": 5}, {"raw": 5}),
        ({"raw": 5}, {"raw": {"a": 1}}, {"raw": {"a": 1}}),
        ({"raw": [1]}, {"raw": [2]}, {"raw": [2]}),
        ({"raw": {"a": 1}}, {"raw": None}, {"raw": {"a": 1}}),
        ({"raw": [1]}, {"raw": None}, {"raw": None}),
        ({"any": {"u": {"v": 1}}}, {"any": {"u": {"w": 2}}}, {"any": {"u": {"v": 1, "w": 2}}}),
    ],
)
def test_a_config_is_put_into_a_live_value(live, config, result):
    before = deepcopy([live, config])
    assert merged(live, config, SPEC) == result
    assert [live, config] == before


@pytest.mark.parametrize(
    ("live", "config", "result"),
    [
        ("abcd", "", "abcd"),
        ("", "ab", "ab"),
        ("ab", "ab", "ab"),
        ("abcd", "dxb", "acdxb"),
        ("abc", "x", "abcx"),
        ("abc", "xa", "xabc"),
        ("abc", "ax", "abcx"),
        ("abc", "cba", "cba"),
        ("abcd", "ca", "bcda"),
        ("312", "293", "1293"),
    ],
)
def test_the_order_of_a_merged_list_is_that_of_kube_apiserver(live, config, result):
    assert "".join(merged(list(live), list(config), list_of(STRING, "set"))) == result


def test_long_lists_are_merged_in_time_as_they_are_long():
    # it took minutes when each item was looked for among all
    names = [str(number) for number in range(50_000)]
    assert merged({"set": names}, {"set": names}, SPEC) == {"set": names}


def test_of_items_that_are_there_twice_nothing_is_kept():
    shape = list_of(XY, "map", ("x",))
    live = [{"x": "1", "y": "1"}, {"x": "2"}, {"x": "1", "y": "2"}]
    assert merged(live, [{"x": "1"}], shape) == [{"x": "1"}, {"x": "2"}]
    assert merged(live, [{"x": "3"}], shape) == [*live, {"x": "3"}]


# --- taking out ---


@pytest.mark.parametrize(
    ("value", "fields", "rest"),
    [
        ({"n": 1, "s": "a"}, of_names("n"), {"s": "a"}),
        ({"n": 1}, of_names("n"), None),
        ({"labels": {"l": "1", "m": "2"}}, of_names("labels.l"), {"labels": {"m": "2"}}),
        ({"labels": {"l": "1"}}, of_names("labels.l"), {"labels": None}),
        ({"labels": {"l": "1"}}, of_names("labels.zz"), {"labels": {"l": "1"}}),
        ({"atomicmap": {"l": "1"}}, of_names("atomicmap.l"), {"atomicmap": None}),
        ({"set": ["a", "b"]}, {"f:set": {'v:"a"': {}}}, {"set": ["b"]}),
        ({"atom": ["a"]}, {"f:atom": {'v:"a"': {}}}, {"atom": None}),
        ({"map": [{"k": "a"}, {"k": "b"}]}, {"f:map": {'k:{"k":"a","p":7}': {}}}, {"map": [{"k": "b"}]}),
        (
            {"map": [{"k": "a", "v": "1"}]},
            {"f:map": {'k:{"k":"a","p":7}': {"f:v": {}}}},
            {"map": [{"k": "a"}]},
        ),
        ({"n": 1}, of_names("n.x"), {"n": 1}),
        ({"raw": {"a": {"b": 1}, "c": 2}}, of_names("raw.a.b"), {"raw": {"a": None, "c": 2}}),
    ],
)
def test_fields_are_taken_out_of_a_value(value, fields, rest):
    before = deepcopy(value)
    assert removed(value, fields, SPEC) == rest
    assert value == before


# --- sets by shape ---


def names(fields):
    return {path_text(path) for path in paths(fields)}


def test_a_structs_fields_are_named_with_what_is_below_them():
    fields = fields_of({"map": [{"k": "a", "deep": {"x": "1"}}], "labels": {"l": "1"}, "any": {"u": {"v": 1}}}, SPEC)
    named = names(with_named(fields, SPEC))
    assert named - names(fields) == {".map", '.map[k="a",p=7].deep', ".labels", ".any"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (of_names("atomicmap.a", "n"), {".atomicmap", ".n"}),
        (of_names("atomicstruct", "atomicstruct.x"), {".atomicstruct"}),
        ({"f:atom": {"i:0": {}}}, {".atom"}),
        (of_names("labels.l"), {".labels.l"}),
        (of_names("zz.y", "raw.a.b"), {".zz.y", ".raw.a.b"}),
    ],
)
def test_what_is_atomic_is_owned_as_a_whole(before, after):
    assert names(reconciled(before, SPEC)) == after


def test_a_set_that_is_as_it_should_be_is_not_copied():
    fields = fields_of({"map": [{"k": "a", "v": "1"}], "labels": {"l": "1"}, "atom": ["a"]}, SPEC)
    assert reconciled(fields, SPEC) is fields


# --- checking ---


def test_all_that_is_wrong_is_told():
    value = {"n": "x", "labels": {"a": 1, "b": True}, "set": ["a", "a"], "zz": 1, "s": 5}
    # what comes after a field that nobody knows is not looked at
    assert problems_text(problems(value, SPEC)) == (
        "errors:\n"
        '  .n: expected numeric (int or float), got "x"\n'
        "  .labels.a: expected string, got 1\n"
        "  .labels.b: expected string, got true\n"
        '  .set: duplicate entries for key [="a"]\n'
        "  .zz: field not declared in schema"
    )


@pytest.mark.parametrize(
    "value",
    [
        {"n": None, "set": None, "labels": None, "map": None},
        {"n": 1.5, "q": 1, "d": 5},
        {"any": {"x": [{"y": 1}]}, "raw": "x"},
        {"half": {"zz": 1, "sub": {"zz": 1}}},
        {"plain": [{"a": "1"}, {"a": "1"}]},
    ],
)
def test_nothing_is_wrong_with(value):
    assert problems(value, SPEC) == []


def test_a_struct_without_fields_takes_anything():
    assert problems({"basic": {"foo": 1}}, struct(basic=struct())) == []
    assert problems({"basic": [1]}, struct(basic=struct())) == [(".basic", "expected map, got [1]")]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=8,
)


@LAW
@given(_JSON)
def test_a_copy_is_equal_and_shares_nothing(value):
    copy = copied({"v": value})
    assert copy == {"v": value}
    assert not shared(copy["v"], value)


def shared(left, right):
    if isinstance(left, dict):
        return left is right or any(shared(left[name], right[name]) for name in left)
    if isinstance(left, list):
        return left is right or any(map(shared, left, right))
    return False


@LAW
@given(
    st.dictionaries(st.text(max_size=2), st.text(max_size=2)), st.dictionaries(st.text(max_size=2), st.text(max_size=2))
)
def test_what_was_merged_in_can_be_taken_out_again(live, config):
    shape = struct(m=map_of(STRING))
    both = merged({"m": live}, {"m": config}, shape)
    assert both == {"m": {**live, **config}}
    rest = removed(both, fields_of({"m": config}, shape), shape)["m"] if config else live
    assert (rest or {}) == {name: value for name, value in live.items() if name not in config}
