"""What must hold in every world, recomputed from the objects: never from what the engine keeps.

`told` hears every change, `before` sees every batch of decisions before it is carried out, `after` looks
at the world whenever the engine has nothing more to say, `at_rest` when nothing will change any more.
A rule that does not hold raises BrokenRuleError.
"""

from __future__ import annotations

import re
from collections import Counter

from muster.api.wire import Pod, condition
from muster.engine.changes import Change, NodeSeen
from muster.engine.decisions import Bind, Decision, Event, GangCondition, Placement, PodCondition, Release
from muster.sim.open_binds import OpenBinds
from muster.sim.plain import Place, Port, admits, collide, fits, key_of, take, unit_of
from muster.sim.reading import ENDED, OURS, Gang, Reading, Waiting
from muster.sim.world import World

# stamps are whole seconds, so what the objects say of a time may be so much too early
_STAMP_SECONDS = 1.0

_POD_TEXT = re.compile(
    r"0/(?P<nodes>\d+) nodes are available: \d+ .+\.|no nodes available to schedule pods"
    r"|pod group is unschedulable, .+"
)

Places = dict[str, Place]
Gangs = dict[str, Gang]


class BrokenRuleError(AssertionError):
    """A rule that does not hold."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(f"{rule}: {message}")
        self.rule = rule


class Invariants:
    """Watches one world."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._binds = OpenBinds(world)
        self._reading = Reading(world, held=self._binds.held)
        self.seen: Counter[str] = Counter()
        """What was looked at, and what the fast path missed."""
        self._mixed: set[str] = set()
        """Gangs that were of mixed shapes once: not finding a place for them is no proof, so they back off."""
        self._missed: set[str] = set()
        """Those of them that the oracle found a place for while they waited."""
        self._started: set[str] = set()
        """UIDs of groups that had their minimum bound once."""
        self._excused: set[str] = set()
        """Nodes that shrank below what is on them."""

    # --- hearing and seeing ---

    def told(self, change: Change) -> None:
        self._binds.told(change)
        if isinstance(change, NodeSeen):
            name = change.node.metadata.name
            if min(self.room_left()[name].room.values()) < 0:
                self._excused.add(name)

    def restarted(self) -> None:
        self._binds.restarted()

    def before(self, decisions: list[Decision]) -> None:
        """Looks at a batch of decisions before any of them is carried out."""
        if all(isinstance(decision, Event) for decision in decisions):
            return
        gangs = self._reading.gangs()
        self._binds.review(gangs, shrunk=self._excused)
        binds = [decision for decision in decisions if isinstance(decision, Bind)]
        if binds:
            self._check_binds(binds, gangs)
        for decision in decisions:
            if isinstance(decision, Release):
                self._check_release(decision, gangs)
            elif isinstance(decision, PodCondition):
                self._check_pod_condition(decision)
            elif isinstance(decision, GangCondition):
                self._check_gang_condition(decision, gangs)

    def after(self) -> None:
        """Looks at the world when the engine has nothing more to say."""
        gangs = self._reading.gangs()
        self._binds.review(gangs, shrunk=self._excused)
        places = self._reading.places()
        left = self.room_left() if self._binds.doubtful else places
        self._check_room(places, left)
        for gang in gangs.values():
            self._check_half_bound(gang)
        for unit in self._reading.waiting(gangs):
            if not self._reading.exact(unit):
                self._look_at_mixed(unit, left)
            elif not self._may_back_off(unit):
                self._check_waits(unit, left)

    def at_rest(self) -> None:
        """Looks at the world when nothing will change any more: nobody waits who fits, everybody knows why."""
        if self._world.in_flight or self._binds.held:
            raise BrokenRuleError("rest", f"binds are open: {[*self._world.in_flight, *self._binds.held]}")
        places, gangs = self._reading.places(), self._reading.gangs()
        for unit in self._reading.waiting(gangs):
            self._check_waits(unit, places)
            self._check_told(unit)
        for gang in gangs.values():
            if gang.group is not None:
                self._check_says(gang)

    # --- what others may ask ---

    @property
    def troubled(self) -> bool:
        """Whether the engine may know more than the objects say: of failed binds, backoff, half-bound gangs."""
        gangs = self._reading.gangs()
        return (
            bool(self._binds.failures)
            or any(gang.partial for gang in gangs.values())
            or any(self._may_back_off(unit) for unit in self._reading.waiting(gangs))
        )

    def waits(self, pod: Pod) -> bool:
        """Ours, pending, and no bind of it is open."""
        return self._reading.waits(pod)

    def room_left(self) -> Places:
        """The room that nobody takes or keeps."""
        places = self._reading.places()
        self._take_doubtful(places)
        return places

    def _take_doubtful(self, places: Places) -> None:
        for uid, placement in self._binds.doubtful.items():
            if placement.node in places:
                take(self._reading.needs_of(self._world.pods[uid]), places[placement.node])

    def _may_back_off(self, unit: Waiting) -> bool:
        return unit.key in self._mixed or unit.key in self._binds.refused

    # --- binds ---

    def _check_binds(self, binds: list[Bind], gangs: Gangs) -> None:
        places, left = self._reading.places(), self.room_left()
        waiting = sorted(self._reading.waiting(gangs), key=lambda unit: unit.order)
        for decision in binds:
            uids = {placement.uid for placement in decision.pods}
            if not uids or len(uids) != len(decision.pods):
                raise BrokenRuleError("bound once", f"one decision names a pod twice, or none: {decision}")
            pods = [self._check_candidate(placement, decision.unit) for placement in decision.pods]
            if not uids <= self._binds.held.keys():
                self._check_order(decision.unit, left, waiting)
            for placement, pod in zip(decision.pods, pods, strict=True):
                self._check_place(placement, pod, places)
                if not self._binds.tried_there(placement):
                    take(self._reading.needs_of(pod), left[placement.node])
            if pods[0].spec.scheduling_group is not None:
                self._check_gang_bind(gangs[decision.unit], decision)
            waiting = [unit for unit in waiting if unit.key != decision.unit]

    def _check_candidate(self, placement: Placement, unit: str) -> Pod:
        pod = self._world.pods.get(placement.uid)
        if pod is None or key_of(pod) != placement.pod:
            raise BrokenRuleError("bound once", f"{placement.pod} is bound but does not exist")
        if pod.spec.node_name or placement.uid in self._world.in_flight:
            raise BrokenRuleError("bound once", f"{placement.pod} is bound again, to {placement.node}")
        if pod.spec.scheduler_name != OURS or pod.status.phase in ENDED or unit_of(pod) != unit:
            raise BrokenRuleError("bound once", f"{placement.pod} is not for {unit} to bind")
        if pod.spec.scheduling_gates:
            raise BrokenRuleError("gates", f"{placement.pod} is bound with gates")
        if pod.metadata.deletion_timestamp is not None:
            raise BrokenRuleError("leaving", f"{placement.pod} is bound while it is being deleted")
        return pod

    def _check_place(self, placement: Placement, pod: Pod, places: Places) -> None:
        node = self._world.nodes.get(placement.node)
        if node is None:
            raise BrokenRuleError("no pod lost", f"{placement.pod} is bound to {placement.node}, which is not there")
        held = self._binds.held.get(placement.uid)
        if held is not None and held.node != placement.node:
            raise BrokenRuleError(
                "bound once", f"{placement.pod} may be on {held.node} already, and goes to {placement.node}"
            )
        if held is not None:
            return  # its room is counted, and its node's facts may have changed since
        if not admits(node, pod) and not self._binds.tried_there(placement):
            raise BrokenRuleError("node rules", f"{placement.node} does not admit {placement.pod}")
        needs, place = self._reading.needs_of(pod), places[placement.node]
        if any(collide(port, taken) for port in needs.ports for taken in place.ports):
            raise BrokenRuleError("ports", f"{placement.pod} wants a port that is taken on {placement.node}")
        excused = placement.node in self._excused and self._binds.tried_there(placement)
        if not fits(needs, place) and not excused:
            raise BrokenRuleError("over-commit", f"{placement.pod} does not fit on {placement.node}: {place.room}")
        take(needs, place)

    def _check_gang_bind(self, gang: Gang, decision: Bind) -> None:
        """All or nothing; but what is half bound already may be tried again as long as its time lasts."""
        if gang.group is None:
            raise BrokenRuleError("gang whole", f"{gang.key} is bound but not declared")
        if gang.started or gang.group.metadata.uid in self._started:
            return
        again = all(self._binds.tried_there(placement) for placement in decision.pods)
        if gang.gated and not again:
            raise BrokenRuleError("gates", f"{gang.key} is bound, and {gang.gated} members have gates")
        if again and gang.running:
            return
        kept = {uid for uid in self._binds.doubtful if unit_of(self._world.pods[uid]) == gang.key}
        more = kept | {placement.uid for placement in decision.pods} - self._binds.held.keys()
        have = gang.bound + gang.binding + len(more)
        if have < gang.minimum:
            raise BrokenRuleError("gang whole", f"{gang.key} is bound with {have} of {gang.minimum}: {decision.pods}")

    def _check_order(self, key: str, places: Places, waiting: list[Waiting]) -> None:
        """Nobody goes first while a better one that may be decided fits."""
        mine = next((unit for unit in waiting if unit.key == key), None)
        if mine is None:
            return  # the rest of a gang that was bound in this batch
        if mine.gang is not None and mine.gang.bound and not mine.gang.started:
            return  # half-bound gangs go first
        for unit in waiting:
            if unit.order >= mine.order:
                return
            sure = self._reading.exact(unit) and not self._may_back_off(unit)
            if sure and self._reading.fits(unit, places):
                raise BrokenRuleError("order", f"{key} {mine.order} goes before {unit.key} {unit.order}, which fits")

    # --- other decisions ---

    def _check_release(self, decision: Release, gangs: Gangs) -> None:
        gang, now = gangs.get(decision.unit), self._world.now
        self._binds.refused.add(decision.unit)
        if gang is None or gang.group is None or gang.started or not gang.bound:
            raise BrokenRuleError("release", f"{decision.unit} is released but is not a half-bound gang")
        if not decision.pods:
            raise BrokenRuleError("release", f"nothing of {decision.unit} is released")
        if gang.deadline is not None and gang.deadline > now:
            raise BrokenRuleError("release", f"{decision.unit} is released {gang.deadline - now:g} s early")
        for ref in decision.pods:
            pod = self._world.pods.get(ref.uid)
            placed = pod is not None and bool(self._reading.node_of(pod) or ref.uid in self._binds.doubtful)
            if pod is None or not placed or unit_of(pod) != decision.unit:
                raise BrokenRuleError("no pod lost", f"{ref.pod} is released but has no node")

    def _check_pod_condition(self, decision: PodCondition) -> None:
        told = _POD_TEXT.fullmatch(decision.message)
        if told is None or decision.reason != "Unschedulable":
            raise BrokenRuleError("text", f"not upstream's text: {decision.reason}: {decision.message}")
        if told["nodes"] is not None and int(told["nodes"]) != len(self._world.nodes):
            raise BrokenRuleError("text", f"there are {len(self._world.nodes)} nodes: {decision.message}")
        for ref in decision.pods:
            pod = self._world.pods.get(ref.uid)
            if pod is None or pod.spec.node_name or ref.uid in self._world.in_flight:
                raise BrokenRuleError("text", f"{ref.pod} does not wait: {decision.message}")
            now = condition(pod.status.conditions, "PodScheduled")
            if now is not None and (now.reason, now.message) == (decision.reason, decision.message):
                raise BrokenRuleError("noise", f"{ref.pod} says so already: {decision.message}")

    def _check_gang_condition(self, decision: GangCondition, gangs: Gangs) -> None:
        gang = gangs.get(decision.gang)
        if gang is None or gang.group is None:
            raise BrokenRuleError("gang condition", f"{decision.gang} is not declared")
        reached = gang.group.metadata.uid in self._started or gang.bound >= gang.minimum
        if decision.holds and not reached:
            raise BrokenRuleError("gang condition", f"{gang.key} is said to have started with {gang.bound} bound")
        said = gang.said
        if gang.says_started and not decision.holds:
            raise BrokenRuleError("gang condition", f"{gang.key} goes back to not started")
        if said is not None and (said.reason, said.message) == (decision.reason, decision.message):
            raise BrokenRuleError("noise", f"{gang.key} says so already: {decision.message}")

    # --- the world ---

    def _check_room(self, places: Places, left: Places) -> None:
        for name, place in places.items():
            short = {resource: amount for resource, amount in place.room.items() if amount < 0}
            if min(left[name].room.values()) >= 0:
                self._excused.discard(name)
            elif short and name not in self._excused:
                raise BrokenRuleError("over-commit", f"{name} lacks {short}")
            if _collisions(place.ports):
                raise BrokenRuleError("ports", f"{name} has a host port twice: {sorted(place.ports)}")

    def _check_half_bound(self, gang: Gang) -> None:
        if gang.group is not None and gang.started:
            self._started.add(gang.group.metadata.uid)
        if gang.group is None or not gang.partial or gang.group.metadata.uid in self._started:
            return
        late = 0.0 if gang.deadline is None else self._world.now - gang.deadline
        if late > _STAMP_SECONDS:
            raise BrokenRuleError(
                "half bound", f"{gang.key} has {gang.bound} of {gang.minimum} bound, {late:g} s too long"
            )

    def _check_waits(self, unit: Waiting, places: Places) -> None:
        if not self._reading.exact(unit):
            self._look_at_mixed(unit, places)
            return
        self.seen["units that waited, looked at"] += 1
        if self._reading.fits(unit, places):
            raise BrokenRuleError("nobody waits who fits", f"{unit.key} waits, and {unit.need} of it fit")

    def _look_at_mixed(self, unit: Waiting, places: Places) -> None:
        """Breaks no rule: the fast path does not promise to find a place for every mix, so misses are counted."""
        self.seen["mixed gangs that waited"] += unit.key not in self._mixed
        self._mixed.add(unit.key)
        if unit.key not in self._missed and self._reading.fits(unit, places):
            self.seen["mixed gangs that waited although they fit"] += 1
            self._missed.add(unit.key)

    def _check_told(self, unit: Waiting) -> None:
        for pod in unit.pods:
            if condition(pod.status.conditions, "PodScheduled") is None:
                raise BrokenRuleError("told", f"{key_of(pod)} waits and nobody says why")
        if unit.gang is not None and unit.gang.said is None:
            raise BrokenRuleError("told", f"{unit.key} waits and its group does not say why")

    def _check_says(self, gang: Gang) -> None:
        if gang.bound >= gang.minimum and not gang.says_started:
            raise BrokenRuleError("gang condition", f"{gang.key} has its minimum bound but does not say so")
        held = not gang.started and not gang.basic and (gang.present < gang.minimum or gang.gated)
        if held and gang.said is None:
            raise BrokenRuleError("told", f"{gang.key} is held and does not say why")


def _collisions(ports: list[Port]) -> bool:
    return any(collide(one, other) for i, one in enumerate(ports) for other in ports[:i])
