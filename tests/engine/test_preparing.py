"""Pods that bring volumes: all of a unit's are ready before the first is bound, or nobody goes."""

from msgspec.structs import replace

from muster.api.times import stamp
from muster.api.volumes import (
    BIND_COMPLETED,
    SELECTED_NODE,
    ClaimReference,
    ClaimResources,
    ClaimSpec,
    PersistentVolume,
    PersistentVolumeClaim,
    Size,
    StorageClass,
    VolumeNodeAffinity,
    VolumeSpec,
    VolumeStatus,
)
from muster.api.wire import ClaimVolume as NamedVolume
from muster.api.wire import Condition, Metadata, Volume
from muster.base.selectors import NodeSelector, NodeSelectorTerm, Requirement
from muster.engine.changes import FactGone, GrantFailed
from muster.engine.decisions import Bind, GangCondition, PodCondition, Prepare, TakeBack
from muster.engine.verdicts import MEMBERS_ARE_PREPARED
from muster.framework.grants import ClaimVolume, SelectNode
from muster.plugins.registry import ProfileParts, VolumeArgs, default_parts, make_profile
from tests.builders import NAMESPACE, World, pod

LATE = StorageClass(
    metadata=Metadata(name="late"), provisioner="example.com/disks", volume_binding_mode="WaitForFirstConsumer"
)
LOCAL = StorageClass(
    metadata=Metadata(name="local"),
    provisioner="kubernetes.io/no-provisioner",
    volume_binding_mode="WaitForFirstConsumer",
)


def claim(name, *, of="late", on="", volume="", uid="", modes=("ReadWriteOnce",)):
    annotations = ({SELECTED_NODE: on} if on else {}) | ({BIND_COMPLETED: "yes"} if volume else {})
    return PersistentVolumeClaim(
        metadata=Metadata(name=name, namespace=NAMESPACE, uid=uid or f"uid-{name}", annotations=annotations),
        spec=ClaimSpec(
            access_modes=modes,
            storage_class_name=of,
            resources=ClaimResources(Size("1Gi")),
            volume_name=volume,
        ),
    )


def volume(name, *, of="local", on="", kept_for=""):
    """`on` is a node, or several."""
    there = (on,) if isinstance(on, str) else on
    term = NodeSelectorTerm(match_expressions=(Requirement("host", "In", there),))
    return PersistentVolume(
        metadata=Metadata(name=name, uid=f"uid-{name}"),
        spec=VolumeSpec(
            capacity=Size("1Gi"),
            access_modes=("ReadWriteOnce",),
            storage_class_name=of,
            node_affinity=VolumeNodeAffinity(NodeSelector((term,))) if on else None,
            claim_ref=ClaimReference(NAMESPACE, kept_for, f"uid-{kept_for}") if kept_for else None,
        ),
        status=VolumeStatus("Bound" if kept_for else "Available"),
    )


def world(*nodes, cpu=4):
    found = World().see(LATE, LOCAL)
    for name in nodes:
        found.node(name, cpu=cpu, labels={"host": name})
    return found


def mounts(*claims):
    return [Volume(persistent_volume_claim=NamedVolume(claim_name=name)) for name in claims]


def gang(world, members, *, of="late", cpu=4):
    world.group("g", members)
    for number in range(members):
        world.see(claim(f"c{number}", of=of))
        world.members("g", number, cpu=cpu, volumes=mounts(f"c{number}"))
    return world


def prepared(decisions):
    return {grant.claim: grant for found in decisions if isinstance(found, Prepare) for grant in found.grants}


def taken_back(decisions):
    return [grant.claim for found in decisions if isinstance(found, TakeBack) for grant in found.grants]


def binds(decisions):
    return {one.pod: one.node for found in decisions if isinstance(found, Bind) for one in found.pods}


def says(decisions):
    return [(found.reason, found.message) for found in decisions if isinstance(found, GangCondition | PodCondition)]


def provision(world, grants, *keys):
    """The volumes of these claims, or of all, are there."""
    for key in keys or grants:
        name, node = key.partition("/")[2], grants[key].node
        made = volume(f"pv-{name}", of="late", on=node, kept_for=name)
        world.see(made, claim(name, on=node, volume=f"pv-{name}"))


