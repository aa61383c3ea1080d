"""A device as selectors and requests see it, whatever it is called and wherever it is: equal ones are one object."""

from __future__ import annotations

from functools import cached_property
from typing import Any
from weakref import WeakValueDictionary

import msgspec

from muster.api.devices import Device, DeviceAttribute, DeviceTaint
from muster.base.cel.functions.kubernetes import quantity, semver
from muster.base.cel.values import Domains
from muster.base.errors import CelError
from muster.base.quantity import nanos
from muster.devices.capacity import Capacity, capacity_of

_BARRING = frozenset({"NoSchedule", "NoExecute"})
"""Effects of taints that keep pods away; None and those that we do not know do not."""

Draws = tuple[tuple[tuple[str, str], int], ...]
"""What a device takes of the counters of its pool: set and counter, and how many billionths."""


class Facts:
    """All of a device but its name and its place; equal only to itself."""

    def __init__(self, driver: str, device: Device) -> None:
        self.driver = driver
        self.is_shared = device.allow_multiple_allocations is True
        self.binds_to_node = device.binds_to_node is True
        self.binding_conditions = device.binding_conditions
        self.binding_failure_conditions = device.binding_failure_conditions
        self.taints: tuple[DeviceTaint, ...] = tuple(one for one in device.taints if one.effect in _BARRING)
        self.capacity: tuple[Capacity, ...] = tuple(
            capacity_of(name, one) for name, one in sorted(device.capacity.items())
        )
        self.draws: Draws = tuple(
            ((used.counter_set, name), nanos(counter.value))
            for used in device.consumes_counters
            for name, counter in sorted(used.counters.items())
        )
        self.attributes = {_full(name, driver): one for name, one in _plain_first(device.attributes)}
        self.answers: dict[object, bool | str] = {}
        """Of selectors that were asked already: whether they match, or what is wrong."""

    def value(self, attribute: str) -> tuple[str, Any] | None:
        """Type and value of an attribute, by its name with the domain; None if the device does not have it."""
        found = self.attributes.get(attribute)
        return None if found is None else _value(found)

    @cached_property
    def variables(self) -> dict[str, Any] | str:
        """The variables of selectors, or what is wrong with an attribute."""
        attributes, capacity = Domains(), Domains()
        try:
            for name, one in self.attributes.items():
                _put(attributes, name, _seen(name, one))
            for measure in self.capacity:
                _put(capacity, _full(measure.name, self.driver), quantity(measure.spelled))
        except CelError as error:
            return str(error)
        return {
            "device": {
                "driver": self.driver,
                "attributes": attributes,
                "capacity": capacity,
                "allowMultipleAllocations": self.is_shared,
            }
        }


_NAMELESS = {"name": "", "node_name": None, "node_selector": None, "all_nodes": None}
_encode = msgspec.json.Encoder(order="deterministic").encode
_known: WeakValueDictionary[tuple[str, bytes], Facts] = WeakValueDictionary()


def facts_of(driver: str, device: Device) -> Facts:
    """The same for all devices of the driver that are equal but for name and place.  Raises QuantityError."""
    key = (driver, _encode(msgspec.structs.replace(device, **_NAMELESS)))
    found = _known.get(key)
    if found is None:
        found = _known[key] = Facts(driver, device)
    return found


def _plain_first(attributes: dict[str, DeviceAttribute]) -> list[tuple[str, DeviceAttribute]]:
    """A name with a domain counts more than one that stands for the same without."""
    return sorted(attributes.items(), key=lambda item: "/" in item[0])


def _full(name: str, driver: str) -> str:
    return name if "/" in name else f"{driver}/{name}"


def _put(domains: Domains, name: str, value: Any) -> None:
    domain, _, short = name.partition("/")
    domains.setdefault(domain, {})[short] = value


def _value(attribute: DeviceAttribute) -> tuple[str, Any]:
    if attribute.string_value is not None:
        return "string", attribute.string_value
    if attribute.int_value is not None:
        return "int", attribute.int_value
    if attribute.bool_value is not None:
        return "bool", attribute.bool_value
    if attribute.version_value is not None:
        return "version", attribute.version_value
    return "", None


def _seen(name: str, attribute: DeviceAttribute) -> Any:
    """The value of an attribute in an expression."""
    for some in (attribute.int_values, attribute.bool_values, attribute.string_values):
        if some is not None:
            return list(some)
    if attribute.version_values is not None:
        return [_version(name, one) for one in attribute.version_values]
    kind, value = _value(attribute)
    if not kind:
        raise CelError(f"attribute {name}: unsupported attribute value")
    return _version(name, value) if kind == "version" else value


def _version(name: str, text: str) -> Any:
    try:
        return semver(text)
    except CelError as error:
        raise CelError(f"attribute {name}: parse semantic version: {error}") from None
