"""Worlds of claims and devices as JSON has them, and what came of them.

id                         name of the case
claims, classes, slices    objects; claims in the pod's order
node                       name and labels
taken, shared, consumed    driver, pool and name of devices that are given away: whole, in shares, and how much of them
results                    allocations, one for each claim; share IDs are "shared"
error                      true where the whole attempt ends; neither: it does not fit
gates                      alpha features that the case is about, which are off
steps                      of the recorded search
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from muster.api.devices import Allocation, DeviceClass, ResourceClaim, ResourceSlice
from muster.base.quantity import nanos
from muster.devices.allocator import MOST_STEPS, Found, Refused, allocate
from muster.devices.inventory import Inventory, Seen
from muster.devices.matching import match
from muster.devices.needs import Unmet, need_of
from muster.devices.results import allocations
from muster.devices.taken import FREE, PoolKey, Shares, Taken

FOLDER = Path(__file__).parent / "upstream_cases"


class World(NamedTuple):
    claims: list[ResourceClaim]
    classes: dict[str, DeviceClass]
    slices: list[ResourceSlice]
    node: str
    labels: dict[str, str]
    taken: dict[PoolKey, Taken]


def cases(file: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / file).read_text().splitlines()]


def world(facts: dict[str, Any]) -> World:
    return World(
        [_object(ResourceClaim, one) for one in facts["claims"]],
        {one["metadata"]["name"]: _object(DeviceClass, one) for one in facts["classes"]},
        [_object(ResourceSlice, one) for one in facts["slices"]],
        facts["node"]["name"],
        facts["node"]["labels"],
        _taken(facts),
    )


def _object(kind: type[Any], document: dict[str, Any]) -> Any:
    return msgspec.convert({**document, "kind": kind.__name__}, kind)


def _taken(facts: dict[str, Any]) -> dict[PoolKey, Taken]:
    found: dict[PoolKey, Taken] = {}
    for driver, pool, device in facts.get("taken", ()):
        found[driver, pool] = found.get((driver, pool), FREE).taking(device)
    shares: dict[tuple[str, str, str], Shares] = {}
    for driver, pool, device in facts.get("shared", ()):
        shares[driver, pool, device] = Shares(1, ())
    for one in facts.get("consumed", ()):
        driver, pool, device = one["device"]
        parts = tuple(sorted((name, nanos(amount)) for name, amount in one["capacity"].items()))
        shares[driver, pool, device] = Shares(1, parts)
    for (driver, pool, device), share in shares.items():
        found[driver, pool] = found.get((driver, pool), FREE).taking(device, share.parts)
    return found


def seen_by(given: World) -> Seen:
    inventory = Inventory()
    for one in given.slices:
        inventory.put_slice(one)
    return inventory.seen(given.node, given.labels)


def solved(given: World, *, steps: int = MOST_STEPS) -> tuple[Allocation, ...] | Refused | Unmet:
    """What the allocator finds in this world."""
    needs = []
    for claim in given.claims:
        need = need_of(claim.spec.devices, given.classes)
        if isinstance(need, Unmet):
            return need
        needs.append(need)
    seen = seen_by(given)
    matching = match(tuple(needs), seen.supply)
    taken = tuple(given.taken.get(key, FREE) for key in seen.keys)
    found = allocate(tuple(needs), matching, taken, steps=steps)
    if not isinstance(found, Found):
        return found
    uids = [claim.metadata.uid or claim.metadata.name for claim in given.claims]
    return allocations(found, needs, seen, node=given.node, claim_uids=uids)


def written(found: tuple[Allocation, ...]) -> list[dict[str, Any]]:
    """As the API gets it."""
    return [json.loads(msgspec.json.encode(one)) for one in found]


def shown(found: tuple[Allocation, ...]) -> list[dict[str, Any]]:
    """Allocations as cases have them; amounts in billionths."""
    return [plain(one) for one in written(found)]


def plain(allocation: dict[str, Any]) -> dict[str, Any]:
    """The same, however its amounts and share IDs are spelled."""
    made: dict[str, Any] = json.loads(json.dumps(allocation))
    for result in made.get("devices", {}).get("results", ()):
        if "shareID" in result:
            result["shareID"] = "shared"
        if "consumedCapacity" in result:
            amounts = result["consumedCapacity"].items()
            result["consumedCapacity"] = {name: nanos(amount) for name, amount in amounts}
    return made
