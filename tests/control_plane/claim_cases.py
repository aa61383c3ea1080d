"""Volumes, devices and claims for them, what is done to them on the way, and how they end: whoever looks after them.

A case is a generator: it does something, and yields what is to be waited for.  All cases are played at once.
"""

import json
import re
import time

from muster.base.errors import ApiError
from muster.controllers.provisioner import NAME

MERGE = "application/merge-patch+json"
FINALIZER = "resource.kubernetes.io/delete-protection"
_SECONDS = 90.0
_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_SETTLED_SECONDS = 3.0


class Stage:
    """One namespace of a control plane, and the names that a case uses in it."""

    def __init__(self, plane, namespace, case):
        self.plane, self.namespace, self.case = plane, namespace, case
        self.claims = f"/api/v1/namespaces/{namespace}/persistentvolumeclaims"
        self.pods = f"/api/v1/namespaces/{namespace}/pods"
        self.volumes = "/api/v1/persistentvolumes"
        self.classes = "/apis/storage.k8s.io/v1/storageclasses"
        self.device_claims = f"/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaims"
        self.templates = f"/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaimtemplates"

    def named(self, name=""):
        """A name that no other case uses, nor the same case elsewhere."""
        return "-".join(part for part in (self.namespace, self.case, name) if part)

    def post(self, path, body):
        return self.plane.request("POST", path, body)

    def patch(self, path, body):
        return self.plane.request("PATCH", path, body, content_type=MERGE)

    def delete(self, path):
        self.plane.request("DELETE", path)

    def get(self, path):
        try:
            return self.plane.request("GET", path)
        except ApiError as error:
            if error.code != 404:
                raise
            return None

    # what people make

    def claim(self, name="", *, size="1Gi", class_name="", **spec):
        wants = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, **spec}
        wants |= {} if class_name is None else {"storageClassName": class_name}
        self.post(self.claims, {"metadata": {"name": self.named(name)}, "spec": wants})
        return f"{self.claims}/{self.named(name)}"

    def volume(self, name="", *, size="1Gi", class_name=None, **spec):
        has = {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": size},
            "csi": {"driver": "other.example.com", "volumeHandle": self.named(name)},
            # of a class of its own: claims of other cases leave it alone
            "storageClassName": self.named() if class_name is None else class_name,
            "persistentVolumeReclaimPolicy": "Retain",
        }
        self.post(self.volumes, {"metadata": {"name": self.named(name)}, "spec": {**has, **spec}})
        return f"{self.volumes}/{self.named(name)}"

    def storage_class(self, *, mode="Immediate", provisioner=NAME, **more):
        meta = {"name": self.named()}
        body = {"metadata": meta, "provisioner": provisioner, "volumeBindingMode": mode, **more}
        self.post(self.classes, body)
        return self.named()

    def pod(self, name="", **spec):
        containers = [{"name": "main", "image": "sample"}]
        body = {"containers": containers, "restartPolicy": "Never", "terminationGracePeriodSeconds": 0, **spec}
        made = self.post(self.pods, {"metadata": {"name": self.named(name)}, "spec": body})
        return f"{self.pods}/{self.named(name)}", made["metadata"]["uid"]

    def bind(self, path):
        name = path.rpartition("/")[2]
        target = {"apiVersion": "v1", "kind": "Node", "name": "n0"}
        self.post(f"{path}/binding", {"metadata": {"name": name}, "target": target})

    def phase(self, path, phase):
        return lambda: (self.get(path) or {}).get("status", {}).get("phase") == phase

    def gone(self, path):
        return lambda: self.get(path) is None

    def said(self, reason):
        return lambda: any(one[0] == reason for one in self.events())

    def events(self):
        found = self.plane.request("GET", f"/api/v1/namespaces/{self.namespace}/events")["items"]
        found += self.plane.request("GET", "/api/v1/namespaces/default/events")["items"]
        mine = (one for one in found if one["involvedObject"]["name"].startswith(self.named()))
        return sorted({(one["reason"], self.plain(one["message"]), one["type"]) for one in mine})

    # what came of it

    def outcome(self):
        parts = {}
        for name in ("claims", "volumes", "device_claims", "pods"):
            items = self.plane.request("GET", getattr(self, name))["items"]
            parts[name] = sorted((self._told(one) for one in items if self._is_mine(one)), key=json.dumps)
        return {**parts, "events": self.events()}

    def _is_mine(self, one):
        ref = one["spec"].get("claimRef") or {}
        return one["metadata"]["name"].startswith(self.named()) or ref.get("name", "").startswith(self.named())

    def _told(self, one):
        meta = {name: one["metadata"].get(name) for name in ("annotations", "finalizers", "labels", "ownerReferences")}
        status = {name: value for name, value in one.get("status", {}).items() if name in _COMPARED}
        spec = {} if "containers" in one["spec"] else {**one["spec"], "claimRef": _reference(one["spec"])}
        told = {"name": one["metadata"]["name"], "metadata": meta, "spec": spec, "status": status}
        told["leaving"] = "deletionTimestamp" in one["metadata"]
        return json.loads(self.plain(json.dumps(told, sort_keys=True)))

    def plain(self, text):
        """Without what is different each time."""
        text = _UID.sub("<uid>", text.replace(self.namespace, "<space>"))
        return re.sub(r"(-gpu)-[a-z0-9]{5}\b", r"\1-<made>", text)


