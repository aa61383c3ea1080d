"""Devices of one cluster: what nodes see of them, what is given away, and how often a pod's needs still fit.

What was found once for a matching of needs and devices, and for what is taken of these, holds for all nodes that come
down to the same: a thousand equal nodes are searched once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

from muster.api.devices import DeviceResult
from muster.api.wire import Node
from muster.base.selectors import NodeSelector
from muster.cluster.classes import NodeRules
from muster.cluster.nodes import NodeTable
from muster.devices.allocator import Found, Refused, allocate
from muster.devices.capacity import Parts
from muster.devices.inventory import NOTHING, Inventory, Seen
from muster.devices.matching import Matching, match, would_fit
from muster.devices.needs import Need
from muster.devices.taken import FREE, PoolKey, Taken, parts_of

NAME = "DynamicResources"
PLENTY = 2**31
_MOST_COPIES = 1_024
_KEPT = 100_000
_NOWHERE = Seen(NOTHING, ())


class Asked(msgspec.Struct, frozen=True, gc=False):
    """A claim that has no devices yet."""

    need: str
    """The key of what it asks for."""
    shared: str = ""
    """namespace/name of a claim that several pods use: it is met once for all of them."""


class HeldDevice(msgspec.Struct, frozen=True, gc=False):
    """A device that is free again when the pod is gone."""

    driver: str
    pool: str
    """"" if it is called as the pod's node is, as most are: pods on different nodes are then alike."""
    device: str
    parts: Parts | None = None


class DeviceNeed(msgspec.Struct, frozen=True, gc=False):
    """What a pod's claims need of nodes: equal for pods whose claims ask for the same."""

    asks: tuple[Asked, ...] = ()
    """Of claims without devices, in the pod's order."""
    within: tuple[NodeSelector, ...] = ()
    """Where the devices can be used that claims have."""
    held: tuple[HeldDevice, ...] = ()
    """Of a pod that has its place."""
    is_placed: bool = False
    is_wide: bool = False
    """Some device that would do can be had from several nodes."""

    @property
    def looks_around(self) -> bool:
        """Whether it matters to such pods what others get on other nodes."""
        return self.is_wide or any(ask.shared for ask in self.asks)


def need_in(rules: NodeRules) -> DeviceNeed | None:
    found = next((need for plugin, need in rules.needs if plugin == NAME), None)
    assert found is None or isinstance(found, DeviceNeed)
    return found


