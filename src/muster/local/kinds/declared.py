"""Rules that Kubernetes declares beside the fields of its newer kinds, those of gang scheduling above all.

    RULES = Rules({"name": Rule(required=True, problems=names.short_name_problems), ...})
    errors = declared.errors(RULES, "spec", new, old)

Other than those of `rules`, these know the stored object: what did not change in an update is not looked at again, so
that an object that was stored under older rules can still be changed elsewhere.  Errors come in Go's order of fields,
which is the order of the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from muster.local.checks.fields import FieldError, duplicate, forbidden, invalid, not_supported, required, too_many
from muster.local.codec.values import Object

IMMUTABLE = "field is immutable"


class Rule(msgspec.Struct, kw_only=True):
    """What is declared of one field.  A field that is absent is not looked into, unless it is a part."""

    required: bool = False
    pointer: bool = False
    """Zero counts as a value."""
    immutable: bool = False
    no_set: bool = False
    """What was absent at first stays absent, and what was there stays there, but its inside may change."""
    fixed_items: bool = False
    """Items of a list may change, but not come or go."""
    most_items: int | None = None
    problems: Callable[[str], list[str]] | None = None
    """What is wrong with a name."""
    least: int | None = None
    most: int | None = None
    one_of: Sequence[str] = ()
    key: str = ""
    """Items of the list are told apart by this field."""
    inside: Rules | None = None
    """Of a struct, or of each item of a list."""
    part: bool = False
    """A struct that is always there."""


class Rules(msgspec.Struct):
    """What is declared of a struct; not frozen, as a struct may hold its own kind."""

    fields: Mapping[str, Rule]
    union: Sequence[str] = ()
    """Exactly one of these fields is set."""


def errors(rules: Rules, field: str, new: Object, old: Object | None) -> list[FieldError]:
    """All that the rules have against an object, or against a change of it."""
    return _struct(rules, field, new, _Old(updating=old is not None, value=old))


def shown(rules: Rules, value: Object) -> Object:
    """The struct with its fields in Go's order, for messages that print it."""
    return {name: _shown_value(rule, value[name]) for name, rule in rules.fields.items() if name in value}


class _Old(msgspec.Struct, frozen=True, kw_only=True):
    """What was there before."""

    updating: bool
    value: Any
    """None: nothing was there."""

    def of(self, value: Any) -> _Old:
        return _Old(updating=self.updating, value=value)


def _struct(rules: Rules, field: str, new: Object, old: _Old) -> list[FieldError]:
    found = _union(rules.union, field, new, old) if rules.union else []
    for name, rule in rules.fields.items():
        before = None if old.value is None else old.value.get(name)
        value = new.get(name)
        if old.updating and old.value is not None and _same(rule, value, before):
            continue
        found += _field(rule, f"{field}.{name}", value, old.of(before))
    return found


def _field(rule: Rule, field: str, value: Any, old: _Old) -> list[FieldError]:
    absent = _is_absent(rule, value)
    found = _first_errors(rule, field, value, old)
    if found or (absent and not rule.part):
        return found
    if rule.key or isinstance(value, list):
        return _items(rule, field, value, old)
    if rule.inside is not None:
        return _struct(rule.inside, field, value or {}, old.of((old.value or {}) if rule.part else old.value))
    return _value_errors(rule, field, value)


def _first_errors(rule: Rule, field: str, value: Any, old: _Old) -> list[FieldError]:
    """Those after which nothing else of the field is looked at."""
    absent, was_absent = _is_absent(rule, value), _is_absent(rule, old.value)
    found = []
    if rule.immutable and old.updating:
        found.append(invalid(field, None, IMMUTABLE))
    if rule.most_items is not None and len(value or ()) > rule.most_items:
        found.append(too_many(field, len(value), rule.most_items))
    if rule.required and absent:
        found.append(required(field))
    if rule.no_set and old.updating and was_absent and not absent:
        found.append(invalid(field, None, "field cannot be set once created"))
    if rule.no_set and old.updating and absent and not was_absent:
        found.append(invalid(field, None, "field cannot be cleared once set"))
    if rule.fixed_items and old.updating:
        found += _moved_items(rule, field, value or [], old.value or [])
    return found


def _moved_items(rule: Rule, field: str, value: list[Object], before: list[Object]) -> list[FieldError]:
    keys, old_keys = ({item.get(rule.key) for item in items} for items in (value, before))
    found = []
    for index, item in enumerate(value):
        if item.get(rule.key) not in old_keys:
            found.append(forbidden(f"{field}[{index}]", "item may not be added"))
    return found + [forbidden(field, "item may not be removed") for item in before if item.get(rule.key) not in keys]


def _items(rule: Rule, field: str, value: list[Object], old: _Old) -> list[FieldError]:
    if rule.inside is None:
        return []
    found = _repeated_items(rule, field, value) if rule.key else []
    by_key: dict[str, Object] = {}
    for item in reversed(old.value or []) if rule.key else ():
        by_key[item.get(rule.key, "")] = item
    for index, item in enumerate(value):
        before = by_key.get(item.get(rule.key, ""))
        if old.updating and before == item:
            continue
        found += _struct(rule.inside, f"{field}[{index}]", item, old.of(before))
    return found


def _repeated_items(rule: Rule, field: str, value: list[Object]) -> list[FieldError]:
    assert rule.inside is not None
    found, seen = [], set()
    for index, item in enumerate(value):
        key = item.get(rule.key, "")
        if key in seen:
            found.append(duplicate(f"{field}[{index}]", shown(rule.inside, item)))
        seen.add(key)
    return found


def _value_errors(rule: Rule, field: str, value: Any) -> list[FieldError]:
    found = []
    if rule.problems is not None:
        found += [invalid(field, value, problem) for problem in rule.problems(value)]
    if rule.least is not None and value < rule.least:
        found.append(invalid(field, value, f"must be greater than or equal to {rule.least}"))
    if rule.most is not None and value > rule.most:
        found.append(invalid(field, value, f"must be less than or equal to {rule.most}"))
    if rule.one_of and value not in rule.one_of:
        found.append(not_supported(field, value, sorted(rule.one_of)))
    return found


def _union(members: Sequence[str], field: str, new: Object, old: _Old) -> list[FieldError]:
    given = [name for name in members if _is_set(new.get(name))]
    before = old.value
    if old.updating and before is not None and given == [name for name in members if _is_set(before.get(name))]:
        return []
    names = ", ".join(f"`{name}`" for name in members)
    if not given:
        return [invalid(field, "", f"must specify one of: {names}")]
    if len(given) > 1:
        return [invalid(field, f"{{{', '.join(given)}}}", f"must specify exactly one of: {names}")]
    return []


def _is_set(value: Any) -> bool:
    return value is not None and value != []


def _is_absent(rule: Rule, value: Any) -> bool:
    if rule.pointer or isinstance(value, dict):
        return value is None
    return not value


def _same(rule: Rule, value: Any, before: Any) -> bool:
    return bool(value == before) or (_is_absent(rule, value) and _is_absent(rule, before))


def _shown_value(rule: Rule, value: Any) -> Any:
    if rule.inside is None or value is None:
        return value
    if isinstance(value, list):
        return [shown(rule.inside, item) for item in value]
    return shown(rule.inside, value)
