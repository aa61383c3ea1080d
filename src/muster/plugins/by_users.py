"""Finds plugins by users: by the name under which an installed package offers them, or as `module:Class`.

A package offers them as entry points of the group `muster.plugins`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from copy import deepcopy
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from muster.base.errors import ConfigError
from muster.base.text import shown
from muster.framework.asking import has, told
from muster.framework.attending import undoes_outside
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
    module, attribute = _place(name)
    try:
        loaded = import_module(module)
    except (Exception, SystemExit) as error:
        raise _unloaded(name, module, error) from error
    if (found := getattr(loaded, attribute, None)) is None:
        raise ConfigError(f"plugin {name}: module {module} has no {attribute}", hint=_plugins_in(loaded))
    return _checked(name, found)


def made(kind: type[Plugin], args: Mapping[str, Any], *, name: str) -> Plugin:
    """A plugin with these arguments; ConfigError if it does not like them."""
    try:
        # whoever takes arguments out of the mapping leaves them there for the next
        plugin = kind(deepcopy(args))
        _check_wait(plugin.wait_seconds)
        return plugin
    except ValueError as error:
        raise ConfigError(f"plugin {name}: {error}") from error
    except (Exception, SystemExit) as error:
        raise ConfigError(f"plugin {name} cannot be made: {told(error)}") from error


def _check_wait(seconds: object) -> None:
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds < math.inf:
        raise ValueError(f"wait_seconds must be a number of seconds, not {shown(seconds, repr)}")


def _place(name: str) -> tuple[str, str]:
    """The module and the class that a name stands for."""
    module, colon, attribute = name.partition(":")
    if colon:
        return module, attribute
    points = tuple(entry_points(group=GROUP, name=name))
    if not points:
        raise ConfigError(f"there is no plugin {name}", hint="one of yours is called module:Class")
    if len(points) > 1:
        packages = ", ".join(sorted(point.value for point in points))
        raise ConfigError(f"plugin {name} is offered by several packages: {packages}", hint="use module:Class")
    return points[0].module, points[0].attr


def _unloaded(name: str, module: str, error: BaseException) -> ConfigError:
    missing = error.name if isinstance(error, ModuleNotFoundError) and error.name else ""
    if missing and (module == missing or module.startswith(f"{missing}.")):
        hint = "install its package where muster is installed, or name its folder in PYTHONPATH"
        return ConfigError(f"plugin {name}: there is no module {missing}", hint=hint)
    return ConfigError(f"plugin {name} cannot be loaded: {told(error)}")


def _plugins_in(module: object) -> str:
    kinds = (one for one in vars(module).values() if isinstance(one, type) and issubclass(one, Plugin))
    names = sorted(kind.__name__ for kind in kinds if kind is not Plugin)
    return f"it has {', '.join(names)}" if names else "it has no plugins"


def _checked(name: str, found: object) -> type[Plugin]:
    if not isinstance(found, type) or not issubclass(found, Plugin):
        raise ConfigError(f"plugin {name} is no plugin", hint="its class inherits from muster.framework.plugin.Plugin")
    for one, other in _TWO_FORMS:
        if has(found, one) and has(found, other):
            raise ConfigError(f"plugin {name} has both {one} and {other}", hint="keep one of them")
    if undoes_outside(found) and not points(found) & {"permit", "preBind"}:
        hint = "make it a plain function, or give it permit or pre_bind"
        raise ConfigError(f"plugin {name} has a coroutine unreserve that nothing calls", hint=hint)
    # these two only prepare the others
    if not points(found) - {"preFilter", "preScore"}:
        raise ConfigError(f"plugin {name} takes part in nothing", hint="give it a method such as filter or score")
    return found
