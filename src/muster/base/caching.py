"""What was found out about a text is remembered, if the text is short.

    @remembered(4096)
    def problems(name: str) -> tuple[str, ...]: ...

A cache of so many texts of any length is one without bound: clients may send megabytes, and seldom the same ones again.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, TypeVar, cast

__all__ = ["remembered"]

_LONGEST = 512

Function = TypeVar("Function", bound=Callable[..., Any])


def remembered(entries: int) -> Callable[[Function], Function]:
    """As functools.lru_cache, for functions of texts and numbers; 1, 1.0 and True are different ones."""

    def decorate(function: Function) -> Function:
        cached: Callable[..., Any] = lru_cache(maxsize=entries, typed=True)(function)

        @wraps(function)
        def of_one(text: Any) -> Any:
            return function(text) if type(text) is str and len(text) > _LONGEST else cached(text)

        @wraps(function)
        def of_many(*texts: Any) -> Any:
            for text in texts:
                if type(text) is str and len(text) > _LONGEST:
                    return function(*texts)
            return cached(*texts)

        [first, *more] = inspect.signature(function).parameters.values()
        takes_one = not more and first.kind is not first.VAR_POSITIONAL
        # these are called for each field of each write: one text is looked at without a loop
        return cast(Function, of_one if takes_one else of_many)

    return decorate
