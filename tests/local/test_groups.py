"""PodGroups: what kube-apiserver 1.37.1 said to the same objects."""

from __future__ import annotations

import pytest

from muster.local.kinds import groups
from tests.local.answers import edited, rows
from tests.local.flow import Subject, check, created, status_updated, updated

PODGROUP = Subject(groups.STRATEGY, "api.scheduling.v1beta1.PodGroup")
GROUP = {
    "metadata": {"name": "g"},
    "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}},
}
STORED = {
    "metadata": {"name": "g"},
    "spec": {
        "schedulingPolicy": {"gang": {"minCount": 2}},
        "workloadRef": {"workloadName": "w", "templateName": "t"},
        "schedulingConstraints": {"topology": [{"key": "rack"}]},
        "disruptionMode": {"all": {}},
        "priority": 0,
        "preemptionPolicy": "PreemptLowerPriority",
    },
    "status": {},
}
BASIC = {
    "metadata": {"name": "b"},
    "spec": {
        "schedulingPolicy": {"basic": {}},
        "disruptionMode": {"single": {}},
        "priority": 0,
        "preemptionPolicy": "PreemptLowerPriority",
    },
    "status": {},
}

BAD = r"""
metadata.name="G"
    metadata.name: Invalid value: "G": <subdomain>
metadata.name="a"*254
    metadata.name: Invalid value: "<a*254>": must be no more than 253 characters
metadata.name="g_1"; spec.schedulingPolicy.gang.minCount=-1
    metadata.name: Invalid value: "g_1": <subdomain>
    spec.schedulingPolicy.gang.minCount: Invalid value: -1: must be greater than or equal to 1
spec=
    spec.schedulingPolicy: Invalid value: "": must specify one of: `basic`, `gang`
spec.schedulingPolicy=
    spec.schedulingPolicy: Invalid value: "": must specify one of: `basic`, `gang`
spec.schedulingPolicy={}
    spec.schedulingPolicy: Invalid value: "": must specify one of: `basic`, `gang`
spec.schedulingPolicy.gang={}
    spec.schedulingPolicy.gang.minCount: Required value
spec.schedulingPolicy.gang.minCount=0
    spec.schedulingPolicy.gang.minCount: Required value
spec.schedulingPolicy.gang.minCount=-3
    spec.schedulingPolicy.gang.minCount: Invalid value: -3: must be greater than or equal to 1
spec.schedulingPolicy.basic={}
    spec.schedulingPolicy: Invalid value: "{basic, gang}": must specify exactly one of: `basic`, `gang`
spec.schedulingPolicy.basic={}; spec.schedulingPolicy.gang.minCount=0
    spec.schedulingPolicy: Invalid value: "{basic, gang}": must specify exactly one of: `basic`, `gang`
    spec.schedulingPolicy.gang.minCount: Required value
spec.parentCompositePodGroupName="p"
    spec.workloadRef: Required value: must be set when parentCompositePodGroupName is set
spec.parentCompositePodGroupName="P"
    spec.workloadRef: Required value: must be set when parentCompositePodGroupName is set
    spec.parentCompositePodGroupName: Invalid value: "P": <subdomain>
spec.parentCompositePodGroupName=""
    spec.workloadRef: Required value: must be set when parentCompositePodGroupName is set
    spec.parentCompositePodGroupName: Invalid value: "": <subdomain>
spec.parentCompositePodGroupName="p"; spec.workloadRef={}
    spec.workloadRef.workloadName: Required value
    spec.workloadRef.templateName: Required value
spec.workloadRef={}
    spec.workloadRef.workloadName: Required value
    spec.workloadRef.templateName: Required value
spec.workloadRef={"workloadName":"w"}
    spec.workloadRef.templateName: Required value
spec.workloadRef={"templateName":"t"}
    spec.workloadRef.workloadName: Required value
spec.workloadRef={"workloadName":"W","templateName":"t"}
    spec.workloadRef.workloadName: Invalid value: "W": <subdomain>
spec.workloadRef={"workloadName":"w","templateName":"t.t"}
    spec.workloadRef.templateName: Invalid value: "t.t": must not contain dots
spec.workloadRef={"workloadName":"w.w","templateName":"T"}
    spec.workloadRef.templateName: Invalid value: "T": <label>
spec.workloadRef.workloadName="a"*254; spec.workloadRef.templateName="a"*64
    spec.workloadRef.workloadName: Invalid value: "<a*254>": must be no more than 253 bytes
    spec.workloadRef.templateName: Invalid value: "<a*64>": must be no more than 63 bytes
spec.schedulingConstraints={"topology":[{}]}
    spec.schedulingConstraints.topology[0].key: Required value
spec.schedulingConstraints={"topology":[{"key":""}]}
    spec.schedulingConstraints.topology[0].key: Required value
spec.schedulingConstraints={"topology":[{"key":"a b"}]}
    spec.schedulingConstraints.topology[0].key: Invalid value: "a b": <key>
spec.schedulingConstraints={"topology":[{"key":"a/b/c"}]}
    spec.schedulingConstraints.topology[0].key: Invalid value: "a/b/c": <label-key>
spec.schedulingConstraints={"topology":[{"key":"/b"}]}
    spec.schedulingConstraints.topology[0].key: Invalid value: "/b": prefix part must be non-empty
spec.schedulingConstraints={"topology":[{"key":"rack"},{"key":"zone"}]}
    spec.schedulingConstraints.topology: Too many: 2: must have at most 1 item
spec.schedulingConstraints={"topology":[{"key":"rack"},{"key":""}]}
    spec.schedulingConstraints.topology: Too many: 2: must have at most 1 item
spec.disruptionMode={}
    spec.disruptionMode: Invalid value: "": must specify one of: `single`, `all`
spec.disruptionMode={"single":{},"all":{}}
    spec.disruptionMode: Invalid value: "{single, all}": must specify exactly one of: `single`, `all`
spec.schedulingPolicy={}; spec.disruptionMode={}; spec.workloadRef={}
    spec.workloadRef.workloadName: Required value
    spec.workloadRef.templateName: Required value
    spec.schedulingPolicy: Invalid value: "": must specify one of: `basic`, `gang`
    spec.disruptionMode: Invalid value: "": must specify one of: `single`, `all`
"""

