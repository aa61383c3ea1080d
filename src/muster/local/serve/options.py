"""Parameters of writes: who writes, whether for real, and what becomes of fields that nobody knows."""

from __future__ import annotations

import re

import msgspec

from muster.local.checks import fields
from muster.local.codec.values import Object
from muster.local.kinds import status
from muster.local.objects.objects import Deletion
from muster.local.serve.wire import Request

_VALIDATIONS = ("", "Ignore", "Strict", "Warn")
_POLICIES = ("Foreground", "Background", "Orphan")
_LONGEST_MANAGER = 128
_NUMBER = re.compile(r"[+-]?[0-9]+")
_MOST_DIGITS = 20
_BOUND = 1 << 63


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What a write is to be like."""

    manager: str
    dry_run: bool = False
    validation: str = "Warn"
    """Of fields that a kind does not have: Ignore, Warn, Strict."""
    force: bool = False


def flag(request: Request, name: str) -> bool:
    values = request.every(name)
    return bool(values) and values[0].lower() not in ("false", "0")


def number(request: Request, name: str) -> int | None:
    values = request.every(name)
    if not values:
        return None
    text = values[0]
    # Python takes more for a number than Go does: spaces, 1_000, digits of other scripts
    is_number = _NUMBER.fullmatch(text) is not None
    if is_number and len(text) <= _MOST_DIGITS and -_BOUND <= int(text) < _BOUND:
        return int(text)
    words = "value out of range" if is_number else "invalid syntax"
    raise status.bad_request(f'strconv.ParseInt: parsing "{text}": {words}')


def of_write(request: Request, *, name: str, applies: bool = False) -> Options:
    """`name` is what Kubernetes calls the options of such a request: CreateOptions."""
    dry_run, validation = request.every("dryRun"), request.first("fieldValidation")
    manager, force = request.first("fieldManager"), request.every("force")
    errors = []
    if any(value != "All" for value in dry_run):
        errors.append(fields.not_supported("dryRun", dry_run, ("All",)))
    if applies and not manager:
        errors.append(fields.required("fieldManager", "is required for apply patch"))
    if not applies and force:
        errors.append(fields.forbidden("force", "may not be specified for non-apply patch"))
    if len(manager.encode()) > _LONGEST_MANAGER:
        errors.append(fields.too_long("fieldManager", _LONGEST_MANAGER))
    elif not manager.isprintable():
        errors.append(fields.invalid("fieldManager", manager, "invalid character"))
    if validation not in _VALIDATIONS:
        errors.append(fields.not_supported("fieldValidation", validation, _VALIDATIONS))
    if errors:
        raise status.invalid_options(name, *errors)
    return Options(
        manager=manager or _program(request.user_agent),
        dry_run=bool(dry_run),
        validation=validation or "Warn",
        force=flag(request, "force"),
    )


def of_delete(request: Request, body: Object) -> Deletion:
    """What is asked for by DeleteOptions: those of the body if there is one, else of the query."""
    asked = dict(body)
    if not body:
        for name in ("propagationPolicy", "dryRun"):
            if values := request.every(name):
                asked[name] = values if name == "dryRun" else values[0]
        if (grace := number(request, "gracePeriodSeconds")) is not None:
            asked["gracePeriodSeconds"] = grace
        if request.every("orphanDependents"):
            asked["orphanDependents"] = flag(request, "orphanDependents")
    _check_delete(asked)
    conditions = asked.get("preconditions") or {}
    policy = asked.get("propagationPolicy") or ""
    if not policy and "orphanDependents" in asked:
        policy = "Orphan" if asked["orphanDependents"] else "Background"
    return Deletion(
        grace_seconds=asked.get("gracePeriodSeconds"),
        uid=conditions.get("uid") or "",
        version=conditions.get("resourceVersion") or "",
        policy=policy,
        cascades=asked.get("orphanDependents") is False,
        dry_run=bool(asked.get("dryRun")),
    )


def _check_delete(asked: Object) -> None:
    policy, dry_run = asked.get("propagationPolicy"), asked.get("dryRun") or []
    errors = []
    if policy is not None and "orphanDependents" in asked:
        words = "orphanDependents and deletionPropagation cannot be both set"
        errors.append(fields.invalid("propagationPolicy", policy, words))
    elif policy is not None and policy not in _POLICIES:
        errors.append(fields.not_supported("propagationPolicy", policy, (*_POLICIES, "nil")))
    if any(value != "All" for value in dry_run):
        errors.append(fields.not_supported("dryRun", dry_run, ("All",)))
    if errors:
        raise status.invalid_options("DeleteOptions", *errors)


def _program(user_agent: str) -> str:
    """The manager of those who do not say: the program that they are."""
    return user_agent.partition("/")[0][:_LONGEST_MANAGER] or "unknown"
