"""Events: the same objects in two dialects, core/v1 (in which they are kept) and events.k8s.io/v1.

Strategies get events as they are kept.  What comes through events.k8s.io/v1 is checked strictly; core/v1 is lenient,
for the sake of old clients.
"""

from __future__ import annotations

from typing import Any

from muster.local.checks import metadata, names
from muster.local.checks.fields import FieldError, invalid, required
from muster.local.checks.metadata import distinct, unchanged
from muster.local.codec.values import Object
from muster.local.kinds.kind import Strategy

_NEVER_CHANGE = (
    *("involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count", "type", "eventTime"),
    *("action", "related", "reportingComponent", "reportingInstance"),
)
_STRICT_NAMES = {"reportingComponent": "reportingController"}

LONGEST = 128
LONGEST_MESSAGE = 1024

_NEW_NAMES = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
_OLD_NAMES = {new: old for old, new in _NEW_NAMES.items()}
# in core/v1 these are written even if they are empty; in events.k8s.io/v1 they are not
_ALWAYS_OLD = {"reportingComponent": "", "reportingInstance": ""}

_REFERENCE = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")


def to_new(event: Object) -> Object:
    """An event of core/v1 as events.k8s.io/v1 has it."""
    renamed = {_NEW_NAMES.get(name, name): value for name, value in event.items()}
    return {name: value for name, value in renamed.items() if value != "" or name not in _MAY_GO}


def to_old(event: Object) -> Object:
    """An event of events.k8s.io/v1 as core/v1 has it."""
    return _ALWAYS_OLD | {_OLD_NAMES.get(name, name): value for name, value in event.items()}


_MAY_GO = frozenset({"reportingController", "reportingInstance"})


def validate(event: Object) -> list[FieldError]:
    """Through core/v1."""
    return distinct(_lenient_errors(event, reporter="reportingComponent"))


def validate_strictly(event: Object) -> list[FieldError]:
    """Through events.k8s.io/v1."""
    errors = _lenient_errors(event, reporter="reportingController")
    errors += metadata.validate(event["metadata"], namespaced=True, name_problems=names.subdomain_problems)
    errors += _series_errors(event.get("series"))
    if not event.get("eventTime"):
        errors.append(required("eventTime"))
    if event.get("type", "") not in ("Normal", "Warning"):
        errors.append(invalid("type", "", f"has invalid value: {event.get('type', '')}"))
    for old in ("firstTimestamp", "lastTimestamp", "count", "source"):
        if event.get(old):
            errors.append(invalid(old, "", "needs to be unset"))
    return distinct(errors)


def validate_strict_update(new: Object, old: Object) -> list[FieldError]:
    errors = _lenient_errors(new, reporter="reportingController") + metadata.unknown_finalizers(new["metadata"])
    if new.get("series") != old.get("series"):
        errors += _series_errors(new.get("series"))
    for name in _NEVER_CHANGE:
        # Go cannot tell an empty text, number or struct from none
        empty = type(new.get(name) or old.get(name) or "")()
        errors += unchanged(new.get(name) or empty, old.get(name) or empty, _STRICT_NAMES.get(name, name))
    return distinct(errors)


def selectable(event: Object) -> dict[str, str]:
    involved = event.get("involvedObject") or {}
    reporter = event.get("reportingComponent", "")
    return {
        **{f"involvedObject.{part}": involved.get(part, "") for part in _REFERENCE},
        "reason": event.get("reason", ""),
        "reportingComponent": reporter,
        "source": (event.get("source") or {}).get("component") or reporter,
        "type": event.get("type", ""),
    }


def _lenient_errors(event: Object, *, reporter: str) -> list[FieldError]:
    namespace = event["metadata"].get("namespace", "")
    involved = (event.get("involvedObject") or {}).get("namespace", "")
    strange = invalid("involvedObject.namespace", involved, "does not match event.namespace")
    if not event.get("eventTime"):
        agrees = namespace == involved if involved else namespace in ("", "default")
        return [] if agrees else [strange]
    agrees = bool(involved) or namespace in ("default", "kube-system")
    errors = [] if agrees else [strange]
    component = event.get("reportingComponent", "")
    if not component:
        errors.append(required(reporter))
    errors += [invalid(reporter, component, problem) for problem in names.qualified_problems(component)]
    for part in ("reportingInstance", "action", "reason"):
        errors += _text_errors(event.get(part, ""), part)
    if len(event.get("message", "").encode()) > LONGEST_MESSAGE:
        errors.append(invalid("message", "", f"can have at most {LONGEST_MESSAGE} characters"))
    return errors


def _text_errors(text: str, field: str) -> list[FieldError]:
    if not text:
        return [required(field)]
    return [invalid(field, "", f"can have at most {LONGEST} characters")] if len(text.encode()) > LONGEST else []


def _series_errors(series: Object | None) -> list[FieldError]:
    if series is None:
        return []
    errors = []
    if series.get("count", 0) < 2:
        errors.append(invalid("series.count", "", "should be at least 2"))
    if not series.get("lastObservedTime"):
        errors.append(required("series.lastObservedTime"))
    return errors


_COMMON: dict[str, Any] = {
    "name_problems": names.path_segment_problems,
    "selectable": selectable,
    "any_finalizer": True,
    "metadata_last": True,
    "creates_on_update": True,
}
STRATEGY = Strategy(
    validate=validate,
    ttl_seconds=3600.0,  # as Kubernetes: --event-ttl
    **_COMMON,
)
STRICT_STRATEGY = Strategy(validate=validate_strictly, validate_update=validate_strict_update, home_group="", **_COMMON)
