"""Devices of one cluster's pods: what their claims need of nodes, which are granted to whom, and how far these are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from muster.api.devices import (
    Allocation,
    Consumer,
    DeviceClass,
    DeviceResult,
    DeviceTaintRule,
    ResourceClaim,
    ResourceSlice,
)
from muster.api.kinds import DEVICE_CLASSES, DEVICE_TAINT_RULES, RESOURCE_CLAIMS, RESOURCE_SLICES
from muster.api.wire import Node, Pod
from muster.cluster.facts import Facts
from muster.cluster.nodes import NodeTable
from muster.devices.allocator import Refused
from muster.devices.needs import Need, Unmet, need_of
from muster.devices.results import allocations
from muster.devices.taken import parts_of
from muster.framework.contract import READY, Progress, Supply
from muster.framework.grants import Allocate, Grant
from muster.plugins.device_book import Asked, Book, DeviceNeed, HeldDevice
from muster.plugins.device_claims import MOST_CONSUMERS, consumer_of, named_claims, problem
from muster.plugins.device_state import DeviceState

NOT_HERE = "resourceclaim not available on the node"
NO_DEVICES = "cannot allocate all claims"
_NEEDS_KEPT = 4_096
_NOBODY: set[str] = set()
_DONE = ("Succeeded", "Failed")


class _Given(msgspec.Struct):
    """What was granted to one claim."""

    uid: str
    """Of the claim."""
    allocation: Allocation | None
    """None if it had its devices already."""
    users: set[str]
    """UIDs of pods that are to be bound with it."""
    reserved_for: dict[str, Consumer]
    """By UID, all for whom an entry was granted since."""
    is_seen: bool = False
    """The API has shown its devices."""


class DeviceSupply(Supply):
    """Keeps by claim which pods name it, and what is given to it in the book."""

    def __init__(self, facts: Facts, nodes: NodeTable, state: DeviceState) -> None:
        super().__init__()
        self._facts = facts
        self._state = state
        self._book = state.book = Book(nodes)
        self._pods: dict[str, Pod] = {}
        """By UID, those that name claims."""
        self._told: dict[str, DeviceNeed] = {}
        """By UID, what each of them was said to need: by that it was placed."""
        self._users: dict[str, set[str]] = {}
        """By key of a claim: UIDs of pods that name it."""
        self._given: dict[str, _Given] = {}
        """By key of a claim..."""
        self._keys_given: dict[str, list[str]] = {}
        """...and by UID of a pod, the keys of claims with which it is to be bound."""
        self._failed: dict[str, str] = {}
        """By UID of a pod: why it has nothing to be bound with."""
        self._placed: dict[str, str] = {}
        """By UID of a pod that is to be bound: its node."""
        self._returned: set[str] = set()
        """Keys of claims that are being given back: the API does not show it yet."""
        self._counted: dict[str, tuple[DeviceResult, ...]] = {}
        """By key of a claim: what the book has of it."""
        facts.tell(RESOURCE_CLAIMS, self._claim_changed)
        facts.tell(RESOURCE_SLICES, self._slice_changed)
        facts.tell(DEVICE_CLASSES, self._class_changed)
        facts.tell(DEVICE_TAINT_RULES, self._rule_changed)

    @property
    def has_news(self) -> bool:
        return bool(self.news) or self._book.has_news

    def take_touched(self) -> Mapping[str, bool]:
        return self._book.take_touched()

    @property
    def returning_to(self) -> frozenset[str]:
        return self._book.returning_to if self._book.returning else frozenset()

    # --- what changes ---

    def _claim_changed(self, key: str, before: ResourceClaim | None, now: ResourceClaim | None) -> None:
        self._settle(key)
        self._look_who_has(key)
        self._returned.discard(key)
        self.news |= self._users.get(key, _NOBODY)

    def _slice_changed(self, name: str, before: ResourceSlice | None, now: ResourceSlice | None) -> None:
        inventory, had_wide = self._book.inventory, self._book.inventory.has_wide
        self._book.changed(inventory.remove_slice(name) if now is None else inventory.put_slice(now))
        if had_wide or inventory.has_wide:
            # whether devices of several nodes would do is part of what pods need
            self._ask_again()

    def _rule_changed(self, name: str, before: DeviceTaintRule | None, now: DeviceTaintRule | None) -> None:
        inventory = self._book.inventory
        self._book.changed(inventory.remove_rule(name) if now is None else inventory.put_rule(now))

    def _class_changed(self, name: str, before: DeviceClass | None, now: DeviceClass | None) -> None:
        self._ask_again()

    def _ask_again(self) -> None:
        """Pods with claims that have no devices."""
        for key, users in self._users.items():
            if self._allocation(key) is None:
                self.news |= users

    def _settle(self, key: str) -> None:
        """The book has what the claim was given, or is just being."""
        allocation, before = self._allocation(key), self._counted.get(key, ())
        now = () if allocation is None else allocation.devices.results
        if now == before:
            return
        self._book.give_back(before)
        self._book.give(now)
        if now:
            self._counted[key] = now
        else:
            del self._counted[key]

    def _look_who_has(self, key: str) -> None:
        """Whether all for whom the claim is reserved are gone, and the claim's controller is about to notice."""
        claim = self._facts.get(RESOURCE_CLAIMS, key)
        entries = () if claim is None or key in self._given else claim.status.reserved_for
        returns = bool(entries) and all(one.resource == "pods" and self._is_done(one.uid) for one in entries)
        allocation = claim.status.allocation if returns and claim is not None else None
        self._book.returns(key, () if allocation is None else allocation.devices.results)

    def _is_done(self, uid: str) -> bool:
        pod = self._pods.get(uid)
        return pod is None or pod.status.phase in _DONE

    def _allocation(self, key: str) -> Allocation | None:
        given, claim = self._given.get(key), self._facts.get(RESOURCE_CLAIMS, key)
        if given is not None and given.allocation is not None:
            return given.allocation
        return None if claim is None else claim.status.allocation

    # --- what pods need ---

    def seen(self, pod: Pod) -> None:
        if not pod.spec.resource_claims:
            return
        uid = pod.metadata.uid
        before, now = self._keys(uid), {named.key for named in named_claims(pod) if named.key}
        self._pods[uid] = pod
        for key in now:
            self._look_who_has(key)
        for key in set(before) - now:
            self._unnamed(key, uid)
        for key in now.difference(before):
            users = self._users.setdefault(key, set())
            if users:
                # the claim is shared from now on
                self.news |= users
            users.add(uid)

    def gone(self, uid: str) -> None:
        keys = self._keys(uid)
        for key in keys:
            self._unnamed(key, uid)
        for book in (self._pods, self._told, self._placed, self._failed):
            book.pop(uid, None)
        for key in keys:
            self._look_who_has(key)

    def _unnamed(self, key: str, uid: str) -> None:
        users = self._users[key]
        users.discard(uid)
        self.news |= users
        if not users:
            del self._users[key]

    def _keys(self, uid: str) -> list[str]:
        """Claims of the pod, in its order."""
        pod = self._pods.get(uid)
        return [] if pod is None else list(dict.fromkeys(named.key for named in named_claims(pod) if named.key))

    def need(self, uid: str) -> DeviceNeed | None:
        if uid not in self._pods:
            return None
        found = self._told[uid] = self._need(uid, self._pods[uid])
        return found

    def _need(self, uid: str, pod: Pod) -> DeviceNeed:
        if node := pod.spec.node_name or self._placed.get(uid, ""):
            return DeviceNeed(held=tuple(self._held(uid, node)), is_placed=True)
        if self.holds(uid) is not None:
            # it brings something, and nobody knows what that needs
            return DeviceNeed()
        return self._asking(uid)

    def _asking(self, uid: str) -> DeviceNeed:
        asks, within, is_wide = [], [], False
        for key in self._keys(uid):
            allocation = self._allocation(key)
            if allocation is None:
                need = self._met_by(key)
                self._keep(need)
                asks.append(Asked(need.key, key if len(self._users[key]) > 1 else ""))
                is_wide = is_wide or self._book.is_wide(need)
            elif allocation.node_selector is not None:
                within.append(allocation.node_selector)
        return DeviceNeed(tuple(asks), tuple(within), is_wide=is_wide)

    def _keep(self, need: Need) -> None:
        if need.key not in self._book.needs and len(self._book.needs) >= _NEEDS_KEPT:
            found = (self._need_of(key) for key in self._users if key in self._facts.all(RESOURCE_CLAIMS))
            self._book.forget_needs({one.key: one for one in found if isinstance(one, Need)})
        self._book.needs[need.key] = need

    def _need_of(self, key: str) -> Need | Unmet:
        claim = self._facts.all(RESOURCE_CLAIMS)[key]
        return need_of(claim.spec.devices, self._facts.all(DEVICE_CLASSES))

    def _held(self, uid: str, node: str) -> list[HeldDevice]:
        """What nobody has any more when the pod is gone."""
        found = []
        for key in self._keys(uid):
            allocation = self._allocation(key)
            if allocation is not None and self._consumers(key) <= {uid}:
                found += [
                    HeldDevice(one.driver, "" if one.pool == node else one.pool, one.device, parts_of(one))
                    for one in allocation.devices.results
                    if not one.admin_access
                ]
        return found

    def _consumers(self, key: str) -> set[str]:
        """UIDs of those who may use the claim, or are about to."""
        claim, given = self._facts.get(RESOURCE_CLAIMS, key), self._given.get(key)
        entries = () if claim is None else claim.status.reserved_for
        return {one.uid for one in entries} | (_NOBODY if given is None else set(given.reserved_for))

    def holds(self, uid: str) -> str | None:
        pod = self._pods.get(uid)
        if pod is None:
            return None
        if (why := problem(pod, self._facts.all(RESOURCE_CLAIMS))) is not None:
            return why
        for key in self._keys(uid):
            if key in self._returned:
                return f"resource claim {key} is being given back"
            unmet = self._need_of(key) if self._allocation(key) is None else None
            if isinstance(unmet, Unmet):
                is_plain = unmet.problem.endswith("does not exist")
                return unmet.problem if is_plain else f"resource claim {key}, {unmet.problem}"
        return None

    # --- what they get ---

    def grant(self, uid: str, node: Node) -> tuple[Grant, ...]:
        pod = self._pods.get(uid)
        self._failed.pop(uid, None)
        if pod is None:
            return ()
        self._state.granted(self._book.nodes.rows[node.metadata.name], self._told[uid])
        if (why := self._give(uid, node)) is not None:
            # another member has just got what there was
            self._failed[uid] = why
            return ()
        self._placed[uid] = node.metadata.name
        self.news.add(uid)
        return tuple(self._write(key) for key in self._keys(uid) if not self._stands(key, uid))

    def _give(self, uid: str, node: Node) -> str | None:
        """Gives the pod's claims what they lack; why that cannot be."""
        keys, meta = self._keys(uid), node.metadata
        asking = [key for key in keys if self._allocation(key) is None]
        for key in keys:
            allocation = self._allocation(key)
            reach = None if allocation is None else allocation.node_selector
            if reach is not None and not reach.matches(meta.labels, meta.name):
                return NOT_HERE
            if len(self._consumers(key) | {self._consumer(key, uid).uid}) > MOST_CONSUMERS:
                return f"claim {key} is reserved for {MOST_CONSUMERS} pods, and no more may use it"
        claims = self._facts.all(RESOURCE_CLAIMS)
        seen, needs = self._book.seen(node), tuple(map(self._met_by, asking))
        found = self._book.search(needs, seen, self._state.taken(seen)) if asking else None
        if isinstance(found, Refused):
            return found.problem or NO_DEVICES
        uids = [claims[key].metadata.uid for key in asking]
        made = () if found is None else allocations(found, needs, seen, node=meta.name, claim_uids=uids)
        chosen = dict(zip(asking, made, strict=True))
        for key in keys:
            self._enter(key, uid, chosen.get(key))
        return None

    def _met_by(self, key: str) -> Need:
        need = self._need_of(key)
        assert isinstance(need, Need)
        return need

    def _enter(self, key: str, uid: str, allocation: Allocation | None) -> None:
        given = self._given.get(key)
        if given is None:
            claim = self._facts.all(RESOURCE_CLAIMS)[key]
            given = self._given[key] = _Given(claim.metadata.uid, allocation, set(), {})
        given.users.add(uid)
        self._keys_given.setdefault(uid, []).append(key)
        consumer = self._consumer(key, uid)
        given.reserved_for[consumer.uid] = consumer
        self._settle(key)
        # for the others the claim has its devices now
        self.news |= self._users.get(key, _NOBODY)

    def _stands(self, key: str, uid: str) -> bool:
        """Whether the API shows that the claim has devices and the pod may use them."""
        status, consumer = self._facts.all(RESOURCE_CLAIMS)[key].status, self._consumer(key, uid).uid
        return status.allocation is not None and any(one.uid == consumer for one in status.reserved_for)

    def _consumer(self, key: str, uid: str) -> Consumer:
        return consumer_of(self._pods[uid], self._facts.all(RESOURCE_CLAIMS)[key])

    def _write(self, key: str) -> Allocate:
        """For all who are to be bound with it: of several grants to one claim the last is written."""
        given = self._given[key]
        entries = {one.uid: one for one in (self._consumer(key, uid) for uid in sorted(given.users))}
        return Allocate(key, given.uid, given.allocation, tuple(entries.values()))

    # --- how far it is ---

    def failed(self, grant: Grant, message: str) -> None:
        given = self._given.get(grant.claim)
        if not isinstance(grant, Allocate) or given is None or given.uid != grant.uid:
            return
        self._forget(grant.claim)
        for uid in given.users:
            self._failed[uid] = message
            self.news.add(uid)

    def progress(self, uid: str) -> Progress:
        if (why := self._failed.get(uid)) is not None:
            return Progress(failed=why)
        found = [self._claim_progress(key, uid) for key in self._keys(uid)]
        troubled = [one for one in found if one.failed] or [one for one in found if one.waits_for]
        return troubled[0] if troubled else READY

    def _claim_progress(self, key: str, uid: str) -> Progress:
        claim, given = self._facts.get(RESOURCE_CLAIMS, key), self._given.get(key)
        _, _, name = key.partition("/")
        if claim is None or claim.metadata.deletion_timestamp is not None:
            return Progress(failed=f"claim {name} was deleted")
        if given is not None and claim.metadata.uid != given.uid:
            return Progress(failed=f"claim {name} was deleted")
        if given is None:
            return Progress(failed=f"claim {name} has lost its devices")
        there = claim.status.allocation
        if there is None:
            if given.is_seen or given.allocation is None:
                return Progress(failed=f"claim {name} got deallocated elsewhere in the meantime")
            return Progress(waits_for=f"claim {name} is not allocated yet")
        if given.allocation is not None and _devices(there) != _devices(given.allocation):
            return Progress(failed=f"claim {name} got allocated elsewhere in the meantime")
        given.is_seen = True
        if not self._stands(key, uid):
            return Progress(waits_for=f"claim {name} is not reserved for the pod yet")
        return _binding(claim, there)

    def take_back(self, uid: str) -> tuple[Grant, ...]:
        self._failed.pop(uid, None)
        self._placed.pop(uid, None)
        self.news.add(uid)
        taken = []
        for key, given in self._no_longer_used(uid):
            self.news |= self._users.get(key, _NOBODY)
            if given.users:
                # entries of those who still are to be bound are on their way: this one goes with the last of them
                continue
            self._forget(key)
            if self._is_bound(uid):
                # by somebody else, and it may be using them
                continue
            claim = self._facts.get(RESOURCE_CLAIMS, key)
            if claim is not None and claim.metadata.uid == given.uid and not _is_undone(claim, given):
                taken += self._to_take_back(key, claim, given.allocation, given.reserved_for)
        return tuple(taken)

    def _is_bound(self, uid: str) -> bool:
        return uid in self._pods and bool(self._pods[uid].spec.node_name)

    def let_go(self, uids: frozenset[str]) -> tuple[Grant, ...]:
        """A scheduler before us may have had claims allocated for them, and that may be why they have no place.

        What may be used everywhere keeps nobody from a node.
        """
        taken: list[Grant] = []
        for key in dict.fromkeys(key for uid in sorted(uids) for key in self._keys(uid)):
            claim = self._facts.get(RESOURCE_CLAIMS, key)
            if claim is None or key in self._given or key in self._returned:
                continue
            if claim.status.allocation is None or claim.status.allocation.node_selector is None:
                continue
            ours = {one.uid: one for one in (self._consumer(key, uid) for uid in self._users[key] & uids)}
            if all(one.uid in ours for one in claim.status.reserved_for):
                taken += self._to_take_back(key, claim, claim.status.allocation, ours)
        return tuple(taken)

    def _to_take_back(
        self, key: str, claim: ResourceClaim, allocation: Allocation | None, entries: Mapping[str, Consumer]
    ) -> list[Allocate]:
        """Without what was reserved for a group, as long as somebody of it has a node."""
        in_use = any(uid in self._placed or self._pods[uid].spec.node_name for uid in self._users.get(key, _NOBODY))
        out = tuple(one for _, one in sorted(entries.items()) if one.resource == "pods" or not in_use)
        if not out:
            return []
        if claim.status.allocation is not None:
            self._returned.add(key)
        return [Allocate(key, claim.metadata.uid, allocation or claim.status.allocation, out)]

    def bound(self, uid: str) -> None:
        self._failed.pop(uid, None)
        for key, given in self._no_longer_used(uid):
            if not given.users:
                self._forget(key)

    def _no_longer_used(self, uid: str) -> Iterator[tuple[str, _Given]]:
        """What the pod was to be bound with; others may still be to be."""
        for key in self._keys_given.pop(uid, ()):
            given = self._given.get(key)
            if given is not None and uid in given.users:
                given.users.discard(uid)
                yield key, given

    def _forget(self, key: str) -> None:
        """From now on the claim has what the API shows."""
        del self._given[key]
        self._settle(key)
        self._look_who_has(key)


