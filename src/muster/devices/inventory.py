"""Slices and taint rules in, what each node can see of devices out.

A pool is all slices of one driver with one pool name.  What a node sees is a Supply: pools in the order in which their
devices are tried, without their names, so that nodes with equal devices share one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from weakref import WeakValueDictionary

import msgspec

from muster.api.devices import DeviceTaintRule, ResourceSlice
from muster.base.errors import QuantityError
from muster.devices.facts import Facts, facts_of
from muster.devices.pools import Pool, Visible, pool_of, visible_of
from muster.devices.taken import PoolKey


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
        self._views: dict[PoolKey, dict[Visible, Pool | None]] = {}
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
            pool = self._view(key, visible_of(self._pools[key].values(), node, labels))
            if pool is not None:
                found.append((key, pool))
        found.sort(key=lambda one: (one[1].comes_last, one[0]))
        pools = tuple(pool for _, pool in found)
        supply = NOTHING if not pools else _supplies.get(pools)
        if supply is None:
            supply = _supplies[pools] = Supply(pools)
        return Seen(supply, tuple(key for key, _ in found))

    @property
    def has_wide(self) -> bool:
        """Whether there are devices that several nodes may use."""
        return bool(self._wide)

    def wide_facts(self) -> list[Facts]:
        """Such devices, each kind of them once."""
        slices = [one.spec for key in sorted(self._wide) for one in self._pools[key].values()]
        found: dict[Facts, None] = {}
        for spec in slices:
            for device in spec.devices:
                try:
                    found[facts_of(spec.driver, device)] = None
                except QuantityError:
                    # its pool is of no use
                    continue
        return list(found)

    def nodes_of(self, key: PoolKey) -> frozenset[str] | None:
        """The nodes that see something of a pool, or whose devices draw on its counters; None: all may."""
        if key in self._wide:
            return None
        if key not in self._pools:
            return frozenset()
        return frozenset(one.spec.node_name or "" for one in self._pools[key].values())

    def _view(self, key: PoolKey, visible: Visible) -> Pool | None:
        if not visible:
            return None
        views = self._views.setdefault(key, {})
        if visible not in views:
            views[visible] = pool_of(self._pools[key], visible, self._rules_for(key))
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
