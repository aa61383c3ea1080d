"""Counts the members of a gang."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from msgspec.structs import replace

from muster.cluster.pods import BOUND, FAILED, PENDING, SUCCEEDED, PodState
from muster.gangs.tally import Tally


def tally(members: Iterable[PodState]) -> Tally:
    """How many of these are where, in all and by subset."""
    pods = list(members)
    subsets: dict[str, list[PodState]] = {}
    for pod in pods:
        subsets.setdefault(pod.subset, []).append(pod)
    parts = {name: _count(subsets[name]) for name in sorted(subsets)}
    # most gangs have one
    whole = next(iter(parts.values())) if len(parts) == 1 else _count(pods)
    return replace(whole, subsets=parts)


def _count(pods: list[PodState]) -> Tally:
    stages = Counter(pod.stage for pod in pods)
    oldest = min((pod for pod in pods if pod.owners), key=lambda pod: (pod.created, pod.key), default=None)
    return Tally(
        total=len(pods),
        bound=sum(pod.stage is BOUND and not pod.leaving for pod in pods),
        running=sum(pod.running for pod in pods),
        succeeded=stages[SUCCEEDED],
        failed=stages[FAILED],
        reasons=Counter(pod.said[0] for pod in pods if pod.stage is PENDING and pod.said is not None),
        owners="" if oldest is None else oldest.owners,
        first_bound_at=min((pod.bound_at for pod in pods if pod.bound_at is not None), default=None),
    )
