"""Claims for the volumes that pods bring along: <pod>-<volume>, owned by the pod, made from its template."""

from __future__ import annotations

from muster.api.calls import Create, Document, Done, Refused, Say
from muster.api.resources import PODS
from muster.controllers.desk import Again, AtDesks, Desk
from muster.controllers.desk import Look as Looking
from muster.controllers.objects import Pod, PodVolume, event
from muster.controllers.volume_objects import CLAIMS, Claim

_COMPONENT = "ephemeral_volume"


class EphemeralVolumes(AtDesks):
    """Makes the claims of pods that have them in their specs."""

    def __init__(self) -> None:
        self._pods: dict[str, Pod] = {}
        self._claims: dict[str, Claim] = {}
        self._desk = Desk(self._look)
        super().__init__(self._desk)

    def seen(self, where: str, thing: Pod | Claim) -> None:
        if isinstance(thing, Claim):
            self._claims[thing.metadata.key] = thing
        elif any(volume.ephemeral is not None for volume in thing.spec.volumes):
            self._pods[thing.metadata.key] = thing
            self._desk.add(thing.metadata.key)

    def gone(self, where: str, thing: Pod | Claim) -> None:
        if isinstance(thing, Claim):
            self._claims.pop(thing.metadata.key, None)
            owner = thing.metadata.controller
            if owner is not None:
                self._desk.add(f"{thing.metadata.namespace}/{owner.name}")
        else:
            self._pods.pop(thing.metadata.key, None)

    def _look(self, key: str) -> Looking:
        pod = self._pods.get(key)
        if pod is None or pod.metadata.deletion_timestamp is not None:
            return
        for volume in pod.spec.volumes:
            if volume.ephemeral is not None:
                yield from self._make(pod, volume)

    def _make(self, pod: Pod, volume: PodVolume) -> Looking:
        name, namespace = volume.claim(pod.metadata.name), pod.metadata.namespace
        claim = self._claims.get(f"{namespace}/{name}")
        if claim is not None:
            owner = claim.metadata.controller
            if owner is None or owner.uid != pod.metadata.uid:
                where = f"{namespace}/{pod.metadata.name}"
                words = f"PVC {namespace}/{name} was not created for pod {where} (pod is not owner)"
                yield [_said(pod, volume, words)]
                raise Again
            return
        body = claim_document(pod, volume)
        [answer] = yield [Create(path=CLAIMS.path(namespace), body=body, told=True)]
        if isinstance(answer, Refused) and not answer.in_dying_namespace:
            yield [_said(pod, volume, f"create PVC {name}: {answer.message}")]
            raise Again
        if not isinstance(answer, Done | Refused):
            raise Again


def claim_document(pod: Pod, volume: PodVolume) -> Document:
    """The claim of a volume that a pod brings along."""
    assert volume.ephemeral is not None
    template, meta = volume.ephemeral.volume_claim_template, pod.metadata
    owner = {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": meta.name,
        "uid": meta.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    told = template.get("metadata") or {}
    kept = {name: told[name] for name in ("labels", "annotations") if told.get(name)}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": volume.claim(meta.name), "ownerReferences": [owner], **kept},
        "spec": template.get("spec") or {},
    }


def _said(pod: Pod, volume: PodVolume, words: str) -> Say:
    message = f"ephemeral volume {volume.name}: {words}"
    return event(_COMPONENT, PODS, pod.metadata, reason="FailedBinding", message=message, warning=True)
