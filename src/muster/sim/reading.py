"""A world as its objects tell it: gangs, the units that may be decided, the room on every node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

import msgspec

from muster.api.times import seconds
from muster.api.wire import Condition, Node, Pod, PodGroup, condition
from muster.engine.decisions import Placement
from muster.gangs.dialects import declare
from muster.gangs.dialects.v1beta1 import (
    BELOW_MINIMUM,
    BELOW_MINIMUM_ANNOTATION,
    DISRUPTION_TARGET,
    GRACE_ANNOTATION,
    INITIALLY_SCHEDULED,
    ON_PARTIAL_ANNOTATION,
    TIMEOUT_ANNOTATION,
)
from muster.gangs.model import DEFAULT_GRACE_SECONDS, DEFAULT_TIMEOUT_SECONDS
from muster.gangs.record import LONE, BoundFor, bound_for
from muster.sim.oracle import most_placed
from muster.sim.plain import (
    ENDED,
    Needs,
    Place,
    Room,
    admits,
    fits,
    group_asks_in_vain,
    held,
    key_of,
    needs_of,
    room_of,
    take,
    unit_of,
)
from muster.sim.rules.neighbours import Apart, is_tied, terms_apart
from muster.sim.world import World

OURS = "muster"

MEMBERS_LOST = "MembersLost"
"""What a gang says that is below its minimum and may run on; with any other reason it must start whole again."""
MEMBERS_REFUSED = "MembersRefused"
"""What a gang says that never ran whole, since kubelets refused members."""

Order = tuple[int, float, str]

# what is half bound goes ahead of everything of its priority, and after it, by right of return, what was lost of a gang
# that runs
_LONG_AGO = 4e9


class Gang:
    """One gang by what the objects say: filled once, and then the same, so that what follows from it is kept.

    Members count nowhere that are being deleted, failed, on a node that is not there, or wait for another scheduler.
    """

    def __init__(self, key: str, *, scheduler: str = OURS) -> None:
        self.key = key
        self.scheduler = scheduler
        self.group: PodGroup | None = None
        self.fell = self.spared = False
        """It was seen with nothing left of it after its start, and not whole since."""
        self.members: list[Pod] = []
        """All pods that name it."""
        self.foreign = False
        """All of them name other schedulers: it is theirs to start, to undo and to speak of."""
        self.candidates: list[Pod] = []
        """Pending, ours, not on their way."""
        self.gated = 0
        """Candidates with gates, and those that ask for something in vain."""
        self.living: list[Pod] = []
        """Those that count and have not ended."""
        self.binding = 0
        self.doubtful = 0
        """Candidates whose bind may still be open, as far as the engine is concerned."""
        self.running: list[Pod] = []
        self.done: list[Pod] = []
        """Those that succeeded, in whichever run."""
        self.in_flight: list[BoundFor] = []
        """What those on their way are being bound for."""
        self.began = False
        """Its group had its minimum bound for a moment at least."""
        self.priorities: list[int] = []

    @cached_property
    def minimum(self) -> int:
        assert self.group is not None
        gang = self.group.spec.scheduling_policy.gang
        return gang.min_count if gang else 1

    @cached_property
    def basic(self) -> bool:
        return self.group is not None and self.group.spec.scheduling_policy.gang is None

    def _record(self, pod: Pod) -> BoundFor | None:
        """What it was bound for, if this scheduler bound it."""
        return bound_for(pod) if pod.spec.scheduler_name == self.scheduler else None

    @cached_property
    def run(self) -> int:
        """The last run that anybody is left of."""
        records = [*map(self._record, (*self.running, *self.done)), *self.in_flight]
        return max((record.run for record in records if record is not None), default=0)

    @cached_property
    def succeeded(self) -> int:
        """Members that succeeded and count, since their run goes on."""
        last = self._last
        if self.running or self.binding or not (self.candidates or self.doubtful):
            return len(last)
        makers = {_maker(pod) for pod in self.candidates}
        made = [pod for pod in last if _maker(pod) and _maker(pod) in makers]
        bare = [pod for pod in last if not _maker(pod)]
        promised = max((record.minimum for pod in last if (record := self._record(pod)) is not None), default=0)
        whole = min(self.minimum, promised or self.minimum) if self.group is not None else 0
        goes_on = "" in makers and len(bare) < whole
        return len(made) + (len(bare) if goes_on else 0)

    @cached_property
    def _last(self) -> list[Pod]:
        """Those that succeeded in the last run."""
        return [pod for pod in self.done if (self._record(pod) or LONE).run == self.run]

    @cached_property
    def present(self) -> int:
        return len(self.candidates) + self.binding + self.bound

    @cached_property
    def bound(self) -> int:
        return len(self.running) + self.succeeded

    @cached_property
    def bound_at_most(self) -> int:
        """The same if binds are open that may be: then the run goes on in which others succeeded."""
        return len(self.running) + (len(self._last) if self.doubtful else self.succeeded)

    @cached_property
    def own(self) -> list[Pod]:
        """Those that run and were bound for the present object."""
        uid = "" if self.group is None else self.group.metadata.uid
        return [pod for pod in self.running if (record := self._record(pod)) is not None and record.uid == uid]

    @cached_property
    def bound_times(self) -> list[float]:
        """When those were bound."""
        return [at for pod in self.own if (at := _bound_at(pod)) is not None]

    @cached_property
    def has_unrecorded(self) -> bool:
        """Whether others bound some of those that run."""
        return any(self._record(pod) is None for pod in self.running)

    @cached_property
    def recorded(self) -> bool:
        """Whether enough were bound for the present object under some minimum."""
        if self.group is None:
            return False
        records = [self._record(pod) for pod in (*self.running, *self.done)]
        mine = [record.minimum for record in records if record and record.uid == self.group.metadata.uid]
        return any(sum(other <= minimum for other in mine) >= minimum for minimum in mine)

    @cached_property
    def floor(self) -> int:
        """So many it must have to be whole once it has started."""
        return min(self.minimum, max(self._promised, default=self.minimum))

    @cached_property
    def floor_before(self) -> int:
        """The same without what is promised to those who perhaps come together, as long as not all of them are there.

        Nobody but the scheduler knows who was there before them.
        """
        promised = self._promised
        return min(self.minimum, min(promised, default=self.minimum)) if self.grows else self.floor

    @cached_property
    def _promised(self) -> list[int]:
        told = self.minimum if self.says_started or self.says_below else self.bound
        records = [self._record(pod) for pod in self.running]
        return [told if record is None else record.minimum for record in records]

    @cached_property
    def grows(self) -> bool:
        """Perhaps some are on their way who come together for a raised minimum: it counts when all are there."""
        # those whom they joined may have succeeded since
        records = (self._record(pod) for pod in (*self.running, *self.done))
        minimums = {record.minimum for record in records if record is not None}
        # where those are gone whom they were to join, nobody is left to tell that it was raised
        return (len(minimums) > 1 or not self.running) and bool(self.binding or self.doubtful)

    @cached_property
    def said(self) -> Condition | None:
        return None if self.group is None else condition(self.group.status.conditions, INITIALLY_SCHEDULED)

    @cached_property
    def says_started(self) -> bool:
        return self.said is not None and self.said.status == "True"

    @cached_property
    def speaks(self) -> bool:
        """Its object has conditions; else nothing is said but on its pods."""
        return self.group is not None and declare(self.group).has_status

    @cached_property
    def once_started(self) -> bool:
        """The object says so, or the minimum was bound while it was there."""
        if self.group is None:
            return False
        return self.says_started or self.says_below or self.recorded or self.began

    @cached_property
    def below(self) -> Condition | None:
        """What it says of being below its minimum."""
        return None if self.group is None else condition(self.group.status.conditions, BELOW_MINIMUM)

    @cached_property
    def says_below(self) -> bool:
        return self.below is not None and self.below.status == "True"

    @cached_property
    def disrupted(self) -> Condition | None:
        """What it says of being evicted whole."""
        return None if self.group is None else condition(self.group.status.conditions, DISRUPTION_TARGET)

    @cached_property
    def says_disrupted(self) -> bool:
        return self.disrupted is not None and self.disrupted.status == "True"

    @cached_property
    def below_minimum(self) -> bool:
        """It has started, and fewer than its minimum are bound now."""
        if self.group is None or self.basic or not self.once_started:
            return False
        # one that fell is not whole because of members that succeeded before that
        return self.bound < self.floor or (self._must_be_whole and not (self.running or self.binding))

    @cached_property
    def _must_be_whole(self) -> bool:
        """It fell, as was seen or as it says, and must start whole again."""
        return self.fell or (self.says_that_it_fell and not self.spared and not self.outlived_its_fall)

    @cached_property
    def outlived_its_fall(self) -> bool:
        """Members run that were bound before it is said to have fallen."""
        return any(map(self.ran_before_its_fall, self.own))

    def ran_before_its_fall(self, pod: Pod) -> bool:
        """Whether the pod was bound before the gang is said to have fallen, and may have run whole."""
        below, at = self.below, _bound_at(pod)
        if below is None or below.reason == MEMBERS_REFUSED or not below.last_transition_time:
            return False
        # clocks differ: what was bound a moment before may have been bound since
        return self.says_that_it_fell and at is not None and at < seconds(below.last_transition_time) - 5.0

    @cached_property
    def says_that_it_fell(self) -> bool:
        return self.says_below and self.below is not None and self.below.reason != MEMBERS_LOST

    @cached_property
    def fallen(self) -> bool:
        """It had started, and must start whole again."""
        return self.below_minimum and (self._must_be_whole or self.nothing_left)

    @cached_property
    def nothing_left(self) -> bool:
        return bool(self.candidates) and not (self.running or self.binding or self.doubtful)

    @cached_property
    def has_started(self) -> bool:
        """What it lacks may come piece by piece."""
        return self.once_started and not self.fallen

    @cached_property
    def started(self) -> bool:
        # one that fell has its minimum from those who run, never from those alone who succeeded before
        return self.group is not None and (self.has_started or (self.bound >= self.minimum and not self.fallen))

    @cached_property
    def priority(self) -> int:
        if self.group is not None and self.group.spec.priority is not None:
            return self.group.spec.priority
        return min(self.priorities, default=0)

    def odd(self, pod: Pod) -> bool:
        """Whether the member's priority is not the one that the group declares."""
        declared = None if self.group is None else self.group.spec.priority
        return declared is not None and (pod.spec.priority or 0) != declared

    @cached_property
    def at_odds(self) -> bool:
        """Some member is odd: before its start it may not be decided at all."""
        return any(map(self.odd, self.living))

    @cached_property
    def placeable(self) -> list[Pod]:
        """Candidates that may be placed, as far as they are concerned."""
        return [pod for pod in self.candidates if not held(pod) and not self.odd(pod)]

    @cached_property
    def shared(self) -> bool:
        """Members name several schedulers, who all speak of it."""
        return len({pod.spec.scheduler_name for pod in self.members}) > 1

    @cached_property
    def goes_whole(self) -> bool:
        """Who evicts one member must evict all: it says so, or has not started."""
        mode = None if self.group is None else self.group.spec.disruption_mode
        return self.group is not None and (bool(mode and mode.all) or not self.started)

    @cached_property
    def holds_partial(self) -> bool:
        return self.group is not None and self.group.metadata.annotations.get(ON_PARTIAL_ANNOTATION) == "hold"

    @cached_property
    def grace_seconds(self) -> float | None:
        """How long it may be below its minimum before it is taken down; None for ever."""
        annotations = {} if self.group is None else self.group.metadata.annotations
        if annotations.get(BELOW_MINIMUM_ANNOTATION) != "restart":
            return None
        return float(annotations.get(GRACE_ANNOTATION) or DEFAULT_GRACE_SECONDS)

    @cached_property
    def order(self) -> Order:
        assert self.group is not None
        meta = self.group.metadata
        ahead = 2 if self.partial else 1 if self.below_minimum else 0
        return (-self.priority, seconds(meta.creation_timestamp) - ahead * _LONG_AGO, meta.uid)

    @cached_property
    def partial(self) -> bool:
        """Some were bound for the present object, but not enough for it to start."""
        return self.group is not None and bool(self.own) and not self.started

    @cached_property
    def need(self) -> int:
        """How many must be placed together, at least."""
        have = self.bound + self.binding
        piecemeal = self.has_started and have < self.floor
        return 1 if piecemeal else max(1, self.minimum - have)

    @cached_property
    def deadline(self) -> float | None:
        """When a partial gang's time is over, as the objects say; None if they do not."""
        assert self.group is not None
        text = self.group.metadata.annotations.get(TIMEOUT_ANNOTATION)
        timeout = float(text) if text else DEFAULT_TIMEOUT_SECONDS
        return min(self.bound_times) + timeout if self.bound_times else None

    @cached_property
    def ready(self) -> bool:
        """May be decided: declared, complete, ungated, of one priority, asking for nothing in vain, and not done."""
        if self.group is None or not self.placeable or group_asks_in_vain(self.group):
            return False
        whole = not self.gated and not self.at_odds
        return self.started or (whole and (self.basic or self.present >= self.minimum))


