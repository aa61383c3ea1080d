"""Server-side apply of custom kinds: values as they are given, several managers, versions, all that a schema can say.

A knot has a schema with everything in it, in two versions; of a cloud nothing is known but that it has a spec and a
status; a mist is not even known that much of.
"""

from __future__ import annotations

from typing import Any

from tests.control_plane.comparison import objects
from tests.control_plane.comparison.steps import Step, at, create, delete, get, patch, titled, wait

NAMESPACE = "cmp-apply-custom"
_GROUP = "shapes.example.com"
_OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_TEXT = {"type": "string"}
_NUMBER = {"type": "integer"}
_PAIR = {"type": "object", "properties": {"x": _TEXT, "y": _TEXT}}


def _list(items: Any, kind: str = "atomic", *keys: str) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "array", "items": items, "x-kubernetes-list-type": kind}
    return {**made, "x-kubernetes-list-map-keys": list(keys)} if keys else made


def _map(items: Any, kind: str = "granular") -> dict[str, Any]:
    return {"type": "object", "additionalProperties": items, "x-kubernetes-map-type": kind}


_SPEC = {
    "type": "object",
    "properties": {
        "number": _NUMBER,
        "flag": {"type": "boolean"},
        "text": _TEXT,
        "ratio": {"type": "number"},
        "size": {"x-kubernetes-int-or-string": True},
        "when": {"type": "string", "format": "date-time"},
        "none": {"type": "string", "nullable": True},
        "nonePair": {**_PAIR, "nullable": True},
        "seven": {"type": "integer", "default": 7},
        "border": {
            "type": "object",
            "default": {},
            "properties": {"width": {"type": "integer", "default": 2}, "style": _TEXT},
        },
        "labels": _map(_TEXT),
        "pairs": _map(_PAIR),
        "whole": _map(_TEXT, "atomic"),
        "wholePair": {**_PAIR, "x-kubernetes-map-type": "atomic"},
        "tags": _list(_TEXT, "set"),
        "numbers": _list(_NUMBER, "set"),
        "steps": _list(_NUMBER),
        "plain": _list({"type": "object", "properties": {"a": _TEXT, "b": {"type": "integer", "default": 1}}}),
        "ports": _list(
            {
                "type": "object",
                "required": ["port"],
                "properties": {
                    "port": _NUMBER,
                    "protocol": {"type": "string", "default": "TCP"},
                    "name": _TEXT,
                    "pair": _PAIR,
                    "tags": _list(_TEXT, "set"),
                },
            },
            "map",
            "port",
            "protocol",
        ),
        "sets": _map(_list(_TEXT, "set")),
        "extra": _OPEN,
        "anything": {"x-kubernetes-preserve-unknown-fields": True},
        "half": {**_OPEN, "properties": {"known": _TEXT, "inner": {"type": "object", "properties": {"z": _TEXT}}}},
        "object": {"type": "object", "x-kubernetes-embedded-resource": True, **_OPEN},
        "template": {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "properties": {"spec": {"type": "object", "properties": {"image": _TEXT, "tags": _list(_TEXT, "set")}}},
        },
        "templates": _list({"type": "object", "x-kubernetes-embedded-resource": True, **_OPEN}),
    },
}
_STATUS = {
    "type": "object",
    "properties": {
        "phase": {"type": "string", "default": "New"},
        "count": _NUMBER,
        "conditions": _list(
            {"type": "object", "required": ["type"], "properties": {"type": _TEXT, "status": _TEXT, "seen": _NUMBER}},
            "map",
            "type",
        ),
    },
}


def _schema(spec: Any, status: Any) -> dict[str, Any]:
    properties = {"spec": spec, "status": status}
    return {"schema": {"openAPIV3Schema": {"type": "object", "properties": properties}}, "subresources": {"status": {}}}


def _also(name: str, version: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "served": True, "storage": False, **version}


_OTHER = {"later": _TEXT, "steps": _list(_NUMBER, "set"), "tags": _list(_TEXT), "whole": _map(_TEXT)}
_LATER = {**_SPEC, "properties": {**_SPEC["properties"], **_OTHER}}
KNOTS = objects.definition("knots", "Knot", version=_schema(_SPEC, _STATUS))
KNOTS["spec"]["versions"].append(_also("v2", _schema(_LATER, _STATUS)))
CLOUDS = objects.definition("clouds", "Cloud", version=_schema(_OPEN, _OPEN))
CLOUDS["spec"]["versions"].append(_also("v2", _schema(_OPEN, _OPEN)))
TURNS = objects.definition("turns", "Turn", version=_schema(_SPEC, _STATUS))
TURNS["spec"]["versions"].append(_also("v2", _schema(_SPEC, _STATUS)))
TURNS["spec"]["versions"].append(_also("v3", _schema(_SPEC, _STATUS)))
MISTS = objects.definition("mists", "Mist", version={"schema": {"openAPIV3Schema": _OPEN}})


