"""Which rows changed, for readers that keep something per row and repair it later."""

from __future__ import annotations


class ChangeLog:
    """Rows in the order in which they changed.

    A reader remembers `end` when it is up to date; `since` then tells what it missed, or None when that is
    more than starting over would cost.
    """

    __slots__ = ("_dropped", "_limit", "_rows")

    def __init__(self, limit: int = 4096) -> None:
        self._rows: list[int] = []
        self._dropped = 0
        self._limit = limit

    def copy(self) -> ChangeLog:
        twin = ChangeLog(self._limit)
        twin._rows, twin._dropped = self._rows.copy(), self._dropped
        return twin

    @property
    def end(self) -> int:
        return self._dropped + len(self._rows)

    def mark(self, row: int) -> None:
        self._rows.append(row)
        if len(self._rows) > self._limit:
            self._forget()

    def mark_all(self, rows: list[int]) -> None:
        self._rows.extend(rows)
        if len(self._rows) > self._limit:
            self._forget()

    def since(self, position: int) -> list[int] | None:
        """Rows marked since `position`, with repetitions; None if the log no longer reaches so far back."""
        start = position - self._dropped
        return None if start < 0 else self._rows[start:]

    def _forget(self) -> None:
        excess = len(self._rows) - self._limit // 2
        del self._rows[:excess]
        self._dropped += excess
