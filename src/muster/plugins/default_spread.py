"""The spread of pods that do not say how they are to be spread: over nodes and zones, among those that belong together.

Who belongs together is said by the Services that choose the pod and by the ReplicaSet, StatefulSet or
ReplicationController that made it: the selectors of all of them, taken together.  A pod of none is not spread.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import msgspec

from muster.api.kinds import REPLICA_SETS, REPLICATION_CONTROLLERS, SERVICES, STATEFUL_SETS, Address, Kind
from muster.api.wire import Fact, LabelsToHave, ReplicaSet, ReplicationController, Service, StatefulSet
from muster.base.selectors import Requirement
from muster.cluster.facts import Facts
from muster.cluster.ties import Selection, Spread, in_order, requirements_of
from muster.framework.contract import DefaultSpread

BY_THEIR_SELECTORS: tuple[Kind[Fact], ...] = (SERVICES, REPLICATION_CONTROLLERS, REPLICA_SETS, STATEFUL_SETS)

_OWNERS: tuple[Kind[ReplicationController] | Kind[ReplicaSet] | Kind[StatefulSet], ...] = (
    REPLICATION_CONTROLLERS,
    REPLICA_SETS,
    STATEFUL_SETS,
)
# answers are kept for so many owners; one takes about 1 KB
_MOST_KEPT = 20_000
# Services come and go with their Jobs, and each was an answer for somebody
_MOST_PER_OWNER = 1_000

_Label = tuple[str, str]
_Labels = tuple[_Label, ...]
"""Sorted."""


class DefaultConstraint(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A constraint without a selector."""

    topology_key: str
    max_skew: int
    hard: bool = False
    """DoNotSchedule."""
    min_domains: int = 1
    honours_affinity: bool = True
    honours_taints: bool = False
    rates_unnamed: bool = False

    def about(self, selection: Selection) -> Spread:
        return Spread(
            selection,
            self.topology_key,
            max_skew=self.max_skew,
            hard=self.hard,
            min_domains=self.min_domains,
            honours_affinity=self.honours_affinity,
            honours_taints=self.honours_taints,
            rates_unnamed=self.rates_unnamed,
        )


SYSTEM = (
    DefaultConstraint(topology_key="kubernetes.io/hostname", max_skew=3, rates_unnamed=True),
    DefaultConstraint(topology_key="topology.kubernetes.io/zone", max_skew=5, rates_unnamed=True),
)
"""Upstream's: where nodes have no zones, pods are still spread over nodes."""


