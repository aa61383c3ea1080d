"""The story of all dialects on a real control plane."""

import pytest

from controlplane.nodes import make_nodes
from controlplane.plane import ControlPlane
from muster.base.errors import ApiError
from tests.control_plane.checks import until
from tests.control_plane.conftest import VERSION, Namespaces, needs_native_groups
from tests.control_plane.muster_process import MusterProcess
from tests.dialects.served import make_ready, scenes, tell
from tests.dialects.served_rules import REFUSED, tell_of_a_half, tell_rules

pytestmark = needs_native_groups


@pytest.fixture
def fresh():
    """A plane of its own: others would wonder at the kinds that are served."""
    with ControlPlane(version=VERSION, gates=True, controllers=True) as plane:
        yield plane


def refuse_a_bind(plane):
    """Returns when no pod that is called so can be bound in any namespace."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods/binding"]}
    validation = {"expression": f"request.name != '{REFUSED}'", "message": "unlucky"}
    spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": [validation]}
    binding = {"policyName": "unlucky", "validationActions": ["Deny"]}
    for kind, content in (("policies", spec), ("policybindings", binding)):
        path = f"/apis/admissionregistration.k8s.io/v1/validatingadmission{kind}"
        plane.request("POST", path, {"metadata": {"name": "unlucky"}, "spec": content})
    pods = "/api/v1/namespaces/default/pods"
    one = {"schedulerName": "nobody", "containers": [{"name": "main", "image": "app"}]}
    plane.request("POST", pods, {"metadata": {"name": REFUSED}, "spec": one})

    def is_refused():
        try:
            target = {"kind": "Node", "name": "n0"}
            path = f"{pods}/{REFUSED}/binding?dryRun=All"
            plane.request("POST", path, {"metadata": {"name": REFUSED}, "target": target})
        except ApiError as error:
            return "unlucky" in error.message
        return False

    until(is_refused, "the policy to be in force")


def test_one_story_in_every_dialect_on_a_real_control_plane(fresh, tmp_path):
    make_ready(fresh)
    make_nodes(fresh, 2, cpu="8")
    namespaces = Namespaces()
    told = scenes(fresh, lambda: namespaces.make(fresh))
    refuse_a_bind(fresh)
    with MusterProcess(fresh.kubeconfig(), tmp_path) as muster:
        muster.wait_for("leading")
        tell_of_a_half(told)
        tell(told)
        tell_rules(fresh, told)
        assert muster.stop() == 0, muster.tail()
