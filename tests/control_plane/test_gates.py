"""kube-apiserver with the gate GenericWorkload on, off and on again: the embedded API was made like it."""

from controlplane.plane import ControlPlane
from tests.control_plane.conftest import VERSION, needs_native_groups
from tests.local.test_switches import GROUP, GROUPS, KINDS, NOT_SERVED, WORKLOAD, WORKLOADS, document, fields

pytestmark = needs_native_groups

SERVED = "--runtime-config=scheduling.k8s.io/v1beta1=true,scheduling.k8s.io/v1alpha3=true"


def said(answer):
    meta = {key: value for key, value in answer["metadata"].items() if key != "managedFields"}
    return fields(answer | {"metadata": meta})


def test_a_gate_that_goes_off_and_on_again(tmp_path):
    folder = tmp_path / "plane"
    with ControlPlane(version=VERSION, folder=folder) as plane:
        groups = [plane.request("POST", GROUPS, GROUP), plane.request("POST", WORKLOADS, WORKLOAD)]
        old = {where: said(plane.request("POST", where, document(where, "old"))) for where in KINDS}
        assert all(old.values())
    with ControlPlane(version=VERSION, folder=folder, gates=False, extra_apiserver_flags=[SERVED]) as plane:
        for method, path, body in (("GET", GROUPS, None), ("POST", GROUPS, GROUP), ("GET", f"{WORKLOADS}/w", None)):
            code, answer = plane.exchange(method, path, body)
            assert (code, answer.get("message")) == (404, NOT_SERVED)
        versions = plane.request("GET", "/apis/scheduling.k8s.io")["versions"]
        assert [one["version"] for one in versions] == ["v1"]
        for where in KINDS:
            assert not said(plane.request("POST", where, document(where, "new"))), where
            kept = plane.request("GET", f"{where}/old")
            kept["metadata"]["labels"] = {"x": "y"}
            assert said(plane.request("PUT", f"{where}/old", kept)) == old[where]
    with ControlPlane(version=VERSION, folder=folder) as plane:
        assert [plane.request("GET", f"{GROUPS}/g"), plane.request("GET", f"{WORKLOADS}/w")] == groups
