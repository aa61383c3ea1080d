"""Custom kinds from their definition to its end: what is served, what is refused, and what never stops the server."""

import json

import msgspec
import pytest

from muster.local.store.store import NotWritten, Store
from tests.local.serving import APPLY, MERGE, Served

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
DEFINITION = f"{DEFINITIONS}/widgets.example.com"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def version(name="v1", schema=OPEN, *, served=True, storage=True, **more):
    return {"name": name, "served": served, "storage": storage, "schema": {"openAPIV3Schema": schema}, **more}


def definition(*versions, plural="widgets", kind="Widget", **spec):
    names = {"plural": plural, "kind": kind}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": list(versions), **spec}
    return {"metadata": {"name": f"{plural}.example.com"}, "spec": spec}


def widget(name="a", *, number="v1", **fields):
    meta = {"name": name, **fields.pop("metadata", {})}
    return {"apiVersion": f"example.com/{number}", "kind": "Widget", "metadata": meta, **fields}


def conditions(document):
    return {one["type"]: (one["status"], one["reason"]) for one in document["status"]["conditions"]}


@pytest.fixture
def api():
    return Served()


# --- schemas that are too deep ---

NESTS = {
    "properties": ('{"type":"object","properties":{"a":', "}}"),
    "additionalProperties": ('{"type":"object","additionalProperties":', "}"),
    "items": ('{"type":"array","items":', "}"),
    "not": ('{"not":', "}"),
    "allOf": ('{"allOf":[', "]}"),
}


def deep(levels, how="properties"):
    """The body of a definition whose schema has schemas in schemas."""
    before, after = NESTS[how]
    inside = before * levels + '{"type":"object"}' + after * levels
    schema = '{"type":"object","properties":{"x":' + inside + "}}"
    return json.dumps(definition(version(schema="SCHEMA"))).replace('"SCHEMA"', schema).encode()


@pytest.mark.parametrize("how", NESTS)
@pytest.mark.parametrize("levels", [110, 170, 250, 320, 700, 4_000, 40_000])
def test_a_schema_that_is_too_deep_is_refused_and_not_stored(api, how, levels):
    code = api.answer("POST", DEFINITIONS, deep(levels, how)).code
    assert code in (400, 422)
    assert levels > 110 or code == 422, "in words about the schema"
    assert api.get(DEFINITIONS)["items"] == []


def test_a_schema_is_not_made_too_deep_later(api):
    api.create(DEFINITIONS, definition(version()))
    whole = json.loads(deep(170))
    spec = {"versions": whole["spec"]["versions"]}
    assert "100 levels" in api.refused("PATCH", DEFINITION, {"spec": spec}, code=422, content_type=MERGE)


@pytest.mark.parametrize("how", ["properties", "additionalProperties", "items"])
def test_a_schema_may_be_deeper_than_anybody_writes_one(api, how):
    api.ask("POST", DEFINITIONS, deep(90, how), code=201)
    value = {"type": "x"}
    for _ in range(90):
        value = [value] if how == "items" else {"a": value}
    api.create(WIDGETS, widget(x=value))
    api.merge(f"{WIDGETS}/a", {"metadata": {"labels": {"a": "b"}}})
    assert api.get("/openapi/v3/apis/example.com/v1")["paths"]
    assert conditions(api.get(DEFINITION))["Established"][0] == "True"


def stored_before(levels):
    """A store with a definition that this version would not take."""
    api = Served()
    api.create(DEFINITIONS, definition(version()))
    api.create(WIDGETS, widget("kept"))
    api.create(DEFINITIONS, definition(version(), plural="others", kind="Other"))
    stored = api.store.get("customresourcedefinitions.apiextensions.k8s.io", "", "widgets.example.com")
    document = msgspec.json.decode(stored.data)
    document["spec"]["versions"] = json.loads(deep(levels))["spec"]["versions"]
    number = api.store.version + 1
    document["metadata"]["resourceVersion"] = str(number)
    older = msgspec.structs.replace(stored, version=number, data=msgspec.json.encode(document))
    api.store.put("customresourcedefinitions.apiextensions.k8s.io", older)
    return api.store


