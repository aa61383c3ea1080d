"""A profile's `plugins`, as upstream reads them, made into the parts of ours.

At each extension point upstream asks, in this order:
  1. what the point enables and multiPoint enables too, in the point's order;
  2. what multiPoint alone enables (defaults first), unless the point disables it;
  3. what the point alone enables.
A point that disables `*` has only what it enables itself.  The point's weight goes before multiPoint's.

Muster's own are asked at five points.  preFilter and preScore prepare filter and score; what they list has no effect of
its own.  Plugins by users are asked wherever they are listed and have a method.
"""

from __future__ import annotations

import msgspec

from muster.app.document import Value
from muster.app.plugin_args import BINDER, Args, plugin_name
from muster.plugins.registry import ABSENT, PLUGINS, Part, PluginArgs, ProfileParts, UserArgs, entry_of

__all__ = ["Enabled", "read_plugins"]

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
_ASKED = _POINTS[:-1]
_PREPARING = ("preFilter", "preScore")

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


def read_plugins(plugins: Value | None, args: Args, *, profile: Value) -> ProfileParts:
    """The plugins of one profile and what their arguments set; ConfigError where Muster cannot do what is asked."""
    sets = _read_sets(plugins)
    multi = _multi(sets[_MULTI])
    at = {point: _resolve(point, multi, sets[point]) for point in _ASKED}
    names = {plugin.name for point, enabled in at.items() for plugin in enabled if _has_effect(plugin.name, point)}
    _check_needed(at, plugins or profile)
    filters = [plugin.name for plugin in at["filter"]]
    weights = {plugin.name: plugin.weight for plugin in at["score"]}
    parts = tuple(
        Part(
            name=name,
            weight=weights.get(name, 0),
            filters=name in filters or "filter" not in entry_of(name).points,
            args=_args(name, args, at),
        )
        for name in _in_order(names, filters)
    )
    return ProfileParts(plugins=parts, preemption=args.preemption, fairness=args.fairness, unsupported=args.unsupported)


def _has_effect(name: str, point: str) -> bool:
    """Whether the plugin does anything there by itself: ours only prepare before they filter and score."""
    return name not in PLUGINS or point not in _PREPARING


def _check_needed(at: dict[str, tuple[Enabled, ...]], where: Value) -> None:
    for name, (point, why) in _NEEDED.items():
        there = {plugin.name for plugin in at[point]}
        # whoever brings an order of his own needs no other
        if name not in there and not (point == "queueSort" and there):
            raise where.error(f"{name} cannot be disabled for {point}: {why}", hint=f"add it to {point}.enabled")
    if len(order := [plugin.name for plugin in at["queueSort"]]) > 1:
        hint = "disable all but one for queueSort"
        raise where.error(f"{', '.join(order)} cannot order the queue together", hint=hint)


def _args(name: str, args: Args, at: dict[str, tuple[Enabled, ...]]) -> PluginArgs | None:
    if name in PLUGINS:
        return args.of_plugins.get(name)
    points = tuple(point for point, there in at.items() if name in {plugin.name for plugin in there})
    return UserArgs(points=points, values=args.of_users.get(name, {}))


def _in_order(names: set[str], filters: list[str]) -> list[str]:
    """Ours first, with the filters in the order asked for: it decides whose reason is told, and no other order does."""
    asked, by_users = iter(filters), sorted(names - PLUGINS.keys())
    return [next(asked) if name in filters else name for name in (*PLUGINS, *by_users) if name in names]


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
        name = plugin_name(item, fields)
        weight = fields["weight"].integer() if "weight" in fields else 0
        if name in found:
            raise item.error(f"{name} is enabled twice", hint="keep one of them")
        if name in ABSENT:
            absent.append(name)
        elif name == BINDER and point in (_MULTI, "bind"):
            continue
        elif name == BINDER or (point != _MULTI and point not in entry_of(name).points):
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
        name = plugin_name(item, fields, also=(_ALL,))
        if name == BINDER and point in (_MULTI, "bind"):
            raise item.error(f"{BINDER} cannot be disabled: Muster binds by itself", hint="leave it out")
        names.add(name)
    return frozenset(names)


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
        plugin for plugin in multi if point in entry_of(plugin.name).points and plugin.name not in own.disabled
    ]
    multi_names = {plugin.name for plugin in everywhere}
    own_names = {plugin.name for plugin in own.enabled}
    return (
        *(plugin for plugin in own.enabled if plugin.name in multi_names),
        *(plugin for plugin in everywhere if plugin.name not in own_names),
        *(plugin for plugin in own.enabled if plugin.name not in multi_names),
    )
