"""Where changes wait for the engine."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Protocol

from muster.api.kinds import address_of
from muster.engine.changes import (
    BudgetGone,
    BudgetSeen,
    Change,
    FactGone,
    FactSeen,
    GroupGone,
    GroupSeen,
    NodeGone,
    NodeSeen,
    PodGone,
    PodSeen,
)


class Sink(Protocol):
    def put(self, changes: Iterable[Change]) -> None: ...


class Inbox:
    """For a replica that leads: every change, in order."""

    def __init__(self) -> None:
        self.filled = asyncio.Event()
        self._changes: list[Change] = []

    def put(self, changes: Iterable[Change]) -> None:
        self._changes.extend(changes)
        if self._changes:
            self.filled.set()

    def take(self) -> list[Change]:
        taken, self._changes = self._changes, []
        self.filled.clear()
        return taken


class Warm:
    """For a replica that stands by: the latest of each object, however long it stands by."""

    def __init__(self) -> None:
        self._nodes: dict[str, Change] = {}
        self._groups: dict[str, Change] = {}
        self._budgets: dict[str, Change] = {}
        self._facts: dict[tuple[str, str], Change] = {}
        self._pods: dict[str, Change] = {}

    def put(self, changes: Iterable[Change]) -> None:
        for change in changes:
            match change:
                case PodSeen(pod):
                    self._pods[pod.metadata.uid] = change
                case PodGone(uid):
                    self._pods.pop(uid, None)
                case NodeSeen(node):
                    self._nodes[node.metadata.name] = change
                case NodeGone(name):
                    self._nodes.pop(name, None)
                case GroupSeen(group):
                    self._groups[f"{group.metadata.namespace}/{group.metadata.name}"] = change
                case GroupGone(key):
                    self._groups.pop(key, None)
                case BudgetSeen(budget):
                    self._budgets[f"{budget.metadata.namespace}/{budget.metadata.name}"] = change
                case BudgetGone(key):
                    self._budgets.pop(key, None)
                case FactSeen(fact):
                    self._facts[address_of(fact)] = change
                case FactGone(kind, key):
                    self._facts.pop((kind, key), None)
                case _:
                    raise AssertionError(f"nothing is bound while another replica leads: {change}")

    def take(self) -> list[Change]:
        all_kept = (self._nodes, self._facts, self._groups, self._budgets, self._pods)
        taken = [change for kept in all_kept for change in kept.values()]
        for kept in all_kept:
            kept.clear()
        return taken