def _at(plural: str, name: str, sub: str = "", *, version: str = "v1", **query: object) -> str:
    return at(plural, NAMESPACE, name, sub, **query).replace(f"{_GROUP}/v1", f"{_GROUP}/{version}")


class _Story:
    """Requests about one object; each is told by what it does."""

    def __init__(self, kind: str, name: str) -> None:
        self._kind = kind
        self._plural = f"{kind.lower()}s"
        self._name = name
        self._steps: list[Step] = []

    def apply(
        self,
        what: str,
        spec: object = None,
        *,
        by: str = "one",
        code: int = 200,
        version: str = "v1",
        sub: str = "",
        force: bool = False,
        meta: dict[str, Any] | None = None,
        **more: object,
    ) -> _Story:
        query = {"fieldManager": by, **({"force": "true"} if force else {})}
        path = _at(self._plural, self._name, sub, version=version, **query)
        return self._add(
            patch(f"{self._name}: {what}", "apply", path, self._body(spec, meta, version, more), code=code)
        )

    def create(self, what: str, spec: object = None, *, by: str = "maker", **more: object) -> _Story:
        path = _at(self._plural, "", fieldManager=by)
        return self._add(create(f"{self._name}: {what}", path, self._body(spec, None, "v1", more)))

    def patch(
        self,
        what: str,
        how: str,
        body: object,
        *,
        by: str = "editor",
        version: str = "v1",
        sub: str = "",
        code: int = 200,
    ) -> _Story:
        path = _at(self._plural, self._name, sub, version=version, fieldManager=by)
        return self._add(patch(f"{self._name}: {what}", how, path, body, code=code))

    def get(self, what: str, *, version: str = "v1") -> _Story:
        return self._add(get(f"{self._name}: {what}", _at(self._plural, self._name, version=version)))

    def _body(self, spec: object, meta: dict[str, Any] | None, version: str, more: dict[str, Any]) -> dict[str, Any]:
        head = {
            "apiVersion": f"{_GROUP}/{version}",
            "kind": self._kind,
            "metadata": {"name": self._name, **(meta or {})},
        }
        return {**head, **({} if spec is None else {"spec": spec}), **more}

    def _add(self, step: Step) -> _Story:
        self._steps.append(step)
        return self

    @property
    def steps(self) -> tuple[Step, ...]:
        return tuple(self._steps)


_ZEROS = {"number": 0, "flag": False, "text": "", "ratio": 0.0, "steps": [], "tags": [], "labels": {}, "ports": []}
_WILD = {"a": {"b": [1, {"c": None}], "zero": 0, "no": False, "empty": "", "none": []}, "list": [{"x": 1}], "n": 1.5}

