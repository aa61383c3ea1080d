"""Objects as they are read and written, by the rules of their kinds; who asks and in which words is not known here.

Objects have no apiVersion and kind in here: a kind is a parameter, and what is stored serves all of its versions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec

from muster.api.times import seconds, stamp
from muster.local.checks import metadata as rules
from muster.local.checks.fields import FieldError
from muster.local.codec.values import Object, take
from muster.local.kinds import status
from muster.local.kinds.kind import Kind, Strategy
from muster.local.kinds.registry import Registry, Served
from muster.local.objects.owners import Owners
from muster.local.patching import managers
from muster.local.store.store import Store, Stored

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode

_GENERATED_TRIES = 8
_MOST_KNOWN = 1024
_SMALL_BYTES = 4096
_REPEATED_OWNERS = (
    ".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, and may "
    "reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {uids}"
)
ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"


class Source(Protocol):
    """Time and names."""

    def now(self) -> float:
        """Seconds since the epoch."""

    def uid(self) -> str: ...

    def suffix(self) -> str:
        """What makes a name of a generateName: five letters and digits."""


class Write(msgspec.Struct, kw_only=True):
    """How something is to be written, and what comes to be said of it on the way."""

    owners: Owners
    """Notes whose fields these are."""
    dry_run: bool = False
    subresource: str = ""
    patched: bool = False
    """By a patch, which is looked at after admission only."""
    warnings: list[str] = []
    """What the client is to be warned of, once it is written."""


class Deletion(msgspec.Struct, frozen=True, kw_only=True):
    """What a request asks of a deletion."""

    grace_seconds: int | None = None
    uid: str = ""
    version: str = ""
    policy: str = ""
    """Foreground, Background, Orphan; "" leaves it to the kind."""
    cascades: bool = False
    """Background, said in the old words, whose answer tells whether the object is gone."""
    dry_run: bool = False


class Objects:
    """Reads and writes by the rules of each kind; a Refusal says why not."""

    def __init__(self, store: Store, registry: Registry, source: Source) -> None:
        self.store = store
        self._source = source
        self._cluster = _Cluster(store)
        self._refused = registry.refused
        [self._namespaces] = [served for served in registry if served.kind.strategy.contains]

    # --- reading ---

    def get(self, served: Served, namespace: str, name: str) -> Object:
        """A copy of the object."""
        return served.filled(self.stored(served, namespace, name))

    def stored(self, served: Served, namespace: str, name: str) -> Stored:
        found = self.store.get(served.storage, namespace, name)
        if found is None:
            raise status.not_found(served.kind, name)
        return found

    # --- creating ---

    def create(self, served: Served, namespace: str, new: Object, write: Write) -> Stored:
        """Stores a new object."""
        kind, strategy = served.kind, served.kind.strategy
        meta = new["metadata"]
        _check_convertible(served, None, new)
        if why := self._refused.get(kind.group):
            raise status.forbidden(kind, meta.get("name", ""), why)
        if kind.is_ending:
            words = "create not allowed while custom resource definition is terminating"
            raise status.forbidden(kind, meta.get("name", ""), words)
        if kind.namespaced:
            self._check_namespace(kind, namespace, meta.get("name", ""))
            meta["namespace"] = namespace
        for name in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"):
            meta.pop(name, None)
        if meta.get("resourceVersion") and not write.dry_run:
            raise status.Refusal(500, "", "resourceVersion should not be set on objects to be created")
        _dedupe_owners(meta, write)
        meta["uid"] = self._source.uid()
        meta["creationTimestamp"] = stamp(self._source.now())
        self._name(served, namespace, meta)
        self._default(strategy, new)
        new = write.owners.note(None, new)
        self._admit(kind, new, None)
        self._allocate(served, new, None, write)
        strategy.prepare_create(new)
        self._note_times(strategy, new, None)
        if strategy.has_generation:
            new["metadata"]["generation"] = 1
        errors = self._creation_errors(kind, new)
        if errors:
            raise status.invalid(kind, new["metadata"].get("name", ""), errors)
        write.warnings.extend(strategy.warnings(new, None))
        there = self.store.get(served.storage, namespace, new["metadata"]["name"])
        if there is not None:
            leaving = "deletionTimestamp" in _read(there)["metadata"]
            raise status.already_exists(kind, there.name, leaving=leaving)
        new = _stripped(served, new, None)
        if write.dry_run:
            return self._stored(served, new, 0)
        return self._put(served, new)

    def _default(self, strategy: Strategy, new: Object) -> None:
        strategy.default(new)
        if strategy.default_times is not None:
            strategy.default_times(new, stamp(self._source.now()))

    def _note_times(self, strategy: Strategy, new: Object, old: Object | None) -> None:
        if strategy.note_times is not None:
            strategy.note_times(new, old, stamp(self._source.now()))

    def _check_namespace(self, kind: Kind, namespace: str, name: str) -> None:
        """Nothing is created in a namespace that is not there, or that goes."""
        found = self._cluster.get(self._namespaces.storage, namespace)
        if found is None:
            raise status.not_found(self._namespaces.kind, namespace)
        if "deletionTimestamp" not in found["metadata"]:
            return
        words = f"unable to create new content in namespace {namespace} because it is being terminated"
        refusal = status.forbidden(kind, name, words)
        cause = {
            "reason": "NamespaceTerminating",
            "message": f"namespace {namespace} is being terminated",
            "field": "metadata.namespace",
        }
        refusal.details = {**(refusal.details or {}), "causes": [cause]}
        raise refusal

    def _admit(self, kind: Kind, new: Object, old: Object | None) -> None:
        if why := kind.strategy.admit(new, old, self._cluster):
            raise status.forbidden(kind, new["metadata"].get("name", ""), why)

    def _allocate(self, served: Served, new: Object, old: Object | None, write: Write) -> None:
        allocate = served.kind.strategy.allocate
        if allocate is None:
            return
        every = map(_read, self.store.list(served.storage))
        if errors := allocate(new, old, every, write.dry_run):
            raise status.invalid(served.kind, new["metadata"].get("name", ""), errors)

    def _creation_errors(self, kind: Kind, new: Object) -> list[FieldError]:
        strategy = kind.strategy

        def of_metadata() -> list[FieldError]:
            return rules.validate(
                new["metadata"],
                namespaced=kind.namespaced,
                name_problems=strategy.name_problems,
                standard_finalizers=_takes_known_finalizers(kind),
            )

        if strategy.metadata_last:
            return strategy.validate(new) or of_metadata()
        return of_metadata() + strategy.validate(new)

    def _name(self, served: Served, namespace: str, meta: Object) -> None:
        prefix = meta.get("generateName", "")
        if meta.get("name") or not prefix:
            return
        for _ in range(_GENERATED_TRIES):
            meta["name"] = prefix[:58] + self._source.suffix()
            if self.store.get(served.storage, namespace, meta["name"]) is None:
                return

    # --- changing ---

    def update(
        self, served: Served, namespace: str, name: str, change: Callable[[Object], Object], write: Write
    ) -> Stored:
        """Puts what `change` makes of the stored object in its place."""
        before = self.stored(served, namespace, name)
        old = served.filled(before)
        new = change(served.filled(before))
        kind, strategy = served.kind, served.kind.strategy
        _check_version(kind, name, new["metadata"], old["metadata"])
        _carry_over(new["metadata"], old["metadata"])
        _dedupe_owners(new["metadata"], write)
        self._default(strategy, new)
        new = write.owners.note(old, new)
        new["metadata"]["generation"] = old["metadata"].get("generation")
        if write.subresource == "status":
            take(new, old, *(part for part in {**new, **old} if part not in ("metadata", "status")))
            strategy.prepare_status(new, old)
        else:
            self._admit(kind, new, old)
            self._allocate(served, new, old, write)
            if kind.has_status:
                take(new, old, "status")
            strategy.prepare_update(new, old)
        self._note_times(strategy, new, old)
        if new["metadata"]["generation"] is None:
            del new["metadata"]["generation"]
        elif strategy.has_generation and _spec(kind, new) != _spec(kind, old):
            new["metadata"]["generation"] = old["metadata"]["generation"] + 1
        errors = rules.validate_update(
            new["metadata"],
            old["metadata"],
            namespaced=kind.namespaced,
            standard_finalizers=_takes_known_finalizers(kind),
        )
        if write.subresource == "status":
            errors += strategy.validate_status(new, old)
        else:
            errors += strategy.errors_of_update(new, old)
        if errors:
            raise status.invalid(kind, name, errors)
        _check_convertible(served, old, new)
        write.warnings.extend(strategy.warnings(new, old))
        return self.rewrite(served, before, new, dry_run=write.dry_run)

    def rewrite(self, served: Served, before: Stored, new: Object, *, dry_run: bool = False) -> Stored:
        """Stores a change that needs no more looking at, such as one of the server's own; nothing, if it is none."""
        new["metadata"]["resourceVersion"] = str(before.version)
        old = _read(before)
        new = _stripped(served, managers.settled(new, old), before)
        if new == old:
            return before
        shown = self._stored(served, new, before.version)
        if dry_run:
            return shown
        if _is_over(served.kind, new):
            self._remove(served, old)
            # answered with the version that it had
            return shown
        return self._put(served, new)

    # --- deleting ---

    def check_preconditions(self, served: Served, namespace: str, name: str, asked: Deletion) -> None:
        _check_preconditions(served.kind, self.stored(served, namespace, name), asked)

    def delete(self, served: Served, namespace: str, name: str, asked: Deletion) -> tuple[Stored, bool]:
        """Deletes an object, or marks it as being deleted; returns it, and whether it is gone."""
        kind, strategy = served.kind, served.kind.strategy
        before = self.stored(served, namespace, name)
        _check_preconditions(kind, before, asked)
        if why := strategy.permanent.get(name):
            raise status.forbidden(kind, name, why)
        doomed = served.filled(before)
        meta = doomed["metadata"]
        leaving = "deletionTimestamp" in meta
        if strategy.prepare_delete is not None and not leaving:
            doomed = strategy.prepare_delete(doomed, self._source.now())
            meta = doomed["metadata"]
            # what it holds goes with it, whatever is asked for
            finalizers = meta.get("finalizers", [])
        else:
            finalizers = _finalizers(kind, doomed, asked)
        changed = self._mark(kind, doomed, asked)
        changed = changed or finalizers != meta.get("finalizers", [])
        _set_finalizers(meta, finalizers)
        if not leaving and meta.get("generation") and not kind.ends_itself:
            meta["generation"] += 1
        is_over = _is_over(kind, doomed)
        if is_over and strategy.grace_seconds is None and not leaving:
            # nobody sees it being deleted: it goes as it was
            if not asked.dry_run:
                self._remove(served, _read(before))
            return before, True
        doomed = _stripped(served, doomed, before)
        if asked.dry_run:
            return self._stored(served, doomed, before.version), is_over
        stored = self._put(served, doomed) if changed else before
        if is_over:
            self._remove(served, doomed)
        return stored, is_over

    def _mark(self, kind: Kind, doomed: Object, asked: Deletion) -> bool:
        """Says on the object that it is being deleted, and until when; whether that is news."""
        meta, now = doomed["metadata"], self._source.now()
        if kind.ends_itself:
            if "deletionTimestamp" in meta:
                return False
            meta["deletionTimestamp"] = stamp(now)
            kind.strategy.terminate(doomed)
            return True
        grace = 0
        if kind.strategy.grace_seconds is not None:
            grace = kind.strategy.grace_seconds(doomed, asked.grace_seconds)
        if "deletionTimestamp" not in meta:
            meta["deletionTimestamp"] = stamp(now + grace)
            meta["deletionGracePeriodSeconds"] = grace
            return True
        granted = meta.get("deletionGracePeriodSeconds", 0)
        if asked.grace_seconds is None or grace >= granted:
            return False
        ends = seconds(meta["deletionTimestamp"]) - granted + grace
        if ends < now:
            ends, grace = now, min(grace, 1)
        meta["deletionTimestamp"], meta["deletionGracePeriodSeconds"] = stamp(ends), grace
        return True

    # --- storing ---

    def _put(self, served: Served, new: Object) -> Stored:
        version = self.store.version + 1
        new["metadata"]["resourceVersion"] = str(version)
        stored = self._stored(served, new, version)
        self.store.put(served.storage, stored)
        return stored

    def _remove(self, served: Served, last: Object) -> None:
        version = self.store.version + 1
        last["metadata"]["resourceVersion"] = str(version)
        self.store.delete(served.storage, self._stored(served, last, version))

    def _stored(self, served: Served, new: Object, version: int) -> Stored:
        meta = new["metadata"]
        return Stored(
            namespace=meta.get("namespace", ""),
            name=meta["name"],
            uid=meta["uid"],
            version=version,
            data=_encode(new),
            labels=meta.get("labels", {}),
            fields=served.kind.strategy.selectable(new),
        )


