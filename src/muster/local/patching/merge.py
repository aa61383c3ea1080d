"""Patches that know nothing of shapes: JSON merge patch (RFC 7386) and JSON patch (RFC 6902), as Kubernetes reads them.

All return a new object and leave their arguments as they are.  A patch that cannot be carried out is a PatchError, with
the code and the words of the Status that Kubernetes answers with.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from muster.local.codec.values import Object, json_type
from muster.local.patching.diff import same
from muster.local.patching.granular import copied

_encode = msgspec.json.Encoder().encode

_MOST_OPERATIONS = 10_000
# copies of copies unfold: Kubernetes takes no more of them together than a request may have
_LARGEST_COPIES = 3 << 20
_LONGEST_PLACE = 18


class PatchError(Exception):
    """A patch that is refused: the Status to answer with."""

    def __init__(self, code: int, reason: str, message: str, *, details: Object | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details


def bad_request(message: str) -> PatchError:
    return PatchError(400, "BadRequest", message)


def unprocessable() -> PatchError:
    message = "the server rejected our request due to an error in our request"
    return PatchError(422, "Invalid", message, details={})


# --- JSON merge patch ---


def merge_patch(document: Object, patch: Any) -> Object:
    """The document with the patch put over it; null takes a field away."""
    if patch is None:
        raise bad_request("Invalid JSON Patch")
    if not isinstance(patch, dict):
        raise _undecodable(patch, "Go value of type map[string]interface {}")
    return _merged(document, patch)


def _merged(document: Object, patch: Object) -> Object:
    result = {name: copied(value) for name, value in document.items() if name not in patch}
    for name, value in patch.items():
        if value is None:
            continue
        before = document.get(name)
        if isinstance(before, dict):
            # a list that takes the place of an object is taken as it is, nulls and all
            result[name] = _merged(before, value) if isinstance(value, dict) else copied(value)
        else:
            result[name] = _without_nulls(value)
    return result


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(inner) for name, inner in value.items() if inner is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


# --- JSON patch ---


class _Failed(Exception):
    """An operation that cannot be carried out; nobody is told which, or why."""


def json_patch(document: Object, patch: Any) -> Any:
    """The document after all operations of the patch, one after another."""
    operations = _operations(patch)
    if len(operations) > _MOST_OPERATIONS:
        limit = f"The allowed maximum operations in a JSON patch is {_MOST_OPERATIONS}, got {len(operations)}"
        raise PatchError(413, "RequestEntityTooLarge", f"Request entity too large: {limit}")
    root, left = {"": copied(document)}, _LARGEST_COPIES
    try:
        for operation in operations:
            if operation.get("op") == "copy":
                left -= len(_encode(_copied_by(root, operation)))
                if left < 0:
                    size = f"{_LARGEST_COPIES - left}, exceeding the limit {_LARGEST_COPIES}"
                    words = f"Unable to complete the copy, the accumulated size increase of copy is {size}"
                    raise PatchError(413, "RequestEntityTooLarge", f"Request entity too large: {words}")
            _carry_out(root, operation)
    except _Failed as failed:
        raise unprocessable() from failed
    return root[""]


def _copied_by(root: Object, operation: Object) -> Any:
    return _look(*_find(root, operation.get("from")))


def _operations(patch: Any) -> list[Object]:
    if patch is None:
        return []
    if not isinstance(patch, list):
        raise _undecodable(patch, "Go value of type []handlers.jsonPatchOp")
    for operation in patch:
        if operation is not None and not isinstance(operation, dict):
            raise _undecodable(operation, "Go value of type handlers.jsonPatchOp")
        for name in ("op", "path", "from"):
            value = (operation or {}).get(name)
            if value is not None and not isinstance(value, str):
                raise _undecodable(value, f"Go struct field jsonPatchOp.{name} of type string")
    return [operation or {} for operation in patch]


def _undecodable(value: Any, into: str) -> PatchError:
    return bad_request(f"error decoding patch: json: cannot unmarshal {json_type(value)} into {into}")


def _carry_out(root: Object, operation: Object) -> None:
    kind, path = operation.get("op"), operation.get("path")
    if kind in ("add", "test", "replace"):
        value = copied(operation.get("value"))
        _CHANGES[kind](root, *_find(root, path, whole=kind != "add"), value)
    elif kind == "remove":
        _take(*_find(root, path))
    elif kind in ("move", "copy"):
        holder, key = _find(root, operation.get("from"))
        value = _take(holder, key) if kind == "move" else copied(_look(holder, key))
        _add(root, *_find(root, path), value)
    else:
        raise _Failed


def _add(_: Object, holder: Any, key: str, value: Any) -> None:
    if isinstance(holder, dict):
        holder[key] = value
    elif key == "-":
        holder.append(value)
    else:
        place = _place(key, len(holder) + 1)
        holder.insert(place, value)


def _replace(root: Object, holder: Any, key: str, value: Any) -> None:
    if holder is root and not isinstance(value, dict | list):
        raise _Failed
    if isinstance(holder, dict):
        # it need not be there before
        holder[key] = value
    else:
        holder[_place(key, len(holder))] = value


def _test(_: Object, holder: Any, key: str, value: Any) -> None:
    found = _look(holder, key)
    # numbers are compared as they are written
    if not same(found, value) or isinstance(found, float) != isinstance(value, float):
        raise _Failed


_CHANGES: dict[str, Callable[[Object, Any, str, Any], None]] = {"add": _add, "replace": _replace, "test": _test}


def _find(root: Object, path: str | None, *, whole: bool = False) -> tuple[Any, str]:
    """The object or list that holds what a path leads to, and its key there."""
    if path == "" and whole:
        return root, ""
    if path is None or "/" not in path:
        raise _Failed
    *before, last = (step.replace("~1", "/").replace("~0", "~") for step in path.split("/"))
    holder = root[""]
    for step in before[1:]:
        holder = _look(holder, step)
        if not isinstance(holder, dict | list):
            raise _Failed
    return holder, last


def _look(holder: Any, key: str) -> Any:
    """What a holder has there; of an object, None if it has nothing."""
    return holder.get(key) if isinstance(holder, dict) else holder[_place(key, len(holder))]


def _take(holder: Any, key: str) -> Any:
    if isinstance(holder, dict):
        if key not in holder:
            raise _Failed
        return holder.pop(key)
    return holder.pop(_place(key, len(holder)))


def _place(key: str, size: int) -> int:
    """A place below the size; negative ones count from there."""
    digits = key[1:] if key[:1] in ("-", "+") else key
    is_number = digits.isascii() and digits.isdigit() and len(digits) <= _LONGEST_PLACE
    if not is_number or not -size <= int(key) < size:
        raise _Failed
    return int(key) % size
