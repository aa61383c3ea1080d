"""Plugins that raise at any call, by chance: nothing leaks, nobody else is stopped, and the world comes to rest."""

from itertools import count, islice

import pytest

from muster.engine.deciding import Decider
from muster.engine.engine import Engine
from muster.sim.chaos.recipe import recipe
from muster.sim.chaos.run import run

SEEDS = list(islice((seed for seed in count() if "bugs" in recipe(seed).mood), 60))
# the plain worlds have a hundred of these already, with smaller seeds
OTHERS = list(islice((seed for seed in count(100_000) if "bugs" in recipe(seed).mood), 15))


def test_plugins_that_raise_cost_one_unit_one_attempt(record_property):
    outcomes = [run(seed) for seed in OTHERS]
    assert [(outcome.seed, outcome.violation) for outcome in outcomes if outcome.violation] == []
    record_property("simulation", {"bugs of plugins": sum(outcome.seen["bugs of plugins"] for outcome in outcomes)})


@pytest.mark.thorough
def test_the_worlds_see_an_exception_that_escapes(monkeypatch):
    monkeypatch.setattr(Engine, "_guard", lambda self, key, work, *what: work(*what))
    assert any("PluginBugError" in run(seed).rule for seed in SEEDS)


@pytest.mark.thorough
def test_the_worlds_see_room_that_is_taken_for_a_bind_that_is_never_said(monkeypatch):
    bind, calls = Decider._bind, count(1)

    def forgetful(self, unit, name, binds):
        if next(calls) % 7 == 0:
            raise RuntimeError("after the room was taken")
        bind(self, unit, name, binds)

    monkeypatch.setattr(Decider, "_bind", forgetful)
    assert any(run(seed).rule == "recount" for seed in SEEDS)
