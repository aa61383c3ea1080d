"""metadata.managedFields: who owns which fields of an object, since when, and how they came to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from muster.base.caching import remembered
from muster.local.codec.gotext import compact_json, quoted
from muster.local.codec.values import Object
from muster.local.patching.diff import same
from muster.local.patching.fields import Fields, FieldsError, parse, union

APPLY, UPDATE = "Apply", "Update"
_MOST_UPDATERS = 10
_OLD_UPDATERS = "ancient-changes"


class Owner(msgspec.Struct, frozen=True, kw_only=True):
    """One manager, by one operation, in one version (of those that update) and subresource, and its fields."""

    manager: str
    operation: str
    api_version: str
    fields: Fields
    subresource: str = ""
    time: str | None = None

    @property
    def key(self) -> str:
        """What tells owners apart; they are sorted by it, so it is spelt as Kubernetes spells it."""
        version = "" if self.operation == APPLY else self.api_version
        return _key(self.manager, self.operation, version, self.subresource)

    def __str__(self) -> str:
        """As conflicts name it."""
        text = quoted(self.manager)
        if self.subresource:
            text += f" with subresource {quoted(self.subresource)}"
        return f"{text} using {self.api_version}" if self.operation == UPDATE else text

    def having(self, fields: Fields) -> Owner:
        return msgspec.structs.replace(self, fields=fields)


@remembered(1024)
def _key(manager: str, operation: str, api_version: str, subresource: str) -> str:
    parts = {"manager": manager, "operation": operation, "apiVersion": api_version, "subresource": subresource}
    return "{" + ",".join(f'"{name}":{compact_json(text)}' for name, text in parts.items() if text) + "}"


Owners = dict[str, Owner]
"""By their keys."""


# --- in and out of objects ---


def bare(document: Object) -> Object:
    """The object without its managedFields."""
    meta = document.get("metadata")
    if not isinstance(meta, dict) or "managedFields" not in meta:
        return document
    return {**document, "metadata": {name: value for name, value in meta.items() if name != "managedFields"}}


def owned(document: Object, owners: Owners) -> Object:
    """The object with these owners in its managedFields."""
    document = bare(document)
    if not owners:
        return document
    return {**document, "metadata": {**(document.get("metadata") or {}), "managedFields": encode(owners)}}


def entries(document: Object | None) -> Any:
    """What an object has in its managedFields; None if it has none."""
    meta = document.get("metadata") if document else None
    return meta.get("managedFields") if isinstance(meta, dict) else None


def is_reset(managed_fields: Any) -> bool:
    """Whether somebody asks to forget all owners: [] or [{}]."""
    return isinstance(managed_fields, list) and (len(managed_fields) == 0 or managed_fields == [{}])


def decode(managed_fields: Any) -> Owners:
    """The owners that managedFields name; raises FieldsError."""
    if managed_fields is not None and not isinstance(managed_fields, list):
        raise FieldsError("managed fields must be a list")
    found = (_decode_entry(entry, place) for place, entry in enumerate(managed_fields or ()))
    return {owner.key: owner for owner in found}


_TEXTS = ("manager", "operation", "apiVersion", "time", "fieldsType", "subresource")


def _decode_entry(entry: Any, place: int) -> Owner:
    if not isinstance(entry, dict) or not all(isinstance(entry.get(name) or "", str) for name in _TEXTS):
        raise FieldsError(f"malformed managed fields entry {place}")
    operation, api_version = entry.get("operation"), entry.get("apiVersion")
    if operation not in (APPLY, UPDATE):
        raise FieldsError("operation must be `Apply` or `Update`")
    if not api_version:
        raise FieldsError("apiVersion must not be empty")
    kind = entry.get("fieldsType")
    if not kind:
        raise FieldsError(f"missing fieldsType in managed fields entry {place}")
    if kind != "FieldsV1":
        raise FieldsError(f"invalid fieldsType {quoted(kind)} in managed fields entry {place}")
    return Owner(
        manager=entry.get("manager") or "",
        operation=operation,
        api_version=api_version,
        fields=parse(entry.get("fieldsV1")),
        subresource=entry.get("subresource") or "",
        time=entry.get("time"),
    )


def encode(owners: Owners) -> list[Object]:
    """As managedFields has them: appliers before updaters, the oldest first."""
    return [_encode_entry(owner) for owner in sorted(owners.values(), key=_place)]


def _place(owner: Owner) -> tuple[str, ...]:
    return owner.operation, owner.time or "", owner.manager, owner.api_version, owner.subresource


def _encode_entry(owner: Owner) -> Object:
    entry: Object = {
        "manager": owner.manager,
        "operation": owner.operation,
        "apiVersion": owner.api_version,
        "time": owner.time,
        "fieldsType": "FieldsV1",
        "fieldsV1": owner.fields,
        "subresource": owner.subresource,
    }
    return {name: value for name, value in entry.items() if value or name == "fieldsV1"}


def settled(new: Object, old: Object) -> Object:
    """The new object, with the old times if nothing but times has changed: then there is nothing to store."""
    mine, theirs = entries(new), entries(old)
    if not mine or not theirs or mine == theirs or list(map(_timeless, mine)) != list(map(_timeless, theirs)):
        return new
    plain = bare(new)
    if not same(plain, bare(old)):
        return new
    return {**plain, "metadata": {**plain["metadata"], "managedFields": theirs}}


def _timeless(entry: Object) -> Object:
    return {name: value for name, value in entry.items() if name != "time"}


# --- all owners of an object ---


def changed(owners: Owners, change: Callable[[Owner], Fields]) -> Owners:
    """The owners with other fields; those that are left with none vanish."""
    result: Owners = {}
    for key, owner in owners.items():
        fields = change(owner)
        if fields:
            result[key] = owner if fields is owner.fields else owner.having(fields)
    return result


def capped(owners: Owners) -> Owners:
    """The owners, with the oldest updaters of each version made one until no more than ten are left."""
    updaters = [owner for owner in owners.values() if owner.operation == UPDATE]
    if len(updaters) <= _MOST_UPDATERS:
        return owners
    result, count = dict(owners), len(updaters)
    first: dict[str, Owner] = {}
    for owner in sorted(updaters, key=lambda owner: (owner.time or "", owner.key)):
        if count <= _MOST_UPDATERS:
            break
        oldest = first.setdefault(owner.api_version, owner)
        if oldest is owner:
            continue
        bucket = Owner(manager=_OLD_UPDATERS, operation=UPDATE, api_version=owner.api_version, fields={})
        if bucket.key not in result:
            result[bucket.key] = bucket.having(result.pop(oldest.key).fields)
        before = result[bucket.key].fields
        result[bucket.key] = msgspec.structs.replace(bucket, fields=union(owner.fields, before), time=owner.time)
        # if that was the bucket itself, its fields are lost: so they are in Kubernetes
        del result[owner.key]
        count -= 1
    return result
