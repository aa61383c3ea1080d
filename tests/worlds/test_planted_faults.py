"""The worlds bite: each fault planted in the engine is caught, by the rule that is there for it."""

import ast
import os
import subprocess
import sys
from itertools import count, islice
from pathlib import Path

import pytest

import muster.sim
from muster.engine.decisions import Bind
from muster.sim.chaos.recipe import recipe
from muster.sim.chaos.run import Variation, run
from tests.worlds.faults import FAULTS, plant

# most take a few, see `needs`; so many before it is said that nobody catches it
WORLDS = 400
OTHERS = ("order of reading", "hashes")
# troubles that hide much of what others show
LATELY = frozenset({"ties", "services"})


def worlds(name):
    """Seeds of the first worlds that can show the fault."""
    fault = FAULTS[name]
    able = (seed for seed in count(fault.first) if fault.needs <= recipe(seed, but=LATELY - fault.needs).mood)
    return islice(able, WORLDS)


@pytest.mark.thorough
@pytest.mark.parametrize("name", [name for name, fault in FAULTS.items() if fault.rule not in OTHERS])
def test_a_planted_fault_breaks_its_rule(name, monkeypatch, record_property):
    rule = FAULTS[name].rule
    plant(name, monkeypatch.setattr)
    # else what looks into the engine sees nearly everything first, and the other rules are never put to the test
    variation = Variation(recount=rule in ("recount", "life"), but=LATELY - FAULTS[name].needs)
    broken = set()
    for number, seed in enumerate(worlds(name), 1):
        broken.add(run(seed, variation).rule)
        if rule in broken:
            caught = {f"planted faults caught: {rule}": 1, "worlds that it took to catch planted faults": number}
            record_property("simulation", caught)
            return
    pytest.fail(f"{WORLDS} worlds did not catch it by {rule!r}, but by {sorted(broken - {''})}")


def test_every_rule_has_a_fault():
    rules = {rule for path in Path(muster.sim.__path__[0]).rglob("*.py") for rule in rules_of(path)}
    assert rules - {fault.rule for fault in FAULTS.values()} == set()


def rules_of(path):
    """Names of the rules that a module says are broken."""
    tree = ast.parse(path.read_text())
    constants = {
        node.targets[0].id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "BrokenRuleError":
            name = node.args[0]
            yield name.value if isinstance(name, ast.Constant) else constants[name.id]


@pytest.mark.thorough
def test_a_dependence_on_the_order_of_reading_is_caught(monkeypatch, record_property):
    name = "equal_nodes_are_told_apart_by_row"
    plant(name, monkeypatch.setattr)
    one, other = Variation(recount=False), Variation(recount=False, shuffle=1)
    assert any(run(seed, one).digest(Bind) != run(seed, other).digest(Bind) for seed in worlds(name))
    record_property("simulation", {"planted faults caught: order of reading": 1})


@pytest.mark.thorough
def test_a_dependence_on_hashes_is_caught(record_property):
    code = (
        "from tests.worlds.faults import plant; from muster.sim.chaos.run import run;"
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
