"""The registry: profiles as plain data, and back."""

import json

import pytest
from msgspec.structs import replace

from muster.base.errors import ConfigError, JournalError
from muster.engine.decisions import Event
from muster.framework.contract import RuleFilter, RuleScore
from muster.framework.profile import Backoff, Unsupported
from muster.plugins.node_resources_fit import Strategy
from muster.plugins.registry import (
    ABSENT,
    PLUGINS,
    AffinityArgs,
    FitArgs,
    Part,
    ProfileParts,
    default_parts,
    from_journal,
    make_plugins,
    make_profile,
    to_journal,
)
from tests.builders import HOSTNAME, cluster, evenly, only, placements, rather, strictly, told


def facts(profile):
    """All that tells one profile from another."""
    return (
        profile.scheduler_names,
        profile.backoff,
        [plugin.name for plugin in profile.rule_filters],
        [plugin.name for plugin in profile.room_filters],
        [(plugin.name, weight) for plugin, weight in profile.rule_scores],
        [(plugin.name, weight) for plugin, weight in profile.room_scores],
        [plugin.name for plugin in profile.gates],
        [(plugin.name, vars(plugin), weight) for plugin, weight in profile.wide],
        vars(profile.tie_break),
        profile.unsupported,
    )


def test_plugins_go_by_the_names_they_have_themselves():
    assert list(dict.fromkeys(plugin.name for plugin, _ in make_plugins(default_parts()))) == list(PLUGINS)


def test_no_plugin_is_both_there_and_absent():
    assert not set(ABSENT) & set(PLUGINS)


def test_every_plugin_with_a_default_weight_scores_and_no_other_does():
    scoring = {name for name, entry in PLUGINS.items() if "score" in entry.points}
    assert scoring == {name for name, entry in PLUGINS.items() if entry.weight}


def test_a_plugin_that_only_scores_keeps_its_score_and_loses_its_filter():
    ((plugin, weight),) = make_plugins([Part(name="TaintToleration", weight=7, filters=False)])
    assert (plugin.name, plugin.reverse, weight) == ("TaintToleration", True, 7)
    assert isinstance(plugin, RuleScore)
    assert not isinstance(plugin, RuleFilter)


@pytest.mark.parametrize(("filters", "placed"), [(True, {}), (False, {"p": "n"})])
def test_a_taint_keeps_pods_off_only_while_the_plugin_filters(filters, placed):
    parts = tuple(
        Part(name=part.name, weight=part.weight, filters=filters or part.name != "TaintToleration")
        for part in default_parts()
    )
    world = cluster(profile=make_profile(ProfileParts(plugins=parts)))
    world.node("n", taints=["gpu=yes:NoSchedule"]).pod("p")
    assert placements(world.decide()) == placed


APART = {
    "InterPodAffinity": {"apart": strictly("web")},
    "PodTopologySpread": {"spread": [evenly("web")]},
}
RATHER_APART = {
    "InterPodAffinity": {"apart": rather("web")},
    "PodTopologySpread": {"spread": [evenly("web", hard=False)]},
}


def two_nodes(name, **changed):
    """A node with a pod `web` and room for nobody else's liking, one without it that is nearly full."""
    parts = tuple(replace(part, **changed) if part.name == name else part for part in default_parts())
    world = cluster(profile=make_profile(ProfileParts(plugins=parts)))
    world.node("taken", labels={HOSTNAME: "taken"}).node("full", cpu=2, labels={HOSTNAME: "full"})
    return world.pod("there", labels={"app": "web"}, on="taken").pod("fills", cpu=1, on="full")


@pytest.mark.parametrize("name", APART)
def test_a_plugin_that_looks_beyond_the_node_may_score_without_filtering(name):
    comes = {"cpu": 1, "labels": {"app": "web"}}
    assert placements(two_nodes(name, filters=False, weight=20).pod("p", **comes, **RATHER_APART[name]).decide()) == {
        "p": "full"
    }
    world = two_nodes(name, filters=False)
    decisions = world.pod("p", **comes, **APART[name]).decide() + world.decide(after=3.0)
    assert placements(decisions) == {}
    assert "no plugin of this scheduler honours" in told(decisions)["p"]


@pytest.mark.parametrize("name", APART)
def test_a_plugin_that_looks_beyond_the_node_may_filter_without_scoring(name):
    comes = {"cpu": 1, "labels": {"app": "web"}}
    assert placements(two_nodes(name, weight=0).pod("p", **comes, **APART[name]).decide()) == {"p": "full"}
    world = two_nodes(name, weight=0).pod("p", **comes, **RATHER_APART[name])
    assert placements(world.decide()) == {"p": "taken"}
    (event,) = [event for event in only(Event, world.bound().decide()) if event.reason == "Unsupported"]
    assert "placed as if it had not asked" in event.note


