"""Why a search found no place, in numbers, and which nodes would change that."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from msgspec.structs import replace

from muster.api.requests import MOST
from muster.api.wire import Metadata, Node
from muster.base.selectors import NodeSelector
from muster.cluster.classes import NodeRules, PodClass
from muster.cluster.cluster import Cluster
from muster.cluster.nodes import NodeTable, Rows
from muster.cluster.room import Room
from muster.cluster.usage import Ints, Usage
from muster.engine.answers import Answer, Budget, Impossible, NotFound, Placed, TooLittle, prove, totals
from muster.engine.cycle import Trial
from muster.engine.ground import Exclusion, Ground
from muster.engine.requirement import Requirement
from muster.engine.search import Search
from muster.engine.verdicts import Need, Outcome, Refusal, Shortage, Suggestion, Verdict
from muster.framework.contract import Bools, Capacity, Obstacle, RoomFilter, RuleFilter, Wide
from muster.framework.profile import Profiles
from muster.framework.views import ClassView, Views

_HOSTNAME = "kubernetes.io/hostname"
_NEW_NODE = "a-node-that-does-not-exist-yet"
# trying out costs about 0.2 ms a node, and grows with the shapes
_MOST_TRIED_OUT = 100
_MOST_SHAPES = 32


class _Histogram:
    """Counts nodes by why they are refused; who has refused a node is not followed by others."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        """Not refused so far."""
        self._counts: dict[tuple[str, bool], int] = {}

    def count(self, reasons: Iterable[tuple[str, Bools]], *, by_rule: bool = False, all_count: bool = False) -> None:
        """One plugin's reasons, with where each holds among `rows`; of several for a node the first counts, or all."""
        refused: Bools | None = None
        for reason, where in reasons:
            counted = where if all_count or refused is None else where & ~refused
            if count := int(np.count_nonzero(counted)):
                self._counts[reason, by_rule] = self._counts.get((reason, by_rule), 0) + count
                refused = counted if refused is None else refused | counted
        if refused is not None:
            # most plugins refuse nobody
            self.rows = self.rows[~refused]

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        return tuple(Refusal(count, reason, by_rule) for (reason, by_rule), count in sorted(self._counts.items()))