class _Cluster:
    """What else there is, for those who admit an object; they may not change it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[int, Object] = {}
        """Small objects by their versions: all pods of a namespace ask for the same few."""

    def get(self, resource: str, name: str, *, namespace: str = "") -> Object | None:
        found = self._store.get(resource, namespace, name)
        return None if found is None else self._read(found)

    def list(self, resource: str) -> list[Object]:
        return [self._read(stored) for stored in self._store.list(resource)]

    def _read(self, stored: Stored) -> Object:
        found = self._known.get(stored.version)
        if found is None:
            found = _read(stored)
            if len(stored.data) <= _SMALL_BYTES:
                if len(self._known) >= _MOST_KNOWN:
                    self._known.clear()
                self._known[stored.version] = found
        return found


def _read(stored: Stored) -> Object:
    found: Object = _decode(stored.data)
    return found


def _stripped(served: Served, document: Object, before: Stored | None) -> Object:
    """The object as it is stored; who changes only its metadata takes no field away that his version does not know."""
    if served.strip is None:
        return document
    if before is not None:
        old, defaulted = served.filled(before), served.filled(before)
        served.kind.strategy.default(defaulted)
        if _body(document) in (_body(old), _body(defaulted)):
            return {**_read(before), "metadata": document["metadata"]}
    return served.strip(document)


def _check_convertible(served: Served, old: Object | None, new: Object) -> None:
    """Refuses to store under another version what only a webhook could make one of: it would lose fields."""
    if not served.only_stored or (old is not None and _body(new) == _body(old)):
        return
    kind = served.kind
    words = f"webhooks are not called here, send it as {served.only_stored}, as which it is stored"
    raise status.Refusal(500, "", f"conversion webhook for {kind.api_version}, Kind={kind.name} failed: {words}")


def _body(document: Object) -> Object:
    return {name: value for name, value in document.items() if name != "metadata"}


def _spec(kind: Kind, document: Object) -> Object:
    """All but what changes without a new generation."""
    aside = ("metadata", "status") if kind.has_status or kind.is_built_in else ("metadata",)
    return {name: value for name, value in document.items() if name not in aside}


def _takes_known_finalizers(kind: Kind) -> bool:
    return kind.is_built_in and not kind.strategy.any_finalizer


def _is_over(kind: Kind, document: Object) -> bool:
    """It is being deleted, and nothing holds it any more."""
    meta = document["metadata"]
    if "deletionTimestamp" not in meta or meta.get("finalizers") or meta.get("deletionGracePeriodSeconds"):
        return False
    return not kind.strategy.is_held(document)


# --- conditions of a write ---


def _check_version(kind: Kind, name: str, new: Object, old: Object) -> None:
    version = new.get("resourceVersion", "")
    if not version and kind.strategy.needs_version:
        raise status.needs_version(kind, name)
    if version and not version.isdecimal():
        raise status.Refusal(500, "", f'strconv.ParseUint: parsing "{version}": invalid syntax')
    if version and version != old["resourceVersion"]:
        raise status.conflict(kind, name, status.CHANGED)


def _carry_over(new: Object, old: Object) -> None:
    """What a client may leave out, and what only the server changes."""
    new["creationTimestamp"] = old["creationTimestamp"]
    for field in ("uid", "namespace", "name", "generateName"):
        if field not in new and field in old:
            new[field] = old[field]
    if "deletionTimestamp" in old:
        new["deletionTimestamp"] = old["deletionTimestamp"]
        if "deletionGracePeriodSeconds" in old:
            new.setdefault("deletionGracePeriodSeconds", old["deletionGracePeriodSeconds"])
    new["resourceVersion"] = old["resourceVersion"]
    new.pop("selfLink", None)


def _dedupe_owners(meta: Object, write: Write) -> None:
    owners = meta.get("ownerReferences") or []
    if len(owners) < 2:
        return
    kept: list[Object] = []
    repeated = []
    for owner in owners:
        if owner in kept:
            repeated.append(owner.get("uid", ""))
        else:
            kept.append(owner)
    if repeated:
        meta["ownerReferences"] = kept
        when = " after mutating admission happens" if write.patched else ""
        write.warnings.append(_REPEATED_OWNERS.format(when=when, uids=", ".join(repeated)))


def _check_preconditions(kind: Kind, stored: Stored, asked: Deletion) -> None:
    if asked.uid and asked.uid != stored.uid:
        raise status.other_than_meant(kind, stored.name, "UID", asked.uid, stored.uid)
    if asked.version and asked.version != str(stored.version):
        raise status.other_than_meant(kind, stored.name, "ResourceVersion", asked.version, str(stored.version))


# --- finalizers ---


def _finalizers(kind: Kind, doomed: Object, asked: Deletion) -> list[str]:
    """Those that the object has, with the one that says what is to become of what it owns."""
    current: list[str] = doomed["metadata"].get("finalizers", [])
    policy = asked.policy
    if not policy:
        if ORPHAN in current or FOREGROUND in current:
            return current
        policy = "Orphan" if kind.strategy.orphans else "Background"
    wanted = {"Orphan": ORPHAN, "Foreground": FOREGROUND}.get(policy)
    kept = [name for name in current if name not in (ORPHAN, FOREGROUND) or name == wanted]
    return kept if wanted is None or wanted in kept else [*kept, wanted]


def _set_finalizers(meta: Object, finalizers: list[str]) -> None:
    if finalizers:
        meta["finalizers"] = finalizers
    else:
        meta.pop("finalizers", None)
