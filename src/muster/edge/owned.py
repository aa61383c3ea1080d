"""Which gang a pod is in that asks for a group by label: that of its owner, found by the chain of controllers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

import msgspec
from msgspec.structs import replace

from muster.api.wire import OwnerReference, Pod, PodGroup
from muster.gangs.dialects import membership
from muster.gangs.dialects.draft import names
from muster.gangs.dialects.v1beta1 import (
    BELOW_MINIMUM_ANNOTATION,
    GRACE_ANNOTATION,
    GROUP_LABEL,
    ON_PARTIAL_ANNOTATION,
    TIMEOUT_ANNOTATION,
)
from muster.gangs.owners import MANAGED_BY, MIN_COUNT_LABEL, Owner, asks, group_name, kind_of
from muster.gangs.record import bound_for

_ENDED = ("Succeeded", "Failed")

# a worker of a LeaderWorkerSet has four; chains that never end are made up
_LONGEST_CHAIN = 8

_FOR_GROUPS = (TIMEOUT_ANNOTATION, ON_PARTIAL_ANNOTATION, BELOW_MINIMUM_ANNOTATION, GRACE_ANNOTATION)
"""Annotations of groups, which a pod template may have for the group that is made for its pods."""


class WantedGroup(msgspec.Struct, frozen=True, kw_only=True):
    """A group as it is to be made for an owner."""

    key: str
    owner: OwnerReference
    minimum: int
    priority_class: str = ""
    annotations: dict[str, str] = {}


class OwnerToRead(msgspec.Struct, frozen=True):
    namespace: str
    reference: OwnerReference


class _Place(msgspec.Struct, frozen=True):
    """Where a pod belongs, as far as its owners are known."""

    chain: tuple[OwnerReference, ...]
    """Owners that were read, or are to be."""
    owner: OwnerReference | None = None
    key: str = ""
    """Of the group; "" if there is none, and then `why`."""
    minimum: int = 0
    why: str = ""
    unread: bool = False
    """There may be one: an owner is being read."""


class Owned:
    """Pods as the engine is to see them: with the label that names the group of their owner, or with why there is none.

    A pod that names a gang itself is left alone, unless that one `gives_way`.  `group` finds a group by its key.
    Somebody else reads owners, and makes the groups that are wanted.
    """

    def __init__(self, group: Callable[[str], PodGroup | None], *, gives_way: Callable[[str], bool]) -> None:
        self._group = group
        self._gives_way = gives_way
        self._pods: dict[str, Pod] = {}
        """By UID: those that ask for a group, as they are."""
        self._told: dict[str, Pod] = {}
        """By UID: the same, as they were last told."""
        self._places: dict[str, _Place] = {}
        """By the pod's UID."""
        self._owners: dict[str, Owner | str] = {}
        """By UID; a word if it cannot be read."""
        self._below: dict[str, set[str]] = {}
        """By the UID of an owner: UIDs of pods below it."""
        self._members: dict[str, dict[str, None]] = {}
        """By key of the group: UIDs of its pods, in order of coming."""
        self._named: dict[str, set[str]] = {}
        """By key of a group that pods name by their field: UIDs of those."""
        self._stood: dict[str, tuple[str, bool]] = {}
        """By key of a group: what of it mattered for pods when it was last told: its owner, whether it gives way."""
        self._unread: dict[str, OwnerToRead] = {}
        """By UID: owners that are to be read, or read again."""
        self._touched: set[str] = set()
        """Keys of groups that may have to be made, or changed."""

    # --- pods ---

    def seen(self, pod: Pod) -> Pod:
        """The pod as it is to be told."""
        uid = pod.metadata.uid
        if asks(pod) is None or names(pod)[0]:
            if uid in self._pods:
                self._forget(uid)
            return pod
        before = self._pods.get(uid)
        self._pods[uid] = pod
        if before is None and (field := pod.spec.scheduling_group) is not None:
            self._named.setdefault(f"{pod.metadata.namespace}/{field.pod_group_name}", set()).add(uid)
        self._renew(uid)
        if before is not None and (key := self._key(uid)) and _needs(before, key) != _needs(pod, key):
            self._touched.add(key)
        if before is None or (before.metadata.deletion_timestamp is None) != (pod.metadata.deletion_timestamp is None):
            # owners make and delete pods when they change in size
            self._read_again(uid)
        return self._told[uid]

    def gone(self, uid: str) -> None:
        if uid in self._pods:
            self._read_again(uid)
            self._forget(uid)

    def _forget(self, uid: str) -> None:
        pod = self._pods.pop(uid)
        self._told.pop(uid, None)
        self._put(uid, None)
        field = pod.spec.scheduling_group
        if field is not None:
            _discard(self._named, f"{pod.metadata.namespace}/{field.pod_group_name}", uid)

    def _renew(self, uid: str) -> list[Pod]:
        """The pod, if it is to be told otherwise than it was."""
        pod = self._pods[uid]
        place = self._find(pod) if self._asks_here(pod) else None
        self._put(uid, place)
        now = pod if place is None else self._with(pod, place)
        if self._told.get(uid) == now:
            return []
        self._told[uid] = now
        return [now]

    def _renew_all(self, uids: Iterable[str]) -> list[Pod]:
        return [pod for uid in sorted(uids) for pod in self._renew(uid)]

    def _asks_here(self, pod: Pod) -> bool:
        """Whether nobody but its owner says which gang it is in."""
        named, field = membership(pod), pod.spec.scheduling_group
        if named is None:
            return True
        by_field = field is not None and named.gang == f"{pod.metadata.namespace}/{field.pod_group_name}"
        return by_field and not named.besides and self._gives_way(named.gang)

    def _put(self, uid: str, place: _Place | None) -> None:
        before = self._places.get(uid)
        if place == before:
            return
        if place is not None:
            self._places[uid] = place
            if place.key:
                self._touched.add(place.key)
        else:
            del self._places[uid]
        chain = () if place is None else place.chain
        if before is not None:
            for owner in before.chain:
                if owner not in chain:
                    self._leave(owner.uid, uid)
            if before.key and (place is None or place.key != before.key):
                self._members[before.key].pop(uid)
                if not self._members[before.key]:
                    del self._members[before.key]
                    self._touched.discard(before.key)
                else:
                    self._touched.add(before.key)
        for owner in chain:
            self._below.setdefault(owner.uid, set()).add(uid)
        if place is not None and place.key:
            self._members.setdefault(place.key, {})[uid] = None

    def _key(self, uid: str) -> str:
        place = self._places.get(uid)
        return "" if place is None else place.key

    def _leave(self, owner: str, uid: str) -> None:
        _discard(self._below, owner, uid)
        if owner not in self._below:
            self._owners.pop(owner, None)
            self._unread.pop(owner, None)

    # --- which group ---

    def _find(self, pod: Pod) -> _Place:
        """Walks up the chain of controllers as far as kinds are known; the topmost that can own a group does."""
        namespace, reference = pod.metadata.namespace, pod.metadata.controller
        assert reference is not None
        if (kind := kind_of(reference)) is None:
            return self._of_unknown(pod, reference)
        chain: list[OwnerReference] = []
        top: Owner | None = None
        while reference is not None and kind is not None and len(chain) < _LONGEST_CHAIN:
            chain.append(reference)
            owner = self._owners.get(reference.uid)
            if owner is None:
                self._unread.setdefault(reference.uid, OwnerToRead(namespace, reference))
                return _Place(tuple(chain), why=f"{_words(reference)} is not read yet", unread=True)
            if isinstance(owner, str):
                return _Place(tuple(chain), why=owner)
            if kind.shape is not None:
                top = owner
            reference = owner.above
            kind = None if reference is None else kind_of(reference)
        if top is None:
            return _Place(tuple(chain), why=f"{_words(chain[0])} is nothing that a group is made for")
        return self._of_owner(pod, top, tuple(chain))

    def _of_unknown(self, pod: Pod, owner: OwnerReference) -> _Place:
        minimum = asks(pod)
        if not minimum:
            why = f"how many pods {_words(owner)} makes is not known: label {MIN_COUNT_LABEL} has to say it"
            return _Place((), why=why)
        key = f"{pod.metadata.namespace}/{group_name(owner.kind, owner.name)}"
        return _Place((), owner=owner, key=key, minimum=minimum)

    def _of_owner(self, pod: Pod, owner: Owner, chain: tuple[OwnerReference, ...]) -> _Place:
        reference, shape = owner.reference, owner.shape
        kind = kind_of(reference)
        label = "" if kind is None else kind.replica_label
        replica = pod.metadata.labels.get(label, "") if label else ""
        minimum = asks(pod) or shape.pods
        if label and not replica:
            return _Place(chain, why=f"the pod lacks label {label}, which tells the replicas of {reference.kind} apart")
        if shape.remedy and minimum > shape.at_once:
            why = f"{_words(reference)} waits for some of its pods before it makes others: a gang needs {shape.remedy}"
            return _Place(chain, why=why)
        key = f"{pod.metadata.namespace}/{group_name(reference.kind, reference.name, replica)}"
        return _Place(chain, owner=reference, key=key, minimum=minimum)

    def _with(self, pod: Pod, place: _Place) -> Pod:
        if not place.key:
            return replace(pod, astray=place.why, unsettled=place.unread)
        assert place.owner is not None
        group = self._group(place.key)
        name = place.key.partition("/")[2]
        if group is not None and not is_made_for(group, place.owner.uid):
            return replace(pod, astray=f"PodGroup {name} is there, and not of the present {_words(place.owner)}")
        return replace(pod, metadata=replace(pod.metadata, labels=pod.metadata.labels | {GROUP_LABEL: name}))

    # --- groups ---

    def groups_changed(self, keys: Iterable[str]) -> list[Pod]:
        """Groups of these keys came, changed or went; returns pods for which something is new because of it."""
        changed: set[str] = set()
        for key in keys:
            members, named, group = self._members.get(key, {}), self._named.get(key, set()), self._group(key)
            before = self._stood.pop(key, None)
            if members:
                self._touched.add(key)
            if group is not None and (members or named):
                self._stood[key] = _controller(group), self._gives_way(key)
            # conditions are written often, and change nothing here
            if self._stood.get(key) != before:
                changed.update(members, named)
        return self._renew_all(changed)

    def wanted(self, key: str) -> WantedGroup | None:
        """The group that pods of this key ask for; None if none of them needs it any more."""
        pods = [self._pods[uid] for uid in self._members.get(key, ())]
        pods = [pod for pod in pods if _needs(pod, key)]
        if not pods:
            return None
        newest = max(pods, key=lambda pod: (pod.metadata.creation_timestamp, pod.metadata.uid))
        owner = self._places[newest.metadata.uid].owner
        assert owner is not None
        places = (self._places[pod.metadata.uid] for pod in pods)
        classes = {pod.spec.priority_class_name for pod in pods}
        annotations = newest.metadata.annotations
        return WantedGroup(
            key=key,
            owner=owner,
            minimum=max(place.minimum for place in places if place.owner == owner),
            priority_class=classes.pop() if len(classes) == 1 else "",
            annotations={name: annotations[name] for name in _FOR_GROUPS if name in annotations},
        )

    def take_touched(self) -> set[str]:
        """Keys of groups that may have to be made, or changed, since this was last asked."""
        taken, self._touched = self._touched, set()
        return taken

    # --- owners ---

    @property
    def unread(self) -> Collection[str]:
        """UIDs of owners that are to be read."""
        return self._unread.keys()

    def needs(self, owner: str) -> bool:
        """Whether pods are below the owner of this UID."""
        return owner in self._below

    def below(self, owner: str) -> Collection[str]:
        """UIDs of the pods below the owner of this UID."""
        return self._below.get(owner, ())

    def take_unread(self) -> dict[str, OwnerToRead]:
        """By UID."""
        taken, self._unread = self._unread, {}
        return taken

    def owner_read(self, uid: str, found: Owner | str) -> tuple[list[Pod], set[str]]:
        """What reading an owner gave, or that it is gone; returns pods for which something is new, and keys of groups
        for which something may be."""
        if uid not in self._below:
            return [], set()
        below = self._below[uid]
        if self._owners.get(uid) != found:
            self._owners[uid] = found
            pods = self._renew_all(below)
        else:
            pods = []
        keys = set(map(self._key, below)) - {""}
        self._touched |= keys
        return pods, keys

    def owner_not_read(self, uid: str, why: str) -> list[Pod]:
        """An owner could not be read this time, and what was known of it stands; returns pods for which that is new."""
        return [] if isinstance(self._owners.get(uid), Owner) else self.owner_read(uid, why)[0]

    def read_all_again(self) -> None:
        """All owners of pods that have not ended are to be read again."""
        for uid, pod in self._pods.items():
            if pod.status.phase not in _ENDED:
                self._read_again(uid)

    def _read_again(self, uid: str) -> None:
        place = self._places.get(uid)
        for owner in () if place is None else place.chain:
            if kind_of(owner) is not None:
                self._unread[owner.uid] = OwnerToRead(self._pods[uid].metadata.namespace, owner)


def is_made_for(group: PodGroup, owner: str) -> bool:
    """Whether the group is that of the owner of this UID."""
    return _controller(group) == owner


def is_orphaned(group: PodGroup) -> bool:
    """Whether the group was made for an owner that was deleted and left behind what it owned."""
    return not group.metadata.owner_references and MANAGED_BY.items() <= group.metadata.labels.items()


def _controller(group: PodGroup) -> str:
    controller = group.metadata.controller
    return "" if controller is None else controller.uid


def _needs(pod: Pod, key: str) -> bool:
    """Whether the pod is, or will be, of the group of this key."""
    record = bound_for(pod)
    over = pod.status.phase in _ENDED or pod.metadata.deletion_timestamp is not None
    return not over and (record is None or record.gang == key)


def _words(owner: OwnerReference) -> str:
    return f"{owner.kind} {owner.name}"


def _discard(sets: dict[str, set[str]], key: str, uid: str) -> None:
    if (found := sets.get(key)) is not None:
        found.discard(uid)
        if not found:
            del sets[key]
