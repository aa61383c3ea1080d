"""Slices and taint rules in, what each node can see of devices out.

A pool is all slices of one driver with one pool name.  Only its newest generation counts, and only if all of that is
there.  What a node sees is a Supply: pools in the order in which devices are tried, without their names, so that nodes
with equal devices share one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple
from weakref import WeakValueDictionary

import msgspec

from muster.api.devices import Device, DeviceTaintRule, ResourceSlice, SliceSpec
from muster.base.errors import QuantityError
from muster.base.quantity import nanos
from muster.base.selectors import NodeSelector
from muster.devices.facts import Draws, Facts, facts_of
from muster.devices.taken import PoolKey


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


class Supply(msgspec.Struct, frozen=True, eq=False, weakref=True):
    """What a node sees of devices; equal only to itself, and the same for all nodes that see the same."""

    pools: tuple[Pool, ...]


class Seen(NamedTuple):
    supply: Supply
    keys: tuple[PoolKey, ...]
    """Of its pools, in their order."""


NOTHING = Supply(())
_supplies: WeakValueDictionary[tuple[Pool, ...], Supply] = WeakValueDictionary()


class Inventory:
    """All slices and rules that there are."""

    def __init__(self) -> None:
        self._slices: dict[str, ResourceSlice] = {}
        self._rules: dict[str, DeviceTaintRule] = {}
        self._pools: dict[PoolKey, dict[str, ResourceSlice]] = {}
        """By the names of slices."""
        self._of_node: dict[str, set[PoolKey]] = {}
        """Pools with slices for this node alone."""
        self._wide: set[PoolKey] = set()
        """Pools with slices for several nodes."""
        self._views: dict[PoolKey, dict[_Visible, Pool | None]] = {}
        """What was seen of a pool, by what is visible of it; forgotten when the pool changes."""

    def put_slice(self, given: ResourceSlice) -> frozenset[str] | None:
        """A slice that is there, new or changed.  Returns the nodes that may see something else now; None: all may."""
        touched = self.remove_slice(given.metadata.name)
        self._slices[given.metadata.name] = given
        key = _key(given)
        self._pools.setdefault(key, {})[given.metadata.name] = given
        self._indexed(key)
        return _joined(touched, self.nodes_of(key))

    def remove_slice(self, name: str) -> frozenset[str] | None:
        """A slice that is gone, if it was there."""
        gone = self._slices.pop(name, None)
        if gone is None:
            return frozenset()
        key = _key(gone)
        touched = self.nodes_of(key)
        del self._pools[key][name]
        self._wide.discard(key)
        node = gone.spec.node_name
        if node:
            self._of_node[node].discard(key)
        self._indexed(key)
        if node and not self._of_node[node]:
            del self._of_node[node]
        if not self._pools[key]:
            del self._pools[key]
        return touched

    def put_rule(self, rule: DeviceTaintRule) -> frozenset[str] | None:
        touched = self.remove_rule(rule.metadata.name)
        self._rules[rule.metadata.name] = rule
        return _joined(touched, self._ruled(rule))

    def remove_rule(self, name: str) -> frozenset[str] | None:
        gone = self._rules.pop(name, None)
        return frozenset() if gone is None else self._ruled(gone)

    def seen(self, node: str, labels: Mapping[str, str]) -> Seen:
        """What the node of this name and with these labels sees."""
        found: list[tuple[PoolKey, Pool]] = []
        for key in sorted(self._wide | self._of_node.get(node, set())):
            pool = self._view(key, _visible(self._pools[key].values(), node, labels))
            if pool is not None:
                found.append((key, pool))
        found.sort(key=lambda one: (one[1].comes_last, one[0]))
        pools = tuple(pool for _, pool in found)
        supply = NOTHING if not pools else _supplies.get(pools)
        if supply is None:
            supply = _supplies[pools] = Supply(pools)
        return Seen(supply, tuple(key for key, _ in found))

    def nodes_of(self, key: PoolKey) -> frozenset[str] | None:
        """The nodes that see something of a pool, or whose devices draw on its counters; None: all may."""
        if key in self._wide:
            return None
        if key not in self._pools:
            return frozenset()
        return frozenset(one.spec.node_name or "" for one in self._pools[key].values())

    def _view(self, key: PoolKey, visible: _Visible) -> Pool | None:
        if not visible:
            return None
        views = self._views.setdefault(key, {})
        if visible not in views:
            views[visible] = _pool(self._pools[key], visible, self._rules_for(key))
        return views[visible]

    def _rules_for(self, key: PoolKey) -> list[DeviceTaintRule]:
        return [self._rules[name] for name in sorted(self._rules) if _covers(self._rules[name], key)]

    def _indexed(self, key: PoolKey) -> None:
        self._views.pop(key, None)
        for one in self._pools[key].values():
            if one.spec.node_name:
                self._of_node.setdefault(one.spec.node_name, set()).add(key)
            else:
                self._wide.add(key)

    def _ruled(self, rule: DeviceTaintRule) -> frozenset[str] | None:
        touched: frozenset[str] | None = frozenset()
        for key in self._pools:
            if _covers(rule, key):
                self._views.pop(key, None)
                touched = _joined(touched, self.nodes_of(key))
        return touched


def _key(given: ResourceSlice) -> PoolKey:
    return given.spec.driver, given.spec.pool.name


def _joined(one: frozenset[str] | None, other: frozenset[str] | None) -> frozenset[str] | None:
    return None if one is None or other is None else one | other


def _covers(rule: DeviceTaintRule, key: PoolKey) -> bool:
    wanted = rule.spec.device_selector
    return wanted is not None and wanted.driver in (None, key[0]) and wanted.pool in (None, key[1])


# --- what is visible of a pool ---

_Visible = tuple[tuple[str, tuple[int, ...] | None], ...]
"""Names of slices, and the places of the devices that a node sees of each; None: all of them."""


def _visible(slices: Iterable[ResourceSlice], node: str, labels: Mapping[str, str]) -> _Visible:
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


def _pool(slices: Mapping[str, ResourceSlice], visible: _Visible, rules: list[DeviceTaintRule]) -> Pool | None:
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
