"""The OpenAPI v3 documents that kubectl asks for: one for each version of a group, and the index of them.

`kubectl explain` looks at components, and by paths which of them a resource is; strict validation asks whether PATCH of
a kind has the parameter fieldValidation.  The documents say that much, and are sound otherwise: names, types, required
fields, defaults and merge rules as the real server publishes them, without its prose.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from muster.local.codec.values import Object
from muster.local.kinds.kind import Kind
from muster.local.schema import custom, load
from muster.local.schema.shapes import Base, Field, ListType, Shape

__all__ = ["Described", "document", "index"]

_META = "io.k8s.apimachinery.pkg.apis.meta.v1"
_REFERENCE = "#/components/schemas/"
_MEDIA = ("application/json", "application/yaml")
_PATCHES = ("application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json")
_STRATEGIC = "application/strategic-merge-patch+json"
"""Of built-in kinds alone: kubectl looks here for how it may patch."""
_SCALARS: dict[Base, Object] = {
    Base.STRING: {"type": "string"},
    Base.INT32: {"type": "integer", "format": "int32"},
    Base.INT64: {"type": "integer", "format": "int64"},
    Base.NUMBER: {"type": "number", "format": "double"},
    Base.BOOLEAN: {"type": "boolean"},
    Base.BYTES: {"type": "string", "format": "byte"},
}
_SHARED: dict[Base, tuple[str, Object]] = {
    Base.TIME: (f"{_META}.Time", {"type": "string", "format": "date-time"}),
    Base.MICRO_TIME: (f"{_META}.MicroTime", {"type": "string", "format": "date-time"}),
    Base.QUANTITY: (
        "io.k8s.apimachinery.pkg.api.resource.Quantity",
        {"oneOf": [{"type": "string"}, {"type": "number"}]},
    ),
    Base.INT_OR_STRING: (
        "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
        {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
    ),
}
"""Values that have a type of their own in the document."""
_PATCH_TYPE = (f"{_META}.Patch", {"type": "object"})
_WRITING = ("dryRun", "fieldManager", "fieldValidation")


class Described(msgspec.Struct, frozen=True):
    """A kind that is served, and what its objects look like."""

    kind: Kind
    shape: Shape


def index(described: Sequence[Described]) -> Object:
    """Where the documents are; the hash in an address changes with what is there."""
    paths = {}
    for group, version in sorted({(each.kind.group, each.kind.version) for each in described}):
        path = f"apis/{group}/{version}" if group else f"api/{version}"
        digest = hashlib.sha512(msgspec.json.encode(document(described, group, version))).hexdigest().upper()
        paths[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={digest}"}
    return {"paths": paths}


def document(described: Sequence[Described], group: str, version: str) -> Object | None:
    """Of one version of a group; None if nothing of it is served."""
    ours = [each for each in described if (each.kind.group, each.kind.version) == (group, version)]
    if not ours:
        return None
    key = tuple((each.kind.name, id(each.shape)) for each in ours)
    kept = _documents.get((group, version))
    if kept is None or kept[0] != key:
        # the shapes are kept along: an identity must not be used again while it is a key
        kept = _documents[group, version] = (key, tuple(each.shape for each in ours), _document(ours))
    return kept[2]


_documents: dict[tuple[str, str], tuple[tuple[tuple[str, int], ...], tuple[Shape, ...], Object]] = {}
"""The last one made of each version."""


def _document(ours: Sequence[Described]) -> Object:
    components = _Components()
    paths: Object = {}
    for each in ours:
        components.add_kind(each)
        paths |= _paths(each)
    components.add(load.shapes()[f"{_META}.DeleteOptions"])
    components.add(load.shapes()[f"{_META}.Status"])
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": f"v{load.version()}"},
        "paths": dict(sorted(paths.items())),
        "components": {"schemas": dict(sorted(components.schemas.items()))},
    }


# --- components -----------------------------------------------------------------------------------


class _Components:
    """The schemas of a document: those asked for, and all that they refer to."""

    def __init__(self) -> None:
        self.schemas: dict[str, Object] = {_PATCH_TYPE[0]: _PATCH_TYPE[1]}

    def add_kind(self, described: Described) -> None:
        """An object and a list of them, with the names by which kubectl finds them."""
        kind, name = described.kind, _type_name(described.kind)
        if custom.is_custom(described.shape):
            self.schemas[name] = self._custom(described.shape)
            self.schemas[f"{name}List"] = self._custom_list(name)
        else:
            self.add(described.shape)
            self.add(load.shapes()[f"{name}List"])
        for each, called in ((name, kind.name), (f"{name}List", f"{kind.name}List")):
            gvk = {"group": kind.group, "kind": called, "version": kind.version}
            self.schemas[each]["x-kubernetes-group-version-kind"] = [gvk]

    def add(self, shape: Shape) -> None:
        if shape.name in self.schemas:
            return
        schema: Object = {"type": "object"}
        # there before its fields are: a struct may contain itself
        self.schemas[shape.name] = schema
        if required := [name for name, field in shape.fields.items() if field.required]:
            schema["required"] = required
        if shape.fields:
            schema["properties"] = {name: self._field(field) for name, field in sorted(shape.fields.items())}
        if shape.atomic:
            schema["x-kubernetes-map-type"] = "atomic"

    def _field(self, field: Field) -> Object:
        schema = self._value(field.shape)
        if "$ref" in schema:
            # nothing may stand beside a reference
            schema = {"allOf": [schema]}
        if field.default is not msgspec.UNSET:
            schema["default"] = field.default
        if field.merge_key:
            schema["x-kubernetes-patch-merge-key"] = field.merge_key
        if field.strategies:
            schema["x-kubernetes-patch-strategy"] = ",".join(field.strategies)
        return schema

    def _value(self, shape: Shape) -> Object:
        if shape.base is Base.STRUCT:
            self.add(shape)
            return {"$ref": _REFERENCE + shape.name}
        if shape.base in _SHARED:
            name, schema = _SHARED[shape.base]
            self.schemas[name] = schema
            return {"$ref": _REFERENCE + name}
        if shape.base is Base.LIST and shape.items is not None:
            return {"type": "array", "items": self._value(shape.items), **_list_rules(shape)}
        if shape.base is Base.MAP and shape.items is not None:
            schema = {"type": "object", "additionalProperties": self._value(shape.items)}
            return {**schema, "x-kubernetes-map-type": "atomic"} if shape.atomic else schema
        if shape.base is Base.ANY:
            return {"type": "object"} if not shape.name else {}
        return {**_SCALARS[shape.base], **({"enum": list(shape.enum)} if shape.enum else {})}

    def _custom(self, root: Shape) -> Object:
        """The schema of a definition, with what every object has."""
        schema: Object = root.limits["schema"]
        self.add(load.shapes()[custom.METADATA])
        head = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": _referred(custom.METADATA)}
        properties = {**schema.get("properties", {}), **head}
        return {**schema, "type": "object", "properties": dict(sorted(properties.items()))}

    def _custom_list(self, name: str) -> Object:
        self.add(load.shapes()[f"{_META}.ListMeta"])
        return {
            "type": "object",
            "required": ["items"],
            "properties": {
                "apiVersion": {"type": "string"},
                "items": {"type": "array", "items": {"$ref": _REFERENCE + name}},
                "kind": {"type": "string"},
                "metadata": _referred(f"{_META}.ListMeta"),
            },
        }


def _referred(name: str) -> Object:
    """Beside a plain reference nothing may stand."""
    return {"allOf": [{"$ref": _REFERENCE + name}]}


def _list_rules(shape: Shape) -> Object:
    rules: Object = {}
    if shape.list_type is not ListType.ATOMIC:
        rules["x-kubernetes-list-type"] = shape.list_type.value
    if shape.keys:
        rules["x-kubernetes-list-map-keys"] = list(shape.keys)
    return rules


def _type_name(kind: Kind) -> str:
    """Of a custom kind dev.muster.v1beta1.PodGroup: its group from the end."""
    if kind.type_name:
        return kind.type_name
    return ".".join([*reversed(kind.group.split(".")), kind.version, kind.name])


# --- paths ----------------------------------------------------------------------------------------


def _paths(described: Described) -> Object:
    kind = described.kind
    root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
    where = f"{root}/namespaces/{{namespace}}" if kind.namespaced else root
    several = {method: _operation(described, method, many=True) for method in ("get", "post", "delete")}
    single = {method: _operation(described, method) for method in ("get", "put", "delete", "patch")}
    space = ["namespace"] if kind.namespaced else []
    paths = {
        f"{where}/{kind.plural}": {**several, "parameters": list(_path_parameters(space))},
        f"{where}/{kind.plural}/{{name}}": {**single, "parameters": list(_path_parameters(["name", *space]))},
    }
    if kind.namespaced:
        paths[f"{root}/{kind.plural}"] = {"get": _operation(described, "get", many=True)}
    if kind.has_status:
        status = {method: single[method] for method in ("get", "put", "patch")}
        parameters = list(_path_parameters(["name", *space]))
        paths[f"{where}/{kind.plural}/{{name}}/status"] = {**status, "parameters": parameters}
    return paths


def _path_parameters(names: Iterable[str]) -> Iterator[Object]:
    for name in names:
        yield {"name": name, "in": "path", "required": True, "schema": {"type": "string", "uniqueItems": True}}


_ACTIONS = {"get": "get", "post": "post", "put": "put", "patch": "patch", "delete": "delete"}
_MANY_ACTIONS = {"get": "list", "post": "post", "delete": "deletecollection"}


def _operation(described: Described, method: str, *, many: bool = False) -> Object:
    kind, name = described.kind, _type_name(described.kind)
    answer = f"{name}List" if many and method == "get" else f"{_META}.Status" if method == "delete" else name
    schema: Object = {
        "parameters": list(_parameters(method)),
        "responses": {"200": {"description": "OK", "content": _content(_MEDIA, answer)}},
        "x-kubernetes-action": (_MANY_ACTIONS if many else _ACTIONS)[method],
        "x-kubernetes-group-version-kind": {"group": kind.group, "version": kind.version, "kind": kind.name},
    }
    if method != "get":
        sent = {"patch": _PATCH_TYPE[0], "delete": f"{_META}.DeleteOptions"}.get(method, name)
        media = _patches(described) if method == "patch" else _MEDIA
        schema["requestBody"] = {"content": _content(media, sent), "required": method != "delete"}
    return schema


def _patches(described: Described) -> tuple[str, ...]:
    return _PATCHES if custom.is_custom(described.shape) else (*_PATCHES, _STRATEGIC)


def _parameters(method: str) -> Iterator[Object]:
    """Those by which kubectl finds out what it may send."""
    if method in ("post", "put", "patch"):
        for name in _WRITING:
            yield {"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}}


def _content(media: Iterable[str], name: str) -> Object:
    return {each: {"schema": {"$ref": _REFERENCE + name}} for each in media}
