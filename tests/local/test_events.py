"""Events in both dialects: what kube-apiserver 1.37.1 said to the same objects."""

from __future__ import annotations

import pytest

from muster.local.kinds import events
from tests.local.answers import edited, rows
from tests.local.flow import Subject, check, created, updated
from tests.local.serving import APPLY, Served

OLD = Subject(events.STRATEGY, "api.core.v1.Event")
NEW = Subject(events.STRICT_STRATEGY, "api.events.v1.Event", kept=events.to_old, shown=events.to_new)

EVENT = {"metadata": {"name": "e"}, "involvedObject": {"namespace": "others", "kind": "Pod", "name": "p"}}
EMPTY = {
    "firstTimestamp": None,
    "lastTimestamp": None,
    "eventTime": None,
    "source": {},
    "reportingComponent": "",
    "reportingInstance": "",
}
STORED = {**EVENT, **EMPTY, "reason": "r", "message": "m", "type": "Normal", "count": 1, "source": {"component": "c"}}
NEW_EVENT = {
    "metadata": {"name": "n"},
    "eventTime": "2026-01-01T00:00:00.000000Z",
    "regarding": {"namespace": "others", "kind": "Pod", "name": "p"},
    "note": "m",
    "reason": "r",
    "type": "Normal",
    "action": "a",
    "reportingController": "c",
    "reportingInstance": "i",
}
NEW_STORED = {
    **NEW_EVENT,
    "deprecatedSource": {},
    "deprecatedFirstTimestamp": None,
    "deprecatedLastTimestamp": None,
}

OLD_DIALECT = r"""
-
    eventTime=null
    firstTimestamp=null
    lastTimestamp=null
    reportingComponent=""
    reportingInstance=""
    source={}
involvedObject.namespace="default"
    involvedObject.namespace: Invalid value
involvedObject.namespace=
    involvedObject.namespace: Invalid value
involvedObject={}
    involvedObject.namespace: Invalid value
metadata.name="A B"
    ...
metadata.name="a/b"
    metadata.name: Invalid value: "a/b": may not contain '/'
metadata.name="a%b"; involvedObject={}
    involvedObject.namespace: Invalid value
metadata.labels={"a":"b c"}
    metadata.labels: Invalid value: "b c": <value>
metadata.finalizers=["x"]
    ...
type="odd"; count=-1
    ...
eventTime="2026-01-01T00:00:00.000000Z"
    reportingComponent: Required value
    reportingComponent: Invalid value
    reportingInstance: Required value
    action: Required value
    reason: Required value
eventTime="2026-01-01T00:00:00.000000Z"; involvedObject={}; reportingComponent="a b"; reportingInstance="i"; action="a"; reason="r"
    involvedObject.namespace: Invalid value
    reportingComponent: Invalid value
eventTime="2026-01-01T00:00:00.000000Z"; reportingComponent="c"; reportingInstance="i"; action="a"; reason="r"
    firstTimestamp=null
    lastTimestamp=null
    source={}
eventTime="2026-01-01T00:00:00.000000Z"; reportingComponent="c"; reportingInstance="x"*129; action="x"*129; reason="x"*129; message="x"*1025
    reportingInstance: Invalid value
    action: Invalid value
    reason: Invalid value
    message: Invalid value
message="x"*2000; reason="x"*300
    ...
series={"count":1}
    ...
    series.lastObservedTime=null
"""  # noqa: E501

OLD_CHANGED = r"""
-
message="other"; reason="s"; type="Warning"
involvedObject.namespace="default"
    involvedObject.namespace: Invalid value
metadata.labels={"a":"b c"}; involvedObject={}
    metadata.labels: Invalid value: "b c": <value>
    involvedObject.namespace: Invalid value
metadata.finalizers=["x"]
"""

NEW_DIALECT = r"""
-
    deprecatedFirstTimestamp=null
    deprecatedLastTimestamp=null
    deprecatedSource={}
metadata.name="N"
    metadata.name: Invalid value: "N": <subdomain>
eventTime=null
    eventTime: Required value
eventTime=
    eventTime: Required value
type="odd"
    type: Invalid value
type=
    type: Invalid value
reason=
    reason: Required value
action=
    action: Required value
reportingController=
    reportingController: Required value
    reportingController: Invalid value
reportingController="a b"
    reportingController: Invalid value
reportingInstance=
    reportingInstance: Required value
regarding.namespace=
    involvedObject.namespace: Invalid value
regarding=
    involvedObject.namespace: Invalid value
note=
    ...
note="x"*1025
    message: Invalid value
reason="x"*129; action="x"*129; reportingInstance="x"*129
    reportingInstance: Invalid value
    action: Invalid value
    reason: Invalid value
series={"count":1,"lastObservedTime":null}
    series.count: Invalid value
    series.lastObservedTime: Required value
series={"count":2,"lastObservedTime":"2026-01-01T00:00:00.000000Z"}
    ...
deprecatedCount=1
    count: Invalid value
deprecatedSource={"component":"c"}
    source: Invalid value
deprecatedFirstTimestamp="2026-01-01T00:00:00Z"; deprecatedLastTimestamp="2026-01-01T00:00:00Z"
    firstTimestamp: Invalid value
    lastTimestamp: Invalid value
metadata.labels={"a":"b c"}; type="x"; reason=
    reason: Required value
    metadata.labels: Invalid value: "b c": <value>
    type: Invalid value
metadata.finalizers=["x"]
    metadata.finalizers[0]: Invalid value
"""

