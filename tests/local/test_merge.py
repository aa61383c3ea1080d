"""JSON merge patch and JSON patch; what is refused, and how, was asked of kube-apiserver 1.37.1."""

import json
from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.local.patching.merge import PatchError, json_patch, merge_patch
from tests.local.widgets import LAW

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["", "a", "b"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=3),
    max_leaves=10,
)
_OBJECTS = st.dictionaries(st.sampled_from("abcd"), _JSON, max_size=4)


# --- JSON merge patch ---


def rfc_7386(target, patch):
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = rfc_7386(result.get(name), value)
    return result


def has_null_in_a_list(value):
    if isinstance(value, dict):
        return any(map(has_null_in_a_list, value.values()))
    return isinstance(value, list) and ("null" in json.dumps(value))


@LAW
@given(_OBJECTS, _OBJECTS)
def test_a_merge_patch_is_what_the_rfc_says(document, patch):
    if not has_null_in_a_list(patch):
        assert merge_patch(document, patch) == rfc_7386(document, patch)


@LAW
@given(_OBJECTS, _OBJECTS)
def test_a_merge_patch_done_again_changes_nothing(document, patch):
    if not has_null_in_a_list(patch):
        once = merge_patch(document, patch)
        assert merge_patch(once, patch) == once


@LAW
@given(_OBJECTS, _OBJECTS)
def test_a_merge_patch_leaves_its_arguments_alone_and_shares_nothing_with_them(document, patch):
    before = deepcopy([document, patch])
    result = merge_patch(document, patch)
    spoil(result)
    assert [document, patch] == before


def spoil(value):
    inner = list(value.values()) if isinstance(value, dict) else list(value) if isinstance(value, list) else []
    for one in inner:
        spoil(one)
    if isinstance(value, dict | list):
        value.clear()


@pytest.mark.parametrize(
    ("document", "patch", "result"),
    [
        # nulls in a list go with the objects that they are in, unless the list takes an object's place
        ({}, {"l": [{"a": None, "b": 1}, None]}, {"l": [{"b": 1}, None]}),
        ({"l": [1]}, {"l": [{"a": None}]}, {"l": [{}]}),
        ({"l": {"x": 1}}, {"l": [{"a": None}]}, {"l": [{"a": None}]}),
        ({"a": None}, {"a": {"b": None, "c": 1}}, {"a": {"c": 1}}),
    ],
)
def test_where_kubernetes_leaves_the_rfc(document, patch, result):
    assert merge_patch(document, patch) == result


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        (None, "Invalid JSON Patch"),
        ([], "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"),
        (5, "error decoding patch: json: cannot unmarshal number into Go value of type map[string]interface {}"),
        ("x", "error decoding patch: json: cannot unmarshal string into Go value of type map[string]interface {}"),
        (True, "error decoding patch: json: cannot unmarshal bool into Go value of type map[string]interface {}"),
    ],
)
def test_a_merge_patch_that_is_no_object_is_refused(patch, message):
    with pytest.raises(PatchError) as refused:
        merge_patch({"a": 1}, patch)
    assert (refused.value.code, refused.value.reason, refused.value.message) == (400, "BadRequest", message)


# --- JSON patch ---

LIVE = {"data": {"a": "1", "b": "2"}, "list": ["x", "y", "z"], "n": 1, "null": None}


def op(kind, path=None, **rest):
    return {"op": kind, **({} if path is None else {"path": path}), **rest}


@pytest.mark.parametrize(
    ("operations", "result"),
    [
        ([op("add", "/data/c", value="3")], {"data": {"a": "1", "b": "2", "c": "3"}}),
        ([op("add", "/data/a", value="3")], {"data": {"a": "3", "b": "2"}}),
        ([op("add", "/data/c")], {"data": {"a": "1", "b": "2", "c": None}}),
        ([op("add", "/data/x~1y~0z", value="3")], {"data": {"a": "1", "b": "2", "x/y~z": "3"}}),
        ([op("add", "/data/~01", value="3")], {"data": {"a": "1", "b": "2", "~1": "3"}}),
        ([op("add", "/list/-", value="q")], {"list": ["x", "y", "z", "q"]}),
        ([op("add", "/list/1", value="q")], {"list": ["x", "q", "y", "z"]}),
        ([op("add", "/list/3", value="q")], {"list": ["x", "y", "z", "q"]}),
        ([op("add", "/list/-1", value="q")], {"list": ["x", "y", "z", "q"]}),
        ([op("add", "/list/-4", value="q")], {"list": ["q", "x", "y", "z"]}),
        ([op("add", "/list/+1", value="q")], {"list": ["x", "q", "y", "z"]}),
        ([op("add", "/new", value={}), op("add", "/new/x", value=1)], {"new": {"x": 1}}),
        ([op("remove", "/data/a")], {"data": {"b": "2"}}),
        ([op("remove", "/list/0")], {"list": ["y", "z"]}),
        ([op("remove", "/list/-1")], {"list": ["x", "y"]}),
        ([op("replace", "/data/a", value="9")], {"data": {"a": "9", "b": "2"}}),
        ([op("replace", "/data/zz", value="9")], {"data": {"a": "1", "b": "2", "zz": "9"}}),
        ([op("replace", "/list/-1", value="q")], {"list": ["x", "y", "q"]}),
        ([op("move", "/data/c", **{"from": "/data/a"})], {"data": {"b": "2", "c": "1"}}),
        ([op("move", "/list/0", **{"from": "/list/2"})], {"list": ["z", "x", "y"]}),
        ([op("copy", "/data/c", **{"from": "/data/a"})], {"data": {"a": "1", "b": "2", "c": "1"}}),
        ([op("copy", "/data/c", **{"from": "/data/zz"})], {"data": {"a": "1", "b": "2", "c": None}}),
        ([op("test", "/data/a", value="1")], {}),
        ([op("test", "/list", value=["x", "y", "z"])], {}),
        ([op("test", "/data/zz", value=None)], {}),
        ([op("test", "/data/zz")], {}),
        ([op("test", "/null", value=None)], {}),
        ([op("test", "", value=LIVE)], {}),
        ([op("add", "/data/c", value="3", extra=1)], {"data": {"a": "1", "b": "2", "c": "3"}}),
        ([], {}),
        (None, {}),
    ],
)
def test_a_json_patch_is_carried_out(operations, result):
    assert json_patch(LIVE, operations) == {**LIVE, **result}


