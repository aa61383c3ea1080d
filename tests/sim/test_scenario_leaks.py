"""What is kept for nobody who goes is noticed at the end of every scenario, whatever the file expects."""

import pytest
from msgspec.structs import replace

from muster.api.devices import Allocation, ClaimStatus, Consumer, ResourceClaim
from muster.api.volumes import (
    SELECTED_NODE,
    ClaimReference,
    ClaimSpec,
    PersistentVolume,
    PersistentVolumeClaim,
    VolumeSpec,
    VolumeStatus,
)
from muster.api.wire import ClaimVolume, Condition, Metadata, Volume
from muster.engine.changes import FactGone, FactSeen, GroupSeen, PodSeen
from muster.gangs.model import PREPARING
from muster.sim.scenario.file import loads
from muster.sim.scenario.leaks import find_leaks
from muster.sim.scenario.record import Record
from muster.sim.scenario.run import run
from muster.sim.world import Happened, World
from tests.builders import NAMESPACE, group, pod
from tests.control_plane.scenarios.playing import LEAKING, LEAKS


def leaks(*changes):
    record = Record(start=0, together={}, on_change=lambda *_: None, on_loss=lambda *_: None)
    record.take([Happened(0, change) for change in changes])
    return find_leaks(record)


def member(node="", *, phase="Pending", reason="", gang=None):
    said = Condition(type="PodScheduled", status="False", reason=reason)
    claimed = Volume(persistent_volume_claim=ClaimVolume(claim_name="data"))
    return PodSeen(pod("p", gang=gang, on=node, phase=phase, conditions=[said], volumes=[claimed]))


def meta(name, **annotations):
    return Metadata(name=name, namespace=NAMESPACE, uid=f"uid-{name}", annotations=annotations)


# --- volumes ---


def selected(volume=""):
    return FactSeen(
        PersistentVolumeClaim(metadata=meta("data", **{SELECTED_NODE: "n"}), spec=ClaimSpec(volume_name=volume))
    )


def kept(claim="data", uid="uid-data", *, phase="Available"):
    reference = ClaimReference(NAMESPACE, claim, uid)
    volume = PersistentVolume(metadata=Metadata(name="disk", uid="uid-disk"), spec=VolumeSpec(claim_ref=reference))
    return FactSeen(replace(volume, status=VolumeStatus(phase)))


WAITS, KEPT = ["claim data waits for a volume on n"], ["volume disk is kept for claim data"]


def test_a_node_is_selected_and_nobody_goes():
    assert leaks(selected()) == WAITS
    assert leaks(selected(), member()) == WAITS
    assert leaks(selected(), member(reason="Unschedulable")) == WAITS
    assert leaks(selected(), member(phase="Failed", reason=PREPARING)) == WAITS


def test_who_is_made_ready_waits_for_a_volume():
    assert leaks(selected(), member(reason=PREPARING)) == []
    preparing = Condition(type="PodGroupInitiallyScheduled", status="False", reason=PREPARING)
    declared = group("g", 1)
    declared = replace(declared, status=replace(declared.status, conditions=(preparing,)))
    assert leaks(GroupSeen(declared), selected(), member(gang="g")) == []
    # what one of its pods says is not what its group says
    assert leaks(GroupSeen(group("g", 1)), selected(), member(gang="g", reason=PREPARING)) == WAITS


def test_a_volume_that_was_made_is_kept():
    assert leaks(selected(volume="disk"), kept(phase="Bound")) == []


def test_a_volume_is_kept_for_a_claim_that_nobody_goes_with():
    claim = FactSeen(PersistentVolumeClaim(metadata=meta("data")))
    assert leaks(claim, kept()) == KEPT
    assert leaks(claim, kept(), member(reason=PREPARING)) == []
    assert leaks(kept()) == KEPT
    assert leaks(claim, FactGone("persistentvolumeclaims", f"{NAMESPACE}/data"), kept()) == KEPT
    assert leaks(FactSeen(PersistentVolumeClaim(metadata=replace(meta("data"), uid="new"))), kept()) == KEPT
    assert leaks(selected(volume="other"), kept()) == KEPT


def test_what_its_user_keeps_a_volume_for_and_what_had_it_is_no_leak():
    assert leaks(kept(uid="")) == []
    assert leaks(kept(phase="Released")) == []


# --- devices ---


def allocated(*entries):
    status = ClaimStatus(allocation=Allocation(), reserved_for=entries)
    return FactSeen(ResourceClaim(metadata=meta("gpus"), status=status))


FOR_POD = Consumer(resource="pods", name="p", uid="uid-p")
FOR_GROUP = Consumer(api_group="scheduling.k8s.io", resource="podgroups", name="g", uid="uid-g")


def test_devices_of_nobody():
    assert leaks(allocated()) == ["claim gpus is allocated, and reserved for nobody"]


@pytest.mark.parametrize(
    "held", [[], [member()], [member(reason="Unschedulable")], [member("n", phase="Succeeded")]], ids=str
)
def test_devices_of_a_pod_that_does_not_go(held):
    assert leaks(allocated(FOR_POD), *held) == ["claim gpus is reserved for p"]


def test_devices_of_a_pod_that_goes():
    assert leaks(allocated(FOR_POD), member("n")) == []
    assert leaks(allocated(FOR_POD), member(reason=PREPARING)) == []


def test_devices_of_a_group():
    there = GroupSeen(group("g", 1, uid="uid-g"))
    assert leaks(allocated(FOR_GROUP)) == ["claim gpus is reserved for g"]
    assert leaks(there, allocated(FOR_GROUP), member(gang="g")) == ["claim gpus is reserved for g"]
    assert leaks(there, allocated(FOR_GROUP), member("n", gang="g")) == []


# --- in a run ---

NEVER = """
name: x
nodes: [{name: n, cpu: 4}]
objects:
  - apiVersion: storage.k8s.io/v1
    kind: StorageClass
    metadata: {name: late}
    provisioner: muster.dev/simulated
    volumeBindingMode: WaitForFirstConsumer
  - apiVersion: v1
    kind: PersistentVolumeClaim
    metadata: {name: data, annotations: {muster.dev/provision-fails: never-answers}}
    spec: {accessModes: [ReadWriteOnce], storageClassName: late, resources: {requests: {storage: 1Gi}}}
pods: [{name: p, cpu: 1, claims: [data]}]
steps: [{at: 5s, delete: pod/p}]
"""


def missed(text=NEVER):
    return [str(check) for check in run(loads(text, file="x.yaml")).expectations if not check.held]


def test_it_is_told_in_one_line(monkeypatch):
    assert missed() == []
    monkeypatch.setattr(World, "_take_back", lambda *_: None)
    assert missed() == [
        "at the end, every claim and volume: expected is: in use, or free, "
        "saw claim data waits for a volume on n [x.yaml]"
    ]


def test_what_a_scenario_leaves_itself_is_noticed():
    assert missed(LEAKING) == LEAKS


def test_who_has_no_place_asks_for_no_volume_unless_others_may_have_asked():
    pods = "pods: [{name: p, cpu: 9, claims: [data]}"
    assert missed(LEAKING + pods + "]") == []
    assert missed(LEAKING + pods + ", {name: q, cpu: 1, claims: [data], scheduler: other}]") == LEAKS
