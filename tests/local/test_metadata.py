"""Metadata, names, selectors and conditions: the words are those of kube-apiserver 1.37.1."""

from __future__ import annotations

import pytest

from muster.local.checks import metadata, names
from tests.local.answers import promised, said

GOOD = {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "1", "creationTimestamp": "2026-01-01T00:00:00Z"}
SUBDOMAIN = names.subdomain_problems("_")[0]
LABEL = names.label_problems("_")[0]
KEY = names.qualified_problems("_")[0]


def new(namespaced=True, **changes):
    return promised(
        said(metadata.validate(GOOD | changes, namespaced=namespaced, name_problems=names.subdomain_problems))
    )


def changed(old=None, **changes):
    return promised(said(metadata.validate_update(GOOD | changes, GOOD | (old or {}), namespaced=True)))


def test_good_metadata_has_nothing_wrong():
    assert new() == []
    assert changed() == []


@pytest.mark.parametrize(
    ("changes", "errors"),
    [
        ({"name": ""}, ["metadata.name: Required value: name or generateName is required"]),
        ({"name": "a_b"}, [f'metadata.name: Invalid value: "a_b": {SUBDOMAIN}']),
        ({"generateName": "a.-"}, []),
        ({"generateName": "-"}, [f'metadata.generateName: Invalid value: "-": {SUBDOMAIN}']),
        ({"namespace": ""}, ["metadata.namespace: Required value"]),
        ({"namespace": "A"}, [f'metadata.namespace: Invalid value: "A": {LABEL}']),
        ({"generation": -1}, ["metadata.generation: Invalid value: -1: must be greater than or equal to 0"]),
        ({"annotations": {"a": "x" * 262_143}}, []),
        ({"annotations": {"a": "x" * 262_144}}, ["metadata.annotations: Too long: may not be more than 262144 bytes"]),
        ({"annotations": {"A/B": ""}}, []),
        ({"labels": {"A/B": ""}}, [f'metadata.labels: Invalid value: "A/B": prefix part {SUBDOMAIN}']),
        (
            {"managedFields": [{"operation": ""}, {"operation": "odd", "fieldsType": "V2"}]},
            [
                "metadata.managedFields[0].operation: Required value: must not be empty",
                'metadata.managedFields[1].operation: Unsupported value: "odd": supported values: "Apply", "Update"',
                'metadata.managedFields[1].fieldsType: Invalid value: "V2": must be `FieldsV1`',
            ],
        ),
        (
            {"managedFields": [{"operation": "Apply", "manager": "é\u200b", "subresource": "x" * 257}]},
            [
                'metadata.managedFields[0].manager: Invalid value: "é\\u200b": '
                "invalid character U+200B (at position 2)",
                "metadata.managedFields[0].subresource: Too long: may not be more than 256 bytes",
            ],
        ),
        (
            {"managedFields": [{"operation": "Apply", "manager": "x" * 129}]},
            ["metadata.managedFields[0].manager: Too long: may not be more than 128 bytes"],
        ),
    ],
)
def test_new_metadata(changes, errors):
    assert new(**changes) == promised(errors)


def test_a_kind_of_the_whole_cluster_has_no_namespace():
    assert new(namespaced=False) == ["metadata.namespace: Forbidden: not allowed on this type"]


def test_an_error_is_said_once():
    assert len(new(labels={"a": "x y", "b": "x y"})) == 1


@pytest.mark.parametrize(
    ("old", "changes", "errors"),
    [
        ({}, {"resourceVersion": ""}, ['metadata.resourceVersion: Invalid value: "": must be specified for an update']),
        ({"generation": 2}, {"generation": 1}, ["metadata.generation: Invalid value: 1: must not be decremented"]),
        ({}, {"name": "b"}, ['metadata.name: Invalid value: "b": field is immutable']),
        ({"name": "A B"}, {"name": "A B"}, []),
        ({"name": "a/b"}, {"name": "a/b"}, ["metadata.name: Invalid value: \"a/b\": may not contain '/'"]),
        ({}, {"namespace": "m"}, ['metadata.namespace: Invalid value: "m": field is immutable']),
        ({}, {"uid": "x"}, ['metadata.uid: Invalid value: "x": field is immutable']),
        (
            {},
            {"deletionTimestamp": "2020-01-01T00:00:00Z", "deletionGracePeriodSeconds": 7},
            [
                'metadata.deletionTimestamp: Invalid value: "2020-01-01T00:00:00Z": field is immutable',
                "metadata.deletionGracePeriodSeconds: Invalid value: 7: field is immutable",
            ],
        ),
        ({}, {"finalizers": ["a/b"]}, []),
        (
            {"deletionTimestamp": "t", "finalizers": ["a/b"]},
            {"deletionTimestamp": "t", "finalizers": ["a/b", "c/d", "b/c"]},
            [
                "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, "
                'found new finalizers []string{"b/c", "c/d"}'
            ],
        ),
        (
            {},
            {"finalizers": ["x"]},
            [
                'metadata.finalizers[0]: Invalid value: "x": '
                "name is neither a standard finalizer name nor is it fully qualified"
            ],
        ),
    ],
)
def test_changed_metadata(old, changes, errors):
    assert changed(old, **changes) == promised(errors)


