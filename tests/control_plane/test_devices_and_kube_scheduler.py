"""Muster decides about devices as the real kube-scheduler does: same nodes, same words, same devices on the same node.

MUSTER_WORLDS=300 for more worlds than usual, MUSTER_FIRST_WORLD=1000 for others.
"""

import os
from collections import Counter

import pytest

from controlplane.plane import ControlPlane
from tests.control_plane.conftest import VERSION
from tests.control_plane.devices_one_by_one import DevicesOneByOne
from tests.plain_scheduler.device_duel import DeviceDuel
from tests.plain_scheduler.random_clusters import GATES, world
from tests.plain_scheduler.random_devices import equipped, equipped_surroundings

pytestmark = pytest.mark.skipif(not VERSION.startswith("1.37."), reason="messages and scores are those of 1.37")

WORLDS = int(os.environ.get("MUSTER_WORLDS", "50"))
FIRST = int(os.environ.get("MUSTER_FIRST_WORLD", "1"))


@pytest.fixture(scope="module")
def real():
    # without controllers: who gives claims back, and makes those of templates, is played
    with ControlPlane(version=VERSION, gates=GATES) as plane, DevicesOneByOne(plane, equipped_surroundings()) as real:
        yield real


def test_muster_decides_about_devices_as_the_real_one_does(real):
    seen, differences = Counter(), []
    for seed in range(FIRST, FIRST + WORLDS):
        duel = DeviceDuel(real, equipped(world(seed), errors=seed % 3 == 0))
        duel.run()
        real.remove()
        seen += duel.seen
        differences += duel.differences

    assert differences == []
    assert seen["pods"] >= 10 * WORLDS
    assert seen["placed"] > 3 * WORLDS
    assert seen["on the same node"] > WORLDS
    assert seen["cannot allocate all claims"] > 2 * WORLDS
    assert seen["not available on the node"] > WORLDS // 8
    assert seen["invalid resource pools"] > WORLDS // 8
    assert seen["given up on"] > WORLDS // 8
    assert seen["ended"] > WORLDS // 2
