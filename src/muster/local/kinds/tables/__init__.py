"""`kubectl get` columns, one table for each kind, with the cells that the real API server gives.

document    the Table document itself, and PartialObjectMetadata
custom      tables from a definition's additionalPrinterColumns; paths is their JSONPath
generic     tables of kinds that are data
cells       what several tables share
pods, nodes, services, jobs, events, scheduling, plain       the tables
"""

from __future__ import annotations

from muster.local.kinds.tables.custom import custom
from muster.local.kinds.tables.document import as_partial, as_partial_list, as_table, default_table, include_problem
from muster.local.kinds.tables.events import EVENT, EVENTS_EVENT
from muster.local.kinds.tables.generic import table as generic_table
from muster.local.kinds.tables.jobs import JOB
from muster.local.kinds.tables.nodes import NODE
from muster.local.kinds.tables.plain import (
    CONFIG_MAP,
    CUSTOM_RESOURCE_DEFINITION,
    DEFAULT,
    NAMESPACE,
    SECRET,
    SERVICE_ACCOUNT,
)
from muster.local.kinds.tables.pods import POD
from muster.local.kinds.tables.scheduling import LEASE, POD_DISRUPTION_BUDGET, POD_GROUP, PRIORITY_CLASS, WORKLOAD
from muster.local.kinds.tables.services import SERVICE

__all__ = [
    "CONFIG_MAP",
    "CUSTOM_RESOURCE_DEFINITION",
    "DEFAULT",
    "EVENT",
    "EVENTS_EVENT",
    "JOB",
    "LEASE",
    "NAMESPACE",
    "NODE",
    "POD",
    "POD_DISRUPTION_BUDGET",
    "POD_GROUP",
    "PRIORITY_CLASS",
    "SECRET",
    "SERVICE",
    "SERVICE_ACCOUNT",
    "WORKLOAD",
    "as_partial",
    "as_partial_list",
    "as_table",
    "custom",
    "default_table",
    "generic_table",
    "include_problem",
]
