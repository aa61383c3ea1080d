"""Claims that are used, and volumes that are bound, stay."""

from muster.api.resources import PODS
from muster.controllers.volume_objects import CLAIMS, VOLUMES
from tests.controllers.storage import Storage


def bound():
    return Storage().volume().run().claim().run()


def test_a_claim_that_a_pod_with_a_node_names_stays_until_the_pod_is_gone():
    place = bound().pod(node="n").run()
    place.delete(CLAIMS, "data")
    assert place.run(60).get(CLAIMS, "data") is not None
    place.patch(PODS, "p", {"status": {"phase": "Succeeded"}}, subresource="status")
    assert place.run(60).get(CLAIMS, "data") is not None, "a pod that has ended still has its volumes"
    place.vanish(PODS, "p")
    assert place.run().get(CLAIMS, "data") is None
    assert place.volume_phase() == "Released"


def test_a_claim_that_a_pod_without_a_node_names_goes():
    place = bound().pod().run()
    place.delete(CLAIMS, "data")
    assert place.run().get(CLAIMS, "data") is None


def test_a_pod_that_was_not_seen_counts():
    place = bound()
    pod = {"metadata": {"name": "p", "namespace": "team", "uid": "u"}}
    pod["spec"] = {"nodeName": "n", "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}
    place.objects.setdefault(PODS.path(), {})["team/p"] = pod
    place.delete(CLAIMS, "data")
    assert place.run(60).get(CLAIMS, "data") is not None


def test_a_bound_volume_stays_until_its_claim_is_gone():
    place = bound()
    place.delete(VOLUMES, "v")
    assert place.run(60).get(VOLUMES, "v") is not None
    place.delete(CLAIMS, "data")
    assert place.run().get(VOLUMES, "v") is None


def test_a_claim_that_a_pod_brought_along_has_its_owner_and_goes_when_the_pod_has_ended():
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"accessModes": ["ReadWriteOnce"]}}
    place = Storage().pod(volumes=[{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}]).run()
    claim = place.get(CLAIMS, "p-scratch")
    [owner] = claim["metadata"]["ownerReferences"]
    assert owner["uid"] == place.get(PODS, "p")["metadata"]["uid"]
    assert owner["controller"] is owner["blockOwnerDeletion"] is True
    assert claim["metadata"]["labels"] == {"a": "b"}
    assert claim["spec"] == {"accessModes": ["ReadWriteOnce"]}


def test_a_claim_of_that_name_that_is_somebody_elses_is_said_to_be_in_the_way():
    template = {"spec": {"accessModes": ["ReadWriteOnce"]}}
    place = Storage().claim("p-scratch")
    place.pod(volumes=[{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}]).run()
    words = "ephemeral volume scratch: PVC team/p-scratch was not created for pod team/p (pod is not owner)"
    assert ("FailedBinding", words) in place.events