_COMPARED = ("phase", "capacity", "accessModes", "message", "resourceClaimStatuses", "reservedFor", "allocation")


def _reference(spec):
    ref = spec.get("claimRef")
    return ref and {name: value for name, value in ref.items() if name != "resourceVersion"}


CASES = {}


def case(act):
    CASES[act.__name__.replace("_", "-")] = act
    return act


# --- volumes ---


@case
def the_smallest_volume(at):
    volumes = [at.volume(name, size=size) for name, size in (("large", "4Gi"), ("small", "2Gi"), ("tiny", "1Gi"))]
    yield lambda: all(at.phase(one, "Available")() for one in volumes)
    claim = at.claim(size="2Gi", class_name=at.named())
    yield at.phase(claim, "Bound")


@case
def no_volume_at_all(at):
    at.claim(size="999Ti")
    yield at.said("FailedBinding")


@case
def a_volume_that_is_kept(at):
    ref = {"namespace": at.namespace, "name": at.named()}
    volume = at.volume(class_name="", claimRef=ref, size="3Gi")
    yield at.phase(volume, "Available")
    yield at.phase(at.claim(), "Bound")
    yield at.phase(volume, "Bound")


@case
def a_volume_that_is_named(at):
    volume = at.volume(size="2Gi")
    yield at.phase(at.claim(class_name=at.named(), volumeName=at.named()), "Bound")
    yield at.phase(volume, "Bound")


@case
def a_volume_that_is_too_small(at):
    at.volume()
    at.claim(size="5Gi", class_name=at.named(), volumeName=at.named())
    yield at.said("VolumeMismatch")


@case
def released(at):
    volume = at.volume()
    claim = at.claim(class_name=at.named(), volumeName=at.named())
    yield at.phase(claim, "Bound")
    at.delete(claim)
    yield at.gone(claim)
    yield at.phase(volume, "Released")


@case
def lost(at):
    volume = at.volume()
    claim = at.claim(class_name=at.named(), volumeName=at.named())
    yield at.phase(claim, "Bound")
    at.delete(volume)
    at.patch(volume, {"metadata": {"finalizers": None}})
    yield at.gone(volume)
    yield at.phase(claim, "Lost")


@case
def waits_for_a_pod(at):
    at.claim(class_name=at.storage_class(mode="WaitForFirstConsumer"))
    yield at.said("WaitForFirstConsumer")


@case
def begun_by_a_scheduler(at):
    name = at.storage_class(mode="WaitForFirstConsumer", provisioner="kubernetes.io/no-provisioner")
    volume, claim = at.volume(), at.claim(class_name=name)
    yield at.phase(volume, "Available")
    yield at.said("WaitForFirstConsumer")
    uid = at.get(claim)["metadata"]["uid"]
    ref = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": at.namespace, "name": at.named()}
    note = {"pv.kubernetes.io/bound-by-controller": "yes"}
    at.patch(volume, {"metadata": {"annotations": note}, "spec": {"claimRef": {**ref, "uid": uid}}})
    yield at.phase(claim, "Bound")


@case
def provisioned_where_a_scheduler_chose(at):
    parameters = {"muster.dev/topology": "node"}
    claim = at.claim(class_name=at.storage_class(mode="WaitForFirstConsumer", parameters=parameters))
    yield at.said("WaitForFirstConsumer")
    at.patch(claim, {"metadata": {"annotations": {"volume.kubernetes.io/selected-node": "n0"}}})
    yield at.phase(claim, "Bound")
    yield at.said("ProvisioningSucceeded")


@case
def provisioned_at_once_and_deleted(at):
    claim = at.claim(class_name=at.storage_class())
    yield at.phase(claim, "Bound")
    volume = f"{at.volumes}/{at.get(claim)['spec']['volumeName']}"
    yield at.phase(volume, "Bound")
    at.delete(claim)
    yield at.gone(volume)


@case
def an_unknown_class(at):
    at.claim(class_name=at.named())
    yield at.said("ProvisioningFailed")


@case
def nobody_provisions(at):
    at.claim(class_name=at.storage_class(provisioner="kubernetes.io/no-provisioner"))
    yield at.said("ProvisioningFailed")


