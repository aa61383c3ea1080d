"""The volume controller and a provisioner, played on the stage: as sim/volumes.py, with requests to an API server."""

from collections import Counter

from muster.api.kinds import CLAIMS, VOLUMES
from muster.api.volumes import BIND_COMPLETED, BOUND_BY_CONTROLLER, SELECTED_NODE
from muster.kube.client import MERGE_PATCH
from muster.sim.volumes import FAILS, NEVER_ANSWERS, fails, made_for, reach_of, seconds_of


class PlayedVolumes:
    """Acts on claims of which somebody chose the node or the volume."""

    def __init__(self, stage, requests, hands):
        self._stage = stage
        self._requests = requests
        self._hands = hands
        self._asked = set()
        """(UID of a claim, node): volumes that are to be made."""
        self._failures = Counter()
        """By UID of the claim."""

    def duties(self, there):
        """What is to be done now."""
        claims, volumes = there.of(CLAIMS), there.of(VOLUMES)
        nodes = {node.metadata.name: node for node in there.nodes}
        kept = {each.spec.claim_ref.uid: each for each in volumes if each.spec.claim_ref is not None}
        waiting = set()
        for claim in claims:
            uid, node = claim.metadata.uid, claim.metadata.annotations.get(SELECTED_NODE, "")
            if claim.spec.volume_name or claim.metadata.deletion_timestamp is not None:
                continue
            if uid in kept:
                yield self._bind(claim, kept[uid].metadata.name)
            elif node and claim.metadata.annotations.get(FAILS) != NEVER_ANSWERS:
                waiting.add((uid, node))
                if (uid, node) not in self._asked:
                    yield from self._ask(claim, nodes.get(node), node)
        self._asked &= waiting

    def _ask(self, claim, node, name):
        """Makes the volume now, or when its time has come."""
        self._asked.add((claim.metadata.uid, name))
        seconds = seconds_of(claim)
        if not seconds:
            yield self._provision(claim, node, name)
        else:
            stage = self._stage
            stage.at(stage.now + seconds, lambda: stage.do(self._provision(claim, node, name)))

    async def _provision(self, claim, node, name):
        if (claim.metadata.uid, name) not in self._asked:
            # the node was taken back
            return
        uid, path = claim.metadata.uid, CLAIMS.resource.path(claim.metadata.namespace, claim.metadata.name)
        self._failures[uid] += 1
        if fails(claim, self._failures[uid]):
            self._asked.discard((uid, name))
            body = {"metadata": {"uid": uid, "annotations": {SELECTED_NODE: None}}}
            await self._requests.if_there("PATCH", path, body, content_type=MERGE_PATCH)
            return
        volume = document(made_for(claim, reach_of(claim, node)), claim)
        await self._requests("POST", VOLUMES.resource.path(), volume)
        self._hands.made.append(VOLUMES.resource.path(name=volume["metadata"]["name"]))
        await self._bind(claim, volume["metadata"]["name"])

    async def _bind(self, claim, volume):
        meta = claim.metadata
        path, there = CLAIMS.resource.path(meta.namespace, meta.name), VOLUMES.resource.path(name=volume)
        await self._requests("PATCH", f"{there}/status", {"status": {"phase": "Bound"}}, content_type=MERGE_PATCH)
        said = {BIND_COMPLETED: "yes", BOUND_BY_CONTROLLER: "yes"}
        body = {"metadata": {"uid": meta.uid, "annotations": said}, "spec": {"volumeName": volume}}
        await self._requests.if_there("PATCH", path, body, content_type=MERGE_PATCH)


def document(volume, claim):
    """As an API server takes it."""
    affinity = volume.spec.node_affinity
    terms = [] if affinity is None else affinity.required.node_selector_terms
    listed = [
        [{"key": each.key, "operator": each.operator, "values": list(each.values)} for each in term.match_expressions]
        for term in terms
    ]
    spec = {
        "accessModes": list(volume.spec.access_modes),
        "capacity": {"storage": "1Gi"},
        "storageClassName": volume.spec.storage_class_name,
        "csi": {"driver": "simulated.muster.dev", "volumeHandle": claim.metadata.uid},
        "claimRef": {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": claim.metadata.namespace,
            "name": claim.metadata.name,
            "uid": claim.metadata.uid,
        },
    }
    if listed:
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": each} for each in listed]}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": volume.metadata.name},
        "spec": spec,
    }