def test_a_json_patch_can_replace_everything():
    assert json_patch(LIVE, [op("replace", "", value={"x": 1}), op("add", "/y", value=2)]) == {"x": 1, "y": 2}


@pytest.mark.parametrize(
    "operation",
    [
        op("add", "/data/x/y", value="3"),
        op("add", "/nope/x", value="3"),
        op("add", "", value={}),
        op("add", "data", value={}),
        op("add", value={}),
        op("add", "/null/x", value=1),
        op("add", "/n/x", value=1),
        op("add", "/list/9", value="q"),
        op("add", "/list/-5", value="q"),
        op("add", "/list/x", value="q"),
        op("add", "/list/", value="q"),
        op("add", "/list/99999999999999999999", value="q"),
        op("remove", "/data/zz"),
        op("remove", "/nope/zz"),
        op("remove", "/list/9"),
        op("remove", "/list/x"),
        op("remove", ""),
        op("remove"),
        op("replace", "/nope/zz", value="q"),
        op("replace", "/list/7", value="q"),
        op("replace", "/list/x", value="q"),
        op("replace", "", value=5),
        op("replace", value=5),
        op("test", "/data/a", value="2"),
        op("test", "/data/a"),
        op("test", "/data/zz", value="1"),
        op("test", "/nope/zz", value="1"),
        op("test", "/list/9", value="1"),
        op("test", "/n", value=1.0),
        op("test", "/n", value=True),
        op("test", "", value={}),
        op("test"),
        op("move", "/data/q", **{"from": "/data/zz"}),
        op("move", "/data/q", **{"from": "/nope/zz"}),
        op("move", "/data/q"),
        op("move", **{"from": "/data/a"}),
        op("move", "/nope/q", **{"from": "/data/a"}),
        op("move", "/list/9", **{"from": "/list/2"}),
        op("copy", "/data/q", **{"from": "/nope/zz"}),
        op("copy", "/data/q", **{"from": "/list/9"}),
        op("copy", "/data/q"),
        op("copy", **{"from": "/data/a"}),
        op("copy", "/list/x", **{"from": "/data/a"}),
        op("frob", "/data/q"),
        {"path": "/data/q"},
        None,
    ],
)
def test_an_operation_that_cannot_be_carried_out_is_refused_without_a_word_why(operation):
    before = deepcopy(LIVE)
    with pytest.raises(PatchError) as refused:
        json_patch(LIVE, [op("add", "/data/done", value="1"), operation])
    error = refused.value
    assert (error.code, error.reason, error.details) == (422, "Invalid", {})
    assert error.message == "the server rejected our request due to an error in our request"
    assert before == LIVE


@pytest.mark.parametrize(
    ("patch", "problem"),
    [
        ({"op": "add"}, "object into Go value of type []handlers.jsonPatchOp"),
        (5, "number into Go value of type []handlers.jsonPatchOp"),
        ("x", "string into Go value of type []handlers.jsonPatchOp"),
        ([5], "number into Go value of type handlers.jsonPatchOp"),
        ([[1]], "array into Go value of type handlers.jsonPatchOp"),
        ([op("add", 5)], "number into Go struct field jsonPatchOp.path of type string"),
        ([{"op": 7, "path": "/a"}], "number into Go struct field jsonPatchOp.op of type string"),
        ([{"op": "move", "from": {}}], "object into Go struct field jsonPatchOp.from of type string"),
    ],
)
def test_a_json_patch_of_wrong_types_is_refused(patch, problem):
    with pytest.raises(PatchError) as refused:
        json_patch(LIVE, patch)
    assert (refused.value.code, refused.value.reason) == (400, "BadRequest")
    assert refused.value.message == f"error decoding patch: json: cannot unmarshal {problem}"


def test_a_json_patch_may_not_be_endless():
    assert json_patch(LIVE, [op("test", "/n", value=1)] * 10_000) == LIVE
    with pytest.raises(PatchError) as refused:
        json_patch(LIVE, [op("test", "/n", value=1)] * 10_001)
    assert (refused.value.code, refused.value.reason) == (413, "RequestEntityTooLarge")
    assert refused.value.message == (
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"
    )


@LAW
@given(_OBJECTS, st.sampled_from("abcd"), _JSON)
def test_what_was_added_is_there_and_can_be_tested_moved_and_removed(document, name, value):
    patch = [op("add", f"/{name}", value=value), op("test", f"/{name}", value=value)]
    assert json_patch(document, patch) == {**document, name: value}
    away = [*patch, op("move", "/e", **{"from": f"/{name}"}), op("remove", "/e")]
    assert json_patch(document, away) == {key: inner for key, inner in document.items() if key != name}


@LAW
@given(_OBJECTS)
def test_what_is_copied_is_not_shared(document):
    result = json_patch({**document, "l": [{}]}, [op("copy", "/m", **{"from": "/l"}), op("add", "/m/0/x", value=1)])
    assert result["l"] == [{}]
    assert result["m"] == [{"x": 1}]
