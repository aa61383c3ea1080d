"""InterPodAffinity: pods that must, or had better, be near others, or far from them.

A node is refused where a required term of the pod is not met, or where a pod that is there already asks not to have
such a one in its domain.  Preferences count both ways: the pod's own, and those of the pods that are there.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from muster.api.kinds import NAMESPACES
from muster.cluster.census import Aside, Bearers, Bearing, Borne, Census, Chosen
from muster.cluster.classes import PodClass
from muster.cluster.nodes import NodeTable
from muster.cluster.ties import Look, Term, Ties
from muster.cluster.usage import Ints, Usage
from muster.framework.contract import MAX_SCORE, PLENTY, Bools, Obstacle, Outlook, Wide
from muster.plugins.domains import Domains, short

NEAR = "node(s) didn't match pod affinity rules"
FAR = "node(s) didn't match pod anti-affinity rules"
OTHERS = "node(s) didn't satisfy existing pods anti-affinity rules"

HARD_WEIGHT = 1
"""What a required affinity of a pod that is there adds to the score of those whom it is about."""

_NOT_THERE = (Aside.AWAITED,)
"""Who keeps off those that are awaited must not come; to score, or to be near, they are not there."""


class InterPodAffinity(Wide):
    name = "InterPodAffinity"
    # a term may be about pods in namespaces with some label: not knowing which would break what others were promised
    reads = (NAMESPACES,)

    def __init__(self, *, hard_weight: int = HARD_WEIGHT, ignore_preferred_of_others: bool = False) -> None:
        self._hard_weight = hard_weight
        self._ignores = ignore_preferred_of_others

    def concerns(self, pod_class: PodClass, census: Census) -> bool:
        ties = pod_class.ties
        if ties is None:
            return False
        rules = ties.rules
        return bool(rules.together or rules.apart or rules.preferred or census.about(ties.look))

    def limits(self, pod_class: PodClass, census: Census) -> bool:
        ties = pod_class.ties
        assert ties is not None
        kept_off = any(one.bearing is Bearing.APART for one in census.about(ties.look))
        return bool(ties.rules.together or ties.rules.apart) or kept_off

    def gathers(self, pod_class: PodClass) -> Iterable[str]:
        assert pod_class.ties is not None
        return (term.topology_key for term in pod_class.ties.rules.together)

    def outlook(self, pod_class: PodClass, nodes: NodeTable, usage: Usage) -> Outlook:
        ties, census = pod_class.ties, usage.census
        assert ties is not None
        asked = census.about(ties.look)
        rating = _Rating(ties, nodes, census)
        own = ties.rules.preferred
        for weight, term in own:
            rating.count(term, weight, census.count(Chosen((term.selection,), without=_NOT_THERE)))
        if own or not self._ignores:
            for one in asked:
                if one.bearing is Bearing.TOGETHER:
                    rating.count(one.term, self._hard_weight, census.count(Bearers(one, without=_NOT_THERE)))
                elif one.bearing is Bearing.PREFERRED:
                    rating.count(one.term, one.weight, census.count(Bearers(one, without=_NOT_THERE)))
            # what the pod's own terms will mean to the next of its kind
            rating.expect(self._hard_weight)
        return _Affinity(ties, nodes, census, asked, rating)


class _Rating:
    """Sums of weights by domain, for each label."""

    def __init__(self, ties: Ties, nodes: NodeTable, census: Census) -> None:
        self._ties = ties
        self._nodes = nodes
        self._census = census
        self._sums: dict[str, Domains] = {}
        self._of_each: list[tuple[Domains, int]] = []
        """What every further pod of the class adds."""
        self.matters = False

    def count(self, term: Term, weight: int, pods: Ints) -> None:
        if weight and pods.any():
            self._domains(term.topology_key).counts += Domains(self._nodes, term.topology_key, pods * weight).counts
            self.matters = True

    def expect(self, hard_weight: int) -> None:
        rules, look = self._ties.rules, self._ties.look
        # each is a preference of the next pod, and of those that are there
        terms = [(term, 2 * weight) for weight, term in rules.preferred]
        terms += [(term, hard_weight) for term in rules.together]
        for term, weight in terms:
            if weight and self._census.namespaces.selects(term.selection, look):
                self._of_each.append((self._domains(term.topology_key), weight))

    def _domains(self, key: str) -> Domains:
        found = self._sums.get(key)
        if found is None:
            found = self._sums[key] = Domains(self._nodes, key, np.zeros(self._nodes.capacity, np.int64))
        return found

    def place(self, row: int) -> None:
        for domains, weight in self._of_each:
            domains.add(row, weight)
            self.matters = True

    def raw(self) -> Ints:
        total: Ints = np.add.reduce([domains.by_row for domains in self._sums.values()])
        return total


class _Affinity(Outlook):
    def __init__(self, ties: Ties, nodes: NodeTable, census: Census, asked: tuple[Borne, ...], rating: _Rating) -> None:
        self._rating = rating
        self._together: list[Domains] = []
        self._matches_itself = False
        rules, look = ties.rules, ties.look
        if rules.together:
            # nobody can count on those who are only awaited
            selections = tuple(dict.fromkeys(term.selection for term in rules.together))
            pods = census.count(Chosen(selections, without=_NOT_THERE))
            self._together = [Domains(nodes, term.topology_key, pods) for term in rules.together]
            self._matches_itself = all(_selects(census, term, look) for term in rules.together)
        self._apart = [
            (Domains(nodes, term.topology_key, census.count(Chosen((term.selection,)))), _selects(census, term, look))
            for term in rules.apart
        ]
        """With whether the term is about pods of the class itself."""
        self._others = [
            Domains(nodes, one.term.topology_key, census.count(Bearers(one)))
            for one in asked
            if one.bearing is Bearing.APART
        ]
        self._refused: list[tuple[str, Bools]] | None = None

    def place(self, row: int) -> None:
        self._rating.place(row)
        if self._matches_itself:
            for domains in self._together:
                domains.add(row)
        for domains, about_itself in self._apart:
            if about_itself:
                domains.add(row)
        self._refused = None

    def admits(self) -> Bools | None:
        refused = [rows for _, rows in self.refusals()]
        return ~np.logical_or.reduce(refused) if refused else None

    def at_most(self) -> Ints | None:
        """Nobody goes away from a domain; who comes may be whom others are to be near."""
        closed = [~domains.named for domains in self._together]
        closed += [rows for reason, rows in self.refusals() if reason != NEAR]
        alone = [domains.named for domains, about_itself in self._apart if about_itself]
        if not closed and not alone:
            return None
        most = np.full(len((closed or alone)[0]), PLENTY)
        for rows in alone:
            most[rows] = 1
        for rows in closed:
            most[rows] = 0
        return most

    def refusals(self) -> list[tuple[str, Bools]]:
        if self._refused is None:
            self._refused = list(self._reasons())
        return self._refused

    def _reasons(self) -> list[tuple[str, Bools]]:
        found: list[tuple[str, Bools]] = []
        if self._together:
            found.append((NEAR, ~self._is_near()))
        if self._apart:
            found.append((FAR, np.logical_or.reduce([domains.by_row > 0 for domains, _ in self._apart])))
        if self._others:
            found.append((OTHERS, np.logical_or.reduce([domains.by_row > 0 for domains in self._others])))
        return found

    def obstacle(self, room: Bools) -> Obstacle | None:
        if self._together and not (near := self._is_near())[room].all():
            domains = self._together[0]
            wants = "pods that are nowhere"
            return Obstacle(
                rule="required affinity", label=domains.label, domains=domains.names(domains.named & near), wants=wants
            )
        for domains in (*(found for found, _ in self._apart), *self._others):
            closed = domains.by_row > 0
            if closed[room].any():
                free, more = domains.names(domains.named & ~closed), f"one more {short(domains.label)}"
                return Obstacle(rule="required anti-affinity", label=domains.label, domains=free, wants=more)
        return None

    def _is_near(self) -> Bools:
        near: Bools = np.logical_and.reduce([domains.by_row > 0 for domains in self._together])
        if self._matches_itself and not any(domains.counts.any() for domains in self._together):
            # the first of pods that are to be near each other
            near = np.logical_and.reduce([domains.named for domains in self._together])
        return near

    def score(self, takes: Bools) -> Ints | None:
        if not self._rating.matters:
            return None
        raw = self._rating.raw()
        least, most = int(np.min(raw, where=takes, initial=2**62)), int(np.max(raw, where=takes, initial=-(2**62)))
        if least == most:
            return None
        scores: Ints = (MAX_SCORE * ((raw - least) / (most - least))).astype(np.int64)
        return scores


def _selects(census: Census, term: Term, look: Look) -> bool:
    return census.namespaces.selects(term.selection, look)