_STORIES = (
    _Story("Cloud", "wild")
    .apply("create", _WILD, code=201)
    .get("as it was given")
    .apply("the same again", _WILD)
    .apply("a label of another", by="two", meta={"labels": {"l": "1"}})
    .get("with the label")
    .apply("a leaf of another", {"a": {"mine": 1}}, by="two", meta={"labels": {"l": "1"}})
    .apply("a conflict", {"a": {"zero": 1}, "list": [], "n": 1.5}, by="two", code=409)
    .apply("by force", {"a": {"zero": 1}, "list": []}, by="two", force=True)
    .apply("the first one gives up most", {"a": {"b": [1]}})
    .apply("the first one gives up all")
    .apply("the second one gives up all", by="two")
    .apply("from nothing again", {"a": 1})
    .apply("a map for a number", {"a": {"b": 1}})
    .apply("a list for a map", {"a": [1]})
    .apply("an emptied spec, which becomes null", {}, code=422)
    .apply("a spec that is null", {"a": None})
    .apply("a spec that is a list", [1], code=500)
    .get("at the end"),
    _Story("Cloud", "settled")
    .create("create", {"a": 1, "b": {"c": 0, "d": []}})
    .apply("a status", sub="status", status={"seen": {"n": 0, "ok": False, "list": []}})
    .apply("a status of another", by="two", sub="status", status={"mine": ""})
    .apply("a status in conflict", by="two", sub="status", status={"seen": {"n": 1}}, code=409)
    .apply("a status with a spec", {"a": 9}, by="two", sub="status", status={"mine": "x"}, meta={"labels": {"l": "1"}})
    .apply("a spec with a status", {"e": 1}, status={"wrong": 1})
    .apply("a status that goes", sub="status", status={})
    .apply("a status by force", by="three", sub="status", status={"mine": ["y"]}, force=True)
    .patch("a status patched", "merge", {"status": {"seen": {"n": 2}, "mine": None}}, sub="status")
    .apply("a status against a patch", sub="status", status={"seen": {"n": 3}}, code=409)
    .get("at the end"),
    _Story("Mist", "mist")
    .apply("create", more={"x": {"y": 0}, "z": []}, code=201, other=False, text="")
    .apply("a label of another", by="two", meta={"labels": {"l": "1"}})
    .apply("a part of another", by="two", more={"x": {"w": {}}})
    .apply("a conflict", by="two", text="x", code=409)
    .apply("less", other=False)
    .apply("nothing")
    .get("at the end"),
    _Story("Knot", "zeros")
    .apply("create", _ZEROS, code=201)
    .apply("the same again", _ZEROS)
    .apply("a label of another", by="two", meta={"labels": {"l": "1"}})
    .get("with the label")
    .apply("zeros of another", {"number": 0, "flag": False, "text": "", "steps": []}, by="two")
    .apply("no zeros of another", {"number": 1, "flag": True, "text": "x", "steps": [1]}, by="two", code=409)
    .apply("not so by force", {"number": 1, "flag": True, "steps": [0]}, by="two", force=True)
    .apply("zeros given up", {"labels": {}, "ports": []})
    .apply("all given up")
    .get("at the end"),
    _Story("Knot", "nulls")
    .apply("create", {"none": None, "number": None, "nonePair": None, "labels": None, "seven": None}, code=422)
    .apply("values", {"none": "x", "number": 1, "nonePair": {"x": "1"}, "labels": {"a": "b"}, "seven": 8}, code=201)
    .apply("nulls of another", {"none": None, "number": None}, by="two", code=409)
    .apply(
        "nulls of another by force", {"none": None, "number": None, "nonePair": None}, by="two", force=True, code=422
    )
    .apply("a null that may be, by force", {"none": None, "nonePair": None}, by="two", force=True)
    .apply(
        "null lists",
        {"tags": None, "ports": None, "steps": None, "extra": None, "anything": None},
        by="three",
        code=422,
    )
    .apply("nulls inside", {"extra": {"a": None}, "anything": {"a": None}, "pairs": {"a": None}}, by="three", code=422)
    .apply("nulls inside what is open", {"extra": {"a": None}, "anything": {"a": None}}, by="three")
    .apply("a null default", {"seven": None, "border": {"width": None}}, by="four", code=409)
    .get("at the end"),
    _Story("Knot", "defaults")
    .apply("create", {"border": {"style": "x"}, "plain": [{"a": "1"}], "ports": [{"port": 80}]}, code=201)
    .apply("defaults said", {"border": {"style": "x", "width": 2}, "seven": 7})
    .apply(
        "defaults of another", {"seven": 7, "border": {"width": 2}, "ports": [{"port": 80, "name": "web"}]}, by="two"
    )
    .apply("not the default", {"seven": 9}, by="two", code=409)
    .apply("a default that nobody owns", {"border": {"width": 5}}, by="three", code=409)
    .apply(
        "ports by their default",
        {"ports": [{"port": 80, "protocol": "TCP"}, {"port": 80, "protocol": "UDP"}]},
        by="two",
    )
    .apply("gone back to defaults")
    .apply("gone back, too", by="two")
    .get("at the end"),
    _Story("Knot", "lists")
    .apply(
        "create", {"tags": ["a", "b"], "numbers": [1, 2], "steps": [1, 1], "plain": [{"a": "1"}, {"a": "1"}]}, code=201
    )
    .apply("tags of another", {"tags": ["c", "a"], "numbers": [2, 3]}, by="two")
    .apply("tags in another order", {"tags": ["b", "a"]})
    .apply("a tag of both goes", {"tags": ["b"]})
    .apply("steps that nobody has any more", {"steps": [1]}, by="two")
    .apply("steps in conflict", {"steps": [1, 1]}, code=409)
    .apply("tags twice", {"tags": ["x", "x"]}, code=500)
    .apply("numbers that are words", {"numbers": ["x"]}, code=500)
    .apply("a tag that is null", {"tags": [None]}, code=500)
    .apply("all of one go")
    .get("at the end"),
    _Story("Knot", "keyed")
    .apply("create", {"ports": [{"port": 1, "name": "a", "tags": ["x"]}, {"port": 2, "pair": {"x": "1"}}]}, code=201)
    .apply("another's port", {"ports": [{"port": 3, "name": "c"}]}, by="two")
    .apply("another's part of a port", {"ports": [{"port": 1, "tags": ["y"], "pair": {"y": "2"}}]}, by="two")
    .apply("a conflict", {"ports": [{"port": 1, "name": "b"}, {"port": 2, "pair": {"x": "2"}}]}, by="two", code=409)
    .apply("in another order", {"ports": [{"port": 2, "pair": {"x": "1"}}, {"port": 1, "name": "a"}]})
    .apply("one port goes", {"ports": [{"port": 2}]})
    .apply("ports twice", {"ports": [{"port": 5}, {"port": 5}]}, code=500)
    .apply("no key", {"ports": [{"name": "x"}]}, code=422, by="three")
    .apply("a port that is a word", {"ports": [{"port": "x"}]}, code=500)
    .apply("all of one go")
    .apply("all of two go", by="two")
    .get("at the end"),
    _Story("Knot", "maps")
    .apply("create", {"labels": {"a": "1", "e": ""}, "pairs": {"p": {"x": "1"}}, "sets": {"s": ["a"]}}, code=201)
    .apply(
        "of another",
        {"labels": {"b": "2"}, "pairs": {"p": {"y": "2"}, "q": {}}, "sets": {"s": ["b"], "t": []}},
        by="two",
    )
    .apply("whole ones", {"whole": {"a": "1"}, "wholePair": {"x": "1"}})
    .apply("whole ones of another", {"whole": {"b": "2"}}, by="two", code=409)
    .apply("whole ones by force", {"whole": {"b": "2"}, "wholePair": {"y": "2"}}, by="two", force=True)
    .apply("a whole one again", {"whole": {}, "labels": {"a": "1"}}, force=True)
    .apply("all of one go")
    .get("at the end"),
    _Story("Knot", "open")
    .apply(
        "create",
        {"extra": {"a": {"b": 0}, "l": [1]}, "anything": [1, None], "half": {"known": "", "odd": {"x": 0}}},
        code=201,
    )
    .apply("of another", {"extra": {"a": {"c": False}}, "half": {"inner": {"z": ""}, "more": []}}, by="two")
    .apply("a conflict", {"extra": {"a": {"b": 1}}, "anything": 5}, by="two", code=409)
    .apply("another type by force", {"extra": {"a": 1}, "anything": {"x": 1}}, by="two", force=True)
    .apply("unknown inside", {"half": {"inner": {"odd": 1}}}, code=200)
    .apply("less", {"half": {"known": ""}})
    .apply("a wrong type", {"half": {"known": 5}}, code=500)
    .apply("nothing")
    .get("at the end"),
    _Story("Knot", "embedded")
    .apply(
        "create",
        {
            "object": {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "p", "labels": {"a": "b"}},
                "spec": {"n": 0},
            },
            "template": {
                "apiVersion": "v1",
                "kind": "X",
                "metadata": {"name": "t"},
                "spec": {"image": "", "tags": ["a"]},
            },
            "templates": [{"apiVersion": "v1", "kind": "X", "metadata": {"labels": {"l": "m"}}, "zero": 0}],
        },
        code=201,
    )
    .apply(
        "of another", {"object": {"metadata": {"labels": {"c": "d"}}}, "template": {"spec": {"tags": ["b"]}}}, by="two"
    )
    .apply("a conflict", {"object": {"spec": {"n": 1}}}, by="two", code=409)
    .apply("metadata by force", {"object": {"metadata": {"name": "q"}}}, by="two", force=True)
    .apply("most goes", {"object": {"apiVersion": "v1", "kind": "Pod"}})
    .get("at the end"),
    _Story("Knot", "nested")
    .apply(
        "create",
        {"pairs": {"p": {"x": "1"}}, "ports": [{"port": 1, "name": "a"}], "extra": {"m": {"x": 1}}},
        code=201,
    )
    .patch("inside", "merge", {"spec": {"pairs": {"p": {"y": "2"}}, "extra": {"m": {"y": 2}}}})
    .patch("inside an item", "json", [{"op": "add", "path": "/spec/ports/0/tags", "value": ["t"]}])
    .apply("given up above what was patched, which goes along", code=422)
    .get("what was patched"),
    _Story("Knot", "emptied")
    .apply("create", {"extra": {"m": {"x": 1}, "e": {}}, "pairs": {"p": {"x": "1"}}, "tags": ["a"]}, code=201)
    .apply("empty ones of another", {"extra": {"m": {}}}, by="two")
    .apply("an open one is emptied", {"pairs": {"p": {"x": "1"}}, "tags": ["a"]})
    .apply("an empty entry of another", {"pairs": {"p": {}}}, by="three")
    .apply("an entry is emptied", {"tags": ["a"]}, code=422)
    .apply("an empty list of another", {"tags": []}, by="four")
    .apply("a list is emptied", {"pairs": {"p": {"x": "1"}}})
    .get("at the end"),
    _Story("Knot", "cleared")
    .apply("create", {"number": 1, "tags": ["a"], "ports": [{"port": 1}]}, code=201)
    .apply("lists are emptied", {"number": 1, "tags": [], "ports": []}),
    _Story("Knot", "hollow")
    .apply("create", {"number": 1, "wholePair": {"x": "1"}}, code=201)
    .apply("an empty list instead", {"tags": []}),
    _Story("Knot", "hollow-updated")
    .create("create", {"ports": [], "labels": {"a": "1"}})
    .apply("the same", {"labels": {"a": "1"}})
    .patch("changed", "merge", {"spec": {"labels": None, "steps": [1]}})
    .apply("more", {"number": 1})
    .apply("nothing in the second version", version="v2")
    .get("at the end"),
    _Story("Knot", "hollow-owned")
    .create("create", {"tags": []})
    .apply("more", {"number": 1, "steps": [0]})
    .apply("nothing in the second version", version="v2")
    .apply("more again", {"number": 1, "steps": [0]}, version="v2")
    .apply("nothing", version="v2")
    .get("at the end"),
    _Story("Knot", "numbers")
    .apply(
        "create",
        {"size": 5, "ratio": 1, "number": 1, "when": "2001-02-03T04:05:06Z", "extra": {"f": 1.0, "g": 1e3}},
        code=201,
    )
    .apply("a size of another", {"size": "5"}, by="two", code=409)
    .apply("the size in words", {"size": "50%", "ratio": 1.5})
    .apply("the same numbers", {"ratio": 1.5, "extra": {"f": 1}}, by="two")
    .apply("a size that is a flag", {"size": True}, code=422)
    .apply("a flag for a number", {"number": True}, code=500)
    .apply("a large number", {"number": 9007199254740993, "extra": {"n": 9223372036854775807}}, by="three")
    .get("at the end"),
    _Story("Knot", "versions")
    .apply("create in the first", {"number": 1, "labels": {"a": "1"}, "tags": ["a"]}, code=201)
    .apply("a conflict in the second", {"number": 2}, by="two", version="v2", code=409)
    .apply("of another in the second", {"flag": False, "labels": {"b": "1"}}, by="two", version="v2")
    .apply("the first has not", {"later": ""}, code=500)
    .apply("the first again", {"number": 1, "labels": {"a": "1"}, "tags": ["a"]})
    .apply("the first manager in the second", {"number": 1, "tags": ["a"]}, version="v2")
    .apply("by force in the second", {"number": 0}, by="two", version="v2", force=True)
    .apply("conflict back in the first", {"number": 5}, code=409)
    .patch("patched in the second", "merge", {"spec": {"text": "", "number": 3}}, version="v2")
    .patch("patched in the first", "merge", {"spec": {"size": 1, "text": "x"}})
    .apply("against patches", {"text": "y", "size": 2}, code=409)
    .apply("less in the first", {})
    .apply("nothing in the second", by="two", version="v2")
    .get("at the end in the first")
    .get("at the end in the second", version="v2"),
    _Story("Knot", "more")
    .apply("create in the first", {"number": 1}, code=201)
    .apply("the second has more", {"flag": False, "later": ""}, by="two", version="v2", code=500)
    .apply("without it", {"flag": False}, by="two", version="v2")
    .apply("with it again", {"later": ""}, by="two", version="v2", code=500)
    .apply("again in the first", {"number": 2})
    .get("at the end"),
    _Story("Knot", "other")
    .apply("create in the first", {"steps": [1, 2], "tags": ["a", "b"], "whole": {"a": "1"}}, code=201)
    .apply("a step in the second", {"steps": [3]}, by="two", version="v2", code=409)
    .apply("a whole in the second", {"whole": {"b": "1"}}, by="two", version="v2", code=409)
    .apply("tags in the second", {"tags": ["a"]}, by="two", version="v2")
    .apply("less in the first", {"steps": [1]})
    .apply(
        "the first manager in the second", {"steps": [1], "tags": ["c"], "whole": {"a": "2"}}, version="v2", code=409
    )
    .apply("by force in the second", {"steps": [1], "tags": ["c"], "whole": {"a": "2"}}, version="v2", force=True)
    .apply("all of two go", by="two", version="v2")
    .get("at the end"),
    _Story("Knot", "statuses")
    .apply("create with a status", {"number": 1}, status={"count": 1}, code=201)
    .apply("a status", sub="status", status={"count": 0, "conditions": [{"type": "A", "status": "", "seen": 0}]})
    .apply("a condition of another", by="two", sub="status", status={"conditions": [{"type": "B", "status": "True"}]})
    .apply(
        "a condition in conflict", by="two", sub="status", status={"conditions": [{"type": "A", "seen": 1}]}, code=409
    )
    .apply(
        "a condition by force", by="two", sub="status", status={"conditions": [{"type": "A", "seen": 1}]}, force=True
    )
    .apply("in the second version", by="two", sub="status", version="v2", status={"count": 5}, code=409)
    .apply("the phase", by="three", sub="status", version="v2", status={"phase": "New"})
    .apply("a status with labels", by="three", sub="status", status={"phase": "New"}, meta={"labels": {"l": "1"}})
    .apply("the spec again", {"number": 2})
    .apply("a status without", sub="status")
    .get("at the end"),
    _Story("Knot", "made")
    .create("create", {"number": 0, "extra": {"a": 0}, "tags": ["a"], "ports": [{"port": 1}]})
    .apply("of another", {"number": 0, "tags": ["b"]})
    .apply("a conflict with a create", {"number": 1, "extra": {"a": 1}}, code=409)
    .patch("a JSON patch", "json", [{"op": "replace", "path": "/spec/number", "value": 2}])
    .apply("a conflict with a patch", {"number": 1}, code=409)
    .apply("by force", {"number": 0, "tags": ["b"]}, force=True)
    .patch("a merge of nulls", "merge", {"spec": {"number": None, "extra": {"a": None}}})
    .apply("after that", {"number": 0})
    .patch("strategic is not for custom kinds", "strategic", {"spec": {"number": 9}}, code=415)
    .get("at the end"),
)


