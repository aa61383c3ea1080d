"""Plugins by upstream's name: how each is made, where upstream lists it, what it weighs by default.

A profile is kept as plain data (`ProfileParts`), so that it can be compared, written into a journal and made
again.  `to_journal` and `from_journal` are each other's inverse.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from muster.base.errors import ConfigError, JournalError
from muster.cluster.census import Census
from muster.cluster.classes import NodeRules, PodClass
from muster.cluster.facts import Facts
from muster.cluster.nodes import NodeTable, Rows
from muster.cluster.usage import Ints, Usage
from muster.framework.by_users import points, roles
from muster.framework.contract import Bools, DefaultSpread, Outlook, RuleScore, Spreader, Wide
from muster.framework.profile import Backoff, Fairness, Plugin, PreemptionSettings, Profile, Unsupported
from muster.plugins.by_users import load, made
from muster.plugins.default_preemption import DefaultPreemption
from muster.plugins.default_spread import DefaultConstraint
from muster.plugins.dynamic_resources import WAIT_SECONDS as DEVICES_WAIT_SECONDS
from muster.plugins.dynamic_resources import DynamicResources
from muster.plugins.gang_scheduling import GangScheduling
from muster.plugins.image_locality import ImageLocality
from muster.plugins.inter_pod_affinity import HARD_WEIGHT, InterPodAffinity
from muster.plugins.node_affinity import NodeAffinity
from muster.plugins.node_declared_features import NodeDeclaredFeatures
from muster.plugins.node_name import NodeName
from muster.plugins.node_ports import NodePorts
from muster.plugins.node_resources_balanced import NodeResourcesBalancedAllocation
from muster.plugins.node_resources_fit import NodeResourcesFit, Strategy
from muster.plugins.node_unschedulable import NodeUnschedulable
from muster.plugins.node_volume_limits import NodeVolumeLimits
from muster.plugins.pod_topology_spread import PodTopologySpread
from muster.plugins.priority_sort import PrioritySort
from muster.plugins.scheduling_gates import SchedulingGates
from muster.plugins.taint_toleration import TaintToleration
from muster.plugins.volume_binding import WAIT_SECONDS, VolumeBinding
from muster.plugins.volume_restrictions import ClaimRestrictions, VolumeRestrictions
from muster.plugins.volume_zone import VolumeZone
from muster.volumes.score import DEFAULT_SHAPE

__all__ = [
    "ABSENT",
    "PLUGINS",
    "AffinityArgs",
    "BalancedArgs",
    "DeviceArgs",
    "Entry",
    "FitArgs",
    "Part",
    "PluginArgs",
    "ProfileParts",
    "SpreadArgs",
    "UserArgs",
    "VolumeArgs",
    "default_parts",
    "entry_of",
    "from_journal",
    "make_plugins",
    "make_profile",
    "to_journal",
]

_FIT = "NodeResourcesFit"
_BALANCED = "NodeResourcesBalancedAllocation"
_BETWEEN = "InterPodAffinity"
_SPREAD = "PodTopologySpread"
_VOLUMES = "VolumeBinding"
_DEVICES = "DynamicResources"
_BOTH = frozenset({"preFilter", "filter", "preScore", "score"})


class FitArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="of", tag=_FIT):
    """How NodeResourcesFit scores, and what it lets pods do without."""

    strategy: Strategy = Strategy.LEAST_ALLOCATED
    weights: dict[str, int] = {}
    """By resource; empty for cpu and memory alike."""
    shape: tuple[tuple[int, int], ...] = ()
    """Points (how much is used in percent, score from 0 to 10) of RequestedToCapacityRatio; of no other."""
    ignored: tuple[str, ...] = ()
    """Extended resources that pods need not have..."""
    ignored_groups: tuple[str, ...] = ()
    """...and whole groups of them: what stands before the slash."""


class BalancedArgs(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="of", tag=_BALANCED
):
    """What NodeResourcesBalancedAllocation balances."""

    resources: tuple[str, ...] = ("cpu", "memory")


class AffinityArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="of", tag=_BETWEEN):
    """How InterPodAffinity scores."""

    hard_weight: int = HARD_WEIGHT
    """Of the required affinity of pods that are there, to those whom it is about."""
    ignore_preferred_of_others: bool = False
    """What those would merely like counts only for pods that have such wishes of their own."""


class UserArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="of", tag="user"):
    """Of a plugin by users: what it is made with, and at which extension points it is asked."""

    points: tuple[str, ...]
    values: dict[str, Any] = {}


class SpreadArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="of", tag=_SPREAD):
    """How PodTopologySpread spreads pods that do not say it themselves."""

    constraints: tuple[DefaultConstraint, ...] = ()
    """Instead of those of the system; none, and nobody is spread who does not ask for it."""


class VolumeArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="of", tag=_VOLUMES):
    """How long VolumeBinding waits for volumes, and what it makes of how much of the storage they take."""

    wait_seconds: float = WAIT_SECONDS
    shape: tuple[tuple[int, int], ...] = DEFAULT_SHAPE
    """Points (how much is used in percent, score from 0 to 10)."""


class DeviceArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="of", tag=_DEVICES):
    """How long DynamicResources waits for devices."""

    wait_seconds: float = DEVICES_WAIT_SECONDS


PluginArgs = FitArgs | BalancedArgs | AffinityArgs | SpreadArgs | VolumeArgs | DeviceArgs | UserArgs


class Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One plugin of a profile."""

    name: str
    weight: int = 0
    """Of its score; 0 if it does not score."""
    filters: bool = True
    """False for one that could filter and only scores."""
    args: PluginArgs | None = None
    """None for the plugin's own defaults."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a plugin."""

    make: Callable[[PluginArgs | None], Sequence[Plugin]]
    """One object that plays all roles, or one for each."""
    points: frozenset[str]
    """Upstream's extension points at which it may be listed."""
    weight: int = 0
    """Of its score, by default; 0 for one that has none."""


