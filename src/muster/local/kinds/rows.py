"""The built-in kinds: what the data say of each, and the code of those that do something."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from muster.local.kinds import (
    accounts,
    admission,
    autoscalers,
    budgets,
    config,
    devices,
    events,
    generic,
    groups,
    leases,
    namespaces,
    nodes,
    priority,
    tables,
    volumes,
    workloads,
)
from muster.local.kinds.definitions import definitions
from muster.local.kinds.field_labels import FIELD_LABELS
from muster.local.kinds.jobs import jobs
from muster.local.kinds.kind import Kind, Scaling, Strategy
from muster.local.kinds.pods import pods
from muster.local.kinds.registry import Convert
from muster.local.kinds.services import services
from muster.local.schema import load
from muster.local.schema.load import Resource

SCHEDULING = "scheduling.k8s.io"

_CODE: dict[tuple[str, str], Strategy] = {
    ("", "configmaps"): config.CONFIG_MAP,
    ("", "events"): events.STRATEGY,
    ("", "namespaces"): namespaces.STRATEGY,
    ("", "nodes"): nodes.STRATEGY,
    ("", "pods"): pods.STRATEGY,
    ("", "secrets"): config.SECRET,
    ("", "serviceaccounts"): accounts.STRATEGY,
    ("", "services"): services.STRATEGY,
    ("apiextensions.k8s.io", "customresourcedefinitions"): definitions.STRATEGY,
    ("batch", "jobs"): jobs.STRATEGY,
    ("coordination.k8s.io", "leases"): leases.STRATEGY,
    ("events.k8s.io", "events"): events.STRICT_STRATEGY,
    ("policy", "poddisruptionbudgets"): budgets.STRATEGY,
    (SCHEDULING, "compositepodgroups"): groups.COMPOSITE,
    (SCHEDULING, "podgroups"): groups.STRATEGY,
    (SCHEDULING, "priorityclasses"): priority.STRATEGY,
    (SCHEDULING, "workloads"): workloads.STRATEGY,
}
"""By group and plural, for all versions."""

_MORE: dict[tuple[str, str], Callable[[Strategy], Strategy]] = {
    ("", "persistentvolumeclaims"): volumes.of_claims,
    ("", "persistentvolumes"): volumes.of_volumes,
    ("resource.k8s.io", "deviceclasses"): devices.of_classes,
    ("resource.k8s.io", "devicetaintrules"): devices.of_rules,
    ("resource.k8s.io", "resourceclaims"): devices.of_claims,
    ("resource.k8s.io", "resourceclaimtemplates"): devices.of_templates,
    ("resource.k8s.io", "resourceslices"): devices.of_slices,
}
"""What is done to kinds that are data for the rest."""

_KEPT_IN = {("autoscaling", "v1"): "v2"}
"""By group and version, the version whose defaults and rules are those of its objects as they are kept."""

_SCALING = Scaling(spec=("spec", "replicas"), status=("status", "replicas"), selector=("spec", "selector"))


def _kind(resource: Resource) -> Kind:
    at = (resource.group, resource.plural)
    strategy = _CODE.get(at) or _MORE.get(at, _as_told)(generic.strategy(_kept(resource)))
    strategy = replace(strategy, admit=admission.STEPS.get(at, strategy.admit), field_labels=FIELD_LABELS.get(at))
    return Kind(
        group=resource.group,
        version=resource.version,
        name=resource.kind,
        plural=resource.plural,
        type_name=resource.type_name,
        namespaced=resource.namespaced,
        singular_name=resource.singular,
        short_names=resource.short_names,
        categories=resource.categories,
        has_status="status" in resource.subresources,
        scale=_SCALING if "scale" in resource.subresources else None,
        strategy=strategy,
        table=tables.table(resource),
    )


def _as_told(strategy: Strategy) -> Strategy:
    return strategy


def _kept(resource: Resource) -> Resource:
    version = _KEPT_IN.get((resource.group, resource.version), resource.version)
    at = (resource.group, version, resource.plural)
    return next(one for one in load.resources() if (one.group, one.version, one.plural) == at)


ROWS = tuple(map(_kind, load.resources()))


def _row(group: str, version: str, plural: str) -> Kind:
    [found] = [kind for kind in ROWS if (kind.group, kind.version, kind.plural) == (group, version, plural)]
    return found


NAMESPACE = _row("", "v1", "namespaces")
SERVICE = _row("", "v1", "services")
PRIORITY_CLASS = _row(SCHEDULING, "v1", "priorityclasses")

TOLD: dict[tuple[str, str, str], tuple[Convert, Convert]] = {
    ("events.k8s.io", "v1", "events"): (events.to_new, events.to_old),
    ("autoscaling", "v1", "horizontalpodautoscalers"): (autoscalers.to_old, autoscalers.to_new),
}
"""Kinds whose objects are kept in the words of another: how they are shown, and how they are kept."""
