"""Volumes and claims find each other, and part: what Kubernetes' persistent volume controller does.

A claim is bound to a volume in four writes, each of which says something by itself, so that whoever goes on after a
crash finds where he is: the volume is kept for the claim, it is Bound; the claim has the volume, it is Bound.

    claim    Pending → Bound → (Lost: its volume is gone)
    volume   Pending → Available → Bound → Released → (deleted by its provisioner | kept: Retain | Failed)
"""

from __future__ import annotations

from muster.api.calls import Document, Done, Look, Refused, Say
from muster.api.resources import Resource
from muster.controllers import volume_choice
from muster.controllers.desk import Again, AtDesks, Desk
from muster.controllers.desk import Look as Looking
from muster.controllers.objects import Metadata, Pod, event, read
from muster.controllers.volume_objects import (
    BETA_PROVISIONER,
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    CLAIMS,
    PROVISIONED_BY,
    PROVISIONER,
    STORAGE_CLASSES,
    VOLUMES,
    Claim,
    StorageClass,
    Volume,
    change,
    default_class,
    reference,
    same_mode,
)

_COMPONENT = "persistentvolume-controller"
_IN_TREE = "kubernetes.io/"
_OVER = ("Released", "Failed")
_WAITS_FOR_VOLUME = (
    "Waiting for a volume to be created either by the external provisioner '{}' or manually by the system "
    "administrator. If volume creation is delayed, please verify that the provisioner is running and correctly "
    "registered."
)


