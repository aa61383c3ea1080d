"""Lengths of time as scenario files write them and as people read them."""

from __future__ import annotations

import re

_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)")


def parse_seconds(text: str | int | float) -> float:
    """Seconds of "5s", "1m30s", "2h", "500ms" or a plain number of seconds; ValueError for anything else."""
    if isinstance(text, bool):
        raise ValueError("not a time")
    if isinstance(text, int | float):
        seconds = float(text)
    else:
        parts = _PART.findall(text)
        if not parts or "".join(number + unit for number, unit in parts) != text:
            raise ValueError("not a time")
        seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
    if not 0 <= seconds < float("inf"):
        raise ValueError("not a time")
    return seconds


def show_seconds(seconds: float) -> str:
    """For people: "5s", "0.1s", "1m30s", "2h"."""
    rounded = round(seconds, 3)
    minutes, rest = divmod(rounded, 60)
    hours, minutes = divmod(int(minutes), 60)
    parts = [f"{hours}h" if hours else "", f"{minutes}m" if minutes else ""]
    rest = round(rest, 3)
    if rest or not any(parts):
        parts.append(f"{rest:g}s")
    return "".join(parts)