@pytest.mark.parametrize(("resource", "best"), [("cpu", "much-cpu"), ("memory", "much-memory")])
def test_nodes_are_scored_by_the_resources_that_are_weighed(resource, best):
    fit = Part(name="NodeResourcesFit", weight=1, args=FitArgs(weights={resource: 1}))
    parts = ProfileParts(plugins=(Part(name="PrioritySort"), fit, Part(name="GangScheduling")))
    world = cluster(profile=make_profile(parts))
    world.node("much-cpu", cpu=8, memory="4Gi").node("much-memory", cpu=4, memory="8Gi").pod("p", cpu=1, memory="1Gi")
    assert placements(world.decide()) == {"p": best}


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (Part(name="PodGroupPodsCount"), "there is no plugin PodGroupPodsCount"),
        (Part(name="NodePorts", filters=False), "plugin NodePorts cannot score without filtering"),
        (Part(name="NodePorts", args=FitArgs()), "plugin NodePorts has arguments of another"),
        (
            Part(name="NodeResourcesBalancedAllocation", args=FitArgs()),
            "plugin NodeResourcesBalancedAllocation has arguments of another",
        ),
        (Part(name="InterPodAffinity", args=FitArgs()), "plugin InterPodAffinity has arguments of another"),
        (Part(name="NodeResourcesFit", args=AffinityArgs()), "plugin NodeResourcesFit has arguments of another"),
    ],
)
def test_parts_that_cannot_be_made_are_refused(part, message):
    with pytest.raises(ConfigError) as caught:
        make_plugins([part])
    assert str(caught.value).startswith(message)


OTHER = ProfileParts(
    scheduler_names=("muster", "default-scheduler"),
    plugins=(
        Part(name="PrioritySort"),
        Part(name="NodeName"),
        Part(name="NodeAffinity", weight=5, filters=False),
        Part(
            name="NodeResourcesFit",
            weight=3,
            args=FitArgs(strategy=Strategy.MOST_ALLOCATED, weights={"cpu": 1, "nvidia.com/gpu": 9}),
        ),
        Part(name="InterPodAffinity", weight=7, args=AffinityArgs(hard_weight=9, ignore_preferred_of_others=True)),
        Part(name="GangScheduling"),
    ),
    backoff=Backoff(initial=0.5, maximum=30.0),
    unsupported=Unsupported.IGNORE,
)


@pytest.mark.parametrize("parts", [ProfileParts(), OTHER])
def test_a_journals_header_makes_the_same_profile_again(parts):
    header = json.loads(json.dumps(to_journal(parts)))
    assert all(isinstance(value, str) for value in header.values())
    assert facts(from_journal(header)[0]) == facts(make_profile(parts))


def test_a_journal_from_before_asks_were_looked_at_is_read():
    header = json.loads(to_journal(ProfileParts())["profile"])
    del header["unsupported"]
    assert facts(from_journal({"profile": json.dumps(header)})[0]) == facts(make_profile(ProfileParts()))


def test_a_journal_from_before_arguments_said_whose_they_are_is_read():
    text = to_journal(OTHER)["profile"]
    assert '"of":"NodeResourcesFit",' in text
    (profile,) = from_journal({"profile": text.replace('"of":"NodeResourcesFit",', "")})
    assert facts(profile) == facts(make_profile(OTHER))


def test_profiles_that_differ_are_told_apart():
    assert facts(make_profile(OTHER)) != facts(make_profile(ProfileParts()))


@pytest.mark.parametrize("strategy", [Strategy.LEAST_ALLOCATED, Strategy.MOST_ALLOCATED])
def test_a_scenarios_header_makes_the_default_profile_with_its_strategy(strategy):
    profile = from_journal({"strategy": str(strategy)})[0]
    assert facts(profile) == facts(make_profile(ProfileParts(plugins=default_parts(strategy))))


@pytest.mark.parametrize(
    "header",
    [
        {},
        {"strategy": "Random"},
        {"strategy": "RequestedToCapacityRatio"},
        {"strategy": "LeastAllocated", "more": "x"},
        {"profile": "{"},
        {"profile": '{"novelty":1}'},
        {"profile": '{"plugins":[{"name":"Novelty"}]}'},
        {"profile": '{"plugins":[]}'},
    ],
)
def test_a_header_of_another_version_is_refused(header):
    with pytest.raises(
        JournalError, match=r"settings that this version does not know|its scheduler cannot be made again"
    ):
        from_journal(header)
