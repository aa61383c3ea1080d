"""A simulated driver of devices: on each node a slice of so many of them, and a class by which they are claimed.

    --node-devices gpu.muster.dev=8      devices gpu-0 … gpu-7 of the pool that has the node's name

A device has the attributes model, index, numa and switch (four devices share one of each of the last two) and the
capacity memory.  Slices go with their node.
"""

from __future__ import annotations

from collections.abc import Mapping

from muster.api.calls import Create, Delete, Document, Done, Refused
from muster.api.resources import NODES
from muster.controllers.desk import Again, AtDesks, Desk
from muster.controllers.desk import Look as Looking
from muster.controllers.device_objects import DEVICE_CLASSES, RESOURCE_SLICES
from muster.controllers.objects import Bare, Node

DRIVER = "muster.dev/driver"
"""On a slice: whose it is, so that slices of others are left alone."""
_MEMORY = "80Gi"
_SHARE = 4


class Devices(AtDesks):
    """Publishes the devices of all nodes, of each driver as many as it has on a node."""

    def __init__(self, counts: Mapping[str, int]) -> None:
        self._counts = counts
        self._nodes: dict[str, Node] = {}
        self._slices: dict[str, Bare] = {}
        self._classes: set[str] = set()
        self._desk = Desk(self._look)
        super().__init__(self._desk)
        for driver in counts:
            self._desk.add(f"class {driver}")

    def seen(self, where: str, thing: Node | Bare) -> None:
        name = thing.metadata.name
        if isinstance(thing, Node):
            self._nodes[name] = thing
            self._desk.add(f"node {name}")
        elif where == RESOURCE_SLICES.path():
            self._slices[name] = thing
            if (owner := thing.metadata.labels.get(DRIVER)) in self._counts:
                self._desk.add(f"node {name.removesuffix(f'-{owner}')}")
        else:
            self._classes.add(name)

    def gone(self, where: str, thing: Node | Bare) -> None:
        name = thing.metadata.name
        if isinstance(thing, Node):
            self._nodes.pop(name, None)
            self._desk.add(f"node {name}")
        elif where == RESOURCE_SLICES.path():
            self._slices.pop(name, None)
            for driver in self._counts:
                self._desk.add(f"node {name.removesuffix(f'-{driver}')}")
        else:
            self._classes.discard(name)
            if name in self._counts:
                self._desk.add(f"class {name}")

    def _look(self, key: str) -> Looking:
        what, _, name = key.partition(" ")
        if what == "class":
            if name not in self._classes:
                yield from _made(Create(path=DEVICE_CLASSES.path(), body=class_document(name), told=True))
            return
        for driver, count in sorted(self._counts.items()):
            known, node = self._slices.get(slice_name(name, driver)), self._nodes.get(name)
            if node is None and known is not None and known.metadata.labels.get(DRIVER) == driver:
                yield [Delete(path=RESOURCE_SLICES.path(name=known.metadata.name), uid=known.metadata.uid)]
            elif node is not None and known is None and count:
                body = slice_document(node, driver, count)
                yield from _made(Create(path=RESOURCE_SLICES.path(), body=body, told=True))


def _made(call: Create) -> Looking:
    """One that is there already is left as it is."""
    [answer] = yield [call]
    if not isinstance(answer, Done) and not (isinstance(answer, Refused) and answer.code == 409):
        raise Again


def slice_name(node: str, driver: str) -> str:
    return f"{node}-{driver}"


def slice_document(node: Node, driver: str, count: int) -> Document:
    """All devices of a driver on a node."""
    name, uid = node.metadata.name, node.metadata.uid
    kind = driver.partition(".")[0]
    return {
        "apiVersion": RESOURCE_SLICES.api_version,
        "kind": RESOURCE_SLICES.kind,
        "metadata": {
            "name": slice_name(name, driver),
            "labels": {DRIVER: driver},
            "ownerReferences": [{"apiVersion": "v1", "kind": NODES.kind, "name": name, "uid": uid, "controller": True}],
        },
        "spec": {
            "driver": driver,
            "nodeName": name,
            "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
            "devices": [_device(kind, name, number) for number in range(count)],
        },
    }


def _device(kind: str, node: str, number: int) -> Document:
    shared = number // _SHARE
    return {
        "name": f"{kind}-{number}",
        "attributes": {
            "model": {"string": f"simulated-{kind}"},
            "index": {"int": number},
            "numa": {"int": shared},
            "switch": {"string": f"{node}-{shared}"[-64:]},
        },
        "capacity": {"memory": {"value": _MEMORY}},
    }


def class_document(driver: str) -> Document:
    """By which a driver's devices are claimed: gpu.muster.dev, or as the resource muster.dev/gpu of a container."""
    kind, _, domain = driver.partition(".")
    return {
        "apiVersion": DEVICE_CLASSES.api_version,
        "kind": DEVICE_CLASSES.kind,
        "metadata": {"name": driver},
        "spec": {
            "selectors": [{"cel": {"expression": f'device.driver == "{driver}"'}}],
            "extendedResourceName": f"{domain}/{kind}",
        },
    }
