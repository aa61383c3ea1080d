"""What a real API server was seen to put into structs where nothing was said (`make schema`), put in here too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import cache
from typing import Any

import msgspec

from muster.local.codec.values import Object
from muster.local.schema import load
from muster.local.schema.load import Preset
from muster.local.schema.shapes import Base, Field, Shape

ByCode = Callable[[Object], None]
"""Puts into a struct what depends on more than its own fields."""

_METADATA = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


class _Plan(msgspec.Struct, frozen=True):
    """What is put into a struct, worked out once."""

    by_code: ByCode | None
    presets: tuple[Preset, ...]
    fields: Mapping[str, Field]
    inside: Mapping[str, tuple[Shape, bool]]
    """Fields whose structs get something too, and whether they are lists."""


class Defaults:
    """Fills structs and all structs in them; done again it changes nothing."""

    def __init__(self, by_code: Mapping[str, ByCode]) -> None:
        self._by_code = {f"io.k8s.api.{name}": fill for name, fill in by_code.items()}
        self._plans: dict[str, _Plan] = {}
        self._matters = cache(self._has_defaults)

    def fill(self, value: Object, struct: str) -> None:
        """`struct` is a name as the shapes have it, io.k8s.api. aside."""
        self._fill(value, load.shapes()[struct if struct.startswith("io.k8s.") else f"io.k8s.api.{struct}"], "")

    def _fill(self, value: Object, shape: Shape, field: str) -> None:
        plan = self._plans.get(shape.name) or self._planned(shape)
        if plan.by_code is not None:
            plan.by_code(value)
        for rule in plan.presets:
            if not rule.when or all(_holds(value, name, wanted, field) for name, wanted in rule.when.items()):
                for name, preset in rule.set.items():
                    if name not in value or _is_absent(value[name], plan.fields[name]):
                        value[name] = deepcopy(preset) if isinstance(preset, dict | list) else preset
        inside = plan.inside
        for name, given in value.items():
            if name in inside and given is not None:
                shape, is_list = inside[name]
                for item in given if is_list else (given,):
                    self._fill(item, shape, name)

    def _planned(self, shape: Shape) -> _Plan:
        inside = {}
        for name, field in shape.fields.items():
            items = field.shape.items if field.shape.base is Base.LIST else field.shape
            if items is not None and items.base is Base.STRUCT and self._matters(items.name):
                inside[name] = (items, items is not field.shape)
        presets = load.defaults().get(shape.name, ())
        plan = self._plans[shape.name] = _Plan(self._by_code.get(shape.name), presets, shape.fields, inside)
        return plan

    def _has_defaults(self, type_name: str) -> bool:
        """Whether a struct, or one that it holds, gets something."""
        return type_name in self._by_code or type_name in load.defaults() or any(map(self._matters, _held(type_name)))


def _is_absent(value: Any, field: Field) -> bool:
    """Go cannot tell an empty text or a zero from none, unless it has a pointer to it."""
    return value is None or (value in ("", 0) and not field.pointer)


def _holds(value: Object, name: str, wanted: Any, field: str) -> bool:
    """Whether a field has a value; `name?` asks whether it was given, `^` in which field of another struct this is."""
    if name == "^":
        return bool(field == wanted)
    return (name[:-1] in value) is wanted if name.endswith("?") else bool(value.get(name) == wanted)


@cache
def _held(type_name: str) -> tuple[str, ...]:
    """Names of the structs that a struct holds; one that holds itself is named by others only."""
    shapes = [field.shape for field in load.shapes()[type_name].fields.values()]
    held = [shape.items if shape.base is Base.LIST and shape.items is not None else shape for shape in shapes]
    found = {shape.name for shape in held if shape.base is Base.STRUCT}
    return tuple(sorted(found - {type_name, _METADATA}))
