"""Pods that bring claims for devices: all of a unit's are allocated and reserved before the first is bound, or none."""

import json
from collections import Counter

import msgspec
import pytest
from msgspec.structs import replace

from muster.api.devices import DeviceClass, ResourceClaim, ResourceSlice
from muster.api.wire import OwnerReference, PodClaim, PodClaimStatus, read
from muster.base.selectors import NodeSelector
from muster.engine.changes import FactGone, GrantFailed
from muster.engine.decisions import Bind, Event, Evict, GangCondition, PodCondition, Prepare, TakeBack
from muster.plugins.device_supply import DeviceSupply
from tests.builders import HOSTNAME, NAMESPACE, World, pod
from tests.devices.checker import problems

DRIVER = "gpu.example"
CLASS = read(
    DeviceClass,
    {
        "kind": "DeviceClass",
        "metadata": {"name": "gpu"},
        "spec": {"selectors": [{"cel": {"expression": f"device.driver == '{DRIVER}'"}}]},
    },
)


def claim(name, *, count=1, same="", uid="", owner=None, device_class="gpu"):
    devices = {"requests": [{"name": "gpu", "exactly": {"deviceClassName": device_class, "count": count}}]}
    if same:
        devices["constraints"] = [{"matchAttribute": f"{DRIVER}/{same}"}]
    meta = {"name": name, "namespace": NAMESPACE, "uid": uid or f"uid-{name}"}
    made = read(ResourceClaim, {"kind": "ResourceClaim", "metadata": meta, "spec": {"devices": devices}})
    return made if owner is None else replace(made, metadata=replace(made.metadata, owner_references=(owner,)))


def slice_of(node, devices, *, name="", everywhere=False):
    """Two devices on each switch."""
    pool = name or node
    found = [
        {"name": f"gpu-{number}", "attributes": {"switch": {"string": f"{pool}-{number // 2}"}}}
        for number in range(devices)
    ]
    where = {"allNodes": True} if everywhere else {"nodeName": node}
    spec = {
        "driver": DRIVER,
        "pool": {"name": pool, "generation": 1, "resourceSliceCount": 1},
        "devices": found,
        **where,
    }
    return read(ResourceSlice, {"kind": "ResourceSlice", "metadata": {"name": f"slice-{pool}"}, "spec": spec})


def world(*nodes, devices=2, cpu=8):
    found = World().see(CLASS)
    for name in nodes:
        found.node(name, cpu=cpu, labels={HOSTNAME: name}).see(slice_of(name, devices))
    return found


def gang(world, members, name="g", *, count=1, same="", cpu=1, **facts):
    world.group(name, members, priority=facts.get("priority"), created=facts.get("created", 0.0))
    for number in range(members):
        world.see(claim(f"{name}-c{number}", count=count, same=same))
        world.members(name, number, cpu=cpu, claims=[f"{name}-c{number}"], **facts)
    return world


def prepared(decisions):
    return {grant.claim: grant for found in decisions if isinstance(found, Prepare) for grant in found.grants}


def taken_back(decisions):
    return {grant.claim: grant for found in decisions if isinstance(found, TakeBack) for grant in found.grants}


def binds(decisions):
    return {one.pod: one.node for found in decisions if isinstance(found, Bind) for one in found.pods}


def evicted(decisions):
    return sorted(pod.pod for found in decisions if isinstance(found, Evict) for pod in found.pods)


def says(decisions):
    return [(found.reason, found.message) for found in decisions if isinstance(found, GangCondition | PodCondition)]


def facts_of(world):
    return world.engine.cluster.facts._by_kind["resourceclaims.resource.k8s.io"]


def write(world, grants, *keys):
    """The API server has what was granted to these claims, or to all."""
    for key in keys or grants:
        grant, there = grants[key], facts_of(world)[key]
        entries = {one.uid: one for one in (*there.status.reserved_for, *grant.reserved_for)}
        status = replace(
            there.status,
            allocation=there.status.allocation or grant.allocation,
            reserved_for=tuple(entries.values()),
        )
        world.see(replace(there, status=status))
    return world


