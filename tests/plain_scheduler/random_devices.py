"""Devices and claims for them over the clusters of `random_clusters`.

    equipped_surroundings()     with classes of devices, and a namespace whose pods may have devices for administration
    equipped(world)             its pods claim devices; slices, rules and claims are the world's own, by name

Few drivers, attributes and taints, so that much of it meets.  What comes out is what drivers, people and the controller
of claims would send to an API server, and valid.  No device has binding conditions: whether they hold kube-scheduler
looks every five seconds.
"""

import copy
import itertools
import random
from dataclasses import dataclass, field
from typing import Any

from tests.plain_scheduler.random_clusters import ZONE, Surroundings, World
from tests.plain_scheduler.random_priorities import ranked_surroundings
from tests.plain_scheduler.selectors import Document

SPACE = "red"
"""Pods with claims are here."""
DRIVERS = ("a.example", "b.example")
ENTRY = "made"
"""The name, in a pod, of the claim that is made for it."""
_API = "/apis/resource.k8s.io/v1"
PATHS = {
    "slices": f"{_API}/resourceslices",
    "rules": f"{_API}/devicetaintrules",
    "claims": f"{_API}/namespaces/{SPACE}/resourceclaims",
}
"""By the field of a Gear."""
CLASSES: dict[str, Document] = {
    "any": {},
    "a": {"selectors": [{"cel": {"expression": "device.driver == 'a.example'"}}]},
    "sized": {"selectors": [{"cel": {"expression": "device.attributes['a.example'].?size.orValue(0) > 1"}}]},
    "told": {"config": [{"opaque": {"driver": "a.example", "parameters": {"mode": "fast"}}}]},
}
_TOTAL = (
    "'switch' in device.attributes['a.example']",
    "device.attributes['a.example'].?size.orValue(0) > 1",
    "device.driver == 'b.example'",
    "!device.allowMultipleAllocations",
    "'memory' in device.capacity[device.driver]",
)
_PARTIAL = (
    "device.attributes['a.example'].switch == 's1'",
    "device.capacity['a.example'].memory.compareTo(quantity('3')) >= 0",
)
"""Selectors that fail for devices which do not have the thing."""
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
_ZONES = ("east", "west", "north")
_ROOM = ("affinity", "topologySpreadConstraints", "nodeSelector", "hostNetwork", "resources", "initContainers")


@dataclass
class Gear:
    """Everything about devices but their classes, as documents."""

    slices: list[Document] = field(default_factory=list)
    rules: list[Document] = field(default_factory=list)
    claims: list[Document] = field(default_factory=list)

    def claim(self, name: str) -> Document:
        return next(one for one in self.claims if one["metadata"]["name"] == name)


@dataclass
class EquippedWorld(World):
    gear: Gear
    """Claims without status: what they have is in..."""
    held: dict[str, Document]
    """...allocations, by the name of the claim..."""
    holders: dict[str, str]
    """...and for whom these are reserved: pods that are there from the start."""
    templates: dict[str, Document]
    """By the name of a pod: the claim that is made for it."""


def equipped_surroundings() -> Surroundings:
    found = ranked_surroundings()
    for space in found.by_path["/api/v1/namespaces"]:
        if space["metadata"]["name"] == SPACE:
            space["metadata"]["labels"]["resource.kubernetes.io/admin-access"] = "true"
    found.by_path[f"{_API}/deviceclasses"] = [
        {"kind": "DeviceClass", "metadata": {"name": name}, "spec": spec} for name, spec in CLASSES.items()
    ]
    return found


def equipped(world: World, *, errors: bool = True) -> EquippedWorld:
    """errors   With selectors that are wrong for some devices, pools that are wrong or not all there, and constraints
    on what asks for all devices: kube-scheduler gives up on many pods then."""
    return _Chance(world, errors=errors).world()


