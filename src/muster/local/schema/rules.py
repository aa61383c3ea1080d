"""What is wrong with an object of a custom kind, by the schema of its definition, in the words of the API server.

Where several fields are wrong the real server names them in an order of chance; here they come in that of the schema.
Checked are types, required fields, enum, minimum, maximum, multipleOf, lengths, patterns, numbers of items and
properties, uniqueItems, allOf, anyOf, oneOf, not, list types, embedded objects, and the formats that are cheap to check
(see formats).  Other formats pass.  Rules in CEL come after these (see validations).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from muster.base import patterns
from muster.local.checks import metadata, names
from muster.local.checks.fields import FieldError, Why, duplicate, invalid, not_supported, required, too_long, too_many
from muster.local.codec.gotext import compact_json, quoted, shown
from muster.local.codec.values import Object
from muster.local.schema.custom import HEAD, is_embedded
from muster.local.schema.formats import FORMATS, KNOWN
from muster.local.schema.shapes import Base, ListType, Shape

__all__ = ["Before", "validate", "validate_update"]

_UNSET: Any = msgspec.UNSET
_SAFE = 2**53
_FLOAT_MAX = 3.4028234663852886e38
_NUMBER_FORMATS = {"integer": ("int32", "int64"), "number": ("float", "double")}

Errors = Iterator[FieldError]


def validate(value: Object, root: Shape) -> list[FieldError]:
    """All that is wrong with a new object, but for its metadata."""
    return _errors(value, root, "", _UNSET)


def validate_update(new: Object, old: Object, root: Shape) -> list[FieldError]:
    """All that is wrong with the new object; what did not change is let be."""
    return _errors(new, root, "", old)


def _errors(value: Any, shape: Shape, path: str, old: Any) -> list[FieldError]:
    """`old` is what stood there before, UNSET if nobody can tell."""
    if old is not _UNSET and old == value:
        return []
    found = [*_type_errors(value, shape, path), *_enum_errors(value, shape, path)]
    if value is None:
        return found
    found += _combined_errors(value, shape, path)
    if isinstance(value, str):
        found += _string_errors(value, shape, path)
    elif isinstance(value, list):
        found += _list_errors(value, shape, path, old)
    elif isinstance(value, dict):
        found += _object_errors(value, shape, path, old)
    elif not isinstance(value, bool):
        found += _number_errors(value, shape, path)
    return list(dict.fromkeys(found))


# --- types ----------------------------------------------------------------------------------------


def _types(shape: Shape) -> list[str]:
    if shape.limits.get("x-kubernetes-int-or-string"):
        return ["integer", "string"]
    return [shape.limits["type"]] if shape.limits.get("type") else []


def _format(shape: Shape) -> str:
    """The format, if it is one that the real server knows for the type."""
    form, types = str(shape.limits.get("format", "")), _types(shape)
    if len(types) == 1 and types[0] in _NUMBER_FORMATS:
        return form if form in _NUMBER_FORMATS[types[0]] else ""
    return form if types in ([], ["string"]) and form.replace("-", "") in KNOWN else ""


def _type_errors(value: Any, shape: Shape, path: str) -> Errors:
    types, form = _types(shape), _format(shape)
    actual, actual_form = _type_of(value)
    if value is None:
        if types and not shape.nullable:
            yield _wrong_type(path, ",".join(types), "null")
        return
    fits = actual in types or ("integer" in types and _is_whole(value)) or (actual == "integer" and "number" in types)
    if fits or not (types or form):
        return
    if form and isinstance(value, str | list):
        if not {"number", "integer"} & set(types):
            return
    elif form and actual_form != form:
        yield _wrong_type(path, form, actual_form)
        return
    yield _wrong_type(path, ",".join(types), actual)


def _type_of(value: Any) -> tuple[str, str]:
    """Type and format, as the real server sees them."""
    if isinstance(value, int) and not isinstance(value, bool):
        return "integer", "int64"
    if isinstance(value, float):
        return "number", "float64"
    return {bool: "boolean", str: "string", list: "array"}.get(type(value), "object"), ""


def _is_whole(value: Any) -> bool:
    if isinstance(value, float):
        return value.is_integer() and abs(value) < _SAFE
    return isinstance(value, int) and not isinstance(value, bool)


def _wrong_type(path: str, wanted: str, actual: str) -> FieldError:
    detail = f"{path} in body must be of type {wanted}: {quoted(actual)}"
    return FieldError(Why.TYPE_INVALID, path, f"Invalid value: {quoted(actual)}: {detail}")


def _enum_errors(value: Any, shape: Shape, path: str) -> Errors:
    allowed = shape.enum
    if allowed and not any(one == value and isinstance(one, bool) == isinstance(value, bool) for one in allowed):
        yield not_supported(path, value, [one if isinstance(one, str) else compact_json(one) for one in allowed])


# --- schemas in schemas ---------------------------------------------------------------------------


def _combined_errors(value: Any, shape: Shape, path: str) -> Errors:
    limits = shape.limits
    results = {
        word: [_errors(value, one, path, _UNSET) for one in limits[word]]
        for word in ("anyOf", "oneOf", "allOf")
        if word in limits
    }
    if (any_of := results.get("anyOf")) and all(any_of):
        yield _of_all(f"{quoted(path)} must validate at least one schema (anyOf)")
        yield from any_of[0]
    if (one_of := results.get("oneOf")) and (fitting := sum(not errors for errors in one_of)) != 1:
        why = f"Found {fitting} valid alternatives" if fitting else "Found none valid"
        yield _of_all(f"{quoted(path)} must validate one and only one schema (oneOf). {why}")
        yield from one_of[0] if not fitting else ()
    if (all_of := results.get("allOf")) and any(all_of):
        yield from (error for errors in all_of for error in errors)
        none = ". None validated" if all(all_of) else ""
        yield _of_all(f"{quoted(path)} must validate all the schemas (allOf){none}")
    if "not" in limits and not _errors(value, limits["not"], path, _UNSET):
        yield _of_all(f"{quoted(path)} must not validate the schema (not)")


def _of_all(words: str) -> FieldError:
    """What the real server cannot say a field of."""
    return invalid("<nil>", "", words)


# --- scalars --------------------------------------------------------------------------------------


def _string_errors(value: str, shape: Shape, path: str) -> Errors:
    limits, form = shape.limits, _format(shape)
    if "maxLength" in limits and len(value) > limits["maxLength"]:
        yield too_long(path, limits["maxLength"])
    elif "minLength" in limits and len(value) < limits["minLength"]:
        yield _invalid(path, value, f"should be at least {limits['minLength']} chars long")
    elif limits.get("pattern") and not patterns.matches(limits["pattern"], value):
        yield _invalid(path, value, f"should match '{limits['pattern']}'")
    check = FORMATS.get(form.replace("-", ""))
    if check is not None and not check(value):
        yield _wrong_type(path, form, value)


def _number_errors(value: float, shape: Shape, path: str) -> Errors:
    limits, types, form = shape.limits, _types(shape), _format(shape)
    half = 2**31 if form == "int32" else 2**63
    out_of_range = types == ["integer"] and not (_is_whole(value) and -half <= value < half)
    if out_of_range or (types == ["number"] and form == "float" and abs(value) > _FLOAT_MAX):
        kind = f"with format {form}" if form else "(default format)"
        yield _of_all(f"Checked value must be of type {types[0]} {kind} in {path}")
    # Go compares integers with integers
    kind_of_number = int if isinstance(value, int) else float
    if "multipleOf" in limits:
        yield from _multiple_errors(value, kind_of_number(limits["multipleOf"]), path)
    for word, exclusive, sign, words in (
        ("minimum", "exclusiveMinimum", 1, "greater than"),
        ("maximum", "exclusiveMaximum", -1, "less than"),
    ):
        if word in limits:
            bound, strictly = kind_of_number(limits[word]), bool(limits.get(exclusive))
            if (value - bound) * sign < 0 or (strictly and value == bound):
                yield _invalid(
                    path, value, f"should be {words} {'' if strictly else 'or equal to '}{shown(bound or 0)}"
                )


def _multiple_errors(value: float, factor: float, path: str) -> Errors:
    if factor <= 0:
        words = f"factor MultipleOf declared for {path} must be positive: {shown(factor)}"
        yield invalid(path, factor, words)
    elif isinstance(value, int):
        if value % factor:
            yield _invalid(path, value, f"should be a multiple of {shown(factor)}")
    elif not (1 / factor * value if factor < 1 else value / factor).is_integer():
        yield _invalid(path, value, f"should be a multiple of {shown(factor)}")


def _invalid(path: str, value: Any, words: str) -> FieldError:
    return invalid(path, value, f"{path} in body {words}")


# --- lists ----------------------------------------------------------------------------------------


def _list_errors(value: list[Any], shape: Shape, path: str, old: Any) -> Errors:
    limits, size = shape.limits, len(value)
    if shape.items is not None and shape.base is Base.LIST:
        before = Before(old, shape.keys if shape.list_type is ListType.MAP else None)
        for index, item in enumerate(value):
            yield from _errors(item, shape.items, f"{path}[{index}]", before.of(item))
    if "minItems" in limits and size < limits["minItems"]:
        yield invalid(path, size, f"{path} in body should have at least {limits['minItems']} items")
    if "maxItems" in limits and size > limits["maxItems"]:
        yield too_many(path, size, limits["maxItems"])
    if limits.get("uniqueItems") and any(item in value[:index] for index, item in enumerate(value)):
        yield invalid(path, "", f"{path} in body shouldn't contain duplicates")
    if not isinstance(old, list) or not list(_repeated_errors(old, shape, path)):
        yield from _repeated_errors(value, shape, path)


class Before:
    """What items of a list were before; only lists that are maps tell, whose items have keys."""

    def __init__(self, old: Any, keys: tuple[str, ...] | None) -> None:
        self._keys = keys
        self._found: dict[str, Any] = {}
        """By what tells them apart: going through the old list for each item took minutes for 20,000 of them."""
        if keys is not None and isinstance(old, list):
            for one in old:
                if isinstance(one, dict):
                    self._found.setdefault(self._identity(one), one)

    def of(self, item: Any) -> Any:
        """UNSET if it was not there."""
        return self._found.get(self._identity(item), _UNSET) if self._found and isinstance(item, dict) else _UNSET

    def _identity(self, item: Object) -> str:
        return compact_json([item.get(key) for key in self._keys or ()])


def _repeated_errors(value: list[Any], shape: Shape, path: str) -> Errors:
    """Of lists that are sets or maps: where each item that is there more than once comes for the second time."""
    identities = value
    if shape.list_type is ListType.ATOMIC:
        return
    if shape.list_type is ListType.MAP:
        for index, item in enumerate(value):
            if item is not None and not isinstance(item, dict):
                yield invalid(f"{path}[{index}]", item, "must be an object for an array of list-type map")
                return
        identities = [{key: item[key] for key in shape.keys if key in item} if item else {} for item in value]
    seen: dict[str, int] = {}
    for index, identity in enumerate(identities):
        text = compact_json(identity)
        seen[text] = seen.get(text, 0) + 1
        if seen[text] == 2:
            yield duplicate(f"{path}[{index}]", identity)


# --- objects --------------------------------------------------------------------------------------


def _object_errors(value: Object, shape: Shape, path: str, old: Any) -> Errors:
    limits, before = shape.limits, old if isinstance(old, dict) else {}
    if "minProperties" in limits and len(value) < limits["minProperties"]:
        words = f"{path} in body should have at least {limits['minProperties']} properties"
        yield invalid(path, len(value), words)
    if "maxProperties" in limits and len(value) > limits["maxProperties"]:
        yield too_many(path, len(value), limits["maxProperties"])
    for name, inner in _inner_shapes(value, shape).items():
        yield from _errors(value[name], inner, f"{path}.{name}" if path else name, before.get(name, _UNSET))
    for name in limits.get("required") or ():
        if name not in value and not ("root" in limits and name in HEAD):
            yield required(f"{path}.{name}" if path else name)
    if is_embedded(shape) and "root" not in limits:
        yield from _head_errors(value, path)


def _inner_shapes(value: Object, shape: Shape) -> dict[str, Shape]:
    """Of what is there and the schema declares; of what every object has, it may limit the metadata."""
    if shape.base is Base.MAP and shape.items is not None:
        return dict.fromkeys(value, shape.items)
    head = HEAD if is_embedded(shape) else ()
    found = {name: field.shape for name, field in shape.fields.items() if name in value and name not in head}
    declared: dict[str, Shape] = shape.limits.get("declared", {})
    return found | ({"metadata": declared["metadata"]} if "metadata" in declared and "metadata" in value else {})


def _head_errors(value: Object, path: str) -> Errors:
    for name in ("apiVersion", "kind"):
        if name not in value:
            yield required(f"{path}.{name}")
        elif not value[name]:
            yield invalid(f"{path}.{name}", value[name], "must not be empty")
    version, kind = value.get("apiVersion") or "", value.get("kind") or ""
    if version.count("/") > 1:
        yield invalid(f"{path}.apiVersion", version, f"unexpected GroupVersion string: {version}")
    if kind and (problems := names.dns1035_label_problems(kind.lower())):
        words = f"may have mixed case, but should otherwise match: {','.join(problems)}"
        yield invalid(f"{path}.kind", kind, words)
    if meta := value.get("metadata"):
        # it need not have a name
        named = {**meta, "name": meta.get("name") or "unnamed"}
        for error in metadata.validate(
            named,
            namespaced=bool(meta.get("namespace")),
            name_problems=names.path_segment_problems,
            standard_finalizers=False,
        ):
            yield msgspec.structs.replace(error, field=f"{path}.{error.field}")
