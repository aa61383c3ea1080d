"""The default profile: upstream's plugins in upstream's order, with upstream's weights."""

from __future__ import annotations

from collections.abc import Sequence

from muster.framework.profile import Plugin, Profile
from muster.plugins.gang_scheduling import GangScheduling
from muster.plugins.node_affinity import NodeAffinity
from muster.plugins.node_name import NodeName
from muster.plugins.node_ports import NodePorts
from muster.plugins.node_resources_balanced import NodeResourcesBalancedAllocation
from muster.plugins.node_resources_fit import NodeResourcesFit, Strategy
from muster.plugins.node_unschedulable import NodeUnschedulable
from muster.plugins.priority_sort import PrioritySort
from muster.plugins.scheduling_gates import SchedulingGates
from muster.plugins.taint_toleration import TaintToleration


def default_plugins(strategy: Strategy = Strategy.LEAST_ALLOCATED) -> list[tuple[Plugin, int]]:
    """(plugin, score weight)"""
    return [
        (SchedulingGates(), 0),
        (PrioritySort(), 0),
        (NodeName(), 0),
        (NodeUnschedulable(), 0),
        (TaintToleration(), 3),
        (NodeAffinity(), 2),
        (NodePorts(), 0),
        (NodeResourcesFit(strategy=strategy), 1),
        (NodeResourcesBalancedAllocation(), 1),
        (GangScheduling(), 0),
    ]


def default_profile(
    *, scheduler_names: Sequence[str] = ("muster",), strategy: Strategy = Strategy.LEAST_ALLOCATED
) -> Profile:
    return Profile(default_plugins(strategy), scheduler_names=scheduler_names)
