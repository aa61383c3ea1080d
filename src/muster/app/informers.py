"""All that Muster reads of a cluster, as changes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import chain

from muster.api.kinds import Kind
from muster.api.resources import (
    DISRUPTION_BUDGETS,
    NODES,
    PODS,
    PRIORITY_CLASSES,
    STORED_POD_GROUPS,
    Resource,
)
from muster.api.wire import Fact, Node, Object, Pod, PodDisruptionBudget, PriorityClass
from muster.app.inbox import Sink
from muster.app.owners import Owners
from muster.controllers.protection import NamedByLabel
from muster.edge.groups import Groups, Told
from muster.engine.changes import (
    BudgetGone,
    BudgetSeen,
    Change,
    FactGone,
    FactSeen,
    NodeGone,
    NodeSeen,
    PodGone,
    PodSeen,
)
from muster.gangs.dialects import DIALECTS, NATIVE
from muster.gangs.dialects.dialect import Dialect
from muster.kube.client import Client
from muster.kube.reflector import Gone, Reflector

_Any = (
    Reflector[Pod]
    | Reflector[Node]
    | Reflector[Fact]
    | Reflector[PodDisruptionBudget]
    | Reflector[PriorityClass]
    | Reflector[Object]
)


class Informers:
    """One reflector a kind; `sink` may be exchanged between two changes.

    Of kinds that plugins read those are read that they `must` know, and those that they `may`, where the server lets
    us.  Of `closed` dialects nothing is told but what is left to be finished; where `groups_are_stored` and not served,
    Kubernetes' own are read all the same.
    """

    def __init__(
        self,
        client: Client,
        sink: Sink,
        *,
        must: Iterable[Kind[Fact]] = (),
        may: Iterable[Kind[Fact]] = (),
        closed: Collection[Dialect] = (),
        groups_are_stored: bool = False,
    ) -> None:
        self.sink = sink
        self.groups = Groups(closed=closed)
        self.named_by_label = NamedByLabel(self.groups.gives_way)
        self.owners = Owners(client, self.groups, tell=lambda told: self._tell([told]))
        self.pods = Reflector(client, [PODS], Pod, deliver=self._pods)
        self.nodes = Reflector(client, [NODES], Node, deliver=self._nodes)
        self.classes = Reflector(client, [PRIORITY_CLASSES], PriorityClass, deliver=self._classes)
        self.budgets = Reflector(client, [DISRUPTION_BUDGETS], PodDisruptionBudget, deliver=self._budgets)
        self.facts: dict[str, Reflector[Fact]] = {
            kind.name: Reflector(client, [kind.resource], kind.struct, deliver=self._facts_of(kind), lacking=lacking)
            for kinds, lacking in ((must, ()), (may, (403, 404)))
            for kind in kinds
        }
        """Of what plugins read, by the name of the kind."""
        self.declaring: dict[Dialect, Reflector[Object]] = {
            dialect: Reflector(client, resources, dialect.kind, deliver=self._of(dialect), lacking=(404,))
            for dialect in DIALECTS
            if (resources := _resources(dialect, are_stored=groups_are_stored))
        }
        """Of objects that declare gangs."""

    def __iter__(self) -> Iterator[_Any]:
        yield self.nodes
        yield from self.facts.values()
        yield from (self.classes, self.budgets)
        yield from self.declaring.values()
        yield self.pods

    async def synced(self) -> None:
        """Returns when everything was read once."""
        await asyncio.gather(*(reflector.synced.wait() for reflector in self))

    async def refresh(self) -> None:
        """Reads anew what decides where pods may go: after this nothing that happened before is unknown."""
        await asyncio.gather(*(reflector.refresh() for reflector in self if reflector is not self.classes))

    def resource(self, dialect: Dialect) -> Resource | None:
        """Where objects of the dialect are served, if they are."""
        reflector = self.declaring.get(dialect)
        return None if reflector is None else reflector.resource

    # --- what they deliver ---

    def _pods(self, batch: list[Pod | Gone]) -> None:
        groups = self.groups
        self._tell([groups.pod_gone(one.uid) if isinstance(one, Gone) else groups.pod_seen(one) for one in batch])

    def _tell(self, told: Iterable[list[Told]]) -> None:
        changes = list(chain.from_iterable(told))
        for change in changes:
            match change:
                case PodSeen(pod):
                    self.named_by_label.seen(pod)
                case PodGone(uid):
                    self.named_by_label.gone(uid)
                case _:
                    self.named_by_label.group_changed(change.key)
        self.sink.put(changes)
        self.owners.look()

    def _nodes(self, batch: list[Node | Gone]) -> None:
        self.sink.put([NodeGone(one.key) if isinstance(one, Gone) else NodeSeen(one) for one in batch])

    def _budgets(self, batch: list[PodDisruptionBudget | Gone]) -> None:
        self.sink.put([BudgetGone(one.key) if isinstance(one, Gone) else BudgetSeen(one) for one in batch])

    def _facts_of(self, kind: Kind[Fact]) -> Callable[[list[Fact | Gone]], None]:
        def deliver(batch: list[Fact | Gone]) -> None:
            self.sink.put([FactGone(kind.name, one.key) if isinstance(one, Gone) else FactSeen(one) for one in batch])

        return deliver

    def _of(self, dialect: Dialect) -> Callable[[list[Object | Gone]], None]:
        def deliver(batch: list[Object | Gone]) -> None:
            groups = self.groups
            self._tell(
                [
                    groups.gone(dialect, one.key, one.uid) if isinstance(one, Gone) else groups.seen(dialect, one)
                    for one in batch
                ]
            )

        return deliver

    def _classes(self, batch: list[PriorityClass | Gone]) -> None:
        changes: list[Change] = []
        for one in batch:
            if isinstance(one, Gone):
                self.groups.class_gone(one.key)
            else:
                changes += self.groups.class_seen(one)
        self.sink.put(changes)


def _resources(dialect: Dialect, *, are_stored: bool) -> tuple[Resource, ...]:
    return (STORED_POD_GROUPS,) if are_stored and dialect is NATIVE else dialect.resources
