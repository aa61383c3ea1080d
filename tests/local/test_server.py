"""The API server's core, asked as clients ask it.  What it says in detail is compared with the real one elsewhere."""

import gc
import json
import tracemalloc

import pytest

from muster.local.process.cluster import make_server
from muster.local.serve.wire import Answer
from muster.local.store.store import Store
from tests.local.serving import APPLY, CONFIG, GROUPS, MERGE, PODS, TABLE, Served, pod


@pytest.fixture
def api():
    return Served()


def names(answer):
    return [item["metadata"]["name"] for item in answer["items"]]


# --- who may ask, and what ---


def test_without_the_token_nobody_gets_in(api):
    assert api.refused("GET", PODS, code=401, token="") == "Unauthorized"
    assert api.refused("GET", PODS, code=401, token="guessed") == "Unauthorized"


def test_health_is_for_everybody(api):
    assert api.ask("GET", "/readyz", token="") == "ok"


def test_what_is_not_served_is_not_found(api):
    assert api.ask("GET", "/nothing", code=404) == "404 page not found\n"
    assert api.ask("GET", "/apis/nobody.io/v1/things", code=404) == "404 page not found\n"
    assert api.refused("GET", "/api/v1/things", code=404) == "the server could not find the requested resource"
    assert api.refused("GET", "/apis/batch/v9/jobs", code=404) == "the server could not find the requested resource"


@pytest.mark.parametrize(("method", "path"), [("POST", f"{PODS}/x"), ("PUT", PODS), ("POST", "/api/v1/pods")])
def test_methods_that_make_no_sense_are_not_allowed(api, method, path):
    assert "does not allow this method" in api.refused(method, path, {}, code=405)


def test_a_body_that_is_too_large_is_refused(api):
    big = pod("big", labels={"x": "y"}) | {"data": "x" * (3 << 20)}
    assert api.refused("POST", PODS, big, code=413) == "Request entity too large: limit is 3145728"


def test_an_error_of_the_server_is_answered_and_it_lives_on(api, monkeypatch):
    monkeypatch.setattr(api.store, "list", lambda *_: 1 / 0)
    assert "ZeroDivisionError" in api.refused("GET", PODS, code=500)
    monkeypatch.undo()
    assert names(api.get(PODS)) == []


# --- lists ---


