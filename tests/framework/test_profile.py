"""Profiles: plugins by the roles they play."""

import pytest

from muster.base.errors import ConfigError
from muster.framework.profile import Profile
from muster.plugins.defaults import default_plugins, default_profile
from muster.plugins.gang_scheduling import GangScheduling
from muster.plugins.node_resources_fit import NodeResourcesFit
from muster.plugins.priority_sort import PrioritySort

FIT = (NodeResourcesFit(), 1)


def names(plugins):
    return [plugin.name for plugin in plugins]


def weights(plugins):
    return {plugin.name: weight for plugin, weight in plugins}


def test_the_default_profile_filters_in_upstreams_order():
    profile = default_profile()
    assert names(profile.rule_filters) == ["NodeName", "NodeUnschedulable", "TaintToleration", "NodeAffinity"]
    assert names(profile.room_filters) == ["NodePorts", "NodeResourcesFit"]


def test_the_default_profile_scores_with_upstreams_weights():
    profile = default_profile()
    assert weights(profile.rule_scores) == {"TaintToleration": 3, "NodeAffinity": 2}
    assert weights(profile.room_scores) == {"NodeResourcesFit": 1, "NodeResourcesBalancedAllocation": 1}


def test_a_weight_of_zero_takes_a_score_out_and_leaves_the_filter():
    plugins = [(p, 0 if p.name == "NodeAffinity" else weight) for p, weight in default_plugins()]
    profile = Profile(plugins)
    assert weights(profile.rule_scores) == {"TaintToleration": 3}
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
