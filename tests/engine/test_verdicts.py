"""Why a unit waits, in one sentence, word for word."""

import pytest
from msgspec.structs import replace

from muster.api.wire import Affinity, NodeAffinity
from muster.base.selectors import NodeSelector, NodeSelectorTerm, Requirement
from muster.engine.changes import Failure
from muster.engine.decisions import Release
from muster.engine.verdicts import Outcome, Refusal, fit_error
from tests.builders import HOSTNAME, cluster, evenly, only, pod, strictly, told, tolerate


def said(world, unit="g", after=0.0):
    return told(world.decide(after=after))[unit]


def beside(*zones):
    """A node in each of the zones."""
    world = cluster()
    for zone in zones:
        world.node(f"n{zone}", labels={HOSTNAME: f"n{zone}", "zone": zone})
    return world


REFUSALS = [
    (
        "room is taken",
        lambda: cluster(2, cpu=8).pod("r", cpu=6, on="n0").gang("g", members=3, cpu=4),
        Outcome.WAITING,
        "needs 3 × 4 cpu, 2 nodes have room for 2 (for 4 if nothing else ran); "
        "1 more is missing; 1 node of 8 cpu would do",
    ),
    (
        "one node",
        lambda: cluster(1, cpu=8).pod("r", cpu=2, on="n0").gang("g", members=2, cpu=4),
        Outcome.WAITING,
        "needs 2 × 4 cpu, 1 node has room for 1 (for 2 if nothing else ran); "
        "1 more is missing; 1 node of 8 cpu would do",
    ),
    (
        "too large for the cluster",
        lambda: cluster(4, cpu=8).gang("g", members=6, cpu=6),
        Outcome.IMPOSSIBLE,
        "needs 6 × 6 cpu, 4 nodes have room for 4 "
        "even if nothing else ran; 2 more are missing; 2 nodes of 8 cpu would do",
    ),
    (
        "too large for any node",
        lambda: cluster(2, cpu=2).gang("g", members=2, cpu=4),
        Outcome.IMPOSSIBLE,
        "needs 2 × 4 cpu, 2 nodes have room for none "
        "even if nothing else ran; 2 more are missing; 2 nodes of 4 cpu would do",
    ),
    (
        "no nodes",
        lambda: cluster().gang("g", members=2, cpu=4),
        Outcome.IMPOSSIBLE,
        "needs 2 × 4 cpu, there are no nodes; 2 more are missing; 2 nodes of 4 cpu would do",
    ),
    (
        "a label that no node has",
        lambda: cluster(2).gang("g", members=2, cpu=4, selector={"zone": "x"}),
        Outcome.IMPOSSIBLE,
        "needs 2 × 4 cpu, none of 2 nodes may be used (2 didn't match Pod's node affinity/selector); "
        "2 more are missing; 2 nodes of 4 cpu with zone=x would do",
    ),
    (
        "a label that one small node has",
        lambda: cluster(2).node("z", labels={"zone": "b"}, cpu=1).gang("g", members=2, cpu=4, required="zone in (b,c)"),
        Outcome.IMPOSSIBLE,
        "needs 2 × 4 cpu, 1 of 3 nodes may be used (2 didn't match Pod's node affinity/selector) and has room "
        "for none even if nothing else ran; 2 more are missing; 2 nodes of 4 cpu with zone=b would do",
    ),
    (
        "taints and a cordon",
        lambda: cluster(2, taints=["x:NoSchedule"]).node("c", cordoned=True).gang("g", members=2, cpu=1),
        Outcome.IMPOSSIBLE,
        "needs 2 × 1 cpu, none of 3 nodes may be used (2 had untolerated taint(s) and 1 was unschedulable); "
        "2 more are missing; 2 nodes of 1 cpu would do",
    ),
    (
        "several resources",
        lambda: cluster(2).node("x", gpu=4).gang("g", members=3, cpu=1, gpu=2),
        Outcome.IMPOSSIBLE,
        "needs 3 × 1 cpu + 2 nvidia.com/gpu, 3 nodes have room for 2 "
        "even if nothing else ran (3 Insufficient nvidia.com/gpu); "
        "1 more is missing; 1 node of 8 cpu + 4 nvidia.com/gpu would do",
    ),
    (
        "memory",
        lambda: cluster(1).gang("g", members=2, memory="20Gi", cpu="500m"),
        Outcome.IMPOSSIBLE,
        "needs 2 × 500m cpu + 20Gi memory, 1 node has room for 1 even if nothing else ran (1 Insufficient memory); "
        "1 more is missing; 1 node of 8 cpu + 32Gi memory would do",
    ),
    (
        "places for pods",
        lambda: cluster(1, pods=1).gang("g", members=2),
        Outcome.IMPOSSIBLE,
        "needs 2 pods without requests, 1 node has room for 1 "
        "even if nothing else ran (1 Too many pods); 1 more is missing; 1 node would do",
    ),
    (
        "a host port",
        lambda: cluster(2).gang("g", members=3, ports=[80]),
        Outcome.IMPOSSIBLE,
        "needs 3 pods with host port 80, 2 nodes have room for 2 even if nothing else ran "
        "(2 didn't have free ports for the requested pod ports); 1 more is missing; 1 node would do",
    ),
    (
        "members that keep apart",
        lambda: beside("a", "b").gang("g", members=3, cpu=1, labels={"app": "g"}, apart=strictly("g", key="zone")),
        Outcome.WAITING,
        "needs 3 × 1 cpu, 2 nodes have room for 2 (2 didn't match pod anti-affinity rules); 2 of 3 have a place before "
        "required anti-affinity asks for one more zone; 1 more is missing",
    ),
    (
        "members that keep apart by node",
        lambda: beside("a", "b").gang("g", members=3, cpu=1, labels={"app": "g"}, apart=strictly("g")),
        Outcome.WAITING,
        "needs 3 × 1 cpu, 2 nodes have room for 2 (2 didn't match pod anti-affinity rules); 2 of 3 have a place before "
        "required anti-affinity asks for one more hostname; 1 more is missing; 1 node of 8 cpu would do",
    ),
    (
        "members that want to be near a pod that is not there",
        lambda: beside("a", "b").gang("g", members=2, cpu=1, near=strictly("db", key="zone")),
        Outcome.NOT_FOUND,
        "needs 2 × 1 cpu, 2 nodes have room for none (2 didn't match pod affinity rules); "
        "required affinity asks for pods that are nowhere (not proven impossible); 2 more are missing",
    ),
    (
        "members that are to be spread over zones of which one is full",
        lambda: (
            beside("a", "b")
            .see(pod("old", cpu=8, on="nb", phase="Running"))
            .gang("g", members=4, cpu=1, labels={"app": "g"}, spread=[evenly("g", key="zone")])
        ),
        Outcome.NOT_FOUND,
        "needs 4 × 1 cpu, 2 nodes have room for 1 (1 didn't match pod topology spread constraints); 1 of 4 has a place "
        "before spread over zone (maxSkew 1) asks for zone b, which has no room (not proven impossible); "
        "3 more are missing",
    ),
    (
        "several shapes",
        lambda: cluster(2, cpu=5).group("g", 3).members("g", 0, cpu=4).members("g", 1, 2, cpu=3),
        Outcome.NOT_FOUND,
        "needs 1 × 4 cpu and 2 × 3 cpu together, 2 nodes have room for 2 and 2, each counted alone, "
        "but no placement found for all together (members of different shapes: not proven impossible); "
        "1 more is missing; 1 node of 5 cpu would do",
    ),
    (
        "several shapes that need too much together",
        lambda: (
            cluster(2, cpu=4).pod("r", cpu=2, on="n0").group("g", 3).members("g", 0, cpu=4).members("g", 1, 2, cpu=2)
        ),
        Outcome.WAITING,
        "needs 1 × 4 cpu and 2 × 2 cpu together, 2 nodes have room for 1 and 3, each counted alone, "
        "but no more than 6 cpu for the 8 cpu that they need together; 1 more is missing; 1 node of 4 cpu would do",
    ),
    (
        "several shapes that are too many",
        lambda: cluster(1, cpu=4, pods=1).group("g", 2).members("g", 0, cpu=2).members("g", 1, cpu=1),
        Outcome.IMPOSSIBLE,
        "needs 1 × 2 cpu and 1 × 1 cpu together, 1 node has room for 1 and 1, each counted alone, "
        "but no more than 1 pod for the 2 that they need together, and too little even if nothing else ran; "
        "1 more is missing; 1 node of 4 cpu would do",
    ),
    (
        "several shapes that need a little too much together",
        lambda: (
            cluster(1, memory=2**34).group("g", 2).members("g", 0, memory=2**33 + 1024).members("g", 1, memory=2**33)
        ),
        Outcome.IMPOSSIBLE,
        "needs 1 × 8Gi memory and 1 × 8Gi memory together, 1 node has room for 1 and 2, each counted alone, "
        "but no more than 17179869184 memory for the 17179870208 memory that they need together, "
        "and too little even if nothing else ran; 1 more is missing; 1 node of 16Gi memory would do",
    ),
    (
        "several shapes that may not all use the same nodes",
        lambda: (
            cluster(1, cpu=4)
            .node("t", cpu=4, taints=["gpu=yes:NoSchedule"])
            .group("g", 3)
            .members("g", 0, 1, cpu=3)
            .members("g", 2, cpu=2, tolerations=[tolerate("gpu")])
        ),
        Outcome.IMPOSSIBLE,
        "needs 2 × 3 cpu and 1 × 2 cpu together, 2 nodes have room for 1 and 4, each counted alone, "
        "and too little even if nothing else ran (not all members may use all nodes: 1 had untolerated taint(s)); "
        "1 more is missing; 1 node of 4 cpu would do",
    ),
    (
        "several shapes that may not use the same node",
        lambda: cluster(2, cordoned=True).node("n1", cpu=4).group("g", 2).members("g", 0, cpu=4).members("g", 1, cpu=1),
        Outcome.IMPOSSIBLE,
        "needs 1 × 4 cpu and 1 × 1 cpu together, 1 of 2 nodes may be used (1 was unschedulable) and has room "
        "for 1 and 4, each counted alone, but no more than 4 cpu for the 5 cpu that they need together, "
        "and too little even if nothing else ran; 1 more is missing; 1 node of 4 cpu would do",
    ),
    (
        "some of several shapes",
        lambda: cluster(1, cpu=2).group("g", 2).members("g", 0, cpu=8).members("g", 1, 2, cpu=2),
        Outcome.IMPOSSIBLE,
        "needs 2 of 3 (1 × 8 cpu and 2 × 2 cpu) together, 1 node has room for none and 1, each counted alone, "
        "and too little even if nothing else ran; "
        "1 more is missing",
    ),
]


