"""A profile: which plugins decide for which scheduler name, in which order, with which weight."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from math import isnan
from typing import Protocol, TypeVar

import msgspec

from muster.api.asks import Ask
from muster.api.kinds import KINDS, Kind
from muster.api.wire import Fact
from muster.base.errors import ConfigError
from muster.cluster.classes import Needs, PodClass
from muster.cluster.usage import RowState
from muster.framework.contract import (
    Attendant,
    GangRule,
    NodesScore,
    PodGate,
    PodReader,
    QueueOrder,
    Reserver,
    RoomFilter,
    RoomScore,
    RoomTieBreak,
    RuleFilter,
    RuleScore,
    Spreader,
    Stateful,
    Supplier,
    VictimRule,
    Wide,
)
from muster.framework.questions import AWAITED, Step

_Role = TypeVar("_Role")
# ratings of all copies on all nodes must fit into 63 bits
_MOST_WEIGHT = 80
_NUMBER = (int, float)
_FILTERS = RuleFilter | RoomFilter
Plugin = (
    RuleFilter
    | RoomFilter
    | RuleScore
    | NodesScore
    | RoomScore
    | RoomTieBreak
    | PodGate
    | PodReader
    | Reserver
    | GangRule
    | QueueOrder
    | VictimRule
    | Stateful
    | Spreader
    | Supplier
    | Attendant
    | Wide
)


class Backoff(msgspec.Struct, frozen=True, kw_only=True):
    """How long a unit that failed waits, in seconds; the maximum is a lone pod's, see base/backoff.py."""

    initial: float = 1.0
    maximum: float = 10.0
    flush: float = 60.0
    """A unit that waits for room is tried again after so long, to twice as long, even if nothing seems to help it: a
    safety net, and what it says of the room there is gets no older than this.  10,000 of them cost 5 % of the time."""


class PreemptionSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How units make room for themselves."""

    gangs: bool = True
    """WorkloadAwarePreemption: off, gangs do not preempt."""
    delayed: bool = True
    """DelayedPreemption: off, gangs do not preempt, and what a lone pod evicts goes pod by pod, whatever its gang."""
    rounds: int = 3
    """So many times a unit evicts others without starting; after that it only waits..."""
    lapse_seconds: float = 600.0
    """...until the last time is so long ago."""
    patience_seconds: float = 600.0
    """How long a unit waits for its victims to leave."""
    least_nodes: int = 100
    least_percent: int = 10
    """A lone pod looks for victims on so many nodes, or on that share of them if it is more."""


class Fairness(msgspec.Struct, frozen=True, kw_only=True):
    """What units may do to each other's waiting."""

    passes_per_member: float | None = 2.0
    """So many units per member may start ahead of a gang that stands before them; None for any number."""
    failing_share: float = 0.2
    """Units that keep failing take at most this share of the decision time while others are ready."""


class Unsupported(StrEnum):
    """What becomes of pods and groups that ask for what no plugin of the profile honours."""

    REFUSE = "refuse"
    """They wait, and say for what; mere preferences are passed over, and an event says so."""
    IGNORE = "ignore"
    """They are placed as if they had not asked."""