def release(world, *keys):
    """Nobody has the claims any more."""
    for key in keys:
        there = facts_of(world)[key]
        world.see(replace(there, status=replace(there.status, allocation=None, reserved_for=())))
    return world


def devices_of(grants):
    return {key: [(one.pool, one.device) for one in grant.allocation.devices.results] for key, grant in grants.items()}


def check(world):
    """Everything that is allocated is as the API's rules have it, and nothing twice."""
    found = world.engine.cluster.facts._by_kind
    given = Counter()
    for one in found["resourceclaims.resource.k8s.io"].values():
        allocation = one.status.allocation
        if allocation is None:
            continue
        given.update((each.driver, each.pool, each.device) for each in allocation.devices.results)
        (term,) = allocation.node_selector.node_selector_terms
        facts = {
            "claims": [as_stored(one)],
            "classes": [plain(CLASS)],
            "slices": [plain(each) for each in found["resourceslices.resource.k8s.io"].values()],
            "node": {"name": term.match_fields[0].values[0], "labels": {}},
        }
        assert problems(facts, [plain(allocation)]) == []
    assert not [device for device, times in given.items() if times > 1]


def as_stored(found):
    """With what the API server fills in."""
    made = plain(found)
    for request in made["spec"]["devices"]["requests"]:
        request["exactly"].setdefault("allocationMode", "ExactCount")
    return made


def plain(found):
    return json.loads(msgspec.json.encode(found))


def test_nobody_is_bound_before_the_last_claim_is_allocated_and_reserved():
    w = gang(world("a", "b"), 2)
    decided = w.decide()
    grants = prepared(decided)
    assert sorted(grants) == [f"{NAMESPACE}/g-c0", f"{NAMESPACE}/g-c1"]
    assert not binds(decided)
    assert [one.uid for one in grants[f"{NAMESPACE}/g-c0"].reserved_for] == ["uid-g-0"]
    assert says(decided) == [
        (
            "Preparing",
            "0 of 2 members are ready to be bound: claim g-c0 is not allocated yet; claim g-c1 is not allocated yet",
        )
    ]
    assert not binds(write(w, grants, f"{NAMESPACE}/g-c0").decide())
    decided = write(w, grants, f"{NAMESPACE}/g-c1").decide()
    check(w)
    for number in (0, 1):
        pool = devices_of(grants)[f"{NAMESPACE}/g-c{number}"][0][0]
        assert binds(decided)[f"{NAMESPACE}/g-{number}"] == pool
    assert not taken_back(w.bound().decide())


def test_two_devices_each_of_one_switch():
    w = gang(world("a", "b", devices=4), 4, count=2, same="switch")
    write(w, prepared(w.decide()))
    assert len(binds(w.decide())) == 4
    check(w)


def test_devices_that_do_not_go_together_are_not_enough():
    # three devices on two switches: two of one switch once, not twice
    w = gang(world("a", devices=3), 2, count=2, same="switch")
    decided = w.decide()
    assert not prepared(decided)
    assert any("cannot allocate all claims" in message for _, message in says(decided))
    w.node("b", cpu=8).see(slice_of("b", 2))
    grants = prepared(w.decide(after=1))
    assert sorted(pool for found in devices_of(grants).values() for pool, _ in found) == ["a", "a", "b", "b"]


def test_of_two_gangs_that_want_the_last_devices_one_gets_all():
    w = gang(world("a", "b"), 3, "early", created=1.0)
    gang(w, 3, "late", created=2.0)
    grants = prepared(w.decide())
    assert sorted(grants) == [f"{NAMESPACE}/early-c{number}" for number in range(3)]
    assert len(binds(write(w, grants).decide())) == 3
    check(w)
    w.bound().decide()
    w.node("c", cpu=8).see(slice_of("c", 2))
    grants = prepared(w.decide(after=1))
    assert sorted(grants) == [f"{NAMESPACE}/late-c{number}" for number in range(3)]
    assert len(binds(write(w, grants).decide())) == 3
    check(w)


