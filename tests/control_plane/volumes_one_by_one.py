"""The real kube-scheduler, asked about pods that claim volumes; the volume controller and provisioners are played here.

kube-scheduler says on the pod which node it chose, writes what it chose to volumes and claims, and looks every second
whether somebody has acted on it before it binds the pod.  Nobody has to wait for that: what it chose counts for it from
then on.  `remove` waits until all pods are bound.
"""

import itertools
import re
import time
from collections import Counter
from dataclasses import replace

from tests.control_plane.one_by_one import MERGE, SECONDS, OneByOne, key_of
from tests.plain_scheduler.random_volumes import PATHS, SPACE
from tests.plain_scheduler.storage import Storage
from tests.plain_scheduler.volumes import COMPLETED, SELECTED, is_bound

_LOOK_AGAIN_SECONDS = 0.01
_COUNTED = {
    "classes": "storage.k8s.io/StorageClassAdd",
    "drivers": "storage.k8s.io/CSIDriverUpdate",
    "csi_nodes": "storage.k8s.io/CSINodeAdd",
    "capacities": "storage.k8s.io/CSIStorageCapacityAdd",
    "claims": "PersistentVolumeClaimAdd",
    "volumes": "PersistentVolumeAdd",
    "attachments": "storage.k8s.io/VolumeAttachmentDelete",
}
"""By the field of a Storage: the event of its kind that kube-scheduler's metrics count."""
_CHANGING = ("claims", "volumes")
_COUNT = re.compile(r'^scheduler_event_handling_duration_seconds_count\{event="([^"]+)"\} (\d+)', re.MULTILINE)


