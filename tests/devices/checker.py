"""Whether devices were given as the API's rules have it, and whether any could be: plainly, from JSON.

    problems(facts, allocations)   what is wrong with allocations of a case's claims, on its node
    solvable(facts)                whether there is a way to meet all claims of a case; tries everything

Nothing of the allocator is used but its selectors.  Rules are about one pod's claims in their order: a device that was
given for administration is nobody's, but within one pod nobody takes it after that.
"""

import copy
import itertools
from collections.abc import Iterator
from typing import Any

import msgspec

from muster.api.devices import Device
from muster.base.quantity import nanos
from muster.base.selectors import NodeSelector
from muster.devices.facts import facts_of
from muster.devices.selectors import selector_of

Document = dict[str, Any]
ONE = 10**9


class Offered:
    """A device that the node can use."""

    def __init__(self, spec: Document, device: Document) -> None:
        self.key = (spec["driver"], spec["pool"]["name"], device["name"])
        self.pool = self.key[:2]
        self.spec = spec
        self.device = device
        self.is_shared = bool(device.get("allowMultipleAllocations"))
        self.facts = facts_of(spec["driver"], msgspec.convert(device, Device))

    def attribute(self, name: str) -> tuple[str, Any] | None:
        attributes = self.device.get("attributes", {})
        domain, _, short = name.partition("/")
        found = attributes.get(name) or (attributes.get(short) if domain == self.key[0] else None)
        return None if found is None else next(iter(found.items()))


def reaches(where: Document, node: Document) -> bool:
    """Whether a slice or device says that the node can use it."""
    if where.get("nodeName"):
        return bool(where["nodeName"] == node["name"])
    if where.get("allNodes"):
        return True
    selector = where.get("nodeSelector")
    return selector is not None and msgspec.convert(selector, NodeSelector).matches(node["labels"], node["name"])


def offered(facts: Document) -> list[Offered]:
    """Devices of pools that are all there; whole pools only are asked for by those who use this with `solvable`."""
    found = []
    for one in facts["slices"]:
        spec = one["spec"]
        for device in spec.get("devices", ()):
            if reaches(device if spec.get("perDeviceNodeSelection") else spec, facts["node"]):
                found.append(Offered(spec, device))
    return found


def _ways(request: Document) -> list[tuple[str, Document]]:
    if "firstAvailable" in request:
        return [(f"{request['name']}/{one['name']}", one) for one in request["firstAvailable"]]
    return [(request["name"], request["exactly"])]