def _fit(args: PluginArgs | None) -> Sequence[Plugin]:
    match args:
        case None:
            return [NodeResourcesFit()]
        case FitArgs():
            return [
                NodeResourcesFit(
                    strategy=args.strategy,
                    weights=args.weights,
                    shape=args.shape,
                    ignored=args.ignored,
                    ignored_groups=args.ignored_groups,
                )
            ]
    raise _not_its_own(_FIT)


def _balanced(args: PluginArgs | None) -> Sequence[Plugin]:
    match args:
        case None:
            return [NodeResourcesBalancedAllocation()]
        case BalancedArgs():
            return [NodeResourcesBalancedAllocation(resources=args.resources)]
    raise _not_its_own(_BALANCED)


def _inter_pod_affinity(args: PluginArgs | None) -> Sequence[Plugin]:
    match args:
        case None:
            return [InterPodAffinity()]
        case AffinityArgs():
            hard, ignore = args.hard_weight, args.ignore_preferred_of_others
            return [InterPodAffinity(hard_weight=hard, ignore_preferred_of_others=ignore)]
    raise _not_its_own(_BETWEEN)


def _spread(args: PluginArgs | None) -> Sequence[Plugin]:
    match args:
        case None:
            return [PodTopologySpread()]
        case SpreadArgs():
            return [PodTopologySpread(defaults=args.constraints)]
    raise _not_its_own(_SPREAD)


def _volumes(args: PluginArgs | None) -> Sequence[Plugin]:
    match args:
        case None:
            return [VolumeBinding()]
        case VolumeArgs():
            return [VolumeBinding(wait_seconds=args.wait_seconds, shape=args.shape)]
    raise _not_its_own(_VOLUMES)


def _devices(args: PluginArgs | None) -> Sequence[Plugin]:
    match args:
        case None:
            return [DynamicResources()]
        case DeviceArgs():
            return [DynamicResources(wait_seconds=args.wait_seconds)]
    raise _not_its_own(_DEVICES)


def _restrictions(args: PluginArgs | None) -> Sequence[Plugin]:
    if args is not None:
        raise _not_its_own(VolumeRestrictions.name)
    return [VolumeRestrictions(), ClaimRestrictions()]


def _plain(make: Callable[[], Plugin]) -> Callable[[PluginArgs | None], Sequence[Plugin]]:
    def made(args: PluginArgs | None) -> Sequence[Plugin]:
        plugin = make()
        if args is not None:
            raise _not_its_own(plugin.name)
        return [plugin]

    return made


def _not_its_own(name: str) -> ConfigError:
    return ConfigError(f"plugin {name} has arguments of another")


def _entry(make: Callable[[], Plugin], *points: str, weight: int = 0) -> Entry:
    return Entry(make=_plain(make), points=frozenset(points), weight=weight)


