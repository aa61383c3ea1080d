"""Profiles: plugins by the roles they play."""

import pytest

from muster.api.asks import Ask
from muster.base.errors import ConfigError
from muster.framework.profile import Profile, Unsupported
from muster.plugins.defaults import default_plugins, default_profile
from muster.plugins.gang_scheduling import GangScheduling
from muster.plugins.node_resources_fit import NodeResourcesFit
from muster.plugins.priority_sort import PrioritySort
from muster.plugins.registry import Part, make_plugins

FIT = (NodeResourcesFit(), 1)


def names(plugins):
    return [plugin.name for plugin in plugins]


def weights(plugins):
    return {plugin.name: weight for plugin, weight in plugins}


def test_the_default_profile_filters_in_upstreams_order():
    profile = default_profile()
    assert names(profile.filters) == [
        "NodeName",
        "NodeUnschedulable",
        "TaintToleration",
        "NodeAffinity",
        "NodePorts",
        "NodeResourcesFit",
        "VolumeRestrictions",
        "VolumeRestrictions",
        "NodeVolumeLimits",
        "VolumeBinding",
        "VolumeZone",
        "PodTopologySpread",
        "InterPodAffinity",
        "DynamicResources",
        "NodeDeclaredFeatures",
    ]


def test_the_default_profile_scores_with_upstreams_weights():
    profile = default_profile()
    assert weights(profile.rule_scores) == {"TaintToleration": 3, "NodeAffinity": 2, "VolumeBinding": 1}
    assert weights(profile.room_scores) == {"NodeResourcesFit": 1, "NodeResourcesBalancedAllocation": 1}
    assert weights(profile.nodes_scores) == {"ImageLocality": 1}


def test_a_weight_of_zero_takes_a_score_out_and_leaves_the_filter():
    plugins = [(p, 0 if p.name == "NodeAffinity" else weight) for p, weight in default_plugins()]
    profile = Profile(plugins)
    assert weights(profile.rule_scores) == {"TaintToleration": 3, "VolumeBinding": 1}
    assert "NodeAffinity" in names(profile.rule_filters)


@pytest.mark.parametrize(
    ("plugins", "role"),
    [
        ([FIT, (PrioritySort(), 0)], "GangRule"),
        ([FIT, (GangScheduling(), 0)], "QueueOrder"),
        ([FIT, (GangScheduling(), 0), (PrioritySort(), 0), (PrioritySort(), 0)], "QueueOrder"),
        ([(GangScheduling(), 0), (PrioritySort(), 0)], "RoomTieBreak"),
    ],
)
def test_a_profile_needs_exactly_one_of_some_roles(plugins, role):
    with pytest.raises(ConfigError, match=f"exactly one {role} plugin"):
        Profile(plugins)


# --- asks -------------------------------------------------------------------------------------------

HARD, SOFT = Ask("spec.hard", "TaintToleration"), Ask("spec.soft", "TaintToleration", hard=False)


def with_taints(**facts):
    """A profile with TaintToleration so, or without it if nothing is said of it."""
    kept = [entry for entry in default_plugins() if entry[0].name != "TaintToleration"]
    return Profile([*kept, *(make_plugins([Part(name="TaintToleration", **facts)]) if facts else ())])


@pytest.mark.parametrize(
    ("facts", "unhonoured"),
    [
        ({}, {HARD, SOFT}),
        ({"weight": 1}, set()),
        ({"weight": 0}, {SOFT}),
        ({"weight": 1, "filters": False}, {HARD}),
    ],
    ids=["not there", "filters and scores", "filters only", "scores only"],
)
def test_a_hard_ask_is_honoured_by_a_filter_and_a_preference_by_a_score(facts, unhonoured):
    profile = with_taints(**facts)
    asks = (HARD, SOFT)
    assert {*profile.unhonoured(asks), *profile.unhonoured(asks, hard=False)} == unhonoured


def test_nothing_is_unhonoured_where_asks_are_ignored():
    profile = Profile(default_plugins(), unsupported=Unsupported.IGNORE)
    asks = (Ask("spec.volumes", "VolumeBinding"), Ask("spec.affinity", "InterPodAffinity", hard=False))
    assert profile.unhonoured(asks) == profile.unhonoured(asks, hard=False) == ()