class BySelectors(DefaultSpread):
    """Constraints about the pods that the selectors of a pod's Services and owner choose."""

    def __init__(self, facts: Facts, constraints: tuple[DefaultConstraint, ...]) -> None:
        super().__init__()
        self._constraints = constraints
        self._services: dict[str, _Selectors] = {}
        """By namespace."""
        self._owners: dict[Address, _Chosen] = {}
        self._answers: dict[Address | str, dict[tuple[_Labels, ...], tuple[Spread, ...]]] = {}
        """By owner, or by namespace if there is none, then by the selectors of Services: also who has ever asked."""
        self._forgot = False
        """Not all who have asked are in there."""
        facts.tell(SERVICES, self._service_changed)
        for kind in _OWNERS:
            facts.tell(kind, partial(self._owner_changed, kind.name))

    def of(self, namespace: str, labels: Mapping[str, str], owner: Address | None) -> tuple[Spread, ...]:
        services = self._services.get(namespace)
        chosen_by = () if services is None else services.choosing(labels)
        if owner is None and not chosen_by:
            return ()
        answers = self._answers.get(owner or namespace)
        if answers is None:
            if len(self._answers) >= _MOST_KEPT:
                self._answers.clear()
                self._forgot = True
            answers = self._answers[owner or namespace] = {}
        found = answers.get(chosen_by)
        if found is None:
            if len(answers) >= _MOST_PER_OWNER:
                # not the owner itself: it has asked
                answers.clear()
            found = answers[chosen_by] = self._made(namespace, chosen_by, owner)
        return found

    def _made(self, namespace: str, chosen_by: tuple[_Labels, ...], owner: Address | None) -> tuple[Spread, ...]:
        labels = dict(label for selector in chosen_by for label in selector)
        chosen = self._owners.get(owner, _NOTHING) if owner is not None else _NOTHING
        # as upstream: what a ReplicationController says of a label replaces what a Service does
        labels |= chosen.labels
        requirements = in_order((*(Requirement(key, "In", (labels[key],)) for key in labels), *chosen.requirements))
        if not requirements:
            return ()
        selection = Selection(requirements, (namespace,))
        return tuple(constraint.about(selection) for constraint in self._constraints)

    # --- what changes ---

    def _service_changed(self, key: str, before: Service | None, now: Service | None) -> None:
        was, now_is = (() if one is None else _sorted(one.spec) for one in (before, now))
        if was == now_is:
            return
        namespace = key.partition("/")[0]
        self.news.add(namespace)
        services = self._services.setdefault(namespace, _Selectors())
        if now_is:
            services.add(now_is)
        if was:
            services.remove(was)
        if not services:
            del self._services[namespace]

    def _owner_changed(self, kind: str, key: str, _: Fact | None, now: Fact | None) -> None:
        owner = Address(kind, key)
        if now is None:
            self._owners.pop(owner, None)
        else:
            self._owners[owner] = _chosen(now)
        if self._answers.pop(owner, None) is not None or self._forgot:
            self.news.add(key.partition("/")[0])


class _Chosen(msgspec.Struct, frozen=True, gc=False):
    """Whom an owner chooses."""

    labels: dict[str, str] = {}
    requirements: tuple[Requirement, ...] = ()


_NOTHING = _Chosen()


def _chosen(owner: Fact) -> _Chosen:
    match owner:
        case ReplicationController():
            return _Chosen(labels=owner.spec.selector or {})
        case ReplicaSet() | StatefulSet():
            selector = owner.spec.selector
            # as upstream: one that cannot be read says nothing
            readable = selector is not None and not selector.problems()
            return _Chosen(requirements=(requirements_of(selector) or ()) if readable else ())
    raise AssertionError(f"{owner} owns no pods")


def _sorted(spec: LabelsToHave) -> _Labels:
    return tuple(sorted((spec.selector or {}).items()))


class _Selectors:
    """Of the Services of a namespace; finds those that choose a pod without asking all."""

    def __init__(self) -> None:
        self._counts: dict[_Labels, int] = {}
        """How many Services have the selector."""
        self._marks: dict[_Labels, _Label] = {}
        self._by_mark: dict[_Label, dict[_Labels, None]] = {}
        """By one of its labels, which every pod has that it chooses."""

    def __bool__(self) -> bool:
        return bool(self._counts)

    def add(self, selector: _Labels) -> None:
        self._counts[selector] = self._counts.get(selector, 0) + 1
        if self._counts[selector] == 1:
            # a label that few others have: all Services of a team may have one in common
            mark = min(selector, key=lambda label: len(self._by_mark.get(label, ())))
            self._marks[selector] = mark
            self._by_mark.setdefault(mark, {})[selector] = None

    def remove(self, selector: _Labels) -> None:
        self._counts[selector] -= 1
        if self._counts[selector]:
            return
        del self._counts[selector]
        mark = self._marks.pop(selector)
        marked = self._by_mark[mark]
        del marked[selector]
        if not marked:
            del self._by_mark[mark]

    def choosing(self, labels: Mapping[str, str]) -> tuple[_Labels, ...]:
        """Those that choose a pod with these labels, sorted."""
        found: list[_Labels] = []
        for label in labels.items():
            for selector in self._by_mark.get(label, ()):
                if len(selector) == 1 or all(labels.get(key) == value for key, value in selector):
                    found.append(selector)
        return tuple(sorted(found)) if len(found) > 1 else tuple(found)
