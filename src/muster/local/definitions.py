"""Custom kinds: what CustomResourceDefinitions declare is served, from the moment they are stored."""

from __future__ import annotations

import msgspec

from muster.local.kinds import custom
from muster.local.kinds import definition_status as rules
from muster.local.objects import Deletion, Objects, Source
from muster.local.owners import SERVER, Noted
from muster.local.registry import Registry, Served
from muster.local.schema.shapes import Object
from muster.local.store import Happened, Store, What

STORAGE = "customresourcedefinitions.apiextensions.k8s.io"

_decode = msgspec.json.Decoder().decode


class Definitions:
    """Follows the definitions in a store.

    new → names accepted, established, served → being deleted: its objects are deleted first → gone
    """

    def __init__(self, store: Store, registry: Registry, objects: Objects, served: Served, source: Source) -> None:
        self._store = store
        self._registry = registry
        self._objects = objects
        self._served = served
        self._source = source
        self._changed: dict[str, None] = {}
        store.watch(STORAGE, self._hear)
        for stored in store.list(STORAGE):
            self._changed[stored.name] = None
        self.settle()

    def _hear(self, happened: Happened) -> None:
        self._changed[happened.now.name] = None
        if happened.what is What.DELETED:
            self._registry.define(happened.now.name, ())

    def settle(self) -> None:
        """Does what follows from what was written; nothing may be written while watchers are being told."""
        while self._changed:
            name = next(iter(self._changed))
            del self._changed[name]
            stored = self._store.get(STORAGE, "", name)
            if stored is not None:
                self._look_at(name, _decode(stored.data))

    def _look_at(self, name: str, definition: Object) -> None:
        others = [_decode(stored.data) for stored in self._store.list(STORAGE) if stored.name != name]
        new = rules.settled(definition, others, now=self._source.now())
        if new != definition:
            # looked at again, as it then is
            noted = Noted(self._served, manager=SERVER, now=self._source.now(), subresource="status")
            before = self._objects.stored(self._served, "", name)
            self._objects.rewrite(self._served, before, noted.note(definition, new))
            return
        kinds = custom.served(definition)
        self._registry.define(name, kinds)
        if "deletionTimestamp" in definition["metadata"]:
            self._clean_up(name, definition, kinds)

    def _clean_up(self, name: str, definition: Object, kinds: tuple[Served, ...]) -> None:
        finalizers = definition["metadata"].get("finalizers", [])
        if rules.CLEANUP not in finalizers:
            return
        storage = custom.storage(definition)
        for served in kinds[:1]:
            for stored in self._store.list(storage):
                self._objects.delete(served, stored.namespace, stored.name, Deletion())
        if not self._store.count(storage):
            definition["metadata"]["finalizers"] = [one for one in finalizers if one != rules.CLEANUP]
            self._objects.rewrite(self._served, self._objects.stored(self._served, "", name), definition)
