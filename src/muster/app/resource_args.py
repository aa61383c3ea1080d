"""Arguments of the plugins that count resources: NodeResourcesFit and NodeResourcesBalancedAllocation.

What upstream refuses is refused, and nothing else.
"""

from __future__ import annotations

from itertools import pairwise

from muster.app.document import Value, advice
from muster.local.checks.names import qualified_problems
from muster.plugins.node_resources_fit import Strategy
from muster.plugins.registry import BalancedArgs, FitArgs

__all__ = ["BALANCED_FIELDS", "FIT_FIELDS", "balanced_args", "fit_args", "read_shape"]

FIT_FIELDS = ("ignoredResources", "ignoredResourceGroups", "scoringStrategy")
BALANCED_FIELDS = ("resources",)

_RATIO = "requestedToCapacityRatio"
_PLAIN = {"cpu": 1, "memory": 1}


def fit_args(fields: dict[str, Value]) -> FitArgs:
    ignored = _names(fields["ignoredResources"]) if "ignoredResources" in fields else ()
    groups = _names(fields["ignoredResourceGroups"], groups=True) if "ignoredResourceGroups" in fields else ()
    if "scoringStrategy" not in fields:
        return FitArgs(ignored=ignored, ignored_groups=groups)
    scoring = fields["scoringStrategy"].fields(("type", "resources", _RATIO))
    strategy = _strategy(scoring["type"]) if "type" in scoring else Strategy.LEAST_ALLOCATED
    weights: dict[str, int] = {}
    for name, weight, _ in _resources(scoring["resources"]) if "resources" in scoring else ():
        # whoever lists a resource twice gives it both weights
        weights[name] = weights.get(name, 0) + weight
    return FitArgs(
        strategy=strategy,
        weights={} if weights == _PLAIN else weights,
        shape=_shape(fields["scoringStrategy"], scoring.get(_RATIO), strategy),
        ignored=ignored,
        ignored_groups=groups,
    )


def balanced_args(fields: dict[str, Value]) -> BalancedArgs:
    if "resources" not in fields or fields["resources"].empty:
        return BalancedArgs()
    found: list[str] = []
    for name, weight, item in _resources(fields["resources"]):
        if name in found:
            raise item.error(f"{name} is given twice", hint="keep one of them")
        if weight != 1:
            raise item.error(f"the weight of {name} must be 1, not {weight}", hint="leave it out")
        found.append(name)
    return BalancedArgs(resources=tuple(found))


def _names(value: Value, *, groups: bool = False) -> tuple[str, ...]:
    found = []
    for item in value.items():
        name = item.text()
        if groups and "/" in name:
            raise item.error(f"a group has no slash, and '{name}' does", hint="write what stands before it")
        if qualified_problems(name):
            raise item.error(f"'{name}' is no name of a {'group' if groups else 'resource'}")
        found.append(name)
    return tuple(found)


def _strategy(value: Value) -> Strategy:
    text = value.text()
    try:
        return Strategy(text)
    except ValueError:
        raise value.error(f"there is no strategy {text}", hint=advice(text, list(Strategy))) from None


def _resources(value: Value) -> list[tuple[str, int, Value]]:
    """Names and weights, each with its place."""
    found = []
    for item in value.items():
        fields = item.fields(("name", "weight"))
        if "name" not in fields:
            raise item.error("needs a name")
        # as upstream: 0 stands for the default
        weight = (fields["weight"].integer(least=0, most=100) if "weight" in fields else 0) or 1
        found.append((fields["name"].text(), weight, item))
    return found


def _shape(scoring: Value, ratio: Value | None, strategy: Strategy) -> tuple[tuple[int, int], ...]:
    needed = strategy is Strategy.REQUESTED_TO_CAPACITY_RATIO
    if ratio is None:
        if needed:
            raise scoring.error(f"{strategy} needs {_RATIO}", hint="give it a shape with at least one point")
        return ()
    if not needed:
        raise ratio.error(f"is of no use with {strategy}", hint="leave it out")
    shape = ratio.fields(("shape",)).get("shape")
    if shape is None or shape.empty:
        raise (shape or ratio).error("needs a shape with at least one point")
    return read_shape(shape)


def read_shape(shape: Value) -> tuple[tuple[int, int], ...]:
    """Points of a curve: per cent in use, and the score from 0 to 10."""
    points = [item.fields(("utilization", "score")) for item in shape.items()]
    used = [point["utilization"].integer(most=100) if "utilization" in point else 0 for point in points]
    for item, (before, after) in zip(shape.items()[1:], pairwise(used), strict=True):
        if before >= after:
            raise item.error(f"utilization must be more than that of the point before, {before}, not {after}")
    scores = [point["score"].integer(most=10) if "score" in point else 0 for point in points]
    return tuple(zip(used, scores, strict=True))
