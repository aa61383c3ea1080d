"""What is served: the built-in kinds, and those that CustomResourceDefinitions declare."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import msgspec

from muster.local.codec.values import Object
from muster.local.kinds.kind import Kind
from muster.local.schema.shapes import Shape
from muster.local.store.store import Stored

_decode = msgspec.json.Decoder().decode

Convert = Callable[[Object], Object]


class Served(msgspec.Struct, frozen=True, kw_only=True):
    """One kind in one version, with all that it takes to serve it."""

    kind: Kind
    shape: Shape
    shown: Convert | None = None
    """Makes a stored object one of this version; None if it is kept in this one."""
    kept: Convert | None = None
    """Makes an object of this version one as it is stored."""
    storage: str = ""
    """Where its objects are, one place for all versions."""
    fill: Convert | None = None
    """Custom kinds: makes an object as it was stored one of this version, by schemas that may have changed since."""
    fits_after: int = 0
    """What was stored after this version needs no filling."""
    strip: Convert | None = None
    """Custom kinds: makes an object of this version one as it is stored."""
    only_stored: str = ""
    """Custom kinds whose versions cannot be made of each other: the apiVersion as which they are stored, if another."""
    is_custom: bool = False
    empty: Object = {}
    """What Go shows of an object that nothing was put into."""
    shapes: Mapping[str, Shape] = {}
    """Of a custom kind, by apiVersion: its shape in each version that its definition has."""

    def filled(self, stored: Stored) -> Object:
        """A copy of a stored object, as it is in this version."""
        document: Object = _decode(stored.data)
        return document if self.fill is None or stored.version > self.fits_after else self.fill(document)

    @property
    def key(self) -> tuple[str, str, str]:
        return self.kind.group, self.kind.version, self.kind.plural

    def selectable(self, data: bytes) -> dict[str, str]:
        """What field selectors may ask for of a stored object."""
        return self.kind.strategy.selectable(_decode(data))


class Registry:
    """Finds a kind by where it is served."""

    def __init__(self, built_in: tuple[Served, ...], *, refused: Mapping[str, str] | None = None) -> None:
        self.refused = refused or {}
        """API groups that take no new objects, and why."""
        self._built_in = {served.key: served for served in built_in}
        self._custom: dict[str, tuple[Served, ...]] = {}
        """By the name of the definition."""
        self.changes = 0
        """How often something else came to be served."""
        self._found = dict(self._built_in)

    def __iter__(self) -> Iterator[Served]:
        return iter(self._found.values())

    def find(self, group: str, version: str, plural: str) -> Served | None:
        return self._found.get((group, version, plural))

    def is_built_in(self, group: str) -> bool:
        """Whether a group is Kubernetes' own, some version of which is served."""
        return any(served.kind.group == group for served in self._built_in.values())

    def define(self, definition: str, kinds: tuple[Served, ...]) -> None:
        """What a CustomResourceDefinition declares now; nothing, if it has gone."""
        if self._custom.get(definition, ()) is kinds:
            return
        self.changes += 1
        if kinds:
            self._custom[definition] = kinds
        else:
            self._custom.pop(definition, None)
        custom = {served.key: served for kinds in self._custom.values() for served in kinds}
        # nobody takes a built-in kind's place
        self._found = custom | self._built_in
