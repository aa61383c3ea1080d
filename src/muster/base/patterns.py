"""Patterns in schemas of custom kinds and in CEL: RE2, as Go has it, which takes no more time than the text is long.

Python's own take exponential time where somebody wants them to (`^(a+)+$`), and mean other things by the same signs.
"""

from __future__ import annotations

from typing import Any

import re2

from muster.base.caching import remembered

_OPTIONS = re2.Options()
_OPTIONS.log_errors = False


def problem(pattern: str) -> str:
    """Why a pattern is none; "" for one that is."""
    found = compiled(pattern)
    return f"error parsing regexp: {found}" if isinstance(found, str) else ""


def matches(pattern: str, text: str) -> bool:
    """Whether a pattern is found in a text; in any, if it is none: other versions of Muster took other patterns."""
    found = compiled(pattern)
    return isinstance(found, str) or found.search(text) is not None


# bounded: clients make them up
@remembered(500)
def compiled(pattern: str) -> Any:
    """The pattern, or what is wrong with it."""
    try:
        return re2.compile(pattern, _OPTIONS)
    except re2.error as error:
        [why] = error.args
        return why.decode(errors="replace") if isinstance(why, bytes) else str(why)
    except UnicodeError as error:
        return f"invalid UTF-8: {error}"
