"""Simulated kubelets: those of all nodes in one, as a core without I/O.

A pod whose volumes are not bound, or whose devices are not reserved for it, is admitted and waits.

Three annotations on a pod say how it ends, one on a node that its kubelet is dead:

    muster.dev/run-seconds   how long its containers run (default: until the pod is deleted)
    muster.dev/exit-code     0 (default): Succeeded; anything else: Failed, or started again as its restart policy says
    muster.dev/stop-seconds  how long it takes to stop when it is asked to (default: no time), at most its grace
    muster.dev/down          on a node: no lease, no status, nothing happens to its pods until it is taken off
"""

from muster.local.kubelets.core import EXIT_CODE, RUN_SECONDS, STOP_SECONDS, Kubelets
from muster.local.kubelets.nodes import DOWN, LEASE_SECONDS, node_document
from muster.local.kubelets.objects import Node, Pod, ResourceClaim, VolumeClaim

__all__ = [
    "DOWN",
    "EXIT_CODE",
    "LEASE_SECONDS",
    "RUN_SECONDS",
    "STOP_SECONDS",
    "Kubelets",
    "Node",
    "Pod",
    "ResourceClaim",
    "VolumeClaim",
    "node_document",
]
