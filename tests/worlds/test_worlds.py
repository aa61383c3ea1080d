"""Thousands of random worlds in which every rule holds.

A failing world is told with the command that replays it.  More of them, from a first seed on:
MUSTER_WORLDS=20000 MUSTER_FIRST_WORLD=100000 pytest tests/worlds/test_worlds.py -n 2
"""

import os

import pytest

from muster.sim.chaos.run import run_worlds

FIRST = int(os.environ.get("MUSTER_FIRST_WORLD", "0"))
WORLDS = int(os.environ.get("MUSTER_WORLDS", "2400"))
PER_TEST = 60
# so many on every change; the others with `make test-worlds`
AT_ONCE = 480


def _batches():
    for first in range(FIRST, FIRST + WORLDS, PER_TEST):
        yield pytest.param(first, marks=[pytest.mark.thorough] if first - FIRST >= AT_ONCE else [])


@pytest.mark.parametrize("first", list(_batches()))
def test_no_rule_is_broken(first, record_property):
    seen, failures = run_worlds(range(first, min(first + PER_TEST, FIRST + WORLDS)))
    record_property("simulation", dict(seen))
    assert not failures, "\n".join(["", *failures])
