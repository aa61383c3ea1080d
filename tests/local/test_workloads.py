"""Workloads: what kube-apiserver 1.37.1 said to the same objects."""

from __future__ import annotations

import pytest

from muster.local.kinds import workloads
from tests.local.answers import edited, rows
from tests.local.flow import Subject, check, created, updated

KIND = Subject(workloads.STRATEGY, "api.scheduling.v1beta1.Workload")
TEMPLATE = {"name": "t", "schedulingPolicy": {"gang": {"minCount": 2}}, "schedulingConstraints": None}
WORKLOAD = {"metadata": {"name": "w"}, "spec": {"podGroupTemplates": [TEMPLATE]}}
STORED = {
    "metadata": {"name": "w"},
    "spec": {
        "controllerRef": {"apiGroup": "batch", "kind": "Job", "name": "j"},
        "podGroupTemplates": [
            {
                "name": "t",
                "schedulingPolicy": {"gang": {"minCount": 2}},
                "schedulingConstraints": {"topology": [{"key": "rack"}]},
                "priorityClassName": "high",
            },
            {
                "name": "u",
                "schedulingPolicy": {"basic": {}},
                "schedulingConstraints": None,
                "priorityClassName": "high",
            },
        ],
    },
}
TREE = {
    "metadata": {"name": "tree"},
    "spec": {
        "podGroupTemplates": None,
        "compositePodGroupTemplates": [
            {
                "name": "root",
                "schedulingPolicy": {"gang": {"minGroupCount": 1}},
                "podGroupTemplates": [TEMPLATE],
                "compositePodGroupTemplates": [
                    {
                        "name": "child",
                        "schedulingPolicy": {"basic": {}},
                        "podGroupTemplates": [{**TEMPLATE, "name": "leaf"}],
                    }
                ],
            }
        ],
    },
}

