"""Devices, and claims for them: what a claim's allocation may become, and what slices, classes and taints must be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.control_plane.comparison.steps import TABLE, Step, create, delete, get, patch, titled, update

_SPACE = "default"
_GROUP = "/apis/resource.k8s.io/v1"
_CLAIMS = f"{_GROUP}/namespaces/{_SPACE}/resourceclaims"
_TEMPLATES = f"{_GROUP}/namespaces/{_SPACE}/resourceclaimtemplates"
_SLICES, _CLASSES, _RULES = f"{_GROUP}/resourceslices", f"{_GROUP}/deviceclasses", f"{_GROUP}/devicetaintrules"

Document = dict[str, Any]


def _object(kind: str, name: str, spec: Document) -> Document:
    return {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def request(name: str = "gpu", **more: Any) -> Document:
    return {"name": name, "exactly": {"deviceClassName": "gpu.example.com", **more}}


def claim(name: str, *requests: Document, **more: Any) -> Document:
    return _object("ResourceClaim", name, {"devices": {"requests": list(requests or [request()]), **more}})


def _result(device: str = "gpu-0", **more: Any) -> Document:
    return {"request": "gpu", "driver": "gpu.example.com", "pool": "one", "device": device, **more}


def _allocation(*results: Document) -> Document:
    return {"devices": {"results": list(results)}, "allocationTimestamp": "2026-01-02T03:04:05Z"}


def _user(number: int, **more: Any) -> Document:
    return {"resource": "pods", "name": f"pod-{number}", "uid": f"uid-{number}", **more}


def _bad_claims() -> Iterator[Step]:
    trial = f"{_CLAIMS}?dryRun=All"
    yield create("no class", trial, claim("a", {"name": "gpu", "exactly": {}}), code=422)
    yield create("neither exactly nor the first available", trial, claim("a", {"name": "gpu"}), code=422)
    both = {**request(), "firstAvailable": [{"name": "big", "deviceClassName": "a"}]}
    yield create("exactly and the first available", trial, claim("a", both), code=422)
    yield create("two of one name", trial, claim("a", request(), request()), code=422)
    yield create("a bad name of a request", trial, claim("a", request("Not_so")), code=422)
    yield create("fewer than none", trial, claim("a", request(count=-1)), code=422)
    yield create("all, and a number", trial, claim("a", request(allocationMode="All", count=2)), code=422)
    yield create("a mode that is none", trial, claim("a", request(allocationMode="Some")), code=422)
    unknown = claim("a", constraints=[{"requests": ["nic"], "matchAttribute": "example.com/numa"}])
    yield create("a constraint on an unknown request", trial, unknown, code=422)
    yield create("a constraint on nothing", trial, claim("a", constraints=[{"requests": ["gpu"]}]), code=422)
    many = [request(f"r{number}") for number in range(33)]
    yield create("too many requests", trial, claim("a", *many), code=422)
    odd = request(tolerations=[{"key": "a", "operator": "Equals"}])
    yield create("a toleration that is none", trial, claim("a", odd), code=422)
    yield create("an empty claim", trial, _object("ResourceClaim", "a", {}))
    yield create("tolerations", trial, claim("a", request(tolerations=[{"key": "a"}])))
    yield create("an administrator's", trial, claim("a", request(adminAccess=True)), code=422)


def _claims() -> Iterator[Step]:
    one = f"{_CLAIMS}/one"
    status, trial = f"{one}/status", f"{one}/status?dryRun=All"

    def says(**fields: Any) -> Document:
        return {"status": fields}

    yield create("a claim with a status", _CLAIMS, {**claim("one"), "status": {"allocation": _allocation(_result())}})
    yield get("as a table", one, accept=TABLE)
    yield update("another request", one, claim("one", request(count=2)), code=422)
    yield patch("a label", "merge", one, {"metadata": {"labels": {"a": "b"}}})
    yield patch("reserved without an allocation", "merge", trial, says(reservedFor=[_user(1)]), code=422)
    unknown = _allocation(_result(request="nic"))
    yield patch("allocated for an unknown request", "merge", trial, says(allocation=unknown), code=422)
    yield patch("allocated without a device", "merge", trial, says(allocation=_allocation(_result(""))), code=422)
    bad = _allocation({**_result(), "driver": ""})
    yield patch("allocated without a driver", "merge", trial, says(allocation=bad), code=422)
    many = _allocation(*(_result(f"gpu-{number}") for number in range(33)))
    yield patch("too many devices", "merge", trial, says(allocation=many), code=422)
    keeper = {"metadata": {"finalizers": ["resource.kubernetes.io/delete-protection"]}}
    yield patch("a finalizer with the status", "merge", f"{status}?dryRun=All", {**keeper, **says()})
    yield patch("a finalizer", "merge", one, keeper)
    allocated = says(allocation=_allocation(_result()), reservedFor=[_user(1)])
    yield patch("allocated and reserved", "merge", status, allocated)
    yield get("an allocated one as a table", one, accept=TABLE)
    yield patch("another device", "merge", trial, says(allocation=_allocation(_result("gpu-1"))), code=422)
    later = {**_allocation(_result()), "allocationTimestamp": "2026-01-02T03:04:06Z"}
    yield patch("another time", "merge", trial, says(allocation=later), code=422)
    yield patch("reserved for two", "merge", status, says(reservedFor=[_user(1), _user(2)]))
    more = {"status": {"reservedFor": [_user(3)]}}
    yield patch("reserved for a third", "strategic", status, more)
    fewer = {"status": {"reservedFor": [{"$patch": "delete", "uid": "uid-2"}]}}
    yield patch("not for the second", "strategic", status, fewer)
    yield patch("reserved for one twice", "merge", trial, says(reservedFor=[_user(1), _user(1)]), code=422)
    yield patch("reserved for nobody known", "merge", trial, says(reservedFor=[{"resource": "pods"}]), code=422)
    everybody = [_user(number) for number in range(257)]
    yield patch("reserved for too many", "merge", trial, says(reservedFor=everybody), code=422)
    device = {"driver": "gpu.example.com", "pool": "one", "device": "gpu-0"}
    condition = {
        "type": "Ready",
        "status": "True",
        "reason": "Fine",
        "message": "",
        "lastTransitionTime": "2026-01-02T03:04:05Z",
    }
    yield patch("a device's condition", "merge", status, says(devices=[{**device, "conditions": [condition]}]))
    strange = [{**device, "device": "gpu-7"}]
    yield patch("a condition of another device", "merge", trial, says(devices=strange), code=422)
    yield patch("deallocated, still reserved", "merge", trial, says(allocation=None), code=422)
    yield patch("deallocated on trial", "merge", trial, says(allocation=None, reservedFor=None))
    yield delete("delete it", one)
    yield get("being deleted, as a table", one, accept=TABLE)
    new = says(reservedFor=[_user(1), _user(3), _user(4)])
    yield patch("reserved for one more while it goes", "merge", trial, new, code=422)
    yield patch("reserved for fewer while it goes", "merge", status, says(reservedFor=[_user(3)]))
    yield patch("deallocated", "merge", status, says(allocation=None, reservedFor=None))
    yield patch("let it go", "merge", one, {"metadata": {"finalizers": None}})
    yield get("gone", one, code=404)


def _templates() -> Iterator[Step]:
    spec = claim("x")["spec"]
    yield create("a template", _TEMPLATES, _object("ResourceClaimTemplate", "one", {"spec": spec}))
    other = {"spec": claim("x", request(count=2))["spec"]}
    yield update("another spec", f"{_TEMPLATES}/one", _object("ResourceClaimTemplate", "one", other), code=422)
    yield delete("delete the template", f"{_TEMPLATES}/one")
    bad = {"spec": claim("x", {"name": "gpu"})["spec"]}
    yield create("a bad template", f"{_TEMPLATES}?dryRun=All", _object("ResourceClaimTemplate", "two", bad), code=422)


def _slice(name: str, *devices: Document, **more: Any) -> Document:
    pool = {"name": "one", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "gpu.example.com", "pool": pool, "nodeName": "one", "devices": list(devices), **more}
    return _object("ResourceSlice", name, {key: value for key, value in spec.items() if value is not None})


def _device(name: str = "gpu-0", **more: Any) -> Document:
    return {"name": name, **more}


def _slices() -> Iterator[Step]:
    trial = f"{_SLICES}?dryRun=All"
    whole = _device(
        attributes={"model": {"string": "a100"}, "index": {"int": 0}}, capacity={"memory": {"value": "40Gi"}}
    )
    yield create("a slice", _SLICES, _slice("one", whole, _device("gpu-1", attributes={"fast": {"bool": True}})))
    yield get("as a table", f"{_SLICES}/one", accept=TABLE)
    yield patch("of another node", "merge", f"{_SLICES}/one", {"spec": {"nodeName": "two"}}, code=422)
    yield patch("of another driver", "merge", f"{_SLICES}/one", {"spec": {"driver": "nic.example.com"}}, code=422)
    newer = {"spec": {"pool": {"name": "one", "generation": 2, "resourceSliceCount": 1}, "devices": [whole]}}
    yield patch("a newer pool", "merge", f"{_SLICES}/one", newer)
    yield create("of no node", trial, _slice("two", nodeName=None), code=422)
    yield create("of a node and of all", trial, _slice("two", allNodes=True), code=422)
    yield create("of all nodes", trial, _slice("two", nodeName=None, allNodes=True))
    yield create("of not all nodes", trial, _slice("two", nodeName=None, allNodes=False), code=422)
    yield create("two devices of one name", trial, _slice("two", _device(), _device()), code=422)
    yield create("a device of a bad name", trial, _slice("two", _device("GPU_0")), code=422)
    yield create("a device of no name", trial, _slice("two", {}), code=422)
    many = [_device(f"gpu-{number}") for number in range(129)]
    yield create("too many devices", trial, _slice("two", *many), code=422)
    empty = _device(attributes={"model": {}})
    yield create("an attribute of nothing", trial, _slice("two", empty), code=422)
    twice = _device(attributes={"model": {"string": "a", "int": 1}})
    yield create("an attribute of two kinds", trial, _slice("two", twice), code=422)
    long = _device(attributes={"model": {"string": "x" * 65}})
    yield create("a long attribute", trial, _slice("two", long), code=422)
    yield create("an attribute of a bad name", trial, _slice("two", _device(attributes={"a-b": {"int": 1}})), code=422)
    pool = {"name": "one", "generation": 1, "resourceSliceCount": 0}
    yield create("a pool of no slices", trial, _slice("two", pool=pool), code=422)
    yield create("no driver", trial, _slice("two", driver=""), code=422)
    tainted = _device(taints=[{"key": "broken", "effect": "Never"}])
    yield create("a taint that is none", trial, _slice("two", tainted), code=422)
    fine = _device(taints=[{"key": "broken", "effect": "NoSchedule"}])
    yield create("a tainted device", trial, _slice("two", fine))
    yield delete("delete it", f"{_SLICES}/one")


def _classes() -> Iterator[Step]:
    selector = {"cel": {"expression": 'device.driver == "gpu.example.com"'}}
    one = _object(
        "DeviceClass", "gpu.example.com", {"selectors": [selector], "extendedResourceName": "example.com/gpu"}
    )
    yield create("a class", _CLASSES, one)
    changed = {"spec": {"selectors": [selector, selector]}}
    yield patch("another selector", "merge", f"{_CLASSES}/gpu.example.com", changed)
    yield patch("another resource", "merge", f"{_CLASSES}/gpu.example.com", {"spec": {"extendedResourceName": "a/b"}})
    bad = {"spec": {"extendedResourceName": "not so"}}
    yield patch("a resource of a bad name", "merge", f"{_CLASSES}/gpu.example.com", bad, code=422)
    trial = f"{_CLASSES}?dryRun=All"
    yield create("a selector of nothing", trial, _object("DeviceClass", "a", {"selectors": [{}]}), code=422)
    yield delete("delete the class", f"{_CLASSES}/gpu.example.com")


def _rules() -> Iterator[Step]:
    one, taint = f"{_RULES}/one", {"key": "example.com/broken", "effect": "NoExecute"}
    yield create("a rule", _RULES, _object("DeviceTaintRule", "one", {"deviceSelector": {}, "taint": taint}))
    yield get("a rule as a table", one, accept=TABLE)
    yield patch("another effect", "merge", one, {"spec": {"taint": {"effect": "None"}}})
    yield patch("an effect that is none", "merge", one, {"spec": {"taint": {"effect": "Burn"}}}, code=422)
    trial = f"{_RULES}?dryRun=All"
    yield create("a rule without a taint", trial, _object("DeviceTaintRule", "two", {"deviceSelector": {}}), code=422)
    odd = {"deviceSelector": {"driver": "Not_so"}, "taint": taint}
    yield create("a rule for a bad driver", trial, _object("DeviceTaintRule", "two", odd), code=422)
    yield delete("delete the rule", one)


STEPS = titled(
    "devices",
    *titled("claims", *_bad_claims(), *_claims()),
    *_templates(),
    *titled("slices", *_slices()),
    *_classes(),
    *_rules(),
)