def _is_undone(claim: ResourceClaim, given: _Given) -> bool:
    """Whether what was written is there no more, or never was: somebody else has given the claim other devices."""
    there = claim.status.allocation
    if there is not None and given.allocation is not None and _devices(there) != _devices(given.allocation):
        return True
    entries = {one.uid for one in claim.status.reserved_for}
    return given.is_seen and claim.status.allocation is None and entries.isdisjoint(given.reserved_for)


def _devices(allocation: Allocation) -> list[tuple[str, str, str, str, str | None]]:
    """What tells allocations apart, however the API spells the rest."""
    return [(one.request, one.driver, one.pool, one.device, one.share_id) for one in allocation.devices.results]


def _binding(claim: ResourceClaim, allocation: Allocation) -> Progress:
    """Whether drivers say of the devices that pods may be bound."""
    said = {(one.driver, one.pool, one.device): one.conditions for one in claim.status.devices}
    waiting = ""
    for one in allocation.devices.results:
        conditions = {
            each.type: each for each in said.get((one.driver, one.pool, one.device), ()) if each.status == "True"
        }
        for kind in one.binding_failure_conditions:
            if (bad := conditions.get(kind)) is not None:
                why = (
                    f'device binding failed: claim={claim.metadata.name}, reason={bad.reason}, message="{bad.message}"'
                )
                return Progress(failed=why)
        if not waiting and not all(kind in conditions for kind in one.binding_conditions):
            waiting = f"device {one.device} of claim {claim.metadata.name} is not ready yet"
    return Progress(waits_for=waiting)
