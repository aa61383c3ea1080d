"""The built-in kinds: what the data say of each, and the code of those that do something."""

from __future__ import annotations

from msgspec.structs import replace

from muster.local.kinds import (
    accounts,
    admission,
    budgets,
    config,
    events,
    generic,
    groups,
    leases,
    namespaces,
    nodes,
    priority,
    tables,
    workloads,
)
from muster.local.kinds.definitions import definitions
from muster.local.kinds.field_labels import FIELD_LABELS
from muster.local.kinds.jobs import jobs
from muster.local.kinds.kind import Kind, Scaling, Strategy
from muster.local.kinds.pods import pods
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

# its objects are those of v2, told in other words that only code could translate
_NOT_SERVED = ("autoscaling", "v1")

_SCALING = Scaling(spec=("spec", "replicas"), status=("status", "replicas"), selector=("spec", "selector"))


def _kind(resource: Resource) -> Kind:
    at = (resource.group, resource.plural)
    strategy = _CODE.get(at) or generic.strategy(resource)
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


ROWS = tuple(_kind(one) for one in load.resources() if (one.group, one.version) != _NOT_SERVED)


def _row(group: str, version: str, plural: str) -> Kind:
    [found] = [kind for kind in ROWS if (kind.group, kind.version, kind.plural) == (group, version, plural)]
    return found


NAMESPACE = _row("", "v1", "namespaces")
EVENTS_EVENT = _row("events.k8s.io", "v1", "events")
SERVICE = _row("", "v1", "services")
PRIORITY_CLASS = _row(SCHEDULING, "v1", "priorityclasses")