def rule_over(chance: random.Random, name: str, slices: list[Document]) -> Document:
    """Over all devices, those of a driver or a pool, or one."""
    spec = chance.choice([one["spec"] for one in slices if "devices" in one["spec"]])
    device = chance.choice(spec["devices"])["name"]
    wanted = chance.choice(
        (
            {},
            {"driver": spec["driver"]},
            {"pool": spec["pool"]["name"]},
            {"pool": spec["pool"]["name"], "device": device},
            {"driver": spec["driver"], "pool": spec["pool"]["name"], "device": device},
        )
    )
    # all that taints every device at all times leaves little to compare
    taint = chance.choice(_TAINTS if wanted else _TAINTS[1:])
    return {"metadata": {"name": name}, "spec": {"deviceSelector": wanted, "taint": taint}}


class _Chance(random.Random):
    def __new__(cls, world: World, *, errors: bool) -> "_Chance":
        return super().__new__(cls)

    def __init__(self, world: World, *, errors: bool) -> None:
        super().__init__(f"devices {world.seed}")
        self._world = copy.deepcopy(world)
        self._errors = errors
        self._name = f"w{world.seed}"
        self._made = Gear()
        self._held: dict[str, Document] = {}
        self._holders: dict[str, str] = {}
        self._templates: dict[str, Document] = {}
        self._numbers = itertools.count()

    def world(self) -> EquippedWorld:
        names = [node["metadata"]["name"] for node in self._world.nodes]
        for name in names:
            self._node(name)
        for number in range(self.choice((0, 1, 1, 2))):
            self._pool(self.choice(DRIVERS), f"{self._name}-wide-{number}", self._wide())
        for number in range(self.choice((0, 0, 1, 2))):
            self._made.rules.append(rule_over(self, f"{self._name}-{number}", self._made.slices))
        self._taken(names)
        for pod in self._world.coming:
            self._simpler(pod)
            if not self.one_in(10):
                self._claims_of(pod)
        fields = {name: getattr(self._world, name) for name in World.__dataclass_fields__}
        return EquippedWorld(
            **fields, gear=self._made, held=self._held, holders=self._holders, templates=self._templates
        )

    def one_in(self, many: float) -> bool:
        return self.random() < 1 / many

    def sometimes(self, many: float, **fields: Any) -> Document:
        return fields if self.one_in(many) else {}

    # --- what there is ---

    def _node(self, name: str) -> None:
        if not self.one_in(5):
            self._pool("a.example", name, {"nodeName": name})
        if self.one_in(3):
            self._pool("b.example", name if self.one_in(2) else f"{name}-b", {"nodeName": name})

    def _wide(self) -> Document:
        match self.randrange(4):
            case 0:
                return {"allNodes": True}
            case 1:
                return {"perDeviceNodeSelection": True}
        return self._zonal()

    def _zonal(self) -> Document:
        wanted = {"key": ZONE, "operator": "In", "values": self.sample(_ZONES, self.randint(1, 2))}
        return {"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [wanted]}]}}

    def _pool(self, driver: str, name: str, reach: Document) -> None:
        is_counted, parts = self.one_in(4), self.choice((1, 1, 2))
        generation, count = self.randint(2, 4), parts + is_counted
        if self._errors and self.one_in(12):
            count += 1
        pool = {"name": name, "generation": generation, "resourceSliceCount": count}
        spec = {"driver": driver, "pool": pool, **reach}
        if is_counted:
            slots = {"slots": {"value": str(self.randint(2, 5))}}
            self._slice({**spec, "sharedCounters": [{"name": "set", "counters": slots}]})
        for part in range(parts):
            self._slice({**spec, "devices": self._devices(part, reach, is_counted=is_counted)})
        if self.one_in(6):
            old = {**pool, "generation": generation - 1, "resourceSliceCount": 1}
            self._slice({**spec, "pool": old, "devices": self._devices(8, reach, is_counted=False)})
        if self._errors and self.one_in(20):
            new = {**pool, "generation": generation + 1, "resourceSliceCount": 2}
            self._slice({**spec, "pool": new, "devices": self._devices(9, reach, is_counted=False)})

    def _slice(self, spec: Document) -> None:
        # upstream tries slices in the order of their names, not in that in which they were made
        name = f"{self._name}-{self.randint(10, 99)}-{next(self._numbers)}"
        labels = {"world": self._name}
        self._made.slices.append({"metadata": {"name": name, "labels": labels}, "spec": spec})

    def _devices(self, part: int, reach: Document, *, is_counted: bool) -> list[Document]:
        if self._errors and part == 1 and self.one_in(12):
            # the pool is invalid: a device of its first part has the same name
            part = 0
        found = [self._device(f"d{part}{number}", is_counted=is_counted) for number in range(self.randint(1, 5))]
        if "perDeviceNodeSelection" in reach:
            nodes = [node["metadata"]["name"] for node in self._world.nodes]
            for one in found:
                one.update(self.choice(({"allNodes": True}, {"nodeName": self.choice(nodes)}, self._zonal())))
        return found

    def _device(self, name: str, *, is_counted: bool) -> Document:
        attributes: Document = {}
        if not self.one_in(6):
            switch = self.choice(({"string": "s1"}, {"string": "s1"}, {"string": "s2"}, {"int": 1}))
            attributes["a.example/switch"] = switch
        if self.one_in(2):
            attributes[self.choice(("a.example/size", "a.example/size", "size"))] = {"int": self.randint(1, 3)}
        if self.one_in(10):
            attributes["a.example/kind"] = self.choice(({"bool": True}, {"bool": False}, {"version": "1.0.0"}))
        drawn = [{"counterSet": "set", "counters": {"slots": {"value": str(self.randint(1, 3))}}}]
        is_shared = self.one_in(3)
        return {
            "name": name,
            "attributes": attributes,
            # what has no end can be given to a thousand pods, and Muster counts them
            **self.sometimes(1.1 if is_shared else 2, capacity={"memory": self._capacity(is_shared=is_shared)}),
            **({"allowMultipleAllocations": True} if is_shared else {}),
            **(self.sometimes(1.25, consumesCounters=drawn) if is_counted else {}),
            **self.sometimes(7, taints=[self.choice(_TAINTS)]),
            **self.sometimes(10, bindsToNode=True),
        }

    def _capacity(self, *, is_shared: bool) -> Document:
        kind = self.randrange(4) if is_shared else 3
        if kind == 0:
            values = sorted(self.sample(range(1, 6), 2))
            return {"value": "6", "requestPolicy": {"default": str(values[0]), "validValues": [*map(str, values)]}}
        if kind == 1:
            bounds = {"min": "2", "step": "2", "max": self.choice(("4", "6"))}
            return {"value": "6", "requestPolicy": {"default": "2", "validRange": bounds}}
        return {"value": str(self.randint(1, 6))}

    # --- who has it, from the start ---

    def _taken(self, nodes: list[str]) -> None:
        free = [
            (one["spec"], device)
            for one in self._made.slices
            for device in one["spec"].get("devices", ())
            if one["spec"].get("nodeName") in nodes and not device.get("allowMultipleAllocations")
        ]
        known: set[tuple[str, str, str]] = set()
        for number, (spec, device) in enumerate(self.sample(free, min(len(free), self.randint(0, 4)))):
            key = spec["driver"], spec["pool"]["name"], device["name"]
            if key in known:
                continue
            known.add(key)
            name = f"{self._name}-had-{number}"
            self._add_claim(name, {"requests": [{"name": "r0", "exactly": {"deviceClassName": "any"}}]})
            place = {"key": "metadata.name", "operator": "In", "values": [spec["nodeName"]]}
            self._held[name] = {
                "devices": {"results": [{"request": "r0", "driver": key[0], "pool": key[1], "device": key[2]}]},
                "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [place]}]},
                "allocationTimestamp": "2026-01-01T00:00:00Z",
            }
            if not self.one_in(5):
                self._held_by(f"old-{name}", name, spec["nodeName"])

    def _held_by(self, pod: str, claim: str, node: str) -> None:
        entries = [{"name": "had", "resourceClaimName": claim}]
        spec = {"containers": [{"name": "c", "image": "i"}], "nodeName": node, "resourceClaims": entries}
        self._world.placed.append({"metadata": {"name": pod, "namespace": SPACE, "labels": {}}, "spec": spec})
        self._holders[claim] = pod

    # --- who wants it ---

    def _simpler(self, pod: Document) -> None:
        """Most pods ask for little else, or nothing would come down to devices."""
        if not self.one_in(5):
            for name in _ROOM:
                pod["spec"].pop(name, None)
            for container in pod["spec"]["containers"]:
                container.pop("ports", None)
                container.pop("resources", None)
            pod["spec"]["tolerations"] = [{"operator": "Exists"}]
            if self.one_in(8):
                pod["spec"]["nodeSelector"] = {"fenced": "yes"}
            if self.one_in(6):
                pod["spec"]["priorityClassName"] = "high"

    def _claims_of(self, pod: Document) -> None:
        pod["metadata"]["namespace"] = SPACE
        pod["metadata"].pop("ownerReferences", None)
        entries: dict[str, Document] = {}
        for number in range(self.choice((1, 1, 1, 2, 3))):
            name = self._named(f"{self._name}-{pod['metadata']['name']}-{number}")
            entries[name] = {"name": f"e{number}", "resourceClaimName": name}
        listed = list(entries.values())
        if self.one_in(6):
            self._templates[pod["metadata"]["name"]] = self._asked()
            listed.insert(self.randint(0, 1), {"name": ENTRY, "resourceClaimTemplateName": "template"})
            listed = listed[: self.randint(1, len(listed))]
            if all("resourceClaimName" in entry for entry in listed):
                del self._templates[pod["metadata"]["name"]]
        pod["spec"]["resourceClaims"] = listed

    def _named(self, name: str) -> str:
        """A new claim, or one that somebody has."""
        known = [each["metadata"]["name"] for each in self._made.claims]
        if known and self.one_in(4):
            found: str = self.choice(known)
            return found
        self._add_claim(name, self._asked())
        return name

    def _add_claim(self, name: str, asked: Document) -> None:
        metadata = {"name": name, "namespace": SPACE, "labels": {"world": self._name}}
        self._made.claims.append({"metadata": metadata, "spec": {"devices": asked}})

    def _asked(self) -> Document:
        requests = [self._request(f"r{number}") for number in range(self.choice((1, 1, 1, 2, 3)))]
        names = [one["name"] for one in requests]
        ways = [f"{one['name']}/{way['name']}" for one in requests for way in one.get("firstAvailable", ())]
        constraints = []
        has_all = any(way.get("allocationMode") == "All" for one in requests for way in _ways(one))
        for _ in range(0 if has_all and not self._errors else self.choice((0, 0, 0, 1, 2))):
            kind = self.choice(("matchAttribute", "matchAttribute", "distinctAttribute"))
            attribute = f"a.example/{self.choice(('switch', 'switch', 'size', 'kind'))}"
            constraints.append({kind: attribute, "requests": self._some(names, ways)})
        told = [{"requests": self._some(names, ways), "opaque": {"driver": "a.example", "parameters": {}}}]
        return {"requests": requests, "constraints": constraints, **self.sometimes(4, config=told)}

    def _some(self, names: list[str], ways: list[str]) -> list[str]:
        listed = self.choice((names, [*names, *ways]))
        return self.sample(listed, self.randint(0, len(listed)))

    def _request(self, name: str) -> Document:
        if self.one_in(3):
            ways = [{"name": f"w{number}", **self._ask()} for number in range(self.randint(1, 3))]
            return {"name": name, "firstAvailable": ways}
        return {"name": name, "exactly": {**self._ask(), **self.sometimes(10, adminAccess=True)}}

    def _ask(self) -> Document:
        everything = self.one_in(10)
        selectors = list(_TOTAL)
        if self._errors and self.one_in(10):
            selectors = list(_PARTIAL)
        chosen = [{"cel": {"expression": text}} for text in self.sample(selectors, self.choice((0, 0, 1)))]
        count = {} if everything else {"count": self.choice((1, 1, 1, 1, 2, 3))}
        known = "nowhere" if self.one_in(80) else self.choice(("any", "any", "a", "sized", "told"))
        return {
            "deviceClassName": known,
            "allocationMode": "All" if everything else "ExactCount",
            **count,
            "selectors": chosen,
            **self.sometimes(2, tolerations=[self.choice(_TOLERATIONS)]),
            **self.sometimes(6, capacity={"requests": {"memory": str(self.randint(1, 5))}}),
        }


def _ways(request: Document) -> list[Document]:
    return request.get("firstAvailable") or [request["exactly"]]
