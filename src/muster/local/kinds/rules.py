"""What is asked of the structs of Kubernetes, and the one machine that asks it.

    RULES = Book({"core.v1.ContainerPort": Rules(needs=("containerPort",), checks={"hostPort": port_number})})
    errors = RULES.errors(pod["spec"], "core.v1.PodSpec", "spec")

Which fields are required and which texts an enumerated one may have comes with the shapes (`make schema`); tables say
what else a field must look like.  What several fields have to do with each other is code, named in the tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from muster.local.checks.fields import FieldError, duplicate, forbidden, invalid, not_supported, required, too_many
from muster.local.codec.values import Object
from muster.local.schema import load
from muster.local.schema.shapes import Base, Field, Shape

Errors = Iterator[FieldError]
Problems = Callable[[Any], Iterable[str]]
"""What is wrong with a value, in words."""
Check = Callable[[Object, str], Iterable[FieldError]]
"""Of several fields of the struct that stands at a path."""

_MUST_BE_THERE = (Base.STRING, Base.LIST)


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of a struct, besides what its shape says."""

    needs: tuple[str, ...] = ()
    """Fields that must be there, though the shape does not say so."""
    lacks: tuple[str, ...] = ()
    """Fields that need not be there, though the shape says so."""
    blank: tuple[str, ...] = ()
    """Fields that are taken for empty texts when they are not there, and checked as such."""
    checks: Mapping[str, Problems] = {}
    """Of each value of a field: of all items, if it is a list."""
    values: Mapping[str, tuple[str, ...]] = {}
    """The only texts that a field may have, where the shape does not say so."""
    most: Mapping[str, int] = {}
    """How many items lists may have."""
    unique: Mapping[str, str] = {}
    """Lists whose items are told apart by a field."""
    one_of: tuple[str, ...] = ()
    """Exactly one of these fields is there; of more, the first is looked into."""
    code: tuple[Check, ...] = ()
    closed: bool = False
    """The code looks into it, nobody else."""


class _Part(msgspec.Struct, frozen=True):
    """What is asked of one field."""

    problems: Problems | None
    known: tuple[str, ...]
    """The only texts that it takes, in the order in which a refusal names them; none: all."""
    inside: Shape | None
    """Of a struct, or of each item of a list."""
    key: str
    most: int | None


class _Plan(msgspec.Struct, frozen=True):
    """What is asked of a struct, put together once."""

    required: tuple[str, ...]
    blank: tuple[str, ...]
    named: frozenset[str]
    """Those and the required ones: nothing more is said of them while they are empty."""
    parts: Mapping[str, _Part]
    one_of: Mapping[str, int]
    """Those of which there may be one, each with its place among them."""
    code: tuple[Check, ...]