@pytest.mark.parametrize(
    ("world", "outcome", "sentence"), [row[1:] for row in REFUSALS], ids=[row[0] for row in REFUSALS]
)
def test_a_refused_gang_says_what_it_needs_what_is_there_and_what_would_do(world, outcome, sentence):
    made = world()
    assert said(made) == sentence
    assert made.verdict("g").outcome is outcome


def test_members_that_would_fit_say_that_the_group_does_not():
    found = told(cluster(2, cpu=4).gang("g", members=3, cpu=4).decide())
    assert found["g-0"] == found["g-1"] == "pod group is unschedulable, " + found["g"]
    assert found["g-2"] == "0/2 nodes are available: 2 Insufficient cpu."


def test_a_half_bound_gang_says_what_it_has():
    world = cluster(2, cpu=4).gang("g", members=2, cpu=3)
    world.decide()
    world.bound("g-0").node("n1", cpu=2).bind_failed("g-1", Failure.REJECTED)
    assert said(world) == (
        "has 1 member and needs 1 × 3 cpu more, 2 nodes have room for none (for 1 if nothing else ran): "
        "enough is free in all, but in pieces that are too small; 1 more is missing; 1 node of 4 cpu would do"
    )


def test_a_held_gang_says_whom_it_waits_for():
    world = cluster(1).group("g", 3).members("g", 0)
    world.decide()
    assert said(world, after=2.0) == "1 of 3 members exist, 2 more must be created"


