"""Text by others, as it can be shown and written."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["shown"]


def shown(what: object, how: Callable[[object], str] = str) -> str:
    """What `how` makes of it, with `?` for half characters; never raises: whose text cannot be made is named by type.

    Half characters come from names of files and variables, and cannot be written as JSON.
    """
    try:
        return how(what).encode(errors="replace").decode()
    except Exception:
        return f"a {type(what).__name__} that cannot be shown"
