"""ServiceAccount (core/v1)."""

from __future__ import annotations

from muster.local.codec.values import Object
from muster.local.kinds.kind import Strategy


def prepare_create(account: Object) -> None:
    """Of a secret only the name is kept."""
    if account.get("secrets"):
        account["secrets"] = [{"name": one["name"]} if one.get("name") else {} for one in account["secrets"]]


def prepare_update(new: Object, _old: Object) -> None:
    prepare_create(new)


STRATEGY = Strategy(prepare_create=prepare_create, prepare_update=prepare_update, returns_deleted=True)
