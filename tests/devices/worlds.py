"""Small random worlds of claims and devices, as cases have them."""

from random import Random
from typing import Any

Document = dict[str, Any]

_DRIVERS = ("a.example", "b.example")
_SELECTORS = (
    "device.attributes['a.example'].switch == 's1'",
    "'switch' in device.attributes['a.example']",
    "device.attributes['a.example'].?size.orValue(0) > 1",
    "device.driver == 'b.example'",
    "!device.allowMultipleAllocations",
    "'memory' in device.capacity[device.driver]",
)
_TAINTS = (
    {"key": "broken", "effect": "NoSchedule"},
    {"key": "broken", "value": "fan", "effect": "NoExecute"},
    {"key": "noted", "effect": "None"},
)
_TOLERATIONS = (
    {"operator": "Exists"},
    {"key": "broken", "operator": "Equal", "value": "fan"},
    {"key": "broken", "operator": "Exists", "effect": "NoSchedule"},
)


def random_world(rng: Random, *, errors: bool = True) -> Document:
    """errors   With selectors that are wrong for some devices, and pools that are wrong."""
    slices = _slices(rng, errors=errors)
    devices = [
        (one["spec"]["driver"], one["spec"]["pool"]["name"], device)
        for one in slices
        for device in one["spec"].get("devices", ())
    ]
    return {
        "id": "",
        "claims": [_claim(rng, number, errors=errors) for number in range(rng.choice((1, 1, 2)))],
        "classes": [
            {"metadata": {"name": "any"}, "spec": {}},
            {"metadata": {"name": "a"}, "spec": {"selectors": [_cel("device.driver == 'a.example'")]}},
        ],
        "slices": slices,
        "node": {"name": "n1", "labels": {"zone": "z1"}},
        **_taken(rng, devices),
    }


def _cel(text: str) -> Document:
    return {"cel": {"expression": text}}


def _sometimes(rng: Random, chance: float, **fields: Any) -> Document:
    return fields if rng.random() < chance else {}


def _slices(rng: Random, *, errors: bool) -> list[Document]:
    found: list[Document] = []
    for number in range(rng.randint(1, 3)):
        driver = rng.choice(_DRIVERS)
        pool = {"name": f"p{number}", "generation": 1, "resourceSliceCount": 1}
        counted = rng.random() < 0.3
        parts = rng.choice((1, 1, 2)) + counted
        pool["resourceSliceCount"] = parts + (errors and rng.random() < 0.05)
        for part in range(parts):
            spec: Document = {"driver": driver, "pool": dict(pool), **_reach(rng)}
            if errors and rng.random() < 0.05:
                spec["pool"]["generation"] = 2
            if counted and part == 0:
                spec["sharedCounters"] = [{"name": "set", "counters": {"slots": {"value": str(rng.randint(1, 4))}}}]
            else:
                per_device = spec.get("perDeviceNodeSelection")
                spec["devices"] = [
                    _device(rng, f"d{part}{n}", counted=counted, per_device=bool(per_device))
                    for n in range(rng.randint(1, 3))
                ]
            name = f"s{rng.randint(0, 9)}{len(found)}"
            found.append({"metadata": {"name": name}, "spec": spec})
    return found


def _reach(rng: Random, *, of_device: bool = False) -> Document:
    match rng.randrange(9):
        case 0:
            return {"allNodes": True}
        case 1:
            return {"nodeSelector": _zone("z1")}
        case 2:
            return {"nodeSelector": _zone("z2")}
        case 3:
            return {"nodeName": "n2"}
        case 4 if not of_device:
            return {"perDeviceNodeSelection": True}
    return {"nodeName": "n1"}


def _zone(name: str) -> Document:
    return {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": [name]}]}],
    }


