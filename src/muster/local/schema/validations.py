"""Rules in CEL of custom kinds (x-kubernetes-validations): compiled with their schema, held against objects.

    checks = of(schema)               None if the schema has no rules
    checks.places("...")              each rule, where it stands and what came of compiling it
    checks.errors(new, old)           what is wrong with an object; `old` is UNSET for a new one

A rule stands at some level of a schema, and `self` is the value there.  It sees the fields that the schema declares,
under names that CEL can say.  One that names `oldSelf` is about a change, and is asked only where the value before is
known: not in items of lists, but for those that have keys.  What did not change is not held against rules that do not
compare.  What rules take is counted, as upstream counts it: not to the step, but no rule and no object takes more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from muster.base.cel import Budget, Program, compile_expression, typed, types
from muster.base.cel.syntax import RESERVED
from muster.base.cel.types import Type
from muster.base.cel.values import Optional
from muster.base.errors import CelCostError, CelError, CelUnsupported
from muster.local.checks.fields import FieldError, Why, duplicate, forbidden, invalid, required, wrong
from muster.local.codec.values import Object
from muster.local.schema.rules import Before

__all__ = ["RULES", "Checks", "Place", "Rule", "field_path", "of", "unchecked"]

RULES = "x-kubernetes-validations"
_EMBEDDED, _INT_OR_STRING = "x-kubernetes-embedded-resource", "x-kubernetes-int-or-string"
_LIST_TYPE, _LIST_KEYS = "x-kubernetes-list-type", "x-kubernetes-list-map-keys"

_STEPS_OF_A_RULE, _STEPS_OF_AN_OBJECT = 1_000_000, 2_000_000
"""A step takes about a microsecond, and nobody is served meanwhile: upstream, which is faster, lets an object have ten
million.  Rules that people wrote take some hundred."""
_LONGEST_MESSAGE = 5 * 1024

_UNSET: Any = msgspec.UNSET
_BLOCKING = frozenset({Why.REQUIRED, Why.NOT_SUPPORTED, Why.TOO_LONG, Why.TOO_MANY, Why.TYPE_INVALID})
"""With one of these an object is not looked at by rules, which count on its schema."""


def unchecked(errors: list[FieldError]) -> list[FieldError]:
    """What is said of rules that are not held against an object, since too much else is wrong with it."""
    if not any(error.why in _BLOCKING for error in errors):
        return []
    words = "some validation rules were not checked because the object was invalid"
    return [invalid("<nil>", None, f"{words}; correct the existing errors to complete validation")]


# --- types ---

_SCALARS = {"boolean": types.BOOL, "number": types.DOUBLE, "integer": types.INT, "string": types.STRING}
_FORMATS = {
    "byte": types.BYTES,
    "duration": types.DURATION,
    "date": types.TIMESTAMP,
    "date-time": types.TIMESTAMP,
}
_META = types.object_of("selfType.metadata", {"name": types.STRING, "generateName": types.STRING})
_RESOURCE = {"apiVersion": types.STRING, "kind": types.STRING, "metadata": _META}
_NAME = re.compile(r"[A-Za-z_./-][A-Za-z0-9_./-]*")
_RESERVED = RESERVED | {"true", "false", "null", "in"}
_ESCAPES = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}


def escaped(name: str) -> str:
    """A field's name as CEL can say it; "" for one that it cannot."""
    if not _NAME.fullmatch(name):
        return ""
    if name in _RESERVED:
        return f"__{name}__"
    return re.sub(r"__|[./-]", lambda found: _ESCAPES[found.group()], name)


