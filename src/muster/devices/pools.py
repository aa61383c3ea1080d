"""What a node sees of one pool of devices.

Only the newest generation of a pool counts, and only if all of it is there and it is at one with itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from muster.api.devices import Device, DeviceTaintRule, ResourceSlice, SliceSpec
from muster.base.errors import QuantityError
from muster.base.quantity import nanos
from muster.base.selectors import NodeSelector
from muster.devices.facts import Draws, Facts, facts_of


class Placed(NamedTuple):
    """A device in a pool."""

    name: str
    facts: Facts
    is_local: bool
    """It can be used on one node only."""
    selector: NodeSelector | None
    """Of the nodes that can use it, if it is not local; None: all."""


class Pool(msgspec.Struct, frozen=True, weakref=True):
    """What one node sees of a pool, whatever its name is."""

    driver: str
    devices: tuple[Placed, ...] = ()
    """In the order in which they are tried."""
    hidden: tuple[tuple[str, Draws], ...] = ()
    """Devices that the node does not see but that draw on the same counters."""
    counters: Draws = ()
    problem: str = ""
    """Why nothing is taken from it."""
    is_invalid: bool = False
    """The problem does not go away by itself."""
    comes_last: bool = False
    """Some device has to be bound first: other pools are tried before."""


Visible = tuple[tuple[str, tuple[int, ...] | None], ...]
"""Names of slices, and the places of the devices that a node sees of each; None: all of them."""


def visible_of(slices: Iterable[ResourceSlice], node: str, labels: Mapping[str, str]) -> Visible:
    """What a node sees of the slices of a pool."""
    found: list[tuple[str, tuple[int, ...] | None]] = []
    for one in slices:
        spec = one.spec
        if _has_groups(spec):
            continue
        if spec.node_name or spec.all_nodes or spec.node_selector is not None:
            if _reaches(spec, node, labels):
                found.append((one.metadata.name, None))
        elif spec.per_device_node_selection:
            places = tuple(n for n, device in enumerate(spec.devices) if _reaches(device, node, labels))
            if places:
                found.append((one.metadata.name, places))
    return tuple(sorted(found))


def _reaches(given: SliceSpec | Device, node: str, labels: Mapping[str, str]) -> bool:
    if given.node_name:
        return given.node_name == node
    return given.all_nodes is True or (given.node_selector is not None and given.node_selector.matches(labels, node))


def _has_groups(spec: SliceSpec) -> bool:
    """Whether devices may not be used beside each other, by rules that are off: the slice is passed over."""
    return any(used.compatibility_groups for device in spec.devices for used in device.consumes_counters)


# --- pools ---


def pool_of(slices: Mapping[str, ResourceSlice], visible: Visible, rules: list[DeviceTaintRule]) -> Pool | None:
    """What is seen of a pool; None if it is about to be replaced."""
    newest = max(slices[name].spec.pool.generation for name, _ in visible)
    chosen = {name: places for name, places in visible if slices[name].spec.pool.generation == newest}
    first = slices[min(chosen)].spec
    whole = list(chosen)
    if len(chosen) != first.pool.resource_slice_count:
        if any(one.spec.pool.generation > newest for one in slices.values()):
            return None
        alike = (name for name, one in slices.items() if one.spec.pool.generation == newest)
        whole = [name for name in alike if not _has_groups(slices[name].spec)]
        if len(whole) != first.pool.resource_slice_count:
            return Pool(first.driver, problem="is currently being updated")
    try:
        return _built({name: slices[name].spec for name in sorted(whole)}, chosen, rules)
    except (_InvalidError, QuantityError) as error:
        return Pool(first.driver, problem=f"is currently invalid: {error}", is_invalid=True)


class _InvalidError(Exception):
    pass


def _built(
    specs: Mapping[str, SliceSpec], chosen: Mapping[str, tuple[int, ...] | None], rules: list[DeviceTaintRule]
) -> Pool:
    counters = _counters(specs.values())
    names: set[str] = set()
    devices: list[Placed] = []
    hidden: list[tuple[str, Draws]] = []
    comes_last = False
    for slice_name, spec in specs.items():
        if spec.shared_counters:
            continue
        is_seen = slice_name in chosen
        places = chosen.get(slice_name)
        for place, device in enumerate(spec.devices):
            if is_seen and device.name in names:
                raise _InvalidError(f"duplicate device name {device.name}")
            facts = facts_of(spec.driver, _tainted(device, rules))
            _check_counters(device, counters)
            if is_seen:
                names.add(device.name)
                comes_last = comes_last or bool(device.binding_conditions)
            if is_seen and (places is None or place in places):
                devices.append(_placed(spec, device, facts))
            elif facts.draws:
                hidden.append((device.name, facts.draws))
    return Pool(
        next(iter(specs.values())).driver,
        tuple(devices),
        tuple(hidden),
        tuple(sorted(counters.items())),
        comes_last=comes_last,
    )


def _check_counters(device: Device, counters: Mapping[tuple[str, str], int]) -> None:
    sets = {name for name, _ in counters}
    for used in device.consumes_counters:
        if used.counter_set not in sets:
            raise _InvalidError(f"counter set {used.counter_set} not found")
        for name in used.counters:
            if (used.counter_set, name) not in counters:
                raise _InvalidError(f"counter {name} not found in counter set {used.counter_set}")


def _placed(spec: SliceSpec, device: Device, facts: Facts) -> Placed:
    where = device if spec.per_device_node_selection else spec
    return Placed(device.name, facts, bool(where.node_name), None if where.node_name else where.node_selector)


def _counters(specs: Iterable[SliceSpec]) -> dict[tuple[str, str], int]:
    found: dict[tuple[str, str], int] = {}
    names: set[str] = set()
    for spec in specs:
        for one in spec.shared_counters:
            if one.name in names:
                raise _InvalidError(f"duplicate counter set name {one.name}")
            names.add(one.name)
            found |= {(one.name, name): nanos(counter.value) for name, counter in one.counters.items()}
    return found


def _tainted(device: Device, rules: list[DeviceTaintRule]) -> Device:
    added = tuple(
        rule.spec.taint
        for rule in rules
        if rule.spec.device_selector is not None and rule.spec.device_selector.device in (None, device.name)
    )
    return msgspec.structs.replace(device, taints=device.taints + added) if added else device
