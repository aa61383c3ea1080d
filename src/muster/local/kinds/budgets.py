"""PodDisruptionBudget (policy/v1)."""

from __future__ import annotations

import re

from muster.local.checks import names
from muster.local.checks.fields import FieldError, invalid, not_supported
from muster.local.checks.metadata import condition_errors, distinct, not_negative, selector_errors
from muster.local.codec.values import Object
from muster.local.kinds.kind import Strategy

_PERCENT = re.compile("0*(100|[0-9]{1,2})%")
_EVICTION_POLICIES = ("AlwaysAllow", "IfHealthyBudget")
_COUNTS = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")


def prepare_create(budget: Object) -> None:
    budget["status"] = dict.fromkeys(_COUNTS, 0)


def validate_status(new: Object, _old: Object) -> list[FieldError]:
    status = new["status"]
    errors = condition_errors(status.get("conditions") or (), "status.conditions")
    for count in _COUNTS:
        errors += not_negative(status.get(count), f"status.{count}")
    return errors


def validate(budget: Object) -> list[FieldError]:
    spec, errors = budget.get("spec") or {}, []
    if "minAvailable" in spec and "maxUnavailable" in spec:
        words = "minAvailable and maxUnavailable cannot be both set"
        errors.append(invalid("spec", spec, words))
    for part in ("minAvailable", "maxUnavailable"):
        errors += _share_errors(spec.get(part), f"spec.{part}")
    errors += selector_errors(spec.get("selector"), "spec.selector")
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None and policy not in _EVICTION_POLICIES:
        errors.append(not_supported("spec.unhealthyPodEvictionPolicy", policy, _EVICTION_POLICIES))
    return distinct(errors)


def _share_errors(share: int | str | None, field: str) -> list[FieldError]:
    """Of a number or a percentage."""
    if not isinstance(share, str):
        return not_negative(share, field)
    return [] if _PERCENT.fullmatch(share) else [invalid(field, share, "must be a percentage from 0% to 100%")]


STRATEGY = Strategy(
    prepare_create=prepare_create,
    validate=validate,
    validate_status=validate_status,
    name_problems=names.path_segment_problems,
    has_generation=True,
    needs_version=True,
    any_finalizer=True,
    metadata_last=True,
)
