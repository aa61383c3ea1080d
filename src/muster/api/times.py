"""Kubernetes timestamps as seconds since the epoch, and back."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache

from muster.base.errors import ObjectError


# pods of one Job share their second: the cache makes the age of a pod a dictionary look-up
@lru_cache(maxsize=16_384)
def seconds(stamp: str) -> float:
    """Seconds since the epoch of an RFC 3339 `stamp`; an empty one, as an object not yet stored has, is 0."""
    if not stamp:
        return 0.0
    try:
        return datetime.fromisoformat(stamp).timestamp()
    except ValueError as error:
        raise ObjectError("not an RFC 3339 time", value=stamp) from error


def stamp(at: float) -> str:
    """The RFC 3339 form of `at`, to the second, as Kubernetes writes metav1.Time."""
    return _stamp(int(at))


# thousands of writes share a second, and each has two stamps
@lru_cache(maxsize=256)
def _stamp(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_stamp(at: float) -> str:
    """The RFC 3339 form of `at`, to the microsecond, as Kubernetes writes metav1.MicroTime."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