def test_a_claim_that_members_share_is_allocated_once_and_reserved_for_all_at_once():
    w = world("a", "b").see(claim("shared"))
    w.group("g", 3)
    w.members("g", 0, 1, 2, cpu=2, claims=["shared"])
    decided = w.decide()
    (found,) = [one for one in decided if isinstance(one, Prepare)]
    (grant,) = found.grants
    assert sorted(one.uid for one in grant.reserved_for) == ["uid-g-0", "uid-g-1", "uid-g-2"]
    decided = write(w, prepared(decided)).decide()
    assert len(binds(decided)) == 3
    assert len(set(binds(decided).values())) == 1
    check(w)


def test_who_shares_a_claim_goes_where_there_is_room_for_all():
    w = world("a", "b", cpu=2)
    w.node("c", cpu=8, labels={HOSTNAME: "c"}).see(slice_of("c", 1)).see(claim("shared"))
    w.group("g", 3)
    w.members("g", 0, 1, 2, cpu=2, claims=["shared"])
    assert set(binds(write(w, prepared(w.decide())).decide()).values()) == {"c"}


def test_who_shares_a_claim_may_have_one_of_its_own_beside_it():
    w = world("a", "b", devices=4).see(claim("shared"))
    w.group("g", 3)
    for number in range(3):
        w.see(claim(f"own-{number}")).members("g", number, claims=["shared", f"own-{number}"])
    grants = prepared(w.decide())
    assert len(grants) == 4
    assert len(set(binds(write(w, grants).decide()).values())) == 1
    check(w)


def test_devices_of_several_nodes_are_given_once():
    w = world("a", "b", devices=0).see(slice_of("", 2, name="net", everywhere=True))
    gang(w, 3)
    assert not prepared(w.decide())
    w.see(slice_of("", 3, name="more", everywhere=True))
    grants = prepared(w.decide(after=1))
    given = [device for found in devices_of(grants).values() for device in found]
    assert len(given) == len(set(given)) == 3


def test_preemption_frees_devices_of_several_nodes():
    w = world("a", "b", devices=0, cpu=2).see(slice_of("", 1, name="net", everywhere=True))
    running(w, "low")
    # the place of the victim is taken: only its device can help
    node = w.engine.cluster.pods["uid-low"].node
    gang(w.pod("filler", cpu=2, priority=20, on=node), 1, cpu=2, priority=10)
    assert evicted(w.decide()) == [f"{NAMESPACE}/low"]


def test_what_failed_is_taken_back_whole():
    w = gang(world("a", "b", devices=1), 2)
    grants = prepared(w.decide())
    key = f"{NAMESPACE}/g-c0"
    write(w, grants, key).decide()
    node = devices_of(grants)[key][0][0]
    # before they are bound somebody takes its devices away from one of them, and its node goes
    w.node_gone(node).apply(FactGone("resourceslices.resource.k8s.io", f"slice-{node}"))
    decided = release(w, key).decide()
    assert not binds(decided)
    back = taken_back(decided)
    assert list(back) == [f"{NAMESPACE}/g-c1"]
    assert [one.uid for one in back[f"{NAMESPACE}/g-c1"].reserved_for] == ["uid-g-1"]
    assert back[f"{NAMESPACE}/g-c1"].allocation is not None
    release(w, f"{NAMESPACE}/g-c1").node("d", cpu=8).see(slice_of("d", 1))
    grants = prepared(w.decide(after=30))
    assert len(grants) == 2
    assert len(binds(write(w, grants).decide())) == 2
    check(w)


def test_what_is_not_ready_in_time_is_undone():
    w = gang(world("a", "b"), 2)
    w.decide()
    decided = w.decide(after=601)
    assert sorted(taken_back(decided)) == [f"{NAMESPACE}/g-c0", f"{NAMESPACE}/g-c1"]
    assert w.engine.cluster.nodes.usage.states["DynamicResources"].book.taken == {}


