"""Custom kinds that change: versions, defaults that come later, scale, patterns, and the end of a kind."""

from __future__ import annotations

from typing import Any

from tests.control_plane.comparison import objects
from tests.control_plane.comparison.steps import (
    TABLE,
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

NAMESPACE = "cmp-versions"
_GROUP = "shapes.example.com"
_ESTABLISHED = "InitialNamesAccepted"


def _path(plural: str, name: str = "", sub: str = "", *, version: str = "v1") -> str:
    parts = ("/apis", _GROUP, version, "namespaces", NAMESPACE, plural, name, sub)
    return "/".join(part for part in parts if part)


def _crd(plural: str) -> str:
    return at("customresourcedefinitions", "", f"{plural}.{_GROUP}")


def _defined(what: str, body: dict[str, Any]) -> tuple[Step, ...]:
    plural = body["spec"]["names"]["plural"]
    return (
        create(f"{what}: define", at("customresourcedefinitions"), body),
        wait(f"{what}: wait until it is established", _crd(plural), until=_ESTABLISHED),
        wait(f"{what}: wait until it is served", _path(plural)),
    )


def _object(kind: str, name: str, *, version: str = "v1", **more: object) -> dict[str, Any]:
    metadata = {"name": name, **more.pop("metadata", {})}
    return {"apiVersion": f"{_GROUP}/{version}", "kind": kind, "metadata": metadata, **more}


def _schema(**properties: object) -> dict[str, Any]:
    return {"openAPIV3Schema": {"type": "object", "properties": properties}}


# --- patterns ---

_PATTERNS = {
    "letters": (r"^\p{L}+$", "äß", "a1"),
    "end": (r"^a\z", "a", "a\n"),
    "dollar": ("^a$", "a", "a\n"),
    "case": ("(?i)^abc$", "ABC", "ABD"),
    "posix": ("^[[:alpha:]]+$", "abc", "a1"),
    "digits": (r"^\d+$", "12", "\u0661"),
    "word": (r"\bfoo\b", "a foo b", "food"),
    "named": ("^(?<n>a)b$", "ab", "b"),
    "nested": ("^(a+)+$", "aaa", "a" * 40 + "b"),
}
_NO_PATTERNS = ("(?=a)", "a{1001}", "(a", "[z-a]", r"\8", r"\Z", "*a", "a**", "(?P=n)", "[[:odd:]]", "(?i")


def _patterned(pattern: str) -> dict[str, Any]:
    return objects.definition(
        "hexagons", "Hexagon", version={"schema": _schema(s={"type": "string", "pattern": pattern})}
    )


_MATCHED = (
    *(
        create(f"no pattern: {pattern}", at("customresourcedefinitions", dryRun="All"), _patterned(pattern), code=422)
        for pattern in _NO_PATTERNS
    ),
    *_defined(
        "patterns",
        objects.definition(
            "hexagons",
            "Hexagon",
            version={"schema": _schema(**{n: {"type": "string", "pattern": one[0]} for n, one in _PATTERNS.items()})},
        ),
    ),
    *(
        create(
            f"pattern {name}: {'fits' if fits else 'does not'}",
            f"{_path('hexagons')}?dryRun=All",
            _object("Hexagon", "h", **{name: text}),
            code=201 if fits else 422,
        )
        for name, (_, good, bad) in _PATTERNS.items()
        for text, fits in ((good, True), (bad, False))
    ),
    delete("patterns: delete", _crd("hexagons")),
    wait("patterns: gone", _crd("hexagons"), code=404),
)

# --- defaults and versions ---

_TEXT = {"type": "string"}
_OLD = {"schema": _schema(spec={"type": "object", "properties": {"a": _TEXT, "n": {"type": "integer"}}})}
_NEW = {
    "schema": _schema(
        spec={"type": "object", "properties": {"a": _TEXT, "d": {"type": "string", "default": "dd"}}},
        more={
            "type": "object",
            "default": {"x": 1},
            "properties": {"x": {"type": "integer"}, "y": {"type": "integer", "default": 7}},
        },
    )
}
_SECOND = {
    "schema": _schema(spec={"type": "object", "properties": {"a": _TEXT, "two": {"type": "string", "default": "2"}}})
}
_FIRST_ONE, _SECOND_ONE = _path("ovals", "one"), _path("ovals", "one", version="v2")
_CHANGED = (
    *_defined("versions", objects.definition("ovals", "Oval", version=_OLD)),
    create("versions: an old one", _path("ovals"), _object("Oval", "one", spec={"a": "x", "n": 3})),
    patch(
        "versions: another schema, another version",
        "json",
        _crd("ovals"),
        [
            {"op": "replace", "path": "/spec/versions/0/schema", "value": _NEW["schema"]},
            {
                "op": "add",
                "path": "/spec/versions/1",
                "value": {"name": "v2", "served": True, "storage": False, **_SECOND},
            },
        ],
    ),
    wait("versions: the second is served", _path("ovals", version="v2")),
    wait("versions: defaults are there", _FIRST_ONE, until='"d":"dd"'),
    get("versions: in the second", _SECOND_ONE),
    get("versions: list", _path("ovals")),
    get("versions: list in the second", _path("ovals", version="v2")),
    watch("versions: watch", f"{_path('ovals')}?watch=true&timeoutSeconds=1"),
    watch("versions: watch in the second", f"{_path('ovals', version='v2')}?watch=true&timeoutSeconds=1"),
    get("versions: table", _path("ovals"), accept=TABLE),
    create(
        "versions: made in the second",
        _path("ovals", version="v2"),
        _object("Oval", "two", version="v2", spec={"a": "q", "d": "unknown there"}),
    ),
    get("versions: that in the first", _path("ovals", "two")),
    get("versions: that in the second", _path("ovals", "two", version="v2")),
    create(
        "versions: in the second, dry run",
        f"{_path('ovals', version='v2')}?dryRun=All",
        _object("Oval", "three", version="v2", spec={"two": "3"}),
    ),
    patch("versions: a label, first", "merge", _FIRST_ONE, {"metadata": {"labels": {"l": "m"}}}),
    patch("versions: again", "merge", _FIRST_ONE, {"metadata": {"labels": {"l": "m"}}}),
    patch(
        "versions: a patch sees defaults",
        "json",
        _FIRST_ONE,
        [{"op": "test", "path": "/spec/d", "value": "dd"}, {"op": "add", "path": "/spec/a", "value": "z"}],
    ),
    delete("versions: delete in the second", _SECOND_ONE),
    delete("versions: delete", _crd("ovals")),
    wait("versions: gone", _crd("ovals"), code=404),
)

# --- scale ---

_SCALED = {
    "schema": _schema(
        spec={"type": "object", "properties": {"replicas": {"type": "integer", "maximum": 100}, "a": _TEXT}},
        status={"type": "object", "properties": {"replicas": {"type": "integer"}, "selector": _TEXT}},
    ),
    "subresources": {
        "status": {},
        "scale": {
            "specReplicasPath": ".spec.replicas",
            "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.selector",
        },
    },
}
_ONE, _SCALE = _path("sets", "one"), _path("sets", "one", "scale")


def _scale(replicas: object, name: str = "one", **metadata: object) -> dict[str, Any]:
    return {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": name, "namespace": NAMESPACE, **metadata},
        "spec": {"replicas": replicas},
    }


_SCALES = (
    *_defined("scale", objects.definition("sets", "Set", version=_SCALED)),
    wait("scale: resources", f"/apis/{_GROUP}/v1", until='"sets/scale"'),
    create(
        "scale: one",
        _path("sets"),
        _object("Set", "one", spec={"replicas": 2, "a": "x"}, metadata={"labels": {"l": "m"}}),
        keep={"set.1": "metadata.resourceVersion"},
    ),
    create("scale: bare", _path("sets"), _object("Set", "bare")),
    get("scale: get", _SCALE),
    get("scale: get as a table", _SCALE, accept=TABLE),
    get("scale: get bare", _path("sets", "bare", "scale"), code=500),
    get("scale: get nobody's", _path("sets", "nobody", "scale"), code=404),
    patch("scale: status", "merge", f"{_ONE}/status", {"status": {"replicas": 1, "selector": "app=x"}}),
    get("scale: get with a status", _SCALE),
    update("scale: update", _SCALE, _scale(5)),
    get("scale: updated", _ONE),
    update("scale: update an old version", _SCALE, _scale(6, resourceVersion="${set.1}"), code=409),
    update("scale: below nothing", _SCALE, _scale(-1), code=422),
    update("scale: beyond the schema", _SCALE, _scale(1000), code=422),
    update("scale: another name", _SCALE, _scale(1, "other"), code=400),
    update("scale: another object", _SCALE, _scale(1, uid="00000000-0000-0000-0000-000000000000"), code=409),
    update("scale: of nobody", _path("sets", "nobody", "scale"), _scale(1, "nobody"), code=404),
    update("scale: of one without", _path("sets", "bare", "scale"), _scale(3, "bare")),
    get("scale: bare then", _path("sets", "bare")),
    update("scale: without a kind", _SCALE, {"metadata": {"name": "one"}, "spec": {"replicas": 4}}),
    update("scale: without a spec", _SCALE, {k: v for k, v in _scale(0).items() if k != "spec"}),
    get("scale: to nothing", _ONE),
    update("scale: an unknown field", f"{_SCALE}?fieldValidation=Warn", {**_scale(5), "odd": 1}),
    patch("scale: merge", "merge", _SCALE, {"spec": {"replicas": 9}}),
    patch("scale: JSON patch", "json", _SCALE, [{"op": "replace", "path": "/spec/replicas", "value": 8}]),
    patch("scale: strategic", "strategic", _SCALE, {"spec": {"replicas": 7}}, code=415),
    patch("scale: dry run", "merge", f"{_SCALE}?dryRun=All", {"spec": {"replicas": 99}}),
    patch(
        "scale: what else it has is not changed",
        "merge",
        _SCALE,
        {"spec": {"replicas": 4, "x": 1}, "status": {"replicas": 77}, "metadata": {"labels": {"new": "x"}}},
    ),
    patch(
        "scale: merge an old version",
        "merge",
        _SCALE,
        {"metadata": {"resourceVersion": "${set.1}"}, "spec": {"replicas": 5}},
        code=409,
    ),
    get("scale: in the end", _ONE),
    delete("scale: delete", _crd("sets")),
    wait("scale: gone", _crd("sets"), code=404),
)

# --- the end of a kind ---

_OPEN = {"schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}
_HELD = _path("rhombs", "held")
_ENDED = (
    *_defined("end", objects.definition("rhombs", "Rhomb", version=_OPEN)),
    create("end: held", _path("rhombs"), _object("Rhomb", "held", metadata={"finalizers": ["example.com/wait"]})),
    create("end: free", _path("rhombs"), _object("Rhomb", "free")),
    delete("end: delete", _crd("rhombs")),
    wait("end: it is going", _crd("rhombs"), until="InstanceDeletionInProgress"),
    wait("end: free is gone", _path("rhombs", "free"), code=404),
    create("end: a new one", _path("rhombs"), _object("Rhomb", "new"), code=403),
    create("end: a new one, dry run", f"{_path('rhombs')}?dryRun=All", _object("Rhomb", "new"), code=403),
    patch(
        "end: a new one, applied",
        "apply",
        f"{_path('rhombs', 'new')}?fieldManager=x",
        _object("Rhomb", "new"),
        code=403,
    ),
    patch("end: a label", "merge", _HELD, {"metadata": {"labels": {"a": "b"}}}),
    get("end: list", _path("rhombs")),
    create(
        "end: define again",
        at("customresourcedefinitions"),
        objects.definition("rhombs", "Rhomb", version=_OPEN),
        code=409,
    ),
    patch("end: let go", "merge", _HELD, {"metadata": {"finalizers": None}}),
    wait("end: gone", _crd("rhombs"), code=404),
    *_defined("no version", objects.definition("stars", "Star", version=_OPEN)),
    create("no version: one", _path("stars"), _object("Star", "one")),
    patch(
        "no version: is served",
        "json",
        _crd("stars"),
        [{"op": "replace", "path": "/spec/versions/0/served", "value": False}],
    ),
    wait("no version: not served", _path("stars"), code=404),
    delete("no version: delete", _crd("stars")),
    wait("no version: gone", _crd("stars"), code=404),
    *_defined("no version, again", objects.definition("stars", "Star", version=_OPEN)),
    get("no version, again: nothing is left", _path("stars")),
    delete("no version, again: delete", _crd("stars")),
    wait("no version, again: gone", _crd("stars"), code=404),
)

# --- owners in versions that do not know each other's fields ---

_NUMBER, _TEXT = {"type": "integer"}, {"type": "string"}


def _beside(later: dict[str, Any]) -> dict[str, Any]:
    """Rings, which have a status in v1 only, and another field of the spec in each version."""
    own = {"spec": {"type": "object", "properties": {"size": _NUMBER, "first": _TEXT}}}
    others = {"spec": {"type": "object", "properties": {"size": _NUMBER, "later": later}}}
    status = {"status": {"type": "object", "properties": {"size": _NUMBER}}}
    versions = [
        {"name": "v1", "served": True, "storage": True, "schema": _schema(**own, **status)},
        {"name": "v2", "served": True, "storage": False, "schema": _schema(**others)},
    ]
    subresources = {"subresources": {"status": {}}}
    return objects.definition("rings", "Ring", version={}, versions=[{**one, **subresources} for one in versions])


def _owned(first: str, second: str, *, code: int = 500) -> tuple[Step, ...]:
    """Made in one version, changed in both, then applied: in v1 nobody can, where an owner is of v2."""
    name = f"by-{first}"

    def ring(version: str, manager: str, sub: str = "", more: str = "") -> str:
        return f"{_path('rings', name, sub, version=version)}?fieldManager={manager}{more}"

    def shown(what: str) -> Step:
        return get(f"{name}: {what}: the object", _path("rings", name))

    made = f"{_path('rings', version=first)}?fieldManager=maker"
    return (
        create(f"{name}: make", made, _object("Ring", name, version=first, spec={"size": 1})),
        patch(f"{name}: label", "merge", ring(second, "labels"), {"metadata": {"labels": {"a": "b"}}}),
        shown("label"),
        patch(f"{name}: of v1", "merge", ring("v1", "first"), {"spec": {"first": "x"}}),
        shown("of v1"),
        patch(f"{name}: status", "merge", ring("v1", "kubelet", "status"), {"status": {"size": 1}}),
        shown("status"),
        patch(
            f"{name}: apply in v1",
            "apply",
            ring("v1", "one", "", "&force=true"),
            _object("Ring", name, spec={"size": 2}),
            code=code,
        ),
        shown("apply in v1"),
        patch(
            f"{name}: apply in v2",
            "apply",
            ring("v2", "two", "", "&force=true"),
            _object("Ring", name, version="v2", spec={"size": 3}),
        ),
        shown("apply in v2"),
        patch(f"{name}: another kind", "merge", ring("v1", "one"), {"kind": "Star"}, code=422),
        patch(f"{name}: another version", "merge", ring("v1", "one"), {"apiVersion": f"{_GROUP}/v2"}, code=422),
    )


_OWNED = tuple(
    step
    for what, later, code in (("owners", _TEXT, 500), ("owners and a default", {**_TEXT, "default": "x"}, 200))
    for step in (
        *_defined(what, _beside(later)),
        *titled(what, *_owned("v1", "v2", code=code), *_owned("v2", "v1"), delete("delete", _crd("rings"))),
        wait(f"{what}: gone", _crd("rings"), code=404),
    )
)

STEPS = titled(
    "custom versions",
    create("a namespace", at("namespaces"), objects.namespace(NAMESPACE)),
    *_MATCHED,
    *_CHANGED,
    *_SCALES,
    *_OWNED,
    *_ENDED,
)
