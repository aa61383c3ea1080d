"""The worlds bite: each fault planted between the engine and the cluster is caught, by a rule that is there for it."""

from itertools import count, islice

import pytest

from tests.system.faults import FAULTS, plant
from tests.system.run import run
from tests.system.world import recipe

# most take a few, see `needs`; so many before it is said that nobody catches it
WORLDS = 200


@pytest.mark.thorough
@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_breaks_a_rule(name, monkeypatch, record_property):
    fault = FAULTS[name]
    plant(name, monkeypatch.setattr)
    broken = set()
    for number, seed in enumerate(islice((s for s in count(fault.first) if fault.needs <= recipe(s).mood), WORLDS), 1):
        rule = run(seed, without=fault.without).rule
        broken.add(rule)
        if rule in fault.rules:
            caught = {f"whole system, planted faults caught: {rule}": 1}
            record_property("simulation", caught | {"whole system, worlds that it took to catch them": number})
            return
    pytest.fail(f"{WORLDS} worlds did not catch it by {fault.rules}, but by {sorted(broken - {''})}")
