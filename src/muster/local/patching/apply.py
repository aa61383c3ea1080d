"""Who owns what: upkeep of metadata.managedFields, and server-side apply.

    create, update, patch    `update`: what the request changed is its manager's, and nobody else's any more
    server-side apply        `apply`: the config is merged into the live object; what the manager named before and names
                             no longer goes, unless somebody else owns it; what others own and it would change is a
                             conflict

Both see an object before admission and strategies do, so what these set is nobody's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from muster.local.codec.gotext import compact_json
from muster.local.codec.values import Object
from muster.local.patching import managers
from muster.local.patching.diff import Changes, ItemError, changes, fields_of, parts_of, same
from muster.local.patching.fields import (
    Fields,
    FieldsError,
    Path,
    difference,
    has,
    intersection,
    of_names,
    path_text,
    paths,
    union,
    without,
)
from muster.local.patching.granular import (
    copied,
    merged,
    problems,
    problems_text,
    reconciled,
    removed,
    with_cleared,
    with_named,
)
from muster.local.patching.managers import APPLY, UPDATE, Owner, Owners
from muster.local.patching.merge import PatchError, bad_request
from muster.local.schema.shapes import Shape

NOBODYS = of_names(
    *("apiVersion", "kind", "metadata", "metadata.name", "metadata.namespace", "metadata.creationTimestamp"),
    *("metadata.selfLink", "metadata.uid", "metadata.clusterName", "metadata.generation", "metadata.managedFields"),
    "metadata.resourceVersion",
)
"""Fields that nobody owns."""

_NO_FIELDS: Fields = {}
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_MOST_ANNOTATIONS = 256 * 1024
_KUBECTL = "kubectl"
_BEFORE = "before-first-apply"


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """What is written: a kind in one version, and by which way."""

    api_version: str
    shape: Shape
    subresource: str = ""
    reset: Fields = _NO_FIELDS
    """What a write by this way cannot change: the status through the main resource, the spec through the status."""
    empty: Object = {}
    """What Go shows of an object that nothing was put into."""
    versions: Mapping[str, Shape] = {}
    """The versions that a custom kind has; objects are the same in all, but for apiVersion."""

    def shape_in(self, api_version: str) -> Shape | None:
        return self.shape if api_version == self.api_version else self.versions.get(api_version)


# --- create, update, patch ---


def update(live: Object | None, new: Object, *, target: Target, manager: str, now: str) -> Object:
    """The new object, with managedFields after a create (live is None), an update or a patch.

    `now` is a time as objects have it.  Owners that the new object names itself count, if they can be read: so may
    managedFields be changed by hand, [] or [{}] forgets them; otherwise they are the live object's.
    """
    owners = _live_or_new(live, new, target)
    plain = managers.bare(new)
    if not owners and live is not None and live.get("metadata", {}).get("uid"):
        # nobody kept track of it so far: that begins with the first apply
        return plain
    try:
        owners = _updated(live, plain, owners, target=target, manager=manager, now=now)
    except (ItemError, _NotKnown):
        # the object is wrong, and its validation will say so; or nobody can tell whose its fields are
        entries = managers.entries(live)
        return {**plain, "metadata": {**plain["metadata"], "managedFields": entries}} if entries else plain
    return managers.owned(plain, managers.capped(owners))


def _live_or_new(live: Object | None, new: Object, target: Target) -> Owners:
    entries = managers.entries(new)
    if not target.subresource:
        if managers.is_reset(entries):
            return {}
        if owners := _decoded(entries):
            return owners
    return _decoded(managers.entries(live))


def _decoded(entries: Any) -> Owners:
    try:
        return managers.decode(entries)
    except FieldsError:
        return {}


def _updated(live: Object | None, new: Object, owners: Owners, *, target: Target, manager: str, now: str) -> Owners:
    """The owners after a write that is no apply."""
    before = target.empty if live is None else managers.bare(live)
    owners = _reconciled(owners, target)
    for version in {owner.api_version for owner in owners.values()}:
        if _problems_at(version, new, target) or _problems_at(version, before, target):
            raise _NotKnown
    comparison = _Comparison(before, new, target)
    here = comparison.at(target.api_version)
    owners = managers.changed(owners, lambda owner: _left(owner, comparison))
    mine = difference(union(here.modified, here.added), NOBODYS)
    if not mine:
        return owners
    owner = Owner(
        manager=manager or "unknown",
        operation=UPDATE,
        api_version=target.api_version,
        fields=mine,
        subresource=target.subresource,
        time=now,
    )
    if owner.key in owners:
        owner = owner.having(union(mine, owners[owner.key].fields))
    return {**owners, owner.key: owner}


class _NotKnown(Exception):
    """The version of an owner does not know all fields of the object."""


def _problems_at(version: str, document: Object, target: Target) -> list[tuple[str, str]]:
    """What an object has that another version does not know: there nobody could tell whose fields these are."""
    shape = target.shape_in(version)
    return problems(document, shape) if version != target.api_version and shape is not None else []


def _left(owner: Owner, comparison: _Comparison) -> Fields:
    """What an owner keeps after somebody else's write."""
    there = comparison.at(owner.api_version)
    taken = intersection(owner.fields, union(there.modified, there.added))
    return difference(difference(owner.fields, taken), there.removed)


