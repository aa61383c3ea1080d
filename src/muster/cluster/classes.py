"""Pod classes: pods that are equal in everything that matters to scheduling share one, interned.

Of a pod's labels only those belong to its class that some pod's rule reads: a thousand pods of an Indexed Job, each
labelled with its index, are one class unless somebody asks for the index.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from types import MappingProxyType
from weakref import WeakValueDictionary

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from muster.api.features import features_of
from muster.api.images import images_of
from muster.api.requests import TOO_MUCH, Requests, effective_requests, given
from muster.api.wire import Pod, PreferredNodes, Toleration
from muster.base.selectors import NodeSelector
from muster.cluster.resources import CPU, MEMORY, PODS, ResourceNames
from muster.cluster.ties import NO_RULES, Look, PodRules, Spread, Ties, rules_of
from muster.cluster.traits import NO_TRAITS, TraitReader, Traits, read_traits

Ignores = Callable[[int, str], bool]
"""Whether pods of a profile need not have what they request of a resource."""


def _nothing(profile: int, resource: str) -> bool:
    return False


Need = msgspec.Struct
"""What pods need of nodes for what they bring, frozen: equal needs are one class."""

Needs = tuple[tuple[str, Need], ...]
"""By the plugin that supplies."""


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
    features: tuple[str, ...] = ()
    """What the node must say that its kubelet can do."""
    needs: Needs = ()
    """What the pod brings, and what that asks of nodes."""


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
        "bare",
        "base",
        "extra",
        "images",
        "line",
        "order",
        "ports",
        "requests",
        "room",
        "rules",
        "scored",
        "scored_when_new",
        "takes",
        "ties",
        "uncounted",
        "unknown",
        "used",
    )

    def __init__(
        self,
        rules: NodeRules,
        requests: Requests,
        *,
        ports: tuple[HostPort, ...],
        names: ResourceNames,
        ignores: Ignores = _nothing,
    ) -> None:
        self.rules = rules
        self.requests = requests
        self.ports = ports
        self.images: tuple[str, ...] = ()
        """Names of all that its containers run, each as often as it is run."""
        amounts = {name: min(count, TOO_MUCH) for name, count in requests.amounts if name != "pods"}
        self.used = by_row(amounts, names)
        """What it really requests, by resource row; not what no node has had yet."""
        needed = {name: count for name, count in amounts.items() if not ignores(rules.profile, name)}
        self.uncounted = tuple(name for name in amounts if names.find(name) is None)
        """Resources it asks for that no node has had yet: what it takes of them is counted when one has."""
        self.unknown = tuple(name for name in self.uncounted if name in needed)
        """Those of them that it must have: it fits nowhere."""
        self.room = tuple(sorted({PODS: 1, **by_row(needed, names)}.items()))
        """(resource row, amount) that one copy must find..."""
        self.takes = tuple(sorted({PODS: 1, **self.used}.items()))
        """...and takes: more, where its profile lets it do without."""
        guessed = {CPU: requests.scored_cpu_milli, MEMORY: requests.scored_memory_bytes}
        self.scored = {**self.used, **guessed}
        """What scores count for it once it is there: more than it requests, for containers that name no request."""
        guesses = ((row, count - self.used.get(row, 0)) for row, count in guessed.items())
        self.extra = tuple((row, count) for row, count in guesses if count)
        """(resource row, amount) that scores count above what it takes."""
        new = requests.scored_when_new
        self.scored_when_new = self.scored if new is None else by_row(dict(new), names)
        """The same for its own score, while it is being placed."""
        extended = sum(count for name, count in amounts.items() if name not in ("cpu", "memory"))
        self.order = (
            (-extended, -self.used.get(CPU, 0), -self.used.get(MEMORY, 0)),
            msgspec.json.encode((requests, ports, rules)),
        )
        self.line = Lines.of_classes([self])
        self.ties: Ties | None = None
        """How its pods stand to others; None if nobody looks at them, nor they at anybody."""
        self.base = self
        """The class without ties: a node by itself looks the same to both."""
        self.bare = self
        """The class without ties and images: every node by itself has the same room for both."""

    @property
    def traits(self) -> Traits:
        """What plugins by users read of its pods."""
        return self.rules.traits if self.ties is None else (*self.rules.traits, *self.ties.look.traits)

    def running(self, images: tuple[str, ...]) -> PodClass:
        """The class of pods with the same needs that run these images."""
        found = copy(self)
        found.images, found.base = images, found
        found.order = (self.order[0], self.order[1] + msgspec.json.encode(images))
        return found

    def tied(self, ties: Ties) -> PodClass:
        """The class of pods with the same needs that stand to others like this."""
        found = copy(self)
        found.ties, found.base = ties, self
        found.order = (self.order[0], self.order[1] + ties.order)
        return found

    @property
    def shape(self) -> tuple[object, ...]:
        """Classes with equal shape and rules can stand in one `Lines`."""
        return tuple(resource for resource, _ in self.room), tuple(self.used), self.ports, bool(self.unknown)


def by_row(amounts: Mapping[str, int], names: ResourceNames) -> dict[int, int]:
    """Amounts of resources that some node has had, by their rows."""
    rows = ((names.find(name), count) for name, count in amounts.items())
    return {row: count for row, count in rows if row is not None}


class Lines:
    """Pods to be rated against nodes, one line each; arrays are (resources × lines × 1).

    A line is a pod of some class, or the k-th copy of one where the copies before it are on the node already.
    """

    __slots__ = (
        "_classes",
        "copies",
        "many_first_copies",
        "need",
        "need_rows",
        "needs",
        "ports",
        "scored",
        "scored_before",
        "unplaceable",
        "used",
        "used_rows",
    )

    def __init__(self, classes: Sequence[PodClass], copies: NDArray[np.int64]) -> None:
        first = classes[0]
        self.ports = first.ports
        self.needs = first.rules.needs
        """What they bring, and what that asks of nodes: they have the same rules."""
        self.unplaceable = bool(first.unknown)
        """They ask for resources that no node has had yet."""
        self.copies = copies
        """(lines × 1): how many of the class are there before this one."""
        self.many_first_copies = len(classes) > 1
        """Several lines, none of which has copies before it."""
        self.need_rows: NDArray[np.intp] = np.array([row for row, _ in first.room], np.intp)
        self.need: NDArray[np.int64] = np.array([[amount for _, amount in c.room] for c in classes]).T[:, :, None]
        """How much of the resources `need_rows` one pod takes."""
        # not the classes themselves, which keep their line: nobody would collect such a circle for a long time
        self._classes = [(c.used, c.scored, c.scored_when_new) for c in classes]
        self.used_rows = first.used.keys()
        """Resources that they request."""
        used, there, new = self._cpu_and_memory()
        self.scored_before: NDArray[np.int64] = there * copies
        """cpu and memory of the pods before this one, as scores count them."""
        self.scored: NDArray[np.int64] = self.scored_before + new
        """The same with this one, as its own score counts it."""
        self.used: NDArray[np.int64] = np.stack((used * copies, used * (copies + 1)))
        """(before and with this one × cpu and memory × lines × 1), as really requested."""

    def _cpu_and_memory(self) -> Sequence[NDArray[np.int64]]:
        """(2 × lines × 1) of what is used, scored, and scored when new; one array takes half the time."""
        lines = [[c.get(row, 0) for c in columns for row in (CPU, MEMORY)] for columns in self._classes]
        found = np.array(lines).T[:, :, None]
        return found[:2], found[2:4], found[4:]

    def scored_of(self, resource: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(lines × 1) of the resource: what scores count for the pods before this one, and for this one itself."""
        there, new = ([[c[column].get(resource, 0)] for c in self._classes] for column in (1, 2))
        return np.array(there) * self.copies, np.array(new)

    def used_of(self, resource: int) -> NDArray[np.int64]:
        """(before and with this one × lines × 1) of the resource, as really requested."""
        used = np.array([[c[0].get(resource, 0)] for c in self._classes])
        return np.stack((used * self.copies, used * (self.copies + 1)))

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


