"""The kinds of resource.k8s.io: claims for devices, templates of them, slices, classes and taints.

A claim's spec never changes.  What it was allocated is taken back as a whole or not at all; it is reserved only while
it is allocated, and for nobody new once it is being deleted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from muster.local.checks.fields import FieldError, duplicate, forbidden, invalid, required, too_long, too_many
from muster.local.checks.metadata import condition_errors, distinct, unchanged
from muster.local.codec.values import Object
from muster.local.kinds.kind import Strategy
from muster.local.kinds.pods import formats
from muster.local.kinds.pods.formats import driver_errors, each
from muster.local.kinds.pods.resources import is_extended
from muster.local.kinds.pods.rules import POD
from muster.local.kinds.rules import Book, Errors, Rules

_MOST = 32
"""Requests, constraints and configurations of a claim, selectors of a request, devices that it is allocated."""
_MOST_SUBREQUESTS = 8
_MOST_USERS = 256
_MOST_DEVICES, _MOST_ELABORATE_DEVICES = 128, 64
_LONGEST_VALUE = 64
_LONGEST_IDENTIFIER = 32
_IDENTIFIER = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_EFFECTS = ("NoExecute", "NoSchedule", "None")
_NODES = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")
_ONE_OF_NODES = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
_ONE_REQUEST = "exactly one of `exactly` or `firstAvailable` is required"


def of_claims(data: Strategy) -> Strategy:
    """What is done to claims, given what the data say."""

    def default(claim: Object) -> None:
        data.default(claim)
        _default_tolerations(claim["spec"])

    def prepare_status(new: Object, old: Object) -> None:
        data.prepare_status(new, old)
        _forget_devices(new["status"], old["status"])

    return replace(
        data,
        default=default,
        prepare_status=prepare_status,
        validate=lambda claim: distinct(_spec_errors(claim["spec"], "spec")),
        validate_update=lambda new, old: unchanged(new["spec"], old["spec"], "spec"),
        validate_status=lambda new, old: distinct(_status_errors(new, old)),
    )


def of_templates(data: Strategy) -> Strategy:
    """What is done to templates of claims."""

    def default(template: Object) -> None:
        data.default(template)
        _default_tolerations(template["spec"].get("spec") or {})

    return replace(
        data,
        default=default,
        validate=lambda template: distinct(_spec_errors(template["spec"].get("spec") or {}, "spec.spec")),
        validate_update=lambda new, old: unchanged(new["spec"], old["spec"], "spec"),
    )


def of_slices(data: Strategy) -> Strategy:
    """What is done to slices of a pool of devices."""

    def validate(given: Object) -> list[FieldError]:
        return distinct(_slice_errors(given["spec"]))

    def validate_update(new: Object, old: Object) -> list[FieldError]:
        spec, before = new["spec"], old["spec"]
        found = unchanged(spec["pool"].get("name"), before["pool"].get("name"), "spec.pool.name")
        for name in ("driver", "nodeName"):
            found += unchanged(spec.get(name), before.get(name), f"spec.{name}")
        return distinct(found + validate(new))

    def default_times(given: Object, now: str) -> None:
        for device in given["spec"].get("devices") or ():
            for taint in device.get("taints") or ():
                taint.setdefault("timeAdded", now)

    return replace(data, validate=validate, validate_update=validate_update, default_times=default_times)


def of_classes(data: Strategy) -> Strategy:
    """What is done to classes of devices."""
    return replace(
        data,
        validate=lambda given: distinct(_BOOK.errors(given["spec"], "resource.v1.DeviceClassSpec", "spec")),
        validate_update=None,
    )


def of_rules(data: Strategy) -> Strategy:
    """What is done to rules that taint devices."""

    def default_times(rule: Object, now: str) -> None:
        rule["spec"].setdefault("taint", {}).setdefault("timeAdded", now)

    def note_times(new: Object, old: Object | None, now: str) -> None:
        """A taint counts from when it got its effect."""
        if old is not None:
            taint, before = new["spec"]["taint"], old["spec"]["taint"]
            if taint.get("effect") != before.get("effect") and taint["timeAdded"] == before.get("timeAdded"):
                taint["timeAdded"] = now

    return replace(
        data,
        validate=lambda rule: distinct(_BOOK.errors(rule["spec"], "resource.v1.DeviceTaintRuleSpec", "spec")),
        validate_update=None,
        default_times=default_times,
        note_times=note_times,
    )


# --- the spec of a claim ---


def _default_tolerations(spec: Object) -> None:
    for request in (spec.get("devices") or {}).get("requests") or ():
        for one in (request.get("exactly") or {}, *(request.get("firstAvailable") or ())):
            for toleration in one.get("tolerations") or ():
                toleration.setdefault("operator", "Equal")


def _spec_errors(spec: Object, path: str) -> list[FieldError]:
    return _BOOK.errors(spec.get("devices") or {}, "resource.v1.DeviceClaim", f"{path}.devices")


def _names(devices: Object) -> dict[str, set[str]]:
    """Of requests, each with those of its subrequests."""
    return {
        request.get("name", ""): {sub.get("name", "") for sub in request.get("firstAvailable") or ()}
        for request in devices.get("requests") or ()
    }


def _unknown_request(name: str, known: dict[str, set[str]], path: str) -> Errors:
    request, slash, sub = name.partition("/")
    if request not in known or (slash and sub not in known[request]):
        yield invalid(path, name, "must be the name of a request in the claim")


def _references(devices: Object, path: str) -> Errors:
    """Constraints and configurations name requests that there are."""
    known = _names(devices)
    for field in ("constraints", "config"):
        for index, one in enumerate(devices.get(field) or ()):
            for place, name in enumerate(one.get("requests") or ()):
                yield from _unknown_request(name, known, f"{path}.{field}[{index}].requests[{place}]")


def _repeated(items: Sequence[Object], path: str, *keys: str) -> Errors:
    seen = set()
    for index, item in enumerate(items):
        key = tuple(item.get(name) for name in keys)
        if key in seen:
            yield duplicate(f"{path}[{index}]", item)
        seen.add(key)


def _distinct_requests(devices: Object, path: str) -> Errors:
    return _repeated(devices.get("requests") or (), f"{path}.requests", "name")


def _one_request(request: Object, path: str) -> Errors:
    subs = request.get("firstAvailable") or ()
    if request.get("exactly") is None and not subs:
        yield required(path, _ONE_REQUEST)
    elif request.get("exactly") is not None and subs:
        yield invalid(path, None, f"{_ONE_REQUEST}, but multiple fields are set")
    yield from _repeated(subs, f"{path}.firstAvailable", "name")


def _count(request: Object, path: str) -> Errors:
    mode, count = request.get("allocationMode"), request.get("count", 0)
    if mode == "All" and count:
        yield invalid(f"{path}.count", count, "must not be specified when allocationMode is 'All'")
    elif mode == "ExactCount" and count <= 0:
        yield invalid(f"{path}.count", count, "must be greater than zero")


def _constraint(constraint: Object, path: str) -> Errors:
    if not constraint.get("matchAttribute") and not constraint.get("distinctAttribute"):
        yield required(path, 'exactly one of "matchAttribute" or "distinctAttribute" is required')


def _toleration(toleration: Object, path: str) -> Errors:
    if toleration.get("operator") == "Exists" and toleration.get("value"):
        yield invalid(f"{path}.value", toleration["value"], "must be empty for operator `Exists`")


# --- the status of a claim ---


def _device_id(one: Object) -> tuple[object, ...]:
    return tuple(one.get(name) for name in ("driver", "pool", "device", "shareID"))


def _results(status: Object) -> list[Object]:
    return ((status.get("allocation") or {}).get("devices") or {}).get("results") or []


def _forget_devices(status: Object, before: Object) -> None:
    """What drivers said of devices goes with their allocation."""
    taken_back = set(map(_device_id, _results(before))) - set(map(_device_id, _results(status)))
    kept = [one for one in status.get("devices") or () if _device_id(one) not in taken_back]
    status.pop("devices", None)
    if kept:
        status["devices"] = kept


def _status_errors(new: Object, old: Object) -> Iterator[FieldError]:
    status, before = new["status"], old["status"]
    yield from _user_errors(status.get("reservedFor") or [])
    allocation, earlier = status.get("allocation"), before.get("allocation")
    if status.get("reservedFor"):
        words = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
        added = [user for user in status["reservedFor"] if user not in (before.get("reservedFor") or ())]
        if allocation is None:
            yield forbidden("status.reservedFor", "may not be specified when `allocated` is not set")
        elif "deletionTimestamp" in new["metadata"] and added:
            yield forbidden("status.reservedFor", words)
    if allocation is not None and earlier is not None:
        yield from unchanged(allocation, earlier, "status.allocation")
    elif allocation is not None:
        yield from _allocation_errors(allocation, _names(new["spec"].get("devices") or {}))
    yield from _said_errors(status)


def _user_errors(users: Sequence[Object]) -> Iterator[FieldError]:
    path = "status.reservedFor"
    if len(users) > _MOST_USERS:
        yield too_many(path, len(users), _MOST_USERS)
        return
    for index, user in enumerate(users):
        for name in ("resource", "name", "uid"):
            if not user.get(name):
                yield required(f"{path}[{index}].{name}")
    yield from _repeated(users, path, "uid")


def _allocation_errors(allocation: Object, known: dict[str, set[str]]) -> Iterator[FieldError]:
    path = "status.allocation.devices.results"
    results = (allocation.get("devices") or {}).get("results") or ()
    if len(results) > _MOST:
        yield too_many(path, len(results), _MOST)
        return
    for index, one in enumerate(results):
        at = f"{path}[{index}]"
        yield from _unknown_request(one.get("request", ""), known, f"{at}.request")
        for name in ("driver", "pool"):
            if not one.get(name):
                yield required(f"{at}.{name}")
        yield from each(f"{at}.device", one.get("device", ""), formats.label(one.get("device", "")))
    if (selector := allocation.get("nodeSelector")) is not None:
        yield from POD.errors(selector, "core.v1.NodeSelector", "status.allocation.nodeSelector")


def _said_errors(status: Object) -> Iterator[FieldError]:
    """Of what drivers say of devices."""
    allocated = set(map(_device_id, _results(status)))
    for index, one in enumerate(status.get("devices") or ()):
        at = f"status.devices[{index}]"
        if _device_id(one) not in allocated:
            yield invalid(at, one.get("device", ""), "must be an allocated device in the claim")
        yield from condition_errors(one.get("conditions") or (), f"{at}.conditions")


# --- slices ---


def _slice_errors(spec: Object) -> Iterator[FieldError]:
    yield from driver_errors(spec.get("driver", ""), "spec.driver")
    yield from _pool_errors(spec.get("pool") or {})
    for name in ("allNodes", "perDeviceNodeSelection"):
        if spec.get(name) is False:
            yield invalid(f"spec.{name}", False, "must be either unset or set to true")
    if spec.get("nodeName") == "":
        yield invalid("spec.nodeName", "", "must be either unset or set to a non-empty string")
    given = [name for name in _NODES if spec.get(name)]
    if not given:
        yield required("spec", _ONE_OF_NODES)
    elif len(given) > 1:
        yield invalid("spec", f"{{{', '.join(given)}}}", f"{_ONE_OF_NODES}, but multiple fields are set")
    if (selector := spec.get("nodeSelector")) is not None:
        yield from POD.errors(selector, "core.v1.NodeSelector", "spec.nodeSelector")
        if len(selector.get("nodeSelectorTerms") or ()) != 1:
            terms = selector.get("nodeSelectorTerms")
            yield invalid("spec.nodeSelector.nodeSelectorTerms", terms, "must have exactly one node selector term")
    if spec.get("sharedCounters") and spec.get("devices"):
        yield invalid("spec", "", "only one of `sharedCounters` or `devices` is allowed")
    yield from _devices_errors(spec.get("devices") or ())


def _pool_errors(pool: Object) -> Iterator[FieldError]:
    if not pool.get("name"):
        yield required("spec.pool.name")
    for part in pool.get("name", "").split("/") if pool.get("name") else ():
        yield from each("spec.pool.name", part, formats.subdomain(part))
    if (count := pool.get("resourceSliceCount", 0)) <= 0:
        yield invalid("spec.pool.resourceSliceCount", count, "must be greater than zero")
    if (generation := pool.get("generation", 0)) < 0:
        yield invalid("spec.pool.generation", generation, "must be greater than or equal to zero")


def _devices_errors(devices: Sequence[Object]) -> Iterator[FieldError]:
    elaborate = any(device.get("taints") or device.get("consumesCounters") for device in devices)
    most = _MOST_ELABORATE_DEVICES if elaborate else _MOST_DEVICES
    if len(devices) > most:
        yield too_many("spec.devices", len(devices), most)
        return
    yield from _repeated(devices, "spec.devices", "name")
    for index, device in enumerate(devices):
        yield from _device_errors(device, f"spec.devices[{index}]")


def _device_errors(device: Object, path: str) -> Iterator[FieldError]:
    yield from each(f"{path}.name", device.get("name", ""), formats.label(device.get("name", "")))
    attributes, capacity = device.get("attributes") or {}, device.get("capacity") or {}
    if len(attributes) + len(capacity) > _MOST:
        words = f"the total number of attributes and capacities must not exceed {_MOST}"
        yield invalid(path, len(attributes) + len(capacity), words)
    for name, values in (("attributes", attributes), ("capacity", capacity)):
        for key in values:
            yield from _qualified(key, f"{path}.{name}")
    for key, value in attributes.items():
        yield from _attribute(value, f"{path}.attributes[{key}]")
    for index, taint in enumerate(device.get("taints") or ()):
        yield from _BOOK.errors(taint, "resource.v1.DeviceTaint", f"{path}.taints[{index}]")


def _attribute(value: Object, path: str) -> Iterator[FieldError]:
    given = [name for name in value if value[name] is not None]
    if len(given) != 1:
        yield invalid(path, "" if not given else value, "exactly one value must be specified")
    for name in ("string", "version"):
        if len(value.get(name) or "") > _LONGEST_VALUE:
            yield too_long(f"{path}.{name}", _LONGEST_VALUE)


def _qualified(name: str, path: str) -> Iterator[FieldError]:
    domain, slash, identifier = name.rpartition("/")
    if slash:
        yield from driver_errors(domain, path)
    if len(identifier) > _LONGEST_IDENTIFIER:
        yield too_long(path, _LONGEST_IDENTIFIER)
    elif not _IDENTIFIER.fullmatch(identifier):
        words = "a valid C identifier must start with alphabetic character or '_'"
        yield invalid(path, identifier, words)


# --- what is asked of structs ---


def _taint(taint: Object, path: str) -> Errors:
    key = taint.get("key", "")
    yield from each(f"{path}.key", key, formats.qualified(key))


def _selects(selector: Object, path: str) -> Errors:
    if selector.get("driver") is not None:
        yield from driver_errors(selector["driver"], f"{path}.driver")
    if selector.get("device") is not None:
        yield from each(f"{path}.device", selector["device"], formats.label(selector["device"]))


def _extended(name: str) -> Iterable[str]:
    return () if is_extended(name) and not formats.qualified(name) else ("must be a valid extended resource name",)


_REQUEST = Rules(
    checks={"name": formats.label, "deviceClassName": formats.subdomain},
    most={"selectors": _MOST, "tolerations": 16},
    code=(_count,),
)

_BOOK = Book(
    {
        "resource.v1.DeviceClaim": Rules(
            most={"requests": _MOST, "constraints": _MOST, "config": _MOST},
            code=(_distinct_requests, _references),
        ),
        "resource.v1.DeviceRequest": Rules(
            checks={"name": formats.label}, most={"firstAvailable": _MOST_SUBREQUESTS}, code=(_one_request,)
        ),
        "resource.v1.ExactDeviceRequest": _REQUEST,
        "resource.v1.DeviceSubRequest": _REQUEST,
        "resource.v1.DeviceSelector": Rules(needs=("cel",)),
        "resource.v1.DeviceConstraint": Rules(most={"requests": _MOST}, code=(_constraint,)),
        "resource.v1.DeviceToleration": Rules(
            values={"operator": ("Equal", "Exists"), "effect": _EFFECTS}, code=(_toleration,)
        ),
        "resource.v1.DeviceClassSpec": Rules(
            checks={"extendedResourceName": _extended}, most={"selectors": _MOST, "config": _MOST}
        ),
        "resource.v1.DeviceTaint": Rules(lacks=("key",), values={"effect": _EFFECTS}, code=(_taint,)),
        "resource.v1.DeviceTaintSelector": Rules(code=(_selects,)),
    }
)
