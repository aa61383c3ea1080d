"""What server-side apply does to objects, by their shapes: check, merge, take fields out."""

from __future__ import annotations

from collections import Counter, deque
from typing import Any

from muster.local.codec.gotext import compact_json
from muster.local.codec.values import Object
from muster.local.patching.diff import ANYTHING, ItemError, item_step
from muster.local.patching.fields import LEAF, SELF, Fields, is_member, step_text
from muster.local.schema.shapes import Base, ListType, Shape

# enumerations are slow to look up
_STRUCT, _MAP, _LIST, _ATOMIC = Base.STRUCT, Base.MAP, Base.LIST, ListType.ATOMIC
_NUMBERS = (Base.INT32, Base.INT64, Base.NUMBER)
_MAPS = (Base.STRUCT, Base.MAP, Base.ANY)


def copied(value: Any) -> Any:
    """A copy of JSON that shares nothing with it."""
    if type(value) is dict:
        return {name: copied(inner) for name, inner in value.items()}
    if type(value) is list:
        return [copied(item) for item in value]
    return value


def _is_granular_list(shape: Shape) -> bool:
    return shape.base is Base.LIST and shape.list_type is not ListType.ATOMIC


# --- checking ---


def problems(value: Any, shape: Shape, *, is_open: bool = False) -> list[tuple[str, str]]:
    """What is wrong with an applied object: where, and what.

    A struct that keeps fields which it does not have (`is_open`) lets all structs inside take them as well.
    """
    if value is None or shape.base is Base.ANY:
        return []
    if shape.base in _MAPS:
        return _map_problems(value, shape, is_open=is_open or shape.open)
    if shape.base is Base.LIST:
        return _list_problems(value, shape, is_open=is_open)
    return _scalar_problems(value, shape)


def problems_text(found: list[tuple[str, str]]) -> str:
    lines = [f"{path}: {message}" if path else message for path, message in found]
    return lines[0] if len(lines) == 1 else "\n  ".join(["errors:", *lines])


def _map_problems(value: Any, shape: Shape, *, is_open: bool) -> list[tuple[str, str]]:
    if not isinstance(value, dict):
        return [("", f"expected map, got {compact_json(value)}")]
    found: list[tuple[str, str]] = []
    for name, inner in value.items():
        # a struct of which nothing is known may have anything inside
        of = shape.inner(name) or (ANYTHING if is_open or not shape.fields else None)
        if of is None:
            # the rest of this struct is not looked at either
            return [*found, (f".{name}", "field not declared in schema")]
        found += [(f".{name}{path}", message) for path, message in problems(inner, of, is_open=is_open)]
    return found


def _list_problems(value: Any, shape: Shape, *, is_open: bool) -> list[tuple[str, str]]:
    if not isinstance(value, list):
        return [("", f"expected list, got {compact_json(value)}")]
    found: list[tuple[str, str]] = []
    seen: set[str] = set()
    for place, item in enumerate(value):
        step = f"i:{place}"
        if _is_granular_list(shape):
            try:
                step = item_step(item, shape)
            except ItemError as error:
                return [*found, ("", f"element {place}: {error}")]
            if step in seen:
                found.append(("", f"duplicate entries for key {step_text(step)}"))
            seen.add(step)
        inner = problems(item, shape.items or ANYTHING, is_open=is_open)
        found += [(step_text(step) + path, message) for path, message in inner]
    return found


def _scalar_problems(value: Any, shape: Shape) -> list[tuple[str, str]]:
    if shape.base in _NUMBERS:
        wanted, fits = "numeric (int or float)", isinstance(value, int | float) and not isinstance(value, bool)
    elif shape.base is Base.BOOLEAN:
        wanted, fits = "boolean", isinstance(value, bool)
    elif shape.base is Base.BYTES or (shape.base is Base.STRING and "format" not in shape.limits):
        wanted, fits = "string", isinstance(value, str)
    else:
        wanted, fits = "any scalar", not isinstance(value, dict | list)
    return [] if fits else [("", f"expected {wanted}, got {compact_json(value)}")]


# --- merging ---


def merged(live: Any, config: Any, shape: Shape) -> Any:
    """The live value with all that the config names put into it; lists keep the config's order where they overlap."""
    if not shape.atomic and shape.base in _MAPS and (config is None or type(config) is dict):
        before = live if type(live) is dict else None
        if before or config:
            return _merged_maps(before or {}, config or {}, shape)
    elif _is_granular_list(shape) and (live or config):
        return _merged_items(live or [], config or [], shape)
    return copied(config)


def _merged_maps(live: Object, config: Object, shape: Shape) -> Object:
    result = {name: copied(value) for name, value in live.items() if name not in config}
    for name, value in config.items():
        of = shape.inner(name) or ANYTHING
        result[name] = merged(live[name], value, of) if name in live else copied(value)
    return result


