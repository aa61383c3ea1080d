"""What the volume controller and a provisioner do with claims, in virtual time.

Classes of any provisioner get their volumes.  Annotations of claims say what else happens, as those of the embedded
cluster's provisioner (docs/local.md):

    muster.dev/topology          where a volume can be used: "node", a label of nodes, or "everywhere" (default)
    muster.dev/provision-after   how long it takes: 5s, 1m30s (default: no time)
    muster.dev/provision-fails   "always", how often before it succeeds, or "never-answers"
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Protocol

from msgspec.structs import replace

from muster.api.kinds import CLAIMS, VOLUMES, Address
from muster.api.volumes import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    SELECTED_NODE,
    ClaimReference,
    PersistentVolume,
    PersistentVolumeClaim,
    VolumeNodeAffinity,
    VolumeSpec,
    VolumeStatus,
)
from muster.api.wire import Fact, Metadata, Node
from muster.base.cel.values import NANO, read_duration
from muster.base.selectors import NodeSelector, NodeSelectorTerm, Requirement
from muster.framework.grants import ClaimVolume, SelectNode

TOPOLOGY = "muster.dev/topology"
AFTER = "muster.dev/provision-after"
FAILS = "muster.dev/provision-fails"
NEVER_ANSWERS = "never-answers"
_ALWAYS = "always"
_HOSTNAME = "kubernetes.io/hostname"


class Keeper(Protocol):
    """Who has the objects and the time."""

    now: float
    facts: dict[Address, Fact]
    nodes: dict[str, Node]

    def put_fact(self, fact: Fact) -> Address: ...

    def at(self, time: float, action: Callable[[], None]) -> None: ...


class Volumes:
    """Binds claims to volumes, and makes volumes for nodes that were selected."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self._failures: Counter[str] = Counter()
        """By UID of the claim."""

    def grant(self, grant: SelectNode | ClaimVolume) -> str:
        """Writes the grant; "" or why that cannot be."""
        return self._select(grant) if isinstance(grant, SelectNode) else self._keep(grant)

    def take_back(self, grant: SelectNode | ClaimVolume) -> None:
        claim = self._claim(grant.claim, grant.uid)
        if claim is None or claim.spec.volume_name:
            return
        if isinstance(grant, SelectNode) and claim.metadata.annotations.get(SELECTED_NODE) == grant.node:
            self._keeper.put_fact(_annotated(claim, without=SELECTED_NODE))
        elif isinstance(grant, ClaimVolume):
            volume = self._keeper.facts.get(Address(VOLUMES.name, grant.volume))
            if isinstance(volume, PersistentVolume) and volume.status.phase != "Bound":
                self._keeper.put_fact(replace(volume, spec=replace(volume.spec, claim_ref=None)))

    def _claim(self, key: str, uid: str) -> PersistentVolumeClaim | None:
        found = self._keeper.facts.get(Address(CLAIMS.name, key))
        return found if isinstance(found, PersistentVolumeClaim) and found.metadata.uid == uid else None

    # --- volumes to be made ---

    def _select(self, grant: SelectNode) -> str:
        claim = self._claim(grant.claim, grant.uid)
        if claim is None:
            return f"claim {grant.claim} was deleted"
        self._keeper.put_fact(_annotated(claim, {SELECTED_NODE: grant.node}))
        if claim.metadata.annotations.get(FAILS) != NEVER_ANSWERS:
            self._keeper.at(self._keeper.now + seconds_of(claim), lambda: self._provision(grant))
        return ""

    def _provision(self, grant: SelectNode) -> None:
        claim = self._claim(grant.claim, grant.uid)
        if claim is None or claim.metadata.annotations.get(SELECTED_NODE) != grant.node or claim.spec.volume_name:
            # taken back, or answered
            return
        self._failures[grant.uid] += 1
        if fails(claim, self._failures[grant.uid]):
            self._keeper.put_fact(_annotated(claim, without=SELECTED_NODE))
            return
        volume = made_for(claim, reach_of(claim, self._keeper.nodes.get(grant.node)))
        self._keeper.put_fact(volume)
        self._keeper.put_fact(_bound(claim, volume))

    # --- volumes that there are ---

    def _keep(self, grant: ClaimVolume) -> str:
        claim = self._claim(grant.claim, grant.uid)
        volume = self._keeper.facts.get(Address(VOLUMES.name, grant.volume))
        if claim is None:
            return f"claim {grant.claim} was deleted"
        if not isinstance(volume, PersistentVolume) or volume.metadata.uid != grant.volume_uid:
            return f"volume {grant.volume} was deleted"
        kept = volume.spec.claim_ref
        if kept is not None and kept.uid not in ("", grant.uid):
            return f"volume {grant.volume} is another claim's by now"
        namespace, _, name = grant.claim.partition("/")
        spec = replace(volume.spec, claim_ref=ClaimReference(namespace, name, grant.uid))
        self._keeper.put_fact(replace(volume, spec=spec))
        self._keeper.at(self._keeper.now, lambda: self._complete(grant))
        return ""

    def _complete(self, grant: ClaimVolume) -> None:
        claim = self._claim(grant.claim, grant.uid)
        volume = self._keeper.facts.get(Address(VOLUMES.name, grant.volume))
        if claim is None or claim.spec.volume_name or not isinstance(volume, PersistentVolume):
            return
        if volume.spec.claim_ref is not None and volume.spec.claim_ref.uid == grant.uid:
            self._keeper.put_fact(replace(volume, status=VolumeStatus("Bound")))
            self._keeper.put_fact(_bound(claim, volume))


