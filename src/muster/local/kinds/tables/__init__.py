"""`kubectl get` columns, one table for each kind, with the cells that the real API server gives.

document    the Table document itself, and PartialObjectMetadata
builtin     tables of the built-in kinds; pods and events make their rows
custom      tables from a definition's additionalPrinterColumns; paths is their JSONPath
cells       what several tables share
"""

from __future__ import annotations

from muster.local.kinds.tables.builtin import table
from muster.local.kinds.tables.custom import custom
from muster.local.kinds.tables.document import as_partial, as_partial_list, as_table, default_table, include_problem

__all__ = ["as_partial", "as_partial_list", "as_table", "custom", "default_table", "include_problem", "table"]
