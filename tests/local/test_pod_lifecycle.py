"""How pods come to nodes and go: the words are those of kube-apiserver 1.37.1."""

from __future__ import annotations

from copy import deepcopy

import pytest

from muster.local.checks.names import subdomain_problems
from muster.local.kinds.pods import pods
from tests.local.answers import said

NOW = 1_800_000_000.0
THEN = "2027-01-15T08:00:00Z"


def pod(*, spec=None, status=None, **metadata):
    return {
        "metadata": {"name": "p", **metadata},
        "spec": {"containers": [{"name": "c"}], "terminationGracePeriodSeconds": 30, **(spec or {})},
        "status": {"phase": "Pending", **(status or {})},
    }


def binding(target=None, **metadata):
    return {
        "metadata": {"name": "p", **metadata},
        "target": {"kind": "Node", "name": "n1"} if target is None else target,
    }


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ({"kind": "Node", "name": "n1"}, []),
        ({"name": "n1"}, []),
        ({"kind": "Foo", "name": "n1"}, ['target.kind: Unsupported value: "Foo": supported values: "Node", "<empty>"']),
        (
            {"kind": "Foo", "name": "N_1"},
            ['target.kind: Unsupported value: "Foo": supported values: "Node", "<empty>"'],
        ),
        ({"kind": "Node"}, ["target.name: Required value"]),
        ({"name": "A_"}, [f'target.name: Invalid value: "A_": {subdomain_problems("A_")[0]}']),
    ],
)
def test_a_binding_names_a_node(target, words):
    assert said(pods.binding_errors(binding(target))) == words


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (pod(), ""),
        (pod(spec={"nodeName": "n2"}), 'pod p is already assigned to node "n2"'),
        (pod(spec={"schedulingGates": [{"name": "a"}]}), "pod p has non-empty .spec.schedulingGates"),
        (pod(deletionTimestamp=THEN), "pod p is being deleted, cannot be assigned to a host"),
        (
            pod(deletionTimestamp=THEN, spec={"nodeName": "n2"}),
            "pod p is being deleted, cannot be assigned to a host",
        ),
    ],
)
def test_a_pod_is_bound_once_and_only_when_it_may_be(found, words):
    assert pods.not_bindable(found, "p") == words


def test_a_bound_pod_has_its_node_and_a_condition_and_what_the_binding_brought():
    before = pod(
        labels={"a": "1", "b": "2"}, generation=1, status={"nominatedNodeName": "n9", "qosClass": "BestEffort"}
    )
    kept = deepcopy(before)
    bound = pods.bind(before, binding(labels={"b": "3"}, annotations={"k": "v"}), now=NOW)
    assert bound["spec"]["nodeName"] == "n1"
    assert bound["metadata"] == {
        "name": "p",
        "generation": 1,
        "labels": {"a": "1", "b": "3"},
        "annotations": {"k": "v"},
    }
    assert bound["status"] == {
        "phase": "Pending",
        "qosClass": "BestEffort",
        "conditions": [{"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": THEN}],
    }
    assert before == kept


def test_binding_takes_the_place_of_the_condition_that_said_no():
    ready = {"type": "Ready", "status": "False"}
    unschedulable = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no room"}
    bound = pods.bind(pod(status={"conditions": [unschedulable, ready]}), binding(), now=NOW)
    scheduled = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": THEN}
    assert bound["status"]["conditions"] == [scheduled, ready]


def test_an_eviction_is_told_in_a_condition():
    evicted = pods.marked_evicted(pod(spec={"nodeName": "n1"}), now=NOW)
    assert evicted["status"]["conditions"] == [
        {
            "type": "DisruptionTarget",
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": THEN,
            "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting",
        }
    ]


def test_an_eviction_that_is_repeated_keeps_its_time():
    once = pods.marked_evicted(pod(), now=NOW)
    assert pods.marked_evicted(once, now=NOW + 60) == once


@pytest.mark.parametrize(
    ("found", "free"),
    [
        (pod(), True),
        (pod(status={"phase": "Succeeded"}), True),
        (pod(status={"phase": "Failed"}), True),
        (pod(status={"phase": "Running"}), False),
        (pod(status={"phase": "Running"}, deletionTimestamp=THEN), True),
    ],
)
def test_budgets_are_asked_for_running_pods_only(found, free):
    assert pods.may_always_go(found) is free


ON_NODE = {"nodeName": "n1"}


@pytest.mark.parametrize(
    ("found", "asked", "grace"),
    [
        (pod(spec=ON_NODE), None, 30),
        (pod(spec=ON_NODE), 5, 5),
        (pod(spec=ON_NODE), 0, 0),
        (pod(spec=ON_NODE), -1, 1),
        (pod(spec={**ON_NODE, "terminationGracePeriodSeconds": 0}), None, 0),
        (pod(), None, 0),
        (pod(), 50, 0),
        (pod(spec=ON_NODE, status={"phase": "Succeeded"}), 50, 0),
        (pod(spec=ON_NODE, status={"phase": "Failed"}), None, 0),
        (pod(spec=ON_NODE, status={"phase": "Running"}), 50, 50),
    ],
)
def test_a_pod_has_time_to_end_where_it_runs(found, asked, grace):
    assert pods.STRATEGY.grace_seconds(found, asked) == grace


def test_the_log_tells_what_is_known_of_a_container():
    ended = {"terminated": {"exitCode": 3, "startedAt": "T1", "finishedAt": "T2"}}
    found = pod(spec=ON_NODE, status={"containerStatuses": [{"name": "c", "state": ended}]})
    assert pods.log_lines(found, "c") == ["T1 c started on n1", "T2 c ended with exit code 3"]
    assert pods.log_lines(pod(), "c") == []


def test_pods_are_selected_by_some_of_their_fields():
    found = pod(
        spec={"nodeName": "n1", "restartPolicy": "Never", "schedulerName": "s", "hostNetwork": True},
        status={"podIPs": [{"ip": "1.1.1.1"}], "nominatedNodeName": "n2"},
    )
    assert pods.STRATEGY.selectable(found) == {
        "spec.nodeName": "n1",
        "spec.restartPolicy": "Never",
        "spec.schedulerName": "s",
        "spec.serviceAccountName": "",
        "spec.hostNetwork": "true",
        "status.phase": "Pending",
        "status.podIP": "1.1.1.1",
        "status.nominatedNodeName": "n2",
    }
