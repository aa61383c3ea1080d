"""Small work does not pass a big gang for ever.

A gang that waits, and would fit if running pods ended, is passed by so many units behind it that take nodes it could
use, and no more; then these nodes are held for it.  What exactly a scheduler has counted is its own affair (it may
have forgotten some at a restart, or counted while the gang was in backoff), so there are two counts: those who surely
passed, of whom there may not be too many; and those who perhaps did, enough of whom excuse that somebody waits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable
from typing import NamedTuple

from muster.api.times import seconds
from muster.api.wire import Pod, condition
from muster.sim.plain import unit_of
from muster.sim.reading import Gang, Order, Reading, Waiting
from muster.sim.rules.broken import BrokenRuleError
from muster.sim.rules.scene import Places, Scene
from muster.sim.world import World

_BELONGS = ("DaemonSet", "Node")


class _Runner(NamedTuple):
    """A unit that ran when a scheduler came."""

    order: Order
    at: float
    nodes: set[str]


class _Count:
    """How often one gang was passed since it waits."""

    def __init__(self, present: int) -> None:
        self.sure = 0
        self.perhaps = 0
        self.fewest = self.most = present
        """Members that it had meanwhile."""
        self.went_first = False
        """It was half bound, and so ahead of all others; for how long is the scheduler's affair."""