BAD = r"""
metadata.name="W"
    metadata.name: Invalid value: "W": <subdomain>
spec={}
    spec: Invalid value: "": must specify one of: `podGroupTemplates`, `compositePodGroupTemplates`
spec.podGroupTemplates=[]
    spec: Invalid value: "": must specify one of: `podGroupTemplates`, `compositePodGroupTemplates`
spec.controllerRef={}
    spec.controllerRef.kind: Required value
    spec.controllerRef.name: Required value
spec.controllerRef={"kind":"Job"}
    spec.controllerRef.name: Required value
spec.controllerRef={"name":"j"}
    spec.controllerRef.kind: Required value
spec.controllerRef={"apiGroup":"BATCH","kind":"Job","name":"j"}
    spec.controllerRef.apiGroup: Invalid value: "BATCH": <subdomain>
spec.controllerRef={"kind":"a/b","name":"j"}
    spec.controllerRef.kind: Invalid value: "a/b": may not contain '/'
spec.controllerRef={"kind":"..","name":"a%b/c"}
    spec.controllerRef.kind: Invalid value: "..": may not be '..'
    spec.controllerRef.name: Invalid value: "a%b/c": may not contain '/'
    spec.controllerRef.name: Invalid value: "a%b/c": may not contain '%'
spec.podGroupTemplates.0.name=
    spec.podGroupTemplates[0].name: Required value
spec.podGroupTemplates.0.name="T"
    spec.podGroupTemplates[0].name: Invalid value: "T": <label>
spec.podGroupTemplates.0.name="a.b"
    spec.podGroupTemplates[0].name: Invalid value: "a.b": must not contain dots
spec.podGroupTemplates.0.name="a"*64
    spec.podGroupTemplates[0].name: Invalid value: "<a*64>": must be no more than 63 bytes
spec.podGroupTemplates.0.schedulingPolicy=
    spec.podGroupTemplates[0].schedulingPolicy: Invalid value: "": must specify one of: `basic`, `gang`
spec.podGroupTemplates.0.schedulingPolicy={}
    spec.podGroupTemplates[0].schedulingPolicy: Invalid value: "": must specify one of: `basic`, `gang`
spec.podGroupTemplates.0.schedulingPolicy.gang.minCount=0
    spec.podGroupTemplates[0].schedulingPolicy.gang.minCount: Required value
spec.podGroupTemplates.0.schedulingPolicy.gang.minCount=-1
    spec.podGroupTemplates[0].schedulingPolicy.gang.minCount: Invalid value: -1: must be greater than or equal to 1
spec.podGroupTemplates.0.schedulingPolicy.basic={}
    spec.podGroupTemplates[0].schedulingPolicy: Invalid value: "{basic, gang}": must specify exactly one of: `basic`, `gang`
spec.podGroupTemplates.0.schedulingConstraints={"topology":[{"key":"a b"}]}
    spec.podGroupTemplates[0].schedulingConstraints.topology[0].key: Invalid value: "a b": <key>
spec.podGroupTemplates.0.schedulingConstraints={"topology":[{"key":"a"},{"key":"b"}]}
    spec.podGroupTemplates[0].schedulingConstraints.topology: Too many: 2: must have at most 1 item
spec.podGroupTemplates.0.disruptionMode={}
    spec.podGroupTemplates[0].disruptionMode: Invalid value: "": must specify one of: `single`, `all`
spec.podGroupTemplates.0.disruptionMode={"single":{},"all":{}}
    spec.podGroupTemplates[0].disruptionMode: Invalid value: "{single, all}": must specify exactly one of: `single`, `all`
spec.podGroupTemplates.0.priorityClassName="A B"
    spec.podGroupTemplates[0].priorityClassName: Invalid value: "A B": <subdomain>
spec.podGroupTemplates.0.priority=1000000001
    spec.podGroupTemplates[0].priority: Invalid value: 1000000001: must be less than or equal to 1000000000
spec.podGroupTemplates.0.preemptionPolicy="Sometimes"
    spec.podGroupTemplates[0].preemptionPolicy: Unsupported value: "Sometimes": supported values: "Never", "PreemptLowerPriority"
spec.podGroupTemplates.0.preemptionPolicy=""
    spec.podGroupTemplates[0].preemptionPolicy: Unsupported value: "": supported values: "Never", "PreemptLowerPriority"
spec.podGroupTemplates.1={"name":"t","schedulingPolicy":{"basic":{}},"schedulingConstraints":null}
    spec.podGroupTemplates[1]: Duplicate value: {"name":"t","schedulingPolicy":{"basic":{}},"schedulingConstraints":null}
spec.podGroupTemplates.1={"name":"t","schedulingPolicy":{"gang":{"minCount":1}},"schedulingConstraints":{"topology":[{"key":"k"}]},"priorityClassName":"p","priority":4,"preemptionPolicy":"Never","disruptionMode":{"all":{}}}
    spec: Invalid value: null: detected multiple priority configurations
    spec.podGroupTemplates[1]: Duplicate value: {"name":"t","schedulingPolicy":{"gang":{"minCount":1}},"schedulingConstraints":{"topology":[{"key":"k"}]},"disruptionMode":{"all":{}},"priorityClassName":"p","priority":4,"preemptionPolicy":"Never"}
spec.podGroupTemplates.1={"name":"u","schedulingPolicy":{"basic":{}},"schedulingConstraints":null,"priority":5}
    spec: Invalid value: null: detected multiple priority configurations
spec.podGroupTemplates.1={"name":"u","schedulingPolicy":{"basic":{}},"schedulingConstraints":null,"priorityClassName":"p"}
    spec: Invalid value: null: detected multiple priority configurations
spec.podGroupTemplates=[{"name":"a"},{"name":"b"},{"name":"c"},{"name":"d"},{"name":"e"},{"name":"f"},{"name":"g"},{"name":"h"},{"name":"i"}]
    spec.podGroupTemplates: Too many: 9: must have at most 8 items
spec.compositePodGroupTemplates=[{"name":"c","schedulingPolicy":{"basic":{}},"podGroupTemplates":[{"name":"u","schedulingPolicy":{"basic":{}},"schedulingConstraints":null}]}]
    spec: Invalid value: "{podGroupTemplates, compositePodGroupTemplates}": must specify exactly one of: `podGroupTemplates`, `compositePodGroupTemplates`
spec.compositePodGroupTemplates=[{"name":"t","schedulingPolicy":{"basic":{}}}]
    spec.compositePodGroupTemplates[0].name: Duplicate value: "t"
    spec.compositePodGroupTemplates[0]: Invalid value: "t": must have at least one child PodGroupTemplate or CompositePodGroupTemplate
    spec: Invalid value: "{podGroupTemplates, compositePodGroupTemplates}": must specify exactly one of: `podGroupTemplates`, `compositePodGroupTemplates`
"""  # noqa: E501

