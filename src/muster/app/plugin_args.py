"""A profile's `pluginConfig`: upstream's arguments of plugins, and those of our own GangScheduling.

What upstream's arguments ask for is done, or refused by name.  GangSchedulingArgs are Muster's:

    passesPerMember        so many units per member may start ahead of a gang that stands before them, or off   2
    failingShare           of the decision time, for units that keep failing while others are ready           0.2
    evictionRounds         so many times a unit evicts others without starting                                  3
    victimTimeoutSeconds   how long a unit waits for its victims to leave                                     600
    unsupported            refuse or ignore what pods and groups ask for and no plugin honours             refuse
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from muster.app.document import Value, closest
from muster.app.resource_args import BALANCED_FIELDS, FIT_FIELDS, balanced_args, fit_args, read_shape
from muster.base.errors import ConfigError
from muster.base.selectors import Requirement
from muster.framework.profile import Fairness, PreemptionSettings, Unsupported
from muster.plugins.by_users import offered
from muster.plugins.default_spread import DefaultConstraint
from muster.plugins.registry import (
    ABSENT,
    PLUGINS,
    AffinityArgs,
    BalancedArgs,
    DeviceArgs,
    FitArgs,
    PluginArgs,
    SpreadArgs,
    VolumeArgs,
    entry_of,
)

__all__ = ["API_VERSION", "BINDER", "Args", "plugin_name", "read_args"]

API_VERSION = "kubescheduler.config.k8s.io/v1"

# Muster binds by itself: listing the plugin asks for what is done anyway
BINDER = "DefaultBinder"
_KNOWN = (*PLUGINS, *ABSENT, BINDER)


class Args(msgspec.Struct, frozen=True):
    """All that arguments set."""

    of_plugins: dict[str, PluginArgs] = {}
    """What plugins are made with, by their names; not of those that have their defaults."""
    of_users: dict[str, dict[str, Any]] = {}
    """What plugins by users are made with."""
    preemption: PreemptionSettings = PreemptionSettings()
    fairness: Fairness = Fairness()
    unsupported: Unsupported = Unsupported.REFUSE


def plugin_name(item: Value, fields: dict[str, Value], also: Iterable[str] = ()) -> str:
    """The name in an entry of a list of plugins."""
    if "name" not in fields:
        raise item.error("needs a name")
    name = fields["name"].text()
    if name in _KNOWN or name in also:
        return name
    if ":" not in name and name not in (known := (*_KNOWN, *offered())):
        elsewhere = "one of yours is written as module:Class, or offered by a package that is installed where muster is"
        raise fields["name"].error(f"there is no plugin {name}", hint=closest(name, known) or elsewhere)
    try:
        entry_of(name)
    except ConfigError as error:
        raise fields["name"].error(error.message, hint=error.hint) from error
    return name


def read_args(config: Value | None) -> Args:
    """What a profile's pluginConfig says; ConfigError where Muster cannot do it."""
    found = Args()
    seen: set[str] = set()
    for item in [] if config is None else config.items():
        fields = item.fields(("name", "args"))
        name = plugin_name(item, fields)
        if name in seen:
            raise item.error(f"{name} is configured twice", hint="keep one of them")
        seen.add(name)
        if name in ABSENT:
            raise item.error(f"plugin {name} is not in Muster yet", hint="leave it out")
        args = fields.get("args")
        if args is not None and not args.empty:
            found = _with(found, name, args)
    return found


