"""The places at which objects of a custom kind have their number of replicas, and what is wrong with what is there."""

from __future__ import annotations

from typing import Any

from muster.local.checks.fields import FieldError, invalid
from muster.local.codec.gotext import shown
from muster.local.codec.values import Object
from muster.local.kinds.kind import Scaling

_LARGEST = 2**31 - 1
_GO = {
    str: "string",
    bool: "bool",
    float: "float64",
    int: "int64",
    dict: "map[string]interface {}",
    list: "[]interface {}",
}


def scaling(subresources: Object | None) -> Scaling | None:
    """What a version of a definition says; None if its objects have no scale."""
    given = (subresources or {}).get("scale")
    if given is None:
        return None

    def path(name: str) -> tuple[str, ...]:
        return tuple(part for part in given.get(name, "").split(".") if part)

    return Scaling(spec=path("specReplicasPath"), status=path("statusReplicasPath"), selector=path("labelSelectorPath"))


def scale_errors(document: Object, paths: Scaling) -> list[FieldError]:
    """What is wrong with what stands at the places; that nothing does is not."""
    errors = [error for path in (paths.spec, paths.status) if (error := _number_error(document, path)) is not None]
    selector = look_up(document, paths.selector)
    if selector is not None and not isinstance(selector, str):
        errors.append(invalid(dotted(paths.selector), "", _accessor(paths.selector, selector, "string")))
    return errors


def _number_error(document: Object, path: tuple[str, ...]) -> FieldError | None:
    value = look_up(document, path)
    if value is None:
        return None
    if type(value) is not int:
        return invalid(dotted(path), 0, _accessor(path, value, "int64"))
    if value < 0:
        return invalid(dotted(path), value, "should be a non-negative integer")
    if value > _LARGEST:
        return invalid(dotted(path), value, f"should be less than or equal to {_LARGEST}")
    return None


def _accessor(path: tuple[str, ...], value: Any, wanted: str) -> str:
    return f"{dotted(path)} accessor error: {shown(value)} is of the type {_GO[type(value)]}, expected {wanted}"


def look_up(document: Any, path: tuple[str, ...]) -> Any:
    """What stands at a place; None if nothing does."""
    for part in path:
        document = document.get(part) if isinstance(document, dict) else None
    return document if path else None


def dotted(path: tuple[str, ...]) -> str:
    return "".join(f".{part}" for part in path)