BAD_TREES = r"""
spec.compositePodGroupTemplates=[]
    spec: Invalid value: "": must specify one of: `podGroupTemplates`, `compositePodGroupTemplates`
spec.compositePodGroupTemplates.0.name=
    spec.compositePodGroupTemplates[0].name: Required value
spec.compositePodGroupTemplates.0.name="ROOT"
    spec.compositePodGroupTemplates[0].name: Invalid value: "ROOT": <label>
spec.compositePodGroupTemplates.0.schedulingPolicy=
    spec.compositePodGroupTemplates[0].schedulingPolicy: Invalid value: "": must specify one of: `basic`, `gang`
spec.compositePodGroupTemplates.0.schedulingPolicy.gang={}
    spec.compositePodGroupTemplates[0].schedulingPolicy.gang.minGroupCount: Required value
spec.compositePodGroupTemplates.0.schedulingPolicy.gang.minGroupCount=-2
    spec.compositePodGroupTemplates[0].schedulingPolicy.gang.minGroupCount: Invalid value: -2: must be greater than or equal to 1
spec.compositePodGroupTemplates.0.schedulingPolicy.basic={}
    spec.compositePodGroupTemplates[0].schedulingPolicy: Invalid value: "{basic, gang}": must specify exactly one of: `basic`, `gang`
spec.compositePodGroupTemplates.0.schedulingConstraints={"topology":[{"key":"rack"},{"key":"zone"}]}
    spec.compositePodGroupTemplates[0].schedulingConstraints.topology: Too many: 2: must have at most 1 item
spec.compositePodGroupTemplates.0.disruptionMode={}
    spec.compositePodGroupTemplates[0].disruptionMode: Invalid value: "": must specify one of: `single`, `all`
spec.compositePodGroupTemplates.0.priorityClassName="A"
    spec: Invalid value: null: all priority and priorityClassName values must be identical, detected multiple values
    spec.compositePodGroupTemplates[0].priorityClassName: Invalid value: "A": <subdomain>
spec.compositePodGroupTemplates.0.priority=1000000001
    spec: Invalid value: null: all priority and priorityClassName values must be identical, detected multiple values
    spec.compositePodGroupTemplates[0].priority: Invalid value: 1000000001: must be less than or equal to 1000000000
spec.compositePodGroupTemplates.0.preemptionPolicy="no"
    spec.compositePodGroupTemplates[0].preemptionPolicy: Unsupported value: "no": supported values: "Never", "PreemptLowerPriority"
spec.compositePodGroupTemplates.0.podGroupTemplates=; spec.compositePodGroupTemplates.0.compositePodGroupTemplates=
    spec.compositePodGroupTemplates[0]: Invalid value: "root": must have at least one child PodGroupTemplate or CompositePodGroupTemplate
spec.compositePodGroupTemplates.0.compositePodGroupTemplates.0.podGroupTemplates=
    spec.compositePodGroupTemplates[0].compositePodGroupTemplates[0]: Invalid value: "child": must have at least one child PodGroupTemplate or CompositePodGroupTemplate
spec.compositePodGroupTemplates.0.compositePodGroupTemplates.0.name="root"
    spec.compositePodGroupTemplates[0].compositePodGroupTemplates[0].name: Duplicate value: "root"
spec.compositePodGroupTemplates.0.compositePodGroupTemplates.0.name="t"
    spec.compositePodGroupTemplates[0].compositePodGroupTemplates[0].name: Duplicate value: "t"
spec.compositePodGroupTemplates.0.compositePodGroupTemplates.0.podGroupTemplates.0.name="t"
    spec.compositePodGroupTemplates[0].compositePodGroupTemplates[0].podGroupTemplates[0].name: Duplicate value: "t"
spec.compositePodGroupTemplates.0.compositePodGroupTemplates.0.podGroupTemplates.0.name="root"
    spec.compositePodGroupTemplates[0].compositePodGroupTemplates[0].podGroupTemplates[0].name: Duplicate value: "root"
spec.compositePodGroupTemplates.0.compositePodGroupTemplates.0.podGroupTemplates.0.priority=7
    spec: Invalid value: null: all priority and priorityClassName values must be identical, detected multiple values
spec.compositePodGroupTemplates.1={"name":"root","schedulingPolicy":{"basic":{}},"podGroupTemplates":[{"name":"z","schedulingPolicy":{"basic":{}},"schedulingConstraints":null}]}
    spec.compositePodGroupTemplates[1]: Duplicate value: {"name":"root","schedulingPolicy":{"basic":{}},"podGroupTemplates":[{"name":"z","schedulingPolicy":{"basic":{}},"schedulingConstraints":null}]}
spec.compositePodGroupTemplates.0.podGroupTemplates.1={"name":"t","schedulingPolicy":{"basic":{}},"schedulingConstraints":null}
    spec.compositePodGroupTemplates[0].podGroupTemplates[1]: Duplicate value: {"name":"t","schedulingPolicy":{"basic":{}},"schedulingConstraints":null}
spec.compositePodGroupTemplates.0.compositePodGroupTemplates.0.compositePodGroupTemplates=[{"name":"x","schedulingPolicy":{"basic":{}},"disruptionMode":{"all":{}},"compositePodGroupTemplates":[{"name":"y","schedulingPolicy":{"gang":{"minGroupCount":3}},"schedulingConstraints":{"topology":[{"key":"rack"}]},"preemptionPolicy":"Never","podGroupTemplates":[{"name":"z","schedulingPolicy":{"gang":{"minCount":4}},"schedulingConstraints":null}]}]}]
    spec.compositePodGroupTemplates[0]: Invalid value: "root": maximum template hierarchy depth is 4
"""  # noqa: E501

