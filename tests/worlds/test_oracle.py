"""The oracle itself, against trying every pod on every node."""

from itertools import product
from random import Random

import pytest

from muster.sim.oracle import most_placed
from muster.sim.plain import Needs, Place, fits, take


def needs(cpu, memory=0, ports=()):
    asked = {"cpu": cpu, "memory": memory, "pods": 1}
    requests = tuple((name, count) for name, count in asked.items() if count)
    return Needs(requests, tuple(("TCP", port, "0.0.0.0") for port in ports), b"")


def place(cpu, memory=0, pods=10):
    return Place({"cpu": cpu, "memory": memory, "pods": pods}, [])


def by_trying_everything(wanted, offered):
    pods = [kind for kind, count in wanted.items() for _ in range(count)]
    best = 0
    for choice in product(range(-1, len(offered)), repeat=len(pods)):
        places = [Place(dict(found.room), list(found.ports)) for found, _ in offered]
        placed = 0
        for pod, where in zip(pods, choice, strict=True):
            if where >= 0 and pod in offered[where][1] and fits(pod, places[where]):
                take(pod, places[where])
                placed += 1
        best = max(best, placed)
    return best


def test_it_finds_what_trying_largest_first_misses():
    wide, tall = needs(3, 1), needs(1, 5)
    everywhere = [wide, tall]
    assert most_placed({wide: 1, tall: 1}, [(place(4, 5), everywhere), (place(4, 1), everywhere)]) == 2


def test_a_host_port_is_taken_once_per_node():
    web = needs(1, ports=(80,))
    assert most_placed({web: 3}, [(place(8), [web]), (place(8), [web])]) == 2


def test_a_node_that_does_not_admit_a_pod_takes_none():
    one, other = needs(1), needs(2)
    assert most_placed({one: 2, other: 2}, [(place(9), [one])]) == 2


def test_a_search_that_would_take_too_long_is_not_made():
    kinds = [needs(1, memory) for memory in range(1, 9)]
    assert most_placed(dict.fromkeys(kinds, 9), [(place(99, 999, 99), kinds)] * 3) is None


@pytest.mark.parametrize("seed", range(60))
def test_it_agrees_with_trying_everything(seed):
    rng = Random(seed)
    kinds = [needs(rng.randint(1, 3), rng.randint(1, 3), (80,) * rng.randint(0, 1)) for _ in range(rng.randint(1, 3))]
    wanted = {kind: rng.randint(1, 2) for kind in kinds}
    offered = [
        (place(rng.randint(1, 5), rng.randint(1, 5), rng.randint(1, 3)), [k for k in wanted if rng.random() < 0.8])
        for _ in range(rng.randint(1, 3))
    ]
    assert most_placed(wanted, offered) == by_trying_everything(wanted, offered)