class Profile:
    """Plugins by the roles they play; the first filter in order that refuses a node names the reason."""

    def __init__(
        self,
        plugins: Sequence[tuple[Plugin, int]],
        *,
        scheduler_names: Sequence[str] = ("muster",),
        backoff: Backoff | None = None,
        preemption: PreemptionSettings | None = None,
        fairness: Fairness | None = None,
        unsupported: Unsupported = Unsupported.REFUSE,
    ) -> None:
        listed = [plugin for plugin, _ in plugins]
        self.scheduler_names = tuple(scheduler_names)
        """The first is how this scheduler calls itself."""
        self.backoff = backoff or Backoff()
        self.preemption = preemption or PreemptionSettings()
        self.fairness = fairness or Fairness()
        self.unsupported = unsupported
        self.filters = [p for p in listed if isinstance(p, RuleFilter | RoomFilter | Wide)]
        """In the order in which they are asked for the reason why a node is refused."""
        self.rule_filters = [p for p in listed if isinstance(p, RuleFilter)]
        self.room_filters = [p for p in listed if isinstance(p, RoomFilter)]
        self._ignored = frozenset(resource for p in self.room_filters for resource in p.ignored)
        self.rule_scores = [(p, weight) for p, weight in plugins if isinstance(p, RuleScore) and weight]
        self.nodes_scores = [(p, weight) for p, weight in plugins if isinstance(p, NodesScore) and weight]
        self.room_scores = [(p, weight) for p, weight in plugins if isinstance(p, RoomScore) and weight]
        self.wide = [(p, weight) for p, weight in plugins if isinstance(p, Wide)]
        scoring = (*self.rule_scores, *self.nodes_scores, *self.room_scores, *self.wide)
        if sum(weight for _, weight in scoring) > _MOST_WEIGHT:
            raise ConfigError(f"score weights may add up to {_MOST_WEIGHT} at most")
        self.tie_break = _only("RoomTieBreak", [p for p in listed if isinstance(p, RoomTieBreak)])
        self.gates = [p for p in listed if isinstance(p, PodGate)]
        self.order = _only("QueueOrder", [p for p in listed if isinstance(p, QueueOrder)])
        self.gang_rule = _only("GangRule", [p for p in listed if isinstance(p, GangRule)])
        self.readers = [p for p in listed if isinstance(p, PodReader)]
        self.reservers = [p for p in listed if isinstance(p, Reserver)]
        self.stateful = [p for p in listed if isinstance(p, Stateful)]
        self.spreaders = [p for p in listed if isinstance(p, Spreader)]
        self.suppliers = [p for p in listed if isinstance(p, Supplier)]
        self.attendants = [p for p in listed if isinstance(p, Attendant)]
        self._wait_seconds = {p.name: p.wait_seconds for p in self.suppliers}
        stateless = [p for p in self.room_filters if not isinstance(p, Stateful)]
        self.inexact: list[Stateful | RoomFilter] = [*self.stateful, *(p for p in stateless if not p.adds_up)]
        """Copies of classes that concern one of these need not add up."""
        self.victims = [p for p in listed if isinstance(p, VictimRule)]
        self.reads, self.may_read = _kinds(listed)
        """Kinds of objects that its plugins must know, and those that they can do without."""
        self._scoring = frozenset(plugin.name for plugin, weight in plugins if weight)
        # one that is listed for its score alone filters nothing
        self._filtering = frozenset(p.name for p in listed if _filters(p))

    @property
    def calls(self) -> int:
        """How often plugins were asked about a single node so far."""
        return sum(reader.calls for reader in self.readers)

    def preparing_seconds(self, needs: Needs) -> float:
        """So long a pod waits for what it brings."""
        return max((self._wait_seconds[plugin] for plugin, _ in needs if plugin in self._wait_seconds), default=0.0)

    def answering_seconds(self, pod_class: PodClass) -> float:
        """So long a pod of the class waits for plugins that are asked about it."""
        return max((one.wait_seconds for step in AWAITED for one in self.attending(pod_class, step)), default=0.0)

    def attending(self, pod_class: PodClass, step: Step) -> list[Attendant]:
        """Who is asked about pods of the class there."""
        return [one for one in self.attendants if step in one.steps and one.concerns(pod_class)]

    def place_in_queue(self, *, priority: int, created: float, uid: str, name: str) -> tuple[int, float, str]:
        """What the QueueOrder says; raises where that is nothing that others' places can be compared with.

        One such place in the queue would stop all who come across it.
        """
        said: object = self.order.key(priority=priority, created=created, uid=uid, name=name)
        # a match statement took 1.5 µs, a tenth of what the engine takes for a pod before it decides
        if isinstance(said, tuple) and len(said) == 3:
            first, second, third = said
            comparable = isinstance(second, _NUMBER) and not isnan(second)
            if comparable and isinstance(first, int) and isinstance(third, str):
                return first, second, third
        raise TypeError(f"{self.order.name} gave {said!r}, which is no place in the queue")

    def ignores(self, resource: str) -> bool:
        """Whether pods need not have what they request of the resource."""
        group = resource[: resource.find("/") + 1]
        return bool(self._ignored) and (resource in self._ignored or group in self._ignored)

    def unhonoured(self, asks: tuple[Ask, ...], *, hard: bool = True) -> tuple[Ask, ...]:
        """Those of the hard asks, or of the preferences, that no plugin honours; none if they are to be ignored."""
        if not asks or self.unsupported is Unsupported.IGNORE:
            return ()
        honoured = self._filtering if hard else self._scoring
        return tuple(ask for ask in asks if ask.hard is hard and ask.plugin not in honoured)