def test_custom_kinds_take_any_finalizer():
    given = GOOD | {"finalizers": ["x"]}
    assert metadata.validate_update(given, given, namespaced=True, standard_finalizers=False) == []


def test_through_status_metadata_stays_as_it_was():
    given = {"name": "a", "labels": {"a": "b"}, "finalizers": ["x/y"]}
    metadata.keep_for_status(given, {"name": "a", "annotations": {"c": "d"}})
    assert given == {"name": "a", "annotations": {"c": "d"}}


@pytest.mark.parametrize(
    ("selector", "errors"),
    [
        (None, []),
        ({}, []),
        ({"matchLabels": {"a": "b"}}, []),
        ({"matchLabels": {"a b": "c"}}, [f's.matchLabels: Invalid value: "a b": {KEY}']),
        (
            {"matchExpressions": [{"key": "a", "operator": "In"}, {"key": "b", "operator": "Exists", "values": ["c"]}]},
            [
                "s.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
                "s.matchExpressions[1].values: Forbidden: "
                "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
            ],
        ),
        (
            {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]},
            ['s.matchExpressions[0].operator: Invalid value: "Gt": not a valid selector operator'],
        ),
    ],
)
def test_label_selectors(selector, errors):
    assert said(metadata.selector_errors(selector, "s")) == errors


def test_a_condition_is_not_too_long():
    condition = {"type": "X", "status": "True", "lastTransitionTime": "t", "reason": "R" * 1025, "message": "m" * 32769}
    assert said(metadata.condition_errors([condition], "c")) == [
        "c[0].reason: Too long: may not be more than 1024 bytes",
        "c[0].message: Too long: may not be more than 32768 bytes",
    ]


# --- names ---


@pytest.mark.parametrize(
    ("problems", "name", "expected"),
    [
        (names.label_problems, "a" * 64, ["must be no more than 63 characters"]),
        (names.label_problems, "a.b", ["must not contain dots"]),
        (names.label_problems, "é" * 32, ["must be no more than 63 characters", LABEL]),
        (names.subdomain_problems, "a" * 254, ["must be no more than 253 characters"]),
        (names.short_name_problems, "a" * 64, ["must be no more than 63 bytes"]),
        (names.long_name_problems, "a" * 254, ["must be no more than 253 bytes"]),
        (names.long_name_problems, "a..b", [SUBDOMAIN]),
        (names.path_segment_problems, "..", ["may not be '..'"]),
        (names.path_segment_problems, "a/b%c", ["may not contain '/'", "may not contain '%'"]),
        (names.qualified_problems, "a/b", []),
        (names.qualified_problems, "/b", ["prefix part must be non-empty"]),
        (names.qualified_problems, "a/", ["name part must be non-empty", KEY]),
        (names.qualified_problems, "a" * 64, ["name part must be no more than 63 bytes"]),
        (names.label_value_problems, "", []),
        (names.label_value_problems, "a" * 64, ["must be no more than 63 bytes"]),
        (names.config_key_problems, "..", ["must not be '..'"]),
        (names.config_key_problems, "..a", ["must not start with '..'"]),
        (names.port_name_problems, "http", []),
    ],
)
def test_what_is_wrong_with_names(problems, name, expected):
    assert problems(name) == expected


@pytest.mark.parametrize("name", ["-1--", "1", "a--b", "-a", "a-", "A", "a" * 16, ""])
def test_a_port_is_named_by_letters_digits_and_single_hyphens(name):
    assert names.port_name_problems(name)


@pytest.mark.parametrize("prefix", ["a-", "a.-", "ab--", "abc"])
def test_a_beginning_of_a_name_may_end_with_a_dash(prefix):
    assert names.subdomain_problems(prefix, True) == []


def test_one_dash_alone_begins_no_name():
    assert names.subdomain_problems("-", True) == [SUBDOMAIN]
