"""The simulated provisioner: volumes of classes whose provisioner is `muster.dev/simulated`.

It does what external provisioners do, and what goes wrong with them can be asked for, on a class as a parameter or on a
claim as an annotation, which goes first:

    muster.dev/topology          where a volume can be used: `node`, a label of nodes as topology.kubernetes.io/zone, or
                                 `everywhere` (default)
    muster.dev/provision-after   how long it takes: 5s, 1m30s (default: no time)
    muster.dev/provision-fails   `always`, how often before it succeeds, or `never-answers`

What fails is tried again after a while; where the scheduler chose a node, it is asked to choose again.  How often it
failed is noted on the claim, so that another process counts on.
"""

from __future__ import annotations

from muster.api.calls import Create, Delete, Document, Done, Refused, Say
from muster.base.backoff import backoff_seconds
from muster.base.cel.values import NANO, read_duration
from muster.controllers.desk import Again, AtDesks, Desk
from muster.controllers.desk import Look as Looking
from muster.controllers.objects import Node, event
from muster.controllers.volume_objects import (
    CLAIMS,
    PROVISIONED_BY,
    PROVISIONER,
    SELECTED_NODE,
    VOLUMES,
    Claim,
    StorageClass,
    Volume,
    allows,
    change,
    reference,
)

NAME = "muster.dev/simulated"
DRIVER = "simulated.muster.dev"
"""As volumes name it: a driver's name has no slash."""
TOPOLOGY = "muster.dev/topology"
AFTER = "muster.dev/provision-after"
FAILS = "muster.dev/provision-fails"
FAILURES = "muster.dev/provision-failures"
"""On a claim: how often it failed."""

_HOST = "kubernetes.io/hostname"
_FIRST_REST_SECONDS, _LONGEST_REST_SECONDS = 1.0, 300.0


