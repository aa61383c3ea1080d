"""Pods that look at each other, in gangs and alone: where they go, when they wait, and what ends that."""

import pytest
from msgspec.structs import replace

from muster.api.wire import Affinity, Identity, Namespace, PodAffinity, PodAffinityTerm, PreferredPods, TopologySpread
from muster.base.selectors import LabelSelector
from muster.engine.changes import FactGone, FactSeen
from tests.builders import NAMESPACE, cluster, evicted, node, placements, pod, told

HOST, ZONE = "kubernetes.io/hostname", "zone"


def term(app, key, **more):
    return PodAffinityTerm(label_selector=LabelSelector({"app": app}), topology_key=key, **more)


def must(app, key, **more):
    return PodAffinity(required=(term(app, key, **more),))


def rather(app, key, weight=100):
    return PodAffinity(preferred=(PreferredPods(weight=weight, pod_affinity_term=term(app, key)),))


def evenly(app, key=ZONE, skew=1, **more):
    return TopologySpread(max_skew=skew, topology_key=key, label_selector=LabelSelector({"app": app}), **more)


def member(name, app, *, near=None, apart=None, spread=(), **facts):
    found = pod(name, labels={"app": app}, **{"cpu": 1, **facts})
    affinity = Affinity(pod_affinity=near, pod_anti_affinity=apart)
    return replace(found, spec=replace(found.spec, affinity=affinity, topology_spread_constraints=tuple(spread)))


def zones(**nodes):
    """Nodes of 4 cpu: name → zone."""
    world = cluster(0)
    for name, zone in nodes.items():
        world.see(node(name, cpu=4, labels={HOST: name, ZONE: zone} if zone else {HOST: name}))
    return world


def gang(world, name, count, *, minimum=None, **facts):
    world.group(name, minimum or count)
    return world.see(*(member(f"{name}-{number}", name, gang=name, **facts) for number in range(count)))


# --- apart ---


def test_members_that_keep_apart_go_to_as_many_nodes():
    world = gang(zones(a="x", b="x", c="y"), "g", 3, apart=must("g", HOST))
    assert sorted(placements(world.decide()).values()) == ["a", "b", "c"]


def test_a_gang_that_cannot_keep_apart_waits_whole_and_says_why():
    world = gang(zones(a="x", b="x", c="y"), "g", 4, apart=must("g", HOST))
    decisions = world.decide()
    assert placements(decisions) == {}
    assert "didn't match pod anti-affinity rules" in told(decisions)["g-0"]


def test_nobody_goes_where_a_running_pod_does_not_want_it():
    world = zones(a="x", b="y").see(member("first", "db", on="a", apart=must("web", ZONE)))
    assert placements(world.see(pod("web", cpu=1, labels={"app": "web"})).decide()) == {"web": "b"}


def test_who_keeps_apart_from_all_waits_until_one_of_them_goes():
    world = zones(a="x", b="y").see(pod("p", cpu=1, on="a", labels={"app": "p"}))
    world.see(pod("q", cpu=1, on="b", labels={"app": "p"}), member("shy", "shy", apart=must("p", ZONE)))
    said = told(world.decide())
    assert "2 node(s) didn't match pod anti-affinity rules" in said["shy"]
    assert placements(world.pod_gone("q").decide()) == {"shy": "b"}


def test_who_was_kept_off_by_a_running_pod_goes_there_when_that_has_gone():
    world = zones(a="x").see(member("first", "db", on="a", apart=must("web", HOST)))
    world.see(pod("web", cpu=1, labels={"app": "web"}))
    assert "existing pods anti-affinity rules" in told(world.decide())["web"]
    assert placements(world.pod_gone("first").decide()) == {"web": "a"}


# --- together ---


def test_members_that_go_together_all_go_where_the_first_goes():
    world = gang(zones(a="x", b="y", c="y"), "g", 6, near=must("g", ZONE))
    assert set(placements(world.decide()).values()) == {"b", "c"}


def test_a_pod_waits_for_whom_it_wants_to_be_near():
    world = zones(a="x", b="y").see(member("web", "web", near=must("db", ZONE)))
    assert "didn't match pod affinity rules" in told(world.decide())["web"]
    world.see(pod("db", cpu=1, labels={"app": "db"}, selector={ZONE: "y"}))
    assert placements(world.decide()) == {"db": "b", "web": "b"}


def test_who_waits_for_a_pod_of_its_priority_goes_before_those_of_less_though_all_came_at_once():
    world = zones(a="x").see(member("web", "web", near=must("db", HOST), priority=9, cpu=2, created=1.0))
    world.see(pod("db", cpu=2, labels={"app": "db"}, priority=9, created=2.0), pod("low", cpu=2, created=3.0))
    decisions = world.decide()
    assert placements(decisions) == {"db": "a", "web": "a"}
    assert evicted(decisions + world.bound().decide()) == []


def test_members_of_one_gang_may_want_to_be_near_each_other():
    world = zones(a="x", b="y").group("g", 2)
    world.see(member("g-web", "web", gang="g", near=must("db", ZONE)), member("g-db", "db", gang="g", cpu=2))
    where = placements(world.decide())
    assert len(where) == 2
    assert where["g-web"] == where["g-db"]


def test_the_zone_is_found_that_holds_whom_others_follow_and_those_who_do():
    world = cluster(0)
    for name, zone in (("a", "x"), ("b", "y"), ("c", "y")):
        world.see(node(name, cpu=8, labels={HOST: name, ZONE: zone}))
    world.group("g", 3).see(member("g-leader", "leader", gang="g"))
    world.see(*(member(f"g-{n}", "worker", gang="g", cpu=7, near=must("leader", ZONE)) for n in range(2)))
    assert set(placements(world.decide()).values()) == {"b", "c"}


