"""Node labels as columns, kept only for the keys that some selector reads."""

from __future__ import annotations

from collections.abc import Mapping

from muster.cluster.values import ValueColumn

LabelColumn = ValueColumn[str]


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
        twin._columns = {key: column.copy() for key, column in self._columns.items()}
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
            column.grow(capacity)
