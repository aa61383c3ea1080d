"""Custom kinds: shapes from a CustomResourceDefinition's schema, and what is done to objects by them.

    root = shape(version["schema"]["openAPIV3Schema"])
    decode(value, root)              unknown fields out, metadata as in any kind
    default(obj, root)               what was left out and has a default
    rules.validate(obj, root)        what is wrong with it

Schemas are structural, as the API server demands of them.  A shape keeps what else its schema says in `limits`, by the
words of OpenAPI, with shapes where those hold schemas.  Rules in CEL (x-kubernetes-validations) are in `validations`.
"""

from __future__ import annotations

import copy
import math
from typing import Any

import msgspec

from muster.local.codec.gotext import compact_json
from muster.local.codec.values import Object, json_type, repeated
from muster.local.schema import load, structs
from muster.local.schema.shapes import Base, Field, ListType, Shape
from muster.local.schema.structs import Decoded

METADATA = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

HEAD = ("apiVersion", "kind", "metadata")
_BASES = {"string": Base.STRING, "integer": Base.INT64, "number": Base.NUMBER, "boolean": Base.BOOLEAN}
_LISTS_OF_SCHEMAS = ("allOf", "anyOf", "oneOf")
# what a shape has in other places, or nobody reads
_ELSEWHERE = frozenset({"properties", "items", "additionalProperties", "title", "example"})
_EMBEDDED = "x-kubernetes-embedded-resource"
_INT_OR_STRING = "x-kubernetes-int-or-string"
_OPEN = "x-kubernetes-preserve-unknown-fields"
_NOTHING = Shape(base=Base.ANY, name="nothing")
"""Where `additionalProperties: true` says no more: scalars stay, fields of objects do not."""


def shape(schema: Object | None) -> Shape:
    """Of a whole object: what the schema declares, and metadata as all kinds have it."""
    root = _shape(schema or {})
    declared = {name: root.fields[name].shape for name in HEAD if name in root.fields}
    return msgspec.structs.replace(
        root,
        base=Base.STRUCT,
        fields={**root.fields, **_head_fields()},
        # a definition may limit names, say, which rules must see
        limits={**root.limits, _EMBEDDED: True, "declared": declared, "root": True, "schema": schema or {}},
    )


def part(schema: Object) -> Shape:
    """Of a value inside an object."""
    return _shape(schema)


def is_custom(root: Shape) -> bool:
    """Whether a shape is that of a custom kind's objects."""
    return "root" in root.limits


def is_embedded(shape: Shape) -> bool:
    """Whether its values are objects with a kind and metadata of their own."""
    return _EMBEDDED in shape.limits


def default(value: Any, shape: Shape) -> None:
    """Sets what was left out, or is null and may not be, and has a default."""
    if isinstance(value, dict):
        for name, field in shape.fields.items():
            if field.default is not msgspec.UNSET and (
                name not in value or (value[name] is None and not field.shape.nullable)
            ):
                value[name] = copy.deepcopy(field.default)
        for name, item in value.items():
            inner = shape.inner(name)
            if inner is not None and not (name in HEAD and is_embedded(shape)):
                value[name] = _defaulted(item, inner)
    elif isinstance(value, list) and shape.base is Base.LIST and shape.items is not None:
        value[:] = [_defaulted(item, shape.items) for item in value]


def _defaulted(value: Any, shape: Shape) -> Any:
    if value is None and not shape.nullable and "default" in shape.limits:
        value = copy.deepcopy(shape.limits["default"])
    default(value, shape)
    return value


def fill(value: Object, stored: Shape, shown: Shape) -> Object:
    """An object as it was stored, with defaults of that version, without what the version to be shown does not know."""
    default(value, stored)
    pruned: Object = _Pruner(keeps_nulls=True).value(value, shown, "")
    return pruned


def strip(value: Object, root: Shape) -> Object:
    """An object without what the version in which it is stored does not know, and with the defaults of that."""
    pruned: Object = _Pruner(keeps_nulls=True).value(value, root, "")
    default(pruned, root)
    return pruned


# --- pruning --------------------------------------------------------------------------------------


def decode(value: Any, root: Shape, *, tree: Any = None, keeps_nulls: bool = False) -> Decoded:
    """An object without what its schema does not know, and which fields those were; `tree` tells of repeated ones.

    Nulls that may not be are left out with the text of a request, and refused (`keeps_nulls`) after an apply.

    Named in this order: repeated fields, unknown ones of metadata, all others by their names, those of the metadata of
    embedded objects.
    """
    if not isinstance(value, dict):
        return Decoded(None, error=f"json: cannot unmarshal {json_type(value)} into an object")
    pruner = _Pruner(keeps_nulls=keeps_nulls)
    metadata = value.get("metadata")
    meta = structs.decode({} if metadata is None else metadata, load.shapes()[METADATA])
    if meta.error:
        return meta
    pruned = pruner.value(value, root, "")
    if pruner.error:
        return Decoded(None, error=pruner.error)
    pruned["metadata"] = meta.value
    ours = [line.replace(' field "', ' field "metadata.', 1) for line in meta.strict]
    unknown = [f'unknown field "{path}"' for path in [*sorted(pruner.unknown), *sorted(pruner.unknown_inside)]]
    return Decoded(pruned, strict=[*repeated(tree), *ours, *unknown])


