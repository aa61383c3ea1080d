"""Node labels as columns, kept only for the keys that some selector reads."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from muster.base.arrays import grown

MISSING = 0


class LabelColumn:
    """One label key over all nodes: each row holds the id of its value, 0 where the label is missing."""

    __slots__ = ("ids", "values")

    def __init__(self, capacity: int) -> None:
        self.ids: NDArray[np.int32] = np.zeros(capacity, np.int32)
        self.values: dict[str, int] = {}

    def put(self, row: int, value: str | None) -> None:
        if value is not None and value not in self.values and len(self.values) > 2 * len(self.ids) + 64:
            self._renumber()
        self.ids[row] = MISSING if value is None else self.values.setdefault(value, len(self.values) + 1)

    def _renumber(self) -> None:
        """Forgets values that no node has any more."""
        by_id = {number: value for value, number in self.values.items()}
        self.values = {}
        for row, number in enumerate(self.ids.tolist()):
            if number != MISSING:
                self.ids[row] = self.values.setdefault(by_id[number], len(self.values) + 1)


class LabelColumns:
    """The columns of all keys read so far; a key not read yet is built from the nodes' labels when asked for."""

    def __init__(self) -> None:
        self._columns: dict[str, LabelColumn] = {}
        self._labels: dict[int, Mapping[str, str]] = {}
        self._capacity = 0

    def column(self, key: str) -> LabelColumn:
        found = self._columns.get(key)
        if found is None:
            found = self._columns[key] = LabelColumn(self._capacity)
            for row, labels in self._labels.items():
                found.put(row, labels.get(key))
        return found

    def copy(self) -> LabelColumns:
        twin = LabelColumns()
        twin._labels, twin._capacity = self._labels.copy(), self._capacity
        for key, column in self._columns.items():
            twin._columns[key] = LabelColumn(0)
            twin._columns[key].ids, twin._columns[key].values = column.ids.copy(), column.values.copy()
        return twin

    def put(self, row: int, labels: Mapping[str, str]) -> None:
        self._labels[row] = labels
        for key, column in self._columns.items():
            column.put(row, labels.get(key))

    def remove(self, row: int) -> None:
        del self._labels[row]
        for column in self._columns.values():
            column.put(row, None)

    def grow(self, capacity: int) -> None:
        self._capacity = capacity
        for column in self._columns.values():
            column.ids = grown(column.ids, capacity - len(column.ids))
