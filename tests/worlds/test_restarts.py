"""The scheduler dies at every single point between a decision and its acknowledgement, one run for each."""

import pytest

from muster.sim.chaos.recipe import recipe
from muster.sim.chaos.run import dying_at, run

POINTS = 60


def short_world(first):
    """The next seed whose binds are slow or fail, with a life of few points, and how many."""
    for seed in range(first, first + 1000):
        if {"slow", "transient"} <= recipe(seed).mood:
            points = run(seed, dying_at(POINTS)).world.points
            if POINTS // 2 < points < POINTS:
                return seed, points
    raise AssertionError("no such world")


# each is such a world: others are looked for only when it is one no longer
@pytest.mark.parametrize("first", [88, 1133, 2194, 3024])
def test_no_rule_is_broken_wherever_the_scheduler_dies(first, record_property):
    seed, points = short_world(first)
    for point in range(1, points + 1):
        outcome = run(seed, dying_at(point))
        replay = f".venv/bin/python -m muster.sim.chaos {seed} --die-at {point}"
        assert not outcome.violation, f"{seed=} {point=} failed: {outcome.violation}; replay: {replay}"
    record_property("simulation", {"runs that died at one point, every point in turn": points})