GOOD = r"""
-
spec.controllerRef={"apiGroup":"batch","kind":"Job","name":"j"}
spec.podGroupTemplates.0.preemptionPolicy="Never"; spec.podGroupTemplates.0.disruptionMode={"all":{}}
spec.podGroupTemplates.0.resourceClaims=[{"name":"A"}]
    spec.podGroupTemplates.0.resourceClaims=
spec.podGroupTemplates.0.priority=1000000000; spec.podGroupTemplates.0.priorityClassName="no-such"
"""

GOOD_TREES = r"""
-
spec.compositePodGroupTemplates.0.podGroupTemplates.0.resourceClaims=[{"name":"A"}]
    spec.compositePodGroupTemplates.0.podGroupTemplates.0.resourceClaims=
spec.compositePodGroupTemplates.0.schedulingConstraints={"topology":[{"key":"rack"}]}
"""

CHANGED = r"""
-
spec.podGroupTemplates.0.schedulingPolicy.gang.minCount=9
spec.podGroupTemplates.0.schedulingPolicy.gang.minCount=0
    spec.podGroupTemplates[0].schedulingPolicy.gang.minCount: Required value
spec.podGroupTemplates.0.schedulingPolicy={"basic":{}}
    spec.podGroupTemplates[0].schedulingPolicy.basic: Invalid value: null: field is immutable
    spec.podGroupTemplates[0].schedulingPolicy.gang: Invalid value: null: field cannot be cleared once set
spec.podGroupTemplates.1.schedulingPolicy={"gang":{"minCount":1}}
    spec.podGroupTemplates[1].schedulingPolicy.basic: Invalid value: null: field is immutable
    spec.podGroupTemplates[1].schedulingPolicy.gang: Invalid value: null: field cannot be set once created
spec.podGroupTemplates.1=
    spec.podGroupTemplates: Forbidden: item may not be removed
spec.podGroupTemplates.0.name="other"
    spec.podGroupTemplates[0]: Forbidden: item may not be added
    spec.podGroupTemplates: Forbidden: item may not be removed
spec.podGroupTemplates.2={"name":"v","schedulingPolicy":{"basic":{}},"schedulingConstraints":null,"priorityClassName":"high"}
    spec.podGroupTemplates[2]: Forbidden: item may not be added
spec.podGroupTemplates=
    spec: Invalid value: "": must specify one of: `podGroupTemplates`, `compositePodGroupTemplates`
    spec.podGroupTemplates: Forbidden: item may not be removed
    spec.podGroupTemplates: Forbidden: item may not be removed
spec.podGroupTemplates=; spec.compositePodGroupTemplates=[{"name":"c","schedulingPolicy":{"basic":{}},"podGroupTemplates":[{"name":"x","schedulingPolicy":{"basic":{}},"schedulingConstraints":null}]}]
    spec.podGroupTemplates: Forbidden: item may not be removed
    spec.podGroupTemplates: Forbidden: item may not be removed
    spec.compositePodGroupTemplates[0]: Forbidden: item may not be added
spec.podGroupTemplates.0.priorityClassName=; spec.podGroupTemplates.1.priorityClassName=
    spec.podGroupTemplates[0].priorityClassName: Invalid value: null: field is immutable
    spec.podGroupTemplates[1].priorityClassName: Invalid value: null: field is immutable
spec.podGroupTemplates.0.priorityClassName="low"
    spec: Invalid value: null: detected multiple priority configurations
    spec.podGroupTemplates[0].priorityClassName: Invalid value: null: field is immutable
spec.podGroupTemplates.0.priority=3; spec.podGroupTemplates.1.priority=3
    spec.podGroupTemplates[0].priority: Invalid value: null: field is immutable
    spec.podGroupTemplates[1].priority: Invalid value: null: field is immutable
spec.podGroupTemplates.0.schedulingConstraints=null
    spec.podGroupTemplates[0].schedulingConstraints: Invalid value: null: field is immutable
spec.podGroupTemplates.1.schedulingConstraints={"topology":[{"key":"rack"}]}
    spec.podGroupTemplates[1].schedulingConstraints: Invalid value: null: field is immutable
spec.podGroupTemplates.0.disruptionMode={"all":{}}
    spec.podGroupTemplates[0].disruptionMode: Invalid value: null: field is immutable
spec.podGroupTemplates.0.preemptionPolicy="Never"
    spec.podGroupTemplates[0].preemptionPolicy: Invalid value: null: field is immutable
spec.controllerRef=
    spec.controllerRef: Invalid value: null: field is immutable
spec.controllerRef.name="k"
    spec.controllerRef: Invalid value: null: field is immutable
metadata.labels={"a b":""}; spec.controllerRef.name="k"
    metadata.labels: Invalid value: "a b": <key>
    spec.controllerRef: Invalid value: null: field is immutable
"""  # noqa: E501