def test_a_preference_decides_among_nodes_and_keeps_nobody_waiting():
    world = zones(a="x", b="y").see(pod("db", cpu=3, on="a", labels={"app": "db"}))
    assert placements(world.see(member("web", "web", near=rather("db", ZONE))).decide()) == {"web": "a"}
    assert placements(world.see(member("bat", "bat", apart=rather("db", ZONE))).decide()) == {"bat": "b"}


# --- evenly ---


def test_members_go_evenly_over_zones():
    world = gang(zones(a="x", b="x", c="x", d="y"), "g", 8, spread=[evenly("g")], cpu="500m")
    where = placements(world.decide())
    assert sum(found == "d" for found in where.values()) == 4


def test_a_gang_that_cannot_be_spread_waits_until_a_zone_has_room():
    world = zones(a="x", b="y").see(pod("old", cpu=3, on="b"))
    gang(world, "g", 4, spread=[evenly("g")])
    decisions = world.decide()
    assert placements(decisions) == {}
    assert "didn't match pod topology spread constraints" in told(decisions)["g-3"]
    assert len(placements(world.pod_gone("old").decide())) == 4


def test_who_leaves_counts_no_more_for_the_spread():
    world = zones(a="x", b="y")
    world.see(pod("p", cpu=1, on="a", labels={"app": "p"}, leaving=True), pod("q", cpu=3, on="b"))
    # without the one that leaves both are empty, and there is more room beside it
    assert placements(world.see(member("next", "p", spread=[evenly("p")])).decide()) == {"next": "a"}


def test_nodes_without_the_label_are_none_for_those_who_are_spread():
    world = zones(a="").see(member("p", "p", spread=[evenly("p")]))
    assert "(missing required label)" in told(world.decide())["p"]
    assert placements(world.see(node("b", cpu=4, labels={HOST: "b", ZONE: "y"})).decide()) == {"p": "b"}


# --- what is known ---


def test_labels_count_that_nobody_asked_for_when_the_pod_came():
    world = zones(a="x", b="y").see(pod("db", cpu=1, on="a", labels={"app": "db"}))
    world.decide()
    assert placements(world.see(member("web", "web", apart=must("db", ZONE))).decide()) == {"web": "b"}


def test_labels_of_a_running_pod_may_change():
    world = zones(a="x").see(
        pod("db", cpu=1, on="a", labels={"app": "db"}), member("web", "web", apart=must("db", ZONE))
    )
    assert placements(world.decide()) == {}
    assert placements(world.see(pod("db", cpu=1, on="a", labels={"app": "x"})).decide()) == {"web": "a"}


def test_a_zone_of_a_node_may_change():
    world = zones(a="x", b="x").see(pod("db", cpu=1, on="a", labels={"app": "db"}))
    world.see(member("web", "web", apart=must("db", ZONE)))
    assert placements(world.decide()) == {}
    assert placements(world.see(node("b", cpu=4, labels={HOST: "b", ZONE: "y"})).decide()) == {"web": "b"}


@pytest.mark.parametrize("labels", [{"team": "ml"}, {}])
def test_pods_are_chosen_by_the_labels_of_their_namespaces(labels):
    chosen = LabelSelector({"team": "ml"})
    world = zones(a="x", b="y").apply(FactSeen(Namespace(metadata=Identity(name=NAMESPACE, labels=labels))))
    world.see(pod("db", cpu=1, on="b", labels={"app": "db"}))
    world.see(member("web", "web", apart=must("db", ZONE, namespace_selector=chosen), cpu=1))
    # it goes to the emptier node unless it may not
    assert placements(world.decide()) == {"web": "a"}
    near = member("near", "near", near=must("db", ZONE, namespace_selector=chosen))
    assert placements(world.see(near).decide()) == ({"near": "b"} if labels else {})


def test_a_namespace_that_gets_a_label_lets_somebody_go():
    chosen = LabelSelector({"team": "ml"})
    world = zones(a="x").see(pod("db", cpu=1, on="a", labels={"app": "db"}))
    world.see(member("near", "near", near=must("db", ZONE, namespace_selector=chosen)))
    assert placements(world.decide()) == {}
    named = FactSeen(Namespace(metadata=Identity(name=NAMESPACE, labels={"team": "ml"})))
    assert placements(world.apply(named).decide()) == {"near": "a"}
    world.apply(FactGone("namespaces", NAMESPACE)).see(
        member("late", "late", near=must("db", ZONE, namespace_selector=chosen))
    )
    assert placements(world.decide()) == {}


# --- preemption ---


def test_others_go_so_that_a_gang_can_keep_apart():
    world = zones(a="x", b="y").runs("low", "b", cpu=4)
    gang(world, "g", 2, apart=must("g", HOST), priority=None)
    world.group("g", 2, priority=10)
    world.see(*(member(f"g-{n}", "g", gang="g", apart=must("g", HOST), priority=10) for n in range(2)))
    assert evicted(world.decide()) == ["low-0"]
    world.pod_gone("low-0")
    assert sorted(placements(world.decide()).values()) == ["a", "b"]


def test_who_keeps_apart_from_its_victims_has_their_place():
    world = zones(a="x").see(pod("low", cpu=1, on="a", labels={"app": "low"}))
    world.see(member("high", "high", apart=must("low", HOST), priority=10))
    assert evicted(world.decide()) == ["low"]
    assert placements(world.pod_gone("low").decide()) == {"high": "a"}