def _annotated(
    claim: PersistentVolumeClaim, said: dict[str, str] | None = None, *, without: str = ""
) -> PersistentVolumeClaim:
    kept = {key: value for key, value in claim.metadata.annotations.items() if key != without}
    return replace(claim, metadata=replace(claim.metadata, annotations=kept | (said or {})))


def seconds_of(claim: PersistentVolumeClaim) -> float:
    """How long it takes to make the claim's volume."""
    after = read_duration(claim.metadata.annotations.get(AFTER, "0"))
    return 0.0 if after is None else after.nanos / NANO


def fails(claim: PersistentVolumeClaim, attempt: int) -> bool:
    """Whether the attempt of this number, from 1, to make its volume fails."""
    told = claim.metadata.annotations.get(FAILS, "0")
    return told == _ALWAYS or attempt <= int(told)


def reach_of(claim: PersistentVolumeClaim, node: Node | None) -> VolumeNodeAffinity | None:
    """Where a volume that was made for the node can be used; None for everywhere."""
    key = {"node": _HOSTNAME, "everywhere": ""}.get(told := claim.metadata.annotations.get(TOPOLOGY, ""), told)
    value = "" if node is None else node.metadata.labels.get(key, "")
    if not key or not value:
        return None
    here = NodeSelectorTerm(match_expressions=(Requirement(key, "In", (value,)),))
    return VolumeNodeAffinity(NodeSelector((here,)))


def made_for(claim: PersistentVolumeClaim, reach: VolumeNodeAffinity | None) -> PersistentVolume:
    """The volume that a claim gets."""
    meta, spec = claim.metadata, claim.spec
    return PersistentVolume(
        metadata=Metadata(name=f"pvc-{meta.uid}"),
        spec=VolumeSpec(
            capacity=spec.resources.requests,
            access_modes=spec.access_modes,
            storage_class_name=spec.storage_class_name or "",
            claim_ref=ClaimReference(meta.namespace, meta.name, meta.uid),
            node_affinity=reach,
        ),
        status=VolumeStatus("Bound"),
    )


def _bound(claim: PersistentVolumeClaim, volume: PersistentVolume) -> PersistentVolumeClaim:
    claim = _annotated(claim, {BIND_COMPLETED: "yes", BOUND_BY_CONTROLLER: "yes"})
    return replace(claim, spec=replace(claim.spec, volume_name=volume.metadata.name))