def test_nobody_is_bound_before_the_last_volume_is_there():
    w = gang(world("a", "b"), 2)
    decided = w.decide()
    grants = prepared(decided)
    assert {key: type(grant) for key, grant in grants.items()} == {
        f"{NAMESPACE}/c0": SelectNode,
        f"{NAMESPACE}/c1": SelectNode,
    }
    assert {grant.node for grant in grants.values()} == {"a", "b"}
    assert not binds(decided)
    assert says(decided) == [
        (
            "Preparing",
            "0 of 2 members are ready to be bound: the volume of claim c0 is not provisioned yet; "
            "the volume of claim c1 is not provisioned yet",
        )
    ]
    provision(w, grants, f"{NAMESPACE}/c0")
    decided = w.decide()
    assert not binds(decided)
    assert says(decided) == [
        ("Preparing", "1 of 2 members are ready to be bound: the volume of claim c1 is not provisioned yet")
    ]
    provision(w, grants, f"{NAMESPACE}/c1")
    decided = w.decide()
    assert binds(decided) == {f"{NAMESPACE}/g-{n}": grants[f"{NAMESPACE}/c{n}"].node for n in (0, 1)}
    assert not says(w.bound().decide())[:-1]


def test_a_lone_pod_takes_the_same_way_and_says_so():
    w = world("a").see(claim("c0")).pod("p", volumes=mounts("c0"))
    decided = w.decide()
    assert says(decided) == [
        ("Preparing", "the pod is not ready to be bound: the volume of claim c0 is not provisioned yet")
    ]
    provision(w, prepared(decided))
    assert binds(w.decide()) == {f"{NAMESPACE}/p": "a"}


def test_a_member_that_said_it_has_no_place_says_that_it_has_one():
    w = world("a", "b").group("g", 2).see(claim("c0"))
    for number in (0, 1):
        w.members("g", number, cpu=4, volumes=mounts(f"c{number}"))
    w.decide()
    decided = w.see(claim("c1")).decide()
    told = {ref.pod for one in decided if isinstance(one, PodCondition) for ref in one.pods}
    assert told == {f"{NAMESPACE}/g-1"}
    assert says(decided)[-1] == ("Preparing", MEMBERS_ARE_PREPARED)


def test_members_of_a_gang_that_has_its_minimum_say_themselves_what_they_wait_for():
    w = gang(world("a", "b", "c"), 2)
    provision(w, prepared(w.decide()))
    w.decide()
    w.bound().decide()
    w.see(claim("c2"))
    assert says(w.members("g", 2, cpu=4, volumes=mounts("c2")).decide()) == [("Preparing", MEMBERS_ARE_PREPARED)]


def test_a_group_says_what_failed_of_what_is_made_ready():
    w = gang(world("a", "b", "c"), 2)
    node = prepared(w.decide())[f"{NAMESPACE}/c0"].node
    w.see(claim("c0", on=node)).decide()
    said = [message for reason, message in says(w.see(claim("c0")).decide()) if reason == "Preparing"]
    assert "provisioning of the volume of claim c0 failed" in said[0]


def test_who_cannot_be_provisioned_on_a_node_gets_another_and_the_others_wait_for_it():
    w = gang(world("a", "b", "c"), 2)
    first = prepared(w.decide())
    node = first[f"{NAMESPACE}/c0"].node
    provision(w, first, f"{NAMESPACE}/c1")
    w.see(claim("c0", on=node)).decide()
    # its node has no room for the volume: the provisioner asks for another one, and cordons are as good as that
    w.node(node, cpu=4, labels={"host": node}, cordoned=True)
    decided = w.see(claim("c0")).decide()
    assert not binds(decided)
    again = prepared(decided)
    assert list(again) == [f"{NAMESPACE}/c0"]
    assert again[f"{NAMESPACE}/c0"].node not in (node, first[f"{NAMESPACE}/c1"].node)
    provision(w, again)
    assert len(binds(w.decide())) == 2


def test_who_looks_for_another_place_is_still_counted():
    w = gang(world("a", "b", "c"), 2)
    first = prepared(w.decide())
    for _ in range(2):
        grant = prepared(w.apply(GrantFailed(first[f"{NAMESPACE}/c0"], "forbidden")).decide()).get(f"{NAMESPACE}/c0")
        first[f"{NAMESPACE}/c0"] = grant or first[f"{NAMESPACE}/c0"]
    provision(w, first, f"{NAMESPACE}/c1")
    assert says(w.decide())[0] == ("Preparing", "1 of 2 members are ready to be bound: forbidden")


def test_if_it_fails_and_there_is_no_other_place_all_is_undone():
    w = gang(world("a", "b"), 2)
    grants = prepared(w.decide())
    node = grants[f"{NAMESPACE}/c0"].node
    for key, grant in grants.items():
        w.see(claim(key.partition("/")[2], on=grant.node))
    w.decide()
    w.node_gone(node)
    decided = w.see(claim("c0")).decide()
    assert not binds(decided)
    assert sorted(taken_back(decided)) == [f"{NAMESPACE}/c0", f"{NAMESPACE}/c1"]
    assert all(pod.stage.name == "PENDING" for pod in w.engine.cluster.pods.values())
    # when there is room again it starts anew
    w.see(claim("c1")).node("d", cpu=4, labels={"host": "d"})
    assert len(prepared(w.decide(after=30))) == 2