@pytest.mark.parametrize("levels", [170, 320])
def test_a_definition_that_cannot_be_read_does_not_stop_the_start(levels):
    api = Served(stored_before(levels))
    found = conditions(api.get(DEFINITION))
    assert found["Established"] == ("False", "SchemaNotRead")
    assert api.get("/apis/example.com/v1/namespaces/default/others")["items"] == []
    assert api.answer("GET", WIDGETS).code == 404


def test_a_definition_that_is_made_readable_is_served_with_its_objects():
    api = Served(stored_before(170))
    api.merge(DEFINITION, {"spec": {"versions": [version()]}})
    assert conditions(api.get(DEFINITION))["Established"] == ("True", "InitialNamesAccepted")
    assert [one["metadata"]["name"] for one in api.get(WIDGETS)["items"]] == ["kept"]


def test_a_definition_that_cannot_be_read_can_be_deleted():
    api = Served(stored_before(320))
    api.ask("DELETE", DEFINITION)
    assert api.answer("GET", DEFINITION).code == 404
    assert api.store.count("widgets.example.com") == 0


def test_a_definition_that_a_bug_trips_over_stops_nobody(monkeypatch):
    store = Served(stored_before(10)).store
    monkeypatch.setattr("muster.local.schema.custom.shape", _trips)
    api = Served(store)
    assert api.get(DEFINITION)["metadata"]["name"] == "widgets.example.com"
    api.create("/api/v1/namespaces/default/configmaps", {"metadata": {"name": "a"}})


def _trips(_):
    raise KeyError("a bug")


# --- names that another has ---


@pytest.mark.parametrize("given_up", ["deleted", "renamed"])
def test_a_definition_gets_its_names_when_nobody_has_them_any_more(api, given_up):
    api.create(DEFINITIONS, definition(version()))
    api.merge(DEFINITION, {"spec": {"names": {"shortNames": ["w"]}}})
    api.create(
        DEFINITIONS,
        definition(version(), names={"plural": "wheels", "kind": "Wheel", "shortNames": ["w"]}, plural="wheels"),
    )
    wheels = f"{DEFINITIONS}/wheels.example.com"
    assert conditions(api.get(wheels))["NamesAccepted"] == ("False", "ShortNamesConflict")
    if given_up == "deleted":
        api.ask("DELETE", DEFINITION)
    else:
        api.merge(DEFINITION, {"spec": {"names": {"shortNames": None}}})
    assert conditions(api.get(wheels))["NamesAccepted"] == ("True", "NoConflicts")
    assert api.get("/apis/example.com/v1/namespaces/default/wheels")["items"] == []


def test_a_list_of_schemas_is_refused_whatever_is_in_them():
    schema = {
        "type": "object",
        "properties": {"l": {"type": "array", "items": [{"nobody": "knows", "type": "string"}]}},
    }
    made = definition({**version(), "schema": {"openAPIV3Schema": schema}})
    answer = Served().ask("POST", DEFINITIONS, made, code=422)
    fields = [cause["field"] for cause in answer["details"]["causes"]]
    assert fields == ["spec.validation.openAPIV3Schema.properties[l].items"]


# --- a disk that is full ---


class Full:
    """A log that takes so many changes, then none until it has room again."""

    room = 1_000

    def read(self):
        return ()

    def append(self, _storage, _stored, *, deleted):
        if not self.room:
            raise NotWritten("the disk is full")
        self.room -= 1

    def close(self):
        pass


def test_a_write_that_the_disk_has_no_room_for_is_refused_in_words(capsys):
    log = Full()
    api = Served(Store(log))
    log.room = 0
    words = api.refused("POST", "/api/v1/namespaces", {"metadata": {"name": "a"}}, code=500)
    assert words == "Internal error occurred: the disk is full"
    assert "Traceback" not in capsys.readouterr().out, "nobody is to look for a bug"
    assert api.answer("GET", "/api/v1/namespaces/a").code == 404


