"""Rules in CEL of custom kinds: definitions that are refused for theirs, and objects that break them."""

from __future__ import annotations

from typing import Any

from tests.control_plane.comparison import objects
from tests.control_plane.comparison.steps import Step, at, create, delete, patch, titled, update, wait

NAMESPACE = "cmp-rules"
_RULES = "x-kubernetes-validations"
_CRD = at("customresourcedefinitions", "", "squares.shapes.example.com")
_NUMBER, _TEXT = {"type": "integer"}, {"type": "string", "maxLength": 20}


def _ruled(*rules: object, **schema: object) -> dict[str, Any]:
    return {**schema, _RULES: [one if isinstance(one, dict) else {"rule": one} for one in rules]}


_FIELDS: dict[str, Any] = {
    "side": _NUMBER,
    "name": _TEXT,
    "size": {"x-kubernetes-int-or-string": True},
    "grows": _ruled({"rule": "self >= oldSelf", "message": "must not shrink"}, type="integer"),
    "none": _ruled("self == 'a'", type="string", nullable=True, maxLength=5),
    "tags": _ruled("self.size() < 3", type="array", maxItems=5, items=_ruled("self != 'z'", **_TEXT)),
    "labels": {
        "type": "object",
        "maxProperties": 5,
        "additionalProperties": _ruled({"rule": "self < 5", "reason": "FieldValueForbidden"}, **_NUMBER),
    },
    "points": {
        "type": "array",
        "maxItems": 3,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "items": {
            "type": "object",
            "required": ["name"],
            "properties": {"name": _TEXT, "x": _ruled("self >= oldSelf", type="integer")},
        },
    },
    "set": {"type": "array", "maxItems": 5, "x-kubernetes-list-type": "set", "items": _TEXT},
    "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
}
_OF_SPEC = (
    {"rule": "!has(self.side) || self.side > 0", "message": " must have a side "},
    {"rule": "!has(self.side) || self.side < 9", "messageExpression": "'side of ' + self.name"},
    {"rule": "!has(self.name) || self.name.matches('^[a-z]+$')", "fieldPath": ".name", "reason": "FieldValueRequired"},
    {"rule": "self.?size.orValue(1) != 7", "reason": "FieldValueDuplicate"},
    {"rule": "!has(self.side) || self.labels['wide'] < 9", "message": "is wide"},
    {"rule": "self.set == oldSelf.set", "fieldPath": ".set", "message": "field is immutable"},
    {"rule": "!has(self.open) || self.open == oldSelf.open", "message": "stays open"},
)
_STATUS = {"type": "object", "properties": {"count": _ruled("self < 5", type="integer")}}


def _definition(spec: dict[str, Any], *, plural: str = "squares", kind: str = "Square", **root: object) -> Any:
    schema = {"type": "object", "properties": {"spec": spec, "status": _STATUS}, **root}
    return objects.definition(
        plural, kind, version={"schema": {"openAPIV3Schema": schema}, "subresources": {"status": {}}}
    )


def _square(called: str, **spec: object) -> dict[str, Any]:
    meta = {"name": called}
    return {"apiVersion": "shapes.example.com/v1", "kind": "Square", "metadata": meta, "spec": spec}


def _define(what: str, *rules: object, code: int = 422, **fields: object) -> Step:
    spec = _ruled(*rules, type="object", properties={**_FIELDS, **fields})
    body = _definition(spec, plural="odds", kind="Odd")
    return create(f"a rule that {what}", at("customresourcedefinitions", dryRun="All"), body, code=code)


def _try(what: str, *, code: int = 422, **spec: object) -> Step:
    return create(f"an object that {what}", at("squares", NAMESPACE, dryRun="All"), _square("s", **spec), code=code)


def _change(what: str, *, code: int = 422, **spec: object) -> Step:
    body = _square("one", **{"grows": 5, "set": ["a", "b"], "points": [{"name": "p", "x": 3}], **spec})
    body["metadata"]["resourceVersion"] = "${square.1}"
    return update(f"a change that {what}", at("squares", NAMESPACE, "one", dryRun="All"), body, code=code)


