"""The worlds bite: each fault planted in the engine is caught, by the rule that is there for it."""

import os
import subprocess
import sys
from itertools import count, islice

import pytest

from muster.engine.decisions import Bind
from muster.sim.chaos.recipe import recipe
from muster.sim.chaos.run import Variation, run
from tests.simulation.faults import FAULTS, plant

WORLDS = 60
OTHERS = ("order of reading", "hashes")


def worlds(name):
    """Seeds of the first worlds that can show the fault."""
    able = (seed for seed in count() if FAULTS[name].needs <= recipe(seed).mood)
    return list(islice(able, WORLDS))


@pytest.mark.parametrize("name", [name for name, fault in FAULTS.items() if fault.rule not in OTHERS])
def test_a_planted_fault_breaks_its_rule(name, monkeypatch, record_property):
    rule = FAULTS[name].rule
    seeds = worlds(name)
    plant(name, monkeypatch.setattr)
    # else the recount sees nearly everything first, and the other rules are never put to the test
    variation = Variation(recount=rule == "recount")
    broken = set()
    for seed in seeds:
        broken.add(run(seed, variation).rule)
        if rule in broken:
            record_property("simulation", {f"planted faults caught: {rule}": 1})
            return
    pytest.fail(f"{WORLDS} worlds did not catch it by {rule!r}, but by {sorted(broken - {''})}")


def test_a_dependence_on_the_order_of_reading_is_caught(monkeypatch, record_property):
    name = "equal_nodes_are_told_apart_by_row"
    seeds = worlds(name)
    plant(name, monkeypatch.setattr)
    one, other = Variation(recount=False), Variation(recount=False, shuffle=1)
    assert any(run(seed, one).digest(Bind) != run(seed, other).digest(Bind) for seed in seeds)
    record_property("simulation", {"planted faults caught: order of reading": 1})


def test_a_dependence_on_hashes_is_caught(record_property):
    code = (
        "from tests.simulation.faults import plant; from muster.sim.chaos.run import run;"
        "plant('members_are_placed_in_the_order_of_their_hashes', setattr);"
        "print([run(seed).digest() for seed in range(5)])"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.getcwd()},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for hash_seed in ("1", "2")
    }
    assert len(printed) == 2
    record_property("simulation", {"planted faults caught: hashes": 1})
