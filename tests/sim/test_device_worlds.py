"""Random worlds of gangs that claim devices: arrivals, ends, deletions, lost nodes, restarts, claims that are deleted.

After every step: no device is two claims', and who is bound has what it claims, where it is.  At the end, with
everybody gone: nothing is allocated.
"""

import random
from collections import Counter

import pytest
from msgspec.structs import replace

from muster.api.kinds import address_of
from muster.sim.devices import AFTER, FAILS, RELEASED_AFTER
from tests.builders import group, node, pod
from tests.devices.checker import problems
from tests.engine.test_preparing_devices import CLASS, as_stored, claim, plain, slice_of
from tests.sim.test_devices import claims, world


class Story:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.devices = self.rng.choice((1, 2, 4))
        self.nodes = self.rng.randint(2, 4)
        self.world = world(*(f"n{number}" for number in range(self.nodes)), devices=self.devices)
        if self.rng.random() < 0.3:
            self.world.put_fact(slice_of("", 2, name="net", everywhere=True))
        self.gangs = {}

    def arrive(self):
        name, rng = f"g{len(self.gangs)}x", self.rng
        members, count = rng.randint(1, 4), rng.choice((1, 1, 2))
        same, shared = rng.choice(("", "", "switch")), rng.random() < 0.25
        priority = rng.choice((None, 0, 5, 10))
        self.gangs[name] = members
        self.world.create_group(group(name, members, priority=priority, uid=""))
        for number in range(members):
            key = f"{name}-shared" if shared else f"{name}-{number}"
            if not shared or not number:
                made = claim(key, count=count, same=same)
                late = {RELEASED_AFTER: "5"} if rng.random() < 0.3 else {}
                late |= {AFTER: rng.choice(("1", "30", "700"))} if rng.random() < 0.3 else {}
                late |= {FAILS: "2"} if rng.random() < 0.1 else {}
                self.world.put_fact(replace(made, metadata=replace(made.metadata, uid="", annotations=late)))
            wants = pod(f"{name}-{number}", gang=name, claims=[key], priority=priority, cpu=rng.choice((1, 4)))
            self.world.create_pod(replace(wants, metadata=replace(wants.metadata, uid="")))

    def delete(self):
        if self.world.pods:
            self.world.delete_pod(self.rng.choice(sorted(self.world.pods)))

    def end(self):
        if self.world.pods:
            self.world.end_pod(self.rng.choice(sorted(self.world.pods)), failed=False)

    def delete_claim(self):
        free = [one for one in claims(self.world).values() if one.status.allocation is None]
        if free:
            self.world.delete_fact(address_of(self.rng.choice(sorted(free, key=lambda one: one.metadata.name))))

    def lose_node(self):
        name = f"n{self.rng.randrange(self.nodes)}"
        if name in self.world.nodes:
            self.world.remove_node(name)
        else:
            self.world.put_node(node(name))

    def step(self):
        acts = (self.arrive, self.arrive, self.delete, self.delete, self.end, self.delete_claim, self.lose_node)
        self.rng.choice((*acts, self.world.restart))()
        self.world.run(self.world.now + self.rng.choice((0, 1, 20, 70)))

    def check(self):
        given = Counter()
        there = claims(self.world)
        for one in there.values():
            if one.status.allocation is not None:
                results = one.status.allocation.devices.results
                given.update((each.pool, each.device) for each in results)
                self.check_devices(one)
        assert not [device for device, times in given.items() if times > 1], given
        for one in self.world.pods.values():
            if one.spec.node_name and one.status.phase not in ("Succeeded", "Failed"):
                for entry in one.spec.resource_claims:
                    self.check_pod(one, there[entry.resource_claim_name])

    def check_pod(self, one, held):
        assert any(entry.uid == one.metadata.uid for entry in held.status.reserved_for), one.metadata.name
        reach = held.status.allocation.node_selector
        assert reach is None or reach.matches({}, one.spec.node_name)

    def check_devices(self, one):
        reach = one.status.allocation.node_selector
        name = "n0" if reach is None else reach.node_selector_terms[0].match_fields[0].values[0]
        facts = {
            "claims": [as_stored(one)],
            "classes": [plain(CLASS)],
            "slices": [plain(fact) for address, fact in self.world.facts.items() if "slices" in address.kind],
            "node": {"name": name, "labels": {}},
        }
        assert problems(facts, [plain(one.status.allocation)]) == []


# 340: who was undone was bound with what was just being taken back
@pytest.mark.parametrize("seed", [*range(25), 340])
def test_nothing_is_given_twice_and_nothing_stays(seed):
    story = Story(seed)
    for _ in range(30):
        story.step()
        story.check()
    for uid in list(story.world.pods):
        story.world.delete_pod(uid)
    story.world.run(story.world.now + 1_000)
    assert {name for name, one in claims(story.world).items() if one.status.allocation is not None} == set()
    usage = story.world.engine.cluster.nodes.usage
    assert usage.failures == 0
    state = usage.states["DynamicResources"]
    assert (state.book.taken, state._entries, state._more, state._less, state._met) == ({}, {}, {}, {}, {})
