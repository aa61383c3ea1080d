"""Pod classes: which pods are equal in everything that matters to scheduling."""

import pytest
from msgspec.structs import replace

from muster.api.wire import Container, Resources
from muster.cluster.cluster import Cluster
from tests.builders import pod, tolerate

PLAIN = {"cpu": 1, "memory": "1Gi"}


def classes(*pods):
    cluster = Cluster(states={})
    return [cluster.classes.of(found) for found in pods]


def containers(*requests):
    plain = pod("p")
    listed = tuple(Container(resources=Resources(requests=dict(found))) for found in requests)
    return replace(plain, spec=replace(plain.spec, containers=listed))


SAME = [
    ("another name, label and age", pod("a", **PLAIN), pod("b", labels={"index": "7"}, created=9.0, **PLAIN)),
    ("another priority", pod("a", **PLAIN), pod("b", priority=100, **PLAIN)),
    ("another gang", pod("a", gang="x", **PLAIN), pod("b", gang="y", **PLAIN)),
    ("a cpu in thousandths", pod("a", cpu="1"), pod("b", cpu="1000m")),
    ("a number without quotes", pod("a", cpu=1), pod("b", cpu="1")),
    ("binary and decimal suffixes", pod("a", memory="1Ki"), pod("b", memory="1024")),
    (
        "another order of requests",
        pod("a", requests={"cpu": 1, "memory": "1Gi"}),
        pod("b", requests={"memory": "1Gi", "cpu": 1}),
    ),
    (
        "the same sum over other containers",
        containers({"cpu": "1", "memory": "1Gi"}, {"cpu": "1", "memory": "1Gi"}),
        containers({"cpu": "2", "memory": "2Gi"}),
    ),
    ("a zero for a resource", pod("a", **PLAIN), pod("b", gpu=0, **PLAIN)),
    (
        "another order of tolerations",
        pod("a", tolerations=[tolerate("x"), tolerate("y")]),
        pod("b", tolerations=[tolerate("y"), tolerate("x")]),
    ),
    (
        "a toleration said twice",
        pod("a", tolerations=[tolerate("x")]),
        pod("b", tolerations=[tolerate("x"), tolerate("x")]),
    ),
    (
        "another order of selector keys",
        pod("a", selector={"x": "1", "y": "2"}),
        pod("b", selector={"y": "2", "x": "1"}),
    ),
    ("another order of ports", pod("a", ports=[80, 81]), pod("b", ports=[81, 80])),
]


@pytest.mark.parametrize(("one", "other"), [row[1:] for row in SAME], ids=[row[0] for row in SAME])
def test_what_does_not_matter_to_scheduling_does_not_split_a_class(one, other):
    first, second = classes(one, other)
    assert first is second


DIFFERENT = [
    ("cpu", {"cpu": 2}),
    ("an extended resource", {"gpu": 1}),
    ("a selector", {"selector": {"zone": "a"}}),
    ("required affinity", {"required": "zone=a"}),
    ("preferred affinity", {"preferred": {"zone=a": 1}}),
    ("a toleration", {"tolerations": [tolerate("x")]}),
    ("a host port", {"ports": [80]}),
]


@pytest.mark.parametrize("facts", [row[1] for row in DIFFERENT], ids=[row[0] for row in DIFFERENT])
def test_what_matters_to_scheduling_splits_a_class(facts):
    first, second = classes(pod("a", **PLAIN), pod("b", **(PLAIN | facts)))
    assert first is not second


def test_a_guessed_request_is_not_the_same_as_a_named_one():
    # both are rated alike, but only one takes room
    first, second = classes(pod("a"), pod("b", cpu="100m", memory="200Mi"))
    assert first is not second
    assert not first.used
    assert first.scored == second.scored == second.used


def test_larger_pods_come_first_and_extended_resources_before_all():
    found = classes(
        pod("small", cpu=1),
        pod("large", cpu=2),
        pod("gpu", cpu=1, gpu=1),
        pod("roomy", cpu=1, memory="1Gi"),
        pod("bare"),
    )
    small, large, gpu, roomy, bare = found
    assert sorted(found, key=lambda c: c.order) == [gpu, large, roomy, small, bare]


def test_the_order_of_classes_does_not_depend_on_who_came_first():
    pods = [pod("a", cpu=1, selector={"x": "1"}), pod("b", cpu=1, selector={"y": "1"}), pod("c", cpu=1)]
    there = [found.order for found in classes(*pods)]
    back = [found.order for found in classes(*reversed(pods))]
    assert there == back[::-1]
