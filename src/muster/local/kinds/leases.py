"""Lease (coordination.k8s.io/v1), without coordinated leader election: strategy and preferredHolder are dropped."""

from __future__ import annotations

from muster.local.checks.fields import FieldError, invalid
from muster.local.checks.metadata import not_negative
from muster.local.codec.values import Object
from muster.local.kinds.kind import Strategy

_COORDINATED = ("strategy", "preferredHolder")


def prepare_create(lease: Object) -> None:
    for part in _COORDINATED:
        lease.get("spec", {}).pop(part, None)


def prepare_update(new: Object, old: Object) -> None:
    for part in _COORDINATED:
        if part not in old.get("spec", {}):
            new.get("spec", {}).pop(part, None)


def validate(lease: Object) -> list[FieldError]:
    spec = lease.get("spec", {})
    errors = []
    seconds = spec.get("leaseDurationSeconds")
    if seconds is not None and seconds <= 0:
        errors.append(invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0"))
    return errors + not_negative(spec.get("leaseTransitions"), "spec.leaseTransitions")


STRATEGY = Strategy(
    prepare_create=prepare_create,
    validate=validate,
    prepare_update=prepare_update,
    needs_version=True,
    any_finalizer=True,
    creates_on_update=True,
)
