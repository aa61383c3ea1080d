"""PodTopologySpread: pods evenly over the domains of a label, as far as they ask for it, or as is done by default."""

from __future__ import annotations

import math

import numpy as np

from muster.cluster.census import Aside, Census, Chosen
from muster.cluster.classes import PodClass
from muster.cluster.facts import Facts
from muster.cluster.nodes import NodeTable
from muster.cluster.ties import Spread
from muster.cluster.usage import Ints, Usage
from muster.framework.contract import MAX_SCORE, PLENTY, Bools, DefaultSpread, Obstacle, Outlook, Spreader, Wide
from muster.plugins.default_spread import BY_THEIR_SELECTORS, SYSTEM, BySelectors, DefaultConstraint
from muster.plugins.domains import Domains, short
from muster.plugins.node_affinity import NodeAffinity
from muster.plugins.taint_toleration import TaintToleration

UNEVEN = "node(s) didn't match pod topology spread constraints"
UNNAMED = "node(s) didn't match pod topology spread constraints (missing required label)"

_HOSTNAME = "kubernetes.io/hostname"
_MOST = 2**31 - 1
_NOT_THERE = (Aside.LEAVING, Aside.AWAITED)


class PodTopologySpread(Wide, Spreader):
    name = "PodTopologySpread"

    def __init__(self, *, defaults: tuple[DefaultConstraint, ...] = SYSTEM) -> None:
        """`defaults` are for pods that have no constraints of their own."""
        self._defaults = defaults
        if any(constraint.hard for constraint in defaults):
            self.reads = BY_THEIR_SELECTORS
        elif defaults:
            self.may_read = BY_THEIR_SELECTORS

    def by_default(self, facts: Facts) -> DefaultSpread | None:
        return BySelectors(facts, self._defaults) if self._defaults else None

    def concerns(self, pod_class: PodClass, census: Census) -> bool:
        return pod_class.ties is not None and bool(pod_class.ties.rules.spread)

    def limits(self, pod_class: PodClass, census: Census) -> bool:
        return pod_class.ties is not None and any(spread.hard for spread in pod_class.ties.rules.spread)

    def outlook(self, pod_class: PodClass, nodes: NodeTable, usage: Usage) -> Outlook:
        return _Evenly(pod_class, nodes, usage.census)


class _Constraint:
    """One constraint: the pods that it is about, by domain."""

    def __init__(self, spread: Spread, nodes: NodeTable, *, pods: Ints, counted: Bools, about_itself: bool) -> None:
        self.spread = spread
        self.pods = pods
        """By row, counted or not."""
        self._counted = counted
        """Rows whose pods count."""
        self.domains = Domains(nodes, spread.topology_key, pods * counted)
        self.exists = self.domains.present(counted)
        """By domain: whether it has a node that counts."""
        self.about_itself = about_itself
        self._crowded: Domains | None = None
        """With those who are awaited, if there are any."""

    def also(self, pods: Ints, nodes: NodeTable) -> None:
        """It must hold, too, when those are there who are awaited."""
        if (pods != self.pods).any():
            self._crowded = Domains(nodes, self.spread.topology_key, pods * self._counted)

    def place(self, row: int) -> None:
        if not self.about_itself or not self.spread.selection.requirements:
            return
        if self.spread.topology_key == _HOSTNAME and not self.spread.hard:
            self.pods = self.pods.copy()
            self.pods[row] += 1
        if self._counted[row]:
            self.domains.add(row)
            if self._crowded is not None:
                self._crowded.add(row)

    def too_uneven(self) -> Bools:
        """Rows whose domain would have too many more than the emptiest."""
        uneven = self._is_uneven(self.domains)
        return uneven if self._crowded is None else uneven | self._is_uneven(self._crowded)

    def _is_uneven(self, domains: Domains) -> Bools:
        counts = domains.counts[self.exists]
        least = int(counts.min()) if len(counts) else _MOST
        if len(counts) < self.spread.min_domains:
            least = 0
        uneven: Bools = domains.by_row + self.about_itself - least > self.spread.max_skew
        return uneven


