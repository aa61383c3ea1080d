"""PodGroups for owners that cannot make them: made when pods ask for one, and as large as their owner is."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from muster.api.wire import PodGroup
from muster.edge.owned import WantedGroup, is_made_for, is_orphaned

Todo = WantedGroup | tuple[PodGroup, WantedGroup]
"""A group to be made, or one and as what it is wanted: its minimum, and its owner if it has none."""


class MadeGroups:
    """Makes groups that are wanted and not there, also when somebody has deleted one, and keeps minimums in step.

    What was not made for the present owner is never touched: a group of an owner that is gone, or one that somebody
    made by hand.  Only a group that was orphaned with its pods becomes that of the next owner of its name, once
    `is_free` says that no pods but that one's are left in it.  That groups go with their owners is the garbage
    collector's work.
    """

    def __init__(
        self,
        find: Callable[[str], PodGroup | None],
        *,
        wanted: Callable[[str], WantedGroup | None],
        is_free: Callable[[str, str], bool],
        write: Callable[[str], None],
    ) -> None:
        self._find = find
        self._wanted = wanted
        self._is_free = is_free
        self._write = write
        self._used: set[str] = set()
        """Keys of groups that were orphaned, and are wanted while pods of others are left in them."""

    def look(self, touched: Iterable[str]) -> None:
        """Looks at groups of these keys, and has something written of those for which there is something to do."""
        # nobody touches a group when pods of others leave it
        for key in sorted(self._used.union(touched)):
            self._used.discard(key)
            if self.todo(key) is not None:
                self._write(key)

    def todo(self, key: str) -> Todo | None:
        """What is to be done for a group as things are now; to be asked again before a write is sent."""
        wanted, group = self._wanted(key), self._find(key)
        if wanted is None or group is None:
            return wanted
        gang = group.spec.scheduling_policy.gang
        if gang is None:
            return None
        if is_orphaned(group):
            if self._is_free(key, wanted.owner.uid):
                return group, wanted
            self._used.add(key)
            return None
        in_step = gang.min_count == wanted.minimum
        return None if in_step or not is_made_for(group, wanted.owner.uid) else (group, wanted)

    def is_superseded(self, key: str) -> bool:
        """Whether the group is on its way out with the owner that it was made for, and stands in the way of another's
        to whom all pods belong that are left in it: a StatefulSet takes over the pods of the last."""
        wanted, group = self._wanted(key), self._find(key)
        if wanted is None or group is None or group.metadata.deletion_timestamp is None:
            return False
        return not is_made_for(group, wanted.owner.uid) and self._is_free(key, wanted.owner.uid)
