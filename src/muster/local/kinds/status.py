"""How the server says no: a Refusal carries the Status that a client gets, in the words of Kubernetes.

raise status.not_found(kind, "train-0")
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from muster.local.checks import fields
from muster.local.checks.fields import FieldError
from muster.local.codec.values import Object
from muster.local.kinds.kind import Kind

_encode = msgspec.json.Encoder().encode


class Refusal(Exception):
    """The answer to a request that is not granted."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        metadata: Object | None = None,
        details: Object | None = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.metadata = metadata or {}
        self.details = details
        self.retry_after = retry_after
        self.warnings: tuple[str, ...] = ()

    @property
    def status(self) -> Object:
        document: Object = {"kind": "Status", "apiVersion": "v1", "metadata": self.metadata, "status": "Failure"}
        document["message"] = self.message
        if self.reason:
            document["reason"] = self.reason
        if self.details is not None:
            document["details"] = self.details
        document["code"] = self.code
        return document


def success(kind: Kind, name: str, uid: str) -> Object:
    """The Status that a finished deletion is answered with."""
    details = _details(kind, name) | {"uid": uid}
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {key: value for key, value in details.items() if value},
    }


# --- about an object ---


def not_found(kind: Kind, name: str) -> Refusal:
    return Refusal(404, "NotFound", f'{kind.resource} "{name}" not found', details=_details(kind, name))


def already_exists(kind: Kind, name: str, *, leaving: bool) -> Refusal:
    message = f'{kind.resource} "{name}" already exists'
    if leaving:
        message = f"object is being deleted: {message}"
    return Refusal(409, "AlreadyExists", message, details=_details(kind, name))


def other_than_meant(kind: Kind, name: str, what: str, asked: str, has: str) -> Refusal:
    """Of a deletion that is meant for another object of the name, or another version of it."""
    if kind.ends_itself:
        return conflict(kind, name, other_object(what, asked, has))
    qualified = f"{kind.name}.{kind.home_group}" if kind.home_group else kind.name
    might = "deleted and then recreated" if what == "UID" else "modified"
    message = (
        f'Operation cannot be fulfilled on {qualified} "{name}": the {what} in the precondition ({asked}) does not '
        f"match the {what} in record ({has}). The object might have been {might}"
    )
    details = {"name": name, "group": kind.home_group, "kind": kind.name}
    return Refusal(409, "Conflict", message, details={key: text for key, text in details.items() if text})


def conflict(kind: Kind, name: str, why: str) -> Refusal:
    message = f'Operation cannot be fulfilled on {kind.resource} "{name}": {why}'
    return Refusal(409, "Conflict", message, details=_details(kind, name))


def other_object(what: str, sent: str, has: str) -> str:
    """Why a write that is meant for another object of the name, or another version of it, is refused."""
    return f"Precondition failed: {what} in precondition: {sent}, {what} in object meta: {has}"


CHANGED = "the object has been modified; please apply your changes to the latest version and try again"


def forbidden(kind: Kind, name: str, why: str) -> Refusal:
    named = f'{kind.resource} "{name}" is forbidden' if name else f"{kind.resource} is forbidden"
    return Refusal(403, "Forbidden", f"{named}: {why}", details=_details(kind, name))


def invalid(kind: Kind, name: str, errors: Sequence[FieldError]) -> Refusal:
    if kind.is_built_in:
        # declarative checks and hand-written ones find the same; for custom kinds Kubernetes repeats itself
        errors = list(dict.fromkeys(errors))
    return _invalid(kind.home_group, kind.name, name, errors)


def invalid_options(options: str, *errors: FieldError) -> Refusal:
    """Parameters of a request that make no sense; `options` is what Kubernetes calls them: ListOptions."""
    return _invalid("meta.k8s.io", options, "", errors)


def needs_version(kind: Kind, name: str) -> Refusal:
    """Of an update that does not say of which version."""
    error = fields.invalid("metadata.resourceVersion", 0, "must be specified for an update")
    return _invalid(kind.group, kind.plural, name, [error])


def wrong_kind(group: str, sent: str, *errors: FieldError, name: str) -> Refusal:
    """Of an object of a custom kind that says that it is of another."""
    return _invalid(group, sent, name, errors)


def nameless(group: str, error: FieldError) -> Refusal:
    """Of something that Kubernetes does not name when it refuses it: a review, what a patch makes."""
    return _invalid(group, "", "", [error])


def _invalid(group: str, kind: str, name: str, errors: Sequence[FieldError]) -> Refusal:
    # the same error of two checks is said once
    words = list(dict.fromkeys(str(error) for error in errors))
    text = words[0] if len(words) == 1 else f"[{', '.join(words)}]"
    details: Object = {"name": name, "group": group, "kind": kind}
    details = {key: value for key, value in details.items() if value}
    details["causes"] = [error.cause for error in errors]
    qualified = f"{kind}.{group}" if group else kind  # both may be missing
    return Refusal(422, "Invalid", f'{qualified} "{name}" is invalid: {text}', details=details)


# --- about a request ---


def bad_request(message: str) -> Refusal:
    return Refusal(400, "BadRequest", message)


def unauthorized() -> Refusal:
    return Refusal(401, "Unauthorized", "Unauthorized")


def nobody_else(user: str) -> Refusal:
    message = f'users "{user}" is forbidden: impersonation is not served here, whoever gets in may do everything'
    return Refusal(403, "Forbidden", message, details={"name": user, "kind": "users"})


def no_such_resource() -> Refusal:
    return Refusal(404, "NotFound", "the server could not find the requested resource", details={})


def not_acceptable(message: str) -> Refusal:
    return Refusal(406, "NotAcceptable", message)


def no_such_method() -> Refusal:
    message = "the server does not allow this method on the requested resource"
    return Refusal(405, "MethodNotAllowed", message, details={})


def unknown_format(*accepted: str) -> Refusal:
    message = "the body of the request was in an unknown format - accepted media types include: " + ", ".join(accepted)
    return Refusal(415, "UnsupportedMediaType", message)


def too_large(limit: int) -> Refusal:
    return Refusal(413, "RequestEntityTooLarge", f"Request entity too large: limit is {limit}")


def expired(message: str, *, token: str = "") -> Refusal:
    """The history that was asked for is gone; a token, if there is one, goes on from what is there now."""
    return Refusal(410, "Expired", message, metadata={"continue": token} if token else None)


def too_new(version: int, current: int) -> Refusal:
    details = {
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    }
    message = f"Timeout: Too large resource version: {version}, current: {current}"
    return Refusal(504, "Timeout", message, details=details, retry_after=1)


def too_many_requests(message: str, *, retry_after: int | None = None, causes: Sequence[Object] = ()) -> Refusal:
    details: Object = {"causes": list(causes)} if causes else {}
    if retry_after:
        details["retryAfterSeconds"] = retry_after
    return Refusal(429, "TooManyRequests", message, details=details or None, retry_after=retry_after)


def internal(message: str) -> Refusal:
    details = {"causes": [{"message": message}]}
    return Refusal(500, "InternalError", f"Internal error occurred: {message}", details=details)


def encoded(document: Any) -> bytes:
    return _encode(document)


def _details(kind: Kind, name: str) -> Object:
    details = {"name": name, "group": kind.group, "kind": kind.plural}
    return {key: value for key, value in details.items() if value}
