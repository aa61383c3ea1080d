"""What must hold in every world, recomputed from the objects: never from what the engine keeps.

`told` hears every change, `before` sees every batch of decisions before it is carried out, `after` looks
at the world whenever the engine has nothing more to say, `at_rest` when nothing will change any more.
A broken rule raises BrokenRuleError.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from muster.api.times import seconds
from muster.api.wire import Condition, Node, Pod, PodGroup, condition
from muster.engine.changes import BindFailed, Change, Failure, NodeSeen, PodGone, PodSeen
from muster.engine.decisions import Bind, Decision, Event, GangCondition, Placement, PodCondition, Release
from muster.gangs.dialects.v1beta1 import INITIALLY_SCHEDULED, TIMEOUT_ANNOTATION
from muster.gangs.model import DEFAULT_TIMEOUT_SECONDS
from muster.sim.plain import (
    Needs,
    Place,
    Port,
    Room,
    admits,
    collide,
    fits,
    most_placed,
    needs_of,
    room_of,
    take,
)
from muster.sim.world import World

_ENDED = ("Succeeded", "Failed")
_OURS = "muster"

# stamps are whole seconds, so what the objects say of a time may be so much too early
_STAMP_SECONDS = 1.0
# transient failures after which another node may be tried
_PATIENCE = 10
# and the longest wait before one of them is tried again
_RETRY_SECONDS = 6.0

_POD_TEXT = re.compile(
    r"0/(?P<nodes>\d+) nodes are available: \d+ .+\.|no nodes available to schedule pods"
    r"|pod group is unschedulable, .+"
)


class BrokenRuleError(AssertionError):
    """A rule that does not hold."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(f"{rule}: {message}")
        self.rule = rule


class Gang:
    """One gang by what the objects say.  Members that are being deleted or failed count nowhere."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.group: PodGroup | None = None
        self.candidates: list[Pod] = []
        """Pending, ours, not on their way."""
        self.gated = 0
        self.present = 0
        self.binding = 0
        self.running = 0
        self.succeeded = 0
        self.bound_times: list[float] = []

    @property
    def minimum(self) -> int:
        assert self.group is not None
        gang = self.group.spec.scheduling_policy.gang
        return gang.min_count if gang else 1

    @property
    def basic(self) -> bool:
        return self.group is not None and self.group.spec.scheduling_policy.gang is None

    @property
    def bound(self) -> int:
        return self.running + self.succeeded

    @property
    def said(self) -> Condition | None:
        return None if self.group is None else condition(self.group.status.conditions, INITIALLY_SCHEDULED)

    @property
    def says_started(self) -> bool:
        return self.said is not None and self.said.status == "True"

    @property
    def started(self) -> bool:
        return self.group is not None and (self.says_started or self.bound >= self.minimum)

    @property
    def partial(self) -> bool:
        """Holds room below its minimum; members that succeeded count for the minimum but hold none."""
        return self.group is not None and self.running > 0 and not self.started

    @property
    def deadline(self) -> float | None:
        """When a partial gang's time is over, as the objects say; None if they do not."""
        assert self.group is not None
        text = self.group.metadata.annotations.get(TIMEOUT_ANNOTATION)
        timeout = float(text) if text else DEFAULT_TIMEOUT_SECONDS
        return min(self.bound_times) + timeout if self.bound_times else None

    @property
    def ready(self) -> bool:
        """May be decided: declared, complete, ungated, and something is left to place."""
        if self.group is None or len(self.candidates) == self.gated:
            return False
        return self.started or (not self.gated and (self.basic or self.present >= self.minimum))


class Waiting(NamedTuple):
    """A unit that may be decided now."""

    key: str
    order: tuple[int, int, float, str]
    need: int
    pods: list[Pod]
    gang: Gang | None


