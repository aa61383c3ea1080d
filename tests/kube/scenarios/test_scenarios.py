"""Every file in scenarios/ holds on a real API server too, with the driver that `muster run` has.

Once with Kubernetes' own PodGroups, once on a cluster as it comes with Muster's.
"""

from pathlib import Path

import pytest

from muster.kube.resources import CUSTOM_POD_GROUPS, NATIVE_POD_GROUPS
from muster.sim.scenario.file import load
from muster.sim.scenario.run import play
from tests.kube.conftest import VERSION
from tests.kube.scenarios.stage import KubeStage

ROOT = Path(__file__).parents[3]
FILES = sorted((ROOT / "scenarios").glob("*.yaml"))


@pytest.fixture(scope="module", params=["native", "custom"])
def cluster(request):
    """A kubeconfig, and the API that PodGroups are written to."""
    if request.param == "native":
        if not VERSION.startswith("1.37"):
            pytest.skip("v1beta1 came with 1.37")
        return request.getfixturevalue("plane").kubeconfig(), NATIVE_POD_GROUPS[0]
    stock = request.getfixturevalue("stock")
    stock.kubectl("apply", "-k", str(ROOT / "deploy" / "crds"))
    stock.kubectl("wait", "--for=condition=Established", "crd/podgroups.muster.dev", "--timeout=30s")
    return stock.kubeconfig(), CUSTOM_POD_GROUPS[0]


def played(scenario, cluster):
    kubeconfig, groups = cluster
    with KubeStage(kubeconfig, groups=groups, strategy=scenario.strategy) as stage:
        return play(scenario, stage, perform=stage.perform)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_scenario_holds(cluster, file):
    result = played(load(file), cluster)
    assert [str(check) for check in result.expectations if not check.held] == []
