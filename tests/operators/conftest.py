"""Operators as their projects publish them, on a real control plane: `make test-operators`.

One operator runs at a time, started once for all tests that ask for it.  The cluster is a stock one, whose kubelets are
stand-ins; Muster has the rights of deploy/base/rbac.yaml and no more.
"""

from pathlib import Path

import pytest

from controlplane.plane import PlaneError
from tests.control_plane.conftest import Namespaces, nodes
from tests.control_plane.stage import fragile_plane
from tests.local.processes import Up
from tests.operators.little import LittleCluster
from tests.operators.operators import OPERATORS, bring_definitions
from tests.operators.site import Site

__all__ = ["nodes"]

_HERE = Path(__file__).parent


def pytest_ignore_collect(collection_path, config):
    """Only when asked for: it takes programs that take minutes to build."""
    asked = any(Path(argument.split("::")[0]).absolute().is_relative_to(_HERE) for argument in config.args)
    return None if asked else True


@pytest.fixture(scope="session")
def plane(tmp_path_factory):
    try:
        with fragile_plane(tmp_path_factory.mktemp("record"), gates=False) as plane:
            bring_definitions(plane)
            yield plane
    except PlaneError as error:
        # one line, once: every test would fail for the same reason
        pytest.exit(str(error), returncode=1)


@pytest.fixture(scope="session")
def little(tmp_path_factory):
    """`muster up` with four nodes for one pod each, and the kinds as the projects define them."""
    folder = tmp_path_factory.mktemp("up")
    with Up(folder / "cluster", "--ephemeral", "--port=0", "--nodes=4", "--node-cpu=1") as up:
        cluster = LittleCluster(up.kubeconfig, folder)
        bring_definitions(cluster)
        yield cluster


@pytest.fixture(scope="session", params=OPERATORS)
def operator(request, tmp_path_factory):
    """The operator of that name, on `plane` or, where the name says so, on `little`."""
    name, _, place = request.param.partition(" on ")
    cluster = request.getfixturevalue(place or "plane")
    with OPERATORS[name].running(cluster, tmp_path_factory.mktemp(name)):
        yield OPERATORS[name]


@pytest.fixture
def site(operator, plane, nodes, tmp_path):
    """Empty before its nodes go: pods on a node that is not there are nobody's for 40 s."""
    namespaces = Namespaces()
    with Site(plane, namespaces.make(plane), tmp_path, operator) as site:
        yield site
        # before Muster ends, which lets groups go
        site.remove_jobs()
    namespaces.remove_all()