@pytest.mark.parametrize("room", range(1, 6))
def test_a_kind_is_served_although_the_disk_was_full_when_it_was_defined_or_changed(room):
    log = Full()
    api = Served(Store(log))
    log.room = room
    api.answer("POST", DEFINITIONS, definition(version()))
    log.room = 1_000
    # with any request, what was left undone is done
    api.get(DEFINITIONS)
    assert conditions(api.get(DEFINITION))["Established"] == ("True", "InitialNamesAccepted")
    api.create(WIDGETS, widget())
    log.room = room
    api.answer("PATCH", DEFINITION, {"spec": {"names": {"shortNames": ["w"]}}}, content_type=MERGE)
    assert api.get(f"{WIDGETS}/a")["metadata"]["name"] == "a"
    log.room = 1_000
    assert api.get(f"{WIDGETS}/a")["metadata"]["name"] == "a"
    assert api.get(DEFINITION)["status"]["acceptedNames"]["shortNames"] == ["w"]


@pytest.mark.parametrize("room", range(1, 6))
def test_a_definition_goes_with_its_objects_although_the_disk_was_full_meanwhile(room):
    log = Full()
    api = Served(Store(log))
    api.create(DEFINITIONS, definition(version()))
    for name in "abc":
        api.create(WIDGETS, widget(name))
    log.room = room
    api.ask("DELETE", DEFINITION)
    log.room = 1_000
    api.get(DEFINITIONS)
    assert api.answer("GET", DEFINITION).code == 404
    assert api.store.count("widgets.example.com") == 0


# --- the end of a kind ---


def ending(api):
    """A kind that is being deleted, held by one object."""
    api.create(DEFINITIONS, definition(version()))
    api.create(WIDGETS, widget("held", metadata={"finalizers": ["example.com/wait"]}))
    api.create(WIDGETS, widget("free"))
    api.ask("DELETE", DEFINITION)
    assert [one["metadata"]["name"] for one in api.get(WIDGETS)["items"]] == ["held"]


def test_a_definition_goes_when_the_last_finalizer_of_its_objects_does(api):
    ending(api)
    assert conditions(api.get(DEFINITION))["Terminating"] == ("True", "InstanceDeletionInProgress")
    api.merge(f"{WIDGETS}/held", {"metadata": {"finalizers": None}})
    assert api.answer("GET", DEFINITION).code == 404
    assert api.answer("GET", WIDGETS).code == 404


@pytest.mark.parametrize("policy", ["Foreground", "Orphan", "Background"])
def test_a_definition_takes_its_objects_with_it_whatever_is_asked_for(api, policy):
    """As Kubernetes; nobody would take the finalizer of another policy off."""
    api.create(DEFINITIONS, definition(version()))
    api.create(WIDGETS, widget())
    api.ask("DELETE", DEFINITION, {"propagationPolicy": policy})
    assert api.answer("GET", DEFINITION).code == 404
    assert api.store.count("widgets.example.com") == 0


def test_the_version_of_objects_that_are_there_is_not_forgotten(api):
    api.create(DEFINITIONS, definition(version()))
    status = api.merge(f"{DEFINITION}/status", {"status": {"storedVersions": []}})["status"]
    assert status["storedVersions"] == ["v1"]
    assert api.refused("PATCH", DEFINITION, {"spec": {"versions": [version("v2")]}}, code=422, content_type=MERGE)


def test_it_goes_when_the_process_did_not_live_to_see_it(api):
    ending(api)
    api = Served(api.store)
    api.merge(f"{WIDGETS}/held", {"metadata": {"finalizers": None}})
    assert api.answer("GET", DEFINITION).code == 404


def test_a_definition_without_a_version_that_is_served_takes_its_objects_with_it(api):
    api.create(DEFINITIONS, definition(version()))
    api.create(WIDGETS, widget())
    api.merge(DEFINITION, {"spec": {"versions": [version(served=False)]}})
    api.ask("DELETE", DEFINITION)
    assert api.answer("GET", DEFINITION).code == 404
    api.create(DEFINITIONS, definition(version()))
    assert api.get(WIDGETS)["items"] == []


