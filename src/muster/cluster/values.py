"""One fact over all nodes of which they share few values: each row holds the number of its own."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from muster.base.arrays import grown

MISSING = 0
"""The number of rows that have no value."""

_Value = TypeVar("_Value", bound=Hashable)
_Said = TypeVar("_Said", bound=np.generic)


class ValueColumn(Generic[_Value]):
    """A label, or a set of taints: what is asked about values is asked once of each, and the rows look it up."""

    __slots__ = ("ids", "values")

    def __init__(self, capacity: int = 0) -> None:
        self.ids: NDArray[np.int32] = np.zeros(capacity, np.int32)
        self.values: dict[_Value, int] = {}

    def put(self, row: int, value: _Value | None) -> None:
        if value is not None and value not in self.values and len(self.values) > 2 * len(self.ids) + 64:
            # autoscalers put times into taints: values that no node has any more would pile up
            self._renumber()
        self.ids[row] = MISSING if value is None else self.values.setdefault(value, len(self.values) + 1)

    def look_up(
        self, judge: Callable[[_Value], object], rows: NDArray[np.intp] | None, *, missing: _Said
    ) -> NDArray[_Said]:
        """What `judge` says of each row's value; `missing`, which gives the type, for rows that have none."""
        said = np.array([missing, *map(judge, self.values)], missing.dtype)
        return said[self.ids if rows is None else self.ids[rows]]

    def grow(self, capacity: int) -> None:
        self.ids = grown(self.ids, capacity - len(self.ids))

    def copy(self) -> ValueColumn[_Value]:
        twin: ValueColumn[_Value] = ValueColumn()
        twin.ids, twin.values = self.ids.copy(), self.values.copy()
        return twin

    def _renumber(self) -> None:
        by_id = {number: value for value, number in self.values.items()}
        self.values = {}
        for row, number in enumerate(self.ids.tolist()):
            if number != MISSING:
                self.ids[row] = self.values.setdefault(by_id[number], len(self.values) + 1)
