"""The places at which objects of a custom kind have their number of replicas, and what is wrong with what is there."""

from __future__ import annotations

from typing import Any

from muster.local.checks.fields import FieldError, invalid
from muster.local.codec.values import Object
from muster.local.kinds.kind import Scaling

_LARGEST = 2**31 - 1


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
    errors = []
    for path in (paths.spec, paths.status):
        value = look_up(document, path)
        if value is not None and (type(value) is not int or not 0 <= value <= _LARGEST):
            errors.append(invalid(dotted(path), value, f"should be an integer from 0 to {_LARGEST}"))
    selector = look_up(document, paths.selector)
    if selector is not None and not isinstance(selector, str):
        errors.append(invalid(dotted(paths.selector), selector, "should be a text"))
    return errors


def look_up(document: Any, path: tuple[str, ...]) -> Any:
    """What stands at a place; None if nothing does."""
    for part in path:
        document = document.get(part) if isinstance(document, dict) else None
    return document if path else None


def dotted(path: tuple[str, ...]) -> str:
    return "".join(f".{part}" for part in path)