class Volumes(AtDesks):
    """Binds, asks for volumes to be provisioned, releases."""

    def __init__(self) -> None:
        self._claims: dict[str, Claim] = {}
        self._volumes: dict[str, Volume] = {}
        self._classes: dict[str, StorageClass] = {}
        self._pods: dict[str, dict[str, Pod]] = {}
        """Pods without a node that name a claim, by the claim's key and their own."""
        self._unbound: dict[str, None] = {}
        """Keys of claims that are not bound, in the order in which they came."""
        self._kept: dict[str, dict[str, None]] = {}
        """Names of volumes, by the key of the claim that they are kept for."""
        self._said: dict[str, tuple[str, str]] = {}
        """What was said last of a claim: it is not said again."""
        self._claim_desk = Desk(self._look_at_claim)
        self._volume_desk = Desk(self._look_at_volume)
        super().__init__(self._claim_desk, self._volume_desk)

    # --- what is seen ---

    def seen(self, where: str, thing: Claim | Volume | StorageClass | Pod) -> None:
        if isinstance(thing, Claim):
            self._claim_seen(thing)
        elif isinstance(thing, Volume):
            self._volume_seen(thing)
        elif isinstance(thing, StorageClass):
            self._classes[thing.metadata.name] = thing
            self._wake_unbound()
        else:
            self._pod_seen(thing)

    def gone(self, where: str, thing: Claim | Volume | StorageClass | Pod) -> None:
        if isinstance(thing, Claim):
            key = thing.metadata.key
            for known in (self._claims, self._unbound, self._said):
                known.pop(key, None)
            self._wake_kept(key, thing.spec.volume_name)
        elif isinstance(thing, Volume):
            self._volumes.pop(thing.metadata.name, None)
            self._keep(thing.metadata.name, thing, None)
            if thing.spec.claim_ref is not None:
                self._claim_desk.add(thing.spec.claim_ref.key)
        elif isinstance(thing, StorageClass):
            self._classes.pop(thing.metadata.name, None)
        else:
            self._pod_gone(thing)

    def _claim_seen(self, claim: Claim) -> None:
        key = claim.metadata.key
        self._claims[key] = claim
        if BIND_COMPLETED in claim.metadata.annotations:
            self._unbound.pop(key, None)
        else:
            self._unbound.setdefault(key)
        self._claim_desk.add(key)
        self._wake_kept(key, claim.spec.volume_name)

    def _volume_seen(self, volume: Volume) -> None:
        name = volume.metadata.name
        self._keep(name, self._volumes.get(name), volume)
        self._volumes[name] = volume
        self._volume_desk.add(name)
        if volume.spec.claim_ref is not None:
            self._claim_desk.add(volume.spec.claim_ref.key)
        else:
            self._wake_unbound()

    def _keep(self, name: str, before: Volume | None, volume: Volume | None) -> None:
        if before is not None and before.spec.claim_ref is not None:
            self._kept.get(before.spec.claim_ref.key, {}).pop(name, None)
        if volume is not None and volume.spec.claim_ref is not None:
            self._kept.setdefault(volume.spec.claim_ref.key, {})[name] = None

    def _wake_kept(self, claim: str, volume: str) -> None:
        for name in self._kept.get(claim, ()):
            self._volume_desk.add(name)
        if volume:
            self._volume_desk.add(volume)

    def _wake_unbound(self) -> None:
        for key in self._unbound:
            self._claim_desk.add(key)

    def _pod_seen(self, pod: Pod) -> None:
        self._pod_gone(pod)
        if pod.spec.node_name or pod.is_over:
            return
        for volume in pod.spec.volumes:
            if name := volume.claim(pod.metadata.name):
                key = f"{pod.metadata.namespace}/{name}"
                self._pods.setdefault(key, {})[pod.metadata.key] = pod
                if key in self._unbound:
                    self._claim_desk.add(key)

    def _pod_gone(self, pod: Pod) -> None:
        for volume in pod.spec.volumes:
            key = f"{pod.metadata.namespace}/{volume.claim(pod.metadata.name)}"
            if key in self._pods:
                self._pods[key].pop(pod.metadata.key, None)
                if not self._pods[key]:
                    del self._pods[key]

    # --- claims ---

    def _look_at_claim(self, key: str) -> Looking:
        claim = self._claims.get(key)
        if claim is None:
            return
        if BIND_COMPLETED in claim.metadata.annotations:
            yield from self._bound(claim)
        elif claim.spec.volume_name:
            yield from self._wanting(claim)
        else:
            yield from self._unbound_claim(claim)

    def _unbound_claim(self, claim: Claim) -> Looking:
        """Of a claim for any volume that does."""
        found = self._classes.get(claim.class_name)
        if claim.class_name and found is None:
            # it may have come just before the claim, and says whether this waits for a pod
            [answer] = yield [Look(path=STORAGE_CLASSES.path(name=claim.class_name), told=True)]
            if not (isinstance(answer, Refused) and answer.code == 404):
                raise Again
        delayed = found is not None and found.is_delayed
        volume = volume_choice.best(claim, self._volumes.values(), delayed=delayed)
        if volume is not None:
            yield from self._bind(volume, claim)
            return
        default = None if claim.names_class else default_class(self._classes)
        if default is not None:
            yield [change(CLAIMS, claim, {"spec": {"storageClassName": default.metadata.name}})]
            return
        if delayed and not claim.selected_node:
            yield self._say_waits(claim)
        elif claim.class_name:
            yield from self._provision(claim, found)
            return
        else:
            words = "no persistent volumes available for this claim and no storage class is set"
            yield self._say(claim, "FailedBinding", words)
        yield from self._claim_status(claim, "Pending", None)

    def _say_waits(self, claim: Claim) -> list[Say]:
        pods = sorted(pod.metadata.name for pod in self._pods.get(claim.metadata.key, {}).values())
        if not pods:
            return self._say(claim, "WaitForFirstConsumer", "waiting for first consumer to be created before binding")
        which = f"pod {pods[0]}" if len(pods) == 1 else f"pods {','.join(pods)}"
        return self._say(claim, "WaitForPodScheduled", f"waiting for {which} to be scheduled")

    def _provision(self, claim: Claim, found: StorageClass | None) -> Looking:
        """Tells the provisioner of the claim's class that it is wanted."""
        name = claim.class_name
        if found is None:
            words = f'storageclass.storage.k8s.io "{name}" not found'
            yield self._say(claim, "ProvisioningFailed", words, warning=True)
        elif found.provisioner.startswith(_IN_TREE):
            words = f"no volume plugin matched name: {found.provisioner}"
            yield self._say(claim, "ProvisioningFailed", words, warning=True)
        else:
            if claim.metadata.annotations.get(PROVISIONER) != found.provisioner:
                told = dict.fromkeys((BETA_PROVISIONER, PROVISIONER), found.provisioner)
                yield [change(CLAIMS, claim, {"metadata": {"annotations": told}})]
            yield self._say(claim, "ExternalProvisioning", _WAITS_FOR_VOLUME.format(found.provisioner))

    def _wanting(self, claim: Claim) -> Looking:
        """Of a claim for a volume that somebody named."""
        volume = self._volumes.get(claim.spec.volume_name)
        if volume is not None and volume.spec.claim_ref is None:
            why = volume_choice.mismatch(claim, volume)
            if not why:
                yield from self._bind(volume, claim)
                return
            words = f'Cannot bind to requested volume "{volume.metadata.name}": {why}'
            yield self._say(claim, "VolumeMismatch", words, warning=True)
        elif volume is not None and volume.is_for(claim):
            yield from self._bind(volume, claim)
            return
        elif volume is not None:
            words = f'volume "{volume.metadata.name}" already bound to a different claim.'
            yield self._say(claim, "FailedBinding", words, warning=True)
        yield from self._claim_status(claim, "Pending", None)

    def _bound(self, claim: Claim) -> Looking:
        volume = self._volumes.get(claim.spec.volume_name)
        if not claim.spec.volume_name:
            words = "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!"
            yield from self._lose(claim, "ClaimLost", words)
        elif volume is None:
            # whoever has read only some of the volumes must not say that data are lost
            [answer] = yield [Look(path=VOLUMES.path(name=claim.spec.volume_name), told=True)]
            if not (isinstance(answer, Refused) and answer.code == 404):
                raise Again
            words = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
            yield from self._lose(claim, "ClaimLost", words)
        elif volume.spec.claim_ref is None or volume.spec.claim_ref.uid == claim.metadata.uid:
            yield from self._bind(volume, claim)
        else:
            words = "Two claims are bound to the same volume, this one is bound incorrectly"
            yield from self._lose(claim, "ClaimMisbound", words)

    def _lose(self, claim: Claim, reason: str, words: str) -> Looking:
        if claim.status.phase != "Lost":
            yield from self._claim_status(claim, "Lost", None)
            yield self._say(claim, reason, words, warning=True)

    def _bind(self, volume: Volume, claim: Claim) -> Looking:
        """Four writes, of which those are left out that were made before."""
        key, name = claim.metadata.key, volume.metadata.name
        if body := _keeping(volume, claim):
            yield [change(VOLUMES, volume, body)]
        if (kept := self._volumes.get(name)) is None:
            return
        yield from self._volume_phase(kept, "Bound")
        if body := _having(claim, name):
            yield [change(CLAIMS, claim, body)]
        if (bound := self._claims.get(key)) is not None:
            yield from self._claim_status(bound, "Bound", kept)

    def _claim_status(self, claim: Claim, phase: str, volume: Volume | None) -> Looking:
        status: Document = {}
        known = claim.status
        if known.phase != phase:
            status["phase"] = phase
        if volume is None:
            status |= {name: None for name, value in _given(claim).items() if value}
        else:
            if known.access_modes != volume.spec.access_modes:
                status["accessModes"] = list(volume.spec.access_modes)
            if known.phase != phase and known.capacity != volume.spec.capacity:
                status["capacity"] = volume.spec.capacity
        if status:
            yield [change(CLAIMS, claim, {"status": status}, subresource="status")]

    # --- volumes ---

    def _look_at_volume(self, name: str) -> Looking:
        volume = self._volumes.get(name)
        if volume is None:
            return
        ref = volume.spec.claim_ref
        if ref is None or not ref.uid:
            yield from self._volume_phase(volume, "Available")
            return
        claim = self._claims.get(ref.key)
        if claim is None or claim.metadata.uid != ref.uid:
            if volume.status.phase not in _OVER:
                [answer] = yield [Look(path=CLAIMS.path(ref.namespace, ref.name), told=True)]
                if _may_be_there(answer, ref.uid):
                    raise Again
            yield from self._release(volume)
        elif not claim.spec.volume_name:
            yield from self._unfinished(volume, claim)
        elif claim.spec.volume_name == name:
            yield from self._volume_phase(volume, "Bound")
        elif _is_made_for_claim(volume):
            yield from self._release(volume)
        else:
            yield from self._unbind(volume)

    def _unfinished(self, volume: Volume, claim: Claim) -> Looking:
        """The claim's own look finishes what was begun."""
        if same_mode(claim, volume):
            self._claim_desk.add(claim.metadata.key)
            return
        of = "Cannot bind PersistentVolume{} to requested PersistentVolumeClaim{} due to incompatible volumeMode."
        words = of.format("", f' "{claim.metadata.name}"')
        yield [_event(VOLUMES, volume.metadata, "VolumeMismatch", words, warning=True)]
        yield self._say(claim, "VolumeMismatch", of.format(f' "{volume.metadata.name}"', ""), warning=True)

    def _release(self, volume: Volume) -> Looking:
        """Of a volume whose claim is gone."""
        name = volume.metadata.name
        if volume.status.phase not in _OVER:
            yield from self._volume_phase(volume, "Released")
            volume = self._volumes.get(name, volume)
        policy = volume.spec.persistent_volume_reclaim_policy
        if policy == "Recycle":
            words = "No recycler plugin found for the volume!"
            yield from self._fail(volume, "VolumeFailedRecycle", words)
        elif policy == "Delete" and not _is_deleted_by_others(volume):
            words = f'error getting deleter volume plugin for volume "{name}": no deletable volume plugin matched'
            yield from self._fail(volume, "VolumeFailedDelete", words)

    def _fail(self, volume: Volume, reason: str, words: str) -> Looking:
        if volume.status.phase != "Failed":
            yield from self._volume_phase(volume, "Failed", words)
            yield [_event(VOLUMES, volume.metadata, reason, words, warning=True)]

    def _unbind(self, volume: Volume) -> Looking:
        """Of a volume that is kept for a claim that has another."""
        name = volume.metadata.name
        body: Document = {"spec": {"claimRef": {"uid": None}}}
        if BOUND_BY_CONTROLLER in volume.metadata.annotations:
            body = {"spec": {"claimRef": None}, "metadata": {"annotations": {BOUND_BY_CONTROLLER: None}}}
        yield [change(VOLUMES, volume, body)]
        if name in self._volumes:
            yield from self._volume_phase(self._volumes[name], "Available")

    def _volume_phase(self, volume: Volume, phase: str, message: str = "") -> Looking:
        if volume.status.phase != phase:
            status = {"phase": phase, "message": message or None}
            yield [change(VOLUMES, volume, {"status": status}, subresource="status")]

    # --- what is said ---

    def _say(self, claim: Claim, reason: str, message: str, *, warning: bool = False) -> list[Say]:
        key = claim.metadata.key
        if self._said.get(key) == (reason, message):
            return []
        self._said[key] = (reason, message)
        return [_event(CLAIMS, claim.metadata, reason, message, warning=warning)]


