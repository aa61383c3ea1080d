"""A world as its objects tell it: gangs, the units that may be decided, the room on every node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping
from typing import NamedTuple

from muster.api.times import seconds
from muster.api.wire import Condition, Node, Pod, PodGroup, condition
from muster.engine.decisions import Placement
from muster.gangs.dialects.v1beta1 import (
    BELOW_MINIMUM,
    BELOW_MINIMUM_ANNOTATION,
    GRACE_ANNOTATION,
    INITIALLY_SCHEDULED,
    ON_PARTIAL_ANNOTATION,
    TIMEOUT_ANNOTATION,
)
from muster.gangs.model import DEFAULT_GRACE_SECONDS, DEFAULT_TIMEOUT_SECONDS
from muster.sim.oracle import most_placed
from muster.sim.plain import ENDED, Needs, Place, Room, admits, fits, key_of, needs_of, room_of, take, unit_of
from muster.sim.world import World

OURS = "muster"

MEMBERS_LOST = "MembersLost"
"""What a gang says that is below its minimum and may run on; with any other reason it must start whole again."""

Order = tuple[int, int, float, str]

# right of return: what was lost of a gang that runs goes ahead of everything of its priority
_LONG_AGO = 4e9


class Gang:
    """One gang by what the objects say.

    Members count nowhere that are being deleted, failed, on a node that is not there, or wait for another scheduler.
    """

    def __init__(self, key: str) -> None:
        self.key = key
        self.group: PodGroup | None = None
        self.fell = False
        """It was seen with nothing left of it after its start, and not whole since."""
        self.members: list[Pod] = []
        """All pods that name it."""
        self.foreign = False
        """All of them name other schedulers: it is theirs to start, to undo and to speak of."""
        self.candidates: list[Pod] = []
        """Pending, ours, not on their way."""
        self.gated = 0
        self.present = 0
        self.binding = 0
        self.doubtful = 0
        """Candidates whose bind may still be open, as far as the engine is concerned."""
        self.running = 0
        self.succeeded = 0
        self.bound_times: list[float] = []
        self.priorities: list[int] = []

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
    def below(self) -> Condition | None:
        """What it says of being below its minimum."""
        return None if self.group is None else condition(self.group.status.conditions, BELOW_MINIMUM)

    @property
    def says_below(self) -> bool:
        return self.below is not None and self.below.status == "True"

    @property
    def below_minimum(self) -> bool:
        """It has started, and fewer than its minimum are bound now."""
        return self.group is not None and not self.basic and self.says_started and self.bound < self.minimum

    @property
    def fallen(self) -> bool:
        """It had started, and must start whole again."""
        if not self.below_minimum:
            return False
        told = self.says_below and self.below is not None and self.below.reason != MEMBERS_LOST
        return told or self.fell or self.nothing_left

    @property
    def nothing_left(self) -> bool:
        return bool(self.candidates) and not (self.running or self.binding or self.doubtful)

    @property
    def has_started(self) -> bool:
        """What it lacks may come piece by piece."""
        return self.says_started and not self.fallen

    @property
    def started(self) -> bool:
        return self.group is not None and (self.has_started or self.bound >= self.minimum)

    @property
    def priority(self) -> int:
        if self.group is not None and self.group.spec.priority is not None:
            return self.group.spec.priority
        return min(self.priorities, default=0)

    @property
    def shared(self) -> bool:
        """Members name several schedulers, who all speak of it."""
        return len({pod.spec.scheduler_name for pod in self.members}) > 1

    @property
    def goes_whole(self) -> bool:
        """Who evicts one member must evict all: it says so, or has not started."""
        mode = None if self.group is None else self.group.spec.disruption_mode
        return self.group is not None and (bool(mode and mode.all) or not self.started)

    @property
    def holds_partial(self) -> bool:
        return self.group is not None and self.group.metadata.annotations.get(ON_PARTIAL_ANNOTATION) == "hold"

    @property
    def grace_seconds(self) -> float | None:
        """How long it may be below its minimum before it is taken down; None for ever."""
        annotations = {} if self.group is None else self.group.metadata.annotations
        if annotations.get(BELOW_MINIMUM_ANNOTATION) != "restart":
            return None
        return float(annotations.get(GRACE_ANNOTATION) or DEFAULT_GRACE_SECONDS)

    @property
    def order(self) -> Order:
        assert self.group is not None
        meta = self.group.metadata
        created = seconds(meta.creation_timestamp) - (_LONG_AGO if self.below_minimum else 0)
        return (0 if self.partial else 1, -self.priority, created, meta.uid)

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
    order: Order
    priority: int
    need: int
    pods: list[Pod]
    gang: Gang | None


class Reading:
    """Reads one world as one of its schedulers must see it; what does not change is kept between readings.

    `held` are binds that are not in flight but will be tried again: their pods count as being bound.  `doubtful` ones
    perhaps will.  `fallen` are UIDs of groups of which nothing was left after their start.  `condemned` are pods
    that are to be evicted, and whose deletions have not gone out: they count as leaving.
    """

    def __init__(
        self,
        world: World,
        *,
        scheduler: str,
        held: Mapping[str, Placement],
        doubtful: Mapping[str, Placement],
        fallen: Container[str],
        condemned: Container[str] = (),
    ) -> None:
        self._world = world
        self._condemned = condemned
        self.scheduler = scheduler
        self._held = held
        self._doubtful = doubtful
        self._fallen = fallen
        self._needs: dict[str, tuple[object, object, Needs]] = {}
        self._facts: dict[str, tuple[Node, Room, dict[bytes, bool]]] = {}

    def empty(self) -> dict[str, Place]:
        """Every node with nothing on it."""
        return {name: Place(dict(self._room_of(node)), []) for name, node in self._world.nodes.items()}

    def places(self) -> dict[str, Place]:
        """The room on every node, without what is bound, on its way, or to be tried again."""
        places = self.empty()
        for pod in self._world.pods.values():
            place = places.get(self.node_of(pod))
            if place is not None and pod.status.phase not in ENDED:
                take(self.needs_of(pod), place)
        return places

    def waits(self, pod: Pod) -> bool:
        """Ours, pending, and no bind of it is open."""
        ours = pod.spec.scheduler_name == self.scheduler and not self.leaves(pod)
        return ours and pod.status.phase not in ENDED and not self.node_of(pod)

    def leaves(self, pod: Pod) -> bool:
        """On its way out, or about to be."""
        return pod.metadata.deletion_timestamp is not None or pod.metadata.uid in self._condemned

    def node_of(self, pod: Pod) -> str:
        """Where it is bound, or on its way to if we sent it."""
        if pod.spec.node_name or pod.spec.scheduler_name != self.scheduler:
            return pod.spec.node_name
        uid = pod.metadata.uid
        placement = self._world.in_flight.get(uid) or self._held.get(uid)
        return placement.node if placement else ""

    def gangs(self) -> dict[str, Gang]:
        gangs: dict[str, Gang] = {}
        for key, group in self._world.groups.items():
            gang = gangs[key] = Gang(key)
            gang.group = group
            gang.fell = group.metadata.uid in self._fallen
        for pod in self._world.pods.values():
            if pod.spec.scheduling_group is not None:
                key = unit_of(pod)
                self._count(pod, gangs.get(key) or gangs.setdefault(key, Gang(key)))
        for gang in gangs.values():
            names = {pod.spec.scheduler_name for pod in gang.members}
            gang.foreign = bool(names) and self.scheduler not in names
        return gangs

    def _count(self, pod: Pod, gang: Gang) -> None:
        phase, node = pod.status.phase, self.node_of(pod)
        gang.members.append(pod)
        foreign = pod.spec.scheduler_name != self.scheduler and not pod.spec.node_name
        if foreign or phase == "Failed" or self.leaves(pod):
            return
        if phase != "Succeeded" and node and node not in self._world.nodes:
            return
        gang.present += 1
        gang.priorities.append(pod.spec.priority or 0)
        if phase == "Succeeded" or pod.spec.node_name:
            gang.succeeded += phase == "Succeeded"
            gang.running += phase != "Succeeded"
            scheduled = condition(pod.status.conditions, "PodScheduled")
            known = scheduled is not None and scheduled.status == "True" and phase != "Succeeded"
            if known and scheduled and scheduled.last_transition_time:
                gang.bound_times.append(seconds(scheduled.last_transition_time))
        elif node:
            gang.binding += 1
        else:
            gang.candidates.append(pod)
            gang.gated += bool(pod.spec.scheduling_gates)
            gang.doubtful += pod.metadata.uid in self._doubtful

    def waiting(self, gangs: dict[str, Gang]) -> Iterator[Waiting]:
        """Every unit that may be decided now."""
        for pod in self._world.pods.values():
            lone = pod.spec.scheduling_group is None
            if lone and not pod.spec.scheduling_gates and self.waits(pod):
                created, priority = seconds(pod.metadata.creation_timestamp), pod.spec.priority or 0
                order = (1, -priority, created, pod.metadata.uid)
                yield Waiting(key_of(pod), order, priority, 1, [pod], None)
        for gang in gangs.values():
            if gang.ready:
                need = 1 if gang.has_started else max(1, gang.minimum - gang.bound - gang.binding)
                pods = [pod for pod in gang.candidates if not pod.spec.scheduling_gates]
                yield Waiting(gang.key, gang.order, gang.priority, need, pods, gang)

    def wanted(self, unit: Waiting) -> dict[Needs, int]:
        return Counter(self.needs_of(pod) for pod in unit.pods)

    def exact(self, unit: Waiting) -> bool:
        """Whether trying class by class is a proof."""
        return unit.need == 1 or len(self.wanted(unit)) == 1

    def fits(self, unit: Waiting, places: dict[str, Place], *, need: int | None = None) -> bool:
        """Whether what the unit needs, or so many of its members, surely go on the places together."""
        need = unit.need if need is None else need
        one_of = {self.needs_of(pod): pod for pod in unit.pods}
        offered = [
            (place, [needs for needs, pod in one_of.items() if self.admits(name, needs, pod)])
            for name, place in places.items()
        ]
        if need == 1:
            return any(fits(needs, place) for place, admitted in offered for needs in admitted)
        most = most_placed(self.wanted(unit), offered)
        return most is not None and most >= need

    def usable(self, unit: Waiting, places: dict[str, Place]) -> set[str]:
        """Nodes where at least one of the unit's members goes."""
        kinds = {self.needs_of(pod): pod for pod in unit.pods}.items()
        return {
            name
            for name, place in places.items()
            if any(fits(needs, place) and self.admits(name, needs, pod) for needs, pod in kinds)
        }

    # --- what stays the same, kept ---

    def needs_of(self, pod: Pod) -> Needs:
        """Changes of a pod keep the parts of its spec that did not change, so identity tells."""
        spec = pod.spec
        known = self._needs.get(pod.metadata.uid)
        if known is None or known[0] is not spec.containers or known[1] is not spec.node_selector:
            known = self._needs[pod.metadata.uid] = (spec.containers, spec.node_selector, needs_of(pod))
        return known[2]

    def _room_of(self, node: Node) -> Room:
        return self._facts_of(node)[1]

    def admits(self, name: str, needs: Needs, pod: Pod) -> bool:
        """Whether the node's own facts let the pod, which has these needs, on."""
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