def type_of(schema: Object, name: str, *, is_resource: bool) -> Type | None:
    """What rules take the values of a schema for; None where it does not say enough."""
    if schema.get(_INT_OR_STRING):
        return types.DYN
    kind = schema.get("type", "")
    if kind == "array":
        return _list_type(schema, name)
    if kind != "object":
        return _FORMATS.get(schema.get("format", ""), types.STRING) if kind == "string" else _SCALARS.get(kind)
    values = schema.get("additionalProperties")
    if isinstance(values, dict) and not is_resource:
        inner = type_of(values, f"{name}.@elem", is_resource=bool(values.get(_EMBEDDED)))
        return None if inner is None else types.map_of(types.STRING, inner)
    fields, keys = {}, {}
    for raw, one in (schema.get("properties") or {}).items():
        field = type_of(one, f"{name}.{raw}", is_resource=bool(one.get(_EMBEDDED)))
        if field is not None and (said := escaped(raw)):
            fields[said], keys[said] = field, raw
    return types.object_of(name, {**fields, **(_RESOURCE if is_resource else {})}, keys=keys)


def _list_type(schema: Object, name: str) -> Type | None:
    items = schema.get("items")
    if not isinstance(items, dict):
        return None
    inner = type_of(items, f"{name}.@idx", is_resource=bool(items.get(_EMBEDDED)))
    if inner is None:
        return None
    how = schema.get(_LIST_TYPE)
    keys = tuple(schema.get(_LIST_KEYS) or ())
    return types.list_of(inner, merging="set" if how == "set" else keys if how == "map" else "")


# --- rules ---

_STEP = re.compile(r"\.([^.\[\s]+)|\['((?:[^'\\]|\\.)*)'\]")


