"""Devices for claims: found if there are any, and given as the rules have it."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from muster.devices.allocator import Refused
from tests.devices.cases import cases, plain, shown, solved, world, written
from tests.devices.checker import problems, solvable
from tests.devices.worlds import random_world


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