def test_a_claim_that_is_deleted_meanwhile_takes_the_gang_back():
    w = gang(world("a", "b"), 2)
    w.decide()
    decided = w.apply(FactGone("resourceclaims.resource.k8s.io", f"{NAMESPACE}/g-c0")).decide()
    assert not binds(decided)
    assert list(taken_back(decided)) == [f"{NAMESPACE}/g-c1"]


def test_a_member_that_goes_takes_its_gang_back():
    w = gang(world("a", "b"), 2)
    w.decide()
    decided = w.pod_gone("g-0").decide()
    assert sorted(taken_back(decided)) == [f"{NAMESPACE}/g-c0", f"{NAMESPACE}/g-c1"]
    assert w.engine.cluster.nodes.usage.states["DynamicResources"].book.taken == {}


def test_a_grant_that_is_refused_is_a_failure_and_gives_the_devices_free():
    w = world("a", devices=1).see(claim("c")).pod("p", claims=["c"])
    (grant,) = prepared(w.decide()).values()
    decided = w.apply(GrantFailed(grant, "claim c got allocated elsewhere in the meantime")).decide()
    assert not binds(decided)
    assert not taken_back(decided), "it was never written"
    assert devices_of(prepared(decided)) == {f"{NAMESPACE}/c": [("a", "gpu-0")]}


@pytest.mark.parametrize("where", ["grant", "progress"])
def test_a_supply_that_fails_costs_its_unit_the_attempt_and_nobody_else_anything(monkeypatch, where):
    def fails(self, uid, *rest):
        raise RuntimeError("boom")

    monkeypatch.setattr(DeviceSupply, where, fails)
    w = gang(world("a", "b"), 2).pod("p", cpu=1).see(claim("c")).pod("q", claims=["c"])
    decided = w.decide()
    assert list(binds(decided)) == [f"{NAMESPACE}/p"]
    assert all(one.stage.name == "PENDING" for one in w.engine.cluster.pods.values() if one.uid != "uid-p")
    monkeypatch.undo()
    w.apply().decide()
    assert w.engine.troubles.counts.total() > 0
    assert len(prepared(w.decide(after=60))) == 3


def test_the_next_scheduler_goes_on_from_what_stands_there():
    w = gang(world("a", "b"), 3)
    grants = prepared(w.decide())
    write(w, grants, f"{NAMESPACE}/g-c0")
    after = world("a", "b").see(*facts_of(w).values())
    after.group("g", 3)
    for number in range(3):
        after.members("g", number, cpu=1, claims=[f"g-c{number}"])
    again = prepared(after.decide())
    assert sorted(again) == [f"{NAMESPACE}/g-c1", f"{NAMESPACE}/g-c2"]
    decided = write(after, again).decide()
    assert binds(decided)[f"{NAMESPACE}/g-0"] == devices_of(grants)[f"{NAMESPACE}/g-c0"][0][0]
    check(after)
    # and if it is undone nothing of what the first one wrote stays
    undone = world("a", "b").see(*facts_of(w).values())
    undone.group("g", 3)
    for number in range(3):
        undone.members("g", number, cpu=1, claims=[f"g-c{number}"])
    undone.decide()
    assert len(taken_back(undone.pod_gone("g-2").decide())) == 3


def test_what_a_scheduler_before_left_allocated_is_given_back_if_there_is_no_place():
    # two gangs, each of which has half of the devices: whoever of them waits must not keep them
    w = gang(world("a", "b"), 3, "early", created=1.0)
    gang(w, 3, "late", created=2.0)
    later = f"{NAMESPACE}/late-c0"
    grants = prepared(w.decide())
    there = facts_of(w)
    given = grants[f"{NAMESPACE}/early-c0"].allocation
    entry = replace(grants[f"{NAMESPACE}/early-c0"].reserved_for[0], name="late-0", uid="uid-late-0")
    stale = replace(there[later], status=replace(there[later].status, allocation=given, reserved_for=(entry,)))
    found = {**there, later: stale}
    after = world("a", "b").see(*found.values())
    for name, created in (("early", 1.0), ("late", 2.0)):
        after.group(name, 3, created=created)
        for number in range(3):
            after.members(name, number, cpu=1, claims=[f"{name}-c{number}"])
    decided = after.decide()
    assert len(prepared(decided)) == 3
    assert list(taken_back(decided)) == [later]
    assert not taken_back(after.decide(after=70)), "said once"


