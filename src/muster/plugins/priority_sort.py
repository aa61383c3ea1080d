"""PrioritySort: higher priority first, then the older unit by what the API keeps, then by UID."""

from __future__ import annotations

from muster.framework.contract import QueueOrder


class PrioritySort(QueueOrder):
    name = "PrioritySort"

    def key(self, *, priority: int, created: float, uid: str, name: str) -> tuple[int, float, str]:
        return (-priority, created, uid)
