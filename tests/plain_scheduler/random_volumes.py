"""Claims and volumes over the clusters of `random_clusters`: what ties pods to nodes beside labels and room.

    stored(world)       its pods claim volumes; classes, drivers, volumes and claims are the world's own, by name

Sizes of volumes differ, and a node sees at most one capacity of a class: where kube-scheduler leaves something to
chance there is nothing to choose.
"""

import copy
import random
from dataclasses import dataclass
from typing import Any

from tests.plain_scheduler.random_clusters import HOSTNAME, ZONE, World
from tests.plain_scheduler.selectors import Document
from tests.plain_scheduler.volumes import COMPLETED, SELECTED

_GOOGLE = "pd.csi.storage.gke.io"
"""The driver that serves volumes of a plugin that was part of Kubernetes once."""
SPACE = "red"
"""Pods with claims are here."""
ZONES = ("east", "west", "north")
_SIMPLER = ("affinity", "topologySpreadConstraints", "nodeSelector", "hostNetwork")
PATHS = {
    "classes": "/apis/storage.k8s.io/v1/storageclasses",
    "drivers": "/apis/storage.k8s.io/v1/csidrivers",
    "csi_nodes": "/apis/storage.k8s.io/v1/csinodes",
    "capacities": f"/apis/storage.k8s.io/v1/namespaces/{SPACE}/csistoragecapacities",
    "claims": f"/api/v1/namespaces/{SPACE}/persistentvolumeclaims",
    "volumes": "/api/v1/persistentvolumes",
    "attachments": "/apis/storage.k8s.io/v1/volumeattachments",
}
"""By the field of a Storage, in the order in which they can be made."""


@dataclass
class StoredWorld(World):
    stored: dict[str, list[Document]]
    """By the same fields; volumes that have a claim name it by its name alone."""


def stored(world: World) -> StoredWorld:
    return _Chance(world).world()