# In upstream's order, which is the order in which filters are asked for their reason.
PLUGINS: Mapping[str, Entry] = {
    "SchedulingGates": _entry(SchedulingGates, "preEnqueue"),
    "PrioritySort": _entry(PrioritySort, "queueSort"),
    "NodeName": _entry(NodeName, "filter"),
    "NodeUnschedulable": _entry(NodeUnschedulable, "filter"),
    "TaintToleration": _entry(TaintToleration, "filter", "preScore", "score", weight=3),
    "NodeAffinity": _entry(NodeAffinity, "preFilter", "filter", "preScore", "score", weight=2),
    "NodePorts": _entry(NodePorts, "preFilter", "filter"),
    _FIT: Entry(make=_fit, points=_BOTH, weight=1),
    "VolumeRestrictions": Entry(make=_restrictions, points=frozenset({"preFilter", "filter"})),
    "NodeVolumeLimits": _entry(NodeVolumeLimits, "preFilter", "filter"),
    _VOLUMES: Entry(make=_volumes, points=_BOTH | {"reserve", "preBind"}, weight=1),
    "VolumeZone": _entry(VolumeZone, "preFilter", "filter"),
    _SPREAD: Entry(make=_spread, points=_BOTH, weight=2),
    _BETWEEN: Entry(make=_inter_pod_affinity, points=_BOTH, weight=2),
    _DEVICES: Entry(
        make=_devices, points=frozenset({"preEnqueue", "preFilter", "filter", "postFilter", "reserve", "preBind"})
    ),
    _BALANCED: Entry(make=_balanced, points=frozenset({"preScore", "score"}), weight=1),
    "ImageLocality": _entry(ImageLocality, "score", weight=1),
    "NodeDeclaredFeatures": _entry(NodeDeclaredFeatures, "preFilter", "filter"),
    "GangScheduling": _entry(GangScheduling, "preEnqueue", "reserve", "permit"),
    "DefaultPreemption": _entry(DefaultPreemption, "postFilter"),
}

ABSENT = (
    "DeferredPodScheduling",
    "TopologyPlacementGenerator",
    "PodGroupPodsCount",
    "EBSLimits",
    "GCEPDLimits",
    "AzureDiskLimits",
    "CinderLimits",
)
"""Upstream's plugins, some of them of older releases, that Muster does not have."""


def default_parts(strategy: Strategy = Strategy.LEAST_ALLOCATED) -> tuple[Part, ...]:
    """Every plugin, with upstream's weights."""
    args = {_FIT: FitArgs(strategy=strategy)} if strategy is not Strategy.LEAST_ALLOCATED else {}
    return tuple(Part(name=name, weight=entry.weight, args=args.get(name)) for name, entry in PLUGINS.items())