GOOD = r"""
-
    spec.disruptionMode={"single": {}}
    spec.preemptionPolicy="PreemptLowerPriority"
    status={}
spec.schedulingPolicy={"basic":{}}
    ...
spec.schedulingPolicy.gang.minCount=2147483647
    ...
spec.disruptionMode={"all":{}}; spec.preemptionPolicy="PreemptLowerPriority"
    status={}
spec.schedulingConstraints={}
    ...
spec.schedulingConstraints={"topology":[{"key":"example.com/rack"}]}
    ...
spec.resourceClaims=[{"name":"a","resourceClaimName":"b"}]
    ...
    spec.resourceClaims=
spec.resourceClaims=[{"name":"A"},{"name":"A"}]
    ...
    spec.resourceClaims=
spec.workloadRef={"workloadName":"w.w","templateName":"t"}; spec.parentCompositePodGroupName="p.p"
    ...
status={"conditions":[{"type":"X","status":"True","reason":"R","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}
    spec.disruptionMode={"single": {}}
    spec.preemptionPolicy="PreemptLowerPriority"
    status.conditions=
"""

CHANGED = r"""
-
spec.schedulingPolicy.gang.minCount=5
spec.schedulingPolicy.gang.minCount=1
spec.schedulingPolicy.gang.minCount=0
    spec.schedulingPolicy.gang.minCount: Required value
spec.schedulingPolicy.gang.minCount=-1
    spec.schedulingPolicy.gang.minCount: Invalid value: -1: must be greater than or equal to 1
spec.schedulingPolicy={"basic":{}}
    spec.schedulingPolicy.basic: Invalid value: null: field is immutable
    spec.schedulingPolicy.gang: Invalid value: null: field cannot be cleared once set
spec.schedulingPolicy.basic={}
    spec.schedulingPolicy: Invalid value: "{basic, gang}": must specify exactly one of: `basic`, `gang`
    spec.schedulingPolicy.basic: Invalid value: null: field is immutable
spec.schedulingPolicy={}
    spec.schedulingPolicy: Invalid value: "": must specify one of: `basic`, `gang`
    spec.schedulingPolicy.gang: Invalid value: null: field cannot be cleared once set
spec.workloadRef=
    spec.workloadRef: Invalid value: null: field is immutable
spec.workloadRef.workloadName="v"
    spec.workloadRef: Invalid value: null: field is immutable
spec.workloadRef.workloadName="V"
    spec.workloadRef: Invalid value: null: field is immutable
spec.parentCompositePodGroupName="p"
    spec.parentCompositePodGroupName: Invalid value: null: field is immutable
spec.schedulingConstraints=
    spec.schedulingConstraints: Invalid value: null: field is immutable
spec.schedulingConstraints={}
    spec.schedulingConstraints: Invalid value: null: field is immutable
spec.schedulingConstraints.topology.0.key="zone"
    spec.schedulingConstraints: Invalid value: null: field is immutable
spec.schedulingConstraints.topology.1={"key":"zone"}
    spec.schedulingConstraints: Invalid value: null: field is immutable
spec.disruptionMode={"single":{}}
    spec.disruptionMode: Invalid value: null: field is immutable
spec.disruptionMode={"single":{},"all":{}}
    spec.disruptionMode: Invalid value: null: field is immutable
spec.disruptionMode=
    spec.disruptionMode: Invalid value: null: field is immutable
spec.priorityClassName="high"
    spec.priorityClassName: Invalid value: null: field is immutable
spec.priorityClassName="HIGH"
    spec.priorityClassName: Invalid value: null: field is immutable
spec.priority=5
    spec.priority: Invalid value: null: field is immutable
spec.priority=
    spec.priority: Invalid value: null: field is immutable
spec.preemptionPolicy="Never"
    spec.preemptionPolicy: Invalid value: null: field is immutable
spec.preemptionPolicy="x"
    spec.preemptionPolicy: Invalid value: null: field is immutable
spec.resourceClaims=[{"name":"a","resourceClaimName":"b"}]
    spec.resourceClaims=
metadata.labels={"a":"b c"}; spec.priority=7
    metadata.labels: Invalid value: "b c": <value>
    spec.priority: Invalid value: null: field is immutable
metadata.finalizers=["x"]
    metadata.finalizers[0]: Invalid value: "x": name is neither a standard finalizer name nor is it fully qualified
metadata.annotations={"a b":""}
    metadata.annotations: Invalid value: "a b": <key>
status={"conditions":[{"type":"X"}]}
    status.conditions=
"""

