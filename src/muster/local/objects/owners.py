"""Whose the fields of an object are, as a write leaves them."""

from __future__ import annotations

from functools import cache
from typing import Protocol

from muster.api.times import stamp
from muster.local.codec.values import Object
from muster.local.kinds.registry import Served
from muster.local.patching import apply
from muster.local.patching.fields import Fields, of_names

_names = cache(of_names)
_STATUS = of_names("status")
_ALL_BUT_STATUS = of_names("metadata", "spec")


SERVER = "kube-apiserver"
"""The manager of what the server writes by itself."""


class Owners(Protocol):
    """Keeps metadata.managedFields."""

    def note(self, old: Object | None, new: Object) -> Object:
        """The new object with its owners, as admission is about to see it."""


class Noted:
    """What a create, an update or a patch changes becomes its manager's."""

    def __init__(self, served: Served, *, manager: str, now: float, subresource: str) -> None:
        self._served = served
        self._target = target(served, subresource)
        self._manager = manager
        self._now = stamp(now)

    def note(self, old: Object | None, new: Object) -> Object:
        shown, kept = self._served.shown, self._served.kept
        if shown is None or kept is None:
            return self._noted(old, new)
        # fields have the names that the manager knows them by
        return kept(self._noted(None if old is None else shown(old), shown(new)))

    def _noted(self, old: Object | None, new: Object) -> Object:
        return apply.update(old, new, target=self._target, manager=self._manager, now=self._now)


class Applied:
    """An apply has seen to it itself."""

    def note(self, old: Object | None, new: Object) -> Object:
        return new


def target(served: Served, subresource: str) -> apply.Target:
    kind = served.kind
    reset: Fields = {}
    if subresource == "status":
        reset = _ALL_BUT_STATUS if served.is_custom else _names(*kind.strategy.status_keeps)
    elif kind.has_status:
        reset = _STATUS
    return apply.Target(
        api_version=kind.api_version,
        shape=served.shape,
        subresource=subresource,
        reset=reset,
        empty=served.empty,
        versions=served.shapes,
    )
