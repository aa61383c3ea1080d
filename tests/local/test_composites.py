"""CompositePodGroups: what kube-apiserver 1.37.1 said to the same objects."""

from __future__ import annotations

import pytest

from muster.local.kinds import groups
from tests.local.answers import edited, rows
from tests.local.flow import Subject, check, created, status_updated, updated
from tests.local.serving import TABLE, Served

COMPOSITES = "/apis/scheduling.k8s.io/v1alpha3/namespaces/default/compositepodgroups"
SUBJECT = Subject(groups.COMPOSITE, "api.scheduling.v1alpha3.CompositePodGroup")
COMPOSITE = {
    "metadata": {"name": "c"},
    "spec": {
        "workloadRef": {"workloadName": "w", "templateName": "t"},
        "schedulingPolicy": {"gang": {"minGroupCount": 2}},
    },
}
STORED = {
    "metadata": {"name": "c"},
    "spec": {
        **COMPOSITE["spec"],
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
spec=
    spec.workloadRef: Required value
    spec.schedulingPolicy: Invalid value: "": must specify one of: `basic`, `gang`
spec.workloadRef=
    spec.workloadRef: Required value
spec.workloadRef={}
    spec.workloadRef.workloadName: Required value
    spec.workloadRef.templateName: Required value
spec.workloadRef={"workloadName":"W","templateName":"a.b"}
    spec.workloadRef.workloadName: Invalid value: "W": <subdomain>
    spec.workloadRef.templateName: Invalid value: "a.b": must not contain dots
spec.schedulingPolicy=
    spec.schedulingPolicy: Invalid value: "": must specify one of: `basic`, `gang`
spec.schedulingPolicy={}
    spec.schedulingPolicy: Invalid value: "": must specify one of: `basic`, `gang`
spec.schedulingPolicy.basic={}
    spec.schedulingPolicy: Invalid value: "{basic, gang}": must specify exactly one of: `basic`, `gang`
spec.schedulingPolicy.gang={}
    spec.schedulingPolicy.gang.minGroupCount: Required value
spec.schedulingPolicy.gang.minGroupCount=0
    spec.schedulingPolicy.gang.minGroupCount: Required value
spec.schedulingPolicy.gang.minGroupCount=-1
    spec.schedulingPolicy.gang.minGroupCount: Invalid value: -1: must be greater than or equal to 1
spec.parentCompositePodGroupName="P"
    spec.parentCompositePodGroupName: Invalid value: "P": <subdomain>
spec.parentCompositePodGroupName=""
    spec.parentCompositePodGroupName: Invalid value: "": <subdomain>
spec.schedulingConstraints={"topology":[{"key":"a b"}]}
    spec.schedulingConstraints.topology[0].key: Invalid value: "a b": <key>
spec.schedulingConstraints={"topology":[{"key":"a"},{"key":"b"}]}
    spec.schedulingConstraints.topology: Too many: 2: must have at most 1 item
spec.disruptionMode={}
    spec.disruptionMode: Invalid value: "": must specify one of: `single`, `all`
spec.disruptionMode={"all":{},"single":{}}
    spec.disruptionMode: Invalid value: "{single, all}": must specify exactly one of: `single`, `all`
"""

GOOD = r"""
-
    spec.disruptionMode={"single":{}}
    spec.preemptionPolicy="PreemptLowerPriority"
    status={}
spec.schedulingPolicy={"basic":{}}
    ...
spec.parentCompositePodGroupName="p"
    ...
spec.schedulingConstraints={"topology":[{"key":"rack"}]}
    ...
spec.disruptionMode={"all":{}}
    spec.preemptionPolicy="PreemptLowerPriority"
    status={}
status={"conditions":[{"type":"X","status":"True","reason":"R","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}
    ...
"""

CHANGED = r"""
-
spec.schedulingPolicy.gang.minGroupCount=3
    spec.schedulingPolicy: Invalid value: null: field is immutable
spec.schedulingPolicy={"basic":{}}
    spec.schedulingPolicy: Invalid value: null: field is immutable
spec.schedulingPolicy={}
    spec.schedulingPolicy: Invalid value: null: field is immutable
spec.workloadRef=
    spec.workloadRef: Invalid value: null: field is immutable
    spec.workloadRef: Required value
spec.workloadRef.workloadName="v"
    spec.workloadRef: Invalid value: null: field is immutable
spec.parentCompositePodGroupName="p"
    spec.parentCompositePodGroupName: Invalid value: null: field is immutable
spec.schedulingConstraints={"topology":[{"key":"rack"}]}
    spec.schedulingConstraints: Invalid value: null: field is immutable
spec.disruptionMode={"all":{}}
    spec.disruptionMode: Invalid value: null: field is immutable
spec.priority=7
    spec.priority: Invalid value: null: field is immutable
spec.priorityClassName="x"
    spec.priorityClassName: Invalid value: null: field is immutable
spec.preemptionPolicy="Never"
    spec.preemptionPolicy: Invalid value: null: field is immutable
status={"conditions":[{"type":"X"}]}
    status.conditions=
"""

STATUS = r"""
status.conditions=[{"type":"X","status":"True","reason":"R","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]
status.conditions=[{"type":"A b","status":"Maybe"}]
    status.conditions[0].type: Invalid value: "A b": <key>
    status.conditions[0].status: Unsupported value: "Maybe": supported values: "False", "True", "Unknown"
    status.conditions[0].lastTransitionTime: Required value
    status.conditions[0].reason: Required value
spec.priority=9
    spec.priority=0
metadata.labels={"a":"b"}
    metadata.labels=
"""


@pytest.mark.parametrize(("changes", "answer"), rows(BAD) + rows(GOOD))
def test_a_new_composite_is_answered_as_kubernetes_does(changes, answer):
    given = edited(COMPOSITE, changes)
    check(created(SUBJECT, given), given, answer, to_the_letter=True)


@pytest.mark.parametrize(("changes", "answer"), rows(CHANGED))
def test_a_changed_composite_is_answered_as_kubernetes_does(changes, answer):
    given = edited(STORED, changes)
    check(updated(SUBJECT, given, STORED), given, answer, to_the_letter=True)


@pytest.mark.parametrize(("changes", "answer"), rows(STATUS))
def test_a_changed_status_is_answered_as_kubernetes_does(changes, answer):
    given = edited(STORED, changes)
    check(status_updated(SUBJECT, given, STORED), given, answer, to_the_letter=True)


def test_a_composite_gets_the_priority_of_its_class():
    api = Served()
    high = {"metadata": {"name": "high"}, "value": 7}
    api.create("/apis/scheduling.k8s.io/v1/priorityclasses", high)
    spec = {**COMPOSITE["spec"], "priorityClassName": "high"}
    assert api.create(COMPOSITES, {**COMPOSITE, "spec": spec})["spec"]["priority"] == 7
    other = {"metadata": {"name": "d"}, "spec": {**spec, "priority": 8}}
    assert "priority set in the composite pod group (8) must match the priority computed (7)" in api.refused(
        "POST", COMPOSITES, other, code=403
    )


def test_a_composite_is_shown_as_a_table():
    api = Served()
    api.create(COMPOSITES, COMPOSITE)
    table = api.ask("GET", COMPOSITES, accept=TABLE)
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Policy", "Workload", "Age"]
    assert table["rows"][0]["cells"][:3] == ["c", "Gang", "w"]