def _device(rng: Random, name: str, *, counted: bool, per_device: bool) -> Document:
    attributes: Document = {}
    if rng.random() < 0.8:
        attributes["a.example/switch"] = rng.choice(({"string": "s1"}, {"string": "s1"}, {"string": "s2"}, {"int": 1}))
    if rng.random() < 0.5:
        attributes[rng.choice(("a.example/size", "a.example/size", "size"))] = {"int": rng.randint(1, 3)}
    if rng.random() < 0.1:
        attributes["a.example/kind"] = rng.choice(({"bool": True}, {"bool": False}, {"version": "1.0.0"}))
    drawn = [{"counterSet": "set", "counters": {"slots": {"value": str(rng.randint(1, 3))}}}]
    return {
        "name": name,
        "attributes": attributes,
        **_sometimes(rng, 0.4, capacity={"memory": _capacity(rng)}),
        **_sometimes(rng, 0.3, allowMultipleAllocations=True),
        **_sometimes(rng, 0.8 if counted else 0, consumesCounters=drawn),
        **_sometimes(rng, 0.2, taints=[rng.choice(_TAINTS)]),
        **_sometimes(rng, 0.1, bindsToNode=True),
        **_sometimes(rng, 0.1, bindingConditions=["ready"], bindingFailureConditions=["broken"]),
        **(_reach(rng, of_device=True) if per_device else {}),
    }


def _capacity(rng: Random) -> Document:
    match rng.randrange(4):
        case 0:
            values = sorted(rng.sample(range(1, 6), 2))
            return {"value": "6", "requestPolicy": {"default": str(values[0]), "validValues": [str(v) for v in values]}}
        case 1:
            bounds = {"min": "2", "step": "2", "max": rng.choice(("4", "6"))}
            return {"value": "6", "requestPolicy": {"default": "2", "validRange": bounds}}
    return {"value": str(rng.randint(1, 6))}


def _claim(rng: Random, number: int, *, errors: bool) -> Document:
    requests = [_request(rng, f"r{n}", errors=errors) for n in range(rng.choice((1, 1, 2, 3)))]
    names = [one["name"] for one in requests] + [
        f"{one['name']}/{way['name']}" for one in requests for way in one.get("firstAvailable", ())
    ]
    constraints: list[Document] = []
    for _ in range(rng.choice((0, 0, 1, 2))):
        kind = rng.choice(("matchAttribute", "matchAttribute", "distinctAttribute"))
        attribute = f"a.example/{rng.choice(('switch', 'switch', 'size', 'kind'))}"
        constraints.append({kind: attribute, "requests": rng.sample(names, rng.randint(0, len(names)))})
    config = [{"requests": rng.sample(names, rng.randint(0, len(names))), "opaque": {"driver": "d", "parameters": {}}}]
    devices = {"requests": requests, "constraints": constraints, **_sometimes(rng, 0.3, config=config)}
    return {"metadata": {"name": f"c{number}", "namespace": "n"}, "spec": {"devices": devices}}


def _request(rng: Random, name: str, *, errors: bool) -> Document:
    if rng.random() < 0.3:
        ways = [{"name": f"w{n}", **_ask(rng, errors=errors)} for n in range(rng.randint(1, 3))]
        return {"name": name, "firstAvailable": ways}
    return {"name": name, "exactly": {**_ask(rng, errors=errors), **_sometimes(rng, 0.1, adminAccess=True)}}


def _ask(rng: Random, *, errors: bool) -> Document:
    everything = rng.random() < 0.15
    selectors = [_cel(text) for text in rng.sample(_SELECTORS[0 if errors else 1 :], rng.choice((0, 0, 1)))]
    count = {} if everything else {"count": rng.choice((1, 1, 1, 2, 2, 3))}
    return {
        "deviceClassName": rng.choice(("any", "any", "a")),
        "allocationMode": "All" if everything else "ExactCount",
        **count,
        "selectors": selectors,
        **_sometimes(rng, 0.4, tolerations=[rng.choice(_TOLERATIONS)]),
        **_sometimes(rng, 0.2, capacity={"requests": {"memory": str(rng.randint(1, 5))}}),
    }


def _taken(rng: Random, devices: list[tuple[str, str, Document]]) -> Document:
    taken, consumed = [], []
    for driver, pool, device in devices:
        if rng.random() >= 0.2:
            continue
        place = [driver, pool, device["name"]]
        if device.get("allowMultipleAllocations"):
            capacity = {"memory": str(rng.randint(1, 3))} if "capacity" in device else {}
            consumed.append({"device": place, "capacity": capacity})
        else:
            taken.append(place)
    return {"taken": taken, "consumed": consumed, "shared": [one["device"] for one in consumed]}
