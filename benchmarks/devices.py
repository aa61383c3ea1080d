"""Devices for one pod on each of many nodes: seen for the first time, tried anew, and remembered."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable
from typing import Any

from msgspec.structs import replace

from benchmarks.report import line, title
from benchmarks.shapes import group, nodes, pod
from muster.api.devices import ClaimStatus, DeviceClaim, DeviceClass, ResourceClaim, ResourceSlice
from muster.api.wire import PodClaim, read
from muster.devices.allocator import Found, Refused, allocate
from muster.devices.inventory import Inventory
from muster.devices.matching import match
from muster.devices.needs import Need, need_of
from muster.devices.results import allocations
from muster.devices.taken import FREE
from muster.engine.changes import Bound, Change, FactSeen, PodSeen
from muster.engine.decisions import Bind, Decision, Prepare
from muster.engine.engine import Engine
from muster.framework.grants import Allocate
from muster.plugins.defaults import default_profile

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


def _slice(number: int, node: str = "") -> ResourceSlice:
    node = node or f"n{number}"
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": _DRIVER, "nodeName": node, "pool": pool, "devices": list(_devices(number))}
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


def device_gangs() -> None:
    """Pods with a claim each, from pod and claim to bind; the API shows at once what is granted."""
    title(f"{_NODES:,} nodes with 8 devices, pods with a claim for one each; processor time of the engine alone")
    for gangs, size in ((500, 8), (1, 1_000)):
        engine = Engine(default_profile())
        engine.apply([FactSeen(read(DeviceClass, {"kind": "DeviceClass", "metadata": {"name": "gpu"}}))])
        engine.apply(nodes(_NODES, random.Random(1)))
        engine.apply([FactSeen(_slice(number, f"node-{number:05d}")) for number in range(_NODES)])
        # every device is looked at once, whoever asks first
        first = _bound(engine, *_claiming("first", 1, 1))
        times = _bound(engine, *_claiming("g", gangs, size))
        line(
            f"{gangs} gangs × {size:,}",
            f"{gangs * size / sum(times):8,.0f} pods/s",
            f"arrivals {times[0]:5.2f} s",
            f"decided {times[1]:5.2f} s",
            f"granted and bound {times[2]:5.2f} s",
            f"the first pod before them {sum(first):5.2f} s",
        )


def _bound(engine: Engine, claims: dict[str, ResourceClaim], changes: list[Change]) -> list[float]:
    """Seconds to take pods and claims in, to decide, and to bind when the API shows what is granted."""
    times = [time.process_time()]
    engine.apply(changes)
    times.append(time.process_time())
    granted = list(_decisions(engine))
    times.append(time.process_time())
    shown = list(_shown(granted, claims))
    times[-1:] = [times[-1], time.process_time()]
    engine.apply(shown)
    bound = [one for decision in _decisions(engine) if isinstance(decision, Bind) for one in decision.pods]
    times.append(time.process_time())
    assert len(bound) == len(claims), len(bound)
    engine.apply([Bound(one.uid, one.node, at=1.0) for one in bound])
    engine.decide(1.0)
    return [times[1] - times[0], times[2] - times[1], times[4] - times[3]]


def _decisions(engine: Engine) -> Iterable[Decision]:
    while True:
        yield from engine.decide(1.0)
        due = engine.next_decide_at
        if due is None or due > 1.0:
            return


def _claiming(prefix: str, gangs: int, size: int) -> tuple[dict[str, ResourceClaim], list[Change]]:
    exactly = {"deviceClassName": "gpu", "selectors": [_cel(f"{_MODEL} && {_MEMORY}")]}
    spec = {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}
    claims: dict[str, ResourceClaim] = {}
    changes: list[Change] = []
    for number in range(gangs):
        name = f"{prefix}-{number:05d}"
        changes.append(group(name, size, created=number))
        for index in range(size):
            member = pod(f"{name}-{index:05d}", cpu_milli=1000, memory_gib=2, index=index, gang=name)
            meta = {"name": f"{name}-{index}", "namespace": member.pod.metadata.namespace, "uid": f"{name}-{index}"}
            claim = read(ResourceClaim, {"kind": "ResourceClaim", "metadata": meta, "spec": spec})
            claims[f"{meta['namespace']}/{meta['name']}"] = claim
            named = (PodClaim(name="gpu", resource_claim_name=meta["name"]),)
            spec_of = replace(member.pod.spec, resource_claims=named)
            changes += [FactSeen(claim), PodSeen(replace(member.pod, spec=spec_of))]
    return claims, changes


def _shown(decisions: Iterable[object], claims: dict[str, ResourceClaim]) -> Iterable[Change]:
    for one in decisions:
        for grant in one.grants if isinstance(one, Prepare) else ():
            assert isinstance(grant, Allocate)
            status = ClaimStatus(allocation=grant.allocation, reserved_for=grant.reserved_for)
            yield FactSeen(replace(claims[grant.claim], status=status))


BENCHMARKS: dict[str, Callable[[], None]] = {"devices": devices, "device-gangs": device_gangs}
