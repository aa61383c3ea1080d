"""The whole system in hundreds of random worlds in which every rule holds.

A failing world is told with the command that replays it.  More of them, from a first seed on:
MUSTER_WORLDS=5000 MUSTER_FIRST_WORLD=100000 pytest tests/system/test_system.py -n 2
"""

import os
import subprocess
import sys

import pytest

from tests.system.run import run, run_worlds

FIRST = int(os.environ.get("MUSTER_FIRST_WORLD", "0"))
# about a minute on two cores
WORLDS = int(os.environ.get("MUSTER_WORLDS", "500"))
PER_TEST = 25


@pytest.mark.parametrize("first", range(FIRST, FIRST + WORLDS, PER_TEST))
def test_no_rule_is_broken(first, record_property):
    seen, failures = run_worlds(range(first, min(first + PER_TEST, FIRST + WORLDS)))
    record_property("simulation", {f"whole system, {name}": number for name, number in seen.items()})
    assert not failures, "\n".join(["", *failures])


def test_the_same_seed_tells_the_same_story_in_any_process():
    seeds = range(300, 304)
    printed = [
        subprocess.run(
            [sys.executable, "-m", "tests.system", "--digest", *map(str, seeds)],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout.split()
        for hash_seed in ("1", "4242")
    ]
    assert printed == [[run(seed).digest for seed in seeds]] * 2
