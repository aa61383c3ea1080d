"""Claims for devices are made, reserved and taken back as kube-controller-manager does it."""

import itertools

import pytest

from muster.api.resources import NODES, PODS
from muster.controllers.device_objects import (
    CLAIM_TEMPLATES,
    DEVICE_CLASSES,
    FINALIZER,
    MADE_FOR,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    ClaimTemplate,
    ResourceClaim,
)
from muster.controllers.devices import Devices
from muster.controllers.objects import POD_GROUPS, Bare, Node, Pod, PodGroup
from muster.controllers.resource_claims import ResourceClaims
from tests.controllers.world import World

ENTRY = {"name": "gpu", "resourceClaimTemplateName": "t"}
SHARED = {"name": "gpu", "resourceClaimName": "shared"}
ALLOCATED = {"devices": {"results": []}}


class Place(World):
    def __init__(self):
        super().__init__()
        self._suffixes = itertools.count()
        self.begin()

    def begin(self):
        self.cores = []
        core = ResourceClaims(names=lambda: f"{next(self._suffixes):05}")
        kinds = {RESOURCE_CLAIMS: ResourceClaim, CLAIM_TEMPLATES: ClaimTemplate, PODS: Pod, POD_GROUPS: PodGroup}
        self.attach(core, kinds)
        return self

    def template(self, name="t", **metadata):
        spec = {"metadata": metadata, "spec": {"devices": {"requests": [{"name": "gpu"}]}}}
        self.create(CLAIM_TEMPLATES, {"metadata": {"name": name}, "spec": spec})
        return self

    def pod(self, name="p", *entries, node="", group="", phase="Pending"):
        spec = {"resourceClaims": list(entries or [ENTRY])}
        spec |= {"nodeName": node} if node else {}
        spec |= {"schedulingGroup": {"podGroupName": group}} if group else {}
        self.create(PODS, {"metadata": {"name": name}, "spec": spec, "status": {"phase": phase}})
        return self

    def group(self, *entries):
        self.create(POD_GROUPS, {"metadata": {"name": "g"}, "spec": {"resourceClaims": list(entries)}, "status": {}})
        return self

    def shared(self, *pods, allocated=True):
        users = [{"resource": "pods", "name": one, "uid": self.uid(one)} for one in pods]
        status = {"reservedFor": users, **({"allocation": ALLOCATED} if allocated else {})}
        meta = {"name": "shared", "finalizers": [FINALIZER]}
        self.create(RESOURCE_CLAIMS, {"metadata": meta, "spec": {}, "status": status})
        return self

    def allocate(self, name, *pods):
        self.patch(RESOURCE_CLAIMS, name, {"metadata": {"finalizers": [FINALIZER]}})
        users = [{"resource": "pods", "name": one, "uid": self.uid(one)} for one in pods]
        status = {"status": {"allocation": ALLOCATED, "reservedFor": users}}
        self.patch(RESOURCE_CLAIMS, name, status, subresource="status")
        return self

    def uid(self, name, resource=PODS):
        return self.get(resource, name)["metadata"]["uid"]

    def end(self, name="p", phase="Succeeded"):
        self.patch(PODS, name, {"status": {"phase": phase}}, subresource="status")
        return self

    @property
    def names(self):
        return [one["metadata"]["name"] for one in self.all(RESOURCE_CLAIMS)]

    def users(self, name="shared"):
        return [one["name"] for one in self.get(RESOURCE_CLAIMS, name)["status"].get("reservedFor", [])]

    def told(self, name="p", resource=PODS):
        found = self.get(resource, name)["status"].get("resourceClaimStatuses", [])
        return {one["name"]: one["resourceClaimName"] for one in found}


