"""Several profiles in one engine: each pod goes by its scheduler's, all stand in one queue."""

import pytest

from muster.base.errors import ConfigError
from muster.engine.decisions import PodCondition
from muster.framework.by_users import points, roles
from muster.framework.plugin import Plugin
from muster.framework.profile import Fairness, Profile
from muster.plugins.defaults import default_plugins
from muster.plugins.node_ports import NodePorts
from muster.plugins.node_resources_fit import NodeResourcesFit, Strategy
from tests.builders import World, evicted, node, only, placements, pod

BADGE = "example.com/badge"


class NotOnOld(Plugin):
    def filter(self, trait, node):
        return "node(s) were old" if "old" in node.labels else None

    def pre_enqueue(self, pod):
        return "not yet" if "later" in pod.labels else None


def spread_and_pack():
    mine = [(role, 1) for role in roles(NotOnOld({}), points(NotOnOld))]
    pack = [*default_plugins(Strategy.MOST_ALLOCATED), *mine]
    return World(Profile(default_plugins()), Profile(pack, scheduler_names=["pack"]))


def two_nodes(**facts):
    world = spread_and_pack().node("n0", cpu=8, **facts).node("n1", cpu=8)
    return world.see(pod("there", cpu=2, on="n0", phase="Running", scheduler="x"))


def test_lone_pods_and_gangs_are_rated_by_their_own_profile():
    world = two_nodes()
    world.pod("a", cpu=1).pod("b", cpu=1, scheduler="pack")
    world.gang("g", members=2, cpu=1, scheduler="pack")
    placed = placements(world.decide())
    assert (placed["a"], placed["b"]) == ("n1", "n0")
    assert placed["g-0"] == placed["g-1"] == "n0"


def test_many_small_units_at_once_go_where_they_go_alone():
    together, alone = two_nodes(), two_nodes()
    one_by_one = {}
    for number in range(12):
        facts = {"cpu": 1, "created": number, "scheduler": ("muster", "pack")[number % 2]}
        together.pod(f"p{number}", **facts)
        one_by_one |= placements(alone.pod(f"p{number}", **facts).decide())
    assert placements(together.decide()) == one_by_one


def test_a_filter_of_one_profile_says_nothing_to_pods_of_another():
    world = two_nodes(labels={"old": "yes"})
    world.pod("a", cpu=6).pod("b", cpu=6, scheduler="pack")
    decisions = world.decide()
    assert placements(decisions) == {"a": "n1"}
    (said,) = only(PodCondition, decisions)
    assert "1 node(s) were old" in said.message
    assert "1 Insufficient cpu" in said.message


def test_members_of_one_gang_may_go_by_several_profiles():
    world = two_nodes(labels={"old": "yes"}).group("g", 2)
    world.see(pod("g-0", gang="g", cpu=4), pod("g-1", gang="g", cpu=4, scheduler="pack"))
    assert placements(world.decide())["g-1"] == "n1"


def test_a_gate_of_one_profile_holds_only_its_pods():
    world = two_nodes().pod("a", cpu=1, labels={"later": "yes"})
    world.pod("b", cpu=1, labels={"later": "yes"}, scheduler="pack")
    assert list(placements(world.decide())) == ["a"]


def test_priority_counts_across_profiles_and_so_does_preemption():
    world = two_nodes(labels={"old": "yes"}).pod("low", cpu=7, priority=0)
    placed = placements(world.decide())
    world.bound("low")
    assert placed == {"low": "n1"}
    assert evicted(world.pod("high", cpu=7, priority=9, scheduler="pack").decide()) == ["low"]


def test_ports_that_one_profile_filters_count_for_pods_of_both():
    plain = [(plugin, weight) for plugin, weight in default_plugins() if not isinstance(plugin, NodePorts)]
    world = World(Profile(default_plugins()), Profile(plain, scheduler_names=["careless"])).node("n0", cpu=8)
    world.see(pod("x", ports=[80], on="n0", phase="Running", scheduler="careless"))
    assert placements(world.pod("a", ports=[80]).pod("b", ports=[80], scheduler="careless").decide()) == {"b": "n0"}


def strict_and_careless():
    """The second profile's pods need not have the badges that they ask for; they take them all the same."""
    careless = [
        (NodeResourcesFit(ignored=[BADGE]) if isinstance(plugin, NodeResourcesFit) else plugin, weight)
        for plugin, weight in default_plugins()
    ]
    return World(Profile(default_plugins()), Profile(careless, scheduler_names=["careless"]))


@pytest.mark.parametrize("members", [1, 2])
def test_who_takes_what_it_need_not_have_is_evicted_for_those_who_must_have_it(members):
    world = strict_and_careless()
    for number in range(members):
        world.node(f"n{number}", cpu=8, resources={BADGE: 4})
        world.pod(f"low-{number}", requests={BADGE: 4}, scheduler="careless")
    low = [f"low-{number}" for number in range(members)]
    world.run()
    assert evicted(world.gang("high", members=members, requests={BADGE: 4}, priority=9).decide()) == low
    # its room stays reserved while they leave
    assert not evicted(world.decide(after=60))
    assert len(placements(world.pod_gone(*low).decide())) == members


@pytest.mark.parametrize("pod_first", [True, False])
def test_what_it_takes_without_need_counts_though_it_came_before_the_first_node_that_has_it(pod_first):
    there = pod("there", requests={BADGE: 4}, on="n0", phase="Running", scheduler="careless")
    objects = [there, node("n0", cpu=8, resources={BADGE: 4})]
    world = strict_and_careless().see(*(objects if pod_first else reversed(objects)))
    assert placements(world.pod("a", requests={BADGE: 1}).decide()) == {}


def test_profiles_that_would_queue_pods_differently_are_refused():
    other = Profile(default_plugins(), scheduler_names=["b"], fairness=Fairness(passes_per_member=None))
    with pytest.raises(ConfigError, match="must agree"):
        World(Profile(default_plugins()), other)
