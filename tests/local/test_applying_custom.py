"""Server-side apply of custom objects, through the server: nothing is lost that its writer did not own.

tests/control_plane/comparison/applying_custom.py asks the real server the same questions, and more of them.
"""

import pytest

from tests.local.serving import APPLY, MERGE, STRATEGIC, Served

TEXT = {"type": "string"}
OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
TYPED = {
    "type": "object",
    "properties": {
        "number": {"type": "integer"},
        "flag": {"type": "boolean"},
        "text": TEXT,
        "size": {"x-kubernetes-int-or-string": True},
        "none": {"type": "string", "nullable": True},
        "seven": {"type": "integer", "default": 7},
        "steps": {"type": "array", "items": {"type": "integer"}},
        "tags": {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"},
        "labels": {"type": "object", "additionalProperties": TEXT},
        "whole": {"type": "object", "additionalProperties": TEXT, "x-kubernetes-map-type": "atomic"},
        "ports": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["port", "protocol"],
            "items": {
                "type": "object",
                "required": ["port"],
                "properties": {
                    "port": {"type": "integer"},
                    "protocol": {"type": "string", "default": "TCP"},
                    "name": TEXT,
                },
            },
        },
        "extra": OPEN,
        "template": {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "properties": {"spec": {"type": "object", "properties": {"image": TEXT}}},
        },
    },
}
CONDITIONS = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
    "items": {"type": "object", "required": ["type"], "properties": {"type": TEXT, "seen": {"type": "integer"}}},
}
STATUS = {"type": "object", "properties": {"count": {"type": "integer"}, "conditions": CONDITIONS}}


class Widgets:
    """A kind with some schema in the versions v1 and v2, and one object of it."""

    def __init__(self, spec=TYPED, status=STATUS, *, spec_v2=None):
        self.server = Served()
        versions = [self._version("v1", spec, status), self._version("v2", spec_v2 or spec, status)]
        names = {"plural": "widgets", "kind": "Widget"}
        definition = {"group": "try.dev", "scope": "Namespaced", "names": names, "versions": versions}
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        self.server.create(path, {"metadata": {"name": "widgets.try.dev"}, "spec": definition})

    def _version(self, name, spec, status):
        schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}}
        return {"name": name, "served": True, "storage": name == "v1", "schema": schema, "subresources": {"status": {}}}

    def _path(self, version, sub=""):
        return f"/apis/try.dev/{version}/namespaces/default/widgets/it" + (f"/{sub}" if sub else "")

    is_new = True

    def apply(self, by, spec=None, *, code=None, version="v1", force=False, sub="", labels=None, status=None):
        body = {"apiVersion": f"try.dev/{version}", "kind": "Widget", "metadata": {"name": "it"}}
        body |= {"spec": spec} if spec is not None else {}
        body |= {"status": status} if status is not None else {}
        body["metadata"] |= {"labels": labels} if labels else {}
        path = f"{self._path(version, sub)}?fieldManager={by}" + ("&force=true" if force else "")
        is_new = self.is_new and not sub
        answer = self.server.ask("PATCH", path, body, content_type=APPLY, code=code or (201 if is_new else 200))
        self.is_new = self.is_new and code is not None
        return answer

    def patch(self, by, body, *, version="v1"):
        return self.server.merge(f"{self._path(version)}?fieldManager={by}", body)

    def redefine(self, operations):
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.try.dev"
        self.server.ask("PATCH", path, operations, content_type="application/json-patch+json")

    def live(self):
        return self.server.get(self._path("v1"))

    def spec(self):
        return self.live().get("spec")

    def owners(self):
        return {
            (one["manager"], one["apiVersion"]): one["fieldsV1"] for one in self.live()["metadata"]["managedFields"]
        }


WILD = {"a": {"b": [1, {"c": None}], "zero": 0, "no": False, "empty": ""}, "list": [], "map": {}, "half": 1.5}


def test_what_a_schema_does_not_know_but_preserves_is_kept():
    widgets = Widgets(OPEN, OPEN)
    assert widgets.apply("one", WILD)["spec"] == WILD
    assert widgets.apply("one", sub="status", status=WILD)["status"] == WILD
    assert widgets.spec() == WILD