class _Evenly(Outlook):
    def __init__(self, pod_class: PodClass, nodes: NodeTable, census: Census) -> None:
        ties = pod_class.ties
        assert ties is not None
        nobody = np.zeros(nodes.capacity, np.int64)
        self._named: dict[bool, Bools] = {}
        self._hard: list[_Constraint] = []
        self._soft: list[_Constraint] = []
        for is_hard, found in ((True, self._hard), (False, self._soft)):
            spreads = [spread for spread in ties.rules.spread if spread.hard is is_hard]
            columns = [nodes.labels.column(spread.topology_key).ids > 0 for spread in spreads]
            # a node that lacks one of the labels counts for none of them, unless they are the system's
            strict = [column for spread, column in zip(spreads, columns, strict=True) if not spread.rates_unnamed]
            named: Bools = np.logical_and.reduce(strict) if strict else np.ones(nodes.capacity, np.bool_)
            self._named[is_hard] = named
            for spread in spreads:
                counted = named & _included(spread, pod_class, nodes)
                # upstream counts nobody by a selector that asks for nothing, although it matches everybody
                counts = bool(spread.selection.requirements)
                pods = census.count(Chosen((spread.selection,), without=_NOT_THERE)) if counts else nobody
                about_itself = census.namespaces.selects(spread.selection, ties.look)
                found.append(_Constraint(spread, nodes, pods=pods, counted=counted, about_itself=about_itself))
                if is_hard and counts and census.awaits:
                    found[-1].also(census.count(Chosen((spread.selection,), without=(Aside.LEAVING,))), nodes)
        self._refused: list[tuple[str, Bools]] | None = None

    def place(self, row: int) -> None:
        for constraint in (*self._hard, *self._soft):
            constraint.place(row)
        self._refused = None

    def admits(self) -> Bools | None:
        refused = [rows for _, rows in self.refusals()]
        return ~np.logical_or.reduce(refused) if refused else None

    def at_most(self) -> Ints | None:
        return self._named[True] * PLENTY if self._hard else None

    def refusals(self) -> list[tuple[str, Bools]]:
        if self._refused is None and self._hard:
            # the first constraint that a node fails says why
            uneven, unnamed = (np.zeros(len(self._named[True]), np.bool_) for _ in range(2))
            for constraint in self._hard:
                lacks = ~constraint.domains.named & ~uneven
                unnamed |= lacks
                uneven |= constraint.too_uneven() & ~unnamed
            self._refused = [(UNNAMED, unnamed), (UNEVEN, uneven)]
        return self._refused or []

    def obstacle(self, room: Bools) -> Obstacle | None:
        for constraint in self._hard:
            uneven = constraint.too_uneven()
            if (room & uneven).any():
                spread, domains = constraint.spread, constraint.domains
                rule = f"spread over {short(spread.topology_key)} (maxSkew {spread.max_skew})"
                asked = domains.names(domains.named & ~uneven)
                return Obstacle(
                    rule=rule, label=spread.topology_key, domains=asked, wants="more domains than there are"
                )
        return None

    def score(self, takes: Bools) -> Ints | None:
        if not self._soft:
            return None
        rated = takes & self._named[False]
        raw = np.zeros(len(takes))
        for constraint in self._soft:
            spread = constraint.spread
            here = constraint.domains.named
            if spread.topology_key == _HOSTNAME:
                size, counts = int(np.count_nonzero(rated)), constraint.pods
            else:
                # those without the label are a domain as well when domains are counted
                size = int(constraint.domains.present(rated).sum()) + bool((rated & ~here).any())
                counts = constraint.domains.by_row
            raw += (counts * math.log(size + 2) + (spread.max_skew - 1)) * here
        # as Go rounds: halves away from zero
        whole = np.floor(raw + 0.5).astype(np.int64)
        if not rated.any():
            return np.zeros(len(takes), np.int64)
        least, most = int(np.min(whole, where=rated, initial=2**62)), int(np.max(whole, where=rated, initial=0))
        scores = MAX_SCORE * (most + least - whole) // most if most else np.full(len(takes), MAX_SCORE)
        found: Ints = scores * rated
        return found


def _included(spread: Spread, pod_class: PodClass, nodes: NodeTable) -> Bools:
    """Rows whose pods count for the constraint."""
    found = nodes.precedence > 0
    if spread.honours_affinity:
        found &= NodeAffinity().admits(pod_class.rules, nodes, None)
    if spread.honours_taints:
        found &= TaintToleration().admits(pod_class.rules, nodes, None)
    return found