class Explainer:
    """Turns a search's answer into a verdict."""

    def __init__(self, cluster: Cluster, profiles: Profiles, views: Views) -> None:
        self._cluster = cluster
        self._profiles = profiles
        self._views = views

    def verdict(
        self,
        unit: str,
        requirement: Requirement,
        answer: Answer,
        *,
        ground: Ground,
        standing: int = 0,
    ) -> Verdict:
        """`standing` members count already."""
        trial, needed = answer.trial, requirement.needed
        wants = trial.wants()
        empty = {pod_class: self._empty_copies(pod_class) for pod_class in wants}
        alone = needed if len(wants) == 1 else 0
        needs = tuple(
            self._need(c, count, trial, empty=empty[c], needed=alone, ground=ground) for c, count in wants.items()
        )
        return Verdict(
            unit=unit,
            outcome=_outcome(requirement, answer, empty, self._cluster.nodes.allocatable),
            placed=needed - trial.lacking,
            needed=needed,
            standing=standing,
            nodes=len(self._cluster.nodes),
            same_nodes=self._same_nodes(wants),
            needs=needs,
            shortage=self._shortage(answer),
            suggestion=self._suggestion(requirement, trial, empty),
        )

    def _same_nodes(self, classes: Iterable[PodClass]) -> bool:
        first, *others = (self._views.rules(pod_class.rules) for pod_class in classes)
        there = self._cluster.nodes.precedence > 0
        return not any((view.admitted != first.admitted)[there].any() for view in others if view is not first)

    def _shortage(self, answer: Answer) -> Shortage | None:
        proof = answer.proof if isinstance(answer, Impossible) else None
        if not isinstance(proof, TooLittle):
            return None
        return Shortage(self._cluster.resources.names()[proof.resource], proof.at_most, proof.needed)

    def _need(
        self,
        pod_class: PodClass,
        members: int,
        trial: Trial,
        *,
        empty: Ints,
        needed: int,
        ground: Ground,
    ) -> Need:
        nodes, blocked = self._cluster.nodes, ground.blocked
        view = self._views.of(pod_class)
        if self._views.capacity(pod_class) is Capacity.BY_OTHERS:
            # where others are decides it, and there is no number for that but what was found
            fits = fits_empty = sum(len(batch.rows) for batch in trial.batches if batch.pod_class is pod_class)
        else:
            fits = int(view.copies.sum() if blocked is None else view.copies[~blocked].sum())
            fits_empty = int(empty.sum())
        return Need(
            members=members,
            request=pod_class.requests.amounts,
            fits=fits,
            fits_empty=fits_empty,
            nodes_admitted=int(np.count_nonzero(view.rules.admitted & (nodes.precedence > 0))),
            barred=self._barred(pod_class, view),
            refusals=self._refusals(pod_class, view, trial.usage, ground.excluded),
            host_ports=tuple(port.port for port in pod_class.ports),
            obstacles=self._obstacles(pod_class, trial.usage, blocked),
            fragmented=fits < needed and self._enough_in_all(pod_class, view, needed, blocked),
        )

    def _barred(self, pod_class: PodClass, view: ClassView) -> tuple[Refusal, ...]:
        """Why nodes do not let the class on by their own facts, whoever else refuses them before that is asked."""
        nodes = self._cluster.nodes
        found = _Histogram(np.flatnonzero((nodes.precedence > 0) & ~view.rules.admitted))
        for rule in self._profiles.of(pod_class).rule_filters if len(found.rows) else ():
            found.count(rule.refusals(pod_class.rules, nodes, found.rows), by_rule=True)
        return found.refusals

    def _obstacles(self, pod_class: PodClass, usage: Usage, blocked: Bools | None) -> tuple[Obstacle, ...]:
        outlooks = self._views.outlooks(pod_class, usage)
        if not outlooks:
            return ()
        room = self._views.on_trial(pod_class, usage, blocked=blocked).copies > 0
        return tuple(found for outlook, _ in outlooks if (found := outlook.obstacle(room)) is not None)

    def _enough_in_all(self, pod_class: PodClass, view: ClassView, count: int, blocked: Bools | None) -> bool:
        """Whether the nodes that may be used have room for so many if it could be put together."""
        if pod_class.unknown or self._views.capacity(pod_class) is not Capacity.EXACT:
            return False
        line = pod_class.line
        free = self._cluster.nodes.usage.free[line.need_rows]
        usable = view.rules.admitted if blocked is None else view.rules.admitted & ~blocked
        room = np.maximum(free * usable, 0)
        needs = line.need[:, 0, 0].tolist()
        return all(have >= need * count for have, need in zip(totals(room), needs, strict=True))

    def _refusals(
        self, pod_class: PodClass, view: ClassView, usage: Usage, excluded: tuple[Exclusion, ...]
    ) -> tuple[Refusal, ...]:
        """Upstream's histogram: the first filter in order that refuses a node names its reasons.

        What is held for others comes after the rules that are asked before room is.
        """
        nodes, profile = self._cluster.nodes, self._profiles.of(pod_class)
        found = _Histogram(np.flatnonzero(nodes.precedence > 0))
        # mostly rules refuse nobody, and need not be asked one by one
        rules = profile.rule_filters if not view.rules.admitted[found.rows].all() else []
        for rule in rules:
            found.count(rule.left_out(pod_class.rules, nodes, found.rows), by_rule=True)
        for plugin in profile.filters:
            if isinstance(plugin, RuleFilter):
                if rules:
                    said = plugin.refusals(pod_class.rules, nodes, found.rows)
                    found.count(said, by_rule=True, all_count=plugin.all_count)
                if not isinstance(plugin, Wide):
                    continue
            for exclusion in excluded:
                found.count([(exclusion.reason, exclusion.rows[found.rows])])
            excluded = ()
            if isinstance(plugin, RoomFilter):
                found.count(plugin.refusals(pod_class, Room(nodes, usage, found.rows)), all_count=True)
            else:
                for outlook in self._views.outlook(plugin, pod_class, usage):
                    found.count([(reason, everywhere[found.rows]) for reason, everywhere in outlook.refusals()])
        return found.refusals

    def _empty_copies(self, pod_class: PodClass) -> Ints:
        """Copies on every node if nothing ran anywhere."""
        nodes = self._cluster.nodes
        empty = Usage.of_empty_nodes(nodes.allocatable, states=self._profiles.emptied(nodes.usage.states))
        return self._views.copies_on(pod_class, empty)

    # --- what would do ---

    def _suggestion(self, requirement: Requirement, trial: Trial, empty: dict[PodClass, Ints]) -> Suggestion | None:
        """Nodes like the roomiest that there is; if none would do, nodes made to measure."""
        model = self._model(empty)
        # where others are may matter more than how much room there is: a new node may be the wrong one
        if len(empty) > 1 or any(self._views.capacity(c) is Capacity.BY_OTHERS for c in empty):
            few = len(empty) <= _MOST_SHAPES
            return self._tried_out(requirement, trial, model, empty) if few and model is not None else None
        ((pod_class, copies),) = empty.items()
        if model is None:
            return self._made_to_measure(pod_class, trial.lacking)
        return self._more_of_the_same(model, -(-trial.lacking // int(copies[model])), empty)

    def _model(self, empty: dict[PodClass, Ints]) -> int | None:
        """The row of the node that, empty, takes most; None if more of its kind would not be let on."""
        nodes = self._cluster.nodes
        copies = np.minimum.reduce(list(empty.values()))
        if not copies.any():
            return None
        model = int(np.lexsort((nodes.precedence, copies))[-1])
        labels = _as_new_node(_node(nodes, model).metadata.labels)
        return model if all(_lets_on(pod_class.rules, labels) for pod_class in empty) else None

    def _more_of_the_same(self, model: int, count: int, classes: Iterable[PodClass]) -> Suggestion:
        nodes = self._cluster.nodes
        asked = {key for pod_class in classes for key in (*_keys_read(pod_class.rules), *_domains_of(pod_class))}
        node, room = _node(nodes, model), nodes.allocatable[:, model].tolist()
        return Suggestion(
            nodes=count,
            allocatable=tuple(
                (name, amount) for name, amount in zip(nodes.resources.names(), room, strict=True) if amount
            ),
            labels=tuple(sorted(_as_new_node(node.metadata.labels).items())),
            asked_labels=tuple((key, value) for key, value in sorted(node.metadata.labels.items()) if key in asked),
            taints=tuple((taint.key, taint.value, taint.effect) for taint in node.spec.taints),
            like=node.metadata.name,
        )

    def _tried_out(
        self, requirement: Requirement, trial: Trial, model: int, empty: dict[PodClass, Ints]
    ) -> Suggestion | None:
        """For members that may stand in each other's way: as many nodes as really help."""
        unplaced = [(batch, len(batch.unplaced)) for batch in trial.batches]
        least = max(1, math.ceil(sum(count / int(empty[batch.pod_class][model]) for batch, count in unplaced)))
        most = max(least, sum(count for _, count in unplaced))
        for count in sorted({least, min(most, least + 1), min(most, least * 2), most}):
            if count > _MOST_TRIED_OUT:
                break
            nodes = self._cluster.nodes.copy()
            for number in range(count):
                nodes.put(_clone(_node(nodes, model), number))
            search = Search(nodes, Views(self._profiles, nodes))
            if isinstance(search.find(requirement, Ground(nodes.usage), Budget(0)), Placed):
                return self._more_of_the_same(model, count, empty)
        return None

    def _made_to_measure(self, pod_class: PodClass, missing: int) -> Suggestion | None:
        labels = dict(pod_class.rules.selector) | _wanted_labels(pod_class.rules.required)
        uncounted = any(amount > MOST for _, amount in pod_class.requests.amounts)
        # nobody can order a node by what its kubelet says that it can do, nor by the devices and volumes that are there
        beyond_room = pod_class.rules.features or pod_class.rules.needs
        if uncounted or beyond_room or not _lets_on(pod_class.rules, _as_new_node(labels)):
            return None
        return Suggestion(
            nodes=missing,
            allocatable=(("pods", 1), *(asked for asked in pod_class.requests.amounts if asked[0] != "pods")),
            labels=tuple(sorted(labels.items())),
            asked_labels=tuple(sorted(labels.items())),
        )


def _outcome(requirement: Requirement, answer: Answer, empty: dict[PodClass, Ints], allocatable: Ints) -> Outcome:
    """A proof holds for the room there is; whether it would for empty nodes tells if waiting can help."""
    if isinstance(answer, NotFound):
        return Outcome.NOT_FOUND
    proven = isinstance(answer, Impossible) and prove(requirement.wants, requirement.needed, empty, allocatable)
    return Outcome.IMPOSSIBLE if proven else Outcome.WAITING


def _node(nodes: NodeTable, row: int) -> Node:
    node = nodes.nodes[row]
    assert node is not None, f"row {row} is vacant"
    return node


def _clone(node: Node, number: int) -> Node:
    # each is a host of its own: rules between pods tell hosts apart
    labels = {key: f"{value}-{number}" if key == _HOSTNAME else value for key, value in node.metadata.labels.items()}
    return replace(node, metadata=Metadata(name=f"{_NEW_NODE}-{number}", labels=labels))


def _as_new_node(labels: dict[str, str]) -> dict[str, str]:
    return {key: _NEW_NODE if key == _HOSTNAME else value for key, value in labels.items()}


def _lets_on(rules: NodeRules, labels: dict[str, str]) -> bool:
    """Whether the rules would admit a new node with these labels and taints that they tolerate."""
    if rules.node_name or any(labels.get(key) != value for key, value in rules.selector):
        return False
    return rules.required is None or rules.required.matches(labels, _NEW_NODE)


def _keys_read(rules: NodeRules) -> set[str]:
    """Label keys that decide whether the rules admit a node."""
    terms = rules.required.node_selector_terms if rules.required else ()
    read = {requirement.key for term in terms for requirement in term.match_expressions}
    return read | {key for key, _ in rules.selector}


def _domains_of(pod_class: PodClass) -> set[str]:
    """Labels of nodes by which rules between pods tell domains apart; a host of its own every node is."""
    if pod_class.ties is None:
        return set()
    rules = pod_class.ties.rules
    keys = {term.topology_key for term in (*rules.together, *rules.apart)}
    keys |= {spread.topology_key for spread in rules.spread if spread.hard}
    return keys - {_HOSTNAME}


def _wanted_labels(required: NodeSelector | None) -> dict[str, str]:
    """Labels that satisfy the first term, where its expressions name them."""
    if required is None or not required.node_selector_terms:
        return {}
    wanted: dict[str, str] = {}
    for requirement in required.node_selector_terms[0].match_expressions:
        if requirement.operator == "In" and requirement.values:
            wanted[requirement.key] = requirement.values[0]
        elif requirement.operator == "Exists":
            wanted[requirement.key] = ""
    return wanted
