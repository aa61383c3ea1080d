"""The built-in kinds, a row each."""

from __future__ import annotations

from muster.local.kinds import (
    accounts,
    budgets,
    config,
    definitions,
    events,
    groups,
    jobs,
    leases,
    namespaces,
    nodes,
    pods,
    priority,
    services,
    tables,
    workloads,
)
from muster.local.kinds.kind import Kind

CORE = "io.k8s.api.core.v1"
SCHEDULING = "scheduling.k8s.io"

NAMESPACE = Kind(
    group="",
    version="v1",
    name="Namespace",
    plural="namespaces",
    type_name=f"{CORE}.Namespace",
    namespaced=False,
    short_names=("ns",),
    has_status=True,
    strategy=namespaces.STRATEGY,
    table=tables.NAMESPACE,
)
NODE = Kind(
    group="",
    version="v1",
    name="Node",
    plural="nodes",
    type_name=f"{CORE}.Node",
    namespaced=False,
    short_names=("no",),
    has_status=True,
    strategy=nodes.STRATEGY,
    table=tables.NODE,
)
POD = Kind(
    group="",
    version="v1",
    name="Pod",
    plural="pods",
    type_name=f"{CORE}.Pod",
    short_names=("po",),
    categories=("all",),
    has_status=True,
    strategy=pods.STRATEGY,
    table=tables.POD,
)
EVENT = Kind(
    group="",
    version="v1",
    name="Event",
    plural="events",
    type_name=f"{CORE}.Event",
    short_names=("ev",),
    strategy=events.STRATEGY,
    table=tables.EVENT,
)
EVENTS_EVENT = Kind(
    group="events.k8s.io",
    version="v1",
    name="Event",
    plural="events",
    type_name="io.k8s.api.events.v1.Event",
    short_names=("ev",),
    strategy=events.STRICT_STRATEGY,
    table=tables.EVENTS_EVENT,
)
CONFIG_MAP = Kind(
    group="",
    version="v1",
    name="ConfigMap",
    plural="configmaps",
    type_name=f"{CORE}.ConfigMap",
    short_names=("cm",),
    strategy=config.CONFIG_MAP,
    table=tables.CONFIG_MAP,
)
SECRET = Kind(
    group="",
    version="v1",
    name="Secret",
    plural="secrets",
    type_name=f"{CORE}.Secret",
    strategy=config.SECRET,
    table=tables.SECRET,
)
SERVICE = Kind(
    group="",
    version="v1",
    name="Service",
    plural="services",
    type_name=f"{CORE}.Service",
    short_names=("svc",),
    categories=("all",),
    has_status=True,
    strategy=services.STRATEGY,
    table=tables.SERVICE,
)
SERVICE_ACCOUNT = Kind(
    group="",
    version="v1",
    name="ServiceAccount",
    plural="serviceaccounts",
    type_name=f"{CORE}.ServiceAccount",
    short_names=("sa",),
    strategy=accounts.STRATEGY,
    table=tables.SERVICE_ACCOUNT,
)
JOB = Kind(
    group="batch",
    version="v1",
    name="Job",
    plural="jobs",
    type_name="io.k8s.api.batch.v1.Job",
    categories=("all",),
    has_status=True,
    strategy=jobs.STRATEGY,
    table=tables.JOB,
)
PRIORITY_CLASS = Kind(
    group=SCHEDULING,
    version="v1",
    name="PriorityClass",
    plural="priorityclasses",
    type_name="io.k8s.api.scheduling.v1.PriorityClass",
    namespaced=False,
    short_names=("pc",),
    strategy=priority.STRATEGY,
    table=tables.PRIORITY_CLASS,
)
WORKLOAD = Kind(
    group=SCHEDULING,
    version="v1beta1",
    name="Workload",
    plural="workloads",
    type_name="io.k8s.api.scheduling.v1beta1.Workload",
    strategy=workloads.STRATEGY,
    table=tables.WORKLOAD,
)
POD_GROUP = Kind(
    group=SCHEDULING,
    version="v1beta1",
    name="PodGroup",
    plural="podgroups",
    type_name="io.k8s.api.scheduling.v1beta1.PodGroup",
    has_status=True,
    strategy=groups.STRATEGY,
    table=tables.POD_GROUP,
)
LEASE = Kind(
    group="coordination.k8s.io",
    version="v1",
    name="Lease",
    plural="leases",
    type_name="io.k8s.api.coordination.v1.Lease",
    strategy=leases.STRATEGY,
    table=tables.LEASE,
)
DISRUPTION_BUDGET = Kind(
    group="policy",
    version="v1",
    name="PodDisruptionBudget",
    plural="poddisruptionbudgets",
    type_name="io.k8s.api.policy.v1.PodDisruptionBudget",
    short_names=("pdb",),
    has_status=True,
    strategy=budgets.STRATEGY,
    table=tables.POD_DISRUPTION_BUDGET,
)
DEFINITION = Kind(
    group="apiextensions.k8s.io",
    version="v1",
    name="CustomResourceDefinition",
    plural="customresourcedefinitions",
    type_name="io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition",
    namespaced=False,
    short_names=("crd", "crds"),
    categories=("api-extensions",),
    has_status=True,
    strategy=definitions.STRATEGY,
    table=tables.CUSTOM_RESOURCE_DEFINITION,
)

ROWS = (
    NAMESPACE,
    NODE,
    POD,
    EVENT,
    CONFIG_MAP,
    SECRET,
    SERVICE,
    SERVICE_ACCOUNT,
    JOB,
    PRIORITY_CLASS,
    WORKLOAD,
    POD_GROUP,
    LEASE,
    DISRUPTION_BUDGET,
    EVENTS_EVENT,
    DEFINITION,
)