_DEFINITIONS = (
    _define("names no field", "self.nosuch == 1"),
    _define("is of two types", "self.side == 'a' || self.name > 1"),
    _define("is no expression", "self.side =="),
    _define("is no bool", "self.side + 1"),
    _define("is empty", " "),
    _define("has two lines", "self.side >\n 1"),
    _define("uses an unknown function", "nosuch(self.side) && self.name.nosuch()"),
    _define("has a bad pattern", "self.name.matches('[')"),
    _define("says nothing", {"rule": "true", "message": " "}),
    _define("has an odd message", {"rule": "true", "messageExpression": "self.side"}),
    _define("has an odd reason", {"rule": "true", "reason": "Odd"}),
    _define("blames nobody", {"rule": "true", "fieldPath": ".nosuch"}),
    _define("blames an item", {"rule": "true", "fieldPath": ".tags[0]"}),
    _define("does not look back", {"rule": "true", "optionalOldSelf": True}),
    _define("looks back", inner=_ruled("self == oldSelf", **_TEXT) | {"default": "a"}, code=201),
    _define(
        "looks back at items",
        items={"type": "array", "maxItems": 3, "items": _ruled("self == oldSelf", **_TEXT)},
    ),
    _define("knows no type", nothing=_ruled("true", **{"x-kubernetes-preserve-unknown-fields": True})),
    _define("its default breaks", five=_ruled("self > 5", type="integer", default=1)),
    _define("two levels break", "self.x", deep=_ruled("self > 'a'", type="integer")),
)

_OBJECTS = (
    _try("keeps the rules", code=201, side=3, name="abc", labels={"wide": 1}, tags=["a"], none=None),
    _try("has no side", side=0, labels={"wide": 1}),
    _try("has a long side", side=11, name="abc", labels={"wide": 1}),
    _try("has a bad name", name="A1"),
    _try("has a bad size", size=7),
    _try("has no such key", side=3, labels={}),
    _try("has bad items", tags=["a", "z", "z"]),
    _try("has bad values", labels={"a.b": 7}),
    _try("has another type", side="x"),
    _try("is too long", name="n" * 21),
)

STEPS = titled(
    "rules of custom kinds",
    create("a namespace", at("namespaces"), objects.namespace(NAMESPACE)),
    *_DEFINITIONS,
    create(
        "define",
        at("customresourcedefinitions"),
        _definition(_ruled(*_OF_SPEC, type="object", properties=_FIELDS)),
    ),
    wait("wait until it is served", at("squares", NAMESPACE)),
    *_OBJECTS,
    create(
        "a square",
        at("squares", NAMESPACE),
        _square("one", grows=5, set=["a", "b"], points=[{"name": "p", "x": 3}]),
        keep={"square.1": "metadata.resourceVersion"},
    ),
    _change("breaks nothing", code=200, grows=6, set=["b", "a"], points=[{"name": "q", "x": 0}, {"name": "p", "x": 3}]),
    _change("shrinks", grows=4),
    _change("changes a set", set=["a", "c"]),
    _change("changes an item", points=[{"name": "q", "x": 0}, {"name": "p", "x": 2}]),
    patch(
        "a patch that breaks a rule",
        "merge",
        at("squares", NAMESPACE, "one"),
        {"spec": {"side": 11, "labels": {"wide": 1}}},
        code=422,
    ),
    patch(
        "a status that breaks a rule",
        "merge",
        at("squares", NAMESPACE, "one", "status"),
        {"status": {"count": 7}},
        code=422,
    ),
    patch("a status that does not", "merge", at("squares", NAMESPACE, "one", "status"), {"status": {"count": 4}}),
    delete("definition: delete", _CRD),
    wait("definition: gone", _CRD, code=404),
)
