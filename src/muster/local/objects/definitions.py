"""Custom kinds: what CustomResourceDefinitions declare is served, from the moment they are stored."""

from __future__ import annotations

import traceback
from typing import NamedTuple

import msgspec
import structlog

from muster.local.codec.values import Object
from muster.local.kinds.definitions import custom
from muster.local.kinds.definitions import status as rules
from muster.local.kinds.registry import Registry, Served
from muster.local.objects.objects import Deletion, Objects, Source
from muster.local.objects.owners import SERVER, Noted
from muster.local.store.store import Happened, NotWritten, Store, What

_log = structlog.get_logger()
_decode = msgspec.json.Decoder().decode


class _Known(NamedTuple):
    """A definition as it was last looked at."""

    facts: tuple[Object, ...]
    since: int
    """Up to this version objects may have been stored by other schemas."""
    kinds: tuple[Served, ...]


class Definitions:
    """Follows the definitions in a store.

        new → names accepted, established, served → being deleted: its objects are deleted first → gone

    One that cannot be read is not served, and says why; what others define is served all the same.
    """

    def __init__(self, store: Store, registry: Registry, objects: Objects, source: Source) -> None:
        self._store = store
        self._registry = registry
        self._objects = objects
        [self._served] = [served for served in registry if served.kind.strategy.declares]
        self._source = source
        self._changed: dict[str, None] = {}
        self._ending: dict[str, str] = {}
        """Definitions that wait for their objects to go: by name, where those are."""
        self._nameless: dict[str, None] = {}
        """Definitions that wait for names that another one of their group has."""
        self._known: dict[str, _Known] = {}
        """By name."""
        store.watch(self._served.storage, self._hear)
        for stored in store.list(self._served.storage):
            self._changed[stored.name] = None
        self.settle()

    def _hear(self, happened: Happened) -> None:
        name = happened.now.name
        self._changed[name] = None
        if happened.what is What.DELETED:
            self._ending.pop(name, None)
            self._nameless.pop(name, None)
            self._known.pop(name, None)
            self._registry.define(name, ())
            self._changed.update(self._nameless)

    def settle(self) -> None:
        """Does what follows from what was written; nothing may be written while watchers are being told."""
        unwritten: dict[str, None] = {}
        for name, storage in self._ending.items():
            if not self._store.count(storage):
                self._changed[name] = None
        while self._changed:
            name = next(iter(self._changed))
            del self._changed[name]
            stored = self._store.get(self._served.storage, "", name)
            try:
                if stored is not None:
                    self._look_at(name, _decode(stored.data))
            except NotWritten as error:
                # what is served stays so; with the next request there may be room again
                unwritten[name] = None
                _log.warning("a definition is looked at again later", definition=name, error=str(error))
            except Exception as error:
                # it is stored, and nobody is helped by a server that does not start
                self._registry.define(name, ())
                trace = "".join(traceback.format_exception(error))
                _log.error("a bug: a definition cannot be served", definition=name, exception=trace)
        self._changed = unwritten

    def _look_at(self, name: str, definition: Object) -> None:
        others = [_decode(stored.data) for stored in self._store.list(self._served.storage) if stored.name != name]
        new = rules.settled(definition, others, now=self._source.now())
        if new != definition:
            # looked at again, as it then is
            self._say(name, definition, new)
            return
        self._note_names(name, definition)
        kinds = self._kinds(name, definition)
        self._registry.define(name, kinds)
        if "deletionTimestamp" in definition["metadata"]:
            self._clean_up(name, definition, kinds[0] if kinds else custom.unserved(definition))

    def _note_names(self, name: str, definition: Object) -> None:
        """Keeps who waits for a name; those are looked at again when a definition has other names than before."""
        if rules.condition(definition, rules.NAMES_ACCEPTED).get("status") == "True":
            self._nameless.pop(name, None)
        else:
            self._nameless[name] = None
        known = self._known.get(name)
        if known is not None and known.facts[1] != rules.facts(definition)[1]:
            self._changed.update(self._nameless)

    def _kinds(self, name: str, definition: Object) -> tuple[Served, ...]:
        """What is served of a definition: the same as before if nothing of that has changed."""
        known = self._known.get(name)
        facts = rules.facts(definition)
        if known is not None and known.facts == facts:
            return known.kinds
        versions = definition["spec"]["versions"]
        same = known is not None and known.facts[0]["versions"] == versions
        since = known.since if known is not None and same else self._store.version
        kinds = custom.served(definition, since=since)
        self._known[name] = _Known(facts, since, kinds)
        return kinds

    def _clean_up(self, name: str, definition: Object, served: Served) -> None:
        finalizers = definition["metadata"].get("finalizers", [])
        if rules.CLEANUP not in finalizers:
            return
        storage = self._ending[name] = served.storage
        for stored in self._store.list(storage):
            self._objects.delete(served, stored.namespace, stored.name, Deletion())
        if self._store.count(storage):
            # whoever put finalizers on the rest takes them off, and somebody looks again
            self._say(name, definition, rules.deleting(definition, now=self._source.now()))
            return
        del self._ending[name]
        definition["metadata"]["finalizers"] = [one for one in finalizers if one != rules.CLEANUP]
        self._objects.rewrite(self._served, self._objects.stored(self._served, "", name), definition)

    def _say(self, name: str, old: Object, new: Object) -> None:
        """Writes what the server itself says of a definition."""
        if new != old:
            noted = Noted(self._served, manager=SERVER, now=self._source.now(), subresource="status")
            before = self._objects.stored(self._served, "", name)
            # what cannot be gone through cannot be compared, either
            self._objects.rewrite(self._served, before, new if rules.problem(new) else noted.note(old, new))