def test_a_gated_gang_says_how_many_are_gated():
    world = cluster(1).group("g", 2).members("g", 0).members("g", 1, 2, gates=["quota"])
    world.decide()
    assert said(world, after=2.0) == "2 of 3 members may not be placed yet (waiting for scheduling gates: quota)"


def test_a_released_gang_says_how_many_were_bound_in_what_time():
    world = cluster(3, cpu=2).gang("g", members=3, cpu=2).group("g", 3, timeout=90.0)
    world.decide()
    world.bound("g-0", "g-1").node_gone("n2").bind_failed("g-2", Failure.REJECTED).decide()
    (release,) = only(Release, world.decide(after=90.0))
    assert release.message == "2 of 3 members were bound within 90 s; they are released; a bind failed: rejected"


# --- numbers --------------------------------------------------------------------------------------


def test_a_verdict_counts_each_class_alone():
    world = cluster(2, cpu=4).pod("r", cpu=2, on="n0").group("g", 3)
    world.members("g", 0, cpu=4).members("g", 1, 2, cpu=2).decide()
    big, small = world.verdict("g").needs
    assert (big.members, big.fits, big.fits_empty) == (1, 1, 2)
    assert (small.members, small.fits, small.fits_empty) == (2, 3, 4)


def test_a_verdict_says_how_many_were_needed_and_would_have_fitted():
    world = cluster(2, cpu=4).gang("g", members=5, minimum=3, cpu=4)
    world.decide()
    verdict = world.verdict("g")
    assert (verdict.needed, verdict.placed, verdict.missing) == (3, 2, 1)


