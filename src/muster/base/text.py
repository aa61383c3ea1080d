"""Text by others, as it can be shown and written."""

from __future__ import annotations

import re
from collections.abc import Callable

__all__ = ["shown"]

# how Python shows what has no words of its own: <teams.Rack object at 0x7f01f45a8410>
_ADDRESS = re.compile(r" at 0x[0-9a-f]{4,}")


def shown(what: object, how: Callable[[object], str] = str) -> str:
    """What `how` makes of it, with `?` for half characters; never raises: whose text cannot be made is named by type.

    Half characters come from names of files and variables, and cannot be written as JSON.  Where in memory something
    is stays out: it is elsewhere each time and in each process, and what is said is compared.
    """
    try:
        return _ADDRESS.sub("", how(what)).encode(errors="replace").decode()
    except Exception:
        return f"a {type(what).__name__} that cannot be shown"
