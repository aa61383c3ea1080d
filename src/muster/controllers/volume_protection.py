"""Claims that pods use, and volumes that claims have, stay until nobody needs them.

The API server puts a finalizer on each new claim and volume; this takes it off those that are on their way out.
"""

from __future__ import annotations

import msgspec

from muster.api.calls import Done, Look
from muster.api.resources import PODS
from muster.api.wire import Wire
from muster.controllers.desk import Again, AtDesks, Desk
from muster.controllers.desk import Look as Looking
from muster.controllers.objects import Pod, read
from muster.controllers.volume_objects import CLAIMS, VOLUMES, Claim, Volume, change

CLAIM_FINALIZER = "kubernetes.io/pvc-protection"
VOLUME_FINALIZER = "kubernetes.io/pv-protection"


class _Pods(Wire, frozen=True):
    items: tuple[Pod, ...] = msgspec.field(default=())


class VolumeProtection(AtDesks):
    """Lets a claim go that no pod with a node names, and a volume that is not bound."""

    def __init__(self) -> None:
        self._claims: dict[str, Claim] = {}
        self._volumes: dict[str, Volume] = {}
        self._users: dict[str, dict[str, Pod]] = {}
        """Pods that name a claim, by the claim's key and their UID."""
        self._claim_desk = Desk(self._look_at_claim)
        self._volume_desk = Desk(self._look_at_volume)
        super().__init__(self._claim_desk, self._volume_desk)

    def seen(self, where: str, thing: Claim | Volume | Pod) -> None:
        if isinstance(thing, Claim):
            self._claims[thing.metadata.key] = thing
            if thing.metadata.deletion_timestamp is not None:
                self._claim_desk.add(thing.metadata.key)
        elif isinstance(thing, Volume):
            self._volumes[thing.metadata.name] = thing
            if thing.metadata.deletion_timestamp is not None:
                self._volume_desk.add(thing.metadata.name)
        else:
            for key in _named(thing):
                self._users.setdefault(key, {})[thing.metadata.uid] = thing
                self._wake(key)

    def gone(self, where: str, thing: Claim | Volume | Pod) -> None:
        if isinstance(thing, Claim):
            self._claims.pop(thing.metadata.key, None)
        elif isinstance(thing, Volume):
            self._volumes.pop(thing.metadata.name, None)
        else:
            for key in _named(thing):
                self._users.get(key, {}).pop(thing.metadata.uid, None)
                if not self._users.get(key):
                    self._users.pop(key, None)
                self._wake(key)

    def _wake(self, key: str) -> None:
        claim = self._claims.get(key)
        if claim is not None and claim.metadata.deletion_timestamp is not None:
            self._claim_desk.add(key)

    def _look_at_claim(self, key: str) -> Looking:
        claim = self._claims.get(key)
        if claim is None or not _is_leaving(claim, CLAIM_FINALIZER):
            return
        if any(_uses(pod, claim) for pod in self._users.get(key, {}).values()):
            return
        # a pod that was just bound may not have been seen
        [answer] = yield [Look(path=PODS.path(claim.metadata.namespace), told=True)]
        pods = read(_Pods, answer.data) if isinstance(answer, Done) else None
        if pods is None:
            raise Again
        if not any(_uses(pod, claim) for pod in pods.items):
            yield [change(CLAIMS, claim, _without(claim, CLAIM_FINALIZER))]

    def _look_at_volume(self, name: str) -> Looking:
        volume = self._volumes.get(name)
        if volume is None or not _is_leaving(volume, VOLUME_FINALIZER) or volume.status.phase == "Bound":
            return
        yield [change(VOLUMES, volume, _without(volume, VOLUME_FINALIZER))]


def _named(pod: Pod) -> list[str]:
    """Keys of the claims that a pod names."""
    names = (volume.claim(pod.metadata.name) for volume in pod.spec.volumes)
    return [f"{pod.metadata.namespace}/{name}" for name in names if name]


def _uses(pod: Pod, claim: Claim) -> bool:
    if not pod.spec.node_name:
        return False
    for volume in pod.spec.volumes:
        if volume.claim(pod.metadata.name) != claim.metadata.name:
            continue
        owner = claim.metadata.controller
        # one that was made for the pod is let go with it
        if volume.ephemeral is None or (not pod.is_over and owner is not None and owner.uid == pod.metadata.uid):
            return True
    return False


def _is_leaving(thing: Claim | Volume, finalizer: str) -> bool:
    return thing.metadata.deletion_timestamp is not None and finalizer in thing.metadata.finalizers


def _without(thing: Claim | Volume, finalizer: str) -> dict[str, object]:
    kept = [one for one in thing.metadata.finalizers if one != finalizer]
    return {"metadata": {"finalizers": kept or None}}