def field_path(schema: Object, path: str) -> str | None:
    """Where `.a.b` or `['a'].b` leads, as errors name it; None if the schema has no such place."""
    at, result = 0, ""
    while at < len(path):
        found = _STEP.match(path, at)
        if found is None:
            return None
        name = found[1] if found[1] is not None else re.sub(r"\\(.)", r"\1", found[2])
        values = schema.get("additionalProperties")
        if name in (schema.get("properties") or {}):
            schema, result = schema["properties"][name], f"{result}.{name}"
        elif isinstance(values, dict):
            schema, result = values, f"{result}[{name}]"
        else:
            return None
        at = found.end()
    return result.removeprefix(".") if result else None


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One rule, and what came of compiling it."""

    said: Object
    """As the schema says it."""
    path: str = ""
    """Whom it blames, below where it stands."""
    program: Program | None = None
    message: Program | None = None
    error: str = ""
    message_error: str = ""
    unsupported: str = ""
    """What it uses that nobody evaluates here."""

    @property
    def compares(self) -> bool:
        return self.program is not None and "oldSelf" in self.program.uses

    @property
    def words(self) -> str:
        return str(self.said.get("message") or "").strip() or f"failed rule: {self._text}"

    @property
    def name(self) -> str:
        return str(self.said.get("message") or "").strip() or self._text

    @property
    def _text(self) -> str:
        return str(self.said.get("rule", "")).strip()


def _rule(said: Object, schema: Object, own: Type) -> Rule:
    old = types.optional_of(own) if said.get("optionalOldSelf") else own
    variables = {"self": own, "oldSelf": old}
    path = field_path(schema, said.get("fieldPath") or "") or ""
    rule = Rule(said=said, path=path)
    try:
        program = compile_expression(said.get("rule", ""), variables)
    except CelUnsupported as lacking:
        return msgspec.structs.replace(rule, unsupported=lacking.message)
    except CelError as error:
        return msgspec.structs.replace(rule, error=f"compilation failed: {error.message}")
    if program.result.name != "bool":
        return msgspec.structs.replace(rule, error="cel expression must evaluate to a bool")
    rule = msgspec.structs.replace(rule, program=program)
    if not said.get("messageExpression"):
        return rule
    try:
        message = compile_expression(said["messageExpression"], variables)
    except CelUnsupported as lacking:
        return msgspec.structs.replace(rule, unsupported=lacking.message)
    except CelError as error:
        return msgspec.structs.replace(rule, message_error=f"messageExpression compilation failed: {error.message}")
    if message.result.name != "string":
        return msgspec.structs.replace(rule, message_error="messageExpression must evaluate to a string")
    return msgspec.structs.replace(rule, message=message)


class Place(NamedTuple):
    """A level of a schema that has rules."""

    at: str
    rules: tuple[Rule, ...]
    is_typed: bool
    """False where nobody can say what `self` is."""
    within: str
    """The list of whose items nobody knows what they were before; "" outside of such."""


# --- held against objects ---


class _Stop(Exception):
    """No more rules are asked: too many steps were taken."""


class _Asked(msgspec.Struct):
    """One object that rules are held against."""

    budget: Budget
    errors: list[FieldError]


def of(schema: Object | None) -> Checks | None:
    """The rules of the schema of a whole object; None if it has none."""
    return _of(msgspec.json.encode(schema)) if schema else None


# a schema is asked for when it is defined, served, and changed; 64: clusters have some hundred, most without rules
@lru_cache(maxsize=64)
def _of(schema: bytes) -> Checks | None:
    return Checks.of(msgspec.json.decode(schema), is_resource=True)


class Checks(msgspec.Struct, frozen=True, kw_only=True):
    """The rules at one level of a schema, and below."""

    kind: str
    """As the schema calls the type."""
    type: Type | None
    rules: tuple[Rule, ...]
    properties: dict[str, Checks]
    values: Checks | None
    items: Checks | None
    keys: tuple[str, ...] | None
    """Of a list whose items are told apart by them."""

    @classmethod
    def of(cls, schema: Object, *, is_resource: bool = False, name: str = "selfType") -> Checks | None:
        own = type_of(schema, name, is_resource=is_resource) if schema.get(RULES) else None
        inner = {
            raw: found
            for raw, one in (schema.get("properties") or {}).items()
            if (found := cls.of(one, is_resource=bool(one.get(_EMBEDDED)))) is not None
        }
        values, items = (
            cls.of(one, is_resource=bool(one.get(_EMBEDDED))) if isinstance(one, dict) else None
            for one in (schema.get("additionalProperties"), schema.get("items"))
        )
        said = schema.get(RULES) or ()
        if not said and not inner and values is None and items is None:
            return None
        return cls(
            kind=schema.get("type", ""),
            type=own,
            rules=tuple(_rule(one, schema, own or types.DYN) for one in said),
            properties=inner,
            values=values,
            items=items,
            keys=tuple(schema.get(_LIST_KEYS) or ()) if schema.get(_LIST_TYPE) == "map" else None,
        )

    def places(self, at: str, within: str = "") -> Iterator[Place]:
        """The innermost first, as upstream goes through them."""
        for name, inner in self.properties.items():
            yield from inner.places(f"{at}.properties[{name}]", within)
        if self.values is not None:
            yield from self.values.places(f"{at}.additionalProperties", within)
        if self.items is not None:
            yield from self.items.places(f"{at}.items", within or ("" if self.keys is not None else at))
        if self.rules:
            yield Place(at, self.rules, self.type is not None, within)

    def errors(self, new: Any, old: Any = _UNSET, *, at: str = "", ratchets: bool = True) -> list[FieldError]:
        """Of a whole object, or of the default of a part of one; `ratchets` lets be what did not change."""
        asked = _Asked(Budget(_STEPS_OF_AN_OBJECT), [])
        with suppress(_Stop):
            self._ask(asked, new, old, at, is_same=ratchets and old is not _UNSET and new == old)
        return asked.errors

    def _ask(self, asked: _Asked, new: Any, old: Any, at: str, *, is_same: bool) -> None:
        """is_same   It is what it was, or is part of what is, where nobody can tell."""
        if new is None:
            return
        if self.rules and self.type is not None:
            self._own(asked, new, old, at, is_same=is_same)
        if isinstance(new, dict):
            before = old if isinstance(old, dict) else {}
            for name, inner in self._inside(new):
                was = before.get(name, _UNSET)
                path = f"{at}[{name}]" if self.values is not None else f"{at}.{name}".removeprefix(".")
                inner._ask(asked, new[name], was, path, is_same=_same(new[name], was, is_same))
        elif isinstance(new, list) and self.items is not None:
            known = Before(old, self.keys)
            for index, item in enumerate(new):
                was = known.of(item)
                self.items._ask(asked, item, was, f"{at}[{index}]", is_same=_same(item, was, is_same))

    def _inside(self, new: Object) -> Iterator[tuple[str, Checks]]:
        if self.values is not None:
            yield from ((name, self.values) for name in new)
        else:
            yield from ((name, inner) for name, inner in self.properties.items() if name in new)

    def _own(self, asked: _Asked, new: Any, old: Any, at: str, *, is_same: bool) -> None:
        assert self.type is not None
        is_known = old is not _UNSET and old is not None
        try:
            given = {"self": typed(new, self.type, asked.budget)}
            before = typed(old, self.type, asked.budget) if is_known else None
        except CelCostError as error:
            raise self._spent(asked, at) from error
        for rule in self.rules:
            optional = bool(rule.said.get("optionalOldSelf"))
            if rule.program is None or (rule.compares and not is_known and not optional):
                continue
            given["oldSelf"] = Optional((before,) if is_known else ()) if optional else before
            holds = self._holds(asked, rule, given, at)
            if not holds and (rule.compares or not is_same):
                asked.errors.append(self._broken(asked, rule, given, new, at))

    def _holds(self, asked: _Asked, rule: Rule, given: Object, at: str) -> bool:
        """True for a rule that has no value, too: why it has none has been said."""
        assert rule.program is not None
        try:
            return bool(_evaluated(rule.program, given, asked))
        except CelCostError as error:
            if asked.budget.left <= 0:
                raise self._spent(asked, at) from error
            why = "no further validation rules will be run due to call cost exceeds limit for rule"
            asked.errors.append(invalid(at or "<nil>", self.kind, f"'{error.message}': {why}: {rule.name}"))
            raise _Stop from error
        except CelError as error:
            words = f"{error.message} evaluating rule: {rule.name}"
            if error.message.startswith("no such overload"):
                why = "call arguments did not match a supported operator, function or macro signature for rule"
                words = f"'{error.message}': {why}: {rule.name}"
            asked.errors.append(invalid(at or "<nil>", self.kind, words))
            return True

    def _spent(self, asked: _Asked, at: str) -> _Stop:
        words = "validation failed due to running out of cost budget, no further validation rules will be run"
        asked.errors.append(invalid(at or "<nil>", self.kind, words))
        return _Stop()

    def _broken(self, asked: _Asked, rule: Rule, given: Object, new: Any, at: str) -> FieldError:
        words = rule.words
        if rule.message is not None:
            words = _message(rule.message, given, asked) or words
        # they are sent: without this, a list of 300,000 numbers was answered with a gigabyte
        asked.budget.left -= len(words)
        joint = "" if not rule.path or rule.path.startswith("[") else "."
        field = f"{at}{joint}{rule.path}".removeprefix(".") or "<nil>"
        reason = rule.said.get("reason")
        if reason == "FieldValueForbidden":
            return forbidden(field, words)
        if reason == "FieldValueRequired":
            return required(field, words)
        if reason == "FieldValueDuplicate":
            return FieldError(Why.DUPLICATE, field, Why.DUPLICATE.value[1]) if _is_big(new) else duplicate(field, new)
        return wrong(field, words) if _is_big(new) or rule.path else invalid(field, new, words)


def _evaluated(program: Program, given: Object, asked: _Asked) -> Any:
    steps = Budget(min(_STEPS_OF_A_RULE, asked.budget.left))
    before = steps.left
    try:
        return program.evaluate(given, steps)
    finally:
        asked.budget.left -= before - max(0, steps.left)


def _message(program: Program, given: Object, asked: _Asked) -> str:
    """What the expression says; "" if that cannot be told."""
    try:
        text = str(_evaluated(program, given, asked)).strip()
    except CelError:
        return ""
    return "" if "\n" in text or len(text.encode()) > _LONGEST_MESSAGE else text


def _same(new: Any, old: Any, is_same: bool) -> bool:
    return is_same if old is _UNSET else bool(new == old)


def _is_big(value: Any) -> bool:
    """Objects and lists are not shown."""
    return isinstance(value, dict | list)
