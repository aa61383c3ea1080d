"""References out of a pod's spec: to fields of the pod, to resources of its containers, to keys of other objects.

Environment variables and volumes are made of them.
"""

from __future__ import annotations

from collections.abc import Callable

from muster.base.caching import remembered
from muster.base.quantity import nanos
from muster.local.checks.fields import invalid, not_supported, required
from muster.local.codec.values import Object
from muster.local.kinds.pods.formats import (
    Errors,
    config_key,
    each,
    label,
    named,
    qualified,
    subdomain,
    subdomain_prefix,
    variable,
    without_steps_up,
)

# sorted, as messages name them
VARIABLE_FIELDS = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
FILE_FIELDS = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
_KNOWN_FIELDS = frozenset({*VARIABLE_FIELDS, *FILE_FIELDS, "spec.restartPolicy", "spec.schedulerName", "status.phase"})

_RESOURCES = (
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
)
_HUGE = ("limits.hugepages-", "requests.hugepages-")
_SIZES = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")
_DIVISORS = {
    "cpu": (("1m", "1"), "only divisor's values 1m and 1 are supported with the cpu resource"),
    "memory": (_SIZES, f"only divisor's values {', '.join(_SIZES)} are supported with the memory resource"),
    "ephemeral-storage": (
        _SIZES,
        f"only divisor's values {', '.join(_SIZES)} are supported with the local ephemeral storage resource",
    ),
    "hugepages": (_SIZES, f"only divisor's values {', '.join(_SIZES)} are supported with the hugepages resource"),
}


def variables(listed: list[Object], path: str) -> Errors:
    for index, one in enumerate(listed):
        at = f"{path}[{index}]"
        yield from named(f"{at}.name", one.get("name", ""), variable)
        if "valueFrom" in one:
            yield from _value_from(one, f"{at}.valueFrom")


def sources(listed: list[Object], path: str) -> Errors:
    """Of envFrom: whole objects as variables."""
    for index, one in enumerate(listed):
        at = f"{path}[{index}]"
        yield from each(f"{at}.prefix", one.get("prefix", ""), variable(one.get("prefix", "")))
        found = [key for key in ("configMapRef", "secretRef") if key in one]
        for key in found:
            yield from named(f"{at}.{key}.name", one[key].get("name", ""), subdomain_prefix)
        if not found:
            yield invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")
        elif len(found) > 1:
            yield invalid(path, "", "may not have more than one field specified at a time")


def _value_from(one: Object, path: str) -> Errors:
    source = one["valueFrom"]
    for key, check in _VALUES:
        if key in source:
            yield from check(source[key], f"{path}.{key}")
    if not source:
        yield invalid(path, "", f"must specify one of: {_VALUE_NAMES}")
    elif one.get("value"):
        yield invalid(path, "", "may not be specified when `value` is not empty")
    elif len(source) > 1:
        yield invalid(path, "", "may not have more than one field specified at a time")


def pod_field(reference: Object, path: str, allowed: tuple[str, ...]) -> Errors:
    """A field of the pod itself."""
    for key in ("apiVersion", "fieldPath"):
        if not reference.get(key):
            yield required(f"{path}.{key}")
            return
    field = reference["fieldPath"]
    trouble = _conversion_problem(reference["apiVersion"], field)
    if trouble:
        yield invalid(f"{path}.fieldPath", field, f"error converting fieldPath: {trouble}")
        return
    base, subscript = split_subscript(field)
    if subscript is not None:
        name = subscript.lower() if base == "metadata.annotations" else subscript
        yield from each(path, name, qualified(name))
    elif ("spec.nodeName" if field == "spec.host" else field) not in allowed:
        yield not_supported(f"{path}.fieldPath", field, allowed)


@remembered(1024)
def _conversion_problem(version: str, field: str) -> str:
    if version != "v1":
        return f"unsupported pod version: {version}"
    base, key = split_subscript(field)
    if key is not None:
        known = base in ("metadata.annotations", "metadata.labels")
        return "" if known else f"field label does not support subscript: {field}"
    return "" if field in _KNOWN_FIELDS or field == "spec.host" else f"field label not supported: {field}"


def split_subscript(field: str) -> tuple[str, str | None]:
    """metadata.labels['app'] → metadata.labels, app."""
    base, bracket, key = field.removesuffix("']").partition("['")
    return (base, key) if field.endswith("']") and base and bracket else (field, None)


def container_resource(reference: Object, path: str, *, in_volume: bool) -> Errors:
    """An amount that a container asks for or may use."""
    resource = reference.get("resource", "")
    if in_volume and not reference.get("containerName"):
        yield required(f"{path}.containerName")
    elif not resource:
        yield required(f"{path}.resource")
    elif resource not in _RESOURCES and not resource.startswith(_HUGE):
        yield not_supported(f"{path}.resource", resource, _RESOURCES)
    yield from _divisor(reference.get("divisor", "0"), resource, f"{path}.divisor")


def _divisor(divisor: str, resource: str, path: str) -> Errors:
    name = "hugepages" if resource.startswith(_HUGE) else resource.partition(".")[2]
    allowed, words = _DIVISORS.get(name, ((), ""))
    if allowed and nanos(divisor) and divisor not in allowed:
        yield invalid(path, resource, words)


def _field(reference: Object, path: str) -> Errors:
    return pod_field(reference, path, VARIABLE_FIELDS)


def _resource(reference: Object, path: str) -> Errors:
    return container_resource(reference, path, in_volume=False)


def _key(reference: Object, path: str) -> Errors:
    name = reference.get("name", "")
    yield from each(f"{path}.name", name, subdomain(name))
    yield from named(f"{path}.key", reference.get("key", ""), config_key)


def _file(reference: Object, path: str) -> Errors:
    yield from named(f"{path}.key", reference.get("key", ""), variable)
    yield from named(f"{path}.volumeName", reference.get("volumeName", ""), label)
    if not reference.get("path"):
        yield required(f"{path}.path")
    else:
        yield from without_steps_up(f"{path}.path", reference["path"])


_VALUES: tuple[tuple[str, Callable[[Object, str], Errors]], ...] = (
    ("fieldRef", _field),
    ("resourceFieldRef", _resource),
    ("configMapKeyRef", _key),
    ("secretKeyRef", _key),
    ("fileKeyRef", _file),
)
_VALUE_NAMES = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
