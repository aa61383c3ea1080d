"""Which gangs had their minimum bound, if only for a moment: counted change by change, as the scheduler hears it."""

from __future__ import annotations

from collections.abc import Container

from msgspec.structs import replace

from muster.api.wire import Pod, PodGroup
from muster.engine.changes import Bound, Change, GroupGone, GroupSeen, NodeGone, NodeSeen, PodGone, PodSeen
from muster.engine.decisions import Bind
from muster.gangs.record import BOUND_FOR, BoundFor
from muster.sim.plain import ENDED, unit_of
from muster.sim.reading import Gang
from muster.sim.world import World


class Starts:
    """Follows one scheduler's view of groups and bound pods."""

    def __init__(self, world: World, *, scheduler: str, condemned: Container[str]) -> None:
        """`condemned` are pods that are to be evicted: they count as leaving before their objects say so."""
        self._world = world
        self._scheduler = scheduler
        self._condemned = condemned
        self.began: set[str] = set()
        """UIDs of groups that had their minimum bound once, as the scheduler has seen."""
        self._groups: dict[str, PodGroup] = {}
        self._bound: dict[str, dict[str, Pod]] = {}
        """By gang and UID: pods that count as bound, whether they run or succeeded."""
        self._nodes: set[str] = set()
        self._sent: dict[str, BoundFor] = {}
        """By UID: what pods were last to be bound for."""

    def decided(self, decision: Bind) -> None:
        self._sent |= {placement.uid: placement.bound_for for placement in decision.pods}

    def told(self, change: Change) -> str:
        """The UID of the group that has its minimum bound by this change, and perhaps had it before; "" if none has."""
        match change:
            case GroupSeen(group):
                key = f"{group.metadata.namespace}/{group.metadata.name}"
                self._groups[key] = group
                return self._look(key)
            case GroupGone(key):
                self._groups.pop(key, None)
            case NodeSeen(node):
                self._nodes.add(node.metadata.name)
            case NodeGone(name):
                self._nodes.discard(name)
            case PodSeen(seen):
                self._forget(seen.metadata.uid)
                deleted = seen.metadata.deletion_timestamp is not None
                if seen.spec.node_name and not deleted and seen.status.phase != ENDED[True]:
                    return self._count(seen)
            case PodGone(uid):
                self._forget(uid)
            case Bound(uid, node):
                # the object that says so may still be on its way
                pod = self._world.pods.get(uid)
                if pod is not None and pod.metadata.deletion_timestamp is None and pod.status.phase not in ENDED:
                    record = {BOUND_FOR: self._sent[uid].text} if uid in self._sent else {}
                    meta = replace(pod.metadata, annotations=pod.metadata.annotations | record)
                    return self._count(replace(pod, metadata=meta, spec=replace(pod.spec, node_name=node)))
        return ""

    def restarted(self) -> None:
        """A new scheduler has the objects only."""
        self.began.clear()
        self._groups.clear()
        self._bound.clear()
        self._nodes.clear()
        for change in self._world.objects():
            self.told(change)

    def _count(self, pod: Pod) -> str:
        self._bound.setdefault(unit_of(pod), {})[pod.metadata.uid] = pod
        return self._look(unit_of(pod))

    def _forget(self, uid: str) -> None:
        for pods in self._bound.values():
            pods.pop(uid, None)

    def _look(self, key: str) -> str:
        group = self._groups.get(key)
        if group is None:
            return ""
        gang = Gang(key, scheduler=self._scheduler)
        gang.group = group
        for pod in self._bound.get(key, {}).values():
            if pod.metadata.uid in self._condemned:
                continue
            if pod.status.phase in ENDED:
                gang.done.append(pod)
            elif pod.spec.node_name in self._nodes:
                gang.running.append(pod)
        if not gang.running or gang.bound < gang.minimum:
            return ""
        self.began.add(group.metadata.uid)
        return group.metadata.uid
