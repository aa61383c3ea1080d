"""Probes and lifecycle hooks of containers: what is done (a handler), and how often."""

from __future__ import annotations

from collections.abc import Callable

from muster.local.checks.fields import forbidden, invalid, not_supported, required
from muster.local.checks.metadata import not_negative
from muster.local.codec.values import Object
from muster.local.kinds.pods.formats import Errors, each, header, port, port_number

_COUNTS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
_SCHEMES = ("HTTP", "HTTPS")


def probe(found: Object, path: str, kind: str) -> Errors:
    """A probe of one kind: livenessProbe, readinessProbe, startupProbe."""
    yield from _handler(found, path, None)
    for key in _COUNTS:
        yield from not_negative(found.get(key), f"{path}.{key}")
    grace = found.get("terminationGracePeriodSeconds")
    if grace is not None and grace <= 0:
        yield invalid(f"{path}.terminationGracePeriodSeconds", grace, "must be greater than 0")
    if kind == "readinessProbe":
        if grace is not None:
            yield invalid(f"{path}.terminationGracePeriodSeconds", grace, "must not be set for readinessProbes")
    elif found.get("successThreshold") != 1:
        yield invalid(f"{path}.successThreshold", found.get("successThreshold", 0), "must be 1")


def lifecycle(found: Object, path: str, grace: int | None) -> Errors:
    """Hooks after the start and before the stop; the latter may sleep no longer than the pod has to end."""
    for key in ("postStart", "preStop"):
        if key in found:
            yield from _handler(found[key], f"{path}.{key}", grace)


def _handler(holder: Object, path: str, grace: int | None) -> Errors:
    found = [key for key in _HANDLERS if key in holder]
    if not found:
        yield required(path, "must specify a handler type")
        return
    first, *others = found
    yield from _HANDLERS[first](holder[first], f"{path}.{first}", grace)
    for key in others:
        yield forbidden(f"{path}.{key}", "may not specify more than 1 handler type")


def _exec(action: Object, path: str, _: int | None) -> Errors:
    if not action.get("command"):
        yield required(f"{path}.command")


def _http_get(action: Object, path: str, _: int | None) -> Errors:
    yield from port(f"{path}.port", action.get("port", 0))
    if action.get("scheme") not in _SCHEMES:
        yield not_supported(f"{path}.scheme", action.get("scheme", ""), _SCHEMES)
    for one in action.get("httpHeaders", ()):
        name = one.get("name", "")
        yield from each(f"{path}.httpHeaders", name, header(name))


def _tcp_socket(action: Object, path: str, _: int | None) -> Errors:
    return port(f"{path}.port", action.get("port", 0))


def _grpc(action: Object, path: str, _: int | None) -> Errors:
    return port_number(f"{path}.port", action.get("port", 0))


def _sleep(action: Object, path: str, grace: int | None) -> Errors:
    seconds = action.get("seconds", 0)
    if grace is not None and not 0 <= seconds <= grace:
        words = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
        yield invalid(path, seconds, words)


_HANDLERS: dict[str, Callable[[Object, str, int | None], Errors]] = {
    "exec": _exec,
    "httpGet": _http_get,
    "tcpSocket": _tcp_socket,
    "grpc": _grpc,
    "sleep": _sleep,
}
