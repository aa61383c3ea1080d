"""What nodes see of devices: whole pools, the newest ones, shared by all who see the same."""

from random import Random
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.api.devices import DeviceTaintRule, ResourceSlice
from muster.devices.inventory import Inventory, Seen
from tests.devices.worlds import Document, random_world

_NODES = {"n1": {"zone": "z1"}, "n2": {"zone": "z2"}, "n3": {"zone": "z1"}}


def a_slice(name: str, *devices: str, **spec: Any) -> ResourceSlice:
    pool = {"name": "p", "generation": spec.pop("generation", 1), "resourceSliceCount": spec.pop("count", 1)}
    document: Document = {"kind": "ResourceSlice", "metadata": {"name": name}}
    document["spec"] = {"driver": "d", "devices": [{"name": one} for one in devices], "nodeName": "n1", **spec}
    document["spec"]["pool"] = pool | {"name": spec.get("pool", "p")}
    return msgspec.convert(document, ResourceSlice)


def rule(name: str, taint: str = "broken", **selector: str) -> DeviceTaintRule:
    document = {"kind": "DeviceTaintRule", "metadata": {"name": name}}
    spec = {"deviceSelector": selector, "taint": {"key": taint, "effect": "NoSchedule"}}
    return msgspec.convert({**document, "spec": spec}, DeviceTaintRule)


def inventory(*slices: ResourceSlice) -> Inventory:
    made = Inventory()
    for one in slices:
        made.put_slice(one)
    return made


def names(seen: Seen) -> list[list[str]]:
    return [[device.name for device in pool.devices] for pool in seen.supply.pools]


def test_nodes_with_equal_devices_share_one_supply_whatever_their_pools_are_called() -> None:
    world = inventory(
        a_slice("one", "gpu-0", "gpu-1", pool="n1"), a_slice("two", "gpu-0", "gpu-1", pool="n2", nodeName="n2")
    )
    one, two = world.seen("n1", {}), world.seen("n2", {})
    assert one.supply is two.supply
    assert (one.keys, two.keys) == ((("d", "n1"),), (("d", "n2"),))


def test_a_pool_that_is_not_all_there_gives_nothing() -> None:
    world = inventory(a_slice("one", "a", count=2))
    assert world.seen("n1", {}).supply.pools[0].problem == "is currently being updated"
    world.put_slice(a_slice("two", "b", count=2))
    assert names(world.seen("n1", {})) == [["a", "b"]]


def test_the_newest_generation_counts() -> None:
    world = inventory(a_slice("one", "old"), a_slice("two", "new", generation=2))
    assert names(world.seen("n1", {})) == [["new"]]
    world.remove_slice("two")
    assert names(world.seen("n1", {})) == [["old"]]


def test_a_pool_that_is_being_replaced_for_other_nodes_is_left_out() -> None:
    world = inventory(a_slice("one", "old", count=2), a_slice("two", "new", count=2, generation=2, nodeName="n2"))
    assert names(world.seen("n1", {})) == []


def test_two_devices_of_one_name_spoil_the_pool() -> None:
    pool = inventory(a_slice("one", "a", count=2), a_slice("two", "a", count=2)).seen("n1", {}).supply.pools[0]
    assert pool.is_invalid
    assert "duplicate device name a" in pool.problem


def test_rules_taint_the_devices_that_they_select_until_they_are_gone() -> None:
    world = inventory(a_slice("one", "a", "b"))
    assert world.put_rule(rule("r", device="b")) == {"n1"}
    [pool] = world.seen("n1", {}).supply.pools
    assert [[taint.key for taint in one.facts.taints] for one in pool.devices] == [[], ["broken"]]
    assert world.put_rule(rule("r", driver="other")) == {"n1"}
    assert not any(one.facts.taints for one in world.seen("n1", {}).supply.pools[0].devices)
    assert world.remove_rule("r") == frozenset()


def test_a_change_says_which_nodes_may_see_something_else() -> None:
    world = Inventory()
    assert world.put_slice(a_slice("one", "a", nodeName="n1", count=2)) == {"n1"}
    assert world.put_slice(a_slice("two", "b", nodeName="n2", count=2)) == {"n1", "n2"}
    assert world.put_slice(a_slice("three", "c", nodeName=None, allNodes=True)) is None
    assert world.remove_slice("three") is None
    assert world.remove_slice("two") == {"n1", "n2"}
    assert world.remove_slice("two") == frozenset()


@settings(max_examples=200, deadline=None)
@given(st.randoms(use_true_random=False))
def test_what_is_seen_after_any_changes_is_what_is_seen_of_the_same_slices_at_once(rng: Random) -> None:
    """And only nodes that were named see something else."""
    world, slices, rules = Inventory(), {}, {}
    before = {node: world.seen(node, labels) for node, labels in _NODES.items()}
    for _ in range(6):
        touched: frozenset[str] | None
        if rng.random() < 0.2:
            made = rule(f"r{rng.randint(0, 1)}", device=f"d{rng.randint(0, 1)}{rng.randint(0, 1)}")
            rules[made.metadata.name] = made
            touched = world.put_rule(made)
        elif slices and rng.random() < 0.3:
            gone = rng.choice(sorted(slices))
            del slices[gone]
            touched = world.remove_slice(gone)
        else:
            document = rng.choice(random_world(rng)["slices"])
            new = msgspec.convert({**document, "kind": "ResourceSlice"}, ResourceSlice)
            slices[new.metadata.name] = new
            touched = world.put_slice(new)
        fresh = inventory(*slices.values())
        for one in rules.values():
            fresh.put_rule(one)
        for node, labels in _NODES.items():
            seen = world.seen(node, labels)
            assert seen == fresh.seen(node, labels)
            assert touched is None or node in touched or seen == before[node]
            before[node] = seen
