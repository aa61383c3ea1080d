"""Events are counted, combined and kept few."""

from muster.api.calls import Create, Patch, Say
from muster.controllers.events import EventBook


def say(reason="Made", message="made it", *, name="j", warning=False, **fields):
    options = {"component": "job-controller", "kind": "Job", "api_version": "batch/v1", "namespace": "team", **fields}
    return Say(name=name, uid=f"uid-{name}", reason=reason, message=message, warning=warning, **options)


def test_an_event_has_all_that_people_look_for():
    call = EventBook().call(say(), 1_800_000_000.0)
    assert isinstance(call, Create)
    assert call.path == "/api/v1/namespaces/team/events"
    name = call.body["metadata"].pop("name")
    assert name.startswith("j.")
    assert call.body == {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"namespace": "team"},
        "involvedObject": {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "name": "j",
            "namespace": "team",
            "uid": "uid-j",
        },
        "reason": "Made",
        "message": "made it",
        "type": "Normal",
        "count": 1,
        "firstTimestamp": "2027-01-15T08:00:00Z",
        "lastTimestamp": "2027-01-15T08:00:00Z",
        "source": {"component": "job-controller"},
        "reportingComponent": "job-controller",
        "reportingInstance": "",
    }


def test_events_of_things_without_a_namespace_are_in_the_default_one():
    call = EventBook().call(say(kind="Node", namespace="", host="n1"), 0.0)
    assert call.path == "/api/v1/namespaces/default/events"
    assert "namespace" not in call.body["involvedObject"]
    assert call.body["source"] == {"component": "job-controller", "host": "n1"}


def test_names_of_events_differ():
    book = EventBook()
    names = {book.call(say(message=str(number), name="x" * 300), 5.0).body["metadata"]["name"] for number in range(9)}
    assert len(names) == 9
    assert all(len(name) <= 253 for name in names)


def test_the_same_event_is_counted():
    book = EventBook()
    first = book.call(say(), 0.0)
    second, third = book.call(say(), 10.0), book.call(say(), 20.0)
    assert isinstance(second, Patch)
    assert second.path == f"{first.path}/{first.body['metadata']['name']}"
    assert second.body == {"count": 2, "lastTimestamp": "1970-01-01T00:00:10Z", "message": "made it"}
    assert third.body["count"] == 3


def test_an_event_that_is_no_more_is_said_anew():
    book = EventBook()
    first = book.call(say(), 0.0)
    book.call(say(), 10.0)
    again = book.anew(say(), 20.0)
    assert again.body["count"] == 1
    assert again.body["metadata"]["name"] != first.body["metadata"]["name"]
    assert book.call(say(), 30.0).path.endswith(again.body["metadata"]["name"])


def test_many_that_differ_in_words_only_are_combined():
    book = EventBook()
    calls = [book.call(say(message=f"made {number}"), 0.0) for number in range(12)]
    assert [isinstance(call, Create) for call in calls] == [True] * 10 + [False] * 2
    assert calls[9].body["message"] == "(combined from similar events): made 9"
    assert calls[11].body == {
        "count": 3,
        "lastTimestamp": "1970-01-01T00:00:00Z",
        "message": "(combined from similar events): made 11",
    }


def test_after_a_quiet_while_they_are_told_apart_again():
    book = EventBook()
    for number in range(12):
        book.call(say(message=f"made {number}"), 0.0)
    assert book.call(say(message="late"), 2000.0).body["message"] == "late"


def test_of_one_object_not_more_than_so_many_are_written():
    book = EventBook()
    calls = [book.call(say(reason=f"R{number}"), 0.0) for number in range(40)]
    assert sum(call is not None for call in calls) == 25
    assert book.call(say(name="another"), 0.0) is not None
    assert book.call(say(reason="later"), 299.0) is None
    assert book.call(say(reason="later"), 301.0) is not None


def test_words_that_are_too_long_are_cut_between_characters():
    call = EventBook().call(say(message="ü" * 1000), 0.0)
    assert len(call.body["message"].encode()) <= 1024
    assert set(call.body["message"]) == {"ü"}
