"""Volumes of one cluster's pods: what they need of nodes, which are granted to whom, and how far these are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

import msgspec

from muster.api.kinds import (
    ATTACHMENTS,
    CLAIMS,
    CSI_DRIVERS,
    CSI_NODES,
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
    VolumeAttachment,
)
from muster.api.wire import Node, Pod
from muster.cluster.classes import Needs
from muster.cluster.facts import Facts
from muster.cluster.nodes import NodeTable, Rows
from muster.framework.contract import READY, Progress, Supply
from muster.framework.grants import ClaimVolume, Grant, SelectNode
from muster.volumes.choice import Choice, Market, Offer, Offers, Pool, Refused, choose, offers_for, pools_of
from muster.volumes.claims import named_claims, problem
from muster.volumes.disks import disks_of
from muster.volumes.in_tree import in_tree
from muster.volumes.limits import attached, attaches_of, claim_of
from muster.volumes.needs import Ask, Need, Sharing, need_of, taken_by
from muster.volumes.nodes import Site, reach_refusal
from muster.volumes.storage import Stock, Storage, claim_key, class_of, migrated_on


class VolumeNeed(msgspec.Struct, frozen=True, gc=False):
    """What a pod's claims need of nodes, and what there is to choose from: equal for pods that are alike in both."""

    need: Need
    offers: tuple[tuple[Offer, ...], ...] = ()
    """For each ask: volumes that would do."""
    pools: tuple[tuple[Pool, ...], ...] = ()
    """For each ask: storage of which volumes can be made."""

    @property
    def may_be_used_up(self) -> bool:
        """Whether another pod of the class may take what this one could have, or has a say in where it goes."""
        return any(self.offers) or any(ask.shared for ask in self.need.asks)

    @property
    def is_rated(self) -> bool:
        """Whether nodes can differ in how well volumes fit there: sizes are told."""
        pools = (pool for found in self.pools for pool in found)
        return any(self.offers) or any(pool.capacity_bytes is not None for pool in pools)

    def market(self, taken: Iterable[str] = (), settled: dict[str, Offer | str] | None = None) -> Market:
        """What is left when these volumes are taken, and what shared claims got."""
        offers = dict(zip(self.need.asks, map(_indexed, self.offers), strict=True))
        pools = {ask.storage_class: found for ask, found in zip(self.need.asks, self.pools, strict=True)}
        return Market(offers.__getitem__, pools.__getitem__, frozenset(taken), None, settled or {})


@lru_cache(maxsize=1024)
def _indexed(offers: tuple[Offer, ...]) -> Offers:
    return Offers(offers)


SUPPLIER = "VolumeBinding"
"""The plugin under whose name classes have what pods need of volumes."""


def volume_need(needs: Needs) -> VolumeNeed | None:
    """What a class needs of volumes; None for pods that bring none."""
    for plugin, need in needs:
        if plugin == SUPPLIER:
            assert isinstance(need, VolumeNeed)
            return need
    return None


def sites(nodes: NodeTable, rows: Rows | None) -> list[Site]:
    """What conditions of volumes look at, of all rows or these."""
    return [
        _NOWHERE if (node := nodes.nodes[row]) is None else _site(nodes, row, node)
        for row in (range(nodes.capacity) if rows is None else rows.tolist())
    ]


_NOWHERE = Site("", {})


def _site(nodes: NodeTable, row: int, node: Node) -> Site:
    return Site(nodes.names[row], node.metadata.labels, migrated_on(nodes.drivers.csi_nodes[row]))


