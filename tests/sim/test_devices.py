"""Gangs that claim devices, from pod to end, in virtual time: nothing is allocated twice, nothing is left."""

from collections import Counter

from msgspec.structs import replace

from muster.api.devices import FINALIZER, ResourceClaim
from muster.engine.engine import Engine
from muster.plugins.defaults import default_profile
from muster.sim.devices import RELEASED_AFTER
from muster.sim.world import World
from tests.builders import group, node, pod
from tests.engine.test_preparing_devices import CLASS, claim, slice_of

START = 1_700_000_000.0


def world(*nodes, devices=2):
    found = World(lambda: Engine(default_profile()), start=START)
    found.put_fact(CLASS)
    for name in nodes:
        found.put_node(node(name))
        found.put_fact(slice_of(name, devices))
    return found


def gang(world, name, members, *, priority=None, annotations=None):
    world.create_group(group(name, members, priority=priority, uid=""))
    for number in range(members):
        made = claim(f"{name}-{number}")
        world.put_fact(replace(made, metadata=replace(made.metadata, uid="", annotations=annotations or {})))
        wants = pod(f"{name}-{number}", gang=name, claims=[f"{name}-{number}"], priority=priority)
        world.create_pod(replace(wants, metadata=replace(wants.metadata, uid="")))


def claims(world):
    return {fact.metadata.name: fact for fact in world.facts.values() if isinstance(fact, ResourceClaim)}


def bound(world, name):
    return sorted(one.metadata.name for one in world.pods.values() if one.spec.node_name and name in one.metadata.name)


def check(world):
    given = Counter()
    for one in claims(world).values():
        assert (one.status.allocation is not None) == bool(one.status.reserved_for)
        assert (FINALIZER in one.metadata.finalizers) == (one.status.allocation is not None)
        if one.status.allocation is not None:
            given.update((each.pool, each.device) for each in one.status.allocation.devices.results)
    assert not [device for device, times in given.items() if times > 1]
    return sum(given.values())


def test_a_gang_gets_its_devices_and_gives_them_back():
    w = world("a", "b")
    gang(w, "g", 4)
    gang(w, "h", 1)
    w.run(START + 10)
    assert len(bound(w, "g")) == 4
    assert not bound(w, "h")
    assert check(w) == 4
    for uid in [uid for uid, one in w.pods.items() if one.metadata.name.startswith("g")]:
        w.delete_pod(uid)
    w.run(START + 100)
    assert bound(w, "h") == ["h-0"]
    assert check(w) == 1


def test_a_restart_in_the_middle_goes_on():
    w = world("a", "b")
    gang(w, "g", 4)
    w.restart()
    w.run(START + 10)
    w.restart()
    w.run(START + 20)
    assert len(bound(w, "g")) == 4
    assert check(w) == 4


def test_victims_give_back_late_and_nobody_else_has_to_go():
    w = world("a", "b", devices=1)
    gang(w, "low", 1, priority=1, annotations={RELEASED_AFTER: "30"})
    gang(w, "other", 1, priority=1)
    w.run(START + 10)
    assert check(w) == 2
    gang(w, "high", 1, priority=10)
    w.run(START + 200)
    assert bound(w, "high") == ["high-0"]
    assert len(bound(w, "low")) + len(bound(w, "other")) == 1
    assert check(w) == 2
