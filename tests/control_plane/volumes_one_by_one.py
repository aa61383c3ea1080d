"""The real kube-scheduler, asked about pods that claim volumes; the volume controller and provisioners are played here.

A pod whose claims it decides about is not bound before its claims are: kube-scheduler writes what it chose, looks every
second whether somebody has acted on it, and then binds.
"""

import time

from tests.control_plane.one_by_one import SECONDS, OneByOne, _path
from tests.plain_scheduler.random_volumes import PATHS, SPACE
from tests.plain_scheduler.standing_in import Heard
from tests.plain_scheduler.storage import Storage
from tests.plain_scheduler.volumes import COMPLETED, SELECTED

_SEEN_SECONDS = 0.5
"""kube-scheduler's log does not say when it has seen volumes."""
_LOOK_AGAIN_SECONDS = 0.02
_MERGE = "application/merge-patch+json"


class VolumesOneByOne(OneByOne):
    def make(self, world):
        uids = {}
        for field, path in PATHS.items():
            for document in world.stored[field]:
                if (kept := document.get("spec", {}).get("claimRef")) and document["status"]["phase"] == "Bound":
                    kept["uid"] = uids[kept["name"]]
                made = self._made(path, document)
                if field == "claims":
                    uids[made["metadata"]["name"]] = made["metadata"]["uid"]
        cluster = super().make(world)
        time.sleep(_SEEN_SECONDS)
        cluster.storage = self.storage(world)
        return cluster

    def storage(self, world):
        """As it is now."""
        chosen = f"?labelSelector=world%3Dw{world.seed}"
        return Storage(**{field: self._api.ask("GET", f"{path}{chosen}")["items"] for field, path in PATHS.items()})

    def about(self, pod):
        made = self._api.ask("POST", _path(pod), pod)
        lines, deadline = [], time.monotonic() + SECONDS
        named = f'pod="{SPACE}/{pod["metadata"]["name"]}"'
        while time.monotonic() < deadline:
            lines += self._log.lines()
            now = self._api.ask("GET", f"{_path(pod)}/{pod['metadata']['name']}")
            if node := now["spec"].get("nodeName"):
                return Heard(made, node, scores=self._scores(made, [*lines, *self._log.lines()]))
            for condition in now["status"].get("conditions", []):
                if condition["type"] == "PodScheduled" and condition["status"] == "False":
                    self.delete(made)
                    return Heard(made, None, condition["message"])
            if any('"BindPodVolumes"' in line and named in line for line in lines):
                # what it writes is written by then
                time.sleep(5 * _LOOK_AGAIN_SECONDS)
                self._act_on_claims(pod)
            time.sleep(_LOOK_AGAIN_SECONDS)
        raise AssertionError("nothing was decided", [line for line in lines if "Volume" in line][-20:])

    def _act_on_claims(self, pod):
        for volume in pod["spec"].get("volumes", []):
            if name := volume.get("persistentVolumeClaim", {}).get("claimName"):
                self._act_on(name)

    def _act_on(self, name):
        listed = self._api.ask("GET", f"{PATHS['claims']}?fieldSelector=metadata.name%3D{name}")["items"]
        for claim in listed:
            if not claim["spec"].get("volumeName") and (chosen := self._chosen(claim)):
                self._bind(claim, chosen)

    def _chosen(self, claim):
        world = claim["metadata"]["labels"]["world"]
        uid = claim["metadata"]["uid"]
        for volume in self._api.ask("GET", f"{PATHS['volumes']}?labelSelector=world%3D{world}")["items"]:
            if volume["spec"].get("claimRef", {}).get("uid") == uid:
                return volume["metadata"]["name"]
        selected = claim["metadata"].get("annotations", {}).get(SELECTED)
        return self._made_for(claim, world) if selected else None

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
        self._made(PATHS["volumes"], volume)
        return name

    def _bind(self, claim, volume):
        bound = {"metadata": {"annotations": {COMPLETED: "yes"}}, "spec": {"volumeName": volume}}
        at = f"{PATHS['claims']}/{claim['metadata']['name']}"
        self._api.ask("PATCH", at, bound, content_type=_MERGE)
        self._api.ask("PATCH", f"{at}/status", {"status": {"phase": "Bound"}}, content_type=_MERGE)
