"""What a node offers a lone pod is kept while it is true: kept or made anew, the decisions are the same."""

from collections import Counter
from random import Random

import pytest

from muster.engine import planning
from muster.engine.offers import Offer, Shelf
from tests.builders import STARTED, World, budget, cluster, evicted, group, node, placements

# longer than anybody waits for a victim that does not leave
LONG = 700.0


def plain(offer: Offer | None) -> object:
    """All that a plan reads off an offer."""
    if offer is None:
        return None
    victims = [(v.key, [p.uid for p in v.pods], v.priority, v.in_gang, v.started, v.reserved) for v in offer.victims]
    return victims, offer.cost


class Watched:
    """Has every offer made anew, and compares it with what was kept."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seen: Counter[str] = Counter()
        self.untrue: list[tuple[object, object]] = []
        known, get, put = {}, Shelf.get, Shelf.put

        def ask(shelf, row):
            known["now"] = get(shelf, row)

        def compare(shelf, row, node, offer):
            kept = known.pop("now")
            self.seen["kept" if kept is not None else "new"] += 1
            if kept is not None and plain(kept.offer) != plain(offer):
                self.untrue.append((plain(kept.offer), plain(offer)))
            put(shelf, row, node, offer)

        monkeypatch.setattr(Shelf, "get", ask)
        monkeypatch.setattr(Shelf, "put", compare)


# --- worlds in which anything may change ------------------------------------------------------------


class Restless:
    """A full little cluster in which things happen between one lone preemptor and the next; the same for one seed."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = Random(seed)
        self.world = World()
        self.nodes = [f"n{number}" for number in range(rng.randint(3, 6))]
        self.low: dict[str, dict] = {}
        """What runs, as `builders.pod` takes it, by name."""
        self.gangs: dict[str, dict] = {}
        self.numbers = iter(range(10_000))
        self.world.see(*(node(name, cpu=6) for name in self.nodes))
        for _ in range(rng.randint(0, 4)):
            self.a_group_changes()
        for _ in range(6 * len(self.nodes)):
            self.somebody_comes()

    def steps(self, count: int) -> list:
        """All decisions."""
        events = [
            self.somebody_comes,
            self.somebody_goes,
            self.somebody_changes,
            self.somebody_is_deleted,
            self.a_group_changes,
            self.a_group_goes,
            self.a_budget_changes,
            self.a_node_changes,
            self.a_preemptor_goes,
            self.victims_leave,
            self.time_passes,
            self.world.bound,
        ]
        decisions = []
        for _ in range(count):
            for _ in range(self.rng.choice([0, 1, 1, 2])):
                self.rng.choice(events)()
            for _ in range(self.rng.choice([1, 2, 3])):
                self.a_preemptor_comes()
            decisions.append(self.world.decide(after=0.5))
        return decisions

    def a_preemptor_comes(self) -> None:
        rng = self.rng
        policy = "Never" if rng.random() < 0.1 else None
        name, priority = f"high-{next(self.numbers)}", rng.choice([2, 2, 5, 5, 5])
        self.world.pod(name, cpu=rng.choice([2, 2, 3]), priority=priority, preemption=policy, created=self.world.now)

    def a_preemptor_goes(self) -> None:
        high = [p.key.partition("/")[2] for p in self.world.engine.cluster.pods.values() if "high" in p.key]
        self.world.pod_gone(*self.rng.sample(high, len(high) // 2))

    def somebody_comes(self) -> None:
        rng, name = self.rng, f"low-{next(self.numbers)}"
        facts = {"cpu": 1, "on": rng.choice(self.nodes), "priority": rng.choice([0, 1, 3]), "created": self.world.now}
        facts |= {"started": rng.choice([None, 10.0, 20.0, 30.0]), "labels": {"app": rng.choice("ab")}}
        if self.gangs and rng.random() < 0.4:
            facts["gang"] = rng.choice(list(self.gangs))
        self.low[name] = facts
        self.world.pod(name, **facts)

    def somebody(self) -> str | None:
        there = [name for name in self.low if f"uid-{name}" in self.world.engine.cluster.pods]
        return self.rng.choice(there) if there else None

    def somebody_goes(self) -> None:
        if name := self.somebody():
            self.world.pod_gone(name)

    def somebody_changes(self) -> None:
        if name := self.somebody():
            news = self.rng.choice(
                [{"labels": {"app": self.rng.choice("abc")}}, {"started": 15.0}, {"priority": 4}, {"cpu": 2}]
            )
            self.low[name] |= news
            self.world.pod(name, **self.low[name])

    def somebody_is_deleted(self) -> None:
        if name := self.somebody():
            self.world.pod(name, **self.low[name], leaving=self.world.now + 1)

    def victims_leave(self) -> None:
        leaving = [p.key.partition("/")[2] for p in self.world.engine.cluster.leaving.values()]
        self.world.pod_gone(*self.rng.sample(leaving, (len(leaving) + 1) // 2))

    def a_group_changes(self) -> None:
        rng, name = self.rng, f"g{self.rng.randint(0, 3)}"
        facts = {"priority": rng.choice([0, 1, 3, None]), "disruption": rng.choice(["all", "single", None])}
        if rng.random() < 0.6:
            facts["condition"] = STARTED
        self.gangs[name] = facts
        self.world.see(group(name, rng.choice([1, 3, 8]), created=self.world.now, **facts))

    def a_group_goes(self) -> None:
        if self.gangs:
            self.world.group_gone(self.rng.choice(list(self.gangs)))

    def a_budget_changes(self) -> None:
        label = self.rng.choice("abc")
        if self.rng.random() < 0.3:
            self.world.budget_gone(label)
        else:
            self.world.see(budget(label, {"app": label}, allowed=self.rng.randint(0, 3)))

    def a_node_changes(self) -> None:
        name = self.rng.choice(self.nodes)
        if self.rng.random() < 0.3:
            self.world.node_gone(name)
        else:
            self.world.node(name, cpu=self.rng.choice([5, 6, 7]), cordoned=self.rng.random() < 0.1)

    def time_passes(self) -> None:
        self.world.now += self.rng.choice([2.0, 60.0, LONG])


@pytest.mark.parametrize("part", range(3))
def test_what_is_kept_is_what_a_node_would_offer_now(part, monkeypatch):
    watched = Watched(monkeypatch)
    for seed in range(14 * part, 14 * part + 14):
        Restless(seed).steps(25)
        assert not watched.untrue, f"{seed=}"
    assert watched.seen["kept"] > watched.seen["new"] / 4


@pytest.mark.parametrize("part", range(2))
def test_decisions_are_the_same_if_nothing_is_kept(part, monkeypatch):
    # how much is decided in one turn depends on what it took
    for work in ("_WORK_PER_OFFER", "_WORK_PER_NODE", "_WORK_PER_VICTIM"):
        monkeypatch.setattr(planning, work, 0)
    seeds = range(1000 + 10 * part, 1010 + 10 * part)
    kept = [Restless(seed).steps(20) for seed in seeds]
    monkeypatch.setattr(Shelf, "get", lambda shelf, row: None)
    assert [Restless(seed).steps(20) for seed in seeds] == kept


def test_whose_bind_is_acknowledged_has_started_by_then():
    world = cluster(3, cpu=4).pod("mine-0", cpu=4).pod("mine-1", cpu=4)
    (free,) = {"n0", "n1", "n2"} - set(placements(world.decide()).values())
    world.pod("theirs", cpu=4, on=free, started=50.0)
    # whoever has not started is the first to go
    (gone,) = evicted(world.pod("high-0", cpu=4, priority=5).decide(after=10))
    (other,) = {"mine-0", "mine-1"} - {gone}
    assert evicted(world.bound(other).pod("high-1", cpu=4, priority=5).decide()) == ["theirs"]


def test_a_node_in_the_place_of_another_offers_what_runs_there():
    world = cluster(3, cpu=4)
    for priority, node_name in enumerate(["n0", "n1", "n2", "new", "m"]):
        world.pod(f"on-{node_name}", cpu=4, on=node_name, priority=priority)
    assert evicted(world.pod("high-0", cpu=4, priority=5).decide()) == ["on-n0"]
    assert evicted(world.pod("high-1", cpu=4, priority=5).decide()) == ["on-n1"]
    # m takes the row of n2, with as little room
    world.node_gone("n2").node("m", cpu=4).node("new", cpu=4)
    assert evicted(world.pod("high-2", cpu=4, priority=5).decide()) == ["on-new"]


def test_a_resource_that_nobody_had_before_forgets_nobody():
    world = cluster(2, cpu=4).pod("a", cpu=4, on="n0").pod("b", cpu=4, on="n1", priority=2)
    assert evicted(world.pod("high-0", cpu=4, priority=5).decide()) == ["a"]
    world.node("n2", cpu=1, resources={"example.com/tpu": 4})
    assert evicted(world.pod("high-1", cpu=4, priority=5).decide()) == ["b"]