class _Pruner:
    def __init__(self, *, keeps_nulls: bool) -> None:
        self._keeps_nulls = keeps_nulls
        self.unknown: list[str] = []
        self.unknown_inside: list[str] = []
        """In the metadata of embedded objects."""
        self.error = ""

    def value(self, value: Any, shape: Shape | None, path: str, *, keeping: bool = False) -> Any:
        """A copy; `keeping`: what is not known is not lost, either."""
        keeping = keeping or (shape is not None and shape.open)
        if isinstance(value, dict):
            return self._object(value, shape, path, keeping)
        if isinstance(value, list):
            items = shape.items if shape is not None and shape.base is Base.LIST else None
            return [self.value(item, items, f"{path}[{index}]", keeping=keeping) for index, item in enumerate(value)]
        return _number(value)

    def _object(self, value: Object, shape: Shape | None, path: str, keeping: bool) -> Object:
        result = {}
        for name, item in value.items():
            inner = f"{path}.{name}" if path else name
            if shape is not None and is_embedded(shape) and name in HEAD:
                result[name] = self._head(name, item, shape, path)
                continue
            known = None if shape is None else shape.inner(name)
            if known is None and not keeping:
                self.unknown.append(inner)
            elif known is None:
                result[name] = whole_numbers(item)
            elif item is not None or self._keeps_nulls or known.nullable or _has_default(known) or known is _NOTHING:
                result[name] = self.value(item, None if known is _NOTHING else known, inner)
        return result

    def _head(self, name: str, item: Any, shape: Shape, path: str) -> Any:
        """Of an embedded object; that of the whole is looked after elsewhere."""
        if "root" in shape.limits:
            return item
        if name != "metadata":
            if not isinstance(item, str):
                self._wrong(f"{path}.{name}", item, "must be a string")
            return item
        outcome = structs.decode(item, load.shapes()[METADATA])
        if outcome.error:
            self._wrong(f"{path}.{name}", item, outcome.error)
        prefix = f"{path}.{name}."
        self.unknown_inside += [prefix + line.split('"', 1)[1].rstrip('"') for line in outcome.strict]
        return outcome.value

    def _wrong(self, path: str, item: Any, why: str) -> None:
        self.error = self.error or f"{path}: Invalid value: {compact_json(item)}: {why}"


def _has_default(shape: Shape) -> bool:
    return "default" in shape.limits


def whole_numbers(value: Any) -> Any:
    """A copy whose numbers are as they are written again: 1.0 is 1."""
    if isinstance(value, dict):
        return {name: whole_numbers(item) for name, item in value.items()}
    if isinstance(value, list):
        return [whole_numbers(item) for item in value]
    return _number(value)


def _number(value: Any) -> Any:
    """As it is written again: 1.0 is 1, and what no int64 holds is a float."""
    if type(value) is int and not -(2**63) <= value < 2**63:
        return float(value)
    if type(value) is float and math.isfinite(value) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value


# --- shapes ---------------------------------------------------------------------------------------


def _shape(schema: Object) -> Shape:
    shape = Shape(
        base=_base(schema),
        nullable=bool(schema.get("nullable")),
        open=bool(schema.get(_OPEN)),
        atomic=schema.get("x-kubernetes-map-type") == "atomic",
        enum=tuple(schema.get("enum") or ()),
        limits=_limits(schema),
        list_type=ListType(schema.get("x-kubernetes-list-type", "atomic")),
        keys=tuple(schema.get("x-kubernetes-list-map-keys") or ()),
    )
    if shape.base is Base.STRUCT:
        required = schema.get("required") or ()
        shape.fields = {
            name: _field(inner, required=name in required) for name, inner in (schema.get("properties") or {}).items()
        }
        if shape.limits.get(_EMBEDDED):
            shape.fields |= _head_fields()
    elif shape.base is Base.MAP:
        more = schema["additionalProperties"]
        shape.items = _shape(more) if isinstance(more, dict) else _NOTHING
    elif shape.base is Base.LIST and isinstance(schema.get("items"), dict):
        shape.items = _shape(schema["items"])
    return shape


def _base(schema: Object) -> Base:
    if schema.get(_INT_OR_STRING):
        return Base.INT_OR_STRING
    kind = schema.get("type", "")
    if kind in _BASES:
        return _BASES[kind]
    if kind == "array" or (not kind and "items" in schema):
        return Base.LIST
    if schema.get("additionalProperties") and not schema.get("properties"):
        return Base.MAP
    return Base.STRUCT if kind == "object" or "properties" in schema else Base.ANY


def _limits(schema: Object) -> Object:
    limits = {name: value for name, value in schema.items() if name not in _ELSEWHERE and value is not None}
    for name in _LISTS_OF_SCHEMAS:
        if name in limits:
            limits[name] = [_shape(each) for each in limits[name]]
    if "not" in limits:
        limits["not"] = _shape(limits["not"])
    return limits


def _field(schema: Object, *, required: bool) -> Field:
    return Field(shape=_shape(schema), required=required, default=schema.get("default", msgspec.UNSET))


def _head_fields() -> dict[str, Field]:
    """What every object has, whatever its schema says."""
    metadata = Field(shape=load.shapes()[METADATA])
    return {"apiVersion": _string_field(), "kind": _string_field(), "metadata": metadata}


def _string_field() -> Field:
    return Field(shape=Shape(base=Base.STRING))