def _with(found: Args, name: str, args: Value) -> Args:
    if name not in PLUGINS:
        return msgspec.structs.replace(found, of_users={**found.of_users, name: _plain(args)})
    match name:
        case "NodeResourcesFit":
            return _with_own(found, name, fit_args(_args(args, name, FIT_FIELDS)), default=FitArgs())
        case "InterPodAffinity":
            return _with_own(found, name, _affinity_args(args), default=AffinityArgs())
        case "PodTopologySpread":
            return _with_own(found, name, _spread_args(args), default=None)
        case "NodeResourcesBalancedAllocation":
            own = balanced_args(_args(args, name, BALANCED_FIELDS))
            return _with_own(found, name, own, default=BalancedArgs())
        case "VolumeBinding":
            return _with_own(found, name, _volume_args(args), default=VolumeArgs())
        case "DynamicResources":
            return _with_own(found, name, _device_args(args), default=DeviceArgs())
        case "NodeAffinity":
            fields = _args(args, name, ("addedAffinity",))
            _refuse(fields, ("addedAffinity",), why="Muster adds no affinity to pods")
            return found
        case "DefaultPreemption":
            return msgspec.structs.replace(found, preemption=_preemption_args(args, found.preemption))
        case "GangScheduling":
            return _gang_args(args, found)
    raise args.error(f"{name} takes no arguments", hint="leave them out")


def _plain(args: Value) -> dict[str, Any]:
    """As a journal keeps them, so that a plugin is made with the same everywhere: YAML knows dates, JSON does not."""
    try:
        found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(args.mapping()))
    except (TypeError, ValueError, msgspec.MsgspecError) as error:
        raise args.error(f"cannot be kept: {error}") from error
    return found


def _with_own(found: Args, name: str, own: PluginArgs | None, *, default: PluginArgs | None) -> Args:
    if own is None or own == default:
        return found
    return msgspec.structs.replace(found, of_plugins={**found.of_plugins, name: own})


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


# --- preemption and gangs ---


def _preemption_args(args: Value, preemption: PreemptionSettings) -> PreemptionSettings:
    percentage, absolute = "minCandidateNodesPercentage", "minCandidateNodesAbsolute"
    fields = _args(args, "DefaultPreemption", (percentage, absolute))
    given: dict[str, int] = {}
    if percentage in fields:
        given["least_percent"] = fields[percentage].integer(most=100)
    if absolute in fields:
        given["least_nodes"] = fields[absolute].integer()
    found = msgspec.structs.replace(preemption, **given)
    if not found.least_percent and not found.least_nodes:
        raise args.error(f"{percentage} and {absolute} cannot both be 0", hint="pods would look for victims nowhere")
    return found


def _gang_args(args: Value, found: Args) -> Args:
    fields = _args(
        args,
        "GangScheduling",
        ("passesPerMember", "failingShare", "evictionRounds", "victimTimeoutSeconds", "unsupported"),
    )
    fairness: dict[str, float | None] = {}
    preemption: dict[str, float] = {}
    if "passesPerMember" in fields:
        value = fields["passesPerMember"]
        fairness["passes_per_member"] = None if value.off else value.number(least=0, else_off=True)
    if "failingShare" in fields:
        fairness["failing_share"] = fields["failingShare"].number(least=0, most=1)
    if "evictionRounds" in fields:
        preemption["rounds"] = fields["evictionRounds"].integer()
    if "victimTimeoutSeconds" in fields:
        value = fields["victimTimeoutSeconds"]
        preemption["patience_seconds"] = seconds = value.number()
        if seconds <= 0:
            raise value.error(f"must be longer than 0, not {seconds:g}")
    return msgspec.structs.replace(
        found,
        preemption=msgspec.structs.replace(found.preemption, **preemption),
        fairness=msgspec.structs.replace(found.fairness, **fairness),
        unsupported=_unsupported(fields["unsupported"]) if "unsupported" in fields else found.unsupported,
    )


def _unsupported(value: Value) -> Unsupported:
    text = value.text()
    try:
        return Unsupported(text)
    except ValueError:
        raise value.error(f"must be {' or '.join(Unsupported)}, not '{text}'") from None


# --- volumes ---


def _volume_args(args: Value) -> VolumeArgs:
    seconds, shape = "bindTimeoutSeconds", "shape"
    fields = _args(args, "VolumeBinding", (seconds, shape))
    found = VolumeArgs()
    if seconds in fields:
        found = msgspec.structs.replace(found, wait_seconds=float(fields[seconds].integer(least=0)))
    if shape in fields and not fields[shape].empty:
        found = msgspec.structs.replace(found, shape=read_shape(fields[shape]))
    return found