class State:
    """Claims that are being met, device by device."""

    def __init__(self, facts: Document) -> None:
        self.facts = facts
        self.classes = {one["metadata"]["name"]: one for one in facts["classes"]}
        self.offered = offered(facts)
        self.whole = {tuple(one) for one in facts.get("taken", ())}
        self.shares: dict[tuple[str, ...], dict[str, int]] = {tuple(one): {} for one in facts.get("shared", ())}
        for one in facts.get("consumed", ()):
            amounts = {name: nanos(amount) for name, amount in one["capacity"].items()}
            self.shares[tuple(one["device"])] = amounts
        self.picked: dict[tuple[str, ...], list[int]] = {}
        self.levels = _levels(facts, {*self.whole, *self.shares})
        self.seen_values: dict[tuple[int, int], list[Any]] = {}
        self.counts = [0] * len(facts["claims"])

    def add(self, claim: int, request: Document, name: str, way: Document, one: Offered) -> str:
        """Gives the device to one of the ways to meet a request; says what speaks against it."""
        spec = self.facts["claims"][claim]["spec"]["devices"]
        is_admin = way.get("adminAccess") is True
        if is_admin and claim in self.picked.get(one.key, ()):
            return "given to the claim already"
        if not is_admin and (one.key in self.whole or one.key in self.picked):
            return "not free"
        if not self.selects(way, one):
            return "not selected"
        if any(not _tolerated(taint, way) for taint in one.device.get("taints", ())):
            return "tainted"
        amounts = consumed(way, one)
        if amounts is None:
            return "not in such amounts"
        if not self._keeps(claim, spec, request["name"], name, one):
            return "a constraint is not kept"
        return self._room(one, amounts) or self._count(one) or self._done(claim, one, amounts)

    def selects(self, way: Document, one: Offered) -> bool:
        selectors = (*self.classes[way["deviceClassName"]]["spec"].get("selectors", ()), *way.get("selectors", ()))
        return all(selector_of(sel["cel"]["expression"]).matches(one.facts) is True for sel in selectors)

    def _keeps(self, claim: int, spec: Document, request: str, name: str, one: Offered) -> bool:
        for number, constraint in enumerate(spec.get("constraints", ())):
            if constraint.get("requests") and not {request, name} & set(constraint["requests"]):
                continue
            value = one.attribute(constraint.get("matchAttribute") or constraint["distinctAttribute"])
            values = self.seen_values.setdefault((claim, number), [])
            if value is None:
                return False
            if "matchAttribute" in constraint and any(other != value for other in values):
                return False
            if "distinctAttribute" in constraint and value in values:
                return False
            values.append(value)
        return True

    def _room(self, one: Offered, amounts: dict[str, int]) -> str:
        used = self.shares.get(one.key, {})
        for name, capacity in one.device.get("capacity", {}).items():
            if used.get(name, 0) + amounts[name] > nanos(capacity["value"]):
                return f"not enough {name}"
        return ""

    def _count(self, one: Offered) -> str:
        draws = one.device.get("consumesCounters", ())
        if not draws or (one.is_shared and one.key in self.shares):
            return ""
        levels = self.levels[one.pool]
        for draw in draws:
            for name, counter in draw["counters"].items():
                levels[draw["counterSet"], name] -= nanos(counter["value"])
        return "counters run out" if any(level < 0 for level in levels.values()) else ""

    def _done(self, claim: int, one: Offered, amounts: dict[str, int]) -> str:
        if one.is_shared:
            used = self.shares.setdefault(one.key, {})
            for name, amount in amounts.items():
                used[name] = used.get(name, 0) + amount
        else:
            self.picked.setdefault(one.key, []).append(claim)
        self.counts[claim] += 1
        return "more than 32 devices" if self.counts[claim] > 32 else ""

    def everything(self, way: Document) -> list[Offered]:
        """What a request for all devices stands for."""
        return [one for one in self.offered if self.selects(way, one) and consumed(way, one) is not None]

    def copy(self) -> "State":
        made = copy.copy(self)
        made.shares = {key: dict(amounts) for key, amounts in self.shares.items()}
        made.picked = {key: list(claims) for key, claims in self.picked.items()}
        made.levels = {pool: dict(levels) for pool, levels in self.levels.items()}
        made.seen_values = {key: list(values) for key, values in self.seen_values.items()}
        made.counts = list(self.counts)
        return made


def _levels(facts: Document, used: set[tuple[str, ...]]) -> dict[tuple[str, ...], dict[tuple[str, str], int]]:
    found: dict[tuple[str, ...], dict[tuple[str, str], int]] = {}
    for one in facts["slices"]:
        levels = found.setdefault((one["spec"]["driver"], one["spec"]["pool"]["name"]), {})
        for counters in one["spec"].get("sharedCounters", ()):
            for name, counter in counters["counters"].items():
                levels[counters["name"], name] = nanos(counter["value"])
    for one in facts["slices"]:
        pool = (one["spec"]["driver"], one["spec"]["pool"]["name"])
        for device in one["spec"].get("devices", ()):
            if (*pool, device["name"]) in used:
                for draw in device.get("consumesCounters", ()):
                    for name, counter in draw["counters"].items():
                        found[pool][draw["counterSet"], name] -= nanos(counter["value"])
    return found


def _tolerated(taint: Document, way: Document) -> bool:
    if taint["effect"] not in ("NoSchedule", "NoExecute"):
        return True
    for one in way.get("tolerations", ()):
        meant = one.get("effect", taint["effect"]) == taint["effect"] and one.get("key", taint["key"]) == taint["key"]
        if meant and (one.get("operator") == "Exists" or one.get("value", "") == taint.get("value", "")):
            return True
    return False


