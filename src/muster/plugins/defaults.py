"""The default profile: upstream's plugins in upstream's order, with upstream's weights."""

from __future__ import annotations

from collections.abc import Sequence

from muster.framework.profile import Plugin, Profile
from muster.plugins.node_resources_fit import Strategy
from muster.plugins.registry import ProfileParts, default_parts, make_plugins, make_profile


def default_plugins(strategy: Strategy = Strategy.LEAST_ALLOCATED) -> list[tuple[Plugin, int]]:
    """(plugin, score weight)"""
    return make_plugins(default_parts(strategy))


def default_profile(
    *, scheduler_names: Sequence[str] = ("muster",), strategy: Strategy = Strategy.LEAST_ALLOCATED
) -> Profile:
    return make_profile(ProfileParts(scheduler_names=tuple(scheduler_names), plugins=default_parts(strategy)))
