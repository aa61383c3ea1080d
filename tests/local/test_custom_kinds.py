"""Custom kinds from their definition to its end: what is served, what is refused, and what never stops the server."""

import json

import msgspec
import pytest

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


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("(a", "missing closing ): `(a`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        (r"\Z", r"invalid escape sequence: `\Z`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("a**", "invalid nested repetition operator: `**`"),
    ],
)
def test_what_is_no_pattern_to_go_is_refused(api, pattern, why):
    said = api.refused("POST", DEFINITIONS, with_pattern(pattern), code=422)
    assert f"must be a valid regular expression, but isn't: error parsing regexp: {why}" in said


def test_no_pattern_takes_longer_than_its_text_is_long(api):
    api.create(DEFINITIONS, with_pattern("^(a+)+$"))
    # Python's own would take longer than the world has
    api.refused("POST", WIDGETS, widget(s="a" * 10_000 + "b"), code=422)