class _Chance(random.Random):
    def __new__(cls, world: World) -> "_Chance":
        return super().__new__(cls)

    def __init__(self, world: World) -> None:
        super().__init__(f"volumes {world.seed}")
        self._world = copy.deepcopy(world)
        self._name = f"w{world.seed}"
        self._made: dict[str, list[Document]] = {field: [] for field in PATHS}
        self._sizes = iter(self.sample(range(1024, 9000), 200))

    def world(self) -> StoredWorld:
        self._classes()
        for node in self._world.nodes:
            self._node(node)
        for number in range(self.randint(0, 5)):
            self._volume(f"zonal-{number}", reach=(ZONE, self.choice(ZONES)))
        self._kept()
        # like those of the API server, with a name and nothing else by chance
        for pod in self._world.placed:
            if self.one_in(2):
                self._claims_of(pod, is_there=True)
        for pod in self._world.coming:
            self._simpler(pod)
            if not self.one_in(8):
                self._claims_of(pod, is_there=False)
        fields = {name: getattr(self._world, name) for name in World.__dataclass_fields__}
        return StoredWorld(**fields, stored=self._made)

    def one_in(self, many: float) -> bool:
        return self.random() < 1 / many

    # --- what there is ---

    def _classes(self) -> None:
        fast: Document = {"provisioner": f"{self._name}-fast.csi"}
        if self.one_in(2):
            zones = self.sample(ZONES, self.randint(1, 2))
            fast["allowedTopologies"] = [{"matchLabelExpressions": [{"key": ZONE, "values": zones}]}]
        self._class("local", provisioner="kubernetes.io/no-provisioner")
        self._class("fast", **fast)
        self._class("plain", provisioner=f"{self._name}-plain.csi")
        self._class("now", provisioner=f"{self._name}-plain.csi", volumeBindingMode="Immediate")
        tells = not self.one_in(4)
        self._add("drivers", f"{self._name}-fast.csi", spec={"storageCapacity": tells, "attachRequired": True})
        if self.one_in(2):
            must = {"preventPodSchedulingIfMissing": self.one_in(2), "attachRequired": True}
            self._add("drivers", f"{self._name}-plain.csi", spec=must)
        for zone in ZONES:
            self._capacity(zone)

    def _class(self, name: str, **fields: Any) -> None:
        self._add("classes", f"{self._name}-{name}", **{"volumeBindingMode": "WaitForFirstConsumer", **fields})

    def _capacity(self, zone: str) -> None:
        if self.one_in(4):
            return
        fields: Document = {"storageClassName": f"{self._name}-fast", "capacity": self.choice(("3Gi", "10Gi", "40Gi"))}
        if not self.one_in(8):
            fields["nodeTopology"] = {"matchLabels": {ZONE: zone}}
        if self.one_in(4):
            fields["maximumVolumeSize"] = self.choice(("1Gi", "8Gi"))
        self._add("capacities", f"{self._name}-{zone}", **fields)

    def _node(self, node: Document) -> None:
        name = node["metadata"]["name"]
        if not self.one_in(5):
            drivers = [
                {"name": f"{self._name}-{each}.csi", "nodeID": name, "allocatable": {"count": self.randint(1, 3)}}
                for each in ("fast", "plain")
                if not self.one_in(4)
            ]
            if self.one_in(2):
                drivers.append({"name": _GOOGLE, "nodeID": name, "allocatable": {"count": 1}})
            for each in drivers:
                if self.one_in(5):
                    del each["allocatable"]
            self._add("csi_nodes", name, spec={"drivers": drivers})
        host = node["metadata"]["labels"].get(HOSTNAME)
        for number in range(self.choice((0, 1, 1, 2)) if host else 0):
            self._volume(f"{name}-{number}", reach=(HOSTNAME, host))

    def _volume(self, name: str, *, reach: tuple[str, str] | None, **fields: Any) -> Document:
        modes = self.choice((["ReadWriteOnce"], ["ReadWriteOnce", "ReadOnlyMany"], ["ReadWriteMany"]))
        spec: Document = {
            "capacity": {"storage": f"{next(self._sizes)}Mi"},
            "accessModes": modes,
            "storageClassName": f"{self._name}-{self.choice(('local', 'local', 'local', 'plain'))}",
            "csi": {"driver": f"{self._name}-plain.csi", "volumeHandle": name},
            **fields,
        }
        if self.one_in(6):
            spec["volumeMode"] = "Block"
        if reach is not None:
            term = {"matchExpressions": [{"key": reach[0], "operator": "In", "values": [reach[1]]}]}
            spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [term]}}
        labels = {"disk": self.choice(("ssd", "hdd"))}
        phase = "Pending" if self.one_in(10) else "Available"
        return self._add("volumes", f"{self._name}-{name}", labels, spec=spec, status={"phase": phase})

    def _kept(self) -> None:
        """Some volumes are kept for claims to come."""
        for number, volume in enumerate(self._made["volumes"]):
            if self.one_in(8):
                volume["spec"]["claimRef"] = {"namespace": SPACE, "name": f"{self._name}-kept-{number}"}

    # --- who wants it ---

    def _simpler(self, pod: Document) -> None:
        """Most pods ask for little else, or nothing would come down to volumes."""
        if not self.one_in(4):
            for field in _SIMPLER:
                pod["spec"].pop(field, None)
            for container in pod["spec"]["containers"]:
                container.pop("ports", None)
                container.pop("resources", None)
            pod["spec"].pop("resources", None)
            pod["spec"].pop("initContainers", None)
            pod["spec"]["tolerations"] = [{"operator": "Exists"}]

    def _claims_of(self, pod: Document, *, is_there: bool) -> None:
        pod["metadata"]["namespace"] = SPACE
        pod["metadata"].pop("ownerReferences", None)
        sources = []
        for number in range(self.choice((1, 1, 2, 3))):
            if self.one_in(8):
                sources.append(self._disk())
                continue
            name = self._claim(f"{pod['metadata']['name']}-{number}", is_there=is_there)
            if {"persistentVolumeClaim": {"claimName": name}} not in sources:
                sources.append({"persistentVolumeClaim": {"claimName": name}})
        if not is_there and self.one_in(30):
            template = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
            sources.append({"ephemeral": {"volumeClaimTemplate": {"spec": template}}})
        listed = pod["spec"].setdefault("volumes", [])
        listed += [{"name": f"claimed-{number}", **source} for number, source in enumerate(sources)]

    def _disk(self) -> Document:
        read_only = self.one_in(2)
        return self.choice(
            (
                {"gcePersistentDisk": {"pdName": self.choice(("d1", "d2")), "readOnly": read_only}},
                {"awsElasticBlockStore": {"volumeID": self.choice(("e1", "e2"))}},
                {"iscsi": {"iqn": "iqn.2026-01.example:a", "targetPortal": "p", "lun": 0, "readOnly": read_only}},
                {"rbd": {"monitors": self.sample("abcd", 2), "image": "i", "readOnly": self.one_in(4)}},
            )
        )

    def _claim(self, name: str, *, is_there: bool) -> str:
        """A new one, or one that somebody has."""
        known = [each["metadata"]["name"] for each in self._made["claims"]]
        if known and self.one_in(5):
            found: str = self.choice(known)
            return found
        if self.one_in(40):
            return f"{self._name}-missing"
        name = f"{self._name}-{name}"
        kept = [volume["spec"]["claimRef"]["name"] for volume in self._made["volumes"] if "claimRef" in volume["spec"]]
        kept = [each for each in kept if "-kept-" in each and each not in known]
        if is_there or self.one_in(3):
            self._bound(name)
        elif kept and self.one_in(2):
            name = kept[0]
            self._unbound(name, "local" if self.one_in(2) else "plain")
        else:
            self._unbound(name, self.choice(("local", "local", "fast", "fast", "fast", "plain", "plain")))
        return name

    def _bound(self, name: str) -> None:
        reach = self.choice((None, (ZONE, self.choice(ZONES)), (ZONE, self.choice(ZONES))))
        driver = f"{self._name}-{self.choice(('fast', 'plain', 'other'))}.csi"
        volume = self._volume(name, reach=reach, csi={"driver": driver, "volumeHandle": name})
        volume["spec"].pop("volumeMode", None)
        if self.one_in(6):
            volume["spec"]["gcePersistentDisk"] = {"pdName": volume["spec"].pop("csi")["volumeHandle"]}
        volume["spec"]["claimRef"] = {"namespace": SPACE, "name": name}
        volume["status"] = {"phase": "Bound"}
        if self.one_in(3):
            zones = self.sample(ZONES, self.randint(1, 2))
            volume["metadata"]["labels"][self.choice((ZONE, "failure-domain.beta.kubernetes.io/zone"))] = "__".join(
                zones
            )
        if self.one_in(6):
            node = self.choice(self._world.nodes)["metadata"]["name"]
            source = {"persistentVolumeName": volume["metadata"]["name"]}
            self._add("attachments", name, spec={"attacher": driver, "nodeName": node, "source": source})
        modes = ["ReadWriteOncePod"] if self.one_in(4) else ["ReadWriteOnce"]
        volume["spec"]["accessModes"] = modes
        named = {"volumeName": volume["metadata"]["name"] if not self.one_in(30) else f"{self._name}-gone"}
        storage_class = {"storageClassName": volume["spec"]["storageClassName"]}
        annotations = {COMPLETED: "yes"} if not self.one_in(25) else {}
        phase = "Lost" if self.one_in(30) else "Bound"
        self._add_claim(name, annotations, phase, accessModes=modes, **named, **storage_class)

    def _unbound(self, name: str, storage_class: str) -> None:
        spec: Document = {"accessModes": [self.choice(("ReadWriteOnce", "ReadWriteOnce", "ReadOnlyMany"))]}
        spec["storageClassName"] = f"{self._name}-{'now' if self.one_in(25) else storage_class}"
        if self.one_in(40):
            spec["storageClassName"] = f"{self._name}-unheard-of"
        if self.one_in(8):
            spec["volumeMode"] = "Block"
        if self.one_in(5):
            spec["selector"] = {"matchLabels": {"disk": self.choice(("ssd", "hdd"))}}
        annotations = {}
        if storage_class == "fast" and self.one_in(8):
            annotations[SELECTED] = self.choice(self._world.nodes)["metadata"]["name"]
        self._add_claim(name, annotations, "Pending", **spec)

    def _add_claim(self, name: str, annotations: Document, phase: str, **spec: Any) -> None:
        spec["resources"] = {"requests": {"storage": self.choice(("500Mi", "1500Mi", "2500Mi", "6Gi"))}}
        claim = self._add("claims", name, spec=spec, status={"phase": phase})
        claim["metadata"] |= {"namespace": SPACE, "annotations": annotations}

    def _add(self, field: str, name: str, labels: Document | None = None, **fields: Any) -> Document:
        metadata = {"name": name, "labels": {**(labels or {}), "world": self._name}}
        made: Document = {"metadata": metadata, **fields}
        self._made[field].append(made)
        return made
