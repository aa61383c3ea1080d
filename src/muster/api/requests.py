"""What a pod takes from its node: containers, init containers, sidecars, overhead, pod-level resources.

Follows upstream's rule: the larger of what runs for good (containers and sidecars) and of each step of
the initialisation (one init container beside the sidecars started before it), plus overhead;
pod-level requests stand in the place of the sum for the resources they name.
"""

from __future__ import annotations

import msgspec

from muster.api.wire import Amount, Container, PodSpec, Resources
from muster.base.quantity import amount

Totals = dict[str, int]

# Scores count an unknown container as this much, or pods without requests would all land on one node
UNKNOWN_CPU_MILLI = 100
UNKNOWN_MEMORY_BYTES = 200 * 1024 * 1024
MOST = (1 << 53) - 1
"""Of one resource a node is counted to have no more than this: 8Pi bytes, nine trillion cpus.

Columns are 64-bit integers that nobody checks for overflow: scores multiply by up to 1023, a thousand pods add up on a
node, and waiting classes are kept in floats, which are exact up to here.
"""
TOO_MUCH = MOST + 1
"""What a request above MOST is counted as: more than every node, whatever that node has."""
_INT64_MAX = 2**63 - 1


class Requests(msgspec.Struct, frozen=True, gc=False):
    """What filters and scores count for one pod; cpu in milli, everything else in whole units."""

    amounts: tuple[tuple[str, int], ...]
    """Resources with a request above zero, by name, as they were asked for."""
    scored_cpu_milli: int
    """cpu as LeastAllocated counts it: containers that name none count as 100m."""
    scored_memory_bytes: int
    """memory as LeastAllocated counts it: containers that name none count as 200Mi."""


def effective_requests(spec: PodSpec) -> Requests:
    """The requests of a whole pod."""
    real = _pod_totals(spec, unknown={})
    scored = _pod_totals(spec, unknown={"cpu": UNKNOWN_CPU_MILLI, "memory": UNKNOWN_MEMORY_BYTES})
    return Requests(
        amounts=tuple(sorted((name, min(count, _INT64_MAX)) for name, count in real.items() if count > 0)),
        scored_cpu_milli=min(max(0, scored.get("cpu", 0)), TOO_MUCH),
        scored_memory_bytes=min(max(0, scored.get("memory", 0)), TOO_MUCH),
    )


def _pod_totals(spec: PodSpec, *, unknown: Totals) -> Totals:
    running: Totals = {}
    for container in spec.containers:
        _add(running, _requested(container, unknown))
    sidecars: Totals = {}
    peak: Totals = {}
    for container in spec.init_containers:
        step = _requested(container, unknown)
        if container.restart_policy == "Always":
            _add(running, step)
            _add(sidecars, step)
            step = {}
        _raise_to(peak, _sum(sidecars, step))
    _raise_to(running, peak)
    running.update(_pod_level(spec))
    _add(running, _quantities(spec.overhead))
    return running


def _pod_level(spec: PodSpec) -> Totals:
    """Requests of the pod as a whole; a limit stands for one where no container requests the resource."""
    if spec.resources is None:
        return {}
    named = {name for c in (*spec.containers, *spec.init_containers) for name in _amounts(c.resources)}
    limits = {name: limit for name, limit in spec.resources.limits.items() if name not in named}
    listed = _quantities({**limits, **spec.resources.requests})
    return {name: count for name, count in listed.items() if _may_be_pod_level(name)}


def _may_be_pod_level(resource: str) -> bool:
    return resource in ("cpu", "memory") or resource.startswith("hugepages-")


def _requested(container: Container, unknown: Totals) -> Totals:
    return {**unknown, **_amounts(container.resources)}


def _amounts(resources: Resources) -> Totals:
    """Requests, with the limit where only that is given (the API server's own defaulting)."""
    return _quantities({**resources.limits, **resources.requests})


def _quantities(listed: dict[str, Amount]) -> Totals:
    return {name: amount(name, text) for name, text in listed.items()}


def _sum(left: Totals, right: Totals) -> Totals:
    total = dict(left)
    _add(total, right)
    return total


def _add(total: Totals, more: Totals) -> None:
    for name, count in more.items():
        total[name] = total.get(name, 0) + count


def _raise_to(total: Totals, floor: Totals) -> None:
    for name, count in floor.items():
        total[name] = max(total.get(name, 0), count)
