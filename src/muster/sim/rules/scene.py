"""The room on the nodes while a batch of decisions is played: who takes it, who is leaving, for whom it is kept."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Mapping
from typing import NamedTuple

from muster.api.times import seconds
from muster.api.wire import Pod
from muster.engine.decisions import Bind, PodCondition, PodRef
from muster.gangs.model import Aspect
from muster.sim.plain import ENDED, Needs, Place, take, unit_of
from muster.sim.reading import Gang, Reading, Taker, Waiting
from muster.sim.rules.neighbours import Around, Neighbour
from muster.sim.world import World

Places = dict[str, Place]


class Keep(NamedTuple):
    """Room that is kept for one pod."""

    unit: str
    priority: int
    node: str
    needs: Needs


class Scene:
    """One instant as its objects tell it; decisions change it one after another, before anybody carries them out."""

    def __init__(
        self,
        world: World,
        reading: Reading,
        gangs: dict[str, Gang],
        *,
        broken: Container[str],
        condemned: Mapping[str, float],
        patience: float,
    ) -> None:
        """`broken` are pods whose nomination no longer means that room is kept for them.

        `condemned` says since when pods are to be evicted whose deletions have not gone out.
        """
        self._world = world
        self._reading = reading
        self.gangs = gangs
        self.waiting: list[Waiting] = sorted(reading.waiting(gangs), key=lambda unit: unit.order)
        """Units that may be decided, best first; those that were are taken out."""
        self.rest: dict[str, Waiting] = {}
        """By unit: members of units that were bound without them."""
        self.bound: dict[str, set[str]] = {}
        """By unit: pods that are bound in this batch."""
        self.shaken: set[str] = set()
        """Units that lose pods in this batch: they may need more than `waiting` says."""
        self.said: dict[str, tuple[str, str, str]] = {}
        """By UID: reason, message and nomination, for pods of which something is said in this batch."""
        self.gangs_said: dict[tuple[str, Aspect], tuple[str, str, str]] = {}
        """By gang: status, reason and message, of those of which something is said in this batch."""
        self.takers: dict[str, Taker] = {}
        """By UID: on nodes that are there."""
        self._full: Places | None = None
        """The room that they leave, once somebody has asked."""
        self.doubtful: dict[str, Taker] = {}
        """Pods that perhaps take room, since their bind failed and the engine may still keep to it."""
        self.leaving: set[str] = set()
        """Those whose room will be free soon."""
        self.departing: set[str] = set()
        """Those who surely go: evictions may be called off."""
        self.reserved: dict[str, Keep] = {}
        """By UID."""
        self.perhaps: dict[str, Keep] = {}
        """By UID: room that pods are nominated to, and that is perhaps not kept any more, or is again."""
        for uid, pod in world.pods.items():
            if pod.status.phase not in ENDED:
                self._read(uid, pod, broken, condemned.get(uid), patience)

    def _read(self, uid: str, pod: Pod, broken: Container[str], condemned: float | None, patience: float) -> None:
        reading, nodes, deleted = self._reading, self._world.nodes, pod.metadata.deletion_timestamp
        node = pod.spec.node_name or reading.node_of(pod)
        if node in nodes:
            self.takers[uid] = reading.taker(pod, node)
            until = condemned if deleted is None else seconds(deleted)
            if until is not None and self._world.now <= until + patience:
                self.leaving.add(uid)
            if deleted is not None:
                self.departing.add(uid)
        nominated = pod.status.nominated_node_name
        if nominated and nominated in nodes and reading.waits(pod):
            self.keep(pod, nominated, sure=uid not in broken)

    def doubt(self, uid: str, node: str) -> None:
        """The pod perhaps takes room on the node."""
        pod = self._world.pods[uid]
        if node in self._world.nodes:
            self.doubtful[uid] = self._reading.taker(pod, node)

    # --- who is where ---

    def unit(self, key: str) -> Waiting | None:
        return next((unit for unit in self.waiting if unit.key == key), None)

    def unit_or_rest(self, key: str) -> Waiting | None:
        """The unit, or what is left to place of it."""
        return self.rest.get(key) or self.unit(key)

    def priority_of(self, pod: Pod) -> int:
        """At which it is decided: its gang's where there is one."""
        gang = self._gang_of(pod)
        return gang.priority if gang is not None else pod.spec.priority or 0

    def level_of(self, pod: Pod) -> int:
        """At which it can be evicted, at most: its own or its gang's priority, or the highest of those that go too."""
        gang, own = self._gang_of(pod), pod.spec.priority or 0
        if gang is None:
            return own
        others: list[int] = []
        if gang.goes_whole:
            stay = [other for other in gang.members if other.metadata.deletion_timestamp is None]
            there = [other for other in stay if other.metadata.uid in self.takers.keys() | self.doubtful.keys()]
            others = [other.spec.priority or 0 for other in there]
        return max([own, gang.priority, *others])

    def _gang_of(self, pod: Pod) -> Gang | None:
        return self.gangs.get(unit_of(pod)) if pod.spec.scheduling_group is not None else None

    def kept_for(self, unit: str) -> dict[str, Keep]:
        return {uid: keep for uid, keep in self.reserved.items() if keep.unit == unit}

    # --- room ---

    def places(
        self,
        *,
        gone: Collection[str] = (),
        perhaps: bool = False,
        kept: Callable[[Keep], bool] = lambda keep: False,
    ) -> Places:
        """The room without those who are `gone`, and what is `kept` taken; and what `perhaps` is taken or kept."""
        if gone:
            places = self._occupied(gone)
        else:
            self._full = self._full or self._occupied()
            places = {name: Place(place.room.copy(), place.ports.copy()) for name, place in self._full.items()}
        for taker in self.doubtful.values() if perhaps else ():
            take(taker.needs, places[taker.node])
        for keep in (*self.reserved.values(), *self.perhaps.values()) if perhaps else self.reserved.values():
            if kept(keep):
                take(keep.needs, places[keep.node])
        return places

    def _occupied(self, gone: Collection[str] = ()) -> Places:
        places = self._reading.empty()
        for uid, taker in self.takers.items():
            if uid not in gone:
                take(taker.needs, places[taker.node])
        return places

    def left_for(self, unit: Waiting) -> Places:
        """The room that surely nobody else has or keeps."""
        return self.places(perhaps=True, kept=lambda keep: keep.unit != unit.key)

    def around(self, unit: str, placed: Container[str], *, gone: Container[str] = ()) -> Around:
        """Who is there when pods of the unit are `placed`, without those who are `gone`."""
        nodes = self._world.nodes
        surely = [
            Neighbour(taker.pod, nodes[taker.node], stays=uid not in self.departing)
            for uid, taker in self.takers.items()
            if uid not in placed and uid not in gone
        ]
        perhaps = [Neighbour(taker.pod, nodes[taker.node]) for uid, taker in self.doubtful.items() if uid not in placed]
        perhaps += [
            Neighbour(self._world.pods[uid], nodes[keep.node])
            for uid, keep in (*self.reserved.items(), *self.perhaps.items())
            if keep.unit != unit
        ]
        return Around(nodes.values(), surely, perhaps)

    # --- decisions ---

    def bind(self, decision: Bind) -> None:
        """The pods take their room; nothing is kept for the unit any more."""
        for placement in decision.pods:
            pod = self._world.pods[placement.uid]
            self.bound.setdefault(decision.unit, set()).add(placement.uid)
            for known in (self.doubtful, self.reserved, self.perhaps):
                known.pop(placement.uid, None)
            if placement.node in self._world.nodes:
                self._full = None
                self.takers[placement.uid] = self._reading.taker(pod, placement.node)
        self.drop(decision.unit)
        unit = self.unit_or_rest(decision.unit)
        if unit is not None:
            bound = {placement.uid for placement in decision.pods}
            left = [pod for pod in unit.pods if pod.metadata.uid not in bound]
            self.rest[unit.key] = unit._replace(need=1, pods=left)
        self.waiting = [unit for unit in self.waiting if unit.key != decision.unit]

    def say(self, decision: PodCondition) -> None:
        """The pods are nominated, or are not any more."""
        nodes = decision.nominated or ("",) * len(decision.pods)
        for ref, node in zip(decision.pods, nodes, strict=True):
            self.said[ref.uid] = decision.reason, decision.message, node
            self.reserved.pop(ref.uid, None)
            self.perhaps.pop(ref.uid, None)
            pod = self._world.pods.get(ref.uid)
            if pod is not None and node in self._world.nodes:
                self.keep(pod, node)

    def keep(self, pod: Pod, node: str, *, sure: bool = True) -> None:
        keep = Keep(unit_of(pod), self.priority_of(pod), node, self._reading.needs_of(pod))
        self.perhaps.pop(pod.metadata.uid, None)
        (self.reserved if sure else self.perhaps)[pod.metadata.uid] = keep

    def drop(self, unit: str) -> list[str]:
        """Nothing is kept for the unit any more, unless it gets the same again; for which pods it was."""
        dropped = self.kept_for(unit)
        for uid in dropped:
            self.perhaps[uid] = self.reserved.pop(uid)
        return list(dropped)

    def leave(self, pods: Iterable[PodRef]) -> None:
        for ref in pods:
            self.leaving.add(ref.uid)
            self.shaken.add(unit_of(self._world.pods[ref.uid]))
