"""What is wrong with the schema of a custom kind: it must be structural, and its parts must go together.

Structural: the type of each value can be told without looking at others.  Not checked here: rules in CEL, and whether
defaults have fields that their schemas do not know.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from muster.local.checks.fields import FieldError, forbidden, invalid, not_supported, required
from muster.local.codec.values import Object
from muster.local.schema import custom, patterns, rules

_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_UNSUPPORTED = {
    "id": "id",
    "additionalItems": "additionalItems",
    "patternProperties": "patternProperties",
    "definitions": "definitions",
    "dependencies": "dependencies",
    "$ref": "$ref",
}
_ROOT, _ITEM, _FIELD = "at the root", "for specified array items", "for specified object fields"
_PRESERVE, _EMBEDDED = "x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"
_INT_OR_STRING = "x-kubernetes-int-or-string"
_LIST_TYPE, _LIST_KEYS, _MAP_TYPE = "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type"
_RULES = "x-kubernetes-validations"
_NESTED_MUST = {
    "type": "must be empty to be structural",
    "additionalProperties": "must be undefined to be structural",
    "default": "must be undefined to be structural",
    "title": "must be empty to be structural",
    "description": "must be empty to be structural",
    "nullable": "must be false to be structural",
    _PRESERVE: "must be false to be structural",
    _EMBEDDED: "must be false to be structural",
    _INT_OR_STRING: "must be false to be structural",
    _LIST_KEYS: "must be empty to be structural",
    _LIST_TYPE: "must be undefined to be structural",
    _MAP_TYPE: "must be undefined to be structural",
    _RULES: "must be empty to be structural",
}
"""What a schema inside anyOf, allOf, oneOf and not may not say."""
_INTEGER_OR_STRING = [{"type": "integer"}, {"type": "string"}]
_META = ("metadata", "kind", "apiVersion")
_DEEPEST = 100
"""Schemas are gone through by functions that call themselves, and objects by them.  Go would go on to some 5,000
levels, which keep a kube-apiserver busy for minutes; what people write has 20 to 30."""


def errors(validation: Object | None, field: str, *, has_status: bool) -> list[FieldError]:
    """Of `{openAPIV3Schema: ...}` at a field."""
    schema = (validation or {}).get("openAPIV3Schema")
    if schema is None:
        return []
    at = f"{field}.openAPIV3Schema"
    if why := too_deep(schema):
        return [forbidden(at, why)]
    found = []
    if has_status and schema.get("type", "object") != "object":
        words = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
        found.append(invalid(f"{at}.type", schema["type"], words))
    if schema.get("nullable"):
        found.append(forbidden(f"{at}.nullable", "nullable cannot be true at the root"))
    found += sorted(_structural(schema, at, _ROOT), key=str)
    found += _standard(schema, at, is_root=True, no_defaults="")
    return found or list(_default_errors(schema, at))


def too_deep(schema: Object) -> str:
    """Why a schema is not gone through; "" for one that is."""
    level = [schema]
    for _ in range(_DEEPEST):
        level = [inner for one in level for _, inner in _parts(one)]
        if not level:
            return ""
    return f"must not be nested more than {_DEEPEST} levels deep"


def rules_in(schema: Object, field: str) -> list[str]:
    """Where a schema has rules in CEL."""
    level, found = [(field, schema)], []
    for _ in range(_DEEPEST):
        found += [f"{at}.{_RULES}" for at, one in level if one.get(_RULES)]
        level = [(f"{at}.{part}", inner) for at, one in level for part, inner in _parts(one)]
    return found


def _parts(schema: Object) -> Iterator[tuple[str, Object]]:
    """The schemas in a schema, and where in it they are."""
    for name, inner in _properties(schema).items():
        yield f"properties[{name}]", inner
    for part in ("items", "additionalProperties", "not"):
        if isinstance(schema.get(part), dict):
            yield part, schema[part]
    for part in ("allOf", "anyOf", "oneOf"):
        for index, inner in enumerate(schema.get(part) or ()):
            yield f"{part}[{index}]", inner


# --- structural schemas ---


def _structural(schema: Object, field: str, level: str) -> Iterator[FieldError]:
    kind, items, properties = schema.get("type", ""), schema.get("items"), _properties(schema)
    if kind == "array" and items is None:
        yield required(f"{field}.items", "must be specified")
    if isinstance(items, dict):
        yield from _structural(items, f"{field}.items", _ITEM)
    for name, inner in properties.items():
        yield from _structural(inner, f"{field}.properties[{name}]", _FIELD)
    yield from _additional(schema, field, level)
    if schema.get(_INT_OR_STRING):
        for extension in (_PRESERVE, _EMBEDDED):
            if schema.get(extension):
                yield invalid(f"{field}.{extension}", True, f"must be false if {_INT_OR_STRING} is true")
    yield from _values(schema, field, skip_any_of=_is_int_or_string(schema.get("anyOf")))
    yield from _type_errors(schema, field, level)
    yield from _metadata_errors(properties, field, level, is_resource=level == _ROOT or bool(schema.get(_EMBEDDED)))
    if schema.get(_EMBEDDED) and not schema.get(_PRESERVE) and not properties:
        words = f"must not be empty if {_EMBEDDED} is true without {_PRESERVE}"
        yield required(f"{field}.properties", words)


def _additional(schema: Object, field: str, level: str) -> Iterator[FieldError]:
    additional = schema.get("additionalProperties")
    if additional is None:
        return
    if level == _ROOT:
        yield forbidden(f"{field}.additionalProperties", "must not be used at the root")
    if isinstance(additional, dict):
        yield from _structural(additional, f"{field}.additionalProperties", _FIELD)
    if schema.get(_EMBEDDED):
        yield forbidden(f"{field}.additionalProperties", f"must not be used if {_EMBEDDED} is set")


def _type_errors(schema: Object, field: str, level: str) -> Iterator[FieldError]:
    kind = schema.get("type", "")
    words = f"must be object if {_EMBEDDED} is true"
    if schema.get(_EMBEDDED) and kind != "object":
        yield invalid(f"{field}.type", kind, words) if kind else required(f"{field}.type", words)
    elif not kind and not schema.get(_INT_OR_STRING) and not schema.get(_PRESERVE):
        yield required(f"{field}.type", f"must not be empty {level}")
    if level == _ROOT and kind not in ("", "object"):
        yield invalid(f"{field}.type", kind, "must be object at the root")


def _metadata_errors(
    properties: Mapping[str, Object], field: str, level: str, *, is_resource: bool
) -> Iterator[FieldError]:
    for name in ("kind", "apiVersion"):
        given = properties.get(name, {}).get("type", "")
        if is_resource and name in properties and given != "string":
            yield invalid(f"{field}.properties[{name}].type", given, "must be string")
    if "metadata" not in properties:
        return
    at, metadata = f"{field}.properties[metadata]", properties["metadata"]
    if is_resource and metadata.get("type") != "object":
        yield invalid(f"{at}.type", metadata.get("type", ""), "must be object")
    if level == _ROOT:
        others = {name for name in metadata if name not in ("type", "default", "properties")}
        if others or not set(_properties(metadata)) <= {"name", "generateName"}:
            words = "must not specify anything other than name and generateName, but metadata is implicitly specified"
            yield forbidden(at, words)


def _values(schema: Object, field: str, *, skip_any_of: bool = False) -> Iterator[FieldError]:
    """Of the schemas inside that only restrict values."""
    for part in ("anyOf", "allOf", "oneOf"):
        for index, inner in enumerate(schema.get(part) or ()):
            if part == "anyOf" and skip_any_of:
                continue
            skip = part == "allOf" and index == 0 and _is_int_or_string(inner.get("anyOf"))
            yield from _nested(inner, f"{field}.{part}[{index}]", skip_any_of=skip)
    if schema.get("not") is not None:
        yield from _nested(schema["not"], f"{field}.not")
    pattern = schema.get("pattern")
    if pattern and (why := patterns.problem(pattern)):
        yield invalid(f"{field}.pattern", pattern, f"must be a valid regular expression, but isn't: {why}")


def _nested(schema: Object, field: str, *, skip_any_of: bool = False) -> Iterator[FieldError]:
    yield from _values(schema, field, skip_any_of=skip_any_of)
    if isinstance(schema.get("items"), dict):
        yield from _nested(schema["items"], f"{field}.items")
    for name, inner in _properties(schema).items():
        yield from _nested(inner, f"{field}.properties[{name}]")
    for part, words in _NESTED_MUST.items():
        if schema.get(part) not in (None, "", False, []):
            yield forbidden(f"{field}.{part}", words)
    if "metadata" in _properties(schema):
        yield forbidden(f"{field}.properties[metadata]", "must not be specified in a nested context")


def _is_int_or_string(any_of: Any) -> bool:
    return bool(any_of == _INTEGER_OR_STRING)


# --- defaults ---


def _default_errors(schema: Object, field: str) -> Iterator[FieldError]:
    """Of values that the schema gives and would refuse."""
    if schema.get("default") is not None:
        for error in rules.validate(schema["default"], custom.part(schema)):
            inside = f".{error.field}" if error.field else ""
            yield msgspec.structs.replace(error, field=f"{field}.default{inside}")
    for name, inner in _properties(schema).items():
        yield from _default_errors(inner, f"{field}.properties[{name}]")
    for part in ("items", "additionalProperties"):
        if isinstance(schema.get(part), dict):
            yield from _default_errors(schema[part], f"{field}.{part}")


# --- what a schema may say at all ---


def _standard(
    schema: Object, field: str, *, is_root: bool, no_defaults: str, in_meta: bool = False
) -> Iterator[FieldError]:
    yield from _supported(schema, field, no_defaults=no_defaults, in_meta=in_meta)
    if schema.get("uniqueItems"):
        words = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden(f"{field}.uniqueItems", words)
    additional = schema.get("additionalProperties")
    if additional is not None and _properties(schema) and additional is not True:
        words = "additionalProperties and properties are mutual exclusive"
        yield forbidden(f"{field}.additionalProperties", words)
    if isinstance(additional, dict):
        inside = "inside additionalProperties applying to object metadata" if in_meta else no_defaults
        yield from _standard(
            additional, f"{field}.additionalProperties", is_root=False, no_defaults=inside, in_meta=in_meta
        )
    for name, inner in _properties(schema).items():
        meta = (is_root or bool(schema.get(_EMBEDDED))) and name in _META
        why = f"in top-level {name}" if is_root and meta else no_defaults
        at = f"{field}.properties[{name}]"
        yield from _standard(inner, at, is_root=False, no_defaults=why, in_meta=in_meta or meta)
    for at, inner in _others(schema, field):
        yield from _standard(inner, at, is_root=False, no_defaults=no_defaults, in_meta=in_meta)
    yield from _extension_errors(schema, field)


def _others(schema: Object, field: str) -> Iterator[tuple[str, Object]]:
    if schema.get("not") is not None:
        yield f"{field}.not", schema["not"]
    for part in ("allOf", "oneOf", "anyOf"):
        for index, inner in enumerate(schema.get(part) or ()):
            yield f"{field}.{part}[{index}]", inner
    if isinstance(schema.get("items"), dict):
        yield f"{field}.items", schema["items"]


def _supported(schema: Object, field: str, *, no_defaults: str, in_meta: bool) -> Iterator[FieldError]:
    kind = schema.get("type", "")
    if kind and kind not in _TYPES:
        yield not_supported(f"{field}.type", kind, _TYPES)
    if schema.get("default") is not None and no_defaults:
        yield forbidden(f"{field}.default", f"must not be set {no_defaults}")
    for part, name in _UNSUPPORTED.items():
        if schema.get(part) not in (None, "", {}):
            yield forbidden(f"{field}.{part}", f"{name} is not supported")
    if kind == "null":
        yield forbidden(f"{field}.type", "type cannot be set to null, use nullable as an alternative")
    if isinstance(schema.get("items"), list):
        yield forbidden(f"{field}.items", "items must be a schema object and not an array")
    if in_meta and schema.get(_EMBEDDED):
        yield forbidden(f"{field}.{_EMBEDDED}", "must not be used inside of resource meta")


def _extension_errors(schema: Object, field: str) -> Iterator[FieldError]:
    if schema.get(_PRESERVE) is False:
        yield invalid(f"{field}.{_PRESERVE}", False, "must be true or undefined")
    yield from _must_be("object", schema, field, _MAP_TYPE)
    map_type, list_type = schema.get(_MAP_TYPE), schema.get(_LIST_TYPE)
    if map_type is not None and map_type not in ("atomic", "granular"):
        yield not_supported(f"{field}.{_MAP_TYPE}", map_type, ("atomic", "granular"))
    yield from _must_be("array", schema, field, _LIST_TYPE)
    items = schema.get("items") if isinstance(schema.get("items"), dict) else None
    if list_type == "set" and schema.get("type") == "array" and items:
        yield from _set_item_errors(items, f"{field}.items")
    if list_type is not None and list_type not in ("atomic", "set", "map"):
        yield not_supported(f"{field}.{_LIST_TYPE}", list_type, ("atomic", "set", "map"))
    if schema.get(_LIST_KEYS) and list_type != "map":
        words = f"must be map if {_LIST_KEYS} is non-empty"
        at = f"{field}.{_LIST_TYPE}"
        yield required(at, words) if list_type is None else invalid(at, list_type, words)
    if list_type == "map":
        yield from _map_errors(schema, items, field)
    if list_type in ("set", "map") and (items or {}).get("nullable"):
        yield forbidden(f"{field}.items.nullable", f"cannot be nullable when {_LIST_TYPE} is {list_type}")
    if list_type == "map" and items:
        yield from _key_errors(schema, items, f"{field}.items")


def _must_be(wanted: str, schema: Object, field: str, extension: str) -> Iterator[FieldError]:
    kind = schema.get("type", "")
    if extension in schema and kind != wanted:
        words = f"must be {wanted} if {extension} is specified"
        yield invalid(f"{field}.type", kind, words) if kind else required(f"{field}.type", words)


def _set_item_errors(items: Object, field: str) -> Iterator[FieldError]:
    words = f"must be atomic as item of a list with {_LIST_TYPE}=set"
    if items.get("type") == "array" and items.get(_LIST_TYPE, "atomic") != "atomic":
        yield invalid(f"{field}.{_LIST_TYPE}", items[_LIST_TYPE], words)
    if items.get("type") == "object" and items.get(_MAP_TYPE) != "atomic":
        yield invalid(f"{field}.{_MAP_TYPE}", items.get(_LIST_TYPE), words)


def _map_errors(schema: Object, items: Object | None, field: str) -> Iterator[FieldError]:
    """Of a list whose items are told apart by keys."""
    keys = schema.get(_LIST_KEYS) or []
    if not keys:
        yield required(f"{field}.{_LIST_KEYS}", f"must not be empty if {_LIST_TYPE} is map")
    if items is None:
        yield required(f"{field}.items", f"must have a schema if {_LIST_TYPE} is map")
        return
    if items.get("type", "") != "object":
        words = f"must be object if parent array's {_LIST_TYPE} is map"
        yield invalid(f"{field}.items.type", items.get("type", ""), words)
        return
    for index, key in enumerate(keys):
        inner = _properties(items).get(key)
        if inner is None:
            yield invalid(f"{field}.{_LIST_KEYS}", keys, "entries must all be names of item properties")
        elif inner.get("type") in ("array", "object"):
            words = f"must be a scalar type if parent array's {_LIST_TYPE} is map"
            yield invalid(f"{field}.items.properties[{key}].type", items["type"], words)
        if key in keys[:index]:
            yield invalid(f"{field}.{_LIST_KEYS}", keys, "must not contain duplicate entries")


def _key_errors(schema: Object, items: Object, field: str) -> Iterator[FieldError]:
    for key in schema.get(_LIST_KEYS) or ():
        inner = _properties(items).get(key)
        if inner is None:
            continue
        words = f"this property is in {_LIST_KEYS}, so it"
        if key not in (items.get("required") or ()) and inner.get("default") is None:
            at = f"{field}.properties[{key}].default"
            yield required(at, f"{words} must have a default or be a required property")
        if inner.get("nullable"):
            yield forbidden(f"{field}.properties[{key}].nullable", f"{words} cannot be nullable")


def _properties(schema: Object) -> Mapping[str, Object]:
    return schema.get("properties") or {}
