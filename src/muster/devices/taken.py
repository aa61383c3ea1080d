"""What is given away of a pool: a small value that can be compared, kept, and taken back.

Devices are known by their names: slices come and go, and devices move between them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from muster.api.devices import DeviceResult
from muster.base.quantity import nanos
from muster.devices.capacity import Parts

PoolKey = tuple[str, str]
"""Driver and name of a pool."""


class Shares(NamedTuple):
    """Of a device that several claims may use."""

    number: int
    parts: Parts
    """Of all shares together."""


class Taken(NamedTuple):
    """Of one pool; without what is given for the sake of administration, which keeps nobody away."""

    devices: frozenset[str] = frozenset()
    """By one claim each."""
    shares: tuple[tuple[str, Shares], ...] = ()
    """By the names of devices, in their order."""

    def taking(self, device: str, parts: Parts | None = None) -> Taken:
        """With one more device; with one more share of it if there are parts."""
        if parts is None:
            return self._replace(devices=self.devices | {device})
        return self._shared(device, parts, 1)

    def giving_back(self, device: str, parts: Parts | None = None) -> Taken:
        if parts is None:
            return self._replace(devices=self.devices - {device})
        return self._shared(device, parts, -1)

    def uses(self, device: str) -> bool:
        return device in self.devices or any(name == device for name, _ in self.shares)

    def _shared(self, device: str, parts: Parts, sign: int) -> Taken:
        shares = dict(self.shares)
        before = shares.pop(device, Shares(0, ()))
        amounts = dict(before.parts)
        for name, amount in parts:
            amounts[name] = amounts.get(name, 0) + sign * amount
        if before.number + sign > 0:
            shares[device] = Shares(before.number + sign, tuple(sorted(amounts.items())))
        return self._replace(shares=tuple(sorted(shares.items())))


FREE = Taken()


def after_giving(taken: Mapping[PoolKey, Taken], results: Iterable[DeviceResult]) -> dict[PoolKey, Taken]:
    """Those of the pools that change when the results of an allocation are given."""
    return _changed(taken, results, Taken.taking)


def after_return(taken: Mapping[PoolKey, Taken], results: Iterable[DeviceResult]) -> dict[PoolKey, Taken]:
    """Those of the pools that change when the results of an allocation are given back."""
    return _changed(taken, results, Taken.giving_back)


def parts_of(result: DeviceResult) -> Parts | None:
    """None of a device that no other claim may use."""
    if result.share_id is None:
        return None
    return tuple(sorted((name, nanos(amount)) for name, amount in result.consumed_capacity.items()))


_Change = Callable[[Taken, str, Parts | None], Taken]


def _changed(taken: Mapping[PoolKey, Taken], results: Iterable[DeviceResult], change: _Change) -> dict[PoolKey, Taken]:
    found: dict[PoolKey, Taken] = {}
    for result in results:
        if not result.admin_access:
            key = (result.driver, result.pool)
            before = found.get(key) or taken.get(key, FREE)
            found[key] = change(before, result.device, parts_of(result))
    return found
