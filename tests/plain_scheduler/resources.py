"""NodeResourcesFit and NodeResourcesBalancedAllocation."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.plain_scheduler.cluster import Machine
from tests.plain_scheduler.node_rules import Refusal
from tests.plain_scheduler.requests import is_scalar, requests, scored_when_new
from tests.plain_scheduler.selectors import Document


@dataclass(frozen=True)
class Strategy:
    """How resources are counted, by the arguments of NodeResourcesFit and NodeResourcesBalancedAllocation."""

    kind: str = "LeastAllocated"
    weights: Mapping[str, int] = field(default_factory=lambda: {"cpu": 1, "memory": 1})
    shape: Sequence[tuple[int, int]] = ()
    """(utilization in percent, score from 0 to 10), for the ratio only."""
    ignored: Sequence[str] = ()
    """Extended resources that pods need not have..."""
    ignored_groups: Sequence[str] = ()
    """...and what stands before the slash in names of others."""
    balanced: Sequence[str] = ("cpu", "memory")

    def ignores(self, resource: str) -> bool:
        group, slash, _ = resource.partition("/")
        is_extended = bool(slash) and "kubernetes.io/" not in resource
        return is_extended and (resource in self.ignored or group in self.ignored_groups)


def room_refuses(pod: Document, machine: Machine, strategy: Strategy) -> Refusal | None:
    reasons, is_final = [], False
    if len(machine.running) + 1 > machine.allocatable.get("pods", 0):
        reasons.append("Too many pods")
    for resource, needed in requests(pod).items():
        have = machine.allocatable.get(resource, 0)
        if strategy.ignores(resource):
            continue
        if needed > 0 and needed > have - machine.requested(resource):
            reasons.append(f"Insufficient {resource}")
            is_final |= needed > have
    return Refusal(tuple(reasons), is_final) if reasons else None


def fit(pod: Document, machine: Machine, strategy: Strategy) -> int:
    wanted = scored_when_new(pod)
    total = weight_sum = 0
    for resource, weight in strategy.weights.items():
        capacity = machine.allocatable.get(resource, 0)
        if capacity == 0 or (is_scalar(resource) and not wanted.get(resource, 0)):
            continue
        part = _part(machine.scored(resource) + wanted.get(resource, 0), capacity, strategy)
        if strategy.kind == "RequestedToCapacityRatio" and part <= 0:
            continue
        total += part * weight
        weight_sum += weight
    if weight_sum == 0:
        return 0
    if strategy.kind == "RequestedToCapacityRatio":
        return half_up(float(total) / float(weight_sum))
    return total // weight_sum


def _part(requested: int, capacity: int, strategy: Strategy) -> int:
    match strategy.kind:
        case "LeastAllocated":
            return 0 if requested > capacity else (capacity - requested) * 100 // capacity
        case "MostAllocated":
            return min(requested, capacity) * 100 // capacity
        case "RequestedToCapacityRatio":
            return _on_line(strategy.shape, 100 if requested > capacity else requested * 100 // capacity)
    raise ValueError(f"no such strategy: {strategy.kind}")


def _on_line(shape: Sequence[tuple[int, int]], percent: int) -> int:
    """The broken line through the points; level before the first and after the last."""
    points = [(utilization, score * 10) for utilization, score in shape]
    if percent <= points[0][0]:
        return points[0][1]
    for (left, low), (right, high) in itertools.pairwise(points):
        if percent <= right:
            # Go divides towards zero, also where the line falls
            return low + math.trunc((high - low) * (percent - left) / (right - left))
    return points[-1][1]


def balance(pod: Document, machine: Machine, strategy: Strategy) -> int:
    wanted = requests(pod)
    if not any(wanted.get(resource) for resource in strategy.balanced):
        return 0  # the plugin is skipped for such pods
    counted = [each for each in strategy.balanced if wanted.get(each) or not is_scalar(each)]
    return 50 + (50 + _evenness(machine, counted, wanted) - _evenness(machine, counted, {})) // 2


def _evenness(machine: Machine, counted: Sequence[str], more: Mapping[str, int]) -> int:
    fractions = []
    for resource in counted:
        if capacity := machine.allocatable.get(resource, 0):
            fraction = float(machine.requested(resource) + more.get(resource, 0)) / float(capacity)
            fractions.append(min(fraction, 1.0))
    deviation = 0.0
    if len(fractions) == 2:
        deviation = abs((fractions[0] - fractions[1]) / 2)
    elif len(fractions) > 2:
        mean, squares = 0.0, 0.0
        for fraction in fractions:
            mean += fraction
        mean /= float(len(fractions))
        for fraction in fractions:
            squares += (fraction - mean) * (fraction - mean)
        deviation = math.sqrt(squares / float(len(fractions)))
    return int((1 - deviation) * 100.0)


def half_up(value: float) -> int:
    """Go's math.Round: halves go away from zero."""
    whole = math.trunc(value)
    return whole + int(math.copysign(1, value)) if abs(value - whole) >= 0.5 else whole