class Provisioner(AtDesks):
    """Makes volumes for claims, and deletes those that were released."""

    def __init__(self) -> None:
        self._claims: dict[str, Claim] = {}
        self._classes: dict[str, StorageClass] = {}
        self._nodes: dict[str, Node] = {}
        self._volumes: dict[str, Volume] = {}
        self._asked_at: dict[tuple[str, str], float] = {}
        """When a volume was asked for: by the claim's UID and the node that was chosen."""
        self._rests_until: dict[str, float] = {}
        """By the claim's UID: not tried before, after a failure."""
        self._claim_desk = Desk(self._look_at_claim, first=_FIRST_REST_SECONDS, last=_LONGEST_REST_SECONDS)
        self._volume_desk = Desk(self._look_at_volume)
        super().__init__(self._claim_desk, self._volume_desk)

    def seen(self, where: str, thing: Claim | Volume | StorageClass | Node) -> None:
        if isinstance(thing, Claim):
            self._claims[thing.metadata.key] = thing
            self._claim_desk.add(thing.metadata.key)
        elif isinstance(thing, Volume):
            self._volumes[thing.metadata.name] = thing
            self._volume_desk.add(thing.metadata.name)
        elif isinstance(thing, StorageClass):
            self._classes[thing.metadata.name] = thing
            for key, claim in self._claims.items():
                if claim.class_name == thing.metadata.name:
                    self._claim_desk.add(key)
        else:
            self._nodes[thing.metadata.name] = thing

    def gone(self, where: str, thing: Claim | Volume | StorageClass | Node) -> None:
        if isinstance(thing, Claim):
            self._claims.pop(thing.metadata.key, None)
            uid = thing.metadata.uid
            self._rests_until.pop(uid, None)
            self._asked_at = {asked: at for asked, at in self._asked_at.items() if asked[0] != uid}
        elif isinstance(thing, Volume):
            self._volumes.pop(thing.metadata.name, None)
        elif isinstance(thing, StorageClass):
            self._classes.pop(thing.metadata.name, None)
        else:
            self._nodes.pop(thing.metadata.name, None)

    # --- volumes to be made ---

    def _look_at_claim(self, key: str) -> Looking:
        claim = self._claims.get(key)
        found = self._classes.get(claim.class_name) if claim is not None else None
        if claim is None or found is None or not _is_asked(claim, found):
            return
        fails = _told(FAILS, claim, found)
        at = self._due_at(claim, found)
        if fails == "never-answers":
            return
        if at > self._claim_desk.now:
            self._claim_desk.add(key, at=at)
            return
        failures = int(claim.metadata.annotations.get(FAILURES, "0"))
        if fails == "always" or (fails.isdecimal() and failures < int(fails)):
            yield from self._fail(claim, found, failures, "it was asked to fail")
        else:
            yield from self._make(claim, found, failures)

    def _due_at(self, claim: Claim, found: StorageClass) -> float:
        asked = (claim.metadata.uid, claim.selected_node)
        began = self._asked_at.setdefault(asked, max(self._claim_desk.now, self._rests_until.get(asked[0], 0.0)))
        after = read_duration(_told(AFTER, claim, found))
        return began if after is None else began + after.nanos / NANO

    def _fail(self, claim: Claim, found: StorageClass, failures: int, why: str) -> Looking:
        """Says so; where a scheduler chose the node, it is to choose again."""
        words = f'failed to provision volume with StorageClass "{found.metadata.name}": {why}'
        yield [_said(claim, "ProvisioningFailed", words, warning=True)]
        annotations: Document = {FAILURES: str(failures + 1)}
        if claim.selected_node:
            annotations[SELECTED_NODE] = None
        # the change is seen at once, and is no reason to try at once
        rest = backoff_seconds(failures + 1, initial=_FIRST_REST_SECONDS, maximum=_LONGEST_REST_SECONDS)
        self._rests_until[claim.metadata.uid] = self._claim_desk.now + rest
        self._asked_at.pop((claim.metadata.uid, claim.selected_node), None)
        yield [change(CLAIMS, claim, {"metadata": {"annotations": annotations}})]
        self._claim_desk.add(claim.metadata.key, at=self._rests_until[claim.metadata.uid])

    def _make(self, claim: Claim, found: StorageClass, failures: int) -> Looking:
        terms = self._terms(claim, found)
        if terms is None:
            yield from self._fail(claim, found, failures, "no node is where such volumes can be")
            return
        where = f"{claim.metadata.namespace}/{claim.metadata.name}"
        words = f'External provisioner is provisioning volume for claim "{where}"'
        body = volume_document(claim, found, terms)
        name = body["metadata"]["name"]
        _, answer = yield [_said(claim, "Provisioning", words), Create(path=VOLUMES.path(), body=body, told=True)]
        if isinstance(answer, Done):
            yield [_said(claim, "ProvisioningSucceeded", f"Successfully provisioned volume {name}")]
        elif not isinstance(answer, Refused):
            raise Again
        elif answer.code != 409:
            yield from self._fail(claim, found, failures, answer.message)

    def _terms(self, claim: Claim, found: StorageClass) -> list[Document] | None:
        """What nodes must be like to use the volume: nothing, if it can be used everywhere; None if no node can be."""
        key = {"node": _HOST, "everywhere": "", "": ""}.get(name := _told(TOPOLOGY, claim, found), name)
        if not key:
            listed = [list(topology.match_label_expressions) for topology in found.allowed_topologies]
            return [{"matchExpressions": [{**one, "operator": "In"} for one in each]} for each in listed]
        node = self._nodes.get(claim.selected_node) or self._some_node(found, key)
        if node is None or key not in node.metadata.labels:
            return None
        one = {"key": key, "operator": "In", "values": [node.metadata.labels[key]]}
        return [{"matchExpressions": [one]}]

    def _some_node(self, found: StorageClass, key: str) -> Node | None:
        """The first by name of those that the class allows."""
        for name in sorted(self._nodes):
            labels = self._nodes[name].metadata.labels
            allowed = found.allowed_topologies
            if key in labels and (not allowed or any(allows(one, labels) for one in allowed)):
                return self._nodes[name]
        return None

    # --- volumes to be deleted ---

    def _look_at_volume(self, name: str) -> Looking:
        volume = self._volumes.get(name)
        if volume is None or volume.metadata.annotations.get(PROVISIONED_BY) != NAME:
            return
        deletes = volume.spec.persistent_volume_reclaim_policy == "Delete"
        if volume.status.phase == "Released" and deletes and volume.metadata.deletion_timestamp is None:
            yield [Delete(path=VOLUMES.path(name=name), uid=volume.metadata.uid)]


def _is_asked(claim: Claim, found: StorageClass) -> bool:
    if found.provisioner != NAME or claim.spec.volume_name or claim.metadata.deletion_timestamp is not None:
        return False
    if claim.metadata.annotations.get(PROVISIONER) != NAME:
        return False
    return not found.is_delayed or bool(claim.selected_node)


def _told(name: str, claim: Claim, found: StorageClass) -> str:
    return claim.metadata.annotations.get(name, found.parameters.get(name, ""))


def volume_document(claim: Claim, found: StorageClass, terms: list[Document]) -> Document:
    """The volume of a claim, for nodes that one of the terms is for; for all, if there is none."""
    name = f"pvc-{claim.metadata.uid}"
    spec: Document = {
        "accessModes": list(claim.spec.access_modes),
        "capacity": {"storage": claim.spec.resources.requests.get("storage", "0")},
        "claimRef": reference(claim),
        "csi": {"driver": DRIVER, "volumeHandle": name},
        "persistentVolumeReclaimPolicy": found.reclaim_policy,
        "storageClassName": found.metadata.name,
        "volumeMode": claim.spec.volume_mode or "Filesystem",
    }
    if terms:
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    if found.mount_options:
        spec["mountOptions"] = list(found.mount_options)
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "annotations": {PROVISIONED_BY: NAME}},
        "spec": spec,
    }


def _said(claim: Claim, reason: str, message: str, *, warning: bool = False) -> Say:
    return event(NAME, CLAIMS, claim.metadata, reason=reason, message=message, warning=warning)
