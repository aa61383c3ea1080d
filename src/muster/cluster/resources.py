"""The order of resources: every array over resources has one row each, in this order."""

from __future__ import annotations

PODS, CPU, MEMORY = 0, 1, 2
"""Resources that every node has; their rows are fixed."""


class ResourceNames:
    """Gives each resource name a row number, for good; unknown names are added at the end."""

    def __init__(self) -> None:
        self._rows = {"pods": PODS, "cpu": CPU, "memory": MEMORY}

    def row(self, name: str) -> int:
        return self._rows.setdefault(name, len(self._rows))

    def find(self, name: str) -> int | None:
        """The row of a name that was seen before; None if nothing has or asks for it."""
        return self._rows.get(name)

    def names(self) -> tuple[str, ...]:
        return tuple(self._rows)

    def __len__(self) -> int:
        return len(self._rows)
