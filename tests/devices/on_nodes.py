"""What the checker asks about one node of a cluster: which pools are all there, what taints them, what is given away.

Plainly, from JSON, and by nothing of the code that is checked but its selectors of nodes.
"""

import copy
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from muster.base.quantity import nanos
from tests.devices.checker import reaches

Document = dict[str, Any]
Key = tuple[str, str, str]
_ONE = 10**9


def facts_on(
    node: Document,
    claims: Sequence[Document],
    *,
    classes: Sequence[Document],
    slices: Sequence[Document],
    rules: Sequence[Document],
    allocations: Iterable[Document],
) -> Document:
    """A case of the checker: these claims on this node, beside what others have."""
    place = {"name": node["metadata"]["name"], "labels": node["metadata"].get("labels", {})}
    whole: list[list[str]] = []
    shares: dict[Key, Counter[str]] = defaultdict(Counter)
    for result in (one for each in allocations for one in each["devices"].get("results", ())):
        key = result["driver"], result["pool"], result["device"]
        if result.get("adminAccess"):
            continue
        if "shareID" in result:
            shares[key].update({name: nanos(text) for name, text in result.get("consumedCapacity", {}).items()})
        else:
            whole.append([*key])
    return {
        "claims": list(claims),
        "classes": list(classes),
        "slices": [_tainted(one, rules) for one in usable(slices, place)],
        "node": place,
        "taken": whole,
        "shared": [[*key] for key in shares],
        "consumed": [
            {"device": [*key], "capacity": {name: _text(amount) for name, amount in used.items()}}
            for key, used in shares.items()
        ],
    }


def usable(slices: Iterable[Document], place: Document) -> list[Document]:
    """All slices of pools from which the node may be given devices, those that other nodes see included."""
    pools: dict[tuple[str, str], list[Document]] = defaultdict(list)
    for one in slices:
        pools[one["spec"]["driver"], one["spec"]["pool"]["name"]].append(one)
    found = []
    for pool in pools.values():
        seen = [one for one in pool if _is_seen(one["spec"], place)]
        if seen:
            found += _newest(pool, seen, place)
    return found


def _newest(pool: list[Document], seen: list[Document], place: Document) -> list[Document]:
    generation = max(_generation(one) for one in seen)
    mine = [one for one in seen if _generation(one) == generation]
    wanted = mine[0]["spec"]["pool"]["resourceSliceCount"]
    if len(mine) != wanted:
        mine = [one for one in pool if _generation(one) == generation]
        if len(mine) != wanted or any(_generation(one) > generation for one in pool):
            return []
    names = [
        device["name"] for one in mine if _is_seen(one["spec"], place) for device in one["spec"].get("devices", ())
    ]
    return mine if len(names) == len(set(names)) else []


def _generation(one: Document) -> int:
    generation: int = one["spec"]["pool"]["generation"]
    return generation


def _is_seen(spec: Document, place: Document) -> bool:
    if spec.get("perDeviceNodeSelection"):
        return any(reaches(device, place) for device in spec.get("devices", ()))
    return reaches(spec, place)


def _tainted(one: Document, rules: Sequence[Document]) -> Document:
    made = copy.deepcopy(one)
    spec = made["spec"]
    for device in spec.get("devices", ()):
        names = {"driver": spec["driver"], "pool": spec["pool"]["name"], "device": device["name"]}
        for rule in rules:
            if all(names[field] == name for field, name in rule["spec"]["deviceSelector"].items()):
                device["taints"] = [*device.get("taints", ()), rule["spec"]["taint"]]
    return made


def _text(amount: int) -> str:
    assert amount % _ONE == 0, "amounts are whole in these worlds"
    return str(amount // _ONE)
