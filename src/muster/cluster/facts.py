"""What was seen of the kinds that plugins read (api/kinds.py); whoever depends on one is told when it changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar, cast

from msgspec.structs import replace

from muster.api.kinds import Kind, address_of
from muster.api.wire import Fact

_Fact = TypeVar("_Fact", bound=Fact)
_Listener = Callable[[str, Fact | None, Fact | None], None]

_NONE: Mapping[str, Fact] = {}


class Facts:
    """Objects by kind and key.  A change that shows nothing of what is read (a status, a version) is none."""

    def __init__(self) -> None:
        self._by_kind: dict[str, dict[str, Fact]] = {}
        self._by_namespace: dict[tuple[str, str], dict[str, Fact]] = {}
        self._listeners: dict[str, list[_Listener]] = {}
        self.troubles: list[tuple[str, Exception]] = []
        """What those raised who were told, and the key of the object; to be emptied."""

    # --- what is asked ---

    def get(self, kind: Kind[_Fact], key: str) -> _Fact | None:
        return cast("_Fact | None", self._by_kind.get(kind.name, _NONE).get(key))

    def all(self, kind: Kind[_Fact]) -> Mapping[str, _Fact]:
        """By key."""
        return cast("Mapping[str, _Fact]", self._by_kind.get(kind.name, _NONE))

    def in_namespace(self, kind: Kind[_Fact], namespace: str) -> Mapping[str, _Fact]:
        """By key."""
        return cast("Mapping[str, _Fact]", self._by_namespace.get((kind.name, namespace), _NONE))

    # --- who is told ---

    def tell(self, kind: Kind[_Fact], listener: Callable[[str, _Fact | None, _Fact | None], None]) -> None:
        """From now on the listener hears of each change: the key of the object, how it was, and how it is."""
        self._listeners.setdefault(kind.name, []).append(cast("_Listener", listener))

    # --- what is seen ---

    def put(self, fact: Fact) -> bool:
        """Whether that is news."""
        kind, key = address_of(fact)
        known = self._by_kind.setdefault(kind, {})
        before = known.get(key)
        known[key] = self._by_namespace.setdefault((kind, fact.metadata.namespace), {})[key] = fact
        if before is not None and _says_the_same(before, fact):
            return False
        self._changed(kind, key, before, fact)
        return True

    def remove(self, kind: str, key: str) -> bool:
        """Whether there was one."""
        before = self._by_kind.get(kind, {}).pop(key, None)
        if before is None:
            return False
        beside = self._by_namespace[kind, before.metadata.namespace]
        del beside[key]
        if not beside:
            del self._by_namespace[kind, before.metadata.namespace]
        self._changed(kind, key, before, None)
        return True

    def _changed(self, kind: str, key: str, before: Fact | None, now: Fact | None) -> None:
        for listener in self._listeners.get(kind, ()):
            try:
                listener(key, before, now)
            except Exception as error:  # a plugin's bug must not keep others from hearing of it
                self.troubles.append((key, error))


def _says_the_same(before: Fact, now: Fact) -> bool:
    meta = replace(now.metadata, resource_version=before.metadata.resource_version)
    return replace(now, metadata=meta) == before
