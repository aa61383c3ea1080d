"""PodGroup protection: a group in use is not deleted before its pods have ended."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from muster.api.wire import Pod, PodGroup
from muster.gangs.dialects import membership
from muster.gangs.record import bound_for

FINALIZER = "muster.dev/podgroup-protection"

_ENDED = ("Succeeded", "Failed")

Write = Callable[[PodGroup, tuple[str, ...]], None]
"""Asks for a group's finalizers to be replaced by these."""


class Protection:
    """Keeps a finalizer on groups, and takes it off once a group is being deleted and no pod uses it.

    As Kubernetes does for its own PodGroups, where an admission plugin adds the finalizer; custom objects have none.
    Kubernetes looks at the field of pods only: a native group that pods name by label has this finalizer beside
    Kubernetes' own.  `wanted` says which groups are to have it while nobody deletes them; one that is not wanted any
    more loses it, so that nothing of ours stays behind.
    """

    def __init__(
        self,
        find: Callable[[str], PodGroup | None],
        *,
        wanted: Callable[[str], bool],
        in_use: Callable[[str], bool],
        write: Write,
    ) -> None:
        self._find = find
        self._wanted = wanted
        self._in_use = in_use
        self._write = write
        self._leaving: dict[str, str] = {}
        """Groups being deleted that still have the finalizer, and the resourceVersion for which a write was asked."""

    def look(self, touched: Iterable[str]) -> None:
        """Looks at groups that changed or came to be wanted or not, and at those that may have been used until now."""
        for key in sorted(touched):
            group = self._find(key)
            self._leaving.pop(key, None)
            if group is None:
                continue
            protected = FINALIZER in group.metadata.finalizers
            if group.metadata.deletion_timestamp is not None:
                if protected:
                    self._leaving[key] = ""
            elif protected and not self.keeps(key):
                self._take_off(group)
            elif self.keeps(key) and not protected:
                self._write(group, (*group.metadata.finalizers, FINALIZER))
        for key, asked in list(self._leaving.items()):
            group = self._find(key)
            if group is None:
                del self._leaving[key]
                continue
            if self.keeps(key):
                # what was asked for is not sent any more: to be asked for again
                self._leaving[key] = ""
                continue
            if asked == group.metadata.resource_version:
                continue
            self._leaving[key] = group.metadata.resource_version
            self._take_off(group)

    def keeps(self, key: str) -> bool:
        """Whether the group is to have the finalizer as things are now; to be asked again before a write is sent."""
        group = self._find(key)
        if group is None or group.metadata.deletion_timestamp is None:
            return self._wanted(key)
        return self._in_use(key)

    def _take_off(self, group: PodGroup) -> None:
        self._write(group, tuple(name for name in group.metadata.finalizers if name != FINALIZER))


class NamedByLabel:
    """Which groups pods that have not ended belong to by labels or annotations; Kubernetes' own protection does not see
    these pods.

    A pod whose field names the same group is seen by Kubernetes and does not count.  Where the field names another, the
    label counts only if that one `gives_way`, as for scheduling; a pod that was bound stays in the group of its record.
    """

    def __init__(self, gives_way: Callable[[str], bool]) -> None:
        self._gives_way = gives_way
        self._named: dict[str, str] = {}
        """The key of the group that a pod belongs to by label, by the pod's UID."""
        self._twice: dict[str, dict[str, Pod]] = {}
        """Pods that have no record and name two groups, by the one that may give way, by UID."""
        self._first: dict[str, str] = {}
        """Which one that is, by the pod's UID."""
        self._pods: dict[str, int] = {}
        """How many pods name a group so, by its key."""
        self._touched: set[str] = set()
        """Groups that got their first such pod, or lost their last."""

    def __contains__(self, key: str) -> bool:
        return key in self._pods

    def seen(self, pod: Pod) -> None:
        uid, key = pod.metadata.uid, self._by_label(pod)
        if self._named.get(uid) == key:
            return
        self._forget(uid)
        if key is not None:
            self._named[uid] = key
            self._count(key, 1)

    def group_changed(self, key: str) -> None:
        """The group came, changed or went: whether it gives way may be new."""
        for pod in list(self._twice.get(key, {}).values()):
            self.seen(pod)

    def gone(self, uid: str) -> None:
        self._forget(uid)
        self._names_one(uid)

    def _forget(self, uid: str) -> None:
        key = self._named.pop(uid, None)
        if key is not None:
            self._count(key, -1)

    def _by_label(self, pod: Pod) -> str | None:
        """The group that the pod belongs to, if its field does not say so."""
        uid, field = pod.metadata.uid, pod.spec.scheduling_group
        self._names_one(uid)
        if pod.status.phase in _ENDED:
            return None
        if (record := bound_for(pod)) is not None:
            key = record.gang
        elif (named := membership(pod)) is not None:
            key = named.settled(self._gives_way)
            if named.besides:
                self._twice.setdefault(named.gang, {})[uid] = pod
                self._first[uid] = named.gang
        else:
            return None
        by_field = field is not None and key == f"{pod.metadata.namespace}/{field.pod_group_name}"
        return None if by_field else key or None

    def _names_one(self, uid: str) -> None:
        first = self._first.pop(uid, None)
        if first is not None:
            pods = self._twice[first]
            del pods[uid]
            if not pods:
                del self._twice[first]

    def _count(self, key: str, by: int) -> None:
        before = self._pods.get(key, 0)
        if before + by:
            self._pods[key] = before + by
        else:
            del self._pods[key]
        if not before or not before + by:
            self._touched.add(key)

    def take_touched(self) -> set[str]:
        """Keys of groups that came to be named by label, or are no longer, since this was last asked."""
        taken, self._touched = self._touched, set()
        return taken
