"""What is wrong with the schema of a custom kind: it must be structural, its parts must go together, its rules compile.

Structural: the type of each value can be told without looking at others.  Not checked here: whether defaults have
fields that their schemas do not know, and what rules may cost, which is counted when they are evaluated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec

from muster.base import patterns
from muster.local.checks.fields import FieldError, Why, forbidden, invalid, not_supported, required
from muster.local.codec.values import Object
from muster.local.schema import custom, rules, validations
from muster.local.schema.validations import RULES, Checks, Place

_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_UNSUPPORTED = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_ROOT, _ITEM, _FIELD = "at the root", "for specified array items", "for specified object fields"
_VALUE, _EITHER = "in a nested context", "as a type of its own"
_OWN_LEVELS = {"properties": _FIELD, "items": _ITEM, "additionalProperties": _FIELD}
_PRESERVE, _EMBEDDED = "x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"
_INT_OR_STRING = "x-kubernetes-int-or-string"
_LIST_TYPE, _LIST_KEYS, _MAP_TYPE = "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type"
_NOT_IN_VALUES = (
    *("type", "additionalProperties", "default", "title", "description", "nullable", _PRESERVE, _EMBEDDED),
    *(_INT_OR_STRING, _LIST_KEYS, _LIST_TYPE, _MAP_TYPE, RULES),
)
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
    for place in _places(schema, at, _ROOT):
        if place.level == _VALUE:
            found += _value_errors(place)
        elif place.level != _EITHER:
            found += _structural_errors(place)
        found += _standard_errors(place)
        found += _extension_errors(place.schema, place.at)
        found += _rule_errors(place)
    return found or _compilation_errors(schema, at) or list(_default_errors(schema, at, validations.of(schema)))


def too_deep(schema: Object) -> str:
    """Why a schema is not gone through; "" for one that is."""
    level = [schema]
    for _ in range(_DEEPEST):
        level = [inner for one in level for _, inner in _parts(one)]
        if not level:
            return ""
    return f"must not be nested more than {_DEEPEST} levels deep"


def not_evaluated(schema: Object, field: str) -> list[str]:
    """Where a schema has rules in CEL that use what is not there, and what that is."""
    # one that an older folder holds may be too deep
    checks = None if too_deep(schema) else validations.of(schema)
    return [
        f"{place.at}.{RULES}[{index}] ({rule.unsupported})"
        for place in (() if checks is None else checks.places(field))
        for index, rule in enumerate(place.rules)
        if rule.unsupported
    ]


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


# --- the schemas in a schema ---


class _Place(NamedTuple):
    """A schema somewhere in another."""

    schema: Object
    at: str
    level: str
    """What it is of: the whole, an item or a field of a structure; or it only restricts values."""
    in_meta: bool = False
    no_defaults: str = ""
    """Why it may have no default."""


def _places(schema: Object, at: str, level: str, *, in_meta: bool = False, no_defaults: str = "") -> Iterator[_Place]:
    yield _Place(schema, at, level, in_meta, no_defaults)
    is_structure = level in (_ROOT, _ITEM, _FIELD)
    for part, inner in _parts(schema):
        own, within, why = _VALUE, in_meta, no_defaults
        kind, _, name = part.removesuffix("]").partition("[")
        if kind == "properties":
            meta = (level == _ROOT or bool(schema.get(_EMBEDDED))) and name in _META
            within, why = in_meta or meta, f"in top-level {name}" if level == _ROOT and meta else no_defaults
        elif kind == "additionalProperties" and in_meta:
            why = "inside additionalProperties applying to object metadata"
        if is_structure and kind in _OWN_LEVELS:
            own = _OWN_LEVELS[kind]
        elif kind == "anyOf" and (is_structure or at.endswith("allOf[0]")) and schema["anyOf"] == _INTEGER_OR_STRING:
            own = _EITHER
        yield from _places(inner, f"{at}.{part}", own, in_meta=within, no_defaults=why)


# --- structural schemas ---


def _structural_errors(place: _Place) -> Iterator[FieldError]:
    schema, at, level = place.schema, place.at, place.level
    kind, properties, is_embedded = schema.get("type", ""), _properties(schema), bool(schema.get(_EMBEDDED))
    if kind == "array" and schema.get("items") is None:
        yield required(f"{at}.items", "must be specified")
    if schema.get("additionalProperties") is not None and (level == _ROOT or is_embedded):
        where = "at the root" if level == _ROOT else f"if {_EMBEDDED} is set"
        yield forbidden(f"{at}.additionalProperties", f"must not be used {where}")
    for extension in (_PRESERVE, _EMBEDDED):
        if schema.get(_INT_OR_STRING) and schema.get(extension):
            yield invalid(f"{at}.{extension}", True, f"must be false if {_INT_OR_STRING} is true")
    yield from _pattern_errors(schema, at)
    words = f"must be object {'at the root' if level == _ROOT else f'if {_EMBEDDED} is true'}"
    if (level == _ROOT or is_embedded) and kind not in ("", "object"):
        yield invalid(f"{at}.type", kind, words)
    elif not kind and (is_embedded or not (schema.get(_INT_OR_STRING) or schema.get(_PRESERVE))):
        yield required(f"{at}.type", f"must not be empty {level}")
    if level == _ROOT or is_embedded:
        yield from _resource_errors(properties, at)
    if level == _ROOT and "metadata" in properties:
        others = {name for name in properties["metadata"] if name not in ("type", "default", "properties")}
        if others or not set(_properties(properties["metadata"])) <= {"name", "generateName"}:
            words = "must not specify anything other than name and generateName, but metadata is implicitly specified"
            yield forbidden(f"{at}.properties[metadata]", words)
    if is_embedded and not schema.get(_PRESERVE) and not properties:
        yield required(f"{at}.properties", f"must not be empty if {_EMBEDDED} is true without {_PRESERVE}")


def _resource_errors(properties: Mapping[str, Object], at: str) -> Iterator[FieldError]:
    """Of the fields that all objects have."""
    for name, wanted in (("kind", "string"), ("apiVersion", "string"), ("metadata", "object")):
        if name in properties and properties[name].get("type", "") != wanted:
            given = properties[name].get("type", "")
            yield invalid(f"{at}.properties[{name}].type", given, f"must be {wanted}")


def _value_errors(place: _Place) -> Iterator[FieldError]:
    """Of a schema that only restricts values."""
    yield from _pattern_errors(place.schema, place.at)
    for part in _NOT_IN_VALUES:
        if place.schema.get(part) not in (None, "", False, []):
            yield forbidden(f"{place.at}.{part}", "must be undefined to be structural")
    if "metadata" in _properties(place.schema):
        yield forbidden(f"{place.at}.properties[metadata]", f"must not be specified {_VALUE}")


def _pattern_errors(schema: Object, at: str) -> Iterator[FieldError]:
    pattern = schema.get("pattern")
    if pattern and (why := patterns.problem(pattern)):
        yield invalid(f"{at}.pattern", pattern, f"must be a valid regular expression, but isn't: {why}")


# --- rules in CEL ---

_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")


def _rule_errors(place: _Place) -> Iterator[FieldError]:
    """Of what rules say about themselves."""
    for index, rule in enumerate(place.schema.get(RULES) or ()):
        at = f"{place.at}.{RULES}[{index}]"
        text, message, path = rule.get("rule") or "", rule.get("message") or "", rule.get("fieldPath") or ""
        if not text.strip():
            yield required(f"{at}.rule", "rule is not specified")
        elif message and not message.strip():
            yield invalid(f"{at}.message", message, "must be non-empty if specified")
        elif "\n" in message.strip():
            yield invalid(f"{at}.message", message, "must not contain line breaks")
        elif "\n" in text.strip() and not message.strip():
            yield required(f"{at}.message", "message must be specified if rule contains line breaks")
        if rule.get("messageExpression") and not rule["messageExpression"].strip():
            yield required(f"{at}.messageExpression", "messageExpression must be non-empty if specified")
        if rule.get("reason") is not None and rule["reason"] not in _REASONS:
            yield not_supported(f"{at}.reason", rule["reason"], _REASONS)
        if path and not path.strip():
            yield invalid(f"{at}.fieldPath", path, "must be non-empty if specified")
        if "\n" in path:
            yield invalid(f"{at}.fieldPath", path, "must not contain line breaks")
        if path and validations.field_path(place.schema, path) is None:
            yield invalid(f"{at}.fieldPath", path, "must be a valid path")


def _compilation_errors(schema: Object, field: str) -> list[FieldError]:
    checks = validations.of(schema)
    places = () if checks is None else checks.places(field)
    return [error for place in places for error in _errors_at(place)]


def _errors_at(place: Place) -> Iterator[FieldError]:
    if not place.is_typed:
        words = f"internal error: failed to construct type information for {RULES} rules"
        why = "unable to convert structural schema to CEL declarations"
        yield FieldError(Why.INTERNAL, f"{place.at}.{RULES}", f"Internal error: {words}: {why}")
        return
    for index, rule in enumerate(place.rules):
        at, said = f"{place.at}.{RULES}[{index}]", rule.said
        shown = {
            "Rule": said.get("rule", ""),
            "Message": said.get("message", ""),
            "MessageExpression": said.get("messageExpression", ""),
            "Reason": said.get("reason"),
            "FieldPath": said.get("fieldPath", ""),
            "OptionalOldSelf": said.get("optionalOldSelf"),
        }
        if rule.error:
            yield invalid(f"{at}.rule", shown, rule.error)
        if rule.message_error:
            yield invalid(f"{at}.messageExpression", shown, rule.message_error)
        if rule.compares and place.within:
            words = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {place.within}"
            yield invalid(f"{at}.rule", said["rule"], words)
        if said.get("optionalOldSelf") and not rule.compares and not rule.unsupported:
            yield invalid(f"{at}.optionalOldSelf", True, "may not be set if oldSelf is not used in rule")


# --- defaults ---


def _default_errors(schema: Object, field: str, checks: Checks | None) -> Iterator[FieldError]:
    """Of values that the schema gives and would refuse, by itself or by its rules in CEL."""
    if (given := schema.get("default")) is not None:
        for error in rules.validate(given, custom.part(schema)):
            inside = f".{error.field}" if error.field else ""
            yield msgspec.structs.replace(error, field=f"{field}.default{inside}")
        if checks is not None:
            # it is as it was: rules about changes are asked as well
            yield from checks.errors(given, given, at=f"{field}.default", ratchets=False)
    for name, inner in _properties(schema).items():
        within = None if checks is None else checks.properties.get(name)
        yield from _default_errors(inner, f"{field}.properties[{name}]", within)
    parts = {} if checks is None else {"items": checks.items, "additionalProperties": checks.values}
    for part in ("items", "additionalProperties"):
        if isinstance(schema.get(part), dict):
            yield from _default_errors(schema[part], f"{field}.{part}", parts.get(part))


# --- what a schema may say at all ---


def _standard_errors(place: _Place) -> Iterator[FieldError]:
    schema, at = place.schema, place.at
    kind, additional = schema.get("type", ""), schema.get("additionalProperties")
    if kind == "null":
        yield forbidden(f"{at}.type", "type cannot be set to null, use nullable as an alternative")
    if kind and kind not in _TYPES:
        yield not_supported(f"{at}.type", kind, _TYPES)
    if schema.get("default") is not None and place.no_defaults:
        yield forbidden(f"{at}.default", f"must not be set {place.no_defaults}")
    for part in _UNSUPPORTED:
        if schema.get(part) not in (None, "", {}):
            yield forbidden(f"{at}.{part}", f"{part} is not supported")
    if isinstance(schema.get("items"), list):
        yield forbidden(f"{at}.items", "items must be a schema object and not an array")
    if place.in_meta and schema.get(_EMBEDDED):
        yield forbidden(f"{at}.{_EMBEDDED}", "must not be used inside of resource meta")
    if schema.get("uniqueItems"):
        yield forbidden(f"{at}.uniqueItems", "cannot be set to true since the runtime complexity becomes quadratic")
    if additional is not None and _properties(schema) and additional is not True:
        yield forbidden(f"{at}.additionalProperties", "additionalProperties and properties are mutual exclusive")


def _extension_errors(schema: Object, at: str) -> Iterator[FieldError]:
    """Of what Kubernetes adds to schemas: how lists and maps are merged."""
    list_type, keys = schema.get(_LIST_TYPE), schema.get(_LIST_KEYS) or []
    items = schema.get("items") if isinstance(schema.get("items"), dict) else None
    if schema.get(_PRESERVE) is False:
        yield invalid(f"{at}.{_PRESERVE}", False, "must be true or undefined")
    for extension, wanted, known in (
        (_MAP_TYPE, "object", ("atomic", "granular")),
        (_LIST_TYPE, "array", ("atomic", "set", "map")),
    ):
        given, kind = schema.get(extension), schema.get("type", "")
        if extension in schema and kind != wanted:
            words = f"must be {wanted} if {extension} is specified"
            yield invalid(f"{at}.type", kind, words) if kind else required(f"{at}.type", words)
        if given is not None and given not in known:
            yield not_supported(f"{at}.{extension}", given, known)
    if keys and list_type != "map":
        field, words = f"{at}.{_LIST_TYPE}", f"must be map if {_LIST_KEYS} is non-empty"
        yield required(field, words) if list_type is None else invalid(field, list_type, words)
    if list_type in ("set", "map") and (items or {}).get("nullable"):
        yield forbidden(f"{at}.items.nullable", f"cannot be nullable when {_LIST_TYPE} is {list_type}")
    if list_type == "set" and schema.get("type") == "array" and items:
        yield from _set_item_errors(items, f"{at}.items")
    if list_type == "map" and not keys:
        yield required(f"{at}.{_LIST_KEYS}", f"must not be empty if {_LIST_TYPE} is map")
    if list_type == "map" and items is None:
        yield required(f"{at}.items", f"must have a schema if {_LIST_TYPE} is map")
    elif list_type == "map" and items is not None:
        yield from _map_item_errors(items, keys, at)


def _set_item_errors(items: Object, at: str) -> Iterator[FieldError]:
    for kind, extension, usual in (("array", _LIST_TYPE, "atomic"), ("object", _MAP_TYPE, None)):
        if items.get("type") == kind and items.get(extension, usual) != "atomic":
            words = f"must be atomic as item of a list with {_LIST_TYPE}=set"
            yield invalid(f"{at}.{extension}", items.get(extension), words)


def _map_item_errors(items: Object, keys: list[str], at: str) -> Iterator[FieldError]:
    """Of items that are told apart by keys, each of which is a scalar that is always there."""
    is_object = items.get("type", "") == "object"
    if not is_object:
        yield invalid(f"{at}.items.type", items.get("type", ""), f"must be object if {_LIST_TYPE} is map")
    if is_object and len(set(keys)) < len(keys):
        yield invalid(f"{at}.{_LIST_KEYS}", keys, "must not contain duplicate entries")
    for key in keys:
        field, inner = f"{at}.items.properties[{key}]", _properties(items).get(key)
        if inner is None:
            if is_object:
                yield invalid(f"{at}.{_LIST_KEYS}", keys, "entries must all be names of item properties")
            continue
        if is_object and inner.get("type") in ("array", "object"):
            yield invalid(f"{field}.type", inner["type"], f"must be a scalar type, as it is in {_LIST_KEYS}")
        if key not in (items.get("required") or ()) and inner.get("default") is None:
            yield required(f"{field}.default", f"must be there or be required, as it is in {_LIST_KEYS}")
        if inner.get("nullable"):
            yield forbidden(f"{field}.nullable", f"cannot be nullable, as it is in {_LIST_KEYS}")


def _properties(schema: Object) -> Mapping[str, Object]:
    return schema.get("properties") or {}
