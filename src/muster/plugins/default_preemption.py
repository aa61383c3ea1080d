"""DefaultPreemption: who may be evicted, and whom to spare first, as upstream has it."""

from __future__ import annotations

from muster.cluster.victims import Victim
from muster.framework.contract import VictimRule


class DefaultPreemption(VictimRule):
    name = "DefaultPreemption"

    def may_evict(self, victim: Victim, *, priority: int) -> bool:
        return victim.priority < priority

    def importance(self, victim: Victim) -> tuple[int, int, int, float]:
        """Priority; gangs before lone pods; many pods before few; what has run longest."""
        return victim.priority, 2 if victim.gang or victim.reservation else 1, len(victim.pods), -victim.started