class VolumesOneByOne(OneByOne):
    def __init__(self, plane, around=None):
        super().__init__(plane, around)
        self._plane = plane
        self._storage = Storage()
        self._marks = itertools.count(1)
        self._told = Counter()
        """Events that kube-scheduler counts, as many as we have brought about."""

    def make(self, world):
        uids = {}
        for field in PATHS:
            for document in world.stored[field]:
                if (kept := document.get("spec", {}).get("claimRef")) and document["status"]["phase"] == "Bound":
                    kept["uid"] = uids[kept["name"]]
                made = self._add(field, document)
                if field == "claims":
                    uids[made["metadata"]["name"]] = made["metadata"]["uid"]
        cluster = super().make(world)
        self._until_seen(PATHS)
        cluster.storage = self._storage = Storage(**{field: self._listed(field, world) for field in PATHS})
        return cluster

    def storage(self, world):
        """As it is now."""
        self._storage = replace(self._storage, **{field: self._listed(field, world) for field in _CHANGING})
        return self._storage

    def remove(self):
        self._until(lambda: all(pod["spec"].get("nodeName") for pod in self.pods()), "all pods are bound")
        super().remove()

    # --- one pod ---

    def _node(self, pod):
        bound, chosen = super()._node(pod), pod["status"].get("nominatedNodeName")
        if chosen and not bound:
            self._play(pod)
        return bound or chosen

    def _play(self, pod):
        """Those who act on what kube-scheduler chose."""
        claims = [claim for claim in self._claims(pod) if not is_bound(claim)]
        if claims:
            self._until_written(pod, len(claims))
            for claim in self._claims(pod):
                if not is_bound(claim):
                    self._bind(claim, self._chosen(claim))
            self._until_seen(_CHANGING)

    def _claims(self, pod):
        names = {volume.get("persistentVolumeClaim", {}).get("claimName") for volume in pod["spec"].get("volumes", [])}
        return [self._api.ask("GET", f"{PATHS['claims']}/{name}") for name in sorted(names - {None})]

    def _until_written(self, pod, times):
        written = 0

        def done(line):
            nonlocal written
            if '"Response"' in line and 'logger="PreBind.VolumeBinding"' in line and f'pod="{key_of(pod)}"' in line:
                assert 'verb="PUT"' in line, line
                assert 'status="200 OK"' in line, line
                written += 1
            return written == times

        self._log.wait_until(done)

    def _chosen(self, claim):
        world = claim["metadata"]["labels"]["world"]
        uid = claim["metadata"]["uid"]
        for volume in self._api.ask("GET", f"{PATHS['volumes']}?labelSelector=world%3D{world}")["items"]:
            if volume["spec"].get("claimRef", {}).get("uid") == uid:
                return volume["metadata"]["name"]
        assert SELECTED in claim["metadata"]["annotations"], "neither a volume was chosen nor a node"
        return self._made_for(claim, world)

    def _made_for(self, claim, world):
        spec = claim["spec"]
        driver = spec["storageClassName"].replace("-fast", "-fast.csi").replace("-plain", "-plain.csi")
        name = f"pvc-{claim['metadata']['uid']}"
        reference = {"namespace": SPACE, "name": claim["metadata"]["name"], "uid": claim["metadata"]["uid"]}
        volume = {
            "metadata": {"name": name, "labels": {"world": world}},
            "spec": {
                "capacity": spec["resources"]["requests"],
                "accessModes": spec["accessModes"],
                "storageClassName": spec["storageClassName"],
                "volumeMode": spec.get("volumeMode", "Filesystem"),
                "csi": {"driver": driver, "volumeHandle": name},
                "claimRef": {"kind": "PersistentVolumeClaim", "apiVersion": "v1", **reference},
            },
            "status": {"phase": "Bound"},
        }
        self._add("volumes", volume)
        return name

    def _bind(self, claim, volume):
        bound = {"metadata": {"annotations": {COMPLETED: "yes"}}, "spec": {"volumeName": volume}}
        at = f"{PATHS['claims']}/{claim['metadata']['name']}"
        self._api.ask("PATCH", at, bound, content_type=MERGE)
        self._api.ask("PATCH", f"{at}/status", {"status": {"phase": "Bound"}}, content_type=MERGE)

    # --- what kube-scheduler has seen ---

    def _add(self, field, document):
        made = self._made(PATHS[field], document)
        if _COUNTED[field].endswith("Add"):
            self._told[_COUNTED[field]] += 1
        return made

    def _until_seen(self, fields):
        """Each kind comes in order: when a mark that was made last is counted, all before it are known."""
        for field in fields:
            self._mark(field, f"mark-{next(self._marks)}")
        self._until(self._has_seen_all, "kube-scheduler sees what was made")

    def _mark(self, field, name):
        self._add(field, {"metadata": {"name": name}, **_MARKS[field]})
        at, event = f"{PATHS[field]}/{name}", _COUNTED[field]
        if event.endswith("Update"):
            self._api.ask("PATCH", at, {"metadata": {"labels": {"mark": "yes"}}}, content_type=MERGE)
            self._told[event] += 1
        elif event.endswith("Delete"):
            self._api.ask("DELETE", at)
            self._told[event] += 1

    def _has_seen_all(self):
        counts = {event: int(count) for event, count in _COUNT.findall(self._plane.scheduler_metrics())}
        return all(counts.get(event, 0) == count for event, count in self._told.items())

    def _until(self, true, what):
        deadline = time.monotonic() + SECONDS
        while not true():
            assert time.monotonic() < deadline, what
            time.sleep(_LOOK_AGAIN_SECONDS)

    def _listed(self, field, world):
        return self._api.ask("GET", f"{PATHS[field]}?labelSelector=world%3Dw{world.seed}")["items"]


_ASKED = {"accessModes": ["ReadWriteOnce"], "storageClassName": "mark"}
_MARKS = {
    "classes": {"provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer"},
    "drivers": {"spec": {"attachRequired": True}},
    "csi_nodes": {"spec": {"drivers": []}},
    "capacities": {"storageClassName": "mark"},
    "claims": {"spec": {**_ASKED, "resources": {"requests": {"storage": "1Gi"}}}},
    "volumes": {
        "spec": {**_ASKED, "capacity": {"storage": "1Gi"}, "csi": {"driver": "mark.csi", "volumeHandle": "mark"}}
    },
    "attachments": {
        "spec": {"attacher": "mark.csi", "nodeName": "mark", "source": {"persistentVolumeName": "mark"}},
    },
}
"""Objects that are of no use to anybody."""
