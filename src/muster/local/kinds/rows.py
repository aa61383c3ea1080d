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
from muster.local.kinds.kind import Kind, Scaling, Strategy, Table
from muster.local.kinds.pods import pods
from muster.local.kinds.services import services
from muster.local.schema import load
from muster.local.schema.load import Resource

SCHEDULING = "scheduling.k8s.io"

_CODE: dict[tuple[str, str], tuple[Strategy, Table]] = {
    ("", "configmaps"): (config.CONFIG_MAP, tables.CONFIG_MAP),
    ("", "events"): (events.STRATEGY, tables.EVENT),
    ("", "namespaces"): (namespaces.STRATEGY, tables.NAMESPACE),
    ("", "nodes"): (nodes.STRATEGY, tables.NODE),
    ("", "pods"): (pods.STRATEGY, tables.POD),
    ("", "secrets"): (config.SECRET, tables.SECRET),
    ("", "serviceaccounts"): (accounts.STRATEGY, tables.SERVICE_ACCOUNT),
    ("", "services"): (services.STRATEGY, tables.SERVICE),
    ("apiextensions.k8s.io", "customresourcedefinitions"): (definitions.STRATEGY, tables.CUSTOM_RESOURCE_DEFINITION),
    ("batch", "jobs"): (jobs.STRATEGY, tables.JOB),
    ("coordination.k8s.io", "leases"): (leases.STRATEGY, tables.LEASE),
    ("events.k8s.io", "events"): (events.STRICT_STRATEGY, tables.EVENTS_EVENT),
    ("policy", "poddisruptionbudgets"): (budgets.STRATEGY, tables.POD_DISRUPTION_BUDGET),
    (SCHEDULING, "podgroups"): (groups.STRATEGY, tables.POD_GROUP),
    (SCHEDULING, "priorityclasses"): (priority.STRATEGY, tables.PRIORITY_CLASS),
    (SCHEDULING, "workloads"): (workloads.STRATEGY, tables.WORKLOAD),
}
"""By group and plural, for all versions."""

# its objects are those of v2, told in other words that only code could translate
_NOT_SERVED = ("autoscaling", "v1")

_SCALING = Scaling(spec=("spec", "replicas"), status=("status", "replicas"), selector=("spec", "selector"))


def _kind(resource: Resource) -> Kind:
    code = _CODE.get((resource.group, resource.plural))
    strategy, table = code or (generic.strategy(resource), tables.generic_table(resource))
    at = (resource.group, resource.plural)
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
        table=table,
    )


ROWS = tuple(_kind(one) for one in load.resources() if (one.group, one.version) != _NOT_SERVED)


def _row(group: str, version: str, plural: str) -> Kind:
    [found] = [kind for kind in ROWS if (kind.group, kind.version, kind.plural) == (group, version, plural)]
    return found


NAMESPACE = _row("", "v1", "namespaces")
EVENTS_EVENT = _row("events.k8s.io", "v1", "events")
SERVICE = _row("", "v1", "services")
PRIORITY_CLASS = _row(SCHEDULING, "v1", "priorityclasses")
