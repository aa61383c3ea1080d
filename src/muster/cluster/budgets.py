"""Disruption budgets: how many pods that somebody selects may still be disrupted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from enum import IntEnum

from muster.api.wire import PodDisruptionBudget
from muster.cluster.pods import PodState

# of pods that look different to budgets it is remembered which of these select them
_MOST_LOOKS = 10_000


class Budgets:
    """All budgets, by namespace; what they allow is what their controller wrote last."""

    def __init__(self) -> None:
        self._by_namespace: dict[str, dict[str, PodDisruptionBudget]] = {}
        self.version = 0
        """Changes with every budget."""
        self._reads: dict[str, tuple[str, ...]] = {}
        """Label keys that the budgets of a namespace read."""
        self._matching: dict[tuple[str, tuple[str | None, ...]], list[PodDisruptionBudget]] = {}
        """Budgets that select pods with these values of those labels, as far as somebody has asked."""

    def put(self, budget: PodDisruptionBudget) -> None:
        namespace = budget.metadata.namespace
        self._by_namespace.setdefault(namespace, {})[budget.metadata.name] = budget
        self._changed(namespace)

    def remove(self, key: str) -> None:
        namespace, _, name = key.partition("/")
        self._by_namespace.get(namespace, {}).pop(name, None)
        self._changed(namespace)

    def _changed(self, namespace: str) -> None:
        self.version += 1
        self._reads[namespace] = _keys(self._by_namespace.get(namespace, {}).values())
        self._matching.clear()

    def __bool__(self) -> bool:
        return any(self._by_namespace.values())

    def account(self) -> Account:
        """A fresh account of what may be disrupted."""
        return Account(self)

    def selecting(self, namespace: str, pod: PodState) -> list[PodDisruptionBudget]:
        """Budgets that count the pod."""
        keys = self._reads.get(namespace)
        if keys is None:
            return []
        seen = namespace, tuple([pod.labels.get(key) for key in keys])
        found = self._matching.get(seen)
        if found is None:
            budgets = self._by_namespace[namespace].values()
            found = [b for b in budgets if b.spec.selector is not None and b.spec.selector.matches(pod.labels)]
            if len(self._matching) >= _MOST_LOOKS:
                self._matching.clear()
            self._matching[seen] = found
        return found


class Ruling(IntEnum):
    """Larger for what is worse."""

    ALLOWED = 0
    OVERDRAWN = 1
    """Allowed if others were not disrupted before."""
    FORBIDDEN = 2


class Account:
    """What is left of the budgets while pods are disrupted one after another."""

    def __init__(self, budgets: Budgets) -> None:
        self._budgets = budgets
        self._spent: Counter[tuple[str, str]] = Counter()

    def disrupts(self, pods: Iterable[PodState]) -> Ruling:
        """Disrupts the pods together; what the budgets say to that."""
        ruling = Ruling.ALLOWED
        for pod in pods:
            namespace, _, name = pod.key.partition("/")
            for budget in self._budgets.selecting(namespace, pod):
                if name in budget.status.disrupted_pods:
                    continue
                key, allowed = (namespace, budget.metadata.name), budget.status.disruptions_allowed
                self._spent[key] += 1
                if self._spent[key] > allowed:
                    ruling = max(ruling, Ruling.OVERDRAWN if allowed > 0 else Ruling.FORBIDDEN)
        return ruling


def _keys(budgets: Iterable[PodDisruptionBudget]) -> tuple[str, ...]:
    """Label keys that decide which of the budgets select a pod."""
    selectors = [budget.spec.selector for budget in budgets if budget.spec.selector is not None]
    keys = {key for selector in selectors for key in selector.match_labels}
    keys |= {requirement.key for selector in selectors for requirement in selector.match_expressions}
    return tuple(sorted(keys))