def test_what_is_not_ready_in_time_is_undone_and_said():
    w = gang(world("a", "b"), 2)
    w.decide()
    decided = w.decide(after=601)
    assert sorted(taken_back(decided)) == [f"{NAMESPACE}/c0", f"{NAMESPACE}/c1"]
    assert (
        "SchedulerError",
        "not ready to be bound within 600 s: the volume of claim c0 is not provisioned yet; "
        "the volume of claim c1 is not provisioned yet",
    ) in says(decided)


def test_a_scheduler_that_comes_in_the_middle_gives_up_once_and_then_waits_as_long_again():
    said = Condition(type="PodScheduled", status="False", reason="Preparing", last_transition_time=stamp(10))
    w = world("a").see(claim("c0", on="a")).pod("p", volumes=mounts("c0"), conditions=[said])
    w.decide(after=600)
    assert not taken_back(w.decide(after=5))
    decided = w.decide(after=6)
    assert taken_back(decided) == [f"{NAMESPACE}/c0"]
    assert prepared(decided)
    assert not taken_back(w.decide(after=590))
    assert taken_back(w.decide(after=11)) == [f"{NAMESPACE}/c0"]


def test_what_was_granted_again_is_taken_back_though_the_first_grant_alone_was_seen_to_go():
    w = world("a").see(claim("c0")).pod("p", volumes=mounts("c0"))
    w.decide()
    w.see(claim("c0", on="a")).decide()
    decided = w.decide(after=601)
    # the first is still to be seen when the second is given
    assert taken_back(decided) == list(prepared(decided)) == [f"{NAMESPACE}/c0"]
    assert taken_back(w.see(claim("c0")).decide()) == [f"{NAMESPACE}/c0"]


def test_a_gang_one_of_whom_has_no_place_any_more_lives_by_the_table():
    w = gang(world("a", "b"), 2)
    grants = prepared(w.decide())
    for key, grant in grants.items():
        w.see(claim(key.partition("/")[2], on=grant.node))
    w.decide()
    w.node_gone(grants[f"{NAMESPACE}/c0"].node).see(claim("c0")).decide()
    assert not w.engine._queue.unforeseen


def test_a_member_that_goes_takes_its_gang_back():
    w = gang(world("a", "b"), 2)
    w.decide()
    decided = w.pod_gone("g-0").decide()
    assert sorted(taken_back(decided)) == [f"{NAMESPACE}/c0", f"{NAMESPACE}/c1"]
    assert not binds(decided)


def test_a_claim_that_is_deleted_meanwhile_is_no_longer_awaited():
    w = gang(world("a", "b"), 2)
    w.decide()
    decided = w.apply(FactGone("persistentvolumeclaims", f"{NAMESPACE}/c0")).decide()
    assert not binds(decided)
    assert taken_back(decided) == [f"{NAMESPACE}/c1"]


def test_a_grant_that_is_refused_is_a_failure():
    w = world("a").see(claim("c0")).pod("p", volumes=mounts("c0"))
    (grant,) = prepared(w.decide()).values()
    decided = w.apply(GrantFailed(grant, "forbidden")).decide()
    assert not binds(decided)
    assert not taken_back(decided), "it was never written"
    (again,) = prepared(decided).values()
    assert not prepared(w.apply(GrantFailed(again, "forbidden")).decide()), "not again at once"
    assert prepared(w.decide(after=20))


def test_volumes_on_given_nodes_are_granted_once_each():
    w = world("a", "b", "c", cpu=8)
    w.see(volume("va", on="a"), volume("vb", on="b"))
    gang(w, 2, of="local")
    decided = w.decide()
    grants = prepared(decided)
    assert {type(grant) for grant in grants.values()} == {ClaimVolume}
    assert {grant.volume for grant in grants.values()} == {"va", "vb"}
    for key, grant in grants.items():
        name = key.partition("/")[2]
        on = grant.volume[1]
        w.see(volume(grant.volume, on=on, kept_for=name), claim(name, of="local", volume=grant.volume))
    assert set(binds(w.decide()).values()) == {"a", "b"}


def test_a_gang_that_finds_too_few_volumes_waits_whole_until_there_is_one_more():
    w = world("a", "b", cpu=8).see(volume("va", on="a"))
    gang(w, 2, of="local")
    decided = w.decide()
    assert not prepared(decided)
    assert not binds(decided)
    w.see(volume("vb", on="b"))
    assert len(prepared(w.decide())) == 2


