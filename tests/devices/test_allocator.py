"""Devices for claims: found if there are any, and given as the rules have it."""

from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from muster.devices.allocator import Refused
from muster.devices.taken import FREE, Shares, after_giving, after_return
from tests.devices.cases import cases, plain, shown, solved, world, written
from tests.devices.checker import problems, solvable
from tests.devices.worlds import Document, random_world


@settings(max_examples=400, deadline=None)
@given(st.randoms(use_true_random=False))
def test_devices_are_found_if_there_are_any_and_are_given_by_the_rules(rng: Random) -> None:
    facts = random_world(rng, errors=False)
    found = solved(world(facts))
    if isinstance(found, tuple):
        assert problems(facts, written(found)) == []
    else:
        assert not found.problem
        assert not solvable(facts)


def test_in_random_worlds_the_same_devices_are_found_as_upstream_finds() -> None:
    for case in cases("random.jsonl"):
        found = solved(world(case))
        if "results" in case:
            assert isinstance(found, tuple), case["id"]
            assert shown(found) == [plain(one) for one in case["results"]], case["id"]
        elif "error" not in case:
            assert isinstance(found, Refused), case["id"]


# --- by hand ---


def on_node(*devices: Document, driver: str = "d.example", pool: str = "n1", node: str = "n1") -> Document:
    """A slice with all devices of a node."""
    return {
        "metadata": {"name": f"{driver}-{pool}"},
        "spec": {
            "driver": driver,
            "pool": {"name": pool, "generation": 1, "resourceSliceCount": 1},
            "nodeName": node,
            "devices": list(devices),
        },
    }


def claim(*requests: Document, **spec: Any) -> Document:
    return {"metadata": {"name": "c", "uid": "uid-c"}, "spec": {"devices": {"requests": list(requests), **spec}}}


def asking(name: str = "r", **fields: Any) -> Document:
    return {"name": name, "exactly": {"deviceClassName": "any", "allocationMode": "ExactCount", "count": 1, **fields}}


def case(*claims: Document, slices: list[Document], **fields: Any) -> Document:
    return {
        "claims": list(claims),
        "classes": [{"metadata": {"name": "any"}, "spec": {}}],
        "slices": slices,
        "node": {"name": "n1", "labels": {}},
        **fields,
    }


def gpu(number: int, switch: str = "s", **fields: Any) -> Document:
    return {"name": f"gpu-{number}", "attributes": {"switch": {"string": switch}, "uuid": {"int": number}}, **fields}


def test_for_administration_a_device_is_taken_that_others_use_if_that_leaves_one_for_them() -> None:
    facts = case(
        claim(asking(adminAccess=True)),
        claim(asking()),
        slices=[on_node({"name": "free"}, {"name": "used"})],
        taken=[["d.example", "n1", "used"]],
    )
    found = solved(world(facts))
    assert isinstance(found, tuple), found
    assert [one.devices.results[0].device for one in found] == ["used", "free"]


def test_a_claim_that_gets_too_many_devices_tries_another_way() -> None:
    many = {"name": "many", "deviceClassName": "any", "allocationMode": "ExactCount", "count": 30}
    few = {**many, "name": "few", "count": 3}
    facts = case(
        claim({"name": "a", "firstAvailable": [many, few]}, asking("b", count=5)),
        slices=[on_node(*(gpu(n) for n in range(40)))],
    )
    found = solved(world(facts))
    assert isinstance(found, tuple)
    assert [one.request for one in found[0].devices.results] == ["a/few"] * 3 + ["b"] * 5


def test_a_node_that_has_too_little_says_what_would_do_and_what_is_free() -> None:
    same = [{"matchAttribute": "d.example/switch", "requests": []}]
    devices = [gpu(n, "s1" if n < 4 else "s2") for n in range(8)]
    taken = [["d.example", "n1", f"gpu-{n}"] for n in (0, 5)]
    found = solved(world(case(claim(asking(count=4), constraints=same), slices=[on_node(*devices)], taken=taken)))
    assert isinstance(found, Refused)
    assert found.problem == ""
    assert found.lack is not None
    assert (found.lack.request, found.lack.wanted) == ("r", 4)
    assert found.lack.matching == tuple(range(8))
    assert found.lack.free == (1, 2, 3, 4, 6, 7)
    assert found.lack.reached == 3


def test_devices_that_nothing_tells_apart_are_not_tried_one_after_the_other() -> None:
    """16 over 4 switches, 5 wanted of one: 4,368 sets of devices, if each were tried."""
    same = [{"matchAttribute": "d.example/switch", "requests": []}]
    devices = [gpu(n, f"s{n % 4}") for n in range(16)]
    facts = case(claim(asking(count=5), constraints=same), slices=[on_node(*devices)])
    found = solved(world(facts), steps=300)
    assert isinstance(found, Refused)
    assert not found.out_of_steps


def test_a_search_that_runs_out_of_steps_is_no_proof_and_says_so() -> None:
    facts = case(claim(asking(count=3)), slices=[on_node(*(gpu(n) for n in range(8)))])
    found = solved(world(facts), steps=2)
    assert isinstance(found, Refused)
    assert found.out_of_steps
    assert "2 steps" in found.problem
    assert isinstance(solved(world(facts), steps=3), tuple)


def test_a_selector_that_fails_for_a_device_refuses_the_node_and_names_the_device() -> None:
    broken = [{"cel": {"expression": "device.attributes['d.example'].model == 'x'"}}]
    facts = case(claim(asking(selectors=broken)), slices=[on_node(gpu(0))])
    found = solved(world(facts))
    assert isinstance(found, Refused)
    assert found.at == 0
    assert found.problem == "request r: selector #0: CEL runtime error: no such key: model"


def test_a_device_that_is_used_is_not_asked() -> None:
    broken = [{"cel": {"expression": "device.attributes['d.example'].model == 'x'"}}]
    devices = [gpu(0), {"name": "good", "attributes": {"model": {"string": "x"}}}]
    taken = [["d.example", "n1", "gpu-0"]]
    found = solved(world(case(claim(asking(selectors=broken)), slices=[on_node(*devices)], taken=taken)))
    assert isinstance(found, tuple)


def test_what_is_found_is_taken_afterwards_and_can_be_given_back() -> None:
    shared = {"allowMultipleAllocations": True, "capacity": {"memory": {"value": "8Gi"}}}
    facts = case(
        claim(asking("part", capacity={"requests": {"memory": "2Gi"}}), asking("whole")),
        slices=[on_node({"name": "a", **shared}, {"name": "b"})],
    )
    found = solved(world(facts))
    assert isinstance(found, tuple)
    key = ("d.example", "n1")
    after = after_giving({}, found[0].devices.results)
    assert after[key].shares == (("a", Shares(1, (("memory", 2 * 2**30 * 10**9),))),)
    assert after[key].devices == {"b"}
    assert after_return(after, found[0].devices.results) == {key: FREE}
