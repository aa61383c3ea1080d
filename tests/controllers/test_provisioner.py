"""The simulated provisioner: where its volumes are, how long it takes, and how it fails."""

import pytest

from muster.api.calls import Create, Refused
from muster.controllers.provisioner import AFTER, FAILS, NAME, TOPOLOGY
from muster.controllers.volume_objects import CLAIMS, VOLUMES
from tests.controllers.storage import Storage

LATER = "WaitForFirstConsumer"
ZONE = "topology.kubernetes.io/zone"


def made(place, name="data"):
    return place.get(VOLUMES, f"pvc-{place.get(CLAIMS, name)['metadata']['uid']}")


def terms(volume):
    found = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    return [(one["key"], one["values"]) for term in found for one in term["matchExpressions"]]


def test_a_claim_gets_a_volume_of_its_own():
    place = Storage().storage_class().claim(class_name="fast", size="3Gi").run()
    volume = made(place)
    assert (place.phase(), volume["status"]["phase"]) == ("Bound", "Bound")
    assert volume["spec"]["capacity"] == {"storage": "3Gi"}
    assert volume["metadata"]["annotations"] == {"pv.kubernetes.io/provisioned-by": NAME}
    assert "nodeAffinity" not in volume["spec"]
    assert sorted(place.reasons) == ["ExternalProvisioning", "Provisioning", "ProvisioningSucceeded"]


def test_a_claim_that_waits_for_a_pod_gets_one_where_the_scheduler_chose():
    place = Storage().storage_class(mode=LATER, parameters={TOPOLOGY: "node"}).node("n").node("m")
    place.claim(class_name="fast").run(60)
    assert made(place) is None
    place.choose("n").run()
    assert terms(made(place)) == [("kubernetes.io/hostname", ["n"])]
    assert place.phase() == "Bound"


def test_a_volume_may_be_used_in_a_zone():
    place = Storage().storage_class(mode=LATER, parameters={TOPOLOGY: ZONE})
    place.node("n", **{ZONE: "a"}).claim(class_name="fast").choose("n").run()
    assert terms(made(place)) == [(ZONE, ["a"])]


def test_a_volume_that_nobody_chose_a_node_for_is_where_the_class_allows_it():
    allowed = [{"matchLabelExpressions": [{"key": ZONE, "values": ["b"]}]}]
    place = Storage().storage_class(parameters={TOPOLOGY: "node"}, allowedTopologies=allowed)
    place.node("a", **{ZONE: "a"}).node("b", **{ZONE: "b"}).claim(class_name="fast").run()
    assert terms(made(place)) == [("kubernetes.io/hostname", ["b"])]


def test_it_takes_as_long_as_it_is_told():
    place = Storage().storage_class(parameters={AFTER: "1m30s"}).claim(class_name="fast").run(89)
    assert place.phase() == "Pending"
    assert place.run(2).phase() == "Bound"


def test_a_claim_says_otherwise_than_its_class():
    place = Storage().storage_class(parameters={AFTER: "1h"})
    assert place.claim(class_name="fast", annotations={AFTER: "1s"}).run(1).phase() == "Bound"


def test_it_fails_as_often_as_it_is_told_and_has_the_scheduler_choose_again():
    place = Storage().storage_class(mode=LATER).node("n").claim(class_name="fast", annotations={FAILS: "2"})
    for number in (1, 2):
        place.choose("n").run(10)
        notes = place.get(CLAIMS, "data")["metadata"]["annotations"]
        assert "volume.kubernetes.io/selected-node" not in notes
        assert notes["muster.dev/provision-failures"] == str(number)
        assert place.reasons.count("ProvisioningFailed") == number
        # another process counts on
        place.begin()
    assert place.choose("n").run(10).phase() == "Bound"


def test_where_nobody_chooses_it_tries_again_itself():
    place = Storage().storage_class(parameters={FAILS: "3"}).claim(class_name="fast").run(60)
    assert place.reasons.count("ProvisioningFailed") == 3
    assert place.phase() == "Bound"


@pytest.mark.parametrize(("fails", "said"), [("always", True), ("never-answers", False)])
def test_it_may_never_succeed(fails, said):
    place = Storage().storage_class(parameters={FAILS: fails}).claim(class_name="fast").run(3600)
    assert place.phase() == "Pending"
    assert ("ProvisioningFailed" in place.reasons) is said


def test_a_volume_that_was_released_is_deleted_or_kept():
    for policy, left in (("Delete", 0), ("Retain", 1)):
        place = Storage().storage_class(policy=policy).claim(class_name="fast").run()
        place.delete(CLAIMS, "data")
        assert len(place.run().all(VOLUMES)) == left


def test_volumes_of_others_are_left_alone():
    place = Storage().storage_class(provisioner="other.example.com").claim(class_name="fast").run()
    assert place.all(VOLUMES) == []
    assert place.reasons == ["ExternalProvisioning"]


def test_a_volume_that_the_server_refuses_is_a_failure():
    place = Storage().storage_class().claim(class_name="fast")
    place.answer = lambda call: Refused(code=422, message="no such driver") if isinstance(call, Create) else None
    place.run(5)
    words = 'failed to provision volume with StorageClass "fast": no such driver'
    assert ("ProvisioningFailed", words) in place.events
    place.answer = None
    assert place.run(60).phase() == "Bound"


def test_a_claim_that_is_deleted_before_its_time_leaves_no_volume():
    place = Storage().storage_class(parameters={AFTER: "1m"}).claim(class_name="fast").run(30)
    place.delete(CLAIMS, "data")
    assert place.run(3600).all(VOLUMES) == []
