"""PodGroups for owners that cannot make them: made when pods ask for one, and as large as their owner is."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from muster.api.wire import PodGroup
from muster.edge.owned import WantedGroup, is_made_for

Todo = WantedGroup | tuple[PodGroup, int]
"""A group to be made, or one and the minimum that it is to have."""


class MadeGroups:
    """Makes groups that are wanted and not there, also when somebody has deleted one, and keeps minimums in step.

    What was not made for the present owner is never touched: a group of an owner that is gone, or one that somebody
    made by hand.  That groups go with their owners is the garbage collector's work.
    """

    def __init__(
        self,
        find: Callable[[str], PodGroup | None],
        *,
        wanted: Callable[[str], WantedGroup | None],
        write: Callable[[str], None],
    ) -> None:
        self._find = find
        self._wanted = wanted
        self._write = write

    def look(self, touched: Iterable[str]) -> None:
        """Looks at groups of these keys, and has something written of those for which there is something to do."""
        for key in sorted(touched):
            if self.todo(key) is not None:
                self._write(key)

    def todo(self, key: str) -> Todo | None:
        """What is to be done for a group as things are now; to be asked again before a write is sent."""
        wanted, group = self._wanted(key), self._find(key)
        if wanted is None or group is None:
            return wanted
        gang = group.spec.scheduling_policy.gang
        if gang is None or not is_made_for(group, wanted.owner.uid) or gang.min_count == wanted.minimum:
            return None
        return group, wanted.minimum
