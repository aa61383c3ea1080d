"""Events are forgotten an hour after they were last written."""

from tests.local.serving import CONFIG, Served

EVENTS = "/api/v1/namespaces/default/events"
NEW_EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"


def event(name):
    return {"metadata": {"name": name}, "involvedObject": {"kind": "Pod", "name": "web", "namespace": "default"}}


def names(served, path=EVENTS):
    return [item["metadata"]["name"] for item in served.get(path)["items"]]


def test_an_event_goes_an_hour_after_it_was_last_written():
    served = Served()
    for name in ("once", "again"):
        served.create(EVENTS, event(name))
    served.chance.time += 3000
    served.merge(f"{EVENTS}/again", {"count": 2})
    served.server.pass_time()
    assert names(served) == ["again", "once"]
    served.chance.time += 700
    served.server.pass_time()
    assert names(served) == ["again"]
    assert names(served, NEW_EVENTS) == ["again"]
    served.chance.time += 3000
    served.server.pass_time()
    assert names(served) == []


def test_whoever_watches_events_sees_them_go():
    served = Served()
    served.create(EVENTS, event("once"))
    watch = served.watch(EVENTS)
    assert watch.events() == [("ADDED", "once")]
    served.chance.time += 4000
    served.server.pass_time()
    assert watch.events() == [("DELETED", "once")]


def test_nothing_else_goes():
    served = Served()
    served.create(CONFIG, {"metadata": {"name": "kept"}})
    served.chance.time += 1_000_000
    served.server.pass_time()
    assert names(served, CONFIG) == ["kept"]


def test_bookmarks_come_with_time():
    served = Served()
    watch = served.watch(CONFIG, allowWatchBookmarks="true")
    served.server.pass_time()
    assert [one["type"] for one in watch.whole()] == ["BOOKMARK"]
