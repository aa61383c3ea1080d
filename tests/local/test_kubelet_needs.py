"""Pods wait for their volumes and devices before they run, and people learn for what."""

from muster.api.wire import read
from muster.local.kubelets import ResourceClaim, VolumeClaim
from tests.local.test_kubelets import World

VOLUME = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "c"}}]}
BROUGHT = {"volumes": [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {}}}]}
DEVICES = {"resourceClaims": [{"name": "gpu", "resourceClaimName": "c"}]}


class Place(World):
    def claim(self, name="c", *, phase="Bound", **metadata):
        meta = {"name": name, "namespace": "team", "uid": f"uid-{name}", **metadata}
        spec = {"volumeName": "v"} if phase == "Bound" else {}
        self.kubelets.seen("", read(VolumeClaim, {"metadata": meta, "spec": spec, "status": {"phase": phase}}))
        return self

    def devices(self, name="c", *users):
        meta = {"name": name, "namespace": "team", "uid": f"uid-{name}"}
        status = {"allocation": {"devices": {}}, "reservedFor": list(users)} if users else {}
        self.kubelets.seen("", read(ResourceClaim, {"metadata": meta, "status": status}))
        return self

    def restart(self):
        super().restart()
        return self

    @property
    def phase(self):
        return self.status()["phase"]


def test_a_pod_whose_claim_is_bound_runs():
    assert Place().node().claim().pod(**VOLUME).run().phase == "Running"


def test_a_pod_waits_for_its_claim_and_runs_once_it_is_bound():
    place = Place().node().claim(phase="Pending").pod(**VOLUME).run(60)
    assert place.phase == "Pending"
    [container] = place.status()["containerStatuses"]
    assert container["state"] == {"waiting": {"reason": "ContainerCreating"}}
    assert place.conditions()["Ready"] == "False ContainersNotReady"
    assert place.events == []
    assert place.claim().run().phase == "Running"


def test_people_learn_after_a_while_which_volume_is_missing():
    place = Place().node().claim(phase="Pending").pod(**VOLUME).run(600)
    [(reason, message)] = place.events
    assert reason == "FailedMount"
    assert message.endswith("failed to process volumes=[data]: error processing PVC team/c: PVC is not bound")


def test_a_claim_that_is_not_there_or_goes_is_none():
    assert Place().node().pod(**VOLUME).run(60).phase == "Pending"
    leaving = {"deletionTimestamp": "2027-01-15T08:00:00Z"}
    assert Place().node().claim(**leaving).pod(**VOLUME).run(60).phase == "Pending"


def test_a_volume_that_a_pod_brings_along_has_a_claim_of_both_names():
    place = Place().node().pod(**BROUGHT).run(60)
    assert place.phase == "Pending"
    assert place.claim("p-scratch").run().phase == "Running"


def test_a_pod_waits_until_its_devices_are_reserved_for_it():
    place = Place().node().devices().pod(**DEVICES).run(60)
    assert place.phase == "Pending"
    words = "pod p (uid-p) is not allowed to use ResourceClaim c (uid-c)"
    said = f"Failed to prepare dynamic resources: prepare dynamic resources: {words}"
    assert place.events == [("FailedPrepareDynamicResources", said)]
    assert place.devices("c", {"resource": "pods", "name": "q", "uid": "uid-q"}).run(60).phase == "Pending"
    assert place.devices("c", {"resource": "pods", "name": "p", "uid": "uid-p"}).run().phase == "Running"


def test_what_is_reserved_for_its_group_is_reserved_for_a_pod():
    user = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "g", "uid": "uid-g"}
    place = Place().node().devices("c", user).pod(schedulingGroup={"podGroupName": "g"}, **DEVICES)
    assert place.run().phase == "Running"


def test_a_pod_that_waits_keeps_its_room_and_other_kubelets_know_it():
    place = Place().node(cpu="8").pod(cpu=6, **VOLUME).run()
    place.restart()
    place.pod("q", cpu=6).run()
    assert place.status("q")["reason"] == "OutOfcpu"
    assert place.claim().run().phase == "Running"


def test_a_pod_that_waits_can_be_deleted():
    place = Place().node().pod(**VOLUME).run()
    place.delete().run()
    assert "p" not in place.pods