def test_a_success_says_how_many_were_placed():
    world = cluster(2, cpu=4).gang("g", members=5, minimum=3, cpu=2)
    world.decide()
    first = world.engine.audit.story("team/g")[0].verdict
    assert (first.outcome, first.placed, first.needed) == (Outcome.PLACED, 4, 3)


def test_suggested_nodes_are_enough_to_start_the_gang():
    world = cluster(2, cpu=4, labels={"zone": "a"}).gang("g", members=7, cpu=2, selector={"zone": "a"})
    world.decide()
    suggestion = world.verdict("g").suggestion
    assert (suggestion.nodes, suggestion.like) == (2, "n0")
    for number in range(suggestion.nodes):
        world.node(f"new{number}", cpu=4, labels=dict(suggestion.labels))
    world.run()
    assert len(world.where) == 7


def test_suggested_nodes_made_to_measure_are_enough_as_well():
    world = cluster(1, cpu=1).gang("g", members=2, cpu=4, required="zone in (b,c),disk")
    world.decide()
    suggestion = world.verdict("g").suggestion
    assert suggestion.labels == (("disk", ""), ("zone", "b"))
    for number in range(suggestion.nodes):
        world.node(f"new{number}", cpu=4, labels=dict(suggestion.labels))
    world.run()
    assert len(world.where) == 2


# --- upstream's text ------------------------------------------------------------------------------


def test_a_fit_error_without_nodes_is_upstreams():
    assert fit_error(0, ()) == "no nodes available to schedule pods"


def test_a_fit_error_sorts_its_reasons_as_text():
    refusals = (
        Refusal(2, "node(s) were unschedulable"),
        Refusal(10, "Insufficient cpu"),
        Refusal(3, "Too many pods"),
    )
    assert fit_error(15, refusals) == (
        "0/15 nodes are available: 10 Insufficient cpu, 2 node(s) were unschedulable, 3 Too many pods."
    )


def test_the_first_filter_that_refuses_a_node_gives_its_reason():
    world = cluster(1, cpu=1).node("c", cpu=1, cordoned=True, taints=["x:NoSchedule"])
    world.node("t", cpu=1, taints=["x:NoSchedule"], labels={"zone": "a"}).node("z", cpu=1, labels={"zone": "a"})
    world.pod("r", ports=[80], on="z").pod("p", cpu=9, selector={"zone": "a"}, ports=[80])
    assert said(world, "p") == (
        "0/4 nodes are available: 1 node(s) didn't have free ports for the requested pod ports, "
        "1 node(s) didn't match Pod's node affinity/selector, 1 node(s) had untolerated taint(s), "
        "1 node(s) were unschedulable."
    )


def naming(*terms):
    """A large pod for nodes of these names: each term must hold all of its own."""
    fields = [tuple(Requirement("metadata.name", "In", (name,)) for name in names) for names in terms]
    selector = NodeSelector(tuple(NodeSelectorTerm(match_fields=each) for each in fields))
    large = pod("p", cpu=9)
    return replace(large, spec=replace(large.spec, affinity=Affinity(node_affinity=NodeAffinity(required=selector))))


def test_nodes_that_a_pod_does_not_name_are_not_even_asked():
    world = cluster(3, cpu=1).node("c", cpu=1, cordoned=True)
    assert said(world.see(naming(["n0"], ["c"])), "p") == (
        "0/4 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable, "
        "2 node(s) didn't satisfy plugin(s) [NodeAffinity]."
    )


def test_a_pod_that_names_two_nodes_at_once_contradicts_itself():
    assert said(cluster(3, cpu=1).see(naming(["n0", "n1"])), "p") == (
        "0/3 nodes are available: 3 pod affinity terms conflict."
    )
