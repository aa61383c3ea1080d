"""Volumes of one cluster's pods: what they need of nodes, which are granted to whom, and how far these are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

import msgspec

from muster.api.kinds import (
    CLAIMS,
    CSI_DRIVERS,
    STORAGE_CAPACITIES,
    STORAGE_CLASSES,
    VOLUMES,
)
from muster.api.volumes import (
    BIND_COMPLETED,
    SELECTED_NODE,
    CSIDriver,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from muster.api.wire import Node, Pod
from muster.cluster.facts import Facts
from muster.framework.contract import READY, Progress, Supply
from muster.framework.grants import ClaimVolume, Grant, SelectNode
from muster.volumes.choice import Choice, Market, Offer, Offers, Pool, Refused, choose, offers_for, pools_of
from muster.volumes.claims import named_claims, problem
from muster.volumes.needs import NOTHING, Ask, Need, Sharing, need_of
from muster.volumes.nodes import Site
from muster.volumes.storage import Stock, Storage, claim_key, class_of


class VolumeNeed(msgspec.Struct, frozen=True, gc=False):
    """What a pod's claims need of nodes, and what there is to choose from: equal for pods that are alike in both."""

    need: Need
    offers: tuple[tuple[Offer, ...], ...] = ()
    """For each ask: volumes that would do."""
    pools: tuple[tuple[Pool, ...], ...] = ()
    """For each ask: storage of which volumes can be made."""

    def market(self, taken: Iterable[str] = (), settled: dict[str, Offer | str] | None = None) -> Market:
        """What is left when these volumes are taken, and what shared claims got."""
        offers = dict(zip(self.need.asks, map(_indexed, self.offers), strict=True))
        pools = {ask.storage_class: found for ask, found in zip(self.need.asks, self.pools, strict=True)}
        return Market(offers.__getitem__, pools.__getitem__, frozenset(taken), None, settled or {})


@lru_cache(maxsize=1024)
def _indexed(offers: tuple[Offer, ...]) -> Offers:
    return Offers(offers)


_UNKNOWN = VolumeNeed(NOTHING)
"""While a claim holds the pod back: it brings something, and nobody knows what that needs."""


class _Given(NamedTuple):
    """What was granted to one claim."""

    grant: SelectNode | ClaimVolume
    users: set[str]
    """UIDs of pods that are to be bound with it."""
    seen: list[bool]
    """Whether the API has shown it."""