class _Comparison:
    """How a write changes an object, as seen in each version."""

    def __init__(self, before: Object, after: Object, target: Target) -> None:
        self._before = before
        self._after = after
        self._target = target
        self._known: dict[str, Changes] = {}

    def at(self, api_version: str) -> Changes:
        known = self._known.get(api_version)
        if known is None:
            shape = self._target.shape_in(api_version) or self._target.shape
            known = changes(self._before, self._after, shape).without(self._target.reset)
            self._known[api_version] = known
        return known


def _reconciled(owners: Owners, target: Target) -> Owners:
    """Owners whose version there still is, with what is atomic by now owned as a whole."""
    result: Owners = {}
    for key, owner in owners.items():
        shape = target.shape_in(owner.api_version)
        if shape is not None:
            fields = reconciled(owner.fields, shape)
            result[key] = owner if fields is owner.fields else owner.having(fields)
    return result


# --- server-side apply ---


def apply(
    live: Object | None, config: Object, *, target: Target, kind: str, manager: str, now: str, force: bool = False
) -> Object:
    """The live object with the config applied, its managedFields kept; or a PatchError.

    The config is as it came, the live object as it is stored, None if there is none yet.  The result is still to be
    decoded and defaulted like the body of an update; if the config changes nothing it is equal to the live object but
    for managedFields.
    """
    _check_config(config, target, kind)
    live = live or {"apiVersion": target.api_version, "kind": kind, **target.empty}
    try:
        owners = managers.decode(managers.entries(live))
    except FieldsError as error:
        raise PatchError(500, "", f"failed to decode managed fields: {error}") from error
    plain = managers.bare(live)
    if not owners:
        try:
            owners = _updated(None, plain, {}, target=target, manager=_BEFORE, now=now)
        except ItemError as error:
            raise PatchError(500, "", f"failed to create manager for existing fields: {error}") from error
    attempt = _Apply(plain, config, owners, target=target, manager=manager, now=now)
    try:
        result, owners = attempt.carry_out(force=force)
    except _Conflicts as conflicts:
        found = conflicts.found
        if manager == _KUBECTL:
            allowed = _last_applied_fields(plain, target)
            found = [one for one in found if allowed is None or not has(allowed, one[1])]
        if found:
            raise _conflict(found) from None
        result, owners = attempt.carry_out(force=True)
    if manager == _KUBECTL:
        _renew_last_applied(result, config)
    return managers.owned(result, owners)


class _Conflicts(Exception):
    """Others own what would change."""

    def __init__(self, found: list[tuple[Owner, Path]]) -> None:
        super().__init__()
        self.found = found


class _Apply:
    """One config to be applied to one object."""

    def __init__(self, live: Object, config: Object, owners: Owners, *, target: Target, manager: str, now: str) -> None:
        self._live = live
        self._config = config
        self._owners = _reconciled(owners, target)
        self._target = target
        self._now = now
        fields = without(fields_of(config, target.shape), target.reset)
        self._owner = Owner(
            manager=manager or "unknown",
            operation=APPLY,
            api_version=target.api_version,
            fields=fields,
            subresource=target.subresource,
        )
        self._last = owners.get(self._owner.key)

    def carry_out(self, *, force: bool) -> tuple[Object, Owners]:
        """The object without managedFields, and its owners."""
        key, target = self._owner.key, self._target
        new: Object = merged(self._live, self._config, target.shape)
        if self._last is not None and (shape := target.shape_in(self._last.api_version)) is not None:
            new = self._pruned(new, self._last, shape)
        others = {one: owner for one, owner in self._owners.items() if one != key}
        for version in {owner.api_version: None for owner in others.values()}:
            self._check_at(version, new, "failed to convert new object")
        comparison = _Comparison(self._live, new, target)
        conflicts = {one: self._taken(owner, comparison) for one, owner in others.items()}
        if not force and any(conflicts.values()):
            raise _Conflicts([(others[one], path) for one in sorted(others) for path in paths(conflicts[one])])
        owners = managers.changed(others, lambda owner: _left(owner, comparison))
        unchanged = same(self._live, new)
        mine = difference(self._owner.fields, NOBODYS)
        if mine:
            before = self._last.time if self._last else None
            time = before if unchanged else self._now
            owners[key] = msgspec.structs.replace(self._owner, fields=mine, time=time)
        return (copied(self._live) if unchanged else new), owners

    def _check_at(self, version: str, document: Object, words: str) -> None:
        """Refuses what an owner's version does not know."""
        if found := _problems_at(version, document, self._target):
            raise PatchError(500, "", f"{words}: {problems_text(found)}")

    def _taken(self, owner: Owner, comparison: _Comparison) -> Fields:
        there = comparison.at(owner.api_version)
        return intersection(owner.fields, union(there.modified, there.added))

    def _pruned(self, new: Object, last: Owner, shape: Shape) -> Object:
        """The merged object without what the manager named last time, and neither it now nor anybody else owns.

        What is there is told by its parts, not by its fields: a list that is empty has none, and would be lost.
        """
        named = with_named(last.fields, shape)
        pruned: Object = removed(new, named, shape)
        kept: dict[str, Fields] = {}
        for key, owner in self._owners.items():
            if key != self._owner.key:
                kept[owner.api_version] = union(kept.get(owner.api_version, _NO_FIELDS), owner.fields)
        mine = without(parts_of(self._config, self._target.shape), self._target.reset)
        kept[self._target.api_version] = union(kept.get(self._target.api_version, _NO_FIELDS), mine)
        for version in sorted(kept, key=lambda version: version != last.api_version):
            if (there := self._target.shape_in(version)) is not None:
                words = (
                    "failed to prune fields: failed add back owned items: failed to convert merged object at version"
                )
                self._check_at(version, pruned, f"{words} {version}")
                keep = union(parts_of(pruned, there), with_named(kept[version], there))
                pruned = removed(new, difference(parts_of(new, there), keep), there)
        gone = difference(parts_of(new, shape), parts_of(pruned, shape))
        # null would be refused: whoever applies [] in the place of its own items could never clear the list
        result: Object = with_cleared(removed(new, intersection(gone, named), shape), self._config, self._target.shape)
        return result


