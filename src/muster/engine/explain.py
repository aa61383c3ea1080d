"""Why a trial fell short, in numbers, and which nodes would change that."""

from __future__ import annotations

import numpy as np

from muster.base.selectors import NodeSelector
from muster.cluster.classes import NodeRules, PodClass
from muster.cluster.cluster import Cluster
from muster.cluster.nodes import Rows
from muster.cluster.room import Room
from muster.cluster.usage import Ints, Usage
from muster.engine.cycle import Trial
from muster.engine.verdicts import Need, Outcome, Refusal, Suggestion, Verdict
from muster.framework.profile import Profile
from muster.framework.views import Views

_HOSTNAME = "kubernetes.io/hostname"
_NEW_NODE = "a-node-that-does-not-exist-yet"


class Explainer:
    """Turns a trial that fell short into a verdict."""

    def __init__(self, cluster: Cluster, profile: Profile, views: Views) -> None:
        self._cluster = cluster
        self._profile = profile
        self._views = views

    def verdict(self, unit: str, trial: Trial, *, held: int) -> Verdict:
        wants = trial.wants()
        needs = tuple(self._need(pod_class, count, trial.usage) for pod_class, count in wants.items())
        outcome = _outcome(needs, trial.needed)
        return Verdict(
            unit=unit,
            outcome=outcome,
            placed=trial.needed - trial.lacking,
            needed=trial.needed,
            held=held,
            nodes=len(self._cluster.nodes),
            needs=needs,
            suggestion=self._suggestion(next(iter(wants)), trial.lacking) if len(wants) == 1 else None,
        )

    def _need(self, pod_class: PodClass, members: int, filled: Usage) -> Need:
        nodes = self._cluster.nodes
        view = self._views.of(pod_class)
        return Need(
            members=members,
            request=pod_class.requests.amounts,
            fits=int(view.copies.sum()),
            fits_empty=int(self._empty_copies(pod_class).sum()),
            nodes_admitted=int(np.count_nonzero(view.rules.admitted & (nodes.precedence > 0))),
            refusals=self._refusals(pod_class, filled),
            host_ports=tuple(port.port for port in pod_class.ports),
        )

    def _refusals(self, pod_class: PodClass, usage: Usage) -> tuple[Refusal, ...]:
        """Upstream's histogram: the first filter in order that refuses a node names its reasons."""
        nodes = self._cluster.nodes
        rows: Rows = np.flatnonzero(nodes.precedence > 0)
        counted: dict[tuple[str, bool], int] = {}
        for rule in self._profile.rule_filters:
            admitted = rule.admits(pod_class.rules, nodes, rows)
            if refused := len(rows) - int(np.count_nonzero(admitted)):
                counted[rule.reason, True] = counted.get((rule.reason, True), 0) + refused
                rows = rows[admitted]
        for plugin in self._profile.room_filters:
            refused_here = np.zeros(len(rows), np.bool_)
            for reason, where in plugin.refusals(pod_class, Room(nodes, usage, rows)):
                if refused := int(np.count_nonzero(where)):
                    counted[reason, False] = counted.get((reason, False), 0) + refused
                    refused_here |= where
            rows = rows[~refused_here]
        return tuple(Refusal(count, reason, by_rule) for (reason, by_rule), count in sorted(counted.items()))

    def _empty_copies(self, pod_class: PodClass) -> Ints:
        """Copies on every node if nothing ran anywhere."""
        nodes = self._cluster.nodes
        states = {plugin.name: plugin.new_state() for plugin in self._profile.stateful}
        return self._views.copies_on(pod_class, Usage.of_empty_nodes(nodes.allocatable, states=states))

    # --- what would do ---

    def _suggestion(self, pod_class: PodClass, missing: int) -> Suggestion | None:
        """Nodes like the roomiest that there is; if none would do, nodes made to measure."""
        return self._more_of_the_same(pod_class, missing) or self._made_to_measure(pod_class, missing)

    def _more_of_the_same(self, pod_class: PodClass, missing: int) -> Suggestion | None:
        nodes = self._cluster.nodes
        copies = self._empty_copies(pod_class)
        if not copies.any():
            return None
        model = int(np.lexsort((nodes.precedence, copies))[-1])
        node = nodes.nodes[model]
        assert node is not None
        labels = _as_new_node(node.metadata.labels)
        if not _lets_on(pod_class.rules, labels):
            return None
        room = nodes.allocatable[:, model].tolist()
        return Suggestion(
            nodes=-(-missing // int(copies[model])),
            allocatable=tuple(
                (name, amount) for name, amount in zip(nodes.resources.names(), room, strict=True) if amount
            ),
            labels=tuple(sorted(labels.items())),
            taints=tuple((taint.key, taint.value, taint.effect) for taint in node.spec.taints),
            like=node.metadata.name,
        )

    def _made_to_measure(self, pod_class: PodClass, missing: int) -> Suggestion | None:
        labels = dict(pod_class.rules.selector) | _wanted_labels(pod_class.rules.required)
        if not _lets_on(pod_class.rules, _as_new_node(labels)):
            return None
        names = self._cluster.nodes.resources.names()
        return Suggestion(
            nodes=missing,
            allocatable=tuple((names[resource], amount) for resource, amount in pod_class.room),
            labels=tuple(sorted(labels.items())),
        )


def _outcome(needs: tuple[Need, ...], needed: int) -> Outcome:
    def at_most(fits: list[int]) -> int:
        return sum(min(need.members, count) for need, count in zip(needs, fits, strict=True))

    if at_most([need.fits_empty for need in needs]) < needed:
        return Outcome.IMPOSSIBLE
    if at_most([need.fits for need in needs]) < needed:
        return Outcome.WAITING
    return Outcome.NOT_FOUND


def _as_new_node(labels: dict[str, str]) -> dict[str, str]:
    return {key: _NEW_NODE if key == _HOSTNAME else value for key, value in labels.items()}


def _lets_on(rules: NodeRules, labels: dict[str, str]) -> bool:
    """Whether the rules would admit a new node with these labels and taints that they tolerate."""
    if rules.node_name or any(labels.get(key) != value for key, value in rules.selector):
        return False
    return rules.required is None or rules.required.matches(labels, _NEW_NODE)


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
