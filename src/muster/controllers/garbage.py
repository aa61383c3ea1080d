"""Garbage collection: what all owners of an object being gone means for it.

    Background   the owner goes, its dependents after it
    Foreground   the owner waits, with the finalizer foregroundDeletion, until its dependents that block it are gone
    Orphan       the owner waits, with the finalizer orphan, until its dependents name it no longer; those that are seen
                 only when it is gone lose the name as well, and stay

Nothing is deleted because of an owner that is not known, or that is said to be gone, before the server was asked for it
by name, and has none of that UID.  A kind that is served in another version now, or not at all, says nothing about its
objects: they are known as they were until they are seen again, or the server was asked for them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Generator, Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from muster.api.calls import Answer, Asked, Delete, Done, Look, Patch, Refused
from muster.api.resources import Resource
from muster.controllers.desk import Again, AtDesks, Desk
from muster.controllers.desk import Look as Looking
from muster.controllers.objects import Bare, Metadata, OwnerReference, event, read

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
_REMEMBERED = 500
# by then what a kind has in its new version has been read
_DOUBT_SECONDS = 30.0

Steps = Generator[Sequence[Asked], Sequence[Answer], Any]


class _Thing(NamedTuple):
    """An object of any kind, as it was seen last."""

    resource: Resource
    meta: Metadata

    @property
    def path(self) -> str:
        return self.resource.path(self.meta.namespace, self.meta.name)

    @property
    def is_going(self) -> bool:
        return self.meta.deletion_timestamp is not None

    @property
    def waits_for_dependents(self) -> bool:
        return self.is_going and FOREGROUND in self.meta.finalizers


class _Sorted(NamedTuple):
    """The owners that an object names."""

    solid: list[OwnerReference]
    """They are there."""
    waiting: list[OwnerReference]
    """They are on their way out, and wait for this object among others."""
    absent: list[OwnerReference]


class Garbage(AtDesks):
    """Knows which objects of all kinds own which, and deletes those that lost all their owners.

    Kinds are told by `serve`; an owner of a kind that is not served keeps what it owns.
    """

    def __init__(self) -> None:
        self._resources: dict[str, Resource] = {}
        """By the path of the kind."""
        self._kinds: dict[tuple[str, str], Resource] = {}
        """By API group and kind."""
        self._things: dict[str, _Thing] = {}
        """By UID."""
        self._dependents: dict[str, dict[str, None]] = {}
        """UIDs of what an object owns, by its UID; of objects that are not known, too."""
        self._absent: OrderedDict[tuple[str, ...], None] = OrderedDict()
        """Owners that are known not to be there."""
        self._orphaned: OrderedDict[str, None] = OrderedDict()
        """UIDs of owners that were let go without what they owned: of that, some may be seen only later."""
        self._reported: dict[str, _Thing] = {}
        """Owners that a watch says are gone, by UID: as they were."""
        self._doubted: set[str] = set()
        """UIDs of what was seen in a version that is not read any more, or by asking alone, and not since."""
        self._desk = Desk(self._look)
        self._asking = Desk(self._confirm)
        self._orphaning = Desk(self._orphan)
        super().__init__(self._desk, self._asking, self._orphaning)

    def serve(self, resources: Iterable[Resource]) -> None:
        """These kinds are served, in this version each; of others nothing will be said any more."""
        self._resources = {resource.path(): resource for resource in resources}
        self._kinds = {(resource.group, resource.kind): resource for resource in self._resources.values()}
        for uid, thing in self._things.items():
            now = self._kinds.get((thing.resource.group, thing.resource.kind))
            if thing.resource != now:
                self._things[uid] = thing._replace(resource=now or thing.resource)
                self._doubted.add(uid)
            if uid in self._doubted and now is not None:
                self._asking.add(uid, at=self._asking.now + _DOUBT_SECONDS)

    # --- what is seen ---

    def seen(self, where: str, thing: Any) -> None:
        if where in self._resources:
            self._seen(_Thing(self._resources[where], thing.metadata))

    def gone(self, where: str, thing: Any) -> None:
        known = self._things.get(thing.metadata.uid)
        if known is not None and where in self._resources:
            self._gone(known)

    def _gone(self, known: _Thing) -> None:
        uid = known.meta.uid
        del self._things[uid]
        self._doubted.discard(uid)
        self._forget_owners(uid, known.meta.owner_references)
        if uid in self._dependents:
            self._reported[uid] = known
            self._asking.add(uid)
        self._wake_owners(known.meta.owner_references)

    def _seen(self, thing: _Thing) -> None:
        uid, owners = thing.meta.uid, thing.meta.owner_references
        before = self._things.get(uid)
        self._things[uid] = thing
        self._doubted.discard(uid)
        self._reported.pop(uid, None)
        if before is None or before.meta.owner_references != owners:
            had = before.meta.owner_references if before is not None else ()
            self._forget_owners(uid, had)
            for owner in owners:
                self._dependents.setdefault(owner.uid, {})[uid] = None
            self._desk.add(uid)
            # an owner may have waited for what is not its own any more, or does not block it
            self._wake_owners(had)
        if thing.is_going and ORPHAN in thing.meta.finalizers:
            self._orphaning.add(uid)
        elif thing.waits_for_dependents and (before is None or not before.waits_for_dependents):
            for dependent in self._dependents.get(uid, ()):
                self._desk.add(dependent)
            self._desk.add(uid)

    def _forget_owners(self, uid: str, owners: Iterable[OwnerReference]) -> None:
        for owner in owners:
            if (dependents := self._dependents.get(owner.uid)) is not None:
                dependents.pop(uid, None)
                if not dependents:
                    del self._dependents[owner.uid]

    def _wake_owners(self, owners: Iterable[OwnerReference]) -> None:
        for owner in owners:
            known = self._things.get(owner.uid)
            if known is not None and known.waits_for_dependents:
                self._desk.add(owner.uid)

    # --- what is asked for because it may be gone ---

    def _confirm(self, uid: str) -> Looking:
        if uid in self._reported:
            yield from self._confirm_owner(self._reported[uid])
        elif uid in self._doubted:
            thing = self._things[uid]
            if (thing.resource.group, thing.resource.kind) not in self._kinds:
                # nobody can say; asked when it is served again
                return
            there = yield from self._ask(thing.resource, thing.meta)
            if uid not in self._doubted:
                return
            if there is None:
                self._gone(self._things[uid])
                return
            self._ask_again(there)

    def _ask_again(self, thing: _Thing) -> None:
        """It is there, and is asked for until a watch tells of it: nobody would hear of what goes before that."""
        self._seen(thing)
        self._doubted.add(thing.meta.uid)
        self._asking.add(thing.meta.uid, at=self._asking.now + _DOUBT_SECONDS)

    def _confirm_owner(self, owner: _Thing) -> Steps:
        """Has what it owned looked at if the server does not have it, either."""
        uid, meta = owner.meta.uid, owner.meta
        resource = self._kinds.get((owner.resource.group, owner.resource.kind))
        # a kind that went with its objects: nothing can be asked any more, and the watch told of each
        there = (yield from self._ask(resource, meta)) if resource is not None else None
        if self._reported.pop(uid, None) is None:
            return
        if there is not None:
            self._seen(there)
            return
        name = OwnerReference(api_version=owner.resource.api_version, kind=owner.resource.kind, name=meta.name, uid=uid)
        self._note_absent(name, meta.namespace)
        for dependent in self._dependents.get(uid, ()):
            self._desk.add(dependent)

    def _ask(self, resource: Resource, meta: Metadata) -> Steps:
        """An object as the server has it, None if it has none of that UID; Again if it does not say."""
        [answer] = yield [Look(path=resource.path(meta.namespace, meta.name), told=True)]
        found = read(Bare, answer.data) if isinstance(answer, Done) else None
        if found is not None and found.metadata.uid == meta.uid:
            return _Thing(resource, found.metadata)
        if found is None and not _says_absent(answer, meta.name):
            raise Again
        return None

    # --- what is done ---

    def _look(self, uid: str) -> Looking:
        thing = self._things.get(uid)
        if thing is None:
            return
        if thing.waits_for_dependents:
            yield from self._wait(thing)
        elif not thing.is_going and thing.meta.owner_references:
            yield from self._judge(thing)

    def _wait(self, thing: _Thing) -> Steps:
        """Lets an owner go once nothing blocks it; else sees to it that what does goes."""
        blocking = [one for one in self._owned(thing) if _blocks(one, thing)]
        if not blocking:
            yield [_without_finalizer(thing, FOREGROUND)]
        for one in blocking:
            if not one.waits_for_dependents:
                self._desk.add(one.meta.uid)

    def _judge(self, thing: _Thing) -> Steps:
        claimed = [one for one in thing.meta.owner_references if one.uid not in self._orphaned]
        if len(claimed) < len(thing.meta.owner_references):
            # looked at again when that is seen
            yield [_with_owners(thing, claimed)]
            return
        owners = yield from self._sort(thing)
        if owners is None:
            return
        if owners.waiting:
            yield from self._make_sure_of(owners.waiting, thing)
        if owners.solid:
            if owners.absent or owners.waiting:
                yield [_with_owners(thing, owners.solid)]
        elif owners.waiting and self._dependents.get(thing.meta.uid):
            yield from self._delete_with_dependents(thing)
        else:
            finalizers = thing.meta.finalizers
            how = "Orphan" if ORPHAN in finalizers else "Foreground" if FOREGROUND in finalizers else "Background"
            yield from _delete(thing, how)

    def _make_sure_of(self, waiting: Sequence[OwnerReference], thing: _Thing) -> Steps:
        """Whoever deletes an owner may decide anew what becomes of its own, and no watch has told of that yet."""
        for reference in waiting:
            known = self._known(reference, thing)
            if known is None:
                raise Again
            there = yield from self._ask(known.resource, known.meta)
            if there is not None and not there.waits_for_dependents:
                self._seen(there)
                raise Again

    def _delete_with_dependents(self, thing: _Thing) -> Steps:
        """Its owner waits for it, so it waits for its own dependents; in a circle nobody may wait."""
        if any(one.waits_for_dependents for one in self._owned(thing)):
            refs = [msgspec.structs.replace(one, block_owner_deletion=False) for one in thing.meta.owner_references]
            [answer] = yield [_with_owners(thing, refs)]
            changed = read(Bare, answer.data) if isinstance(answer, Done) else None
            if changed is None:
                raise Again
            thing = thing._replace(meta=changed.metadata)
        yield from _delete(thing, "Foreground")

    def _owned(self, thing: _Thing) -> list[_Thing]:
        found = (self._things.get(uid) for uid in self._dependents.get(thing.meta.uid, ()))
        return [one for one in found if one is not None]

    # --- whether owners are there ---

    def _sort(self, thing: _Thing) -> Steps:
        """The owners that an object names, sorted; None if it names one that nothing can be said about."""
        owners = _Sorted([], [], [])
        for reference in thing.meta.owner_references:
            if self._is_absent(reference, thing.meta.namespace):
                owners.absent.append(reference)
                continue
            owner = self._known(reference, thing)
            if owner is None:
                yield from self._warn(reference, thing)
                resource = self._kinds.get((_group(reference), reference.kind))
                if resource is None:
                    raise Again
                if resource.namespaced and not thing.meta.namespace:
                    # no such owner can exist, and asking again does not help
                    return None
                owner = yield from self._ask_for(reference, resource, thing.meta.namespace)
            if owner is None:
                owners.absent.append(reference)
            elif owner.waits_for_dependents:
                owners.waiting.append(reference)
            else:
                owners.solid.append(reference)
        return owners

    def _known(self, reference: OwnerReference, thing: _Thing) -> _Thing | None:
        """The owner as it was seen, if it is the one that is meant."""
        known = self._things.get(reference.uid)
        if known is None or known.meta.namespace not in ("", thing.meta.namespace):
            return None
        named = (_group(reference), reference.kind, reference.name)
        return known if named == (known.resource.group, known.resource.kind, known.meta.name) else None

    def _ask_for(self, reference: OwnerReference, resource: Resource, namespace: str) -> Steps:
        where = namespace if resource.namespaced else ""
        owner = yield from self._ask(resource, Metadata(name=reference.name, namespace=where, uid=reference.uid))
        if owner is None:
            self._note_absent(reference, where)
        elif owner.meta.uid not in self._things:
            # no watch has told of it yet, and none may ever: it may go before that one has begun
            self._ask_again(owner)
        return owner

    def _note_absent(self, reference: OwnerReference, namespace: str) -> None:
        self._absent[_coordinates(reference, namespace)] = None
        if len(self._absent) > _REMEMBERED:
            self._absent.popitem(last=False)

    def _is_absent(self, reference: OwnerReference, namespace: str) -> bool:
        return any(_coordinates(reference, one) in self._absent for one in ("", namespace))

    def _warn(self, reference: OwnerReference, thing: _Thing) -> Steps:
        """An owner in another namespace is no owner, and whoever wrote it may not know."""
        known, meta = self._things.get(reference.uid), thing.meta
        if known is None or known.meta.namespace in ("", meta.namespace):
            return
        name = f"{reference.api_version}/{reference.kind}, namespace: {meta.namespace}, name: {reference.name}"
        message = f'ownerRef [{name}, uid: {reference.uid}] does not exist in namespace "{meta.namespace}"'
        reason, who = "OwnerRefInvalidNamespace", "garbage-collector-controller"
        yield [event(who, thing.resource, meta, reason=reason, message=message, warning=True)]

    # --- orphans ---

    def _orphan(self, uid: str) -> Looking:
        thing = self._things.get(uid)
        if thing is None or not thing.is_going or ORPHAN not in thing.meta.finalizers:
            return
        yield [
            _with_owners(one, [owner for owner in one.meta.owner_references if owner.uid != uid])
            for one in self._owned(thing)
        ]
        self._orphaned[uid] = None
        if len(self._orphaned) > _REMEMBERED:
            self._orphaned.popitem(last=False)
        yield [_without_finalizer(thing, ORPHAN)]


def _blocks(thing: _Thing, owner: _Thing) -> bool:
    return any(one.uid == owner.meta.uid and one.block_owner_deletion for one in thing.meta.owner_references)


def _says_absent(answer: Answer, name: str) -> bool:
    """Whether the server knows the kind and has none of that name: of what is not served it says 404, too."""
    return isinstance(answer, Refused) and answer.code == 404 and f'"{name}" not found' in answer.message


def _group(reference: OwnerReference) -> str:
    return reference.api_version.rpartition("/")[0]


def _coordinates(reference: OwnerReference, namespace: str) -> tuple[str, ...]:
    return (_group(reference), reference.kind, namespace, reference.name, reference.uid)


# --- calls: each names the version that it is about ---


def _with_owners(thing: _Thing, owners: Iterable[OwnerReference]) -> Patch:
    meta = {
        "uid": thing.meta.uid,
        "resourceVersion": thing.meta.resource_version,
        "ownerReferences": msgspec.to_builtins(list(owners)) or None,
    }
    return Patch(path=thing.path, body={"metadata": meta})


def _without_finalizer(thing: _Thing, finalizer: str) -> Patch:
    meta = {
        "uid": thing.meta.uid,
        "resourceVersion": thing.meta.resource_version,
        "finalizers": [one for one in thing.meta.finalizers if one != finalizer] or None,
    }
    return Patch(path=thing.path, body={"metadata": meta})


def _delete(thing: _Thing, propagation: str) -> Steps:
    """Deletes an object if its owners are still those that were looked at."""
    meta = thing.meta
    call = Delete(path=thing.path, uid=meta.uid, version=meta.resource_version, propagation=propagation, told=True)
    [answer] = yield [call]
    if isinstance(answer, Done) or (isinstance(answer, Refused) and answer.is_gone):
        return
    if not (isinstance(answer, Refused) and answer.code == 409):
        raise Again
    [answer] = yield [Look(path=thing.path, gone_is_fine=True)]
    fresh = read(Bare, answer.data) if isinstance(answer, Done) else None
    if fresh is None or fresh.metadata.uid != meta.uid:
        return
    if fresh.metadata.owner_references != meta.owner_references:
        raise Again
    # it changes faster than we look, but not in what matters here
    yield [Delete(path=thing.path, uid=meta.uid, propagation=propagation)]
