"""Pods with many GPUs wait until somebody has approved them; what was approved is not evicted for the next best."""

from collections.abc import Mapping
from typing import Any

from muster.framework.plugin import Plugin, Pod, PodInfo, VictimInfo

LABEL = "example.com/approved-by"


class Approval(Plugin):
    """Arguments: `freely`, so many GPUs need no approval (8); `emergency`, the priority that may evict anybody."""

    def __init__(self, args: Mapping[str, Any]) -> None:
        super().__init__(args)
        self.freely: int = args.get("freely", 8)
        self.emergency: int = args.get("emergency", 1_000_000)

    def pre_filter(self, pod: Pod) -> int:
        return sum(int(container.resources.requests.get("nvidia.com/gpu", 0)) for container in pod.spec.containers)

    # Asked before the pod is tried at all, when it changes and every few seconds: why it must wait, or None.  A gang
    # starts whole or not at all, so it waits for its last member.
    def pre_enqueue(self, pod: PodInfo) -> str | None:
        gpus = pod.trait  # what pre_filter returned
        if gpus <= self.freely or LABEL in pod.labels:
            return None
        return f"{gpus} GPUs need approval: set the label {LABEL}"

    # Asked about each pod, or gang that goes whole, that could make room for one of this priority.
    def may_evict(self, victim: VictimInfo, *, priority: int) -> bool:
        approved = any(LABEL in pod.labels for pod in victim.pods)
        return not approved or priority >= self.emergency
