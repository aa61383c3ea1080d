"""Disruption budgets: how many pods that somebody selects may still be disrupted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from muster.api.wire import PodDisruptionBudget
from muster.cluster.pods import PodState


class Budgets:
    """All budgets, by namespace; what they allow is what their controller wrote last."""

    def __init__(self) -> None:
        self._by_namespace: dict[str, dict[str, PodDisruptionBudget]] = {}

    def put(self, budget: PodDisruptionBudget) -> None:
        self._by_namespace.setdefault(budget.metadata.namespace, {})[budget.metadata.name] = budget

    def remove(self, key: str) -> None:
        namespace, _, name = key.partition("/")
        self._by_namespace.get(namespace, {}).pop(name, None)

    def __bool__(self) -> bool:
        return any(self._by_namespace.values())

    def account(self) -> Account:
        """A fresh account of what may be disrupted."""
        return Account(self._by_namespace)


class Account:
    """What is left of the budgets while pods are disrupted one after another."""

    def __init__(self, by_namespace: dict[str, dict[str, PodDisruptionBudget]]) -> None:
        self._by_namespace = by_namespace
        self._spent: Counter[tuple[str, str]] = Counter()

    def overdraws(self, pods: Iterable[PodState]) -> bool:
        """Disrupts the pods together; whether some budget does not allow that."""
        over = False
        for pod in pods:
            namespace, _, name = pod.key.partition("/")
            for budget in self._by_namespace.get(namespace, {}).values():
                selector = budget.spec.selector
                if selector is None or not selector.matches(pod.labels):
                    continue
                if name in budget.status.disrupted_pods:
                    continue
                key = namespace, budget.metadata.name
                self._spent[key] += 1
                over = over or self._spent[key] > budget.status.disruptions_allowed
        return over
