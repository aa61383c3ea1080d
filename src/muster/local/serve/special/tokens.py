"""Tokens of service accounts: whoever has one gets in until it runs out or its account goes.

Nothing is kept of them: a token is a JWT that is signed with the cluster's own.
"""

from __future__ import annotations

import base64
import hashlib
import hmac

import msgspec

from muster.local.codec.values import Object
from muster.local.store.store import Store

ISSUER = "https://kubernetes.default.svc"
_HEADER = {"alg": "HS256", "typ": "JWT"}
_ACCOUNTS = "serviceaccounts"
_encode = msgspec.json.Encoder().encode


class _Account(msgspec.Struct, frozen=True):
    name: str
    uid: str


class _Bound(msgspec.Struct, frozen=True):
    namespace: str
    serviceaccount: _Account


class _Claims(msgspec.Struct, frozen=True, kw_only=True):
    """What a token says of its holder."""

    aud: tuple[str, ...]
    exp: int
    iat: int
    iss: str
    kubernetes: _Bound = msgspec.field(name="kubernetes.io")
    nbf: int
    sub: str


class Tokens:
    """Issues tokens, and knows them again."""

    def __init__(self, key: bytes, store: Store) -> None:
        self._key = key
        self._store = store

    def issue(self, account: Object, *, audiences: tuple[str, ...], now: int, seconds: int) -> str:
        meta = account["metadata"]
        claims = _Claims(
            aud=audiences,
            exp=now + seconds,
            iat=now,
            iss=ISSUER,
            kubernetes=_Bound(meta["namespace"], _Account(meta["name"], meta["uid"])),
            nbf=now,
            sub=f"system:serviceaccount:{meta['namespace']}:{meta['name']}",
        )
        signed = b".".join(_base64(_encode(part)) for part in (_HEADER, claims))
        return b".".join((signed, self._signature(signed))).decode()

    def user(self, token: str, *, now: float) -> Object | None:
        """Who comes with a token of an account; None if it is none of ours, has run out, or is for somebody else."""
        signed, _, signature = token.encode(errors="surrogateescape").rpartition(b".")
        if not signed or not hmac.compare_digest(signature, self._signature(signed)):
            return None
        payload = signed.partition(b".")[2]
        claims = msgspec.json.decode(base64.urlsafe_b64decode(payload + b"=" * (-len(payload) % 4)), type=_Claims)
        namespace, account = claims.kubernetes.namespace, claims.kubernetes.serviceaccount
        found = self._store.get(_ACCOUNTS, namespace, account.name)
        if now >= claims.exp or ISSUER not in claims.aud or found is None or found.uid != account.uid:
            return None
        groups = ["system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated"]
        return {"username": claims.sub, "uid": account.uid, "groups": groups}

    def _signature(self, signed: bytes) -> bytes:
        return _base64(hmac.digest(self._key, signed, hashlib.sha256))


def _base64(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")