def test_a_kind_that_is_going_takes_no_new_objects(api):
    ending(api)
    words = 'widgets.example.com "b" is forbidden: create not allowed while custom resource definition is terminating'
    assert api.refused("POST", WIDGETS, widget("b"), code=403) == words
    assert api.refused("POST", f"{WIDGETS}?dryRun=All", widget("b"), code=403) == words
    applied = api.refused("PATCH", f"{WIDGETS}/b?fieldManager=x", widget("b"), code=403, content_type=APPLY)
    assert applied == words
    api.merge(f"{WIDGETS}/held", {"metadata": {"labels": {"a": "b"}}})
    [row] = api.get("/apis/example.com/v1")["resources"]
    assert row["verbs"] == ["delete", "deletecollection", "get", "list", "watch"]


# --- patterns ---


def with_pattern(pattern):
    return definition(version(schema={"type": "object", "properties": {"s": {"type": "string", "pattern": pattern}}}))


@pytest.mark.parametrize(
    ("pattern", "fits", "does_not"),
    [
        (r"^\p{L}+$", "äß", "a1"),
        (r"^a\z", "a", "a\n"),
        ("^a$", "a", "a\n"),
        ("(?i)^abc$", "ABC", "ABD"),
        ("^[[:alpha:]]+$", "abc", "a1"),
        (r"^\d+$", "12", "\u0661"),
        (r"\bfoo\b", "a foo b", "food"),
        ("(?<n>a)b", "ab", "b"),
        ("^[^/]+$", "a", "/"),
    ],
)
def test_a_pattern_means_what_it_means_to_go(api, pattern, fits, does_not):
    api.create(DEFINITIONS, with_pattern(pattern))
    api.create(WIDGETS, widget(s=fits))
    words = f"s in body should match '{pattern}'"
    assert words in api.refused("POST", WIDGETS, widget("b", s=does_not), code=422)


@pytest.mark.parametrize("pattern", ["(?=a)", "a{1001}", "(a", "[z-a]", r"\Z", "*a", "a**"])
def test_what_is_no_pattern_to_go_is_refused(api, pattern):
    said = api.refused("POST", DEFINITIONS, with_pattern(pattern), code=422)
    assert "must be a valid regular expression, but isn't: error parsing regexp" in said


def test_a_patch_that_makes_no_object_of_one_is_refused(api):
    api.create(DEFINITIONS, with_pattern("a"))
    api.create(WIDGETS, widget())
    patch = [{"op": "replace", "path": "", "value": ["x"]}]
    api.refused("PATCH", f"{WIDGETS}/a", patch, code=422, content_type="application/json-patch+json")


def test_no_pattern_takes_longer_than_its_text_is_long(api):
    api.create(DEFINITIONS, with_pattern("^(a+)+$"))
    # Python's own would take longer than the world has
    api.refused("POST", WIDGETS, widget(s="a" * 10_000 + "b"), code=422)


# --- versions and defaults ---


def schema(**properties):
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}


TEXT = {"type": "string"}
OLD = schema(a=TEXT, n={"type": "integer"})
NEW = schema(a=TEXT, d={"type": "string", "default": "dd"})
SECOND = schema(a=TEXT, two={"type": "string", "default": "2"})
WIDGETS_2 = WIDGETS.replace("/v1/", "/v2/")


@pytest.fixture
def redefined(api):
    """An object of before the definition was changed: a field has gone, a default and a version have come."""
    api.create(DEFINITIONS, definition(version(schema=OLD)))
    api.create(WIDGETS, widget(spec={"a": "x", "n": 3}))
    redefine(api, version(schema=NEW), version("v2", SECOND, storage=False))
    return api


def redefine(api, *versions, **spec):
    return api.merge(DEFINITION, {"spec": {"versions": list(versions), **spec}})