# --- what is wrong with an apply ---


def _check_config(config: Any, target: Target, kind: str) -> None:
    if config.get("apiVersion") != target.api_version or config.get("kind") != kind:
        raise bad_request(f"invalid object type: {_kind_text(config)}")
    meta = config.get("metadata")
    if isinstance(meta, dict) and isinstance(meta.get("managedFields"), list):
        raise bad_request("metadata.managedFields must be nil")
    if found := problems(config, target.shape):
        raise PatchError(500, "", f"failed to create typed patch object ({_described(config)}): {problems_text(found)}")


def no_object(config: Object, why: str) -> PatchError:
    """Of an apply that makes something that is no object of its kind."""
    kind = f"unable to convert unstructured object to {_kind_text(config)}"
    return PatchError(500, "", f"failed to convert new object ({_described(config)}) to proper version: {kind}: {why}")


def _described(config: Object) -> str:
    meta = config.get("metadata")
    meta = meta if isinstance(meta, dict) else {}
    return f"{meta.get('namespace', '')}/{meta.get('name', '')}; {_kind_text(config)}"


def _kind_text(config: Object) -> str:
    api_version, kind = config.get("apiVersion"), config.get("kind")
    if not isinstance(api_version, str):
        api_version = ""
    if api_version.count("/") > 1:
        api_version = kind = ""
    group, _, version = api_version.rpartition("/")
    return f"{group}/{version}, Kind={kind if isinstance(kind, str) else ''}"


def _conflict(found: list[tuple[Owner, Path]]) -> PatchError:
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {owner}", "field": path_text(path)}
        for owner, path in found
    ]
    return PatchError(409, "Conflict", _conflict_text(found), details={"causes": causes})


def _conflict_text(found: list[tuple[Owner, Path]]) -> str:
    if len(found) == 1:
        owner, path = found[0]
        return f"Apply failed with 1 conflict: conflict with {owner}: {path_text(path)}"
    lines: list[str] = []
    for owner, path in found:
        head = f"conflicts with {owner}:"
        if head not in lines:
            lines.append(head)
        lines.append(f"- {path_text(path)}")
    return f"Apply failed with {len(found)} conflicts: " + "\n".join(lines)


# --- from client-side apply ---


def _last_applied(document: Object) -> str:
    annotations = (document.get("metadata") or {}).get("annotations") or {}
    return str(annotations.get(_LAST_APPLIED) or "")


def _last_applied_fields(live: Object, target: Target) -> Fields | None:
    """What kubectl applied from its own side last time and is still so: no conflict for kubectl.  None: unknown."""
    try:
        last = json.loads(_last_applied(live))
    except ValueError:
        return None
    if not isinstance(last, dict) or last.get("apiVersion") != target.api_version or problems(last, target.shape):
        return None
    found = changes(last, live, target.shape)
    different = union(found.modified, union(found.added, found.removed))
    return difference(fields_of(last, target.shape), different)


def _renew_last_applied(document: Object, config: Object) -> None:
    """Keeps the annotation of client-side apply up to date, for those who go back to it."""
    if not _last_applied(document):
        return
    annotations = document["metadata"]["annotations"]
    del annotations[_LAST_APPLIED]
    written: Object = copied(config)
    named = (written.get("metadata") or {}).get("annotations")
    if isinstance(named, dict):
        named.pop(_LAST_APPLIED, None)
    text = compact_json(written) + "\n"
    size = sum(len(name.encode()) + len(value.encode()) for name, value in annotations.items())
    if size + len(_LAST_APPLIED) + len(text.encode()) <= _MOST_ANNOTATIONS:
        annotations[_LAST_APPLIED] = text
