"""Parts of devices: how much of a device a request takes, where the device says in which amounts it may be had.

Amounts are in billionths, and exact.  Ranges are counted in whole numbers as long as DRAFractionalCapacityRange is off,
as it is unless a cluster asks for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from muster.api.devices import DeviceCapacity
from muster.api.wire import Amount
from muster.base.quantity import nanos

_ONE = 10**9
_MOST = 2**63 - 1

Parts = tuple[tuple[str, int], ...]
"""Amounts by the names of capacities, in their order."""


class Capacity(NamedTuple):
    """What a device has of something; None stands for what its policy does not say."""

    name: str
    value: int
    spelled: str
    default: int | None = None
    values: tuple[int, ...] = ()
    has_range: bool = False
    least: int | None = None
    most: int | None = None
    step: int | None = None


def capacity_of(name: str, given: DeviceCapacity) -> Capacity:
    """Raises QuantityError."""
    value, spelled = nanos(given.value), str(given.value)
    policy = given.request_policy
    if policy is None:
        return Capacity(name, value, spelled)
    bounds = policy.valid_range
    return Capacity(
        name,
        value,
        spelled,
        default=_read(policy.default),
        values=tuple(nanos(one) for one in policy.valid_values),
        has_range=bounds is not None,
        least=None if bounds is None else _read(bounds.min),
        most=None if bounds is None else _read(bounds.max),
        step=None if bounds is None else _read(bounds.step) or None,
    )


def _read(amount: Amount | None) -> int | None:
    return None if amount is None else nanos(amount)


class Unfit(NamedTuple):
    """The device cannot give this: it has not so much, or not in such amounts.

    problem   What is wrong with the request or the device, whoever asks; "" if it is merely unfit.
    """

    problem: str = ""


def parts_taken(requests: Mapping[str, int], capacity: tuple[Capacity, ...]) -> Parts | Unfit:
    """What a request takes of a device that nobody uses."""
    if not requests.keys() <= {one.name for one in capacity}:
        return Unfit()
    taken = []
    for one in capacity:
        amount = amount_taken(requests.get(one.name), one)
        if amount is None:
            words = "capacity request cannot be represented in the device's range arithmetic"
            return Unfit(f'capacity "{one.name}": {words}')
        if amount < 0:
            return Unfit(f'capacity "{one.name}": capacity value is negative')
        taken.append((one.name, amount))
    for one, (_, amount) in zip(capacity, taken, strict=True):
        if breaks_policy(amount, one) or amount > one.value:
            return Unfit()
    return tuple(taken)


def amount_taken(asked: int | None, capacity: Capacity) -> int | None:
    """Of one capacity: at least what is asked for, in an amount that may be had if there is one.

    Without a request the default, or all of it.  None if there is no such number.
    """
    if asked is None:
        return capacity.value if capacity.default is None else capacity.default
    if capacity.least is not None:
        return _within_range(asked, capacity, capacity.least)
    return next((value for value in capacity.values if asked <= value), asked)


def _within_range(asked: int, capacity: Capacity, least: int) -> int | None:
    if asked < least:
        return least
    if capacity.step is None:
        return asked
    if asked > _MOST * _ONE:
        return None
    first, step = _whole(least), _whole(capacity.step)
    amount = first + -(-(_whole(asked) - first) // step) * step
    return None if amount > _MOST and first >= 0 else amount * _ONE


def breaks_policy(amount: int, capacity: Capacity) -> bool:
    """Whether the device does not give this amount."""
    if amount == capacity.default:
        return False
    if capacity.has_range:
        if capacity.most is not None and amount > capacity.most:
            return True
        off = 0 if capacity.step is None else (_whole(amount) - _whole(capacity.least or 0)) % _whole(capacity.step)
        return off != 0
    return bool(capacity.values) and amount not in capacity.values


def _whole(amount: int) -> int:
    """In ones, away from zero."""
    return -(-amount // _ONE) if amount >= 0 else amount // _ONE


def spell(amount: int, like: str) -> str:
    """Billionths as a quantity, with suffixes of the kind that `like` has."""
    ones, rest = divmod(amount, _ONE)
    if rest:
        for suffix, unit in (("m", 10**6), ("u", 10**3), ("n", 1)):
            if amount % unit == 0:
                return f"{amount // unit}{suffix}"
    suffixes = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei") if like.endswith("i") else ("k", "M", "G", "T", "P", "E")
    base, found = (1024 if like.endswith("i") else 1000), ""
    for suffix in suffixes:
        if not ones or ones % base:
            break
        ones, found = ones // base, suffix
    return f"{ones}{found}"
