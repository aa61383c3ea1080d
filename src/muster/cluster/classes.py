"""Pod classes: pods that are equal in everything that matters to scheduling share one, interned.

Of a pod's labels only those belong to its class that some pod's rule reads: a thousand pods of an Indexed Job, each
labelled with its index, are one class unless somebody asks for the index.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from types import MappingProxyType
from weakref import WeakValueDictionary

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from muster.api.requests import TOO_MUCH, Requests, effective_requests
from muster.api.wire import Pod, PreferredNodes, Toleration
from muster.base.selectors import NodeSelector
from muster.cluster.resources import CPU, MEMORY, PODS, ResourceNames
from muster.cluster.ties import NO_RULES, Look, PodRules, Spread, Ties, rules_of
from muster.cluster.traits import NO_TRAITS, TraitReader, Traits, read_traits


class NodeRules(msgspec.Struct, frozen=True, gc=False):
    """What a pod asks of a node's own facts; placements on the node never change the answer."""

    node_name: str = ""
    selector: tuple[tuple[str, str], ...] = ()
    required: NodeSelector | None = None
    preferred: tuple[PreferredNodes, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    traits: Traits = NO_TRAITS
    """What plugins by users read of the pod that judge nodes by their own facts."""
    profile: int = 0
    """The number of the profile whose plugins judge."""


class HostPort(msgspec.Struct, frozen=True, gc=False, order=True):
    protocol: str
    port: int
    ip: str


class PodClass:
    """One set of scheduling needs.  Equal needs are the same object, so identity compares and hashes.

    `order` sorts classes the same way in every process: larger pods first, since they are harder to place.
    """

    __slots__ = (
        "__weakref__",
        "base",
        "best_effort",
        "line",
        "order",
        "ports",
        "requests",
        "room",
        "rules",
        "ties",
        "unknown",
        "unnamed",
    )

    def __init__(
        self, rules: NodeRules, requests: Requests, *, ports: tuple[HostPort, ...], names: ResourceNames
    ) -> None:
        self.rules = rules
        self.requests = requests
        self.ports = ports
        amounts = {name: min(count, TOO_MUCH) for name, count in requests.amounts if name != "pods"}
        rows = {name: names.find(name) for name in amounts}
        self.unknown = tuple(name for name, row in rows.items() if row is None)
        """Resources it asks for that no node has had yet: it fits nowhere."""
        by_row = {PODS: 1} | {row: amounts[name] for name, row in rows.items() if row is not None}
        self.room = tuple(sorted(by_row.items()))
        """(resource row, amount) that one copy takes."""
        self.unnamed = (
            requests.scored_cpu_milli - by_row.get(CPU, 0),
            requests.scored_memory_bytes - by_row.get(MEMORY, 0),
        )
        """cpu and memory that scores count above that, for containers that name no request."""
        self.best_effort = not amounts
        extended = sum(count for name, count in amounts.items() if name not in ("cpu", "memory"))
        self.order = (
            (-extended, -by_row.get(CPU, 0), -by_row.get(MEMORY, 0)),
            msgspec.json.encode((requests, ports, rules)),
        )
        self.line = Lines.of_classes([self])
        self.ties: Ties | None = None
        """How its pods stand to others; None if nobody looks at them, nor they at anybody."""
        self.base = self
        """The class without ties: a node by itself looks the same to both."""

    @property
    def traits(self) -> Traits:
        """What plugins by users read of its pods."""
        return self.rules.traits if self.ties is None else (*self.rules.traits, *self.ties.look.traits)

    def tied(self, ties: Ties) -> PodClass:
        """The class of pods with the same needs that stand to others like this."""
        found = copy(self)
        found.ties, found.base = ties, self
        found.order = (self.order[0], self.order[1] + ties.order)
        return found

    @property
    def shape(self) -> tuple[object, ...]:
        """Classes with equal shape can stand in one `Lines`."""
        return tuple(resource for resource, _ in self.room), self.best_effort, self.ports, bool(self.unknown)


class Lines:
    """Pods to be rated against nodes, one line each; arrays are (resources × lines × 1).

    A line is a pod of some class, or the k-th copy of one where the copies before it are on the node already.
    """

    __slots__ = (
        "best_effort",
        "copies",
        "many_first_copies",
        "need",
        "need_rows",
        "ports",
        "scored",
        "scored_before",
        "unplaceable",
        "used",
    )

    def __init__(self, classes: Sequence[PodClass], copies: NDArray[np.int64]) -> None:
        first = classes[0]
        self.best_effort = first.best_effort
        self.ports = first.ports
        self.unplaceable = bool(first.unknown)
        """They ask for resources that no node has had yet."""
        self.copies = copies
        """(lines × 1): how many of the class are there before this one."""
        self.many_first_copies = len(classes) > 1
        """Several lines, none of which has copies before it."""
        self.need_rows: NDArray[np.intp] = np.array([row for row, _ in first.room], np.intp)
        self.need: NDArray[np.int64] = np.array([[amount for _, amount in c.room] for c in classes]).T[:, :, None]
        """How much of the resources `need_rows` one pod takes."""
        requests = [c.requests for c in classes]
        scored = np.array([[r.scored_cpu_milli, r.scored_memory_bytes] for r in requests]).T[:, :, None]
        self.scored_before: NDArray[np.int64] = scored * copies
        """cpu and memory of the pods before this one, as scores count them."""
        self.scored: NDArray[np.int64] = scored * (copies + 1)
        """The same with this one."""
        used = scored - np.array([c.unnamed for c in classes]).T[:, :, None]
        self.used: NDArray[np.int64] = np.stack((used * copies, used * (copies + 1)))
        """(before and with this one × cpu and memory × lines × 1), as really requested."""

    @classmethod
    def of_classes(cls, classes: Sequence[PodClass]) -> Lines:
        """A pod of each class; they must be of one shape."""
        return cls(classes, np.zeros((1, 1), np.int64))

    @classmethod
    def of_copies(cls, pod_class: PodClass, depth: int) -> Lines:
        """The first to the `depth`-th copy of a class on the same node."""
        return cls([pod_class], np.arange(depth)[:, None])


# Bounds the memory of `_by_wire`, which sees every spelling of a class; a spelling costs about 3 KB
_SPELLINGS = 10_000


class ClassTable:
    """Interns pod classes, from the wire's spelling first: a repeated spelling costs one encoding and one look-up."""

    def __init__(
        self,
        names: ResourceNames,
        readers: Sequence[TraitReader] = (),
        profiles: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        """`profiles` has their numbers by scheduler name, for those that are not the first."""
        self._names = names
        self._profiles = profiles
        self._inward = [reader for reader in readers if not reader.is_shown]
        self._shown = [reader for reader in readers if reader.is_shown]
        self._encoder = msgspec.msgpack.Encoder()
        self._by_wire: dict[bytes, PodClass] = {}
        # classes that nobody has any more are forgotten: clusters see new ones for years
        self._by_needs: WeakValueDictionary[tuple[NodeRules, Requests, tuple[HostPort, ...]], PodClass]
        self._by_needs = WeakValueDictionary()
        self._tied: WeakValueDictionary[tuple[PodClass, Ties], PodClass] = WeakValueDictionary()
        self._ties: WeakValueDictionary[tuple[Look, PodRules], Ties] = WeakValueDictionary()
        self._read: dict[str | None, frozenset[str]] = {}
        """Labels of pods that rules of pods have read so far, by the pods' namespace; under None those that are read of
        pods anywhere.  A namespace at whose pods no rule looked is not in it."""
        self._visible: dict[str, frozenset[str]] = {}
        """By namespace, all that is read of its pods; made when it is asked for."""
        self._news: dict[str | None, set[str] | None] = {}

    def of(self, pod: Pod, spread: tuple[Spread, ...] = ()) -> PodClass:
        """The class of a pod that is spread like this unless it says itself how."""
        spec = pod.spec
        traits = read_traits(self._inward, pod) if self._inward else NO_TRAITS
        profile = self._profiles.get(spec.scheduler_name, 0) if self._profiles else 0
        spelling = self._encoder.encode(
            (
                spec.containers,
                spec.init_containers,
                spec.overhead,
                spec.resources,
                spec.node_selector,
                spec.affinity.node_affinity if spec.affinity is not None else None,
                spec.tolerations,
                traits,
                profile,
            )
        )
        found = self._by_wire.get(spelling)
        if found is None:
            if len(self._by_wire) >= _SPELLINGS:
                self._by_wire.clear()
            found = self._by_wire[spelling] = self._intern(pod, traits, profile)
        elif found.unknown and self._has_come(found.unknown):
            found = self._by_wire[spelling] = self.learn(found)
        shown = read_traits(self._shown, pod) if self._shown else NO_TRAITS
        namespace, rules = pod.metadata.namespace, NO_RULES
        if spread or spec.affinity is not None or spec.topology_spread_constraints:
            rules = rules_of(pod)
            if spread and not rules.spread:
                rules = replace(rules, spread=spread)
        elif not shown and namespace not in self._read and None not in self._read:
            return found
        return self._with_ties(found, namespace, pod.metadata.labels, rules, shown)

    def _has_come(self, resources: tuple[str, ...]) -> bool:
        return any(self._names.find(name) is not None for name in resources)

    def learn(self, pod_class: PodClass) -> PodClass:
        """The class anew, now that some node has a resource that it asks for."""
        base = self._of_needs(pod_class.rules, pod_class.requests, pod_class.ports)
        return base if pod_class.ties is None else self._tie(base, pod_class.ties)

    @property
    def has_news(self) -> bool:
        """Rules read more of pods than before: see `take_news`."""
        return bool(self._news)

    def take_news(self) -> Mapping[str | None, set[str] | None]:
        """Labels that rules read since this was last asked, and did not before, by the pods' namespace: under None
        those of pods anywhere.  None for a namespace at whose pods no rule had looked."""
        news, self._news = self._news, {}
        return news

    def seen_anew(
        self, pod_class: PodClass, namespace: str, labels: Mapping[str, str], spread: tuple[Spread, ...] | None = None
    ) -> PodClass:
        """The class of a pod with these labels now that rules read more of them, or that it is spread like this."""
        ties = pod_class.ties
        rules, traits = (NO_RULES, NO_TRAITS) if ties is None else (ties.rules, ties.look.traits)
        if spread is not None and spread != rules.spread:
            rules = replace(rules, spread=spread)
            rules = NO_RULES if rules == NO_RULES else rules
        return self._with_ties(pod_class.base, namespace, labels, rules, traits)

    def _intern(self, pod: Pod, traits: Traits, profile: int) -> PodClass:
        return self._of_needs(_node_rules(pod, traits, profile), effective_requests(pod.spec), _host_ports(pod))

    def _of_needs(self, rules: NodeRules, requests: Requests, ports: tuple[HostPort, ...]) -> PodClass:
        needs = rules, requests, ports
        found = self._by_needs.get(needs)
        if found is None or self._has_come(found.unknown):
            found = self._by_needs[needs] = PodClass(rules, requests, ports=ports, names=self._names)
        return found

    # --- ties ---

    def _with_ties(
        self, base: PodClass, namespace: str, labels: Mapping[str, str], rules: PodRules, traits: Traits
    ) -> PodClass:
        if rules is NO_RULES and not traits and namespace not in self._read and None not in self._read:
            return base
        # rules that somebody has were read when they came
        ties = self._ties.get((self._look(namespace, labels, traits), rules))
        if ties is None:
            self._read_more(rules)
            look = self._look(namespace, labels, traits)
            ties = self._ties.get((look, rules))
            if ties is None:
                ties = self._ties[look, rules] = Ties(look, rules)
        return self._tie(base, ties)

    def _look(self, namespace: str, labels: Mapping[str, str], traits: Traits) -> Look:
        keys = self._visible.get(namespace)
        if keys is None:
            nothing: frozenset[str] = frozenset()
            keys = self._visible[namespace] = self._read.get(namespace, nothing) | self._read.get(None, nothing)
        return Look(namespace, tuple(sorted([item for item in labels.items() if item[0] in keys])), traits)

    def _read_more(self, rules: PodRules) -> None:
        for selection in rules.selections:
            anywhere = (None,) if selection.namespace_selector is not None else ()
            for where in (*selection.namespaces, *anywhere):
                known = self._read.get(where)
                if known is None or not selection.keys <= known:
                    self._reads(where, selection.keys, known)

    def _reads(self, where: str | None, keys: frozenset[str], known: frozenset[str] | None) -> None:
        """From now on these are read of pods there, too."""
        self._read[where] = keys | (known or frozenset())
        self._visible.clear()
        if known is None:
            self._news[where] = None
        elif (came := self._news.setdefault(where, set())) is not None:
            came |= keys - known

    def _tie(self, base: PodClass, ties: Ties) -> PodClass:
        found = self._tied.get((base, ties))
        if found is None:
            found = self._tied[base, ties] = base.tied(ties)
        return found


def _node_rules(pod: Pod, traits: Traits, profile: int) -> NodeRules:
    spec = pod.spec
    nodes = spec.affinity.node_affinity if spec.affinity else None
    return NodeRules(
        selector=tuple(sorted(spec.node_selector.items())),
        required=nodes.required if nodes else None,
        preferred=nodes.preferred if nodes else (),
        tolerations=tuple(sorted(set(spec.tolerations), key=msgspec.json.encode)),
        traits=traits,
        profile=profile,
    )


def _host_ports(pod: Pod) -> tuple[HostPort, ...]:
    spec = pod.spec
    sidecars = tuple(c for c in spec.init_containers if c.restart_policy == "Always")
    return tuple(
        sorted(
            HostPort(port.protocol, port.host_port, port.host_ip or "0.0.0.0")
            for container in (*spec.containers, *sidecars)
            for port in container.ports
            if port.host_port > 0
        )
    )
