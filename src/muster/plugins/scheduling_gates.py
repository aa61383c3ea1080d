"""SchedulingGates: a pod with gates is not ready to be decided."""

from __future__ import annotations

from muster.cluster.pods import PodState
from muster.framework.contract import PodGate


class SchedulingGates(PodGate):
    name = "SchedulingGates"

    def holds(self, pod: PodState) -> str | None:
        if not pod.gates:
            return None
        return f"waiting for scheduling gates: {', '.join(pod.gates)}"
