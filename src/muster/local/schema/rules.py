"""What is wrong with an object of a custom kind, by the schema of its definition, in the words of the API server.

Where several fields are wrong the real server names them in an order of chance; here they come in that of the schema.
Checked are types, required fields, enum, minimum, maximum, multipleOf, lengths, patterns, numbers of items and
properties, uniqueItems, allOf, anyOf, oneOf, not, list types, embedded objects, and the formats that are cheap to check
(see formats).  Other formats pass, as do all rules in CEL.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from muster.local.checks import names
from muster.local.checks.fields import FieldError, Why, duplicate, invalid, not_supported, required, too_long, too_many
from muster.local.codec.gotext import compact_json, quoted, shown
from muster.local.codec.values import Object
from muster.local.schema import patterns
from muster.local.schema.custom import is_embedded
from muster.local.schema.formats import FORMATS, KNOWN
from muster.local.schema.shapes import Base, ListType, Shape

__all__ = ["validate", "validate_update"]

_UNSET: Any = msgspec.UNSET
_SAFE = 2**53
_FLOAT_MAX = 3.4028234663852886e38


def validate(value: Object, root: Shape) -> list[FieldError]:
    """All that is wrong with a new object, but for its metadata."""
    return _validated(value, root, _UNSET)


def validate_update(new: Object, old: Object, root: Shape) -> list[FieldError]:
    """All that is wrong with the new object; what was wrong already and did not change is let be."""
    return _validated(new, root, old)


def _validated(value: Object, root: Shape, old: Any) -> list[FieldError]:
    errors = _Check(value, root, "", old).errors()
    errors += _embedded_errors(value, root, "")
    if old is _UNSET or not list(_list_errors(old, root, "")):
        errors += _list_errors(value, root, "")
    return errors


# --- the schema -----------------------------------------------------------------------------------


class _Check:
    """One value and one schema."""

    def __init__(self, value: Any, shape: Shape, path: str, old: Any) -> None:
        self._value = value
        self._shape = shape
        self._limits = shape.limits
        self._path = path
        self._old = old
        self._matches = 0
        """How far it got: of several schemas that do not fit, the one that fits best tells why."""

    def errors(self) -> list[FieldError]:
        found = list(dict.fromkeys(self._all()))
        if found and self._old is not _UNSET and self._old == self._value:
            return []
        return found

    def _all(self) -> Iterator[FieldError]:
        if self._value is None:
            yield from self._type()
            yield from self._enum()
            return
        checks = [self._type, self._combined]
        if isinstance(self._value, str):
            checks += [self._string, self._format]
        elif _is_number(self._value):
            checks.append(self._number)
        elif isinstance(self._value, list):
            checks.append(self._list)
        checks.append(self._enum)
        if isinstance(self._value, dict):
            checks.append(self._object)
        for check in checks:
            self._matches += 1
            yield from check()

    # --- types ------------------------------------------------------------------

    def _types(self) -> list[str]:
        if self._limits.get("x-kubernetes-int-or-string"):
            return ["integer", "string"]
        return [self._limits["type"]] if self._limits.get("type") else []

    def _type(self) -> Iterator[FieldError]:
        types, form = self._types(), self._known_format()
        if not types and not form:
            return
        value = self._value
        if value is None:
            if types and not self._shape.nullable:
                yield self._type_error(",".join(types), "null")
            return
        actual, actual_form = _type_of(value)
        fits = (
            actual in types or ("integer" in types and _is_whole(value)) or (actual == "integer" and "number" in types)
        )
        if not isinstance(value, str | list):
            if form and not fits and actual_form != form:
                yield self._type_error(form, actual_form)
                return
        elif form and not {"number", "integer"} & set(types):
            return
        if not fits:
            yield self._type_error(",".join(types), actual)

    def _known_format(self) -> str:
        form = str(self._limits.get("format", ""))
        known = {"integer": ("int32", "int64"), "number": ("float", "double")}
        types = self._types()
        if len(types) == 1 and types[0] in known:
            return form if form in known[types[0]] else ""
        return form if types in ([], ["string"]) and form.replace("-", "") in KNOWN else ""

    def _type_error(self, wanted: str, actual: str) -> FieldError:
        detail = f"{self._path} in body must be of type {wanted}: {quoted(actual)}"
        return FieldError(Why.TYPE_INVALID, self._path, f"Invalid value: {quoted(actual)}: {detail}")

    # --- schemas in schemas -----------------------------------------------------

    def _combined(self) -> Iterator[FieldError]:
        limits = self._limits
        if "anyOf" in limits:
            fitting, best = self._tried(limits["anyOf"])
            if not fitting:
                yield _of_all(f"{quoted(self._path)} must validate at least one schema (anyOf)")
                yield from best
        if "oneOf" in limits:
            fitting, best = self._tried(limits["oneOf"])
            if fitting != 1:
                why = f"Found {fitting} valid alternatives" if fitting else "Found none valid"
                yield _of_all(f"{quoted(self._path)} must validate one and only one schema (oneOf). {why}")
                yield from best
        if "allOf" in limits:
            yield from self._all_of(limits["allOf"])
        if "not" in limits and not self._again(limits["not"]).errors():
            yield _of_all(f"{quoted(self._path)} must not validate the schema (not)")

    def _tried(self, schemas: list[Shape]) -> tuple[int, list[FieldError]]:
        """How many fit, and if none does, what is wrong by the one that fits best."""
        fitting, most, best = 0, -1, []
        for each in schemas:
            check = self._again(each)
            errors = check.errors()
            if not errors:
                fitting += 1
            elif check._matches > most:
                most, best = check._matches, errors
        return fitting, [] if fitting else best

    def _all_of(self, schemas: list[Shape]) -> Iterator[FieldError]:
        results = [self._again(each).errors() for each in schemas]
        for errors in results:
            yield from errors
        if any(results):
            none = ". None validated" if all(results) else ""
            yield _of_all(f"{quoted(self._path)} must validate all the schemas (allOf){none}")

    def _again(self, shape: Shape) -> _Check:
        return _Check(self._value, shape, self._path, _UNSET)

    # --- scalars ----------------------------------------------------------------

    def _string(self) -> Iterator[FieldError]:
        limits, value = self._limits, self._value
        if "maxLength" in limits and len(value) > limits["maxLength"]:
            yield too_long(self._path, limits["maxLength"])
        elif "minLength" in limits and len(value) < limits["minLength"]:
            yield self._invalid(f"should be at least {limits['minLength']} chars long")
        elif limits.get("pattern") and not patterns.matches(limits["pattern"], value):
            yield self._invalid(f"should match '{limits['pattern']}'")

    def _format(self) -> Iterator[FieldError]:
        form = self._known_format()
        check = FORMATS.get(form.replace("-", ""))
        if check is not None and not check(self._value):
            yield self._type_error(form, self._value)

    def _number(self) -> Iterator[FieldError]:
        limits, value = self._limits, self._value
        yield from self._range()
        if "multipleOf" in limits:
            yield from self._multiple(limits["multipleOf"])
        if "minimum" in limits:
            least, beyond = _bound(limits["minimum"], value), bool(limits.get("exclusiveMinimum"))
            if value < least or (beyond and value == least):
                yield self._invalid(f"should be greater than {'' if beyond else 'or equal to '}{shown(least or 0)}")
        if "maximum" in limits:
            most, below = _bound(limits["maximum"], value), bool(limits.get("exclusiveMaximum"))
            if value > most or (below and value == most):
                yield self._invalid(f"should be less than {'' if below else 'or equal to '}{shown(most or 0)}")

    def _range(self) -> Iterator[FieldError]:
        types, form, value = self._types(), self._known_format(), self._value
        if types == ["integer"]:
            half = 2**31 if form == "int32" else 2**63
            fits = _is_whole(value) and -half <= value < half
        else:
            fits = types != ["number"] or form != "float" or abs(value) <= _FLOAT_MAX
        if not fits:
            kind = f"with format {form}" if form else "(default format)"
            yield _of_all(f"Checked value must be of type {types[0]} {kind} in {self._path}")

    def _multiple(self, factor: float) -> Iterator[FieldError]:
        value = self._value
        if isinstance(value, int):
            # Go makes an integer of the factor, too
            factor = int(factor)
        if factor <= 0:
            words = f"factor MultipleOf declared for {self._path} must be positive: {shown(factor)}"
            yield invalid(self._path, factor, words)
        elif isinstance(value, int):
            if value % int(factor):
                yield self._invalid(f"should be a multiple of {shown(factor)}")
        elif not (1 / factor * value if factor < 1 else value / factor).is_integer():
            yield self._invalid(f"should be a multiple of {shown(factor)}")

    def _enum(self) -> Iterator[FieldError]:
        allowed = self._shape.enum
        if allowed and not any(_same(each, self._value) for each in allowed):
            named = [each if isinstance(each, str) else compact_json(each) for each in allowed]
            yield not_supported(self._path, self._value, named)

    # --- lists and objects ------------------------------------------------------

    def _list(self) -> Iterator[FieldError]:
        limits, size, items = self._limits, len(self._value), self._shape.items
        if items is not None and self._shape.base is Base.LIST:
            for index, item in enumerate(self._value):
                yield from self._inner(item, items, f"{self._path}[{index}]", self._old_item(item))
        if "minItems" in limits and size < limits["minItems"]:
            yield invalid(self._path, size, f"{self._path} in body should have at least {limits['minItems']} items")
        if "maxItems" in limits and size > limits["maxItems"]:
            yield too_many(self._path, size, limits["maxItems"])
        if limits.get("uniqueItems") and any(item in self._value[:index] for index, item in enumerate(self._value)):
            yield invalid(self._path, "", f"{self._path} in body shouldn't contain duplicates")

    def _old_item(self, item: Any) -> Any:
        """What an item of a list was before; only lists that are maps tell."""
        keys = self._shape.keys
        if self._shape.list_type is not ListType.MAP or not isinstance(self._old, list) or not isinstance(item, dict):
            return _UNSET
        wanted = [item.get(key) for key in keys]
        found = [each for each in self._old if isinstance(each, dict) and [each.get(key) for key in keys] == wanted]
        return found[0] if found else _UNSET

    def _object(self) -> Iterator[FieldError]:
        limits, value, shape = self._limits, self._value, self._shape
        if "minProperties" in limits and len(value) < limits["minProperties"]:
            words = f"{self._path} in body should have at least {limits['minProperties']} properties"
            yield invalid(self._path, len(value), words)
        if "maxProperties" in limits and len(value) > limits["maxProperties"]:
            yield too_many(self._path, len(value), limits["maxProperties"])
        if shape.base is Base.MAP and shape.items is not None:
            for name, item in value.items():
                yield from self._inner(item, shape.items, f"{self._path}.{name}", self._old_field(name))
        for name, inner in self._declared():
            if name in value:
                path = f"{self._path}.{name}" if self._path else name
                yield from self._inner(value[name], inner, path, self._old_field(name))
        for name in limits.get("required") or ():
            if name not in value and not ("root" in limits and name in ("apiVersion", "kind", "metadata")):
                yield required(f"{self._path}.{name}" if self._path else name)

    def _declared(self) -> Iterator[tuple[str, Shape]]:
        """The properties of the schema; what every object has, it may limit as well."""
        declared: dict[str, Shape] = self._limits.get("declared", {})
        head = ("apiVersion", "kind", "metadata") if is_embedded(self._shape) else ()
        for name, field in self._shape.fields.items():
            if name not in head:
                yield name, field.shape
        if "metadata" in declared:
            yield "metadata", declared["metadata"]

    def _old_field(self, name: str) -> Any:
        return self._old.get(name, _UNSET) if isinstance(self._old, dict) else _UNSET

    def _inner(self, value: Any, shape: Shape, path: str, old: Any) -> list[FieldError]:
        check = _Check(value, shape, path, old)
        errors = check.errors()
        self._matches += check._matches
        return errors

    def _invalid(self, words: str) -> FieldError:
        return invalid(self._path, self._value, f"{self._path} in body {words}")


def _of_all(words: str) -> FieldError:
    """What the real server cannot say a field of."""
    return invalid("<nil>", "", words)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    if isinstance(value, float):
        return value.is_integer() and abs(value) < _SAFE
    return isinstance(value, int) and not isinstance(value, bool)


def _type_of(value: Any) -> tuple[str, str]:
    """Type and format, as the real server sees them."""
    if isinstance(value, bool):
        return "boolean", ""
    if isinstance(value, int):
        return "integer", "int64"
    if isinstance(value, float):
        return "number", "float64"
    return ("string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"), ""


def _bound(limit: float, value: float) -> float:
    """Go compares integers with integers."""
    return int(limit) if isinstance(value, int) else float(limit)


def _same(one: Any, other: Any) -> bool:
    return one == other and isinstance(one, bool) == isinstance(other, bool) and other is not None


# --- lists that are sets or maps, objects in objects ----------------------------------------------


def _list_errors(value: Any, shape: Shape | None, path: str) -> Iterator[FieldError]:
    if shape is None:
        return
    if isinstance(value, dict):
        for name, item in value.items():
            if shape.base is Base.MAP:
                yield from _list_errors(item, shape.items, f"{path}[{name}]")
            elif name in shape.fields and not (name == "metadata" and is_embedded(shape)):
                yield from _list_errors(item, shape.fields[name].shape, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        if shape.list_type is ListType.SET:
            yield from (duplicate(f"{path}[{index}]", value[index]) for index in _twice(value))
        elif shape.list_type is ListType.MAP:
            yield from _keyed_errors(value, shape, path)
        for index, item in enumerate(value):
            yield from _list_errors(item, shape.items, f"{path}[{index}]")


def _keyed_errors(value: list[Any], shape: Shape, path: str) -> Iterator[FieldError]:
    for index, item in enumerate(value):
        if item is not None and not isinstance(item, dict):
            yield invalid(f"{path}[{index}]", item, "must be an object for an array of list-type map")
            return
    keys = [{key: item[key] for key in shape.keys if key in item} if item else {} for item in value]
    yield from (duplicate(f"{path}[{index}]", keys[index]) for index in _twice(keys))


def _twice(values: list[Any]) -> Iterator[int]:
    """Where each value that is there more than once comes for the second time."""
    seen: dict[str, int] = {}
    for index, value in enumerate(values):
        text = compact_json(value)
        seen[text] = seen.get(text, 0) + 1
        if seen[text] == 2:
            yield index


def _embedded_errors(value: Any, shape: Shape | None, path: str) -> Iterator[FieldError]:
    if shape is None:
        return
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _embedded_errors(item, shape.items, f"{path}[{index}]")
    elif isinstance(value, dict):
        if is_embedded(shape) and "root" not in shape.limits:
            yield from _head_errors(value, path)
        for name, item in value.items():
            if shape.base is Base.MAP:
                yield from _embedded_errors(item, shape.items, f"{path}[{name}]")
            elif name in shape.fields and name != "metadata":
                yield from _embedded_errors(item, shape.fields[name].shape, f"{path}.{name}" if path else name)


def _head_errors(value: Object, path: str) -> Iterator[FieldError]:
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
    for problem in names.path_segment_problems((value.get("metadata") or {}).get("name", "")):
        yield invalid(f"{path}.metadata.name", value["metadata"]["name"], problem)
