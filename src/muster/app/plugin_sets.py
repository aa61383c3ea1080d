"""A profile's `plugins` and `pluginConfig`, as upstream reads them, made into the parts of ours.

At each extension point upstream asks, in this order:
  1. what the point enables and multiPoint enables too, in the point's order;
  2. what multiPoint alone enables (defaults first), unless the point disables it;
  3. what the point alone enables.
A point that disables `*` has only what it enables itself.  The point's weight goes before multiPoint's.

Ours ask at four points.  preFilter and preScore prepare filter and score; what they list has no effect of its own.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from muster.app.document import Value, advice
from muster.plugins.node_resources_fit import Strategy
from muster.plugins.registry import ABSENT, PLUGINS, FitArgs, Part

__all__ = ["API_VERSION", "Enabled", "read_plugins"]

API_VERSION = "kubescheduler.config.k8s.io/v1"

_MULTI = "multiPoint"
_ALL = "*"
_POINTS = (
    "preEnqueue",
    "queueSort",
    "preFilter",
    "filter",
    "postFilter",
    "preScore",
    "score",
    "reserve",
    "permit",
    "preBind",
    "bind",
    "postBind",
    _MULTI,
)
# Muster binds by itself: listing the plugin asks for what is done anyway
_BINDER = "DefaultBinder"
_KNOWN = (*PLUGINS, *ABSENT, _BINDER)

# where a plugin is indispensable, and why
_NEEDED = {
    "PrioritySort": ("queueSort", "nothing else orders the queue"),
    "NodeResourcesFit": ("filter", "nothing else keeps pods within the room of a node"),
    "GangScheduling": ("preEnqueue", "nothing else keeps gangs whole"),
}


class Enabled(msgspec.Struct, frozen=True):
    """A plugin at one point."""

    name: str
    weight: int


class _Set(msgspec.Struct, frozen=True):
    """What is written for one point."""

    enabled: tuple[Enabled, ...] = ()
    disabled: frozenset[str] = frozenset()


def read_plugins(plugins: Value | None, config: Value | None, *, profile: Value) -> tuple[Part, ...]:
    """The parts of one profile; ConfigError where Muster cannot do what is asked."""
    sets = _read_sets(plugins)
    args = {} if config is None else _read_config(config)
    multi = _multi(sets[_MULTI])
    at = {point: _resolve(point, multi, sets[point]) for point in ("preEnqueue", "queueSort", "filter", "score")}
    names = {plugin.name for enabled in at.values() for plugin in enabled}
    for name, (point, why) in _NEEDED.items():
        if name not in {plugin.name for plugin in at[point]}:
            raise (plugins or profile).error(
                f"{name} cannot be disabled for {point}: {why}", hint=f"add it to {point}.enabled"
            )
    filters = [plugin.name for plugin in at["filter"]]
    weights = {plugin.name: plugin.weight for plugin in at["score"]}
    return tuple(
        Part(
            name=name,
            weight=weights.get(name, 0),
            filters=name in filters or "filter" not in PLUGINS[name].points,
            args=args.get(name),
        )
        for name in _in_order(names, filters)
    )


def _in_order(names: set[str], filters: list[str]) -> list[str]:
    """Ours, with the filters in the order asked for: it decides whose reason is told, and no other order matters."""
    asked = iter(filters)
    return [next(asked) if name in filters else name for name in PLUGINS if name in names]


# --- plugins ---


def _read_sets(plugins: Value | None) -> dict[str, _Set]:
    sets = dict.fromkeys(_POINTS, _Set())
    for point, value in (plugins.fields(_POINTS) if plugins is not None else {}).items():
        fields = value.fields(("enabled", "disabled"))
        enabled = _read_enabled(point, fields["enabled"]) if "enabled" in fields else ()
        disabled = _read_disabled(point, fields["disabled"]) if "disabled" in fields else frozenset()
        sets[point] = _Set(enabled, disabled)
    return sets


def _read_enabled(point: str, value: Value) -> tuple[Enabled, ...]:
    found: dict[str, Enabled] = {}
    absent = []
    for item in value.items():
        fields = item.fields(("name", "weight"))
        name = _name(item, fields)
        weight = fields["weight"].integer() if "weight" in fields else 0
        if name in found:
            raise item.error(f"{name} is enabled twice", hint="keep one of them")
        if name in ABSENT:
            absent.append(name)
        elif name == _BINDER and point in (_MULTI, "bind"):
            continue
        elif name == _BINDER or (point != _MULTI and point not in PLUGINS[name].points):
            raise item.error(f"{name} does not extend {point}")
        else:
            # as upstream: no score is taken out by a weight of 0
            found[name] = Enabled(name, weight or 1)
    if absent:
        plural = len(absent) > 1
        raise value.error(
            f"{'plugins' if plural else 'plugin'} {', '.join(absent)} {'are' if plural else 'is'} not in Muster yet",
            hint="leave them out" if plural else "leave it out",
        )
    return tuple(found.values())


def _read_disabled(point: str, value: Value) -> frozenset[str]:
    names = set()
    for item in value.items():
        # people copy entries from one list to the other; upstream, too, overlooks the weight here
        fields = item.fields(("name", "weight"))
        name = _name(item, fields, also=(_ALL,))
        if name == _BINDER and point in (_MULTI, "bind"):
            raise item.error(f"{_BINDER} cannot be disabled: Muster binds by itself", hint="leave it out")
        names.add(name)
    return frozenset(names)


def _name(item: Value, fields: dict[str, Value], also: Iterable[str] = ()) -> str:
    if "name" not in fields:
        raise item.error("needs a name")
    name = fields["name"].text()
    if name not in _KNOWN and name not in also:
        raise fields["name"].error(f"there is no plugin {name}", hint=advice(name, _KNOWN))
    return name


def _multi(custom: _Set) -> tuple[Enabled, ...]:
    """multiPoint: the defaults that are not disabled, set anew in place where it is asked for, then the others."""
    asked = {plugin.name: plugin for plugin in custom.enabled}
    kept = [
        asked.pop(name, Enabled(name, entry.weight))
        for name, entry in PLUGINS.items()
        if not custom.disabled & {_ALL, name}
    ]
    return (*kept, *asked.values())


def _resolve(point: str, multi: tuple[Enabled, ...], own: _Set) -> tuple[Enabled, ...]:
    if _ALL in own.disabled:
        return own.enabled
    everywhere = [
        plugin for plugin in multi if point in PLUGINS[plugin.name].points and plugin.name not in own.disabled
    ]
    multi_names = {plugin.name for plugin in everywhere}
    own_names = {plugin.name for plugin in own.enabled}
    return (
        *(plugin for plugin in own.enabled if plugin.name in multi_names),
        *(plugin for plugin in everywhere if plugin.name not in own_names),
        *(plugin for plugin in own.enabled if plugin.name not in multi_names),
    )


# --- pluginConfig ---


def _read_config(config: Value) -> dict[str, FitArgs]:
    seen: set[str] = set()
    found = {}
    for item in config.items():
        fields = item.fields(("name", "args"))
        name = _name(item, fields)
        if name in seen:
            raise item.error(f"{name} is configured twice", hint="keep one of them")
        seen.add(name)
        if name in ABSENT:
            raise item.error(f"plugin {name} is not in Muster yet", hint="leave it out")
        args = fields.get("args")
        if args is None or args.empty:
            continue
        if name == "NodeResourcesFit":
            fit = _fit_args(args)
            if fit != FitArgs():
                found[name] = fit
        elif name == "NodeResourcesBalancedAllocation":
            _balanced_args(args)
        elif name == "NodeAffinity":
            fields = _args(args, name, ("addedAffinity",))
            _refuse(fields, ("addedAffinity",), why="Muster adds no affinity to pods")
        else:
            raise args.error(f"{name} takes no arguments", hint="leave them out")
    return found


def _args(args: Value, name: str, known: tuple[str, ...]) -> dict[str, Value]:
    fields = args.fields(("apiVersion", "kind", *known))
    for field, wanted in (("apiVersion", API_VERSION), ("kind", f"{name}Args")):
        if field in fields and (text := fields[field].text()) != wanted:
            raise fields[field].error(f"must be {wanted}, not '{text}'")
    return fields


def _refuse(fields: dict[str, Value], names: tuple[str, ...], *, why: str) -> None:
    for name in names:
        if name in fields and not fields[name].empty:
            raise fields[name].error(f"not supported: {why}", hint="leave it out")


def _fit_args(args: Value) -> FitArgs:
    fields = _args(args, "NodeResourcesFit", ("ignoredResources", "ignoredResourceGroups", "scoringStrategy"))
    _refuse(
        fields, ("ignoredResources", "ignoredResourceGroups"), why="Muster counts every resource that a pod requests"
    )
    if "scoringStrategy" not in fields:
        return FitArgs()
    scoring = fields["scoringStrategy"].fields(("type", "resources", "requestedToCapacityRatio"))
    strategy = _strategy(scoring["type"]) if "type" in scoring else Strategy.LEAST_ALLOCATED
    _refuse(scoring, ("requestedToCapacityRatio",), why="Muster scores by LeastAllocated or MostAllocated")
    weights = _resources(scoring["resources"]) if "resources" in scoring else {}
    return FitArgs(strategy=strategy, weights={} if weights == {"cpu": 1, "memory": 1} else weights)


def _strategy(value: Value) -> Strategy:
    text = value.text()
    if text == "RequestedToCapacityRatio":
        raise value.error(f"not supported: {text}", hint="use LeastAllocated or MostAllocated")
    try:
        return Strategy(text)
    except ValueError:
        raise value.error(f"there is no strategy {text}", hint=advice(text, list(Strategy))) from None


def _resources(value: Value) -> dict[str, int]:
    weights: dict[str, int] = {}
    for item in value.items():
        fields = item.fields(("name", "weight"))
        if "name" not in fields:
            raise item.error("needs a name")
        name = fields["name"].text()
        if name in weights:
            raise item.error(f"{name} is given twice", hint="keep one of them")
        # as upstream: 0 stands for the default
        weights[name] = (fields["weight"].integer(least=0, most=100) if "weight" in fields else 0) or 1
    return weights


def _balanced_args(args: Value) -> None:
    fields = _args(args, "NodeResourcesBalancedAllocation", ("resources",))
    if "resources" in fields and not fields["resources"].empty:
        weights = _resources(fields["resources"])
        if weights != {"cpu": 1, "memory": 1}:
            raise fields["resources"].error(
                "not supported: Muster balances cpu and memory, each with weight 1", hint="leave it out"
            )