class Book:
    """What there is, and what is given away by claims that are allocated or are just being."""

    def __init__(self, nodes: NodeTable) -> None:
        self.inventory = Inventory()
        self.nodes = nodes
        self.taken: dict[PoolKey, Taken] = {}
        self.needs: dict[str, Need] = {}
        """By key: all that pods of the cluster ask for."""
        self.has_news = False
        """Some nodes have other devices to give than when `take_touched` was last asked, or are about to."""
        self._touched: dict[str, bool] = {}
        """Nodes where there are other devices to be had than before; whether there may be more."""
        self.returning: dict[str, tuple[DeviceResult, ...]] = {}
        """By key of a claim: what will be free again, since all who had it are gone."""
        self._holders: Counter[tuple[PoolKey, str]] = Counter()
        """How many claims have a device: two, if two schedulers gave it away."""
        self._seen: dict[str, tuple[Node, Seen]] = {}
        self._matchings: dict[tuple[object, ...], Matching] = {}
        self._found: dict[tuple[Matching, tuple[Taken, ...]], Found | Refused] = {}
        self._copies: dict[tuple[Matching, tuple[Taken, ...]], int] = {}
        self._wide: dict[str, bool] = {}

    # --- what changes ---

    def changed(self, nodes: frozenset[str] | None) -> None:
        """These nodes may see other devices than before; None: all may."""
        self._wide.clear()
        self.has_news = True
        for name in self.nodes.rows if nodes is None else nodes:
            self._seen.pop(name, None)
            self._touched[name] = True

    def give(self, results: Iterable[DeviceResult]) -> None:
        for key, one in _kept(results):
            parts = parts_of(one)
            if parts is None:
                self._holders[key, one.device] += 1
            self.taken[key] = self.taken.get(key, FREE).taking(one.device, parts)
            self._touch(key, more=False)

    def give_back(self, results: Iterable[DeviceResult]) -> None:
        for key, one in _kept(results):
            parts = parts_of(one)
            if parts is None:
                self._holders[key, one.device] -= 1
                if self._holders[key, one.device]:
                    continue
                del self._holders[key, one.device]
            left = self.taken[key].giving_back(one.device, parts)
            if left == FREE:
                del self.taken[key]
            else:
                self.taken[key] = left
            self._touch(key, more=True)

    def _touch(self, key: PoolKey, *, more: bool) -> None:
        nodes = self.inventory.nodes_of(key)
        self.has_news = True
        for name in self.nodes.rows if nodes is None else nodes:
            self._touched[name] = more or self._touched.get(name, False)

    def returns(self, key: str, results: Iterable[DeviceResult]) -> None:
        """What the claim has is about to be given back; nothing, if it is not."""
        kept = tuple(one for _, one in _kept(results))
        self.has_news = True
        if kept:
            self.returning[key] = kept
        else:
            self.returning.pop(key, None)

    @property
    def returning_to(self) -> frozenset[str]:
        """Nodes that will have more devices."""
        pools = {(one.driver, one.pool) for results in self.returning.values() for one in results}
        nodes = map(self.inventory.nodes_of, pools)
        return frozenset(name for some in nodes for name in (self.nodes.rows if some is None else some))

    def take_touched(self) -> Mapping[str, bool]:
        touched, self._touched, self.has_news = self._touched, {}, False
        return touched

    # --- what is asked ---

    def seen(self, node: Node | None) -> Seen:
        if node is None:
            return _NOWHERE
        name = node.metadata.name
        known = self._seen.get(name)
        if known is None or known[0] is not node:
            known = self._seen[name] = node, self.inventory.seen(name, node.metadata.labels)
        return known[1]

    def needs_of(self, asks: Iterable[Asked]) -> tuple[Need, ...]:
        return tuple(self.needs[ask.need] for ask in asks)

    def is_wide(self, need: Need) -> bool:
        """Whether devices that several nodes can use might do."""
        if not self.inventory.has_wide:
            return False
        found = self._wide.get(need.key)
        if found is None:
            facts = self.inventory.wide_facts()
            found = self._wide[need.key] = any(
                would_fit(ask, one) for ways in need.requests for ask in ways for one in facts
            )
        return found

    def search(self, needs: tuple[Need, ...], seen: Seen, taken: tuple[Taken, ...]) -> Found | Refused:
        """What is found for the needs beside what is taken of the pools that are seen."""
        matching = self._matching(needs, seen)
        found = self._found.get((matching, taken))
        if found is None:
            if len(self._found) >= _KEPT:
                self._found.clear()
            found = self._found[matching, taken] = allocate(needs, matching, taken)
        return found

    def _matching(self, needs: tuple[Need, ...], seen: Seen) -> Matching:
        key = (*needs, seen.supply)
        found = self._matchings.get(key)
        if found is None:
            if len(self._matchings) >= _KEPT:
                self._matchings.clear()
            found = self._matchings[key] = match(needs, seen.supply)
        return found

    def copies(self, needs: tuple[Need, ...], seen: Seen, taken: tuple[Taken, ...]) -> int:
        """How many pods with these needs get devices, one after another."""
        first = self._matching(needs, seen), taken
        known = self._copies.get(first)
        if known is not None:
            return known
        count = 0
        while count < _MOST_COPIES:
            found = self.search(needs, seen, taken)
            if isinstance(found, Refused):
                break
            if found.taken == taken:
                # for administration, or for nothing
                count = PLENTY
                break
            count, taken = count + 1, found.taken
        if len(self._copies) >= _KEPT:
            self._copies.clear()
        self._copies[first] = count
        return count

    def forget_needs(self, used: Mapping[str, Need]) -> None:
        """Only these are asked for any more."""
        self.needs = dict(used)


def _kept(results: Iterable[DeviceResult]) -> Iterable[tuple[PoolKey, DeviceResult]]:
    """Without what is given for the sake of administration, which keeps nobody away."""
    return (((one.driver, one.pool), one) for one in results if not one.admin_access)
