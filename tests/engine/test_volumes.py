"""What volumes ask of nodes while others come and go: places of drivers, claims for one pod, disks."""

from msgspec.structs import replace

from muster.api.volumes import (
    Allocatable,
    AttachmentSource,
    AttachmentSpec,
    CSIDriver,
    CSINode,
    CSINodeSpec,
    CSISource,
    DriverSpec,
    NodeDriver,
    VolumeAttachment,
)
from muster.api.wire import GoogleDisk, Metadata, Volume
from muster.engine.changes import FactGone
from tests.builders import World, placements, pod, told
from tests.engine.test_preparing import LATE, LOCAL, claim, mounts, volume

DRIVER = "example.com/disks"
FULL = "0/1 nodes are available: 1 node(s) exceed max volume count."


def takes(node, count):
    driver = NodeDriver(DRIVER, None if count is None else Allocatable(count))
    return CSINode(metadata=Metadata(name=node), spec=CSINodeSpec((driver,)))


def has(name, *, handle=""):
    """A claim with its volume, which can be used everywhere."""
    made = volume(f"pv-{name}", of="late", kept_for=name)
    source = CSISource(DRIVER, handle or f"handle-{name}")
    return replace(made, spec=replace(made.spec, csi=source)), claim(name, volume=f"pv-{name}")


def attached(name, node):
    source = AttachmentSource(f"pv-{name}")
    return VolumeAttachment(metadata=Metadata(name=f"att-{name}"), spec=AttachmentSpec(DRIVER, node, source))


def world(*nodes):
    found = World().see(LATE, LOCAL)
    for name in nodes:
        found.node(name, cpu=8)
    return found


def placed(world):
    return placements(world.decide())


def test_a_node_takes_as_many_volumes_as_its_driver_says_and_who_waits_goes_when_it_takes_more():
    w = world("a").see(takes("a", 1), *has("x"), *has("y"))
    assert placed(w.pod("one", cpu=1, volumes=mounts("x"))) == {"one": "a"}
    assert told(w.bound().pod("two", cpu=1, volumes=mounts("y")).decide()) == {"two": FULL}
    assert placed(w.see(takes("a", 2))) == {"two": "a"}


def test_who_waits_for_a_place_goes_when_a_pod_has_left():
    w = world("a").see(takes("a", 1), *has("x"), *has("y")).pod("one", cpu=1, volumes=mounts("x"), on="a")
    assert told(w.pod("two", cpu=1, volumes=mounts("y")).decide()) == {"two": FULL}
    assert placed(w.pod_gone("one")) == {"two": "a"}


def test_a_volume_that_is_still_attached_takes_its_place():
    w = world("a").see(takes("a", 1), *has("x"), *has("y"), attached("x", "a"))
    assert told(w.pod("two", cpu=1, volumes=mounts("y")).decide()) == {"two": FULL}
    assert placed(w.apply(FactGone("volumeattachments.storage.k8s.io", "att-x"))) == {"two": "a"}


def test_a_volume_that_is_attached_for_a_pod_takes_no_second_place():
    w = world("a").see(takes("a", 2), *has("x"), *has("y"), attached("x", "a"))
    w.pod("one", cpu=1, volumes=mounts("x"), on="a")
    assert placed(w.pod("two", cpu=1, volumes=mounts("y"))) == {"two": "a"}


def test_what_is_said_of_drivers_before_the_node_comes_counts():
    w = world().see(takes("a", 0), *has("x")).node("a", cpu=8)
    assert told(w.pod("one", cpu=1, volumes=mounts("x")).decide()) == {"one": FULL}


def test_pods_that_share_a_volume_take_one_place():
    w = world("a").see(takes("a", 1), *has("x"))
    w.group("g", 3).members("g", 0, 1, 2, cpu=1, volumes=mounts("x"))
    assert len(placed(w)) == 3


def test_a_gang_that_brings_more_volumes_than_nodes_take_waits_whole():
    w = world("a", "b").see(takes("a", 1), takes("b", 1))
    w.group("g", 3)
    for number in range(3):
        w.see(*has(f"c{number}")).members("g", number, cpu=1, volumes=mounts(f"c{number}"))
    assert placed(w) == {}
    assert len(placed(w.see(takes("b", 2)))) == 3


def test_a_running_pod_keeps_its_place_while_its_claim_is_being_deleted():
    pv, pvc = has("x")
    leaving = replace(pvc, metadata=replace(pvc.metadata, deletion_timestamp="2026-01-01T00:00:00Z"))
    w = world("a").see(takes("a", 1), pv, pvc, *has("y")).pod("one", cpu=1, volumes=mounts("x"), on="a")
    assert told(w.see(leaving).pod("two", cpu=1, volumes=mounts("y")).decide()) == {"two": FULL}


def test_a_pod_that_has_ended_takes_no_place():
    w = world("a").see(takes("a", 1), *has("x"), *has("y")).pod("one", cpu=1, volumes=mounts("x"), on="a")
    w.see(pod("one", cpu=1, volumes=mounts("x"), on="a", phase="Succeeded"))
    assert placed(w.pod("two", cpu=1, volumes=mounts("y"))) == {"two": "a"}


def test_a_driver_that_must_be_there_is_waited_for():
    must = CSIDriver(metadata=Metadata(name=DRIVER), spec=DriverSpec(prevent_pod_scheduling_if_missing=True))
    w = world("a").see(must, *has("x")).pod("one", cpu=1, volumes=mounts("x"))
    why = f"0/1 nodes are available: 1 {DRIVER} CSI driver is not installed on the node."
    assert told(w.decide()) == {"one": why}
    assert placed(w.see(takes("a", None))) == {"one": "a"}


def test_of_a_gang_whose_members_want_a_claim_for_one_pod_nobody_goes():
    pv, pvc = has("x")
    only = replace(pvc, spec=replace(pvc.spec, access_modes=("ReadWriteOncePod",)))
    w = world("a", "b").see(pv, only)
    w.group("g", 2).members("g", 0, 1, cpu=1, volumes=mounts("x"))
    assert placed(w) == {}
    assert placed(w.pod("p", cpu=1, volumes=mounts("x"))) == {"p": "a"}


def test_a_disk_that_a_pod_names_itself_is_for_one_pod_a_node_unless_both_only_read():
    def disk(*, read_only):
        return [Volume(gce_persistent_disk=GoogleDisk(pd_name="d", read_only=read_only))]

    w = world("a", "b").pod("one", cpu=1, volumes=disk(read_only=False), on="a")
    w.group("g", 2).members("g", 0, 1, cpu=1, volumes=disk(read_only=True))
    assert set(placed(w).values()) == {"b"}
