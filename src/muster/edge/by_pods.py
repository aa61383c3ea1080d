"""Gangs that have no object of their own: pods declare them by their labels, or as replicas of a group."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from muster.api.wire import Pod, PodGroup
from muster.gangs.dialects import DRAFT, LABELS, V1ALPHA1, is_plain
from muster.gangs.dialects.dialect import Dialect
from muster.gangs.record import bound_for

_ENDED = ("Succeeded", "Failed")

_WORKLOADS: tuple[Dialect, ...] = (V1ALPHA1, DRAFT)

Changed = list[tuple[str, Dialect, PodGroup | None]]
"""Keys of gangs whose declaration may be new, in which dialect, and what it is; None for none."""


class DeclaredByPods:
    """Follows the pods that declare gangs.  A pod that has ended declares nothing, one that was bound what it was
    bound for; `template` finds the group of which gangs are replicas.
    """

    def __init__(self, template: Callable[[Dialect, str], PodGroup | None]) -> None:
        self._template = template
        self._pods: dict[str, dict[str, Pod]] = {}
        """By key of the gang, by UID."""
        self._key_of: dict[str, str] = {}
        """By the pod's UID."""
        self._replicas: dict[str, set[str]] = {}
        """By key of the group: keys of the gangs that are replicas of it."""

    def seen(self, pod: Pod) -> Changed:
        uid, key = pod.metadata.uid, _declares(pod)
        before = self._key_of.get(uid, "")
        if not key and not before:
            return []
        changed = self.gone(uid) if before != key else []
        if key:
            self._key_of[uid] = key
            self._pods.setdefault(key, {})[uid] = pod
            if (of := _replica_of(key)) is not None:
                self._replicas.setdefault(of, set()).add(key)
            changed += self._now(key)
        return changed

    def gone(self, uid: str) -> Changed:
        key = self._key_of.pop(uid, "")
        if not key:
            return []
        pods = self._pods[key]
        del pods[uid]
        if not pods:
            del self._pods[key]
            if (of := _replica_of(key)) is not None:
                self._replicas[of].discard(key)
                if not self._replicas[of]:
                    del self._replicas[of]
        return self._now(key)

    def template_changed(self, keys: Iterable[str]) -> Changed:
        """Groups of these keys came, changed or went."""
        replicas = (key for of in keys for key in sorted(self._replicas.get(of, ())))
        return [change for key in replicas for change in self._now(key)]

    def _now(self, key: str) -> Changed:
        pods, of = self._pods.get(key), _replica_of(key)
        if of is None:
            return [(key, LABELS, LABELS.declared_by(key, pods.values()) if pods else None)]
        return [(key, dialect, _replica(self._template(dialect, of), key) if pods else None) for dialect in _WORKLOADS]


def _replica(group: PodGroup | None, key: str) -> PodGroup | None:
    """The group as a gang of this key."""
    return None if group is None else replace(group, metadata=replace(group.metadata, name=key.partition("/")[2]))


def _declares(pod: Pod) -> str:
    """Key of the gang that the pod helps to declare; "" for most."""
    ended = pod.status.phase in _ENDED
    if not ended and (record := bound_for(pod)) is not None:
        # for an object's own gang the object declares
        return record.gang if not record.uid or _replica_of(record.gang) is not None else ""
    if ended or is_plain(pod):
        return ""
    replica = V1ALPHA1.membership(pod)
    if replica is not None and replica.replica_of:
        return replica.gang
    member = LABELS.membership(pod)
    return "" if member is None else member.gang


def _replica_of(key: str) -> str | None:
    """Key of the group of which the gang is a replica: namespace/workload/group of namespace/workload/group/replica."""
    return key.rpartition("/")[0] if key.count("/") == 3 else None
