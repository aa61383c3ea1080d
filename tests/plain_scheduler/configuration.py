"""The configuration of kube-scheduler, and of Muster beside it."""

from collections.abc import Iterable, Mapping
from typing import Any

from tests.plain_scheduler.random_clusters import STRATEGIES
from tests.plain_scheduler.resources import Strategy
from tests.plain_scheduler.selectors import Document
from tests.plain_scheduler.spread import LISTS


def configuration() -> Document:
    """Of both schedulers: fields of a KubeSchedulerConfiguration."""
    profiles = [
        {
            "schedulerName": name,
            "pluginConfig": [
                {"name": "NodeResourcesFit", "args": _fit_args(strategy)},
                {"name": "NodeResourcesBalancedAllocation", "args": {"resources": _resources(strategy.balanced)}},
            ],
        }
        for name, strategy in STRATEGIES.items()
    ]
    for name, constraints in LISTS.items():
        args = {"defaultingType": "List", "defaultConstraints": constraints}
        profiles.append({"schedulerName": name, "pluginConfig": [{"name": "PodTopologySpread", "args": args}]})
    return {"percentageOfNodesToScore": 100, "profiles": profiles}


def _fit_args(strategy: Strategy) -> Document:
    said: dict[str, Any] = {"type": strategy.kind, "resources": _resources(strategy.weights)}
    if strategy.shape:
        points = [{"utilization": utilization, "score": score} for utilization, score in strategy.shape]
        said["requestedToCapacityRatio"] = {"shape": points}
    ignored = {"ignoredResources": [*strategy.ignored], "ignoredResourceGroups": [*strategy.ignored_groups]}
    return {"scoringStrategy": said, **ignored}


def _resources(names: Iterable[str]) -> list[Document]:
    """Each with its weight, if they have any."""
    return [{"name": name, "weight": names[name] if isinstance(names, Mapping) else 1} for name in names]
