"""A PodGroup in use stays until its pods have ended."""

import pytest

from muster.api.calls import Refused
from muster.api.resources import PODS
from muster.controllers.group_protection import FINALIZER, GroupProtection
from muster.controllers.objects import POD_GROUPS, Pod, PodGroup
from tests.controllers.world import World


class Place(World):
    def __init__(self):
        super().__init__()
        self.attach(GroupProtection(), {POD_GROUPS: PodGroup, PODS: Pod})

    def group(self, name="g", finalizers=(FINALIZER,)):
        self.create(POD_GROUPS, {"metadata": {"name": name, "finalizers": list(finalizers)}, "spec": {}})
        return self

    def pod(self, name="p", group="g", phase="Running"):
        spec = {"nodeName": "n", "schedulingGroup": {"podGroupName": group}} if group else {}
        self.create(PODS, {"metadata": {"name": name}, "spec": spec, "status": {"phase": phase}})
        return self

    def end(self, name="g"):
        self.delete(POD_GROUPS, name)
        return self

    @property
    def groups(self):
        return [one["metadata"]["name"] for one in self.all(POD_GROUPS)]


def test_a_group_that_nobody_uses_goes_at_once():
    assert Place().group().end().run().groups == []


def test_a_group_that_nobody_deletes_keeps_its_finalizer():
    place = Place().group().run(60)
    assert place.get(POD_GROUPS, "g")["metadata"]["finalizers"] == [FINALIZER]


def test_a_group_waits_for_its_last_pod():
    place = Place().group().pod("p").pod("q").end().run(60)
    assert place.groups == ["g"]
    place.vanish(PODS, "p")
    assert place.run(60).groups == ["g"]
    place.vanish(PODS, "q")
    assert place.run().groups == []


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_ended_does_not_use_its_group(phase):
    place = Place().group().pod().end().run()
    place.patch(PODS, "p", {"status": {"phase": phase}}, subresource="status")
    assert place.run().groups == []


def test_a_pod_that_is_on_its_way_out_still_uses_its_group():
    place = Place().group().pod().end()
    place.delete(PODS, "p")
    assert place.run(10).groups == ["g"]


def test_pods_of_other_groups_do_not_matter():
    assert Place().group().pod(group="other").pod("lone", group=None).end().run().groups == []


def test_finalizers_of_others_stay():
    place = Place().group(finalizers=("example.com/first", FINALIZER, "example.com/last")).end().run()
    assert place.get(POD_GROUPS, "g")["metadata"]["finalizers"] == ["example.com/first", "example.com/last"]


def test_a_group_that_changed_meanwhile_is_looked_at_again():
    place = Place().group()
    place.answer = lambda call: Refused(code=409, reason="Conflict")
    place.end().run(1)
    assert place.groups == ["g"]
    place.answer = None
    assert place.run(10).groups == []
