"""Others make way for units that look at pods on other nodes."""

from msgspec.structs import replace

from muster.api.wire import PodAffinity, PodAffinityTerm, TopologySpread
from muster.base.selectors import LabelSelector
from muster.engine.decisions import CallOff, Lost
from tests.builders import cluster, evicted, nominations, only, placements, pod

ZONE = {"zone": "a"}
X = LabelSelector(match_labels={"kin": "x"})
APART = PodAffinity(required=(PodAffinityTerm(label_selector=X, topology_key="zone"),))


def in_the_way():
    """A pod in the zone, on a node of its own, and a gang on another node that must be apart from it."""
    world = cluster().node("far", cpu=1, labels=ZONE).node("near", cpu=8, labels=ZONE)
    world.pod("x", cpu=1, on="far", labels={"kin": "x"})
    return world.gang("high", members=2, cpu=2, priority=5, apart=APART)


def test_a_gang_waits_for_a_victim_that_is_in_its_way_from_another_node():
    world = in_the_way()
    decisions = world.decide()
    assert evicted(decisions) == ["x"]
    assert nominations(decisions) == {"high-0": "near", "high-1": "near"}
    assert only(Lost, decisions) + only(CallOff, decisions) == []
    assert placements(world.decide(after=1.0)) == {}


def test_it_is_bound_when_that_victim_has_left():
    world = in_the_way()
    world.decide()
    assert placements(world.pod_gone("x").decide()) == {"high-0": "near", "high-1": "near"}


def test_it_says_for_how_many_it_waits():
    world = in_the_way()
    world.decide()
    assert world.verdict("high").leaving == 1


def test_who_is_evicted_counts_for_those_to_be_spread_until_it_surely_goes():
    world = cluster().node("a0", cpu=4, labels={"zone": "a"}).node("b0", cpu=1, labels={"zone": "b"})
    world.pod("x", cpu=1, on="a0", labels={"kin": "x"}).pod("full", cpu=1, on="b0", priority=9)
    even = TopologySpread(max_skew=1, topology_key="zone", label_selector=X)
    high = pod("high", cpu=1, priority=5, labels={"kin": "x"})
    world.see(replace(high, spec=replace(high.spec, topology_spread_constraints=(even,))))
    decisions = world.decide()
    assert (evicted(decisions), placements(decisions), only(CallOff, decisions)) == (["x"], {}, [])
    assert placements(world.pod_gone("x").decide()) == {"high": "a0"}