NEW_CHANGED = r"""
-
    deprecatedFirstTimestamp=null
    deprecatedLastTimestamp=null
    deprecatedSource={}
series={"count":2,"lastObservedTime":"2026-01-01T00:00:00.000000Z"}
    ...
series={"count":1,"lastObservedTime":"2026-01-01T00:00:00.000000Z"}
    series.count: Invalid value
note="x"
    message: Invalid value: "x": field is immutable
reason="x"; type="Warning"; action="b"
    reason: Invalid value: "x": field is immutable
    type: Invalid value: "Warning": field is immutable
    action: Invalid value: "b": field is immutable
regarding.name="q"
    involvedObject: Invalid value: {...}: field is immutable
regarding=
    involvedObject.namespace: Invalid value
    involvedObject: Invalid value: {...}: field is immutable
related={"kind":"Node","name":"n"}
    related: Invalid value: {...}: field is immutable
eventTime="2026-01-01T00:00:01.000000Z"
    eventTime: Invalid value: "2026-01-01T00:00:01.000000Z": field is immutable
deprecatedCount=4; deprecatedSource={"component":"c"}
    source: Invalid value: {...}: field is immutable
    count: Invalid value: 4: field is immutable
deprecatedFirstTimestamp="2026-01-01T00:00:00Z"
    firstTimestamp: Invalid value: "2026-01-01T00:00:00Z": field is immutable
reportingController="d"; reportingInstance="j"
    reportingController: Invalid value: "d": field is immutable
    reportingInstance: Invalid value: "j": field is immutable
metadata.finalizers=["x"]
    metadata.finalizers[0]: Invalid value
metadata.labels={"a":"b c"}
    metadata.labels: Invalid value: "b c": <value>
"""


@pytest.mark.parametrize(("changes", "answer"), rows(OLD_DIALECT))
def test_a_new_event_is_answered_as_kubernetes_does(changes, answer):
    given = edited(EVENT, changes)
    check(created(OLD, given), given, answer)


@pytest.mark.parametrize(("changes", "answer"), rows(OLD_CHANGED))
def test_a_changed_event_is_answered_as_kubernetes_does(changes, answer):
    given = edited(STORED, changes)
    check(updated(OLD, given, STORED), given, answer)


@pytest.mark.parametrize(("changes", "answer"), rows(NEW_DIALECT))
def test_a_new_event_of_the_newer_dialect_is_answered_as_kubernetes_does(changes, answer):
    given = edited(NEW_EVENT, changes)
    check(created(NEW, given), given, answer)


@pytest.mark.parametrize(("changes", "answer"), rows(NEW_CHANGED))
def test_a_changed_event_of_the_newer_dialect_is_answered_as_kubernetes_does(changes, answer):
    given = edited(NEW_STORED, changes)
    check(updated(NEW, given, NEW_STORED), given, answer)


def test_an_event_of_one_dialect_is_read_in_the_other():
    old = {
        "metadata": {"name": "e"},
        "involvedObject": {"kind": "Pod", "namespace": "others", "name": "p"},
        "reason": "r",
        "message": "m",
        "source": {"component": "c", "host": "h"},
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "lastTimestamp": "2026-01-01T00:00:01Z",
        "count": 3,
        "type": "Normal",
        "eventTime": None,
        "reportingComponent": "",
        "reportingInstance": "",
    }
    new = {
        "metadata": {"name": "e"},
        "eventTime": None,
        "reason": "r",
        "regarding": {"kind": "Pod", "namespace": "others", "name": "p"},
        "note": "m",
        "type": "Normal",
        "deprecatedSource": {"component": "c", "host": "h"},
        "deprecatedFirstTimestamp": "2026-01-01T00:00:00Z",
        "deprecatedLastTimestamp": "2026-01-01T00:00:01Z",
        "deprecatedCount": 3,
    }
    assert events.to_new(old) == new
    assert events.to_old(new) == old


def test_the_source_of_an_event_is_its_component_or_else_its_reporter():
    assert events.selectable({"source": {"component": "c"}, "reportingComponent": "d"})["source"] == "c"
    assert events.selectable({"source": {}, "reportingComponent": "d"})["source"] == "d"


def test_events_are_selected_by_what_they_are_about():
    fields = events.selectable({"involvedObject": {"kind": "Pod", "name": "p", "fieldPath": "spec"}, "type": "Normal"})
    assert fields == {
        "involvedObject.kind": "Pod",
        "involvedObject.namespace": "",
        "involvedObject.name": "p",
        "involvedObject.uid": "",
        "involvedObject.apiVersion": "",
        "involvedObject.resourceVersion": "",
        "involvedObject.fieldPath": "spec",
        "reason": "",
        "reportingComponent": "",
        "source": "",
        "type": "Normal",
    }


def test_an_apply_that_makes_an_event_of_the_newer_dialect_keeps_what_it_says():
    served, others = Served(), "namespaces/others/events/n"
    served.create("/api/v1/namespaces", {"metadata": {"name": "others"}})
    body = {"apiVersion": "events.k8s.io/v1", "kind": "Event", **NEW_EVENT}
    served.ask("PATCH", f"/apis/events.k8s.io/v1/{others}?fieldManager=me", body, code=201, content_type=APPLY)
    old = served.get(f"/api/v1/{others}")
    assert (old["message"], old["involvedObject"]["name"], old["reportingComponent"]) == ("m", "p", "c")
