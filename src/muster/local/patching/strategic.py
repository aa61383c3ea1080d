"""Strategic merge patch: a merge patch that knows which lists are merged by a key, and takes directives.

$patch: replace | delete            of an object, or of an item of a merged list
$retainKeys: [names]                all other fields of this object go
$setElementOrder/name: [items]      the order of the list `name` afterwards
$deleteFromPrimitiveList/name: []   values that leave the list `name`
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from muster.local.codec.gotext import compact_json
from muster.local.codec.values import Object, json_type
from muster.local.patching.diff import ANYTHING
from muster.local.patching.granular import copied
from muster.local.patching.merge import PatchError, bad_request, unprocessable
from muster.local.schema.shapes import Base, Field, Shape

_PATCH = "$patch"
_RETAIN = "$retainKeys"
_ORDER = "$setElementOrder"
_DROP = "$deleteFromPrimitiveList"
_STRUCTS = (Base.STRUCT, Base.INT_OR_STRING, Base.ANY, Base.TIME)
"""In Go."""

_BAD_RETAIN = "invalid patch format of retainKeys"
_BAD_ORDER = "invalid patch format of setElementOrder list"
_BAD_DROP = "invalid patch format of primitive list"


def strategic_patch(document: Object, patch: Any, shape: Shape) -> Object:
    """The patched document; what is given stays as it is."""
    if patch is not None and not isinstance(patch, dict):
        raise bad_request(f"json: cannot unmarshal {json_type(patch)} into Go value of type map[string]interface {{}}")
    return _merge_maps(copied(document), copied(patch or {}), shape)


# Below, documents and patches are copies already, and are changed in place.


def _merge_maps(document: Object, patch: Object, shape: Shape) -> Object:
    if _PATCH in patch:
        return _replaced(patch)
    _retain(document, patch)
    _put_in_order(document, patch, shape)
    for key, value in patch.items():
        deletes = key.startswith(_DROP)
        name = _list_name(key, _DROP) if deletes else key
        if value is None:
            document.pop(name, None)
        elif name in document and _is_mergeable(document[name], value):
            document[name] = _merge_field(document[name], value, name, shape, deletes=deletes)
        elif not deletes:
            _set(document, name, value)
    return document


def _is_mergeable(before: Any, value: Any) -> bool:
    return type(before) is type(value) and isinstance(value, dict | list)


def _set(document: Object, name: str, value: Any) -> None:
    _drop_nulls(value)
    if isinstance(value, dict) and _PATCH in value:
        document.pop(name, None)
    else:
        document[name] = _without_directives(value)


def _merge_field(before: Any, value: Any, name: str, shape: Shape, *, deletes: bool) -> Any:
    field = _field(shape, name)
    strategy = _strategy(field)
    if isinstance(value, dict):
        return value if strategy == "replace" else _merge_maps(before, value, field.shape)
    _check_list(field, shape)
    if strategy == "merge" or deletes:
        return _merge_lists(before, value, field, deletes=deletes)
    return value


def _replaced(patch: Object) -> Object:
    directive = patch[_PATCH]
    if directive == "replace":
        del patch[_PATCH]
        return patch
    if directive == "delete":
        return {}
    raise _unknown_directive(directive, patch)


# --- directives ---


def _retain(document: Object, patch: Object) -> None:
    if _RETAIN not in patch:
        return
    names = patch.pop(_RETAIN)
    if not isinstance(names, list):
        raise bad_request(_BAD_RETAIN)
    for key, value in patch.items():
        if value is not None and not key.startswith((_DROP, _ORDER)) and key not in names:
            raise bad_request(_BAD_RETAIN)
    for key in [key for key in document if key not in names]:
        del document[key]


def _put_in_order(document: Object, patch: Object, shape: Shape) -> None:
    """Merges the lists for which the patch gives an order, and takes them out of the patch."""
    for directive in [name for name in patch if name.startswith(_ORDER)]:
        order = patch.pop(directive)
        if not isinstance(order, list):
            raise _not_a_list(order)
        name = _list_name(directive, _ORDER)
        ours, theirs = _list(document, name), _list(patch, name)
        field = _field(shape, name)
        _check_list(field, shape)
        _check_order(theirs or [], order, field.merge_key)
        if ours is None and theirs is None:
            continue
        key = _key(field, ours or [], theirs or [])
        if ours is None:
            result = _without_directives(theirs)
        elif theirs is None:
            result = ours
        elif _strategy(field) == "merge":
            result = _merge_lists(ours, theirs, field, deletes=False)
        else:
            result = theirs
        document[name] = _ordered(result, order, ours or [], key)
        patch.pop(name, None)


def _check_order(patch: list[Any], order: list[Any], key: str) -> None:
    """What the patch names must stand in the order, and in the same order."""
    if not patch or not order:
        return
    items = [item for item in patch if not (key and _directive(item) == "delete")]
    place = 0
    for wanted in order:
        while place < len(items) and isinstance(items[place], dict) and _PATCH in items[place]:
            place += 1
        if place < len(items) and _same_item(items[place], wanted, key):
            place += 1
    if place < len(items):
        message = (
            f"The order in patch list:\n{compact_json(patch)}\n doesn't match {_ORDER} list:\n{compact_json(order)}\n"
        )
        raise _failed(message)


def _directive(item: Any) -> Any:
    if not isinstance(item, dict):
        raise _not_a_map(item)
    return item.get(_PATCH)


def _drop_nulls(value: Any) -> None:
    if isinstance(value, dict):
        for name in [name for name, inner in value.items() if inner is None]:
            del value[name]
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            _drop_nulls(inner)


def _without_directives(value: Any) -> Any:
    """What is new has nothing to merge with: objects with a directive go."""
    if isinstance(value, dict):
        for name in [name for name, inner in value.items() if isinstance(inner, dict) and _PATCH in inner]:
            del value[name]
        for name, inner in value.items():
            value[name] = _without_directives(inner)
    elif isinstance(value, list):
        return [_without_directives(item) for item in value if not (isinstance(item, dict) and _PATCH in item)]
    return value


# --- lists ---


def _merge_lists(ours: list[Any], theirs: list[Any], field: Field, *, deletes: bool) -> list[Any]:
    if not ours and not theirs:
        return ours
    key = _key(field, ours, theirs)
    if key is None:
        if deletes:
            return [item for item in ours if not _has(theirs, item)]
        return _ordered(_distinct([*ours, *theirs]), theirs, ours, None)
    if not key:
        raise _failed("cannot merge lists without merge key")
    plain = [item for item in theirs if _PATCH not in item]
    kept = _delete(ours, theirs, key)
    if any(item.get(_PATCH) == "replace" for item in theirs):
        return _ordered(plain, [], plain, key)
    result = _merge_items(kept, plain, key, field.shape.items or ANYTHING)
    # in Go they come to lie where the deleted ones were, which is seen where the patch gives an order
    ours[len(kept) :] = [*result[len(kept) : len(ours)], *ours[len(result) :]]
    return _ordered(result, plain, kept, key)


def _delete(ours: list[Any], theirs: list[Any], key: str) -> list[Any]:
    """Our items without those that are to be deleted.

    They are moved together in our list itself, as Go does it: behind them it keeps what was there.
    """
    size = len(ours)
    for item in theirs:
        directive = item.get(_PATCH)
        if _PATCH not in item or directive == "replace":
            continue
        if directive == "merge":
            raise _failed("merging lists cannot yet be specified in the patch")
        if directive != "delete":
            raise _unknown_directive(directive, item)
        gone = _merge_value(item, key)
        while (place := _place(ours[:size], gone, key)) >= 0:
            ours[place : size - 1] = ours[place + 1 : size]
            size -= 1
    return ours[:size]


def _merge_items(ours: list[Any], theirs: list[Any], key: str, shape: Shape) -> list[Any]:
    result = list(ours)
    for item in theirs:
        place = _place(result, _merge_value(item, key), key)
        if place < 0:
            result.append(item)
        else:
            result[place] = _merge_maps(result[place], item, shape)
    return result


def _key(field: Field, ours: list[Any], theirs: list[Any]) -> str | None:
    """What the items are told apart by; None if they are scalars."""
    items = [*ours, *theirs]
    if not items:
        raise _failed("no elements in any of the given slices")
    if isinstance(items[0], list):
        raise unprocessable()
    if any(type(item) is not type(items[0]) for item in items):
        raise _failed(f"list element types are not identical: {compact_json([ours, theirs])}")
    return field.merge_key if isinstance(items[0], dict) else None


def _ordered(items: list[Any], order: list[Any], live: list[Any], key: str | None) -> list[Any]:
    """The items in this order; those that it does not name stay where they were, as seen from the live list."""
    named = [item for item in items if _place(order, _identity(item, key), key) >= 0]
    others = [item for item in items if _place(order, _identity(item, key), key) < 0]
    for item in [*order, *live]:
        _identity(item, key)
    named.sort(key=lambda item: _place(order, _identity(item, key), key))
    others.sort(key=lambda item: _place(live, _identity(item, key), key))
    result = []
    while named and others:
        here, there = (_place(live, _identity(first[0], key), key) for first in (others, named))
        result.append((others if 0 <= here < there else named).pop(0))
    return [*result, *named, *others]


def _identity(item: Any, key: str | None) -> Any:
    return item if key is None else _merge_value(item, key)


def _place(items: Sequence[Any], value: Any, key: str | None) -> int:
    for place, item in enumerate(items):
        if key is None:
            if _equal(item, value):
                return place
        elif not isinstance(item, dict):
            raise _failed(f"value for key {place} is not a map")
        elif key in item and _equal(item[key], value):
            return place
    return -1


def _same_item(left: Any, right: Any, key: str) -> bool:
    if not key:
        return _equal(left, right)
    return _equal(_merge_value(left, key), _merge_value(right, key))


def _merge_value(item: Any, key: str) -> Any:
    if not isinstance(item, dict):
        raise _not_a_map(item)
    if key not in item:
        raise _failed(f"map: {compact_json(item)} does not contain declared merge key: {key}")
    return item[key]


def _has(items: list[Any], value: Any) -> bool:
    return any(_equal(item, value) for item in items)


def _distinct(items: list[Any]) -> list[Any]:
    result: list[Any] = []
    for item in items:
        if not _has(result, item):
            result.append(item)
    return result


def _equal(left: Any, right: Any) -> bool:
    return type(left) is type(right) and bool(left == right)


# --- what the shape says ---


def _field(shape: Shape, name: str) -> Field:
    if shape.base not in _STRUCTS:
        raise _failed(f"merging an object in json but data type is not struct, instead is: {shape.base.value}")
    field = shape.fields.get(name) or next((f for n, f in shape.fields.items() if n.lower() == name.lower()), None)
    if field is None:
        raise _failed(f'unable to find api field in struct {shape.go_name} for the json field "{name}"')
    return field


def _strategy(field: Field) -> str:
    return next((strategy for strategy in field.strategies if strategy != "retainKeys"), "")


def _check_list(field: Field, parent: Shape) -> None:
    if field.shape.base is not Base.LIST:
        raise _failed(f"expected slice or array type in {parent.go_name}, but got: {field.shape.base.value}")


def _list(holder: Object, name: str) -> list[Any] | None:
    if name not in holder:
        return None
    value = holder[name]
    if not isinstance(value, list):
        raise _not_a_list(value)
    return value


def _list_name(key: str, prefix: str) -> str:
    first, slash, name = key.partition("/")
    if first != prefix or not slash:
        raise bad_request(_BAD_ORDER if prefix == _ORDER else _BAD_DROP)
    return name


# --- errors ---


def _failed(message: str) -> PatchError:
    return PatchError(500, "", message)


def _not_a_map(value: Any) -> PatchError:
    return _failed(f"expected a map, but received: {compact_json(value)}")


def _not_a_list(value: Any) -> PatchError:
    return _failed(f"expected a list, but received: {compact_json(value)}")


def _unknown_directive(directive: Any, patch: Object) -> PatchError:
    return _failed(f"unknown patch type: {compact_json(directive)} in map: {compact_json(patch)}")