def test_zeros_are_values():
    zeros = {"number": 0, "flag": False, "text": "", "steps": [], "tags": [], "labels": {}, "ports": [], "size": 0}
    widgets = Widgets()
    assert widgets.apply("one", zeros)["spec"] == {**zeros, "seven": 7}
    widgets.apply("two", zeros)
    assert widgets.owners()["two", "try.dev/v1"] == widgets.owners()["one", "try.dev/v1"]
    assert widgets.apply("one")["spec"] == {**zeros, "seven": 7}


def test_an_empty_list_that_is_all_that_is_sent_is_there():
    widgets = Widgets()
    widgets.apply("one", {"number": 1})
    assert widgets.apply("one", {"tags": []})["spec"] == {"tags": [], "seven": 7}


@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize("full", [{"tags": ["a", "b"]}, {"ports": [{"port": 1}]}])
def test_a_list_is_cleared_by_applying_an_empty_one(full, version):
    widgets, empty = Widgets(), {name: [] for name in full}
    widgets.apply("one", {"number": 1, **full})
    assert widgets.apply("one", {"number": 1, **empty}, version=version)["spec"] == {"number": 1, "seven": 7, **empty}
    assert widgets.apply("one", {"number": 1, **empty}, version=version)["spec"] == {"number": 1, "seven": 7, **empty}
    assert widgets.apply("one", {"number": 1}, version=version)["spec"] == {"number": 1, "seven": 7, **empty}


def test_an_empty_list_of_another_stays_when_all_else_goes():
    widgets = Widgets({**TYPED, "properties": {"number": {"type": "integer"}, "tags": TYPED["properties"]["tags"]}})
    widgets.apply("one", {"number": 1}, labels={"l": "1"})
    widgets.patch("two", {"spec": {"tags": []}})
    assert widgets.apply("one")["spec"] == {"tags": []}


def test_owners_go_when_the_last_of_what_they_own_goes():
    widgets = Widgets()
    widgets.apply("one")
    live = widgets.apply("one", sub="status", status={"count": 1})
    assert [entry["manager"] for entry in live["metadata"]["managedFields"]] == ["one"]
    body = {"metadata": {"name": "it", "resourceVersion": live["metadata"]["resourceVersion"]}}
    body |= {"apiVersion": "try.dev/v1", "kind": "Widget"}
    live = widgets.server.ask("PUT", "/apis/try.dev/v1/namespaces/default/widgets/it/status", body)
    assert "managedFields" not in live["metadata"]


@pytest.mark.parametrize(("schema", "spec"), [(OPEN, WILD), (TYPED, {"number": 0, "flag": False, "text": ""})])
def test_a_manager_of_one_label_leaves_the_rest_alone(schema, spec):
    widgets = Widgets(schema, OPEN)
    widgets.apply("one", spec)
    widgets.apply("one", sub="status", status={"seen": 0})
    before = widgets.live()
    live = widgets.apply("two", labels={"l": "1"})
    assert live["metadata"]["labels"] == {"l": "1"}
    assert (live["spec"], live["status"]) == (before["spec"], before["status"])
    assert live["metadata"]["generation"] == before["metadata"]["generation"]


def test_what_another_version_owns_is_a_conflict():
    widgets = Widgets()
    widgets.apply("one", {"number": 1, "labels": {"a": "1"}})
    refused = widgets.apply("two", {"number": 2, "labels": {"a": "2"}}, version="v2", code=409)
    assert [(cause["message"], cause["field"]) for cause in refused["details"]["causes"]] == [
        ('conflict with "one"', ".spec.number"),
        ('conflict with "one"', ".spec.labels.a"),
    ]
    assert widgets.spec() == {"number": 1, "labels": {"a": "1"}, "seven": 7}


def test_owners_of_all_versions_are_kept():
    widgets = Widgets()
    widgets.apply("one", {"number": 1})
    widgets.apply("two", {"flag": False}, version="v2")
    widgets.patch("three", {"spec": {"text": ""}}, version="v2")
    assert set(widgets.owners()) == {("one", "try.dev/v1"), ("two", "try.dev/v2"), ("three", "try.dev/v2")}
    widgets.patch("four", {"spec": {"number": 2}}, version="v2")
    assert set(widgets.owners()) == {("two", "try.dev/v2"), ("three", "try.dev/v2"), ("four", "try.dev/v2")}


