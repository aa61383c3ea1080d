"""Plugins with bugs: at any call, by chance, they raise instead of answering."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, get_args

from muster.framework.contract import Spreader
from muster.framework.profile import Plugin, Profile
from muster.plugins.registry import ProfileParts, make_plugins

_ROLES = get_args(Plugin)
# one call in so many
_CALLS = 60
_MAKERS = {"new_state", "by_default", "supply"}


class PluginBugError(Exception):
    """What the plugins raise."""


class Bugs:
    """Whether a call fails, for all plugins of a world; none does any more once it is `calm`."""

    def __init__(self, seed: int) -> None:
        self._rng = Random(f"{seed}/bugs")
        self.calm = False
        self.raised = 0

    def happen(self) -> None:
        if not self.calm and self._rng.randrange(_CALLS) == 0:
            self.raised += 1
            raise PluginBugError("by chance")


def faulty_profile(parts: ProfileParts, bugs: Bugs) -> Profile:
    """The profile, of plugins that play their roles as before but for bugs."""
    plugins = [(_faulty(plugin, bugs), weight) for plugin, weight in make_plugins(parts.plugins)]
    return Profile(
        plugins,
        scheduler_names=parts.scheduler_names,
        backoff=parts.backoff,
        preemption=parts.preemption,
        fairness=parts.fairness,
        unsupported=parts.unsupported,
    )


def _faulty(plugin: Plugin, bugs: Bugs) -> Plugin:
    """The plugin itself, as an instance of a class whose answers are preceded by bugs."""
    roles = [role for role in _ROLES if isinstance(plugin, role)]
    asked = {name for role in roles for name in vars(role) if callable(getattr(role, name)) and name[0] != "_"}
    # states are made when an engine is, and what an engine is made of is checked when it starts
    answers = {name: _after(bugs, getattr(type(plugin), name)) for name in asked - _MAKERS}
    if isinstance(plugin, Spreader):
        answers["by_default"] = _made_faulty(bugs, type(plugin).by_default)
    plugin.__class__ = type(f"Faulty{type(plugin).__name__}", (type(plugin),), answers)
    return plugin


def _made_faulty(bugs: Bugs, make: Callable[..., Any]) -> Callable[..., Any]:
    def made(*args: Any) -> Any:
        spread = make(*args)
        if spread is not None:
            spread.of = _after(bugs, spread.of)
        return spread

    return made


def _after(bugs: Bugs, answer: Callable[..., Any]) -> Callable[..., Any]:
    def asked(*args: Any, **more: Any) -> Any:
        bugs.happen()
        return answer(*args, **more)

    return asked