def test_defaults_that_came_later_are_there_when_an_object_is_read(redefined):
    filled = {"a": "x", "d": "dd"}
    assert redefined.get(f"{WIDGETS}/a")["spec"] == filled
    assert [one["spec"] for one in redefined.get(WIDGETS)["items"]] == [filled]
    assert [one["object"]["spec"] for one in redefined.watch(WIDGETS).whole()] == [filled]
    patch = [{"op": "test", "path": "/spec/d", "value": "dd"}]
    redefined.ask("PATCH", f"{WIDGETS}/a", patch, content_type="application/json-patch+json")


def test_they_are_there_after_a_restart_too(redefined):
    assert Served(redefined.store).get(f"{WIDGETS}/a")["spec"] == {"a": "x", "d": "dd"}


def test_what_came_by_a_default_is_no_change_of_the_spec(redefined):
    changed = redefined.merge(f"{WIDGETS}/a", {"metadata": {"labels": {"a": "b"}}})
    assert (changed["spec"], changed["metadata"]["generation"]) == ({"a": "x", "d": "dd"}, 1)


def test_in_another_version_only_the_version_is_another(redefined):
    found = redefined.get(f"{WIDGETS_2}/a")
    assert (found["apiVersion"], found["spec"]) == ("example.com/v2", {"a": "x"})
    assert found["metadata"] == redefined.get(f"{WIDGETS}/a")["metadata"]


def test_what_the_version_in_which_it_is_stored_does_not_know_is_not_stored(redefined):
    made = redefined.create(WIDGETS_2, widget("b", number="v2", spec={"a": "q", "two": "3"}))
    assert made["spec"] == {"a": "q"}
    assert redefined.get(f"{WIDGETS}/b")["spec"] == {"a": "q", "d": "dd"}
    assert redefined.get(f"{WIDGETS_2}/b")["spec"] == {"a": "q"}


def test_an_object_is_checked_in_the_version_in_which_it_is_sent(api):
    needs = schema(two=TEXT)
    needs["properties"]["spec"]["required"] = ["two"]
    api.create(DEFINITIONS, definition(version(schema=OLD), version("v2", needs, storage=False)))
    api.refused("POST", WIDGETS_2, widget(number="v2", spec={}), code=422)
    api.create(WIDGETS_2, widget(number="v2", spec={"two": "x"}))
    api.merge(f"{WIDGETS}/a", {"spec": {"a": "y"}})


def test_who_changes_metadata_in_one_version_keeps_what_only_the_stored_one_knows(api):
    api.create(DEFINITIONS, definition(version(schema=OLD), version("v2", SECOND, storage=False)))
    api.create(WIDGETS, widget(spec={"a": "x", "n": 3}, metadata={"finalizers": ["example.com/wait"]}))
    api.merge(f"{WIDGETS_2}/a", {"metadata": {"labels": {"a": "b"}}})
    api.ask("DELETE", f"{WIDGETS_2}/a")
    assert api.get(f"{WIDGETS}/a")["spec"] == {"a": "x", "n": 3}


# --- conversion by webhooks, which nobody calls ---

HOOK = {
    "strategy": "Webhook",
    "webhook": {"clientConfig": {"url": "https://127.0.0.1:1/x"}, "conversionReviewVersions": ["v1"]},
}


def hooked(api):
    body = definition(version(schema=OLD), version("v2", SECOND, storage=False), conversion=HOOK)
    answer = api.answer("POST", DEFINITIONS, body)
    assert answer.code == 201
    api.create(WIDGETS, widget(spec={"a": "x", "n": 3}))
    return answer.warnings


def test_a_definition_whose_versions_need_a_webhook_says_that_none_is_called(api):
    [warning] = hooked(api)
    assert warning.startswith("spec.conversion: webhooks are not called")


def test_an_object_that_needs_a_webhook_is_shown_as_it_is_stored_and_not_written(api):
    hooked(api)
    assert api.get(f"{WIDGETS_2}/a")["spec"] == {"a": "x", "n": 3}
    words = "conversion webhook for example.com/v2, Kind=Widget failed"
    assert words in api.refused("POST", WIDGETS_2, widget("b", number="v2", spec={"two": "x"}), code=500)
    assert words in api.refused("PATCH", f"{WIDGETS_2}/a", {"spec": {"a": "y"}}, code=500, content_type=MERGE)
    assert api.get(f"{WIDGETS}/a")["spec"] == {"a": "x", "n": 3}