CHANGED_BASIC = r"""
spec.schedulingPolicy={"gang":{"minCount":2}}
    spec.schedulingPolicy.basic: Invalid value: null: field is immutable
    spec.schedulingPolicy.gang: Invalid value: null: field cannot be set once created
spec.schedulingPolicy.gang={"minCount":2}
    spec.schedulingPolicy: Invalid value: "{basic, gang}": must specify exactly one of: `basic`, `gang`
    spec.schedulingPolicy.gang: Invalid value: null: field cannot be set once created
spec.workloadRef={"workloadName":"w","templateName":"t"}
    spec.workloadRef: Invalid value: null: field is immutable
spec.workloadRef={"workloadName":"W"}
    spec.workloadRef: Invalid value: null: field is immutable
spec.schedulingConstraints={"topology":[{"key":"rack"}]}
    spec.schedulingConstraints: Invalid value: null: field is immutable
spec.schedulingConstraints={"topology":[{"key":"rack"},{"key":"a b"}]}
    spec.schedulingConstraints: Invalid value: null: field is immutable
"""

STATUS = r"""
status.conditions=[{"type":"A b","status":"Maybe"}]
    status.conditions[0].type: Invalid value: "A b": <key>
    status.conditions[0].status: Unsupported value: "Maybe": supported values: "False", "True", "Unknown"
    status.conditions[0].lastTransitionTime: Required value
    status.conditions[0].reason: Required value
status.conditions=[{"type":"PodGroupInitiallyScheduled","status":"True","reason":"Scheduled","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]
status.conditions=[{"type":"X","status":"True","reason":"R","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"},{"type":"X","status":"True","reason":"R","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]
    status.conditions[1]: Duplicate value: "X"
status.conditions=[{"type":"","status":"","reason":"","message":"","lastTransitionTime":null}]
    status.conditions[0].type: Required value: is required
    status.conditions[0].status: Required value
    status.conditions[0].lastTransitionTime: Required value
    status.conditions[0].reason: Required value
status.conditions=[{"type":"a b","status":"yes","reason":"a-b","message":"m","lastTransitionTime":"2026-01-01T00:00:00Z"}]
    status.conditions[0].type: Invalid value: "a b": <key>
    status.conditions[0].status: Unsupported value: "yes": supported values: "False", "True", "Unknown"
    status.conditions[0].reason: Invalid value: "a-b": <reason>
status.conditions=[{"type":"X","status":"True","reason":"R","message":"","observedGeneration":-1,"lastTransitionTime":"2026-01-01T00:00:00Z"}]
    status.conditions[0].observedGeneration: Invalid value: -1: must be greater than or equal to zero
status.conditions=[{"type":"X","status":"True","reason":"1","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]
    status.conditions[0].reason: Invalid value: "1": <reason>
status.resourceClaimStatuses=[{"name":"a"}]
    status.resourceClaimStatuses=
spec.schedulingPolicy.gang.minCount=9; spec.priority=4
    spec.priority=0
    spec.schedulingPolicy.gang.minCount=2
metadata.labels={"a":"b"}
    metadata.labels=
metadata.labels={"a":"b c"}
    metadata.labels=
"""  # noqa: E501


@pytest.mark.parametrize(("changes", "answer"), rows(BAD) + rows(GOOD))
def test_a_new_group_is_answered_as_kubernetes_does(changes, answer):
    given = edited(GROUP, changes)
    check(created(PODGROUP, given), given, answer, to_the_letter=True)


@pytest.mark.parametrize(("changes", "answer"), rows(CHANGED))
def test_a_changed_gang_is_answered_as_kubernetes_does(changes, answer):
    given = edited(STORED, changes)
    check(updated(PODGROUP, given, STORED), given, answer, to_the_letter=True)


@pytest.mark.parametrize(("changes", "answer"), rows(CHANGED_BASIC))
def test_a_changed_basic_group_is_answered_as_kubernetes_does(changes, answer):
    given = edited(BASIC, changes)
    check(updated(PODGROUP, given, BASIC), given, answer, to_the_letter=True)


@pytest.mark.parametrize(("changes", "answer"), rows(STATUS))
def test_a_changed_status_is_answered_as_kubernetes_does(changes, answer):
    given = edited(STORED, changes)
    check(status_updated(PODGROUP, given, STORED), given, answer, to_the_letter=True)
