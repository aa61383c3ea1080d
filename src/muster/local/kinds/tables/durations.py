"""How long a thing took, or how old it is, as Kubernetes tells people: 45s, 5m10s, 3h5m, 7d, 2y30d."""

from __future__ import annotations

from muster.api.times import seconds

__all__ = ["UNKNOWN", "human", "since"]

UNKNOWN = "<unknown>"

_MINUTE = 60
_HOUR = 60 * _MINUTE
# the longest time.Duration of Go, to which its subtractions are cut
_LONGEST = (2**63 - 1) / 1e9


def human(duration: float) -> str:
    """`duration`, in seconds, with two or three significant figures.

    Up to two seconds below zero are taken for clocks that differ; more is <invalid>.
    """
    whole = int(min(duration, _LONGEST))
    if whole < -1:
        return "<invalid>"
    if whole < 2 * _MINUTE:
        return f"{max(whole, 0)}s"
    if whole < 10 * _MINUTE:
        return _pair(whole // _MINUTE, "m", whole % _MINUTE, "s")
    if whole < 3 * _HOUR:
        return f"{whole // _MINUTE}m"
    if whole < 8 * _HOUR:
        return _pair(whole // _HOUR, "h", whole // _MINUTE % 60, "m")
    return _long(whole // _HOUR)


def since(stamp: str | None, now: float) -> str:
    """The time from an RFC 3339 `stamp` to `now`; <unknown> where there is no stamp."""
    return human(now - seconds(stamp)) if stamp else UNKNOWN


def _long(hours: int) -> str:
    days = hours // 24
    if hours < 48:
        return f"{hours}h"
    if days < 8:
        return _pair(days, "d", hours % 24, "h")
    if days < 2 * 365:
        return f"{days}d"
    if days < 8 * 365:
        return _pair(days // 365, "y", days % 365, "d")
    return f"{days // 365}y"


def _pair(large: int, unit: str, small: int, small_unit: str) -> str:
    return f"{large}{unit}{small}{small_unit}" if small else f"{large}{unit}"
