"""ConfigMap and Secret (core/v1)."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping

from muster.local.checks import names
from muster.local.checks.fields import FieldError, forbidden, invalid, required, too_long
from muster.local.checks.metadata import distinct, unchanged
from muster.local.codec.values import Object
from muster.local.kinds.kind import Strategy

LARGEST = 1024 * 1024
"""Of all values together."""

OPAQUE = "Opaque"
_TOKEN = "kubernetes.io/service-account-token"
_ACCOUNT = "kubernetes.io/service-account.name"
_DOCKER = {"kubernetes.io/dockercfg": ".dockercfg", "kubernetes.io/dockerconfigjson": ".dockerconfigjson"}
_FROZEN = "field is immutable when `immutable` is set"


def validate_map(given: Object) -> list[FieldError]:
    data, binary = given.get("data") or {}, given.get("binaryData") or {}
    errors = []
    for key in sorted(data):
        errors += _key_errors(key, "data")
        if key in binary:
            errors.append(invalid(f"data[{key}]", key, "duplicate of key present in binaryData"))
    for key in sorted(binary):
        errors += _key_errors(key, "binaryData")
    if sum(len(text.encode()) for text in data.values()) + _size(binary) > LARGEST:
        errors.append(too_long("[]", LARGEST))
    return distinct(errors)


def validate_map_update(new: Object, old: Object) -> list[FieldError]:
    return distinct(_frozen_errors(new, old, ("data", "binaryData")) + validate_map(new))


def default_secret(secret: Object) -> None:
    secret["type"] = secret.get("type") or OPAQUE
    for key, text in (secret.pop("stringData", None) or {}).items():
        secret.setdefault("data", {})[key] = base64.b64encode(text.encode()).decode()


def validate_secret(secret: Object) -> list[FieldError]:
    data = secret.get("data") or {}
    errors = [error for key in sorted(data) for error in _key_errors(key, "data")]
    if _size(data) > LARGEST:
        errors.append(too_long("data", LARGEST))
    return errors + _type_errors(secret, data)


def validate_secret_update(new: Object, old: Object) -> list[FieldError]:
    errors = unchanged(new["type"], old["type"], "type")
    return distinct(errors + _frozen_errors(new, old, ("data",)) + validate_secret(new))


def secret_warnings(secret: Object, _old: Object | None) -> list[str]:
    """Of what cannot be a certificate or a key; whether they fit each other is not looked at."""
    if secret.get("type") != "kubernetes.io/tls":
        return []
    data = secret.get("data") or {}
    for key, what in (("tls.crt", "certificate"), ("tls.key", "key")):
        if b"-----BEGIN " not in base64.b64decode(data.get(key) or ""):
            return [f"tls: failed to find any PEM data in {what} input"]
    return []


def selectable_secret(secret: Object) -> dict[str, str]:
    return {"type": secret.get("type", "")}


def _type_errors(secret: Object, data: Mapping[str, str]) -> list[FieldError]:
    """What a secret of its type must hold."""
    kind = secret.get("type", "")
    if kind == _TOKEN and not (secret["metadata"].get("annotations") or {}).get(_ACCOUNT):
        return [required(f"metadata.annotations[{_ACCOUNT}]")]
    if kind in _DOCKER:
        return _docker_errors(data, _DOCKER[kind])
    if kind == "kubernetes.io/basic-auth" and not data.keys() & {"username", "password"}:
        return [required("data[username]"), required("data[password]")]
    if kind == "kubernetes.io/ssh-auth" and not data.get("ssh-privatekey"):
        return [required("data[ssh-privatekey]")]
    if kind == "kubernetes.io/tls":
        return [required(f"data[{key}]") for key in ("tls.crt", "tls.key") if key not in data]
    return []


def _docker_errors(data: Mapping[str, str], key: str) -> list[FieldError]:
    if key not in data:
        return [required(f"data[{key}]")]
    if _is_object(base64.b64decode(data[key] or "")):
        return []
    return [invalid(f"data[{key}]", "<secret contents redacted>", "must be a JSON object")]


def _is_object(text: bytes) -> bool:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return value is None or isinstance(value, dict)


def _key_errors(key: str, field: str) -> list[FieldError]:
    return [invalid(f"{field}[{key}]", key, problem) for problem in names.config_key_problems(key)]


def _frozen_errors(new: Object, old: Object, parts: tuple[str, ...]) -> list[FieldError]:
    if not old.get("immutable"):
        return []
    errors = [] if new.get("immutable") else [forbidden("immutable", _FROZEN)]
    return errors + [forbidden(part, _FROZEN) for part in parts if (new.get(part) or {}) != (old.get(part) or {})]


def _size(data: Mapping[str, str]) -> int:
    """Of values in base64."""
    return sum(len(text or "") * 3 // 4 - (text or "").count("=", -2) for text in data.values())


CONFIG_MAP = Strategy(validate=validate_map, validate_update=validate_map_update)
SECRET = Strategy(
    default=default_secret,
    validate=validate_secret,
    validate_update=validate_secret_update,
    selectable=selectable_secret,
    warnings=secret_warnings,
)
