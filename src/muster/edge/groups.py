"""Which object declares each gang."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType

import msgspec

from muster.api.wire import Object, Pod, PodGroup, PriorityClass
from muster.edge.by_pods import Changed, DeclaredByPods
from muster.edge.closed import Closed
from muster.edge.drafts import Drafts
from muster.edge.owned import Owned, WantedGroup
from muster.engine.changes import Change, GroupGone, GroupRead, GroupSeen, PodGone, PodSeen
from muster.gangs.dialects import DIALECTS, DRAFT, NATIVE, declare
from muster.gangs.dialects.dialect import Dialect
from muster.gangs.dialects.draft import DraftWorkload
from muster.gangs.owners import Owner

Told = PodSeen | PodGone | GroupSeen | GroupGone
"""What the engine is told, in this order."""

_NONE: Mapping[Dialect, Object] = MappingProxyType({})
_PRECEDENCE = {dialect: place for place, dialect in enumerate(DIALECTS)}


class Groups:
    """PodGroups of all APIs.  One name is one gang, so that objects can move from one API to the other.

    Kubernetes resolves the priority class of its own PodGroups when they are created, though only the priority without
    the gate PodGroupPreemptionPolicy.  The rest is done here, whenever the group or the class appears or changes.

    Of dialects that are `closed` the engine hears nothing but what is left to be finished.
    """

    def __init__(self, *, closed: Collection[Dialect] = ()) -> None:
        self._declared: dict[str, dict[Dialect, PodGroup]] = {}
        self._classes: dict[str, PriorityClass] = {}
        self._gone: dict[tuple[Dialect, str], str] = {}
        """UIDs of groups that a read found gone, and of which the watch still tells."""
        self._declares: dict[tuple[Dialect, str], tuple[str, ...]] = {}
        """Keys of the groups that each object declares."""
        self._objects: dict[str, dict[Dialect, Object]] = {}
        """By namespace/name: objects as the watch last told of them, of the dialects that count members."""
        self._by_pods = DeclaredByPods(self.of)
        self._drafts = Drafts()
        self._closed = Closed(closed, lambda key: self._declared.get(key, {}))
        self.owned = Owned(self.group_of, gives_way=self.gives_way)
        self._touched: dict[Dialect, set[str]] = {dialect: set() for dialect in DIALECTS}
        """Keys of groups that came or changed and have not been taken."""

    def find(self, key: str) -> tuple[Dialect, PodGroup] | None:
        """The object that counts for a gang: where its last word is said, even if its dialect is off."""
        return _first(self._open(key) or self._declared.get(key, {}))

    def _open(self, key: str) -> dict[Dialect, PodGroup]:
        """What is declared in dialects that are on, or left to be finished."""
        found = self._declared.get(key, {})
        return {dialect: group for dialect, group in found.items() if not self._closed.hides(dialect, key)}

    def group_of(self, key: str) -> PodGroup | None:
        """The group that counts for a gang, whatever its API."""
        found = self.find(key)
        return None if found is None else found[1]

    def gives_way(self, key: str) -> bool:
        """Whether pods that name another group besides this one belong to that."""
        found = self.find(key)
        return found is not None and declare(found[1]).gives_way

    def overruled(self, key: str) -> dict[Dialect, PodGroup]:
        """Groups that ask for another minimum than the one of their name that counts."""
        counts = _first(self._open(key))
        if counts is None:
            return {}
        asked = _minimums(counts[1])
        return {dialect: group for dialect, group in self._open(key).items() if _minimums(group) != asked}

    def wanted(self, key: str) -> WantedGroup | None:
        """The group that is to be there for an owner; none while gangs of its kind are switched off."""
        return None if self._closed.closes(NATIVE) else self.owned.wanted(key)

    def is_named(self, key: str) -> bool:
        """Whether a pod that has not ended names the group; known only where a dialect is off."""
        return self._closed.is_named(key)

    def records(self, uid: str) -> bool:
        """Whether the pod is bound with a record of for whom; it is not if it names a gang of a dialect that is off.

        Once that is on again such pods are members, as those are that another scheduler has bound.
        """
        return not self._closed.is_alone(uid)

    def of(self, dialect: Dialect, key: str) -> PodGroup | None:
        """The object of one API, whether it counts for the gang or not."""
        return self._declared.get(key, {}).get(dialect)

    def counting(self, key: str) -> Mapping[Dialect, Object]:
        """Objects of this name that say how many members are where, in all APIs, whether they count or not."""
        return self._objects.get(key, _NONE)

    def seen(self, dialect: Dialect, found: Object) -> list[Told]:
        """An object of this dialect as it is now; what is older than what was read meanwhile changes nothing."""
        groups, declares = dialect.groups(found), (dialect, _key(found))
        if dialect.counts:
            self._objects.setdefault(_key(found), {})[dialect] = found
        keys = tuple(map(_key, groups))
        for group in groups:
            self._put(dialect, group)
        for key in (dropped := [key for key in self._declares.get(declares, ()) if key not in keys]):
            if self.of(dialect, key) is not None:
                self._forget(dialect, key)
        self._declares[declares] = keys
        drafted = self._drafts.workload_seen(found) if isinstance(found, DraftWorkload) else []
        return [*self._groups_now((*dropped, *keys)), *self._tell(drafted)]

    def _groups_now(self, keys: Iterable[str]) -> list[Told]:
        """These groups, and their replicas."""
        told = [*map(self._now, keys), *self._renew(self._by_pods.template_changed(keys))]
        return [*told, *self._settle(keys), *self._tell(self.owned.groups_changed(keys))]

    def pod_seen(self, pod: Pod) -> list[Told]:
        """The pod as it is now, after what it changes for gangs that are declared by their pods."""
        return self._tell(self._drafts.seen(self.owned.seen(pod)))

    def owner_read(self, uid: str, found: Owner | str) -> list[Told]:
        """An owner of pods as it is now, or that it is gone.  Its groups are told once more: whoever keeps them in step
        looks when something is told."""
        pods, keys = self.owned.owner_read(uid, found)
        return [*self._tell(pods), *map(self._now, sorted(keys))]

    def owner_not_read(self, uid: str, why: str) -> list[Told]:
        return self._tell(self.owned.owner_not_read(uid, why))

    def pod_gone(self, uid: str) -> list[Told]:
        self.owned.gone(uid)
        told = [PodGone(uid), *self._renew(self._by_pods.gone(uid)), *self._settle(self._closed.gone(uid))]
        return [*told, *self._tell(self._drafts.gone(uid))]

    def _tell(self, pods: Iterable[Pod]) -> list[Told]:
        told: list[Told] = []
        for pod in pods:
            if changed := self._by_pods.seen(pod):
                told += self._renew(changed)
            told += self._settle(self._closed.seen(pod))
            told.append(PodSeen(self._closed.told(pod)))
        return told

    def _settle(self, keys: Iterable[str]) -> list[Told]:
        """Gangs of closed dialects that are to be finished, or were: whoever names them is told of otherwise."""
        told: list[Told] = []
        for key in self._closed.settle(keys):
            told += (self._now(key), *map(PodSeen, self._closed.pods(key)))
        return told

    def _renew(self, changed: Changed) -> list[Told]:
        for key, dialect, group in changed:
            if group is not None:
                self._put(dialect, group)
            elif self.of(dialect, key) is not None:
                self._forget(dialect, key)
        keys = dict.fromkeys(key for key, _, _ in changed)
        return [*map(self._now, keys), *self._settle(keys)]

    def _put(self, dialect: Dialect, group: PodGroup) -> None:
        key = _key(group)
        if not self._is_older(group, self.of(dialect, key)) and self._gone.get((dialect, key)) != group.metadata.uid:
            self._declared.setdefault(key, {})[dialect] = group
            self._touched[dialect].add(key)

    def gone(self, dialect: Dialect, name: str, uid: str = "") -> list[Told]:
        """The object of this UID is gone; one of its name that was made since, and read, is not."""
        keys = self._declares.pop((dialect, name), (name,))
        if (objects := self._objects.get(name)) is not None and objects.pop(dialect, None) is not None and not objects:
            del self._objects[name]
        for key in keys:
            if self._gone.get((dialect, key)) == uid:
                del self._gone[dialect, key]
            known = self.of(dialect, key)
            if known is not None and uid in ("", known.metadata.uid):
                self._forget(dialect, key)
        drafted = self._drafts.workload_gone(name) if dialect is DRAFT else []
        return [*self._groups_now(keys), *self._tell(drafted)]

    def _forget(self, dialect: Dialect, key: str) -> None:
        groups = self._declared[key]
        del groups[dialect]
        if not groups:
            del self._declared[key]
        self._touched[dialect].discard(key)
        for other in groups:
            # the one that did not count does now
            self._touched[other].add(key)

    def read(self, dialect: Dialect, key: str, group: PodGroup | None, *, before: PodGroup | None) -> None:
        """What a read at the API server itself found, ahead of the watch perhaps; None for nothing.  What is declared
        like it, as its replicas are, follows.

        `before` is what was known when the read began: what the watch has told since may be newer.  One that it told
        to be gone does not come back, and one of which it told that it came is there.
        """
        known = self.of(dialect, key)
        if group is None:
            if known is not None and before is not None and known.metadata.uid == before.metadata.uid:
                self._gone[dialect, key] = known.metadata.uid
                self._forget(dialect, key)
        elif known is not None or before is None or before.metadata.uid != group.metadata.uid:
            self._put(dialect, group)
        self._renew(self._by_pods.template_changed([key]))

    def answer(self, key: str, number: int) -> GroupRead:
        """What there is to say of the gang after a read of this number."""
        now = self._now(key)
        return GroupRead(key, number, now.group if isinstance(now, GroupSeen) else None)

    def _is_older(self, group: PodGroup, known: PodGroup | None) -> bool:
        """Whether the watch tells what was so before what a read has found.

        Versions of one kind can be compared as numbers, those of different objects too; where they are none, the
        watch is believed.
        """
        one, other = group.metadata.resource_version, "" if known is None else known.metadata.resource_version
        return one.isdecimal() and other.isdecimal() and int(one) < int(other)

    def take_touched(self, dialect: Dialect) -> set[str]:
        """Keys of groups of one API that came or changed since this was last asked."""
        taken, self._touched[dialect] = self._touched[dialect], set()
        return taken

    def class_seen(self, found: PriorityClass) -> list[Change]:
        name = found.metadata.name
        before = {key: self._now(key) for key in self._declared if self._names_class(key, name)}
        self._classes[name] = found
        return [now for key, was in before.items() if (now := self._now(key)) != was]

    def _names_class(self, key: str, name: str) -> bool:
        found = self.find(key)
        return found is not None and found[1].spec.priority_class_name == name

    def class_gone(self, name: str) -> None:
        """Groups keep the priority that they have, as Kubernetes' own do: its value is remembered."""

    def _now(self, key: str) -> GroupSeen | GroupGone:
        found = _first(self._open(key))
        if found is None:
            return GroupGone(key)
        dialect, group = found
        spec = group.spec
        named = self._classes.get(spec.priority_class_name)
        if named is not None and dialect is not NATIVE and spec.priority is None:
            spec = msgspec.structs.replace(spec, priority=named.value)
        if named is not None and spec.preemption_policy is None:
            spec = msgspec.structs.replace(spec, preemption_policy=named.preemption_policy)
        return GroupSeen(group if spec is group.spec else msgspec.structs.replace(group, spec=spec))


def _minimums(group: PodGroup) -> list[tuple[str, int]]:
    return [(subset.name, subset.minimum) for subset in declare(group).subsets]


def _first(found: dict[Dialect, PodGroup]) -> tuple[Dialect, PodGroup] | None:
    dialect = min(found, key=_PRECEDENCE.__getitem__, default=None)
    return None if dialect is None else (dialect, found[dialect])


def _key(found: Object) -> str:
    return f"{found.metadata.namespace}/{found.metadata.name}"