@case
def a_claim_in_use(at):
    volume = at.volume()
    claim = at.claim(class_name=at.named(), volumeName=at.named())
    yield at.phase(claim, "Bound")
    pod, _ = at.pod(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": at.named()}}])
    at.bind(pod)
    yield at.phase(pod, "Running")
    at.delete(claim)
    yield lambda: "deletionTimestamp" in at.get(claim)["metadata"]
    at.delete(f"{pod}?gracePeriodSeconds=0")
    yield at.gone(claim)
    yield at.phase(volume, "Released")


@case
def a_volume_that_a_pod_brings_along(at):
    wants = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {**wants, "storageClassName": at.storage_class()}}
    pod, _ = at.pod(volumes=[{"name": "v", "ephemeral": {"volumeClaimTemplate": template}}])
    claim = f"{at.claims}/{at.named()}-v"
    yield at.phase(claim, "Bound")
    at.bind(pod)
    yield at.phase(pod, "Running")


# --- devices ---

WANTS = {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}]}}


def _template(at):
    spec = {"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}, "spec": WANTS}
    at.post(at.templates, {"metadata": {"name": at.named()}, "spec": spec})
    return {"name": "gpu", "resourceClaimTemplateName": at.named()}


def _allocate(at, claim, *users):
    at.patch(claim, {"metadata": {"finalizers": [FINALIZER]}})
    result = {"request": "gpu", "driver": "gpu.example.com", "pool": "p", "device": "gpu-0"}
    allocation = {"devices": {"results": [result]}, "allocationTimestamp": "2027-01-15T08:00:00Z"}
    reserved = [{"resource": "pods", "name": path.rpartition("/")[2], "uid": uid} for path, uid in users]
    at.patch(f"{claim}/status", {"status": {"allocation": allocation, "reservedFor": reserved}})


def _made(at, pod):
    """Where the claim is that was made for a pod; None if it was not."""
    told = at.get(pod)["status"].get("resourceClaimStatuses")
    return told and f"{at.device_claims}/{told[0]['resourceClaimName']}"


@case
def devices_by_a_template(at):
    pod, _ = at.pod(resourceClaims=[_template(at)])
    yield lambda: _made(at, pod)


@case
def devices_by_a_template_given_back(at):
    pod, uid = at.pod(resourceClaims=[_template(at)])
    yield lambda: _made(at, pod)
    claim = _made(at, pod)
    _allocate(at, claim, (pod, uid))
    at.bind(pod)
    yield at.phase(pod, "Running")
    at.patch(f"{pod}/status", {"status": {"phase": "Succeeded"}})
    yield at.gone(claim)


@case
def no_template(at):
    at.pod(resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": at.named()}])
    yield at.said("FailedResourceClaimCreation")


@case
def shared_devices(at):
    at.post(at.device_claims, {"metadata": {"name": at.named()}, "spec": WANTS})
    claim, entry = f"{at.device_claims}/{at.named()}", {"name": "gpu", "resourceClaimName": at.named()}
    pods = [at.pod(name, resourceClaims=[entry]) for name in ("a", "b")]
    _allocate(at, claim, *pods)
    for pod, _ in pods:
        at.bind(pod)
    yield lambda: all(at.phase(pod, "Running")() for pod, _ in pods)
    at.patch(f"{pods[0][0]}/status", {"status": {"phase": "Failed"}})
    yield lambda: len(at.get(claim)["status"].get("reservedFor", [])) == 1
    at.delete(f"{pods[1][0]}?gracePeriodSeconds=0")
    yield lambda: "allocation" not in at.get(claim)["status"]
    yield lambda: not at.get(claim)["metadata"].get("finalizers")


@case
def devices_of_a_pod_that_somebody_bound(at):
    at.post(at.device_claims, {"metadata": {"name": at.named()}, "spec": WANTS})
    claim = f"{at.device_claims}/{at.named()}"
    _allocate(at, claim)
    pod, _ = at.pod(resourceClaims=[{"name": "gpu", "resourceClaimName": at.named()}])
    at.bind(pod)
    yield lambda: at.get(claim)["status"].get("reservedFor")
    yield at.phase(pod, "Running")


@case
def devices_in_use(at):
    at.post(at.device_claims, {"metadata": {"name": at.named()}, "spec": WANTS})
    claim = f"{at.device_claims}/{at.named()}"
    pod = at.pod(resourceClaims=[{"name": "gpu", "resourceClaimName": at.named()}])
    _allocate(at, claim, pod)
    at.bind(pod[0])
    yield at.phase(pod[0], "Running")
    at.delete(claim)
    yield lambda: "deletionTimestamp" in at.get(claim)["metadata"]


def play(plane, namespace):
    """What came of all cases."""
    stages = {name: Stage(plane, namespace, name) for name in CASES}
    acts = {name: CASES[name](stage) for name, stage in stages.items()}
    awaited = {name: next(act) for name, act in acts.items()}
    deadline = time.monotonic() + _SECONDS
    while awaited:
        for name in list(awaited):
            if awaited[name]():
                awaited[name] = next(acts[name], None)
                if awaited[name] is None:
                    del awaited[name]
        late = {name: stages[name].outcome() for name in awaited} if time.monotonic() > deadline else {}
        assert not late, f"{namespace}: nothing came of {json.dumps(late, indent=1)}"
        time.sleep(0.05)
    time.sleep(_SETTLED_SECONDS)
    return {name: stage.outcome() for name, stage in stages.items()}
