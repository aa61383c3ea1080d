"""The configuration of kube-scheduler, and of Muster beside it."""

from typing import Any

from tests.plain_scheduler.random_clusters import STRATEGIES
from tests.plain_scheduler.resources import Strategy
from tests.plain_scheduler.selectors import Document


def configuration() -> Document:
    """Of both schedulers: fields of a KubeSchedulerConfiguration."""
    profiles = [
        {
            "schedulerName": name,
            "pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": _strategy(strategy)}}],
        }
        for name, strategy in STRATEGIES.items()
    ]
    del profiles[2]
    for x in profiles:
        x["pluginConfig"].append({"name": "PodTopologySpread", "args": {"defaultingType": "List"}})
        x["plugins"] = {"multiPoint": {"disabled": [{"name": "ImageLocality"}, {"name": "NodeDeclaredFeatures"}]}}
    return {"percentageOfNodesToScore": 100, "profiles": profiles}


def _strategy(strategy: Strategy) -> Document:
    said: dict[str, Any] = {
        "type": strategy.kind,
        "resources": [{"name": name, "weight": weight} for name, weight in strategy.weights.items()],
    }
    if strategy.shape:
        points = [{"utilization": utilization, "score": score} for utilization, score in strategy.shape]
        said["requestedToCapacityRatio"] = {"shape": points}
    return said
