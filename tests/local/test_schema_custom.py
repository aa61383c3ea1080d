import copy
import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from muster.local.schema import custom, rules
from muster.local.schema.decoding import GroupVersionKind, decode, parse, strict_refusal
from muster.local.schema.shapes import Base, ListType
from tests.local import schema_answers as answers
from tests.local.schema_tables import pairs

ROOT = custom.shape(json.loads(answers.CUSTOM_SCHEMA))
CRDS = Path(__file__).parents[2] / "deploy" / "crds"
SPECS = [given for given, _ in pairs(answers.CUSTOM)]


def thing(spec, **others):
    return {"apiVersion": "schematest.dev/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": spec, **others}


def taken(spec):
    """What the API server makes of a new object: an error, or the spec, causes and strict errors."""
    decoded = decode(parse(json.dumps(thing(spec)).encode()), ROOT)
    if decoded.error:
        return decoded.error, None, [], []
    custom.default(decoded.value, ROOT)
    causes = [error.cause for error in rules.validate(decoded.value, ROOT)]
    named = [[cause["reason"], cause["field"], cause["message"]] for cause in causes]
    return "", decoded.value.get("spec", "<none>"), sorted(named), decoded.strict


@pytest.mark.parametrize(("spec", "answer"), pairs(answers.CUSTOM))
def test_objects_of_a_custom_kind_are_taken_as_the_real_server_takes_them(spec, answer):
    error, made, causes, strict = taken(json.loads(spec))
    if answer.startswith("!"):
        assert answer == f'!Thing in version "v1" cannot be handled as a Thing: {error}'
        return
    wanted = json.loads(answer)
    assert (error, causes, strict) == ("", sorted(wanted.get("causes", [])), wanted["strict"])
    assert causes or made == wanted["spec"]


@given(st.sampled_from(SPECS), st.sampled_from(SPECS))
def test_pruning_and_defaulting_again_changes_nothing(one, other):
    one, other = json.loads(one), json.loads(other)
    spec = {**one, **other} if isinstance(one, dict) and isinstance(other, dict) else one
    decoded = decode(thing(spec), ROOT)
    if decoded.error:
        return
    custom.default(decoded.value, ROOT)
    again = decode(copy.deepcopy(decoded.value), ROOT)
    custom.default(again.value, ROOT)
    assert (again.value, again.strict) == (decoded.value, [])


@given(st.sampled_from(SPECS))
def test_the_object_that_was_given_is_not_changed(spec):
    given_ = thing(json.loads(spec))
    before = copy.deepcopy(given_)
    made = decode(given_, ROOT)
    if not made.error:
        custom.default(made.value, ROOT)
    assert given_ == before


def test_all_fields_that_are_wrong_are_named_in_the_order_of_the_real_server():
    body = {
        **thing({"name": "ab", "bar": 1, "template": {"apiVersion": "v1", "kind": "X", "metadata": {"bar": 1}}}),
        "foo": {"a": 1},
        "metadata": {"name": "x", "foo": 1},
        "status": {"zz": 1},
    }
    text = json.dumps(body).replace('"name": "ab"', '"name": "ab", "name": "cd"').encode()
    decoded = decode(parse(text), ROOT)
    assert strict_refusal(GroupVersionKind("schematest.dev", "v1", "Thing"), decoded.strict) == (
        'Thing in version "v1" cannot be handled as a Thing: strict decoding error: duplicate field "spec.name", '
        'unknown field "metadata.foo", unknown field "foo", unknown field "spec.bar", unknown field "status.zz", '
        'unknown field "spec.template.metadata.bar"'
    )
    assert decoded.value["spec"]["name"] == "cd"


def test_metadata_has_its_usual_shape():
    metadata = {"name": "t", "creationTimestamp": "2026-01-01T02:00:00+02:00", "labels": {}}
    decoded = decode({**thing({"name": "ab"}), "metadata": metadata}, ROOT)
    assert decoded.value["metadata"] == {"name": "t", "creationTimestamp": "2026-01-01T00:00:00Z"}
    assert decode({"kind": "Thing"}, ROOT).value["metadata"] == {}