def _define(plural: str, definition: dict[str, Any], *versions: str) -> tuple[Step, ...]:
    name = f"{plural}.{_GROUP}"
    return (
        create(f"define {plural}", at("customresourcedefinitions"), definition),
        wait(f"{plural} are established", at("customresourcedefinitions", "", name), until="InitialNamesAccepted"),
        *(wait(f"{plural} are served in {version}", _at(plural, "", version=version)) for version in versions),
    )


def _forget(plural: str) -> tuple[Step, ...]:
    path = at("customresourcedefinitions", "", f"{plural}.{_GROUP}")
    return delete(f"forget {plural}", path), wait(f"{plural} are gone", path, code=404)


_TURNED = (
    *_define("turns", TURNS, "v1", "v2", "v3"),
    *_Story("Turn", "turned")
    .apply("in the second version", {"number": 1, "flag": False}, by="two", version="v2", code=201)
    .apply("in the third version", {"text": "x"}, by="three", version="v3")
    .steps,
    patch(
        "the second version is served no more",
        "json",
        at("customresourcedefinitions", "", f"turns.{_GROUP}"),
        [{"op": "replace", "path": "/spec/versions/1/served", "value": False}],
    ),
    wait("nor found", _at("turns", "turned", version="v2"), code=404),
    *_Story("Turn", "turned")
    .apply("against an owner whose version is not served", {"number": 2}, code=409)
    .apply("beside an owner whose version is not served", {"size": 1})
    .apply("two comes back in another version", {"number": 1}, by="two", version="v1")
    .get("after the turn")
    .steps,
)

STEPS = titled(
    "applying custom kinds",
    create("a namespace", at("namespaces"), objects.namespace(NAMESPACE)),
    *_define("knots", KNOTS, "v1", "v2"),
    *_define("clouds", CLOUDS, "v1", "v2"),
    *_define("mists", MISTS, "v1"),
    *(step for story in _STORIES for step in story.steps),
    *_TURNED,
    *_forget("turns"),
    *_forget("knots"),
    *_forget("clouds"),
    *_forget("mists"),
)
