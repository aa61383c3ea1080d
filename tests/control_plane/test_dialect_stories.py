"""The story of all dialects on a real control plane."""

import pytest

from controlplane.nodes import make_nodes
from controlplane.plane import ControlPlane
from tests.control_plane.conftest import VERSION, Namespaces, needs_native_groups
from tests.control_plane.muster_process import MusterProcess
from tests.dialects.served import make_ready, scenes, tell

pytestmark = needs_native_groups


@pytest.fixture
def fresh():
    """A plane of its own: others would wonder at the kinds that are served."""
    with ControlPlane(version=VERSION, gates=True, controllers=True) as plane:
        yield plane


def test_one_story_in_every_dialect_on_a_real_control_plane(fresh, tmp_path):
    make_ready(fresh)
    make_nodes(fresh, 2, cpu="8")
    namespaces = Namespaces()
    told = scenes(fresh, lambda: namespaces.make(fresh))
    with MusterProcess(fresh.kubeconfig(), tmp_path) as muster:
        muster.wait_for("leading")
        tell(told)
        assert muster.stop() == 0, muster.tail()
