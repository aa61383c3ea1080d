"""What the API server makes of a pod before a scheduler sees it, as far as scheduling depends on it."""

import copy
from collections.abc import Sequence

from tests.plain_scheduler.requests import UNKNOWN, containers_together
from tests.plain_scheduler.selectors import Document

_OPERATORS = {"matchLabelKeys": "In", "mismatchLabelKeys": "NotIn"}


def as_admitted(
    pod: Document, *, runtime_classes: Sequence[Document] = (), priority_classes: Sequence[Document] = ()
) -> Document:
    """A copy with label keys in selectors, limits as requests, ports of the host network, and what its classes add.

    The tolerations of nodes that are not ready or cannot be reached, which every pod gets, are left out.
    """
    pod = copy.deepcopy(pod)
    for each in _named(runtime_classes, pod["spec"].get("runtimeClassName")):
        _run_as(pod["spec"], each)
    for each in _named(priority_classes, pod["spec"].get("priorityClassName")):
        pod["spec"]["preemptionPolicy"] = each.get("preemptionPolicy", "PreemptLowerPriority")
        pod["spec"]["priority"] = each["value"]
    spec, labels = pod["spec"], pod["metadata"].get("labels") or {}
    affinity = spec.get("affinity") or {}
    for side in (affinity.get("podAffinity") or {}, affinity.get("podAntiAffinity") or {}):
        for term in side.get("requiredDuringSchedulingIgnoredDuringExecution") or []:
            _merge_label_keys(term, labels)
        for weighted in side.get("preferredDuringSchedulingIgnoredDuringExecution") or []:
            _merge_label_keys(weighted["podAffinityTerm"], labels)
    for constraint in spec.get("topologySpreadConstraints") or []:
        _merge_label_keys(constraint, labels)
    for container in (*spec["containers"], *(spec.get("initContainers") or [])):
        if limits := (container.get("resources") or {}).get("limits"):
            container["resources"]["requests"] = {**limits, **(container["resources"].get("requests") or {})}
        for port in container.get("ports") or []:
            if spec.get("hostNetwork"):
                port.setdefault("hostPort", port["containerPort"])
    _default_pod_level(pod)
    return pod


def _named(classes: Sequence[Document], name: str | None) -> list[Document]:
    return [each for each in classes if each["metadata"]["name"] == name]


def _run_as(spec: Document, runtime_class: Document) -> None:
    scheduling = runtime_class.get("scheduling") or {}
    if overhead := (runtime_class.get("overhead") or {}).get("podFixed"):
        spec["overhead"] = overhead
    if selector := scheduling.get("nodeSelector"):
        spec["nodeSelector"] = {**(spec.get("nodeSelector") or {}), **selector}
    if tolerations := scheduling.get("tolerations"):
        spec["tolerations"] = [*(spec.get("tolerations") or []), *tolerations]


def _merge_label_keys(holder: Document, labels: dict[str, str]) -> None:
    """Keys that the pod has become requirements; a null selector takes nothing and stays null."""
    selector = holder.get("labelSelector")
    if selector is None:
        return
    for field, operator in _OPERATORS.items():
        for key in holder.get(field) or []:
            if key in labels:
                requirement = {"key": key, "operator": operator, "values": [labels[key]]}
                selector["matchExpressions"] = [*(selector.get("matchExpressions") or []), requirement]


def _default_pod_level(pod: Document) -> None:
    """With limits of the pod as a whole its requests are filled: from the containers, else from the limits."""
    resources = pod["spec"].get("resources") or {}
    limits = resources.get("limits")
    if not limits:
        return
    asked = {name: text for name, text in containers_together(pod).items() if name in UNKNOWN}
    resources["requests"] = {**limits, **asked, **(resources.get("requests") or {})}
