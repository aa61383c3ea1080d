"""What nodes and kubelets say of themselves and of pods: images, features, and what is given to whom."""

import pytest
from msgspec.structs import replace

from muster.api.wire import Condition, ContainerStatus, StatusResources
from muster.plugins.registry import FitArgs, ProfileParts, default_parts, make_profile
from tests.builders import World, cluster, group, node, placements, pod, told

FEATURE = "RestartAllContainersOnContainerExits"


# --- features ---


def test_a_pod_goes_where_the_kubelet_has_what_it_needs():
    world = World().see(node("a"), node("b", features=["Other", FEATURE]), node("c", features=["Other"]))
    assert placements(world.pod("p", cpu=1, restarts_all=True).decide()) == {"p": "b"}


def test_a_gang_waits_for_kubelets_that_can_and_says_so():
    world = World().see(node("a", features=[FEATURE], cpu=1), node("b"))
    world.gang("g", members=2, cpu=1, restarts_all=True)
    said = told(world.decide())
    assert "1 of 2 nodes may be used (1 didn't match Pod's required features)" in said["g-0"]
    assert set(placements(world.node("b", features=[FEATURE]).decide())) == {"g-0", "g-1"}


def test_room_is_asked_for_before_features_are():
    world = World().see(node("small", cpu=1), node("large", cpu=8))
    said = told(world.pod("p", cpu=2, restarts_all=True).decide())["p"]
    assert said == ("0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match Pod's required features.")


# --- images ---


def test_a_pod_goes_where_most_of_its_image_is():
    world = World().see(node("a"), *(node(name, images={"big:latest": 3000}) for name in ("b", "c")))
    assert placements(world.pod("p", cpu=1, image="big").decide()) == {"p": "b"}
    assert placements(world.pod("q", cpu=1, image="other").decide()) == {"q": "a"}


def test_an_image_that_comes_to_a_node_counts_for_pods_that_came_before():
    world = World().see(node("a"), node("b")).pod("p", cpu=1, image="big:1", gates=["wait"])
    world.decide()
    world.node("b", images={"big:1": 3000})
    assert placements(world.pod("p", cpu=1, image="big:1").decide()) == {"p": "b"}


def test_a_gang_is_drawn_to_its_image_until_other_nodes_are_better():
    images = {"big:1": 300}
    world = World().see(*(node(f"n{n}", cpu=32, images=images if n < 2 else {}) for n in range(4)))
    found = placements(world.gang("g", members=24, cpu=2, image="big:1").decide())
    with_image = [name for name in found.values() if name in ("n0", "n1")]
    assert 14 < len(with_image) < 24


def test_members_with_several_images_go_where_each_would_go_alone():
    world = World().see(node("a", images={"x:1": 3000}), node("b", images={"y:1": 3000}))
    world.see(group("g", 2), pod("g-0", gang="g", cpu=1, image="x:1"), pod("g-1", gang="g", cpu=1, image="y:1"))
    assert placements(world.decide()) == {"g-0": "a", "g-1": "b"}


# --- what is given to pods ---


def running(name, asked, *, given=None, has=None, reason=None, **facts):
    """A pod of one container that asks for so many cpus, is given others, and has others yet."""
    found = pod(name, cpu=asked, phase="Running", **facts)
    container = ContainerStatus(
        allocated_resources={} if given is None else {"cpu": given},
        resources=None if has is None else StatusResources(requests={"cpu": has}),
    )
    pending = () if reason is None else (Condition(type="PodResizePending", status="True", reason=reason),)
    conditions = (*found.status.conditions, *pending)
    return replace(found, status=replace(found.status, container_statuses=(container,), conditions=conditions))


@pytest.mark.parametrize(
    ("facts", "left"),
    [
        ({}, 6),
        ({"given": "1", "has": "1"}, 6),
        ({"given": "3", "has": "1"}, 5),
        ({"given": "1", "has": "4"}, 4),
        ({"given": "1", "has": "1", "reason": "Deferred"}, 6),
        # its kubelet can never give it two: it has one
        ({"given": "1", "has": "1", "reason": "Infeasible"}, 7),
        ({"given": "1", "reason": "Infeasible"}, 7),
    ],
)
def test_a_pod_that_is_being_resized_takes_the_most_of_what_it_may_have(facts, left):
    world = cluster(1, cpu=8).see(running("r", "2", on="n0", **facts))
    world.see(*(pod(f"p{number}", cpu=1) for number in range(9)))
    assert len(placements(world.decide())) == left


def test_whoever_waits_is_woken_when_a_pod_has_become_smaller():
    world = cluster(1, cpu=8).see(running("r", "2", given="6", has="6", on="n0"))
    assert placements(world.pod("p", cpu=4).decide()) == {}
    assert placements(world.see(running("r", "2", given="2", has="6", on="n0")).decide()) == {}
    assert placements(world.see(running("r", "2", given="2", has="2", on="n0")).decide()) == {"p": "n0"}


def test_a_pod_that_has_what_it_asks_for_is_of_the_class_that_it_had_when_it_came():
    world = cluster(1)
    classes = world.engine.cluster.classes
    new, there = pod("r", cpu=2), running("r", 2, given=2, has=2, on="n0")
    assert there.status.container_statuses == ()
    assert classes.of(new) is classes.of(there)


# --- what pods need not have ---


def test_what_the_scheduler_is_told_to_ignore_nobody_need_have():
    fit = FitArgs(ignored=("example.com/licence",), ignored_groups=("seats.example",))
    parts = tuple(replace(p, args=fit) if p.name == "NodeResourcesFit" else p for p in default_parts())
    world = World(make_profile(ProfileParts(plugins=parts))).node("n", cpu=8)
    asked = {"example.com/licence": 1, "seats.example/one": 5}
    world.gang("g", members=2, cpu=1, requests=asked)
    world.pod("p", requests={"example.com/other": 1})
    decisions = world.decide()
    assert placements(decisions) == {"g-0": "n", "g-1": "n"}
    assert told(decisions)["p"] == "0/1 nodes are available: 1 Insufficient example.com/other."