# --- devices ---


def _device_args(args: Value) -> DeviceArgs:
    search, wait = "filterTimeout", "bindingTimeout"
    fields = _args(args, "DynamicResources", (search, wait))
    if search in fields:
        # a search of one node ends after so many steps, not after a time
        fields[search].seconds()
    if wait not in fields:
        return DeviceArgs()
    if (seconds := fields[wait].seconds()) < 1:
        raise fields[wait].error("must be at least 1s")
    return DeviceArgs(wait_seconds=seconds)


# --- other pods ---


def _affinity_args(args: Value) -> AffinityArgs:
    weight, ignore = "hardPodAffinityWeight", "ignorePreferredTermsOfExistingPods"
    fields = _args(args, "InterPodAffinity", (weight, ignore))
    found = AffinityArgs()
    if weight in fields:
        found = msgspec.structs.replace(found, hard_weight=fields[weight].integer(least=0, most=100))
    if ignore in fields:
        found = msgspec.structs.replace(found, ignore_preferred_of_others=fields[ignore].flag())
    return found


def _spread_args(args: Value) -> SpreadArgs | None:
    """None for the constraints of the system."""
    kind, listed = "defaultingType", "defaultConstraints"
    fields = _args(args, "PodTopologySpread", (kind, listed))
    defaulting = fields[kind].text() if kind in fields else ""
    if defaulting not in ("System", "List", ""):
        raise fields[kind].error(f"must be System or List, not '{defaulting}'")
    constraints = _constraints(fields[listed]) if listed in fields else ()
    if defaulting == "List":
        return SpreadArgs(constraints=constraints)
    if constraints:
        raise fields.get(kind, args).error(f"{kind} must be List where {listed} are given", hint=f"write {kind}: List")
    return None


def _constraints(value: Value) -> tuple[DefaultConstraint, ...]:
    found: dict[tuple[str, bool], DefaultConstraint] = {}
    for item in value.items():
        constraint = _constraint(item)
        which = constraint.topology_key, constraint.hard
        if which in found:
            raise item.error(f"there is one for {constraint.topology_key} like this already", hint="keep one of them")
        found[which] = constraint
    return tuple(found.values())


def _constraint(item: Value) -> DefaultConstraint:
    needed = ("maxSkew", "topologyKey", "whenUnsatisfiable")
    policies = {"nodeAffinityPolicy": "honours_affinity", "nodeTaintsPolicy": "honours_taints"}
    fields = item.fields((*needed, "minDomains", *policies, "labelSelector", "matchLabelKeys"))
    for name in needed:
        if name not in fields or fields[name].empty:
            raise item.error(f"needs a {name}")
    for name in ("labelSelector", "matchLabelKeys"):
        if name in fields:
            why = "whom it is about is said by the Services and the owner of each pod"
            raise fields[name].error(f"has no place here: {why}", hint="leave it out")
    key = fields["topologyKey"].text()
    if problems := Requirement(key, "Exists").problems():
        raise fields["topologyKey"].error("; ".join(problems))
    given = {
        ours: _choice(fields[name], ("Honor", "Ignore")) == "Honor" for name, ours in policies.items() if name in fields
    }
    return DefaultConstraint(
        topology_key=key,
        max_skew=fields["maxSkew"].integer(least=1),
        hard=_choice(fields["whenUnsatisfiable"], ("DoNotSchedule", "ScheduleAnyway")) == "DoNotSchedule",
        min_domains=fields["minDomains"].integer(least=1) if "minDomains" in fields else 1,
        **given,
    )


def _choice(value: Value, known: tuple[str, ...]) -> str:
    text = value.text()
    if text not in known:
        raise value.error(f"must be {' or '.join(known)}, not '{text}'")
    return text