def test_a_claim_for_what_may_be_used_everywhere_is_kept_by_who_has_no_place():
    w = World().see(CLASS, slice_of("", 1, name="all", everywhere=True), claim("c"))
    w.node("a", cpu=8).pod("p", claims=["c"])
    ((key, grant),) = prepared(w.decide()).items()
    there = facts_of(w)[key]
    given = replace(there.status, allocation=grant.allocation, reserved_for=grant.reserved_for)
    after = World().see(CLASS, slice_of("", 1, name="all", everywhere=True), replace(there, status=given))
    after.node("a", cpu=8, cordoned=True).pod("p", claims=["c"])
    assert taken_back(after.decide()) == {}


def test_who_comes_into_another_gang_is_not_bound_without_what_it_brings():
    w = world("a", "b").see(claim("c")).group("g", 1)
    w.pod("p", gang="unknown", claims=["c"]).decide()
    decided = w.pod("p", gang="g", claims=["c"]).decide()
    assert binds(decided) == {}
    assert len(binds(write(w, prepared(decided)).decide())) == 1


def test_who_joins_a_claim_that_has_its_devices_goes_there_and_is_reserved_alone():
    w = running(world("a", "b"), "c")
    w.pod("q", claims=["c"])
    (grant,) = prepared(w.decide()).values()
    assert grant.allocation is None
    assert [one.uid for one in grant.reserved_for] == ["uid-q"]
    node = w.engine.cluster.pods["uid-c"].node
    assert binds(write(w, {grant.claim: grant}).decide()) == {f"{NAMESPACE}/q": node}


def given_elsewhere(world, key, grant, *, to):
    """Somebody else has given the claim the same device of the other node, for this pod."""
    (result,) = grant.allocation.devices.results
    other = {"a": "b", "b": "a"}[result.pool]
    there = facts_of(world)[key]
    term = read(NodeSelector, {"nodeSelectorTerms": [{"matchFields": [node_is(other)]}]})
    allocation = replace(
        grant.allocation,
        devices=replace(grant.allocation.devices, results=(replace(result, pool=other),)),
        node_selector=term,
    )
    entry = replace(grant.reserved_for[0], name=to, uid=f"uid-{to}")
    world.see(replace(there, status=replace(there.status, allocation=allocation, reserved_for=(entry,))))
    return other


def node_is(name):
    return {"key": "metadata.name", "operator": "In", "values": [name]}


def test_who_is_bound_by_somebody_else_keeps_what_that_one_gave_it():
    w = world("a", "b").see(claim("c")).pod("p", claims=["c"])
    ((key, grant),) = prepared(w.decide()).items()
    node = given_elsewhere(w, key, grant, to="p")
    w.pod("p", claims=["c"], on=node)
    assert taken_back(w.decide()) == {}
    w.pod("q", claims=["c"])
    (entry,) = prepared(w.decide()).values()
    assert [one.uid for one in entry.reserved_for] == ["uid-q"]
    assert binds(write(w, {key: entry}).decide()) == {f"{NAMESPACE}/q": node}


def test_who_is_bound_by_somebody_else_keeps_what_was_written_for_it_here():
    w = World().see(CLASS, slice_of("", 1, name="all", everywhere=True), claim("c"))
    w.node("a", cpu=8).node("b", cpu=8).pod("p", claims=["c"])
    grants = prepared(w.decide())
    chosen = w.engine.cluster.pods["uid-p"].node
    write(w, grants).pod("p", claims=["c"], on={"a": "b", "b": "a"}[chosen])
    assert taken_back(w.decide()) == {}