_Handle = tuple[str, str]
"""Driver and handle of a volume."""


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
        """By UID, those with volumes that matter and that have not ended."""
        self._users: dict[str, set[str]] = {}
        """By key of a claim: UIDs of pods that name it."""
        self._handles: dict[str, frozenset[_Handle]] = {}
        """By UID, the volumes that the pod has..."""
        self._sharers: dict[_Handle, set[str]] = {}
        """...and who has them."""
        self._attached: dict[_Handle, set[str]] = {}
        """Keys of VolumeAttachments, by what they attach..."""
        self._attaches: dict[str, _Handle] = {}
        """...and what each attaches."""
        self._attachments: dict[str, dict[str, VolumeAttachment]] = {}
        """By name of the volume, and key."""
        self._asking: dict[str, set[str]] = {}
        """By class, keys of claims that somebody names and that have no volume..."""
        self._asks: dict[str, str] = {}
        """...and the class of each."""
        self._given: dict[str, _Given] = {}
        """By key of a claim..."""
        self._keys_given: dict[str, list[str]] = {}
        """...and by UID of a pod, the keys of claims with which it is to be bound."""
        self._known_offers: dict[Ask, tuple[Offer, ...]] = {}
        self._offers_of = -1
        """The version of the stock that they are of."""
        self._failed: dict[str, str] = {}
        """By UID of a pod: why it has nothing to be bound with."""
        self._going: dict[str, Site] = {}
        """By UID of a pod that is to be bound: where."""
        facts.tell(VOLUMES, self._volume_changed)
        facts.tell(CLAIMS, self._claim_changed)
        facts.tell(STORAGE_CLASSES, self._class_changed)
        facts.tell(CSI_DRIVERS, self._driver_changed)
        facts.tell(STORAGE_CAPACITIES, self._capacity_changed)
        facts.tell(ATTACHMENTS, self._attachment_changed)

    # --- what changes ---

    def _claim_changed(self, key: str, before: PersistentVolumeClaim | None, now: PersistentVolumeClaim | None) -> None:
        users = self._users.get(key, _NOBODY)
        self.news |= users
        self._note_claim(key)
        for uid in sorted(users):
            self._count_handles(uid)

    def _volume_changed(self, name: str, before: PersistentVolume | None, now: PersistentVolume | None) -> None:
        if now is not None:
            self._stock.put(now)
        else:
            self._stock.remove(name)
        for key, each in self._attachments.get(name, {}).items():
            self._attach(key, each)
        for volume in (before, now):
            if volume is None:
                continue
            if (kept := volume.spec.claim_ref) is not None:
                users = self._users.get(f"{kept.namespace}/{kept.name}", _NOBODY)
                self.news |= users
                for uid in sorted(users):
                    self._count_handles(uid)
            else:
                # one that is some claim's is nobody else's to have
                self._look_again(class_of(volume))

    def _attachment_changed(self, key: str, before: VolumeAttachment | None, now: VolumeAttachment | None) -> None:
        for one in (before, now):
            name = "" if one is None else one.spec.source.persistent_volume_name or ""
            there = self._attachments.setdefault(name, {})
            there.pop(key, None)
            if one is not None and one is now:
                there[key] = one
            if not there:
                del self._attachments[name]
        self._attach(key, now)

    def _attach(self, key: str, now: VolumeAttachment | None) -> None:
        """The attachment is what it is now, or is none."""
        before = self._attaches.pop(key, None)
        there = [] if now is None else [each for some in attached((now,), self._stock).values() for each in some]
        if before is not None:
            self._attached[before].discard(key)
            if not self._attached[before]:
                del self._attached[before]
                self.news |= self._sharers.get(before, _NOBODY)
        for each in there:
            handle = self._attaches[key] = each.driver, each.handle
            if handle not in self._attached:
                self.news |= self._sharers.get(handle, _NOBODY)
            self._attached.setdefault(handle, set()).add(key)

    def _count_handles(self, uid: str) -> None:
        """Which volumes the pod has may have changed, and with it who shares them."""
        pod = self._pods.get(uid)
        listed = () if pod is None else attaches_of(pod, self._storage())
        now = frozenset((each.driver, each.handle) for each in listed if not claim_of(each))
        before = self._handles.pop(uid, frozenset())
        if now:
            self._handles[uid] = now
        for handle in before - now:
            self._sharers[handle].discard(uid)
            self.news |= self._sharers[handle]
            if not self._sharers[handle]:
                del self._sharers[handle]
        for handle in now - before:
            sharers = self._sharers.setdefault(handle, set())
            self.news |= sharers
            sharers.add(uid)

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
        """Pods whose claims are still to get a volume of the class, and that are not to be bound with one already."""
        for key in self._asking.get(name, _NOBODY):
            self.news |= self._users[key] - self._going.keys()

    def _note_claim(self, key: str) -> None:
        """The claim, or whether somebody names it, has changed."""
        before, claim = self._asks.pop(key, None), self._facts.get(CLAIMS, key)
        if before is not None:
            self._asking[before].discard(key)
            if not self._asking[before]:
                del self._asking[before]
        if claim is not None and not claim.spec.volume_name and key in self._users:
            name = self._asks[key] = class_of(claim)
            self._asking.setdefault(name, set()).add(key)

    # --- what pods need ---

    def seen(self, pod: Pod) -> None:
        uid, named = pod.metadata.uid, named_claims(pod)
        if pod.status.phase in _ENDED:
            self.gone(uid)
            return
        if uid in self._pods or not (named or _has_disks(pod)):
            # the API server lets nobody change a pod's volumes
            return
        self._pods[uid] = pod
        for each in named:
            users = self._users.setdefault(each.key, set())
            if users:
                # the claim is shared from now on
                self.news |= users
            users.add(uid)
            self._note_claim(each.key)
        self._count_handles(uid)

    def gone(self, uid: str) -> None:
        pod = self._pods.pop(uid, None)
        for each in () if pod is None else named_claims(pod):
            users = self._users[each.key]
            users.discard(uid)
            self.news |= users
            if not users:
                del self._users[each.key]
                self._note_claim(each.key)
        self._count_handles(uid)

    def need(self, uid: str) -> VolumeNeed | None:
        pod = self._pods.get(uid)
        if pod is None:
            return None
        storage, sharing = self._storage(), Sharing(partial(self._is_shared, uid), partial(self._is_elsewhere, uid))
        if problem(pod, storage) is not None:
            # nobody knows what it needs before that is over; a pod on a node has what it has
            return VolumeNeed(taken_by(pod, storage, sharing))
        need = need_of(pod, storage, sharing)
        if not need.asks:
            return VolumeNeed(need)
        capacities = self._facts.all(STORAGE_CAPACITIES)
        return VolumeNeed(
            need,
            tuple(self._offers(ask) for ask in need.asks),
            tuple(pools_of(capacities, ask.storage_class) for ask in need.asks),
        )

    def holds(self, uid: str) -> str | None:
        pod = self._pods.get(uid)
        found = None if pod is None else problem(pod, self._storage())
        return None if found is None else found.text

    def _offers(self, ask: Ask) -> tuple[Offer, ...]:
        """Kept until volumes change or are given: most pods ask for the same."""
        if self._offers_of != self._stock.version:
            self._offers_of = self._stock.version
            self._known_offers.clear()
        found = self._known_offers.get(ask)
        if found is None:
            taken = {each.grant.volume for each in self._given.values() if isinstance(each.grant, ClaimVolume)}
            offers = offers_for(ask, self._stock).all
            found = self._known_offers[ask] = tuple(offer for offer in offers if offer.volume not in taken)
        return found

    def _changed_hands(self, grant: SelectNode | ClaimVolume) -> None:
        """A volume is, or is no longer, given to somebody: others may have it no longer, or again."""
        if isinstance(grant, ClaimVolume):
            self._known_offers.clear()
            if (volume := self._stock.get(grant.volume)) is not None:
                self._look_again(class_of(volume))

    def _is_shared(self, uid: str, claim: str) -> bool:
        return bool(self._users.get(claim, _NOBODY) - {uid})

    def _is_elsewhere(self, uid: str, driver: str, handle: str) -> bool:
        """Whether the volume may be on a node without the pod."""
        which = driver, handle
        return which in self._attached or bool(self._sharers.get(which, _NOBODY) - {uid})

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
        migrated = migrated_on(self._facts.get(CSI_NODES, node.metadata.name))
        site = self._going[uid] = Site(node.metadata.name, node.metadata.labels, migrated)
        claims = [self._facts.all(CLAIMS)[each.key] for each in named_claims(pod)]
        asking = [claim for claim in claims if not claim.spec.volume_name]
        choice = choose(need.need.asks, site, need.market(settled=self._settled(asking)))
        if isinstance(choice, Refused):
            # another member has just got what there was
            self._failed[uid] = choice.reason
            return ()
        for key in map(claim_key, asking):
            if key in self._given:
                # another member has got it for all that share it
                self._use(uid, key)
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
        self._given.setdefault(grant.claim, _Given(grant, set(), [False]))
        self._use(uid, grant.claim)
        self._changed_hands(grant)
        return grant

    def _use(self, uid: str, key: str) -> None:
        """The pod is to be bound with what the claim was given."""
        self._given[key].users.add(uid)
        self._keys_given.setdefault(uid, []).append(key)

    def _no_longer_used(self, uid: str) -> Iterable[tuple[str, _Given]]:
        """What nobody is to be bound with now that the pod is not; others may still use the rest."""
        for key in self._keys_given.pop(uid, ()):
            given = self._given.get(key)
            if given is not None and uid in given.users:
                given.users.discard(uid)
                if not given.users:
                    del self._given[key]
                    yield key, given

    # --- how far it is ---

    def failed(self, grant: Grant, message: str) -> None:
        given = self._given.get(grant.claim)
        if given is not None and given.grant == grant:
            del self._given[grant.claim]
            self._changed_hands(given.grant)
            for uid in given.users:
                self._failed[uid] = message
                self.news.add(uid)

    def progress(self, uid: str) -> Progress:
        if (why := self._failed.get(uid)) is not None:
            return Progress(failed=why)
        pod = self._pods.get(uid)
        found = [] if pod is None else [self._claim_progress(each.key) for each in named_claims(pod)]
        troubled = [one for one in found if one.failed] or [one for one in found if one.waits_for]
        return troubled[0] if troubled else self._arrived(uid)

    def _arrived(self, uid: str) -> Progress:
        """All claims have their volumes, which may have been made where the pod cannot use them."""
        site, need = self._going.get(uid), self.need(uid)
        if site is None or need is None or not (far := reach_refusal(need.need, site)):
            return READY
        return Progress(failed=f"node {site.name}: {far}")

    def _claim_progress(self, key: str) -> Progress:
        claim, given = self._facts.get(CLAIMS, key), self._given.get(key)
        _, _, name = key.partition("/")
        if claim is None or claim.metadata.deletion_timestamp is not None:
            return Progress(failed=f"claim {name} was deleted")
        if given is not None and claim.metadata.uid != given.grant.uid:
            return Progress(failed=f"claim {name} was deleted")
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
        self._going.pop(uid, None)
        taken = []
        for key, given in self._no_longer_used(uid):
            self.news |= self._users.get(key, _NOBODY)
            if not self._is_undone(given):
                taken.append(given.grant)
            self._changed_hands(given.grant)
        return tuple(taken)

    def let_go(self, uids: frozenset[str]) -> tuple[Grant, ...]:
        """A scheduler before us may have asked for volumes where nobody can go now: who has no place asks for none."""
        taken = []
        keys = (named.key for uid in sorted(uids & self._pods.keys()) for named in named_claims(self._pods[uid]))
        for key in dict.fromkeys(keys):
            claim = self._facts.get(CLAIMS, key)
            node = "" if claim is None else claim.metadata.annotations.get(SELECTED_NODE, "")
            if claim is None or not node or claim.spec.volume_name or key in self._given:
                continue
            if self._users[key] <= uids:
                taken.append(SelectNode(key, claim.metadata.uid, node))
        return tuple(taken)

    def _is_undone(self, given: _Given) -> bool:
        """Whether there is nothing to take back: the claim has its volume, or is another.

        A grant that is not to be seen any more may be one that came before it: this one may still be on its way.
        """
        claim = self._facts.get(CLAIMS, given.grant.claim)
        return claim is None or claim.metadata.uid != given.grant.uid or bool(claim.spec.volume_name)

    def bound(self, uid: str) -> None:
        self._failed.pop(uid, None)
        self._going.pop(uid, None)
        for _ in self._no_longer_used(uid):
            self._known_offers.clear()


_NOBODY: set[str] = set()
_AWAITED = {
    SelectNode: "the volume of claim {} is not provisioned yet",
    ClaimVolume: "claim {} is not bound to its volume yet",
}
_UNDONE = {
    SelectNode: "provisioning of the volume of claim {} failed",
    ClaimVolume: "the volume of claim {} was given to somebody else",
}
_ENDED = ("Succeeded", "Failed")


def _has_disks(pod: Pod) -> bool:
    """Whether it names disks itself that take a place on its node, or that others may not use there."""
    return bool(pod.spec.volumes) and (
        bool(disks_of(pod)) or any(in_tree(volume) is not None for volume in pod.spec.volumes)
    )
