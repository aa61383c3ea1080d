"""Volumes and claims for them: who may change what, in whose phase, and what keeps them from being deleted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.control_plane.comparison.steps import TABLE, Step, create, delete, get, patch, titled, update, wait

_SPACE = "default"
_CLAIMS = f"/api/v1/namespaces/{_SPACE}/persistentvolumeclaims"
_VOLUMES = "/api/v1/persistentvolumes"
_CLASSES = "/apis/storage.k8s.io/v1/storageclasses"

Document = dict[str, Any]


def claim(name: str, *, size: str = "1Gi", **spec: Any) -> Document:
    wants = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, "storageClassName": ""}
    meta = {"name": name}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": {**wants, **spec}}


def volume(name: str, *, size: str = "1Gi", **spec: Any) -> Document:
    has = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": size}, "hostPath": {"path": f"/var/{name}"}}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": {**has, **spec}}


def _affinity(*zones: str) -> Document:
    one = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": list(zones)}
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [one]}]}}


def _without(document: Document, field: str) -> Document:
    return {**document, "spec": {name: value for name, value in document["spec"].items() if name != field}}


def _bad_claims() -> Iterator[Step]:
    trial = f"{_CLAIMS}?dryRun=All"
    yield create("a claim of nothing", trial, claim("a", size="0"), code=422)
    yield create("a claim of less than nothing", trial, claim("a", size="-1"), code=422)
    yield create("a claim without a size", trial, claim("a", resources={}), code=422)
    yield create("a claim without modes", trial, _without(claim("a"), "accessModes"), code=422)
    yield create("a claim of an unknown mode", trial, claim("a", accessModes=["ReadSometimes"]), code=422)
    both = ["ReadWriteOnce", "ReadWriteOncePod"]
    yield create("a claim for one pod and for more", trial, claim("a", accessModes=both), code=422)
    yield create("a claim for one pod", trial, claim("a", accessModes=["ReadWriteOncePod"]))
    yield create("a claim of an unknown form", trial, claim("a", volumeMode="Tape"), code=422)
    yield create("a claim of a class with a bad name", trial, claim("a", storageClassName="A_b"), code=422)
    wrong = {"matchExpressions": [{"key": "a", "operator": "In"}]}
    yield create("a claim with a bad selector", trial, claim("a", selector=wrong), code=422)
    yield create("a claim of raw storage", trial, claim("a", volumeMode="Block"))


def _claims() -> Iterator[Step]:
    one, trial = f"{_CLAIMS}/first", f"{_CLAIMS}/first?dryRun=All"
    told = {**claim("first"), "status": {"phase": "Bound"}}
    yield create("a claim that says that it is bound", _CLAIMS, told)
    yield get("a claim as a table", one, accept=TABLE)
    yield update("more storage, unbound", trial, claim("first", size="2Gi"), code=422)
    yield update("other modes", trial, claim("first", accessModes=["ReadWriteMany"]), code=422)
    yield update("a selector", trial, claim("first", selector={"matchLabels": {"a": "b"}}), code=422)
    yield update("another class", trial, claim("first", storageClassName="other"), code=422)
    yield patch("a volume, on trial", "merge", trial, {"spec": {"volumeName": "second"}})
    yield patch("a volume", "merge", one, {"spec": {"volumeName": "first"}})
    yield patch("another volume", "merge", one, {"spec": {"volumeName": "second"}}, code=422)
    yield patch("no volume", "merge", one, {"spec": {"volumeName": None}}, code=422)
    done = {"metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}}
    yield patch("annotations", "merge", one, done)
    bound = {"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}}
    yield patch("it is bound", "merge", f"{one}/status", {"status": bound})
    yield patch("a phase that is none", "merge", f"{one}/status?dryRun=All", {"status": {"phase": "Odd"}})
    less = {"status": {"capacity": {"storage": "-1"}}}
    yield patch("a capacity below nothing", "merge", f"{one}/status?dryRun=All", less, code=422)
    yield patch("a spec beside the status", "merge", f"{one}/status", {"spec": {"volumeName": "third"}})
    yield get("a bound claim as a table", one, accept=TABLE)
    less = claim("first", size="512Mi", volumeName="first")
    yield update("less storage, bound", trial, less, code=422)
    yield delete("delete a claim", one)
    yield get("a claim that is being deleted", one)
    yield get("the table of one that is being deleted", one, accept=TABLE)
    yield create("another of its name", _CLAIMS, claim("first"), code=409)
    yield patch("let it go", "merge", one, {"metadata": {"finalizers": None}})
    yield get("a claim that is gone", one, code=404)


def _classless() -> Iterator[Step]:
    one, trial = f"{_CLAIMS}/second", f"{_CLAIMS}/second?dryRun=All"
    yield create("a claim of no class", _CLAIMS, _without(claim("second"), "storageClassName"))
    yield patch("it gets one", "merge", trial, {"spec": {"storageClassName": "some"}})
    yield patch("it gets none", "merge", trial, {"spec": {"storageClassName": ""}})
    yield patch("it gets a class", "merge", one, {"spec": {"storageClassName": "some"}})
    yield patch("it gets another class", "merge", one, {"spec": {"storageClassName": "other"}}, code=422)
    yield delete("delete it on trial", trial)
    yield delete("delete it", one)
    gone = [{"op": "remove", "path": "/metadata/finalizers"}]
    yield patch("it goes", "json", one, gone)


def _growth() -> Iterator[Step]:
    """Of a claim whose class lets it grow, and of one whose does not."""
    base = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "provisioner": "a.example.com"}
    for grows in (True, False):
        name = f"grows-{grows}".lower()
        one = f"{_CLAIMS}/{name}"
        yield create(f"a class, {grows}", _CLASSES, {**base, "metadata": {"name": name}, "allowVolumeExpansion": grows})
        yield create(f"a claim of it, {grows}", _CLAIMS, claim(name, storageClassName=name, volumeName="x"))
        bound = {"phase": "Bound", "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}
        yield patch(f"it is bound, {grows}", "merge", f"{one}/status", {"status": bound})
        more = {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}
        if grows:
            # the real server knows classes from a cache
            yield Step(
                name="it grows",
                method="PATCH",
                path=one,
                code=200,
                body=more,
                content_type="application/merge-patch+json",
                patient=True,
            )
            less = {"spec": {"resources": {"requests": {"storage": "1Gi"}}}}
            yield patch("it shrinks to what it has", "merge", one, less, code=422)
        else:
            yield patch("it does not grow", "merge", one, more, code=403)
        yield delete(f"delete the claim, {grows}", one)
        yield patch(f"let the claim go, {grows}", "merge", one, {"metadata": {"finalizers": None}})
        yield delete(f"delete the class, {grows}", f"{_CLASSES}/{name}")


def _bad_volumes() -> Iterator[Step]:
    trial = f"{_VOLUMES}?dryRun=All"
    yield create("a volume of nothing", trial, volume("a", size="0"), code=422)
    yield create("a volume without a size", trial, _without(volume("a"), "capacity"), code=422)
    yield create("a volume without modes", trial, _without(volume("a"), "accessModes"), code=422)
    yield create("a volume that is nowhere", trial, _without(volume("a"), "hostPath"), code=422)
    twice = volume("a", csi={"driver": "a.example.com", "volumeHandle": "1"})
    yield create("a volume that is twice", trial, twice, code=422)
    bare = _without(volume("a", local={"path": "/a"}), "hostPath")
    yield create("a local volume without a node", trial, bare, code=422)
    yield create("a local volume", trial, {**bare, "spec": {**bare["spec"], "nodeAffinity": _affinity("a")}})
    yield create("affinity of nothing", trial, volume("a", nodeAffinity={}), code=422)
    yield create("a policy that is none", trial, volume("a", persistentVolumeReclaimPolicy="Burn"), code=422)
    yield create("a volume of an unknown mode", trial, volume("a", accessModes=["Odd"]), code=422)
    csi = _without(volume("a", csi={"driver": "a.example.com"}), "hostPath")
    yield create("a driver's volume without a handle", trial, csi, code=422)
    csi = _without(volume("a", csi={"driver": "example.com/a", "volumeHandle": "1"}), "hostPath")
    yield create("a volume of a bad driver", trial, csi, code=422)


def _volumes() -> Iterator[Step]:
    one, trial = f"{_VOLUMES}/first", f"{_VOLUMES}/first?dryRun=All"
    told = {**volume("first"), "status": {"phase": "Available"}}
    yield create("a volume that says that it is free", _VOLUMES, told)
    yield get("a volume as a table", one, accept=TABLE)
    elsewhere = _without(volume("first", nfs={"server": "a", "path": "/"}), "hostPath")
    yield update("another place", trial, volume("first", hostPath={"path": "/else"}), code=422)
    yield update("another kind of place", trial, elsewhere, code=422)
    yield patch("another size", "merge", trial, {"spec": {"capacity": {"storage": "2Gi"}}})
    yield patch("another policy", "merge", trial, {"spec": {"persistentVolumeReclaimPolicy": "Delete"}})
    yield patch("affinity", "merge", one, {"spec": {"nodeAffinity": _affinity("a")}})
    yield patch("another affinity", "merge", trial, {"spec": {"nodeAffinity": _affinity("b")}}, code=422)
    yield patch("no affinity", "merge", trial, {"spec": {"nodeAffinity": None}}, code=422)
    wanted = {"spec": {"claimRef": {"namespace": _SPACE, "name": "first"}}}
    yield patch("a claim", "merge", one, wanted)
    yield patch("another claim", "merge", one, {"spec": {"claimRef": {"name": "second", "uid": "1"}}})
    yield patch("it is free", "merge", f"{one}/status", {"status": {"phase": "Available"}})
    yield patch("it is bound", "merge", f"{one}/status", {"status": {"phase": "Bound"}})
    yield patch("it says why", "merge", f"{one}/status", {"status": {"message": "so"}})
    yield get("a bound volume as a table", one, accept=TABLE)
    yield patch("no claim", "merge", one, {"spec": {"claimRef": None}})
    yield delete("delete a volume", one)
    yield get("a volume that is being deleted", one)
    yield get("the table of a volume that is being deleted", one, accept=TABLE)
    yield patch("let it go", "merge", one, {"metadata": {"finalizers": None}})
    yield get("a volume that is gone", one, code=404)


def _mounted() -> Iterator[Step]:
    """Pods with claims for volumes."""
    pods = f"/api/v1/namespaces/{_SPACE}/pods?dryRun=All"
    wants = claim("x")["spec"]
    # a pod that names an account is refused until there is one
    yield wait("there are accounts", f"/api/v1/namespaces/{_SPACE}")

    def pod(source: Document) -> Document:
        main = {"name": "main", "image": "sample", "volumeMounts": [{"name": "data", "mountPath": "/data"}]}
        spec = {"containers": [main], "volumes": [{"name": "data", **source}]}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "user"}, "spec": spec}

    yield create("a pod with a claim", pods, pod({"persistentVolumeClaim": {"claimName": "first"}}))
    yield create("a pod with a claim of no name", pods, pod({"persistentVolumeClaim": {}}), code=422)
    template = {"volumeClaimTemplate": {"spec": wants}}
    yield create("a pod that brings a claim", pods, pod({"ephemeral": template}))
    odd = {"volumeClaimTemplate": {"metadata": {"name": "own"}, "spec": wants}}
    yield create("a pod that brings a claim with a name", pods, pod({"ephemeral": odd}), code=422)


STEPS = titled(
    "volumes",
    *_bad_claims(),
    *_claims(),
    *_classless(),
    *_growth(),
    *titled("of the cluster", *_bad_volumes(), *_volumes()),
    *_mounted(),
)