def test_a_claim_that_members_share_is_granted_once():
    w = world("a", "b", cpu=8).see(claim("shared"))
    w.group("g", 2)
    w.members("g", 0, 1, cpu=2, volumes=mounts("shared"))
    decided = w.decide()
    (found,) = [one for one in decided if isinstance(one, Prepare)]
    assert len(found.grants) == 1
    provision(w, prepared(decided))
    assert len(set(binds(w.decide()).values())) == 1


def test_missing_claims_hold_a_gang_back_and_say_which():
    w = world("a", "b")
    w.group("g", 2).see(claim("c0"))
    w.members("g", 0, volumes=mounts("c0")).members("g", 1, volumes=mounts("c1"))
    assert ("Unschedulable", 'persistentvolumeclaim "c1" not found') in says(w.decide())
    assert len(prepared(w.see(claim("c1")).decide())) == 2


def test_the_next_scheduler_goes_on_from_what_stands_there():
    w = gang(world("a", "b"), 2)
    grants = prepared(w.decide())
    after = world("a", "b")
    for key, grant in grants.items():
        after.see(claim(key.partition("/")[2], on=grant.node))
    after.group("g", 2)
    for number in range(2):
        after.members("g", number, cpu=4, volumes=mounts(f"c{number}"))
    assert {key: grant.node for key, grant in prepared(after.decide()).items()} == {
        key: grant.node for key, grant in grants.items()
    }


def test_claims_of_their_own_make_no_classes_of_their_own():
    w = gang(world("a", "b"), 2)
    first, second = (w.engine.cluster.pods[f"uid-g-{n}"].pod_class for n in (0, 1))
    assert first is second
    w.see(replace(claim("c0"), spec=replace(claim("c0").spec, resources=ClaimResources(Size("2Gi")))))
    first, second = (w.engine.cluster.pods[f"uid-g-{n}"].pod_class for n in (0, 1))
    assert first is not second


def test_a_shared_volume_that_turns_out_to_be_out_of_reach_gives_the_member_another_place():
    w = world("a", "b", "c", cpu=4).see(claim("shared", modes=("ReadWriteMany",)))
    w.group("g", 2)
    w.members("g", 0, 1, cpu=4, volumes=mounts("shared"))
    (grant,) = prepared(w.decide()).values()
    there = {pod.node for pod in w.engine.cluster.pods.values()}
    assert len(there) == 2, "it is for many nodes"
    (other,) = {"a", "b", "c"} - there
    made = volume("pv", of="late", on=(grant.node, other), kept_for="shared")
    decided = w.see(made, claim("shared", on=grant.node, volume="pv")).decide()
    assert set(binds(decided).values()) == {grant.node, other}


def test_who_is_bound_by_somebody_else_meanwhile_is_bound():
    w = world("a", "b").see(claim("c0")).pod("p", volumes=mounts("c0"))
    (grant,) = prepared(w.decide()).values()
    w.see(pod("p", volumes=mounts("c0"), on=grant.node), claim("c0", on="elsewhere"))
    decided = w.decide()
    assert not binds(decided)
    assert w.engine.cluster.pods["uid-p"].stage.name == "BOUND"
    assert w.engine.cluster.pods["uid-p"].node == grant.node


def test_how_long_is_waited_is_a_setting():
    parts = ProfileParts(
        plugins=tuple(
            replace(part, args=VolumeArgs(wait_seconds=30.0)) if part.name == "VolumeBinding" else part
            for part in default_parts()
        )
    )
    w = World(make_profile(parts)).see(LATE, claim("c0")).node("a", cpu=4).pod("p", volumes=mounts("c0"))
    w.decide()
    assert not taken_back(w.decide(after=29))
    assert taken_back(w.decide(after=2)) == [f"{NAMESPACE}/c0"]


def test_of_two_pods_that_see_the_same_volume_at_the_same_time_one_waits():
    w = world("a", cpu=8).see(volume("va", on="a"), claim("c0", of="local"), claim("c1", of="local"))
    w.pod("p", cpu=1, volumes=mounts("c0")).pod("q", cpu=1, volumes=mounts("c1"))
    decided = w.decide()
    assert len(prepared(decided)) == 1
    assert not binds(decided)
    (grant,) = prepared(decided).values()
    name = grant.claim.partition("/")[2]
    w.see(volume("va", on="a", kept_for=name), claim(name, of="local", volume="va"))
    assert len(binds(w.decide(after=5))) == 1
    assert not binds(w.decide(after=60))