_Key = tuple[NodeRules, Requests, tuple[HostPort, ...], tuple[str, ...]]


class ClassTable:
    """Interns pod classes, from the wire's spelling first: a repeated spelling costs one encoding and one look-up."""

    def __init__(
        self,
        names: ResourceNames,
        readers: Sequence[TraitReader] = (),
        profiles: Mapping[str, int] = MappingProxyType({}),
        *,
        ignores: Ignores = _nothing,
    ) -> None:
        """`profiles` has their numbers by scheduler name, for those that are not the first."""
        self._names = names
        self._profiles = profiles
        self._inward = [reader for reader in readers if not reader.is_shown]
        self._shown = [reader for reader in readers if reader.is_shown]
        self._ignores = ignores
        self._encoder = msgspec.msgpack.Encoder()
        self._by_wire: dict[bytes, PodClass] = {}
        # classes that nobody has any more are forgotten: clusters see new ones for years
        self._by_needs: WeakValueDictionary[_Key, PodClass] = WeakValueDictionary()
        self._tied: WeakValueDictionary[tuple[PodClass, Ties], PodClass] = WeakValueDictionary()
        self._ties: WeakValueDictionary[tuple[Look, PodRules], Ties] = WeakValueDictionary()
        self._read: dict[str | None, frozenset[str]] = {}
        """Labels of pods that rules of pods have read so far, by the pods' namespace; under None those that are read of
        pods anywhere.  A namespace at whose pods no rule looked is not in it."""
        self._visible: dict[str, frozenset[str]] = {}
        """By namespace, all that is read of its pods; made when it is asked for."""
        self._news: dict[str | None, set[str] | None] = {}

    def of(self, pod: Pod, spread: tuple[Spread, ...] = (), needs: Needs = ()) -> PodClass:
        """The class of a pod that is spread like this unless it says itself how, and brings things that need this."""
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
                [volume.image for volume in spec.volumes if volume.image is not None] if spec.volumes else None,
                spec.host_network,
                spec.host_users,
                spec.ephemeral_containers,
                given(spec, pod.status),
                traits,
                profile,
                needs,
            )
        )
        found = self._by_wire.get(spelling)
        if found is None:
            if len(self._by_wire) >= _SPELLINGS:
                self._by_wire.clear()
            found = self._by_wire[spelling] = self._intern(pod, traits, profile, needs)
        elif found.uncounted and self._has_come(found.uncounted):
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
        base = self._of_needs(pod_class.rules, pod_class.requests, pod_class.ports, pod_class.images)
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

    def needing(self, pod_class: PodClass, needs: Needs) -> PodClass:
        """The class of pods that are alike but for what they bring."""
        if pod_class.rules.needs == needs:
            return pod_class
        rules = replace(pod_class.rules, needs=needs)
        base = self._of_needs(rules, pod_class.requests, pod_class.ports, pod_class.images)
        return base if pod_class.ties is None else self._tie(base, pod_class.ties)

    def _intern(self, pod: Pod, traits: Traits, profile: int, needs: Needs) -> PodClass:
        requests = effective_requests(pod.spec, given(pod.spec, pod.status))
        rules = _node_rules(pod, traits, profile, needs)
        return self._of_needs(rules, requests, _host_ports(pod), images_of(pod.spec))

    def _of_needs(
        self, rules: NodeRules, requests: Requests, ports: tuple[HostPort, ...], images: tuple[str, ...]
    ) -> PodClass:
        key = rules, requests, ports, images
        found = self._by_needs.get(key)
        if found is None or self._has_come(found.uncounted):
            if images:
                found = self._of_needs(rules, requests, ports, ()).running(images)
            else:
                found = PodClass(rules, requests, ports=ports, names=self._names, ignores=self._ignores)
            self._by_needs[key] = found
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


def _node_rules(pod: Pod, traits: Traits, profile: int, needs: Needs) -> NodeRules:
    spec = pod.spec
    nodes = spec.affinity.node_affinity if spec.affinity else None
    return NodeRules(
        selector=tuple(sorted(spec.node_selector.items())),
        required=nodes.required if nodes else None,
        preferred=nodes.preferred if nodes else (),
        tolerations=tuple(sorted(set(spec.tolerations), key=msgspec.json.encode)),
        features=features_of(spec),
        traits=traits,
        profile=profile,
        needs=needs,
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
