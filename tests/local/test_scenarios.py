"""Every file in scenarios/ holds on the embedded cluster too, and goes as it does in the simulator.

The same stage as for real clusters (tests/control_plane/scenarios), with the driver that `muster run` has.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from muster.api.resources import NATIVE_POD_GROUPS
from muster.sim.scenario.file import load, loads
from muster.sim.scenario.run import run
from tests.control_plane.scenarios.playing import LEAKING, LEAKS, missed, only_simulated, played, story

FILES = sorted((Path(__file__).parents[2] / "scenarios").glob("*.yaml"))


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    """A kubeconfig, and the API that PodGroups are written to; the stage has the scheduler and the kubelets."""
    folder = tmp_path_factory.mktemp("cluster")
    command = [sys.executable, "-m", "tests.local.bare_cluster", str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "up\n"
            yield folder / "kubeconfig", NATIVE_POD_GROUPS[0]
        finally:
            process.stdin.close()


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_scenario_holds_and_goes_as_it_does_in_the_simulator(cluster, file):
    scenario = load(file)
    if reason := only_simulated(scenario):
        pytest.skip(reason)
    result = played(scenario, cluster)
    assert missed(result) == []
    assert story(result) == story(run(scenario))


def test_what_is_kept_for_nobody_is_noticed(cluster):
    assert missed(played(loads(LEAKING, file="x.yaml"), cluster)) == LEAKS
