"""Random little clusters that are mostly full, the same for the same seed, and who must go for whom, by brute force.

Written from the rules once more, over plain dicts: nothing of the engine's planning is used here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import combinations
from random import Random

from msgspec.structs import replace

from muster.api.wire import Node, Pod, PodDisruptionBudget, PodGroup
from muster.framework.profile import Profile
from muster.sim.oracle import most_placed
from muster.sim.plain import Needs, Place, Room, fits, needs_of, room_of, take
from tests.builders import STARTED, World, budget, group, node, pod

RESOURCES = ["cpu", "memory", "nvidia.com/gpu"]
UNIT = "high"


class Running:
    """What goes together or not at all: pods by name, each with its node."""

    def __init__(self, name: str, pods: dict[str, Pod], *, priority: int, in_gang: bool, gang: str) -> None:
        self.name = name
        self.pods = pods
        self.needs = {pod_name: needs_of(found) for pod_name, found in pods.items()}
        self.priority = priority
        self.in_gang = in_gang
        self.gang = gang if in_gang else ""
        self.started = min(found.status.start_time for found in pods.values())

    @property
    def precious(self) -> tuple:
        """Sorts the most precious first; start times are unique, so there are no ties."""
        return -self.priority, not self.in_gang, -len(self.pods), self.started


class Crowded:
    """Some nodes, what runs there, and a unit that comes.

    `unit` is "gang" for one of equal members, "mixed" for one of two classes, "more" for further members of one that
    has started, "pod" for a lone pod.  With `gangs`, most of what runs are gangs of mode single.
    """

    def __init__(self, seed: int, *, unit: str = "gang", gangs: bool = False) -> None:
        self.rng = rng = Random(seed)
        self._gangs = gangs
        self._resources = RESOURCES[: rng.randint(1, 3)]
        self._sizes = [self._asks() for _ in range(3)]
        self.nodes = [self._node(number) for number in range(rng.randint(2, 5))]
        self.units: list[Running] = []
        self.groups: list[PodGroup] = []
        self.budgets: list[PodDisruptionBudget] = []
        self._room = {found.metadata.name: Place(room_of(found), []) for found in self.nodes}
        self._started = rng.sample(range(1, 1000), 200)
        for number in range(rng.randint(2, 10)):
            self._run(number)
        if rng.random() < 0.5:
            self.budgets.append(budget("some", {"app": "a"}, allowed=rng.randint(0, 2)))
        self.priority = rng.choice([0, 1, 2, 2, 3])
        self.members: list[Pod] = []
        self.minimum = 1
        """Members that must have a place; for "more": all that have one if everybody worth less goes."""
        self.extra: list[Node | Pod] = []
        self._come(unit)

    # --- how it is made ---

    def _asks(self) -> dict:
        return {name: self.rng.choice([0, 1, 1, 2, 3]) for name in self._resources}

    def _node(self, number: int) -> Node:
        resources = {name: self.rng.choice([2, 4, 4, 6]) for name in self._resources}
        return node(f"n{number}", cpu=resources.pop("cpu"), memory=resources.pop("memory", 8), resources=resources)

    def _pod(self, name: str, asks: dict, **facts: object) -> Pod:
        return pod(name, requests={name: amount for name, amount in asks.items() if amount}, **facts)

    def _run(self, number: int) -> None:
        """A lone pod, or a gang of equal pods, where there is room for it."""
        rng = self.rng
        size, asks, priority = rng.choice([1, 1, 1, 2, 3]), rng.choice(self._sizes), rng.randint(0, 2)
        in_gang = size > 1 or rng.random() < 0.2
        mode = rng.choice(["all", "single"])
        if self._gangs:
            size, priority, in_gang = rng.choice([1, 3, 4]), rng.choice([0, 0, 0, 1]), rng.random() < 0.8
            mode = rng.choice(["all", "single", "single", "single"])
        pods = {}
        for member in range(size):
            facts = {"gang": f"r{number}" if in_gang else None, "priority": priority}
            labels, started = {"app": rng.choice("ab")}, float(self._started.pop())
            found = self._pod(f"r{number}-{member}", asks, labels=labels, started=started, **facts)
            where = [on for on, place in self._room.items() if fits(needs_of(found), place)]
            if where:
                on = rng.choice(where)
                take(needs_of(found), self._room[on])
                pods[found.metadata.name] = replace(found, spec=replace(found.spec, node_name=on))
        if not pods:
            return
        if in_gang:
            self.groups.append(group(f"r{number}", 1, priority=priority, disruption=mode, condition=STARTED))
        if in_gang and mode == "all":
            self.units.append(Running(f"r{number}", pods, priority=priority, in_gang=True, gang=f"r{number}"))
        else:
            for name, found in pods.items():
                unit = Running(name, {name: found}, priority=priority, in_gang=in_gang, gang=f"r{number}")
                self.units.append(unit)

    def _come(self, unit: str) -> None:
        asks = [asks for asks in self._sizes if any(asks.values())] or [{"cpu": 1}]
        kinds = self.rng.sample(asks, min(len(asks), 2 if unit == "mixed" else 1))
        if unit == "pod":
            self.members = [self._pod(UNIT, kinds[0], priority=self.priority)]
            return
        count = self.rng.randint(1, 6)
        facts = {"gang": UNIT, "priority": self.priority}
        self.members = [self._pod(f"{UNIT}-{n}", self.rng.choice(kinds), **facts) for n in range(count)]
        if unit == "more":
            self.groups.append(group(UNIT, 1, priority=self.priority, condition=STARTED))
            self.extra = [node("own", taints=["own:NoSchedule"]), pod(f"{UNIT}-runs", on="own", **facts)]
            self.minimum = max(1, self.most_placed(self.lower))
        else:
            self.minimum = self.rng.randint(1, count) if unit == "gang" else count
            self.groups.append(group(UNIT, self.minimum, priority=self.priority))

    def world(
        self, *, without: Sequence[Running] = (), profile: Profile | None = None, shuffled: Random | None = None
    ) -> World:
        """An engine that has seen it all, but for those that are gone; in another order if that is asked for."""
        running = [found for unit in self.units if unit not in without for found in unit.pods.values()]
        objects = [*self.nodes, *self.groups, *running, *self.budgets, *self.extra, *self.members]
        if shuffled is not None:
            shuffled.shuffle(objects)
        return World(profile).see(*objects)

    # --- brute force ---

    @property
    def lower(self) -> list[Running]:
        return [unit for unit in self.units if unit.priority < self.priority]

    def places(self, without: list[Running], only: str | None = None) -> list[Place]:
        """The nodes, or one of them, with all that runs there but these."""
        gone = {name for unit in without for name in unit.pods}
        places = {name: Place(dict(room), []) for name, room in self._empty.items()}
        for unit in self.units:
            for name, found in unit.pods.items():
                if name not in gone:
                    take(unit.needs[name], places[found.spec.node_name])
        return [place for name, place in places.items() if only in (None, name)]

    @cached_property
    def _empty(self) -> dict[str, Room]:
        return {found.metadata.name: room_of(found) for found in self.nodes}

    @cached_property
    def _wanted(self) -> Counter[Needs]:
        return Counter(map(needs_of, self.members))

    def has_place(self, without: list[Running], only: str | None = None) -> bool:
        """Whether the unit has one if these go, on that node or anywhere."""
        return self.most_placed(without, only) >= self.minimum

    def most_placed(self, without: list[Running], only: str | None = None) -> int:
        wanted = self._wanted
        placed = most_placed(wanted, [(place, wanted) for place in self.places(without, only)])
        assert placed is not None
        return placed

    def named(self, pods: list[str]) -> list[Running]:
        """The units that these pods make up; AssertionError if one of them would go in part."""
        units = [unit for unit in self.units if set(unit.pods) & set(pods)]
        assert sorted(name for unit in units for name in unit.pods) == pods
        return units

    def any_set_would_do(self) -> bool:
        """Whether the unit has a place if some that are worth less go: all sets are tried."""
        lower = self.lower
        return any(self.has_place(list(some)) for size in range(len(lower) + 1) for some in combinations(lower, size))

    def must_go(
        self, candidates: list[Running], only: str | None = None, *, as_upstream: bool = False
    ) -> tuple[list[Running], int] | None:
        """All who may go go; then the most precious come back first, as long as the unit keeps a place.

        Who is left, and how many of them a budget protects; None if there is no place even with all of them gone.
        What a budget allows is spent on the least precious; upstream spends it on the most precious.
        """
        if not self.has_place(candidates, only):
            return None
        ordered = sorted(candidates, key=lambda unit: unit.precious)
        protected = self._protected(ordered if as_upstream else ordered[::-1])
        gone = sorted(ordered, key=lambda unit: unit not in protected)
        for unit in list(gone):
            rest = [other for other in gone if other is not unit]
            if self.has_place(rest, only):
                gone = rest
        return gone, sum(unit in protected for unit in gone)

    def no_worse(self, one: list[Running], other: list[Running]) -> bool:
        """Whether the one evicts nobody more precious than the least of the other, but whom that does, and as many.

        Nor are more disruptions forbidden by budgets, or more than these allow.
        """
        least = min(unit.priority for unit in other)
        precious = [
            sorted((unit.priority for unit in some for _ in unit.pods if unit.priority > least), reverse=True)
            for some in (one, other)
        ]
        return precious[0] <= precious[1] and all(
            len(self._protected(one, all_of=strict)) <= len(self._protected(other, all_of=strict))
            for strict in (True, False)
        )

    def from_one_gang(self, greedy: list[Running]) -> Iterator[list[Running]]:
        """Whoever could go instead: some of one gang of mode single, beside lone pods that go anyway."""
        beside = [unit for unit in greedy if not unit.gang]
        gangs = {unit.gang for unit in self.lower if unit.gang and unit.name != unit.gang}
        for gang in gangs:
            pods = [unit for unit in self.lower if unit.gang == gang]
            for size in range(len(pods) + 1):
                for some in combinations(pods, size):
                    if self.no_worse([*beside, *some], greedy) and self.has_place([*beside, *some]):
                        yield [*beside, *some]

    def _protected(self, in_turn: list[Running], *, all_of: bool = False) -> list[Running]:
        """Whose going a budget forbids if they go in turn; with `all_of`, one that allows nobody."""
        protected = []
        for found in self.budgets:
            left = found.status.disruptions_allowed
            if all_of and left:
                continue
            for unit in in_turn:
                counted = sum(found.spec.selector.matches(pod.metadata.labels) for pod in unit.pods.values())
                left -= counted
                if counted and left < 0:
                    protected.append(unit)
        return protected