def test_those_who_look_after_metadata_may_do_so_without_a_webhook(api):
    hooked(api)
    api.merge(f"{WIDGETS_2}/a", {"metadata": {"labels": {"a": "b"}}})
    found = api.get(f"{WIDGETS}/a")
    assert (found["spec"], found["metadata"]["labels"]) == ({"a": "x", "n": 3}, {"a": "b"})
    api.ask("DELETE", f"{WIDGETS_2}/a")


# --- rules that are not evaluated ---


def test_a_definition_with_rules_that_are_not_evaluated_says_so(api):
    ruled = schema(a=TEXT)
    ruled["properties"]["spec"]["x-kubernetes-validations"] = [{"rule": "isURL(self.a)"}]
    answer = api.answer("POST", DEFINITIONS, definition(version(schema=ruled)))
    assert answer.code == 201
    [warning] = answer.warnings
    where = "spec.versions[0].schema.openAPIV3Schema.properties[spec].x-kubernetes-validations[0]"
    words = "this rule in CEL is not evaluated, objects that break it are taken"
    assert warning == f"{where} (function isURL): {words}"
    api.ask("POST", WIDGETS, widget(spec={"a": "no url"}), code=201)
    body = definition(version())
    assert api.answer("POST", DEFINITIONS, {**body, "metadata": {"name": "x"}}).warnings == ()


# --- scale ---

COUNT = {"type": "integer"}
SCALED = version(
    schema={
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": {"replicas": {**COUNT, "maximum": 100}, "a": TEXT}},
            "status": {"type": "object", "properties": {"replicas": COUNT, "selector": TEXT}},
        },
    },
    subresources={
        "status": {},
        "scale": {
            "specReplicasPath": ".spec.replicas",
            "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.selector",
        },
    },
)
SCALE = f"{WIDGETS}/a/scale"


@pytest.fixture
def scaled(api):
    api.create(DEFINITIONS, definition(SCALED))
    api.create(WIDGETS, widget(spec={"replicas": 2, "a": "x"}, metadata={"labels": {"l": "m"}}))
    return api


def scale(replicas, **meta):
    head = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a", "namespace": "default", **meta}}
    return {**head, "spec": {"replicas": replicas}}


def test_a_scale_shows_what_is_wanted_and_what_is_there(scaled):
    scaled.merge(f"{WIDGETS}/a/status", {"status": {"replicas": 1, "selector": "app=x"}})
    found = scaled.get(SCALE)
    assert sorted(found["metadata"]) == ["creationTimestamp", "name", "namespace", "resourceVersion", "uid"]
    assert (found["kind"], found["apiVersion"]) == ("Scale", "autoscaling/v1")
    assert (found["spec"], found["status"]) == ({"replicas": 2}, {"replicas": 1, "selector": "app=x"})


@pytest.mark.parametrize(
    ("method", "body", "content_type"),
    [
        ("PUT", scale(5), "application/json"),
        ("PUT", {"metadata": {"name": "a"}, "spec": {"replicas": 5}}, "application/json"),
        ("PATCH", {"spec": {"replicas": 5}}, MERGE),
        ("PATCH", [{"op": "replace", "path": "/spec/replicas", "value": 5}], "application/json-patch+json"),
    ],
)
def test_an_object_is_scaled_and_nothing_else_of_it_changes(scaled, method, body, content_type):
    before = scaled.get(f"{WIDGETS}/a")
    assert scaled.ask(method, SCALE, body, content_type=content_type)["spec"] == {"replicas": 5}
    after = scaled.get(f"{WIDGETS}/a")
    assert after["spec"] == {"replicas": 5, "a": "x"}
    assert after["metadata"]["labels"] == before["metadata"]["labels"]
    assert after["metadata"]["generation"] == 2
    owned = {one.get("subresource"): one["fieldsV1"]["f:spec"] for one in after["metadata"]["managedFields"]}
    assert owned == {None: {".": {}, "f:a": {}}, "scale": {"f:replicas": {}}}


