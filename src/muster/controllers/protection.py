"""PodGroup protection: a group in use is not deleted before its pods have ended."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from muster.api.wire import PodGroup

FINALIZER = "muster.dev/podgroup-protection"

Write = Callable[[PodGroup, tuple[str, ...]], None]
"""Asks for a group's finalizers to be replaced by these."""


class Protection:
    """Keeps a finalizer on every custom group, and takes it off once a group is being deleted and no pod uses it.

    As Kubernetes does for its own PodGroups, where an admission plugin adds the finalizer; custom objects have none.
    """

    def __init__(self, find: Callable[[str], PodGroup | None], *, in_use: Callable[[str], bool], write: Write) -> None:
        self._find = find
        self._in_use = in_use
        self._write = write
        self._leaving: dict[str, str] = {}
        """Groups being deleted that still have the finalizer, and the resourceVersion for which a write was asked."""

    def look(self, touched: Iterable[str]) -> None:
        """Looks at groups that changed, and at those that may have been used until now."""
        for key in touched:
            group = self._find(key)
            self._leaving.pop(key, None)
            if group is None:
                continue
            protected = FINALIZER in group.metadata.finalizers
            if group.metadata.deletion_timestamp is None:
                if not protected:
                    self._write(group, (*group.metadata.finalizers, FINALIZER))
            elif protected:
                self._leaving[key] = ""
        for key, asked in list(self._leaving.items()):
            group = self._find(key)
            if group is None:
                del self._leaving[key]
                continue
            if asked == group.metadata.resource_version or self._in_use(key):
                continue
            self._leaving[key] = group.metadata.resource_version
            self._write(group, tuple(name for name in group.metadata.finalizers if name != FINALIZER))