CHANGED_TREES = r"""
spec.compositePodGroupTemplates.0.schedulingPolicy.gang.minGroupCount=2
spec.compositePodGroupTemplates.0.schedulingPolicy={"basic":{}}
    spec.compositePodGroupTemplates[0].schedulingPolicy.basic: Invalid value: null: field is immutable
    spec.compositePodGroupTemplates[0].schedulingPolicy.gang: Invalid value: null: field cannot be cleared once set
spec.compositePodGroupTemplates.0.compositePodGroupTemplates.0.podGroupTemplates.0.schedulingPolicy.gang.minCount=5
spec.compositePodGroupTemplates.0.compositePodGroupTemplates.0.podGroupTemplates.0.name="x"
    spec.compositePodGroupTemplates[0].compositePodGroupTemplates[0].podGroupTemplates[0]: Forbidden: item may not be added
    spec.compositePodGroupTemplates[0].compositePodGroupTemplates[0].podGroupTemplates: Forbidden: item may not be removed
spec.compositePodGroupTemplates.0.compositePodGroupTemplates=
    spec.compositePodGroupTemplates[0].compositePodGroupTemplates: Forbidden: item may not be removed
spec.compositePodGroupTemplates.0.compositePodGroupTemplates.0.podGroupTemplates=
    spec.compositePodGroupTemplates[0].compositePodGroupTemplates[0]: Invalid value: "child": must have at least one child PodGroupTemplate or CompositePodGroupTemplate
    spec.compositePodGroupTemplates[0].compositePodGroupTemplates[0].podGroupTemplates: Forbidden: item may not be removed
"""  # noqa: E501


@pytest.mark.parametrize(("changes", "answer"), rows(BAD) + rows(GOOD))
def test_a_new_workload_is_answered_as_kubernetes_does(changes, answer):
    given = edited(WORKLOAD, changes)
    check(created(KIND, given), given, answer, to_the_letter=True)


@pytest.mark.parametrize(("changes", "answer"), rows(BAD_TREES) + rows(GOOD_TREES))
def test_a_new_tree_of_templates_is_answered_as_kubernetes_does(changes, answer):
    given = edited(TREE, changes)
    check(created(KIND, given), given, answer, to_the_letter=True)


@pytest.mark.parametrize(("changes", "answer"), rows(CHANGED))
def test_a_changed_workload_is_answered_as_kubernetes_does(changes, answer):
    given = edited(STORED, changes)
    check(updated(KIND, given, STORED), given, answer, to_the_letter=True)


@pytest.mark.parametrize(("changes", "answer"), rows(CHANGED_TREES))
def test_a_changed_tree_of_templates_is_answered_as_kubernetes_does(changes, answer):
    given = edited(TREE, changes)
    check(updated(KIND, given, TREE), given, answer, to_the_letter=True)
