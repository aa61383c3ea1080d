"""PriorityClasses, and the priorities of pods and groups: what kube-apiserver 1.37.1 said to the same objects."""

from __future__ import annotations

import pytest

from muster.local.kinds import priority
from muster.local.kinds.priority import Priority
from tests.local.answers import edited, rows
from tests.local.flow import Subject, check, created, updated

KIND = Subject(priority.STRATEGY, "api.scheduling.v1.PriorityClass", namespaced=False)
CLASS = {"metadata": {"name": "c"}, "value": 7}
STORED = {
    "metadata": {"name": "c", "generation": 1},
    "value": 7,
    "description": "d",
    "preemptionPolicy": "PreemptLowerPriority",
}

NEW = r"""
-
    metadata.generation=1
    preemptionPolicy="PreemptLowerPriority"
value=0
    ...
value=-5
    ...
value=1000000000
    ...
value=1000000001
    value: Forbidden
value=2000000000
    value: Forbidden
globalDefault=true; description="x"
    ...
preemptionPolicy="Never"
    metadata.generation=1
preemptionPolicy="Sometimes"
    preemptionPolicy: Unsupported value
preemptionPolicy=""
    preemptionPolicy: Required value
metadata.name="C"
    metadata.name: Invalid value: "C": <subdomain>
metadata.name="a b"; value=1000000001; preemptionPolicy="x"
    metadata.name: Invalid value: "a b": <subdomain>
    value: Forbidden
    preemptionPolicy: Unsupported value
metadata.name="system-mine"
    metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: system-mine is not a known system priority class
metadata.name="system-mine"; value=2147483647
    metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: system-mine is not a known system priority class
metadata.name="system-node-critical"
    metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: value of system-node-critical PriorityClass must be 2000001000
metadata.name="system-cluster-critical"; value=2000001000
    metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: value of system-cluster-critical PriorityClass must be 2000000000
metadata.name="system-cluster-critical"; value=2000000000; globalDefault=true
    metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: globalDefault of system-cluster-critical PriorityClass must be false
metadata.labels={"a":"b c"}
    metadata.labels: Invalid value: "b c": <value>
metadata.generation=4
    ...
metadata.finalizers=["a"]
    metadata.finalizers[0]: Invalid value
"""  # noqa: E501

CHANGED = r"""
-
value=8
    value: Forbidden
preemptionPolicy="Never"
    preemptionPolicy: Invalid value: "Never": field is immutable
preemptionPolicy="x"
    preemptionPolicy: Invalid value: "x": field is immutable
preemptionPolicy=
    preemptionPolicy="PreemptLowerPriority"
description="e"; globalDefault=true
value=8; preemptionPolicy="Never"; metadata.labels={"a b":"c"}
    metadata.labels: Invalid value: "a b": <key>
    value: Forbidden
    preemptionPolicy: Invalid value: "Never": field is immutable
value=1000000001
    value: Forbidden
metadata.annotations={"/a":"b"}
    metadata.annotations: Invalid value: "/a": prefix part must be non-empty
"""


@pytest.mark.parametrize(("changes", "answer"), rows(NEW))
def test_a_new_class_is_answered_as_kubernetes_does(changes, answer):
    given = edited(CLASS, changes)
    check(created(KIND, given), given, answer)


@pytest.mark.parametrize(("changes", "answer"), rows(CHANGED))
def test_a_changed_class_is_answered_as_kubernetes_does(changes, answer):
    given = edited(STORED, changes)
    check(updated(KIND, given, STORED), given, answer)


def classes(*given):
    return {one["metadata"]["name"]: one for one in (*priority.SYSTEM, *given)}


HIGH = {"metadata": {"name": "high"}, "value": 9, "preemptionPolicy": "Never"}
USUAL = {"metadata": {"name": "usual"}, "value": 3, "preemptionPolicy": "PreemptLowerPriority", "globalDefault": True}


@pytest.mark.parametrize(
    ("spec", "known", "answer"),
    [
        ({}, (), Priority("", 0, "PreemptLowerPriority")),
        ({"priority": 0}, (), Priority("", 0, "PreemptLowerPriority")),
        ({}, (USUAL,), Priority("usual", 3, "PreemptLowerPriority")),
        ({"priorityClassName": "high"}, (HIGH, USUAL), Priority("high", 9, "Never")),
        ({"priorityClassName": "high", "priority": 9}, (HIGH,), Priority("high", 9, "Never")),
        (
            {"priorityClassName": "system-node-critical"},
            (),
            Priority("system-node-critical", 2000001000, "PreemptLowerPriority"),
        ),
        (
            {"priorityClassName": "system-cluster-critical"},
            (),
            Priority("system-cluster-critical", 2000000000, "PreemptLowerPriority"),
        ),
        ({"priorityClassName": "high"}, (), "no PriorityClass with name high was found"),
        (
            {"priority": 5},
            (),
            "the integer value of priority (5) must not be provided in pod spec; "
            "priority admission controller computed 0 from the given PriorityClass name",
        ),
        (
            {"priorityClassName": "high", "preemptionPolicy": "PreemptLowerPriority"},
            (HIGH,),
            "the string value of PreemptionPolicy (PreemptLowerPriority) must not be provided in pod spec; "
            "priority admission controller computed Never from the given PriorityClass name",
        ),
    ],
)
def test_a_pod_has_the_priority_of_its_class(spec, known, answer):
    assert priority.resolve_pod(spec, classes(*known)) == answer


@pytest.mark.parametrize(
    ("spec", "known", "answer"),
    [
        ({}, (), Priority("", 0, "PreemptLowerPriority")),
        ({}, (USUAL,), Priority("usual", 3, "PreemptLowerPriority")),
        ({"priorityClassName": "high"}, (HIGH,), Priority("high", 9, "Never")),
        ({"priorityClassName": "a b"}, (), "no PriorityClass with name a b was found"),
        (
            {"priority": 5},
            (),
            "priority set in the pod group (5) must match the priority computed (0) "
            "based on the priority class set in the spec",
        ),
        (
            {"preemptionPolicy": "Sometimes"},
            (),
            "the string value of PreemptionPolicy (Sometimes) must not be provided in pod group spec; priority "
            "admission controller computed PreemptLowerPriority from the given PriorityClass name",
        ),
        (
            {"preemptionPolicy": ""},
            (),
            "the string value of PreemptionPolicy () must not be provided in pod group spec; priority "
            "admission controller computed PreemptLowerPriority from the given PriorityClass name",
        ),
    ],
)
def test_a_group_has_the_priority_of_its_class(spec, known, answer):
    assert priority.resolve_group(spec, classes(*known)) == answer


def test_of_two_default_classes_the_lower_counts():
    lower = {**USUAL, "metadata": {"name": "lower"}, "value": 1}
    assert priority.resolve("", classes(USUAL, lower)) == Priority("lower", 1, "PreemptLowerPriority")


def test_a_second_default_class_is_refused():
    other = {**USUAL, "metadata": {"name": "other"}}
    words = "PriorityClass usual is already marked as default. Only one default can exist"
    assert priority.second_default(other, classes(USUAL), updating=False) == words
    assert priority.second_default(other, classes(USUAL), updating=True) == words


def test_a_default_class_may_stay_the_default_and_others_need_not_ask():
    assert priority.second_default(USUAL, classes(USUAL), updating=True) == ""
    assert priority.second_default(HIGH, classes(USUAL), updating=False) == ""
    assert priority.second_default(USUAL, classes(), updating=False) == ""