def _event(resource: Resource, meta: Metadata, reason: str, message: str, *, warning: bool) -> Say:
    return event(_COMPONENT, resource, meta, reason=reason, message=message, warning=warning)


def _given(claim: Claim) -> Document:
    return {"accessModes": claim.status.access_modes, "capacity": claim.status.capacity}


def _keeping(volume: Volume, claim: Claim) -> Document:
    """What is missing on a volume that is to be kept for a claim."""
    ref, meta = volume.spec.claim_ref, claim.metadata
    body: Document = {}
    if ref is None or (ref.key, ref.uid) != (meta.key, meta.uid):
        body["spec"] = {"claimRef": reference(claim)}
    if not volume.is_for(claim) and BOUND_BY_CONTROLLER not in volume.metadata.annotations:
        body["metadata"] = {"annotations": {BOUND_BY_CONTROLLER: "yes"}}
    return body


def _having(claim: Claim, volume: str) -> Document:
    """What is missing on a claim that is to have a volume."""
    annotations, told = claim.metadata.annotations, {}
    body: Document = {}
    if claim.spec.volume_name != volume:
        body["spec"] = {"volumeName": volume}
        told[BOUND_BY_CONTROLLER] = "yes"
    if BIND_COMPLETED not in annotations:
        told[BIND_COMPLETED] = "yes"
    if told:
        body["metadata"] = {"annotations": told}
    return body


def _may_be_there(answer: object, uid: str) -> bool:
    """Whether a claim of this UID was not found to be gone."""
    if isinstance(answer, Done):
        found = read(Claim, answer.data)
        return found is None or found.metadata.uid == uid
    return not (isinstance(answer, Refused) and answer.code == 404)


def _is_made_for_claim(volume: Volume) -> bool:
    """A volume that was made for a claim is of no use to others."""
    return PROVISIONED_BY in volume.metadata.annotations and volume.spec.persistent_volume_reclaim_policy == "Delete"


def _is_deleted_by_others(volume: Volume) -> bool:
    maker = volume.metadata.annotations.get(PROVISIONED_BY, "")
    return volume.spec.csi is not None or (maker != "" and not maker.startswith(_IN_TREE))
