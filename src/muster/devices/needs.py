"""What a claim asks for, with what its classes add: equal claims are one Need."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from weakref import WeakValueDictionary

import msgspec

from muster.api.devices import (
    ALL,
    EXACT_COUNT,
    DeviceClaim,
    DeviceClass,
    DeviceConfig,
    DeviceRequest,
    DeviceSelector,
    DeviceToleration,
    ExactRequest,
    SubRequest,
)
from muster.base.errors import QuantityError
from muster.base.quantity import nanos
from muster.devices.selectors import Selector, selector_of


class Criterion(msgspec.Struct, frozen=True):
    """A selector, and who wrote it: "class x: selector #0"."""

    selector: Selector
    where: str


class Ask(msgspec.Struct, frozen=True, eq=False):
    """Devices of one class; one way to meet a request."""

    name: str
    """As results name it: request, or request/subrequest."""
    class_name: str
    criteria: tuple[Criterion, ...]
    count: int | None
    """None: all that there are."""
    is_admin: bool
    tolerations: tuple[DeviceToleration, ...]
    capacity: dict[str, int]
    """In billionths, by name."""
    spelled: dict[str, str]
    limits: tuple[int, ...]
    """Places of the constraints that it has to keep."""


class Limit(msgspec.Struct, frozen=True):
    """A constraint: devices have the same value of an attribute, or each its own."""

    attribute: str
    is_distinct: bool


class Need(msgspec.Struct, frozen=True, eq=False, weakref=True):
    """What one claim asks for; equal only to itself, and the same for all claims that ask for the same."""

    key: str
    """The same in every process, of claims that ask for the same."""
    requests: tuple[tuple[Ask, ...], ...]
    """In their order; of each the ways to meet it, best first."""
    limits: tuple[Limit, ...]
    spec: DeviceClaim
    class_configs: dict[str, tuple[DeviceConfig, ...]]


class Unmet(msgspec.Struct, frozen=True):
    """Why a claim can be met on no node."""

    problem: str


_encode = msgspec.json.Encoder(order="deterministic").encode
_known: WeakValueDictionary[bytes, Need] = WeakValueDictionary()


def need_of(spec: DeviceClaim, classes: Mapping[str, DeviceClass]) -> Need | Unmet:
    """The same for equal claims as long as their classes are."""
    names = sorted({one.device_class_name for request in spec.requests for one in _ways(request)})
    key = _encode((spec, [(name, classes[name].spec if name in classes else None) for name in names]))
    found = _known.get(key)
    if found is not None:
        return found
    try:
        made = Need(
            key=hashlib.sha256(key).hexdigest()[:32],
            requests=tuple(_request(one, spec, classes) for one in spec.requests),
            limits=tuple(_limits(spec)),
            spec=spec,
            class_configs={name: classes[name].spec.config for name in names},
        )
    except (_ProblemError, QuantityError) as error:
        return Unmet(str(error))
    _known[key] = made
    return made


class _ProblemError(Exception):
    pass


def _ways(request: DeviceRequest) -> tuple[ExactRequest, ...]:
    if request.first_available:
        return request.first_available
    return () if request.exactly is None else (request.exactly,)


def _request(request: DeviceRequest, spec: DeviceClaim, classes: Mapping[str, DeviceClass]) -> tuple[Ask, ...]:
    ways = _ways(request)
    if not ways:
        raise _ProblemError(f"request {request.name}: unknown request type")
    return tuple(_ask(request.name, way, spec, classes) for way in ways)


def _ask(request: str, way: ExactRequest, spec: DeviceClaim, classes: Mapping[str, DeviceClass]) -> Ask:
    name = f"{request}/{way.name}" if isinstance(way, SubRequest) else request
    if not way.device_class_name:
        raise _ProblemError(f"request {name}: missing device class name (unsupported request type?)")
    device_class = classes.get(way.device_class_name)
    if device_class is None:
        raise _ProblemError(f"request {name}: device class {way.device_class_name} does not exist")
    if way.allocation_mode not in (ALL, EXACT_COUNT):
        raise _ProblemError(f"request {name}: unsupported count mode {way.allocation_mode}")
    if way.derived_attributes:
        raise _ProblemError(f"request {name}: cannot handle request with derived attributes, the feature is disabled")
    asked = {} if way.capacity is None else way.capacity.requests
    return Ask(
        name=name,
        class_name=way.device_class_name,
        criteria=(
            *_criteria(device_class.spec.selectors, f"class {way.device_class_name}"),
            *_criteria(way.selectors, f"request {name}"),
        ),
        count=None if way.allocation_mode == ALL else way.count,
        is_admin=way.admin_access is True,
        tolerations=way.tolerations,
        capacity={one: nanos(amount) for one, amount in asked.items()},
        spelled={one: str(amount) for one, amount in asked.items()},
        limits=tuple(
            place
            for place, one in enumerate(spec.constraints)
            if not one.requests or request in one.requests or name in one.requests
        ),
    )


def _criteria(selectors: tuple[DeviceSelector, ...], whose: str) -> tuple[Criterion, ...]:
    found = []
    for place, one in enumerate(selectors):
        if one.cel is None:
            raise _ProblemError(f"{whose}, selector #{place}: CEL expression empty (unsupported selector type?)")
        found.append(Criterion(selector_of(one.cel.expression), f"{whose}: selector #{place}"))
    return tuple(found)


def _limits(spec: DeviceClaim) -> list[Limit]:
    found = []
    for place, one in enumerate(spec.constraints):
        attribute = one.match_attribute or one.distinct_attribute
        if attribute is None:
            raise _ProblemError(f"constraint #{place}: empty constraint (unsupported constraint type?)")
        found.append(Limit(attribute, is_distinct=one.match_attribute is None))
    return found
