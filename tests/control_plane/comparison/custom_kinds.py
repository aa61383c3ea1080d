"""Custom kinds: defined, established, their objects checked, pruned, defaulted, patched and applied; and gone again."""

from __future__ import annotations

from typing import Any

from tests.control_plane.comparison import objects
from tests.control_plane.comparison.steps import (
    JSON,
    SHAPES,
    TABLE,
    YAML,
    Step,
    at,
    create,
    delete,
    get,
    patch,
    titled,
    update,
    wait,
    watch,
)

NAMESPACE = "cmp-custom"
_CIRCLE_CRD = at("customresourcedefinitions", "", "circles.shapes.example.com")
_ESTABLISHED = "InitialNamesAccepted"

_SPEC = {
    "type": "object",
    "required": ["radius"],
    "properties": {
        "radius": {"type": "integer", "minimum": 1, "maximum": 100},
        "color": {"type": "string", "enum": ["red", "green"], "default": "red"},
        "name": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 5, "minLength": 2},
        "visible": {"type": "boolean", "default": True},
        "ratio": {"type": "number", "exclusiveMinimum": True, "minimum": 0},
        "size": {"x-kubernetes-int-or-string": True},
        "when": {"type": "string", "format": "date-time"},
        "border": {
            "type": "object",
            "default": {},
            "properties": {"width": {"type": "integer", "format": "int32", "default": 2}, "style": {"type": "string"}},
        },
        "points": {
            "type": "array",
            "maxItems": 3,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {
                    "name": {"type": "string"},
                    "x": {"type": "integer"},
                    "y": {"type": "integer", "default": 0},
                },
            },
        },
        "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "steps": {"type": "array", "items": {"type": "integer"}, "minItems": 1},
        "extra": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "none": {"type": "string", "nullable": True},
    },
}
_STATUS = {
    "type": "object",
    "properties": {"phase": {"type": "string", "default": "Drawn"}, "count": {"type": "integer"}},
}
_VERSION = {
    "schema": {
        "openAPIV3Schema": {"type": "object", "required": ["spec"], "properties": {"spec": _SPEC, "status": _STATUS}}
    },
    "subresources": {"status": {}},
    "additionalPrinterColumns": [
        {"name": "Radius", "type": "integer", "jsonPath": ".spec.radius"},
        {"name": "Color", "type": "string", "jsonPath": ".spec.color", "priority": 1},
        {"name": "Phase", "type": "string", "jsonPath": ".status.phase"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ],
}
CIRCLES = objects.definition(
    "circles",
    "Circle",
    version=_VERSION,
    names={"plural": "circles", "kind": "Circle", "shortNames": ["ci"], "categories": ["all", "shapes"]},
)
PLANES = objects.definition(
    "planes",
    "Plane",
    scope="Cluster",
    version={"schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}},
)


def circle(name: str, spec: object = None, **more: object) -> dict[str, Any]:
    return {
        "apiVersion": "shapes.example.com/v1",
        "kind": "Circle",
        "metadata": {"name": name},
        "spec": {"radius": 5} if spec is None else spec,
        **more,
    }


def _try(what: str, *, code: int = 422, **spec: object) -> Step:
    return create(what, at("circles", NAMESPACE, dryRun="All"), circle("c", {"radius": 5, **spec}), code=code)


_DEFINED = (
    create("define", at("customresourcedefinitions"), CIRCLES),
    wait("wait until it is established", _CIRCLE_CRD, until=_ESTABLISHED),
    wait("wait until it is served", at("circles", NAMESPACE)),
    create("define again", at("customresourcedefinitions"), CIRCLES, code=409),
    get("definition as a table", _CIRCLE_CRD, accept=TABLE),
    get("definition's status", f"{_CIRCLE_CRD}/status"),
    get("group", "/apis/shapes.example.com"),
    wait("resources", SHAPES, until='"circles/status"'),
    create("define a wide one", at("customresourcedefinitions"), PLANES),
    wait(
        "wait until the wide one is established",
        at("customresourcedefinitions", "", "planes.shapes.example.com"),
        until=_ESTABLISHED,
    ),
    wait("wait until the wide one is served", at("planes")),
)

_CHECKED = (
    create(
        "circle",
        at("circles", NAMESPACE),
        circle("one"),
        keep={"circle.1": "metadata.resourceVersion", "circle.uid": "metadata.uid"},
    ),
    create("circle again", at("circles", NAMESPACE), circle("one"), code=409),
    create(
        "no spec",
        at("circles", NAMESPACE),
        {"apiVersion": "shapes.example.com/v1", "kind": "Circle", "metadata": {"name": "x"}},
        code=422,
    ),
    create("no radius", at("circles", NAMESPACE), circle("x", {}), code=422),
    create("no name", at("circles", NAMESPACE), {**circle("x"), "metadata": {}}, code=422),
    create("bad name", at("circles", NAMESPACE), circle("Bad_Name"), code=422),
    create(
        "generated name", at("circles", NAMESPACE, dryRun="All"), {**circle("x"), "metadata": {"generateName": "made-"}}
    ),
    create("of another kind", at("circles", NAMESPACE), {**circle("x"), "kind": "Square"}, code=422),
    create(
        "of another version", at("circles", NAMESPACE), {**circle("x"), "apiVersion": "shapes.example.com/v2"}, code=400
    ),
    create("no kind", at("circles", NAMESPACE), {"metadata": {"name": "x"}, "spec": {"radius": 1}}, code=400),
    create("spec is a list", at("circles", NAMESPACE), circle("x", [1]), code=422),
    create(
        "metadata of a wrong type",
        at("circles", NAMESPACE),
        {**circle("x"), "metadata": {"name": "x", "labels": 7}},
        code=400,
    ),
    create("not JSON", at("circles", NAMESPACE), "{", code=400),
    _try("radius is a word", radius="wide"),
    _try("radius too large", radius=500),
    _try("radius too small", radius=0),
    _try("radius with a fraction", radius=1.5),
    _try("odd color", color="blue"),
    _try("odd name", name="TOO LONG"),
    _try("short name", name="a"),
    _try("ratio zero", ratio=0),
    _try("flag is a word", visible="yes"),
    _try("sizes", size="50%", code=201),
    _try("size is a flag", size=True),
    _try("time", when="2001-02-03T04:05:06Z", code=201),
    _try("time is a word", when="yesterday"),
    _try("border", border={"style": "dotted"}, code=201),
    _try("border is null", border=None, code=201),
    _try("nullable", none=None, code=201),
    _try("width over 32 bits", border={"width": 9999999999}),
    _try("points", points=[{"name": "a", "x": 1}, {"name": "b"}], code=201),
    _try("points of one name", points=[{"name": "a"}, {"name": "a"}]),
    _try("point without a name", points=[{"x": 1}]),
    _try("too many points", points=[{"name": name} for name in "abcd"]),
    _try("tags", tags=["a", "b"], code=201),
    _try("tags twice", tags=["a", "a"]),
    _try("steps are words", steps=["a"]),
    _try("no steps", steps=[]),
    _try("labels are numbers", labels={"a": 1}),
    _try("many errors", radius="x", color="blue", points=[{}], tags=[1]),
    _try("unknown fields are pruned", odd=1, border={"odd": {"x": 1}}, extra={"odd": 1}, code=201),
    create(
        "unknown fields, warned",
        at("circles", NAMESPACE, dryRun="All", fieldValidation="Warn"),
        circle("c", {"radius": 5, "odd": 1, "border": {"odd": 1}}, odd=1),
    ),
    create(
        "unknown fields, strict",
        at("circles", NAMESPACE, dryRun="All", fieldValidation="Strict"),
        circle("c", {"radius": 5, "odd": 1, "border": {"odd": 1}}, odd=1),
        code=400,
    ),
    create(
        "fields twice, strict",
        at("circles", NAMESPACE, dryRun="All", fieldValidation="Strict"),
        '{"apiVersion":"shapes.example.com/v1","kind":"Circle","metadata":{"name":"x"},"spec":{"radius":1,"radius":2}}',
        code=400,
    ),
    create(
        "unknown metadata, strict",
        at("circles", NAMESPACE, dryRun="All", fieldValidation="Strict"),
        {**circle("c"), "metadata": {"name": "c", "odd": 1}},
        code=400,
    ),
    create("status is given", at("circles", NAMESPACE, dryRun="All"), circle("c", status={"phase": "Erased"})),
    create(
        "of YAML",
        at("circles", NAMESPACE),
        "apiVersion: shapes.example.com/v1\nkind: Circle\n"
        "metadata: {name: two, labels: {a: b}}\nspec: {radius: 7, color: green}\n",
        content_type=YAML,
    ),
    create(
        "finalizer without a domain",
        at("circles", NAMESPACE, dryRun="All"),
        {**circle("c"), "metadata": {"name": "c", "finalizers": ["plain"]}},
    ),
    create(
        "wide",
        at("planes"),
        {
            "apiVersion": "shapes.example.com/v1",
            "kind": "Plane",
            "metadata": {"name": "flat"},
            "anything": {"goes": [1, 2.5, None]},
        },
    ),
    create("wide, in a namespace", f"{SHAPES}/namespaces/{NAMESPACE}/planes", {}, code=404),
    get("wide, as a table", at("planes"), accept=TABLE),
)

_ONE = at("circles", NAMESPACE, "one")
_CHANGED = (
    get("get", _ONE),
    get("get as YAML", _ONE, accept=YAML),
    get("get as a table", _ONE, accept=TABLE),
    get("list", at("circles", NAMESPACE)),
    get("list as a table", at("circles", NAMESPACE), accept=TABLE),
    get("list by label", at("circles", NAMESPACE, labelSelector="a=b")),
    get("list by name", at("circles", fieldSelector="metadata.name=one")),
    get("list by a field that cannot be", at("circles", NAMESPACE, fieldSelector="spec.radius=5"), code=400),
    get("list a page", at("circles", NAMESPACE, limit=1)),
    update(
        "update", _ONE, {**circle("one", {"radius": 6}), "metadata": {"name": "one", "resourceVersion": "${circle.1}"}}
    ),
    update(
        "update an old version",
        _ONE,
        {**circle("one", {"radius": 7}), "metadata": {"name": "one", "resourceVersion": "${circle.1}"}},
        code=409,
    ),
    update("update without a version", _ONE, circle("one", {"radius": 7}), code=422),
    update("update what is not there", at("circles", NAMESPACE, "nobody"), circle("nobody"), code=404),
    patch("merge", "merge", _ONE, {"spec": {"color": "green", "points": [{"name": "a", "x": 1}]}}),
    patch("merge, nothing new", "merge", _ONE, {"spec": {"color": "green"}}),
    patch("merge of nulls", "merge", _ONE, {"spec": {"color": None, "border": None}}),
    patch("merge to something invalid", "merge", _ONE, {"spec": {"radius": 1000}}, code=422),
    patch(
        "merge of an unknown field, strict", "merge", f"{_ONE}?fieldValidation=Strict", {"spec": {"odd": 1}}, code=422
    ),
    patch("merge of the status at the wrong place", "merge", _ONE, {"status": {"phase": "X"}}),
    patch(
        "merge of the status",
        "merge",
        f"{_ONE}/status",
        {"status": {"phase": "X"}, "spec": {"radius": 9}, "metadata": {"labels": {"s": "t"}}},
    ),
    patch("merge of a wrong status", "merge", f"{_ONE}/status", {"status": {"count": "many"}}, code=422),
    patch("JSON patch", "json", _ONE, [{"op": "replace", "path": "/spec/radius", "value": 8}]),
    patch("JSON patch, dry run", "json", f"{_ONE}?dryRun=All", [{"op": "add", "path": "/spec/tags", "value": ["a"]}]),
    patch("strategic is not for custom kinds", "strategic", _ONE, {"spec": {"radius": 9}}, code=415),
    patch(
        "apply",
        "apply",
        at("circles", NAMESPACE, "applied", fieldManager="one"),
        circle("applied", {"radius": 3, "points": [{"name": "a", "x": 1}], "tags": ["x"]}),
        code=201,
    ),
    patch(
        "apply a point of another",
        "apply",
        at("circles", NAMESPACE, "applied", fieldManager="two"),
        circle("applied", {"points": [{"name": "b", "x": 2}], "tags": ["y"]}),
    ),
    patch(
        "apply in conflict",
        "apply",
        at("circles", NAMESPACE, "applied", fieldManager="two"),
        circle("applied", {"radius": 4, "points": [{"name": "a", "x": 9}]}),
        code=409,
    ),
    patch(
        "apply by force",
        "apply",
        at("circles", NAMESPACE, "applied", fieldManager="two", force="true"),
        circle("applied", {"radius": 4, "points": [{"name": "a", "x": 9}]}),
    ),
    patch(
        "apply less",
        "apply",
        at("circles", NAMESPACE, "applied", fieldManager="one"),
        circle("applied", {"tags": ["x"]}),
    ),
    patch(
        "apply to something invalid",
        "apply",
        at("circles", NAMESPACE, "applied", fieldManager="two", force="true"),
        circle("applied", {"radius": 400}),
        code=422,
    ),
    patch(
        "apply an unknown field",
        "apply",
        at("circles", NAMESPACE, "applied", fieldManager="three"),
        circle("applied", {"odd": 1}),
        code=500,
    ),
    patch(
        "apply a wrong type",
        "apply",
        at("circles", NAMESPACE, "applied", fieldManager="three"),
        circle("applied", {"radius": "x"}),
        code=500,
    ),
    patch(
        "apply the status",
        "apply",
        at("circles", NAMESPACE, "applied", "status", fieldManager="three"),
        {**circle("applied"), "status": {"count": 1}},
    ),
    get("who owns what", at("circles", NAMESPACE, "applied")),
    watch("watch", at("circles", NAMESPACE, watch="true", timeoutSeconds=1, resourceVersion="${circle.1}")),
    watch("watch as a table", at("circles", NAMESPACE, watch="true", timeoutSeconds=1), accept=TABLE),
    delete(
        "delete by another uid",
        _ONE,
        objects.options(preconditions={"uid": "00000000-0000-0000-0000-000000000000"}),
        code=409,
    ),
    delete("delete", _ONE),
    get("gone", _ONE, code=404),
    delete("delete by label", at("circles", NAMESPACE, labelSelector="a=b")),
)

_SECOND = {**_VERSION, "name": "v2", "served": True, "storage": False}
_REDEFINED = (
    patch("definition: scope", "merge", _CIRCLE_CRD, {"spec": {"scope": "Cluster"}}, code=422),
    patch(
        "definition: two versions", "json", _CIRCLE_CRD, [{"op": "add", "path": "/spec/versions/-", "value": _SECOND}]
    ),
    wait("the second version is served", "/apis/shapes.example.com/v2/namespaces/cmp-custom/circles/applied"),
    create(
        "create in the second version",
        f"/apis/shapes.example.com/v2/namespaces/{NAMESPACE}/circles",
        {**circle("second"), "apiVersion": "shapes.example.com/v2"},
    ),
    get("read in the first version", at("circles", NAMESPACE, "second")),
    patch(
        "apply in the second version",
        "apply",
        f"/apis/shapes.example.com/v2/namespaces/{NAMESPACE}/circles/second?fieldManager=one",
        {**circle("second", {"name": "abc"}), "apiVersion": "shapes.example.com/v2"},
    ),
    delete("definition: delete", _CIRCLE_CRD),
    wait("definition: gone", _CIRCLE_CRD, code=404),
    wait("circles are no more", at("circles", NAMESPACE), code=404),
    delete("wide definition: delete", at("customresourcedefinitions", "", "planes.shapes.example.com")),
    wait("wide definition: gone", at("customresourcedefinitions", "", "planes.shapes.example.com"), code=404),
    wait("planes are no more", at("planes"), code=404),
    create("define again after all", at("customresourcedefinitions", dryRun="All"), CIRCLES, accept=JSON),
)

STEPS = titled(
    "custom kinds",
    create("a namespace", at("namespaces"), objects.namespace(NAMESPACE)),
    *_DEFINED,
    *_CHECKED,
    *_CHANGED,
    *_REDEFINED,
)
