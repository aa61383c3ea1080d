"""Disruption budgets as evictions of pods meet them."""

from __future__ import annotations

import msgspec

from muster.api.times import stamp
from muster.base.selectors import LabelSelector
from muster.local.codec.values import Object
from muster.local.kinds import status
from muster.local.kinds.registry import Registry
from muster.local.objects.objects import Objects
from muster.local.objects.owners import SERVER, Noted
from muster.local.store.store import Stored

_MOST_DISRUPTED = 2000
_RETRY_SECONDS = 10
_NO = "Cannot evict pod as it would violate the pod's disruption budget."

_decode = msgspec.json.Decoder().decode


class Budgets:
    """Takes an eviction off the budget of its pod, or refuses it."""

    def __init__(self, objects: Objects, registry: Registry, *, now: float) -> None:
        found = registry.find("policy", "v1", "poddisruptionbudgets")
        assert found is not None
        self._objects = objects
        self._served = found
        self._now = now

    def allow(self, pod: Object) -> None:
        meta = pod["metadata"]
        found = [
            stored
            for stored in self._objects.store.list(self._served.storage, meta["namespace"])
            if _covers(stored, pod)
        ]
        if len(found) > 1:
            words = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
            raise status.Refusal(500, "", words)
        for stored in found:
            budget = _decode(stored.data)
            if not _spares(budget, pod):
                self._take(stored, budget, meta["name"])

    def _take(self, stored: Stored, budget: Object, pod: str) -> None:
        state, name = budget.setdefault("status", {}), stored.name
        if state.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
            words = f"The disruption budget {name} is still being processed by the server."
            raise _refusal(words, retry_after=_RETRY_SECONDS)
        allowed = state.get("disruptionsAllowed", 0)
        if allowed < 0:
            raise status.forbidden(self._served.kind, name, "pdb disruptions allowed is negative")
        if len(state.get("disruptedPods", ())) > _MOST_DISRUPTED:
            words = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
            raise status.forbidden(self._served.kind, name, words)
        if allowed == 0:
            healthy, needed = state.get("currentHealthy", 0), state.get("desiredHealthy", 0)
            words = f"The disruption budget {name} does not allow evicting pods currently"
            if healthy <= needed:
                words = f"The disruption budget {name} needs {needed} healthy pods and has {healthy} currently"
            raise _refusal(words)
        state["disruptionsAllowed"] = allowed - 1
        state.setdefault("disruptedPods", {})[pod] = stamp(self._now)
        if allowed == 1:
            _set_not_allowed(budget, self._now)
        noted = Noted(self._served, manager=SERVER, now=self._now, subresource="status")
        self._objects.rewrite(self._served, stored, noted.note(_decode(stored.data), budget))


def _covers(stored: Stored, pod: Object) -> bool:
    selector = _decode(stored.data)["spec"].get("selector")
    if selector is None:
        return False
    labels: dict[str, str] = pod["metadata"].get("labels", {})
    return msgspec.convert(selector, LabelSelector).matches(labels)


def _spares(budget: Object, pod: Object) -> bool:
    """Whether a pod that is not ready may go, whatever the budget says."""
    conditions = pod.get("status", {}).get("conditions", ())
    if any(one["type"] == "Ready" and one["status"] == "True" for one in conditions):
        return False
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    state = budget.get("status", {})
    healthy, needed = state.get("currentHealthy", 0), state.get("desiredHealthy", 0)
    return bool(healthy >= needed > 0)


def _set_not_allowed(budget: Object, now: float) -> None:
    conditions = budget["status"].setdefault("conditions", [])
    condition = {
        "type": "DisruptionAllowed",
        "status": "False",
        "observedGeneration": budget["status"]["observedGeneration"],
        "lastTransitionTime": stamp(now),
        "reason": "InsufficientPods",
        "message": "",
    }
    conditions[:] = [one for one in conditions if one["type"] != condition["type"]] + [condition]


def _refusal(words: str, *, retry_after: int | None = None) -> status.Refusal:
    causes = [{"reason": "DisruptionBudget", "message": words}]
    return status.too_many_requests(_NO, retry_after=retry_after, causes=causes)