def test_a_claim_is_made_from_a_template_and_its_name_told():
    place = Place().template(labels={"a": "b"}, annotations={"c": "d"}).pod().run()
    [claim] = place.all(RESOURCE_CLAIMS)
    meta = claim["metadata"]
    assert meta["name"] == "p-gpu-00000"
    assert meta["annotations"] == {"c": "d", MADE_FOR: "gpu"}
    assert meta["labels"] == {"a": "b"}
    assert meta["ownerReferences"] == [
        {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": place.uid("p"), "controller": True}
    ]
    assert claim["spec"] == {"devices": {"requests": [{"name": "gpu"}]}}
    assert place.told() == {"gpu": "p-gpu-00000"}


def test_it_is_made_once_whoever_looks():
    place = Place().template().pod().run()
    # the name was not told before the process died
    place.patch(PODS, "p", {"status": {"resourceClaimStatuses": None}}, subresource="status")
    assert place.begin().run().names == ["p-gpu-00000"]
    assert place.told() == {"gpu": "p-gpu-00000"}


def test_a_template_that_comes_later_is_waited_for():
    place = Place().pod().run()
    assert place.events == [
        (
            "FailedResourceClaimCreation",
            'PodResourceClaim gpu: resource claim template "t": resourceclaimtemplate.resource.k8s.io "t" not found',
        )
    ]
    assert place.template().run(10).names == ["p-gpu-00000"]


def test_long_names_are_cut_alike():
    place = Place().template().pod("p" * 50, {"name": "q" * 50, "resourceClaimTemplateName": "t"}).run()
    [name] = place.names
    assert len(name) <= 63
    assert name.startswith("p" * 20)


def test_a_claim_that_is_deleted_is_made_anew():
    place = Place().template().pod().run()
    place.vanish(RESOURCE_CLAIMS, "p-gpu-00000")
    assert place.run().names == ["p-gpu-00001"]
    assert place.told() == {"gpu": "p-gpu-00001"}


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_the_claim_of_a_pod_that_has_ended_is_taken_back_and_deleted(phase):
    place = Place().template().pod(node="n").run()
    place.allocate("p-gpu-00000", "p").run()
    assert place.users("p-gpu-00000") == ["p"]
    assert place.end(phase=phase).run().names == []


def test_a_shared_claim_stays_allocated_until_the_last_has_ended():
    place = Place().pod("p", SHARED, node="n").pod("q", SHARED, node="n").shared("p", "q").run()
    place.end("p").run()
    assert place.users() == ["q"]
    assert "allocation" in place.get(RESOURCE_CLAIMS, "shared")["status"]
    place.end("q").run()
    claim = place.get(RESOURCE_CLAIMS, "shared")
    assert "allocation" not in claim["status"]
    assert "finalizers" not in claim["metadata"]


def test_a_claim_that_was_allocated_and_never_reserved_stays():
    place = Place().shared().run(60)
    assert "allocation" in place.get(RESOURCE_CLAIMS, "shared")["status"]


def test_a_claim_in_deletion_waits_for_its_users():
    place = Place().pod("p", SHARED, node="n").shared("p").run()
    place.delete(RESOURCE_CLAIMS, "shared")
    assert place.run(60).names == ["shared"]
    assert place.end().run().names == []


def test_a_pod_that_goes_before_it_had_a_node_gives_its_claim_back():
    place = Place().pod("p", SHARED).shared("p").run()
    place.patch(PODS, "p", {"metadata": {"finalizers": ["a/b"]}})
    place.delete(PODS, "p")
    assert place.run().users() == []


def test_another_pod_of_the_name_is_another_pod():
    place = Place().pod("p", SHARED, node="n").shared("p").run()
    place.vanish(PODS, "p")
    place.pod("p", SHARED)
    assert place.run().users() == []


def test_a_pod_that_was_not_seen_keeps_what_is_reserved_for_it():
    place = Place().pod("p", SHARED, node="n").shared("p").run()
    pods = place.objects[PODS.path()]
    kept = pods.pop("team/p")
    place.begin()
    pods["team/p"] = kept
    assert place.run(60).users() == ["p"]


def test_a_pod_that_was_bound_without_a_reservation_gets_one():
    place = Place().pod("p", SHARED, node="n").shared().run()
    assert place.users() == ["p"]


def test_a_group_has_a_claim_for_all_of_its_members():
    place = Place().template().group(ENTRY).pod("p", group="g").pod("q", group="g").run()
    assert place.names == ["g-gpu-00000"]
    [claim] = place.all(RESOURCE_CLAIMS)
    [owner] = claim["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"]) == ("PodGroup", "g")
    assert place.told("g", POD_GROUPS) == place.told("p") == place.told("q") == {"gpu": "g-gpu-00000"}


def test_a_groups_reservation_lasts_as_long_as_the_group():
    place = Place().template().group(ENTRY).pod("p", group="g", node="n").run()
    place.patch(RESOURCE_CLAIMS, "g-gpu-00000", {"metadata": {"finalizers": [FINALIZER]}})
    user = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "g", "uid": place.uid("g", POD_GROUPS)}
    status = {"status": {"allocation": ALLOCATED, "reservedFor": [user]}}
    place.patch(RESOURCE_CLAIMS, "g-gpu-00000", status, subresource="status")
    assert place.end("p").run(60).users("g-gpu-00000") == ["g"]
    place.vanish(POD_GROUPS, "g")
    assert place.run().users("g-gpu-00000") == []


# --- devices ---


class Machines(World):
    def __init__(self, **counts):
        super().__init__()
        self.attach(Devices(counts), {NODES: Node, RESOURCE_SLICES: Bare, DEVICE_CLASSES: Bare})

    def node(self, name="n"):
        self.create(NODES, {"metadata": {"name": name}})
        return self


def test_every_node_has_a_slice_and_the_driver_a_class():
    place = Machines(**{"gpu.muster.dev": 8}).node("a").node("b").run()
    [one, other] = place.all(RESOURCE_SLICES)
    assert [one["spec"]["pool"]["name"], other["spec"]["pool"]["name"]] == ["a", "b"]
    assert [device["name"] for device in one["spec"]["devices"]] == [f"gpu-{number}" for number in range(8)]
    assert {device["attributes"]["numa"]["int"] for device in one["spec"]["devices"]} == {0, 1}
    [found] = place.all(DEVICE_CLASSES)
    assert found["metadata"]["name"] == "gpu.muster.dev"
    assert found["spec"]["extendedResourceName"] == "muster.dev/gpu"


def test_a_slice_goes_with_its_node_and_comes_back_if_somebody_deletes_it():
    place = Machines(**{"gpu.muster.dev": 1}).node("a").node("b").run()
    place.delete(RESOURCE_SLICES, "a-gpu.muster.dev")
    assert len(place.run().all(RESOURCE_SLICES)) == 2
    place.vanish(NODES, "a")
    assert [one["spec"]["nodeName"] for one in place.run().all(RESOURCE_SLICES)] == ["b"]


def test_slices_of_other_drivers_are_left_alone():
    place = Machines(**{"gpu.muster.dev": 1})
    place.create(RESOURCE_SLICES, {"metadata": {"name": "other"}, "spec": {"driver": "x", "nodeName": "gone"}})
    assert [one["metadata"]["name"] for one in place.run(60).all(RESOURCE_SLICES)] == ["other"]