class ProfileParts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All that a profile is made of."""

    scheduler_names: tuple[str, ...] = ("muster",)
    plugins: tuple[Part, ...] = msgspec.field(default_factory=default_parts)
    backoff: Backoff = Backoff()
    preemption: PreemptionSettings = PreemptionSettings()
    fairness: Fairness = Fairness()
    unsupported: Unsupported = Unsupported.REFUSE


def make_plugins(parts: Sequence[Part]) -> list[tuple[Plugin, int]]:
    """(plugin, score weight), newly made; ConfigError if two would be called the same."""
    found: list[tuple[Plugin, int]] = []
    # what pods ask for is honoured by whoever has upstream's name for it
    names = {name: name for name in (*PLUGINS, *ABSENT)}
    for part in parts:
        plugins = _make(part)
        if part.name not in PLUGINS:
            for name in dict.fromkeys(plugin.name for plugin in plugins):
                if other := names.get(name):
                    hint = "give its class another name"
                    raise ConfigError(f"plugin {part.name} is called {name}, as {other} is", hint=hint)
                names[name] = part.name
        found += [(plugin, part.weight) for plugin in plugins]
    return found


def make_profile(parts: ProfileParts) -> Profile:
    """A new profile; ConfigError if no scheduler can be made of the parts."""
    return Profile(
        make_plugins(parts.plugins),
        scheduler_names=parts.scheduler_names,
        backoff=parts.backoff,
        preemption=parts.preemption,
        fairness=parts.fairness,
        unsupported=parts.unsupported,
    )


def entry_of(name: str) -> Entry:
    """What is known of the plugin; one by users is looked for and loaded.  ConfigError if there is none."""
    found = PLUGINS.get(name)
    return _by_users(name) if found is None else found


def _by_users(name: str) -> Entry:
    kind = load(name)

    def make(args: PluginArgs | None) -> Sequence[Plugin]:
        if not isinstance(args, UserArgs):
            raise _not_its_own(name)
        return roles(made(kind, args.values, name=name), frozenset(args.points))

    return Entry(make=make, points=points(kind), weight=1)


def _make(part: Part) -> Sequence[Plugin]:
    plugins = entry_of(part.name).make(part.args)
    # of those by users the points say where they are asked
    return (
        plugins
        if part.filters or isinstance(part.args, UserArgs)
        else [_without_filter(part.name, plugin) for plugin in plugins]
    )


def _without_filter(name: str, plugin: Plugin) -> Plugin:
    if isinstance(plugin, Wide):
        return _OnlyRates(plugin)
    if not isinstance(plugin, RuleScore):
        raise ConfigError(f"plugin {name} cannot score without filtering")
    return _OnlyScore(plugin)


class _OnlyScore(RuleScore):
    """A plugin without its other roles."""

    def __init__(self, plugin: RuleScore) -> None:
        self.name, self.reads, self.may_read = plugin.name, plugin.reads, plugin.may_read
        self.reverse = plugin.reverse
        self._plugin = plugin

    def raw(self, rules: NodeRules, nodes: NodeTable, rows: Rows | None) -> Ints | None:
        return self._plugin.raw(rules, nodes, rows)


class _OnlyRates(Wide, Spreader):
    """The same for one that looks beyond the node."""

    filters = False

    def __init__(self, plugin: Wide) -> None:
        self.name, self.reads, self.may_read = plugin.name, plugin.reads, plugin.may_read
        self._plugin = plugin

    def concerns(self, pod_class: PodClass, census: Census) -> bool:
        return self._plugin.concerns(pod_class, census)

    def by_default(self, facts: Facts) -> DefaultSpread | None:
        return self._plugin.by_default(facts) if isinstance(self._plugin, Spreader) else None

    def outlook(self, pod_class: PodClass, nodes: NodeTable, usage: Usage) -> Outlook:
        return _Ratings(self._plugin.outlook(pod_class, nodes, usage))


class _Ratings(Outlook):
    def __init__(self, outlook: Outlook) -> None:
        self._outlook = outlook

    def place(self, row: int) -> None:
        self._outlook.place(row)

    def score(self, takes: Bools) -> Ints | None:
        return self._outlook.score(takes)


# --- journals ---

_PARTS = "profile"
_OTHERS = "others"
# headers of scenarios name the strategy alone
_STRATEGY = "strategy"


def to_journal(parts: ProfileParts, *others: ProfileParts) -> dict[str, str]:
    """The settings for a journal's header."""
    header = {_PARTS: msgspec.json.encode(parts).decode()}
    return header | ({_OTHERS: msgspec.json.encode(others).decode()} if others else {})


def from_journal(settings: Mapping[str, str]) -> list[Profile]:
    """The profiles that a journal's header names, whoever wrote it; JournalError if this version cannot make them."""
    try:
        if settings.keys() == {_STRATEGY}:
            return [make_profile(ProfileParts(plugins=default_parts(Strategy(settings[_STRATEGY]))))]
        if settings.keys() in ({_PARTS}, {_PARTS, _OTHERS}):
            others = msgspec.json.decode(settings.get(_OTHERS, "[]"), type=list[ProfileParts])
            return [make_profile(parts) for parts in (_read_parts(settings[_PARTS]), *others)]
    except ConfigError as error:
        raise JournalError(f"its scheduler cannot be made again: {error.message}", hint=error.hint) from error
    except (ValueError, msgspec.DecodeError) as error:
        raise JournalError("settings that this version does not know", settings=dict(settings)) from error
    raise JournalError("settings that this version does not know", settings=dict(settings))


def _read_parts(text: str) -> ProfileParts:
    header = msgspec.json.decode(text)
    match header:
        case {"plugins": [*parts]}:
            for part in parts:
                match part:
                    # as long as one plugin alone took arguments, nothing said whose they were
                    case {"name": name, "args": {} as args} if "of" not in args:
                        args["of"] = name
    return msgspec.convert(header, type=ProfileParts)