def test_a_claim_that_somebody_else_was_faster_to_allocate_is_not_given_back_but_gone_after():
    w = world("a", "b").see(claim("c")).pod("p", claims=["c"])
    ((key, grant),) = prepared(w.decide()).items()
    node = given_elsewhere(w, key, grant, to="other")
    decided = [*w.decide(), *w.decide(after=30)]
    assert taken_back(decided) == {}
    again = prepared(decided)
    assert again[key].allocation is None
    assert binds(write(w, again).decide()) == {f"{NAMESPACE}/p": node}


def test_a_claim_that_was_made_for_the_group_is_reserved_for_the_group():
    owner = OwnerReference(kind="PodGroup", name="g", uid="uid-g", controller=True)
    w = world("a", "b").see(claim("g-gpu", owner=owner)).group("g", 2)
    entry = PodClaim(name="gpu", resource_claim_template_name="one")
    for number in (0, 1):
        bare = pod(f"g-{number}", gang="g")
        status = replace(bare.status, resource_claim_statuses=(PodClaimStatus("gpu", "g-gpu"),))
        w.see(replace(bare, spec=replace(bare.spec, resource_claims=(entry,)), status=status))
    (grant,) = prepared(w.decide()).values()
    assert [(one.resource, one.name, one.uid) for one in grant.reserved_for] == [("podgroups", "g", "uid-g")]
    assert len(binds(write(w, {grant.claim: grant}).decide())) == 2


def running(world, *names, priority=1):
    """Lone pods that have been granted their claims and run."""
    for name in names:
        world.see(claim(name)).pod(name, claims=[name], priority=priority)
    decided = write(world, prepared(world.decide())).decide()
    world.bound()
    for key, node in binds(decided).items():
        name = key.partition("/")[2]
        world.pod(name, claims=[name], priority=priority, on=node)
    world.decide()
    return world


def test_preemption_frees_devices():
    w = running(world("a", "b", devices=1), "low-a", "low-b")
    gang(w, 2, priority=10)
    decided = w.decide()
    assert evicted(decided) == [f"{NAMESPACE}/low-a", f"{NAMESPACE}/low-b"]
    # the devices are free when their claims are, not when the pods are gone
    decided = w.pod_gone("low-a").pod_gone("low-b").decide(after=1)
    assert not prepared(decided)
    release(w, f"{NAMESPACE}/low-a", f"{NAMESPACE}/low-b")
    grants = prepared(w.decide(after=1))
    assert sorted(grants) == [f"{NAMESPACE}/g-c0", f"{NAMESPACE}/g-c1"]
    assert len(binds(write(w, grants).decide())) == 2
    check(w)


def test_nobody_else_is_evicted_while_devices_of_those_who_left_are_given_back():
    w = running(world("a", "b", devices=1), "low-a", "low-b")
    w.see(claim("high")).pod("high", claims=["high"], priority=10)
    (gone,) = evicted(w.decide())
    name = gone.partition("/")[2]
    assert not evicted(w.pod_gone(name).decide(after=1))
    assert not evicted(w.decide(after=20))
    release(w, gone)
    assert prepared(w.decide(after=1))


def test_the_next_scheduler_waits_for_devices_that_are_being_given_back():
    w = running(world("a", "b", devices=1), "low-a", "low-b")
    found = dict(facts_of(w))
    after = world("a", "b", devices=1).see(*found.values())
    (left,) = [one for one in w.engine.cluster.pods.values() if one.node == "a"]
    name = left.key.partition("/")[2]
    after.pod(name, claims=[name], priority=1, on="a").see(claim("high")).pod("high", claims=["high"], priority=10)
    assert not evicted(after.decide())
    release(after, *(set(found) - {left.key}))
    assert prepared(after.decide(after=1))


def test_devices_that_victims_gave_back_are_kept_for_whom_they_left():
    w = running(world("a", "b", devices=1), "low-a", "low-b")
    gang(w, 2, priority=10)
    assert len(evicted(w.decide())) == 2
    (first,) = [one.key for one in w.engine.cluster.pods.values() if one.node == "a"]
    w.pod_gone(first.partition("/")[2])
    release(w, first).see(claim("mid")).pod("mid", claims=["mid"], priority=5)
    assert not prepared(w.decide(after=1))


