"""The real kube-scheduler, asked about pods that claim devices; drivers and the controller of claims are played here.

    with DevicesOneByOne(plane) as real:
        real.make(world)                        with its slices, rules and claims
        real.listed("claims")                   these as they are now
        real.about(pod)                         a claim is made for it first if its pod names a template
        real.ends(pod), real.put(...)           what happens between pods

kube-scheduler takes each kind of object from a stream of its own, in order.  Its log says when it has come to an object
that was made last and is of no use to anybody: what was made before is known then.
"""

import itertools

from tests.control_plane.one_by_one import MERGE, OneByOne, path_of
from tests.plain_scheduler.random_devices import ENTRY, PATHS, SPACE

_DEVICE = {"name": "d", "attributes": {}}
_POOL = {"name": "mark", "generation": 1, "resourceSliceCount": 1}
_MARKS = {
    "slices": {"spec": {"driver": "mark.example", "pool": _POOL, "nodeName": "nowhere", "devices": [_DEVICE]}},
    "rules": {"spec": {"deviceSelector": {"pool": "mark"}, "taint": {"key": "mark", "effect": "None"}}},
    "claims": {"spec": {}},
}
_SEEN = {
    "slices": '"ResourceSlice deleted" slice="{}"',
    "rules": '"DeviceTaintRule deleted" deviceTaintRule="{}"',
    "claims": '"Adding object to assume cache" description="ResourceClaim" cacheKey="' + SPACE + '/{}"',
}


class DevicesOneByOne(OneByOne):
    def __init__(self, plane, around=None):
        super().__init__(plane, around)
        self._marks = itertools.count(1)
        self._templates = {}

    def make(self, world):
        for field in PATHS:
            for document in getattr(world.gear, field):
                self._api.ask("POST", PATHS[field], document)
        cluster = super().make(world)
        uids = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in self.pods()}
        for name, allocation in world.held.items():
            holder = world.holders.get(name)
            self._give(name, allocation, [(holder, uids[holder])] if holder else [])
        self._templates = world.templates
        self._until_seen(*PATHS)
        return cluster

    def listed(self, *fields):
        """These of a Gear, as they are now: 20 ms for each, so that they are asked for when they may have changed."""
        return {field: self._api.ask("GET", PATHS[field])["items"] for field in fields}

    def remove(self):
        super().remove()
        for claim in self._api.ask("GET", PATHS["claims"])["items"]:
            if claim["metadata"].get("finalizers"):
                self._patch("claims", claim["metadata"]["name"], {"metadata": {"finalizers": None}})
        for path in PATHS.values():
            self._api.ask("DELETE", path)
        self._until_seen("rules", "slices")
        # of a pod that was tried once more after we had heard of it; one of the next world has its name
        self._log.lines()

    # --- what happens ---

    def put(self, field, document):
        """A slice or rule that is new, or as it is now."""
        at = f"{PATHS[field]}/{document['metadata']['name']}"
        if "resourceVersion" in document["metadata"]:
            self._api.ask("PUT", at, document)
        else:
            self._api.ask("POST", PATHS[field], document)

    def take_away(self, field, name):
        self._api.ask("DELETE", f"{PATHS[field]}/{name}")

    def settle(self, *fields):
        self._until_seen(*fields)

    def ends(self, pod):
        """The pod is gone, and what it had is given back."""
        self.delete(pod)
        uid = pod["metadata"]["uid"]
        for claim in self._api.ask("GET", PATHS["claims"])["items"]:
            entries = claim.get("status", {}).get("reservedFor", [])
            left = [entry for entry in entries if entry["uid"] != uid]
            if len(left) < len(entries):
                status = {"reservedFor": left} if left else {"reservedFor": None, "allocation": None}
                self._patch("claims", f"{claim['metadata']['name']}/status", {"status": status})
        self._until_seen("claims")

    # --- one pod ---

    def _sent(self, pod):
        made = super()._sent(pod)
        asked = self._templates.get(pod["metadata"]["name"])
        if asked is None:
            return made
        name = f"{made['metadata']['name']}-{ENTRY}-{next(self._marks)}"
        owner = {"apiVersion": "v1", "kind": "Pod", "name": made["metadata"]["name"], "uid": made["metadata"]["uid"]}
        metadata = {"name": name, "namespace": SPACE, "ownerReferences": [{**owner, "controller": True}]}
        self._api.ask("POST", PATHS["claims"], {"metadata": metadata, "spec": {"devices": asked}})
        said = {"status": {"resourceClaimStatuses": [{"name": ENTRY, "resourceClaimName": name}]}}
        return self._api.ask("PATCH", f"{path_of(pod)}/{pod['metadata']['name']}/status", said, content_type=MERGE)

    # --- parts ---

    def _give(self, name, allocation, pods):
        entries = [{"resource": "pods", "name": pod, "uid": uid} for pod, uid in pods]
        status = {"allocation": allocation, **({"reservedFor": entries} if entries else {})}
        self._patch("claims", f"{name}/status", {"status": status})

    def _patch(self, field, at, body):
        self._api.ask("PATCH", f"{PATHS[field]}/{at}", body, content_type=MERGE)

    def _until_seen(self, *fields):
        for field in fields:
            name = f"mark-{next(self._marks)}"
            self._api.ask("POST", PATHS[field], {"metadata": {"name": name}, **_MARKS[field]})
            self._api.ask("DELETE", f"{PATHS[field]}/{name}")
            self._log.wait_for(_SEEN[field].format(name))
