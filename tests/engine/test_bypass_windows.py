"""Units that are decided in one go pass a gang no more often than one after another."""

import pytest

from tests.builders import World, placements


@pytest.mark.parametrize("nodes", [4, 20])
@pytest.mark.parametrize("earlier", [0, 3])
def test_a_window_of_units_passes_a_gang_no_more_often_than_it_may_be(nodes, earlier):
    world = World()
    for number in range(nodes):
        world.node(f"n{number}", cpu=100).pod(f"wall{number}", cpu=95, on=f"n{number}")
    world.gang("big", members=nodes, cpu=100, created=1.0).decide()
    passed = 0
    for number in range(earlier):
        passed += len(placements(world.pod(f"early{number}", cpu=1, created=2.0).decide()))
    for number in range(8 * nodes):
        world.pod(f"small{number}", cpu=1, created=3.0)
    for _ in range(20):
        passed += len(placements(world.decide()))
        world.bound()
    assert passed == 2 * nodes