def test_a_write_of_what_another_owners_version_does_not_know_is_nobodys_and_applies_go_on():
    """Noted, it would be in a version that refuses the object: 500 for every apply in the other from then on."""
    other = {"type": "object", "properties": {"number": {"type": "integer"}, "later": {**TEXT, "default": "x"}}}
    widgets = Widgets(spec_v2=other)
    widgets.apply("one", {"number": 1, "text": "x"})
    widgets.patch("two", {"metadata": {"labels": {"a": "b"}}}, version="v2")
    assert set(widgets.owners()) == {("one", "try.dev/v1")}
    assert widgets.apply("one", {"number": 2, "text": "x"})["spec"] == {"number": 2, "text": "x", "seven": 7}
    assert widgets.live()["metadata"]["labels"] == {"a": "b"}


def test_an_owner_whose_version_is_no_longer_served_is_an_owner():
    widgets = Widgets()
    widgets.apply("one", {"number": 1}, version="v2")
    widgets.redefine([{"op": "replace", "path": "/spec/versions/1/served", "value": False}])
    widgets.apply("two", {"number": 2}, code=409)
    widgets.apply("two", {"flag": False})
    assert set(widgets.owners()) == {("one", "try.dev/v2"), ("two", "try.dev/v1")}


def test_an_owner_whose_version_is_gone_is_forgotten():
    """Kubernetes refuses every later apply with 500."""
    widgets = Widgets()
    widgets.apply("one", {"number": 1}, version="v2")
    widgets.redefine([{"op": "remove", "path": "/spec/versions/1"}])
    assert widgets.apply("two", {"number": 2})["spec"] == {"number": 2, "seven": 7}
    assert set(widgets.owners()) == {("two", "try.dev/v1")}


def test_a_manager_that_goes_on_in_another_version_gives_up_what_it_leaves_out():
    widgets = Widgets()
    widgets.apply("one", {"number": 1, "text": "x", "labels": {"a": "1"}})
    widgets.apply("two", {"labels": {"b": "1"}}, version="v2")
    widgets.apply("one", {"number": 1}, version="v2")
    assert widgets.spec() == {"number": 1, "labels": {"b": "1"}, "seven": 7}
    assert set(widgets.owners()) == {("one", "try.dev/v2"), ("two", "try.dev/v2")}


def test_what_an_owners_version_does_not_know_is_refused_rather_than_lost():
    later = {**TYPED, "properties": {**TYPED["properties"], "later": TEXT}}
    widgets = Widgets(spec_v2=later)
    widgets.apply("one", {"number": 1})
    refused = widgets.apply("two", {"later": "x"}, version="v2", code=500)
    assert refused["message"] == "failed to convert new object: .spec.later: field not declared in schema"
    assert widgets.spec() == {"number": 1, "seven": 7}


def test_what_nobody_names_any_more_goes_and_a_default_comes_back():
    widgets = Widgets()
    widgets.apply("one", {"number": 0, "seven": 8, "tags": ["a", "b"], "extra": {"x": {"y": 0}, "z": 1}})
    widgets.apply("two", {"tags": ["b"], "extra": {"z": 1}})
    assert widgets.apply("one")["spec"] == {"seven": 7, "tags": ["b"], "extra": {"z": 1}}


def test_force_takes_fields_and_a_conflict_changes_nothing():
    widgets = Widgets()
    before = widgets.apply("one", {"steps": [1], "whole": {"a": "1"}, "extra": {"a": {"b": 0}}})
    claim = {"steps": [], "whole": {"b": ""}, "extra": {"a": {"b": False, "c": None}}}
    refused = widgets.apply("two", claim, code=409)
    assert {cause["field"] for cause in refused["details"]["causes"]} == {
        ".spec.steps",
        ".spec.whole",
        ".spec.extra.a.b",
    }
    assert widgets.live() == before
    assert widgets.apply("two", claim, force=True)["spec"] == {**claim, "seven": 7}
    assert widgets.owners()["one", "try.dev/v1"] == {"f:spec": {"f:extra": {"f:a": {}}}}


