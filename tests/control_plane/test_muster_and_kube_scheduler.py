"""Muster decides as the real kube-scheduler does: same nodes, same scores, same words, same victims.

MUSTER_WORLDS=1700 for more worlds than usual, MUSTER_FIRST_WORLD=1000 for others.
"""

import os
from collections import Counter

import pytest

from controlplane.plane import ControlPlane
from tests.control_plane.conftest import VERSION
from tests.control_plane.one_by_one import OneByOne
from tests.plain_scheduler.duel import Duel
from tests.plain_scheduler.random_clusters import GATES, world
from tests.plain_scheduler.random_priorities import ranked, ranked_surroundings

pytestmark = pytest.mark.skipif(not VERSION.startswith("1.37."), reason="messages and scores are those of 1.37")

WORLDS = int(os.environ.get("MUSTER_WORLDS", "100"))
FIRST = int(os.environ.get("MUSTER_FIRST_WORLD", "1"))
KEPT = {
    5471: "one of two that have a port may have to go",
    6131: "one that waits keeps another off its node",
    10856: "one of two that have a port has ended: words",
    15348: "one of two that have a port has ended: nodes",
}
"""Worlds in which they differed once, and what it was about."""


@pytest.fixture(scope="module")
def real():
    # without controllers: nobody makes pods for the owners that lie there, or reckons what budgets allow
    with ControlPlane(version=VERSION, gates=GATES) as plane, OneByOne(plane, ranked_surroundings()) as real:
        yield real


def test_muster_decides_as_the_real_one_does(real):
    seen, differences = told(real, range(FIRST, FIRST + WORLDS))

    assert differences == []
    assert seen["pods"] == 12 * WORLDS
    assert seen["placed"] > 4 * WORLDS
    assert seen["refused"] > WORLDS
    assert seen["evicting"] > WORLDS // 5
    assert seen["beside one that waits"] > WORLDS // 10
    assert seen["landed"] > WORLDS // 10


def test_and_in_worlds_in_which_it_did_not_once(real):
    seen, differences = told(real, KEPT)

    assert differences == []
    assert seen["pods"] == 12 * len(KEPT)


def told(real, seeds):
    """How many there were of what, and the differences."""
    seen, differences = Counter(), []
    for seed in seeds:
        duel = Duel(real, ranked(world(seed)) if seed % 2 else world(seed))
        duel.run()
        real.remove()
        seen += duel.seen
        differences += duel.differences
    return seen, differences
