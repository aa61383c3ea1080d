"""Finds plugins by users: by the name under which an installed package offers them, or as `module:Class`.

A package offers them as entry points of the group `muster.plugins`.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from muster.base.errors import ConfigError
from muster.framework.asking import has, told
from muster.framework.by_users import points
from muster.framework.plugin import Plugin

__all__ = ["GROUP", "load", "made", "offered"]

GROUP = "muster.plugins"

_TWO_FORMS = (("filter", "filter_nodes"), ("score", "score_nodes"))


def offered() -> tuple[str, ...]:
    """Names under which installed packages offer plugins."""
    return tuple(sorted({point.name for point in entry_points(group=GROUP)}))


def load(name: str) -> type[Plugin]:
    """The class of that name; ConfigError if there is none, or if no plugin can be made of it."""
    try:
        found = _found(name)
    except ConfigError:
        raise
    except Exception as error:
        raise ConfigError(
            f"plugin {name} cannot be loaded: {told(error)}", hint="install its package where muster is installed"
        ) from error
    return _checked(name, found)


def made(kind: type[Plugin], args: Mapping[str, Any], *, name: str) -> Plugin:
    """A plugin with these arguments; ConfigError if it does not like them."""
    try:
        return kind(args)
    except ValueError as error:
        raise ConfigError(f"plugin {name}: {error}") from error
    except Exception as error:
        raise ConfigError(f"plugin {name} cannot be made: {told(error)}") from error


def _found(name: str) -> object:
    module, colon, attribute = name.partition(":")
    if colon:
        return getattr(import_module(module), attribute)
    points = tuple(entry_points(group=GROUP, name=name))
    if not points:
        raise ConfigError(f"there is no plugin {name}", hint="one of yours is called module:Class")
    if len(points) > 1:
        packages = ", ".join(sorted(point.value for point in points))
        raise ConfigError(f"plugin {name} is offered by several packages: {packages}", hint="use module:Class")
    return points[0].load()


def _checked(name: str, found: object) -> type[Plugin]:
    if not isinstance(found, type) or not issubclass(found, Plugin):
        raise ConfigError(f"plugin {name} is no plugin", hint="its class inherits from muster.framework.plugin.Plugin")
    for one, other in _TWO_FORMS:
        if has(found, one) and has(found, other):
            raise ConfigError(f"plugin {name} has both {one} and {other}", hint="keep one of them")
    if not points(found):
        raise ConfigError(f"plugin {name} takes part in nothing", hint="give it a method such as filter or score")
    return found