class Passes:
    def __init__(self, world: World, reading: Reading, *, per_member: float) -> None:
        self._world = world
        self._reading = reading
        self._per_member = per_member
        self._counts: dict[str, _Count] = {}
        """By the group's UID."""
        self._ran: list[_Runner] = []
        self.untidy = False
        """Binds failed, or schedulers came and went: counts may be wrong by one."""
        self.seen: Counter[str] = Counter()

    def restarted(self, gangs: dict[str, Gang]) -> None:
        """A new scheduler counts those who run and were bound after the gang was created."""
        self._counts.clear()
        self._ran = list(self._running(gangs))

    @property
    def any(self) -> bool:
        """Whether somebody who waits may have been passed: a new scheduler would not count all of that."""
        return any(count.perhaps for count in self._counts.values())

    def review(self, scene: Scene) -> None:
        """Gangs that went, or have what they need, are not passed; numbers of members are noted."""
        lacking = {gang.group.metadata.uid for gang in scene.gangs.values() if gang.group and _lacks(gang)}
        for uid in [uid for uid in self._counts if uid not in lacking]:
            del self._counts[uid]
        for unit in scene.waiting:
            if unit.gang is not None and _lacks(unit.gang):
                count, gang = self._count(unit, scene), unit.gang
                count.fewest, count.most = min(count.fewest, gang.present), max(count.most, gang.present)
                count.went_first |= gang.partial

    def forget(self, gang: Gang) -> None:
        """Nobody has passed the gang yet."""
        if gang.group is not None:
            self._counts[gang.group.metadata.uid] = _Count(gang.present)

    # --- those who pass ---

    def bound(
        self, unit: Waiting, nodes: set[str], scene: Scene, *, own: set[str], unsure: Container[str], sure: bool
    ) -> None:
        """The pods of a unit are being bound to nodes; gangs in `unsure` may not be decided, in backoff perhaps.

        `own`: where room was kept for the unit.  Not `sure`: it is bound once more to where it was.
        """
        lasting = self._lasting(scene)
        # what runs of a gang may never end without the rest of it
        sure = sure and not (unit.gang is not None and (unit.gang.partial or unit.gang.below_minimum))
        for passed in (*scene.waiting, *scene.rest.values()):
            # one that loses members in this batch may lack what it had, and have the right of return
            shaken = passed.key in scene.shaken
            if passed.gang is None or not (shaken or _lacks(passed.gang)) or not passed.pods or passed.key == unit.key:
                continue
            before, count = passed.order < unit.order, self._count(passed, scene)
            useful = nodes & self._reading.usable(passed, lasting)
            # whether one that grows is below its minimum, and so ahead of others, nobody but the scheduler knows
            grows = unit.gang is not None and unit.gang.grows
            if not (before or count.went_first or shaken or grows) or not useful:
                continue
            count.perhaps += 1
            counts = before and sure and passed.key not in unsure and passed.key not in scene.rest
            # one that is half bound goes first, and is completed or undone before long
            on_its_way = passed.gang.partial or passed.gang.bound + passed.gang.binding >= passed.gang.minimum
            counts = (
                counts
                and not passed.gang.basic
                and not self._reading.tied(passed)
                and not on_its_way
                and self._takes(passed, unit, useful - own, scene, lasting)
            )
            if not counts or not self._reading.fits(passed, self._lasting(scene, beside=passed)):
                continue
            count.sure += 1
            self.seen["gangs that were passed"] += 1
            if count.sure > self._limit(count.most) + self.untidy:
                raise BrokenRuleError(
                    "passed too often",
                    f"{unit.key} is the {count.sure}th to pass {passed.key}, which has {count.most} members",
                )

    def held_from(self, unit: Waiting, scene: Scene) -> set[str]:
        """Nodes that the unit perhaps may not use, since they are held for gangs before it."""
        lasting: Places | None = None
        left: Places | None = None
        held: set[str] = set()
        for before in scene.waiting:
            shaken = before.key in scene.shaken and before.key != unit.key
            if before.order >= unit.order and not shaken:
                continue
            if before.gang is None or not (shaken or _lacks(before.gang)):
                continue
            count = self._count(before, scene)
            # one more may have passed while it was being bound
            if count.perhaps + 1 >= self._limit(count.fewest):
                lasting = lasting or self._lasting(scene)
                left = left or scene.places(perhaps=True, kept=lambda keep: True)
                if self._reading.exact(before) and not self._reading.fits(before, self._lasting(scene, beside=before)):
                    continue  # one that can never fit holds nothing
                usable = self._reading.usable(before, lasting)
                held |= {node for node in usable if self._may_take(before, unit, node, left, lasting)}
                self.seen["units for which nodes were perhaps held from others"] += 1
        return held

    # --- whether what is taken is what somebody needs ---

    def _takes(self, passed: Waiting, unit: Waiting, nodes: set[str], scene: Scene, lasting: Places) -> bool:
        """Whether the unit, now that it is bound to the nodes, surely takes what the passed one could use."""
        left, taken = scene.places(), self._asked(unit)
        return any(
            left[node].room.get(resource, 0) < needed
            for node in nodes & left.keys()
            for resource, needed in self._needed(passed, node, lasting)
            if taken[resource]
        )

    def _may_take(self, before: Waiting, unit: Waiting, node: str, left: Places, lasting: Places) -> bool:
        """Whether the unit would perhaps take what the other could use, if all of it went to the node."""
        if any(self._reading.needs_of(pod).ports for pod in (*before.pods, *unit.pods)):
            return True
        if self._reading.tied(before) or self._reading.tied(unit):
            return True
        asked, room = self._asked(unit), left[node].room
        return any(
            room.get(resource, 0) - asked[resource] < needed
            for resource, needed in self._needed(before, node, lasting)
            if asked[resource]
        )

    def _asked(self, unit: Waiting) -> Counter[str]:
        asked: Counter[str] = Counter()
        for pod in unit.pods:
            asked.update(dict(self._reading.needs_of(pod).requests))
        return asked

    def _needed(self, unit: Waiting, node: str, lasting: Places) -> Iterable[tuple[str, int]]:
        """What a node must have so that it takes as many of each kind as it could."""
        room = lasting[node].room
        for needs in {self._reading.needs_of(pod) for pod in unit.pods}:
            requests = {"pods": 1, **{name: amount for name, amount in needs.requests if amount}}
            copies = min(room.get(name, 0) // amount for name, amount in requests.items())
            for name, amount in requests.items():
                yield name, amount * max(0, copies)

    def _limit(self, present: int) -> int:
        return max(1, int(self._per_member * present))

    def _count(self, unit: Waiting, scene: Scene) -> _Count:
        assert unit.gang is not None
        assert unit.gang.group is not None
        meta = unit.gang.group.metadata
        found = self._counts.get(meta.uid)
        if found is None:
            found = self._counts[meta.uid] = _Count(unit.gang.present)
            created = seconds(meta.creation_timestamp)
            passers = [ran for ran in self._ran if ran.order > unit.order and ran.at > created]
            if passers:
                usable = self._reading.usable(unit, self._lasting(scene))
                passed = sum(bool(ran.nodes & usable) for ran in passers)
                found.perhaps, found.sure = len(passers), passed
                if unit.gang.below_minimum:
                    # it went ahead of many when it lost members; who had passed it by then is anybody's guess
                    found.sure = 0
        return found

    # --- what runs ---

    def _lasting(self, scene: Scene, *, beside: Waiting | None = None) -> Places:
        """The room there is if all pods ended that can, but for what is bound of one unit."""
        own = "" if beside is None else beside.key
        ends = {uid for uid, taker in scene.takers.items() if not _belongs_to_node(taker.pod)}
        return scene.places(gone={uid for uid in ends if unit_of(scene.takers[uid].pod) != own})

    def _running(self, gangs: dict[str, Gang]) -> Iterable[_Runner]:
        units: dict[str, list[Pod]] = {}
        for pod in self._world.pods.values():
            bound = pod.spec.node_name in self._world.nodes and pod.status.phase not in ("Succeeded", "Failed")
            if bound and pod.spec.scheduler_name == self._reading.scheduler:
                units.setdefault(unit_of(pod), []).append(pod)
        for key, pods in units.items():
            gang = gangs.get(key)
            if gang is not None and gang.group is not None:
                meta, priority = gang.group.metadata, gang.priority
            else:
                meta, priority = pods[0].metadata, pods[0].spec.priority or 0
            order = (-priority, seconds(meta.creation_timestamp), meta.uid)
            yield _Runner(order, min(map(_bound_at, pods)), {pod.spec.node_name for pod in pods})


def _lacks(gang: Gang) -> bool:
    """It has not all that it needs: of what comes on top nothing is promised."""
    return gang.group is not None and gang.bound < gang.minimum


def _belongs_to_node(pod: Pod) -> bool:
    return any(owner.kind in _BELONGS for owner in pod.metadata.owner_references)


def _bound_at(pod: Pod) -> float:
    scheduled = condition(pod.status.conditions, "PodScheduled")
    at = scheduled.last_transition_time if scheduled is not None and scheduled.status == "True" else ""
    return seconds(at) if at else 0.0
