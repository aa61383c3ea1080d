"""`kubectl get events`, in the core group and in events.k8s.io, which names the same facts otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from muster.local.codec.values import Object
from muster.local.kinds.tables import durations
from muster.local.kinds.tables.cells import name

__all__ = ["core_cells", "newer_cells"]

# what Go takes for space; Python would strip separators such as \x1c too
_SPACE = " \t\n\v\f\r\x85\xa0"

_NEWER_NAMES = {
    "involvedObject": "regarding",
    "message": "note",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "source": "deprecatedSource",
    "reportingComponent": "reportingController",
}


def core_cells(event: Object, now: float) -> Sequence[Any]:
    return _cells(event, now, names={})


def newer_cells(event: Object, now: float) -> Sequence[Any]:
    return _cells(event, now, names=_NEWER_NAMES)


def _cells(event: Object, now: float, *, names: Mapping[str, str]) -> Sequence[Any]:
    def get(field: str) -> Any:
        return event.get(names.get(field, field))

    about = get("involvedObject") or {}
    first = durations.since(get("firstTimestamp") or event.get("eventTime"), now)
    last = durations.since(get("lastTimestamp"), now) if get("lastTimestamp") else first
    count, series = get("count") or 1, event.get("series")
    if series is not None:
        last, count = durations.since(series.get("lastObservedTime"), now), series.get("count", 0)
    return (
        last,
        event.get("type", ""),
        event.get("reason", ""),
        _target(about),
        about.get("fieldPath", ""),
        _source(get("source") or {}, get("reportingComponent") or "", event.get("reportingInstance") or ""),
        (get("message") or "").strip(_SPACE),
        first,
        count,
        name(event),
    )


def _target(about: Object) -> str:
    kind = about.get("kind", "").lower()
    return f"{kind}/{about['name']}" if about.get("name") else kind


def _source(source: Object, controller: str, instance: str) -> str:
    component, host = source.get("component") or controller, source.get("host") or instance
    return f"{component}, {host}" if host else component