class Profiles:
    """All profiles of one process; by a pod's scheduler name one of them places it.

    They differ in what places pods.  How the queue is ordered, what a gang needs and who is evicted is the same for
    all, since all stand in one queue for one cluster: the first says it.
    """

    def __init__(self, first: Profile, others: Sequence[Profile] = ()) -> None:
        self.first = first
        self.all = (first, *others)
        for other in others:
            if _shared(other) != _shared(first):
                raise ConfigError("profiles of one scheduler must agree on how to queue, on gangs and on preemption")
        self.scheduler_names = tuple(name for profile in self.all for name in profile.scheduler_names)
        self.numbers = {
            name: number for number, profile in enumerate(self.all) if number for name in profile.scheduler_names
        }
        """By scheduler name, for profiles other than the first."""
        self.readers = _distinct(reader for profile in self.all for reader in profile.readers)
        self.reads, self.may_read = _kinds(self.all)
        """Kinds of objects that plugins must know, and those that they can do without."""

    def of(self, pod_class: PodClass) -> Profile:
        """The profile that places pods of the class."""
        return self.all[pod_class.rules.profile]

    def ignores(self, profile: int, resource: str) -> bool:
        """Whether pods of the profile with this number need not have what they request of the resource."""
        return self.all[profile].ignores(resource)

    @property
    def calls(self) -> int:
        """How often plugins were asked about a single node so far."""
        # asked at every turn, and most have no plugins by users
        return sum(profile.calls for profile in self.all) if self.readers else 0

    def new_states(self) -> dict[str, RowState]:
        """The states of an empty cluster, by plugin."""
        return {plugin.name: plugin.new_state() for profile in self.all for plugin in profile.stateful}

    def emptied(self, states: Mapping[str, RowState]) -> dict[str, RowState]:
        """The states that the cluster would have if nothing ran there, by plugin."""
        stateful = [plugin for profile in self.all for plugin in profile.stateful]
        return {plugin.name: plugin.emptied(states[plugin.name]) for plugin in stateful}


def _shared(profile: Profile) -> tuple[object, ...]:
    victims = tuple(type(rule) for rule in profile.victims)
    same = (profile.backoff, profile.preemption, profile.fairness, profile.unsupported)
    return type(profile.order), type(profile.gang_rule), victims, *same


def _distinct(readers: Iterable[PodReader]) -> list[PodReader]:
    """One of each name: what a plugin reads of a pod is read once, for all profiles."""
    found: dict[str, PodReader] = {}
    for reader in readers:
        if found.setdefault(reader.name, reader).source != reader.source:
            raise ConfigError(
                f"plugin {reader.name} is another in one profile than in another", hint="give it a `name`"
            )
    return list(found.values())


class _Reads(Protocol):
    reads: tuple[Kind[Fact], ...]
    may_read: tuple[Kind[Fact], ...]


def _kinds(readers: Sequence[_Reads]) -> tuple[tuple[Kind[Fact], ...], tuple[Kind[Fact], ...]]:
    """What any of them must read, and what else some may."""
    must = tuple(kind for kind in KINDS.values() if any(kind in one.reads for one in readers))
    return must, tuple(
        kind for kind in KINDS.values() if kind not in must and any(kind in one.may_read for one in readers)
    )


def _filters(plugin: Plugin) -> bool:
    if isinstance(plugin, Wide):
        return plugin.filters
    return isinstance(plugin, _FILTERS) or not isinstance(plugin, RuleScore | NodesScore | RoomScore)


def _only(role: str, found: list[_Role]) -> _Role:
    if len(found) != 1:
        raise ConfigError(f"a profile needs exactly one {role} plugin", found=len(found))
    return found[0]