class VolumeSupply(Supply):
    """Keeps by claim which pods name it; needs are read anew when something changes of which they were made."""

    def __init__(self, facts: Facts) -> None:
        super().__init__()
        self._facts = facts
        self._stock = Stock(facts.all(VOLUMES).values())
        self._pods: dict[str, Pod] = {}
        """By UID, those that name claims."""
        self._users: dict[str, set[str]] = {}
        """By key of a claim: UIDs of pods that name it."""
        self._given: dict[str, _Given] = {}
        """By key of a claim."""
        self._failed: dict[str, str] = {}
        """By UID of a pod: why it has nothing to be bound with."""
        facts.tell(VOLUMES, self._volume_changed)
        facts.tell(CLAIMS, self._claim_changed)
        facts.tell(STORAGE_CLASSES, self._class_changed)
        facts.tell(CSI_DRIVERS, self._driver_changed)
        facts.tell(STORAGE_CAPACITIES, self._capacity_changed)

    # --- what changes ---

    def _claim_changed(self, key: str, before: PersistentVolumeClaim | None, now: PersistentVolumeClaim | None) -> None:
        self.news |= self._users.get(key, _NOBODY)

    def _volume_changed(self, _: str, before: PersistentVolume | None, now: PersistentVolume | None) -> None:
        for volume in (before, now):
            if volume is None:
                continue
            if (kept := volume.spec.claim_ref) is not None:
                self.news |= self._users.get(f"{kept.namespace}/{kept.name}", _NOBODY)
            self._look_again(class_of(volume))
        if now is not None:
            self._stock.put(now)
        elif before is not None:
            self._stock.remove(before.metadata.name)

    def _class_changed(self, name: str, before: StorageClass | None, now: StorageClass | None) -> None:
        self._look_again(name)

    def _driver_changed(self, name: str, before: CSIDriver | None, now: CSIDriver | None) -> None:
        for key, found in self._facts.all(STORAGE_CLASSES).items():
            if found.provisioner == name:
                self._look_again(key)

    def _capacity_changed(self, key: str, before: CSIStorageCapacity | None, now: CSIStorageCapacity | None) -> None:
        for name in {each.storage_class_name for each in (before, now) if each is not None}:
            self._look_again(name)

    def _look_again(self, name: str) -> None:
        """Pods whose claims are still to get a volume of the class."""
        claims = self._facts.all(CLAIMS)
        for key, users in self._users.items():
            claim = claims.get(key)
            if claim is not None and not claim.spec.volume_name and class_of(claim) == name:
                self.news |= users

    # --- what pods need ---

    def seen(self, pod: Pod) -> None:
        uid, named = pod.metadata.uid, named_claims(pod)
        if not named or uid in self._pods:
            # the API server lets nobody change a pod's volumes
            return
        self._pods[uid] = pod
        for each in named:
            users = self._users.setdefault(each.key, set())
            if users:
                # the claim is shared from now on
                self.news |= users
            users.add(uid)

    def gone(self, uid: str) -> None:
        pod = self._pods.pop(uid, None)
        for each in () if pod is None else named_claims(pod):
            users = self._users[each.key]
            users.discard(uid)
            self.news |= users
            if not users:
                del self._users[each.key]

    def need(self, uid: str) -> VolumeNeed | None:
        pod = self._pods.get(uid)
        if pod is None:
            return None
        if self.holds(uid) is not None:
            return _UNKNOWN
        need = need_of(pod, self._storage(), Sharing(partial(self._is_shared, uid), _not_attached))
        given = {each.grant.volume for each in self._given.values() if isinstance(each.grant, ClaimVolume)}
        capacities = self._facts.all(STORAGE_CAPACITIES)
        return VolumeNeed(
            need,
            tuple(self._offers(ask, given) for ask in need.asks),
            tuple(pools_of(capacities, ask.storage_class) for ask in need.asks),
        )

    def holds(self, uid: str) -> str | None:
        pod = self._pods.get(uid)
        found = None if pod is None else problem(pod, self._storage())
        return None if found is None else found.text

    def _offers(self, ask: Ask, given: set[str]) -> tuple[Offer, ...]:
        return tuple(offer for offer in offers_for(ask, self._stock).all if offer.volume not in given)

    def _is_shared(self, uid: str, claim: str) -> bool:
        return bool(self._users.get(claim, _NOBODY) - {uid})

    def _storage(self) -> Storage:
        facts = self._facts
        return Storage(
            facts.all(CLAIMS),
            self._stock,
            facts.all(STORAGE_CLASSES),
            facts.all(CSI_DRIVERS),
            {},
            facts.all(STORAGE_CAPACITIES),
        )

    # --- what they get ---

    def grant(self, uid: str, node: Node) -> tuple[Grant, ...]:
        pod, need = self._pods.get(uid), self.need(uid)
        self._failed.pop(uid, None)
        if pod is None or need is None or not need.need.asks:
            return ()
        site = Site(node.metadata.name, node.metadata.labels)
        claims = [self._facts.all(CLAIMS)[each.key] for each in named_claims(pod)]
        asking = [claim for claim in claims if not claim.spec.volume_name]
        choice = choose(need.need.asks, site, need.market(settled=self._settled(asking)))
        if isinstance(choice, Refused):
            # another member has just got what there was
            self._failed[uid] = choice.reason
            return ()
        return tuple(self._give(uid, grant) for grant in self._grants(choice, asking, site.name))

    def _settled(self, asking: Sequence[PersistentVolumeClaim]) -> dict[str, Offer | str]:
        """What claims got that others to be bound share."""
        settled: dict[str, Offer | str] = {}
        for key in map(claim_key, asking):
            if (given := self._given.get(key)) is not None:
                grant = given.grant
                settled[key] = grant.node if isinstance(grant, SelectNode) else self._offer(grant.volume)
        return settled

    def _offer(self, name: str) -> Offer:
        volume = self._stock.get(name)
        affinity = None if volume is None else volume.spec.node_affinity
        return Offer(name, 0, "", None if affinity is None else affinity.required)

    def _grants(
        self, choice: Choice, asking: Sequence[PersistentVolumeClaim], node: str
    ) -> Iterable[SelectNode | ClaimVolume]:
        for made in choice.made:
            claim = asking[made.ask]
            yield SelectNode(claim_key(claim), claim.metadata.uid, node)
        for bound in choice.bound:
            claim, volume = asking[bound.ask], self._stock.get(bound.offer.volume)
            assert volume is not None
            yield ClaimVolume(volume.metadata.name, volume.metadata.uid, claim_key(claim), claim.metadata.uid)

    def _give(self, uid: str, grant: SelectNode | ClaimVolume) -> Grant:
        self._given.setdefault(grant.claim, _Given(grant, set(), [False])).users.add(uid)
        if isinstance(grant, ClaimVolume):
            volume = self._stock.get(grant.volume)
            if volume is not None:
                self._look_again(class_of(volume))
        return grant

    # --- how far it is ---

    def failed(self, grant: Grant, message: str) -> None:
        given = self._given.get(grant.claim)
        if given is not None and given.grant == grant:
            del self._given[grant.claim]
            for uid in given.users:
                self._failed[uid] = message
                self.news.add(uid)

    def progress(self, uid: str) -> Progress:
        if (why := self._failed.get(uid)) is not None:
            return Progress(failed=why)
        pod = self._pods.get(uid)
        found = [] if pod is None else [self._claim_progress(each.key) for each in named_claims(pod)]
        troubled = [one for one in found if one.failed] or [one for one in found if one.waits_for]
        return troubled[0] if troubled else READY

    def _claim_progress(self, key: str) -> Progress:
        claim, given = self._facts.get(CLAIMS, key), self._given.get(key)
        _, _, name = key.partition("/")
        if claim is None or (given is not None and claim.metadata.uid != given.grant.uid):
            return Progress(failed=f"claim {name} was deleted")
        if claim.metadata.deletion_timestamp is not None:
            return Progress(failed=f"claim {name} is being deleted")
        if claim.spec.volume_name and BIND_COMPLETED in claim.metadata.annotations:
            return READY
        if given is None:
            return Progress(failed=f"claim {name} has lost its volume")
        if self._stands(given.grant, claim):
            given.seen[0] = True
        elif given.seen[0]:
            return Progress(failed=_UNDONE[type(given.grant)].format(name))
        return Progress(waits_for=_AWAITED[type(given.grant)].format(name))

    def _stands(self, grant: SelectNode | ClaimVolume, claim: PersistentVolumeClaim) -> bool:
        """Whether the API shows the grant, or what followed from it."""
        if claim.spec.volume_name:
            return True
        if isinstance(grant, SelectNode):
            return claim.metadata.annotations.get(SELECTED_NODE) == grant.node
        volume = self._stock.get(grant.volume)
        kept = None if volume is None else volume.spec.claim_ref
        return kept is not None and kept.uid == grant.uid

    def take_back(self, uid: str) -> tuple[Grant, ...]:
        self._failed.pop(uid, None)
        taken = []
        for key, given in [(key, given) for key, given in self._given.items() if uid in given.users]:
            given.users.discard(uid)
            if given.users:
                continue
            del self._given[key]
            self.news |= self._users.get(key, _NOBODY)
            if not self._is_undone(given):
                taken.append(given.grant)
            if isinstance(given.grant, ClaimVolume) and (volume := self._stock.get(given.grant.volume)) is not None:
                self._look_again(class_of(volume))
        return tuple(taken)

    def _is_undone(self, given: _Given) -> bool:
        """Whether there is nothing to take back: the claim has its volume, is another, or the grant was taken away."""
        claim = self._facts.get(CLAIMS, given.grant.claim)
        if claim is None or claim.metadata.uid != given.grant.uid or claim.spec.volume_name:
            return True
        return given.seen[0] and not self._stands(given.grant, claim)

    def bound(self, uid: str) -> None:
        self._failed.pop(uid, None)
        for key, given in [(key, given) for key, given in self._given.items() if uid in given.users]:
            given.users.discard(uid)
            if not given.users:
                del self._given[key]


_NOBODY: set[str] = set()
_AWAITED = {
    SelectNode: "the volume of claim {} is not provisioned yet",
    ClaimVolume: "claim {} is not bound to its volume yet",
}
_UNDONE = {
    SelectNode: "provisioning of the volume of claim {} failed",
    ClaimVolume: "the volume of claim {} was given to somebody else",
}


def _not_attached(driver: str, handle: str) -> bool:
    return False
