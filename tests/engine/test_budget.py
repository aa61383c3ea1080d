"""A budget of work: decide stops when it is spent and goes on in the next call."""

import pytest

from tests.builders import cluster


def crowd():
    """More units of all kinds than there is room for."""
    world = cluster(6, cpu=4)
    for number in range(12):
        world.gang(f"g{number}", members=3, minimum=2, cpu=1, priority=number % 3)
        world.pod(f"p{number}", cpu=1, priority=number % 2)
        world.pod(f"q{number}", cpu=3, memory="1Gi", preferred={"zone=a": 1})
    return world


def in_slices(world, budget):
    decisions, calls = [], 0
    while True:
        decisions += world.decide(budget=budget)
        calls += 1
        due = world.engine.next_decide_at
        if due is None or due > world.now:
            return decisions, calls


@pytest.mark.parametrize("budget", [1, 50, 500])
def test_small_budgets_decide_the_same_in_more_calls(budget):
    whole, calls = in_slices(crowd(), 10**9)
    assert calls == 1
    sliced, calls = in_slices(crowd(), budget)
    assert calls > 1
    assert sliced == whole


def test_there_is_something_to_decide_at_once_while_work_is_left():
    world = crowd()
    world.decide(budget=1)
    assert world.engine.next_decide_at == world.now


def test_a_gang_is_never_cut_short():
    world = cluster(4).gang("g", members=100)
    (bind, *_) = world.decide(budget=1)
    assert len(bind.pods) == 100


def test_changes_that_come_between_two_calls_are_taken_in():
    world = crowd()
    world.decide(budget=1)
    world.pod("urgent", cpu=1, priority=100)
    (bind, *_) = world.decide(budget=1)
    assert bind.unit == "team/urgent"