class Book:
    """Tables of rules, by the names of structs without `io.k8s.api.`.

    as_seen   Required is what a real server was seen to miss, not what the shapes call so.
    """

    def __init__(self, tables: Mapping[str, Rules], *, as_seen: bool = False) -> None:
        self._as_seen = as_seen
        self._tables = {_full(name): rules for name, rules in tables.items()}
        self._plans: dict[str, _Plan] = {}

    def errors(self, value: Object, struct: str, path: str) -> list[FieldError]:
        """All that the rules have against a struct at a path, "" for an object as a whole."""
        found: list[FieldError] = []
        self._struct(value, load.shapes()[_full(struct)], path, found)
        return found

    def _struct(self, value: Object, shape: Shape, path: str, found: list[FieldError]) -> None:
        plan = self._plans.get(shape.name) or self._planned(shape)
        head = f"{path}." if path else ""
        for name in plan.required:
            # an empty struct is one, an empty text or list is none
            if not (given := value.get(name)) and given != {}:
                found.append(required(head + name))
        for name in plan.blank:
            if not value.get(name):
                found += _blank_errors(plan.parts[name], head + name)
        others = self._others(value, plan.one_of, path, found) if plan.one_of else ()
        parts = plan.parts
        for name, given in value.items():
            part = parts.get(name)
            if part is None or given is None or name in others or (given == "" and name in plan.named):
                continue
            if type(given) is not list:
                # most values are texts and numbers that are as they should be
                if part.inside is not None or not _is_fine(given, part):
                    self._value(given, part, head + name, found)
                continue
            at = head + name
            for index, item in enumerate(given):
                self._value(item, part, f"{at}[{index}]", found)
            if part.most is not None and len(given) > part.most:
                found.append(too_many(at, len(given), part.most))
            if part.key:
                found += repeated(given, part.key, at)
        for check in plan.code:
            found += check(value, path)

    def _value(self, value: Any, part: _Part, at: str, found: list[FieldError]) -> None:
        if part.inside is not None:
            self._struct(value, part.inside, at, found)
            return
        if part.known and value not in part.known:
            found.append(not_supported(at, value, part.known) if value else required(at))
        if part.problems is not None:
            for words in part.problems(value):
                found.append(invalid(at, value, words))

    def _others(self, value: Object, one_of: Mapping[str, int], path: str, found: list[FieldError]) -> Sequence[str]:
        """Those that are too many."""
        given = [name for name in value if name in one_of]
        if len(given) == 1:
            return ()
        given.sort(key=one_of.__getitem__)
        if not given:
            found.append(required(path, "must specify one of: " + ", ".join(f"`{name}`" for name in one_of)))
        found += [forbidden(f"{path}.{name}", f"may not be set beside `{given[0]}`") for name in given[1:]]
        return given[1:]

    def _planned(self, shape: Shape) -> _Plan:
        rules = self._tables.get(shape.name, Rules())
        demanded = [name for name, field in shape.fields.items() if field.required and _can_be_missed(field)]
        if self._as_seen:
            demanded = list(load.required().get(shape.name, ()))
        fields = {name: field for name, field in shape.fields.items() if name != "metadata"}
        parts = {name: _part(name, field, rules, shape.name) for name, field in fields.items()}
        needed = tuple(name for name in (*demanded, *rules.needs) if name not in (*rules.lacks, *rules.blank))
        plan = self._plans[shape.name] = _Plan(
            required=needed,
            blank=rules.blank,
            named=frozenset((*needed, *rules.blank)),
            parts={} if rules.closed else {name: part for name, part in parts.items() if part is not None},
            one_of={name: place for place, name in enumerate(rules.one_of)},
            code=rules.code,
        )
        return plan


def _is_fine(value: Any, part: _Part) -> bool:
    return (not part.known or value in part.known) and (part.problems is None or not part.problems(value))


def repeated(items: Iterable[Object], key: str, path: str) -> Errors:
    """Of items that have the name of an earlier one."""
    seen = set()
    for index, item in enumerate(items):
        name = item.get(key)
        if name and name in seen:
            yield duplicate(f"{path}[{index}].{key}", name)
        seen.add(name)


def _blank_errors(part: _Part, at: str) -> Errors:
    if part.known:
        yield not_supported(at, "", part.known)
    for words in part.problems("") if part.problems is not None else ():
        yield invalid(at, "", words)


def _part(name: str, field: Field, rules: Rules, struct: str) -> _Part | None:
    """None: nothing is asked of the field."""
    shape = field.shape
    item = shape.items if shape.base is Base.LIST and shape.items is not None else shape
    inside = item if item.base is Base.STRUCT else None
    seen = load.values().get(struct, {}).get(name, item.enum)
    problems, known = rules.checks.get(name), tuple(rules.values.get(name, sorted(seen)))
    most = rules.most.get(name)
    if inside is None and problems is None and not known and most is None:
        return None
    return _Part(problems, known, inside, rules.unique.get(name, ""), most)


def _can_be_missed(field: Field) -> bool:
    """Of a number or a struct Go cannot tell whether it was given."""
    return field.shape.base in _MUST_BE_THERE


def _full(name: str) -> str:
    return name if name.startswith("io.k8s.") else f"io.k8s.api.{name}"
