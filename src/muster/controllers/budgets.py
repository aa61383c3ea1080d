"""Disruption budgets: how many pods each lets go now, as far as that can be told."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from math import ceil
from typing import Any

import msgspec

from muster.api.calls import Answer, Asked, Done, Look, Patch, Refused, Say
from muster.api.resources import DISRUPTION_BUDGETS, PODS, Resource
from muster.api.times import seconds, stamp
from muster.api.wire import Condition, Wire, condition
from muster.base.selectors import LabelSelector
from muster.controllers.desk import Again, AtDesks, Desk
from muster.controllers.desk import Look as Looking
from muster.controllers.objects import Metadata, OwnerReference, Pod, event, read

_COMPONENT = "controllermanager"
_ALLOWED = "DisruptionAllowed"
# a pod that was let go and is still there after this will not go; the same for the word that it will
_DISRUPTION_SECONDS = 120.0

Steps = Generator[Sequence[Asked], Sequence[Answer], Any]


class BudgetSpec(Wire, frozen=True):
    min_available: int | str | None = None
    max_unavailable: int | str | None = None
    selector: LabelSelector | None = None
    """None selects no pod, an empty one all of the namespace."""


class BudgetStatus(Wire, frozen=True):
    disruptions_allowed: int = 0
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0
    observed_generation: int = 0
    disrupted_pods: dict[str, str] = msgspec.field(default_factory=dict)
    """Pods that were evicted and are not gone yet, by name, and since when."""
    conditions: tuple[Condition, ...] = ()


class Budget(Wire, frozen=True):
    metadata: Metadata
    spec: BudgetSpec = BudgetSpec()
    status: BudgetStatus = BudgetStatus()

    def selects(self, pod: Pod) -> bool:
        return self.spec.selector is not None and self.spec.selector.matches(pod.metadata.labels)


class _Scale(Wire, frozen=True):
    metadata: Metadata
    spec: dict[str, int] = msgspec.field(default_factory=dict)


class _Unknowable(Exception):
    """Why it cannot be told how many pods there should be."""


class Budgets(AtDesks):
    """Keeps the status of each budget up to date with its pods.  Kinds of controllers are told by `serve`."""

    def __init__(self) -> None:
        self._budgets: dict[str, Budget] = {}
        self._pods: dict[str, Pod] = {}
        self._in_namespace: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
        """Keys of budgets and of pods."""
        self._kinds: dict[tuple[str, str], Resource] = {}
        self._desk = Desk(self._look)
        self._stale = Desk(self._clear)
        """Pods of which it is said that they will go."""
        super().__init__(self._desk, self._stale)

    def serve(self, resources: Iterable[Resource]) -> None:
        self._kinds = {(one.group, one.kind): one for one in resources}

    def seen(self, where: str, thing: Budget | Pod) -> None:
        key = thing.metadata.key
        budgets, pods = self._in_namespace.setdefault(thing.metadata.namespace, ({}, {}))
        if isinstance(thing, Budget):
            self._budgets[key] = thing
            budgets[key] = None
            self._desk.add(key)
            return
        before = self._pods.get(key)
        self._pods[key] = thing
        pods[key] = None
        self._wake(thing)
        if before is not None and before.metadata.labels != thing.metadata.labels:
            self._wake(before)
        if condition(thing.status.conditions, "DisruptionTarget") is not None:
            self._stale.add(key)

    def gone(self, where: str, thing: Budget | Pod) -> None:
        key = thing.metadata.key
        budgets, pods = self._in_namespace.get(thing.metadata.namespace, ({}, {}))
        if isinstance(thing, Budget):
            self._budgets.pop(key, None)
            budgets.pop(key, None)
        else:
            self._pods.pop(key, None)
            pods.pop(key, None)
            self._wake(thing)

    def _wake(self, pod: Pod) -> None:
        for key in self._in_namespace[pod.metadata.namespace][0]:
            if self._budgets[key].selects(pod):
                self._desk.add(key)

    # --- budgets ---

    def _look(self, key: str) -> Looking:
        budget = self._budgets.get(key)
        if budget is None:
            return
        names = self._in_namespace[budget.metadata.namespace][1]
        pods = [self._pods[name] for name in sorted(names) if budget.selects(self._pods[name])]
        if not pods:
            yield [_say(budget, "NoPods", "No matching pods found")]
        try:
            expected, desired, unmanaged = yield from self._expected(budget, pods)
        except _Unknowable as why:
            words = f"Failed to calculate the number of expected pods: {why}"
            yield [_say(budget, "CalculateExpectedPodCountFailed", words, warning=True)]
            yield self._fail_safe(budget, str(why))
            return
        if unmanaged:
            yield [_say(budget, "UnmanagedPods", _unmanaged_words(budget), warning=True)]
        disrupted, said = self._disrupted(budget, pods, key)
        yield said
        healthy = sum(
            pod.metadata.deletion_timestamp is None and pod.metadata.name not in disrupted and pod.is_ready
            for pod in pods
        )
        yield self._update(budget, healthy=healthy, desired=desired, expected=expected, disrupted=disrupted)

    def _expected(self, budget: Budget, pods: list[Pod]) -> Steps:
        """How many pods there should be, how many of them healthy, and whether some have no controller."""
        spec = budget.spec
        if spec.max_unavailable is not None:
            expected, unmanaged = yield from self._scale_of(pods)
            return expected, max(0, expected - _share(spec.max_unavailable, expected)), unmanaged
        if isinstance(spec.min_available, str):
            expected, unmanaged = yield from self._scale_of(pods)
            return expected, _share(spec.min_available, expected), unmanaged
        if spec.min_available is not None:
            return len(pods), spec.min_available, False
        return 0, 0, False

    def _scale_of(self, pods: list[Pod]) -> Steps:
        scales: dict[str, int] = {}
        unmanaged = False
        for pod in pods:
            owner = pod.metadata.controller
            if owner is None:
                unmanaged = True
            elif owner.uid not in scales:
                scale = yield from self._ask_scale(owner, pod)
                scales[owner.uid] = scale
        return sum(scales.values()), unmanaged

    def _ask_scale(self, owner: OwnerReference, pod: Pod) -> Steps:
        group = owner.api_version.rpartition("/")[0]
        resource = self._kinds.get((group, owner.kind))
        if resource is None:
            raise _Unknowable(f'no matches for kind "{owner.kind}" in version "{owner.api_version}"')
        [answer] = yield [Look(path=resource.path(pod.metadata.namespace, owner.name, "scale"), told=True)]
        found = read(_Scale, answer.data) if isinstance(answer, Done) else None
        if found is not None and found.metadata.uid == owner.uid:
            return found.spec.get("replicas", 0)
        if isinstance(answer, Refused) and answer.code == 404:
            # it is the owner that is not there, or its kind has no such thing as a scale
            [answer] = yield [Look(path=resource.path(pod.metadata.namespace, owner.name), told=True)]
            if isinstance(answer, Done):
                raise _Unknowable(f"{resource.name} does not implement the scale subresource")
        if isinstance(answer, Done) or (isinstance(answer, Refused) and answer.code == 404):
            raise _Unknowable(f'found no controllers for pod "{pod.metadata.name}"')
        raise Again

    def _disrupted(self, budget: Budget, pods: list[Pod], key: str) -> tuple[dict[str, str], list[Say]]:
        """Pods that were let go and are about to; those that take too long are said to have stayed."""
        kept: dict[str, str] = {}
        said: list[Say] = []
        for pod in pods:
            since = budget.status.disrupted_pods.get(pod.metadata.name)
            if since is None or pod.metadata.deletion_timestamp is not None:
                continue
            until = seconds(since) + _DISRUPTION_SECONDS
            if until < self._desk.now:
                namespace = budget.metadata.namespace
                # upstream's own words, which name the namespace twice
                words = f"Pod was expected by PDB {namespace}/{namespace} to be deleted but it wasn't"
                said.append(_say(pod, "NotDeleted", words, warning=True))
            else:
                kept[pod.metadata.name] = since
                self._desk.add(key, at=until + 0.001)
        return kept, said

    def _update(
        self, budget: Budget, *, healthy: int, desired: int, expected: int, disrupted: dict[str, str]
    ) -> list[Patch]:
        status = budget.status
        # a budget without pods allows nothing: its first pod would be fair game before it is counted
        allowed = max(0, healthy - desired) if expected > 0 else 0
        generation = budget.metadata.generation
        new = BudgetStatus(
            disruptions_allowed=allowed,
            current_healthy=healthy,
            desired_healthy=desired,
            expected_pods=expected,
            observed_generation=generation,
            disrupted_pods=disrupted,
            conditions=self._with_condition(
                status.conditions, "SufficientPods" if allowed else "InsufficientPods", "", generation=generation
            ),
        )
        return [] if new == status else [_write(budget, new)]

    def _fail_safe(self, budget: Budget, why: str) -> list[Patch]:
        status = budget.status
        conditions = self._with_condition(status.conditions, "SyncFailed", why, generation=status.observed_generation)
        new = msgspec.structs.replace(status, disruptions_allowed=0, conditions=conditions)
        return [] if new == status else [_write(budget, new)]

    def _with_condition(
        self, before: tuple[Condition, ...], reason: str, message: str, *, generation: int
    ) -> tuple[Condition, ...]:
        status = "True" if reason == "SufficientPods" else "False"
        known = condition(before, _ALLOWED)
        kept = known.last_transition_time if known is not None and known.status == status else None
        said = Condition(
            type=_ALLOWED,
            status=status,
            reason=reason,
            message=message,
            observed_generation=generation or None,
            last_transition_time=kept or stamp(self._desk.now),
        )
        if known is None:
            return (*before, said)
        return tuple(said if one.type == _ALLOWED else one for one in before)

    # --- pods that were to go, and stay ---

    def _clear(self, key: str) -> Looking:
        pod = self._pods.get(key)
        said = condition(pod.status.conditions, "DisruptionTarget") if pod is not None else None
        if pod is None or said is None or pod.is_over or pod.metadata.deletion_timestamp is not None:
            return
        if said.status != "True" or said.reason == "TerminationByKubelet":
            return
        until = seconds(said.last_transition_time or "") + _DISRUPTION_SECONDS
        if until > self._stale.now:
            self._stale.add(key, at=until)
            return
        cleared = {
            "type": "DisruptionTarget",
            "status": "False",
            "reason": None,
            "message": None,
            "lastTransitionTime": stamp(self._stale.now),
        }
        body = {"metadata": {"uid": pod.metadata.uid}, "status": {"conditions": [cleared]}}
        path = PODS.path(pod.metadata.namespace, pod.metadata.name, "status")
        yield [Patch(path=path, body=body, strategic=True)]


def _share(value: int | str, total: int) -> int:
    """A number, or a percentage of the total, rounded up."""
    if isinstance(value, int):
        return value
    return ceil(int(value.removesuffix("%")) * total / 100)


def _write(budget: Budget, status: BudgetStatus) -> Patch:
    meta = budget.metadata
    disrupted: dict[str, str | None] = dict.fromkeys(budget.status.disrupted_pods)
    body = {
        "metadata": {"uid": meta.uid, "resourceVersion": meta.resource_version},
        "status": {
            "disruptionsAllowed": status.disruptions_allowed,
            "currentHealthy": status.current_healthy,
            "desiredHealthy": status.desired_healthy,
            "expectedPods": status.expected_pods,
            "observedGeneration": status.observed_generation,
            # null takes away what was there before
            "disruptedPods": {**disrupted, **status.disrupted_pods},
            "conditions": [{"message": "", **msgspec.to_builtins(one)} for one in status.conditions],
        },
    }
    return Patch(path=DISRUPTION_BUDGETS.path(meta.namespace, meta.name, "status"), body=body)


def _say(about: Budget | Pod, reason: str, message: str, *, warning: bool = False) -> Say:
    resource = DISRUPTION_BUDGETS if isinstance(about, Budget) else PODS
    return event(_COMPONENT, resource, about.metadata, reason=reason, message=message, warning=warning)


def _unmanaged_words(budget: Budget) -> str:
    selector = budget.spec.selector or LabelSelector()
    labels = "".join(f"{key}: {value}," for key, value in sorted(selector.match_labels.items()))
    expressions = "".join(
        f"LabelSelectorRequirement{{Key:{one.key},Operator:{one.operator},Values:[{' '.join(one.values)}],}},"
        for one in selector.match_expressions
    )
    shown = (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )
    return (
        f"Pods selected by this PodDisruptionBudget (selector: {shown}) were found to be unmanaged. As a result, the "
        "status of the PDB cannot be calculated correctly, which may result in undefined behavior. To account for "
        'these pods please set ".spec.minAvailable" field of the PDB to an integer value.'
    )