def test_pods_of_different_units_that_share_a_claim_come_together():
    w = world("a", "b").see(claim("c"))
    w.pod("p", cpu=1, claims=["c"]).pod("q", cpu=1, claims=["c"])
    decided = w.decide()
    for _ in range(3):
        decided = write(w, prepared(decided)).decide(after=2)
        w.bound()
    assert {one.node for one in w.engine.cluster.pods.values()} in ({"a"}, {"b"})
    check(w)


def test_who_is_refused_is_placed_anew_where_there_are_devices():
    w = world("a", devices=1).see(claim("c")).pod("p", claims=["c"], cpu=1)
    (grant,) = prepared(w.decide()).values()
    # better in all but devices
    w.node("z", cpu=64).node("y", cpu=64)
    decided = w.apply(GrantFailed(grant, "not now")).decide()
    assert devices_of(prepared(decided)) == {f"{NAMESPACE}/c": [("a", "gpu-0")]}
    events = [one.note for one in decided if isinstance(one, Event)]
    assert not any("cannot allocate" in note for note in events), events


def test_nobody_is_evicted_for_devices_that_would_not_do():
    w = running(world("a", devices=1), "low")
    gang(w, 2, priority=10)
    assert not evicted(w.decide())


def test_missing_claims_and_classes_hold_a_pod_back_and_say_which():
    w = world("a").pod("p", claims=["c"])
    assert ("Unschedulable", f'could not find ResourceClaim "{NAMESPACE}/c"') in says(w.decide())
    w.see(claim("c", device_class="other"))
    assert ("Unschedulable", "request gpu: device class other does not exist") in says(w.decide(after=3))
    w.see(replace(CLASS, metadata=replace(CLASS.metadata, name="other")))
    assert prepared(w.decide(after=1))


def test_claims_made_from_a_template_are_awaited_and_must_be_the_pods_own():
    bare = pod("p")
    made = replace(
        bare,
        spec=replace(bare.spec, resource_claims=(PodClaim(name="gpu", resource_claim_template_name="one"),)),
    )
    w = world("a").see(made)
    assert ("Unschedulable", f'pod "{NAMESPACE}/p": ResourceClaim not created yet') in says(w.decide())
    told = replace(made, status=replace(made.status, resource_claim_statuses=(PodClaimStatus("gpu", "p-gpu-x"),)))
    w.see(claim("p-gpu-x"), told)
    not_own = f"ResourceClaim {NAMESPACE}/p-gpu-x was not created for Pod {NAMESPACE}/p (Pod is not owner)"
    assert ("Unschedulable", not_own) in says(w.decide(after=3))
    owner = OwnerReference(kind="Pod", name="p", uid="uid-p", controller=True)
    w.see(claim("p-gpu-x", owner=owner))
    assert prepared(w.decide(after=3))


def test_claims_of_their_own_make_no_classes_of_their_own():
    w = gang(world("a", "b"), 2)
    first, second = (w.engine.cluster.pods[f"uid-g-{n}"].pod_class for n in (0, 1))
    assert first is second
    grants = prepared(w.decide())
    write(w, grants).decide()
    first, second = (w.engine.cluster.pods[f"uid-g-{n}"].pod_class for n in (0, 1))
    assert first is second, "each holds gpu-0 of its node"


def test_who_waits_for_devices_that_others_have_is_told_that_there_would_be_enough():
    w = running(world("a", "b", devices=1), "one", "other")
    ((reason, message), *_) = says(gang(w, 2).decide())
    assert reason == "Unschedulable"
    assert "room for none (2 cannot allocate all claims, for 2 if nothing else ran)" in message


def test_who_asks_for_devices_that_no_node_has_is_not_told_to_add_nodes_for_its_cpu():
    ((_, message), *_) = says(gang(world("a", "b", devices=1), 2, count=2).decide())
    assert "even if nothing else ran" in message
    assert "would do" not in message
