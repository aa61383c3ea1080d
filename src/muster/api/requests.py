"""What a pod takes from its node: containers, init containers, sidecars, overhead, pod-level resources.

Follows upstream's rule: the larger of what runs for good (containers and sidecars) and of each step of
the initialisation (one init container beside the sidecars started before it), plus overhead;
pod-level requests stand in the place of the sum for the resources they name.

A pod on a node may be in the middle of a resize: it then takes the most of what it asks for, of what its kubelet has
set aside for it and of what its containers have; of the latter two alone if its kubelet can never give more.

One pod has up to three sizes, and scores see two of them.  While a pod is being placed, NodeResourcesFit scores it
without what it asks for as a whole; once it is there, it counts for others with that.  So upstream has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import msgspec

from muster.api.wire import Amount, Container, ContainerStatus, PodSpec, PodStatus, Resources, condition
from muster.base.quantity import amount

Totals = dict[str, int]
_Of = Callable[[Container], Totals]

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
_UNKNOWN: Mapping[str, int] = {"cpu": UNKNOWN_CPU_MILLI, "memory": UNKNOWN_MEMORY_BYTES}
_NOTHING: Mapping[str, int] = {}


class Requests(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What filters and scores count for one pod; cpu in milli, everything else in whole units."""

    amounts: tuple[tuple[str, int], ...]
    """Resources with a request above zero, by name, as they were asked for."""
    scored_cpu_milli: int
    """cpu as scores of others count it once it is placed: containers that name none count as 100m."""
    scored_memory_bytes: int
    """memory as they count it: containers that name none count as 200Mi."""
    scored_when_new: tuple[tuple[str, int], ...] | None = None
    """All that its own score counts while it is being placed; None where that is the same."""


class Given(msgspec.Struct, frozen=True, gc=False):
    """What a pod's status says of its resources; nobody says anything of a pod that has no node."""

    containers: tuple[ContainerStatus, ...]
    allocated: dict[str, Amount]
    """What is set aside for the whole pod; empty if nobody says so."""
    actual: dict[str, Amount]
    """What the whole pod has."""
    is_told: bool
    """The status speaks of resources of the pod as a whole."""
    is_infeasible: bool
    """Its kubelet can never give it what it asks for."""


def given(spec: PodSpec, status: PodStatus) -> Given | None:
    """What the status says of resources; None where that is nothing.

    Upstream counts nothing at all for a pod that has no word of its containers but that it cannot be resized; here
    such a pod counts with what it asks for.
    """
    if not spec.node_name:
        return None
    is_told = status.resources is not None
    if not (status.container_statuses or status.init_container_statuses or is_told or status.allocated_resources):
        return None
    containers = (*status.container_statuses, *status.init_container_statuses)
    pending = condition(status.conditions, "PodResizePending")
    return Given(
        containers=tuple(each for each in containers if each.allocated_resources or each.resources is not None),
        allocated=status.allocated_resources,
        actual={} if status.resources is None else status.resources.requests,
        is_told=is_told,
        is_infeasible=pending is not None and pending.reason == "Infeasible",
    )


def effective_requests(spec: PodSpec, status: Given | None = None) -> Requests:
    """The requests of a whole pod."""
    asked = _pod_level(spec)
    real = _total(spec, status, asked, unknown=_NOTHING)
    # what a pod with requests of its own asks for anywhere is not unknown in any container
    unknown = {name: count for name, count in _UNKNOWN.items() if name not in real} if asked else _UNKNOWN
    scored = _total(spec, status, asked, unknown=unknown) if unknown else real
    new = _sum(_together(spec, lambda one: _requested(one, _UNKNOWN)), _quantities(spec.overhead)) if asked else None
    return Requests(
        amounts=_listed(real, _INT64_MAX),
        scored_cpu_milli=min(max(0, scored.get("cpu", 0)), TOO_MUCH),
        scored_memory_bytes=min(max(0, scored.get("memory", 0)), TOO_MUCH),
        scored_when_new=None if new is None else _listed(new, TOO_MUCH),
    )


def _listed(totals: Totals, most: int) -> tuple[tuple[str, int], ...]:
    return tuple(sorted((name, min(count, most)) for name, count in totals.items() if count > 0))


def _total(spec: PodSpec, status: Given | None, asked: Totals, *, unknown: Mapping[str, int]) -> Totals:
    running = _together(spec, lambda one: _requested(one, unknown))
    if status is not None:
        running = _most([*_given(spec, status, unknown), *([] if status.is_infeasible else [running])])
        if asked and status.is_told:
            whole = [_quantities(status.actual), _quantities(status.allocated)]
            asked = _most([*whole, *([] if status.is_infeasible else [asked])])
            asked = {name: count for name, count in asked.items() if _may_be_pod_level(name)}
    return _sum(running | asked, _quantities(spec.overhead))


def _together(spec: PodSpec, of: _Of) -> Totals:
    """What the containers take at most at one time."""
    running: Totals = {}
    for container in spec.containers:
        _add(running, of(container))
    sidecars: Totals = {}
    peak: Totals = {}
    for container in spec.init_containers:
        step = of(container)
        if container.restart_policy == "Always":
            _add(running, step)
            _add(sidecars, step)
            step = {}
        _raise_to(peak, _sum(sidecars, step))
    _raise_to(running, peak)
    return running


# --- what is given to a pod on a node ---


def _given(spec: PodSpec, status: Given, unknown: Mapping[str, int]) -> Iterable[Totals]:
    """What is set aside for the pod, and what it has.

    Upstream adds the overhead to what the status says of the whole pod, though that has it already.
    """
    if status.allocated and status.actual:
        return _quantities(status.allocated), _quantities(status.actual)
    by_name = {each.name: each for each in reversed(status.containers)}

    def allocated(one: Container) -> Totals:
        there = by_name.get(one.name)
        if there is not None and there.allocated_resources:
            return {**unknown, **_quantities(there.allocated_resources)}
        return dict(unknown) if status.is_infeasible else _requested(one, unknown)

    def actual(one: Container) -> Totals:
        there = by_name.get(one.name)
        if there is not None and there.resources is not None and there.resources.requests:
            return {**unknown, **_quantities(there.resources.requests)}
        return allocated(one)

    return _together(spec, allocated), _together(spec, actual)


# --- what a pod asks for ---


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


def _requested(container: Container, unknown: Mapping[str, int]) -> Totals:
    return {**unknown, **_amounts(container.resources)}


def _amounts(resources: Resources) -> Totals:
    """Requests, with the limit where only that is given (the API server's own defaulting)."""
    return _quantities({**resources.limits, **resources.requests})


def _quantities(listed: dict[str, Amount]) -> Totals:
    return {name: amount(name, text) for name, text in listed.items()}


# --- sums ---


def _sum(left: Totals, right: Totals) -> Totals:
    total = dict(left)
    _add(total, right)
    return total


def _most(listed: Iterable[Totals]) -> Totals:
    most: Totals = {}
    for one in listed:
        _raise_to(most, one)
    return most


def _add(total: Totals, more: Totals) -> None:
    for name, count in more.items():
        total[name] = total.get(name, 0) + count


def _raise_to(total: Totals, floor: Totals) -> None:
    for name, count in floor.items():
        total[name] = max(total.get(name, 0), count)
