"""Storage for tests, a thing a function."""

import msgspec

from muster.api.volumes import (
    BIND_COMPLETED,
    SELECTED_NODE,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from muster.api.wire import Pod
from muster.volumes.needs import Sharing
from muster.volumes.nodes import Site
from muster.volumes.storage import Stock, Storage

WAIT, NOW = "WaitForFirstConsumer", "Immediate"
NOBODY_SHARES = Sharing(claim=lambda _: False, volume=lambda *_: False)


def claim(name, *, size="1Gi", of="local", on=None, volume=None, bound=None, **spec):
    annotations = {SELECTED_NODE: on} if on else {}
    if bound:
        volume = bound
        annotations[BIND_COMPLETED] = "yes"
    named = {} if volume is None else {"volumeName": volume}
    whole = {"storageClassName": of, "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
    meta = {"name": name, "namespace": "n", "uid": f"uid-{name}", "resourceVersion": "7", "annotations": annotations}
    return _read(PersistentVolumeClaim, {"metadata": meta, "spec": {**whole, **named, **spec}})


def volume(name, *, size="1Gi", of="local", nodes=None, keeps=None, phase="Available", labels=None, **spec):
    whole = {"storageClassName": of, "accessModes": ["ReadWriteOnce"], "capacity": {"storage": size}}
    if nodes is not None:
        term = {"matchExpressions": [{"key": "host", "operator": "In", "values": list(nodes)}]}
        whole["nodeAffinity"] = {"required": {"nodeSelectorTerms": [term]}}
    if keeps is not None:
        whole["claimRef"] = {"namespace": "n", "name": keeps}
    meta = {"name": name, "labels": labels or {}, "resourceVersion": "9"}
    return _read(PersistentVolume, {"metadata": meta, "spec": {**whole, **spec}, "status": {"phase": phase}})


def storage_class(name="local", *, provisioner="kubernetes.io/no-provisioner", mode=WAIT, **fields):
    document = {"metadata": {"name": name}, "provisioner": provisioner, "volumeBindingMode": mode, **fields}
    return _read(StorageClass, document)


def capacity(name, *, of="made", size, hosts):
    topology = {"matchExpressions": [{"key": "host", "operator": "In", "values": list(hosts)}]}
    document = {"metadata": {"name": name, "namespace": "n"}, "storageClassName": of}
    return _read(CSIStorageCapacity, {**document, "capacity": size, "nodeTopology": topology})


def pod(*claims, name="p", **spec):
    volumes = [{"name": f"v{n}", "persistentVolumeClaim": {"claimName": each}} for n, each in enumerate(claims)]
    meta = {"name": name, "namespace": "n", "uid": f"uid-{name}"}
    return msgspec.convert({"metadata": meta, "spec": {"volumes": volumes, **spec}}, Pod)


def storage(*things, drivers=()):
    def by_key(kind):
        return {each.metadata.name: each for each in things if isinstance(each, kind)}

    return Storage(
        claims={f"n/{name}": each for name, each in by_key(PersistentVolumeClaim).items()},
        volumes=Stock(by_key(PersistentVolume).values()),
        classes=by_key(StorageClass),
        drivers={each.metadata.name: each for each in drivers},
        capacities=by_key(CSIStorageCapacity),
    )


def site(name):
    return Site(name, {"host": name})


def _read(kind, document):
    return msgspec.convert({"kind": kind.__name__, **document}, kind)
