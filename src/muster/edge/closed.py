"""Dialects that are switched off: their groups are not told of, and their pods go one by one.

Only what was begun under the old rule is finished under it.  A gang is *under way* while some of its members are bound
and it has not started, or while nodes are nominated for as many as it needs, since others were evicted for it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from msgspec.structs import replace

from muster.api.wire import Pod, PodGroup
from muster.engine.reasons import MEMBERS_LOST
from muster.gangs.dialects import DIALECTS, DRAFT, declare, membership
from muster.gangs.dialects.dialect import Dialect
from muster.gangs.model import Gang, Policy
from muster.gangs.record import STARTED, bound_for

_ENDED = ("Succeeded", "Failed")


class Closed:
    """`declared` finds the groups of one name, whether their dialects are off or on."""

    def __init__(self, dialects: Collection[Dialect], declared: Callable[[str], Mapping[Dialect, PodGroup]]) -> None:
        self._dialects = frozenset(dialects)
        self._open = tuple(dialect for dialect in DIALECTS if dialect not in self._dialects)
        self._declared = declared
        self._pods: dict[str, dict[str, Pod]] = {}
        """By key of the gang that they name or were bound for, by UID; none while no dialect is off."""
        self._begun: dict[str, dict[str, Pod]] = {}
        """Those of them that are bound, or that a node is nominated for."""
        self._keys_of: dict[str, tuple[str, ...]] = {}
        """By the pod's UID."""
        self._hidden: set[str] = set()
        """Keys of gangs that only dialects declare which are off."""
        self._under_way: set[str] = set()

    def closes(self, dialect: Dialect) -> bool:
        """Whether the dialect is off."""
        return dialect in self._dialects

    def hides(self, dialect: Dialect, key: str) -> bool:
        """Whether the gang is not told of as this dialect declares it."""
        return dialect in self._dialects and key not in self._under_way

    def seen(self, pod: Pod) -> tuple[str, ...]:
        """Keys of gangs for which something may be new."""
        if not self._dialects:
            return ()
        uid, keys = pod.metadata.uid, _keys(pod)
        before = self.gone(uid)
        if not keys:
            return before
        self._keys_of[uid] = keys
        begun = bool(pod.spec.node_name or pod.status.nominated_node_name)
        for pods in (self._pods, self._begun) if begun else (self._pods,):
            for key in keys:
                pods.setdefault(key, {})[uid] = pod
        return keys if before == keys else (*before, *keys)

    def gone(self, uid: str) -> tuple[str, ...]:
        """Keys of gangs for which something may be new since the pod is gone."""
        keys = self._keys_of.pop(uid, ())
        for pods in (self._pods, self._begun):
            for key in keys:
                if (named := pods.get(key)) is not None:
                    named.pop(uid, None)
                    if not named:
                        del pods[key]
        return keys

    def settle(self, keys: Iterable[str]) -> list[str]:
        """Those of the gangs whose pods are to be told of otherwise."""
        return [key for key in dict.fromkeys(keys) if self._settle(key)] if self._dialects else []

    def _settle(self, key: str) -> bool:
        found = self._declared(key)
        hidden = bool(found) and self._dialects.issuperset(found)
        under_way = hidden and self._is_under_way(declare(next(found[one] for one in DIALECTS if one in found)))
        if hidden == (key in self._hidden) and under_way == (key in self._under_way):
            return False
        for keys, holds in ((self._hidden, hidden), (self._under_way, under_way)):
            if holds:
                keys.add(key)
            else:
                keys.discard(key)
        return True

    def pods(self, key: str) -> list[Pod]:
        """Those that name the gang, as they are to be told of."""
        return [self.told(pod) for pod in self._pods.get(key, {}).values()]

    def told(self, pod: Pod) -> Pod:
        """The pod as one that says nothing in dialects that are off; for one that was bound its record speaks."""
        keys = self._keys_of.get(pod.metadata.uid, ())
        if not keys and not (pod.astray and DRAFT in self._dialects):
            return pod
        if not self._under_way.isdisjoint(keys) or bound_for(pod) is not None:
            return pod
        for dialect in self._dialects:
            pod = dialect.unsaid(pod)
        named = next(filter(None, (dialect.membership(pod) for dialect in self._open)), None)
        return (
            pod
            if named is not None and named.gang not in self._hidden
            else replace(pod, alone=True, astray="", unsettled=False)
        )

    def is_named(self, key: str) -> bool:
        """Whether a pod that has not ended names the gang; known only where a dialect is off."""
        return any(pod.status.phase not in _ENDED for pod in self._pods.get(key, {}).values())

    def is_alone(self, uid: str) -> bool:
        """Whether the pod says something in a dialect that is off, and is told of as one that does not."""
        keys = self._keys_of.get(uid, ())
        return any(self.told(self._pods[key][uid]).alone for key in keys[:1])

    def _is_under_way(self, gang: Gang) -> bool:
        if gang.policy is not Policy.GANG or _has_started(gang):
            return False
        bound = nominated = 0
        for pod in self._begun.get(gang.key, {}).values():
            if pod.metadata.annotations.get(STARTED) == gang.key:
                return False
            if _lives(pod):
                record = bound_for(pod)
                bound += record is not None and record.uid == gang.uid
                nominated += not pod.spec.node_name
            if bound and gang.has_status:
                # no member can say that it has started
                break
        # lone pods have nominations, too, but seldom as many at once as a gang for which others were evicted
        return bound > 0 or nominated >= gang.minimum


def _keys(pod: Pod) -> tuple[str, ...]:
    """The gang that the pod was bound for, or those that it names."""
    record = bound_for(pod)
    if record is not None:
        return (record.gang,) if record.gang else ()
    named = membership(pod)
    return () if named is None else tuple(filter(None, (named.gang, named.besides)))


def _lives(pod: Pod) -> bool:
    return pod.status.phase not in _ENDED and pod.metadata.deletion_timestamp is None


def _has_started(gang: Gang) -> bool:
    """It has had its minimum, and need not start whole once more."""
    fell = gang.below_since is not None and gang.below_said is not None and gang.below_said[0] != MEMBERS_LOST
    return gang.started and not fell
