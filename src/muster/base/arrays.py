"""Columns that grow."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

_T = TypeVar("_T", bound=np.generic)


def grown(array: NDArray[_T], *more: int, fill: float = 0) -> NDArray[_T]:
    """A copy with so many more entries at the end of each axis."""
    # numpy's own pad takes 70 µs for a small array, twenty times as long, and every new engine grows a score of them
    found = np.full([have + added for have, added in zip(array.shape, more, strict=True)], fill, array.dtype)
    found[tuple(map(slice, array.shape))] = array
    return found