def test_whole_floats_are_integers_and_what_is_too_large_is_a_float():
    decoded = decode(thing({"name": "ab", "any": [1.0, 1000.0, 1.5, 2**70]}), ROOT)
    assert [repr(each) for each in decoded.value["spec"]["any"]] == ["1", "1000", "1.5", repr(float(2**70))]


def test_a_default_is_not_shared_between_objects():
    first, second = ({"spec": {"name": "ab"}} for _ in range(2))
    custom.default(first, ROOT)
    first["spec"]["deep"]["a"]["b"] = 99
    custom.default(second, ROOT)
    assert second["spec"]["deep"]["a"]["b"] == 1


def test_what_was_wrong_before_and_did_not_change_is_let_be():
    old = {"spec": {"name": "TOO LONG FOR IT", "replicas": 99, "items": [{"key": "a", "value": 1}]}}
    assert rules.validate(old, ROOT)
    assert rules.validate_update(copy.deepcopy(old), old, ROOT) == []
    new = copy.deepcopy(old)
    new["spec"]["replicas"] = 98
    assert [error.field for error in rules.validate_update(new, old, ROOT)] == ["spec.replicas"]
    new = copy.deepcopy(old)
    new["spec"]["items"].insert(0, {"key": "b", "value": 2})
    assert [error.field for error in rules.validate_update(new, old, ROOT)] == ["spec.items[0].value"]


def test_a_definition_may_limit_names():
    root = custom.shape(
        {
            "type": "object",
            "properties": {"metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 3}}}},
        }
    )
    assert [str(each) for each in rules.validate({"metadata": {"name": "long"}}, root)] == [
        "metadata.name: Too long: may not be more than 3 bytes"
    ]


def test_shapes_tell_how_lists_and_maps_are_merged():
    spec = ROOT.fields["spec"].shape
    assert (spec.fields["items"].shape.list_type, spec.fields["items"].shape.keys) == (ListType.MAP, ("key",))
    assert spec.fields["tags"].shape.list_type is ListType.SET
    assert spec.fields["free"].shape.open
    assert spec.fields["free"].shape.base is Base.STRUCT
    assert spec.fields["any"].shape.base is Base.ANY
    assert spec.fields["port"].shape.base is Base.INT_OR_STRING
    assert spec.fields["name"].required
    assert spec.fields["replicas"].default == 3
    assert custom.shape({"type": "object", "x-kubernetes-map-type": "atomic"}).atomic


def test_without_a_schema_only_metadata_is_known():
    root = custom.shape(None)
    assert decode({"kind": "X", "metadata": {"name": "a"}, "spec": 1}, root).strict == ['unknown field "spec"']


def test_a_pattern_ends_where_the_text_ends():
    root = custom.shape({"type": "object", "properties": {"a": {"type": "string", "pattern": "^x$"}}})
    assert rules.validate({"a": "x"}, root) == []
    assert rules.validate({"a": "x\n"}, root)


@pytest.mark.parametrize("name", ["podgroups", "workloads"])
def test_our_own_definitions_work(name):
    definition = yaml.safe_load((CRDS / f"{name}.yaml").read_text())
    root = custom.shape(definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"])
    decoded = decode({"kind": definition["spec"]["names"]["kind"], "metadata": {"name": "a"}, "spec": {}}, root)
    custom.default(decoded.value, root)
    missing = {"podgroups": "spec.schedulingPolicy", "workloads": "spec.podGroupTemplates"}[name]
    assert [str(error) for error in rules.validate(decoded.value, root)] == [f"{missing}: Required value"]


def test_our_pod_groups_need_at_least_one_pod():
    definition = yaml.safe_load((CRDS / "podgroups.yaml").read_text())
    root = custom.shape(definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"])
    group = {"metadata": {"name": "a"}, "spec": {"schedulingPolicy": {"gang": {"minCount": 0}}}}
    assert [error.field for error in rules.validate(group, root)] == ["spec.schedulingPolicy.gang.minCount"]
    group["spec"]["schedulingPolicy"]["gang"]["minCount"] = 1
    assert rules.validate(group, root) == []
