"""Devices for one pod on each of many nodes: seen for the first time, tried anew, and remembered."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from benchmarks.report import line, title
from muster.api.devices import DeviceClaim, DeviceClass, ResourceSlice
from muster.api.wire import read
from muster.devices.allocator import Found, Refused, allocate
from muster.devices.inventory import Inventory
from muster.devices.matching import match
from muster.devices.needs import Need, need_of
from muster.devices.results import allocations
from muster.devices.taken import FREE

_NODES = 1000
_DRIVER = "gpu.example"
_MODEL = f"device.attributes['{_DRIVER}'].model == 'h100'"
_MEMORY = f"device.capacity['{_DRIVER}'].memory.compareTo(quantity('40Gi')) >= 0"


def devices() -> None:
    """Nodes with 8 devices each that have serial numbers: no two nodes see the same."""
    title(f"{_NODES:,} nodes with 8 devices, microseconds of processor time for each node")
    one = {"name": "gpu", "exactly": {"deviceClassName": "gpu", "selectors": [_cel(f"{_MODEL} && {_MEMORY}")]}}
    four = {"name": "gpu", "exactly": {"deviceClassName": "gpu", "count": 4}}
    _measure("1 of 8, chosen by model and memory", {"requests": [one]})
    switch = {"matchAttribute": f"{_DRIVER}/switch"}
    _measure("4 of one switch", {"requests": [four], "constraints": [switch]})


def _measure(name: str, claim: dict[str, Any]) -> None:
    inventory = Inventory()
    for number in range(_NODES):
        inventory.put_slice(_slice(number))
    classes = {"gpu": read(DeviceClass, {"kind": "DeviceClass", "metadata": {"name": "gpu"}})}
    need = need_of(read(DeviceClaim, claim), classes)
    assert isinstance(need, Need)
    needs, free = (need,), (FREE,)
    seeing, seen = _timed(lambda: [inventory.seen(f"n{number}", {}) for number in range(_NODES)])
    matching, matched = _timed(lambda: [match(needs, one.supply) for one in seen])
    trying, found = _timed(lambda: [allocate(needs, one, free) for one in matched])
    memo: dict[object, Found | Refused] = {(one, free): what for one, what in zip(matched, found, strict=True)}
    remembering, _ = _timed(lambda: [memo[one, free] for one in matched])
    given = [one for one in found if isinstance(one, Found)]
    assert len(given) == _NODES
    writing, _ = _timed(
        lambda: [
            allocations(what, needs, one, node="n", claim_uids=["uid"]) for what, one in zip(given, seen, strict=True)
        ]
    )
    first = f"{seeing + matching:6.0f} seen and matched ({len(set(map(id, matched)))} matchings)"
    line(name, first, f"{trying:5.1f} searched", f"{remembering:5.2f} remembered", f"{writing:5.1f} written")


def _timed(run: Callable[[], list[Any]]) -> tuple[float, list[Any]]:
    began = time.process_time()
    made = run()
    return (time.process_time() - began) / _NODES * 1e6, made


def _cel(text: str) -> dict[str, Any]:
    return {"cel": {"expression": text}}


def _slice(number: int) -> ResourceSlice:
    pool = {"name": f"n{number}", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": _DRIVER, "nodeName": f"n{number}", "pool": pool, "devices": list(_devices(number))}
    return read(ResourceSlice, {"kind": "ResourceSlice", "metadata": {"name": f"s{number}"}, "spec": spec})


def _devices(node: int) -> Iterable[dict[str, Any]]:
    for number in range(8):
        attributes = {
            "model": {"string": "h100"},
            "uuid": {"string": f"GPU-{node}-{number}"},
            "switch": {"string": f"{node}-{number // 4}"},
            "driverVersion": {"version": "550.1.0"},
            "index": {"int": number},
        }
        yield {"name": f"gpu-{number}", "attributes": attributes, "capacity": {"memory": {"value": "80Gi"}}}


BENCHMARKS: dict[str, Callable[[], None]] = {"devices": devices}