def test_pages_show_what_was_there_when_the_first_was_read(api):
    for number in range(5):
        api.create(CONFIG, {"metadata": {"name": f"c{number}"}})
    first = api.get(f"{CONFIG}?limit=2")
    assert first["metadata"]["remainingItemCount"] == 3
    api.ask("DELETE", f"{CONFIG}/c3")
    api.create(CONFIG, {"metadata": {"name": "c9"}})
    second = api.get(f"{CONFIG}?limit=2&continue={first['metadata']['continue']}")
    last = api.get(f"{CONFIG}?limit=2&continue={second['metadata']['continue']}")
    assert names(first) + names(second) + names(last) == ["c0", "c1", "c2", "c3", "c4"]
    assert "continue" not in last["metadata"]
    assert last["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


def test_a_page_that_is_forgotten_gives_a_token_to_go_on_with(api):
    for number in range(3):
        api.create(CONFIG, {"metadata": {"name": f"c{number}"}})
    token = api.get(f"{CONFIG}?limit=1")["metadata"]["continue"]
    again = Served(api.store)
    again.create(CONFIG, {"metadata": {"name": "c00"}})
    api.store.compact()
    answer = again.ask("GET", f"{CONFIG}?limit=5&continue={token}", code=410)
    assert answer["reason"] == "Expired"
    assert names(again.get(f"{CONFIG}?limit=5&continue={answer['metadata']['continue']}")) == ["c00", "c1", "c2"]


def test_a_page_of_a_cluster_that_was_here_before_is_none_of_this_one(api):
    for number in range(3):
        api.create(CONFIG, {"metadata": {"name": f"c{number}"}})
    token = api.get(f"{CONFIG}?limit=1")["metadata"]["continue"]
    assert "Too large resource version" in Served().refused("GET", f"{CONFIG}?limit=1&continue={token}", code=504)


def test_a_list_at_an_exact_version_is_as_it_was(api):
    before = api.create(CONFIG, {"metadata": {"name": "a"}})["metadata"]["resourceVersion"]
    api.create(CONFIG, {"metadata": {"name": "b"}})
    api.ask("DELETE", f"{CONFIG}/a")
    asked = f"{CONFIG}?resourceVersion={before}&resourceVersionMatch=Exact"
    assert names(api.get(asked)) == ["a"]
    api.store.compact()
    assert "too old" in api.refused("GET", asked, code=410)


def test_a_version_that_is_yet_to_come_is_not_waited_for(api):
    answer = api.answer("GET", f"{CONFIG}?resourceVersion=99999")
    assert (answer.code, answer.retry_after) == (504, 1)


def test_selectors_choose(api):
    for name, labels in (("a", {"x": "1"}), ("b", {"x": "2"})):
        api.create(PODS, pod(name, labels=labels))
    assert names(api.get("/api/v1/pods?labelSelector=x!=1")) == ["b"]
    assert names(api.get("/api/v1/pods?fieldSelector=metadata.name=a")) == ["a"]
    assert names(api.get("/api/v1/pods?fieldSelector=spec.nodeName=n")) == []


def test_a_list_is_a_table_for_who_asks_for_one(api):
    api.create(PODS, pod("a"))
    table = api.ask("GET", PODS, accept=TABLE)
    assert [column["name"] for column in table["columnDefinitions"]][:4] == ["Name", "Ready", "Status", "Restarts"]
    assert table["rows"][0]["cells"][:3] == ["a", "0/1", "Pending"]


# --- watches ---


def test_a_watch_tells_what_is_there_and_then_what_happens(api):
    api.create(CONFIG, {"metadata": {"name": "a"}})
    watch = api.watch(CONFIG)
    assert watch.events() == [("ADDED", "a")]
    api.merge(f"{CONFIG}/a", {"data": {"k": "v"}})
    api.create(CONFIG, {"metadata": {"name": "b"}})
    api.ask("DELETE", f"{CONFIG}/a")
    assert watch.events() == [("MODIFIED", "a"), ("ADDED", "b"), ("DELETED", "a")]


def test_a_watch_goes_on_after_the_version_that_it_names(api):
    version = api.create(CONFIG, {"metadata": {"name": "a"}})["metadata"]["resourceVersion"]
    api.create(CONFIG, {"metadata": {"name": "b"}})
    assert api.watch(CONFIG, resourceVersion=version).events() == [("ADDED", "b")]


def test_a_watch_from_before_all_history_is_too_old(api):
    version = api.get(CONFIG)["metadata"]["resourceVersion"]
    api.create(CONFIG, {"metadata": {"name": "a"}})
    api.store.compact()
    watch = api.watch(CONFIG, resourceVersion=version)
    [error] = watch.whole()
    assert (error["type"], error["object"]["code"], error["object"]["reason"]) == ("ERROR", 410, "Expired")
    assert watch.stream.ended


def test_initial_events_end_with_a_bookmark(api):
    api.create(CONFIG, {"metadata": {"name": "a"}})
    query = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
    added, bookmark = api.watch(CONFIG, **query).whole()
    assert added["type"] == "ADDED"
    assert bookmark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert bookmark["object"]["metadata"]["resourceVersion"] == str(api.store.version)


def test_bookmarks_come_to_who_wants_them(api):
    wants, does_not = api.watch(CONFIG, allowWatchBookmarks="true"), api.watch(CONFIG)
    api.server.watches.bookmark()
    assert [event["type"] for event in wants.whole()] == ["BOOKMARK"]
    assert does_not.whole() == []


def test_objects_come_and_go_by_their_labels(api):
    watch = api.watch(CONFIG, labelSelector="on=yes")
    api.create(CONFIG, {"metadata": {"name": "a"}})
    api.merge(f"{CONFIG}/a", {"metadata": {"labels": {"on": "yes"}}})
    api.merge(f"{CONFIG}/a", {"data": {"k": "v"}})
    api.merge(f"{CONFIG}/a", {"metadata": {"labels": {"on": "no"}}})
    api.ask("DELETE", f"{CONFIG}/a")
    events = watch.whole()
    assert [event["type"] for event in events] == ["ADDED", "MODIFIED", "DELETED"]
    assert events[2]["object"]["metadata"]["labels"] == {"on": "yes"}, "as it was when it last was one of them"


def test_a_watcher_that_does_not_read_is_cut_off(api, monkeypatch):
    monkeypatch.setattr("muster.local.serve.watching._MOST_BYTES", 2_000)
    watch = api.watch(CONFIG)
    for number in range(20):
        api.create(CONFIG, {"metadata": {"name": f"c{number}"}, "data": {"k": "x" * 100}})
    assert watch.stream.ended
    assert len(watch.stream.take()) < 3_000
    api.create(CONFIG, {"metadata": {"name": "later"}})
    assert watch.stream.take() == b"", "and costs nothing from then on"


def test_a_watch_that_was_closed_hears_nothing(api):
    watch = api.watch(CONFIG)
    watch.stream.close()
    api.create(CONFIG, {"metadata": {"name": "a"}})
    assert watch.events() == []


# --- writes ---


def test_a_stale_update_is_a_conflict(api):
    made = api.create(CONFIG, {"metadata": {"name": "a"}})
    api.merge(f"{CONFIG}/a", {"data": {"k": "v"}})
    assert "the object has been modified" in api.refused("PUT", f"{CONFIG}/a", made, code=409)


def test_an_update_that_changes_nothing_makes_no_version(api):
    made = api.create(CONFIG, {"metadata": {"name": "a"}, "data": {"k": "v"}})
    again = api.ask("PUT", f"{CONFIG}/a", made)
    assert again["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    api.merge(f"{CONFIG}/a", {"data": {"k": "v"}})
    assert api.get(CONFIG)["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


def test_dry_runs_change_nothing(api):
    made = api.create(CONFIG, {"metadata": {"name": "a"}})
    version = api.store.version
    api.ask("POST", f"{CONFIG}?dryRun=All", {"metadata": {"name": "b"}}, code=201)
    api.ask("PATCH", f"{CONFIG}/a?dryRun=All", {"data": {"k": "v"}}, content_type=MERGE)
    api.ask("PUT", f"{CONFIG}/a?dryRun=All", made | {"data": {"k": "v"}})
    api.ask("DELETE", f"{CONFIG}/a?dryRun=All")
    api.ask("DELETE", f"{CONFIG}?dryRun=All")
    assert api.store.version == version


def test_names_are_generated(api):
    made = api.create(CONFIG, {"metadata": {"generateName": "gen-"}})
    assert made["metadata"]["name"].startswith("gen-0")


def test_the_generation_grows_with_the_spec_alone(api):
    path = f"{PODS}/a"
    assert api.create(PODS, pod("a"))["metadata"]["generation"] == 1
    assert api.merge(path, {"metadata": {"labels": {"x": "y"}}})["metadata"]["generation"] == 1
    assert api.merge(f"{path}/status", {"status": {"phase": "Running"}})["metadata"]["generation"] == 1
    assert api.merge(path, {"spec": {"activeDeadlineSeconds": 9}})["metadata"]["generation"] == 2


def test_the_status_is_written_where_it_belongs(api):
    api.create(PODS, pod("a"))
    assert api.merge(f"{PODS}/a", {"status": {"phase": "Running"}})["status"]["phase"] == "Pending"
    changed = api.merge(f"{PODS}/a/status", {"status": {"phase": "Running"}, "spec": {"nodeName": "n"}})
    assert changed["status"]["phase"] == "Running"
    assert "nodeName" not in changed["spec"]


def test_two_managers_conflict_over_a_field(api):
    document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "1"}}
    path = f"{CONFIG}/a"
    api.ask("PATCH", f"{path}?fieldManager=one", document, content_type=APPLY, code=201)
    other = document | {"data": {"k": "2"}}
    message = api.refused("PATCH", f"{path}?fieldManager=two", other, content_type=APPLY, code=409)
    assert message == 'Apply failed with 1 conflict: conflict with "one": .data.k'
    assert api.ask("PATCH", f"{path}?fieldManager=two&force=true", other, content_type=APPLY)["data"] == {"k": "2"}


# --- deletions ---


def test_a_pod_on_a_node_goes_when_its_kubelet_says_so(api):
    api.create(PODS, pod("a", nodeName="n"))
    watch = api.watch(PODS)
    watch.events()
    doomed = api.ask("DELETE", f"{PODS}/a")
    assert doomed["metadata"]["deletionGracePeriodSeconds"] == 30
    assert watch.events() == [("MODIFIED", "a")]
    api.ask("DELETE", f"{PODS}/a", {"gracePeriodSeconds": 0})
    assert watch.events()[-1] == ("DELETED", "a")


def test_a_pod_without_a_node_goes_at_once(api):
    api.create(PODS, pod("a"))
    api.ask("DELETE", f"{PODS}/a")
    assert names(api.get(PODS)) == []


def test_finalizers_hold_an_object_back(api):
    api.create(CONFIG, {"metadata": {"name": "a", "finalizers": ["x.io/y"]}})
    assert "deletionTimestamp" in api.ask("DELETE", f"{CONFIG}/a")["metadata"]
    assert names(api.get(CONFIG)) == ["a"]
    api.merge(f"{CONFIG}/a", {"metadata": {"finalizers": None}})
    assert names(api.get(CONFIG)) == []


def test_a_deletion_may_have_conditions(api):
    made = api.create(CONFIG, {"metadata": {"name": "a"}})
    body = {"preconditions": {"uid": "another"}}
    assert "does not match the UID in record" in api.refused("DELETE", f"{CONFIG}/a", body, code=409)
    api.ask("DELETE", f"{CONFIG}/a", {"preconditions": {"uid": made["metadata"]["uid"]}})


def test_what_is_to_become_of_dependents_stands_in_the_finalizers(api):
    for name, policy, expected in (("a", "Foreground", "foregroundDeletion"), ("b", "Orphan", "orphan")):
        api.create(CONFIG, {"metadata": {"name": name}})
        answer = api.ask("DELETE", f"{CONFIG}/{name}?propagationPolicy={policy}")
        assert answer["metadata"]["finalizers"] == [expected]


def test_a_collection_is_deleted_by_labels(api):
    for name, labels in (("a", {"x": "1"}), ("b", {"x": "2"})):
        api.create(CONFIG, {"metadata": {"name": name, "labels": labels}})
    assert names(api.ask("DELETE", f"{CONFIG}?labelSelector=x=1")) == ["a"]
    assert names(api.get(CONFIG)) == ["b"]


# --- namespaces, priorities, groups ---


def test_nothing_is_made_in_a_namespace_that_is_not_there_or_goes(api):
    path = "/api/v1/namespaces/team/configmaps"
    assert api.refused("POST", path, {"metadata": {"name": "a"}}, code=404) == 'namespaces "team" not found'
    api.create("/api/v1/namespaces", {"metadata": {"name": "team"}})
    api.create(path, {"metadata": {"name": "a"}})
    assert api.ask("DELETE", "/api/v1/namespaces/team")["status"]["phase"] == "Terminating"
    assert "being terminated" in api.refused("POST", path, {"metadata": {"name": "b"}}, code=403)
    done = {"metadata": {"name": "team"}, "spec": {"finalizers": []}}
    api.ask("PUT", "/api/v1/namespaces/team/finalize", done)
    assert api.ask("GET", "/api/v1/namespaces/team", code=404)


def test_pods_and_groups_get_the_priority_of_their_class(api):
    classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
    api.create(classes, {"metadata": {"name": "high"}, "value": 7})
    assert api.create(PODS, pod("a", priorityClassName="high"))["spec"]["priority"] == 7
    spec = {"schedulingPolicy": {"gang": {"minCount": 2}}, "priorityClassName": "high"}
    group = api.create(GROUPS, {"metadata": {"name": "g"}, "spec": spec})
    assert group["spec"]["priority"] == 7
    assert group["metadata"]["finalizers"] == ["scheduling.k8s.io/podgroup-protection"]
    message = api.refused("POST", PODS, pod("b", priorityClassName="none"), code=403)
    assert message == 'pods "b" is forbidden: no PriorityClass with name none was found'


# --- bindings and evictions ---


def test_a_binding_puts_a_pod_on_a_node_once(api):
    made = api.create(PODS, pod("a"))
    binding = {"metadata": {"name": "a", "uid": made["metadata"]["uid"]}, "target": {"name": "n1"}}
    api.ask("POST", f"{PODS}/a/binding", binding, code=201)
    bound = api.get(f"{PODS}/a")
    assert bound["spec"]["nodeName"] == "n1"
    assert [(one["type"], one["status"]) for one in bound["status"]["conditions"]] == [("PodScheduled", "True")]
    assert "already assigned" in api.refused("POST", f"{PODS}/a/binding", binding, code=409)


def test_a_binding_is_for_the_pod_that_it_names(api):
    api.create(PODS, pod("a"))
    binding = {"metadata": {"name": "a", "uid": "another"}, "target": {"name": "n1"}}
    assert "UID in precondition: another" in api.refused("POST", f"{PODS}/a/binding", binding, code=409)


def test_an_eviction_asks_the_budget(api):
    budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    api.create(PODS, pod("a", labels={"app": "x"}, nodeName="n"))
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    api.merge(f"{PODS}/a/status", {"status": ready})
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}}
    api.create(budgets, {"metadata": {"name": "b"}, "spec": spec})
    eviction = {"metadata": {"name": "a"}}
    refused = api.ask("POST", f"{PODS}/a/eviction", eviction, code=429)
    assert refused["details"]["causes"][0]["reason"] == "DisruptionBudget"
    status = {"observedGeneration": 1, "disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1}
    api.merge(f"{budgets}/b/status", {"status": status | {"expectedPods": 2}})
    api.ask("POST", f"{PODS}/a/eviction", eviction, code=201)
    assert "deletionTimestamp" in api.get(f"{PODS}/a")["metadata"]
    assert api.get(f"{budgets}/b")["status"]["disruptionsAllowed"] == 0


# --- custom kinds ---

WIDGETS = "/apis/x.io/v1/namespaces/default/widgets"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def definition():
    schema = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "required": ["size"],
                "properties": {"size": {"type": "integer"}, "colour": {"type": "string", "default": "red"}},
            },
        },
    }
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names_ = {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"]}
    spec = {"group": "x.io", "scope": "Namespaced", "names": names_, "versions": [version]}
    return {"metadata": {"name": "widgets.x.io"}, "spec": spec}


def widget(name, **spec):
    return {"apiVersion": "x.io/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec}


def test_custom_kinds_are_served_checked_and_defaulted(api):
    api.create(DEFINITIONS, definition())
    assert api.create(WIDGETS, widget("a", size=3, other=1))["spec"] == {"size": 3, "colour": "red"}
    assert "spec.size: Required value" in api.refused("POST", WIDGETS, widget("b"), code=422)
    assert "must be of type integer" in api.refused("POST", WIDGETS, widget("b", size="x"), code=422)
    resources = api.get("/apis/x.io/v1")["resources"]
    assert [(one["name"], one["shortNames"]) for one in resources] == [("widgets", ["wd"])]


def test_a_definition_goes_with_its_objects(api):
    api.create(DEFINITIONS, definition())
    api.create(WIDGETS, widget("a", size=3))
    api.ask("DELETE", f"{DEFINITIONS}/widgets.x.io")
    assert api.ask("GET", WIDGETS, code=404)
    api.create(DEFINITIONS, definition())
    assert names(api.get(WIDGETS)) == []


def test_a_definition_outlives_the_process():
    store = Store()
    Served(store).create(DEFINITIONS, definition())
    again = Served(store)
    assert again.create(WIDGETS, widget("a", size=3))["spec"]["colour"] == "red"


# --- what kubectl sends ---


def test_a_strict_client_is_told_of_fields_that_nobody_knows(api):
    wrong = pod("a") | {"foo": 1}
    assert 'unknown field "foo"' in api.refused("POST", f"{PODS}?fieldValidation=Strict", wrong, code=400)
    answer = api.answer("POST", PODS, wrong)
    assert isinstance(answer, Answer)
    assert answer.warnings == ('unknown field "foo"',)
    assert "foo" not in json.loads(answer.body)


def test_everything_is_allowed_to_who_got_in(api):
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    review = api.create(path, {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}})
    assert review["status"] == {"allowed": True}


def test_nobody_gets_in_without_a_token_even_where_there_is_none():
    api = Served()
    api.server = make_server(api.store, api.chance, token="")
    assert api.answer("GET", PODS, token="").code == 401


LONG = "x" * 100_000


@pytest.mark.parametrize(
    "ask",
    [
        lambda api, text: api.answer("POST", CONFIG, {"metadata": {"name": "a", "labels": {text: "x"}}}),
        lambda api, text: api.answer("POST", CONFIG, {"metadata": {"name": "a", "labels": {"x": text}}}),
        lambda api, text: api.answer("POST", CONFIG, {"metadata": {"name": "a", "finalizers": [text]}}),
        lambda api, text: api.answer("POST", f"{CONFIG}?fieldManager={text}", {"metadata": {"name": "a"}}),
        lambda api, text: api.answer("POST", PODS, pod("a", containers=[{"name": text, "image": text}])),
        lambda api, text: api.answer("POST", PODS, pod("a", overhead={text: "1"})),
        lambda api, text: api.answer("GET", f"{CONFIG}?labelSelector=a={text}"),
        lambda api, text: api.answer("GET", f"{CONFIG}?fieldSelector=metadata.name={text}"),
        lambda api, text: api.answer(
            "PATCH",
            f"{PODS}/a?fieldManager=x",
            {"apiVersion": "v1", "kind": "Pod", **pod("a", containers=[{"name": text}])},
            content_type=APPLY,
        ),
    ],
)
def test_nothing_is_remembered_of_long_texts_that_were_refused(ask):
    api = Served()
    ask(api, LONG)
    tracemalloc.start()
    try:
        for number in range(10):
            ask(api, f"{number}{LONG}")
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 3 * len(LONG)