class Invariants:
    """Watches one world."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.seen: Counter[str] = Counter()
        """What was looked at, and what the fast path missed."""
        self._needs: dict[str, tuple[object, object, Needs]] = {}
        self._facts: dict[str, tuple[Node, Room, dict[bytes, bool]]] = {}
        self._held: dict[str, Placement] = {}
        """Binds that failed for the moment, by pod: their room is kept, they are to be tried again."""
        self._hopeless: dict[str, tuple[Placement, float]] = {}
        """Such binds that make no sense any more, and since when: their room may be kept or given back."""
        self._failures: Counter[str] = Counter()
        self._trouble: set[str] = set()
        """Units that may be in backoff: binds of theirs were refused for good, or they were released."""
        self._was_mixed: set[str] = set()
        self._started: set[str] = set()
        """UIDs of groups that had their minimum bound once."""
        self._excused: set[str] = set()
        """Nodes that shrank below what is on them."""

    # --- hearing and seeing ---

    def told(self, change: Change) -> None:
        if isinstance(change, BindFailed):
            self._bind_failed(change)
        elif isinstance(change, PodGone):
            self._settled(change.uid)
        elif isinstance(change, PodSeen) and change.pod.spec.node_name:
            self._settled(change.pod.metadata.uid)
        elif isinstance(change, NodeSeen):
            name = change.node.metadata.name
            place = self.places().get(name)
            if place is not None and min(place.room.values()) < 0:
                self._excused.add(name)

    def _bind_failed(self, change: BindFailed) -> None:
        pod = self._world.pods.get(change.uid)
        self._settled(change.uid)
        self._failures[change.uid] += 1
        if pod is None or pod.spec.node_name:
            return
        if change.failure is Failure.TRANSIENT and self._failures[change.uid] <= _PATIENCE:
            self._held[change.uid] = Placement(change.uid, _key(pod), change.node)
        else:
            self._trouble.add(_unit(pod))

    def _settled(self, uid: str) -> None:
        self._held.pop(uid, None)
        self._hopeless.pop(uid, None)

    def _give_up(self, gangs: dict[str, Gang]) -> None:
        """Finds out which binds need not be tried again: their node went, or their gang would not be whole."""
        now = self._world.now
        hopeless = [uid for uid, placement in self._held.items() if not self._makes_sense(placement, gangs)]
        for uid in hopeless:
            self._hopeless[uid] = (self._held.pop(uid), now)
            self._trouble.add(_unit(self._world.pods[uid]))
        for uid, (_, since) in list(self._hopeless.items()):
            if now - since > _RETRY_SECONDS:
                del self._hopeless[uid]

    def _makes_sense(self, placement: Placement, gangs: dict[str, Gang]) -> bool:
        pod = self._world.pods[placement.uid]
        if placement.node not in self._world.nodes or pod.metadata.deletion_timestamp is not None:
            return False
        if pod.spec.scheduling_group is None:
            return True
        gang = gangs[_unit(pod)]
        if gang.group is None or gang.started:
            return gang.group is not None
        return gang.bound + gang.binding >= gang.minimum

    def restarted(self) -> None:
        self._held.clear()
        self._hopeless.clear()
        self._trouble.clear()
        self._failures.clear()

    @property
    def troubled(self) -> bool:
        """Whether some bind is to be tried again, or some unit may be in backoff or half bound."""
        gangs = self._gangs()
        return (
            bool(self._held or self._hopeless or self._failures)
            or any(gang.partial for gang in gangs.values())
            or any(self._may_back_off(unit) for unit in self._waiting(gangs))
        )

    def waits(self, pod: Pod) -> bool:
        """Ours, pending, and no bind of it is open."""
        ours = pod.spec.scheduler_name == _OURS and pod.metadata.deletion_timestamp is None
        return ours and pod.status.phase not in _ENDED and not self._node_of(pod)

    def before(self, decisions: list[Decision]) -> None:
        """Looks at a batch of decisions before any of them is carried out."""
        if all(isinstance(decision, Event) for decision in decisions):
            return
        gangs = self._gangs()
        self._give_up(gangs)
        places, left = self.places(), self.places_left()
        waiting: list[Waiting] | None = None
        for decision in decisions:
            if isinstance(decision, Bind):
                if waiting is None:
                    waiting = sorted(self._waiting(gangs), key=lambda unit: unit.order)
                if any(placement.uid not in self._held for placement in decision.pods):
                    self._check_order(decision.unit, left, waiting)
                self._check_bind(decision, places, gangs)
                for placement in decision.pods:
                    if not self._tried_there(placement):
                        take(self._needs_of(self._world.pods[placement.uid]), left[placement.node])
                waiting = [unit for unit in waiting if unit.key != decision.unit]
            elif isinstance(decision, Release):
                self._check_release(decision, gangs)
            elif isinstance(decision, PodCondition):
                self._check_pod_condition(decision)
            elif isinstance(decision, GangCondition):
                self._check_gang_condition(decision, gangs)

    def after(self) -> None:
        """Looks at the world when the engine has nothing more to say."""
        gangs = self._gangs()
        self._give_up(gangs)
        places = self.places()
        self._check_room(places)
        self._take_doubtful(places)
        for gang in gangs.values():
            self._check_partial(gang)
        for unit in self._waiting(gangs):
            if unit.gang is not None and len(self._wanted(unit)) > 1:
                self._was_mixed.add(unit.key)
            elif not self._may_back_off(unit):
                self._check_waits(unit, places)

    def at_rest(self) -> None:
        """Looks at the world when nothing will change any more: nobody waits who fits, everybody knows why."""
        if self._world.in_flight or self._held:
            raise BrokenRuleError("rest", f"binds are still open: {[*self._world.in_flight, *self._held]}")
        places, gangs = self.places(), self._gangs()
        for unit in self._waiting(gangs):
            self._check_waits(unit, places)
            for pod in unit.pods:
                if condition(pod.status.conditions, "PodScheduled") is None:
                    raise BrokenRuleError("told", f"{_key(pod)} waits and nobody says why")
            if unit.gang is not None and unit.gang.said is None:
                raise BrokenRuleError("told", f"{unit.key} waits and its group does not say why")
        for gang in gangs.values():
            if gang.group is None:
                continue
            if gang.bound >= gang.minimum and not gang.says_started:
                raise BrokenRuleError("gang condition", f"{gang.key} has its minimum bound but does not say so")
            held = not gang.started and not gang.basic and (gang.present < gang.minimum or gang.gated)
            if held and gang.said is None:
                raise BrokenRuleError("told", f"{gang.key} is held and does not say why")

    # --- decisions ---

    def _check_bind(self, decision: Bind, places: dict[str, Place], gangs: dict[str, Gang]) -> None:
        uids = [placement.uid for placement in decision.pods]
        if not uids or len(uids) != len(set(uids)):
            raise BrokenRuleError("bound once", f"one decision names a pod twice, or none: {decision}")
        pods = [self._check_candidate(placement, decision.unit) for placement in decision.pods]
        again = all(self._tried_there(placement) for placement in decision.pods)
        fresh = [uid for uid in uids if uid not in self._held]
        for placement, pod in zip(decision.pods, pods, strict=True):
            self._check_place(placement, pod, places)
        if decision.unit in gangs and _unit(pods[0]) == decision.unit and pods[0].spec.scheduling_group:
            kept = [uid for uid in self._hopeless if uid not in uids and self._is_of(uid, decision.unit)]
            gang = gangs[decision.unit]
            if gang.gated and not gang.started and not again:
                raise BrokenRuleError("gates", f"{gang.key} is bound, and {gang.gated} members have gates")
            if not (again and gang.group is not None and gang.running):
                self._check_whole(gang, len(fresh) + len(kept), decision)

    def _tried_there(self, placement: Placement) -> bool:
        """Whether the same bind failed for the moment before."""
        held, (hopeless, _) = self._held.get(placement.uid), self._hopeless.get(placement.uid, (None, 0.0))
        before = held or hopeless
        return before is not None and before.node == placement.node

    def _is_of(self, uid: str, unit: str) -> bool:
        return _unit(self._world.pods[uid]) == unit

    def _check_candidate(self, placement: Placement, unit: str) -> Pod:
        pod = self._world.pods.get(placement.uid)
        if pod is None or _key(pod) != placement.pod:
            raise BrokenRuleError("bound once", f"{placement.pod} is bound but does not exist")
        if pod.spec.node_name or placement.uid in self._world.in_flight:
            raise BrokenRuleError("bound once", f"{placement.pod} is bound again, to {placement.node}")
        if pod.spec.scheduler_name != _OURS or pod.status.phase in _ENDED or _unit(pod) != unit:
            raise BrokenRuleError("bound once", f"{placement.pod} is not for {unit} to bind")
        if pod.spec.scheduling_gates:
            raise BrokenRuleError("gates", f"{placement.pod} is bound with gates")
        if pod.metadata.deletion_timestamp is not None:
            raise BrokenRuleError("leaving", f"{placement.pod} is bound while it is being deleted")
        return pod

    def _check_place(self, placement: Placement, pod: Pod, places: dict[str, Place]) -> None:
        node = self._world.nodes.get(placement.node)
        if node is None:
            raise BrokenRuleError("no pod lost", f"{placement.pod} is bound to {placement.node}, which is not there")
        held = self._held.get(placement.uid)
        if held is not None:
            if held.node != placement.node:
                raise BrokenRuleError(
                    "bound once",
                    f"{placement.pod} may be on {held.node} already, and goes to {placement.node}",
                )
            return  # its room is counted, and its node's facts may have changed since
        if not admits(node, pod) and not self._tried_there(placement):
            raise BrokenRuleError("node rules", f"{placement.node} does not admit {placement.pod}")
        needs, place = self._needs_of(pod), places[placement.node]
        if any(collide(port, taken) for port in needs.ports for taken in place.ports):
            raise BrokenRuleError("ports", f"{placement.pod} wants a port that is taken on {placement.node}")
        if not fits(needs, place):
            raise BrokenRuleError("over-commit", f"{placement.pod} does not fit on {placement.node}: {place.room}")
        take(needs, place)

    def _check_whole(self, gang: Gang, fresh: int, decision: Bind) -> None:
        if gang.group is None:
            raise BrokenRuleError("gang whole", f"{gang.key} is bound but not declared")
        if gang.started or gang.group.metadata.uid in self._started:
            return
        have = gang.bound + gang.binding + fresh
        if have < gang.minimum:
            raise BrokenRuleError("gang whole", f"{gang.key} is bound with {have} of {gang.minimum}: {decision.pods}")

    def _check_order(self, key: str, places: dict[str, Place], waiting: list[Waiting]) -> None:
        """Nobody goes first while a better one that may be decided fits."""
        mine = next((unit for unit in waiting if unit.key == key), None)
        if mine is None:
            return  # the rest of a gang that was bound in this batch
        if mine.gang is not None and mine.gang.bound and not mine.gang.started:
            return  # half-bound gangs go first
        for unit in waiting:
            if unit.order >= mine.order:
                return
            if not self._may_back_off(unit) and self._exact(unit) and self._fits(unit, places):
                raise BrokenRuleError("order", f"{key} {mine.order} goes before {unit.key} {unit.order}, which fits")

    def _check_release(self, decision: Release, gangs: dict[str, Gang]) -> None:
        gang = gangs.get(decision.unit)
        self._trouble.add(decision.unit)
        if gang is None or gang.group is None or gang.started or not gang.bound:
            raise BrokenRuleError("release", f"{decision.unit} is released but is not a half-bound gang")
        if not decision.pods:
            raise BrokenRuleError("release", f"nothing of {decision.unit} is released")
        if gang.deadline is not None and gang.deadline > self._world.now:
            raise BrokenRuleError("release", f"{decision.unit} is released {gang.deadline - self._world.now:g} s early")
        for ref in decision.pods:
            pod = self._world.pods.get(ref.uid)
            on_its_way = any(ref.uid in open_ for open_ in (self._world.in_flight, self._held, self._hopeless))
            if pod is None or _unit(pod) != decision.unit or not (pod.spec.node_name or on_its_way):
                raise BrokenRuleError("no pod lost", f"{ref.pod} is released but has no node")

    def _check_pod_condition(self, decision: PodCondition) -> None:
        told = _POD_TEXT.fullmatch(decision.message)
        if told is None or decision.reason != "Unschedulable":
            raise BrokenRuleError("text", f"not upstream's text: {decision.reason}: {decision.message}")
        nodes = told["nodes"]
        if nodes is not None and int(nodes) != len(self._world.nodes):
            raise BrokenRuleError("text", f"there are {len(self._world.nodes)} nodes: {decision.message}")
        for ref in decision.pods:
            pod = self._world.pods.get(ref.uid)
            if pod is None or pod.spec.node_name or ref.uid in self._world.in_flight:
                raise BrokenRuleError("text", f"{ref.pod} does not wait: {decision.message}")
            now = condition(pod.status.conditions, "PodScheduled")
            if now is not None and (now.reason, now.message) == (decision.reason, decision.message):
                raise BrokenRuleError("noise", f"{ref.pod} says so already: {decision.message}")

    def _check_gang_condition(self, decision: GangCondition, gangs: dict[str, Gang]) -> None:
        gang = gangs.get(decision.gang)
        if gang is None or gang.group is None:
            raise BrokenRuleError("gang condition", f"{decision.gang} is not declared")
        reached = gang.group.metadata.uid in self._started or gang.bound >= gang.minimum
        if decision.started and not reached:
            raise BrokenRuleError("gang condition", f"{gang.key} is said to have started with {gang.bound} bound")
        if gang.says_started and not decision.started:
            raise BrokenRuleError("gang condition", f"{gang.key} goes back to not started")
        said = gang.said
        if said is not None and (said.reason, said.message) == (decision.reason, decision.message):
            raise BrokenRuleError("noise", f"{gang.key} says so already: {decision.message}")

    # --- the world ---

    def _check_room(self, places: dict[str, Place]) -> None:
        for name, place in places.items():
            short = {resource: left for resource, left in place.room.items() if left < 0}
            if not short:
                self._excused.discard(name)
            elif name not in self._excused:
                raise BrokenRuleError("over-commit", f"{name} lacks {short}")
            if _collisions(place.ports):
                raise BrokenRuleError("ports", f"{name} has a host port twice: {sorted(place.ports)}")

    def _check_partial(self, gang: Gang) -> None:
        if gang.group is None:
            return
        if gang.started:
            self._started.add(gang.group.metadata.uid)
        if not gang.partial or not gang.running or gang.group.metadata.uid in self._started:
            return
        deadline = gang.deadline
        if deadline is not None and self._world.now > deadline + _STAMP_SECONDS:
            raise BrokenRuleError(
                "half bound",
                f"{gang.key} has {gang.bound} of {gang.minimum} bound, {self._world.now - deadline:g} s too long",
            )

    def _check_waits(self, unit: Waiting, places: dict[str, Place]) -> None:
        exact = self._exact(unit)
        self.seen["units that waited, looked at" if exact else "mixed gangs that waited, looked at"] += 1
        if not self._fits(unit, places):
            return
        if exact:
            raise BrokenRuleError("nobody waits who fits", f"{unit.key} waits, and {unit.need} of it fit")
        self.seen["mixed gangs that waited and fit"] += 1

    # --- what is there ---

    def places(self) -> dict[str, Place]:
        """The room on every node, without what is bound, on its way, or to be tried again."""
        world = self._world
        places = {name: Place(dict(self._room_of(node)), []) for name, node in world.nodes.items()}
        for pod in world.pods.values():
            place = places.get(self._node_of(pod))
            if place is not None and pod.status.phase not in _ENDED:
                take(self._needs_of(pod), place)
        return places

    def places_left(self) -> dict[str, Place]:
        """The same, without what the engine may or may not keep for a bind that makes no sense any more."""
        places = self.places()
        self._take_doubtful(places)
        return places

    def _take_doubtful(self, places: dict[str, Place]) -> None:
        for placement, _ in self._hopeless.values():
            if placement.node in places:
                take(self._needs_of(self._world.pods[placement.uid]), places[placement.node])

    def _node_of(self, pod: Pod) -> str:
        if pod.spec.node_name:
            return pod.spec.node_name
        uid = pod.metadata.uid
        placement = self._world.in_flight.get(uid) or self._held.get(uid)
        return placement.node if placement else ""

    def _gangs(self) -> dict[str, Gang]:
        gangs: dict[str, Gang] = {}
        for key, group in self._world.groups.items():
            gang = gangs[key] = Gang(key)
            gang.group = group
        for pod in self._world.pods.values():
            if pod.spec.scheduling_group is not None:
                key = _unit(pod)
                self._count(pod, gangs.get(key) or gangs.setdefault(key, Gang(key)))
        return gangs

    def _count(self, pod: Pod, gang: Gang) -> None:
        phase = pod.status.phase
        if phase == "Failed" or pod.metadata.deletion_timestamp is not None:
            return
        gang.present += 1
        if phase == "Succeeded" or pod.spec.node_name:
            gang.succeeded += phase == "Succeeded"
            gang.running += phase != "Succeeded"
            scheduled = condition(pod.status.conditions, "PodScheduled")
            known = scheduled is not None and scheduled.status == "True" and phase != "Succeeded"
            if known and scheduled and scheduled.last_transition_time:
                gang.bound_times.append(seconds(scheduled.last_transition_time))
        elif self._node_of(pod):
            gang.binding += 1
        elif pod.spec.scheduler_name == _OURS:
            gang.candidates.append(pod)
            gang.gated += bool(pod.spec.scheduling_gates)

    def _waiting(self, gangs: dict[str, Gang]) -> Iterator[Waiting]:
        """Every unit that may be decided now."""
        for pod in self._world.pods.values():
            lone = pod.spec.scheduling_group is None
            if lone and not pod.spec.scheduling_gates and self.waits(pod):
                created = seconds(pod.metadata.creation_timestamp)
                order = (1, -(pod.spec.priority or 0), created, pod.metadata.uid)
                yield Waiting(_key(pod), order, 1, [pod], None)
        for gang in gangs.values():
            if gang.ready:
                assert gang.group is not None
                meta, spec = gang.group.metadata, gang.group.spec
                order = (
                    0 if gang.partial else 1,
                    -(spec.priority or 0),
                    seconds(meta.creation_timestamp),
                    meta.uid,
                )
                need = 1 if gang.says_started else max(1, gang.minimum - gang.bound - gang.binding)
                pods = [pod for pod in gang.candidates if not pod.spec.scheduling_gates]
                yield Waiting(gang.key, order, need, pods, gang)

    def _may_back_off(self, unit: Waiting) -> bool:
        return unit.key in self._was_mixed or unit.key in self._trouble

    def _wanted(self, unit: Waiting) -> dict[Needs, int]:
        return Counter(self._needs_of(pod) for pod in unit.pods)

    def _exact(self, unit: Waiting) -> bool:
        """Whether trying class by class is a proof."""
        return unit.need == 1 or len(self._wanted(unit)) == 1

    def _fits(self, unit: Waiting, places: dict[str, Place]) -> bool:
        one_of = {self._needs_of(pod): pod for pod in unit.pods}
        offered = [
            (place, [needs for needs, pod in one_of.items() if self._admits(name, needs, pod)])
            for name, place in places.items()
        ]
        if unit.need == 1:
            return any(fits(needs, place) for place, admitted in offered for needs in admitted)
        most = most_placed(self._wanted(unit), offered)
        return most is not None and most >= unit.need

    # --- what stays the same, kept ---

    def _needs_of(self, pod: Pod) -> Needs:
        """Changes of a pod keep the parts of its spec that did not change, so identity tells."""
        spec = pod.spec
        known = self._needs.get(pod.metadata.uid)
        if known is None or known[0] is not spec.containers or known[1] is not spec.node_selector:
            known = self._needs[pod.metadata.uid] = (spec.containers, spec.node_selector, needs_of(pod))
        return known[2]

    def _room_of(self, node: Node) -> Room:
        return self._facts_of(node)[1]

    def _admits(self, name: str, needs: Needs, pod: Pod) -> bool:
        node, _, answers = self._facts_of(self._world.nodes[name])
        found = answers.get(needs.rules)
        if found is None:
            found = answers[needs.rules] = admits(node, pod)
        return found

    def _facts_of(self, node: Node) -> tuple[Node, Room, dict[bytes, bool]]:
        found = self._facts.get(node.metadata.name)
        if found is None or found[0] is not node:
            found = self._facts[node.metadata.name] = (node, room_of(node), {})
        return found


def _collisions(ports: Iterable[Port]) -> bool:
    listed = list(ports)
    return any(collide(one, other) for i, one in enumerate(listed) for other in listed[:i])


def _key(pod: Pod) -> str:
    return f"{pod.metadata.namespace}/{pod.metadata.name}"


def _unit(pod: Pod) -> str:
    """The key by which decisions name the pod's unit."""
    group = pod.spec.scheduling_group
    return f"{pod.metadata.namespace}/{group.pod_group_name}" if group else _key(pod)