def consumed(way: Document, one: Offered) -> dict[str, int] | None:
    """How much of each capacity the device gives; None if it does not give that."""
    asked = way.get("capacity", {}).get("requests", {})
    capacities = one.device.get("capacity", {})
    if set(asked) - set(capacities):
        return None
    found = {}
    for name, capacity in capacities.items():
        amount = _amount(nanos(asked[name]) if name in asked else None, capacity)
        if amount is None or amount > nanos(capacity["value"]):
            return None
        found[name] = amount
    return found


def _amount(asked: int | None, capacity: Document) -> int | None:
    policy = capacity.get("requestPolicy", {})
    if asked is None:
        return nanos(policy.get("default", capacity["value"]))
    if "validValues" in policy:
        return min((v for v in map(nanos, policy["validValues"]) if v >= asked), default=None)
    if "validRange" not in policy:
        return asked
    bounds = {name: nanos(amount) for name, amount in policy["validRange"].items()}
    amount = max(asked, bounds["min"])
    while "step" in bounds and (amount - bounds["min"]) % bounds["step"]:
        amount += ONE - amount % ONE if amount % ONE else ONE
    return amount if amount <= bounds.get("max", amount) else None


# --- what was given ---


def problems(facts: Document, allocations: list[Document]) -> list[str]:
    """What is wrong with it, in words; nothing: all is well."""
    state = State(facts)
    by_key = {one.key: one for one in state.offered}
    found = []
    for claim, allocation in enumerate(allocations):
        results = allocation.get("devices", {}).get("results", [])
        requests = facts["claims"][claim]["spec"]["devices"].get("requests", [])
        names = {name for request in requests for name, _ in _ways(request)}
        found += [
            f"result for {one['request']}, which nobody asked for" for one in results if one["request"] not in names
        ]
        for request in requests:
            found += _of_request(state, claim, request, results, by_key)
    return found


def _of_request(
    state: State, claim: int, request: Document, results: list[Document], by_key: dict[tuple[str, ...], Offered]
) -> Iterator[str]:
    met = {name: [one for one in results if one["request"] == name] for name, _ in _ways(request)}
    chosen = [(name, way) for name, way in _ways(request) if met[name]]
    if len(chosen) != 1:
        yield f"request {request['name']}: met in {len(chosen)} ways"
        return
    [(name, way)] = chosen
    keys = [(one["driver"], one["pool"], one["device"]) for one in met[name]]
    wanted = len(state.everything(way)) if way["allocationMode"] == "All" else way.get("count", 1)
    if len(set(keys)) != wanted or len(keys) != wanted:
        yield f"request {name}: {len(keys)} results for {wanted} devices"
    for key, result in zip(keys, met[name], strict=True):
        if key not in by_key:
            yield f"request {name}: {key} cannot be used on the node"
            continue
        why = state.add(claim, request, name, way, by_key[key])
        if why:
            yield f"request {name}: {key}: {why}"
        if bool(result.get("adminAccess")) is not (way.get("adminAccess") is True):
            yield f"request {name}: {key}: administration"
        if by_key[key].is_shared is not ("shareID" in result):
            yield f"request {name}: {key}: share"
        amounts = {one: nanos(amount) for one, amount in result.get("consumedCapacity", {}).items()}
        if amounts != (consumed(way, by_key[key]) if by_key[key].is_shared else {}):
            yield f"request {name}: {key}: takes {amounts}"


# --- what could be given ---


def solvable(facts: Document) -> bool:
    """Whether devices can be found for all claims; only for worlds whose pools are all there."""
    requests = [
        (claim, request)
        for claim, one in enumerate(facts["claims"])
        for request in one["spec"]["devices"].get("requests", ())
    ]
    return _solvable(State(facts), requests)


def _solvable(state: State, requests: list[tuple[int, Document]]) -> bool:
    if not requests:
        return True
    (claim, request), *rest = requests
    for name, way in _ways(request):
        for chosen in _choices(state, way):
            trial = state.copy()
            if not any(trial.add(claim, request, name, way, one) for one in chosen) and _solvable(trial, rest):
                return True
    return False


def _choices(state: State, way: Document) -> Iterator[tuple[Offered, ...]]:
    if way["allocationMode"] == "All":
        everything = tuple(state.everything(way))
        return iter((everything,) if everything else ())
    selected = [one for one in state.offered if state.selects(way, one)]
    return itertools.combinations(selected, way.get("count", 1))
