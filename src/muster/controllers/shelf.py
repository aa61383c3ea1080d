"""The objects of one kind as they are known: by a watch, and by answers to our own calls that came before it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from muster.kube.reflector import Gone

_REMEMBERED = 10_000
# an object that we made and no watch tells of is asked after
_CONFIRM_SECONDS = 30.0


class Shelf:
    """Tells of each object that is new or changed, and of each that is no more; never of an older state after a later.

    Whoever reads from it sees its own writes at once, not when the watch has them.
    """

    def __init__(self, *, seen: Callable[[Any], None], gone: Callable[[Any], None]) -> None:
        self.objects: dict[str, Any] = {}
        """By namespace/name."""
        self._seen = seen
        self._gone = gone
        self._buried: OrderedDict[str, None] = OrderedDict()
        """UIDs of what is no more: answers may come late."""
        self._unconfirmed: dict[str, float] = {}
        """Objects that only an answer told of: when to ask after them."""

    def watched(self, thing: Any) -> None:
        """A list or watch told of an object, or that it is gone."""
        if isinstance(thing, Gone):
            self._unconfirmed.pop(thing.key, None)
            self.lost(thing.key, thing.uid)
            return
        self._unconfirmed.pop(_key(thing), None)
        self._put(thing)

    def answered(self, thing: Any, *, now: float) -> None:
        """An answer told how an object is."""
        key = _key(thing)
        if _is_over(thing):
            self.lost(key, thing.metadata.uid)
            return
        if key not in self.objects and thing.metadata.uid not in self._buried:
            self._unconfirmed[key] = now + _CONFIRM_SECONDS
        self._put(thing)

    def lost(self, key: str, uid: str) -> None:
        """An object is no more."""
        self._bury(uid)
        known = self.objects.get(key)
        if known is not None and known.metadata.uid == uid:
            del self.objects[key]
            self._unconfirmed.pop(key, None)
            self._gone(known)

    def doubtful(self, now: float) -> list[Any]:
        """Objects to be asked after now; they will be doubted again in a while."""
        due = [key for key, at in self._unconfirmed.items() if at <= now]
        for key in due:
            self._unconfirmed[key] = now + _CONFIRM_SECONDS
        return [self.objects[key] for key in due if key in self.objects]

    @property
    def doubts_at(self) -> float | None:
        return min(self._unconfirmed.values(), default=None)

    def _put(self, thing: Any) -> None:
        key, meta = _key(thing), thing.metadata
        known = self.objects.get(key)
        if meta.uid in self._buried or (known is not None and _is_stale(meta, known.metadata)):
            return
        if known is not None and known.metadata.uid != meta.uid:
            self.lost(key, known.metadata.uid)
        self.objects[key] = thing
        self._seen(thing)

    def _bury(self, uid: str) -> None:
        self._buried[uid] = None
        if len(self._buried) > _REMEMBERED:
            self._buried.popitem(last=False)


def _key(thing: Any) -> str:
    meta = thing.metadata
    return f"{meta.namespace}/{meta.name}" if meta.namespace else str(meta.name)


def _is_over(thing: Any) -> bool:
    """Whether this is the last of an object: the answer that takes off the last finalizer shows its version before."""
    meta = thing.metadata
    grace = getattr(meta, "deletion_grace_period_seconds", None)
    # a namespace has finalizers in its spec
    held = meta.finalizers or getattr(getattr(thing, "spec", None), "finalizers", ())
    return meta.deletion_timestamp is not None and grace == 0 and not held


def _is_stale(new: Any, known: Any) -> bool:
    """Whether what is new tells nothing new: versions of one kind grow, whatever the object."""
    if new.uid == known.uid and new.resource_version == known.resource_version:
        return True
    try:
        return int(new.resource_version) < int(known.resource_version)
    except ValueError:
        return False
