"""What is wrong with an object, field by field, in the words of Kubernetes.

errors = [required("spec.containers[0].name"), invalid("spec.priority", 7, "must be ...")]
raise status.invalid(kind, name, errors)      # 422, with a cause for each
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Any

import msgspec

from muster.local.codec.gotext import compact_json, quoted


class Why(Enum):
    """The reason of a cause, and how its message begins."""

    REQUIRED = ("FieldValueRequired", "Required value")
    INVALID = ("FieldValueInvalid", "Invalid value")
    DUPLICATE = ("FieldValueDuplicate", "Duplicate value")
    NOT_FOUND = ("FieldValueNotFound", "Not found")
    NOT_SUPPORTED = ("FieldValueNotSupported", "Unsupported value")
    FORBIDDEN = ("FieldValueForbidden", "Forbidden")
    TOO_LONG = ("FieldValueTooLong", "Too long")
    TOO_MANY = ("FieldValueTooMany", "Too many")
    TYPE_INVALID = ("FieldValueTypeInvalid", "Invalid value")
    INTERNAL = ("InternalError", "Internal error")


class FieldError(msgspec.Struct, frozen=True):
    """One thing that is wrong: `field: message`."""

    why: Why
    field: str
    """spec.containers[0].name; "" or "<nil>" for the object as a whole."""
    message: str
    """Without the field: Invalid value: "x": must be ..."""

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"

    @property
    def cause(self) -> dict[str, str]:
        """As it stands in a Status."""
        return {"reason": self.why.value[0], "message": self.message, "field": self.field}


def required(field: str, detail: str = "") -> FieldError:
    return _error(Why.REQUIRED, field, detail)


def forbidden(field: str, detail: str) -> FieldError:
    return _error(Why.FORBIDDEN, field, detail)


def invalid(field: str, value: Any, detail: str) -> FieldError:
    return _error(Why.INVALID, field, detail, value=value)


def wrong(field: str, detail: str) -> FieldError:
    """Invalid, without saying the value."""
    return FieldError(Why.INVALID, field, f"{Why.INVALID.value[1]}: {detail}")


def duplicate(field: str, value: Any) -> FieldError:
    return _error(Why.DUPLICATE, field, "", value=value)


def not_found(field: str, value: Any) -> FieldError:
    return _error(Why.NOT_FOUND, field, "", value=value)


def not_supported(field: str, value: Any, supported: Iterable[str]) -> FieldError:
    """The supported values are named in the order in which they are given; most of Kubernetes sorts them."""
    detail = "supported values: " + ", ".join(quoted(one) for one in supported)
    return _error(Why.NOT_SUPPORTED, field, detail, value=value)


def too_long(field: str, longest: int) -> FieldError:
    return _error(Why.TOO_LONG, field, f"may not be more than {longest} bytes")


def too_many(field: str, count: int, most: int) -> FieldError:
    return _error(Why.TOO_MANY, field, f"must have at most {most} item{'' if most == 1 else 's'}", value=count)


def _error(why: Why, field: str, detail: str, *, value: Any = msgspec.UNSET) -> FieldError:
    message = why.value[1]
    if value is not msgspec.UNSET:
        message += f": {_shown(value)}"
    return FieldError(why, field, f"{message}: {detail}" if detail else message)


def _shown(value: Any) -> str:
    """As Go shows it: strings in quotes, all else as JSON."""
    return quoted(value) if isinstance(value, str) else compact_json(value, as_given=True)
