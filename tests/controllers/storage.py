"""A world with volumes: the binder, the protection, the provisioner and the claims that pods bring along."""

from muster.api.resources import NODES, PODS
from muster.controllers.ephemeral_volumes import EphemeralVolumes
from muster.controllers.objects import Node, Pod
from muster.controllers.provisioner import NAME, Provisioner
from muster.controllers.volume_objects import CLAIMS, STORAGE_CLASSES, VOLUMES, Claim, StorageClass, Volume
from muster.controllers.volume_protection import CLAIM_FINALIZER, VOLUME_FINALIZER, VolumeProtection
from muster.controllers.volumes import Volumes
from tests.controllers.world import World


class Storage(World):
    def __init__(self, *, provisioner=True):
        super().__init__()
        self.begin(provisioner=provisioner)

    def begin(self, *, provisioner=True):
        """Controllers that know nothing yet."""
        self.cores = []
        self.attach(Volumes(), {CLAIMS: Claim, VOLUMES: Volume, STORAGE_CLASSES: StorageClass, PODS: Pod})
        self.attach(VolumeProtection(), {CLAIMS: Claim, VOLUMES: Volume, PODS: Pod})
        self.attach(EphemeralVolumes(), {PODS: Pod, CLAIMS: Claim})
        if provisioner:
            kinds = {CLAIMS: Claim, VOLUMES: Volume, STORAGE_CLASSES: StorageClass, NODES: Node}
            self.attach(Provisioner(), kinds)
        return self

    def storage_class(self, name="fast", *, mode="Immediate", provisioner=NAME, policy="Delete", default=False, **more):
        meta = {"name": name}
        if default:
            meta["annotations"] = {"storageclass.kubernetes.io/is-default-class": "true"}
        body = {"metadata": meta, "provisioner": provisioner, "volumeBindingMode": mode, "reclaimPolicy": policy}
        self.create(STORAGE_CLASSES, {**body, **more})
        return self

    def claim(self, name="data", *, size="1Gi", modes=("ReadWriteOnce",), class_name="", annotations=None, **spec):
        wants = {"accessModes": list(modes), "resources": {"requests": {"storage": size}}, **spec}
        if class_name is not None:
            wants["storageClassName"] = class_name
        meta = {"name": name, "finalizers": [CLAIM_FINALIZER], "annotations": annotations or {}}
        self.create(CLAIMS, {"metadata": meta, "spec": wants, "status": {"phase": "Pending"}})
        return self

    def volume(self, name="v", *, size="1Gi", modes=("ReadWriteOnce",), class_name="", labels=None, **spec):
        has = {"accessModes": list(modes), "capacity": {"storage": size}, "storageClassName": class_name}
        has |= {"persistentVolumeReclaimPolicy": "Retain", **spec}
        meta = {"name": name, "finalizers": [VOLUME_FINALIZER], "labels": labels or {}}
        self.create(VOLUMES, {"metadata": meta, "spec": has, "status": {"phase": "Pending"}})
        return self

    def node(self, name="n", **labels):
        labels = {"kubernetes.io/hostname": name, **{key.replace("_", "."): value for key, value in labels.items()}}
        self.create(NODES, {"metadata": {"name": name, "labels": labels}})
        return self

    def pod(self, name="p", *, claim="data", node="", volumes=None):
        volumes = volumes or [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}]
        spec = {"volumes": volumes, **({"nodeName": node} if node else {})}
        self.create(PODS, {"metadata": {"name": name}, "spec": spec, "status": {"phase": "Pending"}})
        return self

    def choose(self, node="n", name="data"):
        """A scheduler chooses a node."""
        chosen = {"metadata": {"annotations": {"volume.kubernetes.io/selected-node": node}}}
        self.patch(CLAIMS, name, chosen)
        return self

    def phase(self, name="data"):
        return self.get(CLAIMS, name)["status"]["phase"]

    def volume_phase(self, name="v"):
        return self.get(VOLUMES, name)["status"]["phase"]

    def has(self, name="data"):
        """The volume of a claim."""
        return self.get(CLAIMS, name)["spec"].get("volumeName")

    @property
    def reasons(self):
        return [reason for reason, _ in self.events]