class _Told(NamedTuple):
    """What a gang is read from, but for its members."""

    group: PodGroup | None
    fell: bool
    spared: bool
    began: bool


class _Member(msgspec.Struct, frozen=True, gc=False):
    """What one of its pods is counted by."""

    pod: Pod
    unit: str
    node: str
    there: bool
    condemned: bool
    doubtful: bool
    bound_for: BoundFor | None
    """Of those on their way."""


class Taker(msgspec.Struct, frozen=True, gc=False):
    """A pod that takes room."""

    pod: Pod
    node: str
    needs: Needs


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
    perhaps will.  `fallen` are UIDs of groups of which nothing was left after their start, `spared` of those that say
    so although a member was spared then, `began` of those that had their minimum bound since the scheduler came.
    `condemned` are pods that are to be evicted, and whose deletions have not gone out: they count as leaving.
    """

    def __init__(
        self,
        world: World,
        *,
        scheduler: str,
        held: Mapping[str, Placement],
        doubtful: Mapping[str, Placement],
        fallen: Container[str],
        spared: Container[str] = (),
        began: Container[str] = (),
        condemned: Collection[str] = (),
    ) -> None:
        self._world = world
        self._condemned = condemned
        self.scheduler = scheduler
        self._held = held
        self._doubtful = doubtful
        self._fallen = fallen
        self._spared = spared
        self._began = began
        self._needs: dict[str, tuple[object, object, Needs]] = {}
        self._facts: dict[str, tuple[Node, Room, dict[bytes, bool]]] = {}
        self._takers: dict[str, Taker] = {}
        """By UID."""
        self._members: dict[str, _Member] = {}
        """By UID, as they were last counted..."""
        self._around: tuple[object, ...] = ()
        """...and what they were counted by beside their pods."""
        self._gangs: dict[str, tuple[tuple[_Told, list[_Member]], Gang]] = {}
        """What they were last read from, and what came of it."""
        self._apart: tuple[list[Pod], Apart] = ([], [])
        """The same of whom pods must be apart from."""

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
        spec, meta = pod.spec, pod.metadata
        if spec.node_name or spec.scheduler_name != self.scheduler or pod.status.phase in ENDED:
            return False
        open_binds = meta.uid in self._world.in_flight or meta.uid in self._held
        return not open_binds and meta.deletion_timestamp is None and meta.uid not in self._condemned

    def leaves(self, pod: Pod) -> bool:
        """On its way out, or about to be."""
        return pod.metadata.deletion_timestamp is not None or pod.metadata.uid in self._condemned

    def node_of(self, pod: Pod) -> str:
        """Where it is bound, or on its way to if we sent it."""
        spec = pod.spec
        if spec.node_name or spec.scheduler_name != self.scheduler:
            return spec.node_name
        uid = pod.metadata.uid
        placement = self._world.in_flight.get(uid) or self._held.get(uid)
        return placement.node if placement else ""

    def gangs(self) -> dict[str, Gang]:
        """All gangs; those of which nothing changed since the last reading are the same ones."""
        members: dict[str, list[_Member]] = {key: [] for key in self._world.groups_told}
        self._look_around()
        for uid, pod in self._world.pods.items():
            if pod.spec.scheduling_group is not None:
                member = self._members.get(uid)
                if member is None or member.pod is not pod:
                    member = self._members[uid] = self._member(uid, pod)
                members.setdefault(member.unit, []).append(member)
        kept, self._gangs = self._gangs, {}
        for key, listed in members.items():
            told = self._told_of(key), listed
            known = kept.get(key)
            self._gangs[key] = known if known is not None and known[0] == told else (told, self._gang(key, *told))
        return {key: gang for key, (_, gang) in self._gangs.items()}

    def _look_around(self) -> None:
        """Where something changed that members are counted by beside their pods, all of them are counted anew."""
        world = self._world
        around = [*world.nodes], world.in_flight.copy(), {**self._held}, [*self._doubtful], [*self._condemned]
        if around != self._around:
            self._around = around
            self._members.clear()

    def _told_of(self, key: str) -> _Told:
        group = self._world.groups_told.get(key)
        if group is None:
            return _Told(None, fell=False, spared=False, began=False)
        uid = group.metadata.uid
        return _Told(group, fell=uid in self._fallen, spared=uid in self._spared, began=uid in self._began)

    def _member(self, uid: str, pod: Pod) -> _Member:
        node, doubtful, bound_for = pod.spec.node_name, False, None
        if not node:
            node, doubtful = self.node_of(pod), uid in self._doubtful
            bound_for = (self._world.in_flight.get(uid) or self._held[uid]).bound_for if node else None
        there, condemned = node in self._world.nodes, uid in self._condemned
        return _Member(pod, unit_of(pod), node, there, condemned, doubtful, bound_for)

    def _gang(self, key: str, told: _Told, members: list[_Member]) -> Gang:
        gang = Gang(key, scheduler=self.scheduler)
        gang.group, gang.fell, gang.spared, gang.began = told
        for member in members:
            self._count(member, gang)
        names = {pod.spec.scheduler_name for pod in gang.members}
        gang.foreign = bool(names) and self.scheduler not in names
        return gang

    def _count(self, member: _Member, gang: Gang) -> None:
        pod = member.pod
        phase, leaves = pod.status.phase, pod.metadata.deletion_timestamp is not None
        gang.members.append(pod)
        foreign = pod.spec.scheduler_name != self.scheduler and not pod.spec.node_name
        if member.condemned and not leaves:
            # it may be spared: till it goes its gang is no more important than with it
            gang.priorities.append(pod.spec.priority or 0)
        if foreign or phase == "Failed" or leaves or member.condemned:
            return
        if phase != "Succeeded" and member.node and not member.there:
            return
        gang.priorities.append(pod.spec.priority or 0)
        if phase != "Succeeded":
            gang.living.append(pod)
        if phase == "Succeeded":
            gang.done.append(pod)
        elif pod.spec.node_name:
            gang.running.append(pod)
        elif member.bound_for is not None:
            gang.binding += 1
            gang.in_flight.append(member.bound_for)
        else:
            gang.candidates.append(pod)
            gang.gated += held(pod)
            gang.doubtful += member.doubtful

    def waiting(self, gangs: dict[str, Gang]) -> Iterator[Waiting]:
        """Every unit that may be decided now."""
        for pod in self._world.pods.values():
            lone = pod.spec.scheduling_group is None and not pod.spec.node_name
            if lone and self.waits(pod) and not held(pod):
                created, priority = seconds(pod.metadata.creation_timestamp), pod.spec.priority or 0
                order = (-priority, created, pod.metadata.uid)
                yield Waiting(key_of(pod), order, priority, 1, [pod], None)
        for gang in gangs.values():
            if gang.ready and len(gang.placeable) >= gang.need:
                yield Waiting(gang.key, gang.order, gang.priority, gang.need, gang.placeable, gang)

    def wanted(self, unit: Waiting) -> dict[Needs, int]:
        return Counter(self.needs_of(pod) for pod in unit.pods)

    def exact(self, unit: Waiting) -> bool:
        """Whether trying class by class is a proof, and room is all that matters."""
        return (unit.need == 1 or self._alike(unit)) and not self.tied(unit)

    def _alike(self, unit: Waiting) -> bool:
        first = _prefers(unit.pods[0])
        return len(self.wanted(unit)) == 1 and all(_prefers(pod) == first for pod in unit.pods)

    def tied(self, unit: Waiting) -> bool:
        """Whether members may be kept from nodes by where other pods are."""
        apart = self._terms_apart()
        return any(is_tied(pod, apart) for pod in unit.pods)

    def _terms_apart(self) -> Apart:
        pods = list(self._world.pods.values())
        if pods != self._apart[0]:
            self._apart = pods, terms_apart(pods)
        return self._apart[1]

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

    def taker(self, pod: Pod, node: str) -> Taker:
        """The pod as one that takes room on the node."""
        known = self._takers.get(pod.metadata.uid)
        if known is None or known.pod is not pod or known.node != node:
            known = self._takers[pod.metadata.uid] = Taker(pod, node, self.needs_of(pod))
        return known

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


def _bound_at(pod: Pod) -> float | None:
    scheduled = condition(pod.status.conditions, "PodScheduled")
    if scheduled is None or scheduled.status != "True" or not scheduled.last_transition_time:
        return None
    return seconds(scheduled.last_transition_time)


def _maker(pod: Pod) -> str:
    """UID of its controller."""
    return next((owner.uid for owner in pod.metadata.owner_references if owner.controller), "")


def _prefers(pod: Pod) -> tuple[object, ...]:
    """Where the pod would rather be, beside other pods or away from them: members may differ in that alone."""
    affinity = pod.spec.affinity
    near, far = (affinity.pod_affinity, affinity.pod_anti_affinity) if affinity is not None else (None, None)
    return near, far, pod.spec.topology_spread_constraints
