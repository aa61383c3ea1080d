"""A real control plane for tests: `MUSTER_KUBE=1 pytest tests/control_plane`, or `make test-kube`.

`plane` serves the gang API, `stock` is a cluster as it comes; both have controllers, each is started once, when the
first test asks for it.  Tests share them, so each works in a namespace and on nodes of its own.
"""

import itertools
import os
from pathlib import Path

import pytest

from controlplane import build
from controlplane.kubelet import Kubelets
from controlplane.nodes import delete_nodes, make_nodes
from controlplane.plane import ControlPlane, PlaneError

VERSION = os.environ.get("KUBERNETES") or build.KUBERNETES
HAS_NATIVE_GROUPS = int(VERSION.split(".")[1]) >= 37
needs_native_groups = pytest.mark.skipif(
    not HAS_NATIVE_GROUPS, reason=f"PodGroups of v1beta1 came with Kubernetes 1.37, this is {VERSION}"
)
_HERE = Path(__file__).parent
_numbers = itertools.count(1)


def pytest_ignore_collect(collection_path, config):
    """Only when asked for: it takes programs that take minutes to build."""
    asked = os.environ.get("MUSTER_KUBE") == "1" or any(
        Path(argument.split("::")[0]).absolute().is_relative_to(_HERE) for argument in config.args
    )
    return None if asked else True


@pytest.fixture(scope="session")
def kubernetes_version():
    return VERSION


def _started(**options):
    try:
        with ControlPlane(version=VERSION, **options) as plane:
            yield plane
    except PlaneError as error:
        # one line, once: every test would fail for the same reason
        pytest.exit(str(error), returncode=1)


@pytest.fixture(scope="session")
def plane():
    yield from _started(gates=True, controllers=True)


@pytest.fixture(scope="session")
def stock():
    yield from _started(gates=False, controllers=True)


@pytest.fixture
def breakable():
    """A plane for one test, which may kill parts of it: etcd and a stock API server, no controllers."""
    yield from _started(gates=False)


class Namespaces:
    """Makes namespaces in which pods can be made at once, and removes them with everything in them."""

    def __init__(self):
        self._made = []

    def make(self, plane):
        name = f"test-{next(_numbers)}"
        plane.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        self._made.append((plane, name))
        plane.wait_for_service_account(name)
        return name

    def remove_all(self):
        for plane, name in self._made:
            # bound pods wait for a kubelet's word, which may never come
            pods = f"/api/v1/namespaces/{name}/pods"
            plane.request("DELETE", f"/api/v1/namespaces/{name}")
            plane.request("DELETE", pods, {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0})


@pytest.fixture
def namespaces():
    """`namespaces.make(plane)` for tests that need several, or one in `stock`."""
    namespaces = Namespaces()
    yield namespaces
    namespaces.remove_all()


@pytest.fixture
def namespace(plane, namespaces):
    """The name of a fresh namespace in `plane`."""
    return namespaces.make(plane)


@pytest.fixture
def nodes():
    """`nodes(plane, count, cpu=..., ...)` as `make_nodes`; they are gone after the test."""
    made = []

    def make(plane, count, **options):
        names = make_nodes(plane, count, **options)
        made.append((plane, names))
        return names

    yield make
    for plane, names in made:
        delete_nodes(plane, names)


@pytest.fixture
def kubelets(plane):
    """Stand-ins for the kubelets of `plane`, during the test."""
    with Kubelets(plane) as kubelets:
        yield kubelets
