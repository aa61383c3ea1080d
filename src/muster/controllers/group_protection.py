"""PodGroups of Kubernetes' own kind: one in use is not deleted before its pods have ended.

The API server puts the finalizer on each new group; this takes it off.  `protection` does both for custom groups, and
for pods that name a group by label, which nobody sees here.
"""

from __future__ import annotations

from muster.api.calls import Patch
from muster.controllers.desk import AtDesks, Desk
from muster.controllers.desk import Look as Looking
from muster.controllers.objects import POD_GROUPS, Pod, PodGroup

FINALIZER = "scheduling.k8s.io/podgroup-protection"


class GroupProtection(AtDesks):
    """Takes the finalizer off a group that is on its way out once no pod that has not ended names it."""

    def __init__(self) -> None:
        self._groups: dict[str, PodGroup] = {}
        self._users: dict[str, set[str]] = {}
        """UIDs of pods that have not ended, by the key of the group that they name."""
        self._used: dict[str, str] = {}
        """The key of the group that a pod names, by its UID."""
        self._desk = Desk(self._look)
        super().__init__(self._desk)

    def seen(self, where: str, thing: PodGroup | Pod) -> None:
        if isinstance(thing, PodGroup):
            self._groups[thing.metadata.key] = thing
            self._desk.add(thing.metadata.key)
            return
        uid, named = thing.metadata.uid, thing.spec.scheduling_group
        if thing.is_over or named is None or named.pod_group_name is None:
            self._let_go(uid)
        else:
            key = f"{thing.metadata.namespace}/{named.pod_group_name}"
            self._users.setdefault(key, set()).add(uid)
            self._used[uid] = key

    def gone(self, where: str, thing: PodGroup | Pod) -> None:
        if isinstance(thing, PodGroup):
            self._groups.pop(thing.metadata.key, None)
        else:
            self._let_go(thing.metadata.uid)

    def _let_go(self, uid: str) -> None:
        key = self._used.pop(uid, None)
        if key is not None:
            self._users[key].discard(uid)
            if not self._users[key]:
                del self._users[key]
                self._desk.add(key)

    def _look(self, key: str) -> Looking:
        group = self._groups.get(key)
        if group is None or group.metadata.deletion_timestamp is None or key in self._users:
            return
        meta = group.metadata
        if FINALIZER not in meta.finalizers:
            return
        kept = [one for one in meta.finalizers if one != FINALIZER]
        body = {"metadata": {"uid": meta.uid, "resourceVersion": meta.resource_version, "finalizers": kept or None}}
        yield [Patch(path=POD_GROUPS.path(meta.namespace, meta.name), body=body)]
