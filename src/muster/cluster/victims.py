"""What is evicted as one: a pod, a gang that goes whole, or room that is reserved for a unit."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from muster.cluster.pods import PodState


class Victim(msgspec.Struct, gc=False, eq=False, kw_only=True):
    """Pods that go together or not at all."""

    key: str
    """Of the pod or the gang; the same in every process."""
    pods: Sequence[PodState]
    priority: int
    """At which it can be evicted."""
    gang: str = ""
    """Key of the gang whose pods they are; "" for lone pods, and for room that is reserved."""
    whole: bool = False
    """It is all of a gang."""
    started: float
    """When the first of the pods started."""
    reservation: str = ""
    """For room that is reserved: the unit that it is reserved for; its pods do not run, and nobody is deleted."""