def _merged_items(live: list[Any], config: list[Any], shape: Shape) -> list[Any]:
    of = shape.items or ANYTHING
    theirs = {item_step(item, shape): item for item in config}
    steps = [item_step(item, shape) for item in live]
    count = Counter(steps)
    # of items that are there more than once nothing is kept
    ours = {step: item if count[step] == 1 else None for step, item in zip(steps, live, strict=True)}
    result = []
    for step, place in _merged_order(steps, list(theirs)):
        if step not in theirs:
            result.append(copied(live[place]))
        elif step in ours:
            result.append(merged(ours[step], theirs[step], of))
        else:
            result.append(copied(theirs[step]))
    return result


def _merged_order(live: list[str], config: list[str]) -> list[tuple[str, int]]:
    """Steps in their new order, with the place in the live list of those that are only there.

    The config's items keep the config's order; an item that only the live list has stays behind the item that was
    before it.
    """
    named, there, taken = set(config), set(live), set[str]()
    shared = deque(step for step in config if step in there)
    result: list[tuple[str, int]] = []
    left = right = 0
    while left < len(live) or right < len(config):
        if left < len(live):
            step = live[left]
            here = right < len(config) and step == config[right]
            if step not in named:
                result.append((step, left))
                left += 1
                continue
            if not here and right < len(config) and shared and shared[0] != step:
                left += 1
                continue
            if here or step in taken:
                left += 1
        if right < len(config):
            step = config[right]
            taken.add(step)
            result.append((step, -1))
            right += 1
            if shared and shared[0] == step:
                shared.popleft()
    return result


# --- taking out ---


def removed(value: Any, fields: Fields, shape: Shape) -> Any:
    """The value without these fields; what becomes empty, or was never to be split, becomes None."""
    if type(value) is dict:
        if shape.atomic:
            return None
        return _map_without(value, fields, shape) or None
    if type(value) is list:
        return (_items_without(value, fields, shape) or None) if _is_granular_list(shape) else None
    return value


def _map_without(value: Object, fields: Fields, shape: Shape) -> Object:
    rest: Object = {}
    for name, inner in value.items():
        below = fields.get(f"f:{name}")
        if below is None:
            rest[name] = copied(inner)
        elif not is_member(below):
            rest[name] = removed(inner, below, shape.inner(name) or ANYTHING)
    return rest


def _items_without(items: list[Any], fields: Fields, shape: Shape) -> list[Any]:
    rest: list[Any] = []
    for item in items:
        below = fields.get(item_step(item, shape))
        if below is None:
            rest.append(copied(item))
        elif not is_member(below):
            rest.append(removed(item, below, shape.items or ANYTHING))
    return rest


def with_cleared(value: Any, config: Any, shape: Shape) -> Any:
    """The value after `removed`, in which lists that the config has empty, and have lost all items, are empty."""
    if value is None and _is_granular_list(shape) and config == []:
        return []
    if type(value) is dict and type(config) is dict and not shape.atomic:
        below = {name: shape.inner(name) or ANYTHING for name in config if name in value}
        return {**value, **{name: with_cleared(value[name], config[name], of) for name, of in below.items()}}
    if type(value) is list and type(config) is list and _is_granular_list(shape):
        named = {item_step(item, shape): item for item in config}
        return [with_cleared(item, named.get(item_step(item, shape)), shape.items or ANYTHING) for item in value]
    return value


# --- sets of fields by shape ---


def with_named(fields: Fields, shape: Shape | None) -> Fields:
    """The set, with the fields of structs in it below which there is a field of the set."""
    result: Fields = {}
    named = shape.fields if shape is not None and shape.base is Base.STRUCT else {}
    for step, below in fields.items():
        if not below:
            result[step] = below
            continue
        inner = with_named(below, None if shape is None else _below(step, shape))
        if step[:2] == "f:" and step[2:] in named:
            inner[SELF] = LEAF
        result[step] = inner
    return result


def reconciled(fields: Fields, shape: Shape) -> Fields:
    """The set, with what is atomic by now owned as a whole; the same object if nothing is to be done."""
    result = fields
    for step, below in fields.items():
        if not below:
            continue
        of = _below(step, shape)
        if of is None:
            continue
        inner = LEAF if of.atomic or (of.base is _LIST and of.list_type is _ATOMIC) else reconciled(below, of)
        if inner is not below:
            result = dict(fields) if result is fields else result
            result[step] = inner
    return result


def _below(step: str, shape: Shape) -> Shape | None:
    """What a step leads to; None where it is not for a shape to say."""
    return shape.items if shape.base is _LIST else shape.inner(step[2:])
