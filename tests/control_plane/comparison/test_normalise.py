"""What is made equal, and what must stay different."""

import datetime

import pytest

from tests.control_plane.comparison.normalise import Normaliser

NOW = datetime.datetime(2026, 5, 6, 7, 8, 9, tzinfo=datetime.UTC)
UID = "0f0e0d0c-0b0a-0908-0706-050403020100"


@pytest.fixture
def normaliser():
    return Normaliser(NOW)


def metadata(**fields):
    return {"kind": "Pod", "metadata": {"name": "p", "uid": UID, **fields}}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"the UID in record ({UID})", "the UID in record (<uid>)"),
        ("2026-05-06T07:08:10Z", "<time>"),
        ("2026-05-06T07:08:10.123456Z", "<time.us>"),
        ("2001-02-03T04:05:06Z", "2001-02-03T04:05:06Z"),
        ("9999-99-99T99:99:99Z", "9999-99-99T99:99:99Z"),
        ("Too large resource version: 17, current: 4", "Too large resource version: <version>, current: <version>"),
        (
            "ResourceVersion in precondition: 1, ResourceVersion in object meta: 5",
            "ResourceVersion in precondition: 1, ResourceVersion in object meta: <version>",
        ),
        ("made-bcdf5 and made-up", "made-<suffix> and made-up"),
        ("10.0.0.17 and 10.1.2.3", "<address> and 10.1.2.3"),
        ("80:30080/TCP,53/UDP", "80:<port>/TCP,53/UDP"),
    ],
)
def test_text(normaliser, text, shown):
    assert normaliser.text(text) == shown


def test_a_kept_value_is_shown_by_its_name_wherever_it_is(normaliser):
    normaliser.keep("pod.uid", UID)
    normaliser.keep("pod.version", "17")
    shown = normaliser.document({**metadata(resourceVersion="17"), "message": f"uid {UID}, 17 times"})
    assert shown["metadata"] == {"name": "p", "uid": "${pod.uid}", "resourceVersion": "${pod.version}"}
    assert shown["message"] == "uid ${pod.uid}, 17 times"


def test_the_version_of_a_list_is_nobodys(normaliser):
    normaliser.keep("pod.version", "17")
    listed = normaliser.document({"kind": "PodList", "metadata": {"resourceVersion": "17", "continue": "abc"}})
    assert listed["metadata"] == {"resourceVersion": "<version>", "continue": "<token>"}


def test_an_update_that_must_not_change_the_version_shows_if_it_does(normaliser):
    normaliser.keep("pod.version", "17")
    assert normaliser.document(metadata(resourceVersion="18"))["metadata"]["resourceVersion"] == "<version>"


def test_owners_of_fields_are_in_an_order_that_does_not_depend_on_the_second(normaliser):
    entries = [{"manager": name, "operation": "Update"} for name in "ba"]
    shown = normaliser.document(metadata(managedFields=entries))["metadata"]["managedFields"]
    assert [entry["manager"] for entry in shown] == ["a", "b"]


def test_tables_lose_ages_and_descriptions_only(normaliser):
    columns = [{"name": name, "type": "string", "description": "long"} for name in ("Name", "Age")]
    table = normaliser.document({"kind": "Table", "columnDefinitions": columns, "rows": [{"cells": ["5s", "5s"]}]})
    assert table["columnDefinitions"] == [{"name": "Name", "type": "string"}, {"name": "Age", "type": "string"}]
    assert table["rows"] == [{"cells": ["5s", "<age>"]}]


def test_only_the_bookmark_that_ends_the_initial_events_is_compared(normaliser):
    end = {"metadata": {"resourceVersion": "5", "annotations": {"k8s.io/initial-events-end": "true"}}}
    events = [
        {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "4"}}},
        {"type": "BOOKMARK", "object": end},
    ]
    [shown] = normaliser.events(events)
    assert shown["object"]["metadata"]["resourceVersion"] == "<version>"


def test_kinds_that_are_not_served_do_not_count(normaliser):
    names = ("pods", "pods/status", "pods/exec", "endpoints")
    document = {"kind": "APIResourceList", "groupVersion": "v1", "resources": [{"name": name} for name in names]}
    assert [one["name"] for one in normaliser.document(document)["resources"]] == ["pods", "pods/status"]
