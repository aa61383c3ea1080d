"""What a unit is tried on: the cluster as it is, or as it would be without some, or when those have left who leave."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from muster.cluster.usage import Usage
from muster.framework.contract import Bools


class Exclusion(NamedTuple):
    """Rows that may not be used, and what is said about such a node."""

    rows: Bools
    reason: str


class Ground(NamedTuple):
    """Room, and where none of it may be used; not changed by a trial."""

    usage: Usage
    """The room there is, or a copy in which some of it is given back."""
    excluded: tuple[Exclusion, ...] = ()

    def with_usage(self, usage: Usage) -> Ground:
        """The same nodes with other room on them."""
        return Ground(usage, self.excluded)

    def without(self, exclusion: Exclusion) -> Ground:
        """The same, with fewer nodes that may be used."""
        return Ground(self.usage, (*self.excluded, exclusion))

    @property
    def blocked(self) -> Bools | None:
        """Rows that may not be used, for whatever reason."""
        if len(self.excluded) < 2:
            return self.excluded[0].rows if self.excluded else None
        found: Bools = np.logical_or.reduce([exclusion.rows for exclusion in self.excluded])
        return found
