"""What every cluster has is made again if somebody deletes it, as Kubernetes does within a minute."""

import pytest

from tests.local.serving import Served

LEASES = "/api/v1/namespaces/kube-node-lease"
SERVICE = "/api/v1/namespaces/default/services/kubernetes"


def delete_namespace(served, path):
    served.ask("DELETE", path)
    finalizing = served.get(path) | {"spec": {"finalizers": []}}
    served.ask("PUT", f"{path}/finalize", finalizing)


@pytest.mark.parametrize("path", [LEASES, SERVICE])
def test_it_is_made_again(path):
    served = Served()
    if path is LEASES:
        delete_namespace(served, path)
    else:
        served.ask("DELETE", path)
    assert served.answer("GET", path).code == 404
    served.server.pass_time()
    assert served.get(path)["metadata"]["name"] == path.rpartition("/")[2]


def test_what_is_there_stays_as_it_is():
    served = Served()
    before = served.merge(LEASES, {"metadata": {"labels": {"a": "b"}}})
    served.server.pass_time()
    assert served.get(LEASES) == before


def test_one_whose_address_somebody_has_is_not_made_again_and_all_else_goes_on():
    served = Served()
    address = served.get(SERVICE)["spec"]["clusterIP"]
    served.ask("DELETE", SERVICE)
    other = {"metadata": {"name": "other"}, "spec": {"clusterIP": address, "ports": [{"port": 1}]}}
    served.create(SERVICE.rpartition("/")[0], other)
    served.server.pass_time()
    assert served.answer("GET", SERVICE).code == 404
    assert Served(served.store).answer("GET", SERVICE).code == 404