def test_an_object_without_a_number_can_be_given_one(scaled):
    scaled.create(WIDGETS, widget("bare"))
    words = 'Internal error occurred: the spec replicas field ".spec.replicas" does not exist'
    assert scaled.refused("GET", f"{WIDGETS}/bare/scale", code=500) == words
    scaled.ask("PUT", f"{WIDGETS}/bare/scale", scale(3, name="bare"))
    assert scaled.get(f"{WIDGETS}/bare")["spec"] == {"replicas": 3}


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (scale(-1), 422),
        (scale(1000), 422),
        (scale(5, resourceVersion="1"), 409),
        (scale(5, uid="another"), 409),
        (scale(5, name="another"), 400),
        (scale("many"), 400),
    ],
)
def test_a_scale_that_is_wrong_is_refused(scaled, body, code):
    scaled.refused("PUT", SCALE, body, code=code)
    assert scaled.get(SCALE)["spec"] == {"replicas": 2}


def test_a_scale_can_be_tried(scaled):
    assert scaled.ask("PUT", f"{SCALE}?dryRun=All", scale(7))["spec"] == {"replicas": 7}
    assert scaled.get(SCALE)["spec"] == {"replicas": 2}


def test_only_kinds_with_a_scale_have_one(scaled):
    rows = {one["name"]: one for one in scaled.get("/apis/example.com/v1")["resources"]}
    assert rows["widgets/scale"] | {"verbs": []} == {
        "name": "widgets/scale",
        "singularName": "",
        "namespaced": True,
        "group": "autoscaling",
        "version": "v1",
        "kind": "Scale",
        "verbs": [],
    }
    scaled.refused("DELETE", SCALE, code=405)
    scaled.refused("GET", "/api/v1/namespaces/default/configmaps/a/scale", code=404)


# --- watches ---


def test_a_watch_ends_when_its_kind_is_served_otherwise_and_has_told_all_before(api):
    api.create(DEFINITIONS, definition(version(schema=OLD)))
    watch, other = api.watch(WIDGETS), api.watch("/api/v1/namespaces/default/configmaps")
    api.create(WIDGETS, widget(spec={"a": "x"}))
    api.merge(DEFINITION, {"metadata": {"labels": {"a": "b"}}})
    assert not watch.stream.ended
    redefine(api, version(schema=NEW))
    assert watch.stream.ended
    assert watch.events() == [("ADDED", "a")]
    assert not other.stream.ended


def test_a_watch_tells_of_all_deletions_when_its_kind_goes(api):
    api.create(DEFINITIONS, definition(version()))
    api.create(WIDGETS, widget())
    watch = api.watch(WIDGETS)
    api.ask("DELETE", DEFINITION)
    assert watch.stream.ended
    assert watch.events() == [("ADDED", "a"), ("DELETED", "a")]


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"replicas": -1}, ".spec.replicas: Invalid value: -1: should be a non-negative integer"),
        ({"replicas": "x"}, ".spec.replicas accessor error: x is of the type string, expected int64"),
    ],
)
def test_what_is_no_number_of_replicas_is_refused_in_the_object_too(scaled, spec, why):
    assert why in scaled.refused("POST", WIDGETS, widget("b", spec=spec), code=422)
    assert why in scaled.refused("PATCH", f"{WIDGETS}/a", {"spec": spec}, code=422, content_type=MERGE)


@pytest.mark.parametrize(("patch", "field"), [({"kind": "Other"}, "kind"), ({"apiVersion": "other/v1"}, "apiVersion")])
def test_a_patch_makes_no_object_of_another_kind_of_it(scaled, patch, field):
    answer = scaled.ask("PATCH", f"{WIDGETS}/a", patch, content_type="application/merge-patch+json", code=422)
    assert [cause["field"] for cause in answer["details"]["causes"]] == [field]