def test_items_of_keyed_lists_have_owners_of_their_own():
    widgets = Widgets()
    widgets.apply("one", {"ports": [{"port": 1, "name": ""}, {"port": 2}]})
    widgets.apply("two", {"ports": [{"port": 2, "name": "b"}, {"port": 3, "protocol": "UDP"}]})
    assert widgets.apply("one", {"ports": [{"port": 2}]})["spec"]["ports"] == [
        {"port": 2, "protocol": "TCP", "name": "b"},
        {"port": 3, "protocol": "UDP"},
    ]


def test_a_status_is_applied_by_itself():
    widgets = Widgets()
    widgets.apply("one", {"number": 1})
    first = {"count": 0, "conditions": [{"type": "A", "seen": 0}]}
    live = widgets.apply("one", {"number": 9}, sub="status", status=first, labels={"not": "this-way"})
    assert (live["spec"], live["status"]) == ({"number": 1, "seven": 7}, first)
    assert "labels" not in live["metadata"]
    live = widgets.apply("two", sub="status", status={"conditions": [{"type": "B"}]}, version="v2")
    assert live["status"] == {"count": 0, "conditions": [{"type": "A", "seen": 0}, {"type": "B"}]}
    widgets.apply("two", sub="status", status={"count": 1}, version="v2", code=409)
    assert widgets.apply("one", {"number": 1}, status={"count": 5})["status"] == live["status"]


def test_an_embedded_object_may_say_what_it_is():
    widgets = Widgets()
    template = {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a": ""}}, "spec": {"image": ""}}
    assert widgets.apply("one", {"template": template})["spec"]["template"] == template
    live = widgets.apply("two", {"template": {"metadata": {"labels": {"b": "1"}}}})
    assert live["spec"]["template"]["metadata"] == {"labels": {"a": "", "b": "1"}}


def test_the_metadata_of_an_embedded_object_are_checked_like_any():
    widgets = Widgets()
    template = {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a b": "c"}, "name": "x/y"}}
    path = "/apis/try.dev/v1/namespaces/default/widgets"
    widget = {"apiVersion": "try.dev/v1", "kind": "Widget", "metadata": {"name": "it"}, "spec": {"template": template}}
    answer = widgets.server.ask("POST", path, widget, code=422)
    fields = [cause["field"] for cause in answer["details"]["causes"]]
    assert fields == ["spec.template.metadata.name", "spec.template.metadata.labels"]


@pytest.mark.parametrize("wrong", [7, 1.5, True, 0, "text", {"a": 1}])
def test_a_patch_that_puts_something_else_in_the_place_of_a_list_is_refused_in_words(wrong):
    widgets = Widgets()
    widgets.apply("one", {"ports": [{"port": 1}]})
    path = "/apis/try.dev/v1/namespaces/default/widgets/it"
    answer = widgets.server.ask("PATCH", path, {"spec": {"ports": wrong}}, content_type=MERGE, code=422)
    assert [cause["field"] for cause in answer["details"]["causes"]] == ["spec.ports"]
    assert widgets.spec()["ports"] == [{"port": 1, "protocol": "TCP"}]


def test_a_null_is_kept_where_it_may_be_and_refused_elsewhere():
    widgets = Widgets()
    assert widgets.apply("one", {"none": None})["spec"] == {"none": None, "seven": 7}
    widgets.apply("one", {"none": None, "number": None}, code=422)
    assert widgets.spec() == {"none": None, "seven": 7}


def test_a_strategic_merge_patch_of_a_custom_object_is_neither_offered_nor_taken():
    widgets = Widgets()
    widgets.apply("one", {"number": 1})
    path = "/apis/try.dev/v1/namespaces/default/widgets/it"
    widgets.server.refused("PATCH", path, {"spec": {"number": 2}}, content_type=STRATEGIC, code=415)
    document = widgets.server.get("/openapi/v3/apis/try.dev/v1")
    offered = document["paths"]["/apis/try.dev/v1/namespaces/{namespace}/widgets/{name}"]["patch"]["requestBody"]
    assert STRATEGIC not in offered["content"]
