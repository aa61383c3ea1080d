"""All that Muster reads of a cluster, as changes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

from muster.api.wire import Node, Pod, PodDisruptionBudget, PodGroup, PriorityClass
from muster.app.groups import Groups, Origin
from muster.app.inbox import Sink
from muster.controllers.protection import NamedByLabel
from muster.engine.changes import BudgetGone, BudgetSeen, Change, NodeGone, NodeSeen, PodGone, PodSeen
from muster.kube.client import Client
from muster.kube.reflector import Gone, Reflector
from muster.kube.resources import (
    CUSTOM_POD_GROUPS,
    DISRUPTION_BUDGETS,
    NATIVE_POD_GROUPS,
    NODES,
    PODS,
    PRIORITY_CLASSES,
    Resource,
)

_Any = (
    Reflector[Pod] | Reflector[Node] | Reflector[PodDisruptionBudget] | Reflector[PriorityClass] | Reflector[PodGroup]
)


class Informers:
    """One reflector a kind; `sink` may be exchanged between two changes."""

    def __init__(self, client: Client, sink: Sink) -> None:
        self.sink = sink
        self.groups = Groups()
        self.named_by_label = NamedByLabel(self.groups.gives_way)
        self.pods = Reflector(client, [PODS], Pod, deliver=self._pods)
        self.nodes = Reflector(client, [NODES], Node, deliver=self._nodes)
        self.classes = Reflector(client, [PRIORITY_CLASSES], PriorityClass, deliver=self._classes)
        self.budgets = Reflector(client, [DISRUPTION_BUDGETS], PodDisruptionBudget, deliver=self._budgets)
        self.native = Reflector(client, NATIVE_POD_GROUPS, PodGroup, deliver=self._of(Origin.NATIVE), optional=True)
        self.custom = Reflector(client, CUSTOM_POD_GROUPS, PodGroup, deliver=self._of(Origin.CUSTOM), optional=True)

    def __iter__(self) -> Iterator[_Any]:
        yield from (self.nodes, self.classes, self.budgets, self.native, self.custom, self.pods)

    async def synced(self) -> None:
        """Returns when everything was read once."""
        await asyncio.gather(*(reflector.synced.wait() for reflector in self))

    async def refresh(self) -> None:
        """Reads anew what decides where pods may go: after this nothing that happened before is unknown."""
        deciding = (self.nodes, self.budgets, self.native, self.custom, self.pods)
        await asyncio.gather(*(reflector.refresh() for reflector in deciding))

    def resource(self, origin: Origin) -> Resource | None:
        return (self.native if origin is Origin.NATIVE else self.custom).resource

    # --- what they deliver ---

    def _pods(self, batch: list[Pod | Gone]) -> None:
        for one in batch:
            if isinstance(one, Gone):
                self.named_by_label.gone(one.uid)
            else:
                self.named_by_label.seen(one)
        self.sink.put([PodGone(one.uid) if isinstance(one, Gone) else PodSeen(one) for one in batch])

    def _nodes(self, batch: list[Node | Gone]) -> None:
        self.sink.put([NodeGone(one.key) if isinstance(one, Gone) else NodeSeen(one) for one in batch])

    def _budgets(self, batch: list[PodDisruptionBudget | Gone]) -> None:
        self.sink.put([BudgetGone(one.key) if isinstance(one, Gone) else BudgetSeen(one) for one in batch])

    def _of(self, origin: Origin) -> Callable[[list[PodGroup | Gone]], None]:
        def deliver(batch: list[PodGroup | Gone]) -> None:
            groups = self.groups
            self.sink.put(
                [
                    groups.gone(origin, one.key, one.uid) if isinstance(one, Gone) else groups.seen(origin, one)
                    for one in batch
                ]
            )
            for one in batch:
                key = one.key if isinstance(one, Gone) else f"{one.metadata.namespace}/{one.metadata.name}"
                self.named_by_label.group_changed(key)

        return deliver

    def _classes(self, batch: list[PriorityClass | Gone]) -> None:
        changes: list[Change] = []
        for one in batch:
            if isinstance(one, Gone):
                self.groups.class_gone(one.key)
            else:
                changes += self.groups.class_seen(one)
        self.sink.put(changes)
