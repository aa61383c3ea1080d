"""Objects by their shapes: which fields they have, and in which two of them differ.

A field is what one manager can own: a scalar, an atomic list, map or struct as a whole, an item of any other list, an
entry of any other map.  Fields come as sets (`fields`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from muster.local.codec.values import Object
from muster.local.patching.fields import LEAF, SELF, Fields, key_step, key_text, value_step, without
from muster.local.schema.shapes import Base, Field, ListType, Shape

# enumerations are slow to look up, and this is done for each field of each write
_STRUCT, _MAP, _LIST, _ANY, _ATOMIC = Base.STRUCT, Base.MAP, Base.LIST, Base.ANY, ListType.ATOMIC
_UNSET = msgspec.UNSET
_ALONE: Fields = {SELF: LEAF}
_NO_FIELDS: dict[str, Field] = {}

ANYTHING = Shape(base=Base.ANY)
"""What stands where no shape says more: maps are split into their entries, lists are atomic."""


class ItemError(ValueError):
    """An item of a list that cannot be told from the others."""


class Changes(msgspec.Struct, frozen=True):
    """How one object came from another; no field is in two of the sets."""

    added: Fields
    removed: Fields
    modified: Fields

    def without(self, exclude: Fields) -> Changes:
        """All but these fields and what is below them."""
        if not exclude:
            return self
        return Changes(without(self.added, exclude), without(self.removed, exclude), without(self.modified, exclude))


# --- items of lists ---


def item_step(item: Any, shape: Shape) -> str:
    """The step to an item of a list that is a set or a map."""
    if not shape.keys:
        return _value_step(item)
    if type(item) is not dict:
        what = "a null element" if item is None else "non-map elements"
        raise ItemError(f"associative list with keys may not have {what}")
    if len(shape.keys) == 1:
        (name,) = shape.keys
        value = item.get(name, _UNSET)
        if type(value) is str:
            return key_step(name, value)
    pairs: list[Any] = []
    for name in shape.keys:
        value = item.get(name, _UNSET)
        if value is _UNSET:
            value = _default(shape, name)
        if value is not None or name in item:
            pairs += (name, value)
    if not pairs:
        names = "[" + " ".join(f'"{name}"' for name in shape.keys) + "]"
        raise ItemError(
            f"associative list with keys has an element that omits all key fields {names} "
            "(and doesn't have default values for any key fields)"
        )
    try:
        return key_step(*pairs)
    except TypeError:  # a list or map for a key: wrong, but that is for validation to say
        return key_text(*pairs)


def _value_step(item: Any) -> str:
    if type(item) is dict:
        raise ItemError("associative list without keys has an element that's a map type")
    if type(item) is list:
        raise ItemError("not supported: associative list with lists as elements")
    if item is None:
        raise ItemError("associative list without keys has an element that's an explicit null")
    return value_step(item)


def _default(shape: Shape, name: str) -> Any:
    field = shape.items.fields.get(name) if shape.items else None
    return None if field is None or field.default is _UNSET else field.default


# --- one object ---


def fields_of(value: Object, shape: Shape) -> Fields:
    """All fields that an object names.

    A struct's own field is in the set only if nothing is inside; entries of maps and items of lists always are.
    """
    return _named(value, shape)


def parts_of(value: Object, shape: Shape) -> Fields:
    """All that is in an object: its fields, and the structs, maps and lists on the way to them, empty ones as well."""
    return _inside(value, shape)


def _named(value: Any, shape: Shape) -> Fields:
    if type(value) is list:
        found = _by_step(value, shape).items()
        return {step: LEAF if len(items) > 1 else _with_self(_item(items[0], shape)) for step, items in found}
    fields, other = _inner(shape)
    tree: Fields = {}
    for name, inner in value.items():
        field = fields.get(name)
        of = other if field is None else field.shape
        is_map = type(inner) is dict and inner and not of.atomic
        if not is_map and not (type(inner) is list and of.list_type is not _ATOMIC):
            tree[f"f:{name}"] = LEAF
            continue
        below = _named(inner, of)
        if field is None:
            tree[f"f:{name}"] = _with_self(below)
        elif below:
            tree[f"f:{name}"] = below
    return tree


def _item(item: Any, shape: Shape) -> Fields:
    of = shape.items or ANYTHING
    return LEAF if type(item) is not dict or of.atomic else _named(item, of)


def _with_self(below: Fields) -> Fields:
    return {**below, SELF: LEAF} if below else below


def _inner(shape: Shape) -> tuple[dict[str, Field], Shape]:
    """The named fields of a struct or map, and what all others are."""
    base = shape.base
    if base is _STRUCT:
        return shape.fields, ANYTHING
    if base is _MAP:
        return _NO_FIELDS, shape.items or ANYTHING
    return _NO_FIELDS, ANYTHING


# --- two objects ---


def changes(old: Object, new: Object, shape: Shape) -> Changes:
    """What was added, removed and modified between two objects."""
    return Changes(*_compare_maps(old, new, shape, exact=_takes_anything(shape)))


_KNOWN: dict[int, tuple[Shape, bool]] = {}
"""Of whole objects, by identity: whether they take anything somewhere."""


def _takes_anything(shape: Shape) -> bool:
    """Whether 1 could become True there: Python takes them for equal, so parts that seem equal must be looked into."""
    known = _KNOWN.get(id(shape))
    if known is None or known[0] is not shape:
        if len(_KNOWN) >= 1024:  # shapes of custom kinds that have gone
            _KNOWN.clear()
        known = _KNOWN[id(shape)] = shape, any(one.base is _ANY or one.open for one in _inner_shapes(shape))
    return known[1]


def _inner_shapes(shape: Shape) -> list[Shape]:
    found = {id(shape): shape}
    waiting = [shape]
    while waiting:
        one = waiting.pop()
        inner = [field.shape for name, field in one.fields.items() if name != "managedFields"]
        for other in inner if one.items is None else [*inner, one.items]:
            if id(other) not in found:
                found[id(other)] = other
                waiting.append(other)
    return list(found.values())


_Trees = tuple[Fields, Fields, Fields]
_MODIFIED: _Trees = (LEAF, LEAF, _ALONE)
_EQUAL: _Trees = (LEAF, LEAF, LEAF)


def _compare_maps(old: Object, new: Object, shape: Shape, *, exact: bool) -> _Trees:
    fields, other = _inner(shape)
    added: Fields = {}
    removed: Fields = {}
    modified: Fields = {}
    for name, after in new.items():
        field = fields.get(name)
        of = other if field is None else field.shape
        before = old.get(name, _UNSET)
        if before is _UNSET:
            added[f"f:{name}"] = _whole(after, of)
        elif exact or before != after:
            _attach(f"f:{name}", _compare(before, after, of, exact=exact), (added, removed, modified))
    for name, before in old.items():
        if name not in new:
            field = fields.get(name)
            removed[f"f:{name}"] = _whole(before, other if field is None else field.shape)
    return added, removed, modified


def _compare(before: Any, after: Any, shape: Shape, *, exact: bool) -> _Trees:
    """Trees without the value itself, except where it is one field and was modified."""
    was_map, is_map = type(before) is dict, type(after) is dict
    if (was_map or is_map) and not shape.atomic:
        if not (was_map or before is None) or not (is_map or after is None):
            return _inside(after, shape), _inside(before, shape), _ALONE
        if before or after:
            return _compare_maps(before or {}, after or {}, shape, exact=exact)
    elif shape.list_type is not _ATOMIC and _are_items(before) and _are_items(after) and (before or after):
        return _compare_items(before or [], after or [], shape, exact=exact)
    return _EQUAL if same(before, after) else _MODIFIED


def _are_items(value: Any) -> bool:
    """Or none: who patches an object of a custom kind may put anything in the place of a list, until it is checked."""
    return value is None or type(value) is list


def _compare_items(old: list[Any], new: list[Any], shape: Shape, *, exact: bool) -> _Trees:
    of = shape.items or ANYTHING
    trees: _Trees = ({}, {}, {})
    added, removed, modified = trees
    olds, news = _by_step(old, shape), _by_step(new, shape)
    for step in dict.fromkeys([*olds, *news]):
        before, after = olds.get(step, ()), news.get(step, ())
        if len(before) > 1 and len(after) > 1:
            if not same(list(before), list(after)):
                modified[step] = LEAF
        elif len(before) == 1 and len(after) == 1:
            if exact or before[0] != after[0]:
                _attach(step, _compare(before[0], after[0], of, exact=exact), trees)
        else:
            # what is there more than once is one field, whatever is inside
            if after:
                added[step] = LEAF if len(after) > 1 else _whole(after[0], of)
            if before:
                removed[step] = LEAF if len(before) > 1 else _whole(before[0], of)
    return trees


def _by_step(items: Iterable[Any], shape: Shape) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for item in items:
        step = item_step(item, shape)
        if step in found:
            found[step].append(item)
        else:
            found[step] = [item]
    return found


def _attach(step: str, below: _Trees, trees: _Trees) -> None:
    for tree, more in zip(trees, below, strict=True):
        if more:
            tree[step] = LEAF if len(more) == 1 and SELF in more else more


def _whole(value: Any, shape: Shape) -> Fields:
    """The tree of a value that is on one side only: it is in the set, and so is all that is inside."""
    if not value or shape.atomic:
        return LEAF
    below = _inside(value, shape)
    if below:
        below[SELF] = LEAF
    return below


def _inside(value: Any, shape: Shape) -> Fields:
    if type(value) is dict:
        fields, other = _inner(shape)
        tree: Fields = {}
        for name, inner in value.items():
            # most values are scalars: they are not worth a call
            if type(inner) is dict or type(inner) is list:
                field = fields.get(name)
                tree[f"f:{name}"] = _whole(inner, other if field is None else field.shape)
            else:
                tree[f"f:{name}"] = LEAF
        return tree
    if type(value) is list and shape.list_type is not _ATOMIC:
        of = shape.items or ANYTHING
        items = _by_step(value, shape).items()
        return {step: LEAF if len(found) > 1 else _whole(found[0], of) for step, found in items}
    return LEAF


def same(left: Any, right: Any) -> bool:
    """Whether two values are equal: numbers by value, but True is no number."""
    if type(left) is dict and type(right) is dict:
        return len(left) == len(right) and all(name in right and same(left[name], right[name]) for name in left)
    if type(left) is list and type(right) is list:
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right) and isinstance(left, bool) == isinstance(right, bool)
